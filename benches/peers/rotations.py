"""Rotations by SciPy's ``Rotation``, on matrices of shape (n, 3, 3)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def _vectors(r, s):
    """Rotation vectors of r^T s."""
    return (Rotation.from_matrix(r).inv() * Rotation.from_matrix(s)).as_rotvec()


def dist(r, s):
    return np.linalg.norm(_vectors(r, s), axis=-1)


def log(s, r):
    return r @ _hat(_vectors(r, s))


def exp(v, r):
    skew = np.swapaxes(r, -1, -2) @ v
    vector = np.stack((skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]), axis=-1)
    return r @ Rotation.from_rotvec(vector).as_matrix()


def mean(r, tolerance=1e-12, max_iter=100):
    """Karcher mean by unit gradient steps, from the chordal one."""
    p = Rotation.from_matrix(r).mean()
    points = Rotation.from_matrix(r)
    for _ in range(max_iter):
        gradient = (p.inv() * points).as_rotvec().mean(axis=0)
        p = p * Rotation.from_rotvec(gradient)
        if np.linalg.norm(gradient) < tolerance:
            break
    return p.as_matrix()


def _hat(v):
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.stack((o, -z, y, z, o, -x, -y, x, o), axis=-1).reshape(*v.shape[:-1], 3, 3)
