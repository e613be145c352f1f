"""Confidence region and interval without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import as_probability
from curvedp.manifolds import Manifold
from curvedp.nonprivate.mean import as_points_of, mean_of_points, rows_and_mean
from curvedp.statistics.interval import VarianceInterval
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion


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
    space, data = as_points_of(points, manifold)
    n = len(data)
    if n < space.dim + 2:
        raise ValueError(f"a region on {space.spec} needs at least {space.dim + 2} points, got {n}")
    mean = mean_of_points(data, space).value
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
    space, rows, base = rows_and_mean(points, manifold, None)
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
