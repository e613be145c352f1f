"""Twins of the descriptors: one record at a time, straight from the definitions."""

from __future__ import annotations

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
