"""Contents of footers of Parquet files, and rows of batches that are decoded one by one."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from curvedp._arrow import pa, pq
from curvedp.batch.files import File, Stamp

__all__ = ["Footer", "Stream", "width_of"]


@dataclass(frozen=True)
class Footer:
    """Contents of the end of a file, and its stamp before that was read.

    Attributes
    ----------
    stamp : list
    digest : str
    schema : pyarrow.Schema
    rows : list of int
        Numbers of rows of its row groups.
    encoded : Counter
        Bytes that each of its columns takes, encoded.
    """

    stamp: Stamp
    digest: str
    schema: Any
    rows: list[int]
    encoded: Counter[str]

    @classmethod
    def of(cls, file: File) -> Footer:
        """That of a file."""
        stamp, end = file.stamp(), file.footer()
        opened = pq.ParquetFile(pa.BufferReader(end))
        told = opened.metadata
        groups = [told.row_group(i) for i in range(told.num_row_groups)]
        encoded = Counter[str]()
        for i in range(told.num_columns):
            name = str(told.schema.column(i).path).split(".", maxsplit=1)[0]
            encoded[name] += sum(group.column(i).total_uncompressed_size for group in groups)
        rows = [group.num_rows for group in groups]
        digest = hashlib.sha256(end).hexdigest()
        return cls(stamp, digest, opened.schema_arrow, rows, encoded)


class Stream:
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


def width_of(kind: Any) -> int:
    """Bytes of one value of a type; 0 where they differ from value to value."""
    if isinstance(kind, pa.BaseExtensionType):
        return width_of(kind.storage_type)
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * width_of(kind.value_type)
    try:
        return int(-(-kind.bit_width // 8))
    except ValueError:
        return 0
