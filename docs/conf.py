"""Sphinx: ``sphinx-build -W --keep-going -b html docs target/docs`` with the extra ``docs``."""

from __future__ import annotations

import importlib
import pkgutil
import posixpath
import re
from typing import Any

import curvedp

project = "curvedp"
author = "The curvedp developers"
copyright = author
version = release = curvedp.__version__
html_title = f"curvedp {version}"

REPOSITORY = "https://github.com/curvedp/curvedp/blob/main"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["examples", "gallery", "auto_gallery/*.ipynb", "_build"]
templates_path = ["_templates"]
html_theme = "alabaster"
html_theme_options = {"description": "Differential privacy for data on curved spaces"}
html_show_sourcelink = False
default_role = "code"
smartquotes = False

myst_heading_anchors = 3
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False


def _described_above(module: str) -> list[str]:
    """Names of a module that mean the same in `curvedp` itself, whose page describes them."""
    found = importlib.import_module(module)
    return [n for n in curvedp.__all__ if getattr(found, n, None) is getattr(curvedp, n)]


autosummary_context = {
    "described_above": {
        module: _described_above(module)
        for part in pkgutil.iter_modules(curvedp.__path__, "curvedp.")
        if not (module := part.name).startswith("curvedp._")
    }
}
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
}


def _links_to_the_repository(app: Any, docname: str, source: list[str]) -> None:
    """Pages link to files outside docs as they do on the repository's site."""

    def absolute(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(docname), match[1]))
        if not target.startswith("../"):
            return match[0]
        return f"]({REPOSITORY}/{target.removeprefix('../')}{match[2]})"

    source[0] = re.sub(r"\]\((\.\./[^)#\s]*)([^)]*)\)", absolute, source[0])


#: Code, links and directives of reStructuredText, which stay as they are.
_MARKUP = re.compile(r"(``.+?``|`[^`]+`_?|\*\*[^*]+\*\*|:\w+:`[^`]+`|\\.)")
_SPECIAL = re.compile(r"(\*|\||(?<=\w)_(?=\W|$))")


def _plain_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are read in the terminal first: |x|, *shape and x_ mean themselves there."""
    indent = None
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        if line.lstrip().startswith(".. math::"):
            indent = depth
        if indent is not None or line.lstrip().startswith((">>>", "...")):
            continue
        parts = _MARKUP.split(line)
        parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
        lines[i] = "".join(parts)


def _is_not_ours(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Methods that scikit-learn's own pages describe."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Connects the translations above."""
    app.connect("autodoc-skip-member", _is_not_ours)
    app.connect("source-read", _links_to_the_repository)
    app.connect("autodoc-process-docstring", _plain_text, priority=100)
