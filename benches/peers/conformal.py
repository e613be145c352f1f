"""The conformal mean as its paper describes it, plainly in NumPy and SciPy, on S^2."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree


def release(records: np.ndarray, rng: np.random.Generator, steps: int = 10_000) -> np.ndarray:
    """One release on its records, rho* through the graph; epsilon = 0.3, r = 0.7."""
    n, h, k, upsilon, shares, radius = len(records), 0.5, 10, 1.0, (0.15, 0.15), 0.7
    dist = np.arccos(np.clip(records @ records.T, -1, 1))
    s = (dist / h) ** 2
    f = np.where(s < 1, np.exp(-1 / np.where(s < 1, 1 - s, 1)), 0).mean(1) / h**2
    f += rng.laplace(0, 2 / (shares[0] * math.pi * radius**2), n)
    np.fill_diagonal(dist, np.inf)
    near = np.argpartition(dist, k, axis=1)[:, :k]
    lengths = np.take_along_axis(dist, near, 1).ravel()
    rows, columns = np.repeat(np.arange(n), k), near.ravel()
    weights = sp.csr_array((np.exp(-(lengths**2) / (4 * h**2)), (rows, columns)), shape=(n, n))
    weights = weights.maximum(weights.T)
    matrix = sp.diags_array(weights.sum(1) + upsilon) - weights
    sigma = spl.spsolve(matrix.tocsc(), f.mean() - f)
    root = np.exp(sigma)
    edges = np.maximum(lengths * (root[rows] + root[columns]) / 2, 1e-300)
    graph = sp.csr_array((edges, (rows, columns)), shape=(n, n))
    eta = records.mean(0) / np.linalg.norm(records.mean(0))
    for _ in range(50):
        c = records @ eta
        v = records - c[:, None] * eta
        length = np.linalg.norm(v, axis=1)
        g = (np.arctan2(length, c) / np.where(length > 0, length, 1)) @ v / n
        size = np.linalg.norm(g)
        if size < 1e-12:
            break
        eta = np.cos(size) * eta + np.sin(size) / size * g
        eta /= np.linalg.norm(eta)
    tree = cKDTree(records)
    paths = dijkstra(graph, directed=False, indices=tree.query(eta)[1])
    paths = np.where(np.isfinite(paths), paths, 10.0)
    delta = 2 * radius * (math.tan(2 * radius) / radius - 1) / n
    rate = shares[1] / (2 * root.max() * delta)
    step = 1 / (rate * float(np.median(root)))

    def log_density(z: np.ndarray) -> float:
        d, i = tree.query(z)
        return float(-rate * (paths[i] + root[i] * d))

    x, value = eta, log_density(eta)
    for _ in range(steps):
        v = step * rng.standard_normal(3)
        v -= (v @ x) * x
        size = math.sqrt(v @ v)
        y = math.cos(size) * x + math.sin(size) / size * v
        y /= math.sqrt(y @ y)
        proposed = log_density(y)
        if math.log(rng.random()) < proposed - value:
            x, value = y, proposed
    return x
