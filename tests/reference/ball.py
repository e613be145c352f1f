"""Twin of the projection on a geodesic ball: x -> exp_c(min(1, r/rho) log_c x)."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, Twin


def project_on_ball(twin: Twin, points: Array, center: Array, radius: float) -> Array:
    """Every point projected; one in the cut locus of the centre becomes the centre."""
    projected = []
    for point in points:
        distance = twin.dist(center, point)
        if distance <= radius:
            projected.append(point)
        elif twin.is_cut(distance):
            projected.append(center)
        else:
            projected.append(twin.exp(radius / distance * twin.log(point, center), center))
    return np.array(projected).reshape(len(points), *twin.point_shape)
