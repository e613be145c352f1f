"""Coercion and checking of arguments: the only place where a value can be refused.

Only shape, dtype and parameters raise. The value of a record never does.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def as_float_array(value: ArrayLike, name: str) -> FloatArray:
    """C-contiguous float64 array of a real numeric array-like; no copy if it is one already."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of real numbers") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.ndim == 0:
        return array.astype(np.float64)
    return np.ascontiguousarray(array, dtype=np.float64)


def as_points(value: ArrayLike, point_shape: tuple[int, ...], name: str) -> FloatArray:
    """Float64 array whose trailing axes are one point."""
    array = as_float_array(value, name)
    if array.ndim < len(point_shape) or array.shape[array.ndim - len(point_shape) :] != point_shape:
        wanted = "(..., " + ", ".join(map(str, point_shape)) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    return array


def as_records(value: ArrayLike, point_shape: tuple[int, ...], name: str = "records") -> FloatArray:
    """Float64 array of n >= 1 points, shape (n, *point_shape)."""
    array = as_points(value, point_shape, name)
    if array.ndim != len(point_shape) + 1:
        wanted = "(n, " + ", ".join(map(str, point_shape)) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: a data set needs at least one record")
    return array


def as_positive(value: float, name: str) -> float:
    """A finite positive float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {number}")
    return number


def as_count(value: Any, name: str, *, least: int = 1) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def as_choice(value: str, choices: tuple[str, ...], name: str) -> str:
    """One of a few words."""
    if value not in choices:
        wanted = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {wanted}, got {value!r}")
    return value
