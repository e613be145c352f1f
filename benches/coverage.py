"""Rates at which the coverage warns of records in wrong formats, and of right ones; and its cost.

python benches/coverage.py [--quick] [--time | --sets | --limit]

The records are those of tests/wrong_formats.py, drawn anew for every tenth count; the counts are
those of a release with the same number of records and the same guarantee. With --sets those of the
real sets of adaptive_sets.py (CURVEDP_DATA), right and with mistakes that any table may have. With
--time the processor time of a release with a count over that of one without. With --limit how
seldom any rule on the released numbers could miss that a fifth of the records is missing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import gammaln

import curvedp as cdp
from curvedp import _core
from curvedp.statistics.coverage import Counting, share_of
from curvedp.statistics.tallies import categories, weights_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from wrong_formats import RIGHT, WRONG, Format

CELLS = [
    (50, cdp.GDP(1.0)),
    (200, cdp.GDP(0.3)),
    (200, cdp.GDP(1.0)),
    (200, cdp.PureDP(1.0)),
    (1000, cdp.GDP(0.3)),
    (1000, cdp.GDP(1.0)),
    (1000, cdp.PureDP(0.5)),
    (1000, cdp.PureDP(1.0)),
]


def warned(own: Format, n: int, guarantee: cdp.GDP | cdp.PureDP, times: int) -> float:
    """Share of counts that warn."""
    counting = Counting.of(guarantee, guarantee, n, 1, 1)
    rng, keys = np.random.default_rng(0), _core.GroupKeys.fresh()
    found = 0
    for number in range(times):
        if number % 10 == 0:
            records = own.ball.manifold.read_records(own.records(rng, n))
            weights = weights_of(categories([own.ball], records, np.array([0, n])), None)
        drawn = counting.draw(weights, guarantee, keys.part(number).first())
        found += bool(drawn.warnings)
    return found / times


def main(times: int) -> None:
    """Prints the table of docs/proofs/coverage.md."""
    print("| n | guarantee | share | standard error / n | missed | false alarms |")
    print("|---|---|---|---|---|---|")
    for n, guarantee in CELLS:
        share = share_of(guarantee, n)
        assert share is not None
        error = error_of(guarantee, n) / n
        missed = {own.name: 1.0 - warned(own, n, guarantee, times) for own in WRONG}
        most = ", ".join(f"{name} {rate:.3f}" for name, rate in missed.items() if rate > 0.0)
        false = max(warned(own, n, guarantee, times) for own in RIGHT)
        print(f"| {n} | {guarantee} | {share:.3g} | {error:.3f} | {most or 'none'} | {false:.3f} |")


def error_of(guarantee: cdp.GDP | cdp.PureDP, n: int) -> float:
    """Standard error of each number."""
    counting = Counting.of(guarantee, guarantee, n, 1, 1)
    return counting.draw((0, 0), guarantee, _core.GroupKeys.fresh().first()).standard_error


#: Mistakes that a table of any points may have.
MISTAKES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "right": lambda rows: rows,
    "a fifth missing": lambda rows: np.where(np.arange(len(rows))[:, None] % 5, rows, np.nan),
    "all times 1000": lambda rows: 1000.0 * rows,
    "numbers reversed": lambda rows: rows[:, ::-1],
    "a sign lost": lambda rows: np.abs(rows),
}


def sets(times: int) -> None:
    """Prints shares inside the ball of right records, and of counts that warn, at n = 200."""
    from adaptive_sets import OTHERS, TUNED  # needs the data

    way, n = cdp.GDP(1.0), 200
    counting = Counting.of(way, way, n, 1, 1)
    print(f"| data | inside | {' | '.join(MISTAKES)} |\n|---|---|{'---|' * len(MISTAKES)}")
    for data in (*TUNED, *OTHERS):
        records, ball = data.load()
        rows = np.asarray(records, dtype=float).reshape(len(records), -1)
        rng, keys, rates = np.random.default_rng(0), _core.GroupKeys.fresh(), []
        for mistake in MISTAKES.values():
            wrong = mistake(rows).reshape(np.shape(records))
            kind = categories([ball], ball.manifold.read_records(wrong), np.array([0, len(rows)]))
            rates.append(0)
            for number in range(times):
                weights = weights_of(kind[rng.integers(len(kind), size=n)], None)
                drawn = counting.draw(weights, way, keys.part(number).first())
                rates[-1] += bool(drawn.warnings)
            if len(rates) == 1:
                inside = np.mean(kind == 0.0)
        told = " | ".join(f"{rate / times:.3f}" for rate in rates)
        print(f"| {data.name} | {inside:.2f} | {told} |", flush=True)


def most_found(n: int, way: cdp.GDP | cdp.PureDP, right: float, draws: int) -> float:
    """Bound on how often a rule finds that a fifth is missing, with 2 % false alarms.

    By Neyman and Pearson, of records with that share of no points against ones of which each is
    missing with probability .2; of the right ones as many lie outside the ball as tell least.
    """
    rng, counting = np.random.default_rng(0), Counting.of(way, way, n, 1, 1)
    scale, is_pure = counting.noise.scale, isinstance(way, cdp.PureDP)
    chances = np.exp(
        [gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) for m in range(n + 1)]
        + np.arange(n + 1) * np.log(0.2)
        + np.arange(n, -1, -1) * np.log(0.8)
    )

    def height(missing: np.ndarray) -> np.ndarray:  # above the side of the triangle
        return np.sqrt(0.75) * missing

    def noise() -> np.ndarray:
        if not is_pure:
            return scale * rng.standard_normal((draws, 2))
        turn, length = rng.uniform(0.0, 2.0 * np.pi, draws), rng.gamma(2.0, scale, draws)
        return np.stack([length * np.cos(turn), length * np.sin(turn)], axis=1)

    def log_density(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        square = (x * x + y * y) / scale**2
        return -np.sqrt(square) if is_pure else -0.5 * square

    def log_ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        wrong = np.zeros(draws)
        for m in np.flatnonzero(chances > 1e-9):
            wrong += chances[m] * np.exp(log_density(x, y - height(m)))
        return np.log(wrong) - log_density(x, y - height(right * n))

    at_rest, moved = noise(), noise()
    limit = np.quantile(log_ratio(at_rest[:, 0], at_rest[:, 1] + height(right * n)), 0.98)
    missing = height(rng.binomial(n, 0.2, draws))
    return float(np.mean(log_ratio(moved[:, 0], moved[:, 1] + missing) > limit))


def limit(draws: int) -> None:
    """Prints the bounds of docs/proofs/coverage.md."""
    print("| n | guarantee | none missing is right | 2 % missing is right, too |")
    print("|---|---|---|---|")
    for n, way in CELLS:
        found = " | ".join(f"{most_found(n, way, right, draws):.3f}" for right in (0.0, 0.02))
        print(f"| {n} | {way} | {found} |")


def times(quick: bool) -> None:
    """Prints the processor time with a count and without: medians of calls that take turns."""
    n, repeats = (20_000, 3) if quick else (1_000_000, 11)
    for space, size, per_group, coverage, mu in [
        ("sphere:2", n, None, True, 1.0),
        ("spd:3", n // 10, None, True, 1.0),
        ("sphere:2", 5 * n, 5, True, 1.0),
        ("sphere:2", 5 * n, 5, "each", 20.0),
        ("sphere:2", n, 50, "each", 1.0),
        ("sphere:2", n, 500, "each", 1.0),
    ]:
        manifold = cdp.as_manifold(space)
        ball = cdp.Ball(manifold, manifold.random_point(rng=1), 0.8)
        rng = np.random.default_rng(0)
        coords = 0.2 * rng.standard_normal((size, manifold.dim))
        rows = manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)
        how = {} if per_group is None else {"groups": np.arange(0, size + 1, per_group)}
        taken = np.empty((repeats, 2))
        for row in taken:
            for place, counts in enumerate((False, coverage)):
                begun = time.process_time()
                cdp.frechet_mean(rows, ball, cdp.GDP(mu), coverage=counts, **how)
                row[place] = time.process_time() - begun
        without, beside = np.median(taken, axis=0)
        ratio = np.median(taken[:, 1] / taken[:, 0])
        groups = "" if per_group is None else f" in groups of {per_group}"
        which = ", a count of each" if coverage == "each" else ""
        print(
            f"{size} of {space}{groups}{which}: {without:.3f} s, {beside:.3f} s, ratio {ratio:.3f}"
        )


if __name__ == "__main__":
    if "--time" in sys.argv:
        times("--quick" in sys.argv)
    elif "--limit" in sys.argv:
        limit(10_000 if "--quick" in sys.argv else 400_000)
    elif "--sets" in sys.argv:
        sets(100 if "--quick" in sys.argv else 1000)
    else:
        main(50 if "--quick" in sys.argv else 1000)
