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

from curvedp.errors import BatchError, MissingExtraError
from curvedp.manifolds import Euclidean, Manifold

__all__ = ["SUFFIXES", "FileError", "as_points", "read_labels", "read_table"]

SUFFIXES = (".npy", ".npz", ".csv", ".parquet")

Array = NDArray[np.float64]


class FileError(Exception):
    """A file cannot be read or written, or does not have the announced layout."""


def read_table(
    path: Path,
    manifold: Manifold | None = None,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool = True,
) -> Array:
    """Read an array of records, one per row.

    A line of a csv file with another number of cells than there are names (without names: than a
    point or its short form has) is NaN, and so is a list in a parquet file of another length.

    Parameters
    ----------
    path : Path
        File with one of the `SUFFIXES`.
    manifold : Manifold, optional
        That of the points; none for a table of numbers.
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
            return _read_csv(path, columns, header, manifold)
        if suffix == ".parquet":
            return _read_parquet(path, columns, manifold)
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
        names, body = _cells(path, [name], header)
        [place] = _select(names, [name], path)
        # a line that is too short is a person of its own: what it holds must not decide
        cells = [row[place] if place < len(row) else f"line {k}" for k, row in enumerate(body)]
        return [cell.strip().strip('"') or None for cell in cells]
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

    A row may be a point, a flattened point, or the short form of one.

    Raises
    ------
    ValueError
        The rows have another shape; the message names the possible numbers of entries.
    """
    shape = manifold.point_shape
    if table.shape[1:] == shape:
        return table
    if table.ndim != 2:
        expected = manifold._expected_entries
        raise ValueError(f"{origin}: records of shape {table.shape[1:]}, but {expected}")
    rows = manifold._complete(table)
    if rows is None:
        expected = manifold._expected_entries
        raise ValueError(f"{origin}: {table.shape[1]} numbers per record, but {expected}")
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
        raise ValueError(
            f"{path}: no column {', '.join(map(repr, missing))}; there are: {', '.join(names)}"
        )
    return [list(names).index(name) for name in columns]


def _number(cell: str) -> float:
    try:
        return float(cell.strip().strip('"'))
    except ValueError:
        return float("nan")


def _read_csv(
    path: Path, columns: Sequence[str] | None, header: bool, manifold: Manifold | None
) -> Array:
    """Records of a csv file, one per line."""
    is_one = manifold is not None and manifold.point_size == 1
    names, rows = _cells(path, columns, header, keep_blank=is_one and not header)
    if header or manifold is None:
        width = len(names) if header else len(rows[0])
        wanted = range(width) if columns is None else _select(names, columns, path)
        missing = [""] * width
        whole = [row if len(row) == width else missing for row in rows]
        return np.array([[_number(row[place]) for place in wanted] for row in whole])
    found = np.full((len(rows), manifold.point_size), np.nan)
    for record, row in zip(found, rows, strict=True):
        point = manifold._complete(np.array([list(map(_number, row))]))
        if point is not None:
            record[:] = point[0]
    return found


def _cells(
    path: Path, columns: Sequence[str] | None, header: bool, *, keep_blank: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Names of columns and the cells of each line below; without names all lines.

    Quotes do not span lines, so no record alters another.
    Blank lines are skipped, except in a table of one column or with `keep_blank`, where they are
    empty cells.
    """
    if columns is not None and not header:
        raise FileError(f"{path}: columns can be chosen only when the first line names them")
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line.strip() for line in file]
    if not lines:
        raise FileError(f"{path}: empty")
    names = [name.strip() for name in next(csv.reader([lines[0]]), [""])] if header else []
    body = lines[1:] if header else lines
    rows = [line.split(",") for line in body if line or keep_blank or len(names) == 1]
    if not rows:
        raise FileError(f"{path}: no record{' below the line of names' if header else ''}")
    return names, rows


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


def _read_parquet(path: Path, columns: Sequence[str] | None, manifold: Manifold | None) -> Array:
    from curvedp.batch.columns import column_numbers

    table = _arrow_table(path)[1]
    names = table.column_names
    chosen = names if columns is None else [names[at] for at in _select(names, columns, path)]
    if not chosen or not len(table):
        raise FileError(f"{path}: no record")
    space = manifold or Euclidean(1)
    width = space.point_size if len(chosen) == 1 else 1
    try:
        blocks = [column_numbers(table.column(k), k, space, width) for k in chosen]
    except BatchError as error:
        raise FileError(f"{path}: {error}") from None
    return np.concatenate(blocks, axis=1)
