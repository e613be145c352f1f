"""Objects on one line, and numbers that a guarantee rests on, rounded to the safe side.

Whatever is shown of epsilon, delta, rho, mu, a sensitivity or an error that noise is calibrated to
is rounded up; what remains of a budget and the scale of noise are rounded down. So no text says
more privacy than there is, nor does an epsilon worked out from sensitivity and scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from curvedp._validation import FloatArray

#: Arrays of more numbers are named by their shape.
MOST_NUMBERS = 12


def rounded_up(number: float, digits: int = 6) -> str:
    """A number with a few significant digits, never below it.

    A float stands for the shortest decimal number that reads back as it, if that has no more
    digits than asked for. Any other float is rounded in exact arithmetic.

    Parameters
    ----------
    number : float
    digits : int

    Returns
    -------
    str
        A text that `float` reads.

    Examples
    --------
    >>> rounded_up(0.1), rounded_up(1.0000004), rounded_up(1e-6)
    ('0.1', '1.00001', '1e-06')
    """
    return _rounded(number, digits, ROUND_CEILING)


def rounded_down(number: float, digits: int = 6) -> str:
    """A number with a few significant digits, never above it; else as `rounded_up`.

    Parameters
    ----------
    number : float
    digits : int

    Returns
    -------
    str

    Examples
    --------
    >>> rounded_down(0.1), rounded_down(0.9999999)
    ('0.1', '0.999999')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return str(float(number))
    written = Decimal(repr(float(number)))
    if len(written.normalize().as_tuple().digits) > digits:
        written = Context(prec=digits, rounding=rounding).plus(Decimal(float(number)))
    text = f"{float(written):.{digits}g}"
    return text if Decimal(text) == written else str(written.normalize())


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


def shortest(number: float, is_it: Callable[[float], bool]) -> str:
    """The shortest decimal number near another that is the one that is meant.

    Parameters
    ----------
    number : float
    is_it : callable

    Returns
    -------
    str
        All digits of `number` if none is.

    Examples
    --------
    >>> shortest(0.30000000000000004, lambda own: own / 3 == 0.3 / 3)
    '0.3'
    """
    for digits in range(1, 18):
        found = float(f"{number:.{digits}g}")
        if is_it(found):
            return repr(found)
    return repr(number)


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
    """Part of a message about the columns that there are.

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
