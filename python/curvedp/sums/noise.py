"""The noise of sums of messages: its bounds, lengths, shares and draws.

A search is the same with normal noise, which is here, and with pure noise (`curvedp.sums.pure`).
Proof: docs/proofs/sums-of-messages.md.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.mechanisms.calibration import calibrated_scale, outward_scale
from curvedp.privacy import GDP
from curvedp.sums.filter import Filter
from curvedp.sums.geometry import Geometry
from curvedp.sums.messages import Kind, Request, bound_of
from curvedp.sums.tail_counts import TailCounts, counts_of

#: The grid of noise of up to that scale, 2^-23 of it, divides the bits that noise is not added to.
_LOW_BITS, _LARGEST_SCALE = 52, 2.0**75
#: The root of 2, rounded down.
_ROOT_2 = math.nextafter(math.sqrt(2.0), 0.0)


@dataclass(frozen=True)
class Schedule:
    """Shares of the budget: of mu, or of epsilon.

    Attributes
    ----------
    start, block, flat, further : float
        Of the start, of a block's round, of one on logarithms of diagonals, of further rounds.
    counts, fine : tuple of float
        Of the counts of a block and of the last ones: least, most, and the number of records times
        the budget at which a share of 1 would do.
    first_counts : float
        Of a block's counts where no number of records is known yet.
    kept, kept_last : float
        Blocks, and further rounds, end where less than this part of the budget is left.
    settled : float
        A block settles where its step is at most this part of the clip level.
    slowness : float
        Part of a step that the next one leaves at least, as the choice of further rounds has it.
    """

    start: float
    block: float
    flat: float
    further: float
    counts: tuple[float, float, float]
    fine: tuple[float, float, float]
    first_counts: float
    kept: float
    kept_last: float
    settled: float
    slowness: float


class Noise(abc.ABC):
    """Noise with a budget, of which sums get shares.

    Parameters
    ----------
    budget : float
        mu or epsilon.
    """

    schedule: ClassVar[Schedule]
    #: The kind of the counts of distances.
    counting: ClassVar[Kind]
    #: True if a round releases heights, the last entry of its messages, which cost nothing then.
    tells_heights: ClassVar[bool]
    #: Counts within so many standard deviations of 0 do not hold the clip level up: of a block, and
    #: the last ones.
    least_seen: ClassVar[tuple[float, float]]
    #: A count below the deviation of the surest one times this may be of no record.
    far_deviation: ClassVar[float]
    #: Fewer records than so many standard deviations of their count are too few.
    least_deviations: ClassVar[float]
    #: Clip levels up to which counts are near, and standard deviations below which they say nothing
    #: of what is cut, near and farther out.
    near: ClassVar[float]
    significant: ClassVar[tuple[float, float]]
    #: A clip level of more than so many median distances may be that of noise: it is counted anew.
    doubtful: ClassVar[float]
    #: Error of a mean whose logarithms are cut, over the excess that counts show.
    of_cut: ClassVar[float]

    def __init__(self, budget: float) -> None:
        self.budget = budget

    @abc.abstractmethod
    def filter(self) -> Filter:
        """All of the budget."""

    @abc.abstractmethod
    def part(self, cost: float) -> float:
        """The share, as part of the budget, that costs this part of it."""

    @abc.abstractmethod
    def cost(self, share: float) -> float:
        """Cost of a share: costs add up."""

    @abc.abstractmethod
    def unit_length(self, dim: int) -> float:
        """Expected length of noise of scale 1 on so many coordinates."""

    @abc.abstractmethod
    def unit_deviation(self, size: int) -> float:
        """Standard deviation of each of so many coordinates, at scale 1."""

    def shrunk(self, length: float, deviation: float, dim: int) -> tuple[float, float]:
        """The part of a noisy vector that is kept, and the length of its error over the noise's.

        Parameters
        ----------
        length : float
            Of the vector.
        deviation : float
            Standard deviation of each coordinate of its noise.
        dim : int
        """
        return 1.0, 1.0

    @abc.abstractmethod
    def count_factor(self, geometry: Geometry, change: float) -> float:
        """Factor of the first counts' share, by their number and by what a unit changes."""

    @abc.abstractmethod
    def bound(self, kind: Kind, geometry: Geometry, replaces: bool, changed: int = 1) -> float:
        """Bound on what a unit changes in a sum, in the norm of this noise: see `bound_of`."""

    @abc.abstractmethod
    def levels(self, grid: FloatArray, near: float | None) -> FloatArray:
        """The levels of counts: of a whole grid, or of what is needed about a level of it.

        Parameters
        ----------
        grid : ndarray, shape (bins,)
            All levels, falling.
        near : float or None
            None for the first counts.
        """

    @abc.abstractmethod
    def joined(self, first: TailCounts, last: TailCounts) -> TailCounts:
        """Counts near a level, and farther out those before."""

    @abc.abstractmethod
    def tails(self, noisy: FloatArray, level: FloatArray, bound: float, share: float) -> TailCounts:
        """Counts of distances from a noisy sum.

        Parameters
        ----------
        noisy : ndarray, shape (bins,)
        level : ndarray, shape (bins,)
        bound, share : float
            Of the sum.
        """

    @abc.abstractmethod
    def answered(
        self,
        total: NDArray[np.int64],
        request: Request,
        bound: float,
        weights: FloatArray,
        stream: _core.Stream,
    ) -> FloatArray:
        """A sum of messages with noise, rounded to integers: the noise is drawn exactly.

        Parameters
        ----------
        total : ndarray of int, shape (size,)
            The exact sum.
        request : Request
            Has the share.
        bound : float
            See `bound`.
        weights : ndarray, shape (size,)
            How often each entry counts in the norm: 1 or 2.
        stream : Stream
        """


class GaussianNoise(Noise):
    """Normal noise: shares of mu, whose squares add up."""

    schedule = Schedule(
        start=0.3,
        block=0.25,
        flat=0.2,
        further=math.sqrt(0.1),
        counts=(0.2, 0.4, 18.0),
        fine=(0.35, 0.45, 25.0),
        first_counts=0.3,
        kept=0.5,
        kept_last=0.4,
        settled=0.35,
        slowness=0.15,
    )
    counting = "tail"
    tells_heights = True
    least_seen = (2.0, 2.0)
    far_deviation = 0.0
    least_deviations = 5.0
    near = 4.0
    significant = (1.5, 3.0)
    doubtful = math.inf
    of_cut = 1.5

    def filter(self) -> Filter:
        return Filter(self.budget, power=2)

    def part(self, cost: float) -> float:
        return math.sqrt(cost)

    def cost(self, share: float) -> float:
        return share**2

    def unit_length(self, dim: int) -> float:
        return mean_length(dim)

    def unit_deviation(self, size: int) -> float:
        return 1.0

    def shrunk(self, length: float, deviation: float, dim: int) -> tuple[float, float]:
        return james_stein(length, deviation, dim)

    def count_factor(self, geometry: Geometry, change: float) -> float:
        return 1.0

    def bound(self, kind: Kind, geometry: Geometry, replaces: bool, changed: int = 1) -> float:
        return bound_of(kind, geometry, replaces, changed)

    def levels(self, grid: FloatArray, near: float | None) -> FloatArray:
        return grid

    def joined(self, first: TailCounts, last: TailCounts) -> TailCounts:
        return last

    def tails(self, noisy: FloatArray, level: FloatArray, bound: float, share: float) -> TailCounts:
        return TailCounts(level, *counts_of(noisy, bound / share))

    def answered(
        self,
        total: NDArray[np.int64],
        request: Request,
        bound: float,
        weights: FloatArray,
        stream: _core.Stream,
    ) -> FloatArray:
        scale = noise_scale(bound, request.share)
        return answered(total, scale, weights, stream).astype(np.float64)


def noise_scale(bound: float, mu: float, shares: int = 1) -> float:
    """Standard deviation of the noise of one of so many answers, which together are mu-GDP.

    Parameters
    ----------
    bound : float
        See `bound_of`.
    mu : float
    shares : int
        Independent answers that carry the whole noise: the variance of each is as many times less.
    """
    whole = calibrated_scale(bound, 0.0, GDP(mu))
    if shares == 1:
        return whole
    return outward_scale(whole, math.nextafter(math.sqrt(shares), 0.0))


def answered(
    total: NDArray[np.int64], scale: float, weights: FloatArray, stream: _core.Stream
) -> NDArray[np.int64]:
    """A sum of messages with noise, modulo 2^64: the noise is drawn exactly.

    Parameters
    ----------
    total : ndarray of int, shape (size,)
        The exact sum.
    scale : float
        Standard deviation of the noise of an entry of weight 1, see `noise_scale`. It is rounded to
        integers, beyond 2^24 to multiples of a power of two below 2^-23 of it.
    weights : ndarray, shape (size,)
        How often each entry counts in the norm: 1 or 2.
    stream : Stream
    """
    assert scale < _LARGEST_SCALE
    # a multiple of 2^52 goes by the grid of the noise: what is left is a double exactly
    high = (total >> _LOW_BITS) << _LOW_BITS
    noisy = (total - high).astype(np.float64)
    for weight in np.unique(weights):
        own = np.flatnonzero(weights == weight)
        part = noisy[own]
        narrow = scale if weight == 1.0 else outward_scale(scale, _ROOT_2)
        flat_law(len(own), "gaussian", narrow).add_on_grid(stream, 1.0, part[None])
        noisy[own] = part
    # large noise is reduced, not cut: what was cut would show `high` alone
    noisy = np.fmod(noisy, 2.0**64)
    noisy -= 2.0**64 * ((noisy >= 2.0**63) - 1.0 * (noisy < -(2.0**63)))
    return noisy.astype(np.int64) + high


def james_stein(length: float, deviation: float, dim: int) -> tuple[float, float]:
    """The factor (1 - (d - 2) s^2/|y|^2)_+ of a vector y with normal noise s Z in R^d (James and
    Stein 1961; Baranchik 1964), and the root of a bound on its mean square error over d s^2.

    The bound is (2 + (d - 2) a/(a + d - 2))/d, a = |g|^2/s^2, g the vector without noise: |y|^2
    tells it, and counts with a standard deviation more. Both are 1 for d <= 2, where nothing is
    gained (docs/proofs/sums-of-messages.md, section 10).
    """
    if dim <= 2:
        return 1.0, 1.0
    square = (length / deviation) ** 2
    kept = max(0.0, 1.0 - (dim - 2) / square) if square else 0.0
    true = max(0.0, square - dim)
    true += math.sqrt(2.0 * dim + 4.0 * true)
    return kept, math.sqrt((2.0 + (dim - 2) * true / (true + dim - 2)) / dim)


def mean_length(dim: int) -> float:
    """E |N|, N standard normal in R^dim."""
    return math.sqrt(2.0) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))


@functools.lru_cache(maxsize=256)
def flat_law(size: int, profile: str, scale: float) -> _core.Noise:
    """The law of noise on so many coordinates."""
    return _core.Noise("flat", size, 0.0, profile, scale)
