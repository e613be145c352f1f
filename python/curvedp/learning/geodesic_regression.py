"""Private geodesic regression as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_float_array
from curvedp.learning._sklearn import RegressorMixin, check_is_fitted
from curvedp.learning.estimator import Estimator, all_or_nothing
from curvedp.nonprivate import frechet_variance
from curvedp.regression.covariate import Ranges
from curvedp.regression.private import geodesic_regression
from curvedp.regression.release import GeodesicRelease
from curvedp.statistics.call import Progress
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.public_time import Timing


@dataclass(eq=False, repr=False)
class GeodesicRegression(RegressorMixin, Estimator):  # type: ignore[misc]
    """`geodesic_regression` as an estimator, with the data given to `fit`.

    Parameters
    ----------
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`; the ball is that of y.
    x_range, tau, v_max, sampler, chain_length, robust, progress, timing
        As in `geodesic_regression`.

    Attributes
    ----------
    release_ : GeodesicRelease
    intercept_ : ndarray, shape point_shape
        The released point at x_lo; for several covariates at the middle of all ranges.
    coef_ : ndarray, shape point_shape or (q, *point_shape)
        The released velocity there for a unit of x; for several covariates those over each range at
        the released means of the covariates.
    n_features_in_ : int
        Number q of covariates.

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

    x_range: Ranges = field(kw_only=True)
    tau: float | None = field(default=None, kw_only=True)
    v_max: float | None = field(default=None, kw_only=True)
    sampler: str = field(default="auto", kw_only=True)
    chain_length: int = field(default=10_000, kw_only=True)
    robust: bool = field(default=False, kw_only=True)
    progress: Progress = field(default=False, kw_only=True)
    timing: Timing = field(default="prompt", kw_only=True)

    @quiet
    @all_or_nothing
    @hinting
    def fit(self, X: ArrayLike, y: ArrayLike, units: GroupsLike = None) -> Self:
        """Makes a release from covariates and records; each call spends the guarantee again.

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
        options = self._options
        options["progress"], options["timing"] = self.progress, self.timing
        self.release_: GeodesicRelease = geodesic_regression(
            self._open(X),
            y,
            self._domain,
            self.guarantee,
            x_range=self.x_range,
            tau=self.tau,
            v_max=self.v_max,
            sampler=self.sampler,
            chain_length=self.chain_length,
            robust=self.robust,
            units=units,
            **options,
        )
        self.coverage_ = self.release_.coverage
        geodesic, middle = self.release_.geodesic, np.mean(self.x_range, axis=-1)
        one = self._has_one_covariate
        self.intercept_: FloatArray = geodesic.intercept if one else geodesic.predict(middle)
        self.coef_: FloatArray = geodesic.slope if one else geodesic.velocity
        return self

    @quiet
    def predict(self, X: ArrayLike) -> FloatArray:
        """Points of the released geodesic, shape (n, *point_shape).

        Parameters
        ----------
        X : array-like, shape (n,) or (n, q)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        return self.release_.predict(self._read(X, reset=False))

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
        predicted, space = self.predict(X), self._manifold
        points = space.as_points(space.read_records(y, "y"))
        residual = float(np.mean(space.dist(predicted, points) ** 2))
        return 1 - residual / frechet_variance(points, space)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    @property
    def _has_one_covariate(self) -> bool:
        return np.ndim(self.x_range) == 1

    def _rows(self, X: ArrayLike, *, least: int) -> FloatArray:
        """Covariates as `geodesic_regression` has them: one column is a vector."""
        covariates = as_float_array(X, "X")
        if covariates.ndim not in (1, 2):
            raise ValueError(f"X must have shape (n,) or (n, q), got {covariates.shape}")
        one = self._has_one_covariate and covariates.ndim == 2 and covariates.shape[1] == 1
        return covariates[:, 0] if one else covariates
