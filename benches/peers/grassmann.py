"""Subspaces in vectorised NumPy: orthonormal bases in the columns of arrays of shape (n, N, k)."""

from __future__ import annotations

import numpy as np


def dist(x, y):
    """Principal angles from cosines and sines, as `scipy.linalg.subspace_angles` has them."""
    product = np.swapaxes(x, -1, -2) @ y
    cosine = np.linalg.svd(product, compute_uv=False)
    sine = np.linalg.svd(y - x @ product, compute_uv=False)[..., ::-1]
    return np.linalg.norm(np.arctan2(sine, cosine), axis=-1)


def log(y, x):
    """Of subspaces without right angles between them."""
    product = np.swapaxes(x, -1, -2) @ y
    across = (y - x @ product) @ np.linalg.inv(product)
    u, tangent, vt = np.linalg.svd(across, full_matrices=False)
    return (u * np.arctan(tangent)[..., None, :]) @ vt


def exp(v, x):
    u, angle, vt = np.linalg.svd(v, full_matrices=False)
    turned = (x @ np.swapaxes(vt, -1, -2)) * np.cos(angle)[..., None, :]
    return (turned + u * np.sin(angle)[..., None, :]) @ vt
