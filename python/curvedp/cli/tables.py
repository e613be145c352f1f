"""Records and centres from files: npy, npz, csv and parquet.

A row is one record. Nothing here depends on what a record holds: a cell that is empty or not a
number becomes NaN, which the ball later replaces by its centre. Only the shape and the dtype of a
file are reported.
"""

from __future__ import annotations

import contextlib
import csv
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.errors import MissingExtraError
from curvedp.manifolds import Manifold

__all__ = ["SUFFIXES", "FileError", "as_points", "read_labels", "read_table"]

SUFFIXES = (".npy", ".npz", ".csv", ".parquet")

Array = NDArray[np.float64]


class FileError(Exception):
    """A file cannot be read or written, or does not have the announced layout."""


def read_table(
    path: Path,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool = True,
) -> Array:
    """Read an array of records, one per row.

    Parameters
    ----------
    path : Path
        File with one of the `SUFFIXES`.
    key : str, optional
        Member of an npz file; may be left out when there is only one.
    columns : sequence of str, optional
        Columns of a csv or parquet file, in this order; all by default.
    header : bool
        True if the first line of a csv file holds column names.

    Returns
    -------
    ndarray of shape (n, ...), float64

    Raises
    ------
    FileError
        Unreadable, or not a table of numbers of one shape.
    MissingExtraError
        A parquet file without pyarrow.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{path}: the name must end in one of {', '.join(SUFFIXES)}")
    if key is not None and suffix != ".npz":
        raise FileError(f"{path}: a key names a member of an npz file only")
    if columns is not None and suffix not in (".csv", ".parquet"):
        raise FileError(f"{path}: columns can be chosen from csv and parquet files only")
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    try:
        if suffix == ".csv":
            return _read_csv(path, columns, header)
        if suffix == ".parquet":
            return _read_parquet(path, columns)
        return _read_numpy(path, key)
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or 'damaged'})") from error


def read_labels(path: Path, name: str, *, header: bool = True) -> Any:
    """Read a column of labels: of a csv or parquet file, or a member of an npz file.

    Raises
    ------
    FileError
        Unreadable, or without this column.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        body, wanted = _cells(path, [name], header)
        return [row[wanted[0]].strip().strip('"') or None for row in body]
    if suffix == ".parquet":
        pa, table = _arrow_table(path)
        column = table.column(_select(table.column_names, [name], path)[0])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column
    if suffix != ".npz":
        raise FileError(f"{path}: labels stand in a csv, parquet or npz file")
    with _damage(path), path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
        return loaded[_member(loaded.files, name, path)]


def as_points(table: Array, manifold: Manifold, origin: str) -> Array:
    """Give every row of a table the shape of a point.

    A row may be a point, a flattened point, or, for symmetric matrices, the upper triangle row by
    row.

    Raises
    ------
    FileError
        The rows have another shape; the message names the possible numbers of entries.
    """
    shape = manifold.point_shape
    if table.shape[1:] == shape:
        return table
    if table.ndim != 2:
        expected = f"a point of {manifold.spec} has {manifold.point_size} numbers"
        raise FileError(f"{origin}: records of shape {table.shape[1:]}, but {expected}")
    rows = manifold._complete(table)
    if rows is None:
        expected = manifold._expected_entries
        raise FileError(f"{origin}: {table.shape[1]} numbers per record, but {expected}")
    return rows.reshape(len(table), *shape)


def _as_float(array: NDArray[Any], path: Path) -> Array:
    if array.dtype.kind not in "fiu":
        raise FileError(f"{path}: holds {array.dtype}, not real numbers")
    if array.ndim == 0:
        raise FileError(f"{path}: holds a single number, not a table of records")
    with np.errstate(all="ignore"):  # some values warn when they are widened or do not fit
        return np.ascontiguousarray(array[:, None] if array.ndim == 1 else array, dtype=np.float64)


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Says which NumPy file cannot be read."""
    try:
        yield
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"{path}: not a readable {path.suffix} file of numbers") from error


def _read_numpy(path: Path, key: str | None) -> Array:
    with _damage(path), path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _as_float(loaded, path)
        with loaded:
            return _as_float(loaded[_member(loaded.files, key, path)], path)


def _member(names: Sequence[str], key: str | None, path: Path) -> str:
    if key is None and len(names) == 1:
        return names[0]
    if key in names:
        return str(key)
    wanted = "has several members" if key is None else f"has no member {key!r}"
    raise FileError(f"{path}: {wanted}; choose with --key one of: {', '.join(names)}")


def _select(names: Sequence[str], columns: Sequence[str], path: Path) -> list[int]:
    missing = [name for name in columns if name not in names]
    if missing:
        raise FileError(
            f"{path}: no column {', '.join(map(repr, missing))}; there are: {', '.join(names)}"
        )
    return [list(names).index(name) for name in columns]


def _number(cell: str) -> float:
    try:
        return float(cell.strip().strip('"'))
    except ValueError:
        return float("nan")


def _read_csv(path: Path, columns: Sequence[str] | None, header: bool) -> Array:
    """Records of a csv file, one per line."""
    rows, wanted = _cells(path, columns, header)
    return np.array([[_number(row[column]) for column in wanted] for row in rows])


def _cells(
    path: Path, columns: Sequence[str] | None, header: bool
) -> tuple[list[list[str]], list[int]]:
    """Cells of a csv file, line by line, and the places of some columns.

    Quotes do not span lines, so no record alters another.
    Blank lines are skipped, except in a table of one column, where they are empty cells.
    """
    if columns is not None and not header:
        raise FileError(f"{path}: columns can be chosen only when the first line names them")
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line.strip() for line in file]
    if not lines:
        raise FileError(f"{path}: empty")
    first = next(csv.reader([lines[0]]), [""])
    names = [name.strip() for name in first]
    body = lines[1:] if header else lines
    rows = [line.split(",") for line in body if line or len(names) == 1]
    if not rows:
        raise FileError(f"{path}: no record{' below the line of names' if header else ''}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise FileError(f"{path}: record {number} has {len(row)} cells instead of {len(names)}")
    return rows, [*range(len(names))] if columns is None else _select(names, columns, path)


def _arrow_table(path: Path) -> tuple[Any, Any]:
    """The module pyarrow, and a parquet file as its table."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("batch", needed_for="parquet files") from error
    try:
        return pa, pq.read_table(path)
    except pa.ArrowException as error:
        raise FileError(f"{path}: not a readable parquet file") from error


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Array:
    table = _arrow_table(path)[1]
    chosen = table.select(
        range(table.num_columns) if columns is None else _select(table.column_names, columns, path)
    )
    blocks = [
        _column(chosen.column(k).combine_chunks(), f"{path}: column {name!r}")
        for k, name in enumerate(chosen.column_names)
    ]
    if not blocks or not len(blocks[0]):
        raise FileError(f"{path}: no record")
    return np.concatenate(blocks, axis=1)


def _column(array: Any, where: str) -> Array:
    """A column of numbers as (n, 1), of lists of one length k as (n, k); null becomes NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = 1
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        lengths = pc.min_max(pc.list_value_length(array)).as_py()
        if lengths["min"] != lengths["max"]:
            raise FileError(f"{where} holds lists of different lengths")
        if not lengths["min"]:
            raise FileError(f"{where} holds empty lists only")
        array = array.cast(pa.list_(array.type.value_type, lengths["min"]))
    values = array
    missing = None
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
        values = array.values.slice(array.offset * width, len(array) * width)
        missing = array.is_null().to_numpy(zero_copy_only=False)
    kind = values.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise FileError(f"{where} holds {kind}, not real numbers")
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    block = np.array(numbers, dtype=np.float64).reshape(-1, width)
    if missing is not None:
        block[missing] = np.nan
    return block
