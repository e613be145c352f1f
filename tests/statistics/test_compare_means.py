"""The comparison of two groups: its size, its power, and whether ellipsoids meet."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from inference_cases import make_ball, spread_records
from inference_populations import CAP


def ellipse(
    center: np.ndarray, covariance: np.ndarray, quantile: float = 1.0
) -> cdp.ConfidenceRegion:
    """A region in the plane or in space, made by hand."""
    dim = len(center)
    return cdp.ConfidenceRegion(
        manifold=f"euclidean:{dim}",
        estimate=center,
        chart_point=np.zeros(dim),
        covariance=covariance,
        quantile=quantile,
        dof=math.inf,
        level=0.95,
        n=100,
    )


def random_ellipse(dim: int, rng: np.random.Generator) -> cdp.ConfidenceRegion:
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    radii = rng.uniform(0.1, 1.5, dim)
    return ellipse(
        2 * rng.uniform(-1, 1, dim), (turn * radii**2) @ turn.T, quantile=rng.uniform(0.5, 2)
    )


def meet(a: cdp.ConfidenceRegion, b: cdp.ConfidenceRegion, margin: float = 1.0) -> bool:
    """By points on the boundaries and both centres, with both regions scaled by `margin`."""
    scaled = [ellipse(r.estimate, r.covariance, r.quantile * margin**2) for r in (a, b)]
    for one, other in (scaled, scaled[::-1]):
        if other.contains(one.boundary(1500)).any() or other.contains(one.estimate):
            return True
    return False


@pytest.mark.parametrize("dim", [2, 3])
def test_regions_overlap_as_their_points_say(dim: int) -> None:
    rng = np.random.default_rng(dim)
    seen = []
    for _ in range(100):
        a, b = random_ellipse(dim, rng), random_ellipse(dim, rng)
        if meet(a, b, 0.97) == meet(a, b, 1.03):  # not about to touch
            expected = meet(a, b)
            seen.append(expected)
            assert cdp.compare_means(a, b).regions_overlap == expected
            assert cdp.compare_means(b, a).regions_overlap == expected
    assert 15 < sum(seen) < len(seen) - 15


def test_circles_touch_at_the_sum_of_their_radii() -> None:
    for shift, expected in ((1.4999, True), (1.5001, False)):
        a = ellipse(np.zeros(2), np.eye(2))
        b = ellipse(np.array([shift, 0.0]), 0.25 * np.eye(2))
        assert cdp.compare_means(a, b).regions_overlap == expected


def test_the_statistic_is_the_squared_mahalanobis_distance() -> None:
    a = ellipse(np.array([0.3, -0.2]), np.diag([0.04, 0.01]))
    b = ellipse(np.array([-0.1, 0.1]), np.diag([0.01, 0.02]))
    outcome = cdp.compare_means(a, b)
    expected = 0.4**2 / 0.05 + 0.3**2 / 0.03
    assert math.isclose(outcome.statistic, expected, rel_tol=1e-12)
    assert math.isclose(outcome.p_value, stats.chi2.sf(expected, 2), rel_tol=1e-9)
    assert math.isclose(outcome.dist, 0.5, rel_tol=1e-12)


def test_the_test_rejects_equal_means_about_as_often_as_its_level() -> None:
    rejected = overlapping = 0
    repetitions = 500
    for i in range(repetitions):
        rng = np.random.default_rng([9, i])
        a, b = (
            cdp.confidence_region(CAP.sample(200, rng), CAP.ball, cdp.GDP(1.0), seed=2 * i + k)
            for k in (0, 1)
        )
        outcome = cdp.compare_means(a, b)
        assert outcome.rejects == (outcome.p_value < 0.05)
        rejected += outcome.rejects
        overlapping += outcome.regions_overlap
    assert 0.02 <= rejected / repetitions <= 0.09
    assert overlapping / repetitions > 0.97


def test_the_region_of_the_difference_holds_it_about_as_often_as_its_level() -> None:
    """A cap and the same turned by a fifth, at unequal sizes, in a ball that holds both."""
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    cos, sin = np.cos(0.2), np.sin(0.2)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
    means = np.array([ball.center, turn @ ball.center])
    coords = ball.manifold.tangent_to_coords(ball.manifold.log(means, ball.center), ball.center)
    held, repetitions = 0, 400
    for i in range(repetitions):
        rng = np.random.default_rng([10, i])
        a = cdp.confidence_region(CAP.sample(150, rng), ball, cdp.GDP(2.0), seed=2 * i)
        moved = CAP.sample(400, rng) @ turn.T
        b = cdp.confidence_region(moved, ball, cdp.GDP(2.0), seed=2 * i + 1)
        outcome = cdp.compare_means(a, b)
        assert outcome.contains(outcome.difference)
        assert outcome.contains(np.zeros(2)) == (not outcome.rejects)
        held += outcome.contains(coords[0] - coords[1])
    assert 0.91 <= held / repetitions <= 0.985


def test_the_region_of_the_difference_is_where_its_axes_end() -> None:
    a = ellipse(np.array([0.3, -0.2]), np.diag([0.04, 0.01]))
    b = ellipse(np.array([-0.1, 0.1]), np.diag([0.01, 0.02]))
    outcome = cdp.compare_means(a, b, level=0.1)
    assert outcome.difference == pytest.approx([0.4, -0.3])
    radii, directions = outcome.axes()
    assert radii == pytest.approx(np.sqrt(stats.chi2.ppf(0.9, 2) * np.array([0.05, 0.03])))
    for sign in (-1, 1):
        ends = outcome.difference + sign * radii[:, None] * directions
        inside = outcome.difference + 0.999 * (ends - outcome.difference)
        outside = outcome.difference + 1.001 * (ends - outcome.difference)
        assert outcome.contains(inside).all()
        assert not outcome.contains(outside).any()


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "hyperboloid:2", "kendall:3", "euclidean:3"])
def test_the_test_finds_means_that_differ_and_disjoint_regions_are_rarer(spec: str) -> None:
    """The second group is moved along the first coordinate by a tenth of the radius and more."""
    ball = make_ball(spec)
    manifold = ball.manifold
    records = spread_records(ball, 800)
    coords = manifold.tangent_to_coords(manifold.log(records, ball.center), ball.center)
    found = np.zeros((3, 3))
    repetitions = 15
    for k, shift in enumerate((0.0, 0.02, 0.15)):
        moved = coords + shift * ball.radius * np.eye(manifold.dim)[0]
        other = manifold.exp(manifold.coords_to_tangent(moved, ball.center), ball.center)
        for i in range(repetitions):
            a = cdp.confidence_region(records[:400], ball, cdp.GDP(1.0), seed=3 * i)
            b = cdp.confidence_region(other[400:], ball, cdp.GDP(1.0), seed=3 * i + 1)
            outcome = cdp.compare_means(a, b)
            found[k] += [outcome.rejects, not outcome.regions_overlap, outcome.p_value]
            assert outcome.rejects or outcome.regions_overlap
    assert found[2, 0] == found[2, 1] == repetitions
    assert found[0, 0] <= found[1, 0] <= found[2, 0]
    assert found[2, 2] / repetitions < 1e-6


def test_groups_in_different_balls_are_compared_at_the_midpoint() -> None:
    """The same records in two balls: the statistic is small, and symmetric in the groups."""
    first = make_ball("spd:2")
    manifold = first.manifold
    center = manifold.exp(
        manifold.coords_to_tangent(np.array([0.2, 0.1, -0.1]), first.center), first.center
    )
    second = cdp.Ball(manifold, center, first.radius)
    records = spread_records(first, 3000)
    a = cdp.confidence_region(records, first, cdp.GDP(3.0), seed=1)
    b = cdp.confidence_region(records, second, cdp.GDP(3.0), seed=2)
    common = cdp.confidence_region(records, first, cdp.GDP(3.0), seed=2)
    one, other = cdp.compare_means(a, b), cdp.compare_means(b, a)
    assert math.isclose(one.statistic, other.statistic, rel_tol=1e-9)
    assert not one.rejects
    assert math.isclose(one.dof, cdp.compare_means(a, common).dof, rel_tol=0.2)


def test_regions_on_different_manifolds_are_refused() -> None:
    a = ellipse(np.zeros(2), np.eye(2))
    with pytest.raises(ValueError, match="different manifolds, euclidean:2 and euclidean:3"):
        cdp.compare_means(a, ellipse(np.zeros(3), np.eye(3)))
    with pytest.raises(ValueError, match="level"):
        cdp.compare_means(a, a, level=1.5)


def test_regions_without_privacy_can_be_compared() -> None:
    ball = make_ball("sphere:2")
    records = spread_records(ball, 400)
    regions = [cdp.nonprivate.confidence_region(x, ball.manifold) for x in np.split(records, 2)]
    assert not cdp.compare_means(*regions, level=1e-4).rejects
