"""Batches on a Dask cluster: a task for each range of rows, or partition, and then for each stretch
of chunks. Needs the extra ``distributed``.

Workers see the file of records, the job's folder and the file of the noise secret under the same
paths as the caller (one machine, or a shared file system). A task holds the folder's path and a
number: neither the secret nor a record travels through the scheduler.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from curvedp._validation import FloatArray
from curvedp.batch.job import Job
from curvedp.batch.log import Pace, tell
from curvedp.batch.worker import work
from curvedp.errors import BatchError, MissingExtraError
from curvedp.statistics.call import Report

if TYPE_CHECKING:
    from curvedp.batch.large import PointsOfFile, Sums

try:
    import dask
    import distributed
except ImportError as error:
    raise MissingExtraError("distributed", needed_for="A batch on a cluster") from error

__all__ = ["Cluster", "check_client", "cluster_of", "sums_on"]

#: How often tasks are asked for that the cluster cancelled.
_ROUNDS = 4

#: Dask's distributed scheduler, which is not typed.
_engine: Any = distributed


def check_client(client: Any) -> Any:
    """The client, if it is one."""
    if not isinstance(client, _engine.Client):
        raise TypeError(f"on must be a dask.distributed.Client, got {type(client).__name__}")
    return client


class Cluster:
    """The workers of a cluster: see `curvedp.batch.run.Workers`.

    A worker that dies is replaced by Dask, and what it was to do is done again, with the same
    noise. Tasks that a restart of the cluster cancels are asked for again.
    """

    reads_here = False

    def __init__(self, client: Any) -> None:
        self._client = client

    def each(self, job: Job, step: str, numbers: Sequence[int]) -> Iterator[Any]:
        """Results of a step for each number, in their order."""
        found: dict[int, Any] = {}
        coming = iter(numbers)
        wanted = next(coming, None)
        for number, result in self._found(job, step, numbers):
            found[number] = result
            while wanted in found:
                yield found.pop(wanted)
                wanted = next(coming, None)

    def release(self, job: Job, progress: Report) -> None:
        """Releases the chunks that are left to do, a stretch a task, and writes the result."""
        groups, stretches = job.groups, job.layout.stretches
        missing, done = set(job.pending()), job.done()
        pace, public = Pace(done, groups), job.public_chunks()
        progress(done, groups)
        if not missing:
            return
        left = [
            k for k, ends in enumerate(pairwise(stretches)) if missing.intersection(range(*ends))
        ]
        with job.result_draft() as append:
            ready = iter(range(job.layout.chunks))
            wanted = next(ready, None)

            def write() -> None:
                """Writes what is released of the chunks that come next."""
                nonlocal wanted
                while wanted is not None and wanted not in missing:
                    append(job.stored(wanted))
                    wanted = next(ready, None)

            write()
            for number, released in self._found(job, "release", left):
                own = missing.intersection(range(*stretches[number : number + 2]))
                missing -= own
                done += released
                progress(done, groups)
                if public:
                    tell("chunk", number=max(own), **public, **pace.told(done))
                write()

    def _found(self, job: Job, step: str, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Numbers and what a step finds for them, as workers are ready."""
        left = list(numbers)
        for _ in range(_ROUNDS):
            if not left:
                return
            shared = (str(job.folder), job.identity, secrets.token_hex(8), step)
            common = [[own] * len(left) for own in shared]
            try:
                futures = self._client.map(work, *common, left, pure=False)
            except (OSError, RuntimeError, _engine.comm.CommClosedError):
                break
            asked = dict(zip(futures, left, strict=True))
            try:
                for future in _engine.as_completed(futures):
                    if future.status != "cancelled":
                        yield asked[future], future.result()
                        left.remove(asked[future])
            finally:
                self._client.cancel(futures)
        if left:
            raise BatchError(
                f"the cluster was restarted or lost again and again: resume the batch in "
                f"{job.folder}; what is released is stored, and nothing is spent twice"
            )


def sums_on(client: Any, points: PointsOfFile, rows: int, base: FloatArray) -> list[Sums]:
    """`PointsOfFile.piece_sums` of all rows of a file, in order.

    File names, a point of the iteration, sums over pieces of 1024 records and counts of records
    travel through the scheduler: exact numbers about the records, so the cluster must be as
    trusted as the caller.
    """
    total = points.source.rows
    starts = list(range(0, total, rows))
    stops = [min(start + rows, total) for start in starts]
    shared = client.scatter(points, hash=False)  # once to each worker, not with each task
    common = [[shared] * len(starts), [_Exact(base)] * len(starts)]
    tasks = client.map(_sums_of_range, *common, starts, stops, pure=False)
    found: list[Sums] = client.gather(tasks)
    return found


@dataclass(frozen=True, repr=False)
class _Exact:
    """Exact numbers about the records, which no log of a task that fails may show."""

    numbers: FloatArray


def _sums_of_range(points: PointsOfFile, base: _Exact, start: int, stop: int) -> Sums:
    return points.sums_of_range(start, stop, base.numbers)


@contextlib.contextmanager
def cluster_of(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of as many new processes on this machine."""
    if scheduler is not None:
        with _engine.Client(scheduler) as client:
            yield client
        return
    # a dashboard on the port that is free, which this machine alone reaches
    options = {
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        _engine.LocalCluster(n_workers=workers, local_directory=_scratch(), **options) as cluster,
        _engine.Client(cluster) as client,
    ):
        yield client


def _scratch() -> str:
    """A folder of its owner alone: workers may spill exact sums to it, and load what lies there.

    It stays, for Dask to clear away what processes left that were killed.
    """
    place = dask.config.get("temporary-directory", None) or tempfile.gettempdir()
    if os.name != "posix":  # where temporary folders are their user's alone
        return str(place)
    owner = os.getuid()
    folder = os.path.join(place, f"curvedp-{owner}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, mode=0o700)
    found = os.lstat(folder)
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == owner and not found.st_mode & 0o077
    return folder if is_own else tempfile.mkdtemp(prefix="curvedp-", dir=place)
