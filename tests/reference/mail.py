"""Twin of PrivateMail's kernels: dense matrices, written from the paper's equations."""

from __future__ import annotations

import numpy as np

from reference.twin import Array


def gaussian_kernel(rows: Array, bandwidth: float, floor: float = 0.0) -> Array:
    """W_ij = exp(-|x_i - x_j|^2 / 2 sigma^2), at least `floor`; 0 on the diagonal (eq. 23)."""
    differences = rows[:, None, :] - rows[None, :, :]
    weights = np.exp(-np.sum(differences**2, axis=2) / (2 * bandwidth**2))
    weights = np.maximum(weights, floor)
    np.fill_diagonal(weights, 0.0)
    return weights


def label_kernel(labels: Array, bandwidth: float) -> Array:
    """The Gaussian kernel of one-hot labels: 1 for equal, exp(-1/sigma_Y^2) for different ones."""
    weights = np.where(labels[:, None] == labels[None, :], 1.0, np.exp(-1 / bandwidth**2))
    np.fill_diagonal(weights, 0.0)
    return weights


def laplacian(weights: Array) -> Array:
    """Diag(W 1) - W (eq. 22)."""
    return np.diag(weights.sum(axis=1)) - weights


def iterate(z: Array, w_x: Array, w_y: Array, alpha: float, form: str) -> Array:
    """One iteration: eq. 7 ("published"), or L_Y divided by its own degrees ("normalised")."""
    l_x, l_y = laplacian(w_x), laplacian(w_y)
    d_x = np.diag(l_x)[:, None]
    d_y = d_x if form == "published" else np.diag(l_y)[:, None]
    return z + 0.5 * (alpha * (l_y @ z) / d_y - (l_x @ z) / d_x)


def objective(z: Array, w_x: Array, w_y: Array, alpha: float) -> float:
    """Tr(Z' L_X Z) - alpha Tr(Z' L_Y Z) (eq. 3)."""
    return float(np.trace(z.T @ laplacian(w_x) @ z) - alpha * np.trace(z.T @ laplacian(w_y) @ z))


def nearest(queries: Array, points: Array, k: int) -> Array:
    """Indices of the k nearest points, by a full sort of all squared distances."""
    squares = np.sum((queries[:, None, :] - points[None, :, :]) ** 2, axis=2)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def published_bound(
    n: int, k: int, alpha: float, bandwidth: float, start_scale: float, beta: float, classes: int
) -> float:
    """Corollary 1.1 for one-hot labels (`classes` = 0) or labels 0..c (`classes` = c + 1)."""
    z = published_constants(n, alpha, bandwidth, classes)
    log = np.log(beta)
    inside = -log * z["phi_max"] ** 4 / z["phi_min"] ** 2
    inside -= 2 * np.sqrt(-k * n * log * z["phi_min"] ** 4)
    return float(start_scale / 2 * np.sqrt(inside))


def published_constants(
    n: int, alpha: float, bandwidth: float, classes: int = 0
) -> dict[str, float]:
    """phi_min and phi_max of equations 32-42."""
    s = bandwidth**2
    a, e = alpha, np.exp
    c = max(classes - 1, 0) ** 2
    d1 = n + e(-1 / (2 * s)) - 1
    d2 = n * e(-2 / s) + e(-1 / (2 * s)) - 1
    d3 = (n + 1) * e(-2 / s) - 1
    d4 = (n + 1) * e(-1 / s) - 1
    if not classes:
        d5 = n * e(-1 / s) + e(-1 / (2 * s)) - 1
        ii_max = a**2 * (d1 / d2) ** 2 + a**2 * (n / d3) ** 2 - 2 * a**2 * d5 * d4 / (n * d1)
        ii_min = a**2 * (d5 / d1) ** 2 + a**2 * (d4 / n) ** 2 - 2 * a**2 * n * d1 / (d2 * d4)
        same, cross = e(-2 / s), e(-3 / s)
    else:
        d6 = (n + 1) * e(-c / (2 * s)) - 1
        ii_max = a**2 * (n / d2) ** 2 + a**2 * (n / d3) ** 2 - 2 * a**2 * d6**2 / (n * d1)
        ii_min = a**2 * (d6 / d1) ** 2 + a**2 * (d6 / n) ** 2 - 2 * a**2 * n**2 / (d2 * d4)
        same, cross = e(-c / s), e(-(c + 4) / (2 * s))
    square = a**2 * same + e(-4 / s)
    ij_max = (a**2 + 1) / d2 - 2 * a * cross / d1 + (a**2 + 1) / d3 - 2 * a * cross / n
    ij_max += -2 * square / (n * d1) + 4 * a / (d2 * d3)
    last = 4 * a * (cross if not classes else e(-(c + 4) / s))
    ij_min = square / d1 - 2 * a / d2 + square / n - 2 * a / d3
    ij_min += -2 * (a**2 + 1) / (d2 * d3) + last / (n * d1)
    return {
        "ij_min": ij_min,
        "ij_max": ij_max,
        "ii_min": ii_min,
        "ii_max": ii_max,
        "phi_min": n * ij_min + ii_min,
        "phi_max": n * ij_max + ii_max,
    }
