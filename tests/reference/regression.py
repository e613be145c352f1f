"""Twin of the energy of geodesic regression: Jacobi fields by integrating the Jacobi equation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from reference.grassmann import Grassmann
from reference.hpd import HPD
from reference.kendall import KendallPlanar
from reference.spd_affine import SPDAffine
from reference.special_orthogonal import SpecialOrthogonal
from reference.twin import Array, Twin
from reference.unitary import Unitary


def energy(twin: Twin, points: Array, times: Array, footpoint: Array, velocity: Array) -> float:
    """(1/2n) sum_i rho(exp_p(t_i v), y_i)^2."""
    predictions = [twin.exp(t * velocity, footpoint) for t in times]
    squares = [twin.dist(q, y) ** 2 for q, y in zip(predictions, points, strict=True)]
    return 0.5 * float(np.mean(squares))


def curvature_operator(twin: Twin, velocity: Array, base: Array) -> Callable[[Array], Array]:
    """u -> R(u, v)v at the base point."""
    if isinstance(twin, SPDAffine | HPD | Unitary):
        v, curvature = twin.whiten(velocity, base), 0.25 if isinstance(twin, Unitary) else -0.25

        def spd(u: Array) -> Array:
            w = twin.whiten(u, base)
            inner = v @ w - w @ v
            return twin.colour(curvature * (v @ inner - inner @ v), base)

        return spd
    if isinstance(twin, Grassmann):
        x = velocity
        return lambda y: x @ x.T @ y + y @ x.T @ x - 2 * x @ y.T @ x
    if isinstance(twin, SpecialOrthogonal):
        x = base.T @ velocity

        def bracket(y: Array) -> Array:
            return x @ y - y @ x

        return lambda y: -base @ bracket(bracket(base.T @ y)) / 4
    kappa = 1.0 if isinstance(twin, KendallPlanar) else twin.constant_curvature
    square = twin.inner(velocity, velocity, base)

    def isotropic(u: Array) -> Array:
        return np.asarray(kappa * (square * u - twin.inner(u, velocity, base) * velocity))

    if not isinstance(twin, KendallPlanar):
        return isotropic
    turned = np.stack([-velocity[:, 1], velocity[:, 0]], axis=1)
    return lambda u: isotropic(u) + 3 * twin.inner(u, turned, base) * turned


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

    apply = curvature_operator(twin, velocity, footpoint)
    operator = np.array([coords(apply(e)) for e in basis]).T
    at_p, at_v = np.zeros(len(basis)), np.zeros(len(basis))
    for point, t in zip(points, times, strict=True):
        q = twin.exp(t * velocity, footpoint)
        residual = twin.parallel_transport(twin.log(point, q), q, footpoint)
        start, slope = jacobi_fields(operator, float(t))
        at_p -= start.T @ coords(residual) / len(points)
        at_v -= slope.T @ coords(residual) / len(points)
    return at_p, at_v
