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
    array = _one_by_one(labels) if isinstance(labels, list | tuple) else as_array(labels, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n,):
        raise ValueError(f"{name} must hold {n} labels, one for each row, got {array.shape}")
    if array.dtype.kind == "O":
        return _codes_of_objects(array)
    return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(n)


def _one_by_one(labels: Sequence[Any]) -> NDArray[Any]:
    """Labels of a list as they are: a common dtype would let one of them decide which others are
    equal, as 0.5 does for integers beyond 2^53, and a string for 1 and 1.0."""
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        inner = isinstance(label, list | tuple | np.ndarray) and np.shape(label) == (1,)
        array[i] = label[0] if inner else label
    return array


def _codes_of_objects(array: NDArray[Any]) -> Codes:
    numbers: dict[Any, int] = {}
    codes = np.empty(len(array), dtype=np.int64)
    for i, label in enumerate(array):
        codes[i] = numbers.setdefault(_key(label), len(numbers))
    return codes


def _key(label: Any) -> Any:
    """What equal labels have in common; missing and unhashable ones count as equal."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(label, float | np.floating) and np.isnan(label):
        return None
    try:
        hash(label)
    except TypeError:
        return None
    return label
