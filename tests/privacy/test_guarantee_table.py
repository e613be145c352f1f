"""The table of guarantees says what the code does, misses nothing, and the pages print it."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import typing
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.conformal import ConformalLaplace
from curvedp.manifolds.spaces import SPACES
from curvedp.mechanisms import MECHANISMS, RankExponential
from guarantee_table import (
    BOTH,
    COLUMNS,
    FEW,
    GAUSSIAN,
    NONE,
    ON_TORI,
    PLACES,
    PURE,
    ROOT,
    ROWS,
    SMALL,
    STUB,
    rewritten,
)

N = 300


@functools.cache
def ball_and_records(spec: str) -> tuple[cdp.Ball, np.ndarray]:
    manifold = cdp.as_manifold(spec)
    center = manifold.random_point(rng=1)
    ball = cdp.Ball(manifold, center, 0.5)
    rng = np.random.default_rng(2)
    coords = 0.1 * rng.standard_normal((N, manifold.dim))
    return ball, manifold.exp(manifold.coords_to_tangent(coords, center), center)


def _takes_numbers(row) -> bool:
    return row.call.partition(".")[0] in ("quantile", "PrivateMail")


def _takes_groups(row) -> bool:
    function = functools.reduce(getattr, row.call.split("."), cdp)
    return inspect.isfunction(function) and "groups" in inspect.signature(function).parameters


def _slow(row, spec: str) -> list[pytest.MarkDecorator]:
    """Exact draws from a K-norm gradient take seconds in six dimensions."""
    takes_long = row.mechanism.startswith("K-norm") and cdp.as_manifold(spec).dim > 2
    return [pytest.mark.slow] if takes_long else []


#: Of either kind the guarantee that groups are asked for, too.
PURE_DP, GAUSSIAN_DP = cdp.PureDP(1.0), cdp.GDP(1.0)


def cells() -> list[pytest.param]:
    return [
        pytest.param(row, spec, proved, id=f"{row}-{spec}", marks=_slow(row, spec))
        for row in ROWS
        for column in COLUMNS
        for spec, proved in _cell(row, column).items()
        # numbers and rows have no manifold to be refused
        if row.spaces[column] != NONE or not _takes_numbers(row)
    ]


def _cell(row, column: str) -> dict[str, str]:
    """What is promised on each of the spaces of a cell."""
    if row.spaces[column] == ON_TORI:
        return {spec: PURE if spec == "torus:2" else NONE for spec in COLUMNS[column]}
    if SMALL not in row.mechanism:
        return dict.fromkeys(COLUMNS[column], row.spaces[column])
    specs = [*COLUMNS[column], *([FEW[column]] if column in FEW else [])]
    dims = {spec: cdp.as_manifold(spec).dim for spec in specs}
    return {spec: row.spaces[column] if dim <= 3 else NONE for spec, dim in dims.items()}


@pytest.mark.parametrize(("row", "spec", "proved"), cells())
def test_a_cell_says_what_the_release_promises(row, spec, proved):
    ball, records = ball_and_records(spec)
    kinds = {PURE: [PURE_DP], GAUSSIAN: [GAUSSIAN_DP, cdp.ZCDP(0.5), cdp.ApproxDP(1.0, 1e-5)]}
    for kind, guarantees in kinds.items():
        for guarantee in guarantees:
            if proved in (kind, BOTH):
                release = row.run(ball, records, guarantee)
                assert release.guarantee == guarantee
                assert "idealized-sampling" not in getattr(release, "assumptions", ())
                if _takes_groups(row) and guarantee in (PURE_DP, GAUSSIAN_DP):
                    in_groups = row.run(ball, records, guarantee, groups=[0, N // 2, N])[1]
                    assert in_groups.guarantee == guarantee
                if row.mechanism == getattr(MECHANISMS.get(_word(row)), "name", None):
                    assert release.mechanism == row.mechanism
            else:
                with pytest.raises((TypeError, ValueError)):
                    row.run(ball, records, guarantee)


def _word(row):
    return row.mechanism.lower().replace(" ", "-")


# ------------------------------------------------------------------ nothing is missing


def releasing() -> set[str]:
    """Public functions and methods whose annotation promises something with a guarantee."""
    found = set()
    for name in cdp.__all__:
        entry = getattr(cdp, name)
        if inspect.isfunction(entry) and _is_release(entry):
            found.add(name)
    for module in ("conformal", "mail", "statistics"):
        for name, entry in inspect.getmembers(getattr(cdp, module), inspect.isfunction):
            if name not in found and name in getattr(cdp, module).__all__ and _is_release(entry):
                found.add(f"{module}.{name}")
    for name, method in inspect.getmembers(cdp.PrivateMail, inspect.isfunction):
        if not name.startswith("_") and _is_release(method):
            found.add(f"PrivateMail.{name}")
    return found


def _is_release(function) -> bool:
    returned = typing.get_type_hints(function).get("return")
    if returned is cdp.Plan:  # names the guarantee of a release to come
        return False
    return any(map(_has_guarantee, typing.get_args(returned) or (returned,)))


def _has_guarantee(kind) -> bool:
    """One data set's result, or the `Releases` of groups."""
    if kind is cdp.MeanComparison or hasattr(kind, "guarantee"):
        return True
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return "guarantee" in {field.name for field in fields}


def test_every_release_has_a_row():
    rows = {row.call for row in ROWS}
    assert releasing() <= rows
    assert rows - releasing() == {"PrivateMail"}


def test_every_mechanism_has_a_row():
    proofs = {page for row in ROWS for page in row.proofs}
    for mechanism in (*MECHANISMS.values(), RankExponential, ConformalLaplace):
        assert mechanism.proof.removeprefix("docs/proofs/").removesuffix(".md") in proofs
        assert any(row.mechanism == mechanism.name for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_row_has_proof_pages_that_are_no_stubs(row):
    assert row.proofs
    for page in row.proofs:
        text = (ROOT / "docs" / "proofs" / f"{page}.md").read_text(encoding="utf-8")
        assert len(text.split()) > 200


def test_every_proof_page_is_used():
    pages = {page.stem for page in (ROOT / "docs" / "proofs").glob("*.md")}
    texts = "".join(space.__doc__ or "" for space in SPACES)
    spaces = {"correlation", "products", *re.findall(r"docs/proofs/(\S+?)\.md", texts)}
    shared = {"certified-logarithms", "conversions", "count-resize", "coverage", "exact-draws"}
    post_processing = {"directions"}
    shared |= spaces | post_processing
    assert pages - {"index"} == {page for row in ROWS for page in row.proofs} | shared


def text_of(file: str) -> str:
    return (ROOT / "tests" / file).read_text(encoding="utf-8")


@functools.cache
def tree_of(file: str) -> ast.Module:
    return ast.parse(text_of(file))


@functools.cache
def functions_of(file: str) -> dict[str, str]:
    """Test functions of a file with their sources, decorators included."""
    lines = text_of(file).splitlines()
    return {
        node.name: "\n".join(
            lines[min(part.lineno for part in (*node.decorator_list, node)) - 1 : node.end_lineno]
        )
        for node in tree_of(file).body
        if isinstance(node, ast.FunctionDef)
    }


def parameters_of(file: str, name: str) -> str:
    """Parameters of a test: its decorators, and the lists of the file that they name."""
    body = tree_of(file).body
    (test,) = (n for n in body if isinstance(n, ast.FunctionDef) and n.name == name)
    text = " ".join(map(ast.unparse, test.decorator_list))
    lists = [n for n in body if isinstance(n, ast.Assign)]
    named = [n for n in lists if ast.unparse(n.targets[0]) in re.findall(r"\w+", text)]
    return " ".join([text, *(ast.unparse(n.value) for n in named)])


def kinds_of(file: str) -> set[str]:
    """Keys of the dictionary KINDS over which a file's tests run."""
    (found,) = (
        node.value
        for node in tree_of(file).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "KINDS"
    )
    return {key.value for key in found.keys}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_row_is_attacked_by_a_test_that_runs(row):
    assert row.audits
    for audit in row.audits:
        file, name, kind = re.fullmatch(r"(.+)::(\w+)(?:\[(.+)\])?", audit).groups()
        source = functions_of(file)[name]
        if kind is not None:
            assert kind in kinds_of(file)
            assert "KINDS" in parameters_of(file, name)
        # an audit by draws, or one by exact probabilities
        assert ".passed" in source or "exact" in f"{name} {source}"
        assert "skip" not in source
        assert "xfail" not in source


# ------------------------------------------------------------------ the pages print it


@pytest.mark.parametrize(
    "page", sorted({STUB, *(place for place, _, _ in PLACES)}), ids=lambda p: p.name
)
def test_the_page_prints_the_table(page: Path):
    assert page.read_text(encoding="utf-8") == rewritten(page), (
        "run python tests/guarantee_table.py"
    )
