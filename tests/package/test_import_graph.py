"""Modules import each other in one direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import curvedp

ROOT = Path(curvedp.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


SOURCES = {module_name(path): path for path in ROOT.rglob("*.py")}


#: Methods of a base class that return what is built from it: imported when they are called.
FROM_A_METHOD = {
    "curvedp.domain": {"curvedp.plotting.balls"},
    "curvedp.statistics.releases": {"curvedp.plotting.groups"},
    "curvedp.manifolds.base": {"curvedp.manifolds.convert"},
    "curvedp.manifolds.product": {"curvedp.manifolds.convert"},
    "curvedp.privacy.base": {"curvedp.privacy.accounting", "curvedp.privacy.guarantees"},
    "curvedp.privacy.release": {"curvedp.plotting.releases"},
}


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All of a module but what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from statements(node)


def imported(name: str) -> set[str]:
    """Modules of the package that a module imports, at once or when something is called."""
    found = set()
    for node in statements(ast.parse(SOURCES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in SOURCES else node.module)
    # the package itself imports its parts when they are asked for
    return {entry for entry in found if entry in SOURCES} - {name, "curvedp"}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules from which imports lead back to themselves, with the way."""
    found, done = [], set()

    def walk(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
            return
        if name in done:
            return
        for other in sorted(graph[name]):
            walk(other, [*path, name])
        done.add(name)

    for name in sorted(graph):
        walk(name, [])
    return found


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(graph) == [["a", "b", "c", "a"]]


def test_no_module_imports_its_importer():
    graph = {name: imported(name) for name in SOURCES if name != "curvedp"}
    assert len(graph) > 100
    for name, others in FROM_A_METHOD.items():
        assert others <= graph[name], "no exception that is not needed"
        graph[name] -= others
    assert circles(graph) == []


PUBLISHED = {name for name in SOURCES if name.startswith("curvedp.published")}
#: Of the proved statistics the published mechanisms take types of results and pure functions.
RESULTS_AND_FORMULAS = {"interval", "quantiles", "region", "symmetric"}


def test_nothing_proved_imports_what_is_published():
    assert len(PUBLISHED) > 5
    for name in SOURCES.keys() - PUBLISHED:
        assert not imported(name) & PUBLISHED, name


def test_what_is_published_draws_nothing_by_the_proved_statistics():
    used = set().union(*(imported(name) for name in PUBLISHED))
    statistics = {name for name in used if name.startswith("curvedp.statistics")}
    assert statistics == {f"curvedp.statistics.{name}" for name in RESULTS_AND_FORMULAS}
