"""Statistics without privacy, in a module of their own so that nobody takes one for a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._text import one_line
from curvedp._validation import (
    FloatArray,
    as_array,
    as_float_array,
    as_positive,
    as_probability,
)
from curvedp.manifolds import Manifold, Product, as_manifold
from curvedp.regression.covariate import (
    Ranges,
    are_several,
    as_covariates,
    as_ranges,
    from_times,
    own_ranges,
    to_times,
)
from curvedp.regression.fit import GeodesicFit
from curvedp.regression.least_squares import LeastSquares, least_squares
from curvedp.statistics.interval import VarianceInterval
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion

__all__ = [
    "FrechetMean",
    "confidence_region",
    "fourth_moment",
    "frechet_mean",
    "frechet_variance",
    "geodesic_regression",
    "log_covariance",
    "mean_hessian",
    "variance_interval",
]

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
    space, data = _as_points(points, manifold)
    if isinstance(space, Product):
        return _mean_of_parts(data, space, weights, tol)
    rows = data.reshape(len(data), -1)
    w = None if weights is None else _weights(weights, len(data))
    start = np.ascontiguousarray(_start(space, data, w).reshape(-1))
    value, gradient, certified, variance, evaluations, converged = space.kernels.mean(
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


def _mean_of_parts(
    points: FloatArray, space: Product, weights: ArrayLike | None, tol: float
) -> FrechetMean:
    """The mean on a product of manifolds: the row of the means of the parts."""
    both = zip(space.split(points), space.factors, strict=True)
    means = [frechet_mean(part, factor, weights, tol=tol) for part, factor in both]
    return FrechetMean(
        value=space.join([mean.value for mean in means]),
        gradient_norm=float(space.joint_length([mean.gradient_norm for mean in means])),
        certified_distance=float(space.joint_length([mean.certified_distance for mean in means])),
        variance=float(space.joint_length([math.sqrt(mean.variance) for mean in means]) ** 2),
        n_iter=sum(mean.n_iter for mean in means),
        converged=all(mean.converged for mean in means),
    )


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
    space, rows, base = _rows_and_mean(points, manifold, mean)
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
    space, rows, base = _rows_and_mean(points, manifold, mean)
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
    space, rows, base = _rows_and_mean(points, manifold, mean)
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
    space, rows, base = _rows_and_mean(points, manifold, mean)
    excess = space.kernels.log_moments(rows, base, math.inf, True)[2]
    assert excess is not None
    return 2 * (np.eye(space.dim) + excess)


def confidence_region(
    points: ArrayLike, manifold: Manifold | str | Any, *, level: float = 0.95
) -> ConfidenceRegion:
    """Confidence region for the Fréchet mean of the population, without privacy.

    In normal coordinates at the mean p of the points: covariance H^-1 S H^-1/(n - 1) with S the
    second moment of the logarithms and H half the mean Hessian; Hotelling's quantile.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    level : float
        Probability of covering it, for large n.

    Returns
    -------
    ConfidenceRegion

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((200, 2))
    >>> bool(confidence_region(points, "euclidean").contains([0.0, 0.0]))
    True
    """
    confidence = as_probability(level, "level")
    space, data = _as_points(points, manifold)
    n = len(data)
    if n < space.dim + 2:
        raise ValueError(f"a region on {space.spec} needs at least {space.dim + 2} points, got {n}")
    mean = frechet_mean(data, space).value
    _, second, excess = space.kernels.log_moments(
        data.reshape(n, -1), mean.reshape(-1), math.inf, True
    )
    assert excess is not None
    inverse = np.linalg.inv(np.eye(space.dim) + excess)
    return ConfidenceRegion(
        manifold=space.spec,
        estimate=mean,
        chart_point=mean,
        covariance=inverse @ second @ inverse / (n - 1),
        quantile=hotelling_quantile(confidence, space.dim, n - 1),
        dof=n - 1,
        level=confidence,
        n=n,
    )


def variance_interval(
    points: ArrayLike, manifold: Manifold | str | Any, *, level: float = 0.95
) -> VarianceInterval:
    """Confidence interval for the Fréchet variance of the population, without privacy.

    V n/(n - 1) -+ t sigma_F/sqrt(n), sigma_F^2 the variance of the squared distance and t
    Student's quantile with n - 1 degrees of freedom.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    level : float
        Probability of covering it, for large n.

    Returns
    -------
    VarianceInterval

    Raises
    ------
    ValueError
        For wrong shapes and points off the manifold.

    Examples
    --------
    >>> points = np.random.default_rng(0).standard_normal((200, 2))
    >>> interval = variance_interval(points, "euclidean")
    >>> interval.lower < 2.0 < interval.upper
    True
    """
    confidence = as_probability(level, "level")
    space, rows, base = _rows_and_mean(points, manifold, None)
    n = len(rows)
    if n < 2:
        raise ValueError("an interval needs at least 2 points, got 1")
    square, fourth = space.kernels.dist_moments(rows, base, math.inf)
    estimate = square * n / (n - 1)
    spread = max(fourth - square**2, 0.0) / n
    half = math.sqrt(hotelling_quantile(confidence, 1, n - 1) * spread)
    return VarianceInterval(
        lower=max(estimate - half, 0.0),
        upper=estimate + half,
        estimate=estimate,
        level=confidence,
        n=n,
    )


@quiet
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    manifold: Manifold | str | Any,
    *,
    x_range: Ranges | Sequence[tuple[float, float]] | None = None,
    v_max: float | None = None,
    tol: float = 1e-10,
) -> GeodesicFit:
    """The geodesic along which points y_i move with one or several covariates, without privacy.

    Minimises (1/2n) sum_i rho(exp_p(sum_j t_ij v_j), y_i)^2, t_ij the covariate moved to [-1/2,
    1/2] (Fletcher 2011), by damped Gauss-Newton steps with exact Jacobi fields from the Fréchet
    mean. Of several covariates the footpoint p stands at their mean, as in releases.

    Parameters
    ----------
    x : array-like, shape (n,), or (n, q) for several covariates
    y : array-like, shape (n, *point_shape)
    manifold : Manifold, str or geomstats space
    x_range : pair of float, or list of q pairs, optional
        Range of the covariate on which velocities are stated; by default from its least to its
        largest value.
    v_max : float, optional
        Of one covariate the largest length of the velocity over the range; unbounded by default.
    tol : float
        Length of the gradient at which to stop.

    Returns
    -------
    GeodesicFit

    Raises
    ------
    ValueError
        For wrong shapes, values that are not finite, points off the manifold, and `v_max` of
        several covariates.

    Examples
    --------
    >>> fit = geodesic_regression([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]], "euclidean")
    >>> fit.intercept.round(9).tolist(), fit.slope.round(9).tolist(), fit.converged
    ([0.0], [1.0], True)
    """
    space, data = _as_points(y, manifold)
    covariates = as_float_array(x, "x")
    limits = own_ranges(covariates, len(data)) if x_range is None else as_ranges(x_range)
    covariates = as_covariates(covariates, limits)
    if len(covariates) != len(data):
        raise ValueError(f"x must have shape ({len(data)},) or ({len(data)}, q)")
    if not np.isfinite(covariates).all():
        raise ValueError("x must be finite")
    stop, several = as_positive(tol, "tol"), are_several(limits)
    if several and v_max is not None:
        raise ValueError("v_max bounds the velocity of one covariate: leave it out for several")
    speed = math.inf if v_max is None else as_positive(v_max, "v_max")
    mean = frechet_mean(data, space)
    rows, start = data.reshape(len(data), -1), np.ascontiguousarray(mean.value.reshape(-1))
    center = None
    if several:
        times = to_times(covariates, limits)
        middle = times.mean(axis=0)
        center = from_times(middle, limits)
        still = np.zeros((times.shape[1], space.dim))
        begin = LeastSquares(space, rows, np.ascontiguousarray(times - middle), start, still)
        end, loss, gradient, evaluations, converged = least_squares(begin, stop, _MAX_EVALUATIONS)
        footpoint, coords = end.footpoint, end.velocities
    else:
        footpoint, coords, loss, gradient, evaluations, converged = space.kernels.regression_fit(
            rows,
            np.ascontiguousarray(to_times(covariates, limits)),
            start,
            np.zeros(space.dim),
            stop,
            _MAX_EVALUATIONS,
            speed,
        )
    point = footpoint.reshape(space.point_shape)
    return GeodesicFit(
        manifold=space.spec,
        x_range=limits,
        footpoint=point,
        x_center=center,
        velocity=space.coords_to_tangent(coords, point),
        loss=loss,
        r_squared=1 - 2 * loss / mean.variance if mean.variance > 0 else math.nan,
        gradient_norm=gradient,
        n_iter=evaluations,
        converged=converged,
    )


def _as_points(points: ArrayLike, manifold: Manifold | str | Any) -> tuple[Manifold, FloatArray]:
    """The manifold, and the points that the given ones stand for."""
    space = as_manifold(manifold, as_array(points, "points").shape[1:])
    given = space.read_records(points, "points")
    data = space.as_points(given)
    if isinstance(manifold, str) and ":" not in manifold and not space.belongs(given).all():
        raise ValueError(
            f"{manifold!r} without a size means {space.spec} here, and some points do not lie on "
            f"it: say the size, as in {space.spec!r}"
        )
    if np.isnan(data).any():
        raise ValueError(f"some points do not lie on {space.spec}")
    return space, data


def _rows_and_mean(
    points: ArrayLike, manifold: Manifold | str | Any, mean: ArrayLike | None
) -> tuple[Manifold, FloatArray, FloatArray]:
    """The manifold, one row a point, and the mean as a row."""
    space, data = _as_points(points, manifold)
    base = (
        frechet_mean(data, space).value
        if mean is None
        else _as_points(np.asarray(mean)[None], space)[1][0]
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
