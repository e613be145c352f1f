"""Exact numbers of records in their ball, outside it and of no points, to be released with noise.

Where units are known by name a record counts as the share that it is of its unit's. All that is
computed here is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.product_ball import ProductBall
from curvedp.statistics.grouping import Offsets

#: Weights are whole numbers of 2^-40, to which those of a unit's records are cut in two halves of
#: 20 bits.
_HALF = 20
UNIT = 1 << 2 * _HALF

#: Sums of weights of records outside the ball and of no points, in multiples of 2^-40.
Weights = tuple[int, int]


def categories(balls: Sequence[Ball], records: FloatArray, offsets: Offsets) -> FloatArray:
    """0 for records that are points of their ball, 1 for points outside, 2 for no points.

    Parameters
    ----------
    balls : sequence of Ball
        One for all groups, or one for each.
    records : ndarray, shape (n, *point_shape)
        Group by group.
    offsets : ndarray of int, shape (groups + 1,)

    Returns
    -------
    ndarray of float, shape (n,)
    """
    found = np.zeros(len(records))
    cuts = [0, len(records)] if len(balls) == 1 else offsets.tolist()
    for ball, start, stop in zip(balls, cuts[:-1], cuts[1:], strict=True):
        found[start:stop] = _categories_of(ball, records[start:stop])
    return found


def _categories_of(ball: Ball, records: FloatArray) -> FloatArray:
    if isinstance(ball, ProductBall):
        shaped = records.reshape(len(records), *ball.manifold.point_shape)
        parts = zip(ball.factors, ball.manifold.split(shaped), strict=True)
        worst: FloatArray = np.maximum.reduce([_categories_of(own, part) for own, part in parts])
        return worst
    rows = np.ascontiguousarray(records.reshape(len(records), ball.manifold.point_size))
    found = np.zeros((len(rows), 1))
    if len(rows):
        ball.frame.categories(rows, found)
    return found[:, 0]


class Tally:
    """Exact numbers of records that compiled code counted while it read them: private."""

    def __init__(self) -> None:
        self.counts: tuple[int, int] | None = None
        self._each: FloatArray | None = None
        self._of: tuple[FloatArray, Sequence[Ball]] | None = None

    def note(
        self,
        records: FloatArray,
        balls: Sequence[Ball],
        counts: tuple[int, int] | None,
        each: FloatArray | None,
    ) -> None:
        """Keeps the numbers of these records outside these balls and of no points: of all groups,
        and of each, shape (2, groups)."""
        if counts is not None:
            self.counts, self._each, self._of = counts, each, (records, balls)

    def of(self, records: FloatArray, balls: Sequence[Ball]) -> tuple[int, int] | None:
        """The numbers of these very records in these balls; None if others were counted."""
        return self.counts if self._is_of(records, balls) else None

    def of_each(self, records: FloatArray, balls: Sequence[Ball]) -> FloatArray | None:
        """The same of each group."""
        return self._each if self._is_of(records, balls) else None

    def _is_of(self, records: FloatArray, balls: Sequence[Ball]) -> bool:
        return self._of is not None and self._of[0] is records and self._of[1] is balls


def whole_weights(counts: tuple[int, int]) -> Weights:
    """Weights of so many records outside and of no points."""
    outside, no_point = counts
    return outside * UNIT, no_point * UNIT


def weights_of(found: FloatArray, unit_ends: Offsets | None) -> Weights:
    """Sums of the weights outside and of no points: of records, or of units' shares of theirs.

    Parameters
    ----------
    found : ndarray, shape (n,)
        As `categories` returns them.
    unit_ends : ndarray of int, shape (units + 1,), or None
        Unit j has the records ``unit_ends[j]:unit_ends[j + 1]``.

    Returns
    -------
    outside, no_point : int
        In multiples of 2^-40, exact.
    """
    if unit_ends is None:
        counts = (int(np.count_nonzero(found == 1.0)), int(np.count_nonzero(found == 2.0)))
        return whole_weights(counts)
    sizes = np.diff(unit_ends)
    outside, no_point = (
        _sum_of_shares(np.add.reduceat((found == kind).astype(np.int64), unit_ends[:-1]), sizes)
        for kind in (1.0, 2.0)
    )
    return outside, no_point


def weights_of_groups(found: FloatArray, offsets: Offsets, unit_ends: Offsets | None) -> FloatArray:
    """`weights_of` for the records of each group, as numbers: shape (2, groups).

    Parameters
    ----------
    found : ndarray, shape (n,)
    offsets : ndarray of int, shape (groups + 1,)
    unit_ends : ndarray of int, shape (units + 1,), or None
    """
    cuts = offsets if unit_ends is None else unit_ends
    counts = [np.diff(_cumulated(found == kind)[cuts]) for kind in (1.0, 2.0)]
    if unit_ends is None:
        return np.array(counts, dtype=np.float64)
    sizes, ends = np.diff(unit_ends), np.searchsorted(unit_ends, offsets)
    return np.array([_sums_of_shares(own, sizes, ends) for own in counts])


def _cumulated(numbers: NDArray[Any]) -> Offsets:
    """Sums of the first 0, 1, 2 ... numbers."""
    sums = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(numbers, out=sums[1:])
    return sums


def _sums_of_shares(counts: Offsets, sizes: Offsets, ends: Offsets) -> FloatArray:
    """`_sum_of_shares` between every two neighbours of `ends`, rounded to the closest doubles."""
    high, rest = np.divmod(counts << _HALF, sizes)
    low = (rest << _HALF) // sizes
    ones, others = (np.diff(_cumulated(own)[ends]) for own in (high, low))
    # both are exact below 2^53, so their sum is rounded once
    rounded: FloatArray = np.ldexp(ones, -_HALF) + np.ldexp(others, -2 * _HALF)
    return rounded


def _sum_of_shares(counts: Offsets, sizes: Offsets) -> int:
    """The sum of counts/sizes, each cut to a multiple of 2^-40."""
    high, rest = np.divmod(counts << _HALF, sizes)
    low = (rest << _HALF) // sizes
    return (int(high.sum()) << _HALF) + int(low.sum())
