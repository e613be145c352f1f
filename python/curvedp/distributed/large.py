"""One mean over data larger than memory on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from curvedp._validation import FloatArray
from curvedp.batch.large import PointsOfFile, release_mean_of_file, whole_pieces
from curvedp.distributed._dask import check_client
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism
from curvedp.privacy import Guarantee, Ledger, Release

__all__ = ["frechet_mean_of_file"]


def frechet_mean_of_file(
    client: Any,
    source: str | os.PathLike[str],
    *,
    points: str | Sequence[str],
    ball: Ball,
    guarantee: Guarantee,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
    normalise: bool = False,
    ledger: Ledger | None = None,
    chunk_rows: int | None = None,
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Release:
    """`curvedp.batch.frechet_mean_of_file` with every gradient summed by the workers of a cluster.

    The mean is that of the local call, bit for bit. What travels through the scheduler are file
    names, points of the iteration and sums over pieces of 1024 records: exact numbers about the
    records, so the cluster must be as trusted as the caller. The noise is drawn by the caller.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the file under the same path.
    source, points, ball, guarantee, records_per_unit, mechanism, normalise, ledger
        As in `curvedp.batch.frechet_mean_of_file`.
    chunk_rows, seed, progress
        As in `curvedp.batch.frechet_mean_of_file`; a task holds `chunk_rows` records.

    Returns
    -------
    Release

    Raises
    ------
    BatchError, BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.batch.frechet_mean_of_file`.
    """
    cluster = check_client(client)
    points_of_file = PointsOfFile.of(source, points, ball, normalise)
    rows, total = whole_pieces(chunk_rows, ball), points_of_file.open().rows
    starts = list(range(0, total, rows))
    stops = [min(start + rows, total) for start in starts]

    def sums(base: FloatArray) -> FloatArray:
        tasks = cluster.map(points_of_file.sums_of_range, starts, stops, base=base, pure=False)
        return np.concatenate(cluster.gather(tasks))

    return release_mean_of_file(
        points_of_file,
        sums,
        ball=ball,
        guarantee=guarantee,
        records_per_unit=records_per_unit,
        mechanism=mechanism,
        ledger=ledger,
        seed=seed,
        progress=progress,
    )
