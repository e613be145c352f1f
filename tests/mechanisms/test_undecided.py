"""Draws that must not end with an internal error: each call is one that was accepted beforehand.

All draws are seeded.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core


def errors(
    spec: str, radius: float, guarantee: cdp.Guarantee, *, n: int, place: float = 0.0
) -> list[int]:
    """Which of 40 means of n records at one point end with an internal error."""
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, np.asarray(space.origin), radius)
    coords = np.zeros(space.dim)
    coords[0] = place * radius
    point = np.asarray(space.exp(space.coords_to_tangent(coords, ball.center), ball.center))
    failed = []
    for key in range(40):
        try:
            cdp.frechet_mean(
                np.repeat(point[None], n, axis=0),
                ball,
                guarantee,
                secret=cdp.NoiseSecret(bytes([key]) * 32),
            )
        except cdp.ExistenceError:
            return []
        except RuntimeError:
            failed.append(key)
    return failed


@pytest.mark.parametrize("scale", [0.02, 0.235])
def test_tails_of_distances_on_circles_are_decided(scale: float) -> None:
    """Behind the table's end a place may be proposed beyond the circle: there the density is 0.

    The smaller scale is a control: its table's last cells are far from 4, and places beyond have a
    probability below 2^-100.
    """
    circle = cdp.Sphere(1)
    ball = cdp.Ball(circle, np.asarray(circle.origin), 1.0)
    noise = _core.Noise(*circle.noise_space, "laplace", scale)
    stream = _core.Stream.from_key(bytes(range(32)), 0)
    mean = np.ascontiguousarray(ball.enter(np.asarray(circle.origin)[None])[0])
    points = np.empty((2_000_000, circle.point_size))
    noise.release(ball.frame, mean, stream, (2.0**-30, math.inf), points)
    assert np.isfinite(points).all()


@pytest.mark.parametrize("place", [0.0, 0.999])
@pytest.mark.parametrize("dim", [2, 3])
def test_hyperbolic_draws_near_the_origin_are_decided(dim: int, place: float) -> None:
    """Noise of scale 1e-37: the call may not fail at the centre and succeed at the rim."""
    guarantee = cdp.PureDP(epsilon=2e-29 / 100 / 1e-37)
    assert errors(f"hyperboloid:{dim}", 1e-29, guarantee, n=100, place=place) == []


@pytest.mark.parametrize("radius", [1e-10, 1e-9])
@pytest.mark.parametrize("spec", ["sphere:2", "projective:2", "rotations:3", "kendall:4", "so:4"])
def test_steps_that_a_number_of_size_1_has_too_many_of_are_refused(
    spec: str, radius: float
) -> None:
    """Multiples beyond 2^63 have no answer; the larger ball is a control."""
    assert errors(spec, radius, cdp.PureDP(epsilon=1.0), n=1000) == []


@pytest.mark.parametrize("epsilon", [1e4, 1e6])
@pytest.mark.parametrize("spec", ["spd:2", "hpd:2"])
def test_printed_errors_hold_where_noise_is_finer_than_the_solver(
    spec: str, epsilon: float
) -> None:
    """Two clusters, whose mean lies on a geodesic; the smaller budget is a control."""
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, np.asarray(space.origin), 3.0)
    far, near = np.zeros((2, space.dim))
    far[:2] = 2.97 * math.cos(2.5), 2.97 * math.sin(2.5)
    near[0] = 2.97
    p, q = (
        np.asarray(space.exp(space.coords_to_tangent(x, ball.center), ball.center))
        for x in (near, far)
    )
    mean = np.asarray(space.exp(np.asarray(space.log(q, p)) / 20, p))
    records = np.concatenate([np.repeat(p[None], 57, axis=0), np.repeat(q[None], 3, axis=0)])
    found, told = [], 0.0
    for key in range(20):
        try:
            release = cdp.frechet_mean(
                records,
                ball,
                cdp.PureDP(epsilon=epsilon),
                secret=cdp.NoiseSecret(bytes([key]) * 32),
            )
        except cdp.ExistenceError:
            return
        found.append(float(space.dist(release.value, mean)))
        told = release.expected_error
    assert np.mean(found) <= 3 * told
