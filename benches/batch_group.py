"""Processor time of one group of a call with many, by statistic.

    python benches/batch_group.py --write docs/measured/batch.md

Groups of equal size from arrays, one thread, the median of several calls; groups grow in number
until a call takes long enough to be timed. GDP(1), regions GDP(4), pure DP at epsilon = 6.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from benchmarks import workloads
from page import with_table

#: Name, space, records in a group.
GROUPS = [
    ("20 on S²", "sphere:2", 20),
    ("200 on S²", "sphere:2", 200),
    ("100 SPD(3)", "spd:3", 100),
    ("600 SPD(3)", "spd:3", 600),
]
STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": lambda rows, ball, groups: cdp.frechet_mean(rows, ball, cdp.GDP(1.0), groups=groups),
    "variance": lambda rows, ball, groups: cdp.frechet_variance(
        rows, ball, cdp.GDP(1.0), groups=groups
    ),
    "adaptive mean": lambda rows, ball, groups: cdp.adaptive_mean(
        rows, ball, cdp.GDP(1.0), schedule=(0.2, 0.2, 0.6), groups=groups
    ),
    "adaptive mean, ε-DP": lambda rows, ball, groups: cdp.adaptive_mean(
        rows, ball, cdp.PureDP(6.0), schedule=(0.2, 0.2, 0.6), groups=groups
    ),
    "region": lambda rows, ball, groups: cdp.confidence_region(
        rows, ball, cdp.GDP(4.0), groups=groups
    ),
}


def records(spec: str, n: int) -> tuple[np.ndarray, cdp.Ball]:
    """Records on a ball that holds nearly all."""
    if spec == "sphere:2":
        return workloads.sphere_ball(2, n), cdp.Ball(spec, [0.0, 0.0, 1.0], 0.8)
    rows = workloads.spd_ball(3, n)
    return rows, cdp.Ball(cdp.SPD(3), cdp.nonprivate.frechet_mean(rows[:1000], "spd:3").value, 3.0)


def seconds_of_a_group(statistic: str, spec: str, size: int, rounds: int, budget: float) -> float:
    """Processor seconds of a group, the median of some calls."""
    groups, is_warm = 20, False
    while True:
        rows, ball = records(spec, groups * size)
        offsets = np.arange(groups + 1) * size
        if not is_warm:  # libraries and designs of this size are there from now on
            STATISTICS[statistic](rows, ball, offsets)
            is_warm = True
        taken = []
        for _ in range(rounds):
            begun = time.process_time()
            STATISTICS[statistic](rows, ball, offsets)
            taken.append(time.process_time() - begun)
        if (found := float(np.median(taken))) > budget or groups * size > 4_000_000:
            return found / groups
        groups *= 4


def told(seconds: float) -> str:
    """Seconds with two digits."""
    micro = seconds * 1e6
    return f"{micro / 1e3:.2g} ms" if micro >= 1000 else f"{float(f'{micro:.2g}'):g} µs"


def main() -> None:
    """Measure all, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.3, help="least seconds of a call")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    cdp.set_num_threads(1)
    warnings.simplefilter("ignore")
    lines = [f"| group | {' | '.join(STATISTICS)} |", "|---" * (len(STATISTICS) + 1) + "|"]
    for name, spec, size in GROUPS:
        cells = [
            told(seconds_of_a_group(own, spec, size, arguments.rounds, arguments.budget))
            for own in STATISTICS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if arguments.write:
        text = arguments.write.read_text(encoding="utf-8")
        arguments.write.write_text(with_table(text, "group", lines), encoding="utf-8")


if __name__ == "__main__":
    main()
