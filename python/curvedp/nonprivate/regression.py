"""Geodesic regression without privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import (
    as_float_array,
    as_positive,
)
from curvedp.manifolds import Manifold
from curvedp.nonprivate.mean import MAX_EVALUATIONS, as_points_of, mean_of_points
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
    space, data = as_points_of(y, manifold)
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
    mean = mean_of_points(data, space)
    rows, start = data.reshape(len(data), -1), np.ascontiguousarray(mean.value.reshape(-1))
    center = None
    if several:
        times = to_times(covariates, limits)
        middle = times.mean(axis=0)
        center = from_times(middle, limits)
        still = np.zeros((times.shape[1], space.dim))
        begin = LeastSquares(space, rows, np.ascontiguousarray(times - middle), start, still)
        end, loss, gradient, evaluations, converged = least_squares(begin, stop, MAX_EVALUATIONS)
        footpoint, coords = end.footpoint, end.velocities
    else:
        footpoint, coords, loss, gradient, evaluations, converged = space.kernels.regression_fit(
            rows,
            np.ascontiguousarray(to_times(covariates, limits)),
            start,
            np.zeros(space.dim),
            stop,
            MAX_EVALUATIONS,
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
