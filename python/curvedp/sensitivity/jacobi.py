"""Bounds on Jacobi fields, by which one record moves the gradients of geodesic regression.

On a symmetric space they are functions of the curvature operator of the velocity:
c(k) = cos sqrt(k) and g(k) = sin sqrt(k)/sqrt(k), the hyperbolic functions for k < 0.
Proofs: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold

#: Cells of the certified maximum in `sum_of_norms_bound`.
_CELLS = 20_000
#: Weights 1/2 + a t that are tried there.
_TILTS = 1 - np.geomspace(1e-3, 0.5, 40)
_LONGEST = 350.0


def jacobi_bounds(manifold: Manifold, dist: float) -> tuple[float, float]:
    """Largest growth of Jacobi fields along geodesics of length up to `dist`.

    Of those that start with slope 0, and of those that start at 0 compared with flat space: 1 on
    nonnegative curvature, cosh x and sinh(x)/x with x = sqrt(-kappa) dist for the lower curvature
    bound kappa < 0.
    """
    x = math.sqrt(max(-manifold.curvature_bounds[0], 0.0)) * dist
    if x > _LONGEST:
        raise ValueError(f"geodesics of length {dist:g} are too long for double precision")
    return math.cosh(x), math.sinh(x) / x if x > 0 else 1.0


def sum_of_norms_bound(manifold: Manifold, dist: float) -> float:
    """Largest |(c/2 + t g)u| + |(c/2 - t g)u| over |t| <= 1/2, unit u, |v| <= 2 `dist`.

    1 on flat space. Elsewhere a certified upper bound, within about 1 part in 1000 of the best
    that the proof gives.
    """
    lower, upper = manifold.curvature_bounds
    if upper > 0:
        return _certified(math.sqrt(upper) * dist, hyperbolic=False)
    return _certified(math.sqrt(max(-lower, 0.0)) * dist, hyperbolic=True)


@functools.lru_cache(maxsize=256)
def _certified(x: float, *, hyperbolic: bool) -> float:
    """The root of min_a sup phi, phi = (c/2 + t g)^2/(1/2 + a t) + (c/2 - t g)^2/(1/2 - a t).

    The supremum over angles theta <= x and theta/(2 x) <= t <= 1/2 is one over the ends of t, since
    phi is convex in t; there cell by cell, from values at the ends of the cells and bounds on the
    derivatives.
    """
    if x == 0:
        return 1.0
    if x > _LONGEST:
        raise ValueError("v_max is too large for double precision")
    theta = np.linspace(0.0, x, _CELLS + 1)
    if hyperbolic:
        c, s = np.cosh(theta), np.sinh(theta)
        slope_c, slope_g = math.sinh(x), 0.5 * math.cosh(x)
    else:
        c, s = np.cos(theta), np.sin(theta)
        slope_c, slope_g = 1.0, 0.5
    g = np.divide(s, theta, out=np.ones_like(s), where=theta > 0)
    cell = x / _CELLS
    at_end = 0.5 * cell * (0.5 * slope_c + 0.5 * slope_g)
    # t = theta/(2 x): t g = sin(theta)/(2 x)
    moving = 0.5 * cell * (0.5 * slope_c + 0.5 * max(1.0, math.cosh(x) if hyperbolic else 1.0) / x)
    start = 0.5 * theta / x
    best = math.inf
    for a in _TILTS:
        ends = _cell_maxima(c, g, np.full_like(c, 0.5), float(a), at_end)
        ramp = _cell_maxima(c, g, start, float(a), moving)
        best = min(best, max(float(ends.max()), float(ramp.max())))
    return math.sqrt(best) * (1 + 1e-12)


def _cell_maxima(
    c: FloatArray, g: FloatArray, t: FloatArray, tilt: float, slack: float
) -> FloatArray:
    """Upper bounds of phi on the cells between neighbouring entries."""
    plus, minus = np.abs(c / 2 + t * g), np.abs(c / 2 - t * g)
    plus = np.maximum(plus[:-1], plus[1:]) + slack
    minus = np.maximum(minus[:-1], minus[1:]) + slack
    return np.asarray(plus**2 / (0.5 + tilt * t[:-1]) + minus**2 / (0.5 - tilt * t[1:]))
