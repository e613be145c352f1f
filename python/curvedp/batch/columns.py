"""Arrow columns as records and as keys of groups.

Types, shapes and names of columns raise. Values of records do not: a missing point or number
becomes NaN, which counts as the ball's centre. Values of group keys may raise: they are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._arrow import pa, pc
from curvedp._guard import quiet
from curvedp._text import listed
from curvedp._validation import FloatArray, number_of, of_cell
from curvedp.errors import BatchError
from curvedp.manifolds import Manifold
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.statistics.grouping import Names, Offsets
from curvedp.statistics.statistic import Statistic

__all__ = [
    "Hashes",
    "RecordColumns",
    "as_table",
    "column_numbers",
    "group_names",
    "grouped",
    "hashes_of",
    "in_order",
    "key_columns",
    "key_hashes",
    "key_schema",
    "runs",
    "select",
]

Table = Any
#: Hashes of names, of 64 bits.
Hashes = NDArray[np.uint64]


#: Where a field's metadata name a type that this process has not registered.
_EXTENSION = b"ARROW:extension:name"
_SEQUENCES = (list, tuple, np.ndarray)


def as_table(source: Any) -> Table:
    """An Arrow table from anything with ``__arrow_c_stream__``: pyarrow, polars, pandas."""
    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()  # a lazy frame
    # an array of structs is no table: Arrow refuses it if, and only if, one of them is missing
    is_table = any(hasattr(source, name) for name in ("schema", "columns"))
    if not hasattr(source, "__arrow_c_stream__") or not is_table:
        raise TypeError(
            "the data must be an Arrow table (anything with __arrow_c_stream__, such as a pyarrow, "
            "polars or pandas table, or a lazy frame of polars) or the place of Parquet files, got "
            f"{type(source).__name__}"
        )
    if hasattr(source, "isetitem"):
        source = _with_flat_cells(source)
    return pa.table(source)


def _with_flat_cells(frame: Any) -> Any:
    """A pandas frame whose columns of objects Arrow reads, whatever a cell holds.

    Cells of arrays or lists become flat arrays; a column of values of several types holds numbers,
    and NaN for what are none.
    """
    flat = frame
    for at in range(frame.shape[1]):
        column = frame.iloc[:, at]
        if column.dtype == object and (cells := _readable(column)) is not None:
            flat = frame.copy(deep=False) if flat is frame else flat
            flat.isetitem(at, type(column)(cells, column.index, dtype=object))
    return flat


def _readable(column: Any) -> list[Any] | None:
    """The cells of a column of objects that Arrow reads; None for the column as it is."""
    if any(isinstance(cell, _SEQUENCES) for cell in column):
        return [of_cell(cell) for cell in column]
    try:
        pa.array(column, from_pandas=True)
    except Exception:  # whatever a value of a record may do
        return [number_of(cell) for cell in column]
    return None


def select(schema: Any, names: Sequence[str]) -> None:
    """Raises unless every name is one column, of a type that is known here."""
    for name in names:
        found = schema.get_all_field_indices(name)
        if len(found) != 1:
            how = "no column" if not found else f"{len(found)} columns"
            raise BatchError(f"{how} {name!r}; {listed(schema.names)}")
        said = (schema.field(found[0]).metadata or {}).get(_EXTENSION)
        if said is not None:
            raise BatchError(
                f"column {name!r} holds the type {said.decode(errors='replace')!r}, which is not "
                "known here: write what it is stored as without that name"
            )


# ------------------------------------------------------------------------------------- group keys


def key_columns(table: Table, by: Sequence[str]) -> Table:
    """The columns of group keys, dictionaries spelled out.

    Raises
    ------
    BatchError
        For a missing column or a type without exact equality (numbers with a fraction, lists).
    """
    select(table.schema, by)
    return pa.table({name: _key(table.column(name), name) for name in by})


def key_schema(schema: Any, by: Sequence[str]) -> Any:
    """The schema of `key_columns`."""
    select(schema, by)
    return key_columns(pa.schema([schema.field(name) for name in by]).empty_table(), by).schema


def _key(column: Any, name: str) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    types = pa.types
    if types.is_string_view(kind) or types.is_binary_view(kind):
        kind = pa.large_string() if types.is_string_view(kind) else pa.large_binary()
        column = column.cast(kind)
    exact = (
        types.is_integer(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )
    if not exact:
        raise BatchError(
            f"the group key {name!r} holds {kind}: keys are integers, booleans, strings, dates or "
            "timestamps"
        )
    if types.is_date64(kind):  # milliseconds that need not be whole days
        column = pc.floor_temporal(column, unit="day")
    return column


def runs(keys: Table) -> tuple[Table, Offsets]:
    """The key of each run of equal neighbours, and the number of its rows."""
    offsets = _run_offsets(keys)
    return keys.take(pa.array(offsets[:-1])).combine_chunks(), np.diff(offsets)


def grouped(keys: Table) -> tuple[Table, Offsets, NDArray[np.int64] | None]:
    """The keys of groups in order, numbers of their rows, and in which order the rows stand then.

    None for an order in which they stand already; rows of a group keep theirs.
    """
    firsts, n = runs(keys)
    if in_order(firsts):
        return firsts, n, None
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    firsts, n = runs(keys.take(order).combine_chunks())
    return firsts, n, order.to_numpy()


def _run_offsets(keys: Table) -> Offsets:
    """Beginnings of runs of equal keys, and the number of rows."""
    ends = [np.zeros(1, dtype=np.int64)]
    for column in keys.columns:
        done = 0
        for chunk in column.chunks:
            if len(chunk):
                ends.append(done + _run_ends(chunk))
                done += len(chunk)
    offsets = np.concatenate(ends)
    if keys.num_columns > 1:  # those of one column are in order as they come
        offsets.sort()
        offsets = offsets[np.append(np.diff(offsets) > 0, True)]
    return _joined(keys, offsets)


def _run_ends(keys: Any) -> Offsets:
    """Ends of runs of equal neighbours."""
    if pa.types.is_integer(keys.type) and not keys.null_count:
        values = keys.to_numpy()
        return np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, len(values))
    ends = pc.run_end_encode(keys, run_end_type=pa.int64()).run_ends
    return np.asarray(ends.to_numpy(zero_copy_only=False), dtype=np.int64)


def _joined(keys: Table, offsets: Offsets) -> Offsets:
    """Offsets without those between equal keys, which chunks of a column leave behind."""
    if all(column.num_chunks <= 1 for column in keys.columns) or len(offsets) < 3:
        return offsets
    seams = {0}
    for column in keys.columns:
        seams.update(np.cumsum([len(chunk) for chunk in column.chunks]).tolist())
    doubtful = [at for at in sorted(seams) if 0 < at < len(keys)]
    equal = [at for at in doubtful if _same(keys, at - 1, at)]
    return np.delete(offsets, np.searchsorted(offsets, equal))


def _same(keys: Table, one: int, other: int) -> bool:
    """Test two rows of keys for equality; as Python objects two instants of time may seem equal."""
    return all(column[one].equals(column[other]) for column in keys.columns)


def in_order(keys: Table) -> bool:
    """True if rows of keys never decrease, nulls last."""
    first = keys.column(0)
    if keys.num_columns == 1 and pa.types.is_integer(first.type) and not first.null_count:
        numbers = first.to_numpy()
        return bool((numbers[1:] >= numbers[:-1]).all())
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return bool(np.array_equal(order.to_numpy(), np.arange(len(keys))))


def group_names(keys: Table) -> Names:
    """One byte string per row of keys, different for different rows.

    Each key is written as its length, a colon and its text, a missing one as "-": no two rows of
    keys are written alike.
    """
    if not len(keys):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    tokens = []
    for column in keys.columns:
        text = _text(_whole(column))
        length = pc.cast(pc.binary_length(text), pa.large_string()).cast(pa.large_binary())
        colon = pa.scalar(b":", pa.large_binary())
        written = pc.binary_join_element_wise(length, text, colon)
        tokens.append(pc.fill_null(written, pa.scalar(b"-", pa.large_binary())))
    comma = pa.scalar(b",", pa.large_binary())
    whole = tokens[0] if len(tokens) == 1 else pc.binary_join_element_wise(*tokens, comma)
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    _, ends, data = whole.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    text_bytes = np.frombuffer(data or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    return text_bytes, offsets - offsets[0]


def hashes_of(keys: Table) -> Hashes:
    """The hash of every row of keys."""
    firsts, n = runs(keys)
    hashes = np.empty(len(n), dtype=np.uint64)
    _core.hash_names(*group_names(firsts), hashes)
    return np.repeat(hashes, n)


def key_hashes(keys: Table) -> Hashes:
    """A hash of every row of keys, for integers without their names.

    Keys of one column of integers, none of which is missing, have one hash each: those of
    SplitMix64 are a permutation.
    """
    if not all(pa.types.is_integer(kind) for kind in keys.schema.types):
        return hashes_of(keys)
    found = np.zeros(len(keys), dtype=np.uint64)
    for column in keys.columns:
        missing = column.is_null() if column.null_count else None
        numbers = column if missing is None else column.fill_null(0)
        found += numbers.to_numpy().astype(np.uint64)
        if missing is not None:
            found[missing.to_numpy()] ^= np.uint64(0xD1B54A32D192ED03)
        found = _mixed(found)
    return found


def _mixed(words: Hashes) -> Hashes:
    """The output of SplitMix64 for states (Steele, Lea and Flood, OOPSLA 2014, figure 17)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def unit_hashes(table: Table, units: str) -> Hashes:
    """The hash of the name of every record's unit.

    Raises
    ------
    BatchError
        For a missing column, a type without exact equality, and names that are missing.
    """
    names = key_columns(table, [units])
    if names.column(0).null_count:
        raise BatchError(f"column {units!r} must name each record's person: some are missing")
    return hashes_of(names)


def _text(array: Any) -> Any:
    """Keys as large_binary."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_timestamp(kind):  # without its zone, in which a time may come twice
        unit = "ms" if kind.unit == "s" else kind.unit  # as Parquet has it
        array = array.cast(pa.timestamp(unit))
    return array.cast(pa.large_string()).cast(pa.large_binary())


# ---------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class RecordColumns:
    """The columns of a table that hold its records.

    Attributes
    ----------
    points : tuple of str
        One column of lists of one length or of tensors, or several columns of numbers.
    manifold : Manifold
    beside : str or None
        The column of what `statistic` takes beside the points.
    units : str or None
        A column that names each record's person.
    is_public : bool
        False where who is there is protected, so that no label raises.
    reading : Reading
        How the numbers of points are written.
    """

    points: tuple[str, ...]
    manifold: Manifold
    beside: str | None = None
    units: str | None = None
    statistic: Statistic[Any] | None = None
    is_public: bool = True
    reading: Reading = PLAIN

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.points, *(name for name in (self.beside, self.units) if name is not None)]

    @property
    def width(self) -> int:
        """Numbers of a record."""
        return self.manifold.point_size + (self.beside is not None) + (self.units is not None)

    def records(self, table: Table) -> tuple[FloatArray, FloatArray | None, Hashes | None]:
        """Points of a table, shape (n, ...), what is beside each, and hashes of units' names."""
        rows = self.read(table)
        points = self.points_of(rows).reshape(len(rows), *self.manifold.point_shape)
        return points, self.beside_of(rows), self.units_of(rows)

    def points_of(self, rows: FloatArray) -> FloatArray:
        """The points among what `read` found, shape (n, point_size)."""
        return np.ascontiguousarray(rows[:, : self.manifold.point_size])

    def beside_of(self, rows: FloatArray) -> FloatArray | None:
        """Numbers beside the points of records, among those that `read` found."""
        if self.beside is None:
            return None
        return np.ascontiguousarray(rows[:, self.manifold.point_size])

    def units_of(self, rows: FloatArray) -> Hashes | None:
        """The hashes of units' names among what `read` found."""
        return None if self.units is None else np.ascontiguousarray(rows[:, -1]).view(np.uint64)

    @quiet
    def read(self, table: Table) -> FloatArray:
        """The records of a table, shape (n, width): a point each, after it what it has beside, and
        last the bits of the hash of the unit's name.

        Raises
        ------
        BatchError
            For a missing column, a type that holds no real numbers, or points of another shape.
        """
        select(table.schema, self.names)
        rows = self._numbers(table)
        rows = _as_points(rows, self.manifold, ", ".join(map(repr, self.points)))
        if self.beside is not None:
            own = self._read_beside(table.column(self.beside))
            rows = np.concatenate([rows, own[:, None]], axis=1)
        if self.units is not None:
            hashes = unit_hashes(table, self.units).view(np.float64)
            rows = np.concatenate([rows, hashes[:, None]], axis=1)
        return np.ascontiguousarray(rows)

    def _numbers(self, table: Table) -> FloatArray:
        """Points, or their short forms, one row each."""
        space = self.manifold
        if len(self.points) == 1:
            (name,) = self.points
            column = table.column(name)
            return column_numbers(column, name, space, space.point_size, self.reading)
        columns = [column_numbers(table.column(name), name, space) for name in self.points]
        return self.reading.of_rows(np.concatenate(columns, axis=1), space.written)

    def _read_beside(self, column: Any) -> FloatArray:
        """Number beside the point of each record."""
        assert self.beside is not None
        assert self.statistic is not None
        if self.statistic.beside == "labels":
            labels = np.empty(len(column), dtype=object)
            labels[:] = column.to_pylist()
            if not self.is_public:
                return self.statistic.read_protected_beside(labels, len(column))
            return self.statistic.read_beside(labels, len(column))
        numbers = column_numbers(column, self.beside, self.manifold)
        if numbers.shape[1] != 1:
            raise BatchError(f"column {self.beside!r} must hold one number for each record")
        return numbers[:, 0]


def column_numbers(
    column: Any, name: str, manifold: Manifold, width: int = 1, reading: Reading = PLAIN
) -> FloatArray:
    """A column as (n, k) floats; what is missing is NaN.

    Where the lengths of lists may differ, each list is a point of the manifold or its short form by
    its own length; one of another length is NaN. `width` is that of a column without a
    type, in which all is missing.

    Raises
    ------
    BatchError
        For a type that holds no real numbers, or tensors of another shape.
    """
    array = _whole(column)
    shape = None
    if isinstance(array.type, pa.FixedShapeTensorType):
        shape = tuple(array.type.shape)
        order = array.type.permutation
        if order is not None and list(order) != list(range(len(shape))):
            raise BatchError(f"column {name!r}: tensors must be in row-major order")
        array = array.storage
    kind = array.type
    if pa.types.is_null(kind):
        return np.full((len(array), width), np.nan)
    if _varies(kind):
        return _points_of_lists(array, name, manifold, reading)
    width = 1
    values, missing = array, None
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
        values = array.values.slice(array.offset * width, len(array) * width)
        missing = array.is_null().to_numpy(zero_copy_only=False)
        while pa.types.is_fixed_size_list(values.type):  # rows of matrices
            absent = values.is_null().to_numpy(zero_copy_only=False)
            missing |= absent.reshape(len(array), width).any(axis=1)
            more = values.type.list_size
            values = values.values.slice(values.offset * more, len(values) * more)
            width *= more
    if shape is not None and shape not in (manifold.point_shape, (manifold.point_size,)):
        raise BatchError(
            f"column {name!r} holds tensors of shape {shape}, a point of {manifold.spec} has "
            f"{manifold.point_shape}"
        )
    block: FloatArray = _floats(values, name).reshape(len(array), width)
    if missing is not None:
        block = np.where(missing[:, None], np.nan, block)
    return reading.of_rows(block, manifold.written, f"lists of column {name!r}")


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _varies(kind: Any) -> bool:
    """True for lists of any lengths, also within lists of fixed size."""
    while pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return _is_list(kind)


def _floats(values: Any, name: str) -> FloatArray:
    """Numbers as float64; what is missing is NaN."""
    kind = values.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise BatchError(f"column {name!r} holds {kind}, not real numbers")
    found: FloatArray = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def _whole(column: Any) -> Any:
    """A column as one array; copied only if it is not."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _points_of_lists(
    array: Any, name: str, manifold: Manifold, reading: Reading = PLAIN
) -> FloatArray:
    """Points from lists of any lengths, also of lists, each a function of its own list."""
    starts, values = np.arange(len(array) + 1), array
    missing = np.zeros(len(array), dtype=np.bool_)
    while pa.types.is_nested(values.type):
        kind, absent = values.type, values.is_null().to_numpy(zero_copy_only=False)
        absent = np.concatenate(([0], np.cumsum(absent)))[starts]
        missing |= absent[1:] > absent[:-1]
        if pa.types.is_fixed_size_list(kind):
            ends = kind.list_size * np.arange(len(values) + 1, dtype=np.int64)
            values = values.values.slice(values.offset * kind.list_size, int(ends[-1]))
        elif _is_list(kind):
            ends, values = values.offsets.to_numpy(), values.values
        else:
            break
        starts = ends[starts]
    values = _floats(values, name)
    lengths = np.where(missing, -1, np.diff(starts))
    points = np.full((len(array), manifold.point_size), np.nan)
    for length in {manifold.point_size, manifold.kernels.short_size or manifold.point_size}:
        own = np.flatnonzero(lengths == length)
        if not reading.reads(length, manifold.written):
            continue  # of another form than is said: no point
        lists = values[starts[own][:, None] + np.arange(length)]
        whole = manifold._complete(reading.of_rows(lists, manifold.written))
        if whole is not None:
            points[own] = whole
    return points


def _as_points(rows: FloatArray, manifold: Manifold, where: str) -> FloatArray:
    """Rows of whole points, from rows of these or of their short forms."""
    completed = manifold._complete(rows)
    if completed is None:
        raise BatchError(
            f"column {where}: {rows.shape[1]} numbers for each record, but "
            f"{manifold._expected_entries}"
        )
    return completed
