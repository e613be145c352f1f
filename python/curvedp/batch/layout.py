"""Division of rows into chunks, found by reading the group keys once.

A file whose keys never decrease is cut at group boundaries. Any other is dealt out to partitions.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from curvedp._arrow import ipc, pa
from curvedp.batch.columns import in_order, key_columns, key_schema, runs
from curvedp.batch.parquet import Source
from curvedp.batch.partitions import hashes_of
from curvedp.batch.results import count_sizes
from curvedp.batch.storage import atomically
from curvedp.errors import BatchError
from curvedp.statistics.grouping import Offsets

__all__ = ["Layout", "group_sizes", "read_groups", "scan"]

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
        Number of groups of each number of records.
    """

    bounds: tuple[int, ...]
    partitions: int
    sizes: Counter[int]

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
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """Inverse of `to_dict`."""
        return cls(
            tuple(data["bounds"]), data["partitions"], Counter(dict(map(tuple, data["sizes"])))
        )


class _OutOfOrder(Exception):
    """The keys of a file decrease somewhere."""


def scan(source: Source, by: Sequence[str], chunk_rows: int, path: Path) -> Layout | None:
    """The layout of a file whose keys never decrease; None for any other file.

    The groups of each chunk are written to `path`, for `read_groups`.
    """
    bounds, sizes = [0], Counter[int]()
    schema = key_schema(source.schema, by).append(pa.field("n", pa.int64()))
    try:
        with (
            atomically(path) as draft,
            pa.OSFile(str(draft), "wb") as file,
            ipc.new_file(file, schema) as chunks,
        ):
            for groups in _cut(_groups_in_order(source, by), chunk_rows):
                n = groups.column("n").to_numpy()
                bounds.append(bounds[-1] + int(n.sum()))
                sizes.update(count_sizes(n))
                chunks.write(groups)
    except _OutOfOrder:
        return None
    return Layout(tuple(bounds), 0, sizes)


def _cut(parts: Iterator[tuple[Any, Offsets]], chunk_rows: int) -> Iterator[Any]:
    """Key and number of records of every group of one chunk after the other."""
    row, limit = 0, chunk_rows
    held: list[Any] = []  # of the chunk that is not yet full
    for keys, n in parts:
        groups, ends, begun = keys.append_column("n", pa.array(n)), row + np.cumsum(n), 0
        while (at := int(np.searchsorted(ends, limit))) < len(n):
            yield _one_batch([*held, groups.slice(begun, at + 1 - begun)])
            held, begun, limit = [], at + 1, int(ends[at]) + chunk_rows
        held.append(groups.slice(begun))
        row += int(n.sum())
    if any(map(len, held)):
        yield _one_batch(held)


def read_groups(path: Path, number: int) -> tuple[Any, Offsets]:
    """Key and number of records of every group of a chunk."""
    with pa.OSFile(str(path)) as file:
        groups = pa.Table.from_batches([ipc.open_file(file).get_batch(number)])
    return groups.drop_columns("n"), groups.column("n").to_numpy()


def _one_batch(tables: Sequence[Any]) -> Any:
    batches = pa.concat_tables(tables).combine_chunks().to_batches()
    if len(batches) != 1:
        raise BatchError("the keys of a chunk take more than 2 GB: give a smaller chunk_rows")
    return batches[0]


def _groups_in_order(source: Source, by: Sequence[str]) -> Iterator[tuple[Any, Offsets]]:
    """Key and number of records of every group, part by part, if keys never decrease."""
    last, of_last = None, np.zeros(1, dtype=np.int64)
    for table in source.batches(by, _SCAN_ROWS):
        keys, n = runs(key_columns(table, by))
        if last is not None:
            begins_anew = len(runs(pa.concat_tables([last, keys.slice(0, 1)]))[1]) == 2
            if begins_anew:
                keys, n = pa.concat_tables([last, keys]), np.concatenate((of_last, n))
            else:
                n[:1] += of_last
        if not in_order(keys):
            raise _OutOfOrder
        yield keys.slice(0, len(keys) - 1), n[:-1]
        last, of_last = keys.slice(len(keys) - 1), n[-1:]
    if last is not None:
        yield last, of_last


def group_sizes(source: Source, by: Sequence[str]) -> Counter[int]:
    """Number of groups of each number of records, in whatever order the keys are."""
    sizes = Counter[int]()
    with contextlib.suppress(_OutOfOrder):
        for _, n in _groups_in_order(source, by):
            sizes.update(count_sizes(n))
        return sizes
    hashes, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for table in source.batches(by, _SCAN_ROWS):
        own, own_counts = np.unique(hashes_of(key_columns(table, by)), return_counts=True)
        hashes, place = np.unique(np.concatenate((hashes, own)), return_inverse=True)
        counts = np.bincount(place, np.concatenate((counts, own_counts))).astype(np.int64)
    return count_sizes(counts)
