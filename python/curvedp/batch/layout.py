"""Division of rows into chunks, found by reading the group keys once.

A file whose keys never decrease is cut at group boundaries. Any other is dealt out to partitions.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from curvedp._arrow import pa
from curvedp.batch.columns import (
    Hashes,
    hashes_of,
    in_order,
    key_columns,
    runs,
    unit_hashes,
)
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.parquet import Source
from curvedp.batch.partitions import Partition, partition
from curvedp.batch.results import count_sizes
from curvedp.batch.storage import write_table
from curvedp.batch.units import Memberships, first_records
from curvedp.errors import BatchError
from curvedp.statistics.grouping import Offsets

__all__ = ["Layout", "divide", "group_sizes", "groups_path"]

#: Rows whose keys are looked at together.
_SCAN_ROWS = 1 << 18


@dataclass(frozen=True)
class Layout:
    """Chunks of a batch.

    Attributes
    ----------
    bounds : tuple of int
        First row of each chunk and the number of rows; empty if the file was partitioned.
    partitions : int
        Number of partitions; 0 if the keys are in order.
    sizes : Counter
        Number of groups of each number of records, or of units where they have names.
    checksums : tuple of int
        Those of the partitions.
    """

    bounds: tuple[int, ...]
    partitions: int
    sizes: Counter[int]
    checksums: tuple[int, ...] = ()

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.partitions or len(self.bounds) - 1

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {
            "bounds": self.bounds,
            "partitions": self.partitions,
            "sizes": sorted(self.sizes.items()),
            "checksums": self.checksums,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """Inverse of `to_dict`."""
        sizes = Counter(dict(map(tuple, data["sizes"])))
        return cls(tuple(data["bounds"]), data["partitions"], sizes, tuple(data["checksums"]))


class _OutOfOrder(Exception):
    """The keys of a file decrease somewhere."""


def divide(
    source: Source,
    points: Source,
    parameters: BatchParameters,
    chunk_rows: int,
    folder: Path,
    owner: str,
) -> Layout:
    """Divides a file's rows into chunks, and keeps in `folder` for `owner` what they need.

    That is the groups of each chunk, keys and numbers of records "n" (see `groups_path`), if keys
    never decrease; `points`, the records without their keys, are read ahead meanwhile. Of any other
    file it is the records, in partitions.

    Raises
    ------
    BatchError
        If the file holds no record or is damaged, or a unit is in more groups than was said.
    """
    if not source.rows:
        raise BatchError(f"{source.name} holds no record")
    columns = parameters.columns
    columns.read(source.first())  # its shape, before all else

    def memberships() -> Memberships | None:
        if parameters.units is None:
            return None
        return Memberships(folder.with_name("units"), parameters.call.groups_per_unit)

    with ThreadPoolExecutor(1) as meanwhile:
        ahead = meanwhile.submit(points.read_ahead, chunk_rows)
        units = memberships()
        found = _scan(source, parameters, chunk_rows, folder, owner, units)
    if found is not None:
        ahead.result()  # raises if the file is damaged
    else:
        points.forget()
        units = memberships()
        count, sizes = partition(source, parameters.by, columns, chunk_rows, folder, units)
        parts = (Partition.of(folder, count, number) for number in range(count))
        found = Layout((), count, sizes, tuple(part.checksum() for part in parts))
    if units is not None:
        units.check()
    return found


def _scan(
    source: Source,
    parameters: BatchParameters,
    chunk_rows: int,
    folder: Path,
    owner: str,
    units: Memberships | None,
) -> Layout | None:
    """The layout of a file whose keys never decrease; None for any other file."""
    bounds, sizes = [0], Counter[int]()

    def noted(parts: Iterator[_Groups]) -> Iterator[tuple[Any, Offsets]]:
        for groups in parts:
            sizes.update(count_sizes(groups.sizes))
            if units is not None and groups.units is not None:
                units.add(groups.units)
            yield groups.keys, groups.n

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        found = noted(_groups_in_order(source, parameters.by, parameters.units))
        for groups in _cut(found, chunk_rows):
            write_table(groups_path(folder, len(bounds) - 1), owner, groups, is_durable=False)
            bounds.append(bounds[-1] + int(groups.column("n").to_numpy().sum()))
    except _OutOfOrder:
        return None
    return Layout(tuple(bounds), 0, sizes)


def groups_path(folder: Path, number: int) -> Path:
    """The file of the groups of a chunk."""
    return folder / f"{number:06d}.groups"


def _cut(parts: Iterator[tuple[Any, Offsets]], chunk_rows: int) -> Iterator[Any]:
    """Key and number of records of every group of one chunk after the other."""
    row, limit = 0, chunk_rows
    held: list[Any] = []  # of the chunk that is not yet full
    for keys, n in parts:
        groups, ends, begun = keys.append_column("n", pa.array(n)), row + np.cumsum(n), 0
        while (at := int(np.searchsorted(ends, limit))) < len(n):
            yield _whole([*held, groups.slice(begun, at + 1 - begun)])
            held, begun, limit = [], at + 1, int(ends[at]) + chunk_rows
        held.append(groups.slice(begun))
        row += int(n.sum())
    if any(map(len, held)):
        yield _whole(held)


def _whole(tables: Sequence[Any]) -> Any:
    found = pa.concat_tables(tables).combine_chunks()
    if len(found.to_batches()) != 1:
        raise BatchError("the keys of a chunk take more than 2 GB: give a smaller chunk_rows")
    return found


@dataclass(frozen=True)
class _Groups:
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
    def of(cls, table: Any, by: Sequence[str], units: str | None) -> _Groups:
        """The groups of a table."""
        keys, n = runs(key_columns(table, by))
        return cls(keys, n, n, None if units is None else unit_hashes(table, units))._named(n)

    def _named(self, counts: Offsets) -> _Groups:
        """The same with each unit once; group g has ``counts[g]`` entries of `units`."""
        if self.units is None:
            return self
        group = np.repeat(np.arange(len(counts)), counts)
        chosen = first_records(group, self.units)
        sizes = np.bincount(group[chosen], minlength=len(counts))
        return replace(self, sizes=sizes, units=self.units[chosen])

    def after(self, last: _Groups) -> _Groups:
        """The same with the group before them, which may be the first of them."""
        keys = pa.concat_tables([last.keys, self.keys.slice(0, 1)])
        units = self.units
        if units is not None and last.units is not None:
            units = np.concatenate((last.units, units))
        if len(runs(keys)[1]) == 2:
            keys = pa.concat_tables([last.keys, self.keys])
            sizes = np.concatenate((last.sizes, self.sizes))
            return _Groups(keys, np.concatenate((last.n, self.n)), sizes, units)
        n, sizes = self.n.copy(), self.sizes.copy()
        n[:1] += last.n
        sizes[:1] += last.sizes
        return _Groups(self.keys, n, sizes, units)._named(sizes)

    def part(self, start: int, stop: int) -> _Groups:
        """Some of them."""
        units = self.units
        if units is not None:
            units = units[self.sizes[:start].sum() : self.sizes[:stop].sum()]
        own = slice(start, stop)
        return _Groups(self.keys.slice(start, stop - start), self.n[own], self.sizes[own], units)


def _columns(by: Sequence[str], units: str | None) -> list[str]:
    """The columns that say who is where."""
    return [*by, *([] if units is None else [units])]


def _groups_in_order(source: Source, by: Sequence[str], units: str | None) -> Iterator[_Groups]:
    """All groups, part by part, if keys never decrease."""
    last: _Groups | None = None
    for table in source.batches(_columns(by, units), _SCAN_ROWS):
        if not len(table):
            continue
        groups = _Groups.of(table, by, units)
        if last is not None:
            groups = groups.after(last)
        if not in_order(groups.keys):
            raise _OutOfOrder
        end = len(groups.n) - 1
        yield groups.part(0, end)
        last = groups.part(end, end + 1)
    if last is not None:
        yield last


def group_sizes(source: Source, by: Sequence[str], units: str | None = None) -> Counter[int]:
    """Number of groups of each number of records, or of units where they have names, in whatever
    order the keys are."""
    sizes = Counter[int]()
    with contextlib.suppress(_OutOfOrder):
        for groups in _groups_in_order(source, by, units):
            sizes.update(count_sizes(groups.sizes))
        return sizes
    hashes, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    pairs = np.empty((0, 2), dtype=np.uint64)
    for table in source.batches(_columns(by, units), _SCAN_ROWS):
        keys = hashes_of(key_columns(table, by))
        if units is not None:
            pairs = np.concatenate((pairs, np.stack((keys, unit_hashes(table, units)), axis=1)))
            pairs = pairs[first_records(*pairs.T)]
            continue
        own, own_counts = np.unique(keys, return_counts=True)
        hashes, place = np.unique(np.concatenate((hashes, own)), return_inverse=True)
        counts = np.bincount(place, np.concatenate((counts, own_counts))).astype(np.int64)
    if units is not None:
        counts = np.unique(pairs[:, 0], return_counts=True)[1]
    return count_sizes(counts)
