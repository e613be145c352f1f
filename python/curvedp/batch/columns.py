"""Arrow columns as records.

Types, shapes and names of columns raise. Values of records do not: a missing point or number
becomes NaN, which counts as the ball's centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._arrow import pa
from curvedp._guard import quiet
from curvedp._validation import FloatArray, number_of, of_cell
from curvedp.batch.keys import Hashes, Table, select, unit_hashes, whole_column
from curvedp.errors import BatchError
from curvedp.manifolds import Manifold
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.statistics.statistic import Statistic

__all__ = ["RecordColumns", "as_table", "column_numbers"]

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
    array = whole_column(column)
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
    usual = manifold.kernels.short_size or manifold.point_size
    for length in {manifold.point_size, usual, *reading.widths(manifold.written)}:
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
