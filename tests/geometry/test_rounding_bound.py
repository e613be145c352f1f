"""The computed gradient is as accurate as section 7 of docs/proofs/frechet-mean-solver.md says."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

import curvedp as cdp
from manifold_list import BY_NAME, CASES, Case
from reference.entered import wide_point
from reference.precise import DIGITS, Numbers, PreciseProjective, lift

BALLS = [
    ("euclidean:3", 2.0),
    ("sphere:2", 1e-9),
    ("sphere:2", 1e-5),
    ("sphere:9", 1e-3),
    ("hyperboloid:2", 1e-9),
    ("hyperboloid:10", 1e-4),
    ("kendall:4", 1e-8),
    ("kendall:10", 1e-3),
    ("sphere:1", 1.5),
    ("sphere:2", 0.5),
    ("sphere:2", 1.55),
    ("sphere:9", 1.5),
    ("hyperboloid:2", 1.0),
    ("hyperboloid:2", 3.0),
    ("hyperboloid:2", 4.0),
    ("hyperboloid:2", 12.0),
    ("hyperboloid:10", 20.0),
    ("hyperboloid:10", 2.0),
    ("kendall:4", 0.78),
    ("kendall:10", 0.5),
    ("spd:2", 4.0),
    ("spd:3", 1.5),
    ("spd:3", 4.0),
    ("spd:2", 12.0),
    ("spd:3", 20.0),
    ("spd:5", 9.0),
    ("hpd:2", 4.0),
    ("hpd:2", 12.0),
    ("hpd:2", 20.0),
    ("hpd:3", 1.5),
    ("hpd:3", 9.0),
    *((case.name, radius) for case in CASES for radius in case.rounded),
]


def origin(case: Case) -> np.ndarray:
    """A centre at which the frame of a ball is the manifold itself, but for shapes."""
    if case.name.startswith(("hyperboloid", "hpd")) or case.rounded:
        return case.manifold.origin
    if case.name.startswith("spd"):
        return np.eye(case.manifold.m)
    if case.name.startswith("sphere"):
        return float(case.manifold.radius) * np.eye(case.manifold.dim + 1)[0]
    return case.twin.random_point(np.random.default_rng(3), 0.0)


def exact_norm(case: Case, points: np.ndarray, base: np.ndarray, *, is_precise: bool) -> float:
    """Length of the mean logarithm at the exact points that rows of the frame stand for."""
    twin, shape = case.precise, case.manifold.point_shape
    if is_precise:
        with mp.workdps(DIGITS):
            exact = wide_point(case.manifold, base)
            logs = [twin.log(wide_point(case.manifold, point), exact) for point in points]
            return twin.norm(sum(logs[1:], logs[0]) / len(logs), exact)
    if case.name.startswith("kendall"):
        twin, shape = PreciseProjective(), (-1, 2)
    with mp.workdps(DIGITS):
        if case.rounded:
            lifted, *others = (of_chart(case, row) for row in [base, *points])
        else:
            lifted, *others = (lift(row.reshape(shape)) for row in [base, *points])
        logs = [twin.log(point, lifted) for point in others]
        return twin.norm(sum(logs[1:], logs[0]) / len(logs), lifted)


def of_chart(case: Case, row: np.ndarray) -> Numbers:
    """The point whose logarithm at the origin has these coordinates."""
    origin = lift(case.manifold.origin)
    return case.precise.exp(case.precise.of_coords(lift(row), origin), origin)


def counted(ball: cdp.Ball, n: int) -> float:
    """The bound E on the error of the gradient, from the smallest tolerance that is planned."""
    tolerance = ball.frame.plan(n, 0.0).tolerance
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


def worst_share(name: str, radius: float, seen: Callable[[np.ndarray], np.ndarray]) -> float:
    """Largest error of gradients, in units of its bound, if the rows of records are seen so."""
    case, n = BY_NAME[name], 4
    ball = cdp.Ball(case.manifold, origin(case), radius)
    worst = 0.0
    rng = np.random.default_rng(11)
    for _ in range(8):
        records, base = points_of(ball, n, rng), points_of(ball, 2, rng)[0]
        rows, inner = ball.enter(records), ball.enter(base[None])[0]
        sums = np.empty((1, case.manifold.dim + 2))
        ball.frame.piece_sums(seen(rows), inner, sums)
        computed = np.linalg.norm(sums[0, : case.manifold.dim]) / n
        exact = exact_norm(case, rows, inner, is_precise=ball.frame.is_precise)
        worst = max(worst, abs(float(mp.mpf(computed) - exact)))
    return worst / counted(ball, n)


@pytest.mark.parametrize(("name", "radius"), BALLS)
def test_the_rounding_error_of_the_gradient_stays_below_its_bound(name: str, radius: float) -> None:
    share = worst_share(name, radius, lambda rows: rows)
    print(f"{name}, radius {radius}: {share:.4f} of the bound")
    assert share <= 0.1


@pytest.mark.parametrize("name", ["sphere:2", "kendall:4", "grassmann:4:2", "so:4"])
def test_rows_of_less_precision_would_exceed_it(name: str) -> None:
    """Negative control: records that lose the last 29 bits on their way."""
    assert worst_share(name, 0.5, lambda rows: rows.astype(np.float32).astype(float)) > 1.0
