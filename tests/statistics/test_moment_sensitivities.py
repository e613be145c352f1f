"""The library's sensitivities of moments equal the bounds that were derived and attacked apart."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import adversarial_search as search
import curvedp as cdp
import moment_bounds as bounds
from curvedp import sensitivity
from curvedp.curvature import excess_diameter, radial_excess
from curvedp.domain import BOUNDARY_SLACK

SPACES = [
    ("sphere:2", search.Sphere(2)),
    ("sphere:5", search.Sphere(5)),
    ("hyperboloid:3", search.Hyperbolic(3)),
    ("spd:2", search.SPD(2)),
    ("spd:3", search.SPD(3)),
    ("spd:6", search.SPD(6)),
    ("kendall:4", search.ComplexProjective(2)),
    ("kendall:14", search.ComplexProjective(12)),
    ("euclidean:3", search.Space(3)),
]


@pytest.mark.parametrize(("spec", "space"), SPACES, ids=[spec for spec, _ in SPACES])
@pytest.mark.parametrize("reach", [1e-6, 0.1, 0.7, 1.4])
def test_hessian(spec, space, reach):
    expected = float(np.squeeze(bounds.hessian_excess(space, np.array(reach))))
    assert excess_diameter(cdp.as_manifold(spec), reach) == pytest.approx(
        expected, rel=1e-9, abs=1e-15
    )


@pytest.mark.parametrize(("spec", "space"), SPACES[:-1], ids=[spec for spec, _ in SPACES[:-1]])
@pytest.mark.parametrize("reach", [1e-3, 1e-5, 3e-7, 1e-8, 1e-12, 1e-40])
def test_hessian_on_small_balls(spec, space, reach):
    """It falls as the square of the reach, where h - 1 has no digits left in double precision."""
    manifold = cdp.as_manifold(spec)
    largest = 1e-2
    limit = excess_diameter(manifold, largest) / largest**2
    assert excess_diameter(manifold, reach) / reach**2 == pytest.approx(limit, rel=1e-4)
    if reach <= 1e-5:
        unit = excess_diameter(manifold, 1e-6) / 1e-12
        assert excess_diameter(manifold, reach) / reach**2 == pytest.approx(unit, rel=1e-9)


def test_radial_excess_is_accurate_at_all_distances():
    with mp.workdps(60):
        for curvature in (1.0, 4.0, -1.0, -0.25):
            for x in np.geomspace(1e-12, 3.1, 400):
                dist = float(x) / math.sqrt(abs(curvature))
                exact = mp.sqrt(abs(curvature)) * mp.mpf(dist)
                exact *= mp.cot(exact) if curvature > 0 else mp.coth(exact)
                assert abs(radial_excess(curvature, dist) / (exact - 1) - 1) < 1e-13


@pytest.mark.parametrize("radius", [1e-3, 1e-6, 3e-7, 3e-8, 1e-9])
@pytest.mark.parametrize("spec", ["sphere:2", "hyperboloid:2", "kendall:3", "spd:2"])
def test_no_record_moves_the_computed_hessian_further_on_small_balls(spec, radius):
    manifold = cdp.as_manifold(spec)
    center = manifold.random_point(rng=1) if spec != "spd:2" else np.eye(2)
    small = cdp.Ball(manifold, center, radius)
    rng = np.random.default_rng(0)
    coords = rng.standard_normal((40, manifold.dim))
    coords *= 3 * radius / np.linalg.norm(coords, axis=1, keepdims=True)
    records = manifold.exp(manifold.coords_to_tangent(coords, center), center)
    rows = small.enter(records)
    frame = small.frame
    reach = radius * (1 + BOUNDARY_SLACK)
    excess = np.array(
        [frame.manifold.log_moments(row[None], frame.origin, reach, True)[2] for row in rows]
    )
    moved = 2 * np.linalg.norm(excess[:, None] - excess[None], axis=(2, 3)).max()
    bound = sensitivity.mean_hessian(small, 1, max_dist=reach)
    assert 0.5 * bound < moved <= bound * (1 + 1e-12)


@pytest.mark.parametrize(("curvature", "reach"), [(4.0, 1.2), (0.25, 2.0)])
def test_other_curvatures_rescale(curvature, reach):
    radius = 1 / math.sqrt(curvature)
    scaled = excess_diameter(cdp.Sphere(4, radius=radius), reach)
    assert scaled == pytest.approx(excess_diameter(cdp.Sphere(4), reach / radius))
    scaled = excess_diameter(cdp.Hyperboloid(4, curvature=-curvature), reach)
    assert scaled == pytest.approx(excess_diameter(cdp.Hyperboloid(4), reach / radius))


@pytest.mark.parametrize("spec", ["euclidean:1", "sphere:1", "hyperboloid:1", "spd:1"])
def test_curves_have_no_curvature(spec):
    assert excess_diameter(cdp.as_manifold(spec), 1.0) == 0.0


def ball(spec="spd:3", radius=1.5):
    return cdp.Ball(spec, center="identity", radius=radius)


def test_moments_of_distances():
    b, reach = ball(), 1.9
    at = np.array(reach)
    assert cdp.sensitivity.frechet_variance(b, 50, within=0.4) == pytest.approx(1.9**2 / 50)
    assert cdp.sensitivity.frechet_variance(b, 50) == pytest.approx(3.0**2 / 50)
    assert cdp.sensitivity.fourth_moment(b, 50, max_dist=reach) == pytest.approx(
        float(bounds.fourth_moment(at)) / 50
    )
    assert cdp.sensitivity.distance_moments(b, 50, max_dist=reach) == pytest.approx(1 / 50)
    assert pytest.approx(bounds.FOURTH_BESIDE_DISTANCE) == cdp.sensitivity.FOURTH_MOMENT_WEIGHT
    assert cdp.sensitivity.FOURTH_MOMENT_WEIGHT < bounds.FOURTH_BESIDE_DISTANCE


def test_second_moment():
    expected = float(bounds.adapted_moments(6, np.array(1.9))) / 50
    assert cdp.sensitivity.log_covariance(ball(), 50, max_dist=1.9) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", ["fourth_moment", "log_covariance", "mean_hessian"])
def test_contributors_and_limits(statistic):
    bound = getattr(cdp.sensitivity, statistic)
    b = ball()
    one = bound(b, 40)
    assert bound(b, 40, records_per_unit=3) == pytest.approx(3 * one)
    # a unit that holds all the records moves the statistic no farther than its range is wide
    assert bound(b, 40, records_per_unit=400) == pytest.approx(bound(b, 1))
    # distances in the ball are at most 2 r, whatever is asked for
    assert bound(b, 40, max_dist=1e9) == one
    assert bound(b, 40, max_dist=1.0) < one
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="max_dist"):
            bound(b, 40, max_dist=wrong)
    with pytest.raises(ValueError, match="n must"):
        bound(b, 0)
