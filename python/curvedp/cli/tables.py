"""Records and centres from files: npy, npz, csv and parquet.

A row is one record. Nothing here depends on what a record holds: a cell that is empty or not a
number becomes NaN, which the ball later replaces by its centre. Only the shape and the dtype of a
file are reported.
"""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.cli.csv_files import (
    CSV,
    Dialect,
    FileError,
    read_csv,
    read_csv_labels,
    select_names,
)
from curvedp.errors import BatchError, MissingExtraError
from curvedp.manifolds import Euclidean, Manifold
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.manifolds.records import as_masked

__all__ = ["SUFFIXES", "FileError", "as_points", "read_labels", "read_mask", "read_table"]

SUFFIXES = (".npy", ".npz", ".csv", ".parquet")

Array = NDArray[np.float64]


def read_table(
    path: Path,
    manifold: Manifold | None = None,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    dialect: Dialect = CSV,
    reading: Reading = PLAIN,
    mask: NDArray[Any] | None = None,
) -> Array:
    """Read an array of records, one per row.

    A line of a csv file with another number of cells than there are names (without names: than a
    point or its short form has) is NaN, but for the first, by which another dialect is noticed; so
    is a list in a parquet file of another length.

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
    dialect : Dialect
        How a csv file is written.
    reading : Reading
        How its points are, on `manifold`.
    mask : ndarray, optional
        Of the leading axes of a NumPy array of a volume: which voxels are records.

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
    if dialect.is_said and suffix != ".csv":
        raise FileError(
            f"{path}: only a csv file has a first line without names (--no-header), a delimiter, a "
            "decimal sign or an encoding"
        )
    if mask is not None and suffix not in (".npy", ".npz"):
        raise FileError(f"{path}: a mask is of a volume in an npy or npz file")
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    try:
        if suffix == ".csv":
            return read_csv(path, columns, dialect, manifold, reading)
        if suffix == ".parquet":
            return _read_parquet(path, columns, manifold, reading)
        array = _read_numpy(path, key)
        if mask is not None:
            array = as_masked(array, mask)
        return array if manifold is None else reading.of_rows(array, manifold.written)
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or 'damaged'})") from error


def read_labels(path: Path, name: str, dialect: Dialect = CSV) -> Any:
    """Read a column of labels: of a csv or parquet file, or a member of an npz file.

    Raises
    ------
    FileError
        Unreadable, or without this column.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return read_csv_labels(path, name, dialect)
    if suffix == ".parquet":
        pa, table = _arrow_table(path)
        column = table.column(select_names(table.column_names, [name], path)[0])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column
    if suffix != ".npz":
        raise FileError(f"{path}: labels stand in a csv, parquet or npz file")
    with _damage(path), path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
        return loaded[_member(loaded.files, name, path)]


def read_mask(path: Path) -> NDArray[Any]:
    """A mask from an npy file."""
    with _damage(path), path.open("rb") as file:
        mask = np.load(file, allow_pickle=False)
    if not isinstance(mask, np.ndarray):
        raise FileError(f"{path}: a mask is one array, in an npy file")
    return mask


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
        further = "; of a volume give the public --mask" if table.ndim > len(shape) + 1 else ""
        raise ValueError(f"{origin}: records of shape {table.shape[1:]}, but {expected}{further}")
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


def _read_parquet(
    path: Path, columns: Sequence[str] | None, manifold: Manifold | None, reading: Reading
) -> Array:
    from curvedp.batch.columns import column_numbers

    table = _arrow_table(path)[1]
    names = table.column_names
    chosen = names if columns is None else [names[at] for at in select_names(names, columns, path)]
    if not chosen or not len(table):
        raise FileError(f"{path}: no record")
    space = manifold or Euclidean(1)
    order, reading = reading.of_columns(chosen, space.written)
    chosen = [chosen[k] for k in order]
    is_one = len(chosen) == 1
    width = space.point_size if is_one else 1
    own = reading if is_one else PLAIN
    try:
        blocks = [column_numbers(table.column(k), k, space, width, own) for k in chosen]
    except BatchError as error:
        raise FileError(f"{path}: {error}") from None
    return blocks[0] if is_one else reading.of_rows(np.concatenate(blocks, axis=1), space.written)
