"""Covariates: each has a public range, moved to [-1/2, 1/2]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray, as_array, as_float_array, is_text, types_of


def as_range(x_range: tuple[float, float]) -> tuple[float, float]:
    """Two finite numbers, the first below the second."""
    try:
        low, high = (float(end) for end in x_range)
    except (TypeError, ValueError):
        raise TypeError(
            "x_range must be a pair of numbers (x_lo, x_hi), or for several covariates a list of "
            "pairs in the order of their columns, [(x_lo, x_hi), (x_lo, x_hi)]"
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"x_range must be finite with x_lo < x_hi, got ({low}, {high})")
    if not math.isfinite(high - low):
        raise ValueError("x_range is too wide for double precision")
    return low, high


#: A pair (x_lo, x_hi), or one for each of several covariates.
Ranges = tuple[float, float] | tuple[tuple[float, float], ...]


def as_ranges(x_range: Any) -> Ranges:
    """A pair of numbers, or several; see `as_range`."""
    if np.ndim(x_range) == 2 and len(x_range) > 0:
        return tuple(map(as_range, x_range))
    return as_range(x_range)


def are_several(x_range: Ranges) -> bool:
    """True for a tuple of pairs."""
    return isinstance(x_range[0], tuple)


def pairs_of(x_range: Ranges) -> tuple[tuple[float, float], ...]:
    """The range of each covariate."""
    found: Any = x_range if are_several(x_range) else (x_range,)
    return tuple(found)


def to_times(x: FloatArray, x_range: Ranges) -> FloatArray:
    """(x - x_mid)/(x_hi - x_lo), along the last axis of `x` if there are several ranges."""
    ends: Any = np.asarray(x_range).T if are_several(x_range) else x_range
    low, high = ends
    return np.asarray((x - (low + 0.5 * (high - low))) / (high - low))


def covariates_at(times: FloatArray, x_range: Ranges) -> FloatArray:
    """x_lo + (t + 1/2)(x_hi - x_lo), shape (..., q): the inverse of `to_times`."""
    low, high = np.array(pairs_of(x_range)).T
    return np.asarray(low + (times + 0.5) * (high - low))


def from_times(times: FloatArray, x_range: Ranges) -> float | tuple[float, ...]:
    """Covariates at `times`, shape (q,): a number if there is one range."""
    x = covariates_at(times, x_range)
    return tuple(x.tolist()) if are_several(x_range) else float(x[0])


def as_covariates(x: ArrayLike, x_range: Ranges) -> FloatArray:
    """Covariates of shape (n,), or (n, q) for several ranges.

    Raises
    ------
    ValueError
        For another shape.
    """
    _refuse_words(x)
    covariates, q = as_float_array(x, "x"), len(pairs_of(x_range))
    several = are_several(x_range)
    if covariates.ndim != 1 + several or (several and covariates.shape[1] != q):
        wanted = f"(n, {q})" if several else "(n,)"
        pairs = "; x_range has one pair for each column, as in [(x_lo, x_hi), (x_lo, x_hi)]"
        pairs *= covariates.ndim == 2
        raise ValueError(f"x must have shape {wanted}, got {covariates.shape}{pairs}")
    return covariates


def names_of(x: Any) -> tuple[str, ...]:
    """Names of the columns of covariates, where they come in a table or as one column.

    None if one of them is no plain text, which no release may have.
    """
    named = [name for name, _ in types_of(x)] if hasattr(x, "to_numpy") else []
    are_plain = all(isinstance(name, str) and name and name.isprintable() for name in named)
    return tuple(named) if are_plain else ()


def _refuse_words(x: Any) -> None:
    """Raises TypeError for arrays and columns of a type that holds texts, as types are public.

    A column of objects has none: each of its cells is read alone, and a text counts as missing.
    """
    dtypes = types_of(x) if hasattr(x, "to_numpy") else [(None, getattr(x, "dtype", ""))]
    if isinstance(x, (list, tuple)):
        dtypes = [(None, as_array(x, "x").dtype)]
    for column, dtype in dtypes:
        if getattr(dtype, "kind", "") in ("S", "U") or is_text(dtype):
            which = "x" if column is None else f"column {str(column)!r} of x"
            raise TypeError(
                f"{which} holds texts: code two categories as 0 and 1, and read numbers by "
                "pandas.to_numeric(column, errors='coerce')"
            )


def slow_covariates(n: int, x_range: Ranges) -> FloatArray:
    """Public covariates of n records: uniform in their ranges."""
    times = np.random.default_rng(0).uniform(-0.5, 0.5, (n, len(pairs_of(x_range))))
    x = covariates_at(times, x_range)
    return x if are_several(x_range) else x[:, 0]


def own_ranges(x: FloatArray, n: int) -> Ranges:
    """Of each covariate from its least to its largest value, or of width 1 if they are equal.

    Raises
    ------
    ValueError
        For other shapes than (n,) and (n, q), and values that are not finite.
    """
    if x.ndim not in (1, 2) or len(x) != n or x.size == 0:
        raise ValueError(f"x must have shape ({n},) or ({n}, q), got {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("x must be finite")
    return own_range(x) if x.ndim == 1 else tuple(map(own_range, x.T))


def own_range(x: FloatArray) -> tuple[float, float]:
    """From the least to the largest value, or of width 1 if they are equal."""
    low, high = float(x.min()), float(x.max())
    return (low, high) if low < high else (low - 0.5, low + 0.5)


def clipped_times(x: FloatArray, x_range: Ranges) -> FloatArray:
    """`to_times` of each covariate clipped to the range; one that is missing counts as its middle.

    Total, covariate by covariate, and never beyond 1/2 in absolute value.
    """
    times = np.clip(to_times(x, x_range), -0.5, 0.5)
    return np.ascontiguousarray(np.where(np.isnan(times), 0.0, times))


def categories_of(x: FloatArray, x_range: Ranges) -> FloatArray:
    """0 for covariates in their range, 1 if one is out of it, 2 if one is missing; shape (n,).

    Parameters
    ----------
    x : ndarray, shape (n,) or (n, q)
    x_range : pair of float, or tuple of pairs
    """
    times = to_times(x, x_range)
    times = times if are_several(x_range) else times[:, None]
    away = (np.abs(times) > 0.5 * (1.0 + 1e-9)).any(axis=1)
    return np.where(np.isnan(times).any(axis=1), 2.0, np.where(away, 1.0, 0.0))


def mean_times(x: FloatArray, x_range: Ranges, ends: NDArray[np.int64]) -> FloatArray:
    """Covariates of units whose records begin at `ends`: at the mean of their `clipped_times`."""
    sizes = np.diff(ends).reshape(-1, *[1] * (x.ndim - 1))
    times = np.add.reduceat(clipped_times(x, x_range), ends[:-1]) / sizes
    found = covariates_at(times if times.ndim > 1 else times[:, None], x_range)
    return found.reshape(times.shape)
