"""Examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import curvedp

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(curvedp.__path__, "curvedp.")
    if module.name != "curvedp.__main__"
)


@pytest.mark.parametrize("name", ["curvedp", *MODULES])
def test_examples_print_what_they_say(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, verbose=False)
    assert failed == 0


def test_the_main_entry_points_have_examples() -> None:
    finder = doctest.DocTestFinder()
    for entry in (curvedp.Ball, curvedp.frechet_mean, curvedp.required_n, curvedp.Ledger):
        assert any(test.examples for test in finder.find(entry)), entry
