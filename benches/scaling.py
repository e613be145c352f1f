"""Growth of cost with n, and the gain of a second thread.

    python benches/scaling.py [--quick]

The first table gives seconds at growing n and the exponent of the power law between neighbouring
sizes: 1 is linear, which is what every batch operation and the mean must show. The second gives the
ratio of one thread to two: 1.8 where computing is the limit, otherwise 0.8 of what copying gains.
The third, printed first, gives processor seconds and memory beyond the records of private means,
without a ball and on one, up to 10^7 records (`--only-private` prints it alone).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import time
from collections.abc import Callable

import numpy as np

import curvedp as cdp
from benchmarks import workloads
from harness import medians

_MANIFOLDS = ("sphere:2", "sphere:99", "hyperboloid:10", "kendall:50", "spd:3", "spd:11")
_MEANS: dict[str, Callable[[int], np.ndarray]] = {
    "sphere:2": lambda n: workloads.sphere_ball(2, n),
    "spd:3": lambda n: workloads.spd_ball(3, n),
    "spd:11": lambda n: workloads.spd_ball(11, n),
}


def _operations(n: int) -> dict[str, Callable[[], object]]:
    """Every batch operation and the means on n records (a tenth of it on wide manifolds)."""
    operations: dict[str, Callable[[], object]] = {}
    for spec in _MANIFOLDS:
        manifold = cdp.as_manifold(spec)
        count = n // 10 if manifold.point_size > 50 else n
        x, y, v = workloads.batch(spec, count)
        operations[f"{spec} exp"] = lambda m=manifold, x=x, v=v: m.exp(v, x)
        operations[f"{spec} log"] = lambda m=manifold, x=x, y=y: m.log(y, x)
        operations[f"{spec} dist"] = lambda m=manifold, x=x, y=y: m.dist(x, y)
    for spec, records in _MEANS.items():
        manifold = cdp.as_manifold(spec)
        x = records(n // 10 if manifold.point_size > 50 else n)
        operations[f"{spec} mean"] = lambda m=manifold, x=x: cdp.nonprivate.frechet_mean(x, m)
    return operations


def growth(sizes: list[int], rounds: int) -> None:
    """Print seconds and growth exponents, one thread."""
    cdp.set_num_threads(1)
    columns = [medians(_operations(n), rounds=rounds, budget=5.0)[0] for n in sizes]
    print("| operation | " + " | ".join(f"n={n}, ms" for n in sizes) + " | exponents |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for name in columns[0]:
        seconds = [column[name] for column in columns]
        exponents = ", ".join(
            f"{math.log(seconds[i + 1] / seconds[i]) / math.log(sizes[i + 1] / sizes[i]):.2f}"
            for i in range(len(sizes) - 1)
        )
        milliseconds = " | ".join(f"{1e3 * second:.3g}" for second in seconds)
        print(f"| {name} | {milliseconds} | {exponents} |", flush=True)


def _use(threads: int, function: Callable[[], object]) -> Callable[[], None]:
    """Sets the number of threads and calls once, which builds the pool."""

    def ready() -> None:
        cdp.set_num_threads(threads)
        function()

    return ready


def speed_up(n: int, rounds: int) -> None:
    """Print the ratio of one thread to two, measured in turn."""
    print("\n| operation | n | one thread, ms | two threads, ms | ratio |")
    print("|---|---|---|---|---|")
    for name, function in _operations(n).items():
        seconds, _ = medians(
            {"one": function, "two": function},
            rounds=rounds,
            budget=5.0,
            before={"one": _use(1, function), "two": _use(2, function)},
        )
        one, two = seconds["one"], seconds["two"]
        print(f"| {name} | {n} | {1e3 * one:.3g} | {1e3 * two:.3g} | {one / two:.2f} |", flush=True)


#: Spaces of private means, and radii of balls for them.
_PRIVATE = {"sphere:2": 0.7, "spd:3": 3.0}
_DISTINCT = 100_000


def private_mean(spec: str, n: int, has_ball: bool) -> tuple[float, float]:
    """Processor seconds, and bytes beyond the records, in a new process.

    Memory is the growth of the largest resident size, so nothing else may have run before.
    """
    ball = workloads.ball(spec, _PRIVATE[spec])
    own = workloads.in_ball(ball, min(n, _DISTINCT))
    space = ball.manifold
    cdp.set_num_threads(1)
    cdp.frechet_mean(own, ball if has_ball else space, cdp.GDP(1.0))  # what is loaded once
    records = np.empty((n, *space.point_shape))
    for first in range(0, n, len(own)):
        records[first : first + len(own)] = own[: n - first]
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    cdp.frechet_mean(records, ball if has_ball else space, cdp.GDP(1.0))
    seconds = time.process_time() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return seconds, 1024.0 * grown


def private_growth(sizes: list[int]) -> None:
    """Print seconds and memory of private means of a growing number of records."""
    context = multiprocessing.get_context("spawn")
    print("\n| mean | n | s | exponent | MB beyond the records | bytes a record |")
    print("|---|---|---|---|---|---|")
    for spec in _PRIVATE:
        for has_ball in (True, False):
            name, last = f"{spec}, {'on' if has_ball else 'without'} a ball", None
            for n in sizes:
                with context.Pool(1) as pool:
                    seconds, memory = pool.apply(private_mean, (spec, n, has_ball))
                grown = "" if last is None else f"{math.log(seconds / last[1], n / last[0]):.2f}"
                last = n, seconds
                print(
                    f"| {name} | {n} | {seconds:.3g} | {grown} | {memory / 1e6:.0f} "
                    f"| {memory / n:.0f} |",
                    flush=True,
                )


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only-private", action="store_true", help="the third table alone")
    arguments = parser.parse_args()
    quick = arguments.quick
    private_growth([10_000, 100_000] if quick else [100_000, 1_000_000, 10_000_000])
    if arguments.only_private:
        return
    sizes = [1_000, 4_000, 16_000] if quick else [10_000, 100_000, 1_000_000]
    growth(sizes, rounds=5 if quick else 9)
    speed_up(sizes[1], rounds=5 if quick else 15)


if __name__ == "__main__":
    main()
