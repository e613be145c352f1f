"""Errors that a computed value may have, given that its inputs are float64.

A float64 point is exact only up to half an ulp in each entry, and an algorithm can do no better
than the exact result at a point that near. `condition` says how much a relative perturbation of the
entries moves the point in the Riemannian metric.
"""

from __future__ import annotations

import numpy as np

from reference.hpd import HPD, to_complex
from reference.hyperboloid import Hyperboloid
from reference.kendall import KendallPlanar
from reference.spd_log_cholesky import SPDLogCholesky
from reference.spd_log_euclidean import SPDLogEuclidean
from reference.sphere import Sphere
from reference.twin import Array, Twin

EPS = float(np.finfo(np.float64).eps)
RELATIVE = 1e-12


def condition(twin: Twin, *points: Array) -> float:
    """Riemannian change of a point per relative change of its entries, at the worst of `points`."""
    if isinstance(twin, Hyperboloid):
        return max(float(point[0] / twin.radius) ** 2 for point in points)
    if isinstance(twin, HPD):
        return max(float(np.linalg.cond(to_complex(point))) for point in points)
    if len(twin.point_shape) == 2 and not isinstance(twin, KendallPlanar):
        return max(float(np.linalg.cond(point)) for point in points)
    return 1.0


def allowance(twin: Twin, size: float, *points: Array, ulps: float = 64.0) -> float:
    """Largest error of a tangent vector or distance of length `size` between `points`."""
    worst = condition(twin, *points)
    relative = RELATIVE + ulps * EPS * worst
    absolute = 1e-50  # the noise of 60-digit arithmetic
    if isinstance(twin, Sphere | Hyperboloid | KendallPlanar):
        # A chord also sees the rounding of its ends across the manifold, in quadrature.
        radius = 1.0 if isinstance(twin, KendallPlanar) else twin.radius
        absolute += (4 * EPS * worst * radius) ** 2 / max(size, EPS)
    if isinstance(twin, SPDLogEuclidean | SPDLogCholesky):
        # The difference of two charts, each rounded.
        absolute += ulps * EPS * (worst + max(twin.norm_of_chart(point) for point in points))
    if isinstance(twin, KendallPlanar) and len(points) == 2:
        # Two representatives that are far apart lose their common digits, and the rotation that
        # aligns them is undetermined at the cut locus.
        gap = float(np.linalg.norm(points[0] - points[1]))
        overlap = max(np.cos(twin.dist(*points)), EPS)
        absolute += ulps * EPS * gap
        relative += ulps * EPS / overlap
    return relative * size + absolute


def gap(twin: Twin, actual: Array, expected: Array, base: Array) -> float:
    """Riemannian length at `base` of the difference of two nearly equal points or vectors."""
    difference = np.asarray(actual) - expected
    return twin.norm(twin.to_tangent(difference, base), base)
