"""Hessians of half the squared distance, and the differential of exp, each in two ways: by finite
differences of a twin's own distance and exponential, and from the curvature operator.

The second takes each eigenvector of the twin's R_u v = R(v, u)u by itself; the functions of the
eigenvalue come from mpmath: h(k) = sqrt(k) cot sqrt(k) for the Hessian, g(k) = sin sqrt(k)/sqrt(k)
for the differential.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

from reference.twin import Array, Twin

DIGITS = 40


def hessian_excess(k: float) -> float:
    """h(k) - 1."""
    with mp.workdps(DIGITS):
        root = mp.sqrt(mp.mpf(abs(k)))
        if root < mp.mpf(10) ** -12:
            return -k / 3.0
        return float(root * (mp.cot(root) if k > 0 else mp.coth(root)) - 1)


def jacobi_growth(k: float) -> float:
    """g(k)."""
    with mp.workdps(DIGITS):
        root = mp.sqrt(mp.mpf(abs(k)))
        return 1.0 if root == 0 else float((mp.sin(root) if k > 0 else mp.sinh(root)) / root)


def curvature_form(
    twin: Twin, f: Callable[[float], float], u: Array, base: Array, frame: list[Array]
) -> Array:
    """<e_i, f(R_u) e_j> for the tangent vectors e_i of an orthonormal frame at `base`."""
    length = twin.norm(u, base)
    if length == 0.0:
        return f(0.0) * np.eye(len(frame))
    if type(twin).curvature_along is Twin.curvature_along:  # that of all planes: one eigenvalue
        own = np.array([twin.inner(u / length, e, base) for e in frame])
        across = f(twin.constant_curvature * length**2) - f(0.0)
        return f(0.0) * np.eye(len(frame)) + across * (np.eye(len(frame)) - np.outer(own, own))
    along = twin.curvature_along(u / length, base)
    curved = [along(e) for e in frame]
    form = np.array([[twin.inner(a, b, base) for b in curved] for a in frame])
    values, axes = np.linalg.eigh(0.5 * (form + form.T))
    # rounding of the operator: that of curvature 0 must stay below f's own steps
    values[np.abs(values) < 1e-14 * max(1.0, float(np.abs(values).max(initial=0.0)))] = 0.0
    grown = np.array([f(k * length**2) - f(0.0) for k in values])
    return np.asarray(f(0.0) * np.eye(len(frame)) + (axes * grown) @ axes.T)


def hessian_by_differences(twin: Twin, point: Array, base: Array, frame: list[Array]) -> Array:
    """Hess ½dist(., point)^2 at `base` in an orthonormal frame: central differences along exp."""
    step = 2e-4 * min(1.0, twin.injectivity_radius) * (1.0 + twin.dist(point, base)) ** 0.5

    def value(vector: Array) -> float:
        return 0.5 * twin.dist(twin.exp(vector, base), point) ** 2

    middle = value(np.zeros_like(base))

    def second(e: Array) -> float:
        return (value(step * e) + value(-step * e) - 2.0 * middle) / (step * step)

    straight = [second(e) for e in frame]
    hessian = np.diag(straight)
    for i, e in enumerate(frame):
        for j in range(i):
            mixed = second((e + frame[j]) / np.sqrt(2.0))
            hessian[i, j] = hessian[j, i] = mixed - 0.5 * (straight[i] + straight[j])
    return hessian


def exp_derivative(twin: Twin, velocity: Array, direction: Array, base: Array) -> Array:
    """D exp_base(velocity) direction as a tangent vector at the end: a central difference."""
    step = 1e-5
    ahead = twin.exp(velocity + step * direction, base)
    behind = twin.exp(velocity - step * direction, base)
    return twin.to_tangent((ahead - behind) / (2.0 * step), twin.exp(velocity, base))
