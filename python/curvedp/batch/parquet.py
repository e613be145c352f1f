"""Parquet files, decoded a megabyte at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from curvedp._arrow import pa, pq
from curvedp.batch.columns import select
from curvedp.batch.files import (
    File,
    Location,
    Stamp,
    check_spelling,
    find_files,
    location_of,
    name_of,
)
from curvedp.errors import BatchError

__all__ = ["Source", "all_rows"]

#: Bytes of a column that are read at a time, and of records that are decoded at a time, about.
_BUFFER = 1 << 20
#: Records that are decoded at a time, at most.
_MOST_ROWS = 1 << 17


class Source:
    """Parquet files with records, one after the other.

    Columns that folders name, as in ``site=3/``, count as columns of their files.

    Raises
    ------
    BatchError
        If one cannot be read or lacks a column. Arrow's own message is not repeated: it may quote
        the file's contents.
    """

    def __init__(self, location: Location, columns: Sequence[str]) -> None:
        self.location = location
        self.columns = list(columns)
        self._files = find_files(location)
        footers = []
        for file in self._files:
            with self._opened(file) as opened:
                schema = opened.schema_arrow
                footers.append(opened.metadata)
            if len(footers) == 1:
                self.schema = _with_keys(schema, file.keys)
                select(self.schema, self.columns)
                for name in set(self.columns).difference(schema.names):
                    check_spelling(self._files, name)
            self._check(file, schema)
        # the row groups of all files, the first row of each, and the number of rows
        self._groups = [(k, i) for k, own in enumerate(footers) for i in range(own.num_row_groups)]
        sizes = [footers[k].row_group(i).num_rows for k, i in self._groups]
        self._starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        encoded = sum(_encoded(footer, self.columns) for footer in footers)
        # what repeats is short as long as it is encoded
        decoded = sum(_width(self.schema.field(name).type) for name in self.columns) * self.rows
        self._batch = max(1, min(_MOST_ROWS, _BUFFER * self.rows // max(1, decoded, encoded)))
        self._stream: _Stream | None = None
        # threads of a cluster's worker share a file, and Arrow's reader crashes under two at once
        self._reading = threading.Lock()

    @property
    def name(self) -> str:
        """Name in messages."""
        return name_of(self.location)

    @contextlib.contextmanager
    def _readable(self, file: File | None = None) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError):
            where = self.name if file is None else file.name
            raise BatchError(f"{where}: not a readable Parquet file, or damaged") from None

    @contextlib.contextmanager
    def _opened(self, file: File) -> Iterator[Any]:
        """A file, read page by page: whole row groups would have to pass through memory."""
        with self._readable(file), file.open() as handle:
            yield pq.ParquetFile(
                handle, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            )

    def _check(self, file: File, schema: Any) -> None:
        """Refuses a file without a column, or with one that the first file has of another type."""
        for name in self.columns:
            found = file.keys[name].type if name in file.keys else None
            if name in schema.names:
                found = schema.field(name).type
            if found is None:
                raise BatchError(f"{file.name}: no column {name!r}")
            wanted = self.schema.field(name).type
            if found != wanted and not _is_wider(wanted, found):
                raise BatchError(
                    f"{file.name}: column {name!r} holds {found}, in {self._files[0].name} {wanted}"
                )

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self._starts[-1])

    @property
    def files(self) -> int:
        """Number of files."""
        return len(self._files)

    def fingerprint(self) -> dict[str, Any]:
        """Fingerprint of the files: of one see `File.fingerprint`, of several a digest."""
        with self._readable():
            found = [file.fingerprint() for file in self._files]
        if len(found) == 1:
            return found[0]
        told = [[file.path, own] for file, own in zip(self._files, found, strict=True)]
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        return {"files": len(found), "bytes": sum(own["bytes"] for own in found), "digest": digest}

    def stamps(self) -> list[Stamp]:
        """Path, size and time of each file, which cost no reading of it."""
        with self._readable():
            return [file.stamp() for file in self._files]

    def check_unchanged(self, stamps: Sequence[Stamp], start: int, stop: int) -> None:
        """Refuses files with rows from `start` to `stop` whose stamps are no longer these.

        Raises
        ------
        BatchError
        """
        first, last = np.searchsorted(self._starts[1:], [start, stop - 1], side="right")
        read = {number for number, _ in self._groups[first : last + 1]}
        with self._readable():
            found = [self._files[number].stamp() for number in sorted(read)]
        if any(stamp not in stamps for stamp in found) or len(self._files) != len(stamps):
            raise BatchError(
                f"{self.name} has changed since the batch began, and what was read of it now is "
                "not used: bring back what it was, with its times, and resume"
            )

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
        last = len(self._groups) - 1
        first = min(int(np.searchsorted(self._starts, start, side="right")) - 1, last)
        if last < 0:
            return _Stream(iter(()), 0)
        number, group = self._groups[first]
        batches = self._batches(number, group, self.columns, self._batch, use_threads=False)
        stream = _Stream(batches, int(self._starts[first]))
        stream.skip(start - stream.at)
        return stream

    def _batches(
        self, number: int, group: int, columns: Sequence[str], rows: int, *, use_threads: bool
    ) -> Iterator[Any]:
        """Batches of the files from one row group of one file on."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for file in self._files[number:]:
            with self._opened(file) as opened:
                groups = list(range(group, opened.metadata.num_row_groups))
                own = [name for name in columns if name in opened.schema_arrow.names]
                for batch in opened.iter_batches(
                    rows, row_groups=groups, columns=own, use_threads=use_threads
                ):
                    yield _completed(batch, schema, file.keys)
            group = 0

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
        reader = self._batches(0, 0, list(columns), rows, use_threads=True)

        def following() -> Any:
            with self._readable(), self._reading:
                return next(reader, None)

        with ThreadPoolExecutor(1) as ahead:
            waiting = ahead.submit(following)
            while (batch := waiting.result()) is not None:
                waiting = ahead.submit(following)
                yield pa.Table.from_batches([batch])


def _with_keys(schema: Any, keys: dict[str, Any]) -> Any:
    """The columns of a file, and after them those that its folders name."""
    for name, value in keys.items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, value.type))
    return schema


def _completed(batch: Any, schema: Any, keys: dict[str, Any]) -> Any:
    """A file's batch with the columns of all files."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        if field.name in batch.schema.names:
            columns.append(batch.column(field.name).cast(field.type))
        else:
            columns.append(pa.repeat(keys[field.name].cast(field.type), batch.num_rows))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _is_wider(wanted: Any, found: Any) -> bool:
    """True for two kinds of texts, or an integer type that holds all of another's numbers."""
    texts = (pa.types.is_string, pa.types.is_large_string)
    if any(is_kind(wanted) for is_kind in texts):
        return any(is_kind(found) for is_kind in texts)
    signed = pa.types.is_signed_integer
    return bool(signed(wanted) and signed(found) and wanted.bit_width >= found.bit_width)


def _encoded(footer: Any, columns: Sequence[str]) -> int:
    """Bytes that some columns of a file take, encoded."""
    own = [i for i in range(footer.num_columns) if _name(footer, i) in columns]
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    return sum(group.column(i).total_uncompressed_size for group in groups for i in own)


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


def all_rows(source: Any, columns: Sequence[str]) -> Any:
    """All rows of files, some columns only, as a table."""
    file = Source(location_of(source), columns)
    return file.read(0, file.rows)
