"""Chunk of a batch: whole groups that are released together, as many as memory shall hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_count
from curvedp.batch.columns import RecordColumns
from curvedp.batch.keys import Hashes, group_names
from curvedp.privacy import NoiseSecret
from curvedp.statistics.call import Call, Designs, Report
from curvedp.statistics.grouping import Names, Offsets, side_by_side, units_of_groups
from curvedp.statistics.paid import Paid
from curvedp.statistics.release import sizes_of
from curvedp.statistics.releases import Releases
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.tallies import Weights

__all__ = ["Chunk", "rows_of_chunk"]

#: Records of a chunk, and their bytes, where their number is not given: whatever is reached first.
_CHUNK_ROWS, _CHUNK_BYTES = 1 << 19, 1 << 25


def rows_of_chunk(chunk_rows: int | None, width: int) -> int:
    """Least number of records of a chunk."""
    if chunk_rows is None:
        return max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // (8 * width)))
    return as_count(chunk_rows, "chunk_rows")


@dataclass(frozen=True)
class Chunk:
    """Whole groups of records, ready to be released.

    Attributes
    ----------
    keys : pyarrow.Table
        One row per group.
    offsets : ndarray of int
        First record of each group, and the number of records.
    names : pair of ndarray
        The groups' names, for the keys of their noise.
    points : ndarray, shape (n, point_size)
        The records.
    beside : ndarray, shape (n,), or None
        What each record has beside its point.
    unit_ends : ndarray of int, or None
        Where the records of each unit begin and the last one's end, where units have names.
    units : ndarray or None
        The hash of each unit's name.
    """

    keys: Any
    offsets: Offsets
    names: Names
    points: FloatArray
    beside: FloatArray | None = None
    unit_ends: Offsets | None = None
    units: Hashes | None = None

    @classmethod
    def of(cls, keys: Any, n: Offsets, rows: FloatArray, columns: RecordColumns) -> Chunk:
        """From each group's key and number of records, and what was read of all records, one after
        the other."""
        offsets = np.concatenate(([0], np.cumsum(n, dtype=np.int64)))
        units, ends = columns.units_of(rows), None
        if units is not None:
            order, ends = side_by_side(units, offsets)
            rows, units = rows[order], units[order[ends[:-1]]]
        points, beside = columns.points_of(rows), columns.beside_of(rows)
        return cls(keys, offsets, group_names(keys), points, beside, ends, units)

    @property
    def n(self) -> Offsets:
        """Number of records of each group, or of its units where they have names."""
        if self.unit_ends is None:
            return np.diff(self.offsets)
        return units_of_groups(self.unit_ends, self.offsets)

    def sizes(self, statistic: Statistic[Any]) -> Offsets:
        """Public sizes of its groups: see `Statistic.parts`."""
        return sizes_of(statistic, self.beside, self.offsets, self.unit_ends)

    @quiet
    def release(
        self,
        call: Call,
        secret: NoiseSecret | None,
        designs: Designs | None = None,
        report: Report | None = None,
    ) -> tuple[Releases[Any], Weights | None]:
        """The releases of its groups, for which the ledger has paid, and its share of one count.

        That share is exact: it is private like the records. Counts of each group stand with the
        releases.
        """
        paid = Paid(
            call=call,
            records=self.points,
            offsets=self.offsets,
            designs=call.designs(self.sizes(call.statistic)) if designs is None else designs,
            keys=call.keys(secret, None),  # a fresh one numbers the groups of one call
            labels=range(len(self.offsets) - 1),
            names=self.names,
            report=report,
            beside=self.beside,
            unit_ends=self.unit_ends,
            units_by_name=self.unit_ends is not None,
            by_secret=secret is not None,
        )
        ready = paid.by_unit()
        found = call.statistic.release(ready if secret is None else ready.salted())
        return paid.with_counts(found), paid.weights() if call.counts_all else None
