"""Objects on one line: arrays of more than a few numbers are named by their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from curvedp._validation import FloatArray

#: Arrays of more numbers are named by their shape.
MOST_NUMBERS = 12


def is_long(array: FloatArray) -> bool:
    """True for an array that is named by its shape."""
    return array.size > MOST_NUMBERS


def numbers(array: FloatArray) -> str:
    """Numbers with four digits on one line, or the shape if they are many.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    str

    Examples
    --------
    >>> numbers(np.eye(2)), numbers(np.eye(28))
    ('[[1., 0.], [0., 1.]]', '<shape (28, 28)>')
    """
    if is_long(array):
        return f"<shape {array.shape}>"
    return " ".join(np.array2string(array, precision=4, separator=", ").split())


def one_line(item: Any) -> str:
    """The repr of a data class that holds arrays.

    Parameters
    ----------
    item : data class

    Returns
    -------
    str
    """
    given = ((field.name, getattr(item, field.name)) for field in fields(item) if field.repr)
    inside = ", ".join(
        f"{name}={numbers(value) if isinstance(value, np.ndarray) else repr(value)}"
        for name, value in given
    )
    return f"{type(item).__name__}({inside})"


def listed(names: Sequence[str]) -> str:
    """What a message says of the names of columns that there are.

    Where one is a number none is listed: a record may have been taken for the line of names.
    """
    if any(map(_is_number, names)):
        return "their names, some of which are numbers, are not listed: a record may be among them"
    return f"there are: {', '.join(map(repr, names))}"


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
