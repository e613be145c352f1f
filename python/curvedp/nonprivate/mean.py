"""Fréchet mean without privacy, and how points of any form are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._text import one_line
from curvedp._validation import (
    FloatArray,
    as_array,
    as_float_array,
    as_positive,
)
from curvedp.manifolds import Manifold, Product, as_manifold

MAX_EVALUATIONS = 10_000
#: Rows up to this long are added up column by column.
_FEW_COLUMNS = 16


@dataclass(frozen=True)
class FrechetMean:
    """A Fréchet mean with what is known of its accuracy.

    Attributes
    ----------
    value : ndarray, shape point_shape
    gradient_norm : float
        |mean_i log_p x_i| at the returned point.
    certified_distance : float
        Bound on the distance to the true minimiser: asin(s g/cos(s R))/s with s = sqrt(kappa), g
        the gradient norm with its rounding error and R the largest distance of a point from the
        mean; g where kappa <= 0; infinite if the points lie in no ball on which the mean is unique.
    variance : float
        Fréchet variance: mean squared distance of the points from the mean.
    n_iter : int
        Evaluations of the gradient.
    converged : bool
        True if the gradient norm reached the tolerance, or the limit that rounding sets.
    """

    value: FloatArray
    gradient_norm: float
    certified_distance: float
    variance: float
    n_iter: int
    converged: bool

    __repr__ = one_line


def frechet_mean(
    points: ArrayLike,
    manifold: Manifold | str | Any,
    weights: ArrayLike | None = None,
    *,
    tol: float = 1e-12,
) -> FrechetMean:
    """The Fréchet mean argmin_p sum_i w_i rho(p, x_i)^2, without privacy.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    weights : array-like, shape (n,), optional
        Nonnegative, not all zero.
    tol : float
        Gradient norm at which to stop.

    Returns
    -------
    FrechetMean

    Raises
    ------
    ValueError
        For wrong shapes, points off the manifold or unusable weights.

    Examples
    --------
    >>> mean = frechet_mean([np.eye(2), 4.0 * np.eye(2)], "spd")
    >>> mean.value.round(6).tolist(), mean.certified_distance < 1e-12
    ([[2.0, 0.0], [0.0, 2.0]], True)
    """
    space, data = as_points_of(points, manifold)
    return mean_of_points(data, space, weights, tol=tol)


def mean_of_points(
    data: FloatArray,
    space: Manifold,
    weights: ArrayLike | None = None,
    *,
    tol: float = 1e-12,
) -> FrechetMean:
    """The Fréchet mean of what `as_points_of` returned."""
    if isinstance(space, Product):
        return _mean_of_parts(data, space, weights, tol)
    rows = data.reshape(len(data), -1)
    w = None if weights is None else _weights(weights, len(data))
    start = np.ascontiguousarray(_start(space, data, w).reshape(-1))
    value, gradient, certified, variance, evaluations, converged = space.kernels.mean(
        rows, w, start, as_positive(tol, "tol"), MAX_EVALUATIONS
    )
    return FrechetMean(
        value=value.reshape(space.point_shape),
        gradient_norm=gradient,
        certified_distance=certified,
        variance=variance,
        n_iter=evaluations,
        converged=converged,
    )


def _mean_of_parts(
    points: FloatArray, space: Product, weights: ArrayLike | None, tol: float
) -> FrechetMean:
    """The mean on a product of manifolds: the row of the means of the parts."""
    both = zip(space.split(points), space.factors, strict=True)
    means = [mean_of_points(part, factor, weights, tol=tol) for part, factor in both]
    return FrechetMean(
        value=space.join([mean.value for mean in means]),
        gradient_norm=float(space.joint_length([mean.gradient_norm for mean in means])),
        certified_distance=float(space.joint_length([mean.certified_distance for mean in means])),
        variance=float(space.joint_length([math.sqrt(mean.variance) for mean in means]) ** 2),
        n_iter=sum(mean.n_iter for mean in means),
        converged=all(mean.converged for mean in means),
    )


def as_points_of(points: ArrayLike, manifold: Manifold | str | Any) -> tuple[Manifold, FloatArray]:
    """The manifold, and the points that the given ones stand for."""
    space = as_manifold(manifold, as_array(points, "points").shape[1:])
    given = space.read_records(points, "points")
    data = space.as_points(given)
    if np.isnan(data).any():
        missing = np.flatnonzero(np.isnan(data).reshape(len(data), -1).any(axis=1))
        raise ValueError(
            f"{len(missing)} of {len(data)} points do not lie on {space.spec}, the first is number "
            f"{missing[0]} from 0: look for missing values, the order of the numbers of a point, "
            "and deficient rank"
        )
    if isinstance(manifold, str) and ":" not in manifold and not space.belongs(given).all():
        raise ValueError(
            f"{manifold!r} without a size means {space.spec} here, and some points do not lie on "
            f"it: say the size, as in {space.spec!r}"
        )
    return space, data


def rows_and_mean(
    points: ArrayLike, manifold: Manifold | str | Any, mean: ArrayLike | None
) -> tuple[Manifold, FloatArray, FloatArray]:
    """The manifold, one row a point, and the mean as a row."""
    space, data = as_points_of(points, manifold)
    base = (
        mean_of_points(data, space).value
        if mean is None
        else as_points_of(np.asarray(mean)[None], space)[1][0]
    )
    return space, data.reshape(len(data), -1), np.ascontiguousarray(base).reshape(-1)


def _weights(weights: ArrayLike, n: int) -> FloatArray:
    w = as_float_array(weights, "weights")
    if w.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError("weights must be finite, nonnegative and not all zero")
    return np.asarray(w / w.max())


def _start(space: Manifold, data: FloatArray, weights: FloatArray | None) -> FloatArray:
    """A point to descend from: the average of the entries, made a point."""
    if space.kernels.is_quotient:
        return np.asarray(data[0])
    with np.errstate(all="ignore"):
        average = space.project(_average(data, weights))
    return average if np.isfinite(average).all() else np.asarray(data[0])


def _average(data: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is not None:
        return np.asarray(np.average(data, axis=0, weights=weights))
    rows = data.reshape(len(data), -1)
    if rows.shape[1] > _FEW_COLUMNS:
        return np.asarray(data.mean(axis=0))
    columns = [column.sum() for column in rows.T]  # NumPy adds up short rows slowly
    return np.reshape(columns, data.shape[1:]) / len(data)
