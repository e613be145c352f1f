"""The private Fréchet mean: what is released, what is refused, what the noise is calibrated to."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from curvedp.mechanisms import choose_mechanism
from many_releases import copies

BALLS = {
    "euclidean:3": 2.0,
    "sphere:1": 1.2,
    "sphere:2": 1.2,
    "sphere:9:2.0": 1.5,
    "hyperboloid:2": 2.0,
    "hyperboloid:4:-0.5": 1.5,
    "spd:2": 2.0,
    "spd:3": 1.5,
    "spd:3:log-euclidean": 1.5,
    "spd:3:log-cholesky": 1.5,
    "kendall:3": 0.6,
    "kendall:7": 0.7,
}

GUARANTEES = [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(1.0)]


def make_ball(spec: str) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    return cdp.Ball(manifold, manifold.random_point(rng=5), BALLS[spec])


def hard_records(ball: cdp.Ball, n: int, rng: np.random.Generator) -> np.ndarray:
    """Records in two or three clumps at the boundary, plus some anywhere in and around the ball."""
    manifold = ball.manifold
    directions = rng.standard_normal((rng.integers(2, 4), manifold.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    coords = directions[rng.integers(len(directions), size=n)] * ball.radius
    loose = rng.random(n) < 0.2
    coords[loose] = 0.3 * rng.standard_normal((int(loose.sum()), manifold.dim))
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


def computed_mean(ball: cdp.Ball, records: np.ndarray, tolerance: float) -> np.ndarray:
    plan = ball.frame.plan(len(records), tolerance)
    return ball.leave(ball.frame.mean(ball.enter(records), plan)[None])[0]


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("share", [1e-1, 1e-4, 1e-8])
def test_computed_mean_is_within_its_public_tolerance(spec: str, share: float) -> None:
    ball = make_ball(spec)
    rng = np.random.default_rng(17)
    for n in (1, 2, 3, 40, 2000):
        records = hard_records(ball, n, rng)
        tolerance = share * sensitivity.frechet_mean(ball, n)
        plan = ball.frame.plan(n, tolerance)
        exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold, tol=1e-14)
        error = ball.manifold.dist(computed_mean(ball, records, tolerance), exact.value)
        assert error <= plan.tolerance + 1e-12 * (1 + ball.radius)


@pytest.mark.parametrize("spec", BALLS)
def test_replacing_a_record_moves_the_computed_mean_by_at_most_the_calibrated_distance(
    spec: str,
) -> None:
    ball = make_ball(spec)
    rng = np.random.default_rng(29)
    worst = 0.0
    for n in (1, 2, 5, 30):
        delta = sensitivity.frechet_mean(ball, n)
        plan = ball.frame.plan(n, 1e-4 * delta)
        for _ in range(50):
            records = hard_records(ball, n + 1, rng)
            one = computed_mean(ball, records[:n], 1e-4 * delta)
            other = computed_mean(ball, records[1:], 1e-4 * delta)
            moved = ball.manifold.dist(one, other) / (delta + 2 * plan.tolerance)
            worst = max(worst, float(moved))
    print(f"{spec}: at most {worst:.4f} of the calibrated distance")
    assert worst <= 1
    assert worst > 0.2


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: type(g).__name__)
def test_release_carries_its_terms(spec: str, guarantee: cdp.privacy.Guarantee) -> None:
    ball = make_ball(spec)
    records = ball.manifold.random_point(3000, rng=1)
    release = cdp.frechet_mean(records, ball, guarantee)
    assert release.value.shape == ball.manifold.point_shape
    assert ball.manifold.belongs(release.value)
    assert release.guarantee == guarantee
    assert release.n == 3000
    assert release.sensitivity == sensitivity.frechet_mean(ball, 3000)
    assert release.solver_tolerance <= 2e-4 * release.sensitivity
    planned = cdp.plan("frechet_mean", ball, guarantee, n=3000)
    assert 0.999 * planned.low <= release.expected_error <= 1.001 * planned.high
    assert release.assumptions == frozenset()
    assert "replace one record" in release.report()
    again = cdp.Release.from_json(release.to_json())
    assert np.array_equal(again.value, release.value)
    assert again.guarantee == guarantee


@pytest.mark.parametrize(
    "spec", ["sphere:2", "spd:2", "spd:2:log-cholesky", "hyperboloid:2", "kendall:5"]
)
@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0)], ids=["PureDP", "GDP"])
def test_error_is_as_expected(spec: str, guarantee: cdp.privacy.Guarantee) -> None:
    manifold = cdp.as_manifold(spec)
    ball = cdp.Ball(manifold, manifold.random_point(rng=2), 0.5)
    groups, records = copies(600, np.broadcast_to(ball.center, (400, *manifold.point_shape)))
    found = cdp.frechet_mean(records, ball, guarantee, coverage=False, **groups)
    errors = manifold.dist(found.value, ball.center)
    expected = cdp.expected_error(ball, 400, guarantee, coverage=False)
    assert abs(np.mean(errors) - expected) < 7 * np.std(errors) / math.sqrt(len(errors))


def test_scale_is_sensitivity_plus_solver_error_over_epsilon() -> None:
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.7)
    release = cdp.frechet_mean(np.tile([0.0, 0.0, 1.0], (500, 1)), ball, cdp.PureDP(0.3))
    total = release.sensitivity + 2 * release.solver_tolerance
    assert release.scale == pytest.approx(total / 0.3, rel=1e-15)
    assert release.sensitivity == pytest.approx(2 * math.tan(0.7) / 500, rel=1e-8)


def test_weaker_guarantees_become_the_gaussian_that_implies_them() -> None:
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.7)
    scale = {
        type(g): cdp.frechet_mean(np.tile([0.0, 0.0, 1.0], (500, 1)), ball, g, coverage=False).scale
        for g in GUARANTEES[1:]
    }
    assert scale[cdp.ZCDP] == pytest.approx(scale[cdp.GDP], rel=1e-12)
    gaussian = cdp.frechet_mean(
        np.tile([0.0, 0.0, 1.0], (500, 1)),
        ball,
        cdp.ApproxDP(1.0, 1e-6),
        mechanism="riemannian-gaussian",
        coverage=False,
    )
    mu = scale[cdp.GDP] / gaussian.scale
    assert cdp.GDP(mu).to_delta(1.0) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("k", [2, 7])
def test_more_records_per_unit_mean_as_much_more_noise(k: int) -> None:
    ball = make_ball("spd:2")
    records = ball.manifold.random_point(1000, rng=3)
    one = cdp.frechet_mean(records, ball, cdp.GDP(1.0), coverage=False)
    more = cdp.frechet_mean(records, ball, cdp.GDP(1.0), records_per_unit=k, coverage=False)
    assert more.sensitivity == pytest.approx(k * one.sensitivity)
    assert more.scale == pytest.approx(k * one.scale)
    assert str(k) in more.report()


@pytest.mark.parametrize("records_per_unit", [3, 4, 100])
def test_sensitivity_never_exceeds_the_diameter(records_per_unit: int) -> None:
    ball = make_ball("sphere:2")
    delta = sensitivity.frechet_mean(ball, 3, records_per_unit=records_per_unit)
    assert delta == pytest.approx(2 * ball.radius, rel=1e-8)


def test_ledger_spends_before_noise_is_drawn_and_refuses_what_exceeds_it() -> None:
    ball = make_ball("sphere:2")
    records = ball.manifold.random_point(100, rng=4)
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        cdp.frechet_mean(records, ball, cdp.PureDP(0.75), ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            cdp.frechet_mean(records, ball, cdp.PureDP(0.5), ledger=ledger)
        assert ledger.remaining == cdp.PureDP(0.25)


def test_an_impossible_release_spends_nothing() -> None:
    ball = cdp.Ball(cdp.SPD(3), np.eye(3), 1.5)
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        with pytest.raises(cdp.ExistenceError):
            cdp.frechet_mean(np.eye(3)[None], ball, cdp.PureDP(0.1), ledger=ledger)
        assert ledger.spent is None


def test_seeded_releases_are_unproved_and_no_ledger_accepts_them() -> None:
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    records = np.tile([0.0, 0.0, 1.0], (50, 1))
    release = cdp.frechet_mean(records, ball, cdp.PureDP(1.0), seed=3)
    assert isinstance(release.guarantee, cdp.Unproved)
    assert release.guarantee.claimed == cdp.PureDP(1.0)
    with cdp.Ledger(cdp.PureDP(10.0)) as ledger:
        with pytest.raises((TypeError, ValueError)):
            cdp.frechet_mean(records, ball, cdp.PureDP(1.0), ledger=ledger, seed=3)
        assert ledger.spent is None


def test_seeds_reproduce_and_are_not_kept() -> None:
    ball = make_ball("spd:3")
    records = ball.manifold.random_point(1000, rng=6)
    one, two, other = (
        cdp.frechet_mean(records, ball, cdp.GDP(1.0), seed=seed)
        for seed in (918273645, 918273645, 7)
    )
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.value, other.value)
    assert "918273645" not in one.to_json() + one.report() + repr(one)


def test_unseeded_releases_differ() -> None:
    ball = make_ball("sphere:2")
    records = ball.manifold.random_point(100, rng=4)
    values = {cdp.frechet_mean(records, ball, cdp.GDP(1.0)).value.tobytes() for _ in range(20)}
    assert len(values) == 20


@pytest.mark.parametrize(("spec", "rate"), [("hyperboloid:5", 4.0), ("spd:3", math.sqrt(8) / 2)])
def test_existence_error_names_budgets_and_sizes_that_work(spec: str, rate: float) -> None:
    manifold = cdp.as_manifold(spec)
    ball = cdp.Ball(manifold, manifold.random_point(rng=5), 1.5)
    with pytest.raises(cdp.ExistenceError) as caught:
        cdp.expected_error(ball, 10, cdp.PureDP(0.3))
    error = caught.value
    assert rate * 3 / 10 < error.smallest_epsilon < 1.2 * rate * 3 / 10
    assert cdp.expected_error(ball, 10, cdp.PureDP(error.smallest_epsilon * (1 + 1e-12))) > 0
    assert rate * 3 / 0.3 < error.smallest_n < 1.2 * rate * 3 / 0.3 + 1
    assert cdp.expected_error(ball, error.smallest_n, cdp.PureDP(0.3)) > 0
    assert str(error.smallest_n) in str(error)
    assert cdp.expected_error(ball, 10, cdp.GDP(0.3)) > 0


def test_laplace_noise_that_cannot_be_drawn_names_a_budget_that_can() -> None:
    ball = cdp.Ball(cdp.SPD(6), np.eye(6), 1.0)
    limit = 0.5 * math.sqrt(6 * 35 / 3) * sensitivity.frechet_mean(ball, 50)
    with pytest.raises(cdp.ExistenceError) as caught:
        cdp.expected_error(ball, 50, cdp.PureDP(1.02 * limit))
    assert caught.value.smallest_epsilon > 1.02 * limit
    assert cdp.expected_error(ball, 50, cdp.PureDP(caught.value.smallest_epsilon * (1 + 1e-12))) > 0


def test_laplace_noise_without_an_exact_sampler_promises_no_budget() -> None:
    for n in (10, 10**9):
        with pytest.raises(cdp.ExistenceError, match="16 by 16") as caught:
            cdp.expected_error(cdp.Ball("spd:17", "identity", 1.0), n, cdp.PureDP(1.0))
        assert caught.value.smallest_epsilon is None
        assert caught.value.smallest_n is None


def test_expected_error_falls_as_one_over_n_and_required_n_inverts_it() -> None:
    ball = make_ball("spd:2")
    assert cdp.expected_error(ball, 1000, cdp.GDP(1.0)) == pytest.approx(
        10 * cdp.expected_error(ball, 10_000, cdp.GDP(1.0)), rel=1e-6
    )
    for guarantee in GUARANTEES:
        n = cdp.required_n(ball, 0.05, guarantee)
        assert cdp.expected_error(ball, n, guarantee) <= 0.05
        assert cdp.expected_error(ball, n - 1, guarantee) > 0.05


@pytest.mark.parametrize(
    "mechanism",
    [
        "riemannian-laplace",
        "riemannian-gaussian",
        "exponential-wrapped-gaussian",
        "tangent-gaussian",
    ],
)
@pytest.mark.parametrize("spec", BALLS)
def test_each_mechanism_serves_or_refuses_each_manifold_clearly(mechanism: str, spec: str) -> None:
    ball = make_ball(spec)
    manifold = ball.manifold
    guarantee = cdp.PureDP(1.0) if mechanism == "riemannian-laplace" else cdp.GDP(1.0)
    serves = {
        "riemannian-laplace": True,
        "riemannian-gaussian": manifold.curvature_bounds[0] >= 0,
        "exponential-wrapped-gaussian": manifold._has_hadamard_frame,
        "tangent-gaussian": True,
    }[mechanism]
    records = manifold.random_point(1000, rng=8)
    if serves:
        release = cdp.frechet_mean(records, ball, guarantee, mechanism=mechanism)
        assert release.mechanism.replace(" ", "-").lower() == mechanism
    else:
        with pytest.raises(ValueError, match="use "):
            cdp.frechet_mean(records, ball, guarantee, mechanism=mechanism)


@pytest.mark.parametrize(
    ("guarantee", "mechanism"),
    [(cdp.PureDP(1.0), "tangent-gaussian"), (cdp.PureDP(1.0), "riemannian-gaussian")],
)
def test_a_mechanism_refuses_a_guarantee_it_does_not_give(
    guarantee: cdp.privacy.Guarantee, mechanism: str
) -> None:
    with pytest.raises(TypeError, match="ask for"):
        cdp.expected_error(make_ball("sphere:2"), 100, guarantee, mechanism=mechanism)


def test_release_values_lie_on_the_public_grid() -> None:
    ball = cdp.Ball(cdp.Euclidean(3), [0.5, -1.0, 2.0], 1.0)
    release = cdp.frechet_mean(np.zeros((100, 3)), ball, cdp.GDP(1.0))
    step = 2.0 ** (math.floor(math.log2(release.scale)) - 20)
    steps = (release.unprojected - ball.center) / step
    assert np.array_equal(steps, np.round(steps))


@pytest.mark.parametrize("spec", ["sphere:1", "sphere:2", "kendall:7"])
def test_the_grid_of_a_compact_manifold_is_fine_however_large_the_noise(spec: str) -> None:
    ball = make_ball(spec)
    values = [
        cdp.frechet_mean(ball.center[None], ball, cdp.PureDP(1e-9)).unprojected.tobytes()
        for _ in range(20)
    ]
    assert len(set(values)) == 20


@pytest.mark.parametrize("spec", BALLS)
def test_huge_noise_never_leaves_the_manifold(spec: str) -> None:
    ball = make_ball(spec)
    release = cdp.frechet_mean(ball.center[None], ball, cdp.GDP(1e-6))
    kind = choose_mechanism(ball, cdp.GDP(1e-6))
    drawn = kind(ball, release.sensitivity, cdp.GDP(1e-6)).sample(ball.center, n_samples=1000)
    assert ball.manifold.belongs(drawn).all()


def test_huge_noise_still_gives_a_point() -> None:
    for spec in BALLS:
        ball = make_ball(spec)
        for guarantee in (cdp.GDP(1e-6), cdp.GDP(1e6)):
            release = cdp.frechet_mean(ball.center[None], ball, guarantee)
            assert ball.manifold.belongs(release.value), spec
            assert np.isfinite(json.loads(release.to_json())["expected_error"])
