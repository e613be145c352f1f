"""Plain NumPy twins of the conformal mean: kernel counts, path lengths, output probabilities."""

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


def path_lengths(lengths, dist, phi, m):
    """u(eta, z) = min_a [M rho(eta, a) + d*(a, z)] from a dense matrix of edge lengths.

    Edges are infinite where there is none; `dist` are the distances from eta to the nodes.
    """
    root = np.sqrt(phi)
    paths = np.where(np.eye(len(phi), dtype=bool), 0.0, lengths * (root[:, None] + root) / 2)
    for k in range(len(phi)):
        paths = np.minimum(paths, paths[:, k, None] + paths[k])
    return (m * dist[:, None] + paths).min(axis=0)


def probabilities(u, volumes, phi, dim, rate):
    """P(z) proportional to w_z phi_z^{d/2} exp(-rate u_z)."""
    logs = np.log(volumes) + dim / 2 * np.log(phi) - rate * u
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()
