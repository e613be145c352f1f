"""The Fréchet mean by the K-norm gradient: its sensitivity, its exact law, its extremes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import _core, sensitivity
from curvedp.privacy import GDP, PureDP
from regression_problems import SPACES, tangent

SPHERE = SPACES[1]
#: Dimensions in which exact draws are quick; in six they take seconds.
SMALL = [space for space in SPACES if space.manifold.dim < 6]


def records(space, rng, n, spread):
    return np.array(
        [
            space.manifold.exp(
                tangent(space, rng, space.center, spread * rng.random()), space.center
            )
            for _ in range(n)
        ]
    )


def gradient(space, point, points, tau):
    logs = space.manifold.tangent_to_coords(space.manifold.log(points, point), point)
    lengths = np.linalg.norm(logs, axis=1, keepdims=True)
    return np.mean(logs * np.minimum(1.0, tau / np.maximum(lengths, 1e-300)), axis=0)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("tau", [0.05, None])
def test_no_record_moves_the_gradient_further_than_the_bound(space, tau):
    rng = np.random.default_rng(1)
    bound = sensitivity.kng_mean(space.ball, 1, tau=tau)
    found = 0.0
    for _ in range(400):
        away = space.radius * rng.choice([1.0, rng.random()])
        point = space.manifold.exp(tangent(space, rng, space.center, away), space.center)
        direction = tangent(space, rng, space.center, space.radius)
        ends = [space.manifold.exp(sign * direction, space.center) for sign in (1.0, -1.0)]
        one, two = (gradient(space, point, end[None], tau or np.inf) for end in ends)
        found = max(found, np.linalg.norm(one - two))
    print(f"{space!r}: {found / bound:.4f} of the bound")
    assert 0.5 * bound < found <= bound


def test_bound_is_that_of_the_mean_and_of_clipping():
    ball = SPHERE.ball
    assert sensitivity.kng_mean(ball, 100) == pytest.approx(2 * np.tan(0.78) / 100, rel=1e-6)
    assert sensitivity.kng_mean(ball, 100, tau=0.1) == pytest.approx(0.002)
    assert sensitivity.kng_mean(ball, 100, tau=9.0) == sensitivity.kng_mean(ball, 100)
    assert sensitivity.kng_mean(ball, 2, tau=0.1, records_per_unit=5) == pytest.approx(0.2)


def grid_p_value(scale, drawn_scale, tau, draws=3000):
    """Chi-square of exact draws on S^2 against the density at the cells of a grid in the chart."""
    rng = np.random.default_rng(2)
    ball, space = SPHERE.ball, SPHERE.manifold
    points = records(SPHERE, rng, 9, SPHERE.radius)
    law = _core.KNormMean(ball.frame, tau, drawn_scale)
    rows = ball.enter(points)
    step = 2.0**-24 * drawn_scale
    stream = _core.Stream.from_key(bytes(32), 0)
    drawn, _ = law.sample_exact(rows, draws, stream, 2.0 ** np.floor(np.log2(step)))
    drawn = ball.leave(drawn.reshape(draws, 3))
    coords = space.tangent_to_coords(space.log(drawn, ball.center), ball.center)
    cells, fine = 8, 5
    side = (np.arange(cells * fine) + 0.5) / (cells * fine) * 2 - 1
    axis = ball.radius * side
    expected = np.zeros((cells * fine, cells * fine))
    for i, a in enumerate(axis):
        for j, b in enumerate(axis):
            length = np.hypot(a, b)
            if length <= ball.radius:
                vector = space.coords_to_tangent(np.array([a, b]), ball.center)
                norm = np.linalg.norm(gradient(SPHERE, space.exp(vector, ball.center), points, tau))
                expected[i, j] = np.exp(-norm / scale) * np.sinc(length / np.pi)
    expected = expected.reshape(cells, fine, cells, fine).sum(axis=(1, 3))
    expected *= draws / expected.sum()
    edges = np.linspace(-ball.radius, ball.radius, cells + 1)
    counts = np.histogram2d(coords[:, 0], coords[:, 1], bins=[edges, edges])[0]
    keep = expected > 20  # cells that the edge of the ball hardly cuts
    square = np.sum((counts - expected)[keep] ** 2 / expected[keep])
    return stats.chi2(keep.sum()).sf(square)


@pytest.mark.parametrize("tau", [0.1, np.inf])
def test_exact_draws_follow_the_density(tau):
    scale = 0.05 if tau == 0.1 else 0.2
    assert grid_p_value(scale, scale, tau) > 1e-5
    # the negative control
    assert grid_p_value(scale, 0.5 * scale, tau) < 1e-5


@pytest.mark.parametrize("space", SMALL, ids=repr)
def test_release_promises_what_was_asked(space):
    points = records(space, np.random.default_rng(3), 50, 0.1)
    for guarantee in (PureDP(2.0), GDP(1.0), cdp.ApproxDP(1.0, 1e-6)):
        release = cdp.kng_mean(points, space.ball, guarantee, tau=0.2)
        assert release.guarantee == guarantee
        assert space.manifold.dist(release.value, space.center) <= space.radius * (1 + 1e-4)
        assert release.scale >= 2 * release.sensitivity / 10


def test_large_budget_gives_the_mean():
    points = records(SPHERE, np.random.default_rng(4), 200, 0.5)
    mean = cdp.nonprivate.frechet_mean(points, SPHERE.manifold).value
    release = cdp.kng_mean(points, SPHERE.ball, PureDP(1e5))
    assert SPHERE.manifold.dist(release.value, mean) < 1e-4


def test_clipping_pays_where_records_lie_close_together():
    points = records(SPHERE, np.random.default_rng(5), 400, 0.03)
    mean = cdp.nonprivate.frechet_mean(points, SPHERE.manifold).value
    errors = {
        tau: np.mean(
            [
                SPHERE.manifold.dist(
                    cdp.kng_mean(points, SPHERE.ball, PureDP(1.0), tau=tau).value, mean
                )
                for _ in range(30)
            ]
        )
        for tau in (None, 0.05)
    }
    assert errors[0.05] < 0.2 * errors[None]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 0.0])
@pytest.mark.parametrize("n", [1, 3])
def test_no_record_raises_or_warns(bad, n):
    points = records(SPHERE, np.random.default_rng(6), n, 0.5)
    points[0] = bad
    for epsilon, tau in ((1e-6, 1e-6), (1e5, 1e6)):
        for sampler in ("exact", "metropolis"):
            release = cdp.kng_mean(
                points, SPHERE.ball, PureDP(epsilon), tau=tau, sampler=sampler, chain_length=20
            )
            assert np.isfinite(release.value).all()


def test_a_chain_is_unproved_and_high_dimensions_have_no_exact_draw():
    ball = cdp.Ball("sphere:7", np.eye(8)[0], 0.5)
    points = np.tile(ball.center, (20, 1))
    with pytest.raises(ValueError, match="up to dimension 6"):
        cdp.kng_mean(points, ball, PureDP(1.0))
    release = cdp.kng_mean(points, ball, PureDP(1.0), sampler="metropolis", chain_length=50)
    assert isinstance(release.guarantee, cdp.Unproved)
    with cdp.Ledger(PureDP(1.0)) as ledger, pytest.raises(Exception, match="npro"):
        cdp.kng_mean(points, ball, PureDP(1.0), sampler="metropolis", ledger=ledger)


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_log_densities_of_neighbours_differ_by_the_budget(factor):
    """On the line, two records of which one crosses the ball; with half of sigma by more."""
    ball, tau = cdp.Ball("euclidean:1", [0.0], 1.0), 0.02
    scale = factor * 2 * sensitivity.kng_mean(ball, 2, tau=tau)
    grid = np.linspace(-1.0, 1.0, 4001)
    logs = []
    for moved in (-1.0, 1.0):
        norms = np.abs(np.mean(np.clip(np.array([[-0.95], [moved]]) - grid, -tau, tau), axis=0))
        logs.append(-norms / scale - np.log(np.mean(np.exp(-norms / scale))))
    assert (np.abs(logs[0] - logs[1]).max() <= 1.0) == (factor == 1.0)


def test_hyperbolic_balls_whose_logarithms_lose_digits_are_refused():
    ball = cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 28.0)
    records = np.tile(ball.center, (50, 1))
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        with pytest.raises(ValueError, match="smaller ball"):
            cdp.kng_mean(records, ball, cdp.PureDP(1.0), tau=1.0, ledger=ledger)
        assert ledger.spent is None
