"""Planar landmarks as preshapes, representatives of points of Kendall's shape space."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_float_array
from curvedp.manifolds import KendallPlanar


def preshapes(landmarks: ArrayLike) -> FloatArray:
    """Configurations of landmarks in the plane, centred and scaled to unit size.

    (z - z̄)/|z - z̄| for each configuration z, which removes position and size. It represents a point
    of ``KendallPlanar(k)``, in which rotations are removed too.

    Parameters
    ----------
    landmarks : array-like, shape (n, k, 2), or ndarray of complex, shape (n, k)
        n configurations of k >= 3 landmarks in corresponding order, in any unit of length.

    Returns
    -------
    ndarray, shape (n, k, 2)
        A configuration without a shape (not finite, or all landmarks in one place up to rounding)
        becomes NaN, so that `Ball` counts it as its centre like every record that is no point.

    Raises
    ------
    ValueError, TypeError
        If the shape or dtype is wrong.

    References
    ----------
    Kendall (1984), Shape manifolds, Procrustean metrics, and complex projective spaces.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> square = np.array([[0, 0], [2, 0], [2, 2], [0, 2]])
    >>> shapes = cdp.descriptors.preshapes([square, 5 * square + 1])
    >>> shapes[1]
    array([[-0.35355339, -0.35355339],
           [ 0.35355339, -0.35355339],
           [ 0.35355339,  0.35355339],
           [-0.35355339,  0.35355339]])
    >>> bool(np.allclose(shapes[0], shapes[1]))
    True
    """
    points = _as_planar(landmarks)
    if points.ndim != 3 or points.shape[2] != 2:
        raise ValueError(
            "landmarks must have shape (n, k, 2), or be an array of complex numbers of shape "
            f"(n, k), got {np.shape(landmarks)}"
        )
    if len(points) == 0:
        raise ValueError("landmarks is empty: a data set needs at least one record")
    if points.shape[1] < 3:
        raise ValueError(f"a shape needs at least 3 landmarks, got {points.shape[1]}")
    return KendallPlanar(points.shape[1]).project(points)


def _as_planar(landmarks: ArrayLike) -> FloatArray:
    """Landmarks as pairs of real numbers. Only an array may be complex: the dtype of a list depends
    on its entries."""
    if not (isinstance(landmarks, np.ndarray) and landmarks.dtype.kind == "c"):
        return as_float_array(landmarks, "landmarks")
    values = np.asarray(landmarks)
    with np.errstate(all="ignore"):
        parts = np.stack([values.real, values.imag], axis=-1).astype(np.float64)
    if isinstance(landmarks, np.ma.MaskedArray):
        parts[landmarks.mask] = np.nan
    return parts
