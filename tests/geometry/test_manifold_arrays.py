"""Batches, broadcasting, memory layout, dtypes and `out=` are the same on every manifold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from asked_of_each import asked_of_each
from configurations import batch
from curvedp import _core
from curvedp.manifolds import Sphere
from manifold_list import Case
from reference.accuracy import EPS, condition
from reference.twin import Array


def same(case: Case, a: Array, b: Array, base: Array) -> bool:
    """Equal bits; on SPD matrices equal up to rounding.

    SPD rows share the sweeps of their block's eigenvalue iteration, which ends when the slowest has
    converged, and a distance is taken from whichever end serves more rows.
    """
    if not case.name.startswith("spd"):
        return np.array_equal(a, b)
    limit = 64 * EPS * max(condition(case.twin, p) for p in base.reshape(-1, *base.shape[-2:]))
    return bool(np.all(np.abs(np.asarray(a) - b) <= limit * np.max(np.abs(b), initial=1e-300)))


BINARY: dict[str, Any] = {
    "exp": lambda m, v, p, q, **kw: m.exp(v, p, **kw),
    "log": lambda m, v, p, q, **kw: m.log(q, p, **kw),
    "dist": lambda m, v, p, q, **kw: m.dist(p, q, **kw),
    "to_tangent": lambda m, v, p, q: m.to_tangent(v, p),
    "transport": lambda m, v, p, q: m.parallel_transport(v, p, end_point=q),
    "inner": lambda m, v, p, q: m.inner(v, v, p),
    "norm": lambda m, v, p, q: m.norm(v, p),
    "coords": lambda m, v, p, q: m.tangent_to_coords(v, p),
}


@asked_of_each("name", BINARY)
def test_batches_broadcast(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    bases, vectors, points = batch(case, 10, 5)
    rows = np.array(
        [call(manifold, v, p, q) for v, p, q in zip(vectors, bases, points, strict=True)]
    )
    assert same(case, call(manifold, vectors, bases, points), rows, bases)
    split = tuple(x.reshape(5, 1, *x.shape[1:]) for x in (vectors, bases, points))
    expected = rows.reshape(5, 1, *rows.shape[1:])
    assert same(case, call(manifold, *split), expected, bases)
    for n in (1, 3):
        one = call(manifold, vectors[:n], bases[0], points[0])
        expected = np.array([call(manifold, v, bases[0], points[0]) for v in vectors[:n]])
        if name != "log" and name != "dist":
            assert same(case, one, expected, bases)


@asked_of_each("name", ["exp", "log", "dist", "inner"])
def test_leading_dimensions_broadcast_against_each_other(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    bases, vectors, points = batch(case, 20, 6)
    grid = call(manifold, vectors[:2, None], bases[None, :3], points[:2, None])
    for i in range(2):
        for j in range(3):
            alone = call(manifold, vectors[i], bases[j], points[i])
            assert same(case, grid[i, j], alone, np.stack([bases[j], points[i]]))


@pytest.mark.parametrize("n", [1, 7, 31, 32, 33, 64, 100, 1000])
def test_results_do_not_depend_on_the_place_in_the_batch(small_case: Case, n: int) -> None:
    """Block boundaries and remainders: every row equals the row computed alone."""
    manifold = small_case.manifold
    bases, vectors, points = (np.resize(x, (n, *x.shape[1:])) for x in batch(small_case, 30, 13))
    for name, call in BINARY.items():
        whole = call(manifold, vectors, bases, points)
        for i in {0, n // 2, n - 1}:
            alone = call(manifold, vectors[i], bases[i], points[i])
            ends = np.stack([bases[i], points[i]])
            assert same(small_case, whole[i], alone, ends), name


@asked_of_each("name", ["exp", "log", "dist"])
def test_out_is_filled_and_returned(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    bases, vectors, points = batch(case, 40, 4)
    expected = call(manifold, vectors, bases, points)
    out = np.full_like(expected, np.nan)
    assert call(manifold, vectors, bases, points, out=out) is out
    assert np.array_equal(out, expected)
    for wrong in (
        np.zeros((3, *expected.shape[1:])),
        np.zeros(expected.shape, dtype=np.float32),
        np.full(expected.shape, 0x7FA00000, dtype=np.uint32).view(np.float32),  # loud when widened
        np.zeros((*expected.shape, 1)),
    ):
        with pytest.raises((ValueError, TypeError), match="out"):
            call(manifold, vectors, bases, points, out=wrong)
    frozen = np.zeros_like(expected)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, TypeError), match="out"):
        call(manifold, vectors, bases, points, out=frozen)


@asked_of_each("name", ["exp", "log"])
def test_out_may_not_silently_spoil_an_input(case: Case, name: str) -> None:
    """Written over its own input the result is right, or the call is refused."""
    manifold, call = case.manifold, BINARY[name]
    bases, vectors, points = batch(case, 50, 40)
    expected = call(manifold, vectors, bases, points)
    for place in range(3):
        inputs = [vectors.copy(), bases.copy(), points.copy()]
        try:
            actual = call(manifold, *inputs, out=inputs[place])
        except ValueError:
            continue
        assert np.array_equal(actual, expected)


@asked_of_each("name", BINARY)
def test_float32_is_widened(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    narrow = [x.astype(np.float32) for x in batch(case, 60, 3)]
    wide = [x.astype(np.float64) for x in narrow]
    bases, vectors, points = narrow
    actual = call(manifold, vectors, bases, points)
    assert actual.dtype == np.float64
    assert np.array_equal(actual, call(manifold, wide[1], wide[0], wide[2]), equal_nan=True)


@asked_of_each("name", BINARY)
def test_memory_layout_does_not_matter(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    bases, vectors, points = batch(case, 70, 6)
    expected = call(manifold, vectors, bases, points)

    def strided(x: Array) -> Array:
        room = np.full((2 * len(x), *x.shape[1:]), np.nan)
        room[::2] = x
        return room[::2]

    def reversed_view(x: Array) -> Array:
        return np.ascontiguousarray(x[::-1])[::-1]

    def read_only(x: Array) -> Array:
        copy = x.copy()
        copy.flags.writeable = False
        return copy

    def off_the_words(x: Array) -> Array:
        room = np.zeros(x.nbytes + 1, dtype=np.uint8)
        room[1:] = x.reshape(-1).view(np.uint8)
        view = room[1:].view(np.float64).reshape(x.shape)
        assert view.flags.c_contiguous
        assert not view.flags.aligned
        return view

    for layout in (
        off_the_words,
        np.asfortranarray,
        strided,
        reversed_view,
        read_only,
        lambda x: x.astype(">f8"),
        lambda x: x.tolist(),
    ):
        actual = call(manifold, layout(vectors), layout(bases), layout(points))
        assert np.array_equal(actual, expected)


def test_the_core_reads_no_array_whose_entries_lie_in_another_order() -> None:
    """As they lie, records would be made of entries of others."""
    records = Sphere(2).random_point(8, rng=1)
    _core.MessageSums(Sphere(2).kernels, records)
    signals, out = np.ones((2, 3, 9)), np.empty((2, 9))
    columns = np.asfortranarray(records)
    for call in (
        lambda: _core.MessageSums(Sphere(2).kernels, columns),
        lambda: _core.shorten(columns, 1.0),
        lambda: _core.time_series_covariance(np.asfortranarray(signals), 0.0, 1.0, out),
        lambda: _core.vecd(np.asfortranarray(np.arange(9.0).reshape(3, 3)), 1.0, np.empty(6)),
    ):
        with pytest.raises(ValueError, match="C-contiguous"):
            call()
    assert np.array_equal(columns, records)


@asked_of_each("name", BINARY)
def test_empty_batches_give_empty_results(case: Case, name: str) -> None:
    manifold, call = case.manifold, BINARY[name]
    full = batch(case, 80, 2)
    tail = call(manifold, full[1], full[0], full[2]).shape[1:]
    bases, vectors, points = (x[:0] for x in full)
    assert call(manifold, vectors, bases, points).shape == (0, *tail)
    assert call(manifold, vectors, full[0][0], points).shape == (0, *tail)
    assert manifold.belongs(points).shape == (0,)
    assert manifold.project(points).shape == points.shape
