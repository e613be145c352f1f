"""How a job is run: prepared, paid for, released chunk by chunk and finished."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from curvedp._validation import as_count
from curvedp.batch.job import Job, manifest_path, open_job
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.storage import locked
from curvedp.privacy import Ledger
from curvedp.statistics.group_plan import Progress
from curvedp.statistics.group_releases import GroupResults

__all__ = ["CHUNK_ROWS", "release_all", "run"]

#: Records in a chunk, at least.
CHUNK_ROWS = 1 << 19


def run(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    parameters: BatchParameters,
    release: Callable[[Job, Progress], None],
    *,
    ledger: Ledger | None,
    secret: str | os.PathLike[str] | None,
    chunk_rows: int,
    resume: bool,
    progress: Progress | None,
) -> dict[str, Any]:
    """A job from its beginning, or from where it stopped, to its end; `release` fills its parts."""
    rows = as_count(chunk_rows, "chunk_rows")
    target = Path(out).resolve()
    folder = target.with_name(target.name + ".job")
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_if_empty, folder)
        if target.parent.is_dir():
            stack.enter_context(locked(folder))
        job = open_job(source, out, parameters, chunk_rows=rows, secret=secret, resume=resume)
        if job is None:
            text = manifest_path(target).read_text(encoding="utf-8")
            return dict(json.loads(text))
        try:
            job.prepare()
            job.pay(ledger)
        except Exception:
            if not job.is_begun():  # nothing was paid or drawn: no trace of the records stays
                job.remove()
            raise
        release(job, progress or (lambda done, groups: None))
        return job.finish()


def release_all(job: Job, progress: Progress) -> None:
    """Releases the chunks one after the other.

    Meanwhile one thread reads the next, another stores the last and writes it to the result.
    """
    pending, done, groups = deque(job.pending()), job.done(), job.groups
    progress(done, groups)
    if not pending:
        return
    with (
        job.result_draft() as append,
        ThreadPoolExecutor(1) as reader,
        ThreadPoolExecutor(1) as writer,
    ):
        following = reader.submit(job.read, pending[0])
        written: deque[Future[None]] = deque()
        for number in range(job.layout.chunks):
            if number != (pending[0] if pending else None):
                written.append(writer.submit(_again, job, number, append))
                continue
            chunk = following.result()
            pending.popleft()
            if pending:
                following = reader.submit(job.read, pending[0])
            releases = job.release(chunk, _Shifted(progress, done, groups))
            done += len(releases)
            written.append(writer.submit(_keep, job, number, chunk.keys, releases, append))
            del chunk, releases
            while len(written) > 2:  # no more tables than that wait in memory
                written.popleft().result()
        for last in written:
            last.result()


def _keep(
    job: Job, number: int, keys: Any, releases: GroupResults, append: Callable[[Any], None]
) -> None:
    append(job.store(number, keys, releases))


def _again(job: Job, number: int, append: Callable[[Any], None]) -> None:
    append(job.stored(number))


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


class _Shifted:
    """Progress of a chunk as progress of the whole."""

    def __init__(self, progress: Progress, before: int, groups: int) -> None:
        self._progress, self._before, self._groups = progress, before, groups

    def __call__(self, done: int, _: int) -> None:
        self._progress(self._before + done, self._groups)
