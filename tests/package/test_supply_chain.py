"""What the package is made of and made by: crates with their licences, actions by commit."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "Cargo.lock").exists(), reason="needs the sources of the package"
)


def told() -> set[tuple[str, str]]:
    """Crates whose licences the wheel holds."""
    text = (ROOT / "rust" / "THIRD-PARTY").read_text(encoding="utf-8")
    return set(re.findall(r"^  (\S+) (\d+\.\d+\.\d\S*)$", text, flags=re.MULTILINE))


def test_licences_are_those_of_the_locked_crates():
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert len(told()) > 50
    assert told() <= {(crate["name"], crate["version"]) for crate in locked}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_every_crate_of_the_extension_has_its_licence():
    command = ["cargo", "tree", "-p", "curvedp-py", "-e", "normal,no-proc-macro", "--locked"]
    found = subprocess.run(
        [*command, "--prefix", "none"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    used = set(re.findall(r"^(\S+) v(\d+\.\d+\.\d\S*)", found.stdout, flags=re.MULTILINE))
    assert len(used) > 50
    assert used <= told()


def test_licences_are_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "rust/THIRD-PARTY" in project["project"]["license-files"]
    assert project["tool"]["maturin"]["locked"] is True


def test_actions_are_pinned_by_commit():
    folder = ROOT / ".github" / "workflows"
    if not folder.exists():
        pytest.skip("a source distribution has no workflows")
    used = [
        line
        for path in folder.glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    assert [line for line in used if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
