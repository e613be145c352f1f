"""Under "add-remove": a mean without a ball beside the best that padding could make of one with it.

    python benches/no_ball_padding.py

Padding counts the records with noise, adds copies of the ball's centre and drops none. On positive
curvature its noise may be that for the shift L ln(1 + 1/m), L = max over b <= r of
(b + r) tan(s)/s, cos s = cos r/cos b, in the place of 2 tan(r)/m; elsewhere for 2r/(m + 1) in the
place of 2r/m. So its error is at least that part of the measured one of count-resize, the count
being the same. Normal records whose root mean square distance is 2/7 of the right radius, about the
right centre.
"""

from __future__ import annotations

import argparse
import math
import warnings

import numpy as np

import curvedp as cdp

SPACES = ("sphere:2", "sphere:9", "rotations:3", "hyperboloid:2", "spd:3")
RADII, SIZES = (0.4, 0.7, 1.2), (300, 1000)


def sharp(radius: float) -> float:
    """L over 2 tan r, in units in which the curvature is at most 1."""
    b = np.linspace(0.0, radius, 20_001)[:-1]
    s = np.arccos(np.cos(radius) / np.cos(b))
    return float(((b + radius) * np.tan(s) / s).max() / (2.0 * math.tan(radius)))


def line(spec: str, radius: float, n: int, count: int) -> str:
    space, rng = cdp.as_manifold(spec), np.random.default_rng(5)
    coords = rng.standard_normal((n, space.dim)) * radius / 3.5 / np.sqrt(space.dim)
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    every = np.concatenate([records] * count)
    how = {"groups": np.repeat(np.arange(count), n), "keys": list(range(count))}
    guarantee = cdp.GDP(1.0, neighbours="add-remove")

    def error(domain: cdp.Ball | cdp.Manifold, **more: object) -> float:
        values = np.array([own.value for own in cdp.frechet_mean(every, domain, guarantee, **more)])
        return float(np.median(space.dist(values, exact)))

    ball = cdp.Ball(space, space.origin, radius)
    upper = max(space.curvature_bounds[1], 0.0)
    part = sharp(radius * math.sqrt(upper)) if upper else n / (n + 1.0)
    resized = error(ball, n_guess=n, coverage=False, **how)
    without = error(space, **how)
    return (
        f"| {spec} | {radius} | {n} | {resized:.3g} | {part * resized:.3g} | {without:.3g} "
        f"| {without / (part * resized):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="releases a cell")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    print("| space | r | n | count-resize | padding, at least | without a ball | over padding |")
    print("|---|---|---|---|---|---|---|")
    for spec in SPACES:
        for radius in RADII:
            for n in SIZES:
                print(line(spec, radius, n, arguments.count), flush=True)


if __name__ == "__main__":
    main()
