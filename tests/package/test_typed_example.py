"""The typed example runs, and its types are those that mypy sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import curvedp as cdp
import typed_example

SOURCE = Path(typed_example.__file__)


def test_the_typed_example_runs():
    found = typed_example.main()
    assert found["release"].guarantee == cdp.PureDP(0.5)
    assert found["rest"] == cdp.PureDP(0.5)
    assert found["values"].shape == (2, 3)
    assert set(found["volumes"]) == {"north", "south"}
    assert found["predicted"].shape == (200, 3)
    assert found["mu"] == pytest.approx(1.0)
    assert found["audit"] is True


@pytest.mark.slow
def test_a_strict_type_checker_accepts_the_example_and_nothing_else(tmp_path):
    pytest.importorskip("mypy")

    def errors(text: str) -> str:
        program = tmp_path / "program.py"
        program.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
        return subprocess.run(
            [*command, str(program)], capture_output=True, text=True, check=False, cwd=tmp_path
        ).stdout

    text = SOURCE.read_text(encoding="utf-8")
    assert "Success" in errors(text)
    wrong = text.replace("composed: cdp.GDP =", "composed: cdp.PureDP =")
    assert wrong != text
    assert "Incompatible types in assignment" in errors(wrong)
    assert "has no attribute" in errors("import curvedp as cdp\ncdp.frechet_median\n")
