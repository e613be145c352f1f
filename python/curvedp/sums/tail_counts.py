"""Noisy counts of what lies above each level of a public grid, by the square-root factorization.

The matrix A of all prefix sums is B B, B lower triangular with b_k = C(2k, k)/4^k on its k-th
subdiagonal. A record in bin j sends column j of B; B applied to the noisy sum counts the bins up to
each, with noise that grows with the logarithm of their number alone (Henzinger, Upadhyay and
Upadhyay 2023; Fichtenberger, Henzinger and Upadhyay 2023; docs/proofs/sums-of-messages.md).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from curvedp._validation import FloatArray

#: Quotient of neighbouring levels.
RATIO = 2.0**0.25
#: Columns are multiples of this.
UNIT = 2.0**-20

#: The most that a record adds to a count, entries of columns being rounded.
MOST_OF_COLUMN = 1.0 + 2.0**-16
#: Levels that are above a radius by no more than rounding are that radius.
_ROUNDED = 1.0 + 1e-12


@functools.cache
def root_entries(bins: int) -> FloatArray:
    """b_k = C(2k, k)/4^k for k < bins."""
    k = np.arange(1.0, bins)
    entries: FloatArray = np.concatenate(([1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))))
    entries.flags.writeable = False
    return entries


def levels(largest: float, bins: int) -> FloatArray:
    """The grid y_j = largest RATIO^-j, j < bins."""
    return np.asarray(largest * RATIO ** -np.arange(float(bins)))


def counts_of(noisy: FloatArray, deviation: float) -> tuple[FloatArray, FloatArray]:
    """Counts of the bins up to each, and their standard deviations.

    Parameters
    ----------
    noisy : ndarray, shape (bins,)
        Sum of columns with noise, in multiples of `UNIT`.
    deviation : float
        Standard deviation of the noise of each entry, in the same multiples.
    """
    entries = root_entries(len(noisy))
    counts = np.asarray(np.convolve(entries, noisy)[: len(noisy)] * UNIT, dtype=np.float64)
    return counts, deviation * UNIT * np.sqrt(np.cumsum(entries * entries))


@dataclass(frozen=True)
class TailCounts:
    """Noisy numbers of records farther than each level of a grid.

    Attributes
    ----------
    level : ndarray, shape (bins,)
        y_0 > y_1 > ...
    count, deviation : ndarray, shape (bins,)
        Of records farther than y_(j+1), the last one of all; and its noise.
    """

    level: FloatArray
    count: FloatArray
    deviation: FloatArray

    @property
    def whole(self) -> tuple[float, float]:
        """Number of all records, and the variance of its noise."""
        return float(self.count[-1]), float(self.deviation[-1]) ** 2

    def clip(self, most: FloatArray) -> int:
        """The smallest level beyond which there are at most so many records, scanned from below.

        From above one of many noisy counts would stop the scan too early.
        """
        enough = np.flatnonzero(self.count <= most)
        return min(int(enough[-1]) + 1, len(self.level) - 1) if len(enough) else 0

    def at_most(self, radius: float) -> int:
        """The largest level that is not above a radius: no fewer records lie beyond it.

        Below all levels it is the number of levels, beyond which all records count.
        """
        return int(np.searchsorted(-self.level, -radius * _ROUNDED))

    def beyond(self, index: int) -> float:
        """Number of records beyond a level."""
        return float(self.count[index - 1]) if index else 0.0

    def beyond_error(self, index: int) -> float:
        """Its standard deviation; 0 of the largest level, beyond which none are counted."""
        return float(self.deviation[index - 1]) if index else 0.0

    def excess(self, index: int, near: float, significant: tuple[float, float]) -> float:
        """Sum of distances beyond a level, up to the first count that tells nothing.

        Parameters
        ----------
        index : int
            Of the level.
        near : float
            Levels are near up to so many times that one.
        significant : pair of float
            Standard deviations below which a count tells nothing: near, and farther out, where a
            run of noise would add up to much.
        """
        total, lower = 0.0, np.append(self.level[1:], 0.0)
        for j in range(index - 1, -1, -1):
            is_far = bool(self.level[j] > 1.01 * near * lower[index - 1])
            least = significant[is_far]
            if self.count[j] < least * self.deviation[j]:
                break
            total += float(self.count[j] * (self.level[j] - lower[j]))
        return total

    def quantile(self, share: float, n: float) -> float:
        """A level beyond which there are at most that share of n records: the smallest one."""
        return float(self.level[self.clip(np.full(len(self.level), (1.0 - share) * n))])

    def median(self, n: float, deviations: float = 0.0) -> float:
        """The level with half of n records beyond the next one: if counts were so much larger."""
        count = self.count + deviations * self.deviation
        return float(self.level[int(np.argmax(count > 0.5 * n))])

    def shares(self, n: float) -> tuple[FloatArray, FloatArray]:
        """Shares of the records and the distances at which they count, the last one 0."""
        counts = np.maximum.accumulate(np.clip(self.count, 0.0, n))
        share = np.diff(np.concatenate(([0.0], counts))) / n
        lower = np.append(self.level[1:], self.level[-1] / RATIO)
        dist = np.sqrt(self.level * lower)
        return np.append(share, max(0.0, 1.0 - share.sum())), np.append(dist, 0.0)
