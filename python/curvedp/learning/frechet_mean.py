"""The private Fréchet mean as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

import curvedp
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray
from curvedp.learning._sklearn import check_is_fitted
from curvedp.learning.estimator import Transformer, all_or_nothing
from curvedp.mechanisms import Mechanism
from curvedp.privacy import Release
from curvedp.statistics.adaptive_mean import adaptive_mean
from curvedp.statistics.call import Progress
from curvedp.statistics.frechet_mean import frechet_mean
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.public_time import Timing


@dataclass(eq=False, repr=False)
class FrechetMean(Transformer):
    """A private mean as an estimator, with the records given to `fit`.

    It releases `frechet_mean`, or `adaptive_mean` or `conformal_mean` with their defaults.

    As in geomstats the result is `estimate_`; as in pyRiemann's tangent space, `transform` maps
    points to coordinates at it.

    Parameters
    ----------
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`; the ball also one of a product of manifolds.
    adaptive : bool
        True to release `adaptive_mean`, which shrinks the ball privately.
    conformal : bool
        True to release `conformal_mean`, whose noise follows a private density.
    mechanism : str or Mechanism class, optional
        As in `frechet_mean`; a conformal mean has one of its own.
    progress, timing
        As in `frechet_mean`.

    Attributes
    ----------
    estimate_ : ndarray, shape point_shape
        The released mean.
    release_ : Release

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.SPD(2), center="identity", radius=1.0)
    >>> records = np.tile(1.5 * np.eye(2), (500, 1, 1))
    >>> model = cdp.FrechetMean(ball, cdp.GDP(mu=1.0)).fit(records)
    >>> model.estimate_.shape, model.transform(records[:4]).shape
    ((2, 2), (4, 3))
    """

    _takes_products: ClassVar[bool] = True

    adaptive: bool = field(default=False, kw_only=True)
    conformal: bool = field(default=False, kw_only=True)
    mechanism: str | type[Mechanism] | None = field(default=None, kw_only=True)
    progress: Progress = field(default=False, kw_only=True)
    timing: Timing = field(default="prompt", kw_only=True)

    @quiet
    @all_or_nothing
    @hinting
    def fit(self, X: ArrayLike, y: object = None, units: GroupsLike = None) -> Self:
        """Makes a release; each call spends the guarantee again.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : ignored
        units : array-like, shape (n,), optional
            See `frechet_mean`.

        Returns
        -------
        FrechetMean
            Itself.

        Raises
        ------
        BudgetError, ExistenceError, ValueError, TypeError
            As `frechet_mean`; never for the value of a record.
        """
        if self.conformal and (self.adaptive or self.mechanism is not None):
            raise ValueError("a conformal mean has a mechanism of its own, and is not adaptive")
        release: Callable[..., Any] = adaptive_mean if self.adaptive else frechet_mean
        own: dict[str, Any] = {"mechanism": self.mechanism}
        if self.conformal:
            release, own = curvedp.conformal_mean, {}
        self.release_: Release = release(
            self._open(X),
            self._domain,
            self.guarantee,
            units=units,
            progress=self.progress,
            timing=self.timing,
            **own,
            **self._options,
        )
        self.coverage_ = self.release_.coverage
        self.estimate_: FloatArray = np.array(self.release_.value)
        return self

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Coordinates of log_p x at the released mean p, shape (n, dim).

        Each record is projected on the ball and mapped on its own: the result needs as much
        protection as the records, and so does a model that a later step of a pipeline fits to it.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        points, mean = self._projected(X), self.estimate_
        return self._manifold.tangent_to_coords(self._manifold.log(points, mean), mean)

    @quiet
    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Points exp_p v with the coordinates that `transform` gives, shape (n, *point_shape).

        Parameters
        ----------
        X : array-like, shape (n, dim)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        tangent = self._manifold.coords_to_tangent(X, self.estimate_)
        return self._manifold.exp(tangent, self.estimate_)

    @quiet
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the mean squared distance of projected records from the released mean.

        Computed without privacy from the records given: unless these are public, publish neither
        the score nor parameters that a search has chosen by it.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
        y : ignored

        Returns
        -------
        float
            In squared units of the metric.
        """
        points = self._projected(X)
        return -float(np.mean(self._manifold.dist(points, self.estimate_) ** 2))

    @property
    def _n_features_out(self) -> int:
        return self._manifold.dim
