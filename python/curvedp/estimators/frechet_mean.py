"""The private Fréchet mean with the interface of an estimator."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.estimators.conventions import Conventions
from curvedp.mechanisms import Mechanism
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.adaptive_mean import adaptive_mean
from curvedp.statistics.call import Progress
from curvedp.statistics.frechet_mean import frechet_mean
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.public_time import Timing


class FrechetMean(Conventions):
    """`frechet_mean` or `adaptive_mean` as an estimator, with the records given to `fit`.

    As in geomstats the result is `estimate_`; as in pyRiemann's tangent space, `transform` maps
    points to coordinates at it.

    Parameters
    ----------
    ball : Ball
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of each call of `fit`.
    adaptive : bool
        True to release `adaptive_mean`, which shrinks the ball privately.
    mechanism : str or Mechanism class, optional
        As in `frechet_mean`.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget that every fit spends from, before any noise is drawn. Clones made by scikit-learn
        spend from the same one: a search over k candidates with m folds costs k m releases, and
        one more for the refit.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
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

    _transforms = True

    def __init__(
        self,
        ball: Ball,
        guarantee: Guarantee,
        *,
        adaptive: bool = False,
        mechanism: str | type[Mechanism] | None = None,
        records_per_unit: int = 1,
        ledger: Ledger | None = None,
        seed: int | None = None,
        progress: Progress = False,
        timing: Timing = "prompt",
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.adaptive = adaptive
        self.mechanism = mechanism
        self.records_per_unit = records_per_unit
        self.ledger = ledger
        self.seed = seed
        self.progress = progress
        self.timing = timing

    @quiet
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
        if self.adaptive:
            self.release_: Release = adaptive_mean(
                X,
                self.ball,
                self.guarantee,
                mechanism=self.mechanism,
                units=units,
                records_per_unit=self.records_per_unit,
                ledger=self.ledger,
                seed=self.seed,
                progress=self.progress,
                timing=self.timing,
            )
        else:
            self.release_ = frechet_mean(
                X,
                self.ball,
                self.guarantee,
                mechanism=self.mechanism,
                units=units,
                records_per_unit=self.records_per_unit,
                ledger=self.ledger,
                seed=self.seed,
                progress=self.progress,
                timing=self.timing,
            )
        self.estimate_: FloatArray = np.array(self.release_.value)
        return self

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Coordinates of log_p x at the released mean p, shape (n, dim).

        Each record is projected on the ball and mapped on its own: the result needs as much
        protection as the records.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Raises
        ------
        ValueError
            Before `fit`, and for wrong shapes.
        """
        mean, manifold = self._fitted(), self.ball.manifold
        points = self.ball.project(manifold._records(X, "X"))
        return manifold.tangent_to_coords(manifold.log(points, mean), mean)

    @quiet
    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Points exp_p v with the coordinates that `transform` gives, shape (n, *point_shape).

        Parameters
        ----------
        X : array-like, shape (n, dim)

        Raises
        ------
        ValueError
            Before `fit`, and for wrong shapes.
        """
        mean, manifold = self._fitted(), self.ball.manifold
        return manifold.exp(manifold.coords_to_tangent(X, mean), mean)

    @quiet
    def fit_transform(self, X: ArrayLike, y: object = None) -> FloatArray:
        """`fit`, then `transform` of the same records.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
        y : ignored

        Returns
        -------
        ndarray
            As `transform`.
        """
        return self.fit(X, y).transform(X)

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
        mean, manifold = self._fitted(), self.ball.manifold
        points = self.ball.project(manifold._records(X, "X"))
        return -float(np.mean(manifold.dist(points, mean) ** 2))

    def _fitted(self) -> FloatArray:
        if not hasattr(self, "release_"):
            raise ValueError("call fit before transform, inverse_transform or score")
        return self.estimate_
