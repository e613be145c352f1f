"""The Hessian of the squared distance, as far as it is public: bounds on its deviation from flat.

Hess (1/2) rho(., x)^2 = I + G on a symmetric space, and with k the eigenvalues of the curvature
operator of log_p x, G has the eigenvalues h(k) - 1, h(k) = sqrt(k) cot sqrt(k) for k > 0, 1 for
k = 0 and sqrt(-k) coth sqrt(-k) for k < 0: at most 0 on nonnegative, at least 0 on nonpositive
curvature. Proofs: docs/proofs/log-moments.md.
"""

from __future__ import annotations

import math

from curvedp import _core
from curvedp.manifolds import Manifold


def has_curved_hessian(manifold: Manifold) -> bool:
    """Returns True if the Hessian of the squared distance depends on the points at all."""
    return manifold.dim > 1 and manifold.curvature_bounds != (0.0, 0.0)


def radial_hessian(curvature: float, dist: float) -> float:
    """h(kappa s^2): eigenvalue of Hess (1/2) rho^2 across a geodesic of curvature kappa.

    Minus infinity from the conjugate distance pi/sqrt(kappa) on.
    """
    return 1 + radial_excess(curvature, dist)


def radial_excess(curvature: float, dist: float) -> float:
    """h(kappa s^2) - 1, without cancellation: -kappa s^2/3 at small distances."""
    x = math.sqrt(abs(curvature)) * dist
    if x < 0.1:
        # x cot x - 1 = -z/3 - z^2/45 - ... in z = x^2, x coth x - 1 the same in z = -x^2
        z = math.copysign(x * x, curvature)
        return -z * (1 / 3 + z * (1 / 45 + z * (2 / 945 + z * (1 / 4725 + z * (2 / 93555)))))
    if curvature < 0:
        return x / math.tanh(x) - 1
    return x / math.tan(x) - 1 if x < math.pi else -math.inf


def excess_range(manifold: Manifold, dist: float) -> tuple[float, float]:
    """Bounds on the eigenvalues of G within distance `dist`."""
    if not has_curved_hessian(manifold):
        return 0.0, 0.0
    lower, upper = manifold.curvature_bounds
    return (
        min(0.0, radial_excess(max(upper, 0.0), dist)),
        max(0.0, radial_excess(min(lower, 0.0), dist)),
    )


def excess_diameter(manifold: Manifold, dist: float) -> float:
    """Largest Frobenius distance between two matrices G within distance `dist`."""
    diameter = hessian_diameter(manifold)
    return 0.0 if diameter is None else finite(diameter.within(dist), dist)


def hessian_diameter(manifold: Manifold) -> _core.ExcessDiameter | None:
    """Largest Frobenius distance between two matrices G as a function of distance; None if 0."""
    return manifold.kernels.hessian_diameter


def hessian_trace(manifold: Manifold) -> _core.HessianTrace:
    """Trace of Hess (1/2) rho^2 as a function of the distance, averaged over directions.

    Exact on spheres, hyperbolic space and shapes; on SPD and HPD matrices to second order in the
    distance, from the mean Ricci curvature -(m/4)(d - 1)/d, twice that of Hermitian ones.
    """
    return manifold.kernels.hessian_trace


def mean_hessian_trace(manifold: Manifold, dist: float) -> float:
    """`hessian_trace` at a distance."""
    return hessian_trace(manifold).at(dist)


def finite(norm: float, dist: float) -> float:
    """The norm of a Hessian within a distance, if it has a bound."""
    if not math.isfinite(norm):
        raise ValueError(
            f"the Hessian of the squared distance is unbounded within {dist:g}: use a smaller ball"
        )
    return norm
