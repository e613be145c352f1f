"""Hyperbolic space as the unit hyperboloid (time first) in vectorised NumPy."""

from __future__ import annotations

import numpy as np


def minkowski(a, b):
    return np.einsum("ij,ij->i", a[:, 1:], b[:, 1:]) - a[:, 0] * b[:, 0]


def _length(v):
    return np.sqrt(np.maximum(minkowski(v, v), 0.0))


def dist(x, y):
    return 2 * np.arcsinh(_length(x - y) / 2)


def exp(v, x):
    length = _length(v)
    safe = np.where(length > 0, length, 1.0)
    ratio = np.where(length > 0, np.sinh(length) / safe, 1.0)
    return np.cosh(length)[:, None] * x + ratio[:, None] * v


def log(y, x):
    across = y + minkowski(x, y)[:, None] * x
    sine = _length(across)
    return (dist(x, y) / np.where(sine > 0, sine, 1.0))[:, None] * across
