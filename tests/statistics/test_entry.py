"""The point that enters lies in the ball, whatever the bits of a record are.

The exact point that the stored numbers stand for (`reference.entered`) is within r(1 + 1e-9) of the
centre: the claim on which the sensitivities of means rest (docs/proofs/frechet-mean-solver.md, 6).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from manifold_list import CASES, Case
from reference.entered import Array, entered_dist, hostile_records

SLACK = 1e-9


def centers(case: Case) -> list[Array]:
    """A generic centre, and on hyperbolic space some far out."""
    rng = np.random.default_rng(5)
    near = [case.twin.random_point(rng, 0.5)]
    if not case.name.startswith("hyperboloid"):
        return near
    space = case.manifold
    direction = rng.standard_normal(space.dim)
    direction /= np.linalg.norm(direction)
    radius = float(space.origin[0])
    far = [
        np.concatenate([[radius * np.cosh(d)], radius * np.sinh(d) * direction])
        for d in (1.0, 4.0, 8.0, 11.0, 14.0, 15.0)
    ]
    return near + far


def radii(case: Case, center: Array) -> list[float]:
    """From tiny to nearly as large as a mean about the centre allows."""
    most = case.manifold.max_ball_radius
    unit = 0.9 * most if np.isfinite(most) else 1.0
    is_bounded = np.isfinite(most) or case.name.startswith("euclidean")
    large = [] if is_bounded else [3.0, 5.0, 12.0, 20.0]
    bound = case.manifold._largest_radius(center)
    return [1e-7 * unit, 1e-2 * unit, unit, *(min(r, 0.999 * bound) for r in large)]


def largest_excess(case: Case, count: int) -> float:
    """Largest (distance / r) - 1 of entered records, over centres and radii."""
    rng, worst = np.random.default_rng(17), -1.0
    places = [(center, radius) for center in centers(case) for radius in radii(case, center)]
    for center, radius in places:
        ball = cdp.Ball(case.manifold, center, radius)
        records = hostile_records(case.manifold, ball, -(-count // len(places)), rng)
        for row in ball.enter(records):
            assert np.isfinite(row).all()
            dist = entered_dist(case.name, row, precise=ball.frame.is_precise)
            worst = max(worst, float(dist / radius - 1))
    return worst


def affordable(case: Case, count: int) -> int:
    """Fewer where 50 digits take long: eigenvalues of large matrices."""
    return count // 50 if case.name in ("spd:5", "spd:11", "hpd:5") else count


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_no_record_enters_outside_the_ball(case: Case) -> None:
    assert largest_excess(case, affordable(case, 400)) <= SLACK


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_none_of_a_hundred_thousand_records_enters_outside(case: Case) -> None:
    excess = largest_excess(case, affordable(case, 100_000))
    print(f"\n{case.name}: largest excess {excess:.3g}")
    assert excess <= SLACK


@pytest.mark.parametrize(("m", "radius"), [(3, 5.0), (3, 6.0), (8, 4.5), (28, 3.5), (28, 12.0)])
def test_matrices_far_outside_go_to_the_border(m: int, radius: float) -> None:
    """Covariances in other units than the centre's, whose logarithms have no bound."""
    ball = cdp.Ball(cdp.SPD(m), "identity", radius)
    rng = np.random.default_rng(m)
    axes = np.linalg.qr(rng.standard_normal((30, m, m)))[0]
    logs = rng.standard_normal((30, m)) + rng.choice([-1, 1], (30, 1)) * 400.0 / np.sqrt(m)
    logs[::2] *= 0.25
    records = (axes * np.exp(np.clip(logs, -300.0, 300.0))[:, None, :]) @ axes.transpose(0, 2, 1)
    rows = ball.enter(0.5 * (records + records.transpose(0, 2, 1)))
    dist, origin = np.empty(30), np.tile(ball.frame.origin, (30, 1))
    ball.frame.manifold.dist(origin, rows, dist)
    np.testing.assert_allclose(dist, radius, rtol=1e-6)


HYPERBOLIC = [(1, -1.0), (2, -1.0), (5, -1.0), (3, -4.0), (2, -1e-4)]


def far_record(space: Any, angle: float) -> Array:
    record = np.zeros(space.dim + 1)
    record[:2] = float(space.origin[0]) * np.array([np.cosh(angle), np.sinh(angle)])
    return record


def ordinary(space: Any, n: int, spread: float, center: Array, seed: int = 1) -> Array:
    """Records around a centre."""
    coords = spread * np.random.default_rng(seed).standard_normal((n, space.dim))
    return np.asarray(space.exp(space.coords_to_tangent(coords, center), center))


@pytest.mark.parametrize(("dim", "curvature"), HYPERBOLIC)
@pytest.mark.parametrize("guarantee", [cdp.GDP(0.1), cdp.PureDP(1.0)], ids=str)
@pytest.mark.parametrize("angle", [37.0, 40.0, 300.0])
def test_one_far_record_leaves_the_noise_where_it_is(
    dim: int, curvature: float, guarantee: Any, angle: float
) -> None:
    space = cdp.Hyperboloid(dim, curvature=curvature)
    unit = float(space.origin[0])
    ball = cdp.Ball(space, space.origin, unit)
    records = ordinary(space, 1000, 0.2 * unit, space.origin)
    records[0] = far_record(space, angle)
    try:
        releases = [cdp.frechet_mean(records, ball, guarantee).value for _ in range(10)]
    except cdp.ExistenceError:
        pytest.skip("no Laplace noise at this budget")
    # one as near to the centre by chance: below 1e-4, three of ten below 1e-9
    assert sum(np.linalg.norm(value[1:]) > 1e-6 * unit for value in releases) >= 8


@pytest.mark.parametrize("angle", [36.5, 37.0, 38.0, 39.0, 45.0, 59.0, 100.0, 350.0])
def test_far_points_are_in_no_ball_of_hyperbolic_space(angle: float) -> None:
    space = cdp.Hyperboloid(2)
    ball = cdp.Ball(space, space.origin, 1.0)
    turns = np.random.default_rng(2).uniform(0, 2 * np.pi, 200)
    space_part = np.sinh(angle) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    records = np.column_stack([np.hypot(1.0, np.linalg.norm(space_part, axis=1)), space_part])
    assert not ball.contains(records).any()
    moved = ball.project(records)
    np.testing.assert_allclose(space.dist(space.origin, moved), 1.0, rtol=1e-9)
    directions = moved[:, 1:] / np.linalg.norm(moved[:, 1:], axis=1, keepdims=True)
    np.testing.assert_allclose(directions, space_part / np.sinh(angle), atol=1e-12)


def test_points_one_ulp_inside_the_poincare_disc_are_far_away() -> None:
    space = cdp.Hyperboloid(2)
    ball = cdp.Ball(space, space.origin, 1.0)
    turns = np.random.default_rng(3).uniform(0, 2 * np.pi, 2000)
    disc = np.nextafter(1.0, 0.0) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    square = np.sum(disc**2, axis=1)
    disc, square = disc[square < 1], square[square < 1]
    records = np.column_stack([1 + square, 2 * disc]) / (1 - square)[:, None]
    assert len(records) > 500
    assert not ball.contains(records).any()


@pytest.mark.parametrize("distance", [1.0, 4.0, 8.0, 12.0, 14.0, 15.0])
def test_ordinary_records_keep_their_shape_about_far_centres(distance: float) -> None:
    space = cdp.Hyperboloid(2)
    center = np.array([np.cosh(distance), np.sinh(distance), 0.0])
    ball = cdp.Ball(space, center, 1.0)
    records = ball.leave(ordinary(space, 4000, 0.1, space.origin))
    rows = ball.enter(records)
    dist = np.arcsinh(np.linalg.norm(rows[:, 1:], axis=1))
    assert dist.max() < 0.6
    assert abs(np.sqrt(np.mean(dist**2)) / (0.1 * np.sqrt(2)) - 1) < 0.05


@pytest.mark.parametrize("distance", [16.0, 18.0, 19.0, 22.0, 25.0, 300.0])
def test_centres_beyond_double_precision_are_refused_with_one_that_works(distance: float) -> None:
    space = cdp.Hyperboloid(2)
    center = np.array([np.cosh(distance), np.sinh(distance), 0.0])
    with pytest.raises(ValueError, match="centres up to 15 are served, such as"):
        cdp.Ball(space, center, 1.0)


def test_a_base_point_far_outside_is_moved_to_the_ball() -> None:
    space = cdp.Hyperboloid(2)
    ball = cdp.Ball(space, space.origin, 1.0)
    records = ordinary(space, 2000, 0.2, space.origin)
    release = cdp.fourth_moment(records, ball, cdp.GDP(5.0), mean=[1e17, 1e17, 0.0])
    assert 0.5 < float(release.value) < 2.0  # about the distance 1 from the border, to the fourth


def test_statistics_of_every_kind_bear_one_far_record() -> None:
    space = cdp.Hyperboloid(2)
    ball = cdp.Ball(space, space.origin, 1.0)
    records = ordinary(space, 600, 0.2, space.origin)
    records[0] = [np.cosh(40.0), np.sinh(40.0), 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kng = cdp.kng_mean(records, ball, cdp.GDP(1.0)).value
        conformal = cdp.conformal_mean(records, ball, cdp.PureDP(1.0)).value
        adaptive = cdp.adaptive_mean(records, ball, cdp.GDP(1.0)).value
        region = cdp.confidence_region(records, ball, cdp.GDP(1.0)).estimate
        means = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=[0, 300, 600]).value
    for value in (kng, conformal, adaptive, region, *means):
        point = np.asarray(value).reshape(-1)
        assert np.linalg.norm(point[1:]) > 1e-8
        assert space.dist(space.origin, point) < 0.5
