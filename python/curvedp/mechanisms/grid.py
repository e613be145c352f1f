"""The public grid to which releases are rounded.

The noise is sampled in double precision; its trailing bits would tell the true value apart (Mironov
2012). Every release is therefore rounded to multiples of 2^-k, k fixed by the noise scale, in
coordinates that do not depend on the data: ambient coordinates where the manifold is compact, the
chart log_c at the ball's centre elsewhere, where the noise is also clipped at a public radius, so
that every release is a finite point. Both steps are post-processing of the drawn point.
"""

from __future__ import annotations

import math

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import SPD, Euclidean, Hyperboloid, Manifold

#: Grid steps that a noise scale holds, or nearly twice as many: 2^20.
STEPS_PER_SCALE = float(1 << 20)

#: Releases on non-compact manifolds stay within this distance of the centre (or within the ball),
#: on hyperbolic space in units of 1/sqrt(-curvature).
_CLIP_RADIUS = 16.0

#: The log-Cholesky metric counts logarithms of the factor, half those of the matrix: farther out,
#: rounding may leave no positive definite matrix.
_CLIP_RADIUS_LOG_CHOLESKY = 8.0


def grid_step(ball: Ball, scale: float) -> float:
    """Largest power of two that is at most 2^-20 of the noise scale.

    A scale beyond the extent of the manifold (or of the releases that clipping leaves) counts as
    that extent: the noise is then as wide as the manifold, and the grid must not be coarser.
    """
    extent = min(ball.manifold.injectivity_radius, clip_radius(ball))
    _, exponent = math.frexp(min(scale, extent))
    return math.ldexp(1.0, exponent - 1) / STEPS_PER_SCALE


def clip_radius(ball: Ball) -> float:
    """Distance from the centre at which releases are clipped; infinite for no clipping."""
    limit = clip_limit(ball.manifold)
    return limit if math.isinf(limit) else max(ball.radius, limit)


def clip_limit(manifold: Manifold) -> float:
    """`clip_radius` of a small ball."""
    if not manifold.is_hadamard or isinstance(manifold, Euclidean):
        return math.inf
    if isinstance(manifold, Hyperboloid):
        return _CLIP_RADIUS / math.sqrt(-manifold.curvature)
    if isinstance(manifold, SPD) and manifold.metric == "log-cholesky":
        return _CLIP_RADIUS_LOG_CHOLESKY
    return _CLIP_RADIUS


def clip_coords(ball: Ball, coords: FloatArray) -> FloatArray:
    """Rows of coordinates log_c, shortened to `clip_radius`; 0 where their length is not finite."""
    clipped = np.array(coords, dtype=np.float64, order="C")
    _core.clip_coords(clipped, clip_radius(ball))
    return clipped


def round_to_grid(ball: Ball, points: FloatArray, scale: float) -> FloatArray:
    """Rows of points of the ball's frame, clipped and rounded; see the module's description.

    Shapes are turned towards the centre before they are rounded.
    """
    rounded = np.array(points, dtype=np.float64, order="C")
    ball._frame.round_to_grid(rounded, grid_step(ball, scale), clip_radius(ball))
    return rounded
