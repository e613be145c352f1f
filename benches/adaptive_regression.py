"""Errors of geodesic regression without a public clipping length, beside guesses of one.

    python benches/adaptive_regression.py --write docs/measured/adaptive-regression.md

Synthetic trends on S^2, SPD(2) and shapes of 8 landmarks, in ranges of the covariate that fit, are
two and four times too wide, and wide with the data near one end. With CURVEDP_DATA also skulls of
21 rats at 8 ages each, whole rats protected.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning

GRID = np.linspace(-0.5, 0.5, 11)
#: Width of the range in widths of the data, and the middle of the data in widths of the range.
RANGES = ((1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (4.0, 0.3))


@dataclass(frozen=True)
class Space:
    """A space with a trend, noise about it, and guesses of a clipping length."""

    name: str
    ball: cdp.Ball
    trend: float
    noise: float
    guesses: tuple[float, float]


def spaces() -> list[Space]:
    turn = 2 * np.pi * np.arange(8) / 8
    outline = np.column_stack([np.cos(turn), 0.5 * np.sin(turn)])
    shape = cdp.KendallPlanar(8).project(outline)
    return [
        Space("S²", cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], np.pi / 4), 1.0, 0.04, (0.1, 0.3)),
        Space("SPD(2)", cdp.Ball(cdp.SPD(2), np.eye(2), 1.0), 1.0, 0.04, (0.1, 0.3)),
        Space("shapes", cdp.Ball(cdp.KendallPlanar(8), shape, 0.4), 0.3, 0.03, (0.05, 0.15)),
    ]


def along(space: Space, start: np.ndarray, velocity: np.ndarray, t: np.ndarray) -> np.ndarray:
    tangent = t.reshape(t.shape + (1,) * velocity.ndim) * velocity
    return space.ball.manifold.exp(tangent, start)


def problem(space: Space, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates in [-1/2, 1/2], records about a trend, and the trend on `GRID`."""
    rng, manifold = np.random.default_rng([seed, n]), space.ball.manifold
    offset = rng.standard_normal(manifold.dim)
    offset *= 0.3 * space.ball.radius / np.linalg.norm(offset)
    start = manifold.exp(manifold.coords_to_tangent(offset, space.ball.center), space.ball.center)
    direction = rng.standard_normal(manifold.dim)
    direction *= space.trend / np.linalg.norm(direction)
    velocity = manifold.coords_to_tangent(direction, start)
    t = rng.uniform(-0.5, 0.5, n)
    means = along(space, start, velocity, t)
    noise = space.noise * rng.standard_normal((n, manifold.dim))
    records = manifold.exp(manifold.coords_to_tangent(noise, means), means)
    return t, records, along(space, start, velocity, GRID)


def figure(errors: list[float]) -> str:
    return f"{np.mean(errors):.4f} ({1e4 * np.std(errors) / len(errors) ** 0.5:.0f})"


def table(guarantee: cdp.privacy.Guarantee, repetitions: int) -> list[str]:
    lines = [
        f"## {guarantee}\n",
        "| space, n | range | measured scale | printed | tau guessed | tau three times that |",
        "|---|---|---|---|---|---|",
    ]
    for space in spaces():
        for n in (100, 1000):
            for wide, off in RANGES:
                lines.append(row(space, n, (wide, off), guarantee, repetitions))
                print(lines[-1], flush=True)
    return lines


def row(
    space: Space,
    n: int,
    span: tuple[float, float],
    guarantee: cdp.privacy.Guarantee,
    repetitions: int,
) -> str:
    wide, off = span
    x_range = ((-0.5 - off) * wide, (0.5 - off) * wide)
    own: list[float] = []
    printed: list[float] = []
    guessed: list[list[float]] = [[], []]
    for seed in range(repetitions):
        t, records, truth = problem(space, n, seed)

        def error(truth: np.ndarray = truth, t: np.ndarray = t, y: np.ndarray = records, **how):
            how |= {"x_range": x_range, "coverage": False}
            made = cdp.geodesic_regression(t, y, space.ball, guarantee, **how)
            return made, float(np.mean(space.ball.manifold.dist(made.predict(GRID), truth)))

        made, found = error()
        own.append(found)
        printed.append(made.prediction_error)
        for tau, errors in zip(space.guesses, guessed, strict=True):
            errors.append(error(tau=tau, sampler="whitened")[1])
    known = np.isfinite(printed)
    mean = f"{np.mean(np.array(printed)[known]):.4f}" if known.mean() > 0.5 else "–"
    name = f"{wide:g} times" + (", data near an end" if off else "")
    cells = [f"{space.name}, {n}", name, figure(own), mean, *map(figure, guessed)]
    return "| " + " | ".join(cells) + " |"


def rats(repetitions: int) -> list[str]:
    """Whole rats protected: slope and predictions against the fit without privacy."""
    held = np.load(Path(os.environ["CURVEDP_DATA"]) / "landmarks" / "calvaria_preshapes.npz")
    kept = ~held["corrupted"]
    shapes = np.stack([held["preshape"].real, held["preshape"].imag], axis=-1)
    x, who = np.log(held["age_days"].astype(float)), held["rat"]
    manifold = cdp.KendallPlanar(8)
    records = manifold.project(shapes)
    x_range = (float(np.log(7)), float(np.log(150)))
    fit = cdp.nonprivate.geodesic_regression(x[kept], records[kept], manifold, x_range=x_range)
    ball, grid = cdp.Ball(manifold, fit.footpoint, 0.15), np.linspace(*x_range, 9)
    lines = [
        "## Skulls of 21 rats at 8 ages, whole rats protected\n",
        f"Shapes of 8 landmarks by log age, four records corrupted; trend "
        f"{float(manifold.norm(fit.velocity, fit.footpoint)):.3f}, ball of radius 0.15 about the "
        "fit's footpoint (public data: in place of an atlas). Error of the velocity over the "
        "range, mean distance of predictions.\n",
        "| way | μ = 1 | μ = 2 | μ = 4 |",
        "|---|---|---|---|",
    ]
    ways = {
        "`records_per_unit=8`, tau 0.05": {"records_per_unit": 8, "tau": 0.05, "v_max": 0.5},
        "`units=`, tau 0.02": {"units": who, "tau": 0.02},
        "`units=`, tau 0.03": {"units": who, "tau": 0.03},
        "`units=`, scale measured": {"units": who},
    }
    for name, how in ways.items():
        cells = []
        for mu in (1.0, 2.0, 4.0):
            slopes, gaps = [], []
            for _ in range(repetitions):
                made = cdp.geodesic_regression(
                    x, records, ball, cdp.GDP(mu), x_range=x_range, coverage=False, **how
                )
                middle = made.geodesic.at(float(np.mean(x_range)))
                velocity = manifold.parallel_transport(
                    middle[1] * (x_range[1] - x_range[0]), middle[0], end_point=fit.footpoint
                )
                slopes.append(float(manifold.norm(velocity - fit.velocity, fit.footpoint)))
                gaps.append(np.mean(manifold.dist(made.predict(grid), fit.predict(grid))))
            cells.append(f"{np.mean(slopes):.3f}, {np.mean(gaps):.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=24)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    lines = [
        "# Measured: adaptive regression\n",
        "Mean distance of predictions from the truth over the data's range (standard error in "
        "units of the last digit), the printed error of a prediction (root mean square, noise and "
        "sampling; – where most releases print none), and the same steps with a public tau. "
        f"Trends of length 1, noise 0.04 (shapes 0.3, 0.03); {options.repetitions} repetitions. A "
        "constant has an error of about 0.25 (shapes 0.075). "
        "`python benches/adaptive_regression.py`.\n",
    ]
    for guarantee in (cdp.GDP(1.0), cdp.PureDP(1.0)):
        lines += [*table(guarantee, options.repetitions), ""]
    if "CURVEDP_DATA" in os.environ:
        lines += [*rats(options.repetitions), ""]
    if options.write:
        options.write.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
