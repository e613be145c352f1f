"""A ball on every kind of manifold, and records in it, for the tests of regions and intervals."""

from __future__ import annotations

import numpy as np

import curvedp as cdp

#: Manifold to radius of the ball.
BALLS = {
    "euclidean:1": 1.0,
    "euclidean:3": 2.0,
    "sphere:1": 1.2,
    "sphere:2": 0.7,
    "sphere:2:3.0": 1.5,
    "sphere:5": 0.7,
    "hyperboloid:1": 1.0,
    "hyperboloid:2": 1.5,
    "hyperboloid:3:-0.25": 1.5,
    "spd:1": 1.0,
    "spd:2": 1.5,
    "spd:3": 1.5,
    "spd:3:log-euclidean": 1.5,
    "spd:3:log-cholesky": 1.5,
    "kendall:3": 0.3,
    "kendall:5": 0.4,
}

GUARANTEES = [cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(1.0)]


def make_ball(spec: str) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    return cdp.Ball(manifold, manifold.random_point(rng=5), BALLS[spec])


def spread_records(ball: cdp.Ball, n: int, seed: int = 0) -> np.ndarray:
    """Records about a point off the centre, in the ball, longest in their first coordinate."""
    manifold, rng = ball.manifold, np.random.default_rng(seed)
    widths = np.linspace(0.3, 0.15, manifold.dim) / np.sqrt(manifold.dim)
    coords = np.clip(rng.standard_normal((n, manifold.dim)), -2, 2) * widths
    coords[:, 0] += 0.2
    tangent = manifold.coords_to_tangent(ball.radius * coords, ball.center)
    return ball.project(manifold.exp(tangent, ball.center))
