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

#: Fraction of the noise scale that one grid step takes: 2^-20.
_STEPS_PER_SCALE_LOG2 = 20

#: Releases on non-compact manifolds stay within this distance of the centre (or within the ball).
_CLIP_RADIUS = 16.0


def grid_step(ball: Ball, scale: float) -> float:
    """Largest power of two that is at most 2^-20 of the noise scale, or of the injectivity radius
    where that is smaller."""
    length = min(scale, ball.manifold.injectivity_radius)
    return math.ldexp(1.0, math.floor(math.log2(length)) - _STEPS_PER_SCALE_LOG2)


def clip_radius(ball: Ball) -> float:
    """Distance from the centre at which releases are clipped; infinite for no clipping."""
    lower = ball.manifold.curvature_bounds[0]
    if not ball.manifold.is_hadamard or ball.manifold.spec.startswith("euclidean"):
        return math.inf
    return max(ball.radius, _CLIP_RADIUS / math.sqrt(-lower) if lower < -1 else _CLIP_RADIUS)


def round_to_grid(ball: Ball, points: FloatArray, scale: float) -> FloatArray:
    """Rows of points of the ball's frame, clipped and rounded; see the module's description."""
    step = grid_step(ball, scale)
    manifold = ball._frame.manifold
    origin = ball._frame.origin
    if ball.manifold.is_hadamard:
        coords = np.empty((len(points), manifold.dim))
        manifold.log_coords(points, origin[None], coords)
        limit = clip_radius(ball)
        if math.isfinite(limit):
            norm = np.linalg.norm(coords, axis=1, keepdims=True)
            coords *= np.minimum(1.0, limit / np.maximum(norm, limit))
            coords = np.where(np.isfinite(coords), coords, 0.0)
        coords = np.ascontiguousarray(np.round(coords / step) * step)
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
