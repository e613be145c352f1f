"""The non-private Fréchet mean: the gradient vanishes, the certificate bounds the true distance."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from manifold_list import BY_NAME, CASES, Case, of
from reference import frechet_mean as reference
from reference.accuracy import EPS, condition
from reference.precise import frechet_mean as precise_mean
from reference.precise import lift, lower
from reference.spd_affine import apply_to_eigenvalues, random_spd, symmetric
from reference.twin import Array

SEEDS = st.integers(0, 2**32 - 1)


def mean_of(points: Any, case: Case, weights: Any = None, **options: Any) -> Any:
    import curvedp

    return curvedp.nonprivate.frechet_mean(points, case.manifold, weights, **options)


def cloud(case: Case, seed: int, n: int, radius: float | None = None) -> Array:
    """`n` points in a ball with one mean, about a random centre."""
    twin, rng = case.twin, np.random.default_rng(seed)
    center = twin.random_point(rng, 0.5)
    reach = radius or min(0.4 * twin.injectivity_radius, 1.5)
    return np.array(
        [
            twin.exp(reach * rng.uniform() * twin.random_unit_vector(rng, center), center)
            for _ in range(n)
        ]
    )


def rounding(case: Case, points: Array) -> float:
    """The gradient norm below which float64 cannot see."""
    return max(1e-12, 32 * EPS * max(condition(case.twin, point) for point in points))


def gradient_norm(case: Case, points: Array, value: Array, weights: Array | None = None) -> float:
    return case.twin.norm(reference.gradient(case.twin, points, value, weights), value)


@settings(max_examples=8)
@given(seed=SEEDS, n=st.sampled_from([1, 2, 3, 12, 31, 32, 33]))
def test_gradient_vanishes_at_the_mean(case: Case, seed: int, n: int) -> None:
    points = cloud(case, seed, n)
    result = mean_of(points, case)
    limit = rounding(case, points)
    assert gradient_norm(case, points, result.value) <= limit
    assert result.gradient_norm <= limit
    assert result.value.shape == case.twin.point_shape
    assert case.manifold.belongs(result.value, atol=1e-10 * condition(case.twin, result.value))


@settings(max_examples=5)
@given(seed=SEEDS)
def test_mean_agrees_with_the_twin(case: Case, seed: int) -> None:
    points = cloud(case, seed, 9)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, 9)
    for shares in (None, weights):
        expected, size = reference.frechet_mean(case.twin, points, points[0], shares)
        result = mean_of(points, case, shares)
        assert case.twin.dist(result.value, expected) <= 8 * (size + rounding(case, points))
        assert gradient_norm(case, points, result.value, shares) <= rounding(case, points)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize(
    "name",
    [
        *("euclidean:3", "sphere:2", "sphere:2:radius=3", "hyperboloid:2", "kendall:4"),
        *("spd:2", "spd:2:log-euclidean", "spd:2:log-cholesky"),
    ],
)
def test_certificate_bounds_the_distance_to_the_exact_minimiser(name: str, tol: float) -> None:
    case = BY_NAME[name]
    for seed in range(3):
        points = cloud(case, seed, 5, radius=min(0.2 * case.twin.injectivity_radius, 1.0))
        weights = np.random.default_rng(seed).uniform(0.5, 1.5, 5)
        result = mean_of(points, case, weights, tol=tol)
        assert exact_error(case, points, weights, result.value) <= result.certified_distance
        if tol < 0.1:  # a useful bound, not infinity
            assert result.certified_distance <= max(10 * tol, 1e-10)


def exact_error(case: Case, points: Array, weights: Array, value: Array) -> float:
    """Distance from `value` to the minimiser, which is computed to 25 digits."""
    with mp.workdps(45):
        exact = precise_mean(
            case.precise,
            np.array([lift(point) for point in points]),
            lift(weights),
            lift(value),
            digits=25,
            step=0.7,
        )
        return float(case.precise.dist(lift(value), exact))


@pytest.mark.parametrize("tol", [1e-6, 1e-12, 1e-300])
@pytest.mark.parametrize("spread", [1e-6, 1e-2])
@pytest.mark.parametrize(
    "name",
    [
        *("euclidean:3", "sphere:2", "hyperboloid:2", "kendall:4"),
        *("spd:2", "spd:2:log-euclidean", "spd:2:log-cholesky"),
    ],
)
def test_certificate_counts_the_rounding_of_the_mean_itself(
    name: str, spread: float, tol: float
) -> None:
    """A narrow cloud far from the origin: the float64 nearest the mean is not the mean."""
    case = BY_NAME[name]
    twin, rng = case.twin, np.random.default_rng(20)
    center = {
        "euclidean": lambda: 1e6 * rng.standard_normal(3),
        "sphere": lambda: twin.random_point(rng),
        "kendall": lambda: twin.random_point(rng),
        "hyperboloid": lambda: twin.on_sheet(30.0 * rng.standard_normal(2)),  # type: ignore[attr-defined]
        "spd": lambda: symmetric(np.array([[2e3, 1.0], [1.0, 1e-3]])),
    }[name.partition(":")[0]]()
    points = np.array(
        [twin.exp(spread * twin.random_unit_vector(rng, center), center) for _ in range(5)]
    )
    weights = rng.uniform(0.5, 1.5, 5)
    result = mean_of(points, case, weights, tol=tol)
    # How rounded points are put back on the hyperboloid is not for the certificate to know.
    unknown = EPS * condition(twin, center) if name == "hyperboloid:2" else 0.0
    assert exact_error(case, points, weights, result.value) <= result.certified_distance + unknown


@pytest.mark.parametrize("name", ["sphere:2", "sphere:9", "kendall:10", "hyperboloid:10", "spd:3"])
def test_certificate_is_no_smaller_than_the_gradient_allows(name: str) -> None:
    """On non-positive curvature distance <= g; on positive curvature the bound exceeds g."""
    case = BY_NAME[name]
    points = cloud(case, 5, 40)
    result = mean_of(points, case, tol=1e-2)
    best = mean_of(points, case).value
    assert case.manifold.dist(result.value, best) <= result.certified_distance
    assert result.gradient_norm <= result.certified_distance
    assert gradient_norm(case, points, result.value) <= result.certified_distance


@pytest.mark.parametrize(
    "case",
    [case for case in [*of(CASES, "sphere"), *of(CASES, "kendall")] if case.twin.dim > 1],
    ids=repr,
)
def test_balls_up_to_the_largest_have_one_mean_and_it_is_found(case: Case) -> None:
    twin = case.twin
    rng = np.random.default_rng(6)
    center = twin.random_point(rng)
    radius = 0.98 * case.manifold.max_ball_radius
    points = np.array(
        [twin.exp(radius * twin.random_unit_vector(rng, center), center) for _ in range(60)]
    )
    result = mean_of(points, case)
    assert gradient_norm(case, points, result.value) <= 1e-12
    assert twin.dist(center, result.value) <= radius


def test_euclidean_mean_is_the_average() -> None:
    case = BY_NAME["euclidean:3"]
    points = np.random.default_rng(0).standard_normal((50, 3))
    weights = np.random.default_rng(1).uniform(size=50)
    np.testing.assert_allclose(mean_of(points, case).value, points.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(
        mean_of(points, case, weights).value,
        np.average(points, axis=0, weights=weights),
        atol=1e-15,
    )


@pytest.mark.parametrize("m", [2, 3, 5])
def test_flat_spd_means_are_averages_in_the_chart(m: int) -> None:
    for metric in ("log-euclidean", "log-cholesky"):
        case = BY_NAME[f"spd:{m}:{metric}"]
        points = cloud(case, 7, 20)
        twin: Any = case.twin
        if metric == "log-euclidean":
            chart = np.mean([apply_to_eigenvalues(np.log, point) for point in points], axis=0)
            expected = apply_to_eigenvalues(np.exp, chart)
        else:
            expected = twin.unchart(np.mean([twin.chart(point) for point in points], axis=0))
        np.testing.assert_allclose(mean_of(points, case).value, expected, rtol=1e-12, atol=1e-13)


def test_commuting_matrices_have_the_geometric_mean() -> None:
    rng = np.random.default_rng(8)
    logs = rng.standard_normal((15, 3))
    points = np.array([np.diag(np.exp(row)) for row in logs])
    expected = np.diag(np.exp(logs.mean(axis=0)))
    for name in ("spd:3", "spd:3:log-euclidean", "spd:3:log-cholesky"):
        np.testing.assert_allclose(
            mean_of(points, BY_NAME[name]).value, expected, rtol=1e-12, atol=1e-15
        )


def test_mean_of_two_points_is_their_midpoint(case: Case) -> None:
    twin = case.twin
    a, b = cloud(case, 9, 2)
    middle = twin.exp(0.5 * twin.log(b, a), a)
    value = mean_of(np.stack([a, b]), case).value
    assert twin.dist(value, middle) <= 8 * rounding(case, np.stack([a, b]))


def test_equal_records_have_themselves_as_mean(case: Case) -> None:
    point = case.twin.random_point(np.random.default_rng(10), 0.7)
    for n in (1, 2, 100):
        result = mean_of(np.repeat(point[None], n, axis=0), case)
        assert case.twin.dist(result.value, point) <= rounding(case, point[None])
        assert result.certified_distance <= 16 * rounding(case, point[None])


def test_weights_count_repetitions(case: Case) -> None:
    points = cloud(case, 11, 6)
    counts = np.array([1, 3, 0, 2, 1, 4])
    weighted = mean_of(points, case, counts.astype(float)).value
    repeated = mean_of(np.repeat(points, counts, axis=0), case).value
    scaled = mean_of(points, case, 1e-3 * counts).value
    limit = 8 * rounding(case, points)
    assert case.twin.dist(weighted, repeated) <= limit
    assert case.twin.dist(weighted, scaled) <= limit


@settings(max_examples=3)
@given(seed=SEEDS)
def test_mean_moves_with_isometries_and_ignores_order(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    move, _ = case.twin.random_isometry(rng)
    points = cloud(case, seed, 8, radius=0.5 if case.twin.injectivity_radius < 10 else None)
    moved = np.array([move(point) for point in points])
    value = mean_of(points, case).value
    limit = 16 * (rounding(case, points) + rounding(case, moved))
    assert case.twin.dist(mean_of(moved, case).value, move(value)) <= limit
    assert case.twin.dist(mean_of(points[rng.permutation(8)], case).value, value) <= limit


def test_the_same_call_gives_the_same_bits(case: Case) -> None:
    points = cloud(case, 12, 50)
    assert np.array_equal(mean_of(points, case).value, mean_of(points, case).value)


def wide_spd(seed: int, m: int, n: int) -> Array:
    """Condition 1e6 and root mean square distance near 3 from the identity and beyond."""
    rng = np.random.default_rng(seed)
    points = np.array([random_spd(rng, m, 3.0) for _ in range(n)])
    stretch = np.diag(np.geomspace(1e-3, 1e3, m)) ** 0.5
    return np.array([symmetric(stretch @ point @ stretch) for point in points])


def unit_step_gradients(case: Case, points: Array, steps: int) -> list[float]:
    base = apply_to_eigenvalues(
        np.exp, np.mean([apply_to_eigenvalues(np.log, point) for point in points], axis=0)
    )
    sizes = []
    for _ in range(steps):
        descent = reference.gradient(case.twin, points, base)
        sizes.append(case.twin.norm(descent, base))
        if not sizes[-1] < 30.0:
            break
        base = case.twin.exp(descent, base)
    return sizes


@pytest.mark.parametrize("m", [3, 5])
def test_a_unit_step_does_not_converge_on_wide_spd_data(m: int) -> None:
    """Control of the next test: the data are as hard as they should be."""
    with np.errstate(all="ignore"):
        sizes = unit_step_gradients(BY_NAME[f"spd:{m}"], wide_spd(13, m, 12), 60)
    assert min(sizes) > 1e-6


@pytest.mark.parametrize("m", [2, 3, 5, 11])
def test_wide_spd_data_converge(m: int) -> None:
    case = BY_NAME[f"spd:{m}"]
    points = wide_spd(13, m, 12)
    result = mean_of(points, case)
    whitened = [case.twin.whiten(point, result.value) for point in points]  # type: ignore[attr-defined]
    worst = max(float(np.linalg.cond(matrix)) for matrix in whitened)
    assert result.gradient_norm <= max(1e-12, 8 * EPS * worst)
    assert gradient_norm(case, points, result.value) <= max(1e-12, 8 * EPS * worst)


@pytest.mark.parametrize("case", of(CASES, "spd"), ids=repr)
def test_pyriemann_means_agree(case: Case) -> None:
    module = oracles.pyriemann("mean")
    points = cloud(case, 14, 30)
    weights = np.random.default_rng(14).uniform(0.5, 1.5, 30)
    if case.name.endswith("log-euclidean"):
        expected = module.mean_logeuclid(points, sample_weight=weights)
    elif case.name.endswith("log-cholesky"):
        expected = module.mean_logchol(points, sample_weight=weights)
    else:
        expected = module.mean_riemann(points, tol=1e-11, maxiter=200, sample_weight=weights)
    assert case.manifold.dist(mean_of(points, case, weights).value, expected) <= 1e-9


@pytest.mark.parametrize("name", ["sphere:2", "sphere:9", "hyperboloid:10"])
def test_geomstats_mean_agrees_once_its_solver_is_tightened(name: str) -> None:
    case = BY_NAME[name]
    kind, size = name.split(":")
    space = {
        "sphere": lambda: oracles.geomstats("geometry.hypersphere").Hypersphere(int(size)),
        "hyperboloid": lambda: oracles.geomstats("geometry.hyperboloid").Hyperboloid(int(size)),
    }[kind]()
    points = cloud(case, 15, 30)
    learner = oracles.geomstats("learning.frechet_mean").FrechetMean(space)
    learner.set(epsilon=1e-12, max_iter=500, init_step_size=1.0)
    learner.fit(points)
    # geomstats stops on the progress of the cost, which is blind below half the digits.
    assert case.manifold.dist(mean_of(points, case).value, learner.estimate_) <= 1e-5


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 4096, 10_001])
def test_large_sets_have_the_mean_of_their_repeated_records(n: int) -> None:
    """Blocks, threads and remainders: n records of three kinds weigh like three weighted ones."""
    for name in ("sphere:2", "spd:3", "hyperboloid:2", "kendall:4"):
        case = BY_NAME[name]
        kinds = cloud(case, 16, 3)
        points = np.resize(kinds, (n, *case.twin.point_shape))
        counts = np.bincount(np.arange(n) % 3, minlength=3).astype(float)
        value = mean_of(points, case).value
        assert case.twin.dist(value, mean_of(kinds, case, counts).value) <= 1e-11


def test_lower_accuracy_comes_from_a_larger_tolerance() -> None:
    case = BY_NAME["spd:3"]
    points = cloud(case, 17, 20)
    loose, tight = mean_of(points, case, tol=1e-2), mean_of(points, case, tol=1e-12)
    assert loose.gradient_norm <= 1e-2
    assert tight.n_iter > loose.n_iter >= 0
    assert tight.certified_distance < loose.certified_distance


def test_exact_reference_is_itself_a_minimum() -> None:
    """Control of the 25-digit solver: moving its result raises the sum of squared distances."""
    case = BY_NAME["sphere:2"]
    points = np.array([lift(point) for point in cloud(case, 18, 4)])
    with mp.workdps(40):
        weights = lift(np.ones(4))
        best = precise_mean(case.precise, points, weights, points[0], digits=25)
        rng = np.random.default_rng(19)

        def cost(point: Any) -> Any:
            return sum(case.precise.dist(point, x) ** 2 for x in points)

        for _ in range(5):
            direction = lift(case.twin.random_unit_vector(rng, lower(best)))
            direction = case.precise.to_tangent(direction, best)
            assert cost(case.precise.exp(direction * mp.mpf("1e-8"), best)) > cost(best)
