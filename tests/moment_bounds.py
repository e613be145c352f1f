"""Sensitivities of the moments of log vectors at a released point, written from the proofs.

docs/proofs/frechet-variance.md and docs/proofs/log-moments.md. Every function gives the diameter of
the set in which one record's contribution lies, when log vectors are clipped at length `reach`: the
sensitivity of a mean is the moved record's weight times that. Nothing here imports the library.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import adversarial_search as search

Array = NDArray[np.float64]

GOLDEN = (1 + 5**0.5) / 2
# Scale of a^2 - a that leaves the sensitivity of a (below, of the second moment) as it is.
FOURTH_BESIDE_DISTANCE = GOLDEN**2.5
FOURTH_BESIDE_SECOND = 8**0.5


def reach(radius: float, offset: Array, max_dist: float = np.inf) -> Array:
    """Largest distance from a point at distance `offset` of the centre to a record of the ball."""
    return np.minimum(radius + offset, max_dist)


def variance(reach: Array) -> Array:
    """Mean of s^2."""
    return reach**2


def fourth_moment(reach: Array) -> Array:
    """Mean of s^4."""
    return reach**4


def distance_moments(reach: Array) -> Array:
    """Mean of (a, FOURTH_BESIDE_DISTANCE (a^2 - a)) with a = s^2/reach^2."""
    return np.ones_like(reach)


def second_moment(dim: int, reach: Array) -> Array:
    """Mean of u u', Frobenius norm."""
    return (2**0.5 if dim > 1 else 1.0) * reach**2


def adapted_moments(dim: int, reach: Array) -> Array:
    """Mean of (u u' with its trace part times sqrt(d + 1), sqrt(8) reach^2 (a^2 - a)), d >= 2."""
    assert dim > 1
    return 2**0.5 * reach**2


def centred_covariance(reach: Array) -> Array:
    """Sum of (u - mean)(u - mean)' divided by n - 1: this over n is the sensitivity."""
    return 4 * reach**2


def positive(x: Array) -> Array:
    """g(x) = 1 - sqrt(x) cot sqrt(x), of x = curvature times distance squared."""
    return 1 - search.x_cot(np.sqrt(x))


def negative(x: Array) -> Array:
    """f(x) = sqrt(x) coth sqrt(x) - 1."""
    return search.x_coth(np.sqrt(x)) - 1


def _across(dim: int) -> float:
    """Diameter of {t (I - uu'/|u|^2): 0 <= t <= 1}."""
    return max(dim - 1, 2) ** 0.5 if dim > 1 else 0.0


def hessian_excess(space: search.Space, reach: Array) -> Array:
    """Mean of Hess(rho^2/2) - I."""
    x = np.asarray(reach) ** 2
    if isinstance(space, search.SPD):
        m = space.m
        return (2 * (m - 1)) ** 0.5 * negative(x * m / (4 * (m - 1)))
    if isinstance(space, search.ComplexProjective):
        along, across = positive(4 * x), positive(x)
        return np.sqrt(along**2 + np.maximum(along**2, (space.dim - 2) * across**2))
    if isinstance(space, search.Sphere):
        return _across(space.dim) * positive(x)
    if isinstance(space, search.Hyperbolic):
        return _across(space.dim) * negative(x)
    return np.zeros_like(x)


def _largest_gap(function: Callable[[Array], Array], top: Array, power: float = 0.0) -> Array:
    """Largest |function(x) - chord(x)|/x^power on (0, top], on ever finer grids."""
    top = np.asarray(top)[..., None]

    def gap(x: Array) -> Array:
        return np.abs(function(x) - function(top) * x / top) / x**power

    low, high = 1e-6 * top, top
    for _ in range(4):
        grid = low + (high - low) * np.linspace(0, 1, 41)
        best = np.argmax(gap(grid), axis=-1)[..., None]
        low = np.take_along_axis(grid, np.maximum(best - 1, 0), -1)
        high = np.take_along_axis(grid, np.minimum(best + 1, 40), -1)
    return np.max(gap(grid), axis=-1)


def curvature_residual(space: search.Space, reach: Array) -> Array:
    """Mean of Hess(rho^2/2) - I without its best linear function of u u' (the chord)."""
    x = np.asarray(reach) ** 2
    if isinstance(space, search.SPD):
        m, top = space.m, x / 2
        by_sum = np.sqrt(m * x) / 2 * _largest_gap(negative, top, 0.5)
        by_count = (m * (m - 1) / 2) ** 0.5 * _largest_gap(negative, top)
        return 2**0.5 * np.minimum(by_sum, by_count)
    if isinstance(space, search.ComplexProjective):
        along, across = _largest_gap(positive, 4 * x), _largest_gap(positive, x)
        return np.sqrt(2 * along**2 + (space.dim - 2) * across**2)
    if isinstance(space, search.Sphere):
        return _across(space.dim) * _largest_gap(positive, x)
    if isinstance(space, search.Hyperbolic):
        return _across(space.dim) * _largest_gap(negative, x)
    return np.zeros_like(x)
