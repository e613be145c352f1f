"""The house: no circles, no private names of others, and one signature of a release."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import curvedp
from curvedp.statistics.call import CallOptions, CommonOptions, UnitOptions

ROOT = Path(curvedp.__file__).parent
RUST = Path(__file__).parents[2] / "rust"

# ------------------------------------------------------------------ circles of imports in Rust

#: Files that name each other: a law and its draws, a domain and its grid, an error and its reasons;
#: classes of the binding.
CIRCLES = {
    frozenset({"ball", "release"}),
    frozenset({"error", "masks"}),
    frozenset({"noise::compact", "noise::compact_draws"}),
    frozenset({"noise::hull", "noise::log_concave"}),
    frozenset({"noise::spd", "noise::spd_draws", "noise::spd_moments"}),
    frozenset({"noise::stream", "noise::tails"}),
    frozenset({"regression::model", "regression::space"}),
    frozenset({"solve::sliced", "solve::sums"}),
    frozenset({"frame", "groups", "manifold", "mean", "moments", "noise", "regression"}),
}
_NAME = re.compile(r"\b(?:crate|super)(?:::\w+)+")
_USE = re.compile(r"\buse\s+([^;]+);")

Module = tuple[str, ...]
Graph = dict[Any, set[Any]]


def used(text: str) -> Iterator[str]:
    """Paths that a file of Rust names, without its tests and comments."""
    code = re.sub(r"//.*", "", text.partition("#[cfg(test)]")[0])
    for match in _USE.finditer(code):
        yield from spelled_out(" ".join(match[1].split()))
    yield from _NAME.findall(_USE.sub("", code))


def spelled_out(path: str) -> Iterator[str]:
    """The paths of a nested one: a::{b, c::{d}} names a::b and a::c::d."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield re.sub(r"\s+as\s+\w+", "", path).replace(" ", "")
        return
    depth, begun = 0, 0
    inner = rest[: rest.rindex("}")] + ","
    for at, sign in enumerate(inner):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            if part := inner[begun:at].strip():
                yield from spelled_out(head + part)
            begun = at + 1


def rust_graph(source: Path) -> Graph:
    """The modules that each module of a crate names."""
    files: dict[Module, Path] = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        name = () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts
        files[name] = path
    graph: Graph = {name: set() for name in files if "tests" not in name}
    for name in graph:
        for path in used(files[name].read_text(encoding="utf-8")):
            steps = path.split("::")
            up = steps.count("super")
            if steps[0] not in ("crate", "super"):
                continue
            other = (*name[: len(name) - up], *steps[up:]) if up else tuple(steps[1:])
            while other not in graph:
                other = other[:-1]
            if other not in ((), name):
                graph[name].add(other)
    return graph


def circles(graph: Graph) -> list[set[Any]]:
    """Sets of nodes that all lead to each other."""
    order: dict[Any, int] = {}
    lowest: dict[Any, int] = {}
    waiting: list[Any] = []
    found: list[set[Any]] = []

    def walk(node: Any) -> None:
        order[node] = lowest[node] = len(order)
        waiting.append(node)
        for other in graph[node]:
            if other not in order:
                walk(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in waiting:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = waiting.index(node)
            own = set(waiting[at:])
            del waiting[at:]
            if len(own) > 1:
                found.append(own)

    for node in graph:
        if node not in order:
            walk(node)
    return found


def test_a_circle_is_found() -> None:
    graph: Graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(graph) == [{"a", "b", "c"}]
    text = "use crate::a::{self, b as c, d::{e}};\n// crate::f\nfn g() { super::h::i() }"
    assert set(used(text)) == {"crate::a::self", "crate::a::b", "crate::a::d::e", "super::h::i"}


@pytest.mark.skipif(not RUST.is_dir(), reason="an installed wheel has no sources")
def test_files_of_rust_name_each_other_in_one_direction() -> None:
    found = set()
    for crate in sorted(RUST.glob("curvedp-*/src")):
        graph = rust_graph(crate)
        found |= {frozenset("::".join(name) for name in own) for own in circles(graph)}
    assert found == CIRCLES, "no circle is new, and one that is gone leaves the list"


# ------------------------------------------------------------------ private names of others

#: Accesses to a private name of another object. It may only fall: lower it with what you mend.
PRIVATE_NAMES = 104
_OWN = {"self", "cls", "_core"}


def private_names(tree: ast.AST) -> Iterator[str]:
    """Names with an underscore that are asked of anything but oneself."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not re.match(r"_[^_]", node.attr):
            continue
        owner = node.value
        is_own = isinstance(owner, ast.Name) and owner.id in _OWN
        is_base = isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"
        if not is_own and not is_base:
            yield node.attr


def test_private_names_of_others_become_fewer() -> None:
    tree = ast.parse("self._a, other._b, super()._c, other.__class__, _core._d")
    assert list(private_names(tree)) == ["_b"]
    sources = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")]
    found = [name for text in sources for name in private_names(ast.parse(text))]
    assert len(found) == PRIVATE_NAMES


# ------------------------------------------------------------------ one signature of a release

#: Where public functions that release stand; the papers' own calibrations have other keywords.
HOMES = ("curvedp", "curvedp.statistics", "curvedp.regression", "curvedp.conformal")


def releasing() -> dict[str, Any]:
    """Public functions that take a guarantee and return a release."""
    found = {}
    for home in HOMES:
        module = importlib.import_module(home)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                signature = inspect.signature(value)
                is_release = "Release" in str(signature.return_annotation)
                if is_release and "guarantee" in signature.parameters:
                    found[name] = value
    return found


def test_every_release_takes_the_common_keywords() -> None:
    assert len(releasing()) >= 15
    for name, function in releasing().items():
        parameters = inspect.signature(function).parameters
        rest = [p.annotation for p in parameters.values() if p.kind is p.VAR_KEYWORD]
        known = set(parameters)
        if rest == ["Unpack[CallOptions]"]:
            known |= CallOptions.__annotations__.keys()
        elif rest == ["Unpack[CommonOptions]"]:
            known |= CommonOptions.__annotations__.keys()
        missing = {"groups", *UnitOptions.__annotations__} - known
        assert not missing, f"{name} lacks {sorted(missing)}"


# ------------------------------------------------------------------ docstrings


def questions(text: str) -> list[int]:
    """Lines of modules, classes and functions whose docstrings open with a question."""
    word = r"(What|How|Which|Whether|Why|Who)\b"
    if not re.search(rf"[\"'][\s\\]*{word}", text):  # parsing takes longer
        return []
    return [
        getattr(node, "lineno", 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and re.match(word, ast.get_docstring(node) or "")
    ]


def test_docstrings_open_with_a_noun_or_a_verb() -> None:
    assert questions('\n\ndef f():\n    r"""\n    How it is drawn."""') == [3]
    assert questions("'Why.'\nx = 'Which one.'") == [1]
    found = {path.name: questions(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}
