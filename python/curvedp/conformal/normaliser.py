"""Bound on the change of the normalising constant of conformal Laplace noise.

Z(eta) = integral of c(z)^d exp(-lambda c(z) rho(eta, z)) over the manifold, c anything between a
least value and 1. |d log Z| <= lambda R along every geodesic, with R from the dimension, the least
value and bounds on the curvature alone. Proof: docs/proofs/conformal-mean.md, section 3.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold

#: Cells of the upper and lower sums that enclose the integrals.
_CELLS = 50_000

#: Room for the rounding of these sums.
_ROOM = 1 + 1e-9


def normaliser_bound(manifold: Manifold, least: float, scale: float) -> float:
    """R, at most 1: a bound for this scale 1/lambda and all finer ones.

    Parameters
    ----------
    manifold : Manifold
    least : float
        The least value of c, positive and at most 1.
    scale : float
        1/lambda, in the units of the metric.

    Returns
    -------
    float

    Examples
    --------
    >>> import curvedp as cdp
    >>> round(normaliser_bound(cdp.Sphere(2), 0.75, 1e-3), 2)
    0.14
    >>> round(normaliser_bound(cdp.SPD(9), 0.97, 1e-3), 3)
    0.011
    """
    if least >= 1.0:
        return 0.0
    low, high = manifold.curvature_bounds
    reach = manifold.injectivity_radius
    if high > 0:
        reach = min(reach, math.pi / math.sqrt(high))
    bends = scale * math.sqrt(max(-low, 0.0)), scale * math.sqrt(max(high, 0.0))
    kind, _, radius = manifold.noise_space
    is_covered = kind == "flat" and math.isfinite(reach)
    if kind == "sphere":
        is_covered = reach < 0.99 * math.pi * radius
    return _bound(manifold.dim, least, bends, reach / scale, is_covered)


@functools.lru_cache(maxsize=256)
def _bound(
    dim: int, least: float, bends: tuple[float, float], reach: float, is_covered: bool
) -> float:
    """The same in units of the scale: roots of the bounds on the curvature, and how far geodesics
    reach. True if noise is drawn on a space that covers the manifold, whose far copies count."""
    negative, positive = bends
    end = (dim + 12 * math.sqrt(dim) + 60) / least
    ends = np.linspace(0.0, end, _CELLS + 1)
    a, b = ends[:-1], ends[1:]
    logs = np.full_like(ends, -math.inf)
    np.log(b, out=logs[1:])
    norm = math.lgamma(dim)
    wide = (dim - 1) * (logs[1:] + _log_sinhc(negative, b)) - norm
    fall = least - (dim - 1) * (negative + 1 / end)
    if fall <= 0:
        return 1.0
    above = np.exp(_log_most(dim + 1, least, a) + wide)
    below = np.exp(_log_least(dim + 1, least, b) + wide)
    width, last = end / _CELLS, math.exp(float(wide[-1]) - least * end) / fall
    moved = float((above - below).sum()) * width + least ** (dim + 1) * last
    cosine = math.exp(math.lgamma(dim / 2) - math.lgamma((dim + 1) / 2)) / math.sqrt(math.pi)
    moved *= 0.5 * cosine
    if is_covered:
        far = b > reach
        moved += float(np.exp(wide[far] - least * a[far]).sum()) * width + last
    count = int(np.searchsorted(b, reach, side="right"))
    b = b[:count]
    thin = np.full(count, -norm)
    if dim > 1:
        with np.errstate(divide="ignore"):
            thin += (dim - 1) * (logs[:count] + np.log(np.sinc(positive * b / math.pi)))
    whole = float(np.exp(_log_least(dim, least, b) + thin).sum()) * width
    return min(1.0, _ROOM * moved / whole) if whole > 0 else 1.0


def _log_most(power: int, least: float, t: FloatArray) -> FloatArray:
    """log of the largest c^power exp(-c t) for c from `least` to 1."""
    c = np.clip(power / np.maximum(t, 1e-300), least, 1.0)
    return np.asarray(power * np.log(c) - c * t)


def _log_least(power: int, least: float, t: FloatArray) -> FloatArray:
    """log of the least: the logarithm is concave in c, so it lies at an end."""
    return np.minimum(power * math.log(least) - least * t, -t)


def _log_sinhc(negative: float, t: FloatArray) -> FloatArray | float:
    """log(sinh(x)/x) of x = negative t."""
    if negative == 0:
        return 1e-16
    x = negative * t
    safe = np.maximum(x, 1e-8)
    logs = safe + np.log(-np.expm1(-2 * safe)) - np.log(2 * safe)
    return np.where(x > 1e-8, logs, 1e-16)
