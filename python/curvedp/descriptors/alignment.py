"""Rotation of each record to a public template, and the sphere of what it leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray, as_float_array, as_points
from curvedp.domain import Ball
from curvedp.manifolds import Sphere

#: Numbers that a block of records may occupy at once.
_BLOCK = 1 << 20

#: Of a template of size 1: the least extent across, in all but one direction. Rotations about a
#: line do not move a template on it, so they cannot be aligned.
_THINNEST = 1e-6


class Slice:
    """The unit sphere orthogonal to public directions, in coordinates whose pole is public.

    Householder reflections take directions and pole to the first axes (Golub and Van Loan 2013,
    section 5.1); what is left is the point.
    """

    def __init__(self, directions: FloatArray, pole: FloatArray) -> None:
        self._reflectors: list[FloatArray] = []
        for axis, vector in enumerate([*directions, pole]):
            column = _reflected(vector[None].copy(), self._reflectors)[0]
            column[:axis] = 0.0
            column[axis] += math.copysign(float(np.linalg.norm(column)), column[axis])
            self._sign = -math.copysign(1.0, column[axis])
            self._reflectors.append(column / np.linalg.norm(column))
        self._dropped = len(directions)
        self.manifold = Sphere(pole.size - self._dropped - 1)

    def points(self, vectors: FloatArray) -> FloatArray:
        """Unit vectors in coordinates, shape (n, dim + 1), the pole's last."""
        turned = _reflected(vectors, self._reflectors)
        rest, pole = turned[:, self._dropped + 1 :], self._sign * turned[:, [self._dropped]]
        return unit(np.concatenate([rest, pole], axis=1))

    def vectors(self, points: FloatArray) -> FloatArray:
        """The vectors with these coordinates."""
        dropped = np.zeros((len(points), self._dropped))
        turned = np.concatenate([dropped, self._sign * points[:, -1:], points[:, :-1]], axis=1)
        return _reflected(turned, self._reflectors[::-1])


def _reflected(vectors: FloatArray, reflectors: list[FloatArray]) -> FloatArray:
    """Rows, shape (n, D), reflected in the hyperplanes orthogonal to unit vectors, one by one."""
    for v in reflectors:
        vectors = vectors - 2.0 * (vectors * v).sum(axis=1, keepdims=True) * v
    return vectors


class Aligned:
    """Template of landmarks or curves, with its sphere and its balls."""

    _slice: Slice

    @property
    def manifold(self) -> Sphere:
        """The unit sphere of the points; the template's is its `origin`, the pole."""
        return self._slice.manifold

    def ball(self, radius: float) -> Ball:
        """The ball about the template's own point; the radius is in radians, below π/2."""
        return Ball(self.manifold, self.manifold.origin, radius)

    def _coordinates(self, points: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """Points one a row, and their leading axes."""
        array = as_points(points, self.manifold.point_shape, "points")
        return array.reshape(-1, self.manifold.point_size), array.shape[:-1]


def as_configurations(value: ArrayLike, name: str, shape: str, ndim: int, least: int) -> FloatArray:
    """Float64 rows of at least `least` points in two or more dimensions."""
    array = as_float_array(value, name)
    if array.ndim != ndim or array.shape[-1] < 2 or array.shape[-2] < least:
        wanted = f"with at least {least} points in 2 or more dimensions"
        raise ValueError(f"{name} must have shape {shape} {wanted}, got {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: got shape {array.shape}")
    return array


def blocks(n: int, numbers: int) -> Iterator[slice]:
    """Pieces of n records, each with so many numbers, that fit into memory."""
    size = max(_BLOCK // numbers, 1)
    return (slice(start, start + size) for start in range(0, n, size))


def relative(records: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Points of each record as seen from its first, the largest coordinate in [1/2, 1).

    Scaling by powers of two is exact and keeps differences and squares from overflowing. False for
    records without any extent or not finite, which become zeros.
    """
    usable = np.asarray(np.isfinite(records).all(axis=(1, 2)))
    finite = np.where(usable[:, None, None], records, 0.0)
    seen = _scaled(finite)
    seen = _scaled(seen - seen[:, :1])
    return seen, np.asarray(seen.any(axis=(1, 2)))


def _scaled(records: FloatArray) -> FloatArray:
    _, exponent = np.frexp(np.abs(records).max(axis=(1, 2), keepdims=True))
    result: FloatArray = np.ldexp(records, -exponent)
    return result


def unit(vectors: FloatArray) -> FloatArray:
    """Rows, shape (n, D), divided by their lengths; NaN where that is 0."""
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(length > 0.0, length, np.nan))


def best_rotations(moments: FloatArray) -> FloatArray:
    """The proper rotations R, shape (..., d, d), that maximise <xR, t>, from xᵀt.

    With U S Vᵀ = xᵀt, R = U diag(1, ..., 1, det UVᵀ) Vᵀ (Kabsch 1976).
    """
    left, right = _singular_vectors(moments)
    left[..., -1] *= np.sign(np.linalg.det(left @ right))[..., None]
    rotations: FloatArray = left @ right
    return rotations


def _singular_vectors(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """U and Vᵀ; identities where LAPACK finds none, as an error would tell of a record.

    LAPACK need not come to an end for a matrix with infinite entries: it is taken as 0.
    """
    finite = np.isfinite(moments).all(axis=(-2, -1), keepdims=True)
    moments = np.where(finite, moments, 0.0)
    try:
        left, _, right = np.linalg.svd(moments)
    except np.linalg.LinAlgError:
        if moments.ndim == 2:
            return np.eye(len(moments)), np.eye(len(moments))
        pairs = [_singular_vectors(matrices) for matrices in moments]
        left, right = (np.stack(side) for side in zip(*pairs, strict=True))
    return left, right


def rotations_of(template: FloatArray) -> FloatArray:
    """Directions in which infinitesimal rotations move a template (k, d): d(d - 1)/2 rows.

    Raises
    ------
    ValueError
        If the template lies on a line, in the plane on a point, and so on: then some rotations do
        not move it.
    """
    d = template.shape[1]
    if np.linalg.svd(template, compute_uv=False)[d - 2] < _THINNEST:
        raise ValueError(
            f"template must extend in at least {d - 1} directions: rotations that do not move it "
            "cannot be aligned"
        )
    moved = np.zeros((d * (d - 1) // 2, *template.shape))
    for row, (i, j) in zip(moved, combinations(range(d), 2), strict=True):
        row[:, i], row[:, j] = template[:, j], -template[:, i]
    return moved.reshape(len(moved), -1)
