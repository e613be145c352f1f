"""Labels as class numbers: only whether two labels are equal enters the label kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import as_array

Codes = NDArray[np.int64]


def label_codes(labels: ArrayLike, n: int, name: str = "y") -> Codes:
    """Class numbers 0, 1, ... of n labels, equal for equal labels; no label's value raises.

    Parameters
    ----------
    labels : array-like, shape (n,) or (n, 1)
        Numbers, strings or Python objects; missing values are one class.

    Raises
    ------
    ValueError
        If there are not n labels.
    """
    elements = _elements(labels)
    array = as_array(labels, name) if elements is None else _one_by_one(elements)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(f"{name} must hold {n} labels, one for each row, got {array.shape}")
    if array.dtype.kind == "O":
        return _codes_of_objects(array)
    return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(n)


def _elements(labels: Any) -> Sequence[Any] | None:
    """The labels of a list or of a column of a table as Python objects; None for an array.

    A common dtype would let one of them decide which others are equal, as 0.5 or a missing value
    does for integers beyond 2^53, and a string for 1 and 1.0.
    """
    if isinstance(labels, np.ndarray) or getattr(labels, "ndim", 1) != 1:
        return None
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow, polars, pandas
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    return labels if isinstance(labels, Sequence) and not isinstance(labels, str | bytes) else None


def _one_by_one(labels: Sequence[Any]) -> NDArray[Any]:
    """Labels as objects, shape (n,); a label alone in a row is that label."""
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        if label is np.ma.masked:
            array[i] = None
        elif isinstance(label, np.ndarray) and label.size == 1:
            array[i] = label.item()
        else:
            array[i] = label[0] if isinstance(label, list | tuple) and len(label) == 1 else label
    return array


def _codes_of_objects(array: NDArray[Any]) -> Codes:
    numbers: dict[Any, int] = {}
    codes = np.empty(len(array), dtype=np.int64)
    for i, label in enumerate(array):
        codes[i] = numbers.setdefault(_key(label), len(numbers))
    return codes


def _key(label: Any) -> Any:
    """Key that equal labels share; missing and unhashable ones all share one, None."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(label, float | np.floating) and np.isnan(label):
        return None
    try:
        hash(label)
    except TypeError:
        return None
    return label
