"""Batches on a Dask cluster: one task per chunk of whole groups. Needs the extra ``distributed``.

Workers see the file of records, the job's folder and the file of the noise secret under the same
paths as the caller (one machine, or a shared file system). A task holds the folder's path and a
number: neither the secret nor a record travels through the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from curvedp._validation import FloatArray
from curvedp.batch.job import Job, release_chunk
from curvedp.batch.log import Pace, tell
from curvedp.errors import BatchError, MissingExtraError
from curvedp.statistics.call import Report

if TYPE_CHECKING:
    from curvedp.batch.large import PointsOfFile, Sums

try:
    import distributed
except ImportError as error:
    raise MissingExtraError("distributed", needed_for="A batch on a cluster") from error

__all__ = ["check_client", "cluster_of", "release_on", "sums_on"]

#: How often chunks are asked for that the cluster cancelled.
_ROUNDS = 4

#: Dask's distributed scheduler, which is not typed.
_engine: Any = distributed


def check_client(client: Any) -> Any:
    """The client, if it is one."""
    if not isinstance(client, _engine.Client):
        raise TypeError(f"on must be a dask.distributed.Client, got {type(client).__name__}")
    return client


def release_on(client: Any, job: Job, progress: Report) -> None:
    """Releases the chunks that are left to do: one task for each.

    A worker that dies is replaced by Dask: its chunk is released again, with the same noise. Chunks
    that a restart of the cluster cancels are asked for again.
    """
    groups = job.groups
    pace = Pace(job.done(), groups)
    for _ in range(_ROUNDS):
        pending, done = job.pending(), job.done()
        progress(done, groups)
        if not pending:
            return
        common = [[shared] * len(pending) for shared in (str(job.folder), job.identity)]
        try:
            futures = client.map(release_chunk, *common, pending, pure=False)
        except (OSError, RuntimeError, _engine.comm.CommClosedError):
            break
        numbers = dict(zip(futures, pending, strict=True))
        try:
            for future in _engine.as_completed(futures):
                if future.status == "cancelled":
                    continue
                done += future.result()
                progress(done, groups)
                if public := job.public_chunks():
                    tell("chunk", number=numbers[future], **public, **pace.told(done))
        finally:
            client.cancel(futures)
    if job.pending():
        raise BatchError(
            f"the cluster was restarted or lost again and again: resume the batch in {job.folder}; "
            "what is released is stored, and nothing is spent twice"
        )


def sums_on(client: Any, points: PointsOfFile, rows: int, base: FloatArray) -> list[Sums]:
    """`PointsOfFile.piece_sums` of all rows of a file, in order.

    File names, a point of the iteration, sums over pieces of 1024 records and counts of records
    travel through the scheduler: exact numbers about the records, so the cluster must be as
    trusted as the caller.
    """
    total = points.open().rows
    starts = list(range(0, total, rows))
    stops = [min(start + rows, total) for start in starts]
    tasks = client.map(points.sums_of_range, starts, stops, base=base, pure=False)
    found: list[Sums] = client.gather(tasks)
    return found


@contextmanager
def cluster_of(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of as many new processes on this machine."""
    if scheduler is not None:
        with _engine.Client(scheduler) as client:
            yield client
        return
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        _engine.LocalCluster(n_workers=workers, **options) as cluster,
        _engine.Client(cluster) as client,
    ):
        yield client
