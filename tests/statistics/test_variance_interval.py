"""Confidence intervals for the Fréchet variance: their parts, limits and form."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import chance
import curvedp as cdp
from curvedp import sensitivity
from inference_cases import BALLS, GUARANTEES, make_ball, spread_records


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_the_parts_compose_to_the_guarantee(spec: str, guarantee: cdp.GDP) -> None:
    ball = make_ball(spec)
    interval = cdp.variance_interval(spread_records(ball, 200), ball, guarantee)
    assert interval.guarantee == guarantee
    assert len(interval.parts) == 2
    shares = [part.guarantee for part in interval.parts]
    shares += [] if interval.coverage is None else [interval.coverage.guarantee]
    mu = cdp.compose(*shares).mu
    match guarantee:
        case cdp.GDP(most):
            assert math.isclose(mu, most, rel_tol=1e-12)
        case cdp.ZCDP(rho):
            assert mu**2 / 2 <= rho * (1 + 1e-12)
        case cdp.ApproxDP(epsilon, delta):
            assert cdp.GDP(mu).to_delta(epsilon) <= delta * (1 + 1e-9)
    assert 0 <= interval.lower <= interval.estimate <= interval.upper <= (2 * ball.radius) ** 2


@pytest.mark.parametrize("spec", BALLS)
def test_with_little_noise_the_interval_is_the_one_without_privacy(spec: str) -> None:
    ball = make_ball(spec)
    records = spread_records(ball, 4000)
    private = cdp.variance_interval(records, ball, cdp.GDP(1e4), seed=1)
    exact = cdp.nonprivate.variance_interval(records, ball.manifold)
    width = exact.upper - exact.lower
    np.testing.assert_allclose(
        [private.lower, private.estimate, private.upper],
        [exact.lower, exact.estimate, exact.upper],
        atol=0.01 * width,
    )


@pytest.mark.parametrize("spec", BALLS)
def test_more_privacy_makes_a_wider_interval(spec: str) -> None:
    ball = make_ball(spec)
    records = spread_records(ball, 1000)
    intervals = [
        cdp.variance_interval(records, ball, cdp.GDP(mu), seed=2) for mu in (0.1, 1.0, 100.0)
    ]
    widths = [interval.upper - interval.lower for interval in intervals]
    assert widths[0] > widths[1] > widths[2]


def test_a_higher_level_makes_a_wider_interval_about_the_same_estimate() -> None:
    ball = make_ball("sphere:2")
    records = spread_records(ball, 1000)
    low, high = (
        cdp.variance_interval(records, ball, cdp.GDP(1.0), level=level, seed=2)
        for level in (0.8, 0.99)
    )
    assert low.estimate == high.estimate
    assert high.lower < low.lower < low.upper < high.upper


def test_weights_are_shares_of_mu_squared() -> None:
    ball = make_ball("sphere:2")
    interval = cdp.variance_interval(
        spread_records(ball, 100), ball, cdp.GDP(2.0), weights=(3.0, 1.0), coverage=False
    )
    shares = [part.guarantee.mu**2 / 4.0 for part in interval.parts]
    np.testing.assert_allclose(shares, [0.75, 0.25], rtol=1e-12)


def test_records_per_unit_scales_the_sensitivity_of_every_part() -> None:
    ball = make_ball("spd:2")
    records = spread_records(ball, 500)
    single, triple = (
        cdp.variance_interval(records, ball, cdp.GDP(1.0), records_per_unit=k, seed=4)
        for k in (1, 3)
    )
    for one, three in zip(single.parts, triple.parts, strict=True):
        assert math.isclose(three.sensitivity, 3 * one.sensitivity, rel_tol=1e-12)
    assert single.parts[1].sensitivity == sensitivity.distance_moments(ball, 500)


def test_seeded_intervals_are_reproducible_and_promise_nothing() -> None:
    ball = make_ball("sphere:2")
    records = spread_records(ball, 100)
    one, again, other = (
        cdp.variance_interval(records, ball, cdp.GDP(1.0), seed=seed) for seed in (3, 3, 4)
    )
    assert one.to_json() == again.to_json()
    assert one.estimate != other.estimate
    assert isinstance(one.guarantee, cdp.Unproved)


def test_json_keeps_everything_and_refuses_other_text() -> None:
    ball = make_ball("sphere:2")
    interval = cdp.variance_interval(spread_records(ball, 100), ball, cdp.GDP(1.0))
    again = cdp.VarianceInterval.from_json(interval.to_json())
    assert again.to_json() == interval.to_json()
    assert (again.lower, again.upper) == (interval.lower, interval.upper)
    assert again.guarantee == interval.guarantee
    data = json.loads(interval.to_json())
    for changed in (
        {**data, "schema_version": 2},
        {**data, "surprise": 0},
        {k: v for k, v in data.items() if k != "upper"},
        [],
    ):
        with pytest.raises(ValueError, match="not a variance interval"):
            cdp.VarianceInterval.from_json(json.dumps(changed))


def test_the_report_names_both_ends_and_every_part() -> None:
    ball = make_ball("sphere:2")
    interval = cdp.variance_interval(spread_records(ball, 100), ball, cdp.GDP(1.0))
    text = interval.report()
    assert f"[{interval.lower:.6g}, {interval.upper:.6g}]" in text
    assert "guarantee: GDP(mu=1)" in text
    for part in interval.parts:
        assert part.report().splitlines()[0] in text
    exact = cdp.nonprivate.variance_interval(spread_records(ball, 100), ball.manifold)
    assert "NONE: computed without privacy" in exact.report()


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("fill", [np.nan, np.inf, 0.0, 1e300])
def test_any_records_whatever_give_a_finite_interval(spec: str, fill: float) -> None:
    ball = make_ball(spec)
    records = np.full((2, *ball.manifold.point_shape), fill)
    interval = cdp.variance_interval(records, ball, cdp.GDP(0.05))
    assert 0 <= interval.lower <= interval.estimate <= interval.upper <= (2 * ball.radius) ** 2


def spread(ball: cdp.Ball, n: int, rng: np.random.Generator, size: float) -> np.ndarray:
    """Records with long tails about a point away from the centre, projected on the ball."""
    dim = ball.manifold.dim
    coords = size * rng.standard_t(4, (n, dim)) / math.sqrt(2 * dim)
    coords[:, 0] += 0.3 * ball.radius
    tangent = ball.manifold.coords_to_tangent(coords, ball.center)
    return ball.project(ball.manifold.exp(tangent, ball.center))


@pytest.mark.parametrize(
    ("spec", "n", "mu", "size"),
    [("spd:8", 40, 0.3, 3.0), ("spd:8", 100, 0.3, 3.0), ("spd:3", 40, 0.1, 0.7)],
)
def test_intervals_cover_where_the_noise_of_a_mean_is_large(spec, n, mu, size) -> None:
    ball = cdp.Ball(spec, "identity", {"spd:8": 6.0, "spd:3": 2.0}[spec])
    rng = np.random.default_rng(3)
    population = spread(ball, 4000, rng, size)
    true = cdp.nonprivate.frechet_variance(population, ball.manifold)
    groups = np.arange(0, 80 * n + 1, n)
    records = population[rng.integers(4000, size=80 * n)]
    found = cdp.variance_interval(records, ball, cdp.GDP(mu), groups=groups)
    covered = (found.more["lower"] <= true) & (true <= found.more["upper"])
    assert covered.sum() >= stats.binom.ppf(chance.FAILURE, 80, 0.95)
    assert all(part.statistic == "Fréchet variance" for own in found for part in own.parts)
    if n > 40:  # else the noise is as large as the variance can be
        wide = found.more["upper"] - found.more["lower"]
        assert np.median(wide) < 0.6 * ball.radius**2  # 0.456, drawn with a deviation of 0.013


def test_groups_take_the_way_of_their_own_size() -> None:
    ball = make_ball("spd:2")
    records = spread_records(ball, 1020)
    groups = np.repeat(["few", "many"], [20, 1000])
    found = cdp.variance_interval(records, ball, cdp.GDP(0.3), groups=groups)
    assert [len(own.parts) for own in found] == [1, 2]
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.scale).all()
    clipped = cdp.variance_interval(records, ball, cdp.GDP(0.3), groups=groups, max_dist=1.0)
    assert [len(own.parts) for own in clipped] == [2, 2]


@pytest.mark.parametrize("guarantee", [cdp.PureDP(0.5), cdp.GDP(0.3)], ids=repr)
def test_a_released_variance_gives_an_interval(guarantee) -> None:
    ball, rng = cdp.Ball("spd:3", "identity", 2.0), np.random.default_rng(4)
    population = spread(ball, 4000, rng, 0.7)
    true = cdp.nonprivate.frechet_variance(population, ball.manifold)
    covered = []
    for _ in range(200):
        released = cdp.frechet_variance(population[rng.integers(4000, size=80)], ball, guarantee)
        own = released.interval(0.9)
        assert own.parts == (released,)
        assert own.guarantee == released.guarantee
        wider = released.interval(0.99)
        assert wider.lower <= own.lower <= own.estimate <= own.upper <= wider.upper
        covered.append(own.lower <= true <= own.upper)
    assert np.mean(covered) >= 0.73  # 200 events of probability 0.9, but with probability 1e-10
    one = cdp.frechet_variance(population[:1], ball, guarantee)
    with pytest.raises(ValueError, match="one record"):
        one.interval()


@pytest.mark.parametrize(
    ("share", "n", "mu"), [(0.03, 50, 20.0), (0.01, 200, 20.0), (0.1, 20, 5.0)]
)
def test_rare_records_far_away_are_not_forgotten(share, n, mu) -> None:
    """Where a sample holds none of them, its own variance says nothing of the population's."""
    ball, rng = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0), np.random.default_rng(6)
    far = rng.random(200 * n) < share
    records = np.where(far[:, None], [0.98, 0.0], 0.02 * rng.standard_normal((200 * n, 2)))
    true = share * (1 - share) * 0.98**2 + (1 - share) * 2 * 0.02**2
    found = cdp.frechet_variance(records, ball, cdp.GDP(mu), groups=np.arange(0, 200 * n + 1, n))
    covered = np.mean([own.interval().lower <= true <= own.interval().upper for own in found])
    assert covered > 0.81  # 200 events of probability 0.95, but with probability 1e-9
