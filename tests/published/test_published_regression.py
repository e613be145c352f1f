"""The published sequential mechanism, and the two flaws that the proved one does not have."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import _core, sensitivity
from regression_problems import SPACES, problem


def published(space, x, y, **changes):
    arguments = {"x_range": (-0.5, 0.5), "tau": 0.2, **changes}
    return cdp.published.geodesic_regression(x, y, space.ball, cdp.PureDP(4.0), **arguments)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_published_release_is_unproved_and_near_the_fit(space):
    times, points, _, _ = problem(space, np.random.default_rng(1), 300, 0.02)
    release = published(space, times, points, chain_length=300, seed=1)
    assert isinstance(release.guarantee, cdp.Unproved)
    assert release.calibration == "published"
    fit = cdp.nonprivate.geodesic_regression(
        times, space.ball.project(points), space.manifold, x_range=(-0.5, 0.5)
    )
    gap = np.mean(space.manifold.dist(release.predict(times), fit.predict(times)))
    assert 0 < gap < 0.1


def test_published_needs_pure_dp_and_no_ledger_takes_it():
    space = SPACES[0]
    times, points, _, _ = problem(space, np.random.default_rng(2), 20, 0.02)
    arguments = {"x_range": (-0.5, 0.5), "tau": 0.2}
    regression = cdp.published.geodesic_regression
    with pytest.raises(TypeError, match="pure DP"):
        regression(times, points, space.ball, cdp.GDP(1.0), **arguments)
    with pytest.raises(ValueError, match="weights"):
        regression(times, points, space.ball, cdp.PureDP(1.0), weights=(1.0,), **arguments)
    with cdp.Ledger(cdp.PureDP(9.0)) as ledger, pytest.raises(Exception, match="npro"):
        regression(times, points, space.ball, cdp.PureDP(1.0), ledger=ledger, **arguments)


def paper_bounds(n, tau, tau_m, kappa):
    """Delta_p of Theorem 3.3 and Delta_v of equation 44, as printed."""
    if kappa >= 0:
        return 2 * tau / n, 2 * tau / n
    root = math.sqrt(-kappa)
    reach = tau_m + tau
    return (
        2 * tau / n * math.cosh(2 * root * reach),
        tau / n * math.sinh(2 * root * reach) / (root * reach),
    )


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("tau", [0.05, 0.4])
def test_bounds_are_the_paper_s_two_as_printed(space, tau):
    bounds = cdp.published.sensitivity
    kappa = space.manifold.curvature_bounds[0]
    expected = paper_bounds(120, tau, space.ball.radius, kappa)
    for bound, value in zip(
        (bounds.regression_footpoint, bounds.regression_shooting), expected, strict=True
    ):
        assert bound(space.ball, 120, tau=tau) == pytest.approx(value, rel=1e-12)
        assert bound(space.ball, 120, tau=tau, records_per_unit=3) == pytest.approx(3 * value)
        with pytest.raises(ValueError, match="tau"):
            bound(space.ball, 120, tau=0.0)
        with pytest.raises(ValueError, match="n must"):
            bound(space.ball, 0, tau=tau)


def test_a_bound_too_large_for_doubles_is_refused():
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 10.0)
    bounds = cdp.published.sensitivity
    for bound in (bounds.regression_footpoint, bounds.regression_shooting):
        assert math.isfinite(bound(ball, 10, tau=139.0))
        with pytest.raises(ValueError, match="r \\+ tau must be at most 150"):
            bound(ball, 10, tau=141.0)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_no_record_weighs_more_than_half_of_either_bound(space):
    """At a geodesic tau-close to the records, with x in [0, 1]: both bounds hold at a fixed one."""
    rng, bounds = np.random.default_rng(4), cdp.published.sensitivity
    largest = np.zeros(2)
    for _ in range(20):
        times, points, _, _ = problem(space, rng, 60, 0.05)
        x, y = times + 0.5, space.ball.project(points)
        fit = cdp.nonprivate.geodesic_regression(x, y, space.manifold, x_range=(0.0, 1.0))
        tau = float(space.manifold.dist(fit.predict(x), y).max())
        shooting = space.manifold.tangent_to_coords(fit.slope, fit.intercept)
        limits = [
            bound(space.ball, 1, tau=tau) / 2
            for bound in (bounds.regression_footpoint, bounds.regression_shooting)
        ]
        for one in range(60):
            sides = space.manifold.kernels.regression_energy(
                y[one].reshape(1, -1), x[one : one + 1], fit.intercept.reshape(-1), shooting, 10.0
            )[1:]
            sizes = [np.linalg.norm(g) / limit for g, limit in zip(sides, limits, strict=True)]
            largest = np.maximum(largest, sizes)
    assert (largest <= 1 + 1e-9).all()
    assert largest[0] > 0.3


@pytest.mark.parametrize("spec", ["spd:2", "sphere:2"])
def test_each_stage_has_noise_of_its_own_bound(spec, monkeypatch):
    """The scales that reach the chains: Delta_p/epsilon_p and Delta_v/epsilon_v."""
    space = next(one for one in SPACES if one.manifold.spec == spec)
    times, points, _, _ = problem(space, np.random.default_rng(3), 50, 0.02)
    scales = []
    for name in ("published_footpoint", "published_shooting"):
        inner = getattr(_core, name)

        def recorded(*arguments, inner=inner):
            scales.append(arguments[5])
            return inner(*arguments)

        monkeypatch.setattr(_core, name, recorded)
    release = published(space, times, points, chain_length=10, weights=(1.0, 3.0))
    delta_p, delta_v = paper_bounds(50, 0.2, space.ball.radius, space.manifold.curvature_bounds[0])
    np.testing.assert_allclose(scales, [delta_p / 1.0, delta_v / 3.0], rtol=1e-9)
    assert release.sensitivity == pytest.approx(delta_p)
    assert release.v_max == pytest.approx(2 * (space.ball.radius + 0.2))


def flat_neighbours():
    """x_1 = 0, the others 1; y_1 moves from 0 to 1 and takes the estimate along."""
    x = np.ones(20)
    x[0] = 0.0
    data = []
    for first in (0.0, 1.0):
        y = np.full((20, 1), 0.5)
        y[1:, 0] += np.linspace(-0.05, 0.05, 19)
        y[0] = first
        data.append(y)
    return x, data


def lower_bound_of_log_ratio(hits_one, hits_two, draws):
    """Clopper-Pearson at 1e-6 each, for P_two(event)/P_one(event)."""
    low = stats.beta.ppf(1e-6, hits_two, draws - hits_two + 1) if hits_two else 0.0
    high = stats.beta.ppf(1 - 1e-6, hits_one + 1, draws - hits_one) if hits_one < draws else 1.0
    return np.log(low / high) if low > 0 else -np.inf


def test_free_shooting_vector_is_found_out_and_the_proved_mechanism_is_not():
    """The event p > 1/2 has log-ratio 50 at epsilon = 1/2 for p with v the estimate itself."""
    ball, draws, epsilon = cdp.Ball("euclidean:1", [0.5], 1.5), 120, 1.0
    x, data = flat_neighbours()
    bounds = {}
    proved = functools.partial(cdp.geodesic_regression, v_max=4.0)
    for name, call in {"published": cdp.published.geodesic_regression, "proved": proved}.items():
        hits = []
        for y in data:
            ends = [
                call(
                    x,
                    y,
                    ball,
                    cdp.PureDP(epsilon),
                    x_range=(0.0, 1.0),
                    tau=0.05,
                    chain_length=100,
                    seed=seed,
                ).intercept[0]
                for seed in range(draws)
            ]
            hits.append(int(np.sum(np.array(ends) > 0.5)))
        bounds[name] = lower_bound_of_log_ratio(*hits, draws)
    print(f"lower bounds of the log-ratio: {bounds}")
    assert bounds["published"] > 2 * epsilon
    assert bounds["proved"] <= epsilon


def kng_loss(factor, epsilon):
    """Largest log-ratio of exp(-|g|/sigma), sigma = factor Delta/epsilon, on [-1, 1], v = 0.

    Two records: one near the left end, the other moves from the far left to the far right, and the
    sum of both gradients from 2 tau to 0 on most of the line and from 0 to 2 tau on the rest.
    """
    ball, tau = cdp.Ball("euclidean:1", [0.0], 2.0), 0.01
    grid = np.linspace(-1.0, 1.0, 4001)
    sigma = factor * sensitivity.regression_footpoint(ball, 2, tau=tau, v_max=1.0) / epsilon
    logs = []
    for moved in (-2.0, 2.0):
        points, times = np.array([[-0.95], [moved]]), np.zeros(2)
        norms = [
            abs(
                ball.manifold.kernels.regression_energy(
                    points, times, np.array([p]), np.zeros(1), tau
                )[1][0]
            )
            for p in grid
        ]
        unnormalised = -np.array(norms) / sigma
        logs.append(unnormalised - np.log(np.mean(np.exp(unnormalised))))
    return float(np.max(np.abs(logs[0] - logs[1])))


def test_k_norm_gradient_needs_twice_the_published_scale():
    assert kng_loss(1.0, 1.0) > 1.8
    assert kng_loss(2.0, 1.0) <= 1.0
