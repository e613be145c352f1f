"""Errors of the geometric median with and without hostile records, beside the other means.

python benches/geometric_median.py
CURVEDP_DATA=/path/to/data python benches/geometric_median.py real
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.statistics.geometric_median import MedianDesign
from real_data import Data

Array = np.ndarray[Any, np.dtype[np.float64]]
SPACES = {
    "S²": (cdp.Sphere(2), 0.7),
    "S⁹": (cdp.Sphere(9), 0.7),
    "SPD(3)": (cdp.SPD(3), 1.5),
    "SPD(8)": (cdp.SPD(8), 2.0),
}

REAL = (
    *("wind", "comets", "quakes", "quakes, California", "airports, S²"),
    *("DTI small_64D", "rats", "leaves", "fashion, SPD(5)", "digits, S⁶³"),
)


def moved(space: cdp.Manifold, point: Array, coords: Array) -> Array:
    """exp_point of tangent vectors with these coordinates."""
    return space.exp(space.coords_to_tangent(coords, point), point)


def cloud(ball: cdp.Ball, n: int, hostile: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records of a Gaussian cloud, a share of them replaced by a far point, and its centre."""
    space, r = ball.manifold, ball.radius
    middle = moved(space, ball.center, 0.3 * r * np.eye(space.dim)[0])
    coords = 0.1 * r / math.sqrt(space.dim) * rng.standard_normal((n, space.dim))
    records = moved(space, middle, coords)
    records[: int(hostile * n)] = moved(space, ball.center, -0.95 * r * np.eye(space.dim)[-1])
    return ball.project(records), middle


def exact_median(space: cdp.Manifold, records: Array) -> Array:
    """The geometric median by Weiszfeld's algorithm."""
    point = cdp.nonprivate.frechet_mean(records, space).value
    for _ in range(500):
        base = np.broadcast_to(point, records.shape)
        logs = space.tangent_to_coords(space.log(records, base), base)
        inverse = 1 / np.maximum(np.linalg.norm(logs, axis=1), 1e-12)
        step = inverse @ logs / inverse.sum()
        point = moved(space, point, step)
        if np.linalg.norm(step) < 1e-12:
            break
    return point


def main(repetitions: int = 40) -> None:
    """Prints the table of docs/proofs/geometric-median.md."""
    print("| space | guarantee | n | hostile | median | adaptive | mean | exact median |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for name, (space, radius) in SPACES.items():
        origin = np.eye(space.point_shape[0]) if space.point_shape[1:] else np.eye(space.dim + 1)[0]
        ball = cdp.Ball(space, origin, radius)
        for guarantee in (cdp.GDP(1.0), cdp.PureDP(1.0)):
            for n in (200, 1000, 5000):
                for hostile in (0.0, 0.1):
                    errors = []
                    for _ in range(repetitions):
                        records, middle = cloud(ball, n, hostile, rng)
                        points = [
                            call(records, ball, guarantee).value
                            for call in (cdp.geometric_median, cdp.adaptive_mean, cdp.frechet_mean)
                        ]
                        points.append(exact_median(space, records))
                        errors.append([float(space.dist(point, middle)) for point in points])
                    row = " | ".join(f"{x:.4f}" for x in np.mean(errors, axis=0))
                    kind = "μ = 1" if isinstance(guarantee, cdp.GDP) else "ε = 1"
                    print(f"| {name} | {kind} | {n} | {hostile:.0%} | {row} |", flush=True)


def last_noise(found: cdp.Release, ball: cdp.Ball, budget: cdp.GDP) -> float:
    """Root mean square distance by which the noise of the last steps moves a release."""
    lengths = MedianDesign(ball, found.n, 1, budget).schedule.lengths(ball.manifold.dim)
    return found.scale * math.sqrt(ball.manifold.dim * lengths[0] * lengths[-1])


def over_noise(data: Data, n: int, budget: cdp.GDP, rng: np.random.Generator, count: int) -> float:
    """Mean distance of releases from the exact median of their records over that of the noise."""
    rows, ball = data.load()
    errors, noise = [], []
    for _ in range(count):
        drawn = ball.project(rows[rng.integers(len(rows), size=n)])
        found = cdp.geometric_median(drawn, ball, budget, coverage=False)
        errors.append(ball.manifold.dist(found.value, exact_median(ball.manifold, drawn)))
        noise.append(last_noise(found, ball, budget))
    return float(np.mean(errors) / np.mean(noise))


def real(repetitions: int = 10) -> None:
    """Prints how far releases on real data are from the median, over the noise of last steps."""
    from adaptive_sets import OTHERS, TUNED

    cells = [(n, cdp.GDP(mu)) for n in (100, 1000) for mu in (0.3, 1.0, 3.0)]
    heads = ["records", "d", *(f"n = {n}, μ = {budget.mu:g}" for n, budget in cells)]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    rng = np.random.default_rng(0)
    for data in (*TUNED, *OTHERS):
        if data.name in REAL:
            found = [f"{over_noise(data, *cell, rng, repetitions):.1f}" for cell in cells]
            dim = data.load()[1].manifold.dim
            print(f"| {data.name} | {dim} | " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    real() if sys.argv[1:] == ["real"] else main()
