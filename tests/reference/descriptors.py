"""Twins of the descriptors: one record at a time, straight from the definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reference.twin import Array


def gray_image(levels: Array, weights: Array) -> Array:
    """Weighted sum of the channels of levels (h, w, c)."""
    return np.tensordot(levels, weights / np.sum(weights), axes=1)


def pixel_features(levels: Array, weights: Array) -> dict[str, list[Array]]:
    """All features of an image (h, w, c) of levels: planes (h, w), one for each channel where there
    is one for each channel."""
    height, width, channels = levels.shape
    gray = gray_image(levels, weights)
    padded = np.pad(gray, 1, mode="edge")
    dx = padded[1:-1, 2:] - padded[1:-1, :-2]
    dy = padded[2:, 1:-1] - padded[:-2, 1:-1]
    dxx = 2 * gray - padded[1:-1, :-2] - padded[1:-1, 2:]
    dyy = 2 * gray - padded[:-2, 1:-1] - padded[2:, 1:-1]
    dxy = padded[2:, 2:] - padded[2:, :-2] - padded[:-2, 2:] + padded[:-2, :-2]
    rows, columns = np.mgrid[:height, :width]
    derivatives = {"dx": dx, "dy": dy, "dxx": dxx, "dyy": dyy, "dxy": dxy}
    features = {
        "x": [columns / width],
        "y": [rows / height],
        "intensity": [levels[:, :, channel] for channel in range(channels)],
        "gray": [gray],
        "gradient_norm": [np.hypot(dx, dy)],
        "orientation": [np.arctan2(np.abs(dx), np.abs(dy))],
    }
    features |= {name: [plane] for name, plane in derivatives.items()}
    features |= {f"abs_{name}": [np.abs(plane)] for name, plane in derivatives.items()}
    return features


def image_covariance(
    image: Array, names: tuple[str, ...], ridge: float, low: float, high: float, weights: Array
) -> Array:
    levels = np.clip((image.astype(float) - low) / (high - low), 0.0, 1.0)
    features = pixel_features(levels, weights)
    planes = np.array([plane.ravel() for name in names for plane in features[name]])
    return np.atleast_2d(np.cov(planes, bias=True)) + ridge * np.eye(len(planes))


def preshape(landmarks: Array) -> Array:
    centred = landmarks - landmarks.mean(axis=0)
    return centred / np.linalg.norm(centred)


def time_series_covariance(signal: Array, ridge: float, shrinkage: float) -> Array:
    m = len(signal)
    sample = np.atleast_2d(np.cov(signal, bias=True))
    identity = np.eye(m)
    shrunk = (1 - shrinkage) * sample + shrinkage * np.trace(sample) / m * identity
    return shrunk + ridge * identity


def rotated(record: Array, template: Array) -> Array:
    """The record turned by the proper rotation that brings it closest to the template."""
    left, _, right = np.linalg.svd(record.T @ template)
    flip = np.diag([1.0] * (record.shape[1] - 1) + [np.linalg.det(left @ right)])
    return record @ left @ flip @ right


def square_root_velocity(curve: Array) -> Array:
    """Of a polyline without repeated vertices, times the root of its step, of length 1."""
    steps = np.diff(curve, axis=0)
    q = steps / np.sqrt(np.linalg.norm(steps, axis=1))[:, None]
    return q / np.linalg.norm(q)


def warp(template: Array, q: Array, steepest: int) -> tuple[float, list[tuple[int, float]]]:
    """The largest integral of <template, q∘γ> √γ' and the corners of γ, node by node."""
    count = len(template)
    slopes = [
        (a, b) for a in range(1, steepest + 1) for b in range(1, steepest + 1) if np.gcd(a, b) == 1
    ]
    best: dict[tuple[int, int], tuple[float, list[tuple[int, float]]]] = {(0, 0): (0.0, [(0, 0)])}
    for i in range(1, count + 1):
        for j in range(1, count + 1):
            for a, b in slopes:
                if (i - a, j - b) not in best:
                    continue
                value, corners = best[i - a, j - b]
                value += integral(template, q, [(i - a, j - b), (i, j)])
                if (i, j) not in best or value > best[i, j][0]:
                    best[i, j] = value, [*corners, (i, j)]
    return best[count, count]


def integral(template: Array, q: Array, corners: list[tuple[int, float]]) -> float:
    """The integral of <template, q∘γ> √γ' for a γ through these corners, piece by piece."""
    total = 0.0
    for (i, j), (k, l) in pairwise(corners):
        slope = (l - j) / (k - i)
        inside = np.arange(np.floor(j) + 1, l)
        ordered = np.unique([*range(i, k + 1), *(i + (inside - j) / slope)])
        for low, high in pairwise(ordered):
            middle = (low + high) / 2
            cell = min(int(j + (middle - i) * slope), len(q) - 1)
            total += (high - low) * np.sqrt(slope) * template[int(middle)] @ q[cell]
    return float(total)
