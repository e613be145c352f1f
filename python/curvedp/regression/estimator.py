"""Private geodesic regression with the interface of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_float_array, as_records
from curvedp.domain import Ball
from curvedp.privacy import Guarantee
from curvedp.regression.private import geodesic_regression
from curvedp.regression.release import GeodesicRelease


class GeodesicRegression:
    """`geodesic_regression` as an estimator: parameters first, data in `fit`.

    Parameters
    ----------
    ball, guarantee
        See `geodesic_regression`, as for the other parameters, which are passed on to it.

    Attributes
    ----------
    release_ : GeodesicRelease
        The release that `fit` made; each call of `fit` spends the guarantee again.
    intercept_ : ndarray, shape point_shape
        The released point at x_lo.
    coef_ : ndarray, shape point_shape
        The released velocity there for a unit of x.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=2.0)
    >>> x = np.linspace(0.0, 1.0, 5000)
    >>> model = cdp.GeodesicRegression(
    ...     ball, cdp.GDP(mu=2.0), x_range=(0.0, 1.0), tau=0.5, v_max=3.0
    ... ).fit(x, 2 * x[:, None] - 1)
    >>> bool(abs(model.coef_[0] - 2.0) < 0.2)
    True
    """

    def __init__(
        self,
        ball: Ball,
        guarantee: Guarantee,
        *,
        x_range: tuple[float, float],
        tau: float,
        v_max: float,
        **options: Any,
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.x_range = x_range
        self.tau = tau
        self.v_max = v_max
        self.options = options

    def fit(self, x: ArrayLike, y: ArrayLike) -> GeodesicRegression:
        """Makes a release from covariates of shape (n,) or (n, 1) and records; returns self."""
        covariates = _one_axis(x)
        self.release_: GeodesicRelease = geodesic_regression(
            covariates,
            y,
            self.ball,
            self.guarantee,
            x_range=self.x_range,
            tau=self.tau,
            v_max=self.v_max,
            **self.options,
        )
        self.intercept_: FloatArray = self.release_.intercept
        self.coef_: FloatArray = self.release_.slope
        return self

    def predict(self, x: ArrayLike) -> FloatArray:
        """Points of the released geodesic, shape (n, *point_shape), for x of shape (n,) or (n, 1).

        Raises
        ------
        ValueError
            Before `fit`.
        """
        if not hasattr(self, "release_"):
            raise ValueError("call fit before predict")
        covariates = _one_axis(x)
        return self.release_.predict(covariates)

    def score(self, x: ArrayLike, y: ArrayLike) -> float:
        """Share of the Fréchet variance of y that predictions explain, without privacy.

        A function of the given points, not of the release alone: do not publish it for records
        that need protection.
        """
        from curvedp.nonprivate import frechet_variance

        manifold = self.ball.manifold
        points = as_records(y, manifold.point_shape, "y")
        residual = float(np.mean(manifold.dist(self.predict(x), points) ** 2))
        return 1 - residual / frechet_variance(points, manifold)


def _one_axis(x: ArrayLike) -> FloatArray:
    """Covariates of shape (n, 1) as (n,)."""
    covariates = as_float_array(x, "x")
    column = covariates.ndim == 2 and covariates.shape[1] == 1
    return covariates[:, 0] if column else covariates
