"""Records dealt out on disk by the hash of their key, for files whose keys are not in order.

A partition holds the rows whose hashes begin with the same bits, in the file's order. There is a
power of two of them, and each is sorted by the hash when it is read: so the order of the groups
does not depend on their number. Open files are limited: where more partitions are needed than may
be open, those of the first bits are dealt out again by the next.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._arrow import ipc, pa, pc
from curvedp._validation import FloatArray
from curvedp.batch.chunk import rows_of_chunk
from curvedp.batch.columns import (
    Hashes,
    RecordColumns,
    group_names,
    hashes_of,
    key_columns,
    key_schema,
    runs,
)
from curvedp.batch.parquet import Source
from curvedp.batch.results import count_sizes
from curvedp.batch.units import Memberships, first_records
from curvedp.statistics.grouping import Offsets

__all__ = ["Partition", "partition"]

#: Rows that are dealt out together.
_DEAL_ROWS = 1 << 17
#: Bits of the hash by which rows are dealt out in one pass, at most, and files that shall be open
#: besides the three of each partition.
_BITS_AT_ONCE, _OTHER_FILES = 8, 128

#: Keys, points and hashes of rows.
Rows = tuple[Any, FloatArray, Hashes]


def partition(
    source: Source,
    by: Sequence[str],
    columns: RecordColumns,
    chunk_rows: int,
    folder: Path,
    memberships: Memberships | None = None,
) -> tuple[int, Counter[int]]:
    """Deals the rows of a file out to partitions in `folder`, which its owner alone can read.

    Returns the number of partitions, and the number of groups of each number of records, or of
    units where they have names; these go to `memberships`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    at_once = min(_DEAL_ROWS, rows_of_chunk(None, columns.width))
    bits = (max(1, -(-source.rows // chunk_rows)) - 1).bit_length()

    def rows_of_file() -> Iterator[Rows]:
        for table in source.batches(source.columns, at_once):
            keys = key_columns(table, by)
            yield keys, columns.read(table), hashes_of(keys)

    def deal(rows: Iterator[Rows], whole: Partition) -> None:
        parts = whole.parts(min(bits - whole.bits, _bits_at_once()))
        whole.deal(rows, parts, schema)
        for part in parts if parts[0].bits < bits else ():
            deal(part.rows(columns.width, at_once), part)
            part.remove()

    schema = key_schema(source.schema, by)
    deal(rows_of_file(), Partition(folder, 0, 0))
    # two keys of one hash count as one here: one case in 300,000 among ten million keys
    sizes = Counter[int]()
    for part in Partition(folder, 0, 0).parts(bits):
        group = part.hashes()
        if memberships is not None and len(group):  # an empty file cannot be mapped
            units = part.units(columns.width)
            records = first_records(group, units)
            memberships.add(units[records])
            group = group[records]
        sizes.update(count_sizes(np.unique(group, return_counts=True)[1]))
    return 1 << bits, sizes


def _bits_at_once() -> int:
    """Bits by which rows are dealt out in one pass, as far as this process may open files."""
    try:
        import resource
    except ImportError:  # where the number of open files has no such limit
        return _BITS_AT_ONCE
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return _BITS_AT_ONCE
    partitions = max(2, (allowed - _OTHER_FILES) // 3)
    return min(_BITS_AT_ONCE, partitions.bit_length() - 1)


@dataclass(frozen=True)
class Partition:
    """Rows whose hashes begin with the same bits, in three files.

    Attributes
    ----------
    folder : Path
    bits, number : int
        Number of bits that are the same, and the number that they make.
    """

    folder: Path
    bits: int
    number: int

    @classmethod
    def of(cls, folder: Path, count: int, number: int) -> Partition:
        """Partition of the given number, of all those into which a file is divided."""
        return cls(folder, (count - 1).bit_length(), number)

    def parts(self, bits: int) -> list[Partition]:
        """The files to which it is dealt out by the next bits."""
        first = self.number << bits
        return [Partition(self.folder, self.bits + bits, first + i) for i in range(1 << bits)]

    def _paths(self) -> tuple[Path, Path, Path]:
        name = self.folder / f"{self.bits:02d}-{self.number:06d}"
        return name.with_suffix(".keys"), name.with_suffix(".points"), name.with_suffix(".hashes")

    def deal(self, rows: Iterator[Rows], parts: Sequence[Partition], schema: Any) -> None:
        """Writes its rows to its parts."""
        with ExitStack() as stack:
            files = [_Files(stack, part._paths(), schema) for part in parts]
            for keys, points, hashes in rows:
                target = _bits(hashes, self.bits, parts[0].bits)
                order = np.argsort(target, kind="stable")
                keys = keys.take(pa.array(order)).combine_chunks()
                points, hashes = points[order], hashes[order]
                cuts = np.searchsorted(target[order], np.arange(len(parts) + 1))
                for number in np.flatnonzero(np.diff(cuts)).tolist():
                    own = slice(int(cuts[number]), int(cuts[number + 1]))
                    part = keys.slice(own.start, own.stop - own.start)
                    files[number].write(part, points[own], hashes[own])

    def rows(self, width: int, at_once: int) -> Iterator[Rows]:
        """Its rows in their order, about so many at a time."""
        keys_path, points_path, hashes_path = self._paths()
        with (
            pa.OSFile(str(keys_path)) as file,
            points_path.open("rb") as points,
            hashes_path.open("rb") as hashes,
        ):
            for keys in _together(ipc.open_stream(file), at_once):
                flat = np.fromfile(points, count=len(keys) * width)
                own = np.fromfile(hashes, dtype=np.uint64, count=len(keys))
                yield keys, flat.reshape(len(keys), -1), own

    def hashes(self) -> Hashes:
        """The hashes of its rows in their order."""
        return np.fromfile(self._paths()[2], dtype=np.uint64)

    def units(self, width: int) -> Hashes:
        """The hashes of the names of its rows' units, which stand last."""
        words = np.memmap(self._paths()[1], dtype=np.uint64, mode="r")
        return words.reshape(-1, width)[:, -1].copy()

    def read(self, width: int) -> tuple[Any, Offsets, FloatArray]:
        """Key and number of records of every group, and the points, each group's in their order."""
        keys_path, points_path, _ = self._paths()
        with pa.OSFile(str(keys_path)) as file:
            keys = ipc.open_stream(file).read_all().combine_chunks()
        hashes = self.hashes()
        order = np.argsort(hashes, kind="stable")
        firsts, n = runs(keys.take(pa.array(order)))
        if len(n) != len(np.unique(hashes)):  # several keys of one hash
            order = _sorted_by_name(keys, hashes)
            firsts, n = runs(keys.take(pa.array(order)))
        return firsts, n, np.fromfile(points_path).reshape(-1, width)[order]

    def checksum(self) -> int:
        """The checksum of its files, of those that are there."""
        found = 0
        for path in self._paths():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                while piece := file.read(1 << 20):
                    found = zlib.crc32(piece, found)
        return found

    def remove(self) -> None:
        """Deletes its files."""
        for path in self._paths():
            path.unlink()


def _bits(hashes: Hashes, first: int, last: int) -> NDArray[np.int64]:
    """The number that the bits of each hash make, from the first to the one before the last."""
    if first == last:
        return np.zeros(len(hashes), dtype=np.int64)
    leading = (hashes >> np.uint64(64 - last)).astype(np.int64)
    return leading & ((1 << (last - first)) - 1)


def _together(batches: Any, rows: int) -> Iterator[Any]:
    """Short batches in tables of at least so many rows, but for the last."""
    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += len(batch)
        if count >= rows:
            yield pa.Table.from_batches(held)
            held, count = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _sorted_by_name(keys: Any, hashes: Hashes) -> NDArray[np.int64]:
    data, ends = group_names(keys)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(data.tobytes())]
    names = pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)
    ordered = pc.sort_indices(
        pa.table({"hash": hashes, "name": names}),
        sort_keys=[("hash", "ascending"), ("name", "ascending")],
    )
    return np.asarray(ordered.to_numpy(), dtype=np.int64)


class _Files:
    """Keys, points and hashes of a partition's rows, in the order in which they come."""

    def __init__(self, stack: ExitStack, paths: Sequence[Path], schema: Any) -> None:
        files = [stack.enter_context(_open_private(path)) for path in paths]
        self._keys = stack.enter_context(ipc.new_stream(files[0], schema))
        self._points, self._hashes = files[1:]

    def write(self, keys: Any, points: FloatArray, hashes: Hashes) -> None:
        self._keys.write_table(keys)
        self._points.write(points.data)
        self._hashes.write(hashes.data)


def _open_private(path: Path) -> Any:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
