"""Sphinx: ``sphinx-build -W --keep-going -b html docs target/docs`` with the extra ``docs``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import posixpath
import re
import warnings
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from jinja2 import BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx, numpydoc

import curvedp

project = "curvedp"
author = "The curvedp developers"
copyright = author
version = release = curvedp.__version__
html_title = f"curvedp {version}"

GITHUB = "https://github.com/curvedp/curvedp"
REPOSITORY = f"{GITHUB}/blob/main"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["examples", "gallery", "auto_gallery/*.ipynb", "_build"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "logo": {"text": "curvedp"},
    "github_url": GITHUB,
    "collapse_navigation": True,
    "show_toc_level": 2,
    # the landing page is short, the tables of guarantees are wide
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "guarantees": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "search": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_math_renderer = "mathml"
default_role = "py:obj"
smartquotes = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div[class*=highlight-]:not(.highlight-none) pre"
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
    "subsection_order": [
        f"gallery/{section}" for section in ("journeys", "spaces", "statistics", "planning")
    ],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "thumbnail_size": (600, 300),
    "write_computation_times": False,
    "capture_repr": ("_repr_html_",),
}


class _Compiled(BytecodeCache):
    """Compiled templates: numpydoc would compile its own anew for each of 5,000 docstrings."""

    def __init__(self) -> None:
        self.codes: dict[str, Any] = {}

    def load_bytecode(self, bucket: Any) -> None:
        bucket.code = self.codes.get(bucket.key)

    def dump_bytecode(self, bucket: Any) -> None:
        self.codes[bucket.key] = bucket.code


docscrape_sphinx.SandboxedEnvironment = functools.partial(
    SandboxedEnvironment, bytecode_cache=_Compiled()
)

_FUNCTION = r"\\(?:cos|cot|exp|log|sin|tan)\b"


def _mathml(tex: str, as_block: bool) -> str:
    """A formula that browsers set themselves; cos b cos s has thin spaces."""
    tex = re.sub(rf"{_FUNCTION}(?:[_^](?:\w|{{[^}}]*}}))?(?=\s*[\w\\])", r"\g<0>\\,", tex)
    tex = re.sub(rf"(?<=[\w}}*)])\s*(?={_FUNCTION})", r" \\, ", tex)
    return tex2mathml(tex, as_block)


def _inline_math(self: Any, node: Any) -> None:
    self.body.append(_mathml(node.astext(), False))
    raise nodes.SkipNode


def _displayed_math(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{_mathml(node.astext(), True)}</div>')
    raise nodes.SkipNode


_NAME = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')


def _names_that_break(app: Any, page: str, template: str, context: Any, doctree: Any) -> None:
    """Long names go on in the next line of a narrow cell after a dot or an underscore."""
    context["body"] = _NAME.sub(
        lambda name: re.sub(r"(?<=\w)[._=/](?=\w)|(?<=\w)\(", r"\g<0><wbr>", name[0]),
        context.get("body", ""),
    )


def _links_to_the_repository(app: Any, docname: str, source: list[str]) -> None:
    """Pages link to files outside docs as they do on the repository's site."""

    def absolute(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(docname), match[1]))
        if not target.startswith("../"):
            return match[0]
        return f"]({REPOSITORY}/{target.removeprefix('../')}{match[2]})"

    text = source[0].replace("](gallery/README.rst)", "](auto_gallery/index.rst)")
    text = re.sub(r"\]\(gallery/(\w+/plot_\w+)\.py\)", r"](auto_gallery/\1.rst)", text)
    source[0] = re.sub(r"\]\((\.\./[^)#\s]*)([^)]*)\)", absolute, text)


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


def _warned(message: Any, category: type[Warning], *where: Any) -> str:
    return f"{category.__name__}: {message}\n"


def _parsed_once(parse: Any) -> Any:
    """Docstrings, which numpydoc parses again for a signature above their text: ours have none."""

    def parsed(obj: Any, *args: Any, **how: Any) -> Any:
        return parse(obj, *args, **how) if "builder" in how else {"Signature": ""}

    return parsed


def setup(app: Any) -> None:
    """Connects the translations above."""
    numpydoc.get_doc_object = _parsed_once(numpydoc.get_doc_object)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_displayed_math, None))
    app.connect("autodoc-skip-member", _is_not_ours)
    app.connect("source-read", _links_to_the_repository)
    app.connect("html-page-context", _names_that_break)
    warnings.formatwarning = _warned  # of the gallery's scripts
    app.connect("autodoc-process-docstring", _plain_text, priority=100)
