"""Metropolis chains for the Riemannian Laplace exp(-d(x, c)/s) in NumPy, one step at a time."""

from __future__ import annotations

import numpy as np


def sphere(scale, step, steps, seed=0):
    """On S^2 about the pole; Gaussian steps in the tangent plane. Returns the last state."""
    rng = np.random.default_rng(seed)
    center = np.array([0.0, 0.0, 1.0])
    x, dist = center, 0.0
    for _ in range(steps):
        v = step * rng.standard_normal(3)
        v -= (v @ x) * x
        length = np.sqrt(v @ v)
        y = np.cos(length) * x + np.sin(length) / length * v
        y /= np.sqrt(y @ y)
        proposed = np.arccos(min(1.0, max(-1.0, y @ center)))
        if np.log(rng.random()) < (dist - proposed) / scale:
            x, dist = y, proposed
    return x


def spd(m, scale, step, steps, seed=0):
    """On SPD(m) about the identity: x' = F exp(Z) F^T with x = F F^T. Returns the last state."""
    rng = np.random.default_rng(seed)
    x, factor, dist = np.eye(m), np.eye(m), 0.0
    lower, diagonal = np.tril_indices(m, -1), np.diag_indices(m)
    for _ in range(steps):
        noise = rng.standard_normal((m, m))
        z = np.zeros((m, m))
        z[lower] = np.sqrt(0.5) * noise[lower]
        z = z + z.T
        z[diagonal] = noise[diagonal]
        values, vectors = np.linalg.eigh(step * z)
        half = factor @ vectors
        y = (half * np.exp(values)) @ half.T
        y = (y + y.T) / 2
        logs = np.log(np.linalg.eigvalsh(y))
        proposed = np.sqrt(logs @ logs)
        if np.log(rng.random()) < (dist - proposed) / scale:
            x, factor, dist = y, np.linalg.cholesky(y), proposed
    return x
