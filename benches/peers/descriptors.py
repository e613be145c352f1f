"""Covariance descriptors in NumPy and SciPy: all images at once, and image by image."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

_COLOUR = np.array([0.299, 0.587, 0.114])


def _covariance(planes, ridge):
    """Planes of shape (n, m, pixels); centred in place."""
    planes -= planes.mean(axis=2, keepdims=True)
    matrices = planes @ planes.swapaxes(1, 2) / planes.shape[2]
    return matrices + ridge * np.eye(planes.shape[1])


def _derivatives(gray):
    padded = np.pad(gray, ((0, 0), (1, 1), (1, 1)), mode="edge")
    dx = np.abs(padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2])
    dy = np.abs(padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1])
    dxx = np.abs(2 * gray - padded[:, 1:-1, :-2] - padded[:, 1:-1, 2:])
    dyy = np.abs(2 * gray - padded[:, :-2, 1:-1] - padded[:, 2:, 1:-1])
    return dx, dy, dxx, dyy


def _region(levels, gray, dx, dy, dxx, dyy):
    rows, columns = np.mgrid[: gray.shape[-2], : gray.shape[-1]]
    x = np.broadcast_to(columns / gray.shape[-1], gray.shape)
    y = np.broadcast_to(rows / gray.shape[-2], gray.shape)
    return [x, y, *levels, dx, dy, dxx, dyy, np.sqrt(dx**2 + dy**2), np.arctan2(dx, dy)]


def texture(images, ridge):
    """Gray images (n, h, w) of bytes, batches that fit the cache."""
    out = []
    for part in np.array_split(images, max(1, len(images) // 64)):
        gray = part / 255
        planes = np.stack([gray, *_derivatives(gray)], axis=1)
        out.append(_covariance(planes.reshape(len(part), 5, -1), ridge))
    return np.concatenate(out)


def region(images, ridge):
    """Colour images (n, h, w, 3) of bytes, batches that fit the cache."""
    out = []
    for part in np.array_split(images, max(1, len(images) // 32)):
        levels = np.moveaxis(part / 255, 3, 0)
        gray = np.tensordot(_COLOUR, levels, axes=1)
        planes = np.stack(_region(levels, gray, *_derivatives(gray)), axis=1)
        out.append(_covariance(planes.reshape(len(part), 11, -1), ridge))
    return np.concatenate(out)


def _filtered(gray):
    def magnitude(kernel, axis):
        return np.abs(ndimage.correlate1d(gray, kernel, axis=axis, mode="nearest"))

    first, second = [-1, 0, 1], [-1, 2, -1]
    return magnitude(first, 1), magnitude(first, 0), magnitude(second, 1), magnitude(second, 0)


def texture_loop(images, ridge):
    """One image after the other, as tutorials do it."""
    out = []
    for image in images:
        gray = image / 255
        planes = [plane.ravel() for plane in (gray, *_filtered(gray))]
        out.append(np.cov(planes, bias=True) + ridge * np.eye(5))
    return np.array(out)


def region_loop(images, ridge):
    """One image after the other, as tutorials do it."""
    out = []
    for image in images:
        levels = np.moveaxis(image / 255, 2, 0)
        gray = np.tensordot(_COLOUR, levels, axes=1)
        planes = [plane.ravel() for plane in _region(levels, gray, *_filtered(gray))]
        out.append(np.cov(planes, bias=True) + ridge * np.eye(11))
    return np.array(out)


def time_series(signals, ridge):
    """Batched matrix products."""
    return _covariance(signals.copy(), ridge)
