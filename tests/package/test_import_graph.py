"""Modules import each other in one direction."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import curvedp

ROOT = Path(curvedp.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


SOURCES = {module_name(path): path for path in ROOT.rglob("*.py")}


#: Imports that lead back, and why each is no room that needs another.
LEADING_BACK = {
    # methods of a base class that return what is built from it
    "curvedp.manifolds.base": {"curvedp.manifolds.convert"},
    "curvedp.manifolds.product": {"curvedp.manifolds.convert"},
    "curvedp.domain": {"curvedp.product_ball"},
    "curvedp.privacy.base": {"curvedp.privacy.accounting", "curvedp.privacy.guarantees"},
    # an error names guarantees, which raise it: for type checkers alone
    "curvedp.errors": {"curvedp.privacy.guarantees"},
    # a statistic is told what is paid and returns releases, whose call names it: the same
    "curvedp.statistics.statistic": {
        *("curvedp.statistics.base_point", "curvedp.statistics.call"),
        *("curvedp.statistics.paid", "curvedp.statistics.releases"),
    },
    "curvedp.statistics.tables": {"curvedp.statistics.releases"},
}


def imported(name: str) -> set[str]:
    """Modules that a module imports: at once, when something is called, or for type checkers."""
    return named(name)[0]


def places_named(name: str) -> set[str]:
    """Modules named in texts, which `curvedp._displays` imports when it is asked."""
    return named(name)[1]


@functools.cache
def named(name: str) -> tuple[set[str], set[str]]:
    """Modules that a module imports, and that it names in texts."""
    found, texts = set(), set()
    for node in ast.walk(ast.parse(SOURCES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value.partition(":")[0])
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in SOURCES else node.module)
    # the package itself imports its parts when they are asked for
    return (found & SOURCES.keys()) - {name, "curvedp"}, texts & SOURCES.keys()


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


def test_places_in_texts_count():
    assert "curvedp.plotting.balls" in places_named("curvedp.domain")


def test_imports_for_type_checkers_count():
    assert "curvedp.privacy.guarantees" in imported("curvedp.errors")


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(graph) == [["a", "b", "c", "a"]]


def test_no_module_imports_its_importer():
    graph = {name: imported(name) for name in SOURCES if name != "curvedp"}
    assert len(graph) > 100
    for name, others in LEADING_BACK.items():
        assert others <= graph[name], "no exception that is not needed"
        graph[name] -= others
    assert circles(graph) == []


#: Systems of papers: complete, and needed by nothing else. The papers' own calibrations of the
#: first two are in the third.
ROOMS = {"conformal": set(), "mail": set(), "published": {"conformal", "mail"}}
#: What reads stored releases of every kind, wherever it is defined.
READERS = {"curvedp.privacy.release"}
PUBLISHED = {name for name in SOURCES if name.startswith("curvedp.published")}
#: Of the proved statistics the published mechanisms take types of results and pure functions.
RESULTS_AND_FORMULAS = {"interval", "quantiles", "region", "symmetric"}


def room_of(name: str) -> str | None:
    """The room in which a module stands."""
    part = name.split(".")[1] if "." in name else ""
    return part if part in ROOMS else None


def test_nothing_imports_a_room_from_outside():
    assert {room_of(name) for name in SOURCES} == {None, *ROOMS}
    for name in SOURCES.keys() - {"curvedp"}:
        own = room_of(name)
        allowed = {None, own} | ROOMS.get(own, set())
        assert {room_of(other) for other in imported(name)} <= allowed, name
        if name not in READERS:
            assert {room_of(other) for other in places_named(name)} <= allowed, name


def test_what_is_published_draws_nothing_by_the_proved_statistics():
    used = set().union(*(imported(name) for name in PUBLISHED))
    statistics = {name for name in used if name.startswith("curvedp.statistics")}
    assert statistics == {f"curvedp.statistics.{name}" for name in RESULTS_AND_FORMULAS}
