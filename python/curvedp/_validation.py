"""Coercion and checking of arguments: the only place where a value can be refused.

Only shape, dtype and parameters raise. The value of a record never does.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)
#: Names of types of columns that hold text, and times: pandas, polars and Arrow.
_TEXT_TYPE = re.compile(r"str$|string|large_string|categor|enum|dictionary<values=(large_)?string")
_TIME_TYPE = re.compile(r"date|time|duration|period")
_OF_THE_DAY = (
    ": hours of the day of times t are (t - t.astype('datetime64[D]')) / np.timedelta64(1, 'h')"
)


def as_float_array(value: ArrayLike, name: str) -> FloatArray:
    """Aligned C-contiguous float64 array of a real array-like; no copy if it is one already.

    No value raises or warns: one beyond the range of float64 becomes infinite, and a missing one
    (masked, or None in a list) NaN. A cell of a table may also be a text: one that holds no number
    is missing.
    """
    if type(value) is np.ndarray:  # by `isinstance` also one with a mask
        given: NDArray[Any] = value
        flags = given.flags
        if given.dtype == _DOUBLE and given.ndim and flags.c_contiguous and flags.aligned:
            return given
    refuse_texts(value, name)
    array = as_array(value, name)
    if array.dtype.kind == "O" and hasattr(value, "to_numpy"):
        array = np.array([number_of(cell) for cell in array.flat]).reshape(array.shape)
    elif array.dtype.kind in "bO" and not isinstance(value, np.ndarray):
        array = _from_python_numbers(array, name)
    if array.dtype.kind not in "fiu":
        kind = f"dtype {array.dtype}"
        if array.dtype.kind in "SUT":
            kind = "text: read it into an array of numbers before"
        if array.dtype.kind in "Mm":
            kind += _OF_THE_DAY
        if array.dtype.names is not None:
            kind += ": pandas.DataFrame(records) is read by the names of its columns"
        if array.dtype.kind == "c":
            kind += ": give real and imaginary parts as two numbers"
        if array.dtype.kind in "bO":
            kind += f": numpy.asarray({name}, dtype=float) makes numbers of it"
        raise TypeError(f"{name} must hold real numbers, got {kind}")
    with np.errstate(all="ignore"):
        if isinstance(value, np.ma.MaskedArray):
            masked: Any = value
            array = np.asarray(masked.astype(np.float64).filled(np.nan))
        if array.ndim == 0:
            return array.astype(np.float64)
        return np.require(array, np.float64, ("C", "A"))


def refuse_texts(value: Any, name: str) -> None:
    """Raises TypeError for a table with a column whose type is text or time.

    Types are public as names are. A column of objects has none: each cell is read alone.
    """
    if not hasattr(value, "to_numpy"):
        return
    for column, dtype in types_of(value):
        which = "" if column is None else f" in column {str(column)!r}"
        if is_text(dtype):
            raise TypeError(
                f"{name} must hold real numbers, got text{which}: take the columns of points "
                "alone; texts that hold numbers are read by pandas.to_numeric(column, "
                "errors='coerce') before"
            )
        if _TIME_TYPE.match(_type_name(dtype)):
            raise TypeError(f"{name} must hold real numbers, got dtype {dtype}{which}{_OF_THE_DAY}")


def types_of(value: Any) -> list[tuple[Any, Any]]:
    """Names and types of the columns of a table, or of one column."""
    columns = getattr(value, "columns", None)
    if columns is None:
        return [(getattr(value, "name", None), getattr(value, "dtype", None))]
    return list(zip(columns, getattr(value, "dtypes", ()), strict=False))


def is_text(dtype: Any) -> bool:
    """True for the type of a column of texts, or of categories that are."""
    return _TEXT_TYPE.match(_type_name(dtype)) is not None


def _type_name(dtype: Any) -> str:
    """The name of a column's type, of its categories if it has them, in lower case."""
    own = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    return str(own).lower()


def as_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """A NumPy array of any dtype, refused by shape alone."""
    try:
        # entries of a list that mixes dtypes are converted one by one, some values with a warning
        with np.errstate(all="ignore"):
            return np.asarray(_filled(value) if _holds_masks(value) else value)
    except ValueError:
        raise ValueError(
            f"{name} must be a rectangular array of real numbers, NaN where one is missing"
        ) from None


def _holds_masks(value: Any) -> bool:
    """Returns True for a list that holds masked arrays or entries, at any depth."""
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        return True
    nested = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return nested and any(map(_holds_masks, value))


def _filled(value: Any) -> Any:
    """The list with None for masked entries: NumPy would warn, or use the values under the mask."""
    if isinstance(value, (list, tuple)):
        return [_filled(entry) for entry in value]
    if isinstance(value, np.ma.MaskedArray):
        masked: Any = value
        return masked.tolist()
    return value


def _from_python_numbers(array: NDArray[Any], name: str) -> FloatArray:
    """Floats from an array of Python objects, entry by entry.

    NumPy makes such an array of a list that holds an integer beyond 64 bits or a missing value.
    These are values of records, so neither they nor the entries beside them may be refused.
    """
    result = np.empty(array.shape)
    for index, entry in np.ndenumerate(array):
        scalar = entry[()] if isinstance(entry, np.ndarray) and entry.ndim == 0 else entry
        if scalar is None or type(scalar).__name__ == "NAType":
            scalar = math.nan
        if not isinstance(scalar, (bool, int, float, np.bool_, np.integer, np.floating)):
            raise TypeError(f"{name} must hold real numbers, got dtype object")
        try:
            result[index] = float(scalar)
        except OverflowError:
            result[index] = math.inf if scalar > 0 else -math.inf
    return result


def of_cell(cell: Any) -> FloatArray | None:
    """The numbers of one cell of a column of objects, flat; None for what are none.

    A text is the number that it holds. Of complex numbers real and imaginary parts in turn. Nothing
    raises: a cell is a record.
    """
    masked: Any = np.ma
    try:
        if isinstance(cell, str):
            return np.array([float(cell)])
        with np.errstate(all="ignore"):
            array = masked.array(cell).ravel()
            if array.dtype.kind == "c":
                array = masked.stack([array.real, array.imag], axis=-1).ravel()
            if array.dtype.kind == "O":
                return _from_python_numbers(np.asarray(array.filled(None)), "")
            found: FloatArray = np.asarray(array.astype(np.float64).filled(np.nan))
            return found if array.dtype.kind in "fiub" else None
    except Exception:  # whatever a value of a record may do
        return None


def number_of(cell: Any) -> float:
    """The one number of a cell of a table; NaN for what is none."""
    if type(cell) is float:
        return cell
    numbers = of_cell(cell)
    return math.nan if numbers is None or len(numbers) != 1 else float(numbers[0])


def as_points(value: ArrayLike, point_shape: tuple[int, ...], name: str) -> FloatArray:
    """Float64 array whose trailing axes are one point."""
    array = as_float_array(value, name)
    if array.ndim < len(point_shape) or array.shape[array.ndim - len(point_shape) :] != point_shape:
        wanted = "(..., " + ", ".join(map(str, point_shape)) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    return array


def as_values(value: ArrayLike, name: str = "values", *, least: int = 1) -> FloatArray:
    """Float64 array of n >= least numbers, shape (n,); least is 0 or 1."""
    array = as_float_array(value, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    if len(array) < least:
        raise ValueError(f"{name} is empty: a data set needs at least one record")
    return array


def as_number(value: float, name: str) -> float:
    """A float; infinite for integers beyond its range."""
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bool, np.bool_)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from None
    except OverflowError:
        return math.inf


def as_positive(value: float, name: str) -> float:
    """A finite positive float."""
    number = as_number(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {number}")
    return number


def as_numbers(values: Iterable[float], name: str) -> tuple[float, ...]:
    """A tuple of numbers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of numbers, got {type(values).__name__}")
    return tuple(as_number(value, f"each of {name}") for value in values)


def as_finite(value: float, name: str) -> float:
    """A finite float."""
    number = as_number(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def as_level(value: float, name: str) -> float:
    """A float between 0 and 1."""
    number = as_finite(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {number}")
    return number


def as_probability(value: float, name: str) -> float:
    """A float strictly between 0 and 1."""
    number = as_positive(value, name)
    if number >= 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {number}")
    return number


def as_negative(value: float, name: str) -> float:
    """A finite negative float."""
    try:
        return -as_positive(-value, name)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from None
    except ValueError:
        raise ValueError(f"{name} must be negative and finite, got {value}") from None


def as_count(value: Any, name: str, *, least: int = 1, most: int = 2**62) -> int:
    """An integer between `least` and `most`."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}")
    return number


def as_choice(value: str, choices: tuple[str, ...], name: str) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        wanted = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {wanted}, got {value!r}")
    return value
