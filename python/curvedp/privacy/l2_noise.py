r"""The privacy curve of noise with density proportional to exp(-\|x\|/scale) on a flat space.

The l2 mechanism (Joseph, Yu 2025, arXiv 2502.15929) is this noise calibrated to (epsilon, delta).
Shifted by at most s scales it is s-DP; its delta at a smaller epsilon falls with the dimension.
Computed is a bound from above, by two integrals over an angle that are bounded cell by cell.
Proof: docs/proofs/l2-mechanism.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import scipy

from curvedp._validation import FloatArray, as_count
from curvedp.privacy.base import Neighbours, check_relation, non_negative, positive, probability
from curvedp.privacy.conversion import approx_delta, approx_epsilon, last_true_above

__all__ = ["LARGEST_DIM", "L2Noise", "l2_delta", "l2_epsilon", "largest_pure_epsilon"]

#: Dimension up to which the curve is computed; Gaussian noise is as good beyond, within 0.5 %.
LARGEST_DIM = 1024

#: Cells of an integral, and points by which each of two coordinates places them.
_CELLS, _SCOUTS = 2048, 256
#: Logarithm of the share of an integrand's maximum below which cells are not refined.
_NEGLIGIBLE = -46.0
#: Relative room for rounding: of gamma functions, of their arguments, and of sums.
_MARGIN = 1e-8
#: Probabilities below which incomplete gamma functions may have underflowed.
_TINY = 1e-290
#: Relative distance up to which the largest shift is found.
_CLOSE = 1e-6
#: Shifts beyond which, and deltas below which the curve of every epsilon-DP mechanism is taken.
_FARTHEST, _LEAST_DELTA = 600.0, 1e-100


@dataclass(frozen=True)
class L2Noise:
    r"""The privacy loss of noise of density exp(-\|x\|/scale) on flat space: less than `PureDP`'s.

    A dominating pair, for `compose_mixed`: of Laplace noise on flat spaces and of the l2 mechanism.
    No ledger takes it.

    Parameters
    ----------
    epsilon : float
        Sensitivity over scale: it is epsilon-DP.
    dim : int
        Dimension of the space.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation of the sensitivity.

    Examples
    --------
    >>> noise = L2Noise(epsilon=1.206, dim=6)
    >>> round(noise.to_delta(1.0), 4), round(noise.to_epsilon(1e-3), 3)
    (0.001, 1.0)
    """

    epsilon: float
    dim: int
    neighbours: Neighbours = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "dim", as_count(self.dim, "dim"))
        check_relation(self.neighbours)

    def to_delta(self, epsilon: float) -> float:
        """Smallest delta at epsilon, rounded up."""
        return l2_delta(non_negative("epsilon", epsilon), self.epsilon, self.dim)

    def to_epsilon(self, delta: float) -> float:
        """Smallest epsilon at delta, rounded up; its own at most."""
        target = probability("delta", delta)
        inside, outside = self.epsilon, 0.0
        if self.to_delta(0.0) <= target:
            return 0.0
        while inside - outside > _CLOSE * self.epsilon:
            middle = 0.5 * (inside + outside)
            if self.to_delta(middle) <= target:
                inside = middle
            else:
                outside = middle
        return inside


@lru_cache(maxsize=4096)
def l2_delta(epsilon: float, shift: float, dim: int) -> float:
    r"""Smallest delta at epsilon of a shift of the density exp(-\|x\|), from above.

    .. math:: \delta = P(A) - e^\epsilon Q(A), \qquad A = \{|x - v| - |x| > \epsilon\}

    with P the law at 0, Q that at v, s = \|v\|. In polar coordinates around 0 and around v, with
    a = (s^2 - epsilon^2)/2, F the gamma law of shape d and u the first coordinate of a uniform
    direction,

    .. math:: P(A) = E\, F(a / (\epsilon + s u)_+), \qquad
              Q(A) = E\, [1 - F(a / (s u - \epsilon)_+)].

    Parameters
    ----------
    epsilon : float
        At least 0.
    shift : float
        s, in scales of the noise: it is s-DP.
    dim : int

    Returns
    -------
    float
        At most that of every mechanism that is s-DP.

    Examples
    --------
    >>> [round(l2_delta(1.0, 1.2, dim), 5) for dim in (1, 6, 36)]
    [0.09516, 0.00092, 0.0]
    """
    if epsilon >= shift:
        return 0.0
    of_every = approx_delta(shift, 0.0, epsilon)
    if dim == 1:
        return min(of_every, -math.expm1(0.5 * (epsilon - shift)) * (1 + _MARGIN))
    if dim > LARGEST_DIM or shift > _FARTHEST or shift - epsilon < _least_gap(dim, shift):
        return of_every
    near = _mass_at_origin(epsilon, shift, dim) * (1 + _MARGIN)
    far = _mass_at_shift(epsilon, shift, dim) * (1 - _MARGIN)
    return min(of_every, max(near - math.exp(epsilon) * far, _LEAST_DELTA))


@lru_cache(maxsize=1024)
def l2_epsilon(epsilon: float, delta: float, dim: int) -> float:
    r"""The largest shift of the density exp(-\|x\|) that is (epsilon, delta)-DP, from below.

    The noise's own pure epsilon: its scale is the sensitivity over it.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
    dim : int

    Returns
    -------
    float
        At least `largest_pure_epsilon`.

    Examples
    --------
    >>> [round(l2_epsilon(1.0, 1e-3, dim), 3) for dim in (1, 6, 36)]
    [1.002, 1.206, 2.424]
    """
    low = largest_pure_epsilon(epsilon, delta)
    if delta <= _LEAST_DELTA or low > _FARTHEST:
        return low
    # below the least gap it is the curve of every mechanism, which exceeds delta from `low` on
    start = low if dim == 1 else max(low, epsilon + 1.01 * _least_gap(dim, low))
    if l2_delta(epsilon, start, dim) > delta:
        return low
    low, high = start, 2 * start
    while l2_delta(epsilon, high, dim) <= delta:
        low, high = high, 2 * high
    share = 0.5  # of the bracket: halves and chords of log delta in turn
    while high > low * (1 + _CLOSE):
        middle = low + share * (high - low)
        if l2_delta(epsilon, middle, dim) <= delta:
            low = middle
        else:
            high = middle
        below, above = (l2_delta(epsilon, end, dim) for end in (low, high))
        if share == 0.5 and 0.0 < below < above:
            share = min(max(math.log(delta / below) / math.log(above / below), 0.01), 0.99)
        else:
            share = 0.5
    return low


def largest_pure_epsilon(epsilon: float, delta: float) -> float:
    """The largest epsilon' with epsilon'-DP implying (epsilon, delta), rounded down.

    log((e^epsilon + delta)/(1 - delta)), a little more than epsilon.
    """
    start = max(epsilon, delta)  # delta-DP implies (0, delta)
    return last_true_above(lambda own: approx_epsilon(own, 0.0, delta) <= epsilon, start)


def _mass_at_origin(epsilon: float, shift: float, dim: int) -> float:
    """P(A) from above: exponential functions above the integrand, one on each cell.

    With phi the angle to v from behind, A is everything where shift cos phi > epsilon, and beyond
    the distances up to R = a/(epsilon - shift cos phi). log R is convex in phi and log F concave in
    log R: the tangent of log F at the chord of log R lies above.
    """
    half, longest = 0.5 * (shift - epsilon) * (shift + epsilon), _longest(dim)
    if half >= longest * (epsilon + shift):
        return 1.0

    def log_length(angle: FloatArray) -> FloatArray:
        room = np.maximum(epsilon - shift * np.cos(angle), half / longest)
        return np.asarray(math.log(half) - np.log(room))

    def cosine(length: FloatArray) -> FloatArray:
        return (epsilon - half / length) / shift

    ends = _cells(log_length, cosine, (longest, half / (epsilon + shift)), _log_lower, dim)
    width, middle, logs = np.diff(ends), 0.5 * (ends[1:] + ends[:-1]), log_length(ends)
    log_middle, slope = 0.5 * (logs[1:] + logs[:-1]), np.diff(logs) / width
    log_lower = _log_lower(np.exp(log_middle), dim)
    log_gamma = dim * log_middle - np.exp(log_middle) - scipy.special.gammaln(dim)
    rise = slope * np.exp(np.minimum(log_gamma - log_lower, math.log(dim)))
    turn = 0.5 * width * np.abs(rise + (dim - 2) / np.tan(middle))
    with np.errstate(over="ignore"):
        fine = np.exp(_log_sine(middle, dim) + log_lower + turn) * width * _mean_fall(2 * turn)
    top = np.clip(0.5 * math.pi, ends[:-1], ends[1:])
    coarse = np.exp(_log_sine(top, dim) + _log_lower(np.exp(logs[:-1]), dim)) * width
    cells = np.where(log_lower > math.log(_TINY), np.minimum(fine, coarse), coarse)
    return math.fsum([_cap(float(ends[0]), dim), *cells.tolist()])


def _mass_at_shift(epsilon: float, shift: float, dim: int) -> float:
    """Q(A) from below: the integrand is log-concave in the angle, chords of its log lie below."""
    half, longest = 0.5 * (shift - epsilon) * (shift + epsilon), _longest(dim)
    if 0.5 * (shift + epsilon) >= longest:
        return 0.0

    def log_length(angle: FloatArray) -> FloatArray:
        room = np.maximum(shift * np.cos(angle) - epsilon, half / longest)
        return np.asarray(math.log(half) - np.log(room))

    def cosine(length: FloatArray) -> FloatArray:
        return (epsilon + half / length) / shift

    ends = _cells(log_length, cosine, (0.5 * (shift + epsilon), longest), _log_upper, dim)
    logs = _log_sine(ends, dim) + _log_upper(np.exp(log_length(ends)), dim)
    low, high = np.minimum(logs[1:], logs[:-1]), np.maximum(logs[1:], logs[:-1])
    kept = low > math.log(_TINY)
    cells = np.exp(high[kept]) * _mean_fall((high - low)[kept]) * np.diff(ends)[kept]
    return math.fsum(cells.tolist())


def _cells(
    log_length: Callable[[FloatArray], FloatArray],
    cosine: Callable[[FloatArray], FloatArray],
    lengths: tuple[float, float],
    log_share: Callable[[FloatArray, int], FloatArray],
    dim: int,
) -> FloatArray:
    """Ends of cells, even in the angle and in the log of the length together where it matters.

    Bounds hold on whatever cells; from the first to the last angle, those of `lengths`.
    """
    by_length = np.arccos(np.clip(cosine(np.geomspace(*lengths, _SCOUTS)), -1.0, 1.0))
    by_angle = np.linspace(by_length[0], by_length[-1], _SCOUTS)
    scouts = np.unique(np.concatenate([by_length, by_angle]))
    logs = _log_sine(scouts, dim) + log_share(np.exp(log_length(scouts)), dim)
    found = np.flatnonzero(logs > np.max(logs) + _NEGLIGIBLE)
    first, last = max(int(found[0]) - 1, 0), min(int(found[-1]) + 1, len(scouts) - 1)
    kept = scouts[first : last + 1]
    at = np.abs(log_length(kept) - log_length(kept[:1]))
    at = at / at[-1] + (kept - kept[0]) / (kept[-1] - kept[0])
    fine = np.interp(np.linspace(0.0, 2.0, _CELLS + 1), at, kept)
    return np.unique(np.concatenate([scouts[: first + 1], fine, scouts[last:]]))


def _least_gap(dim: int, shift: float) -> float:
    """Least shift - epsilon at which lengths are known well enough for the margin."""
    return 1e-7 * (dim + shift + 10.0) ** 2


def _longest(dim: int) -> float:
    """Length that noise of scale 1 exceeds with probability below 1e-17."""
    return dim + 10.0 * math.sqrt(dim) + 60.0


def _log_sine(angle: FloatArray, dim: int) -> FloatArray:
    """Logarithm of the density of a uniform direction's angle, sin(angle)^(d - 2)/B."""
    norm = scipy.special.betaln(0.5 * (dim - 1), 0.5)
    with np.errstate(divide="ignore"):
        return np.asarray(scipy.special.xlogy(dim - 2, np.abs(np.sin(angle))) - norm)


def _log_lower(length: FloatArray, dim: int) -> FloatArray:
    """log F, from above where F underflows."""
    return np.asarray(np.log(np.maximum(scipy.special.gammainc(dim, length), _TINY)))


def _log_upper(length: FloatArray, dim: int) -> FloatArray:
    """log (1 - F), minus infinity where it underflows."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(scipy.special.gammaincc(dim, length)))


def _cap(angle: float, dim: int) -> float:
    """Probability that a uniform direction is within an angle of a given one."""
    half = 0.5 * float(scipy.special.betainc(0.5 * (dim - 1), 0.5, math.sin(angle) ** 2))
    return half if angle <= 0.5 * math.pi else 1.0 - half


def _mean_fall(fall: FloatArray) -> FloatArray:
    """Mean of an exponential function that falls from 1 to exp(-fall)."""
    small = np.maximum(fall, 1e-8)
    return np.where(fall < 1e-8, 1.0 - 0.5 * fall, -np.expm1(-small) / small)
