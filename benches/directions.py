"""How often the confidence set of a mean direction covers, and how often uniform data are refused.

    python benches/directions.py
    python benches/directions.py plan

Laws that no constant was chosen on; 400 data sets each, 1000 uniform ones. Plan: medians of 20
half-angles over the planned ones, of von Mises-Fisher directions and of normal axes, at mu = 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable

import numpy as np

import curvedp as cdp
from curvedp.datasets import von_mises_fisher
from curvedp.directions import MeanAxis, mean_axis, mean_direction

Draw = Callable[[np.random.Generator, int], np.ndarray]
CELLS = ((40, 1.0), (200, 0.5), (200, 2.0), (1000, 1.0))


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.2, rng.normal(1.5, 0.2, n), rng.normal(0.0, 0.05, n))


def skew(rng: np.random.Generator, n: int) -> np.ndarray:
    near = unit(rng.standard_normal((n, 3)) * 0.05 + [0, 0, 1])
    far = unit(rng.standard_normal((n, 3)) * 0.2 + [1, 0, 0.3])
    return np.where(rng.random((n, 1)) < 0.2, far, near)


def turned(rng: np.random.Generator, n: int) -> np.ndarray:
    x = unit(rng.standard_normal((n, 4)) * [0.2, 0.5, 0.8, 0.1] + [0, 0, 0, 1])
    return x * np.where(rng.random((n, 1)) < 0.1, -1, 1)


#: A law's name, manifold and draws.
LAWS: tuple[tuple[str, str, Draw], ...] = (
    ("circle, von Mises, kappa = 0.5", "torus:1", lambda rng, n: rng.vonmises(0.3, 0.5, n)),
    ("circle, von Mises, kappa = 50", "torus:1", lambda rng, n: rng.vonmises(-3.1, 50.0, n)),
    ("circle, clusters of 4 to 1", "torus:1", clusters),
    ("axes, skew", "projective:1", lambda rng, n: rng.gamma(2.0, 0.3, n)),
    ("S^2, clusters of 4 to 1", "sphere:2", skew),
    ("S^3, a tenth turned over", "sphere:3", turned),
)


def poles(rng: np.random.Generator, n: int) -> np.ndarray:
    near = rng.standard_normal((n, 3)) * 0.2 + [0.6, 0.0, 0.8]
    far = rng.standard_normal((n, 3)) * 0.3 + [1.0, 0.2, 0.0]
    return rng.choice([-1, 1], (n, 1)) * np.where(rng.random((n, 1)) < 0.25, far, near)


#: Of axes in space: a law's name, its draws and its mean axis.
AXES: tuple[tuple[str, Draw, tuple[float, ...]], ...] = (
    ("axes in space, 3 to 1", poles, ()),
    ("axes in space, broad", lambda rng, n: rng.standard_normal((n, 3)) * [1, 1.3, 2], (0, 0, 1)),
    (
        "axes in space, a girdle",
        lambda rng, n: rng.standard_normal((n, 3)) * [1, 0.9, 0.2],
        (1, 0, 0),
    ),
    ("axes of R^4", lambda rng, n: rng.standard_normal((n, 4)) * [2, 1.5, 1, 0.5], (1, 0, 0, 0)),
)


def covered_axis(draw: Draw, true: tuple[float, ...], n: int, mu: float, runs: int = 400) -> float:
    if not true:
        x = unit(draw(np.random.default_rng(99), 400_000))
        true = tuple(np.linalg.eigh(x.T @ x)[1][:, -1])
    records = np.concatenate([draw(np.random.default_rng(5000 + k), n) for k in range(runs)])
    return float(np.mean([bool(mean.contains(true)) for mean in axes_of(records, n, mu)]))


def axes_of(records: np.ndarray, n: int, mu: float) -> Iterable[MeanAxis]:
    """Mean axes of data sets of n records, each with noise of its own."""
    offsets = np.arange(0, len(records) + 1, n)
    manifold = f"projective:{records.shape[1] - 1}"
    return mean_axis(records, manifold, cdp.GDP(mu), groups=offsets).values()


def refused_axes(n: int, mu: float, runs: int = 1000) -> float:
    records = np.random.default_rng(n).standard_normal((runs * n, 3))
    return float(np.mean([mean.uniformity_p_value < 0.05 for mean in axes_of(records, n, mu)]))


def true_direction(manifold: str, draw: Draw) -> float | np.ndarray:
    x = draw(np.random.default_rng(99), 400_000)
    if manifold.startswith("sphere"):
        return x.mean(axis=0)
    turns = 2 if manifold == "projective:1" else 1
    return math.atan2(np.sin(turns * x).mean(), np.cos(turns * x).mean()) / turns


def covered(manifold: str, draw: Draw, n: int, mu: float, runs: int = 400) -> float:
    true = true_direction(manifold, draw)
    records = (draw(np.random.default_rng(5000 + k), n) for k in range(runs))
    means = (mean_direction(x, manifold, cdp.GDP(mu)) for x in records)
    return float(np.mean([bool(mean.contains(true)) for mean in means]))


def refused(p: int, n: int, mu: float, runs: int = 1000) -> float:
    rng, found = np.random.default_rng(n), 0
    for _ in range(runs):
        x = rng.standard_normal((n, p))
        records, manifold = (np.arctan2(*x.T), "torus:1") if p == 2 else (x, f"sphere:{p - 1}")
        found += mean_direction(records, manifold, cdp.GDP(mu)).uniformity_p_value < 0.05
    return found / runs


def half_length(dim: int, n: int, length: float) -> float:
    """The planned half-length of the region of a mean vector of that length."""
    ball = cdp.Ball(f"euclidean:{dim}", np.zeros(dim), 1.0)
    spread = math.sqrt(1 - length**2)
    return float(cdp.plan("confidence_region", ball, cdp.GDP(1.0), n=n, spread=spread).high)


def over_planned(n: int, draws: int = 20) -> dict[str, list[float]]:
    """Median half-angles of data sets of n records over planned ones."""
    rng, offsets = np.random.default_rng(n), np.arange(0, draws * n + 1, n)
    found: dict[str, list[float]] = {"directions": [], "axes": []}
    for p, kappas in ((2, (0.95, 2.0, 6.0)), (3, (1.5, 3.5, 11.0))):
        for kappa in kappas:
            if p == 2:
                angles = rng.vonmises(0.0, kappa, draws * n)
                x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            else:
                x = von_mises_fisher(draws * n, [0.0, 0.0, 1.0], kappa, rng=rng)
            rho = float(np.linalg.norm(x.mean(axis=0)))
            means = mean_direction(x, f"sphere:{p - 1}", cdp.GDP(1.0), groups=offsets)
            median = float(np.median([mean.half_angle for mean in means]))
            found["directions"].append(median / (half_length(p, n, rho) / rho))
    for widths in ([1.0, 1.3, 2.0], [0.3, 0.4, 1.0]):
        x = unit(rng.standard_normal((draws * n, 3)) * widths)
        values = np.linalg.eigvalsh(x.T @ x / len(x))[::-1]
        length = math.sqrt((3 * float(values @ values) - 1) / 2)  # of E t
        gap = math.sqrt(3.0) * float(values[0] - values[1])  # sqrt(2 p/(p - 1)) times it
        median = float(np.median([mean.half_angle for mean in axes_of(x, n, 1.0)]))
        found["axes"].append(median / (half_length(5, n, length) / gap))
    return found


if __name__ == "__main__" and sys.argv[1:] == ["plan"]:
    for n in (200, 1000, 5000):
        for what, ratios in over_planned(n).items():
            print(f"{what}, n = {n}:", *(f"{ratio:.2f}" for ratio in ratios), flush=True)
elif __name__ == "__main__":
    print("| law |", *(f"n = {n}, mu = {mu:g} |" for n, mu in CELLS))
    print("|---" * (1 + len(CELLS)) + "|")
    for name, manifold, draw in LAWS:
        print(f"| {name} |", *(f"{covered(manifold, draw, n, mu):.3f} |" for n, mu in CELLS))
    for name, draw, true in AXES:
        print(f"| {name} |", *(f"{covered_axis(draw, true, n, mu):.3f} |" for n, mu in CELLS))
    for p in (2, 3):
        row = [f"{refused(p, n, mu):.3f} |" for n, mu in CELLS]
        print(f"| uniform on S^{p - 1}: refused |", *row)
    print(
        "| uniform axes in space: refused |", *(f"{refused_axes(n, mu):.3f} |" for n, mu in CELLS)
    )
