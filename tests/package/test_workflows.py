"""Workflow files: scripts that a shell reads as they are meant, a wheel for every system."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
FOLDER = Path(__file__).parents[2] / ".github" / "workflows"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="a source distribution has no workflows"
)

#: Wheels that are promised, by the runner that builds each.
RUNNERS = {
    "Linux x86-64": "ubuntu-latest",
    "Linux arm64": "ubuntu-24.04-arm",
    "macOS arm64": "macos-latest",
    "macOS x86-64": "macos-15-intel",
    "Windows x86-64": "windows-latest",
}
SECTIONS = {"name", "on", "concurrency", "permissions", "env", "jobs"}
JOB = {"name", "if", "needs", "strategy", "runs-on", "timeout-minutes", "environment"}
JOB |= {"permissions", "steps"}
STEP = {"uses", "with", "run", "name", "shell", "env", "if"}


def workflows() -> dict[str, Any]:
    """The workflow files as they are read."""
    # YAML takes the word `on` for true
    texts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yml")}
    return {name: yaml.safe_load(re.sub("(?m)^on:", '"on":', text)) for name, text in texts.items()}


def steps() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{name}: {job}", step)
        for name, whole in workflows().items()
        for job, own in whole["jobs"].items()
        for step in own["steps"]
    ]


def test_no_expression_is_put_into_a_script():
    """What it stands for would be read as a part of the script: `<20` as a redirection."""
    scripts = [(where, step["run"]) for where, step in steps() if "run" in step]
    assert len(scripts) > 20
    assert [where for where, script in scripts if "${{" in script] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_scripts_are_bash_and_redirect_to_no_file_by_chance():
    for where, step in steps():
        script = step.get("run", "true")
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        assert done.returncode == 0, (where, done.stderr)
        bare = re.sub(r"\"[^\"]*\"|'[^']*'|\$\([^)]*\)", "", script)
        assert re.findall(r"[<>]\S*\d", bare) == [], where


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_pins_reach_the_installer_as_words(tmp_path):
    """With the script as it stands, and pip replaced by what prints its words."""
    [(_, step)] = [found for found in steps() if "PINS" in found[1].get("env", {})]
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "curvedp-1.whl").touch()
    script = 'pip() { printf "%s\\n" "$@"; }\n' + step["run"]
    pins = "numpy==1.26.* pyarrow<20"

    def words(script):
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env={"PINS": pins},
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    assert words(script) == ["install", "dist/curvedp-1.whl[test]", "numpy==1.26.*", "pyarrow<20"]
    assert "pyarrow<20" not in words(script.replace("$PINS", pins))  # the control


def test_keys_are_those_of_workflows():
    for name, whole in workflows().items():
        assert set(whole) <= SECTIONS, name
        for job, own in whole["jobs"].items():
            assert set(own) <= JOB, (name, job)
            assert {"runs-on", "steps"} <= set(own)
            needed = own.get("needs", [])
            assert set([needed] if isinstance(needed, str) else needed) <= set(whole["jobs"])
            for step in own["steps"]:
                assert set(step) <= STEP, (name, job, step)
                assert len({"uses", "run"} & set(step)) == 1, (name, job, step)


def test_a_wheel_is_built_for_every_system():
    [wheels] = [whole for name, whole in workflows().items() if name == "wheels.yml"]
    assert set(wheels["jobs"]["wheels"]["strategy"]["matrix"]["os"]) == set(RUNNERS.values())
    assert "wheels" in wheels["jobs"]["publish"]["needs"]


def test_tests_build_a_wheel_once_for_each_system():
    """And one without the interpreter lock; other jobs take what the job `linux` built."""
    jobs = workflows()["ci.yml"]["jobs"]
    scripts = {job: [step.get("run", "") for step in own["steps"]] for job, own in jobs.items()}
    build = {job for job, own in scripts.items() if any("pip wheel" in run for run in own)}
    assert build == {"linux", "tests", "no-lock"}
    assert [own["os"] for own in jobs["tests"]["strategy"]["matrix"]["include"]] == [
        *("macos-latest", "windows-latest")
    ]
    take = {job for job, own in scripts.items() if any("dist/curvedp" in run for run in own)}
    assert {job for job, own in jobs.items() if own.get("needs") == "linux"} == take - build
