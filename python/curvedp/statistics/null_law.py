"""The law of the distance between k noisy means where the populations' means are equal.

T^2 = sum_g n_g |mean_g - mean|^2 is then, for large n, a quadratic form of normal numbers of mean
M^2 = sum_g P_gg tr S_g and variance 2 F^2, F^2 = sum_gh P_gh^2 tr S_g S_h, with P_gh = [g = h] -
sqrt(n_g n_h)/N and S_g the covariance of sample g. Its law is taken to be that of M^2 chi^2_nu/nu,
nu = M^4/F^2 (Satterthwaite 1946). M^2 and F are known from their noisy values: what they may be,
given these, is averaged over. M^2 may be negative there, with minus the root of |M^2| chi^2_nu/nu
for T: a noisy value below 0 then speaks for a small T as much as one above 0 for a large one, and
the level is kept at small and at large M^2 alike. docs/proofs/k-samples.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray

#: Shares of mu^2 of T, M^2 and F.
SHARES = (0.7, 0.2, 0.1)
#: Smallest p-value told: the law is not known further out.
LEAST_P = 1e-9
#: Values of the unknown M^2 and F that are averaged over, and points of the density of F.
_DRAWS = 256
_NODES = 128
#: Deviation of the unknown M^2 from its noisy value, in those of the noise: T bends with M^2.
_UNKNOWN = 1.12
#: Noise is sought so many standard deviations from its middle.
_REACH = 7.0
_NOISE = np.linspace(-6.2, 6.2, 63)
_WEIGHTS = np.exp(-0.5 * _NOISE**2) / np.exp(-0.5 * _NOISE**2).sum()


def projection(sizes: ArrayLike) -> FloatArray:
    """P_gh = [g = h] - sqrt(n_g n_h)/N, shape (k, k)."""
    own = np.asarray(sizes, dtype=float)
    return np.asarray(np.eye(len(own)) - np.sqrt(np.outer(own, own)) / own.sum())


def units_of_values(sizes: ArrayLike) -> tuple[float, float]:
    """M^2/r and F/r that one unit of `KSampleRelease.value` stands for.

    T moves by D = 2r sqrt(1/min n - 1/N) at most and is its own unit; M^2 and F move by E = max_g
    P_gg 4 r^2/n_g at most and have the share x_M or x_F for T's x_T: a unit is E/D sqrt(x_T/x_M).
    """
    own = np.asarray(sizes, dtype=float)
    shift = float(np.max(np.diag(projection(own)) * 4 / own))
    move = shift / (2 * math.sqrt(1 / own.min() - 1 / own.sum()))
    of_between, of_square, of_norm = SHARES
    return move * math.sqrt(of_between / of_square), move * math.sqrt(of_between / of_norm)


def p_value_of(value: FloatArray, sizes: Sequence[int], scale: float, dim: int) -> float:
    """The p-value of `KSampleRelease.value` with noise of that scale, both in radii of the ball."""
    units = np.array([1.0, *units_of_values(sizes)])
    return tail_of_between(units * value, np.array(sizes, dtype=float), scale * units, dim)


@np.errstate(under="ignore")
def tail_of_between(noisy: FloatArray, sizes: FloatArray, scales: FloatArray, dim: int) -> float:
    """Probability of a larger noisy T where the means are equal: a p-value.

    All lengths are in radii of the ball that holds the records.

    Parameters
    ----------
    noisy, scales : ndarray, shape (3,)
        T, M^2 and F, with noise, and the standard deviations of that.
    sizes : ndarray, shape (k,)
        Records of each sample.
    dim : int

    Returns
    -------
    float
    """
    between, square, norm = (float(own) for own in noisy)
    rank = dim * (len(sizes) - 1)
    points = _spread_points(_DRAWS, 3)
    signed = square + _UNKNOWN * float(scales[1]) * scipy.special.ndtri(points[:, 0])
    mean = np.maximum(np.abs(signed), 1e-9 * float(scales[1]))
    spread = mean * _draw_ratios(norm, float(scales[2]), mean, rank, points[:, 1])
    spread = _unbiased(mean, spread, sizes, rank)
    freedom = (sizes.min() - 1) * (mean / spread) ** 2
    stretch = freedom / (2 * scipy.special.gammaincinv(freedom / 2, points[:, 2]))
    mean, half = stretch * mean, 0.5 * (mean / spread) ** 2
    # above the root of M^2 chi^2_nu/nu, or above minus that
    without_noise = np.where(signed > 0.0, 1.0, -1.0)[:, None] * (between - scales[0] * _NOISE)
    within = (half / mean)[:, None] * np.maximum(without_noise, 0.0) ** 2
    tails = scipy.special.gammaincc(half[:, None], within)
    tails = np.where(signed[:, None] > 0.0, tails, 1.0 - tails)
    return max(float(np.mean(tails @ _WEIGHTS)), LEAST_P)


def _draw_ratios(
    noisy: float, scale: float, mean: FloatArray, rank: int, points: FloatArray
) -> FloatArray:
    """Ratios F/M^2 in [1/sqrt(rank), 1], for a noisy value of F."""
    least = 1 / math.sqrt(rank)
    low = np.clip((noisy - _REACH * scale) / mean, least, 1.0)[:, None]
    high = np.clip((noisy + _REACH * scale) / mean, least, 1.0)[:, None]
    nodes = low + (high - low) * (np.arange(_NODES) + 0.5) / _NODES
    depth = ((noisy - nodes * mean[:, None]) / scale) ** 2
    heights = np.cumsum(np.exp(-0.5 * (depth - depth.min(axis=1, keepdims=True))), axis=1)
    place = np.sum(heights < points[:, None] * heights[:, -1:], axis=1)
    return np.asarray(nodes[np.arange(len(nodes)), np.minimum(place, _NODES - 1)])


def _unbiased(mean: FloatArray, spread: FloatArray, sizes: FloatArray, rank: int) -> FloatArray:
    """F of the populations, from that of samples, whose square is longer by M^4/sum (n - 1)."""
    square = spread**2 - mean**2 / np.sum(sizes - 1)
    return np.asarray(np.sqrt(np.clip(square, mean**2 / rank, mean**2)))


def _spread_points(count: int, dim: int) -> FloatArray:
    """Points of the unit cube with one coordinate in each of `count` equal parts of every axis, in
    the order of multiples of roots of primes, modulo 1.
    """
    limit = 16 + 2 * dim * max(1, math.ceil(math.log(dim + 1)))
    primes = [p for p in range(2, limit) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    order = np.argsort((np.arange(1, count + 1)[:, None] * np.sqrt(primes[:dim])) % 1.0, axis=0)
    points = np.empty((count, dim))
    np.put_along_axis(points, order, (np.arange(count)[:, None] + 0.5) / count, axis=0)
    return points
