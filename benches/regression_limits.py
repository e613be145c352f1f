"""Errors, printed errors and bands of regression: the table of docs/geodesic-regression.md.

    python benches/regression_limits.py --jobs 2

Laws are those of `regression_grid.py`. Distances are root mean square: at x = 1, or over x where
that is said, from a population's least-squares geodesic, or of long geodesics from the fit of the
records.
"""

from __future__ import annotations

import argparse
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.privacy import Guarantee
from regression_grid import ONE, Space, drawn, fitted

ALL = np.linspace(0.0, 1.0, 11)
#: Data sets of a row; with more records than the second number, fewer.
TIMES, MANY, FEW_TIMES = 400, 20_000, 40
SPHERE = Space("S²", cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.8), 0.8)
MATRICES = Space("SPD(3)", cdp.Ball("spd:3", "identity", 1.5), 0.8)


def long(space: str, center: object, length: float) -> Space:
    """A geodesic through a ball with half its length, and 0.4, as radius."""
    return Space(space, cdp.Ball(space, center, length / 2 + 0.4), length)


@dataclass(frozen=True)
class Row:
    """Data sets of one law, and where their geodesics are compared."""

    name: str
    space: Space
    laws: tuple[str, str]
    n: int
    at: tuple[float, ...] = (1.0,)
    guarantee: Guarantee = ONE
    from_population: bool = True


ROWS = [
    Row("x ∈ {0, 1}, half at 1", SPHERE, ("1:1", "normal"), 300),
    Row("a tenth at 1", SPHERE, ("1:9", "normal"), 300),
    Row("a tenth at 1", SPHERE, ("1:9", "normal"), 10_000),
    Row("one in twenty at 1", SPHERE, ("1:19", "normal"), 100_000, guarantee=cdp.GDP(3.0)),
    Row("a tenth at 1, SPD(3)", MATRICES, ("1:9", "normal"), 300),
    Row("skewed residuals", SPHERE, ("uniform", "skewed"), 1000, tuple(ALL)),
    Row("skewed residuals", SPHERE, ("uniform", "skewed"), 10_000, tuple(ALL)),
    *(
        Row(name, space, ("uniform", "normal"), 2000, tuple(ALL), budget, False)
        for name, space, budget in (
            ("hyperbolic plane, length 2", long("hyperboloid:2", [1.0, 0, 0], 2.0), ONE),
            ("the same, length 5.6", long("hyperboloid:2", [1.0, 0, 0], 5.6), ONE),
            (
                "the same, length 5.6, ε = 4",
                long("hyperboloid:2", [1.0, 0, 0], 5.6),
                cdp.PureDP(4.0),
            ),
            ("SPD(3), length 8", long("spd:3", "identity", 8.0), ONE),
        )
    ),
]


def line_of(row: Row) -> str:
    """A line of the table."""
    warnings.simplefilter("ignore", NoiseWarning)
    cdp.set_num_threads(1)
    at, manifold, found = np.array(row.at), row.space.ball.manifold, []
    if row.from_population:
        truth = fitted(row.space, *drawn(row.space, row.laws, 200_000, 1 << 20)).predict(at)
    for seed in range(TIMES if row.n <= MANY else FEW_TIMES):
        x, y = drawn(row.space, row.laws, row.n, 10_000 + seed)
        fit = fitted(row.space, x, y).predict(at)
        made = cdp.geodesic_regression(
            x, y, row.space.ball, row.guarantee, x_range=(0.0, 1.0), coverage=False
        )
        of_fit = np.nan
        if row.from_population:
            of_fit = np.mean(manifold.dist(fit, truth) ** 2)
        gaps = manifold.dist(made.predict(at), truth if row.from_population else fit)
        band = made.band(at)
        known = np.isfinite(band)
        held = np.mean(gaps[known] <= band[known]) if known.any() else np.nan
        found.append([np.mean(gaps**2), of_fit, made.arrived, held])
    table = np.array(found, dtype=float)
    error, of_fit = np.sqrt(table[:, :2].mean(axis=0))
    theirs = f"{of_fit:.2g}" if row.from_population else ""
    printed, held = table[:, 2].mean(), table[np.isfinite(table[:, 3]), 3]
    off = 1000 * held.std() / math.sqrt(len(held))
    told = f"{held.mean():.3f} ({off:.0f})"
    return f"| {row.name} | {row.n:,} | {error:.2g} | {theirs} | {printed:.2f} | {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| records | n | error | of the fit without privacy | prints an error | band covers |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.jobs) as workers:
        for line in workers.map(line_of, ROWS):
            print(line, flush=True)


if __name__ == "__main__":
    main()
