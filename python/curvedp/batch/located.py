"""The Fréchet mean without a ball of the records of a file larger than memory.

What a search asks for are sums of integers, so a file may be read in chunks of any size: each sum
is the same to the last bit (docs/proofs/sums-of-messages.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_count
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.columns import RecordColumns
from curvedp.batch.files import Location
from curvedp.batch.large import blocks_of
from curvedp.batch.parquet import Source
from curvedp.checked_domain import WholeSpace
from curvedp.domain import Ball
from curvedp.errors import BatchError
from curvedp.manifolds import Manifold, Product
from curvedp.manifolds.reading import Reading
from curvedp.privacy import Guarantee, Ledger
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.payment import charged
from curvedp.statistics.call import Call, CoverageOption, Report
from curvedp.statistics.counting import counted, with_coverage
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.located_release import LocatedMeanRelease
from curvedp.statistics.paid import Paid, Unheld
from curvedp.statistics.release import settle_release
from curvedp.statistics.search_design import factors_of
from curvedp.statistics.statistic import Statistic
from curvedp.sums.messages import Request
from curvedp.sums.records import RecordSums

__all__ = ["is_searched", "release_located_of_file"]

_AGAIN = "leave the file as it is and begin anew"


class RowsOfFile:
    """The records of a file, read in chunks as often as they are needed.

    Parameters
    ----------
    source : Source
    columns : RecordColumns
    chunk_rows : int or None
    report : callable or None
        Called with the number of readings.
    """

    def __init__(
        self, source: Source, columns: RecordColumns, chunk_rows: int | None, report: Report | None
    ) -> None:
        self._source = source
        self._columns = columns
        self._rows = rows_of_chunk(chunk_rows, columns.manifold.point_size)
        self._report = report
        self._readings = 0

    def chunks(self) -> Iterator[FloatArray]:
        """Points of each chunk, shape (rows, *point_shape)."""
        space = self._columns.manifold
        for table in blocks_of(self._source, self._rows):
            rows = self._columns.read(table)
            yield self._columns.points_of(rows).reshape(len(rows), *space.point_shape)
        self._source.check_unchanged(of="mean", end=_AGAIN)
        self._readings += 1
        if self._report is not None:
            self._report(self._readings, 0)


class FileSums(RecordSums):
    """Exact sums of the messages of a file's records, on one factor of a product: private.

    Parameters
    ----------
    rows : RowsOfFile
    space : Manifold
        The manifold of the records.
    number : int
        Number of the factor; 0 if the manifold is no product.
    """

    def __init__(self, rows: RowsOfFile, space: Manifold, number: int) -> None:
        self._factor = factors_of(space)[number]
        super().__init__(self._factor, np.empty((0, *self._factor.point_shape)), None)
        self._file, self._space, self._number = rows, space, number

    def answer(self, request: Request) -> NDArray[np.int64]:
        total = super().answer(request)
        for points in self._file.chunks():
            total = total + RecordSums(self._factor, self._part(points), None).answer(request)
        return total

    def _part(self, points: FloatArray) -> FloatArray:
        space = self._space
        return space.split(points)[self._number] if isinstance(space, Product) else points


def is_searched(statistic: Any, domain: Any) -> bool:
    """True for a mean whose sums may be those of a file's chunks."""
    return type(statistic) is LocatedMean and isinstance(domain, WholeSpace)


@quiet
def release_located_of_file(
    statistic: Statistic[Any],
    location: Location,
    points: Sequence[str],
    domain: Ball,
    guarantee: Guarantee,
    *,
    reading: Reading,
    records_per_unit: int,
    ledger: Ledger | None,
    chunk_rows: int | None,
    progress: Report | None,
    coverage: CoverageOption,
) -> LocatedMeanRelease:
    """The mean of all records of a file, in memory that one chunk needs.

    The file is read once before anything is paid for, so that what cannot be read costs nothing,
    and once for each sum. A search that is cut off has spent what it was to cost.
    """
    space, is_public = domain.manifold, not adds_or_removes(guarantee)
    file = Source(location, points)
    if is_public and not file.rows:
        raise BatchError(f"{file.name} holds no record")
    columns = RecordColumns(
        *(tuple(points), space, None, None, statistic), is_public=is_public, reading=reading
    )
    rows = RowsOfFile(file, columns, chunk_rows, progress)
    sizes = np.array([file.rows if is_public else 0], dtype=np.int64)
    call = Call(
        statistic=statistic,
        balls=(domain,),
        guarantee=guarantee,
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
    )
    call, designs, uncounted = counted(call, sizes, coverage, int(sizes[0]), alone=True)
    call.warn_of_noise(designs, sizes)
    call.check_budget(ledger)
    for _ in rows.chunks():
        pass
    factors, provenance = len(factors_of(space)), call.pay(ledger, None)
    with charged(ledger):
        paid = Paid(
            call=call,
            records=np.empty((0, space.point_size)),
            offsets=np.zeros(2, dtype=np.int64),
            designs=designs,
            keys=call.keys(None, None),
            labels=range(1),
            is_grouped=False,
            provenance=provenance,
            unheld=Unheld(file.rows, [FileSums(rows, space, k) for k in range(factors)]),
        )
        releases = statistic.release(paid)
        released, spent = statistic.result(releases, 0), statistic.spent(releases)
        if ledger is not None and spent is not None:
            settle_release(released, ledger, spent)
        found: LocatedMeanRelease = with_coverage(released, None, uncounted)
        return found
