"""Units of a batch: a column that names each record's person.

A name is known by its hash of 64 bits. Two names of one hash would count as one unit, which keeps
every guarantee: each still moves one record of a group.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.batch.columns import Hashes
from curvedp.statistics.grouping import most_groups, refuse_many_groups

__all__ = ["Memberships", "first_records"]

#: Units whose groups are counted together, about.
_AT_ONCE = 1 << 23
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def first_records(group: NDArray[Any], units: Hashes) -> NDArray[np.int64]:
    """One record of each unit of each group, group by group."""
    order = np.lexsort((units, group))
    group, units = group[order], units[order]
    changed = (group[1:] != group[:-1]) | (units[1:] != units[:-1])
    return np.asarray(order[np.append([True] * min(len(order), 1), changed)])


class Memberships:
    """The units of all groups of a file, of which no unit shall be in too many.

    They stand in a file that its owner alone can read, and are looked at a part at a time.
    """

    def __init__(self, path: Path, groups_per_unit: int) -> None:
        self._path, self._groups_per_unit = path, groups_per_unit
        path.unlink(missing_ok=True)

    def add(self, units: Hashes) -> None:
        """Adds the units of further groups, once for each group."""
        with os.fdopen(os.open(self._path, _APPEND, 0o600), "wb") as file:
            file.write(np.ascontiguousarray(units).data)

    def check(self) -> None:
        """Refuses a unit in more groups than was said, and deletes the file."""
        most, parts = 0, -(-self._path.stat().st_size // (8 * _AT_ONCE))
        for part in range(parts):
            own = [units[units % np.uint64(parts) == part] for units in self._pieces()]
            most = max(most, most_groups(np.concatenate(own)))
        self._path.unlink()
        refuse_many_groups(most, self._groups_per_unit)

    def _pieces(self) -> Iterator[Hashes]:
        with self._path.open("rb") as file:
            while len(units := np.fromfile(file, dtype=np.uint64, count=_AT_ONCE)):
                yield units
