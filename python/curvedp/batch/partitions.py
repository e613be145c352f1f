"""Records dealt out on disk by the hash of their key, for files whose keys are not in order.

Whoever reads some rows of the file writes them to one file (a deal), partition by partition, in the
file's order otherwise. A partition is what all deals hold of the rows whose hashes begin with the
same bits. There is a power of two of them, and each is sorted by the hash when it is read: so the
order of the groups does not depend on their number, nor on who dealt what.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._arrow import ipc, pa, pc
from curvedp._validation import FloatArray
from curvedp.batch.columns import RecordColumns
from curvedp.batch.keys import Hashes, group_names, key_columns, key_hashes, key_schema, runs
from curvedp.batch.results import count_sizes
from curvedp.batch.storage import read_table, replacing, write_table
from curvedp.batch.units import Memberships, first_records
from curvedp.errors import BatchError
from curvedp.statistics.grouping import Offsets

__all__ = ["Dealt", "partitions_of"]

#: Bits of the hash that tell partitions apart, at most.
_MOST_BITS = 16


def partitions_of(rows: int, chunk_rows: int) -> int:
    """Number of partitions of so many rows."""
    bits = (max(1, -(-rows // chunk_rows)) - 1).bit_length()
    return 1 << min(bits, _MOST_BITS)


@dataclass(frozen=True)
class Dealt:
    """Deals in a folder, which its owner alone can read.

    Of each there are two files, ``.rows`` and ``.index``, named by the first row that they hold.

    Attributes
    ----------
    folder : Path
    owner : str
        The job.
    partitions : int
    schema : pyarrow.Schema
        That of the records' table.
    by : tuple of str
    columns : RecordColumns
    deals : tuple of int
        The first row of each deal.
    """

    folder: Path
    owner: str
    partitions: int
    schema: Any
    by: tuple[str, ...]
    columns: RecordColumns
    deals: tuple[int, ...] = ()

    def _paths(self, deal: int) -> tuple[Path, Path]:
        name = self.folder / f"{deal:012d}"
        return name.with_suffix(".rows"), name.with_suffix(".index")

    @cached_property
    def _key_schema(self) -> Any:
        """The columns of keys, and their hashes last."""
        return key_schema(self.schema, self.by).append(pa.field("hash of all", pa.uint64()))

    # ------------------------------------------------------------------ writing

    def deal(self, start: int, tables: Iterator[Any]) -> list[int]:
        """Writes tables of rows, which begin at `start`, a deal each; returns their first rows."""
        found = []
        while (table := next(tables, None)) is not None:
            found.append(start)
            start += len(table)
            keys, points = key_columns(table, self.by), self.columns.read(table)
            del table  # memory holds the records once more, sorted
            self._write(found[-1], keys, points, key_hashes(keys))
            del keys, points
        return found

    def _write(self, deal: int, keys: Any, points: FloatArray, hashes: Hashes) -> None:
        """Writes one deal: the keys and hashes of a partition, its points, and so on."""
        target = (hashes >> np.uint64(64 - _MOST_BITS)).astype(np.uint16)
        target >>= _MOST_BITS - (self.partitions - 1).bit_length()
        order = np.argsort(target, kind="stable")
        rows = np.bincount(target, minlength=self.partitions)
        keys = keys.append_column("hash of all", pa.array(hashes))
        keys = keys.take(pa.array(order)).combine_chunks()
        index = np.zeros((4, self.partitions), dtype=np.uint32)
        path, index_path = self._paths(deal)
        with replacing(path) as draft, draft.open("wb") as file:
            ends = np.cumsum(rows).tolist()
            for number in np.flatnonzero(rows).tolist():
                begin, end = ends[number] - int(rows[number]), ends[number]
                [batch] = keys.slice(begin, end - begin).to_batches()
                own = points.take(order[begin:end], axis=0)
                written = batch.serialize(), own.reshape(-1).view(np.uint8).data
                index[:, number] = [*map(len, written), *map(zlib.crc32, written)]
                file.writelines(written)
        names = ["key_bytes", "point_bytes", "key_checksum", "point_checksum"]
        write_table(index_path, self.owner, pa.table(list(index), names), is_durable=False)

    # ------------------------------------------------------------------ reading

    @cached_property
    def _indices(self) -> list[NDArray[np.uint32]]:
        """Of each deal the bytes and checksums of every partition's keys and points."""
        found = []
        for deal in self.deals:
            try:
                table = read_table(self._paths(deal)[1], self.owner)
            except BatchError:
                raise self._damage() from None
            found.append(np.array([column.to_numpy() for column in table.columns]))
        return found

    def _damage(self) -> BatchError:
        return BatchError(
            f"{self.folder} is damaged: remove it and resume, which divides the records anew: "
            "nothing is spent or drawn again"
        )

    def _read(self, number: int, *, points: bool = True) -> tuple[Any, Hashes, FloatArray]:
        """Keys, hashes and points of a partition's rows, in the file's order."""
        index = [own[:, number].tolist() for own in self._indices]
        rows = sum(own[1] for own in index) // (8 * self.columns.width)
        values = np.empty((rows if points else 0, self.columns.width))
        room, batches, done = values.reshape(-1).view(np.uint8).data, [], 0
        for deal, whole, own in zip(self.deals, self._indices, index, strict=True):
            key_bytes, point_bytes, *checksums = own
            if not key_bytes:
                continue
            part = room[done : done + point_bytes] if points else room
            done += len(part)
            try:
                with self._paths(deal)[0].open("rb", buffering=0) as file:
                    file.seek(int(whole[:2, :number].sum(dtype=np.int64)))
                    keys = file.read(key_bytes)
                    file.readinto(part)
            except OSError:
                raise self._damage() from None
            if zlib.crc32(keys) != checksums[0] or (points and zlib.crc32(part) != checksums[1]):
                raise self._damage()
            batches.append(ipc.read_record_batch(keys, self._key_schema))
        table = pa.Table.from_batches(batches, self._key_schema).combine_chunks()
        hashes = table.column(table.num_columns - 1).to_numpy()
        return table.select(range(len(self.by))), hashes, values

    def sizes(self, number: int, units: Memberships | None) -> Counter[int]:
        """Number of groups of each number of records in a partition, or of units if they have
        names; these go to `units`.

        Without units two keys of one hash count as one here: never of one column of integers that
        has none missing, and otherwise in one case of 300,000 among ten million keys. With units,
        in how many groups one is decides over a guarantee, and keys are compared by their names.
        """
        if units is None:
            _, hashes, _ = self._read(number, points=False)
            return count_sizes(np.diff(_ends(np.sort(hashes))))
        _, n, points = self.read(number)
        group = np.repeat(np.arange(len(n)), n)
        names = points[:, -1].copy().view(np.uint64)
        records = first_records(group, names)
        units.add(f"{number:06d}", names[records])
        return count_sizes(np.bincount(group[records]))

    def read(self, number: int) -> tuple[Any, Offsets, FloatArray]:
        """Key and number of records of every group, and the points, each group's in their order."""
        keys, hashes, points = self._read(number)
        order = _stable_order(hashes)
        firsts, n = runs(keys.take(pa.array(order)))
        if len(n) != len(_ends(hashes[order])) - 1:  # several keys of one hash
            order = _sorted_by_name(keys, hashes)
            firsts, n = runs(keys.take(pa.array(order)))
        return firsts, n, points.take(order, axis=0)


def _ends(ordered: Hashes) -> NDArray[np.int64]:
    """Where runs of equal hashes begin, and the last ends."""
    changed = ordered[1:] != ordered[:-1]
    inner = np.flatnonzero(changed) + 1
    return np.concatenate(([0], inner, [len(ordered)] * min(len(ordered), 1))).astype(np.int64)


def _stable_order(hashes: Hashes) -> NDArray[np.int64]:
    """The order of hashes, equal ones as they come: by 16 bits at a time, from the last ones."""
    order = np.arange(len(hashes))
    for shift in range(0, 64, 16):
        digits = (hashes >> np.uint64(shift)).astype(np.uint16)
        order = order.take(np.argsort(digits.take(order), kind="stable"))
    return order


def _sorted_by_name(keys: Any, hashes: Hashes) -> NDArray[np.int64]:
    data, ends = group_names(keys)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(data.tobytes())]
    names = pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)
    ordered = pc.sort_indices(
        pa.table({"hash": hashes, "name": names}),
        sort_keys=[("hash", "ascending"), ("name", "ascending")],
    )
    return np.asarray(ordered.to_numpy(), dtype=np.int64)
