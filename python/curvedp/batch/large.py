"""One mean over data larger than memory.

Every gradient of the iteration is a sum over fixed pieces of records along a fixed tree, as it is
in memory. So the file may be read in chunks of any size, by any number of processes: the mean is
the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._guard import quiet
from curvedp._validation import FloatArray
from curvedp.batch.build import check_build, own_build
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.columns import RecordColumns
from curvedp.batch.counts import added_up, count_of
from curvedp.batch.files import Location
from curvedp.batch.parameters import ball_from_dict, ball_to_dict
from curvedp.batch.parquet import Source
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.privacy import Ledger, Release
from curvedp.privacy.payment import charged
from curvedp.statistics.call import Call, CoverageOption, Report
from curvedp.statistics.counting import counted, with_coverage
from curvedp.statistics.frechet_mean import released_means
from curvedp.statistics.paid import Paid
from curvedp.statistics.tallies import whole_weights

__all__ = ["PointsOfFile", "release_mean_of_file", "whole_pieces"]


_NOT_PAID = "nothing was paid for"

#: Sums over pieces of records, and exact numbers of records outside the ball and of no points.
Sums = tuple[FloatArray, tuple[int, int]]
#: The sums of consecutive chunks of so many rows, at a point.
SumsOf = Callable[[int, FloatArray], Iterable[Sums]]


@dataclass(frozen=True)
class PointsOfFile:
    """The projected points of a Parquet file, read as often as they are needed."""

    source: Source
    ball: dict[str, Any]
    build: dict[str, str]
    reading: Reading = PLAIN

    @classmethod
    def of(
        cls,
        location: Location,
        points: str | Sequence[str],
        ball: Ball,
        reading: Reading = PLAIN,
    ) -> PointsOfFile:
        """The points of a file's columns."""
        columns = (points,) if isinstance(points, str) else tuple(points)
        file = Source(location, columns)
        if not file.rows:
            raise BatchError(f"{file.name} holds no record")
        space = check_ball(ball).manifold
        RecordColumns(columns, space, reading=reading).read(file.first())  # its shape, before all
        return cls(file, ball_to_dict(ball), own_build(), reading)

    @quiet
    def piece_sums(self, table: Any, ball: Ball, base: FloatArray) -> Sums:
        """Sums over the pieces of a table's rows, and how many are outside and no points."""
        frame = ball.frame
        columns = tuple(self.source.columns)
        rows = RecordColumns(columns, ball.manifold, reading=self.reading).read(table)
        inside = np.empty((len(rows), frame.manifold.point_size))
        counts = frame.enter(rows, inside)
        sums = np.empty((-(-len(rows) // _core.PIECE), frame.manifold.dim + 2))
        frame.piece_sums(inside, base, sums)
        return sums, counts

    def sums(self, rows: int, base: FloatArray) -> Iterator[Sums]:
        """`piece_sums` of all rows, so many at a time, in order."""
        ball = ball_from_dict(self.ball)
        return (self.piece_sums(block, ball, base) for block in blocks_of(self.source, rows))

    def sums_of_range(self, start: int, stop: int, base: FloatArray) -> Sums:
        """`piece_sums` of some rows. For worker processes; `start` begins a piece."""
        check_build(self.build, "the mean began")
        point = np.array(base)  # what a scheduler hands over need not be aligned
        with self.source.anew(self.source.columns) as own:
            table = own.read(start, stop)
        self.source.check_unchanged(start, stop, of="mean", end=_NOT_PAID)
        return self.piece_sums(table, ball_from_dict(self.ball), point)


def release_mean_of_file(
    points: PointsOfFile,
    call: Call,
    *,
    ledger: Ledger | None,
    sums_of: SumsOf,
    chunk_rows: int | None,
    progress: Report | None,
    coverage: CoverageOption,
) -> Release:
    """The mean of all records of a file, which need not fit in memory.

    The file is read once for each gradient of the iteration, by `sums_of`: `PointsOfFile.sums` in
    this process, or the workers of a cluster. The mean is that in memory, bit for
    bit. It is paid for when all is read, just before the draw: a failure until then costs nothing.
    """
    file = points.source
    rows = whole_pieces(chunk_rows, call.ball)
    offsets = np.array([0, file.rows], dtype=np.int64)
    call, designs, uncounted = counted(call, np.diff(offsets), coverage, file.rows, alone=True)
    keys, counts = call.keys(None, None), (0, 0)
    call.warn_of_noise(designs, np.diff(offsets))
    call.check_budget(ledger)
    (design,) = designs[0]
    descent, readings = _core.Descent(call.ball.frame, design.plan), 0
    while (base := descent.wanted()) is not None:
        pieces, found = zip(*sums_of(rows, base), strict=True)
        sums, counts = np.concatenate(pieces), added_up(found)
        descent.advance(sums, file.rows)
        readings += 1
        if progress is not None:
            progress(readings, 0)
    file.check_unchanged(of="mean", end=_NOT_PAID)  # all that was read is of the same file
    provenance = call.pay(ledger, None)  # all is read: only the draw is left
    with charged(ledger):
        paid = Paid(
            call=call,
            records=np.empty((0, call.manifold.point_size)),
            offsets=offsets,
            designs=designs,
            keys=keys,
            labels=range(1),
            is_grouped=False,
            provenance=provenance,
        )
        raw = design.mechanism._release(descent.point, keys.first(), 1)
        value = np.empty_like(raw)
        size = call.manifold.point_size
        frame, in_chart = call.ball.frame, design.mechanism.in_chart
        frame.keep(raw.reshape(1, size), value.reshape(1, size))
        place = np.array(frame.place(raw.reshape(size), design.mean_square, in_chart))
        releases = released_means(paid, value, raw, *place[:, None])
        of_ball = count_of(call, whole_weights(counts), None)
        released: Release = with_coverage(call.statistic.result(releases, 0), of_ball, uncounted)
        return released


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
    return -(-rows_of_chunk(chunk_rows, ball.manifold.point_size) // _core.PIECE) * _core.PIECE
