"""Symmetric matrices as vectors (vecd of Schwartzman 2016), and their repair after noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray


def vecd(matrix: FloatArray, stretch: float = 1.0) -> FloatArray:
    """Coordinates of a symmetric (d, d) matrix whose Euclidean norm is its Frobenius norm.

    The diagonal, then the entries above it times sqrt(2): shape (d (d + 1)/2,). The trace part is
    multiplied by `stretch` first.
    """
    d = len(matrix)
    coords = np.empty(d * (d + 1) // 2)
    _core.vecd(np.ascontiguousarray(matrix), stretch, coords)
    return coords


def unvecd(vector: FloatArray) -> FloatArray:
    """The inverse of `vecd`."""
    d = (math.isqrt(8 * len(vector) + 1) - 1) // 2
    matrix = np.diag(vector[:d])
    rows, columns = _above_diagonal(d)
    matrix[rows, columns] = matrix[columns, rows] = vector[d:] / math.sqrt(2)
    return matrix


@lru_cache(maxsize=64)
def _above_diagonal(d: int) -> tuple[Any, Any]:
    """Places of the entries above the diagonal of a (d, d) matrix."""
    return np.triu_indices(d, 1)


def clip_eigenvalues(matrix: FloatArray, low: float, high: float) -> FloatArray:
    """The closest symmetric matrix with eigenvalues in [low, high]; or a stack of them."""
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    clipped = np.minimum(np.maximum(values, low), high)
    if (clipped == values).all():
        return matrix
    result = (vectors * clipped[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray((result + np.swapaxes(result, -1, -2)) / 2)


def scale_trace(matrix: FloatArray, factor: float) -> FloatArray:
    """The matrix with its trace part, (tr/d) I, multiplied by a factor."""
    share = (factor - 1) * float(np.trace(matrix)) / len(matrix)
    return np.asarray(matrix + share * np.eye(len(matrix)))
