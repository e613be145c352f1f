"""Steps on the tangent bundle, in the frame of a ball: post-processing of released moves."""

from __future__ import annotations

import math

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball


def moved(
    ball: Ball, v_max: float, footpoint: FloatArray, shift: FloatArray, velocities: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """exp_p(shift), projected on the ball, with velocities carried along, in the ball's frame.

    Velocities, shape (q, dim), are shortened together if their lengths add up to more than `v_max`.
    """
    end = ball._step(footpoint, shift)
    carried = carry(ball.frame.manifold, velocities, footpoint[None], end[None])
    return end, shorten_together(carried, v_max)


def carry(
    manifold: _core.Manifold, coords: FloatArray, base: FloatArray, end: FloatArray
) -> FloatArray:
    """Coordinates at `end` of tangent vectors at `base` carried along the shortest geodesic."""
    tangent = np.empty((len(coords), base.shape[1]))
    carried, result = np.empty_like(tangent), np.empty_like(coords)
    manifold.from_coords(np.ascontiguousarray(coords), base, tangent)
    manifold.parallel_transport(tangent, base, end, carried)
    manifold.coords(carried, end, result)
    return result


def shorten_together(vectors: FloatArray, limit: float) -> FloatArray:
    """Rows whose lengths add up to at most `limit`; 0 if one is not finite."""
    total = sum(float(np.linalg.norm(vector)) for vector in vectors)
    if not math.isfinite(total):
        return np.zeros_like(vectors)
    return vectors * (limit / total) if total > limit else vectors


def shorten(vector: FloatArray, limit: float) -> FloatArray:
    """The vector at a length of at most `limit`; 0 if it is not finite."""
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length):
        return np.zeros_like(vector)
    return vector * (limit / length) if length > limit else vector
