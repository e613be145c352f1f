"""Dense NumPy twins of the graph tools: every distance, every entry, no cleverness."""

from __future__ import annotations

import numpy as np


def nearest(dists, k, *, exclude_self):
    """The k columns of least distance in every row; of equal ones the first."""
    dists = np.array(dists)
    if exclude_self:
        np.fill_diagonal(dists, np.inf)
    order = np.argsort(dists, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(dists, order, axis=1)


def symmetric_lengths(indices, distances, n):
    """Dense edge lengths, 0 where there is no edge: joined if one is a neighbour of the other."""
    lengths = np.zeros((n, n))
    for i, (row, dist) in enumerate(zip(indices, distances, strict=True)):
        for j, d in zip(row, dist, strict=True):
            lengths[i, j] = lengths[j, i] = d
    return lengths


def laplacian(lengths, volumes, bandwidth, dim, normalization, scaled):
    """Dense stiffness and masses."""
    joined = lengths > 0
    weights = np.where(joined, np.exp(-(lengths**2) / (4 * bandwidth)), 0.0)
    if normalization == "density-corrected":
        density = weights.sum(1) + 1
        weights /= np.outer(density, density)
    else:
        weights *= np.outer(volumes, volumes)
    degrees = weights.sum(1)
    if normalization == "unnormalised":
        mass, unit = volumes, 1.0
    else:
        unit = volumes.sum() / degrees.sum()
        mass = unit * degrees
    # f = ½ rho^2 has Laplacian d: the mean over the nodes of sum_j w_ij rho_ij^2 / 2 is d
    scale = dim * mass.sum() / (unit * (weights * lengths**2).sum() / 2) if scaled else 1.0
    weights = unit * scale * weights
    return np.diag(weights.sum(1)) - weights, mass


def shortest_paths(lengths, start):
    """Bellman and Ford: relax every edge until nothing changes."""
    edges = np.where(lengths > 0, lengths, np.inf)
    dist = np.array(start, dtype=float)
    while True:
        relaxed = np.minimum(dist, (dist[:, None] + edges).min(0))
        if np.array_equal(relaxed, dist):
            return dist
        dist = relaxed
