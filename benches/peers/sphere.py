"""Unit spheres in vectorised NumPy. Points and tangent vectors are rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def dot(a, b):
    return np.einsum("ij,ij->i", a, b)


def dist_arccos(x, y):
    """The textbook formula: half the digits are lost near 0 and near pi."""
    return np.arccos(np.clip(dot(x, y), -1.0, 1.0))


def dist_atan2(x, y):
    """Kahan's formula: accurate everywhere."""
    difference, total = x - y, x + y
    return 2 * np.arctan2(np.sqrt(dot(difference, difference)), np.sqrt(dot(total, total)))


def exp(v, x):
    length = np.sqrt(dot(v, v))
    return np.cos(length)[:, None] * x + np.sinc(length / np.pi)[:, None] * v


def log(y, x):
    cosine = dot(x, y)
    across = y - cosine[:, None] * x
    sine = np.sqrt(dot(across, across))
    return (np.arctan2(sine, cosine) / np.where(sine > 0, sine, 1.0))[:, None] * across


def pairwise_arccos(x):
    return np.arccos(np.clip(x @ x.T, -1.0, 1.0))


def pairwise_chord(x):
    return 2 * np.arcsin(np.clip(cdist(x, x) / 2, 0.0, 1.0))


def mean(x, tolerance=1e-12, max_iter=100):
    """Fréchet mean by unit gradient steps."""
    p = x.mean(axis=0)
    p /= np.linalg.norm(p)
    for _ in range(max_iter):
        cosine = x @ p
        across = x - cosine[:, None] * p
        sine = np.sqrt(dot(across, across))
        angle = np.arctan2(sine, cosine)
        gradient = (angle / np.where(sine > 0, sine, 1.0)) @ across / len(x)
        length = np.linalg.norm(gradient)
        if length < tolerance:
            break
        p = np.cos(length) * p + np.sin(length) / length * gradient
        p /= np.linalg.norm(p)
    return p


class RadialTable:
    """Isotropic noise about a point by inverting a tabulated radial distribution."""

    def __init__(self, log_profile, dim, nodes=4096):
        radius = np.linspace(0.0, np.pi, nodes)
        weight = np.zeros(nodes)
        inner = radius[1:-1]
        weight[1:-1] = np.exp(log_profile(inner)) * np.sin(inner) ** (dim - 1)
        steps = (weight[1:] + weight[:-1]) / 2
        self._radius = radius
        self._cdf = np.concatenate(([0.0], np.cumsum(steps))) / steps.sum()

    def sample(self, generator, center, n_samples):
        radius = np.interp(generator.random(n_samples), self._cdf, self._radius)[:, None]
        direction = generator.standard_normal((n_samples, center.size))
        direction -= (direction @ center)[:, None] * center
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return np.cos(radius) * center + np.sin(radius) * direction
