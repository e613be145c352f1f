"""Moments of clipped logarithms at a base point: values, ranges, invariances."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp import _core
from manifold_list import BY_NAME, CASES, Case, of
from reference.accuracy import EPS, condition
from reference.curvature import (
    curvature_form,
    hessian_by_differences,
    hessian_excess,
)
from reference.twin import Array, Twin

SEEDS = st.integers(0, 2**32 - 1)
TINY = 1e-15

SOME = [case for case in CASES if case.twin.dim <= 40]
CURVED = [case for case in SOME if case.curvature_bounds != (0.0, 0.0)]
LITTLE = [case for case in SOME if case.twin.dim <= 6]
ROUND = of(CURVED, "sphere") + of(CURVED, "kendall")


def reach(twin: Twin) -> float:
    """Nine tenths of the injectivity radius, or 3."""
    return min(0.9 * twin.injectivity_radius, 3.0)


def points_at(case: Case, seed: int, lengths: list[float]) -> tuple[Array, Array, Array]:
    """A base point, rows of points at given distances in random directions, their coordinates."""
    rng = np.random.default_rng(seed)
    core = case.manifold.kernels
    base = case.twin.random_point(rng, 0.7).reshape(1, -1)
    coords = rng.standard_normal((len(lengths), core.dim))
    coords *= np.array(lengths)[:, None] / np.linalg.norm(coords, axis=1, keepdims=True)
    points = np.empty((len(lengths), core.point_size))
    core.exp_coords(coords, base, points)
    return base[0], points, coords


def frame(case: Case, base: Array) -> list[Array]:
    """The orthonormal basis behind the coordinates at `base`."""
    core = case.manifold.kernels
    rows = np.empty((core.dim, core.point_size))
    core.from_coords(np.eye(core.dim), base[None], rows)
    return list(rows.reshape(-1, *case.twin.point_shape))


def moments(case: Case, points: Array, base: Array, max_dist: float) -> tuple[Array, Array, Array]:
    first, second, excess = case.manifold.kernels.log_moments(points, base, max_dist, True)
    assert excess is not None
    return first, second, excess


def tolerance(case: Case, base: Array, points: Array) -> float:
    """Error of a logarithm from rounding of the points, relative to lengths of about 1."""
    shape = case.twin.point_shape
    worst = condition(case.twin, base.reshape(shape), *points.reshape(-1, *shape))
    return 1e-12 + 256 * EPS * worst


@pytest.mark.parametrize("case", SOME, ids=repr)
@given(seed=SEEDS, share=st.floats(0.01, 1.0))
def test_moments_agree_with_the_closed_form(case: Case, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = list(reach(case.twin) * rng.uniform(0.01, 1.0, 5))
    base, points, coords = points_at(case, seed, lengths)
    max_dist = share * reach(case.twin)
    clipped = coords * np.minimum(1.0, max_dist / np.array(lengths))[:, None]
    first, second, excess = moments(case, points, base, max_dist)
    limit = tolerance(case, base, points) * max(1.0, reach(case.twin)) ** 2
    assert np.max(np.abs(first - clipped.mean(axis=0))) <= limit
    assert np.max(np.abs(second - clipped.T @ clipped / 5)) <= limit
    vectors = np.empty((5, points.shape[1]))
    case.manifold.kernels.from_coords(clipped, base[None], vectors)
    shape = case.twin.point_shape
    place, basis = base.reshape(shape), frame(case, base)
    forms = [
        curvature_form(case.twin, hessian_excess, vector.reshape(shape), place, basis)
        for vector in vectors
    ]
    worst = max(1.0, np.max(np.abs(forms)))
    assert np.max(np.abs(excess - np.mean(forms, axis=0))) <= 10 * worst * limit


@pytest.mark.parametrize("case", LITTLE, ids=repr)
@given(seed=SEEDS, share=st.floats(0.05, 0.8))
def test_the_hessian_agrees_with_differences_of_the_distance(
    case: Case, seed: int, share: float
) -> None:
    base, points, _ = points_at(case, seed, [share * reach(case.twin)])
    shape = case.twin.point_shape
    expected = hessian_by_differences(
        case.twin, points.reshape(shape), base.reshape(shape), frame(case, base)
    )
    _, _, excess = moments(case, points, base, np.inf)
    error = np.max(np.abs(np.eye(len(excess)) + excess - expected))
    assert error <= 2e-6 * max(1.0, np.max(np.abs(expected)))


@pytest.mark.parametrize("case", CURVED, ids=repr)
@given(seed=SEEDS, exponent=st.floats(-9.0, -2.0))
@example(seed=0, exponent=-9.0)
def test_the_excess_of_near_points_keeps_relative_accuracy(
    case: Case, seed: int, exponent: float
) -> None:
    """Hess - I = -R_u/3 + O(|u|^4), and the eigenvalue of its largest part is not lost in I."""
    base, points, _ = points_at(case, seed, [10.0**exponent])
    first, _, excess = moments(case, points, base, np.inf)
    vector = np.empty((1, points.shape[1]))
    case.manifold.kernels.from_coords(first[None], base[None], vector)  # as far as it is known
    shape = case.twin.point_shape
    expected = curvature_form(
        case.twin,
        hessian_excess,
        vector.reshape(shape),
        base.reshape(shape),
        frame(case, base),
    )
    worst = condition(case.twin, base.reshape(shape))
    scale = float(np.linalg.norm(expected))
    assume(scale > 1e-3 * 10.0 ** (2 * exponent))  # not near a flat
    assert np.max(np.abs(excess - expected)) <= (1e-13 + 256 * EPS * worst) * scale


@pytest.mark.parametrize("case", of(CASES, "spd:3") + of(CASES, "spd:5"), ids=repr)
@given(seed=SEEDS, exponent=st.floats(-9.0, 0.0))
@example(seed=1, exponent=-9.0)
def test_nearly_equal_eigenvalues_leave_no_error(case: Case, seed: int, exponent: float) -> None:
    """A multiple of the identity and a little more, seen from the identity."""
    if case.curvature_bounds == (0.0, 0.0):
        return
    rng = np.random.default_rng(seed)
    m = case.twin.point_shape[0]
    eigenvalues = 1.0 + 10.0**exponent * np.sort(rng.uniform(-1.0, 1.0, m))
    logs = np.log1p(eigenvalues - 1.0)
    point = np.diag(eigenvalues)
    _, _, excess = moments(case, point.reshape(1, -1), np.eye(m).ravel(), np.inf)
    rows, columns = np.triu_indices(m)
    expected = [
        hessian_excess(-0.25 * (x - y) ** 2) for x, y in zip(logs[rows], logs[columns], strict=True)
    ]
    diagonal = np.diag(excess)
    assert np.all(np.abs(diagonal - expected) <= 1e-12 * np.array(expected) + 1e-300)
    assert np.max(np.abs(excess - np.diag(diagonal))) <= TINY * np.max(expected)


@pytest.mark.parametrize("case", CASES, ids=repr)
@given(seed=SEEDS, share=st.floats(0.1, 1.0))
@example(seed=3, share=1.0)
def test_no_contribution_leaves_its_range(case: Case, seed: int, share: float) -> None:
    """Records beyond, on and just inside the clip, one at a time."""
    max_dist = share * reach(case.twin)
    lengths = [max_dist * factor for factor in (1.0 - EPS, 1.0, 1.0 + EPS, 1.1)]
    base, points, _ = points_at(case, seed, lengths)
    low, high = case.curvature_bounds
    lowest = min(0.0, hessian_excess(high * max_dist**2))
    highest = max(0.0, hessian_excess(low * max_dist**2))
    for point in points:
        first, second, excess = moments(case, point[None], base, max_dist)
        assert sum(Fraction(x) ** 2 for x in first) <= Fraction(max_dist) ** 2
        assert np.array_equal(second, np.outer(first, first))
        values = np.linalg.eigvalsh(excess)
        slack = 16 * EPS * (highest - lowest) * len(values)
        assert lowest - slack <= values[0]
        assert values[-1] <= highest + slack


@pytest.mark.parametrize("case", ROUND, ids=repr)
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-12, 0.0])
def test_beyond_the_clip_the_cut_locus_is_not_felt(case: Case, gap: float) -> None:
    far = case.twin.injectivity_radius * (1.0 - gap)
    base, points, _ = points_at(case, 5, [far])
    max_dist = 0.8 * case.twin.injectivity_radius
    _, _, excess = moments(case, points, base, max_dist)
    lowest = hessian_excess(case.curvature_bounds[1] * max_dist**2)
    values = np.linalg.eigvalsh(excess)
    assert values[0] == pytest.approx(lowest, rel=1e-12)
    assert values[-1] <= 64 * EPS * abs(lowest)
    first, second, free = moments(case, points, base, np.inf)
    assert np.isfinite(free).all()
    assert np.linalg.norm(first) == pytest.approx(far, abs=1e-7)
    assert np.allclose(second, np.outer(first, first), rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_distances_and_their_squares(case: Case) -> None:
    lengths = list(reach(case.twin) * np.linspace(0.0, 1.0, 30))
    base, points, _ = points_at(case, 11, lengths)
    core = case.manifold.kernels
    dist = np.empty(30)
    core.dist(base[None], points, dist)
    for max_dist in (0.0, 0.3 * reach(case.twin), np.inf):
        squares = np.minimum(dist, max_dist) ** 2
        square, fourth = core.dist_moments(points, base, max_dist)
        assert square == pytest.approx(squares.mean(), rel=1e-14)
        assert fourth == pytest.approx((squares**2).mean(), rel=1e-14)
        _, second, _ = core.log_moments(points, base, max_dist, False)
        limit = tolerance(case, base, points) * reach(case.twin) ** 2
        assert np.trace(second) == pytest.approx(square, abs=10 * limit)


@pytest.mark.parametrize("name", ["sphere:2", "sphere:9", "kendall:4", "spd:3", "spd:5"])
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    case = BY_NAME[name]
    rng = np.random.default_rng(2)
    lengths = list(reach(case.twin) * rng.uniform(0.0, 1.0, 5000))
    base, points, _ = points_at(case, 2, lengths)
    results: list[Any] = []
    try:
        for threads in (1, 2, 3):
            cdp.set_num_threads(threads)
            core = case.manifold.kernels
            sums = core.log_moments(points, base, 1.0, True)
            results.append((*sums, np.array(core.dist_moments(points, base, 1.0))))
    finally:
        cdp.set_num_threads(0)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("name", ["sphere:2", "spd:3", "hyperboloid:3:curvature=-0.25"])
def test_the_rounding_of_a_sum_stays_below_its_bound(name: str) -> None:
    """Against exact sums of what each record contributes."""
    case = BY_NAME[name]
    n, max_dist = 1200, 0.7 * reach(case.twin)
    rng = np.random.default_rng(4)
    base, points, _ = points_at(case, 4, list(reach(case.twin) * rng.uniform(0.5, 1.0, n)))
    each = [moments(case, point[None], base, max_dist) for point in points]
    together = moments(case, points, base, max_dist)
    for k, mean in enumerate(together):
        terms = np.array([contribution[k] for contribution in each]).reshape(n, -1)
        exact = [float(sum(map(Fraction, column)) / n) for column in terms.T]
        error = np.linalg.norm(mean.ravel() - exact)
        largest = np.max(np.linalg.norm(terms, axis=1))
        core = case.manifold.kernels
        bound = core.hessian_error(n) if k == 2 else _core.summation_error(n)
        assert error <= bound * largest


def test_moments_without_hessians_are_the_same() -> None:
    case = BY_NAME["spd:3"]
    base, points, _ = points_at(case, 6, [0.5, 1.0, 2.0])
    first, second, excess = moments(case, points, base, 1.5)
    alone = case.manifold.kernels.log_moments(points, base, 1.5, False)
    assert np.array_equal(alone[0], first)
    assert np.array_equal(alone[1], second)
    assert alone[2] is None
    assert excess.shape == (6, 6)


def test_a_graded_base_of_condition_1e12_costs_no_digits() -> None:
    """The congruence by diag(1e-3, 1, 1e3) is an isometry that Cholesky whitening undoes."""
    case = BY_NAME["spd:3"]
    rng = np.random.default_rng(8)
    base = np.diag([1e-6, 1.0, 1e6])
    core = np.array([case.twin.random_point(rng, 0.8) for _ in range(4)])
    half = np.sqrt(base)
    graded = half @ core @ half
    plain = moments(case, core.reshape(4, -1), np.eye(3).ravel(), 1.5)
    scaled = moments(case, graded.reshape(4, -1), base.ravel(), 1.5)
    for a, b in zip(plain, scaled, strict=True):
        assert np.max(np.abs(a - b)) <= 1e-12


@pytest.mark.parametrize("value", [np.nan, -1.0, -np.inf])
def test_a_clip_that_is_no_length_is_refused(value: float) -> None:
    core = cdp.Sphere(2).kernels
    point = np.array([[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="max_dist"):
        core.dist_moments(point, point[0], value)
    with pytest.raises(ValueError, match="max_dist"):
        core.log_moments(point, point[0], value, True)


def test_no_points_have_no_moments() -> None:
    core = cdp.Sphere(2).kernels
    with pytest.raises(ValueError, match="no points"):
        core.log_moments(np.empty((0, 3)), np.array([1.0, 0.0, 0.0]), 1.0, True)
    with pytest.raises(ValueError, match="entries"):
        core.log_moments(np.ones((4, 2)), np.array([1.0, 0.0, 0.0]), 1.0, True)


def test_the_rounding_of_coordinates_of_a_matrix_stays_below_its_bound() -> None:
    """1.01 (d + 7) 2^-53 of the largest norm, against 50 digits; a quarter of 2^-53 is too few."""
    rng, unit = np.random.default_rng(12), 2.0**-53
    too_few = False
    for dim in (2, 3, 6, 21):
        stretch = math.sqrt(dim + 1)
        for _ in range(20):
            matrix = rng.normal(size=(dim, dim)) * 10.0 ** rng.uniform(-3, 3)
            matrix = matrix + matrix.T + 5 * abs(matrix).max() * np.eye(dim)
            found = np.empty(dim * (dim + 1) // 2)
            _core.vecd(np.ascontiguousarray(matrix), stretch, found)
            with mpmath.workdps(50):
                exact_stretch = mpmath.sqrt(dim + 1)
                trace = mpmath.fsum(mpmath.mpf(x) for x in np.diag(matrix))
                share = (exact_stretch - 1) * trace / dim
                above = [mpmath.sqrt(2) * mpmath.mpf(x) for x in matrix[np.triu_indices(dim, 1)]]
                exact = [mpmath.mpf(x) + share for x in np.diag(matrix)] + above
                pairs = zip(found, exact, strict=True)
                error = float(mpmath.norm([mpmath.mpf(float(a)) - b for a, b in pairs]))
            largest = stretch * float(np.linalg.norm(matrix))
            assert error <= 1.01 * unit * (dim + 7) * largest
            too_few |= error > 0.25 * unit * largest
    assert too_few
