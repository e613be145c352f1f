"""Work of a job by worker processes, which see its folder, the records and the secret.

A task holds the folder's path, the job's identity, the name of a step and a number: neither the
secret nor a record travels. The job and its input are loaded from the folder once for each step, so
that no worker opens a file that it does not read.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from curvedp import _core
from curvedp.batch.build import check_build
from curvedp.batch.job import Job
from curvedp.errors import BatchError

__all__ = ["work"]


def work(folder: str, identity: str, turn: str, step: str, number: int) -> Any:
    """Result of a step of a job for a number, on the calling thread alone.

    Parameters
    ----------
    folder, identity : str
        The job.
    turn : str
        A word that the caller has not used before: what was loaded for another is loaded anew.
    step : {"scan", "deal", "count", "release"}
        A step of `curvedp.batch.layout.Division`, or the release of a stretch of chunks.
    number : int
    """
    job = _loaded(folder, identity, turn)
    _core.set_alone(True)
    try:
        if step == "release":
            return _release_stretch(job, number)
        return getattr(job.division, step)(number)
    finally:
        _core.set_alone(False)


def _release_chunk(job: Job, number: int, points: Any = None) -> int:
    """Releases a chunk, unless it is; returns the number of its groups."""
    if job.is_done(number):
        return job.released(number)
    chunk = job.read(number, points)
    return len(job.store(number, chunk.keys, *job.release(chunk)))


def _release_stretch(job: Job, number: int) -> int:
    """Releases the chunks of a stretch, which are decoded one after the other."""
    begin, end = job.layout.stretches[number : number + 2]
    with job.source.anew(job.points.columns) as points:
        return sum(_release_chunk(job, chunk, points) for chunk in range(begin, end))


@lru_cache(maxsize=4)
def _loaded(folder: str, identity: str, turn: str) -> Job:
    if not os.path.lexists(folder):
        raise BatchError(
            f"{folder}: not there on a worker of the cluster. Workers must see the folder of the "
            "result, the records and the secret under the same paths"
        )
    job = Job.load(Path(folder))
    if job.identity != identity:
        raise BatchError(f"{folder} is another batch by now")
    check_build(job.build, "the batch began")
    return job
