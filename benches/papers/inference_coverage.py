"""Coverage of 95 % regions and intervals on other records than the simulations of Jiang et al.

    CURVEDP_DATA=/path/to/data python benches/papers/inference_coverage.py

Data sets are drawn with replacement from public ones, in a ball named from their units alone, or at
random: matrices of SPD(5) as in the paper's simulations on SPD(2). What is to be covered are mean
and variance of all records in the ball.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp

TANGENT_RADIUS = 1.5
Draw = Callable[[int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Target:
    """A law on a ball, with its mean and variance, and what is drawn from it."""

    name: str
    ball: cdp.Ball
    mean: np.ndarray
    variance: float
    draw: Draw
    sizes: tuple[int, ...]
    budgets: tuple[float, ...]


def matrices() -> Target:
    """exp at the identity of a uniform law on the tangent ball: its mean by symmetry."""
    ball = cdp.Ball(cdp.SPD(5), "identity", TANGENT_RADIUS)
    space, dim = ball.manifold, ball.manifold.dim

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        coords = rng.standard_normal((n, dim))
        lengths = TANGENT_RADIUS * rng.random((n, 1)) ** (1 / dim)
        coords *= lengths / np.linalg.norm(coords, axis=1, keepdims=True)
        return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)

    variance = TANGENT_RADIUS**2 * dim / (dim + 2)
    return Target("SPD(5)", ball, ball.center, variance, draw, (234,), (0.3, 1.0, 2.0, 5.0))


def resampled(
    name: str, ball: cdp.Ball, rows: np.ndarray, sizes: tuple[int, ...], budgets: tuple[float, ...]
) -> Target:
    """Records drawn with replacement from the rows in the ball."""
    inside = ball.project(rows)
    mean = cdp.nonprivate.frechet_mean(inside, ball.manifold).value
    variance = cdp.nonprivate.frechet_variance(inside, ball.manifold)

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        return inside[rng.integers(len(inside), size=n)]

    return Target(name, ball, mean, float(variance), draw, sizes, budgets)


def words(folder: Path) -> Target:
    """WordNet's mammals, embedded in the hyperbolic plane."""
    file = folder / "hyperbolic" / "wordnet_mammals_poincare2d.csv"
    rows = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(5, 6, 7))
    ball = cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 6.0)
    return resampled("WordNet mammals, H²", ball, rows, (100, 1000), (0.3, 1.0, 3.0))


def embeddings(folder: Path) -> Target:
    """Unit vectors of images."""
    held = np.load(folder / "retrieval_features" / "fashion_pca64_unit_5000.npz")
    rows = held["features"].astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ball = cdp.Ball(cdp.Sphere(63), np.eye(64)[0], 1.3)
    return resampled("image embeddings, S⁶³", ball, rows, (40, 80, 150, 300), (1.0, 3.0, 5.0, 10.0))


def line(target: Target, n: int, mu: float, count: int, regions: bool) -> str:
    """Shares of intervals and of regions that cover, over data sets with seeds of their own."""
    interval_hits, region_hits = 0, 0
    for i in range(count):
        rng = np.random.default_rng([11, i, n, round(1000 * mu)])
        records = target.draw(n, rng)
        seeds = map(int, rng.integers(2**62, size=2))
        budget = cdp.GDP(mu)
        interval = cdp.variance_interval(records, target.ball, budget, seed=next(seeds))
        interval_hits += interval.lower <= target.variance <= interval.upper
        if regions:
            region = cdp.confidence_region(records, target.ball, budget, seed=next(seeds))
            region_hits += bool(region.contains(target.mean))
    share = f"{region_hits / count:.3f}" if regions else ""
    return f"| {target.name} | {n} | {mu:g} | {interval_hits / count:.3f} | {share} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=600)
    parser.add_argument("--data", type=Path, default=os.environ.get("CURVEDP_DATA"))
    settings = parser.parse_args()
    cdp.set_num_threads(1)
    count = settings.replications
    print(
        f"{count} data sets each: standard error {(0.95 * 0.05 / count) ** 0.5:.4f} at .95. "
        "Matrices of SPD(5) are exp at the identity of a uniform law on the tangent ball of radius "
        f"{TANGENT_RADIUS:g}, the other records drawn with replacement from public ones. No "
        "regions on S⁶³, where one takes a fifth of a second.\n"
    )
    print("| records | n | μ | interval covers | region covers |\n|---|---|---|---|---|")
    public = () if settings.data is None else (words(settings.data), embeddings(settings.data))
    for target in (*public, matrices()):
        for n in target.sizes:
            for mu in target.budgets:
                regions = target.ball.manifold.dim < 60
                print(line(target, n, mu, count, regions), flush=True)


if __name__ == "__main__":
    main()
