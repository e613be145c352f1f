"""A mean without a ball that is killed anywhere has never drawn more than its ledger charges."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from kill_points import found_by

SCRIPT = Path(__file__).parents[1] / "search_faults.py"

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux", reason="children are traced as Linux does it"
)


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_search_is_charged_all_that_it_drew_and_its_ledger_goes_on(
    every: int, tmp_path: Path
) -> None:
    found = found_by(SCRIPT, tmp_path, every)
    assert found["failures"] == []
    assert found["points"] > 300
    assert {"no ledger", "empty", "set aside"} <= set(found["states"])
    if every == 1:
        assert "set aside, settled" in found["states"]


def test_a_search_that_sets_too_little_aside_is_found(tmp_path: Path) -> None:
    failures = found_by(SCRIPT, tmp_path, 29, "control")["failures"]
    assert any("drawn" in text for _, text in failures)
