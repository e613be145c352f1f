"""Code in the documentation runs, its links lead to files, and the names that it uses exist."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import curvedp
from curvedp.mechanisms.choice import MECHANISMS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for block in blocks(page, "python"):
            exec(compile(block, name(page), "exec"), namespace)
    assert printed.getvalue().strip()


def test_readme_releases_a_mean_under_the_guarantee_it_asks_for():
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(ROOT / "README.md", "python"):
            exec(block, namespace)
    release = namespace["release"]
    assert release.guarantee == curvedp.GDP(1.0)
    assert release.n == 584
    assert np.linalg.eigvalsh(release.value).min() > 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_lead_to_files(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    broken = [
        target
        for target in targets
        if "://" not in target and not (page.parent / target).resolve().exists()
    ]
    assert not broken


def test_all_mechanisms_and_guarantees_that_exist_are_named():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for guarantee in ("PureDP", "ApproxDP", "ZCDP", "GDP", "Unproved"):
        assert f"`{guarantee}(" in text
        assert hasattr(curvedp, guarantee)
    words = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8").lower().replace("-", " ")
    for mechanism in MECHANISMS:
        assert f"| {mechanism.replace('-', ' ')} |" in words


def commands(page):
    """The curvedp commands that a page shows."""
    lines = "\n".join(blocks(page, "sh")).splitlines()
    return [line for line in lines if line.startswith("curvedp ")]


@pytest.mark.parametrize(
    ("page", "count"),
    [("README.md", 4), ("docs/command-line.md", 14)],
    ids=["README", "command-line"],
)
def test_commands_run_as_shown(page, count, tmp_path, monkeypatch):
    click_testing = pytest.importorskip("click.testing")
    from curvedp.cli.app import app

    shown = commands(ROOT / page)
    assert len(shown) == count
    monkeypatch.chdir(tmp_path)
    for command in shown:
        arguments = shlex.split(command, comments=True)[1:]
        result = click_testing.CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{command}\n{result.output}"
        if "--out" in arguments:
            assert Path(arguments[arguments.index("--out") + 1]).stat().st_size > 0


def test_citation_names_this_version_and_the_papers():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.M)[1] == curvedp.__version__
    assert text.count("- type: ") == 5
