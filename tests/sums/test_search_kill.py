"""A mean without a ball that is killed anywhere has never drawn more than its ledger charges."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "search_faults.py"

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux", reason="children are traced as Linux does it"
)


def _killed(folder: Path, every: int, *how: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SCRIPT, folder, str(every), *how], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    if "refused" in found:
        pytest.skip("this system lets no process trace another")
    return found


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_search_is_charged_all_that_it_drew_and_its_ledger_goes_on(
    every: int, tmp_path: Path
) -> None:
    found = _killed(tmp_path, every)
    assert found["failures"] == []
    assert found["points"] > 300
    assert {"no ledger", "empty", "set aside"} <= set(found["states"])
    if every == 1:
        assert "set aside, settled" in found["states"]


def test_a_search_that_sets_too_little_aside_is_found(tmp_path: Path) -> None:
    failures = _killed(tmp_path, 29, "control")["failures"]
    assert any("drawn" in text for _, text in failures)
