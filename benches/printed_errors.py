"""Measured over printed errors of statistics like a mean, on real data (CURVEDP_DATA).

python benches/printed_errors.py [--quick] [--only others]

Four draws of n records with replacement at each of three budgets, and as many releases of each,
with one count of the records beside them. A cell is the mean error of its releases over the mean
error that they print; exact values are those of the records on the ball. A geometric median and a
K-norm gradient print no error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np

import curvedp as cdp
from adaptive_sets import OTHERS, TUNED
from real_data import Data

BUDGETS = (0.3, 1.0, 3.0)
#: Measured and printed errors of releases, one row for each.
Errors = tuple[np.ndarray, np.ndarray]


def mean(rows: np.ndarray, ball: cdp.Ball, guarantee: cdp.GDP, offsets: np.ndarray) -> Errors:
    found = cdp.frechet_mean(rows, ball, guarantee, groups=offsets, coverage=True)
    exact = cdp.nonprivate.frechet_mean(rows[: offsets[1]], ball.manifold).value
    return ball.manifold.dist(found.value, exact), found.expected_error


def shrunk(rows: np.ndarray, ball: cdp.Ball, guarantee: cdp.GDP, offsets: np.ndarray) -> Errors:
    found = cdp.frechet_mean(rows, ball, guarantee, groups=offsets, coverage=True)
    exact = cdp.nonprivate.frechet_mean(rows[: offsets[1]], ball.manifold).value
    pairs = [(each.shrunk, each.shrunk_error) for each in found]
    points = np.array([point for point, _ in pairs])
    return ball.manifold.dist(points, exact), np.array([error for _, error in pairs])


def variance(rows: np.ndarray, ball: cdp.Ball, guarantee: cdp.GDP, offsets: np.ndarray) -> Errors:
    found = cdp.frechet_variance(rows, ball, guarantee, groups=offsets, coverage=True)
    exact = cdp.nonprivate.frechet_variance(rows[: offsets[1]], ball.manifold)
    return np.abs(found.value - exact), found.expected_error


def adaptive(rows: np.ndarray, ball: cdp.Ball, guarantee: cdp.GDP, offsets: np.ndarray) -> Errors:
    found = cdp.adaptive_mean(rows, ball, guarantee, groups=offsets, coverage=True)
    exact = cdp.nonprivate.frechet_mean(rows[: offsets[1]], ball.manifold).value
    return ball.manifold.dist(found.value, exact), found.expected_error


STATISTICS: dict[str, Callable[[np.ndarray, cdp.Ball, cdp.GDP, np.ndarray], Errors]] = {
    "mean": mean,
    "shrunk mean": shrunk,
    "variance": variance,
    "adaptive mean": adaptive,
}


def cells(data: Data, statistic: str, rounds: int) -> list[float]:
    """The ratio at every size and budget where the release exists."""
    records, ball = data.load()
    points, found = ball.project(records), []
    for n in data.sizes:
        rng = np.random.default_rng(n)
        for mu in BUDGETS:
            errors = []
            for _ in range(4):
                rows = points[rng.integers(len(points), size=n)]
                offsets = np.arange(rounds // 4 + 1) * n
                rows = np.concatenate([rows] * (rounds // 4))
                try:
                    errors.append(STATISTICS[statistic](rows, ball, cdp.GDP(mu), offsets))
                except cdp.errors.ExistenceError:
                    break
            else:
                measured, printed = np.concatenate(errors, axis=1)
                found.append(float(measured.mean() / printed.mean()))
    return found


def main() -> None:
    """Prints the table of docs/measured/printed-errors.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="8 releases a cell instead of 40")
    parser.add_argument("--only", choices=("tuned", "others"), help="half of the sets")
    given = parser.parse_args()
    rounds = 8 if given.quick else 40
    chosen = {"tuned": TUNED, "others": OTHERS, None: (*TUNED, *OTHERS)}[given.only]
    warnings.simplefilter("ignore")
    names = list(STATISTICS)
    print(f"| data | d | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    known: dict[str, list[float]] = {name: [] for name in names}
    for data in chosen:
        texts, dim = [], data.load()[1].manifold.dim
        for name in names:
            own = cells(data, name, rounds)
            known[name] += own
            texts.append(f"{min(own):.2f} to {max(own):.2f}" if own else "–")
        print(f"| {data.name} | {dim} | {' | '.join(texts)} |", flush=True)
    for most in (1.5, 2.0):
        shares = [
            np.mean(np.exp(np.abs(np.log(np.maximum(own, 1e-9)))) <= most) for own in known.values()
        ]
        told = " | ".join(f"{100 * share:.0f} %" for share in shares)
        print(f"| cells within {most:g} | | {told} |")
    print(f"| cells | | {' | '.join(str(len(own)) for own in known.values())} |")


if __name__ == "__main__":
    main()
