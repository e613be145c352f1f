"""The law of the distance between k noisy means where the populations' means are equal.

T^2 = sum_g n_g |mean_g - mean|^2 is then, for large n, a quadratic form of normal numbers of mean
M^2 = sum_g P_gg tr S_g and variance 2 F^2, F^2 = sum_gh P_gh^2 tr S_g S_h, with P_gh = [g = h] -
sqrt(n_g n_h)/N and S_g the covariance of sample g. Its law is taken to be that of M^2 chi^2_nu/nu,
nu = M^4/F^2 (Satterthwaite 1946). M^2 and F are known from their noisy values: the p-value averages
over noisy values less noise drawn anew. M and F^2 bend with what is drawn, so each is the drawn
one's plus what keeps the level to the second order of the noise (`_square_of_root`,
`_squared_ratio`), and each goes on below 0 as its own reflection. docs/proofs/k-samples.md.
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
#: Values of the unknown M^2 and F that are averaged over.
_DRAWS = 256
#: Rounds in which M^2 and what is added to it follow each other.
_ROUNDS = 20
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
    unit = math.sqrt(scales[1])  # of lengths: all squares are doubles, whatever the noise
    between, square, norm = (float(own) for own in noisy / unit / [1.0, unit, unit])
    of_between, of_square, of_norm = (float(own) for own in scales / unit / [1.0, unit, unit])
    least = 1 / (dim * (len(sizes) - 1))
    points = _spread_points(_DRAWS, 3)
    signed = square + of_square * scipy.special.ndtri(points[:, 0])
    mean = _square_of_root(signed, of_square, of_between)
    drawn = norm + of_norm * scipy.special.ndtri(points[:, 1])
    ratio = _squared_ratio(drawn, of_norm, mean, of_between) - 1 / np.sum(sizes - 1)
    ratio = np.clip(ratio, 2 * least - 1, 1.0)
    freedom = (sizes.min() - 1) / np.maximum(ratio, least)
    # below the least ratio T varies less than there by what it varies more above
    apart, variance = np.maximum(least - ratio, 0.0), mean / (2 * of_between**2)
    shorter = (1 + least * variance) / (1 + (least + apart) * variance)
    known = np.where(apart > 0.0, least * shorter, ratio)
    noise = of_between * np.sqrt(shorter)
    mean = mean * (1 + (known - ratio) / 4) ** 2
    mean = mean * freedom / (2 * scipy.special.gammaincinv(freedom / 2, points[:, 2]))
    # above the root of M^2 chi^2_nu/nu, or above minus that
    half, sign = 0.5 / known, np.where(signed > 0.0, 1.0, -1.0)
    without_noise = sign[:, None] * (between - noise[:, None] * _NOISE)
    within = (half / mean)[:, None] * np.maximum(without_noise, 0.0) ** 2
    tails = scipy.special.gammaincc(half[:, None], within)
    tails = np.where(signed[:, None] > 0.0, tails, 1.0 - tails)
    return max(float(np.mean(tails @ _WEIGHTS)), LEAST_P)


def _square_of_root(signed: FloatArray, scale: float, noise: float) -> FloatArray:
    """M^2 = sqrt(m^2 + s^2 t^2/(t^2 + s^2/4 M^2)) for M^2 drawn as m: the root's bend made good.

    s is `scale`, the deviation of the noise of M^2, and t is `noise`, that of T. The right side is
    concave in M^2 and is found from above.
    """
    found = np.hypot(signed, scale)
    for _ in range(_ROUNDS):
        told = noise**2 * found
        found = np.sqrt(signed**2 + scale**2 * told / (told + scale**2 / 4))
    return np.asarray(found)


def _squared_ratio(drawn: FloatArray, scale: float, mean: FloatArray, noise: float) -> FloatArray:
    """F^2/M^4 = (f^2 - 2 s^2 (t^2 - V)/(t^2 + V))/M^4 for F drawn as f, V = f^2/2M^2 T's variance.

    s is `scale`, the deviation of the noise of F, and t is `noise`, that of T.
    """
    own = drawn**2 / (2 * mean)
    square = drawn**2 - 2 * scale**2 * (noise**2 - own) / (noise**2 + own)
    return np.asarray(square / mean**2)


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
