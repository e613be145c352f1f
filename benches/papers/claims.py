"""The papers' claims on sensitivity, solvers and noise, measured: docs/measured/claims.md.

    python benches/papers/claims.py          # about a minute; needs geomstats and pyriemann

Everything here runs on made-up data. Coverage, regression and PrivateMail have scripts of their own
in this folder.
"""

from __future__ import annotations

import math
import os
import warnings

import numpy as np
from scipy.spatial import cKDTree

import curvedp as cdp
from curvedp import sensitivity
from curvedp.datasets import uniform_ball, von_mises_fisher

SPHERE = cdp.Sphere(2)
POLE = np.array([0.0, 0.0, 1.0])


def point(angle: float, length: float) -> np.ndarray:
    """The point of S^2 at a distance from the pole."""
    flat = np.array([math.cos(angle), math.sin(angle), 0.0])
    return math.cos(length) * POLE + math.sin(length) * flat


def shift(radius: float, n: int = 10_001) -> float:
    """Change of the mean by one record in the extremal data set, in units of 2 r/n.

    All others at the two ends of a geodesic through the centre, the record moved across it.
    """
    half = (n - 1) // 2
    ends = np.array([point(0.0, radius), point(math.pi, radius)])
    means = []
    for moved in (point(0.5 * math.pi, radius), point(-0.5 * math.pi, radius)):
        weights = np.array([half, half, 1.0])
        records = np.vstack([ends, moved])
        means.append(cdp.nonprivate.frechet_mean(records, SPHERE, weights).value)
    return float(SPHERE.dist(*means)) * n / (2 * radius)


def sensitivities() -> list[str]:
    lines = [
        "| r | measured | tan(r)/r | published |",
        "|---|---|---|---|",
    ]
    for radius in (math.pi / 8, 0.6, 0.75, 1.0, 1.3):
        ball = cdp.Ball(SPHERE, POLE, radius)
        proved = sensitivity.frechet_mean(ball, 10_001) * 10_001 / (2 * radius)
        try:
            published = cdp.published.sensitivity.frechet_mean(ball, 10_001)
            text = f"{published * 10_001 / (2 * radius):.3g}"
        except ValueError:
            text = "none"
        lines.append(f"| {radius:.3f} | {shift(radius):.4f} | {proved:.4f} | {text} |")
    return lines


def solver() -> list[str]:
    """Neighbouring data sets whose computed means are further apart than the sensitivity."""
    os.environ.setdefault("GEOMSTATS_BACKEND", "numpy")
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.learning.frechet_mean import FrechetMean, GradientDescent

    rng = np.random.default_rng(0)
    ball = cdp.Ball(SPHERE, POLE, 0.6)
    n, trials = 1000, 200
    bound = sensitivity.frechet_mean(ball, n)
    space = Hypersphere(2)
    defaults = FrechetMean(space)
    tight = FrechetMean(space)
    tight.optimizer = GradientDescent(max_iter=500, epsilon=1e-12)
    beyond = {"geomstats, default": 0, "geomstats, epsilon=1e-12": 0, "curvedp": 0}
    for _ in range(trials):
        records = uniform_ball(n, ball, rng=rng)
        neighbour = records.copy()
        neighbour[0] = -records[0] + 2 * (records[0] @ POLE) * POLE
        pairs = {
            "geomstats, default": [defaults.fit(x).estimate_ for x in (records, neighbour)],
            "geomstats, epsilon=1e-12": [tight.fit(x).estimate_ for x in (records, neighbour)],
            "curvedp": [cdp.nonprivate.frechet_mean(x, SPHERE).value for x in (records, neighbour)],
        }
        for name, pair in pairs.items():
            beyond[name] += float(SPHERE.dist(*pair)) > bound
    lines = [f"| solver | beyond the bound, of {trials} |", "|---|---|"]
    return lines + [f"| {name} | {count} |" for name, count in beyond.items()]


def errors() -> list[str]:
    """Mean error of the private mean on S^2, n = 500, r = 0.7, over 400 data sets."""
    lines = ["| ε | proved | published factor |", "|---|---|---|"]
    ball = cdp.Ball(SPHERE, POLE, 0.7)
    rng = np.random.default_rng(1)
    for epsilon in (0.1, 0.3, 1.0):
        error = {cdp.frechet_mean: [], cdp.published.frechet_mean: []}
        for _ in range(400):
            records = von_mises_fisher(500, POLE, 100.0, rng=rng)
            exact = cdp.nonprivate.frechet_mean(ball.project(records), SPHERE).value
            for private_mean, found in error.items():
                release = private_mean(records, ball, cdp.PureDP(epsilon))
                found.append(float(SPHERE.dist(release.value, exact)))
        proved, published = (np.mean(found) for found in error.values())
        lines.append(f"| {epsilon} | {proved:.4f} | {published:.4f} |")
    return lines


def one_way_edges() -> list[str]:
    """Share of the directed edges of a k-nearest-neighbour graph that have no edge back."""
    lines = ["| k | edges without an edge back |", "|---|---|"]
    records = von_mises_fisher(500, POLE, 10.0, rng=np.random.default_rng(2))
    for k in (5, 10, 20):
        _, neighbours = cKDTree(records).query(records, k + 1)
        edges = {(i, int(j)) for i, row in enumerate(neighbours) for j in row[1:]}
        alone = sum((j, i) not in edges for i, j in edges)
        lines.append(f"| {k} | {alone / len(edges):.2f} |")
    return lines


def main() -> None:
    warnings.simplefilter("ignore")
    for title, table in (
        ("Sensitivity of the mean on S², in units of 2r/n", sensitivities),
        ("Solvers and the sensitivity bound (S², r = 0.6, n = 1000)", solver),
        ("Error of the mean on S² (n = 500, r = 0.7)", errors),
        ("k-nearest-neighbour graphs of 500 records on S²", one_way_edges),
    ):
        print(f"\n{title}\n", *table(), sep="\n")


if __name__ == "__main__":
    main()
