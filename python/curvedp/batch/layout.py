"""Which rows make which chunk: found by reading the group keys once.

A file whose keys never decrease is cut at group boundaries. Any other is partitioned on disk by a
hash of the key, a power of two of partitions by the hash's leading bits, and every partition is
sorted by the hash: so the order of the groups does not depend on the number of partitions.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.batch._arrow import ipc, pa, pc
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.columns import (
    group_names,
    group_offsets,
    in_order,
    key_columns,
    records,
)
from curvedp.batch.parquet import Source
from curvedp.batch.results import count_sizes
from curvedp.manifolds import Manifold

__all__ = ["Layout", "group_sizes", "partition", "read_partition", "scan"]

#: Rows whose keys are looked at together.
_SCAN_ROWS = 1 << 18
#: Rows that are dealt out to partitions together.
_DEAL_ROWS = 1 << 17
#: Open files are limited; a file of more chunks than this has larger partitions.
_MOST_PARTITIONS = 256

Hashes = NDArray[np.uint64]


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


def scan(source: Source, by: Sequence[str], chunk_rows: int) -> Layout | None:
    """The layout of a file whose keys never decrease; None for any other file."""
    bounds, sizes = [0], Counter[int]()
    row, begun, last = 0, 0, None
    for table in source.batches(by, _SCAN_ROWS):
        keys = key_columns(table, by)
        offsets = group_offsets(keys)
        firsts = keys.take(pa.array(offsets[:-1]))
        if not in_order(firsts):
            return None
        continues = False
        if last is not None:
            seam = pa.concat_tables([last, keys.slice(0, 1)]).combine_chunks()
            if not in_order(seam):
                return None
            continues = len(group_offsets(seam)) == 2
        starts = row + offsets[int(continues) : -1]
        sizes.update(count_sizes(np.diff(np.concatenate(([begun], starts)))))
        while (at := int(np.searchsorted(starts, bounds[-1] + chunk_rows))) < len(starts):
            bounds.append(int(starts[at]))
        begun = int(starts[-1]) if len(starts) else begun
        last = keys.slice(len(keys) - 1)
        row += len(keys)
    sizes[row - begun] += 1
    del sizes[0]
    return Layout((*bounds, row), 0, sizes)


def group_sizes(source: Source, by: Sequence[str]) -> Counter[int]:
    """Number of groups of each number of records, in whatever order the keys are."""
    found = scan(source, by, source.rows + 1)
    if found is not None:
        return found.sizes
    hashes, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for table in source.batches(by, _SCAN_ROWS):
        own, own_counts = np.unique(hashes_of(key_columns(table, by)), return_counts=True)
        hashes, place = np.unique(np.concatenate((hashes, own)), return_inverse=True)
        counts = np.bincount(place, np.concatenate((counts, own_counts))).astype(np.int64)
    return count_sizes(counts)


def hashes_of(keys: Any) -> Hashes:
    """The hash of every row of keys."""
    offsets = group_offsets(keys)
    names = group_names(keys.take(pa.array(offsets[:-1])).combine_chunks())
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    _core.hash_names(*names, hashes)
    return np.repeat(hashes, np.diff(offsets))


def partition(
    source: Source,
    by: Sequence[str],
    points: Sequence[str],
    manifold: Manifold,
    chunk_rows: int,
    folder: Path,
    *,
    normalise: bool,
) -> Layout:
    """Deals the rows of a file out to partitions in `folder`, which its owner alone can read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    wanted = max(1, -(-source.rows // chunk_rows))
    bits = min((wanted - 1).bit_length(), _MOST_PARTITIONS.bit_length() - 1)
    count = 1 << bits
    with ExitStack() as stack:
        schema = key_columns(source.schema.empty_table(), by).schema
        files = [_PartitionFiles(stack, folder, number, schema) for number in range(count)]
        for table in source.batches(source.columns, min(_DEAL_ROWS, rows_of_chunk(None, manifold))):
            keys = key_columns(table, by)
            rows = records(table, points, manifold, normalise=normalise)
            hashes = hashes_of(keys)
            target = _leading_bits(hashes, bits)
            order = np.argsort(target, kind="stable")
            keys, rows, hashes = (
                keys.take(pa.array(order)).combine_chunks(),
                rows[order],
                hashes[order],
            )
            cuts = np.searchsorted(target[order], np.arange(count + 1))
            for number in np.flatnonzero(np.diff(cuts)).tolist():
                own = slice(int(cuts[number]), int(cuts[number + 1]))
                files[number].write(
                    keys.slice(own.start, own.stop - own.start), rows[own], hashes[own]
                )
    sizes = Counter[int]()
    for number in range(count):
        found = np.fromfile(_paths(folder, number)[2], dtype=np.uint64)
        sizes.update(count_sizes(np.unique(found, return_counts=True)[1]))
    return Layout((), count, sizes)


def read_partition(
    folder: Path, number: int, by: Sequence[str], manifold: Manifold
) -> tuple[Any, FloatArray]:
    """Keys and points of a partition, equal keys side by side and otherwise in the file's order."""
    table_path, points_path, hash_path = _paths(folder, number)
    with pa.OSFile(str(table_path)) as file:
        keys = ipc.open_stream(file).read_all().combine_chunks()
    rows = np.fromfile(points_path).reshape(-1, manifold.point_size)
    hashes = np.fromfile(hash_path, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    ordered = keys.take(pa.array(order)).combine_chunks()
    if len(group_offsets(ordered)) - 1 != len(np.unique(hashes)):  # several keys of one hash
        order = _sorted_by_name(keys, hashes)
        ordered = keys.take(pa.array(order)).combine_chunks()
    return ordered, rows[order]


def _sorted_by_name(keys: Any, hashes: Hashes) -> NDArray[np.int64]:
    data, ends = group_names(keys)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(data.tobytes())]
    names = pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)
    ordered = pc.sort_indices(
        pa.table({"hash": hashes, "name": names}),
        sort_keys=[("hash", "ascending"), ("name", "ascending")],
    )
    return np.asarray(ordered.to_numpy(), dtype=np.int64)


def _leading_bits(hashes: Hashes, bits: int) -> NDArray[np.int64]:
    return (
        (hashes >> np.uint64(64 - bits)).astype(np.int64)
        if bits
        else np.zeros(len(hashes), dtype=np.int64)
    )


def _paths(folder: Path, number: int) -> tuple[Path, Path, Path]:
    name = folder / f"{number:04d}"
    return name.with_suffix(".keys"), name.with_suffix(".points"), name.with_suffix(".hashes")


class _PartitionFiles:
    """Keys, points and hashes of a partition's rows, in the order in which they come."""

    def __init__(self, stack: ExitStack, folder: Path, number: int, schema: Any) -> None:
        files = [stack.enter_context(_open_private(path)) for path in _paths(folder, number)]
        self._keys = stack.enter_context(ipc.new_stream(files[0], schema))
        self._points, self._hashes = files[1:]

    def write(self, keys: Any, rows: FloatArray, hashes: Hashes) -> None:
        self._keys.write_table(keys)
        self._points.write(rows.data)
        self._hashes.write(hashes.data)


def _open_private(path: Path) -> Any:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
