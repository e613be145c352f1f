"""Exact integer arithmetic on the doubles of released values.

A double is m 2^e with whole numbers m and e. Everything here is computed exactly from m and e, so
that results depend on the bits of a value alone, never on rounding or on the order of summation.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray

IntArray = NDArray[np.int64]
BitArray = NDArray[np.uint64]

#: Values of `trailing_zeros` and `lowest_bit` at 0, above their values at all other doubles.
ZEROS_OF_ZERO = 53
LOWEST_BIT_OF_ZERO = 1024

_FRACTION_BITS = 52
_INT64_LIMIT = 2**62


def bits(x: FloatArray) -> BitArray:
    """The 64 bits of every double."""
    return np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)


def mantissa_and_exponent(x: FloatArray) -> tuple[IntArray, IntArray]:
    """Whole numbers m >= 0 and e with |x| = m 2^e, m of 53 bits for normal numbers.

    Infinities and NaN count as 0.
    """
    pattern = bits(x)
    exponent = (pattern >> np.uint64(_FRACTION_BITS)).astype(np.int64) & 0x7FF
    mantissa = (pattern & np.uint64(2**_FRACTION_BITS - 1)).astype(np.int64)
    mantissa = np.where(exponent > 0, mantissa | 2**_FRACTION_BITS, mantissa)
    mantissa = np.where(exponent == 0x7FF, 0, mantissa)
    return mantissa, np.maximum(exponent, 1) - 1075


def trailing_zeros(mantissa: IntArray) -> IntArray:
    """Number of zero bits at the end of whole numbers below 2^53; `ZEROS_OF_ZERO` for 0."""
    lowest = (mantissa & -mantissa).astype(np.float64)
    return np.where(mantissa == 0, ZEROS_OF_ZERO, np.frexp(lowest)[1].astype(np.int64) - 1)


def lowest_bit(x: FloatArray) -> IntArray:
    """The largest k of which 2^k divides x; `LOWEST_BIT_OF_ZERO` for 0."""
    mantissa, exponent = mantissa_and_exponent(x)
    return np.where(mantissa == 0, LOWEST_BIT_OF_ZERO, exponent + trailing_zeros(mantissa))


def weighted_sum(
    columns: Sequence[FloatArray],
    weights: Sequence[int],
    *,
    squared: bool,
    constant: Fraction,
    unit_exponent: int,
) -> IntArray:
    """Floor of (sum of weights times columns, or their squares, plus a constant) / 2^unit_exponent.

    Exact for any doubles; beyond 2^62 units the result stays there.
    """
    parts = [mantissa_and_exponent(column) for column in columns]
    used = [exponent[mantissa != 0] for mantissa, exponent in parts]
    least = min((int(exponent.min()) for exponent in used if exponent.size), default=0)
    total: Any = np.zeros(len(columns[0]), dtype=object)
    for column, (mantissa, exponent), weight in zip(columns, parts, weights, strict=True):
        shift = np.where(mantissa == 0, 0, exponent - least)
        whole: Any = mantissa.astype(object) << shift.astype(object)
        if squared:
            whole = whole * whole
        else:
            whole = np.where(np.signbit(column), -1, 1).astype(object) * whole
        total = total + weight * whole
    # total counts units of 2^(least), or of its square
    scaled = Fraction(2) ** ((2 * least if squared else least) - unit_exponent)
    offset = constant / Fraction(2) ** unit_exponent
    numerator = scaled.numerator * offset.denominator
    addend = offset.numerator * scaled.denominator
    floor = (total * numerator + addend) // (scaled.denominator * offset.denominator)
    return np.asarray(np.clip(floor, -_INT64_LIMIT, _INT64_LIMIT), dtype=np.int64)


def mix(columns: Sequence[BitArray]) -> BitArray:
    """One word for a row of words, by the finaliser of SplitMix64 after each.

    Equal rows have equal results, and different rows have different ones up to a chance of 2^-64.
    """
    state = np.full(columns[0].shape, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        state = (state ^ column) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
