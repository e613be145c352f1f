"""Two-dimensional input as scikit-learn's conventions want it refused and accepted."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_array, as_float_array


def as_rows(X: ArrayLike) -> FloatArray:
    """A float64 array of n >= 1 rows and m >= 1 columns; the words are scikit-learn's."""
    if scipy.sparse.issparse(X):
        raise TypeError("sparse input is not supported: pass X.toarray()")
    # a masked array knows more than the array of its numbers
    array = X if isinstance(X, np.ma.MaskedArray) else as_array(X, "X")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if array.dtype.kind == "O" and hasattr(X, "to_numpy"):
        array = as_float_array(X, "X")
    elif array.dtype.kind == "O":
        try:
            array = as_float_array(array.tolist(), "X")
        except TypeError:
            raise TypeError(
                "X must hold real numbers, got dtype object: every argument must be a real number, "
                "not a string or another object that is no number"
            ) from None
    rows = as_float_array(X if array.dtype.kind != "f" else array, "X")
    if rows.ndim != 2:
        raise ValueError(
            f"X must have shape (n, m), got {rows.shape}. Reshape your data with X.reshape(-1, 1) "
            "for one feature or X.reshape(1, -1) for one row"
        )
    if rows.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={rows.shape}) while a minimum of 1 is required.")
    if len(rows) == 0:
        raise ValueError(f"0 sample(s) (shape={rows.shape}) while a minimum of 2 is required.")
    return rows
