"""Means in the ball and shrunk means: never worse where proved, and printed errors that hold."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.statistics.design import design_mean_under
from curvedp.statistics.shrinkage import shrunk_error, shrunk_points
from manifold_list import SMALL
from many_releases import copies

HADAMARD = ["euclidean:3", "hyperboloid:3", "spd:2", "spd:3", "spd:3:log-cholesky", "hyperboloid:2"]


def at(ball: cdp.Ball, coords: np.ndarray) -> np.ndarray:
    space = ball.manifold
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def on_ball(spec: str, radius: float = 2.0) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    radius = min(radius, 0.6 * manifold.max_ball_radius)
    return cdp.Ball(manifold, manifold.random_point(rng=4), radius)


# ------------------------------------------------------------------ the point in the ball


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.manifold.spec)
def test_every_mean_is_a_point_of_its_ball_and_moving_it_there_never_harms(case) -> None:
    """Release by release, on every space: theorem A."""
    space = case.manifold
    ball = cdp.Ball(space, space.random_point(rng=3), min(1.0, 0.45 * space.max_ball_radius))
    coords = np.zeros((1, space.dim))
    coords[0, 0] = 0.8 * ball.radius
    mean = at(ball, coords)[0]
    records = np.tile(mean, (4, *[1] * mean.ndim))
    for guarantee in (cdp.GDP(0.2), cdp.GDP(2.0)):
        releases = cdp.frechet_mean(
            np.tile(records, (60, *[1] * mean.ndim)), ball, guarantee, groups=np.arange(0, 241, 4)
        )
        raw = np.array([release.unprojected for release in releases])
        to_center = space.dist(releases.value, ball.center)
        assert (to_center <= ball.radius * (1 + 1e-9)).all()
        gain = space.dist(raw, mean) - space.dist(releases.value, mean)
        assert (gain >= -1e-7 * ball.radius).all()
        inside = space.dist(raw, ball.center) < ball.radius * (1 - 1e-9)
        assert np.array_equal(raw[inside], releases.value[inside])
    assert not inside.all()


# ------------------------------------------------------------------ theorem B


@pytest.mark.parametrize("spec", HADAMARD)
def test_shrinking_costs_no_more_in_the_metric_than_in_the_chart(spec: str) -> None:
    """rho(p_l, m)^2 - rho(p, m)^2 <= |l u - v|^2 - |u - v|^2 for every u, v and l in [0, 1]."""
    assert violations(spec) == 0


def test_on_positive_curvature_that_fails() -> None:
    """The control: the theorem is one of nonpositive curvature."""
    assert violations("sphere:3") > 0.5


def violations(spec: str) -> float:
    """Share of random triples that break the inequality."""
    ball, rng, count = on_ball(spec), np.random.default_rng(7), 4000
    dim = ball.manifold.dim
    lengths = 0.9 * min(ball.radius, 1.5) * rng.random((2, count, 1))
    u, v = rng.standard_normal((2, count, dim))
    u *= lengths[0] / np.linalg.norm(u, axis=1, keepdims=True)
    v *= lengths[1] / np.linalg.norm(v, axis=1, keepdims=True)
    share = rng.random((count, 1))
    points, means, shrunk = at(ball, u), at(ball, v), at(ball, share * u)
    dist = ball.manifold.dist
    metric = dist(shrunk, means) ** 2 - dist(points, means) ** 2
    chart = np.sum((share * u - v) ** 2 - (u - v) ** 2, axis=1)
    return float(np.mean(metric > chart + 1e-9))


# ------------------------------------------------------------------ the shrunk mean


@pytest.mark.parametrize("profile", ["gaussian", "laplace"])
@pytest.mark.parametrize("dim", [1, 2, 3, 6, 36])
def test_it_is_no_worse_wherever_the_mean_lies(dim: int, profile: str) -> None:
    """In flat space, in the mean square: for every distance of the mean from the centre."""
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    rng, count = np.random.default_rng(1), 40_000
    direction = rng.standard_normal((count, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    for scale, dist in itertools.product((0.03, 0.2, 1.0), (0.0, 0.3, 0.7, 1.0)):
        wished = scale / dim**0.5
        way = cdp.GDP(2 / wished) if profile == "gaussian" else cdp.PureDP(2 / wished)
        noise = design_mean_under(ball, 1, way, 1, None)
        if profile == "gaussian":
            drawn = noise.mechanism.scale * rng.standard_normal((count, dim))
        else:
            drawn = rng.gamma(dim, noise.mechanism.scale, (count, 1)) * direction
        assert np.mean(np.sum(drawn**2, axis=1)) == pytest.approx(noise.mean_square, rel=0.05)
        mean = np.zeros(dim)
        mean[0] = dist
        released = mean + drawn
        shrunk = shrunk_points(ball, released, noise.mean_square, noise.strength)
        kept = ball.project(released)
        errors = [np.sum((points - mean) ** 2, axis=1) for points in (kept, shrunk)]
        error = np.std(errors[1] - errors[0]) / count**0.5
        raw = np.mean(np.sum(drawn**2, axis=1))
        assert np.mean(errors[1]) <= raw + 4 * error
        if dim > 2:  # the bound is about the point before it was moved to the ball
            assert np.mean(errors[1]) <= 1.07 * np.mean(errors[0]) + 4 * error
        formula = float(shrunk_error(dim, noise.mean_square, dist, 1.0))
        if scale < 1.0:
            assert formula / 1.6 <= np.mean(errors[1]) ** 0.5 <= 1.25 * formula


@pytest.mark.parametrize("spec", ["spd:3", "spd:8", "hyperboloid:3", "sphere:5", "kendall:20"])
@pytest.mark.parametrize("mu", [0.2, 1.0])
def test_it_errs_less_where_noise_is_large_and_says_so(spec: str, mu: float) -> None:
    """Measured on curved spaces, positive curvature among them, and the printed errors with it."""
    ball, rng = on_ball(spec), np.random.default_rng(3)
    dim = ball.manifold.dim
    coords = 0.3 * ball.radius * rng.standard_normal((40, dim)) / dim**0.5
    coords[:, 0] += 0.2 * ball.radius
    records = at(ball, coords)
    mean = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
    groups, points = copies(150, records)
    releases = list(cdp.frechet_mean(points, ball, cdp.GDP(mu), **groups))
    errors = [
        np.mean([ball.manifold.dist(getattr(one, name), mean) for one in releases])
        for name in ("value", "shrunk")
    ]
    printed = [
        np.mean([getattr(one, name) for one in releases])
        for name in ("expected_error", "shrunk_error")
    ]
    assert errors[1] <= 1.02 * errors[0]
    assert printed[0] / 1.5 <= errors[0] <= 1.5 * printed[0]
    assert errors[1] <= 1.5 * printed[1]  # a cut at the centre makes it too large, never too small
    advice = releases[0].report().split("advice:")[1].split()[1]
    recommends = releases[0].shrunk_error < 0.9 * releases[0].expected_error
    assert advice == ("shrunk," if recommends else "value:")


def test_groups_have_the_shrunk_means_of_each_alone_as_columns() -> None:
    ball = on_ball("spd:3")
    records = np.tile(at(ball, np.full((1, 6), 0.2)), (300, 1, 1))
    for balls in (ball, [ball, cdp.Ball(ball.manifold, ball.center, 1.0), ball]):
        releases = cdp.frechet_mean(records, balls, cdp.GDP(0.5), groups=[0, 20, 100, 300])
        columns = releases.columns()
        for g, release in enumerate(releases):
            assert np.allclose(columns["shrunk"][g], release.shrunk, atol=1e-12)
            assert columns["shrunk_error"][g] == pytest.approx(release.shrunk_error, rel=1e-6)
            assert cdp.Release.from_json(release.to_json()) == release
            stored = cdp.Release.from_json(release.to_json())
            assert np.array_equal(stored.shrunk, release.shrunk)
        assert releases.to_arrow()["shrunk_error"].null_count == 0


@pytest.mark.parametrize(("spec", "groups"), [("spd:3", 30), ("hyperboloid:3", 12), ("spd:8", 40)])
def test_many_groups_together_err_less_than_each_by_itself(spec: str, groups: int) -> None:
    ball, rng = on_ball(spec), np.random.default_rng(11)
    dim = ball.manifold.dim
    common = np.zeros(dim)
    common[0] = 0.6 * ball.radius
    coords = common + 0.1 * rng.standard_normal((groups, dim)) / dim**0.5
    means = at(ball, coords)
    records = np.repeat(means, 20, axis=0)
    found = []
    for _ in range(36):
        releases = cdp.frechet_mean(
            records, ball, cdp.GDP(0.6), groups=np.arange(0, 20 * groups + 1, 20)
        )
        columns = releases.columns()
        candidates = (releases.value, columns["shrunk"], cdp.shrink_together(releases))
        found.append([np.mean(ball.manifold.dist(points, means) ** 2) for points in candidates])
    value, alone, together = np.mean(found, axis=0)
    assert together < 0.8 * alone < 0.8 * 1.02 * value
    with pytest.raises(ValueError, match="frechet_mean with groups"):
        cdp.shrink_together(
            cdp.frechet_variance(records, ball, cdp.GDP(1.0), groups=[0, 20, 40, len(records)])
        )


# ------------------------------------------------------------------ a warning from public numbers


@pytest.mark.parametrize("records", [np.zeros((6, 2)), np.ones((6, 2)), np.full((6, 2), np.nan)])
def test_noise_larger_than_the_ball_is_told_before_anything_is_spent(records) -> None:
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        for statistic in (cdp.frechet_mean, cdp.frechet_variance, cdp.log_covariance):
            with cdp.Ledger(cdp.GDP(3.0)) as ledger:
                with pytest.raises(NoiseWarning, match="tells less than its ball"):
                    statistic(records, ball, cdp.GDP(0.1), ledger=ledger)
                assert ledger.spent is None
        cdp.frechet_mean(np.tile(records, (100, 1)), ball, cdp.GDP(1.0))
    with pytest.warns(NoiseWarning, match="of 2 of 3 groups"):
        cdp.frechet_mean(np.tile(records, (100, 1)), ball, cdp.GDP(0.1), groups=[0, 3, 6, 600])
