"""The documentation misses nothing that is public; .ci/run builds it with warnings as errors."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import curvedp

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONF = (DOCS / "conf.py").read_text(encoding="utf-8")


def contents(page):
    """The pages that the tables of contents of a page list."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
        for entry in re.findall(r"^(?:.* <)?([\w/-]+)>?$", block, re.M):
            yield str(Path(page).parent / entry)


def test_every_page_is_in_the_contents_once():
    listed = ["index"]
    for page in listed:  # which grows
        if page not in ("api", "auto_gallery/index"):
            listed += contents(page)
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(pages | {"api", "auto_gallery/index"})


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda p: p.stem
)
def test_a_page_can_be_read_at_one_sitting(page):
    """Longer ones say things twice, or measure: tables of measurements are in docs/measured."""
    assert len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))) <= 2400


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda p: p.stem)
def test_no_line_of_a_paragraph_is_read_as_something_else(page):
    """A line that begins with % is a comment, one that begins with + an item of a list."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert not re.findall(r"^ *(?:%|\+ ).*", text, re.M)
    text = re.sub(r"\$\$.*?\$\$|`[^`\n]*`|\$\S(?:[^$]*?\S)?\$", "", text, flags=re.S)
    assert not re.findall(r".*[_^]\{.*", text), "formulas are set by $...$, or are plain"
    text = re.sub(r"^ {4}.*", "", text, flags=re.M)
    assert not re.findall(r".*\w(?<!\\)\*(?=\w).*", text), "a star in a formula is \\*"


def test_the_reference_begins_with_the_names_that_most_programs_need():
    first = (DOCS / "api.rst").read_text().partition(".. _modules:")[0]
    assert len(re.findall(r"^   ~?curvedp\.[\w.]+$", first, re.M)) <= 40


def test_every_public_name_has_one_task_in_the_reference():
    reference = (DOCS / "api.rst").read_text() + (DOCS / "further-names.rst").read_text()
    listed = re.findall(r"^   ~curvedp\.(\w+)$", reference, re.M)
    modules = [name for name in curvedp.__all__ if isinstance(getattr(curvedp, name), ModuleType)]
    assert sorted(listed + modules) == sorted(curvedp.__all__)


def test_every_public_module_is_in_the_reference():
    modules = (DOCS / "api.rst").read_text().partition(".. _modules:")[2]
    listed = set(re.findall(r"^   (curvedp[\w.]*)$", modules, re.M))
    with_public_names = {"curvedp"}
    for module in pkgutil.iter_modules(curvedp.__path__, "curvedp."):
        name = module.name.rpartition(".")[2]
        if name.startswith("_") or name == "cli":
            continue
        if hasattr(importlib.import_module(module.name), "__all__"):
            with_public_names.add(module.name)
    # everything public in these stands in curvedp itself
    elsewhere = {
        "curvedp.manifolds",
        "curvedp.planning",
        "curvedp.regression",
        "curvedp.statistics",
    }
    for name in elsewhere:
        assert set(importlib.import_module(name).__all__) <= set(curvedp.__all__)
    assert listed == with_public_names - elsewhere


@pytest.mark.parametrize(
    "script", sorted((DOCS / "gallery").rglob("plot_*.py")), ids=lambda p: p.stem
)
def test_gallery_scripts_explain_themselves(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree)
    title, underline = text.splitlines()[:2]
    assert underline == "=" * len(title)
    assert len(text.split()) > 20
    assert "plt." in ast.unparse(tree), "a gallery page shows a picture"
    assert ".plot()" not in ast.unparse(tree), "pyplot must know what a page shows"
    assert "environ" not in ast.unparse(tree), "a gallery page runs from what is shipped"
    private = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr[0] == "_"]
    assert set(private) <= {"__name__"}, "a gallery page uses what is public"


def test_every_section_of_the_gallery_is_introduced():
    sections = {script.parent for script in (DOCS / "gallery").rglob("plot_*.py")}
    assert all((section / "README.rst").is_file() for section in sections)
    named = {section.name for section in sections if f'"{section.name}"' in CONF}
    assert named == {section.name for section in sections}


def test_extras_that_messages_name_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    source = "\n".join(path.read_text() for path in (ROOT / "python").rglob("*.py"))
    named = set(re.findall(r"curvedp\[(\w+)\]", source))
    named |= set(re.findall(r'MissingExtraError\(\s*"(\w+)"', source))
    assert {"cli", "opendp", "accounting"} <= named
    assert named - {"extra"} <= set(extras)
