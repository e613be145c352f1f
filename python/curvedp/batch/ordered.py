"""Groups of a file whose keys never decrease, found range by range and joined where ranges meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from curvedp._arrow import pa
from curvedp.batch.keys import Hashes, in_order, key_columns, runs, unit_hashes
from curvedp.batch.parquet import Source
from curvedp.batch.storage import read_table
from curvedp.batch.units import Memberships, first_records
from curvedp.errors import BatchError
from curvedp.statistics.grouping import Offsets

__all__ = [
    "Groups",
    "OutOfOrder",
    "Range",
    "columns_of_keys",
    "cut",
    "groups_in_order",
    "groups_of",
    "joined",
]

#: Rows whose keys are looked at together.
_SCAN_ROWS = 1 << 18


class OutOfOrder(Exception):
    """The keys of a file decrease somewhere."""


@dataclass(frozen=True)
class Groups:
    """Groups whose records stand one after the other.

    Attributes
    ----------
    keys : pyarrow.Table
    n : ndarray of int
        Number of records of each.
    sizes : ndarray of int
        Number of records, or of units where they have names.
    units : ndarray or None
        The hashes of the names of their units, group by group.
    """

    keys: Any
    n: Offsets
    sizes: Offsets
    units: Hashes | None

    @classmethod
    def of(cls, table: Any, by: Sequence[str], units: str | None) -> Groups:
        """The groups of a table."""
        keys, n = runs(key_columns(table, by))
        return cls(keys, n, n, None if units is None else unit_hashes(table, units))._named(n)

    def _named(self, counts: Offsets) -> Groups:
        """The same with each unit once; group g has ``counts[g]`` entries of `units`."""
        if self.units is None:
            return self
        group = np.repeat(np.arange(len(counts)), counts)
        chosen = first_records(group, self.units)
        sizes = np.bincount(group[chosen], minlength=len(counts))
        return replace(self, sizes=sizes, units=self.units[chosen])

    def after(self, last: Groups) -> Groups:
        """The same with the group before them, which may be the first of them."""
        keys = pa.concat_tables([last.keys, self.keys.slice(0, 1)])
        units = self.units
        if units is not None and last.units is not None:
            units = np.concatenate((last.units, units))
        if len(runs(keys)[1]) == 2:
            keys = pa.concat_tables([last.keys, self.keys])
            sizes = np.concatenate((last.sizes, self.sizes))
            return Groups(keys, np.concatenate((last.n, self.n)), sizes, units)
        n, sizes = self.n.copy(), self.sizes.copy()
        n[:1] += last.n
        sizes[:1] += last.sizes
        return Groups(self.keys, n, sizes, units)._named(sizes)

    @property
    def named(self) -> Hashes:
        """The hashes of their units' names."""
        assert self.units is not None
        return self.units

    def part(self, start: int, stop: int) -> Groups:
        """Some of them."""
        units = self.units
        if units is not None:
            units = units[self.sizes[:start].sum() : self.sizes[:stop].sum()]
        own = slice(start, stop)
        return Groups(self.keys.slice(start, stop - start), self.n[own], self.sizes[own], units)


def columns_of_keys(by: Sequence[str], units: str | None) -> list[str]:
    """The columns that say who is where."""
    return [*by, *([] if units is None else [units])]


def groups_of(
    source: Source, by: Sequence[str], units: str | None, start: int, stop: int
) -> Iterator[tuple[Groups, int]]:
    """Groups of some rows as they come, and the number of rows that are read."""
    for table in source.tables(columns_of_keys(by, units), start, stop, _SCAN_ROWS):
        start += len(table)
        yield Groups.of(table, by, units), start


def groups_in_order(
    source: Source, by: Sequence[str], units: str | None, start: int, stop: int
) -> Iterator[tuple[Groups, bool]]:
    """All groups of some rows, part by part, if keys never decrease; the last one comes last."""
    last: Groups | None = None
    for groups, at in groups_of(source, by, units, start, stop):
        if last is not None:
            groups = groups.after(last)
        if not in_order(groups.keys):
            raise OutOfOrder
        end = len(groups.n) - 1
        if at < stop:
            yield groups.part(0, end), False
            last = groups.part(end, end + 1)
        else:
            yield groups, True


@dataclass(frozen=True)
class Range:
    """The groups of a range.

    Attributes
    ----------
    keys : pyarrow.Table
    n, sizes : ndarray of int
        Numbers of records, and of units where they have names.
    units : list of ndarray
        The units of the first group, and of the last if it is another.
    """

    keys: Any
    n: Offsets
    sizes: Offsets
    units: list[Hashes]

    @classmethod
    def read(cls, path: Path, owner: str, has_units: bool) -> Range:
        """Groups that `Division.scan` wrote."""
        table, units = read_table(path, owner), list[Hashes]()
        if has_units:
            ends = read_table(path.with_suffix(".ends"), owner).column("units")
            units = [np.array(own.values.to_numpy()) for own in ends]
        keys = table.select(range(table.num_columns - 2)).combine_chunks()
        n, sizes = (table.column(at).to_numpy() for at in (-2, -1))
        return cls(keys, n, sizes, units)

    def part(self, start: int, stop: int) -> Range:
        """Some of its groups, without their units."""
        own = slice(start, stop)
        return Range(self.keys.slice(start, stop - start), self.n[own], self.sizes[own], [])

    def of_last(self) -> Range:
        """Its last group."""
        return replace(self.part(len(self.n) - 1, len(self.n)), units=self.units[-1:])

    def with_first_of(self, other: Range) -> Range:
        """One group with more records of the same."""
        n, sizes = self.n + other.n[0], self.sizes + other.sizes[0]
        if not self.units:
            return Range(self.keys, n, sizes, [])
        units = np.unique(np.concatenate((self.units[0], other.units[0])))
        return Range(self.keys, n, np.array([len(units)]), [units])

    def __add__(self, other: Range) -> Range:
        keys = pa.concat_tables([self.keys, other.keys])
        n, sizes = (np.concatenate(own) for own in ((self.n, other.n), (self.sizes, other.sizes)))
        return Range(keys, n, sizes, [])


def joined(ranges: Iterator[Range], units: Memberships | None) -> Iterator[Range]:
    """The groups that begin in each range, whole; units of first and last ones are noted.

    Raises
    ------
    OutOfOrder
    """
    last: Range | None = None  # which the next range may go on with
    held: Range | None = None  # the groups before it in its range

    def whole(name: str) -> Range:
        assert last is not None
        assert held is not None
        if units is not None:
            units.add(f"last-{name}", last.units[0])
        return held + last

    for number, own in enumerate(ranges):
        begin = 0
        if last is not None:
            pair = pa.concat_tables([last.keys, own.keys.slice(0, 1)]).combine_chunks()
            if not in_order(pair):
                raise OutOfOrder
            if len(runs(pair)[1]) == 1:
                last, begin = last.with_first_of(own), 1
                if len(own.n) == 1:
                    continue
            yield whole(str(number))
        if units is not None and not begin and len(own.n) > 1:
            units.add(f"first-{number}", own.units[0])
        last, held = own.of_last(), own.part(begin, len(own.n) - 1)
    if last is not None:
        yield whole("of all")


def cut(groups: Range, chunk_rows: int) -> Iterator[tuple[Any, Offsets, Offsets]]:
    """Keys, numbers of records and sizes of the groups of one chunk after the other.

    There are as many chunks as hold `chunk_rows` records each, about, of a whole range.
    """
    ends = np.cumsum(groups.n)
    limit = -(-int(ends[-1]) // max(1, round(int(ends[-1]) / chunk_rows)))
    begin = done = 0
    while begin < len(ends):
        stop = min(int(np.searchsorted(ends, done + limit)) + 1, len(ends))
        own = groups.part(begin, stop)
        yield _whole(own.keys), own.n, own.sizes
        begin, done = stop, int(ends[stop - 1])


def _whole(keys: Any) -> Any:
    found = keys.combine_chunks()
    if len(found.to_batches()) != 1:
        raise BatchError("the keys of a chunk take more than 2 GB: give a smaller chunk_rows")
    return found
