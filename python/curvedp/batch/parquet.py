"""Parquet files, read row group by row group."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from curvedp.batch._arrow import pa, pq
from curvedp.batch.columns import select
from curvedp.errors import BatchError

__all__ = ["Source"]

#: Bytes of a column that are read at a time.
_BUFFER = 1 << 20


class Source:
    """A Parquet file with records.

    Raises
    ------
    BatchError
        If it cannot be read, or has not the columns. What Arrow says is not repeated: it may quote
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
            groups = self._file.metadata
            self.rows_of_groups = [
                groups.row_group(i).num_rows for i in range(groups.num_row_groups)
            ]
        select(self.schema, self.columns)
        self._starts = np.concatenate(([0], np.cumsum(self.rows_of_groups, dtype=np.int64)))
        self._kept: tuple[int, Any] = (-1, None)
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
        """Size, time and a digest of the footer, by which a changed file is noticed."""
        found = self.path.stat()
        with self._readable(), self.path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - min(length, found.st_size - 8), os.SEEK_END)
            digest = hashlib.sha256(file.read()).hexdigest()
        return {"bytes": found.st_size, "modified_ns": found.st_mtime_ns, "footer": digest}

    def read(self, start: int, stop: int) -> Any:
        """The rows from `start` to `stop` as a table.

        A row group that reaches beyond is kept for the call that goes on at `stop`: it is decoded
        once, however many calls read of it.
        """
        with self._reading:
            return self._read(start, stop)

    def _read(self, start: int, stop: int) -> Any:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left")) - 1
        number, kept = self._kept
        found = [kept] if number == first else []
        missing = range(first + len(found), last + 1)
        goes_on = stop < int(self._starts[last + 1])
        whole = list(missing[:-1] if goes_on else missing)
        with self._readable():
            if whole:
                found.append(self._decoded(whole))
            if len(missing) > len(whole):  # by itself, so that no more than it is kept
                found.append(self._decoded([last]))
        self._kept = (last, found[-1]) if goes_on else (-1, None)
        table = pa.concat_tables(found)
        return table.slice(start - int(self._starts[first]), stop - start)

    def _decoded(self, groups: list[int]) -> Any:
        """Row groups, on this thread: others have enough to do meanwhile."""
        return self._file.read_row_groups(groups, columns=self.columns, use_threads=False)

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
