"""Principal components of logarithms at a private mean (tangent PCA, Fletcher et al. 2004)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._labels import as_labels, ordered_codes
from curvedp._validation import FloatArray, as_choice, as_count, as_numbers
from curvedp.learning._sklearn import check_is_fitted
from curvedp.learning.estimator import Transformer, all_or_nothing
from curvedp.privacy import PureDP, Release
from curvedp.privacy.base import adds_or_removes
from curvedp.statistics.dispersion import log_covariance
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.principal_components import (
    principal_components,
    signed,
)

#: Shares of the mean and of the second moment; see docs/learning.md.
_WEIGHTS = (0.1, 0.9)
#: Ways to find the components, and the noise of a moment, over the squared radius, below which its
#: eigenvectors are as good as directions of pure DP; see docs/learning.md.
_MECHANISMS, _SMALL = ("exponential", "moment"), 0.025


@dataclass(eq=False, repr=False)
class TangentPCA(Transformer):
    """Directions of largest variance of log_p x at the released mean p.

    They are the eigenvectors of the second moment that `curvedp.log_covariance` releases; under
    PureDP, where its noise is large, `curvedp.principal_components` releases them by the
    exponential mechanism. Public numbers decide. Coordinates of further points are computed at no
    cost.

    Parameters
    ----------
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`; the guarantee is that of mean and components together.
    n_components : int, optional
        By default the manifold's dimension.
    weights : sequence of float, optional
        Shares of the budget (of mu^2 for GDP): of the mean and the second moment, by default
        (0.1, 0.9), or of the mean, the directions and their variances, by default chosen by public
        numbers (`principal_components`). Their number says which mechanism is meant.
    max_dist : float, optional
        Public length at which logarithms are shortened, as in `log_covariance` or
        `principal_components`.
    mechanism : {"exponential", "moment"}, optional
        How the components are found; by default as `weights` say, or "exponential" under PureDP
        where the noise of a moment, in operator norm, is about 2.5 % of the squared radius or more.

    Attributes
    ----------
    mean_ : ndarray, shape point_shape
        Released mean.
    components_ : ndarray, shape (n_components, dim)
        Orthonormal rows, in `Manifold.tangent_to_coords` coordinates at the mean. The entry of
        largest size is positive.
    explained_variance_ : ndarray, shape (n_components,)
        In squared units of the metric, cut at 0. Eigenvalues of the released second moment: noisy,
        the largest on average too large. Of the exponential mechanism: noisy variances of the
        logarithms along the components, by which these are sorted, largest first; `release_` has
        both in the order in which they were drawn.
    explained_variance_ratio_ : ndarray, shape (n_components,)
        The same over the sum of all eigenvalues, or of the variances and that of the rest; zeros if
        noise left none. As noisy: eigenvalues that are noise alone count in the sum.
    release_ : Release
        Of the second moment or of the components; its `parts` hold the release of the mean.

    Notes
    -----
    Source: Fletcher, Lu, Pizer and Joshi 2004, IEEE TMI 23 (8), 995-1005, section IV. A
    `NoiseWarning` says where noise leaves nothing: see `principal_components`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.learning import TangentPCA
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> angle = np.random.default_rng(0).uniform(-0.4, 0.4, 2000)
    >>> X = np.column_stack([np.sin(angle), 0.0 * angle, np.cos(angle)])
    >>> model = TangentPCA(ball, cdp.GDP(mu=1.0), n_components=1).fit(X)
    >>> model.transform(X).shape, model.inverse_transform(model.transform(X)).shape
    ((2000, 1), (2000, 3))
    """

    n_components: int | None = None
    weights: Sequence[float] | None = field(default=None, kw_only=True)
    max_dist: float | None = field(default=None, kw_only=True)
    mechanism: str | None = field(default=None, kw_only=True)

    @quiet
    @all_or_nothing
    @hinting
    def fit(self, X: ArrayLike, y: object = None, units: GroupsLike = None) -> Self:
        """Releases mean and components and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : ignored
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs; see `frechet_mean`.

        Returns
        -------
        TangentPCA
            Itself.

        Raises
        ------
        BudgetError, ExistenceError, ValueError, TypeError
            As `log_covariance`; never for the value of a record.
        """
        records = self._open(X)
        dim = self._manifold.dim
        count = dim if self.n_components is None else self.n_components
        count = as_count(count, "n_components", most=dim)
        how: dict[str, Any] = {"max_dist": self.max_dist, "units": units, **self._options}
        if self._is_exponential(records, units):
            found = principal_components(
                records, count, self._domain, self.guarantee, weights=self.weights, **how
            )
            rest = found.parts[1].value
            order = np.argsort(-rest[:-1], kind="stable")
            return self._keep(found, found.value[order], rest[order], float(rest.sum()))
        weights = _WEIGHTS if self.weights is None else self.weights
        found = log_covariance(records, self._domain, self.guarantee, weights=weights, **how)
        values, vectors = np.linalg.eigh(found.value)
        values = np.maximum(values[::-1], 0.0)
        rows = signed(vectors.T[::-1][:count])
        return self._keep(found, rows, values[:count], float(values.sum()))

    def _size(self, records: FloatArray, units: GroupsLike) -> int:
        """Public number of records or units, or a guess of it."""
        if adds_or_removes(self.guarantee):
            return self.n_guess or 1
        if units is None:
            return len(records)
        return max(1, len(ordered_codes(as_labels(units, "units"), "units")[0]))

    def _is_exponential(self, records: FloatArray, units: GroupsLike) -> bool:
        """True for the exponential mechanism, of which a line has none."""
        if self.mechanism is not None:
            return as_choice(self.mechanism, _MECHANISMS, "mechanism") == "exponential"
        if self.weights is not None:
            return len(as_numbers(self.weights, "weights")) == 3
        dim = self._manifold.dim
        if not isinstance(self.guarantee, PureDP) or dim < 2:
            return False
        n = self._size(records, units)
        size, share = dim * (dim + 1) // 2, _WEIGHTS[1] * self.guarantee.epsilon
        deviation = math.sqrt(2 * (size + 1)) * min(1.0, self.records_per_unit / n) / share
        return math.sqrt(2 * dim) * deviation > _SMALL

    def _keep(self, found: Release, rows: FloatArray, values: FloatArray, total: float) -> Self:
        """Sets what the fit found."""
        self.release_: Release = found
        self.coverage_ = found.coverage
        assert found.base_point is not None
        self.mean_: FloatArray = np.array(found.base_point)
        self.components_: FloatArray = rows
        self.explained_variance_: FloatArray = values
        self.explained_variance_ratio_: FloatArray = values / (total or 1.0)
        return self

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Coordinates of log_p x along the components, records projected on the ball.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Returns
        -------
        ndarray, shape (n, n_components)
            In units of the metric. As private as the records, and so is a model that a later step
            of a pipeline fits to it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        points, manifold = self._projected(X), self._manifold
        coords = manifold.tangent_to_coords(manifold.log(points, self.mean_), self.mean_)
        found: FloatArray = coords @ self.components_.T
        return found

    @quiet
    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Points exp_p v with the coordinates that `transform` gives, shape (n, *point_shape).

        Parameters
        ----------
        X : array-like, shape (n, n_components)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        coords = np.asarray(X, dtype=np.float64) @ self.components_
        return self._manifold.exp(self._manifold.coords_to_tangent(coords, self.mean_), self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
