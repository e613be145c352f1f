"""Level of Wald tests of one slope given the other covariate, on laws that nothing was tuned on.

    python benches/wald.py --repetitions 150

The slope of the second covariate is 0. Prints how often it is found at the level .05, among the
releases that give a p-value.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import curvedp as cdp

SPACES = {
    "euclidean:2": ([0.0, 0.0], 1.0),
    "sphere:3": ([0.0, 0.0, 0.0, 1.0], 0.8),
    "spd:2": ("identity", 1.2),
}
#: Second covariate, residuals, n, mu.
LAWS = (
    ("copy", "t3", 3000, 1.0),
    ("copy", "skewed", 8000, 1.0),
    ("rare", "growing", 3000, 2.0),
    ("rare", "skewed", 8000, 2.0),
    ("ends", "growing", 2000, 1.0),
)


def covariates(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """A skewed covariate beside a noisy copy, a dummy that depends on it, or one at both ends."""
    first = rng.beta(2, 5, n)
    if kind == "copy":
        second = 0.8 * first + 0.2 * rng.beta(2, 2, n)
    elif kind == "rare":
        second = (rng.random(n) < 0.06 + 0.1 * first).astype(float)
    else:
        second = rng.beta(0.6, 0.6, n)
    return np.stack([first, second], axis=1)


def residuals(kind: str, x: np.ndarray, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Heavy tails, skewed in one direction, or growing with the second covariate."""
    n = len(x)
    if kind == "t3":
        return 0.04 * rng.standard_t(3, (n, dim))
    if kind == "growing":
        return 0.03 * (1 + 5 * x[:, 1:]) * rng.standard_normal((n, dim))
    skewed = 0.08 * (rng.exponential(size=(n, 1)) - 1)
    return np.hstack([skewed, 0.03 * rng.standard_normal((n, dim - 1))])


def p_values(
    ball: cdp.Ball, law: tuple[str, str, int, float], repetitions: int, rng: np.random.Generator
) -> np.ndarray:
    """P-values of a slope of 0, NaN where a release gives none."""
    along, spread, n, mu = law
    space, found = ball.manifold, []
    slope = np.eye(space.dim)[0] / 2
    for _ in range(repetitions):
        x = covariates(along, n, rng)
        moves = space.coords_to_tangent((x[:, :1] - 0.3) * slope, ball.center)
        means = space.exp(moves, ball.center)
        errors = space.coords_to_tangent(residuals(spread, x, space.dim, rng), means)
        y = ball.project(space.exp(errors, means))
        made = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu), x_range=[(0, 1), (0, 1)])
        found.append(made.wald_test([1]).p_value)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=150)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20261126)
    print("| space | second covariate | residuals | n | μ | with a p-value | below .05 |")
    print("|---|---|---|---|---|---|---|")
    for spec, (center, radius) in SPACES.items():
        for law in LAWS:
            found = p_values(cdp.Ball(spec, center, radius), law, options.repetitions, rng)
            given = found[~np.isnan(found)]
            told = f"{len(given)} of {len(found)} | {np.sum(given < 0.05)}"
            print(f"| {spec} | {law[0]} | {law[1]} | {law[2]} | {law[3]:g} | {told} |", flush=True)


if __name__ == "__main__":
    main()
