"""k-means as a scikit-learn estimator; `curvedp.k_means` makes the release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.learning._sklearn import ClusterMixin
from curvedp.learning.estimator import Transformer, all_or_nothing
from curvedp.privacy import Guarantee
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.kmeans import KMeansRelease, k_means

#: Attributes that are computed from the records without privacy.
_UNRELEASED = ("labels_", "inertia_")


@dataclass(eq=False, repr=False)
class PrivateKMeans(ClusterMixin, Transformer):  # type: ignore[misc]
    """k-means on a manifold, whose centres are released by `k_means`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters K, at most the number of records.
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`; all by keyword. PureDP needs more records.
    init : array-like, shape (K, *point_shape), optional
        Public first centres, chosen without looking at the records; the whole guarantee is then
        left to the rounds.
    n_rounds : int, optional
        Number of rounds after the first centres; by default 3, and 1 for PureDP.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (K, *point_shape)
        Released centres, points of the ball.
    cluster_sizes_ : ndarray, shape (K,)
        Released numbers of records (or of units, in shares) nearest to each centre before its last
        step: noisy, cut at 0.
    release_ : KMeansRelease
    labels_ : ndarray of int, shape (n,)
        Number of the centre nearest to each record given to `fit`. **Not released**: as private as
        the records. Copies by `pickle` or `copy` and notebooks' displays are made without it.
    inertia_ : float
        Sum of squared distances of these records from their centres. **Not released**, as
        `labels_`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.learning import PrivateKMeans
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 500, axis=0)
    >>> model = PrivateKMeans(2, ball=ball, guarantee=cdp.GDP(mu=1.0)).fit(X)
    >>> left, right = model.predict(X[[0, -1]])
    >>> model.cluster_centers_.shape, bool(left != right)
    ((2, 2, 2), True)
    """

    n_clusters: int
    ball: Ball = field(kw_only=True)
    guarantee: Guarantee = field(kw_only=True)
    init: ArrayLike | None = field(default=None, kw_only=True)
    n_rounds: int | None = field(default=None, kw_only=True)

    @quiet
    @all_or_nothing
    @hinting
    def fit(self, X: ArrayLike, y: object = None, units: GroupsLike = None) -> Self:
        """Releases the centres and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : ignored
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs; see `k_means`.

        Returns
        -------
        PrivateKMeans
            Itself.

        Raises
        ------
        BudgetError, ExistenceError, ValueError, TypeError
            As `k_means`; never for the value of a record.
        """
        self.release_: KMeansRelease = k_means(
            self._open(X),
            self.n_clusters,
            self._domain,
            self.guarantee,
            init=self.init,
            n_rounds=self.n_rounds,
            units=units,
            **self._options,
        )
        self.coverage_ = self.release_.coverage
        self.cluster_centers_: FloatArray = np.array(self.release_.value)
        self.cluster_sizes_: FloatArray = np.array(self.release_.sizes)
        away = self._distances(X)
        self.labels_: NDArray[np.int64] = away.argmin(axis=1)
        self.inertia_: float = float((away.min(axis=1) ** 2).sum())
        return self

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Distances of records, projected on the ball, from each centre.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Returns
        -------
        ndarray, shape (n, K)
            In units of the metric. As private as the records.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return self._distances(X)

    @quiet
    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The number of the nearest centre, shape (n,)."""
        found: NDArray[np.int64] = self._distances(X).argmin(axis=1)
        return found

    @quiet
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the sum of squared distances from the nearest centres; parameters as in `fit`."""
        return -float((self._distances(X).min(axis=1) ** 2).sum())

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and releases: a stored model holds nothing else of the records."""
        state: dict[str, Any] = dict(super().__getstate__())
        return {name: value for name, value in state.items() if name not in _UNRELEASED}

    def __dir__(self) -> list[str]:
        """Without what is not released: notebooks show every attribute that is listed."""
        return [name for name in super().__dir__() if name not in _UNRELEASED]

    def _distances(self, X: ArrayLike) -> FloatArray:
        points = self._projected(X)
        return self._manifold.pairwise_dist(points, self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
