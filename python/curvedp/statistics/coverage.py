"""One noisy point of a triangle: how many records were points inside the ball.

Each record stands at a corner of a triangle with sides 1: A_0 = (0, 0) inside the ball, A_1 =
(1, 0) outside it, A_2 = (1/2, sqrt(3)/2) for what is no point. The sum of the corners has
sensitivity 1 and gets noise in the plane, with a share of the budget that follows a public rule.
Proof, units and groups: docs/proofs/coverage.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._text import rounded_up
from curvedp._validation import FloatArray
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Way
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.base import calibration_of
from curvedp.privacy.conversion import round_down
from curvedp.privacy.coverage import Coverage, numbers_of_point
from curvedp.statistics.grouping import Offsets
from curvedp.statistics.tallies import UNIT, Weights

#: Largest of the three numbers' standard errors, for a standard deviation 1 of each coordinate.
_PER_DEVIATION = 2.0 / math.sqrt(3.0)
#: Standard error that the rule aims at, and the largest that it accepts, in records.
_WANTED, _LARGEST = 1 / 21, 1 / 10
#: Least and largest share of mu, and of epsilon.
_SHARES = {True: (0.02, 0.1), False: (0.1, 0.3)}


@dataclass(frozen=True)
class Counting:
    """Plan of a count of the records of a call: fixed before one is seen.

    Attributes
    ----------
    whole : Guarantee
        What the release of each group promises, its share of the count included.
    way : PureDP, GDP or ApproxDP
        Implies `whole`; divided among statistic and count.
    rest : PureDP, GDP or ApproxDP
        The share of the statistic.
    own : PureDP or GDP
        The share of the count; of (epsilon, delta) one of epsilon alone.
    total : PureDP or GDP
        The count's, to a unit in all groups to which it contributes.
    n : int
        Number of records, or of units that are known by name, in all groups.
    moved : int
        Most of them that one unit contributes to all groups.
    each : bool
        True for a count of each group, to which `total` and `moved` then belong.
    """

    whole: Guarantee
    way: Way
    rest: Way
    own: PureDP | GDP
    total: PureDP | GDP
    n: int
    moved: int
    each: bool = False

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, whole: Guarantee, way: Way, n: int, records: int, groups: int) -> Counting:
        """With the share of the public rule.

        Parameters
        ----------
        whole : Guarantee
        way : PureDP, GDP or ApproxDP
        n : int
        records, groups : int
            Most records that one unit contributes to a group, and most groups.

        Raises
        ------
        ExistenceError
            If the count's standard error would exceed a tenth of n.
        """
        share = share_of(way, n, records, groups)
        if share is None:
            raise ExistenceError(
                f"too few records, or too small a budget, to count how many of {n} are points "
                "inside the ball: leave coverage out",
                smallest_n=_least_n(way, records, groups),
            )
        rest, own = _divided(way, share)
        total = PureDP(groups * own.epsilon) if isinstance(own, PureDP) else _composed(own, groups)
        return cls(whole, way, rest, own, total, n, records * groups)

    @classmethod
    def of_each(cls, whole: Guarantee, way: Way, sizes: Sequence[int], records: int) -> Counting:
        """A count of each group, with the share of the smallest one that the rule counts.

        Parameters
        ----------
        whole : Guarantee
        way : PureDP, GDP or ApproxDP
        sizes : sequence of int
            Numbers of records of the groups.
        records : int
            Most records that one unit contributes to a group.

        Raises
        ------
        ExistenceError
            If every group is too small.
        """
        found = (share_of(way, n, records) for n in set(sizes))
        shares = [share for share in found if share is not None]
        if not shares:
            raise ExistenceError(
                "every group has too few records, or too small a budget, to count how many are "
                'points inside the ball: leave coverage="each" out',
                smallest_n=_least_n(way, records, 1),
            )
        rest, own = _divided(way, max(shares))
        return cls(whole, way, rest, own, own, 0, records, each=True)

    def of_group(self, n: int) -> Counting | None:
        """That of one group of n records, of a count of each; None for a group that is too small.

        Parameters
        ----------
        n : int
        """
        if share_of(self.way, n, self.moved) is None:
            return None
        return replace(self, n=n, each=False)

    def told(self) -> dict[str, Any]:
        """All that its noise depends on besides records, for the keys of that noise.

        Two scales with one key would tell the numbers: z = S + s xi and z' = S + s' xi.
        """
        known = {"each": True} if self.each else {"n": self.n}
        return {"total": calibration_of(self.total), "moved": self.moved} | known

    @property
    def kind(self) -> str:
        """The kind of its noise."""
        return "Laplace" if isinstance(self.total, PureDP) else "Gaussian"

    @property
    def noise(self) -> VectorNoise:
        """The noise of the sum of corners."""
        return _noise_of(self.n, self.moved, self.total)

    def draw(self, weights: Weights, promised: Guarantee, stream: _core.Stream) -> Coverage:
        """The numbers with noise.

        Parameters
        ----------
        weights : pair of int
            See `curvedp.statistics.tallies.weights_of`.
        promised : Guarantee
            What these numbers may claim.
        stream : Stream
        """
        outside, no_point = (own / UNIT for own in weights)
        noise, point = self.noise, np.array(corners(outside, no_point))
        error = _PER_DEVIATION * noise.deviation
        return Coverage.of(noise.add(point, stream), error, self.n, self.kind, promised)

    def draw_each(
        self,
        n: Offsets,
        weights: FloatArray,
        groups: Callable[[int, NDArray[np.int32]], _core.Groups],
        records: FloatArray,
        keys: _core.GroupKeys,
    ) -> FloatArray:
        """The numbers of each group with noise, and their standard error: shape (4, groups).

        Rows are those of points inside the ball, outside it and of no points, as `Coverage.noisy`
        has them; NaN where a group is too small, or n is negative.

        Parameters
        ----------
        n : ndarray of int, shape (groups,)
            Number of records of each group; -1 for one of which nothing is released.
        weights : ndarray, shape (2, groups)
            Numbers outside and of no points.
        groups : callable
            Makes the core's groups of a number of designs and the number of each group's, -1 for
            none: its noise is a function of these groups, of `records` and of `keys`.
        records : ndarray, shape (records, entries)
        keys : GroupKeys
        """
        sizes, size_of = np.unique(n, return_inverse=True)
        counted = [self.of_group(size) if size >= 0 else None for size in sizes.tolist()]
        noises = [own.noise for own in counted if own is not None]
        number = np.full(len(sizes), -1, dtype=np.int32)
        number[[own is not None for own in counted]] = np.arange(len(noises))
        choice = number[size_of]
        points = np.stack(corners(*weights), axis=-1)
        laws = [own.law for own in noises]
        groups(len(laws), choice).add_noise(records, keys, laws, points)
        error = np.array([_PER_DEVIATION * own.deviation for own in noises] + [math.nan])[choice]
        noisy = np.stack([*numbers_of_point(points[:, 0], points[:, 1], n), error])
        noisy[:, choice < 0] = math.nan
        return noisy


@lru_cache(maxsize=4096)
def _noise_of(n: int, moved: int, total: PureDP | GDP) -> VectorNoise:
    # the corners' weights are cut to 2^-40, and their sum is rounded to a double
    return VectorNoise.of(2, moved * (1.0 + 2.0**-38), n * 2.0**-50, float(n), total)


def corners(outside: Any, no_point: Any) -> tuple[Any, Any]:
    """The sum of the corners of so many records, which may be arrays."""
    return outside + 0.5 * no_point, 0.5 * math.sqrt(3.0) * no_point


def _of_count(way: Way) -> PureDP | GDP:
    """The part of a budget that a count shares: of (epsilon, delta) epsilon."""
    return PureDP(way.epsilon, neighbours=way.neighbours) if isinstance(way, ApproxDP) else way


def whole_error(way: PureDP | GDP, records: int = 1, groups: int = 1) -> float:
    """Standard error of each number, if the whole budget were spent on them.

    Parameters
    ----------
    way : PureDP or GDP
        Of each group.
    records, groups : int
        Most records that one unit contributes to a group, and most groups.

    Returns
    -------
    float
    """
    if isinstance(way, PureDP):
        return _PER_DEVIATION * math.sqrt(3.0) * records / way.epsilon
    return _PER_DEVIATION * records * math.sqrt(groups) / way.mu


def _least_n(way: Way, records: int, groups: int) -> int | None:
    """Fewest records that are counted; None if no double is as large."""
    way = _of_count(way)
    most = _SHARES[isinstance(way, PureDP)][1]
    least = whole_error(way, records, groups) / (most * _LARGEST)
    return math.ceil(least) if math.isfinite(least) else None


def why_not(way: Way, n: int, records: int = 1, groups: int = 1) -> str:
    """Reason that the public rule leaves a count out, with what would do.

    Parameters
    ----------
    way, n, records, groups
        As in `share_of`, which is None of them.

    Returns
    -------
    str

    Examples
    --------
    >>> why_not(GDP(1.0), 30)
    'n = 30 is too small for mu = 1: n = 39, or mu = 1.29, would do'
    """
    way = _of_count(way)
    least = _least_n(way, records, groups)
    pure = isinstance(way, PureDP)
    name, amount = ("epsilon", way.epsilon) if isinstance(way, PureDP) else ("mu", way.mu)
    if least is None:
        return f"no n is large enough for {name} = {rounded_up(amount, 3)}"
    enough = amount * whole_error(way, records, groups) / (_SHARES[pure][1] * _LARGEST * n)
    return (
        f"n = {n} is too small for {name} = {rounded_up(amount, 3)}: n = {least}, or {name} = "
        f"{rounded_up(enough, 3)}, would do"
    )


def share_of(way: Way, n: int, records: int = 1, groups: int = 1) -> float | None:
    """The count's share of epsilon or mu by the public rule; None if it is not worth it.

    Such that the standard error is n/21, but from .02 to .1 of epsilon and .1 to .3 of mu; None if
    it then exceeds n/10.

    Parameters
    ----------
    way : PureDP, GDP or ApproxDP
        Of each group.
    n : int
        Number of records in all groups.
    records, groups : int
        Most records that one unit contributes to a group, and most groups.

    Returns
    -------
    float or None

    Examples
    --------
    >>> [share_of(GDP(1.0), n) for n in (38, 50, 1000)], share_of(PureDP(1.0), 200)
    ([None, 0.3, 0.1], 0.1)
    """
    way = _of_count(way)
    least, most = _SHARES[isinstance(way, PureDP)]
    error = whole_error(way, records, groups)
    share = min(max(error / (_WANTED * n), least), most)
    return None if error / share > _LARGEST * n * (1.0 + 1e-9) else share


def _divided(way: Way, share: float) -> tuple[Way, PureDP | GDP]:
    """Rest that a count with that share of epsilon or mu leaves, and the count's own."""
    if isinstance(way, ApproxDP):
        count = PureDP(share * way.epsilon, neighbours=way.neighbours)
        left = round_down(Fraction(way.epsilon) - Fraction(count.epsilon))
        return ApproxDP(left, way.delta, neighbours=way.neighbours), count
    power = 1 if isinstance(way, PureDP) else 2
    rest, own = way.split((1.0 - share**power, share**power))
    return rest, own


def _composed(own: GDP, groups: int) -> GDP:
    """The count's share in all groups of a unit, not above what its parts compose to."""
    mu = own.mu * math.sqrt(groups)
    return own if groups == 1 else GDP(mu * (1.0 - 2.0**-50))
