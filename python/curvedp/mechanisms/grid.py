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

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean, Hyperboloid

#: Fraction of the noise scale that one grid step takes: 2^-20.
_STEPS_PER_SCALE_LOG2 = 20

#: Releases on non-compact manifolds stay within this distance of the centre (or within the ball),
#: on hyperbolic space in units of 1/sqrt(-curvature).
_CLIP_RADIUS = 16.0


def grid_step(ball: Ball, scale: float) -> float:
    """Largest power of two that is at most 2^-20 of the noise scale.

    A scale beyond the extent of the manifold (or of the releases that clipping leaves) counts as
    that extent: the noise is then as wide as the manifold, and the grid must not be coarser.
    """
    extent = min(ball.manifold.injectivity_radius, clip_radius(ball))
    return math.ldexp(1.0, math.floor(math.log2(min(scale, extent))) - _STEPS_PER_SCALE_LOG2)


def clip_radius(ball: Ball) -> float:
    """Distance from the centre at which releases are clipped; infinite for no clipping."""
    if not ball.manifold.is_hadamard or isinstance(ball.manifold, Euclidean):
        return math.inf
    unit = 1.0
    if isinstance(ball.manifold, Hyperboloid):
        unit = 1 / math.sqrt(-ball.manifold.curvature)
    return max(ball.radius, _CLIP_RADIUS * unit)


def clip_coords(ball: Ball, coords: FloatArray) -> FloatArray:
    """Rows of coordinates log_c, shortened to `clip_radius`; 0 where they are not finite."""
    limit = clip_radius(ball)
    if math.isinf(limit):
        return coords
    with np.errstate(all="ignore"):
        norm = np.linalg.norm(coords, axis=1, keepdims=True)
        clipped: FloatArray = coords * np.minimum(1.0, limit / np.maximum(norm, limit))
        return np.where(np.isfinite(clipped), clipped, 0.0)


def round_to_grid(ball: Ball, points: FloatArray, scale: float) -> FloatArray:
    """Rows of points of the ball's frame, clipped and rounded; see the module's description."""
    step = grid_step(ball, scale)
    manifold = ball._frame.manifold
    origin = ball._frame.origin
    if ball.manifold.is_hadamard:
        coords = np.empty((len(points), manifold.dim))
        manifold.log_coords(points, origin[None], coords)
        coords = np.ascontiguousarray(np.round(clip_coords(ball, coords) / step) * step)
        rounded = np.empty_like(points)
        manifold.exp_coords(coords, origin[None], rounded)
        return rounded
    rounded = _align(ball, points)
    rounded = np.ascontiguousarray(np.round(rounded / step) * step)
    found = np.empty(len(rounded), dtype=np.bool_)
    manifold.project(rounded, found)
    rounded[~found] = origin
    return rounded


def _align(ball: Ball, points: FloatArray) -> FloatArray:
    """Shapes turned into the rotation closest to the centre; other points as they are."""
    if not ball.manifold.spec.startswith("kendall"):
        return points
    shapes = points.view(np.complex128)
    product = shapes @ ball._frame.origin.view(np.complex128).conj()
    size = np.abs(product)
    phase = np.where(size > 0, product.conj() / np.where(size > 0, size, 1.0), 1.0)
    aligned: FloatArray = (shapes * phase[:, None]).view(np.float64)
    return aligned
