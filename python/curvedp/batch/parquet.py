"""Parquet files, decoded a megabyte at a time."""

from __future__ import annotations

import contextlib
import copy
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np

from curvedp._arrow import ipc, pa, pq
from curvedp.batch.decoding import Footer, Stream, width_of
from curvedp.batch.files import (
    File,
    Location,
    check_spelling,
    damage,
    each_of,
    find_files,
    fingerprint_of_files,
    name_of,
)
from curvedp.batch.keys import select
from curvedp.batch.listing import filesystem_of
from curvedp.errors import BatchError

__all__ = ["Source", "all_rows"]

#: Bytes of a column that are read at a time, and of records that are decoded at a time, about.
_BUFFER = 1 << 20
#: Records that are decoded at a time, at most.
_MOST_ROWS = 1 << 17

_BACK = "bring back what it was, with its times, and resume"


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
        self._files = find_files(location)
        found = each_of(self._files, Footer.of)
        for name in set(columns).difference(found[0].schema.names):
            check_spelling(self._files, name)
        self.stamps = [own.stamp for own in found]
        self._digests = [own.digest for own in found]
        self._encoded = sum((own.encoded for own in found), Counter[str]())
        self.schema = _with_keys(found[0].schema, self._files[0].keys)
        select(self.schema, columns)
        checked = None
        for file, own in zip(self._files, found, strict=True):
            if file.keys or checked is None or not own.schema.equals(checked):
                self._check(file, own.schema, columns)
                checked = own.schema
        sizes = [own.rows for own in found]
        self._arrange(sizes, columns)

    def _arrange(self, sizes: Sequence[Sequence[int]], columns: Sequence[str]) -> None:
        """Sets what follows from the numbers of rows of each file's row groups."""
        # the row groups of all files, the first row of each, and the number of rows
        self._sizes = sizes
        self._groups = [(k, i) for k, own in enumerate(sizes) for i in range(len(own))]
        self._starts = np.concatenate(([0], np.cumsum(list(chain(*sizes)), dtype=np.int64)))
        self.choose(columns)

    def choose(self, columns: Sequence[str]) -> None:
        """Sets which columns are read, and how many rows at a time."""
        self.columns = list(columns)
        encoded = sum(self._encoded[name] for name in self.columns)
        # what repeats is short as long as it is encoded
        decoded = sum(width_of(self.schema.field(name).type) for name in self.columns) * self.rows
        self._batch = max(1, min(_MOST_ROWS, _BUFFER * self.rows // max(1, decoded, encoded)))
        self._stream: Stream | None = None
        # threads may share it, and Arrow's reader crashes under two at once
        self._reading = threading.Lock()

    def of(self, columns: Sequence[str]) -> Source:
        """The same files, read anew for some of the columns."""
        other = copy.copy(self)
        other.choose(columns)
        return other

    def to_table(self) -> Any:
        """All that another process needs to read the same files without looking for them."""
        keys = {name: own.type for file in self._files for name, own in file.keys.items()}
        columns = {
            "path": pa.array([file.path for file in self._files]),
            "rows": pa.array(self._sizes, pa.list_(pa.int64())),
            "stamp": pa.array([json.dumps(stamp) for stamp in self.stamps]),
            "footer": pa.array(self._digests),
        }
        for name, kind in keys.items():
            values = [
                file.keys[name].as_py() if name in file.keys else None for file in self._files
            ]
            columns[f"key {name}"] = pa.array(values, kind)
        told: dict[str, Any] = {
            "location": self.location,
            "columns": self.columns,
            "encoded": self._encoded,
        }
        if keys:
            told["keys"] = [list(file.keys) for file in self._files]
        schema = self.schema.serialize().to_pybytes()
        return pa.table(columns).replace_schema_metadata(
            {"schema": schema, "told": json.dumps(told)}
        )

    @classmethod
    def from_table(cls, table: Any) -> Source:
        """Inverse of `to_table`."""
        own = object.__new__(cls)
        own.__setstate__(table)
        return own

    def __copy__(self) -> Source:
        other = object.__new__(Source)
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> Any:
        return self.to_table()

    def __setstate__(self, table: Any) -> None:
        told = json.loads(table.schema.metadata[b"told"])
        self.schema = ipc.read_schema(pa.py_buffer(table.schema.metadata[b"schema"]))
        self.location, self._encoded = told["location"], Counter(told["encoded"])
        place = self.location if isinstance(self.location, str) else self.location[0]
        filesystem = filesystem_of(place)[0]
        paths = table.column("path").to_pylist()
        names = told.get("keys", [()] * len(paths))
        self._files = [
            File(filesystem, path, {name: table.column(f"key {name}")[at] for name in names[at]})
            for at, path in enumerate(paths)
        ]
        self.stamps = [json.loads(stamp) for stamp in table.column("stamp").to_pylist()]
        self._digests = table.column("footer").to_pylist()
        self._arrange(table.column("rows").to_pylist(), told["columns"])

    def _check(self, file: File, schema: Any, columns: Sequence[str]) -> None:
        """Refuses a file without a column, or with one that the first file has of another type."""
        for name in columns:
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

    @contextlib.contextmanager
    def _readable(self, file: File | None = None) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError):
            raise damage(self.name if file is None else file.name) from None

    @contextlib.contextmanager
    def _opened(self, file: File) -> Iterator[Any]:
        """A file, read page by page: whole row groups would have to pass through memory."""
        with self._readable(file), file.open() as handle:
            yield pq.ParquetFile(
                handle, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            )

    @property
    def name(self) -> str:
        """Name in messages."""
        return name_of(self.location)

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self._starts[-1])

    @property
    def files(self) -> int:
        """Number of files."""
        return len(self._files)

    def ranges(self, rows: int) -> list[int]:
        """The first row of each stretch of whole row groups with so many rows, and their number."""
        found = [0]
        for start in self._starts[1:-1].tolist():
            if start - found[-1] >= rows and start < self.rows:  # empty ones may end the input
                found.append(start)
        return [*found, self.rows]

    def fingerprint(self) -> dict[str, Any]:
        """By what changed files are noticed: see `fingerprint_of_files`."""
        return fingerprint_of_files(self._files, self.stamps, self._digests)

    def check_unchanged(
        self, start: int = 0, stop: int | None = None, *, of: str = "batch", end: str = _BACK
    ) -> None:
        """Refuses files with rows from `start` to `stop` whose stamps are no longer the first.

        Without these, also files that have come or gone. `of` and `end` say what began, and what
        is to be done now.

        Raises
        ------
        BatchError
        """
        read = range(len(self._files))
        if stop is not None:
            first, last = np.searchsorted(self._starts[1:], [start, stop - 1], side="right")
            read = range(self._groups[first][0], self._groups[last][0] + 1)
        here = self._files if stop is not None else find_files(self.location)
        same = [own.path for own in here] == [own.path for own in self._files]
        found = each_of([self._files[number] for number in read], File.stamp) if same else []
        if found != [self.stamps[number] for number in read]:
            raise BatchError(
                f"{self.name} has changed since the {of} began, and what was read of it now is "
                f"not used: {end}"
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

    def _stream_from(self, start: int) -> Stream:
        """The rows from `start` on, decoded on this thread: others have enough to do meanwhile."""
        last = len(self._groups) - 1
        first = min(int(np.searchsorted(self._starts, start, side="right")) - 1, last)
        if last < 0:
            return Stream(iter(()), 0)
        number, group = self._groups[first]
        batches = self._batches(number, group, self.columns, self._batch, use_threads=False)
        stream = Stream(batches, int(self._starts[first]))
        stream.skip(start - stream.at)
        return stream

    def _batches(
        self, number: int, group: int, columns: Sequence[str], rows: int, *, use_threads: bool
    ) -> Iterator[Any]:
        """Batches of the files from one row group of one file on."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for at, file in enumerate(self._files[number:], number):
            with self._opened(file) as opened:
                groups = list(range(group, len(self._sizes[at])))
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

    def tables(self, columns: Sequence[str], start: int, stop: int, rows: int) -> Iterator[Any]:
        """The rows from `start` to `stop` in tables of at most `rows`, decoded by this thread."""
        with self.anew(columns) as own:
            for begin in range(start, stop, rows):
                yield own.read(begin, min(begin + rows, stop))

    @contextlib.contextmanager
    def anew(self, columns: Sequence[str]) -> Iterator[Source]:
        """The same files, read anew; what was decoded, which refers to itself, goes at the end."""
        own = self.of(columns)
        try:
            yield own
        finally:
            own.forget()

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


def all_rows(location: Location, columns: Sequence[str]) -> Any:
    """All rows of files, some columns only, as a table."""
    file = Source(location, columns)
    return file.read(0, file.rows)
