"""Exactly so many records of each cell: a random selection, or all with copies of the centre.

A cell is a data set, a group, or a sample of one. Proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.statistics.grouping import Offsets

__all__ = ["Selection"]


class Selection:
    """The records, or units, of each cell that are used, cell by cell, in random order.

    Parameters
    ----------
    first : ndarray of int, shape (cells,)
        Number of the first record, or unit, of each cell.
    n : ndarray of int, shape (cells,)
        How many it has.
    m : ndarray of int, shape (cells,)
        How many are used.
    stream : Stream
    ends : ndarray of int, shape (units + 1,), or None
        Where the records of each unit begin, where units are known by name.
    """

    def __init__(
        self,
        first: Offsets,
        n: Offsets,
        m: Offsets,
        stream: _core.Stream,
        ends: Offsets | None = None,
    ) -> None:
        size = np.maximum(n, m)
        cell = np.repeat(np.arange(len(size)), size)
        place = np.arange(len(cell)) - np.repeat(np.cumsum(size) - size, size)
        order = np.lexsort((distinct_keys(len(cell), stream), cell))
        used = order[place < m[cell]]
        own, at = cell[used], place[used]
        is_there = at < n[own]
        #: Number of each record used; -1 for a copy of the centre, whose cell is in `_added`.
        self._rows = np.where(is_there, first[own] + at, -1)
        self._added = own[~is_there]
        #: Where the records of each unit that is used begin, where units are known by name.
        self.ends: Offsets | None = None
        if ends is not None:
            begin = np.where(is_there, ends[self._rows], -1)
            sizes = np.where(is_there, ends[self._rows + 1] - begin, 1)
            self.ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
            within = np.arange(self.ends[-1]) - np.repeat(self.ends[:-1], sizes)
            self._rows = np.repeat(begin, sizes) + within

    def of(self, rows: FloatArray, padding: Sequence[FloatArray] | FloatArray) -> FloatArray:
        """The rows of the records used, and the cell's own padding for copies of the centre.

        Parameters
        ----------
        rows : ndarray, shape (n, ...)
            Of all records, those of one unit after the other where units are known.
        padding : array-like, shape (cells, ...)
        """
        found = np.empty((len(self._rows), *rows.shape[1:]))
        is_there = self._rows >= 0
        found[is_there] = rows[self._rows[is_there]]
        found[~is_there] = np.asarray(padding, dtype=float)[self._added]
        return found


def distinct_keys(count: int, stream: _core.Stream) -> NDArray[np.uint64]:
    """Independent keys of one law, no two of them equal: if any are, all are drawn again."""
    halves = np.empty(2 * count)
    while True:
        stream.uniform(halves)
        high, low = (halves * 2.0**32).astype(np.uint64).reshape(2, count)
        keys = (high << np.uint64(32)) | low
        in_order = np.sort(keys)
        if not (in_order[1:] == in_order[:-1]).any():
            return np.asarray(keys)
