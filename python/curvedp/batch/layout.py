"""Division of rows into chunks, found by reading the group keys once.

A file whose keys never decrease is cut at group boundaries. Any other is dealt out to partitions.
Either is work of many: each takes a range of whole row groups, or a partition.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from curvedp._arrow import pa
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.keys import Hashes, in_order, key_schema
from curvedp.batch.ordered import OutOfOrder, Range, cut, groups_in_order, groups_of, joined
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.parquet import Source
from curvedp.batch.partitions import Dealt, partitions_of
from curvedp.batch.results import count_sizes
from curvedp.batch.storage import read_table, write_table, write_tables
from curvedp.batch.units import Memberships
from curvedp.errors import BatchError

__all__ = ["Division", "Each", "Layout", "groups_path"]

#: What the method of a `Division` of this name finds for each of some numbers, in their order; by
#: whoever works.
Each = Callable[[str, Sequence[int]], Iterator[Any]]


@dataclass(frozen=True)
class Layout:
    """Chunks of a batch.

    Attributes
    ----------
    bounds : tuple of int
        First row of each chunk and the number of rows; of each deal, if rows were dealt out.
    stretches : tuple of int
        First chunk of each stretch, which one worker reads in order, and the number of chunks.
    partitions : int
        Number of partitions; 0 if the keys are in order.
    sizes : Counter
        Number of groups of each number of records, or of units where they have names.
    """

    bounds: tuple[int, ...]
    stretches: tuple[int, ...]
    partitions: int
    sizes: Counter[int]

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.stretches[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {
            "bounds": self.bounds,
            "stretches": self.stretches,
            "partitions": self.partitions,
            "sizes": sorted(self.sizes.items()),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """Inverse of `to_dict`."""
        sizes = Counter(dict(map(tuple, data["sizes"])))
        return cls(tuple(data["bounds"]), tuple(data["stretches"]), data["partitions"], sizes)


@dataclass(frozen=True)
class Division:
    """Division of a file's rows into chunks, and what is kept in `folder` for `owner` of them.

    That is the groups of each chunk, keys and numbers of records "n" (see `groups_path`), if keys
    never decrease. Of any other file it is the records, in partitions. `scan`, `deal` and `count`
    are done by workers, each for a number, whatever the others do, and again if one dies.
    """

    source: Source
    parameters: BatchParameters
    chunk_rows: int
    folder: Path
    owner: str

    @cached_property
    def _ranges(self) -> list[int]:
        return self.source.ranges(self.chunk_rows)

    def _units(self, step: str) -> Memberships | None:
        """The units of all groups, if they have names, as one step finds them."""
        if self.parameters.units is None:
            return None
        return Memberships(self.folder.with_name(f"units-{step}"))

    def dealt(self, partitions: int, deals: Sequence[int] = ()) -> Dealt:
        """Records that are dealt out."""
        own = self.parameters
        schema = pa.schema([self.source.schema.field(name) for name in self.source.columns])
        parts = (self.folder, self.owner, partitions, schema, own.by, own.columns)
        return Dealt(*parts, tuple(deals))

    def run(self, each: Each, points: Source | None) -> Layout:
        """The layout; `points`, the records without their keys, are read ahead meanwhile if this
        process is going to read them.

        Raises
        ------
        BatchError
            If the file holds no record or is damaged, or a unit is in more groups than was said.
        """
        if not self.source.rows:
            raise BatchError(f"{self.source.name} holds no record")
        self.parameters.columns.read(self.source.first())  # its shape, before all else
        with ThreadPoolExecutor(1) as meanwhile:
            ahead: Future[None] | None = None
            if points is not None:
                ahead = meanwhile.submit(points.read_ahead, self.chunk_rows)
            try:
                with self._begun("scan"):
                    found = self._in_order(each)
                if ahead is not None:
                    ahead.result()  # raises if the file is damaged
                return found
            except OutOfOrder:
                if points is not None:
                    points.forget()
        with self._begun("count"):
            return self._dealt(each)

    @contextlib.contextmanager
    def _begun(self, step: str) -> Iterator[None]:
        """Makes the folder anew, and checks in how many groups units are when all is done."""
        units = self._units(step)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)  # what was given up may still write to it
        if units is not None:
            units.begin()
        try:
            yield
        except OutOfOrder:
            if units is not None:
                units.remove()
            raise
        if units is not None:
            units.check(self.parameters.call.groups_per_unit)

    # ------------------------------------------------------------------ keys in order

    def _in_order(self, each: Each) -> Layout:
        """The layout of a file whose keys never decrease."""
        own = self.parameters
        first = next(groups_of(self.source, own.by, None, 0, self._ranges[1]))
        if not in_order(first[0].keys):  # seldom found late
            raise OutOfOrder
        bounds, stretches, sizes = [0], [0], Counter[int]()
        for groups in joined(self._scanned(each), self._units("scan")):
            for keys, n, counts in cut(groups, self.chunk_rows):
                table = keys.append_column("n", pa.array(n))
                path = groups_path(self.folder, len(bounds) - 1)
                write_table(path, self.owner, table, is_durable=False)
                bounds.append(bounds[-1] + int(n.sum()))
                sizes.update(count_sizes(counts))
            if len(bounds) - 1 > stretches[-1]:
                stretches.append(len(bounds) - 1)
        return Layout(tuple(bounds), tuple(stretches), 0, sizes)

    def _scanned(self, each: Each) -> Iterator[Range]:
        """The groups of each range."""
        for number, is_in_order in enumerate(each("scan", range(len(self._ranges) - 1))):
            if not is_in_order:
                raise OutOfOrder
            path = self._scan_path(number)
            yield Range.read(path, self.owner, self.parameters.units is not None)
            for own in (path, path.with_suffix(".ends")):
                own.unlink(missing_ok=True)

    def _scan_path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.scan"

    def scan(self, number: int) -> bool:
        """Writes the groups of a range; False if its keys decrease somewhere."""
        by, names = self.parameters.by, self.parameters.units
        units, path = self._units("scan"), self._scan_path(number)
        start, stop = self._ranges[number : number + 2]
        schema = key_schema(self.source.schema, by)
        for name in ("n", "size"):
            schema = schema.append(pa.field(name, pa.int64()))
        ends: list[Hashes] = []

        def tables() -> Iterator[Any]:
            parts = groups_in_order(self.source, by, names, start, stop)
            for place, (groups, is_last) in enumerate(parts):
                table = groups.keys.append_column("n", pa.array(groups.n))
                yield table.append_column("size", pa.array(groups.sizes))
                if units is not None:
                    last, begin = len(groups.n) - is_last, 0
                    if len(groups.n) and not ends:
                        ends.append(groups.part(0, 1).named)
                        begin = 1
                    own = groups.part(begin, max(begin, last))
                    units.add(f"{number:06d}-{place:06d}", own.named)
                    if is_last:
                        ends.append(groups.part(last, last + 1).named)

        try:
            write_tables(path, self.owner, schema, tables(), is_durable=False)
        except OutOfOrder:
            return False
        if units is not None:
            table = pa.table({"units": pa.array(ends, pa.list_(pa.uint64()))})
            write_table(path.with_suffix(".ends"), self.owner, table, is_durable=False)
        self.source.check_unchanged(start, stop)
        return True

    # ------------------------------------------------------------------ keys in no order

    def _dealt(self, each: Each) -> Layout:
        """The layout of a file whose rows are dealt out."""
        deals = [start for own in each("deal", range(len(self._ranges) - 1)) for start in own]
        partitions = partitions_of(self.source.rows, self.chunk_rows)
        write_table(self._deals_path, self.owner, pa.table({"start": deals}), is_durable=False)
        sizes = Counter[int]()
        for own in each("count", range(partitions)):
            sizes.update(dict(own))
        return Layout((*deals, self.source.rows), tuple(range(partitions + 1)), partitions, sizes)

    @property
    def _deals_path(self) -> Path:
        return self.folder / "deals"

    def deal(self, number: int) -> list[int]:
        """Deals out the rows of a range; returns the first row of each deal."""
        source, columns = self.source, self.parameters.columns
        start, stop = self._ranges[number : number + 2]
        deals = max(1, round((stop - start) / rows_of_chunk(None, columns.width)))
        tables = source.tables(source.columns, start, stop, -(-(stop - start) // deals))
        dealt = self.dealt(partitions_of(source.rows, self.chunk_rows))
        found = dealt.deal(start, tables)
        source.check_unchanged(start, stop)
        return found

    @cached_property
    def _whole(self) -> Dealt:
        """Records that are dealt out, when all are."""
        deals = read_table(self._deals_path, self.owner).column("start").to_pylist()
        return self.dealt(partitions_of(self.source.rows, self.chunk_rows), deals)

    def count(self, number: int) -> list[tuple[int, int]]:
        """Number of groups of each size in a partition."""
        return sorted(self._whole.sizes(number, self._units("count")).items())


def groups_path(folder: Path, number: int) -> Path:
    """The file of the groups of a chunk."""
    return folder / f"{number:06d}.groups"
