"""Affine-invariant SPD matrices in vectorised NumPy: Cholesky whitening, LAPACK, closed forms."""

from __future__ import annotations

import numpy as np


def _apply(function, symmetric):
    values, vectors = np.linalg.eigh(symmetric)
    return (vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _whiten(base, matrix):
    factor = np.linalg.cholesky(base)
    inverse = np.linalg.inv(factor)
    return factor, inverse @ matrix @ np.swapaxes(inverse, -1, -2)


def _log_norm(*eigenvalues):
    return np.sqrt(sum(np.log(value) ** 2 for value in eigenvalues))


def dist(p, q):
    _, white = _whiten(p, q)
    logs = np.log(np.linalg.eigvalsh(white))
    return np.sqrt(np.einsum("...i,...i->...", logs, logs))


def exp(v, p):
    factor, white = _whiten(p, v)
    return factor @ _apply(np.exp, white) @ np.swapaxes(factor, -1, -2)


def log(q, p):
    factor, white = _whiten(p, q)
    return factor @ _apply(np.log, white) @ np.swapaxes(factor, -1, -2)


def dist_2x2(p, q):
    """Eigenvalues of p^-1 q from trace and determinant; loses digits when they are close."""
    det_p = p[:, 0, 0] * p[:, 1, 1] - p[:, 0, 1] ** 2
    det_q = q[:, 0, 0] * q[:, 1, 1] - q[:, 0, 1] ** 2
    mixed = p[:, 1, 1] * q[:, 0, 0] + p[:, 0, 0] * q[:, 1, 1] - 2 * p[:, 0, 1] * q[:, 0, 1]
    half_trace, det = mixed / det_p / 2, det_q / det_p
    largest = half_trace + np.sqrt(np.maximum(half_trace**2 - det, 0.0))
    return _log_norm(largest, det / largest)


def _log_norm_3x3(s00, s11, s22, s01, s12, s02):
    """‖log S‖ for symmetric 3x3 by the trigonometric formula for the eigenvalues."""
    center = (s00 + s11 + s22) / 3
    a, b, c = s00 - center, s11 - center, s22 - center
    spread = np.sqrt((a * a + b * b + c * c + 2 * (s01 * s01 + s12 * s12 + s02 * s02)) / 6)
    det = a * (b * c - s12 * s12) - s01 * (s01 * c - s12 * s02) + s02 * (s01 * s12 - b * s02)
    cosine = det / np.where(spread > 0, spread, 1.0) ** 3 / 2
    angle = np.arccos(np.clip(cosine, -1.0, 1.0)) / 3
    largest = center + 2 * spread * np.cos(angle)
    smallest = center + 2 * spread * np.cos(angle + 2 * np.pi / 3)
    return _log_norm(smallest, 3 * center - largest - smallest, largest)


def dist_3x3(p, q):
    """Analytic Cholesky factor of p, two triangular solves, trigonometric eigenvalues."""
    i0 = 1 / np.sqrt(p[:, 0, 0])
    l10, l20 = p[:, 0, 1] * i0, p[:, 0, 2] * i0
    i1 = 1 / np.sqrt(p[:, 1, 1] - l10 * l10)
    l21 = (p[:, 1, 2] - l10 * l20) * i1
    i2 = 1 / np.sqrt(p[:, 2, 2] - l20 * l20 - l21 * l21)
    y00, y01, y02 = q[:, 0, 0] * i0, q[:, 0, 1] * i0, q[:, 0, 2] * i0
    y10 = (q[:, 0, 1] - l10 * y00) * i1
    y11 = (q[:, 1, 1] - l10 * y01) * i1
    y20 = (q[:, 0, 2] - l20 * y00 - l21 * y10) * i2
    y21 = (q[:, 1, 2] - l20 * y01 - l21 * y11) * i2
    y22 = (q[:, 2, 2] - l20 * y02 - l21 * (q[:, 1, 2] - l10 * y02) * i1) * i2
    s00, s10, s20 = y00 * i0, y10 * i0, y20 * i0
    s11, s21 = (y11 - s10 * l10) * i1, (y21 - s20 * l10) * i1
    s22 = (y22 - s20 * l20 - s21 * l21) * i2
    return _log_norm_3x3(s00, s11, s22, s10, s21, s20)


def pairwise_3x3(p):
    """Upper triangle row by row: each row whitened once, eigenvalues in closed form."""
    inverse = np.linalg.inv(np.linalg.cholesky(p))
    distances = np.zeros((len(p), len(p)))
    for i, factor in enumerate(inverse):
        white = factor @ p[i + 1 :] @ factor.T
        entries = (white[:, r, c] for r, c in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)))
        distances[i, i + 1 :] = _log_norm_3x3(*entries)
    return distances + distances.T


def mean(x, tolerance=1e-12, max_iter=100):
    """Fréchet mean by unit gradient steps from the log-Euclidean mean."""
    p = _apply(np.exp, _apply(np.log, x).mean(axis=0))
    for _ in range(max_iter):
        factor, white = _whiten(p, x)
        gradient = _apply(np.log, white).mean(axis=0)
        if np.linalg.norm(gradient) < tolerance:
            break
        p = factor @ _apply(np.exp, gradient) @ factor.T
    return p
