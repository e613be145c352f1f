"""Chunk of a batch: whole groups that are released together, as many as memory shall hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._validation import FloatArray, as_count
from curvedp.batch.columns import group_names
from curvedp.privacy import NoiseSecret
from curvedp.statistics.call import Call, Designs, Report
from curvedp.statistics.grouping import Names, Offsets
from curvedp.statistics.paid import Paid
from curvedp.statistics.releases import Releases

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
    rows : ndarray, shape (n, width)
        The records: a point each, and where there is one the covariate after it.
    """

    keys: Any
    offsets: Offsets
    names: Names
    rows: FloatArray

    @classmethod
    def of(cls, keys: Any, n: Offsets, rows: FloatArray) -> Chunk:
        """From each group's key and number of records, and all records one after the other."""
        offsets = np.concatenate(([0], np.cumsum(n, dtype=np.int64)))
        return cls(keys, offsets, group_names(keys), rows)

    def release(
        self,
        call: Call,
        secret: NoiseSecret | None,
        designs: Designs | None = None,
        report: Report | None = None,
    ) -> Releases[Any]:
        """The releases of its groups, for which the ledger has paid."""
        n, size = np.diff(self.offsets), call.manifold.point_size
        beside = call.statistic.takes_covariate
        paid = Paid(
            call=call,
            records=np.ascontiguousarray(self.rows[:, :size]),
            offsets=self.offsets,
            designs=call.designs(n) if designs is None else designs,
            keys=call.keys(secret, None),  # a fresh one numbers the groups of one call
            labels=range(len(n)),
            names=self.names,
            report=report,
            extra=np.ascontiguousarray(self.rows[:, size]) if beside else None,
        )
        return call.statistic.release(paid if secret is None else paid.salted())
