"""Variances on a ball that a mean without a ball found, and on larger ones about the same centre.

What lies beyond a ball counts as its edge, so the ball with .95 of the records cuts the variance.
Four kinds of records, of 400 each at mu = 1: normal tensors, tensors of which a tenth have more
than three times the spread, tensors with t laws of 5 degrees of freedom, and directions of normal
tangent vectors. The truth is the kind's own variance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import curvedp as cdp
from curvedp._validation import FloatArray

COUNT, GUARANTEE = 400, cdp.GDP(1.0)
FACTORS = (1.0, 1.25, 1.5, 2.0, 3.0)
SPD, SPHERE = cdp.SPD(3), cdp.Sphere(2)


def about_origin(space: cdp.manifolds.Manifold, lengths: FloatArray, rng: np.random.Generator):
    """Records whose tangent vectors at the origin have normal coordinates times `lengths`."""
    coords = rng.standard_normal((len(lengths), space.dim)) * lengths[:, None]
    return space.exp(space.coords_to_tangent(coords, space.origin), space.origin)


def t_lengths(rng: np.random.Generator) -> FloatArray:
    return 0.1 * np.sqrt(5 / rng.chisquare(5, COUNT))


#: Space, factors of normal coordinates, and the variance.
KINDS: dict[str, tuple[cdp.manifolds.Manifold, Callable[..., FloatArray], float]] = {
    "normal tensors": (SPD, lambda rng: np.full(COUNT, 0.15), 6 * 0.15**2),
    "mixed spreads": (
        SPD,
        lambda rng: np.where(np.arange(COUNT) % 10 == 0, 0.4, 0.12),
        6 * (0.9 * 0.12**2 + 0.1 * 0.4**2),
    ),
    "t of 5 degrees": (SPD, t_lengths, 6 * 0.1**2 * 5 / 3),
    "directions": (SPHERE, lambda rng: np.full(COUNT, 0.25), 2 * 0.25**2),
}


def main() -> None:
    """Prints a table: coverage of 95 % intervals, mean variance and width over the variance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print("| records | radius | 95 % intervals cover | variance / true | width / true |")
    print("|---|---|---|---|---|")
    for name, (space, lengths, true) in KINDS.items():
        found: dict[float, list[tuple[float, float, float]]] = {own: [] for own in FACTORS}
        for _ in range(repeats):
            records = about_origin(space, lengths(rng), rng)
            ball = cdp.frechet_mean(records, space, GUARANTEE).ball
            for factor in FACTORS if ball is not None else ():
                radius = min(factor * ball.radius, 0.9 * space.max_ball_radius)
                larger = cdp.Ball(space, ball.center, radius)
                own = cdp.variance_interval(records, larger, GUARANTEE)
                told = cdp.frechet_variance(records, larger, GUARANTEE).value
                covered = own.lower <= true <= own.upper
                found[factor].append((covered, told / true, (own.upper - own.lower) / true))
        for factor, own in found.items():
            cover, share, width = np.mean(own, axis=0)
            print(f"| {name} | {factor:g} | {cover:.3f} | {share:.3f} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
