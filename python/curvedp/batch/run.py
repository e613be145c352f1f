"""Run of a job: prepared, paid for, released chunk by chunk and finished."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from curvedp import _core
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.files import Location, check_outside
from curvedp.batch.folder import folder_of
from curvedp.batch.job import Job
from curvedp.batch.log import Pace, tell
from curvedp.batch.opening import open_job
from curvedp.batch.output import output_of, read_manifest
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.storage import locked
from curvedp.batch.upload import Upload, place_of
from curvedp.errors import BatchError
from curvedp.privacy import Ledger
from curvedp.statistics.call import Report
from curvedp.statistics.releases import Releases
from curvedp.statistics.tallies import Weights

__all__ = ["AT_ONCE", "Threads", "Workers", "run"]

#: How notes of errors name the call that goes on; the command line puts its own in its place.
_RESUME = "resume=True"

#: Most chunks that are released at a time, and seconds between two looks at their progress.
AT_ONCE = 4
_LOOK = 0.1


def run(
    location: Location,
    out: str | os.PathLike[str],
    stage: str | os.PathLike[str] | None,
    parameters: BatchParameters,
    workers: Workers,
    *,
    ledger: Ledger | None,
    secret: str | os.PathLike[str] | None,
    chunk_rows: int | None,
    resume: bool,
    progress: Report | None,
) -> dict[str, Any]:
    """Runs a job to its end, from its beginning or where it stopped, by some workers."""
    rows = rows_of_chunk(chunk_rows, parameters.columns.width)
    target, upload = place_of(out, stage)
    if not target.parent.is_dir():
        raise BatchError(f"{target.parent}: no such folder")
    with locked(target):
        check_outside(target.as_posix(), location)
        if upload is not None:
            check_outside(upload.uri, location)
            upload.check_vacant()
        job = open_job(
            location,
            target,
            parameters,
            chunk_rows=rows,
            secret=secret,
            ledger=ledger,
            resume=resume,
        )
        if job is None:
            if upload is not None:
                upload.copy()
            return read_manifest(output_of(target, folder_of(target), ""))
        begun = time.monotonic()
        with _kept(job, upload), _told(target):
            try:
                job.prepare(partial(workers.each, job), reads_here=workers.reads_here)
                job.pay(ledger)
            except Exception:
                if not job.is_begun():  # nothing was paid or drawn: no trace of the records stays
                    job.remove()
                raise
            call = parameters.call
            public = {
                "out": str(target) if upload is None else upload.name,
                "groups": job.groups,
            } | job.public_chunks()
            paid = "none" if ledger is None else str(call.total)
            tell("begin", statistic=call.statistic.title, **public, done=job.done(), charged=paid)
            workers.release(job, progress or (lambda done, groups: None))
            described = job.finish()
            if upload is not None:
                upload.copy()
        tell("end", **public, seconds=round(time.monotonic() - begun, 3))
        return described


@contextlib.contextmanager
def _kept(job: Job, upload: Upload | None) -> Iterator[None]:
    """Adds to every way out before the end what is paid, where it is kept and how to go on."""
    try:
        yield
    except BaseException as error:
        paid = "paid, " if job.noted.get("ledger") is not None else ""
        if job.folder.is_dir():
            error.add_note(f"{paid}kept in {job.folder}, go on with {_RESUME}")
        elif job.output.out.exists():
            again = "" if upload is None else f", copy it with {_RESUME}"
            error.add_note(f"{paid}released to {job.output.out}{again}")
        raise


@contextlib.contextmanager
def _told(target: Path) -> Iterator[None]:
    """Says how to go on after a full disk or a lack of memory."""
    try:
        yield
    except (OSError, MemoryError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else type(error).__name__
        raise BatchError(
            f"{target}: the batch was cut off ({reason}): mend that and resume, nothing is paid "
            "for or drawn twice"
        ) from error


class Workers(Protocol):
    """Those who do the work of a job."""

    #: Whether this process reads the records.
    reads_here: bool

    def each(self, job: Job, step: str, numbers: Sequence[int]) -> Iterator[Any]:
        """See `curvedp.batch.layout.Each`."""

    def release(self, job: Job, progress: Report) -> None:
        """Releases the chunks that are left to do, and writes all to the result in their order."""


class Threads:
    """The threads of this process."""

    reads_here = True

    def each(self, job: Job, step: str, numbers: Sequence[int]) -> Iterator[Any]:
        """See `Workers`."""
        work, left = getattr(job.division, step), deque(numbers)
        threads = ThreadPoolExecutor(at_once := min(AT_ONCE, _core.num_threads()))
        waiting: deque[Future[Any]] = deque()
        try:
            while left or waiting:
                while left and len(waiting) < 2 * at_once:
                    waiting.append(threads.submit(work, left.popleft()))
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)

    def release(self, job: Job, progress: Report) -> None:
        """See `Workers`."""
        release_all(job, progress)


def release_all(job: Job, progress: Report) -> None:
    """Releases the chunks, several at a time, and writes them to the result in their order.

    Each is read and released by one thread from beginning to end, so that no thread waits for
    another. The last ones, and a chunk of a very large group, are released by all threads
    together, so that no thread is left without work.
    """
    left, tally = deque(job.pending()), _Tally(progress, job)
    tally.tell()
    if not left:
        return
    threads = _core.num_threads()
    at_once = min(AT_ONCE, threads)
    waiting: deque[Future[tuple[Any, Releases[Any], Weights | None]]] = deque()
    missing, reading, begun = set(left), _InTurn(), itertools.count()

    def released(number: int, place: int, alone: bool) -> tuple[Any, Releases[Any], Weights | None]:
        with contextlib.nullcontext() if job.layout.partitions else reading.turn(place):
            chunk = job.read(number)
        _core.set_alone(alone and len(chunk.points) < 2 * job.chunk_rows)
        return chunk.keys, *job.release(chunk, tally.of_chunk(number))

    with job.result_draft() as append, contextlib.ExitStack() as stack:
        workers = ThreadPoolExecutor(at_once)
        stack.callback(workers.shutdown, cancel_futures=True)
        stack.callback(tally.stop)
        for number in range(job.layout.chunks):
            while left and len(waiting) < at_once + 2:
                chunk, alone = left.popleft(), threads == at_once <= len(left)
                waiting.append(workers.submit(released, chunk, next(begun), alone))
            if number not in missing:
                append(job.stored(number))
                continue
            while not wait([waiting[0]], timeout=_LOOK).done:
                tally.tell()
            keys, releases, weights = waiting.popleft().result()
            append(job.store(number, keys, releases, weights))
            tally.finish(number, len(releases))


class _InTurn:
    """Lets threads do something one after the other, in a given order."""

    def __init__(self) -> None:
        self._next, self._changed = 0, threading.Condition()

    @contextlib.contextmanager
    def turn(self, place: int) -> Iterator[None]:
        """Waits for those whose place comes before."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == place)
        try:
            yield
        finally:
            with self._changed:
                self._next += 1
                self._changed.notify_all()


class _Tally:
    """Progress of a whole job, from reports of chunks that are released side by side."""

    def __init__(self, progress: Report, job: Job) -> None:
        self._progress, self._done, self._groups = progress, job.done(), job.groups
        self._of_chunks = [0] * job.layout.chunks
        self._pace = Pace(self._done, self._groups)
        self._chunks, self._stopped = job.public_chunks(), False

    def of_chunk(self, number: int) -> Report:
        """A counter of the releases of one chunk, on whatever thread."""

        def report(done: int, _: int) -> None:
            if self._stopped:
                raise CancelledError
            self._of_chunks[number] = done

        return report

    def tell(self) -> None:
        """Passes on how many groups are done."""
        self._progress(self._done + sum(self._of_chunks), self._groups)

    def finish(self, number: int, groups: int) -> None:
        """Counts a chunk as done."""
        self._of_chunks[number] = 0
        self._done += groups
        self.tell()
        if self._chunks:
            tell("chunk", number=number, **self._chunks, **self._pace.told(self._done))

    def stop(self) -> None:
        """Ends what is under way at its next report."""
        self._stopped = True
