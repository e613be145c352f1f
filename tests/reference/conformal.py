"""Plain NumPy twins of kernel counts and densities."""

from __future__ import annotations

import numpy as np


def bump_shares(dist, volumes, reach):
    """Shares of every record (rows of distances to the nodes) by equations 9 and 10, normalised."""
    s = (dist / reach) ** 2
    with np.errstate(divide="ignore"):
        kernel = np.where(s < 1, np.exp(-1 / np.where(s < 1, 1 - s, 1)), 0.0)
    shares = kernel * volumes
    total = shares.sum(axis=1, keepdims=True)
    nearest = np.eye(dist.shape[1])[dist.argmin(axis=1)]
    return np.where(total > 0, shares / np.where(total > 0, total, 1), nearest)


def bump_density(dist, bandwidth, dim):
    """Equations 9 and 10 at the points themselves, from the matrix of their distances."""
    s = (dist / bandwidth) ** 2
    kernel = np.where(s < 1, np.exp(-1 / (1 - np.minimum(s, 0.9999))), 0.0)
    return kernel.mean(axis=1) / bandwidth**dim
