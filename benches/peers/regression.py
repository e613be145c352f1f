"""Geodesic regression on S^2 and a K-norm gradient chain in vectorised NumPy and SciPy.

Energy E(p, v) = (1/2n) sum_i d(exp_p(t_i v), y_i)^2, its gradients by Jacobi fields.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def energy(p, v, t, y):
    """E and its gradients in p and v."""
    n, r = len(t), np.sqrt(v @ v)
    direction = v / r
    cosine, sine = np.cos(t * r), np.sin(t * r)
    at = cosine[:, None] * p + sine[:, None] * direction
    c = np.einsum("ij,ij->i", at, y)
    w = y - c[:, None] * at
    length = np.sqrt(np.einsum("ij,ij->i", w, w))
    angle = np.arctan2(length, c)
    residual = (angle / np.where(length > 0, length, 1))[:, None] * w
    tangent = -sine[:, None] * p + cosine[:, None] * direction
    along = np.einsum("ij,ij->i", residual, tangent)
    across = residual - along[:, None] * tangent
    g_p = -(cosine @ across + along.sum() * direction) / n
    g_v = -(sine / r @ across + (t @ along) * direction) / n
    return 0.5 * (angle @ angle) / n, g_p, g_v


def fit(t, y):
    """Predictions at t of the minimiser by L-BFGS in ambient coordinates."""
    p, w = y[0], y[-1] - (y[-1] @ y[0]) * y[0]
    v = w / np.linalg.norm(w) * np.arccos(np.clip(p @ y[-1], -1, 1))

    def split(z):
        size = np.linalg.norm(z[:3])
        foot = z[:3] / size
        return foot, z[3:] - (z[3:] @ foot) * foot, size

    def objective(z):
        foot, velocity, size = split(z)
        value, g_p, g_v = energy(foot, velocity, t, y)
        return value, np.concatenate([(g_p - (z[3:] @ foot) * g_v) / size, g_v])

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500}
    start = np.concatenate([p, v])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    foot, velocity, _ = split(found.x)
    r = np.linalg.norm(velocity)
    return np.cos(t * r)[:, None] * foot + np.sin(t * r)[:, None] * velocity / r


def _transport(u, p, q):
    return u - (u @ q) / (1 + p @ q) * (p + q)


def footpoint_chain(t, y, p_hat, v_hat, sigma, radius, steps, seed=0):
    """Metropolis steps for exp(-|grad_p E|/sigma), v carried from the fit. Returns the last p."""
    rng = np.random.default_rng(seed)
    p = p_hat

    def log_density(q):
        _, gradient, _ = energy(q, _transport(v_hat, p_hat, q), t, y)
        return -np.sqrt(gradient @ gradient) / sigma

    value = log_density(p)
    for _ in range(steps):
        u = rng.standard_normal(3)
        u -= (u @ p) * p
        u *= radius * np.sqrt(rng.random()) / np.sqrt(u @ u)
        length = np.sqrt(u @ u)
        q = np.cos(length) * p + np.sin(length) / length * u
        q /= np.sqrt(q @ q)
        proposed = log_density(q)
        if np.log(rng.random()) < proposed - value:
            p, value = q, proposed
    return p


def shape_gradient(p, v, t, y):
    """Gradient in p of E on planar shapes: complex rows, Jacobi fields of curvature 4 and 1."""
    r = np.sqrt(np.vdot(v, v).real)
    direction = v / r
    cosine, sine = np.cos(t * r), np.sin(t * r)
    at = cosine[:, None] * p + sine[:, None] * direction
    tangent = -sine[:, None] * p + cosine[:, None] * direction
    product = np.einsum("ij,ij->i", at.conj(), y)
    size = np.abs(product)
    w = y * (product.conj() / size)[:, None] - size[:, None] * at
    length = np.sqrt(np.einsum("ij,ij->i", w.conj(), w).real)
    residual = (np.arctan2(length, size) / np.where(length > 0, length, 1))[:, None] * w
    c = np.einsum("ij,ij->i", tangent.conj(), residual)
    across = residual - c[:, None] * tangent
    turned = (np.cos(2 * t * r) * c.imag).sum()
    return -(cosine @ across + (c.real.sum() + 1j * turned) * direction) / len(t)


def _shape_transport(u, p, q):
    product = np.vdot(q, p)
    phase = product / abs(product)
    aligned = q * phase
    c = np.vdot(p, aligned).real
    w = aligned - c * p
    length = np.sqrt(np.vdot(w, w).real)
    if length < 1e-15:
        return u
    d, angle = w / length, np.arctan2(length, c)
    moved = u + np.vdot(d, u) * ((np.cos(angle) - 1) * d - np.sin(angle) * p)
    return moved * np.conj(phase)


def shape_footpoint_chain(t, y, p_hat, v_hat, sigma, radius, steps, seed=0):
    """The same chain on planar shapes as complex vectors."""
    rng = np.random.default_rng(seed)
    p, k = p_hat, len(p_hat)

    def log_density(q):
        gradient = shape_gradient(q, _shape_transport(v_hat, p_hat, q), t, y)
        return -np.sqrt(np.vdot(gradient, gradient).real) / sigma

    value = log_density(p)
    for _ in range(steps):
        u = rng.standard_normal(k) + 1j * rng.standard_normal(k)
        u -= u.mean()
        u -= np.vdot(p, u) * p
        u *= radius * rng.random() ** (1 / (2 * k - 4)) / np.sqrt(np.vdot(u, u).real)
        length = np.sqrt(np.vdot(u, u).real)
        q = np.cos(length) * p + np.sin(length) / length * u
        proposed = log_density(q)
        if np.log(rng.random()) < proposed - value:
            p, value = q, proposed
    return p
