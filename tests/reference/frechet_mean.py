"""Twin of the Fréchet mean: the minimiser of F(p) = sum_i w_i rho(p, x_i)^2 / 2, sum_i w_i = 1.

Gradient descent whose step is halved whenever the gradient does not shrink: along a small step
against the gradient of a function with positive Hessian, the gradient's norm falls.
"""

from __future__ import annotations

import numpy as np

from reference.twin import Array, Twin


def gradient(twin: Twin, points: Array, base: Array, weights: Array | None = None) -> Array:
    """-grad F at `base`: the weighted mean of log_base(x_i)."""
    shares = np.full(len(points), 1.0) if weights is None else weights
    logs = np.array([twin.log(point, base) for point in points])
    return np.tensordot(shares / np.sum(shares), logs, axes=1)


def frechet_mean(
    twin: Twin,
    points: Array,
    start: Array,
    weights: Array | None = None,
    tol: float = 1e-13,
    max_iter: int = 10_000,
) -> tuple[Array, float]:
    """The mean and the norm of the gradient there; stops where rounding stops the progress."""
    base, step = start, 1.0
    descent = gradient(twin, points, base, weights)
    size = twin.norm(descent, base)
    for _ in range(max_iter):
        if size <= tol or step < 1e-6:
            break
        candidate = twin.exp(step * descent, base)
        candidate_descent = gradient(twin, points, candidate, weights)
        candidate_size = twin.norm(candidate_descent, candidate)
        if candidate_size < size:
            base, descent, size = candidate, candidate_descent, candidate_size
        else:
            step *= 0.5
    return base, size
