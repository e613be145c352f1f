"""Parquet files read row group by row group, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curvedp.batch._arrow import pa, pq
from curvedp.batch.columns import select
from curvedp.errors import BatchError

__all__ = ["Source", "write_atomically"]


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
            self._file = pq.ParquetFile(self.path)
            self.schema = self._file.schema_arrow
            groups = self._file.metadata
            self.rows_of_groups = [
                groups.row_group(i).num_rows for i in range(groups.num_row_groups)
            ]
        select(self.schema, self.columns)
        self._starts = np.concatenate(([0], np.cumsum(self.rows_of_groups, dtype=np.int64)))

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
        """The rows from `start` to `stop` as a table."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        last = int(np.searchsorted(self._starts, stop, side="left"))
        with self._readable():
            table = self._file.read_row_groups(list(range(first, last)), columns=self.columns)
        return table.slice(start - int(self._starts[first]), stop - start)

    @staticmethod
    def joined(tables: Sequence[Any]) -> Any:
        """Tables one below the other."""
        return pa.concat_tables(tables)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """All rows in tables of at most `rows`, some columns only."""
        reader = self._file.iter_batches(batch_size=rows, columns=list(columns))
        while True:
            with self._readable():
                batch = next(reader, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a file next to `path`, readable by the owner alone, and moves it there."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Makes names in a folder survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
