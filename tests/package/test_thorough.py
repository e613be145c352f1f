"""What the default run leaves to CI is a part of a test, of a test that exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import laplace_release_cases
import mechanism_cases
import regression_problems
from manifold_list import BY_NAME, KINDS
from thorough import COLLECTED, KEPT, is_left_to_ci

TESTS = Path(__file__).parents[1]


def test_entries_of_shared_lists_say_what_is_left_to_ci():
    assert not any(is_left_to_ci("a.py", "test_a", "", [case]) for case in KINDS)
    assert is_left_to_ci("a.py", "test_a", "", [3, BY_NAME["sphere:99"]])
    for module, cases in (
        (mechanism_cases, mechanism_cases.EVERY),
        (laplace_release_cases, laplace_release_cases.CENTRAL + laplace_release_cases.OFF_CENTRE),
    ):
        kept = [case for case in cases if not case.is_thorough]
        assert len(kept) == len(module.FEW)
    assert {space.is_thorough for space in regression_problems.SPACES} == {True, False}


def test_patterns_keep_what_they_find():
    assert is_left_to_ci("mail/test_mail_audit.py", "test_half_the_noise_is_found_out", "", [])
    query = ("mail/test_mail_audit.py", "test_the_query_keeps_its_guarantee")
    assert is_left_to_ci(*query, "noise-claimed1-0.5", [])
    assert not is_left_to_ci(*query, "cell-claimed0-0.1", [])


def collected_by_another() -> dict[tuple[str, str], list[str]]:
    """What `COLLECTED` is where all tests are collected: here only some were asked for."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", ""]
    command += ["-p", "no:cacheprovider", *(str(TESTS / file) for file in KEPT)]
    told = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=True)
    idents: dict[tuple[str, str], list[str]] = {}
    for line in told.stdout.splitlines():
        if found := re.fullmatch(r"tests/(.+?\.py)::(?:\w+::)?(\w+)(?:\[(.*)\])?", line):
            idents.setdefault(found.group(1, 2), []).append(found[3] or "")
    return idents


@pytest.mark.thorough
def test_every_pattern_keeps_a_part_of_a_test():
    """An entry that keeps all, or nothing, or is of no test, stands for a mistake."""
    idents = COLLECTED
    if not {(file, name) for file, tests in KEPT.items() for name in tests} <= idents.keys():
        idents = collected_by_another()
    for file, tests in KEPT.items():
        for name, pattern in tests.items():
            own = idents[file, name]
            if pattern is not None:
                kept = [ident for ident in own if re.search(pattern, ident)]
                assert 0 < len(kept) < len(own), (file, name)
