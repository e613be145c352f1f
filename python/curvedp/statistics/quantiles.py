"""Quantiles for ellipsoids and intervals whose covariance is itself estimated with noise.

If y ~ N(0, Gamma) and G = Gamma^(1/2) (I + M) Gamma^(1/2) is an independent estimate with E M = 0,
then with F_k the distribution function of chi^2_k and to second order in M

    P(y' G^-1 y <= q) = F_d + a/2 (F_(d+2) - F_d) + (a/4 + b/8) (F_(d+4) - 2 F_(d+2) + F_d),

a = E tr M^2, b = E (tr M)^2. A Wishart matrix with m degrees of freedom has a = d (d + 1)/m and
b = 2 d/m, and then y' G^-1 y has Hotelling's law, exactly. Other noise gets the m whose Hotelling
law has the same second order at the 95 % quantile. Derivation: docs/proofs/confidence-region.md.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy

from curvedp._validation import FloatArray


def effective_dof(dim: int, a: float, b: float) -> float:
    """Degrees of freedom m of the Wishart matrix as noisy as M; infinite without noise."""
    loss = _second_order(dim, a, b)
    if loss >= -1e-12:
        return math.inf
    return max(_second_order(dim, dim * (dim + 1), 2 * dim) / loss, dim + 1.0)


def hotelling_quantile(level: float, dim: int, dof: float) -> float:
    """The q with P(y' G^-1 y <= q) = level."""
    if math.isinf(dof):
        return float(2 * scipy.special.gammaincinv(dim / 2, level))
    return float(_ratio(dim, dof) * scipy.special.fdtri(dim, dof - dim + 1, level))


def dof_at_quantile(q: float, dim: int) -> float:
    """The m at which Hotelling's 95 % quantile is q; infinite if chi^2's is no smaller."""
    if q <= hotelling_quantile(0.95, dim, math.inf) * (1 + 1e-6):
        return math.inf

    def excess(log_dof: float) -> float:
        return math.log(hotelling_quantile(0.95, dim, math.exp(log_dof)) / q)

    least = math.log(dim + 1.0)
    if excess(least) <= 0:
        return dim + 1.0
    return math.exp(float(scipy.optimize.brentq(excess, least, math.log(1e9), xtol=1e-9)))


def hotelling_tail(q: FloatArray, dim: int, dof: float) -> FloatArray:
    """P(y' G^-1 y > q)."""
    if math.isinf(dof):
        return np.asarray(scipy.special.chdtrc(dim, q))
    return np.asarray(scipy.special.fdtrc(dim, dof - dim + 1, q / _ratio(dim, dof)))


def mixed_tail(square: float, noise: float, spread: float, dim: int) -> float:
    """P((noise + spread) chi^2_1 + noise chi^2_(d-1) > square).

    The square of the length of a vector of d entries with noise of variance `noise` in each, and
    of a further normal part with total variance `spread`, has no larger tail than that in any
    direction of the spread, at tails up to about .2 (Szekely and Bakirov 2003).
    """
    if noise <= 0.0 or dim == 1:
        return float(scipy.special.chdtrc(1, square / max(noise + spread, 1e-300)))
    largest = math.sqrt(square / (noise + spread))
    # z of the first part; beyond `largest` it is too long by itself
    nodes, weights = _legendre()
    z = 0.5 * largest * (nodes + 1.0)
    inner = scipy.special.chdtrc(dim - 1, (square - (noise + spread) * z**2) / noise)
    mass = float(weights @ (inner * np.exp(-0.5 * z**2))) * largest / math.sqrt(2.0 * math.pi)
    return mass + float(scipy.special.chdtrc(1, largest**2))


def mixed_quantile(level: float, noise: float, spread: float, dim: int) -> float:
    """The square that `mixed_tail` exceeds with the probability 1 - level."""
    top = scipy.special.chdtri(1, 1.0 - level) * (noise + spread)
    high = 2.0 * (top + noise * scipy.special.chdtri(max(dim - 1, 1), 1.0 - level))

    def excess(square: float) -> float:
        return mixed_tail(square, noise, spread, dim) - (1.0 - level)

    return float(scipy.optimize.brentq(excess, 1e-12 * high, high, rtol=1e-9))


@functools.cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights


def _ratio(dim: int, dof: float) -> float:
    return dim * dof / (dof - dim + 1)


@functools.cache
def _chi2_at_quantile(dim: int) -> tuple[float, float, float]:
    """F_d, F_(d+2) and F_(d+4) at the 95 % quantile of chi^2_d."""
    at = hotelling_quantile(0.95, dim, math.inf)
    f0, f2, f4 = (float(scipy.special.chdtr(dim + k, at)) for k in (0, 2, 4))
    return f0, f2, f4


def _second_order(dim: int, a: float, b: float) -> float:
    f0, f2, f4 = _chi2_at_quantile(dim)
    return a / 2 * (f2 - f0) + (a / 4 + b / 8) * (f4 - 2 * f2 + f0)
