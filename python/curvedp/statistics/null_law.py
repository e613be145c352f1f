"""The law of the distance between k noisy means where the populations' means are equal.

T^2 = sum_g n_g |mean_g - mean|^2 is then, for large n, a quadratic form of normal numbers of mean
M^2 = sum_g P_gg V_g and variance 2 F^2, F^2 <= sum_gh P_gh^2 F_g F_h with P_gh = [g = h] -
sqrt(n_g n_h)/N, V_g the trace and F_g the Frobenius norm of sample g's covariance. Its law is taken
to be that of M^2 chi^2_nu/nu, nu = M^4/F^2 (Satterthwaite 1946). V_g and F_g are known from their
noisy values: what they may be, given these, is averaged over. docs/proofs/k-samples.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray

#: Shares of mu^2 of T, of the traces and of the norms.
SHARES = (0.75, 0.2, 0.05)
#: Smallest p-value told: the law is not known further out.
LEAST_P = 1e-9
#: Values of the unknown variances that are averaged over, and points of their densities.
_DRAWS = 256
_NODES = 128
#: The root of an unknown variance has the density root^0.4 before its noisy value is known: the
#: exponent 1, of the variance alike everywhere, costs power, 0 keeps no level on a line.
_POWER_OF_ROOT = 0.4
#: Noise is sought so many standard deviations from its middle.
_REACH = 7.0
_NOISE = np.linspace(-6.2, 6.2, 63)
_WEIGHTS = np.exp(-0.5 * _NOISE**2) / np.exp(-0.5 * _NOISE**2).sum()


def units_of_values(sizes: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """V_g/r and F_g/r that one unit of `KSampleRelease.value` stands for, each of shape (k,).

    T moves by D = 2r sqrt(1/min n - 1/N) at most and is its own unit; V_g and F_g move by 4 r^2/n_g
    at most and have the share x_V or x_F for T's x_T: a unit is 4 r^2/(n_g D) sqrt(x_T/x_V).
    """
    own = np.asarray(sizes, dtype=float)
    move = 2 / own / math.sqrt(1 / own.min() - 1 / own.sum())
    of_between, of_traces, of_norms = SHARES
    return move * math.sqrt(of_between / of_traces), move * math.sqrt(of_between / of_norms)


def p_value_of(value: FloatArray, sizes: Sequence[int], scale: float, dim: int) -> float:
    """The p-value of `KSampleRelease.value` with noise of that scale, both in radii of the ball."""
    of_traces, of_norms = units_of_values(sizes)
    traces, norms = np.split(value[1:], 2)
    scales = (scale, scale * of_traces, scale * of_norms)
    numbers = np.array(sizes, dtype=float)
    return tail_of_between(
        float(value[0]), of_traces * traces, of_norms * norms, numbers, scales, dim
    )


@np.errstate(under="ignore")
def tail_of_between(
    between: float,
    variances: FloatArray,
    frobenius: FloatArray,
    sizes: FloatArray,
    scales: tuple[float, FloatArray, FloatArray],
    dim: int,
) -> float:
    """Probability of a larger noisy T where the means are equal: a p-value.

    All lengths are in radii of the ball that holds the records.

    Parameters
    ----------
    between : float
        T, with noise.
    variances, frobenius, sizes : ndarray, shape (k,)
        V_g and F_g, with noise; records of each sample.
    scales : float, and two ndarrays of shape (k,)
        Standard deviations of the noise of the three.
    dim : int

    Returns
    -------
    float
    """
    count = len(sizes)
    points = _spread_points(_DRAWS, 3 * count)
    of_trace, of_ratio, of_sample = points[:, :count], points[:, count:-count], points[:, -count:]
    trace, norm = np.empty_like(of_trace), np.empty_like(of_trace)
    for g in range(count):
        most = math.sqrt(sizes[g] / (sizes[g] - 1))
        root = _draw_roots(variances[g], scales[1][g], most, of_trace[:, g])
        trace[:, g] = root**2
        ratio = _draw_ratios(frobenius[g], scales[2][g], trace[:, g], dim, of_ratio[:, g])
        norm[:, g] = ratio * trace[:, g]
    norm = _unbiased(trace, norm, sizes, dim)
    freedom = (sizes - 1) * (trace / norm) ** 2
    stretch = freedom / (2 * scipy.special.gammaincinv(freedom / 2, of_sample))
    trace, norm = stretch * trace, stretch * norm
    across = np.eye(count) - np.sqrt(np.outer(sizes, sizes)) / sizes.sum()
    mean = trace @ np.diag(across)
    half = 0.5 * mean**2 / np.einsum("dg,gh,dh->d", norm, across**2, norm)
    without_noise = np.maximum(between - scales[0] * _NOISE, 0.0) ** 2
    tails = scipy.special.gammaincc(half[:, None], (half / mean)[:, None] * without_noise)
    return max(float(np.mean(tails @ _WEIGHTS)), LEAST_P)


def _draw_roots(noisy: float, scale: float, most: float, points: FloatArray) -> FloatArray:
    """Roots, at most `most`, of a variance whose noisy value is known."""
    low = min(math.sqrt(max(noisy - _REACH * scale, 0.0)), 0.999 * most)
    high = min(math.sqrt(max(noisy, 0.0) + _REACH * scale), most)
    nodes = low + (max(high, low * 1.001) - low) * (np.arange(_NODES) + 0.5) / _NODES
    depth = ((noisy - nodes**2) / scale) ** 2
    heights = np.cumsum(nodes**_POWER_OF_ROOT * np.exp(-0.5 * (depth - depth.min())))
    return np.interp(points, (heights - 0.5 * heights[0]) / heights[-1], nodes)


def _draw_ratios(
    noisy: float, scale: float, trace: FloatArray, dim: int, points: FloatArray
) -> FloatArray:
    """Ratios of norm and trace in [1/sqrt(dim), 1], whose norm's noisy value is known."""
    least = 1 / math.sqrt(dim)
    low = np.clip((noisy - _REACH * scale) / trace, least, 1.0)[:, None]
    high = np.clip((noisy + _REACH * scale) / trace, least, 1.0)[:, None]
    nodes = low + (high - low) * (np.arange(_NODES) + 0.5) / _NODES
    depth = ((noisy - nodes * trace[:, None]) / scale) ** 2
    heights = np.cumsum(np.exp(-0.5 * (depth - depth.min(axis=1, keepdims=True))), axis=1)
    place = np.sum(heights < points[:, None] * heights[:, -1:], axis=1)
    return np.asarray(nodes[np.arange(len(nodes)), np.minimum(place, _NODES - 1)])


def _unbiased(trace: FloatArray, norm: FloatArray, sizes: FloatArray, dim: int) -> FloatArray:
    """Norms of the populations' covariances, from those of samples of n, which are longer."""
    square = (norm**2 - trace**2 / (sizes - 1)) * (sizes - 1) / sizes
    return np.asarray(np.sqrt(np.clip(square, trace**2 / dim, trace**2)))


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
