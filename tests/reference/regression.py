"""Twin of the energy of geodesic regression: Jacobi fields by integrating the Jacobi equation."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from reference.twin import Array, Twin


def energy(twin: Twin, points: Array, times: Array, footpoint: Array, velocity: Array) -> float:
    """(1/2n) sum_i rho(exp_p(t_i v), y_i)^2."""
    predictions = [twin.exp(t * velocity, footpoint) for t in times]
    squares = [twin.dist(q, y) ** 2 for q, y in zip(predictions, points, strict=True)]
    return 0.5 * float(np.mean(squares))


def jacobi_fields(operator: Array, t: float) -> tuple[Array, Array]:
    """J'' = -R J at time t with (J, J')(0) = (I, 0) and (0, I), in a parallel frame."""
    dim = len(operator)
    if t == 0:
        return np.eye(dim), np.zeros((dim, dim))

    def equation(_: float, state: Array) -> Array:
        field, slope = state.reshape(2, dim, 2 * dim)
        return np.concatenate([slope, -operator @ field]).ravel()

    start = np.zeros((2, dim, 2 * dim))
    start[0, :, :dim] = start[1, :, dim:] = np.eye(dim)
    solution = solve_ivp(equation, (0.0, t), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-13)
    fields = solution.y[:, -1].reshape(2, dim, 2 * dim)[0]
    return fields[:, :dim], fields[:, dim:]


def gradients(
    twin: Twin, points: Array, times: Array, footpoint: Array, velocity: Array, basis: Array
) -> tuple[Array, Array]:
    """Gradients in footpoint and velocity, in coordinates of an orthonormal basis at p."""

    def coords(vector: Array) -> Array:
        return np.array([twin.inner(vector, e, footpoint) for e in basis])

    apply = twin.curvature_along(velocity, footpoint)
    operator = np.array([coords(apply(e)) for e in basis]).T
    at_p, at_v = np.zeros(len(basis)), np.zeros(len(basis))
    for point, t in zip(points, times, strict=True):
        q = twin.exp(t * velocity, footpoint)
        residual = twin.parallel_transport(twin.log(point, q), q, footpoint)
        start, slope = jacobi_fields(operator, float(t))
        at_p -= start.T @ coords(residual) / len(points)
        at_v -= slope.T @ coords(residual) / len(points)
    return at_p, at_v
