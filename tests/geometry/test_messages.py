"""Sums of bounded integer messages: those of their twin, whatever the order and threads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import curvedp
from manifold_list import BY_NAME, CASES, SMALL, Case
from message_cases import base_of, core, hostile, records_of
from reference import messages as twin
from reference.messages import norm_squared, truncated
from reference.twin import Array

BINS, LARGEST, RADIUS = 48, 4.0, 0.6
AFFORDABLE = [case for case in CASES if case.manifold.point_size <= 130]
STARTED = [case for case in AFFORDABLE if twin.start_bound(case.manifold) is not None]


def sums_of(case: Case, records: Array, ends: Any = None) -> Any:
    ends = None if ends is None else np.asarray(ends, dtype=np.int64)
    return core().MessageSums(case.manifold.kernels, np.atleast_2d(records), ends)


def has_scale(case: Case) -> bool:
    return case.name.startswith(("spd", "hpd"))


def parts(case: Case, records: Array, ends: Any = None) -> dict[str, Any]:
    """Every sum that a space has."""
    sums, base = sums_of(case, records, ends), base_of(case)
    found = {"tail": sums.tail(base, LARGEST, BINS), "round": sums.round(base, RADIUS)}
    found["start"] = sums.start()
    found["scale"] = sums.scale(core().SCALE_BINS) if has_scale(case) else None
    return {name: part for name, part in found.items() if part is not None}


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
def test_a_record_sends_what_its_twin_sends(case: Case) -> None:
    base, rows = base_of(case), records_of(case, 40)
    compared = 0
    for row in rows:
        own, other = sums_of(case, row), twin.MessageSums(case.manifold, row[None])
        dist = np.linalg.norm(other.coords(base)[0])
        place = 4 * np.log2(LARGEST / dist) if dist > 0 else 0.5
        if not abs(place - round(place)) < 1e-9:
            compared += 1
            assert np.array_equal(own.tail(base, LARGEST, BINS), other.tail(base, LARGEST, BINS))
        actual, expected = own.round(base, RADIUS), other.round(base, RADIUS)
        assert np.abs(actual[:-1] - expected[:-1]).max() <= 1
        if other.valid[0]:
            rest = core().ROUND_BOUND ** 2 - norm_squared(actual[:-1])
            assert int(actual[-1]) ** 2 <= rest < (int(actual[-1]) + 1) ** 2
        else:
            assert not actual.any()
        start = own.start()
        if start is None:
            assert other.start() is None
        else:
            assert np.array_equal(start, other.start())
        if has_scale(case):
            assert np.array_equal(own.scale(277), other.scale(277))
    assert compared > 35


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
def test_bounds_are_those_of_the_twin(case: Case) -> None:
    actual, expected = core().start_bound(case.manifold.kernels), twin.start_bound(case.manifold)
    if expected is None:
        assert actual is None
        return
    assert actual[:3] == expected[:3]
    assert np.array_equal(actual[3], expected[3])


def test_columns_are_those_of_the_twin() -> None:
    assert (core().ROUND_BOUND, core().SCALE_BINS) == (twin.ROUND_BOUND, twin.SCALE_BINS)
    for bins in (1, 2, 64, 80, 277, 400, 1000):
        assert np.array_equal(core().square_root_column(bins), twin.square_root_column(bins))
        assert core().tail_bound(bins) == twin.tail_bound(bins)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_record_decides_its_own_message_alone(case: Case) -> None:
    """Hostile rows beside it in a block, or in its piece, change nothing."""
    rows = np.concatenate([records_of(case, 100), hostile(case, 150)])
    total = parts(case, rows)
    alone = [parts(case, row) for row in rows]
    for name, part in total.items():
        assert np.array_equal(part, sum(one[name] for one in alone)), name
    assert total["tail"].any()


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_sums_depend_on_neither_threads_nor_order_nor_pieces(case: Case) -> None:
    few = np.concatenate([records_of(case, 300), hostile(case, 33)])
    rng = np.random.default_rng(6)
    rows = few[rng.integers(len(few), size=9000)]
    threads = core().num_threads()
    try:
        core().set_num_threads(1)
        expected = parts(case, rows)
        for count in (2, 3):
            core().set_num_threads(count)
            for name, part in parts(case, rows).items():
                assert np.array_equal(part, expected[name]), (name, count)
    finally:
        core().set_num_threads(threads)
    shuffled = rows[rng.permutation(len(rows))]
    pieces = [parts(case, piece) for piece in np.array_split(rows, [1, 77, 78, 5000])]
    for name, part in expected.items():
        assert np.array_equal(parts(case, shuffled)[name], part), name
        assert np.array_equal(sum(piece[name] for piece in pieces), part), name
        assert not np.array_equal(parts(case, rows[1:])[name], part) or name == "scale", name


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_unit_sends_the_mean_of_its_records(case: Case) -> None:
    rows = np.concatenate([records_of(case, 40), hostile(case, 40)])
    single = parts(case, rows, range(len(rows) + 1))
    for name, part in parts(case, rows).items():
        assert np.array_equal(part, single[name]), name
    ends = [0, 1, 1, 7, 8, 40, 41, 79, 80]
    alone = [parts(case, row) for row in rows]
    for name, part in parts(case, rows, ends).items():
        expected = np.zeros_like(part)
        for first, end in pairwise(ends):
            sums = sum((one[name] for one in alone[first:end]), np.zeros_like(part)).tolist()
            expected += np.array([truncated(x, max(end - first, 1)) for x in sums])
        assert np.array_equal(part, expected), name


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_round_after_a_tail_and_after_another_base(case: Case) -> None:
    rows, base, other = records_of(case, 50), base_of(case), base_of(case, 8)
    kept = sums_of(case, rows)
    expected = {
        seed: sums_of(case, rows).round(point, RADIUS) for seed, point in enumerate((base, other))
    }
    kept.tail(base, LARGEST, BINS)
    for seed, point in [(0, base), (1, other), (0, base)]:
        assert np.array_equal(kept.round(point, RADIUS), expected[seed])
    assert not np.array_equal(expected[0], expected[1])


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_without_points_or_a_base_everything_is_zero(case: Case) -> None:
    rows, base = records_of(case, 12), base_of(case)
    for nothing in (rows[:0], np.full_like(rows, np.nan)):
        assert not any(part.any() for part in parts(case, nothing).values())
    sums = sums_of(case, rows)
    for bad in (np.nan, np.inf):
        nowhere = base.copy()
        nowhere[-1] = bad
        assert not sums.tail(nowhere, LARGEST, BINS).any()
        assert not sums.round(nowhere, RADIUS).any()
    assert sums.round(base, RADIUS).any()


def test_only_shapes_and_parameters_are_refused() -> None:
    case = BY_NAME["sphere:2"]
    kernels, rows, base = case.manifold.kernels, records_of(case, 9), base_of(case)
    sums = sums_of(case, rows)
    for radius in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="radius must be positive and finite"):
            sums.round(base, radius)
        with pytest.raises(ValueError, match="largest must be positive and finite"):
            sums.tail(base, radius, BINS)
    for bins in (0, 4097):
        with pytest.raises(ValueError, match="bins must be 1 to 4096"):
            sums.tail(base, LARGEST, bins)
        with pytest.raises(ValueError, match="bins must be 1 to 4096"):
            core().tail_bound(bins)
    with pytest.raises(ValueError, match="only positive definite matrices have a scale"):
        sums.scale(277)
    with pytest.raises(ValueError, match="expected 3 entries, got 2"):
        sums.round(base[:2], 1.0)
    with pytest.raises(ValueError, match="expected rows of 3 entries, got 2"):
        core().MessageSums(kernels, np.ones((4, 2)), None)
    for ends in ([0, 5], [1, 9], [0, 7, 6, 9], [-1, 9]):
        with pytest.raises(ValueError, match="unit_ends must begin at 0"):
            sums_of(case, rows, ends)
    with pytest.raises(ValueError, match="number of entries"):
        core().start_point(kernels, np.ones(3))
    large = curvedp.Projective(1000).kernels
    with pytest.raises(ValueError, match="order of projectors must be at most 1000"):
        core().start_bound(large)
    with pytest.raises(ValueError, match="order of projectors must be at most 1000"):
        core().MessageSums(large, np.ones((1, 1001))).start()
    line = curvedp.Euclidean(2)
    assert core().start_bound(line.kernels) is None
    with pytest.raises(ValueError, match="number of entries"):
        core().start_point(line.kernels, np.ones(3))


@pytest.mark.parametrize("case", STARTED, ids=repr)
def test_a_start_is_near_the_records_and_as_decided_as_its_twin_says(case: Case) -> None:
    rng = np.random.default_rng(9)
    manifold, shape = case.manifold, case.twin.point_shape
    center = base_of(case).reshape(shape)
    reach = 0.2 * min(case.twin.injectivity_radius, 1.0)
    rows = [
        case.twin.exp(reach * case.twin.random_unit_vector(rng, center), center).ravel()
        for _ in range(30)
    ]
    total = sums_of(case, np.array(rows)).start().astype(float)
    for vector in (total + 1e6 * rng.standard_normal(len(total)), total):
        point, signal, size = core().start_point(manifold.kernels, vector)
        expected, decided, order = twin.start_point(manifold, vector)
        assert size == order
        assert signal == pytest.approx(decided, rel=1e-9)
        assert signal > 1e7
        assert manifold.belongs(point.reshape(shape), atol=1e-9)
        assert manifold.dist(point.reshape(shape), expected.reshape(shape)) < 1e-6
    assert manifold.dist(point.reshape(shape), center) < reach


@pytest.mark.parametrize("case", STARTED, ids=repr)
def test_any_numbers_have_a_start(case: Case) -> None:
    rng = np.random.default_rng(10)
    kernels, shape = case.manifold.kernels, case.twin.point_shape
    entries = len(core().start_bound(kernels)[3])
    size = core().start_point(kernels, np.ones(entries))[2]
    origin = core().start_point(kernels, np.zeros(entries))[0]
    assert case.manifold.belongs(origin.reshape(shape), atol=1e-12)
    for bad in (np.nan, np.inf, -np.inf):
        vector = rng.standard_normal(entries)
        vector[rng.integers(entries)] = bad
        point, signal, order = core().start_point(kernels, vector)
        assert np.array_equal(point, origin)
        assert (signal, order) == (0.0, size)
    for _ in range(20):
        vector = rng.standard_normal(entries) * 10.0 ** rng.uniform(-300, 300)
        point, signal, order = core().start_point(kernels, vector)
        assert case.manifold.belongs(point.reshape(shape), atol=1e-9)
        assert order == size
        largest = np.abs(vector).max()
        decided = twin.start_point(case.manifold, vector / largest)[1]
        assert signal == pytest.approx(decided * largest, rel=1e-9, abs=1e-9 * largest)
