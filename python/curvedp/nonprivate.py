"""Statistics without privacy, in a module of their own so that nobody takes one for a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_array, as_float_array, as_positive, as_records
from curvedp.manifolds import KendallPlanar, Manifold, as_manifold

#: Points that are off the manifold by no more than this, relative to their size, are rounded.
_POINT_TOLERANCE = 1e-5
_MAX_EVALUATIONS = 10_000
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
        Whether the gradient norm reached the tolerance, or the limit that rounding sets.
    """

    value: FloatArray
    gradient_norm: float
    certified_distance: float
    variance: float
    n_iter: int
    converged: bool


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
    space = as_manifold(manifold, as_array(points, "points").shape[1:])
    data = np.array(as_records(points, space.point_shape, "points"))
    rows = data.reshape(len(data), -1)
    valid = np.empty(len(data), dtype=np.bool_)
    space._core.snap(rows, _POINT_TOLERANCE, valid)
    if not valid.all():
        raise ValueError(f"some points do not lie on {space.spec}")
    w = None if weights is None else _weights(weights, len(data))
    start = np.ascontiguousarray(_start(space, data, w).reshape(-1))
    value, gradient, certified, variance, evaluations, converged = space._core.mean(
        rows, w, start, as_positive(tol, "tol"), _MAX_EVALUATIONS
    )
    return FrechetMean(
        value=value.reshape(space.point_shape),
        gradient_norm=gradient,
        certified_distance=certified,
        variance=variance,
        n_iter=evaluations,
        converged=converged,
    )


def _weights(weights: ArrayLike, n: int) -> FloatArray:
    w = as_float_array(weights, "weights")
    if w.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError("weights must be finite, nonnegative and not all zero")
    return np.asarray(w / w.max())


def _start(space: Manifold, data: FloatArray, weights: FloatArray | None) -> FloatArray:
    """A point to descend from: the average of the entries, made a point."""
    if isinstance(space, KendallPlanar):
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
