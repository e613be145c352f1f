"""One function for batches: a statistic, a table or file of records, and, if wanted, a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from curvedp._guard import quiet
from curvedp.batch.columns import RecordColumns, as_table
from curvedp.batch.files import Location, is_files, is_location, location_of, name_of
from curvedp.batch.keys import Table
from curvedp.batch.large import PointsOfFile, release_mean_of_file
from curvedp.batch.located import is_searched, release_located_of_file
from curvedp.batch.parameters import (
    BatchParameters,
    check_columns,
    check_of_batch,
    columns_of,
)
from curvedp.batch.parquet import all_rows
from curvedp.batch.protected import Rows, check_no_guess, refuse, release_protected
from curvedp.batch.run import Threads, Workers, run
from curvedp.batch.tables import BatchReleases, release_table
from curvedp.batch.upload import place_of
from curvedp.checked_domain import WholeSpace, as_domain
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.manifolds.reading import Reading
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.privacy.base import adds_or_removes
from curvedp.product_ball import ProductBall
from curvedp.statistics import Mean, Statistic
from curvedp.statistics.beside import check_statistic
from curvedp.statistics.call import Call, CoverageOption, Progress, reporter
from curvedp.statistics.counting import warn_of_coverage
from curvedp.statistics.release import release_read

__all__ = ["release"]

_PathLike = str | os.PathLike[str]


@quiet
def release(
    statistic: Statistic[Any],
    source: Any,
    *,
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    by: str | Sequence[str] | None = None,
    public_keys: bool = False,
    keys: Any = None,
    n_guess: int | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    covariate: str | None = None,
    labels: str | None = None,
    units: str | None = None,
    order: str | None = None,
    scalar_first: bool | None = None,
    angle_units: str | None = None,
    ledger: Ledger | None = None,
    secret: NoiseSecret | _PathLike | None = None,
    out: _PathLike | None = None,
    stage: _PathLike | None = None,
    on: Any = None,
    chunk_rows: int | None = None,
    resume: bool = False,
    progress: Progress = False,
    coverage: CoverageOption = None,
) -> Any:
    """Release a statistic of every group of a table or file, or of all its records.

    A Parquet file is read chunk by chunk. A chunk holds whole groups, so memory is bounded by
    `chunk_rows` and the largest group, whatever the size of the file and of its row groups. If the
    keys are not in order, the records are first dealt out to files in the job's folder, which its
    owner alone can read and which are deleted at the end. A batch that is cut
    off, also by kill -9, goes on with ``resume=True``: releases that are stored are kept, the
    others get the noise that they would have got, and the ledger is charged once.

    Without `by` all records are one data set. The mean of a file is then computed by reading it
    four to ten times, that without a ball five to twelve times, in memory that one chunk needs;
    other statistics, and a mean with `units`, read all records at once.

    Parameters
    ----------
    statistic : Statistic
        Such as ``Mean()``, ``Variance(within=0.1)``, ``TwoSampleTest()``, or one of your own.
    source : table or place
        Anything with ``__arrow_c_stream__`` (a pyarrow, polars or pandas table) or a lazy frame of
        polars, in any order; or Parquet files: a path, a folder with all below it, a pattern such
        as ``"records/**/*.parquet"``, a list of paths, a pyarrow data set of local files, or a URI
        (``s3://``, ``gs://`` and what else pyarrow or fsspec open). Folders such as ``site=3/``
        name columns. Files come in the order of their paths. What would not be honoured is
        refused: a data set's filter or own schema, or files of a folder with other endings.
    points : str or sequence of str
        The column of points (fixed-size lists in row-major order, or tensors), or one column for
        each number; in any order if their names say what they hold, as ``lat, lon`` do. A missing
        point counts as the ball's centre.
    ball : Ball
        Public domain of all groups.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release of each group.
    by : str or sequence of str, optional
        Columns of the group key: integers, booleans, strings, dates. Rows whose key is missing form
        groups of their own.
    public_keys : bool
        Must be True with `by`, where n is public: you declare that the keys, and which record has
        which, are public. Without that the releases do not compose in parallel, and the batch is
        refused.
    keys : sequence or table, optional
        With ``neighbours="add-remove"`` the public keys of all groups that shall be released: a
        value each, or a tuple for several columns. All have a release, with records or not; records
        with other keys are left out. Without `keys` under ApproxDP the keys are secret: groups with
        enough records are shown, and nothing is said of others. All records are read at once.
    n_guess : int, optional
        With ``neighbours="add-remove"`` and a ball a public guess of the number of records of each
        group: see `curvedp.frechet_mean`.
    records_per_unit, groups_per_unit : int
        Number of records that one unit (a person) contributes to any one group, and number of
        groups to which it contributes, at most. With `units` the second is checked.
    skip_small : bool
        Skip groups that are too small for the mechanism to exist, instead of raising. With
        ``neighbours="add-remove"`` no group is, and it changes nothing.
    covariate : str, optional
        The column of the covariate, which regressions and trends need. A missing one counts as the
        middle of its range.
    labels : str, optional
        The column of the labels, which classifiers and tests of two samples need.
    units : str, optional
        The column that names each record's person, of a type that keys may have; instead of
        `records_per_unit`. All records of a person in a group count as one, their mean, and are
        protected together. The numbers of persons are public, those of their records are not.
    order, scalar_first, angle_units : optional
        How the numbers of points are written: see `Manifold.as_points`. Columns whose names say
        what they hold are read by these; names that contradict the keywords are refused.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn; with a path if a job may be resumed.
    secret : NoiseSecret or path, optional
        Derive the noise from a secret; by default it comes from a fresh key. For files the path of
        a secret that is kept; by default one is made in the job's folder and deleted with it. A
        secret serves the data for which it is used first, and is refused for others.
    out : path, optional
        What to write, which groups of files need where n is public, and which may not exist. A name
        that ends in .parquet is one file, whose manifest goes to ``out + ".manifest.json"``; any
        other name is a folder with files of 65,536 groups and ``_manifest.json``. The unfinished
        job is kept in ``out + ".job"``, which its owner alone can read. Where n is public also the
        URI of an object store.
    stage : path, optional
        The folder of this machine in which a result that goes to a URI is made and kept.
    on : distributed.Client, optional
        Dask cluster whose workers divide and release a file, which they must see under the same
        path. The result is the local one with the same secret, bit for bit. A worker that dies is
        replaced by Dask, and nothing is spent again.
    chunk_rows : int, optional
        Records in a chunk of a file, about; by default 524,288, or as many as make 32 MiB.
        Results do not depend on it.
    resume : bool
        Go on with a job that was interrupted; begins one if there is none, and does nothing if it
        is finished.
    progress : bool or callable
        A callable is called with the number of groups done and their number in all, for the mean of
        all records of a file with the number of readings done, and 0; True prints them to standard
        error. A job also logs a line for each chunk,
        with rate and time left, as ``curvedp.batch`` (see `logging`).
    coverage : bool, "each" or None
        As in `curvedp.frechet_mean`: one count of the records of all groups, skipped ones too,
        which the manifest holds; between chunks its sums are kept under a pad of the secret. "each"
        counts those of every group that is released and large enough, in the columns `inside`,
        `outside`, `no_point` and their standard error, `count_error`.

    Returns
    -------
    BatchReleases, or without `by` the release of all records

    Raises
    ------
    BatchError
        Without public keys; for missing columns, wrong types and shapes, and no records; if a file
        cannot be read or exists already; if what is resumed differs from what is asked for.
    SecretError
        If the secret cannot be used, or has served other data.
    BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.frechet_mean`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, curvedp as cdp, curvedp.batch
    >>> rows = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> table = pa.table({"site": np.arange(600) % 3, "direction": list(rows)})
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> releases = cdp.batch.release(
    ...     cdp.Variance(), table, by="site", points="direction", ball=ball,
    ...     guarantee=cdp.GDP(mu=1.0), public_keys=True,
    ... )
    >>> releases.table.column("n").to_pylist(), releases.table.column_names[2:5]
    ([200, 200, 200], ['value', 'within', 'unclipped'])
    """
    data: Location | Table = location_of(source) if is_files(source) else as_table(source)
    reading = Reading(order, scalar_first, angle_units)
    placed = out is not None or stage is not None
    of_groups = placed or resume or skip_small or groups_per_unit != 1 or keys is not None
    if by is None and of_groups:
        raise TypeError(
            "keys, out, stage, resume, skip_small and groups_per_unit are for groups: give by, or "
            "leave them out and get one release of all records, at once"
        )
    adds = adds_or_removes(guarantee)
    if adds:
        refuse(public_keys=public_keys, secret=secret, stage=stage, on=on, resume=resume)
    elif keys is not None or n_guess is not None:
        raise ValueError('keys and n_guess are for guarantees with neighbours="add-remove"')
    if not adds and not is_location(data) and (on is not None or placed or resume):
        raise TypeError("out, on and resume are for files: a table in memory is released at once")
    on = _checked(on)
    common: dict[str, Any] = {
        "points": points,
        "ball": ball,
        "guarantee": guarantee,
        "records_per_unit": records_per_unit,
        "covariate": covariate,
        "labels": labels,
        "units": units,
        "reading": reading,
    }
    if by is None:
        return _release_all_records(
            statistic,
            data,
            on,
            **common,
            n_guess=n_guess,
            ledger=ledger,
            secret=secret,
            chunk_rows=chunk_rows,
            progress=progress,
            coverage=coverage,
        )
    if adds:
        refuse(chunk_rows=chunk_rows)
        return release_protected(
            statistic,
            data,
            **common,
            by=by,
            keys=keys,
            groups_per_unit=groups_per_unit,
            out=out,
            n_guess=n_guess,
            ledger=ledger,
            progress=progress,
            coverage=coverage,
        )
    parameters = BatchParameters.check(
        statistic,
        by=by,
        public_keys=public_keys,
        groups_per_unit=groups_per_unit,
        skip_small=skip_small,
        for_files=is_location(data),
        coverage=coverage,
        **common,
    )
    if not is_location(data):
        found = release_table(data, parameters, ledger, _loaded(secret), reporter(progress))
    else:
        if out is None:
            raise TypeError("a file needs out, the Parquet file to write")
        if isinstance(secret, NoiseSecret):
            raise TypeError("the secret of a file is given by its path, where workers find it too")
        described = run(
            data,
            out,
            stage,
            parameters,
            _workers(on),
            ledger=ledger,
            secret=secret,
            chunk_rows=chunk_rows,
            resume=resume,
            progress=reporter(progress),
        )
        found = BatchReleases(described, path=place_of(out, stage)[0])
    warn_of_coverage(found.coverage)
    return found


def _checked(on: Any) -> Any:
    """The client of a cluster, if it is one; None for this process."""
    return None if on is None else _cluster().check_client(on)


def _workers(on: Any) -> Workers:
    """Those who do a job's work: threads of this process, or a cluster."""
    return Threads() if on is None else _cluster().Cluster(on)


def _cluster() -> Any:
    """The module of clusters, which few need."""
    from curvedp.batch import cluster

    return cluster


def _release_all_records(
    statistic: Statistic[Any],
    data: Location | Table,
    on: Any,
    *,
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    records_per_unit: int,
    covariate: str | None,
    labels: str | None,
    units: str | None,
    reading: Reading,
    n_guess: int | None,
    ledger: Ledger | None,
    secret: NoiseSecret | _PathLike | None,
    chunk_rows: int | None,
    progress: Progress,
    coverage: CoverageOption,
) -> Any:
    """The release of all records of a table or file as one data set."""
    ball, adds = as_domain(ball), adds_or_removes(guarantee)
    space = ball.manifold
    names, reading = columns_of(points, space, reading)
    given = (covariate, labels, units, records_per_unit)
    beside = check_columns(check_statistic(statistic), (), names, *given)
    if isinstance(ball, WholeSpace):
        statistic = statistic.without_ball()
    columns = RecordColumns(names, space, beside, units, statistic, reading=reading)
    in_one_ball = not isinstance(ball, (ProductBall, WholeSpace))
    by_sums = type(statistic) is Mean and units is None and in_one_ball and not adds
    if is_location(data) and by_sums:
        if secret is not None:
            raise TypeError(
                "the mean of all records of a file has fresh noise, which no secret gives again"
            )
        file = PointsOfFile.of(data, names, ball, reading)
        return release_mean_of_file(
            file,
            Call(
                statistic=statistic,
                balls=(ball,),
                guarantee=guarantee,
                records_per_unit=records_per_unit,
            ),
            ledger=ledger,
            sums_of=file.sums if on is None else partial(_cluster().sums_on, on, file),
            chunk_rows=chunk_rows,
            progress=reporter(progress),
            coverage=coverage,
        )
    if on is not None:
        raise TypeError(
            "on a cluster all records have a mean, if units have no names, and groups every "
            "statistic"
        )
    if is_location(data) and is_searched(statistic, ball) and units is None and secret is None:
        check_no_guess(n_guess)
        return release_located_of_file(
            *(statistic, data, names, ball, guarantee),
            reading=reading,
            records_per_unit=records_per_unit,
            ledger=ledger,
            chunk_rows=chunk_rows,
            progress=reporter(progress),
            coverage=coverage,
        )
    if adds:
        refuse(chunk_rows=chunk_rows)
        check_of_batch(statistic)
    table = all_rows(data, columns.names) if is_location(data) else data
    if adds:
        return Rows(statistic, names, beside, units, ball, reading).release(
            table,
            guarantee=guarantee,
            records_per_unit=records_per_unit,
            n_guess=n_guess,
            ledger=ledger,
            progress=progress,
            coverage=coverage,
        )
    if is_location(data) and not len(table):
        raise BatchError(f"{name_of(data)} holds no record")
    records, numbers, hashes = columns.records(table)
    return release_read(
        statistic,
        records,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        secret=_loaded(secret),
        progress=progress,
        beside=numbers,
        units=hashes,
        coverage=coverage,
    )


def _loaded(secret: NoiseSecret | _PathLike | None) -> NoiseSecret | None:
    """The secret, read if it is a file."""
    return NoiseSecret.load(secret) if isinstance(secret, (str, os.PathLike)) else secret
