"""How well one look at the time of one release tells two neighbouring data sets apart.

python benches/timing_classifier.py --spaces sphere:2 spd:3 --calls 400
python benches/timing_classifier.py --search 300

A threshold is chosen on half of the calls and judged on the other half, both data sets in random
order. A coin is right in 0.5 of them; the control compares a data set with a copy of itself. The
clock "late" shows an attacker who knows the period of timing="steady" to the nanosecond: how long
after its end the answer came. The search looks for records that take longer than the public ones,
which may take four times as long before an answer is late.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.statistics import public_time
from curvedp.statistics.public_time import KINDS, slow_records

Array = np.ndarray[Any, np.dtype[np.float64]]
#: Public radius of the ball on each space.
RADII = {"sphere:2": 0.7, "spd:3": 1.5, "spd:4": 1.5, "hyperboloid:2": 2.0, "kendall:6": 0.5}
#: Space, number of records, and which records differ.
PAIRS = (
    ("sphere:2", 100_000, "all equal"),
    ("hyperboloid:2", 20_000, "all equal"),
    ("kendall:6", 2_000, "all equal"),
    ("spd:3", 100_000, "all equal"),
    ("spd:4", 50, "all equal"),
    ("spd:4", 2_000, "all equal"),
    ("sphere:2", 200, "outside"),
    ("spd:3", 200, "outside"),
    ("hyperboloid:2", 200, "outside"),
    ("spd:3", 200, "inside"),
)
#: Radii of the balls that are searched: ordinary and nearly the largest.
SEARCHED = {
    "sphere:2": (0.7, 1.5),
    "hyperboloid:2": (2.0, 10.0),
    "kendall:6": (0.5, 0.75),
    "grassmann:4:2": (0.4, 0.75),
    "so:4": (0.5, 1.5),
    "spd:3": (1.5, 4.0),
}
CASES = {
    "all equal": "all records at one point; one elsewhere",
    "outside": "a cluster; one record outside of the ball",
    "inside": "a cluster; one record near the ball's edge",
}


def pair(ball: cdp.Ball, n: int, case: str) -> tuple[Array, Array]:
    """Two neighbouring data sets of n records."""
    space, r, rng = ball.manifold, ball.radius, np.random.default_rng(3)

    def point(coords: Array) -> Array:
        return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)

    equal = case == "all equal"
    spread = 0.0 if equal else 0.2 * r / np.sqrt(space.dim)
    first = point(spread * rng.standard_normal((n, space.dim)))
    second = first.copy()
    second[n // 2] = point((2.0 if case == "outside" else 0.95) * r * np.eye(space.dim)[1])
    return first, second


def accuracy(times: Array, labels: Array) -> tuple[float, float, float]:
    """Share of later calls that the best threshold of the earlier ones tells, and its interval."""
    half = len(times) // 2
    early, late = (times[:half], labels[:half]), (times[half:], labels[half:])

    def right(of: tuple[Array, Array], threshold: float, above: int) -> Array:
        return np.where(of[0] >= threshold, above, 1 - above) == of[1]

    rules = [(t, above) for t in np.quantile(early[0], np.linspace(0, 1, 201)) for above in (0, 1)]
    best = max(rules, key=lambda rule: right(early, *rule).mean())
    hits, count = int(right(late, *best).sum()), len(late[0])
    interval = scipy.stats.binomtest(hits, count).proportion_ci(0.95, "exact")
    return hits / count, interval.low, interval.high


class Readings:
    """The clock of `public_time`, which notes what was read on it."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def perf_counter(self) -> float:
        """Seconds."""
        self.seen.append(time.perf_counter())
        return self.seen[-1]

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def late(self, end: float) -> float:
        """How long after the first period's end a call ended, which is forgotten."""
        public, self.seen = self.seen[: len(KINDS) + 1], []
        return end - public[-1] - public_time._ROOM * float(np.diff(public).max())


def measure(
    call: Callable[[Array], object], sets: tuple[Array, Array], calls: int, clock: str
) -> tuple[Array, Array]:
    """Time of each call in seconds, and which data set it was."""
    read = time.process_time if clock == "process" else time.perf_counter
    readings = public_time.time = Readings() if clock == "late" else time
    labels = np.random.default_rng(5).integers(0, 2, calls)
    for records in sets * 3:
        call(records)
        if isinstance(readings, Readings):
            readings.seen = []
    times = np.empty(calls)
    for i, label in enumerate(labels.tolist()):
        start = read()
        call(sets[label])
        end = read()
        times[i] = readings.late(end) if isinstance(readings, Readings) else end - start
    return times, labels


def row(spec: str, n: int, case: str, timing: str, clock: str, calls: int) -> str:
    """A row of the table, with the control beside it."""
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, center=space.origin, radius=RADII[spec])
    first, second = pair(ball, n, case)

    def call(records: Array) -> object:
        return cdp.frechet_mean(records, ball, cdp.GDP(mu=1.0), timing=timing)

    times, labels = measure(call, (first, second), calls, clock)
    a, b = (np.median(times[labels == k]) * 1e3 for k in (0, 1))
    shown = []
    for own in (accuracy(times, labels), accuracy(*measure(call, (first, first), calls, clock))):
        shown.append("{:.2f} ({:.2f}, {:.2f})".format(*own))
    cells = (spec, f"{n:,}", CASES[case], timing, clock, f"{a:.3g}", f"{b:.3g}", *shown)
    return "| " + " | ".join(cells) + " |"


def mixture(ball: cdp.Ball, n: int, rng: np.random.Generator) -> Array:
    """Records in one to four clusters in and around a ball, wide or narrow."""
    space, count = ball.manifold, int(rng.integers(1, 5))
    middles = rng.standard_normal((count, space.dim))
    middles *= rng.uniform(0.0, 1.5, (count, 1)) / np.linalg.norm(middles, axis=1, keepdims=True)
    of = rng.choice(count, n, p=rng.dirichlet(np.ones(count)))
    width = (
        rng.choice([0.0, 1.0]) * 10.0 ** rng.uniform(-8.0, 0.0, (count, 1))[of] / np.sqrt(space.dim)
    )
    coords = ball.radius * (middles[of] + width * rng.standard_normal((n, space.dim)))
    longest = 1.5 * ball.radius / np.maximum(np.linalg.norm(coords, axis=1), 1e-300)
    coords *= np.minimum(1.0, longest)[:, None]
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def slowest(spec: str, radius: float, n: int, tries: int) -> float:
    """Largest processor time of a mean of such records over that of the public ones."""
    space = cdp.as_manifold(spec)
    ball, rng = cdp.Ball(space, center=space.origin, radius=radius), np.random.default_rng(7)
    shape = (n, *space.point_shape)
    public = [slow_records(kind, (ball,), np.array([0, n]), shape) for kind in KINDS]

    def least(records: Array) -> float:
        times = []
        for _ in range(5):
            start = time.process_time_ns()
            cdp.frechet_mean(records, ball, cdp.GDP(mu=1.0))
            times.append(time.process_time_ns() - start)
        return float(min(times))

    return max(least(mixture(ball, n, rng)) for _ in range(tries)) / max(map(least, public))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--spaces", nargs="*", default=sorted(RADII))
    parser.add_argument("--timing", nargs="*", default=["prompt", "steady"])
    parser.add_argument("--clock", choices=["wall", "process", "late"], default="wall")
    parser.add_argument("--largest", type=int, default=10**9, help="largest n")
    parser.add_argument("--search", type=int, default=0, help="data sets for each ball")
    options = parser.parse_args()
    if options.clock == "late" and options.timing != ["steady"]:
        parser.error("only steady answers can be late: --timing steady")
    warnings.simplefilter("ignore", NoiseWarning)
    if options.search:
        for spec, radii in SEARCHED.items():
            for radius in radii:
                found = [slowest(spec, radius, n, options.search) for n in (50, 3_000)]
                print(spec, radius, " ".join(f"{ratio:.2f}" for ratio in found), flush=True)
        return
    print("| space | n | pair | timing | clock | ms | ms | accuracy | control |")
    print("|---|---|---|---|---|---|---|---|---|")
    for spec, n, case in PAIRS:
        if spec in options.spaces and n <= options.largest:
            for timing in options.timing:
                print(row(spec, n, case, timing, options.clock, options.calls), flush=True)


if __name__ == "__main__":
    main()
