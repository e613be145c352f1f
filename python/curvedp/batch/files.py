"""A batch from a Parquet file to a Parquet file, in memory that one chunk needs."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from curvedp._validation import as_count
from curvedp.batch.job import Job, manifest_path, open_job
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.storage import locked
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger
from curvedp.statistics.dispersion import DEFAULT_WEIGHTS
from curvedp.statistics.group_releases import GroupReleases

__all__ = ["CHUNK_ROWS", "frechet_means_of_file", "frechet_variances_of_file", "run"]

#: Records in a chunk, at least.
CHUNK_ROWS = 1 << 19

Progress = Callable[[int, int], object]


def frechet_means_of_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    by: str | Sequence[str],
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    public_keys: bool,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    mechanism: str | None = None,
    pass_over: bool = False,
    normalise: bool = False,
    ledger: Ledger | None = None,
    secret: str | os.PathLike[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Release the Fréchet mean of every group of a Parquet file into another Parquet file.

    The file is read chunk by chunk. A chunk holds whole groups, so memory is bounded by
    `chunk_rows`, the file's largest row group and its largest group, whatever the file's size. If
    the keys are not in order, the records are first dealt out to files in the job's folder, which
    its owner alone can read and which are deleted at the end.

    A batch that is cut off, also by kill -9, goes on with ``resume=True``: releases that are stored
    are kept, the others get the noise that they would have got, and the ledger is charged once.

    Parameters
    ----------
    source : path
        Parquet file of records.
    out : path
        Parquet file to write, with the columns of `BatchReleases.table`; the manifest goes to
        ``out + ".manifest.json"``. Neither may exist. The unfinished job is kept in
        ``out + ".job"``.
    by, points, ball, guarantee, public_keys, records_per_unit, groups_per_unit, mechanism
        As in `frechet_means`.
    pass_over, normalise
        As in `frechet_means`.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn; with a path if the job may be resumed.
    secret : path, optional
        File of a `NoiseSecret` that is kept; by default one is made in the job's folder and deleted
        with it.
    chunk_rows : int
        Records in a chunk, at least. Results do not depend on it.
    resume : bool
        Go on with a job that was interrupted; begins one if there is none, and does nothing if it
        is finished.
    progress : callable, optional
        Called with the number of groups done and their number in all.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError
        Without public keys; if a file cannot be read, lacks a column or exists already; if what is
        resumed differs from what is asked for.
    SecretError
        If the secret cannot be used.
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means`.
    """
    parameters = BatchParameters.check(
        "mean",
        by=by,
        points=points,
        ball=ball,
        guarantee=guarantee,
        public_keys=public_keys,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        mechanism=mechanism,
        pass_over=pass_over,
        normalise=normalise,
    )
    return run(
        source,
        out,
        parameters,
        release_all,
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


def frechet_variances_of_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    by: str | Sequence[str],
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    public_keys: bool,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    pass_over: bool = False,
    normalise: bool = False,
    ledger: Ledger | None = None,
    secret: str | os.PathLike[str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Release the Fréchet variance of every group of a Parquet file into another Parquet file.

    As `frechet_means_of_file`, for what `frechet_variances` releases: memory of one chunk, the same
    bits for any chunk size, an interrupted batch goes on with ``resume=True`` and pays once.

    Parameters
    ----------
    source, out, by, points, ball, guarantee, public_keys
        As in `frechet_means_of_file`; `guarantee` is of mean and variance together.
    max_dist, weights
        As in `curvedp.frechet_variances`.
    records_per_unit, groups_per_unit, pass_over, normalise
        As in `frechet_means_of_file`.
    ledger, secret, chunk_rows, resume, progress
        As in `frechet_means_of_file`.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError, SecretError, BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means_of_file`.
    """
    parameters = BatchParameters.check(
        "variance",
        by=by,
        points=points,
        ball=ball,
        guarantee=guarantee,
        public_keys=public_keys,
        max_dist=max_dist,
        weights=tuple(weights),
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        pass_over=pass_over,
        normalise=normalise,
    )
    return run(
        source,
        out,
        parameters,
        release_all,
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


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
    job: Job, number: int, keys: Any, releases: GroupReleases, append: Callable[[Any], None]
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
