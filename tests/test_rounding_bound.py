"""The computed gradient is as accurate as section 6 of docs/proofs/frechet-mean-solver.md says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from manifold_list import BY_NAME, Case
from reference.precise import lift

BALLS = [
    ("euclidean:3", 2.0),
    ("sphere:1", 1.5),
    ("sphere:2", 0.5),
    ("sphere:2", 1.55),
    ("sphere:9", 1.5),
    ("hyperboloid:2", 1.0),
    ("hyperboloid:2", 4.0),
    ("hyperboloid:10", 2.0),
    ("kendall:4", 0.78),
    ("kendall:10", 0.5),
    ("spd:2", 4.0),
    ("spd:3", 1.5),
    ("spd:3", 4.0),
]


def origin(case: Case) -> np.ndarray:
    """The point at which the frame of a ball is centred."""
    if case.name.startswith("hyperboloid"):
        return case.manifold.origin
    if case.name.startswith("spd"):
        return np.eye(case.manifold.m)
    return case.twin.random_point(np.random.default_rng(3), 0.0)


def counted(ball: cdp.Ball, n: int) -> float:
    """The bound E on the error of the gradient, from the smallest tolerance that is planned."""
    tolerance = ball._frame.plan(n, 0.0).tolerance
    upper = ball.manifold.curvature_bounds[1]
    if upper <= 0:
        return tolerance / 10
    s = math.sqrt(upper)
    return math.cos(s * ball.radius) * math.sin(s * tolerance) / (10 * s)


def points_of(ball: cdp.Ball, n: int, rng: np.random.Generator) -> np.ndarray:
    """Points on the boundary, nearly in balance, or anywhere in the ball."""
    manifold = ball.manifold
    coords = rng.standard_normal((n, manifold.dim))
    coords *= ball.radius / np.linalg.norm(coords, axis=1, keepdims=True)
    coords[1::2] = -coords[::2][: n // 2]
    if rng.random() < 0.5:
        coords *= rng.random((n, 1))
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


@pytest.mark.parametrize(("name", "radius"), BALLS)
def test_the_rounding_error_of_the_gradient_stays_below_its_bound(name: str, radius: float) -> None:
    case, n = BY_NAME[name], 4
    ball = cdp.Ball(case.manifold, origin(case), radius)
    bound, worst = counted(ball, n), 0.0
    rng = np.random.default_rng(11)
    for _ in range(8):
        records, base = points_of(ball, n, rng), points_of(ball, 2, rng)[0]
        rows = records.reshape(n, -1)
        computed = case.manifold._core.mean(rows, None, base.reshape(-1), 1e300, 1)[1]
        logs = [case.precise.log(lift(record), lift(base)) for record in records]
        exact = case.precise.norm(sum(logs[1:], logs[0]) / n, lift(base))
        worst = max(worst, abs(float(computed - exact)))
    print(f"{name}, radius {radius}: {worst / bound:.4f} of the bound")
    assert worst <= 0.1 * bound
