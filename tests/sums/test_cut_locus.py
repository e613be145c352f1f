"""Records that reach the cut locus: their logarithms jump, and steps and printed errors know it.

docs/proofs/sums-of-messages.md, section 10 and theorem 10.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp.manifolds import as_manifold
from curvedp.statistics.located_release import LocatedMeanRelease
from curvedp.sums import geometry
from curvedp.sums.geometry import Geometry, geometry_of
from curvedp.sums.search import Search

PI = math.pi


def _angles(points: np.ndarray, base: float) -> np.ndarray:
    """Logarithms on the circle."""
    return (points - base + PI) % (2.0 * PI) - PI


def _minima(points: np.ndarray) -> np.ndarray:
    """All local minima of the energy on the circle: means of the points, k of them a turn on."""
    points = np.sort(points % (2.0 * PI))
    found = (points.mean() + 2.0 * PI * np.arange(len(points)) / len(points)) % (2.0 * PI)
    slopes = np.array([_angles(points, own).mean() for own in found])
    return found[np.abs(slopes) < 1e-9]


def _releases(
    kappa: float, n: int, guarantee: cdp.Guarantee, count: int
) -> tuple[list[LocatedMeanRelease], np.ndarray]:
    """Means of von Mises records, those that were found, and distances to where descents end."""
    points = np.random.default_rng(4).vonmises(1.0, kappa, (count, n))
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(points.reshape(-1, 1), "torus:1", guarantee, groups=groups)
    found = np.array([mean.found for mean in means])
    value = np.array([mean.value[0] for mean in means])[found]
    end = value.copy()
    for _ in range(40):
        end += _angles(points[found], end[:, None]).mean(axis=1)
    return [mean for mean in means if mean.found], np.abs(_angles(value, end))


@pytest.mark.parametrize("turns", [True, pytest.param(False, id="control")])
@pytest.mark.parametrize("guarantee", [cdp.GDP(3.0), cdp.PureDP(6.0)], ids=str)
def test_printed_errors_hold_where_a_twentieth_of_the_records_is_behind_the_cut(
    guarantee: cdp.Guarantee, turns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control takes logarithms for smooth, so that steps seem to reach the mean."""
    if not turns:
        monkeypatch.setattr(Geometry, "may_turn", False)
        monkeypatch.setattr(Search, "_most_turned", lambda *_: iter([(0.0, math.inf)]))
    own, errors = _releases(0.9, 6000, guarantee, 60)
    ratio = errors.mean() / np.mean([mean.expected_error for mean in own])
    assert bool(0.25 < ratio < 2.0) is turns
    assert bool((errors < [mean.most_error for mean in own]).all()) is turns


def test_a_distance_that_keeps_records_from_the_cut_locus_keeps_the_error_small() -> None:
    (mean, *_), _ = _releases(0.9, 6000, cdp.GDP(3.0), 1)
    assert mean.turned > 0.05
    assert mean.error_within(PI) == pytest.approx(mean.most_error)
    assert mean.error_within(0.9 * PI) < 2.0 * mean.expected_error
    assert mean.error_within(100.0) <= PI  # no point is farther


#: What jumps take from the Hessian under the uniform law: all of it, as its energy is constant.
UNIFORM = [
    ("torus:1", 1.0),
    ("sphere:1", 1.0),
    ("torus:2", 1.0),
    ("torus:5", 1.0),
    ("torus:500", 1.0),
    ("projective:2", PI / 4.0),  # 1 along, and the integral of t cos t across
    ("rotations:3", 2.0 / 3.0),  # 1 along, and (t/2) cot(t/2) of mean 1/2 twice across
]


@pytest.mark.parametrize(("spec", "hessian"), UNIFORM)
def test_jumps_of_the_uniform_law_take_the_whole_hessian(spec: str, hessian: float) -> None:
    own = geometry_of(as_manifold(spec))
    assert own.turning(np.array([own.largest])) == pytest.approx(hessian, abs=0.06)


def test_the_points_are_uniform_on_rotations(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control are random points, which on rotations are not; half of the uniform ones turn by
    more than 2.31: t - sin t is pi/2 there."""
    space = as_manifold("rotations:3")
    assert geometry._most_spread.__wrapped__(space) == pytest.approx(0.75 * 2.31, abs=0.05)
    monkeypatch.setattr(geometry, "_uniform", lambda space, count: space.random_point(count, rng=0))
    assert geometry._most_spread.__wrapped__(space) < 1.3


@pytest.mark.parametrize("spec", ["sphere:2", "sphere:5", "kendall:4", "euclidean:2", "spd:2"])
def test_where_the_cut_locus_begins_with_conjugate_points_nothing_jumps(spec: str) -> None:
    own = geometry_of(as_manifold(spec))
    assert not own.may_turn
    assert not own.turning(np.array([own.largest])).any()


@pytest.mark.parametrize("jump", [2.0 * PI, pytest.param(0.7 * PI, id="control")])
def test_theorem_10(jump: float) -> None:
    """Minima near a point are where the mean logarithm leads but for jumps, and there is one."""
    rng, missed, lacking, asked = np.random.default_rng(6), 0, 0, 0
    for _ in range(400):
        points = rng.vonmises(0.0, 2.0 * rng.random(), rng.integers(20, 200))
        base, way = rng.normal(scale=0.3), rng.uniform(0.02, 1.5)
        logs = _angles(points, base)
        turned = np.mean(np.abs(logs) >= PI - way)
        ahead = _angles(_minima(points), base)
        near = ahead[np.abs(ahead) <= way]
        missed += bool((np.abs(near - logs.mean()) > jump * turned + 1e-9).any())
        if abs(logs.mean()) + 2.0 * PI * turned < way:
            asked += 1
            lacking += not len(near)
    assert asked > 20
    assert not lacking
    assert bool(missed == 0) is (jump == 2.0 * PI)


@pytest.mark.parametrize("seen", [1.0, pytest.param(0.0, id="control")])
def test_theorem_10_of_clipped_means(seen: float) -> None:
    """What counts about another point tell of a mean clipped here, and that there is a minimum.

    The control leaves out the records that change sides.
    """
    rng, missed, lacking, asked = np.random.default_rng(7), 0, 0, 0
    for _ in range(600):
        points = rng.normal(scale=rng.uniform(0.1, 1.0), size=rng.integers(4, 12))
        points[0] = rng.uniform(2.0, 4.0)
        base, clip, way = rng.normal(scale=0.3), rng.uniform(0.3, PI), rng.uniform(0.3, 2.8)
        moved, noise = rng.normal(scale=0.2), rng.normal(scale=0.05)
        logs, dist = _angles(points, base), np.abs(_angles(points, base + moved))
        step = float(np.clip(logs, -clip, clip).mean()) + noise
        share, nearer = np.mean(dist > clip), np.mean(dist > clip - abs(moved))
        turned = np.mean(np.abs(logs) >= PI - way)
        most = max(share, seen * turned)
        if most == 1.0:
            continue
        ahead = _angles(_minima(points), base)
        near = ahead[np.abs(ahead) <= way]
        reach = np.append(np.abs(_angles(points[:, None], base + near)).max(axis=0), PI)
        far = most * np.maximum(reach + abs(step) - clip, 0.0) + (nearer - share) * abs(moved)
        error = (abs(noise) + far + 2.0 * clip * seen * turned) / (1.0 - most)
        missed += bool((np.abs(step - near) > error[:-1] + 1e-9).any())
        if (end := abs(step) + error[-1]) <= way:
            asked += 1
            lacking += not (np.abs(ahead) <= end + 1e-9).any()
    assert asked > 20
    assert bool(missed + lacking == 0) is bool(seen)


@pytest.mark.parametrize("least", [0.1, pytest.param(-9.0, id="control")])
def test_a_saddle_is_no_mean(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records along a great circle: across it the point that was found is a maximum."""
    monkeypatch.setattr("curvedp.sums.search.LEAST_ACROSS", least)
    space, n, count = as_manifold("sphere:2"), 4000, 20
    rng = np.random.default_rng(8)
    coords = 0.1 * rng.standard_normal((n, space.dim))
    coords[:, 0] = rng.vonmises(0.0, 1.1, n) * space.injectivity_radius / PI
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    groups = np.repeat(np.arange(count), n)
    means = cdp.frechet_mean(np.concatenate([records] * count), space, cdp.GDP(3.0), groups=groups)
    assert sum(mean.found for mean in means) == (0 if least > 0.0 else count)
    if least < 0.0:
        exact = cdp.nonprivate.frechet_mean(records, space).value
        errors = space.dist(np.array([mean.value for mean in means]), exact)
        assert np.median(errors / [mean.expected_error for mean in means]) > 2.0
        # 5 of 8,000 were not: five of twenty are not with a probability below 1e-11
        assert (errors < [mean.most_error for mean in means]).mean() >= 0.8
