"""The mean Hessian of half squared distances along a step, as far as counts of distances tell it.

Proof and figures: docs/proofs/sums-of-messages.md, section 10.
"""

from __future__ import annotations

import math

import numpy as np

from curvedp._validation import FloatArray
from curvedp.sums.geometry import TURN_STEP, Geometry
from curvedp.sums.tail_counts import TailCounts

#: Range of the mean Hessian by which steps are divided.
LEAST_HESSIAN, MOST_HESSIAN = 0.3, 50.0
#: The point may be a saddle where the Hessian may be as small as this across records on a geodesic.
LEAST_ACROSS = 0.1
#: What axes add to it counts with so many standard deviations of their noise less.
AXES_SEEN = 2.0
#: Largest weights of axes, of which one is taken.
WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: Fewer records near the cut locus than so many standard deviations of their count are none.
_SEEN = 2.0


def hessian(
    geometry: Geometry, tails: TailCounts, n: float, radius: float, length: float
) -> tuple[float, float]:
    """Mean Hessian of the clipped half squared distance along a step of that length, without the
    jumps of logarithms at the cut locus, and what they take from it.

    Records that are seen in the direction of the step with mean square cosine c count with 1, or 0
    beyond the clip level, along it, and with k(t) min(1, R/t) across it. Jumps are along.
    """
    share, dist = tails.shares(n)
    clipped = np.minimum(dist, radius)
    square = min(1.0, length**2 / max(float(share @ (clipped * clipped)), 1e-300))
    cosine = square + (1.0 - square) / geometry.dim
    cut = radius / np.maximum(dist, radius)
    along = np.where(dist <= radius, 1.0, 0.0)
    across = cut * geometry.across(dist)
    mean = float(share @ (cosine * along + (1.0 - cosine) * across))
    turning = cosine * geometry.dim * _turning(geometry, tails, share[:-1] * cut[:-1])
    return mean, turning


def least_hessian(
    geometry: Geometry, tails: TailCounts, n: float, radius: float
) -> tuple[float, float]:
    """The least that the Hessian may be, which is that across records on one geodesic; and how much
    less it is where all counts are wrong by a deviation."""
    share, across, _ = _seen(geometry, tails, n, radius)
    counted = float(tails.deviation @ np.abs(np.diff(across, append=1.0))) / n
    return float(share[:-1] @ across + share[-1]), counted


def axes_add(
    geometry: Geometry, tails: TailCounts, n: float, radius: float, doubt: float
) -> tuple[float, float]:
    """Most that axes in all directions would add to the least Hessian, less `doubt` for each unit
    of the largest weight, and the weight for which this is most."""
    share, across, along = _seen(geometry, tails, n, radius)
    added = {
        float(share[:-1] @ np.clip(along - across, -1.0, most)) / geometry.dim - doubt * most: most
        for most in WEIGHTS
    }
    return max(added), added[max(added)]


def symmetric(entries: FloatArray, dim: int) -> FloatArray:
    """The matrix with such entries on and above the diagonal, off it times the root of 2."""
    row, column = np.triu_indices(dim)
    found = np.zeros((dim, dim))
    found[row, column] = np.where(row == column, entries, entries / math.sqrt(2.0))
    found[column, row] = found[row, column]
    return found


def _seen(
    geometry: Geometry, tails: TailCounts, n: float, radius: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares, the last at 0, and by bin the least Hessian across records and that along."""
    share, dist = tails.shares(n)
    across = radius / np.maximum(dist[:-1], radius) * geometry.least_across(tails.level)
    return share, across, np.where(dist[:-1] <= radius, 1.0, 0.0)


def _turning(geometry: Geometry, tails: TailCounts, share: FloatArray) -> float:
    """The part of the Hessian that jumps at the cut locus take, by the share of each bin: 0 if no
    more records than noise are as near to it as a public step is long."""
    if not geometry.may_turn:
        return 0.0
    index = tails.at_most((1.0 - TURN_STEP) * geometry.manifold.injectivity_radius)
    if tails.beyond(index) < _SEEN * tails.beyond_error(index):
        return 0.0
    return float(share @ geometry.turning(tails.level))
