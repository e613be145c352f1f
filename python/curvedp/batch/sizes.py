"""Number of groups of each size, in whatever order the keys are, for a dry run."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from curvedp.batch.keys import Hashes, key_columns, key_hashes, unit_hashes
from curvedp.batch.ordered import OutOfOrder, columns_of_keys, groups_in_order
from curvedp.batch.parquet import Source
from curvedp.batch.results import count_sizes
from curvedp.batch.units import first_records
from curvedp.statistics.grouping import Offsets

__all__ = ["group_sizes"]

#: Rows whose keys are looked at together.
_SCAN_ROWS = 1 << 18


def group_sizes(source: Source, by: Sequence[str], units: str | None = None) -> Counter[int]:
    """Number of groups of each number of records, or of units where they have names, in whatever
    order the keys are."""
    sizes = Counter[int]()
    with contextlib.suppress(OutOfOrder):
        for groups, _ in groups_in_order(source, by, units, 0, source.rows):
            sizes.update(count_sizes(groups.sizes))
        return sizes
    return count_sizes(_sizes_by_hash(_hashed(source, by, units)))


#: Hashes of keys and of units' names, and numbers of records.
_Counts = tuple[Hashes, Hashes, Offsets]


def _hashed(source: Source, by: Sequence[str], units: str | None) -> Iterator[_Counts]:
    for table in source.tables(columns_of_keys(by, units), 0, source.rows, _SCAN_ROWS):
        keys = key_hashes(key_columns(table, by))
        names = keys[:0] if units is None else unit_hashes(table, units)
        yield keys, names, np.ones(len(keys), dtype=np.int64)


def _sizes_by_hash(parts: Iterable[_Counts]) -> Offsets:
    """Size of each group. What is held is added up whenever it has doubled, in linear time."""
    held: list[_Counts] = []
    limit = count = 0
    for part in parts:
        held.append(part)
        count += len(part[0])
        if count > limit:
            held = [_added_up(held)]
            count = len(held[0][0])
            limit = 2 * count + _SCAN_ROWS
    keys, names, n = _added_up(held)
    return np.unique(keys, return_counts=True)[1] if len(names) else n


def _added_up(parts: Sequence[_Counts]) -> _Counts:
    """Each pair of hashes once."""
    keys, names, n = (np.concatenate(own) for own in zip(*parts, strict=True))
    if len(names):
        first = first_records(keys, names)
        return keys[first], names[first], n[first]
    order = np.argsort(keys)
    keys, n = keys[order], n[order]
    begins = np.flatnonzero(np.append([True], keys[1:] != keys[:-1]))
    return keys[begins], names, np.add.reduceat(n, begins)
