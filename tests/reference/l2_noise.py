"""The delta of exp(-|x|) noise on flat space by brute force: a grid of lengths and angles."""

from __future__ import annotations

import numpy as np
import scipy


def delta(epsilon: float, shift: float, dim: int, points: int = 600) -> float:
    """E (1 - e^(epsilon - L))_+ of the loss L = |x - v| - |x|, |v| the shift, x the noise."""
    lengths = scipy.stats.gamma.ppf((np.arange(points) + 0.5) / points, dim)
    if dim == 1:
        cosines, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    else:
        nodes, weights = np.polynomial.legendre.leggauss(points // 2)
        angles = 0.5 * np.pi * (nodes + 1.0)
        weights = weights * np.sin(angles) ** (dim - 2)
        cosines, weights = np.cos(angles), weights / weights.sum()
    r, u = lengths[:, None], cosines[None, :]
    loss = np.sqrt(r * r - 2 * r * u * shift + shift * shift) - r
    return float(np.maximum(-np.expm1(epsilon - loss), 0.0).mean(axis=0) @ weights)
