"""Groups per second of a batch in memory and from Parquet file to Parquet file.

    python benches/batch_rate.py --threads 2

Both release the same groups by an Arrow table or file whose keys are in order, with noise from a
secret: 1,000,000 groups of 20 points on S^2 and 100,000 groups of 100 SPD(3) matrices. For
comparison, the file read into memory as a whole, its table released and the result written. The
best and the median of several rounds; the first two take turns, the third, which leaves much memory
to be freed behind, comes after them. With --profile, where one file's batch spends its time.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import curvedp as cdp
import curvedp.batch
from benchmarks import workloads

CASES = {"S^2, n=20": ("sphere:2", 1_000_000, 20), "SPD(3), n=100": ("spd:3", 100_000, 100)}


def table_of(spec: str, groups: int, n: int) -> tuple[pa.Table, cdp.Ball]:
    """Records of groups of equal size, keys in order, and a ball that holds nearly all."""
    if spec == "sphere:2":
        rows, ball = workloads.sphere_ball(2, groups * n), cdp.Ball(spec, [0.0, 0.0, 1.0], 0.8)
    else:
        rows = workloads.spd_ball(3, groups * n)
        center = cdp.nonprivate.frechet_mean(rows[:1000], cdp.SPD(3)).value
        ball = cdp.Ball(cdp.SPD(3), center, 3.0)
    width = int(np.prod(rows.shape[1:]))
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), width)
    keys = np.repeat(np.arange(groups, dtype=np.int64), n)
    return pa.table({"group": keys, "point": points}), ball


def seconds(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(name: str, folder: Path, rounds: int, *, profile: bool) -> None:
    """A line for each way."""
    spec, groups, n = CASES[name]
    table, ball = table_of(spec, groups, n)
    source = folder / "in.parquet"
    secret, of_tables = folder / "secret", folder / "secret-of-tables"
    pq.write_table(table, source)
    cdp.NoiseSecret.create(secret)
    loaded = cdp.NoiseSecret.create(of_tables)
    common = {
        "by": "group",
        "points": "point",
        "ball": ball,
        "guarantee": cdp.GDP(1.0),
        "public_keys": True,
    }

    def in_memory() -> None:
        cdp.batch.release(cdp.Mean(), table, secret=loaded, **common)

    def file_to_file() -> None:
        out = folder / "out.parquet"
        cdp.batch.release(cdp.Mean(), source, out=out, secret=secret, **common)
        out.unlink()
        out.with_name("out.parquet.manifest.json").unlink()

    def read_whole() -> None:
        whole = pq.read_table(source)
        done = cdp.batch.release(cdp.Mean(), whole, secret=loaded, **common)
        pq.write_table(done.table, folder / "whole.parquet")

    ways = {
        "in memory": in_memory,
        "file to file": file_to_file,
        "file read as a whole": read_whole,
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for together in (("in memory", "file to file"), ("file read as a whole",)):
        for _ in range(rounds):
            for way in together:
                times[way].append(seconds(ways[way]))
    for way, taken in times.items():
        best, usual = min(taken), float(np.median(taken))
        shares = [100 * f(times["in memory"]) / f(taken) for f in (min, np.median)]
        print(
            f"{name}, {way}: {best:.2f} s, {groups / best:,.0f} groups/s, {shares[0]:.0f} % of the "
            f"rate in memory (median {usual:.2f} s, {shares[1]:.0f} %)",
            flush=True,
        )
    if profile:
        profiler = cProfile.Profile()
        profiler.runcall(file_to_file)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(12)
    for path in (source, secret, of_tables):
        path.unlink()


def main() -> None:
    """Measure both examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    cdp.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as name:
        for case in CASES if arguments.only is None else [arguments.only]:
            measure(case, Path(name), arguments.rounds, profile=arguments.profile)


if __name__ == "__main__":
    main()
