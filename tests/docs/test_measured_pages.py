"""Pages that the benches write: the table beside other libraries, the tables of the papers."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHES = ROOT / "benches"
PERFORMANCE = ROOT / "docs" / "measured" / "performance.md"
LINE = "| {row} | n=1 | NumPy | 2 | 1 | {ratio} | - | - | - |"


@pytest.fixture(scope="module")
def bench():
    """Imports a module of the benches."""
    before = set(sys.modules)
    folders = [str(BENCHES), str(BENCHES / "papers")]
    sys.path[:0] = folders
    try:
        yield importlib.import_module
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in ("harness", "page", "rows", "run_all"):
                del sys.modules[name]


def page_of(bench, **tables):
    head = bench("harness").TABLE_HEAD
    text = "# Title\n\nProse.\n\n"
    for name, lines in tables.items():
        body = "\n".join([head, *lines])
        text += f"<!-- measured: {name} -->\n{body}\n<!-- end of measured -->\n\nMore prose.\n"
    return text


def test_measured_rows_replace_their_old_ones_and_nothing_else(bench):
    page = bench("page")
    old, kept = LINE.format(row="a", ratio=2), LINE.format(row="b", ratio=3)
    text = page_of(bench, maps=[old, kept], means=[old])
    new = LINE.format(row="a", ratio=4)
    found = page.with_rows(text, "maps", {"a": [new]}, ["b", "a"])
    assert found == page_of(bench, maps=[kept, new], means=[old])


def test_rows_that_no_longer_exist_go(bench):
    page = bench("page")
    line = LINE.format(row="gone", ratio=2)
    found = page.with_rows(page_of(bench, maps=[line]), "maps", {}, ["a"])
    assert found == page_of(bench, maps=[])
    with pytest.raises(KeyError):
        page.with_rows(found, "means", {}, ["a"])


def test_the_performance_page_shows_every_row_and_no_other(bench):
    for package in ("geomstats", "pyriemann", "sklearn"):
        pytest.importorskip(package)
    listing = subprocess.run(
        [sys.executable, str(BENCHES / "side_by_side.py"), "--list"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    registered: dict[str, list[str]] = {}
    for line in listing.splitlines():
        table, _, row = line.partition(": ")
        registered.setdefault(table, []).append(row)
    shown = bench("page").tables(PERFORMANCE.read_text(encoding="utf-8"))
    assert {name: list(rows) for name, rows in shown.items()} == registered


@pytest.mark.slow
def test_the_table_can_be_measured_and_written(tmp_path):
    for package in ("geomstats", "pyriemann", "sklearn"):
        pytest.importorskip(package)
    page = tmp_path / "page.md"
    page.write_text(PERFORMANCE.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, str(BENCHES / "side_by_side.py"), "--quick", "--budget", "0.1"]
    result = subprocess.run(
        [*command, "--rounds", "1", "--write", str(page)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "nan" not in result.stdout
    assert page.read_text(encoding="utf-8") != PERFORMANCE.read_text(encoding="utf-8")


SCRIPTS = {
    "good.py": "import pathlib, sys\nprint('## Table\\n\\n| a |')\n"
    "pathlib.Path(sys.argv[1], 'curve.png').write_bytes(b'picture')",
    "numbers.py": "import pathlib, sys\nprint('figure 1\\n\\n| b |\\n|---|\\n| 2 |\\n\\nleast 3')\n"
    "pathlib.Path(sys.argv[1], 'figure-1.csv').write_text('b')",
    "bad.py": "print('half')\nraise ValueError('went wrong')",
    "data.py": "import os\nprint('with', os.environ.get('CURVEDP_DATA'))",
}


def test_papers_go_on_without_data_and_after_failures(bench, tmp_path, monkeypatch, capsys):
    run_all = bench("run_all")
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    part = run_all.Part
    parts = (
        part("Broken", "bad.py"),
        part("Absent", "data.py", needs=("a/b.npz",)),
        part("Lessened", "data.py", uses=("a/b.npz",)),
        part("Whole", "good.py", "{out}", "{out}"),
        part("In a file", "numbers.py", "{out}", "{out}"),
    )
    monkeypatch.setattr(run_all, "HERE", tmp_path)
    monkeypatch.setattr(run_all, "PAGES", (run_all.Page("paper", "A paper", parts),))
    out = tmp_path / "out"
    arguments = ["run_all.py", "--quick", "--out", str(out), "--data", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        run_all.main()
    assert stopped.value.code == 1
    text = (out / "paper.md").read_text(encoding="utf-8")
    assert "half\n\nFailed: ValueError: went wrong" in text
    assert "Not run: needs a/b.npz." in text
    assert "with None\n\nLeft out, for want of data: what needs a/b.npz." in text
    assert "### Table" in text
    assert "![Whole](paper-curve.png)" in text
    assert (out / "paper-curve.png").read_bytes() == b"picture"
    assert "## In a file\n\nfigure 1\n\nleast 3\n\n[paper-figure-1.csv]" in text
    states = [line.split("|")[3].strip() for line in capsys.readouterr().out.splitlines()[-5:]]
    assert states == ["failed", "no data", "done", "done", "done"]


@pytest.mark.parametrize("level", [1, 2, 4])
def test_headings_of_scripts_stand_below_their_parts(bench, level):
    text = f"{'#' * level} one\n\n{'#' * (level + 1)} two\n#3 stays"
    assert bench("run_all")._nested(text) == "### one\n\n#### two\n#3 stays"


def test_the_papers_name_scripts_that_exist(bench):
    run_all = bench("run_all")
    named = {part.script for page in run_all.PAGES for part in page.parts}
    assert all((BENCHES / "papers" / name).is_file() for name in named)
    assert {
        "claims.py",
        "conformal.py",
        "conformal_images.py",
        "inference.py",
        "privatemail.py",
    } < named
    assert {"regression.py", "regression_figures.py"} < named
    assert {f"privatemail_{name}.py" for name in ("rows", "figures", "bound")} < named


def test_the_papers_pages_have_the_parts_of_today_and_no_paths(bench):
    for page in bench("run_all").PAGES:
        text = (ROOT / "docs" / "measured" / f"{page.name}.md").read_text(encoding="utf-8")
        found = [line[3:] for line in text.splitlines() if line.startswith("## ")]
        assert found == [part.title for part in page.parts]
        assert not [line for line in text.splitlines() if line.startswith("/")]


def test_some_parts_run_anew_leave_the_other_sections(bench):
    run_all = bench("run_all")
    parts = [run_all.Part(title, "x.py") for title in ("One", "Two", "Three")]
    page = run_all.Page("paper", "A paper", tuple(parts))
    texts = ("1\n\n## inner", "2", "3")
    whole = [
        run_all.Outcome(part, "done", text=text) for part, text in zip(parts, texts, strict=True)
    ]
    old = run_all.page_text(page, whole, "")
    assert run_all.with_sections(old, page, []) == old
    anew = [run_all.Outcome(parts[1], "done", text="22")]
    assert run_all.with_sections(old, page, anew) == old.replace("\n2\n", "\n22\n")
    without = run_all.page_text(
        run_all.Page("paper", "A paper", parts[:1] + parts[2:]), whole[::2], ""
    )
    assert run_all.with_sections(without, page, whole[1:2]) == old
