"""Units of a batch: a column that names each record's person.

A name is known by its hash of 64 bits. Two names of one hash would count as one unit, which keeps
every guarantee: each still moves one record of a group.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.batch.keys import Hashes
from curvedp.batch.storage import replacing
from curvedp.statistics.grouping import most_groups, refuse_many_groups

__all__ = ["Memberships", "first_records"]

#: Units whose groups are counted together, about.
_AT_ONCE = 1 << 23


def first_records(group: NDArray[Any], units: Hashes) -> NDArray[np.int64]:
    """One record of each unit of each group, group by group."""
    order = np.lexsort((units, group))
    group, units = group[order], units[order]
    changed = (group[1:] != group[:-1]) | (units[1:] != units[:-1])
    return np.asarray(order[np.append(True, changed)[: len(order)]])


class Memberships:
    """The units of all groups of a file, of which no unit shall be in too many.

    They stand in files of a folder that its owner alone can read, each in order, so that those
    between two hashes are looked at together.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self) -> None:
        """Makes the folder, empty."""
        self.remove()
        # what was given up may still write to it
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def remove(self) -> None:
        """Deletes the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, name: str, units: Hashes) -> None:
        """Adds the units of further groups, once for each group, or again under the same name."""
        if len(units):
            with replacing(self._folder / name) as draft:
                np.sort(units).tofile(draft)

    def check(self, groups_per_unit: int) -> None:
        """Refuses a unit in more groups than was said, and deletes the folder."""
        whole = self._folder.glob("[!.]*")  # a worker that was killed leaves drafts
        counts = {path: path.stat().st_size // 8 for path in whole}
        parts = max(1, -(-sum(counts.values()) // _AT_ONCE))
        cuts = np.array([(part << 64) // parts for part in range(1, parts)], dtype=np.uint64)
        # one file is open at a time: there is one for each range or partition
        ends = {
            path: [0, *np.searchsorted(np.memmap(path, np.uint64, "r"), cuts).tolist(), count]
            for path, count in counts.items()
        }
        most = 0
        for part in range(parts):
            own = [
                np.fromfile(path, np.uint64, end[part + 1] - end[part], offset=8 * end[part])
                for path, end in ends.items()
            ]
            most = max(most, most_groups(np.concatenate([*own, np.empty(0, dtype=np.uint64)])))
        self.remove()
        refuse_many_groups(most, groups_per_unit)
