"""Kabsch-Umeyama alignment of two embeddings of the same anchors (Umeyama 1991)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_float_array


@dataclass(frozen=True)
class Alignment:
    """The similarity x -> scale (rotation x) + shift.

    Attributes
    ----------
    rotation : ndarray, shape (k, k)
        Orthogonal; with determinant 1 unless reflections were allowed.
    scale : float
    shift : ndarray, shape (k,)
    """

    rotation: FloatArray
    scale: float
    shift: FloatArray

    def __call__(self, points: ArrayLike) -> FloatArray:
        """Points of the source moved into the target, shape (..., k)."""
        source = np.asarray(points, dtype=np.float64)
        moved: FloatArray = self.scale * (source @ self.rotation.T) + self.shift
        return moved


def align(
    source: ArrayLike, target: ArrayLike, *, scaling: bool = True, reflection: bool = True
) -> Alignment:
    """The similarity that brings the rows of `source` closest to those of `target`.

    Minimises sum_i |y_i - (c R x_i + t)|^2 over orthogonal R, c >= 0 and t: with the singular
    value decomposition U S V' of the covariance of y and x, R = U E V', c = tr(S E)/var(x) and
    t = mean(y) - c R mean(x), E = I, or diag(1, ..., 1, det(U V')) without reflections.

    Parameters
    ----------
    source, target : array-like, shape (n, k)
        Rows in correspondence.
    scaling : bool
        False keeps c = 1.
    reflection : bool
        False keeps det R = 1 (the sign of an embedding's axis means nothing, so True by default).

    Returns
    -------
    Alignment

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> found = align(points, 3 * points @ turn.T + 1.0)
    >>> bool(np.allclose(found.rotation, turn)), round(found.scale, 6)
    (True, 3.0)
    """
    x, y = as_float_array(source, "source"), as_float_array(target, "target")
    if x.ndim != 2 or x.shape != y.shape or 0 in x.shape:
        raise ValueError(
            f"source and target must have one shape (n, k), got {x.shape} and {y.shape}"
        )
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    u, s, vt = np.linalg.svd((y - mean_y).T @ (x - mean_x))
    signs = np.ones_like(s)
    if not reflection and np.linalg.det(u @ vt) < 0:
        signs[-1] = -1.0
    rotation: FloatArray = (u * signs) @ vt
    spread = float(np.sum((x - mean_x) ** 2))
    scale = float(s @ signs) / spread if scaling and spread > 0 else 1.0
    return Alignment(rotation, scale, mean_y - scale * rotation @ mean_x)
