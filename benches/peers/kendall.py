"""Planar shapes as complex vectors in vectorised NumPy: distance arccos|<z, w>|."""

from __future__ import annotations

import numpy as np


def hermitian(a, b):
    return np.einsum("ij,ij->i", a.conj(), b)


def dist(z, w):
    return np.arccos(np.minimum(np.abs(hermitian(z, w)), 1.0))


def exp(v, z):
    length = np.sqrt(hermitian(v, v).real)
    return np.cos(length)[:, None] * z + np.sinc(length / np.pi)[:, None] * v


def log(w, z):
    product = hermitian(z, w)
    cosine = np.abs(product)
    across = w * (product.conj() / cosine)[:, None] - cosine[:, None] * z
    sine = np.sqrt(hermitian(across, across).real)
    return (np.arctan2(sine, cosine) / np.where(sine > 0, sine, 1.0))[:, None] * across
