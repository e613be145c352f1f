"""The delta of exp(-|x|) noise on flat space by brute force: a grid of lengths and angles."""

from __future__ import annotations

import math

import numpy as np


def delta(epsilon: float, shift: float, dim: int, points: int = 600) -> float:
    """E (1 - e^(epsilon - L))_+ of the loss L = |x - v| - |x|, |v| the shift, x the noise."""
    middles = (np.arange(points) + 0.5) / points
    r = middles * (dim + 12.0 * math.sqrt(dim) + 20.0)
    lengths = np.exp((dim - 1) * np.log(r) - r - math.lgamma(dim))
    if dim == 1:
        u, angles = np.array([-1.0, 1.0]), np.array([1.0, 1.0])
    else:
        u, angles = np.cos(math.pi * middles), np.sin(math.pi * middles) ** (dim - 2)
    weights = lengths[:, None] / lengths.sum() * angles / angles.sum()
    r = r[:, None]
    loss = np.sqrt(r * r - 2 * r * u * shift + shift * shift) - r
    return float((weights * np.maximum(-np.expm1(epsilon - loss), 0.0)).sum())
