"""Statistics of many groups on a Dask cluster: one task per chunk of whole groups."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from curvedp.batch.job import Job, release_chunk
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.run import run
from curvedp.distributed._dask import check_client, engine
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger
from curvedp.statistics.dispersion import DEFAULT_WEIGHTS
from curvedp.statistics.group_plan import Progress

__all__ = [
    "adaptive_means_of_file",
    "cluster_of",
    "confidence_regions_of_file",
    "frechet_means_of_file",
    "frechet_variances_of_file",
    "release_on",
]


def frechet_means_of_file(
    client: Any,
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
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """`curvedp.batch.frechet_means_of_file` with the chunks released by the workers of a cluster.

    The result is that of the local call with the same secret, bit for bit. A worker that dies is
    replaced by Dask: its chunk is released again, with the same noise, and nothing is spent again.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the files under the same paths.
    source, out, by, points, ball, guarantee, public_keys, records_per_unit, groups_per_unit
        As in `curvedp.batch.frechet_means_of_file`.
    mechanism, pass_over, normalise, ledger, secret, chunk_rows, resume, progress
        As in `curvedp.batch.frechet_means_of_file`.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError, SecretError, BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.batch.frechet_means_of_file`.
    """
    cluster = check_client(client)
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
        lambda job, report: release_on(cluster, job, report),
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


def frechet_variances_of_file(
    client: Any,
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
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """`curvedp.batch.frechet_variances_of_file` on a cluster, as `frechet_means_of_file`.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the files under the same paths.
    source, out, by, points, ball, guarantee, public_keys, max_dist, weights
        As in `curvedp.batch.frechet_variances_of_file`.
    records_per_unit, groups_per_unit, pass_over, normalise
        As in `curvedp.batch.frechet_variances_of_file`.
    ledger, secret, chunk_rows, resume, progress
        As in `curvedp.batch.frechet_variances_of_file`.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError, SecretError, BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.batch.frechet_variances_of_file`.
    """
    cluster = check_client(client)
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
        lambda job, report: release_on(cluster, job, report),
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


def adaptive_means_of_file(
    client: Any,
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
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """`curvedp.batch.adaptive_means_of_file` on a cluster, as `frechet_means_of_file`.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the files under the same paths.
    source, out, by, points, ball, guarantee, public_keys
        As in `curvedp.batch.adaptive_means_of_file`.
    schedule, quantile, mechanism
        As in `curvedp.batch.adaptive_means_of_file`.
    records_per_unit, groups_per_unit, pass_over, normalise
        As in `curvedp.batch.adaptive_means_of_file`.
    ledger, secret, chunk_rows, resume, progress
        As in `curvedp.batch.adaptive_means_of_file`.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError, SecretError, BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.batch.adaptive_means_of_file`.
    """
    cluster = check_client(client)
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
        lambda job, report: release_on(cluster, job, report),
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


def confidence_regions_of_file(
    client: Any,
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
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """`curvedp.batch.confidence_regions_of_file` on a cluster, as `frechet_means_of_file`.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the files under the same paths.
    source, out, by, points, ball, guarantee, public_keys
        As in `curvedp.batch.confidence_regions_of_file`.
    level, weights, max_dist, mechanism
        As in `curvedp.batch.confidence_regions_of_file`.
    records_per_unit, groups_per_unit, pass_over, normalise
        As in `curvedp.batch.confidence_regions_of_file`.
    ledger, secret, chunk_rows, resume, progress
        As in `curvedp.batch.confidence_regions_of_file`.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    BatchError, SecretError, BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.batch.confidence_regions_of_file`.
    """
    cluster = check_client(client)
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
        lambda job, report: release_on(cluster, job, report),
        ledger=ledger,
        secret=secret,
        chunk_rows=chunk_rows,
        resume=resume,
        progress=progress,
    )


def release_on(client: Any, job: Job, progress: Progress) -> None:
    """One task for each chunk that is left to do."""
    pending, done, groups = job.pending(), job.done(), job.groups
    progress(done, groups)
    common = [[shared] * len(pending) for shared in (str(job.folder), job.identity)]
    futures = client.map(release_chunk, *common, pending, pure=False)
    try:
        for _, released in engine.as_completed(futures, with_results=True):
            done += released
            progress(done, groups)
    finally:
        client.cancel(futures)


@contextmanager
def cluster_of(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of as many new processes on this machine."""
    if scheduler is not None:
        with engine.Client(scheduler) as client:
            yield client
        return
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        engine.LocalCluster(n_workers=workers, **options) as cluster,
        engine.Client(cluster) as client,
    ):
        yield client
