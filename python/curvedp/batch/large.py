"""One mean over data larger than memory.

Every gradient of the iteration is a sum over fixed pieces of records along a fixed tree, as it is
in memory. So the file may be read in chunks of any size, by any number of processes: the mean is
the same to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.columns import records
from curvedp.batch.parameters import ball_from_dict, ball_to_dict
from curvedp.batch.parquet import Source
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.mechanisms import Mechanism
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.entry import Entry, check_ball
from curvedp.statistics.frechet_mean import design_mean

__all__ = ["PointsOfFile", "frechet_mean_of_file", "release_mean_of_file", "whole_pieces"]

#: The sums over all pieces at a point, in order: shape (pieces, dim + 2).
Sums = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class PointsOfFile:
    """The projected points of a Parquet file, read as often as they are needed."""

    path: str
    points: tuple[str, ...]
    ball: dict[str, Any]
    normalise: bool
    fingerprint: dict[str, Any]

    @classmethod
    def of(
        cls,
        source: str | os.PathLike[str],
        points: str | Sequence[str],
        ball: Ball,
        normalise: bool,
    ) -> PointsOfFile:
        """The points of a file's columns."""
        columns = (points,) if isinstance(points, str) else tuple(points)
        file = Source(source, columns)
        if not file.rows:
            raise BatchError(f"{file.path} holds no record")
        space = check_ball(ball).manifold
        records(file.first(), columns, space)  # its shape, before all else
        return cls(str(file.path), columns, ball_to_dict(ball), bool(normalise), file.fingerprint())

    def open(self) -> Source:
        """The file, if it is still the one that was opened first."""
        file = Source(self.path, self.points)
        if file.fingerprint() != self.fingerprint:
            raise BatchError(f"{self.path} changed while its mean was computed")
        return file

    def piece_sums(self, table: Any, ball: Ball, base: FloatArray) -> FloatArray:
        """Sums over the pieces of a table's rows."""
        frame = ball._frame
        rows = records(table, self.points, ball.manifold, normalise=self.normalise)
        inside = np.empty((len(rows), frame.manifold.point_size))
        frame.enter(rows, inside)
        sums = np.empty((-(-len(rows) // _core.PIECE), frame.manifold.dim + 2))
        frame.piece_sums(inside, base, sums)
        return sums

    def sums_of_range(self, start: int, stop: int, base: FloatArray) -> FloatArray:
        """Sums over the pieces of some rows. For worker processes; `start` begins a piece."""
        point = np.array(base)  # what a scheduler hands over need not be aligned
        return self.piece_sums(self.open().read(start, stop), ball_from_dict(self.ball), point)


def frechet_mean_of_file(
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
    """Release the Fréchet mean of all records of a Parquet file, which need not fit in memory.

    As `curvedp.frechet_mean` on the same records in memory, bit for bit for the same noise. The
    file is read once for each gradient, four to ten times in all.

    Parameters
    ----------
    source : path
        Parquet file.
    points : str or sequence of str
        The column of points, or one column for each number, as in `frechet_means`.
    ball, guarantee, records_per_unit, mechanism, ledger, seed
        As in `curvedp.frechet_mean`.
    normalise : bool
        Bring directions to the sphere's radius and landmarks to centred shapes of unit size first.
    chunk_rows : int, optional
        Records in memory at once, at least; by default 524,288, or as many as make 32 MiB. Results
        do not depend on it.
    progress : callable, optional
        Called after each reading of the file with their number.

    Returns
    -------
    Release

    Raises
    ------
    BatchError
        If the file cannot be read, lacks a column, holds no record or changes meanwhile.
    BudgetError, ExistenceError, ValueError, TypeError
        As in `curvedp.frechet_mean`.
    """
    points_of_file = PointsOfFile.of(source, points, ball, normalise)
    rows = whole_pieces(chunk_rows, ball)

    def sums(base: FloatArray) -> FloatArray:
        blocks = blocks_of(points_of_file.open(), rows)
        return np.concatenate([points_of_file.piece_sums(block, ball, base) for block in blocks])

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


def release_mean_of_file(
    points: PointsOfFile,
    sums: Sums,
    *,
    ball: Ball,
    guarantee: Guarantee,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
    ledger: Ledger | None,
    seed: int | None,
    progress: Callable[[int], object] | None,
) -> Release:
    """The mean by an iteration whose gradients `sums` provides."""
    n = points.open().rows
    entry = Entry.check(
        np.broadcast_to(ball.center, (1, *ball.manifold.point_shape)),
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration="proved",
        seed=seed,
        progress=False,
    )
    design = design_mean(
        ball, n, guarantee, entry.records_per_unit, calibration="proved", mechanism=mechanism
    )
    entry.spend("Fréchet mean")
    descent, readings = _core.Descent(ball._frame, design.plan), 0
    while (base := descent.wanted()) is not None:
        descent.advance(sums(base), n)
        readings += 1
        if progress is not None:
            progress(readings)
    noise = design.mechanism
    return entry.release(
        entry.promise(guarantee),
        n=n,
        value=noise._release(descent.point, entry.stream(0), 1)[0],
        mechanism=noise.name,
        statistic="Fréchet mean",
        sensitivity=design.sensitivity,
        solver_tolerance=design.plan.tolerance,
        scale=noise.scale,
        expected_error=noise.expected_error,
    )


def blocks_of(source: Source, rows: int) -> Iterator[Any]:
    """All rows in tables of exactly `rows`, but for the last."""
    waiting: list[Any] = []
    held = 0
    for table in source.batches(source.columns, rows):
        waiting.append(table)
        held += len(table)
        while held >= rows:
            whole = source.joined(waiting)
            yield whole.slice(0, rows)
            waiting = [whole.slice(rows)]
            held -= rows
    if held:
        yield source.joined(waiting)


def whole_pieces(chunk_rows: int | None, ball: Ball) -> int:
    """Records of a chunk, rounded up to whole pieces."""
    return -(-rows_of_chunk(chunk_rows, ball.manifold) // _core.PIECE) * _core.PIECE
