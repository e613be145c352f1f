"""A batch from a Parquet file to a Parquet file, in memory that one chunk needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from curvedp.batch.parameters import BatchParameters
from curvedp.batch.run import release_all, run
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger
from curvedp.statistics.dispersion import DEFAULT_WEIGHTS
from curvedp.statistics.group_plan import Progress

__all__ = [
    "adaptive_means_of_file",
    "confidence_regions_of_file",
    "frechet_means_of_file",
    "frechet_variances_of_file",
]


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
    chunk_rows: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Release the Fréchet mean of every group of a Parquet file into another Parquet file.

    The file is read chunk by chunk. A chunk holds whole groups, so memory is bounded by
    `chunk_rows` and the largest group, whatever the size of the file and of its row groups. If the
    keys are not in order, the records are first dealt out to files in the job's folder, one for
    each chunk, which its owner alone can read and which are deleted at the end.

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
    chunk_rows : int, optional
        Records in a chunk, at least; by default 524,288, or as many as make 32 MiB. Results do not
        depend on it.
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
    chunk_rows: int | None = None,
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


def adaptive_means_of_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    by: str | Sequence[str],
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    public_keys: bool,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    mechanism: str | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    pass_over: bool = False,
    normalise: bool = False,
    ledger: Ledger | None = None,
    secret: str | os.PathLike[str] | None = None,
    chunk_rows: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Release the adaptive mean of every group of a Parquet file into another Parquet file.

    As `frechet_means_of_file`, for what `curvedp.adaptive_means` releases: memory of one chunk, the
    same bits for any chunk size, an interrupted batch goes on with ``resume=True`` and pays once.

    Parameters
    ----------
    source, out, by, points, ball, public_keys
        As in `frechet_means_of_file`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What all stages of each group shall satisfy together.
    schedule, quantile, mechanism
        As in `curvedp.adaptive_mean`.
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
        "adaptive",
        by=by,
        points=points,
        ball=ball,
        guarantee=guarantee,
        public_keys=public_keys,
        schedule=schedule if isinstance(schedule, str) else tuple(schedule),
        quantile=quantile,
        mechanism=mechanism,
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


def confidence_regions_of_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    by: str | Sequence[str],
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    public_keys: bool,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    pass_over: bool = False,
    normalise: bool = False,
    ledger: Ledger | None = None,
    secret: str | os.PathLike[str] | None = None,
    chunk_rows: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Release a confidence region for every group of a Parquet file into another Parquet file.

    As `frechet_means_of_file`, for what `curvedp.confidence_regions` releases: memory of one chunk,
    the same bits for any chunk size, an interrupted batch goes on with ``resume=True`` and pays
    once.

    Parameters
    ----------
    source, out, by, points, ball, public_keys
        As in `frechet_means_of_file`.
    guarantee : GDP, ZCDP or ApproxDP
        What each whole region shall satisfy.
    level, weights, max_dist, mechanism
        As in `curvedp.confidence_region`.
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
        "region",
        by=by,
        points=points,
        ball=ball,
        guarantee=guarantee,
        public_keys=public_keys,
        level=level,
        weights=None if weights is None else tuple(weights),
        max_dist=max_dist,
        mechanism=mechanism,
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
