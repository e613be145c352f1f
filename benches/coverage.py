"""Rates at which the coverage warns of records in wrong formats, and of right ones.

python benches/coverage.py [--quick]

The records are those of tests/wrong_formats.py, drawn anew for every count; the counts are those of
a release with the same number of records and the same guarantee.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp import _core
from curvedp.statistics.coverage import Counting, categories, share_of, weights_of

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
    return counting.draw((0.0, 0.0), guarantee, _core.GroupKeys.fresh().first()).standard_error


if __name__ == "__main__":
    main(50 if "--quick" in sys.argv else 1000)
