"""A batch in memory: an Arrow table in, a table of releases and a manifest out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._validation import FloatArray
from curvedp.batch._arrow import pa, pc
from curvedp.batch.chunk import Chunk, rows_of_chunk
from curvedp.batch.columns import as_table, in_order, key_columns, records, runs, select
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.results import charged, count_sizes, manifest, releases_table
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.statistics.dispersion import DEFAULT_WEIGHTS
from curvedp.statistics.group_plan import Offsets, Progress, noise_keys

__all__ = [
    "BatchReleases",
    "adaptive_means",
    "confidence_regions",
    "frechet_means",
    "frechet_variances",
]


@dataclass(frozen=True)
class BatchReleases:
    """Releases of a batch.

    Attributes
    ----------
    table : pyarrow.Table
        One row per group in the order of the keys: the key's columns, `n`, `value` (of a mean a
        fixed-size list, row-major; of a variance a number, beside it the private `mean` and its
        `mean_scale`; of an adaptive mean beside it the `radius` of the last ball; of a region its
        estimate, beside it `chart_point`, `covariance`, `quantile` and `dof`), `sensitivity`,
        `scale`, `expected_error` (of a region its mean's), `guarantee`.
    manifest : dict
        What the releases promise together, and from what they came; for JSON.
    """

    table: Any
    manifest: dict[str, Any]

    def manifest_json(self) -> str:
        """The manifest as JSON text."""
        return json.dumps(self.manifest, indent=2, allow_nan=False)


def frechet_means(
    data: Any,
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
    secret: NoiseSecret | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> BatchReleases:
    """Release the Fréchet mean of every group of a table.

    Parameters
    ----------
    data : anything with ``__arrow_c_stream__``
        A pyarrow, polars or pandas table, in any order.
    by : str or sequence of str
        Columns of the group key: integers, booleans, strings, dates. Rows whose key is missing form
        groups of their own.
    points : str or sequence of str
        The column of points (fixed-size lists in row-major order, or tensors), or one column for
        each number. A missing point counts as the ball's centre.
    ball : Ball
        Public domain of all groups.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release of each group shall satisfy.
    public_keys : bool
        Must be True: you declare that the keys, and which record has which, are public. Without
        that the releases do not compose in parallel, and the batch is refused.
    records_per_unit, groups_per_unit : int
        Number of records that one unit (a person) contributes to any one group, and number of
        groups to which it contributes, at most.
    mechanism : str, optional
        See `choose_mechanism`.
    pass_over : bool
        Pass over groups that are too small for the mechanism to exist, instead of raising.
    normalise : bool
        Bring directions to the sphere's radius and landmarks to centred shapes of unit size first.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn.
    secret : NoiseSecret, optional
        Derive the noise from a secret; by default it comes from a fresh key.
    progress : callable, optional
        Called with the number of groups done and their number in all.

    Returns
    -------
    BatchReleases

    Raises
    ------
    BatchError
        Without public keys, for missing columns, wrong types and shapes, and an empty table.
    BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.frechet_means`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, curvedp as cdp, curvedp.batch
    >>> rows = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> table = pa.table({"site": np.arange(600) % 3, "direction": list(rows)})
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> releases = cdp.batch.frechet_means(
    ...     table, by="site", points="direction", ball=ball,
    ...     guarantee=cdp.PureDP(epsilon=1.0), public_keys=True,
    ... )
    >>> releases.table.column("n").to_pylist(), releases.manifest["groups"]
    ([200, 200, 200], 3)
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
    return _release_table(data, parameters, ledger, secret, progress)


def frechet_variances(
    data: Any,
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
    secret: NoiseSecret | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> BatchReleases:
    """Release the Fréchet variance of every group of a table, each with its private mean.

    Parameters
    ----------
    data, by, points, ball, public_keys
        As in `frechet_means`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What mean and variance of each group shall satisfy together.
    max_dist, weights
        As in `curvedp.frechet_variances`.
    records_per_unit, groups_per_unit, pass_over, normalise, ledger, secret, progress
        As in `frechet_means`.

    Returns
    -------
    BatchReleases

    Raises
    ------
    BatchError, BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, curvedp as cdp, curvedp.batch
    >>> rows = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> table = pa.table({"site": np.arange(600) % 3, "direction": list(rows)})
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> releases = cdp.batch.frechet_variances(
    ...     table, by="site", points="direction", ball=ball,
    ...     guarantee=cdp.GDP(mu=1.0), public_keys=True,
    ... )
    >>> releases.table.column_names[:5]
    ['site', 'n', 'value', 'mean', 'mean_scale']
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
    return _release_table(data, parameters, ledger, secret, progress)


def adaptive_means(
    data: Any,
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
    secret: NoiseSecret | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> BatchReleases:
    """Release the adaptive mean of every group of a table.

    Parameters
    ----------
    data, by, points, ball, public_keys
        As in `frechet_means`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What all stages of each group shall satisfy together.
    schedule, quantile, mechanism
        As in `curvedp.adaptive_mean`.
    records_per_unit, groups_per_unit, pass_over, normalise, ledger, secret, progress
        As in `frechet_means`.

    Returns
    -------
    BatchReleases

    Raises
    ------
    BatchError, BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, curvedp as cdp, curvedp.batch
    >>> rows = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> table = pa.table({"site": np.arange(600) % 3, "direction": list(rows)})
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> releases = cdp.batch.adaptive_means(
    ...     table, by="site", points="direction", ball=ball,
    ...     guarantee=cdp.GDP(mu=1.0), public_keys=True,
    ... )
    >>> releases.table.column_names[:4]
    ['site', 'n', 'value', 'radius']
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
    return _release_table(data, parameters, ledger, secret, progress)


def confidence_regions(
    data: Any,
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
    secret: NoiseSecret | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> BatchReleases:
    """Release a confidence region for the mean of every group of a table.

    Parameters
    ----------
    data, by, points, ball, public_keys
        As in `frechet_means`.
    guarantee : GDP, ZCDP or ApproxDP
        What each whole region shall satisfy.
    level, weights, max_dist, mechanism
        As in `curvedp.confidence_region`.
    records_per_unit, groups_per_unit, pass_over, normalise, ledger, secret, progress
        As in `frechet_means`.

    Returns
    -------
    BatchReleases

    Raises
    ------
    BatchError, BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, curvedp as cdp, curvedp.batch
    >>> rows = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> table = pa.table({"site": np.arange(600) % 3, "direction": list(rows)})
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> releases = cdp.batch.confidence_regions(
    ...     table, by="site", points="direction", ball=ball,
    ...     guarantee=cdp.GDP(mu=1.0), public_keys=True,
    ... )
    >>> releases.table.column_names[2:6]
    ['value', 'chart_point', 'covariance', 'quantile']
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
    return _release_table(data, parameters, ledger, secret, progress)


def _release_table(
    data: Any,
    parameters: BatchParameters,
    ledger: Ledger | None,
    secret: NoiseSecret | None,
    progress: Progress | None,
) -> BatchReleases:
    plan = parameters.plan
    table = as_table(data)
    keys = key_columns(table, parameters.by)
    if not len(keys):
        raise BatchError("the table holds no record")
    firsts, n = runs(keys)
    whole, cuts, ordered = None, _cuts(table, parameters, n), in_order(firsts)
    if len(cuts) == 2 or not ordered:
        whole = _records(table, parameters)
        if not ordered:
            keys, whole = _ordered(keys, whole)
            firsts, n = runs(keys)
        cuts = [0, len(n)]
    else:
        _records(table.slice(0, 1), parameters)  # their shape, before all else
    designs, choice = plan.designs(n)
    if ledger is not None:
        ledger.spend(plan.total, label=f"{plan.statistic} of {len(n)} groups")
    ends = np.concatenate(([0], np.cumsum(n)))
    parts, passed_over = [], set[int]()
    for start, stop in itertools.pairwise(cuts):
        rows = whole
        if rows is None:
            rows = _records(table.slice(ends[start], ends[stop] - ends[start]), parameters)
        chunk = Chunk.of(firsts.slice(start, stop - start), n[start:stop], rows)
        releases = plan.release(
            chunk.rows,
            chunk.offsets,
            (designs, choice[start:stop]),
            noise_keys(plan, secret, None),  # a fresh one numbers the groups of one call
            names=chunk.names,
            report=progress and _of_all(progress, start, len(n)),
        )
        parts.append(releases_table(chunk.keys, releases))
        passed_over.update(np.unique(releases.n[~releases.released]).tolist())
    described = manifest(
        parameters,
        count_sizes(n),
        passed_over,
        noise="fresh" if secret is None else "kept",
        ledger=None if ledger is None else charged(parameters),
    )
    return BatchReleases(pa.concat_tables(parts), described)


def _of_all(progress: Progress, start: int, groups: int) -> Progress:
    """Progress of a chunk as progress of all groups."""
    return lambda done, _: progress(start + done, groups)


def _records(table: Any, parameters: BatchParameters) -> FloatArray:
    """The records of a table."""
    manifold, normalise = parameters.ball.manifold, parameters.normalise
    return records(table, parameters.points, manifold, normalise=normalise)


def _cuts(table: Any, parameters: BatchParameters, n: Offsets) -> list[int]:
    """Which groups are released together: all, if that takes no copy of all records.

    Columns that lie in pieces, as they do when they come from a file, are brought together chunk by
    chunk. Lists whose lengths may differ are looked at all at once, before anything is spent.
    """
    select(table.schema, parameters.points)
    columns = [table.column(name) for name in parameters.points]
    if all(column.num_chunks < 2 for column in columns) or any(
        pa.types.is_list(column.type) or pa.types.is_large_list(column.type) for column in columns
    ):
        return [0, len(n)]
    ends, cuts = np.cumsum(n), [0]
    chunk_rows = rows_of_chunk(None, parameters.ball.manifold)
    while cuts[-1] < len(n):
        begun = ends[cuts[-1]] - n[cuts[-1]]
        cuts.append(min(int(np.searchsorted(ends, begun + chunk_rows)) + 1, len(n)))
    return cuts


def _ordered(keys: Any, rows: FloatArray) -> tuple[Any, FloatArray]:
    """Rows of equal keys side by side, in the order in which they came."""
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return keys.take(order).combine_chunks(), rows[order.to_numpy()]
