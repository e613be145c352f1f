"""Variance, moments and Hessians about the Fréchet mean without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray
from curvedp.manifolds import Manifold
from curvedp.nonprivate.mean import rows_and_mean


def frechet_variance(
    points: ArrayLike, manifold: Manifold | str | Any, *, mean: ArrayLike | None = None
) -> float:
    """Mean squared distance of points from their Fréchet mean (or a given point), without privacy.

    In squared units of the metric.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    mean : array-like, shape point_shape, optional
        In place of the points' Fréchet mean.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> round(frechet_variance([[0.0, 1.0], [2.0, 1.0]], "euclidean"), 6)
    1.0
    """
    space, rows, base = rows_and_mean(points, manifold, mean)
    return space.kernels.dist_moments(rows, base, math.inf)[0]


def fourth_moment(
    points: ArrayLike, manifold: Manifold | str | Any, *, mean: ArrayLike | None = None
) -> float:
    """Mean fourth power of the distance of points from their Fréchet mean, without privacy.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    mean : array-like, shape point_shape, optional
        In place of the points' Fréchet mean.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> round(fourth_moment([[0.0, 1.0], [2.0, 1.0]], "euclidean"), 6)
    1.0
    """
    space, rows, base = rows_and_mean(points, manifold, mean)
    return space.kernels.dist_moments(rows, base, math.inf)[1]


def log_covariance(
    points: ArrayLike, manifold: Manifold | str | Any, *, mean: ArrayLike | None = None
) -> FloatArray:
    """Second moment of log_p x_i at the Fréchet mean p, without privacy.

    Shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at p.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    mean : array-like, shape point_shape, optional
        In place of the points' Fréchet mean.

    Returns
    -------
    ndarray, shape (dim, dim)

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> log_covariance([[0.0, 1.0], [2.0, 1.0]], "euclidean").tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    space, rows, base = rows_and_mean(points, manifold, mean)
    return space.kernels.log_moments(rows, base, math.inf, False)[1]


def mean_hessian(
    points: ArrayLike, manifold: Manifold | str | Any, *, mean: ArrayLike | None = None
) -> FloatArray:
    """Mean Hessian of rho(., x_i)^2 at the Fréchet mean p, without privacy.

    Shape (dim, dim), in `Manifold.tangent_to_coords` coordinates at p.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    mean : array-like, shape point_shape, optional
        In place of the points' Fréchet mean.

    Returns
    -------
    ndarray, shape (dim, dim)

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> mean_hessian([[0.0, 1.0], [2.0, 1.0]], "euclidean").tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    space, rows, base = rows_and_mean(points, manifold, mean)
    excess = space.kernels.log_moments(rows, base, math.inf, True)[2]
    assert excess is not None
    return 2 * (np.eye(space.dim) + excess)
