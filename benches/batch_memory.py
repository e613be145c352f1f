"""Memory of a batch over Parquet files of growing size, by repetition of the same records.

    python benches/batch_memory.py --gigabytes 1 5 20 --plot batch-memory.png
    python benches/batch_memory.py --secret-keys

Each size runs in a process of its own, which notes its resident memory every quarter of a second.
Gigabytes are those of the records in memory; on disk the repeated records take far less. With
secret keys records of 384 numbers are released from a table of 10,000 and of 40,000, on a ball and
without one: printed is the difference of the largest resident memory for a record, table included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_GROUP, _ROW_GROUP = 100, 200_000
_RECORD_BYTES = 72
#: Numbers of a record with a secret key.
_NUMBERS = 384


def write(path: Path, gigabytes: float) -> None:
    """SPD(3) matrices in groups of a hundred, keys in order."""
    generator = np.random.default_rng(0)
    noise = 0.05 * generator.standard_normal((64, 3, 3))
    matrices = (np.eye(3) + noise + noise.swapaxes(1, 2)).reshape(64, 9)
    rows = matrices[generator.integers(0, 64, _ROW_GROUP)]
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 9)
    groups = _ROW_GROUP // _GROUP
    schema = pa.schema({"group": pa.int64(), "point": points.type})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in range(round(gigabytes * 1e9 / _RECORD_BYTES / _ROW_GROUP)):
            keys = np.repeat(np.arange(part * groups, (part + 1) * groups), _GROUP)
            writer.write_table(pa.table({"group": keys, "point": points}, schema))


def watch(folder: Path) -> None:
    """Runs a batch and prints seconds, groups and the course of resident memory as JSON."""
    import curvedp as cdp
    import curvedp.batch

    course, done = [], threading.Event()
    start = time.perf_counter()

    def note() -> None:
        while not done.wait(0.25):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            course.append((time.perf_counter() - start, pages * 4096 / 1e6))

    watcher = threading.Thread(target=note)
    watcher.start()
    released = cdp.batch.release(
        cdp.Mean(),
        folder / "in.parquet",
        out=folder / "out.parquet",
        by="group",
        points="point",
        ball=cdp.Ball(cdp.SPD(3), center="identity", radius=1.5),
        guarantee=cdp.GDP(1.0),
        public_keys=True,
    )
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    print(json.dumps({"seconds": seconds, "groups": released.manifest["groups"], "course": course}))


def plot(courses: dict[float, list[list[float]]], path: Path) -> None:
    """Resident memory against the share of the work that is done."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    for gigabytes, course in courses.items():
        seconds, memory = np.transpose(course)
        axes.plot(100 * seconds / seconds[-1], memory, label=f"{gigabytes:g} GB", lw=1)
    axes.set(xlabel="time (% of the batch)", ylabel="resident memory (MB)", ylim=(0, None))
    axes.legend(title="records")
    figure.savefig(path, dpi=120)


def hold_secret(spec: str, n: int) -> None:
    """Releases means of groups with secret keys and prints the largest resident memory in bytes."""
    import curvedp as cdp
    import curvedp.batch

    rows = np.random.default_rng(0).standard_normal((n, _NUMBERS)) + 0.5
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), _NUMBERS)
    table = pa.table({"site": np.arange(n) % 10, "point": points})
    del rows
    guarantee = cdp.ApproxDP(6.0, 1e-6, neighbours="add-remove")
    how = {"by": "site", "points": "point", "guarantee": guarantee}
    if spec.startswith("euclidean"):
        how |= {"ball": cdp.Ball(spec, center="origin", radius=20.0), "n_guess": n // 10}
    else:
        how |= {"ball": spec}
    cdp.batch.release(cdp.Mean(), table, **how)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def tell_secret_keys() -> None:
    """Memory for a record, from the difference of two sizes."""
    for what, spec in (
        ("on a ball", f"euclidean:{_NUMBERS}"),
        ("without", f"sphere:{_NUMBERS - 1}"),
    ):
        most = []
        for n in (10_000, 40_000):
            command = [sys.executable, __file__, "--hold", spec, str(n)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            most.append(int(done.stdout))
        each = (most[1] - most[0]) / 30_000
        times = each / (8 * _NUMBERS)
        print(f"{what}: {each / 1e3:.1f} kB a record, {times:.1f} times its numbers", flush=True)


def main() -> None:
    """Measure every size and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1.0, 5.0])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--watch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--secret-keys", action="store_true")
    parser.add_argument("--hold", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.hold:
        hold_secret(arguments.hold[0], int(arguments.hold[1]))
        return
    if arguments.secret_keys:
        tell_secret_keys()
        return
    if arguments.watch:
        watch(arguments.watch)
        return
    courses = {}
    for gigabytes in arguments.gigabytes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder / "in.parquet", gigabytes)
            command = [sys.executable, __file__, "--watch", str(folder)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        courses[gigabytes] = found["course"]
        memory = [megabytes for _, megabytes in found["course"]]
        print(
            f"{gigabytes:g} GB of records, {found['groups']} groups: {found['seconds']:.1f} s, "
            f"{found['groups'] / found['seconds']:,.0f} groups/s, peak {max(memory):.0f} MB",
            flush=True,
        )
    if arguments.plot:
        plot(courses, arguments.plot)


if __name__ == "__main__":
    main()
