"""Hessians of half the squared distance, and the differential of exp, each in two ways: by finite
differences of a twin's own distance and exponential, and from the curvature operator.

The second takes each eigenvector of R_u v = R(v, u)u by itself; its functions of the
eigenvalue come from mpmath: h(k) = sqrt(k) cot sqrt(k) for the Hessian, g(k) = sin sqrt(k)/sqrt(k)
for the differential.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

from reference.grassmann import Grassmann
from reference.hpd import HPD
from reference.kendall import KendallPlanar, to_complex, to_real
from reference.spd_affine import SPDAffine
from reference.special_orthogonal import SpecialOrthogonal
from reference.twin import Array, Twin
from reference.unitary import Unitary

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
    gram = f(0.0) * np.eye(len(frame))
    if length == 0.0:
        return gram
    unit = u / length
    if twin.constant_curvature:
        along = np.array([twin.inner(unit, e, base) for e in frame])
        across = f(twin.constant_curvature * length**2) - f(0.0)
        return gram + across * (np.eye(len(frame)) - np.outer(along, along))
    if isinstance(twin, KendallPlanar):
        along = np.array([twin.inner(unit, e, base) for e in frame])
        turned = to_real(1j * to_complex(unit))
        beside = np.array([twin.inner(turned, e, base) for e in frame])
        rest = np.eye(len(frame)) - np.outer(along, along) - np.outer(beside, beside)
        if twin.dim > 2:
            gram += (f(length**2) - f(0.0)) * rest
        return gram + (f(4.0 * length**2) - f(0.0)) * np.outer(beside, beside)
    if isinstance(twin, SPDAffine):
        values, q = np.linalg.eigh(twin.whiten(u, base))
        rotated = [q.T @ twin.whiten(e, base) @ q for e in frame]
        for i in range(twin.m):
            for j in range(i):
                entries = np.sqrt(2.0) * np.array([e[i, j] for e in rotated])
                excess = f(-0.25 * (values[i] - values[j]) ** 2) - f(0.0)
                gram += excess * np.outer(entries, entries)
        return gram
    if isinstance(twin, HPD | Unitary):
        curvature = -0.25 if isinstance(twin, HPD) else 0.25
        values, q = np.linalg.eigh(twin.whiten(u, base))
        rotated = [q.conj().T @ twin.whiten(e, base) @ q for e in frame]
        for i in range(len(values)):
            for j in range(i):
                entries = np.sqrt(2.0) * np.array([e[i, j] for e in rotated])
                excess = f(curvature * (values[i] - values[j]) ** 2) - f(0.0)
                for part in (entries.real, entries.imag):
                    gram += excess * np.outer(part, part)
    if isinstance(twin, SpecialOrthogonal):
        values, q = np.linalg.eigh(1j * base.T @ u)
        rotated = [q.conj().T @ base.T @ e @ q for e in frame]
        for i in range(twin.n):
            for j in range(i):
                entries = np.array([e[i, j] for e in rotated])
                excess = f(0.25 * (values[i] - values[j]) ** 2) - f(0.0)
                for part in (entries.real, entries.imag):
                    gram += excess * np.outer(part, part)
        return gram
    if isinstance(twin, Grassmann) and twin.n > 2:
        complement = np.linalg.svd(base)[0][:, twin.k :]
        left, values, right = np.linalg.svd(complement.T @ u)
        angles = np.zeros(twin.n)
        angles[: len(values)] = values
        rotated = [left.T @ (complement.T @ e) @ right.T for e in frame]
        rank = len(values)
        for i in range(twin.n - twin.k):
            for j in range(twin.k):
                a, b = angles[i], angles[j] if j < rank else 0.0
                if max(i, j) >= rank:
                    entries = [np.array([e[i, j] for e in rotated])]
                    roots = [a if i < rank else b]
                elif i > j:
                    entries = [
                        np.array([e[i, j] + sign * e[j, i] for e in rotated]) / np.sqrt(2.0)
                        for sign in (1.0, -1.0)
                    ]
                    roots = [a - b, a + b]
                else:
                    continue
                for root, entry in zip(roots, entries, strict=True):
                    gram += (f(root**2) - f(0.0)) * np.outer(entry, entry)
        return gram
    return gram  # flat


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
