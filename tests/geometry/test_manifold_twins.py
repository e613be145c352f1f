"""Every compiled kernel agrees with its NumPy twin and, where float64 cancels, with 60 digits.

The allowed errors are those of reference/accuracy.py: 1e-12 relative, plus 64 ulps times the
condition number of the points that float64 inputs stand for.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manifold_list import BY_NAME, CASES, Case, of
from reference.accuracy import EPS, RELATIVE, allowance, condition, gap
from reference.precise import DIGITS, PreciseSPDAffine, lift, lower
from reference.spd_affine import random_spd
from reference.twin import Array, Twin, random_orthogonal

SEEDS = st.integers(0, 2**32 - 1)
AFFORDABLE = [case for case in CASES if np.prod(case.twin.point_shape) <= 20]
ROUND = of(CASES, "sphere")


@pytest.fixture(autouse=True, scope="module")
def sixty_digits():
    with mp.workdps(DIGITS):
        yield


def distances(twin: Twin) -> st.SearchStrategy[float]:
    """From 1e-12 to nine tenths of the injectivity radius, or to 4."""
    far = min(0.9 * twin.injectivity_radius, 4.0)
    return st.floats(-12.0, float(np.log10(far))).map(lambda exponent: 10.0**exponent)


def configuration(twin: Twin, seed: int, distance: float) -> tuple[Array, Array, Array, Array]:
    """A base point, a tangent vector of the given length, its end point, another tangent vector."""
    rng = np.random.default_rng(seed)
    base = twin.random_point(rng, 0.7)
    vector = distance * twin.random_unit_vector(rng, base)
    return base, vector, twin.exp(vector, base), twin.random_unit_vector(rng, base)


@given(data=st.data())
def test_log_and_dist_agree_with_the_twin(case: Case, data: st.DataObject) -> None:
    twin, manifold = case.twin, case.manifold
    distance = data.draw(distances(twin))
    base, _, point, _ = configuration(twin, data.draw(SEEDS), distance)
    limit = 2 * allowance(twin, distance, base, point)
    assert abs(manifold.dist(base, point) - twin.dist(base, point)) <= limit
    assert gap(twin, manifold.log(point, base), twin.log(point, base), base) <= limit


@given(data=st.data())
def test_exp_agrees_with_the_twin(case: Case, data: st.DataObject) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, point, _ = configuration(twin, data.draw(SEEDS), data.draw(distances(twin)))
    actual = manifold.exp(vector, base)
    assert gap(twin, actual, point, point) <= 2 * allowance(twin, 1.0, base, point)
    assert manifold.belongs(actual, atol=64 * EPS * condition(twin, point))


@given(data=st.data())
def test_inner_product_and_transport_agree_with_the_twin(case: Case, data: st.DataObject) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, end, other = configuration(twin, data.draw(SEEDS), data.draw(distances(twin)))
    length = twin.norm(vector, base)
    limit = 2 * allowance(twin, 1.0, base, end)
    assert abs(manifold.inner(vector, other, base) - twin.inner(vector, other, base)) <= (
        limit * length
    )
    assert abs(manifold.norm(vector, base) - length) <= limit * length
    expected = twin.parallel_transport(other, base, end)
    actual = manifold.parallel_transport(other, base, end_point=end)
    assert gap(twin, actual, expected, end) <= limit


@given(seed=SEEDS)
def test_to_tangent_agrees_with_the_twin(case: Case, seed: int) -> None:
    twin = case.twin
    rng = np.random.default_rng(seed)
    base, ambient = twin.random_point(rng, 0.7), rng.standard_normal(twin.point_shape)
    expected = twin.to_tangent(ambient, base)
    error = np.max(np.abs(case.manifold.to_tangent(ambient, base) - expected))
    # <v, b> and <b, b> of Minkowski's form each lose `condition` in digits; 3.3 of 16 in 1e5 draws.
    assert error <= 16 * EPS * condition(twin, base) ** 2 * np.linalg.norm(ambient)


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
@given(data=st.data())
def test_log_and_dist_agree_with_sixty_digits(case: Case, data: st.DataObject) -> None:
    twin, precise = case.twin, case.precise
    distance = data.draw(distances(twin))
    base, _, point, _ = configuration(twin, data.draw(SEEDS), distance)
    truth = precise.dist(lift(base), lift(point))
    limit = allowance(twin, float(truth), base, point)
    assert abs(case.manifold.dist(base, point) - truth) <= limit
    log = lower(precise.log(lift(point), lift(base)))
    assert gap(twin, case.manifold.log(point, base), log, base) <= limit


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
@given(data=st.data())
def test_transport_agrees_with_sixty_digits(case: Case, data: st.DataObject) -> None:
    twin = case.twin
    base, _, end, other = configuration(twin, data.draw(SEEDS), data.draw(distances(twin)))
    expected = lower(case.precise.parallel_transport(lift(other), lift(base), lift(end)))
    actual = case.manifold.parallel_transport(other, base, end_point=end)
    assert gap(twin, actual, expected, end) <= allowance(twin, 1.0, base, end)


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
@given(seed=SEEDS, exponent=st.floats(-300.0, 1.3))
@example(seed=0, exponent=-300.0)
@example(seed=1, exponent=-160.0)
@example(seed=2, exponent=1.3)
def test_exp_agrees_with_sixty_digits_from_1e_minus_300_to_20(
    case: Case, seed: int, exponent: float
) -> None:
    twin = case.twin
    base, vector, _, _ = configuration(twin, seed, 1.0)
    vector = 10.0**exponent * vector
    expected = lower(case.precise.exp(lift(vector), lift(base)))
    error = np.max(np.abs(case.manifold.exp(vector, base) - expected))
    allowed = RELATIVE + 64 * EPS * (1.0 + 10.0**exponent) * condition(twin, base)
    assert error <= allowed * np.max(np.abs(expected))


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_exp_of_a_vanishing_vector_is_the_base_point(case: Case) -> None:
    twin = case.twin
    base, vector, _, _ = configuration(twin, 5, 1.0)
    for size in (0.0, 5e-324, 1e-300, 1e-160):
        error = np.max(np.abs(case.manifold.exp(size * vector, base) - base))
        assert error <= 16 * EPS * condition(twin, base) * np.max(np.abs(base))


@pytest.mark.parametrize("case", ROUND, ids=repr)
@given(seed=SEEDS, exponent=st.floats(-12.0, -1.0))
@example(seed=0, exponent=-9.0)
def test_sphere_is_accurate_near_the_antipode(case: Case, seed: int, exponent: float) -> None:
    twin, precise = case.twin, case.precise
    base, _, _, other = configuration(twin, seed, 1.0)
    beside = twin.to_tangent(other, base)
    antipode = -base
    point = twin.exp(10.0**exponent * beside, antipode)
    expected = lower(precise.log(lift(point), lift(base)))
    actual = case.manifold.log(point, base)
    assert gap(twin, actual, expected, base) <= RELATIVE * twin.injectivity_radius
    truth = precise.dist(lift(base), lift(point))
    assert abs(case.manifold.dist(base, point) - truth) <= 8 * EPS * twin.injectivity_radius
    carried = case.manifold.parallel_transport(other, base, end_point=point)
    expected = lower(precise.parallel_transport(lift(other), lift(base), lift(point)))
    assert np.max(np.abs(carried - expected)) <= RELATIVE


@pytest.mark.parametrize("case", ROUND, ids=repr)
@given(seed=SEEDS, exponent=st.floats(-14.0, 0.0))
@example(seed=0, exponent=-9.0)
def test_sphere_distance_is_right_to_16_ulps(case: Case, seed: int, exponent: float) -> None:
    twin = case.twin
    base, _, point, _ = configuration(twin, seed, twin.radius * 10.0**exponent)
    # up to 1 ulp off the sphere: what is farther off has no distance along it to this accuracy
    base, point = case.manifold.project(base), case.manifold.project(point)
    truth = float(case.precise.dist(lift(base), lift(point)))
    # Rounding of the points along the radius counts against their distance.
    limit = 16 * EPS * truth + (4 * EPS * twin.radius) ** 2 / max(truth, EPS)
    assert abs(case.manifold.dist(base, point) - truth) <= limit


@pytest.mark.parametrize("case", of(CASES, "kendall"), ids=repr)
@given(seed=SEEDS, exponent=st.floats(-12.0, -1.0))
@example(seed=0, exponent=-9.0)
def test_kendall_distance_is_accurate_near_the_cut_locus(
    case: Case, seed: int, exponent: float
) -> None:
    twin = case.twin
    base, _, point, _ = configuration(twin, seed, 0.5 * np.pi - 10.0**exponent)
    truth = case.precise.dist(lift(base), lift(point))
    assert abs(case.manifold.dist(base, point) - truth) <= 16 * EPS
    length = case.manifold.norm(case.manifold.log(point, base), base)
    assert abs(length - truth) <= 64 * EPS


def diagonal_pair(seed: int, m: int, decades: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return (
        10.0 ** rng.uniform(-decades / 2, decades / 2, m),
        10.0 ** rng.uniform(-decades / 2, decades / 2, m),
    )


@pytest.mark.parametrize("m", [1, 2, 3, 4, 8, 12])
@pytest.mark.parametrize("metric", ["affine-invariant", "log-euclidean", "log-cholesky"])
@given(seed=SEEDS, decades=st.floats(0.0, 24.0))
@example(seed=0, decades=12.0)
@example(seed=0, decades=24.0)
def test_diagonal_spd_matrices_of_any_condition_are_exact(
    metric: str, m: int, seed: int, decades: float
) -> None:
    import curvedp

    manifold = curvedp.SPD(m, metric=metric)
    a, b = diagonal_pair(seed, m, decades)
    share = 0.5 if metric == "log-cholesky" else 1.0  # the factor's diagonal is a square root
    logs = np.log(b / a) if metric == "affine-invariant" else np.log(b) - np.log(a)
    scale = max(1.0, float(np.max(np.abs([np.log(a), np.log(b)]))))
    scale = 1.0 if metric == "affine-invariant" else scale
    expected = share * float(np.linalg.norm(logs))
    actual = manifold.dist(np.diag(a), np.diag(b))
    assert abs(actual - expected) <= 1e-13 * expected + 16 * EPS * scale
    log = manifold.log(np.diag(b), np.diag(a))
    error = np.abs(np.diag(log) - a * logs)
    assert np.all(error <= a * (1e-13 * np.abs(logs) + 16 * EPS * scale))
    assert np.all(log - np.diag(np.diag(log)) == 0.0)
    back = manifold.exp(log, np.diag(a))
    assert np.allclose(np.diag(back), b, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("m", [2, 3, 4, 6])
@given(seed=SEEDS, decades=st.floats(0.0, 14.0))
@example(seed=0, decades=12.0)
@example(seed=1, decades=12.0)
def test_log_eigenvalues_of_graded_matrices_keep_13_digits(
    m: int, seed: int, decades: float
) -> None:
    """D H D with H well conditioned determines its eigenvalues to full relative accuracy."""
    import curvedp

    rng = np.random.default_rng(seed)
    grades = 10.0 ** np.linspace(-decades / 4, decades / 4, m)
    grades = grades[rng.permutation(m)]
    core = random_spd(rng, m, 0.3)
    graded = (core * grades) * grades[:, None]
    truth = float(PreciseSPDAffine().dist(lift(np.eye(m)), lift(graded)))
    manifold = curvedp.SPD(m)
    assert manifold.dist(np.eye(m), graded) == pytest.approx(truth, rel=1e-13)
    assert manifold.dist(graded, np.eye(m)) == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("m", [2, 3, 4, 6, 10])
@given(seed=SEEDS, decades=st.floats(0.0, 12.0))
@example(seed=0, decades=12.0)
def test_grading_both_matrices_alike_changes_no_distance(m: int, seed: int, decades: float) -> None:
    """Scaling by powers of two is exact, so the affine-invariant distance must not notice."""
    import curvedp

    rng = np.random.default_rng(seed)
    exponents = np.round(np.linspace(-decades, decades, m) / (4 * np.log10(2.0)))
    grades = 2.0 ** exponents[rng.permutation(m)]
    a, b = random_spd(rng, m, 0.4), random_spd(rng, m, 0.4)
    manifold = curvedp.SPD(m)
    plain = manifold.dist(a, b)
    graded = manifold.dist((a * grades) * grades[:, None], (b * grades) * grades[:, None])
    assert graded == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("metric", ["affine-invariant", "log-euclidean", "log-cholesky"])
@given(seed=SEEDS)
def test_ill_conditioned_spd_matrices_stay_within_their_condition(
    metric: str, m: int, seed: int
) -> None:
    """Condition 1e12 in general position: the error is bounded by ulps times the condition."""
    rng = np.random.default_rng(seed)
    turn = random_orthogonal(rng, m)
    stiff = (turn * 10.0 ** np.linspace(-6.0, 6.0, m)) @ turn.T
    stiff = 0.5 * (stiff + stiff.T)
    name = f"spd:{m}" + ("" if metric == "affine-invariant" else f":{metric}")
    case = BY_NAME[name]
    identity = np.eye(m)
    truth = float(case.precise.dist(lift(identity), lift(stiff)))
    assert abs(case.manifold.dist(identity, stiff) - truth) <= 64 * EPS * 1e12 * m
    log = lower(case.precise.log(lift(stiff), lift(identity)))
    assert np.max(np.abs(case.manifold.log(stiff, identity) - log)) <= 64 * EPS * 1e12 * m


@pytest.mark.parametrize("m", [2, 3, 4, 8])
@given(seed=SEEDS)
def test_nearly_equal_eigenvalues_are_handled(m: int, seed: int) -> None:
    """Multiples of the identity, and matrices an ulp away from one."""
    import curvedp

    rng = np.random.default_rng(seed)
    manifold = curvedp.SPD(m)
    scale = float(np.exp(rng.uniform(-5.0, 5.0)))
    noise = rng.standard_normal((m, m))
    point = scale * (np.eye(m) + EPS * (noise + noise.T))
    expected = np.sqrt(m) * abs(np.log(scale))
    assert manifold.dist(np.eye(m), point) == pytest.approx(expected, rel=1e-12, abs=64 * EPS)
    assert manifold.exp(manifold.log(point, np.eye(m)), np.eye(m)) == pytest.approx(
        point, rel=1e-13, abs=64 * EPS * scale
    )
