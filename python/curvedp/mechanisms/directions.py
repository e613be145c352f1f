"""Exponential mechanism on directions: principal components of rows in the unit ball.

    rows u of length at most 1 -> integers -> sum of u u', exact -> a direction x, density in
    proportion to exp(rate sum (x'u)^2) -> rows without their part along x -> the next direction

Each direction is drawn exactly from the Bingham law (Kent, Ganeiban and Mardia 2018), each next one
in the complement of those before it (Chaudhuri, Sarwate and Sinha 2013; Kapralov and Talwar 2013,
section 4). Proof: docs/proofs/principal-components.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.privacy import GDP, PureDP
from curvedp.privacy.conversion import round_down

#: Most bits of an entry, bits of sums, and rows whose sums doubles hold exactly.
_BITS, _SUM_BITS, _ROWS = 20, 62, 1 << 11
#: Bound on what doubles add to a row's squared length, for each direction that is left out.
_ROUNDING = Fraction(1, 1 << 28)
#: The largest rate times number of rows and d (d + 8): so that the bound on what the sampler rounds
#: off, which is in the exponent of its acceptance rate, stays below 1/4.
_LARGEST = 2.0**48

#: A symmetric matrix of integers.
Score = NDArray[np.int64]


class Directions:
    """The exponential mechanism on orthonormal directions, one after the other.

    For epsilon-DP the rate is epsilon/(m (k + 1)), m the number of rows of one unit and k that of
    directions, in place of the epsilon/(2 m k) of composition; for mu-GDP that of k composed
    draws of bounded range 2 m rate.

    Parameters
    ----------
    count : int
        Number of directions.
    dim : int
        At least 2. Of `dim` directions the last one is not drawn: it is what is left.
    n : int
        Public number of rows.
    way : PureDP or GDP
        Guarantee when the rows of one unit are replaced by others.
    rows_per_unit : int

    Attributes
    ----------
    draws : int
        Number of directions that are drawn: `count`, or dim - 1.
    rate : float
        Of each draw.

    Examples
    --------
    >>> Directions(1, 3, n=1000, way=PureDP(epsilon=1.0)).rate
    0.5
    >>> round(Directions(3, 9, n=1000, way=PureDP(epsilon=1.0)).rate, 6)
    0.25
    """

    name: ClassVar[str] = "exponential mechanism on directions"
    proof: ClassVar[str] = "docs/proofs/principal-components.md"

    def __init__(
        self, count: int, dim: int, *, n: int, way: PureDP | GDP, rows_per_unit: int = 1
    ) -> None:
        self.count, self.dim, self.n, self.rows_per_unit = count, dim, n, rows_per_unit
        self.draws = min(count, dim - 1)
        changed = min(rows_per_unit, n)
        if isinstance(way, PureDP):
            shifts = self.draws + 1 + (self.draws - 1) * _ROUNDING
            rate = Fraction(way.epsilon) / (changed * shifts)
        else:
            rate = Fraction(bounded_range_epsilon(way, self.draws)) / (2 * changed)
        self.rate = min(round_down(rate), _LARGEST / (n * dim * (dim + 8)))
        self.bits = min(_BITS, (_SUM_BITS - n.bit_length()) // 2)

    @property
    def loss(self) -> float:
        """Variance that noise costs a direction where it is small, squared length 1 as the unit."""
        return (self.dim - 1) / (2 * self.rate * self.n)

    def sample(self, rows: FloatArray, stream: _core.Stream) -> FloatArray:
        """Orthonormal directions, those of most variance first, each of either sign.

        Parameters
        ----------
        rows : ndarray, shape (n, dim)
            Rows that are longer than 1, and not finite ones, count as 0.
        stream : Stream

        Returns
        -------
        ndarray, shape (count, dim)
            Row j is drawn given the rows before it.
        """
        found, mirrors, left = np.zeros((self.count, self.dim)), [], rows
        for number in range(self.draws):
            whole = as_integers(left, self.bits)
            direction = self._draw(whole, stream)
            found[number, number:] = direction
            mirror = mirror_of(direction)
            left = reflected(whole * 2.0**-self.bits, mirror)[:, 1:]
            mirrors.append(mirror)
        if self.count > self.draws:
            found[-1, -1] = 1.0
        for number in reversed(range(self.draws)):
            later = slice(number + 1, None)
            found[later, number:] = reflected(found[later, number:], mirrors[number])
        return found

    def _draw(self, whole: FloatArray, stream: _core.Stream) -> FloatArray:
        """One direction, for rows of integers."""
        score, exponent = gram(whole), 2 * self.bits
        law = _core.Bingham(score.ravel(), exponent, self.rate, eigenvectors(score))
        drawn = np.empty((1, len(score)))
        law.sample(stream, drawn)
        return np.asarray(drawn[0])


def shortened(rows: FloatArray, length: float) -> FloatArray:
    """Rows over a length, shortened to length 1 where longer, shape (n, dim)."""
    scaled = rows / length
    return np.asarray(scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0))


def as_integers(rows: FloatArray, bits: int) -> FloatArray:
    """Rows in units of 2^-bits, towards 0; a row that is then longer than 1, or no number, is 0.

    So whatever the rows are, their squared lengths in these units are integers up to 4^bits.
    """
    whole = np.trunc(rows * 2.0**bits)
    whole[~((whole * whole).sum(axis=1) <= 4.0**bits)] = 0.0
    return whole


def gram(whole: FloatArray) -> Score:
    """The sum of u u' over rows of integers, exactly: doubles hold each integer on the way."""
    found = np.zeros((whole.shape[1], whole.shape[1]), dtype=np.int64)
    for start in range(0, len(whole), _ROWS):
        block = whole[start : start + _ROWS]
        found += (block.T @ block).astype(np.int64)
    return found


def eigenvectors(score: Score) -> FloatArray:
    """Guesses of the eigenvectors, in columns: they decide how long a draw takes, not its law."""
    try:
        return np.ascontiguousarray(np.linalg.eigh(score.astype(np.float64))[1])
    except np.linalg.LinAlgError:
        return np.eye(len(score))


def mirror_of(direction: FloatArray) -> FloatArray:
    """w with I - 2 w w'/(w'w) taking a direction to the first axis (Householder)."""
    mirror = direction.copy()
    mirror[0] += math.copysign(1.0, mirror[0])
    return mirror


def reflected(rows: FloatArray, mirror: FloatArray) -> FloatArray:
    """Rows reflected on the plane orthogonal to a vector."""
    return np.asarray(rows - np.outer(rows @ mirror, mirror * (2.0 / (mirror @ mirror))))
