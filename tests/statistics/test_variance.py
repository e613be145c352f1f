"""The restricted minimum V_s: what it is, how far one record moves it, what its release says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize

import curvedp as cdp
from curvedp.statistics.variance import Variance
from manifold_list import SMALL
from many_releases import copies

#: So little noise that a release shows V_s to about 1e-5 of its sensitivity.
CLEAR = cdp.GDP(1e5)
SPECS = [
    *("euclidean:2", "sphere:2", "hyperboloid:2", "spd:2", "spd:3", "kendall:5"),
    *("rotations:3", "projective:2", "torus:2", "grassmann:4:2", "so:4"),
]


def on_ball(spec: str, share: float = 0.55) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    radius = min(2.0, share * manifold.max_ball_radius)
    return cdp.Ball(manifold, manifold.random_point(rng=2), radius)


def at(ball: cdp.Ball, coords: np.ndarray) -> np.ndarray:
    space = ball.manifold
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def spread(ball: cdp.Ball, n: int, seed: int = 0, shift: float = 0.4) -> np.ndarray:
    """Records whose mean lies about `shift` radii from the centre."""
    rng, dim = np.random.default_rng(seed), ball.manifold.dim
    coords = 0.4 * ball.radius * rng.standard_normal((n, dim)) / dim**0.5
    coords[:, 0] += shift * ball.radius
    return ball.project(at(ball, coords))


def clear(records: np.ndarray, ball: cdp.Ball, within: float) -> float:
    return cdp.frechet_variance(records, ball, CLEAR, within=within).unclipped


def tolerance(ball: cdp.Ball, n: int, within: float) -> float:
    """What the public tolerance and the noise of `clear` leave."""
    release = cdp.frechet_variance(
        np.tile(ball.center, (n, *[1] * ball.center.ndim)), ball, CLEAR, within=within
    )
    return release.solver_tolerance + 8 * release.scale


def searched(records: np.ndarray, ball: cdp.Ball, within: float) -> float:
    """The minimum by a general optimiser, in chart coordinates at the centre."""
    space, dim = ball.manifold, ball.manifold.dim

    def mean_square(coords: np.ndarray) -> float:
        length = np.linalg.norm(coords)
        inside = coords * min(1.0, within / length) if length > 0 else coords
        return float(np.mean(space.dist(at(ball, inside), records) ** 2))

    starts = np.random.default_rng(0).standard_normal((3, dim)) * within / dim**0.5
    found = [
        scipy.optimize.minimize(
            mean_square,
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
        ).fun
        for start in starts
    ]
    return min(found)


# ------------------------------------------------------------------ the number


@pytest.mark.parametrize("spec", ["euclidean:2", "sphere:2", "hyperboloid:2", "spd:2"])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8, 1.5])
def test_it_is_the_least_mean_squared_distance_within_s(spec: str, share: float) -> None:
    ball = on_ball(spec)
    records = spread(ball, 30)
    mean = cdp.nonprivate.frechet_mean(records, ball.manifold).value
    within = min(share * float(ball.manifold.dist(ball.center, mean)), ball.radius)
    error = abs(clear(records, ball, within) - searched(records, ball, within))
    assert error <= tolerance(ball, 30, within) + 1e-7


@pytest.mark.parametrize("n", [1, 2, 50, 4000])
@pytest.mark.parametrize("within", [0.0, 1e-9, 1e-3, 0.2, 0.7, 1.0])
def test_in_flat_space_it_is_known(n: int, within: float) -> None:
    """V + (t - s)^2 where the mean lies outside."""
    ball = cdp.Ball("euclidean:3", [1.0, 2.0, 3.0], 1.0)
    records = spread(ball, n)
    mean = records.mean(axis=0)
    excess = max(np.linalg.norm(mean - ball.center) - within, 0.0)
    exact = np.mean(np.sum((records - mean) ** 2, axis=1)) + excess**2
    assert abs(clear(records, ball, within) - exact) <= tolerance(ball, n, within)


@pytest.mark.parametrize("spec", SPECS)
def test_it_falls_from_the_centre_to_the_variance(spec: str) -> None:
    """At s = 0 it is the mean squared distance from the centre, at s = r the variance."""
    ball = on_ball(spec)
    records = spread(ball, 40)
    values = [clear(records, ball, share * ball.radius) for share in np.linspace(0, 1, 9)]
    slack = 2 * tolerance(ball, 40, ball.radius)
    assert all(later <= former + slack for former, later in itertools.pairwise(values))
    center = np.mean(ball.manifold.dist(ball.center, records) ** 2)
    exact = cdp.nonprivate.frechet_variance(records, ball.manifold)
    assert abs(values[0] - center) <= slack
    assert abs(values[-1] - exact) <= slack
    assert values[0] > exact + 10 * slack  # the centre is not the mean


@pytest.mark.parametrize("spec", ["sphere:2", "kendall:5", "hyperboloid:2", "spd:3"])
def test_hard_balls_are_solved_too(spec: str) -> None:
    """Wide balls, clusters at opposite edges, s of every size: nothing runs away or ends early."""
    ball = on_ball(spec, share=0.97)
    axis = np.zeros(ball.manifold.dim)
    axis[0] = ball.radius
    records = np.concatenate(
        (
            np.tile(at(ball, axis), (30, *[1] * ball.center.ndim)),
            np.tile(at(ball, -axis), (1, *[1] * ball.center.ndim)),
        )
    )
    grid = np.linspace(-1, 1, 4001)[:, None] * axis
    dist = ball.manifold.dist(at(ball, grid)[:, None], records[[0, -1]][None])
    square = (30 * dist[:, 0] ** 2 + dist[:, 1] ** 2) / 31
    for within in ball.radius * np.array([1e-7, 1e-3, 0.1, 0.5, 0.9, 1.0]):
        least = square[np.abs(grid[:, 0]) <= within + 1e-12].min()
        step = 2 * 2 * ball.radius * ball.radius / 2000
        found = clear(records, ball, within)
        assert least - step - tolerance(ball, 31, within) <= found
        assert found <= least + tolerance(ball, 31, within) + 1e-9


# ------------------------------------------------------------------ its sensitivity


def largest_move(spec: str, within_share: float, n: int) -> float:
    """Largest change found, in units of (r + s)^2/n, when one record is replaced."""
    ball = on_ball(spec)
    dim, within = ball.manifold.dim, within_share * ball.radius
    rng, pairs = np.random.default_rng(5), []
    axis = np.zeros(dim)
    axis[0] = ball.radius
    edge = np.array([axis, -axis, 0 * axis, within_share * axis, -within_share * axis])
    for trial in range(60):
        if trial < 25:  # all others alike, one record from one special place to another
            others = np.tile(edge[trial // 5], (n - 1, 1))
            first, second = edge[trial % 5], edge[(trial + 1 + trial // 5) % 5]
        else:
            coords = rng.standard_normal((n + 1, dim))
            coords *= ball.radius * rng.random((n + 1, 1)) / np.linalg.norm(coords, axis=1)[:, None]
            others, first, second = coords[:-2], coords[-2], coords[-1]
        pairs += [np.concatenate((others, [own])) for own in (first, second)]
    groups, records = n * np.arange(len(pairs) + 1), at(ball, np.concatenate(pairs))
    releases = cdp.frechet_variance(records, ball, CLEAR, within=within, groups=groups)
    values = np.reshape([release.unclipped for release in releases], (-1, 2))
    worst = float(np.abs(values[:, 0] - values[:, 1]).max())
    bound = cdp.sensitivity.frechet_variance(ball, n, within=within)
    assert worst <= bound + 2 * tolerance(ball, n, within)
    return worst / bound


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_no_neighbour_moves_it_further_than_its_sensitivity(spec: str, n: int) -> None:
    """And at s = 0 one goes all the way, so that no smaller bound would do."""
    assert largest_move(spec, 0.0, n) > 0.99
    assert largest_move(spec, 0.3, n) > 0.2
    # one record alone has no variance
    assert largest_move(spec, 1.0, n) > (0.2 if n > 1 else -1.0)


# ------------------------------------------------------------------ its release


@pytest.mark.parametrize("spec", ["sphere:2", "spd:3", "kendall:5", "euclidean:2"])
@pytest.mark.parametrize(("mu", "n"), [(0.1, 40), (0.3, 100), (1.0, 100), (1.0, 600)])
def test_the_printed_error_is_the_measured_one(spec: str, mu: float, n: int) -> None:
    """Within a factor of 1.5, on data of every kind; where it is cut, no more than that."""
    ball, errors, printed = on_ball(spec), [], []
    for seed, shift in itertools.product(range(8), (0.0, 0.6)):
        records = spread(ball, n, seed, shift)
        records[: n // 10] = at(ball, np.eye(1, ball.manifold.dim)[0] * ball.radius)  # an outlier
        exact = cdp.nonprivate.frechet_variance(records, ball.manifold)
        groups, points = copies(25, records)
        for release in cdp.frechet_variance(points, ball, cdp.GDP(mu), **groups):
            errors.append(abs(float(release.value) - exact))
            printed.append(release.expected_error)
    assert np.mean(printed) / 1.5 <= np.mean(errors) <= 1.5 * np.mean(printed)


def test_s_holds_the_mean_with_its_probability() -> None:
    ball = on_ball("sphere:2")
    records = spread(ball, 80)
    mean = cdp.nonprivate.frechet_mean(records, ball.manifold).value
    to_mean = float(ball.manifold.dist(ball.center, mean))
    for asked in (cdp.GDP(1.0), cdp.PureDP(2.0)):
        groups, points = copies(2000, records)
        found = list(cdp.frechet_variance(points, ball, asked, **groups))
        missed = np.mean([release.within < to_mean for release in found])
        assert abs(missed - 0.05) < 0.035  # seven standard errors
        (part,) = found[0].parts
        assert part.statistic == "distance of the mean from the centre"
        assert part.value.shape == ()


def test_a_value_that_is_cut_says_so() -> None:
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    alike = [cdp.frechet_variance(np.zeros((20, 2)), ball, cdp.GDP(1.0)) for _ in range(60)]
    cut = [release for release in alike if release.cut is not None]
    assert {release.cut for release in cut} == {0.0}
    assert 5 < len(cut) < 55  # of 60 fair coins, but with probability 1e-11
    for release in cut:
        assert release.unclipped < 0
        assert "CUT" in release.report()
        assert cdp.Release.from_json(release.to_json()) == release
    edges = np.array([[1.0, 0.0], [-1.0, 0.0]] * 10)
    wide = [cdp.frechet_variance(edges, ball, cdp.GDP(1.0)) for _ in range(60)]
    assert {release.cut for release in wide} == {1.0, None}
    assert "CUT" not in next(release for release in wide if release.cut is None).report()


def test_a_public_s_takes_the_whole_budget_and_releases_nothing_else() -> None:
    ball = on_ball("spd:2")
    records = spread(ball, 100)
    release = cdp.frechet_variance(records, ball, cdp.GDP(1.0), within=0.3)
    assert release.parts == ()
    assert release.within == 0.3
    wider = cdp.frechet_variance(records, ball, cdp.GDP(1.0), within=9.0)
    assert wider.within == ball.radius
    ratio = ((ball.radius + 0.3) / (2 * ball.radius)) ** 2
    assert release.scale == pytest.approx(ratio * wider.scale, rel=1e-3)
    for wrong in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="within"):
            Variance(within=wrong)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.manifold.spec)
def test_no_record_raises_or_moves_it_out_of_its_range(case) -> None:
    ball = cdp.Ball(
        case.manifold,
        case.manifold.random_point(rng=1),
        min(1.0, 0.6 * case.manifold.max_ball_radius),
    )
    for fill in (np.nan, np.inf, 0.0, 1e308, 5e-324):
        records = np.tile(ball.center, (30, *[1] * ball.center.ndim))
        records[::2] = fill
        release = cdp.frechet_variance(records, ball, cdp.GDP(20.0))
        assert 0 <= float(release.value) <= ball.radius**2
