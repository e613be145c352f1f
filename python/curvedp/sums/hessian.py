"""The mean Hessian of half squared distances along a step, as far as counts of distances tell it.

Proof and figures: docs/proofs/sums-of-messages.md, section 10.
"""

from __future__ import annotations

import numpy as np

from curvedp._validation import FloatArray
from curvedp.sums.geometry import TURN_STEP, Geometry
from curvedp.sums.tail_counts import TailCounts

#: Range of the mean Hessian by which steps are divided.
LEAST_HESSIAN, MOST_HESSIAN = 0.3, 50.0
#: The point may be a saddle where the Hessian may be as small as this across records on a geodesic.
LEAST_ACROSS = 0.1
#: Fewer records near the cut locus than so many standard deviations of their count are none.
_SEEN = 2.0


def hessian(
    geometry: Geometry, tails: TailCounts, n: float, radius: float, length: float
) -> tuple[float, float, float]:
    """Mean Hessian of the clipped half squared distance along a step of that length, without the
    jumps of logarithms at the cut locus, what they take from it, and the least that it may be.

    Records that are seen in the direction of the step with mean square cosine c count with 1, or 0
    beyond the clip level, along it, and with k(t) min(1, R/t) across it. Jumps are along. The least
    one is that across records which all lie along one geodesic.
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
    least = cut[:-1] * geometry.least_across(tails.level)
    return mean, turning, float(share[:-1] @ least + share[-1])


def _turning(geometry: Geometry, tails: TailCounts, share: FloatArray) -> float:
    """The part of the Hessian that jumps at the cut locus take, by the share of each bin: 0 if no
    more records than noise are as near to it as a public step is long."""
    if not geometry.may_turn:
        return 0.0
    index = tails.at_most((1.0 - TURN_STEP) * geometry.manifold.injectivity_radius)
    if tails.beyond(index) < _SEEN * tails.beyond_error(index):
        return 0.0
    return float(share @ geometry.turning(tails.level))
