"""Batches by threads of one process and by workers of a Dask cluster on one machine.

    python benches/batch_workers.py --files 1 1000 --order ordered shuffled

Means of groups of 20 points on S^2, from Parquet to Parquet, with a ledger and coverage: with keys
in order or not, in one file or many of the same records. Each way of working runs in a process of
its own, workers with one thread each and their libraries loaded. It prints the seconds of each of
several runs, the rate of the best, and the peak of resident memory of the caller and of the largest
worker. "processor 1" is one thread that all else in its process must share one processor with:
reading and writing run beside it otherwise. With --write the best of each goes into the table of a
page. With --profile, where the caller's time goes; with --steps, of threads, the seconds of each
step, and of all else (opening, joining, payment and the end).
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import itertools
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from page import with_table

_GROUP, _PIECE = 20, 1_000_000
_WAYS = ["processor 1", "threads 1", "threads 2", "workers 1", "workers 2", "workers 4"]


def write(folder: Path, records: int, files: int, *, ordered: bool) -> Path:
    """Records of groups of 20, keys in order or not: one file, or a folder of several."""
    from benchmarks import workloads

    place = folder / f"{'ordered' if ordered else 'shuffled'}-{files}"
    if place.exists():
        return place
    rows = workloads.sphere_ball(2, records)
    keys = np.repeat(np.arange(records // _GROUP, dtype=np.int64), _GROUP)
    if not ordered:
        np.random.default_rng(0).shuffle(keys)
    draft = folder / "draft"
    draft.mkdir()
    cuts = np.linspace(0, records, files + 1).astype(np.int64)
    for number, (start, stop) in enumerate(itertools.pairwise(cuts)):
        points = pa.FixedSizeListArray.from_arrays(pa.array(rows[start:stop].reshape(-1)), 3)
        table = pa.table({"group": keys[start:stop], "point": points})
        # as if there were one file, of which no column of many values keeps a dictionary
        plain = {"use_dictionary": False, "row_group_size": _PIECE}
        pq.write_table(table, draft / f"{number:06d}.parquet", **plain)
    return draft.rename(place)


def _peak() -> float:
    """Peak of this process's resident memory in MB, without that of the one that began it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1e3


def _cpu(on: Any) -> float:
    """Processor time of this process and of a cluster's workers."""
    return time.process_time() + sum(on.run(time.process_time).values() if on else ())


@contextlib.contextmanager
def _timed(found: dict[str, float]) -> Iterator[None]:
    """Notes the seconds of each step of a job, by threads of this process."""
    from curvedp.batch.run import Threads

    each, release = Threads.each, Threads.release

    def timed_each(self: Any, job: Any, step: str, numbers: Any) -> Iterator[Any]:
        begun = time.perf_counter()
        yield from each(self, job, step, numbers)
        found[step] = time.perf_counter() - begun

    def timed_release(self: Any, *arguments: Any) -> None:
        begun = time.perf_counter()
        release(self, *arguments)
        found["release"] = time.perf_counter() - begun

    Threads.each, Threads.release = timed_each, timed_release
    try:
        yield
    finally:
        Threads.each, Threads.release = each, release


def watch(source: Path, way: str, rounds: int, *, profile: bool, steps: bool) -> None:
    """Runs batches one way, and prints their seconds and peaks of memory as JSON."""
    import curvedp as cdp
    import curvedp.batch

    kind, number = way.split()
    found: dict[str, object] = {}
    with contextlib.ExitStack() as stack:
        on = None
        cdp.set_num_threads(int(number) if kind == "threads" else 1)
        if kind == "processor":
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        if kind == "workers":
            from curvedp.batch.cluster import cluster_of

            on = stack.enter_context(cluster_of(int(number), None))
            on.run(cdp.set_num_threads, 1)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=source.parent)))

        def run(name: str, records: Path) -> tuple[float, float]:
            """Seconds, and those of the processors of all processes."""
            begun, spent = time.perf_counter(), _cpu(on)
            with cdp.Ledger(cdp.GDP(2.0), path=folder / f"{name}.ledger") as ledger:
                cdp.batch.release(
                    cdp.Mean(),
                    records,
                    by="group",
                    points="point",
                    ball=cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.8),
                    guarantee=cdp.GDP(1.0),
                    public_keys=True,
                    out=folder / f"{name}.parquet",
                    ledger=ledger,
                    on=on,
                )
            return time.perf_counter() - begun, _cpu(on) - spent

        small = folder / "small"
        small.mkdir()
        run("small", write(small, 200_000, 8, ordered=False))  # loads libraries
        found["taken"] = [run(f"out{i}", source) for i in range(rounds)]
        if steps:
            told: dict[str, float] = {}
            with _timed(told):
                told["all"], _ = run("steps", source)
            print({name: round(own, 3) for name, own in told.items()}, file=sys.stderr)
        if profile:
            profiler = cProfile.Profile()
            profiler.runcall(run, "profiled", source)
            pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(25)
        found["caller"] = _peak()
        if on is not None:
            found["worker"] = max(on.run(_peak).values())
    print(json.dumps(found))


def main() -> None:
    """Measure all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, nargs="+", default=[1])
    parser.add_argument("--ways", nargs="+", choices=_WAYS, default=_WAYS)
    parser.add_argument("--order", nargs="+", choices=["ordered", "shuffled"], default=["ordered"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--write", type=Path, help="page whose table is replaced")
    parser.add_argument("--keep", type=Path, help="folder in which the records are kept")
    parser.add_argument("--watch", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch:
        source, way = arguments.watch
        how = {"profile": arguments.profile, "steps": arguments.steps}
        watch(Path(source), way, arguments.rounds, **how)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, lines = Path(arguments.keep or name), list[str]()
        for order in arguments.order:
            for files in arguments.files:
                source = write(folder, arguments.records, files, ordered=order == "ordered")
                found = [_line(source, way, arguments) for way in arguments.ways]
                row = ["in order" if order == "ordered" else "not in order"]
                row[0] += ", one file" if files == 1 else f", {files:,} files"
                row += [f"{seconds:.2f} s" for seconds, _ in found]
                lines.append(f"| {' | '.join(row)} | {max(own for _, own in found):.0f} MB |")
    if arguments.write:
        heads = ["records", *arguments.ways, "most memory of a process"]
        head = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        text = arguments.write.read_text(encoding="utf-8")
        written = with_table(text, "workers", [*head, *lines])
        arguments.write.write_text(written, encoding="utf-8")


def _line(source: Path, way: str, arguments: argparse.Namespace) -> tuple[float, float]:
    """Prints a line, and returns the best seconds and the largest peak of memory."""
    call = [sys.executable, __file__, "--rounds", str(arguments.rounds)]
    call += [f"--{name}" for name in ("profile", "steps") if getattr(arguments, name)]
    done = subprocess.run(
        [*call, "--watch", str(source), way], check=True, stdout=subprocess.PIPE, text=True
    )
    found = json.loads(done.stdout)
    best = min(seconds for seconds, _ in found["taken"])
    taken = ", ".join(f"{seconds:.2f} s (CPU {cpu:.2f})" for seconds, cpu in found["taken"])
    worker = f", largest worker {found['worker']:.0f} MB" if "worker" in found else ""
    print(
        f"{source.name}, {way}: {taken}, {arguments.records / best / 1e6:.2f} M records/s, "
        f"caller {found['caller']:.0f} MB{worker}",
        flush=True,
    )
    return best, max(found["caller"], found.get("worker", 0.0))


if __name__ == "__main__":
    main()
