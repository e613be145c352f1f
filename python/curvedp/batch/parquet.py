"""Parquet files, decoded a megabyte at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from curvedp._arrow import pa, pq
from curvedp.batch.columns import select
from curvedp.errors import BatchError

__all__ = ["Source"]

#: Bytes of a column that are read at a time, and of records that are decoded at a time, about.
_BUFFER = 1 << 20
#: Records that are decoded at a time, at most.
_MOST_ROWS = 1 << 17
#: Bytes and number of the pieces of a file by which it is known again.
_PIECE, _PIECES = 1 << 14, 1 << 8


class Source:
    """A Parquet file with records.

    Raises
    ------
    BatchError
        If it cannot be read or lacks a column. Arrow's own message is not repeated: it may quote
        the file's contents.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self.path = Path(path).resolve()
        self.columns = list(columns)
        if not self.path.is_file():
            raise BatchError(f"{self.path}: no such file")
        with self._readable():
            # page by page: whole row groups of undecoded bytes would have to pass through memory
            self._file = pq.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)
            self.schema = self._file.schema_arrow
            footer = self._file.metadata
            groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
            rows_of_groups = [group.num_rows for group in groups]
            own = [i for i in range(footer.num_columns) if _name(footer, i) in self.columns]
            encoded = sum(group.column(i).total_uncompressed_size for group in groups for i in own)
        select(self.schema, self.columns)
        self._starts = np.concatenate(([0], np.cumsum(rows_of_groups, dtype=np.int64)))
        # what repeats is short as long as it is encoded
        decoded = sum(_width(self.schema.field(name).type) for name in self.columns) * self.rows
        self._batch = max(1, min(_MOST_ROWS, _BUFFER * self.rows // max(1, decoded, encoded)))
        self._stream: _Stream | None = None
        # threads of a cluster's worker share a file, and Arrow's reader crashes under two at once
        self._reading = threading.Lock()

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError):
            raise BatchError(f"{self.path}: not a readable Parquet file, or damaged") from None

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self._starts[-1])

    def fingerprint(self) -> dict[str, Any]:
        """Size, time and digests of the footer and of pieces all over the file.

        By these a changed file is noticed; up to 4 MB the pieces are the whole file.
        """
        found = self.path.stat()
        pieces = hashlib.sha256()
        with self._readable(), self.path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - min(length, found.st_size - 8), os.SEEK_END)
            digest = hashlib.sha256(file.read()).hexdigest()
            step = max(_PIECE, found.st_size // _PIECES)
            for start in range(0, found.st_size, step):
                file.seek(start)
                pieces.update(file.read(_PIECE))
        return {
            "bytes": found.st_size,
            "modified_ns": found.st_mtime_ns,
            "footer": digest,
            "pieces": pieces.hexdigest(),
        }

    def read(self, start: int, stop: int) -> Any:
        """The rows from `start` to `stop` as a table.

        A call that begins where the last one ended continues its decoding, so that a file read in
        order is decoded once. Only these rows and a few more are in memory, however large its row
        groups are.
        """
        with self._reading, self._readable():
            stream, self._stream = self._stream, None  # after an error, none is left
            if stream is None or stream.at != start:
                stream = self._stream_from(start)
            batches = stream.take(stop - start)
            self._stream = stream
        if not batches:
            return self.schema.empty_table().select(self.columns)
        return pa.Table.from_batches(batches)

    def _stream_from(self, start: int) -> _Stream:
        """The rows from `start` on, decoded on this thread: others have enough to do meanwhile."""
        last = len(self._starts) - 2
        first = min(int(np.searchsorted(self._starts, start, side="right")) - 1, last)
        reader = self._file.iter_batches(
            self._batch,
            row_groups=list(range(first, last + 1)),
            columns=self.columns,
            use_threads=False,
        )
        stream = _Stream(reader, int(self._starts[first]))
        stream.skip(start - stream.at)
        return stream

    def read_ahead(self, rows: int) -> None:
        """Decodes the first rows, for a call of `read` that begins with them."""
        with self._reading, self._readable():
            stream = self._stream_from(0)
            stream.decode(rows)
            self._stream = stream

    def forget(self) -> None:
        """Discards what was decoded ahead."""
        with self._reading:
            self._stream = None

    def first(self) -> Any:
        """The first row, as a table."""
        return next(self.batches(self.columns, 1))

    @staticmethod
    def joined(tables: Sequence[Any]) -> Any:
        """Tables one below the other."""
        return pa.concat_tables(tables)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """All rows in tables of at most `rows`, some columns only; the next is read meanwhile."""
        reader = self._file.iter_batches(batch_size=rows, columns=list(columns))

        def following() -> Any:
            with self._readable(), self._reading:
                return next(reader, None)

        with ThreadPoolExecutor(1) as ahead:
            waiting = ahead.submit(following)
            while (batch := waiting.result()) is not None:
                waiting = ahead.submit(following)
                yield pa.Table.from_batches([batch])


class _Stream:
    """Rows of batches that are decoded one after the other."""

    def __init__(self, batches: Iterator[Any], at: int) -> None:
        self._batches, self.at = batches, at
        self._decoded: deque[Any] = deque()

    def decode(self, rows: int) -> None:
        """Decodes that many rows ahead."""
        while sum(map(len, self._decoded)) < rows:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._decoded.append(batch)

    def take(self, rows: int) -> list[Any]:
        """The next rows, or those that are left, in parts."""
        return list(self._parts(rows))

    def skip(self, rows: int) -> None:
        """Skips rows."""
        for _ in self._parts(rows):
            pass

    def _parts(self, rows: int) -> Iterator[Any]:
        while rows:
            self.decode(1)
            if not self._decoded:
                break
            batch = self._decoded.popleft()
            part = batch.slice(0, rows)
            if len(batch) > rows:
                self._decoded.appendleft(batch.slice(rows))
            self.at += len(part)
            rows -= len(part)
            yield part


def _name(footer: Any, index: int) -> str:
    """The column that numbers of a file belong to."""
    return str(footer.schema.column(index).path).split(".", maxsplit=1)[0]


def _width(kind: Any) -> int:
    """Bytes of one value of a type; 0 where they differ from value to value."""
    if isinstance(kind, pa.BaseExtensionType):
        return _width(kind.storage_type)
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    try:
        return int(-(-kind.bit_width // 8))
    except ValueError:
        return 0
