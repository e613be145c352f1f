"""Private geodesic regression with the interface of an estimator."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_float_array
from curvedp.domain import Ball
from curvedp.estimators.conventions import Conventions
from curvedp.privacy import Guarantee, Ledger
from curvedp.regression.covariate import Ranges
from curvedp.regression.private import geodesic_regression
from curvedp.regression.release import GeodesicRelease
from curvedp.statistics.call import Progress
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.public_time import Timing


class GeodesicRegression(Conventions):
    """`geodesic_regression` as an estimator, with the data given to `fit`.

    Parameters
    ----------
    ball, guarantee, x_range, tau, v_max, sampler, chain_length
        See `geodesic_regression`, to which they are passed on.
    records_per_unit
        See `geodesic_regression`, to which they are passed on.
    ledger : Ledger, optional
        Budget that every fit spends from, before any noise is drawn; clones made by scikit-learn
        spend from the same one.
    seed, progress, timing
        See `geodesic_regression`.

    Attributes
    ----------
    release_ : GeodesicRelease
        The release that `fit` made; each call of `fit` spends the guarantee again.
    intercept_ : ndarray, shape point_shape
        The released point at x_lo; for several covariates at the middle of all ranges.
    coef_ : ndarray, shape point_shape or (q, *point_shape)
        The released velocity there for a unit of x; for several covariates those over each range at
        the released means of the covariates.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=2.0)
    >>> x = np.linspace(0.0, 1.0, 5000)
    >>> model = cdp.GeodesicRegression(
    ...     ball, cdp.GDP(mu=2.0), x_range=(0.0, 1.0)
    ... ).fit(x, 2 * x[:, None] - 1)
    >>> bool(abs(model.coef_[0] - 2.0) < 0.2)
    True
    """

    _estimator_type = "regressor"
    _needs_target = True

    def __init__(
        self,
        ball: Ball,
        guarantee: Guarantee,
        *,
        x_range: Ranges,
        tau: float | None = None,
        v_max: float | None = None,
        sampler: str = "auto",
        chain_length: int = 10_000,
        records_per_unit: int = 1,
        ledger: Ledger | None = None,
        seed: int | None = None,
        progress: Progress = False,
        timing: Timing = "prompt",
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.x_range = x_range
        self.tau = tau
        self.v_max = v_max
        self.sampler = sampler
        self.chain_length = chain_length
        self.records_per_unit = records_per_unit
        self.ledger = ledger
        self.seed = seed
        self.progress = progress
        self.timing = timing

    @quiet
    def fit(self, X: ArrayLike, y: ArrayLike, units: GroupsLike = None) -> Self:
        """Makes a release from covariates and records.

        Parameters
        ----------
        X : array-like, shape (n,) or (n, q)
        y : array-like, shape (n, *point_shape)
        units : array-like, shape (n,), optional
            See `geodesic_regression`.

        Returns
        -------
        GeodesicRegression
            Itself.

        Raises
        ------
        BudgetError, ValueError, TypeError
            As `geodesic_regression`; never for the value of a record or covariate.
        """
        self.release_: GeodesicRelease = geodesic_regression(
            self._covariates(X), y, units=units, **self.get_params()
        )
        one = np.ndim(self.x_range) == 1
        geodesic, middle = self.release_.geodesic, np.mean(self.x_range, axis=-1)
        self.intercept_: FloatArray = geodesic.intercept if one else geodesic.predict(middle)
        self.coef_: FloatArray = geodesic.slope if one else geodesic.velocity
        return self

    def _covariates(self, X: ArrayLike) -> FloatArray:
        """Covariates as `geodesic_regression` has them: one column is a vector."""
        covariates = as_float_array(X, "X")
        one = np.ndim(self.x_range) == 1 and covariates.ndim == 2 and covariates.shape[1] == 1
        return covariates[:, 0] if one else covariates

    @quiet
    def predict(self, X: ArrayLike) -> FloatArray:
        """Points of the released geodesic, shape (n, *point_shape).

        Parameters
        ----------
        X : array-like, shape (n,) or (n, q)

        Raises
        ------
        ValueError
            Before `fit`.
        """
        if not hasattr(self, "release_"):
            raise ValueError("call fit before predict")
        return self.release_.predict(self._covariates(X))

    @quiet
    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of the Fréchet variance of y that predictions explain, without privacy.

        A function of the given points, not of the release alone: do not publish it for records
        that need protection.

        Parameters
        ----------
        X : array-like, shape (n,) or (n, q)
        y : array-like, shape (n, *point_shape)
        """
        from curvedp.nonprivate import frechet_variance

        manifold = self.ball.manifold
        points = manifold.as_points(manifold._records(y, "y"))
        residual = float(np.mean(manifold.dist(self.predict(X), points) ** 2))
        return 1 - residual / frechet_variance(points, manifold)
