"""Multinomial logistic regression on logarithms, by noisy gradient descent.

    records -> projection on the ball -> log_c x / r and a constant, shortened to length 1
            -> each step: gradients of the records, clipped, averaged, with noise -> momentum

The core computes each record's gradient by itself, in the same bits whatever other records there
are. Proof: docs/proofs/private-logistic.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet
from curvedp._labels import codes_among, refuse_missing
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.learning._sklearn import ClassifierMixin
from curvedp.learning.estimator import Estimator, all_or_nothing, public_labels, softmax
from curvedp.mechanisms import RiemannianLaplace, TangentGaussian
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, PureDP, Release
from curvedp.statistics.entry import Entry
from curvedp.statistics.grouping import GroupsLike

#: Length of the gradient of one record: |p - e_y| <= sqrt 2 times that of its features, 1.
LONGEST = math.sqrt(2.0)
#: Constant feature beside log_c x / r.
_CONSTANT = 0.5
#: The Hessian of the loss is at most 1/2 (Boehning 1992): 1/L.
_STEP = 2.0
_MOMENTUM = 0.9


@dataclass(eq=False, repr=False)
class TangentLogisticRegression(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Multinomial logistic regression on log_c x, c the ball's public centre.

    Full-batch gradient descent with a public number of steps, momentum and the average of the last
    half. Each step adds noise to the mean of the records' gradients, which lie within a public
    length whatever records and labels are: **labels are as private as records**. Proof:
    docs/proofs/private-logistic.md.

    Each call of `fit` is a new release and spends the guarantee again, also in clones, folds of a
    cross-validation and candidates of a search: k candidates with m folds cost k m releases, and
    one more for the refit. With a ledger all are charged to it. Take folds that ignore the labels,
    such as `KFold`: stratified ones, scikit-learn's default for classifiers, change for other
    records too when one label does.

    Parameters
    ----------
    ball : Ball
        Public domain, chosen without looking at the records. Logarithms are divided by its radius.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of each call of `fit`, when one unit's records and labels are replaced. PureDP needs many
        more records: a step's noise grows with n_steps then, instead of its root, and with the
        number of coefficients.
    classes : sequence, optional
        The public labels; a record with another label counts in n and moves nothing. By default
        those that occur in y: which ones do counts as public then, and the release carries the
        assumption "public-classes".
    n_steps : int
        Number of steps, between which the guarantee is divided.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget from which every fit is spent, before any noise is drawn; clones share it.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Labels in order.
    coef_ : ndarray, shape (K, dim)
        For `Manifold.tangent_to_coords` coordinates of log_c x.
    intercept_ : ndarray, shape (K,)
    release_ : Release
        `value` holds coefficients and intercepts, shape (K, dim + 1); sensitivity and scale are
        those of a step.
    n_features_in_ : int
        Entries of a record, or columns of a table.

    Notes
    -----
    `score` counts hits among the records given, without privacy. For records that need protection
    publish neither it nor what a search has chosen by it.

    Sources: Bassily, Smith and Thakurta 2014 (noisy gradient descent); Barachant et al. 2012
    (classifiers on logarithms).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.learning import TangentLogisticRegression
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 500, axis=0)
    >>> y = np.repeat(["left", "right"], 500)
    >>> model = TangentLogisticRegression(ball, cdp.GDP(mu=2.0), classes=["left", "right"])
    >>> model.fit(X, y).predict(X[[0, -1]]).tolist()
    ['left', 'right']
    """

    classes: Sequence[Any] | None = field(default=None, kw_only=True)
    n_steps: int = field(default=60, kw_only=True)

    @quiet
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, units: GroupsLike = None) -> Self:
        """Releases the coefficients and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : array-like, shape (n,)
            Labels; with `classes` no value raises.
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs, where persons have several: the mean of
            the gradients of a person's records then counts as one, in place of `records_per_unit`.

        Returns
        -------
        TangentLogisticRegression
            Itself.

        Raises
        ------
        BudgetError
            If the ledger refuses.
        ValueError, TypeError
            For wrong shapes, dtypes and parameters; never for the value of a record.
        """
        entry = Entry.check(
            self._open(X),
            self._domain,
            self.guarantee,
            records_per_unit=self.records_per_unit,
            ledger=self.ledger,
            seed=self.seed,
            units=units,
        )
        if self.classes is None or y is None:
            classes, codes = public_labels(y, len(entry.data))
        else:
            refuse_missing(self.classes, "classes")
            classes = np.unique(np.asarray(self.classes))
            as_count(len(classes), "the number of classes")
            codes = codes_among(classes, y, len(entry.data))
        shares = entry.shares([1.0] * as_count(self.n_steps, "n_steps"))
        size = len(classes) * (self._manifold.dim + 1)
        moved = min(entry.records_per_unit, entry.n)
        noise = gradient_noise(size, entry.n, moved, shares[0])
        entry.spend("tangent logistic regression", 8.0 * len(codes) * (self._manifold.dim + 4))

        mean_gradient = self._mean_gradient(entry, codes)
        stream = entry.stream(0)
        average = descend(
            lambda weights: noise.add(mean_gradient(weights), stream),
            (len(classes), self._manifold.dim + 1),
            len(shares),
        )
        self.classes_: NDArray[Any] = classes
        released = average * self._units()
        kind = RiemannianLaplace if noise.pure else TangentGaussian
        described = entry.release(
            entry.promise(entry.guarantee),
            value=released,
            mechanism=kind.name,
            statistic="tangent logistic regression",
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
            assumptions=entry.assumptions | self._assumed(),
        )
        self.release_: Release = described
        self.coef_: FloatArray = released[:, :-1]
        self.intercept_: FloatArray = released[:, -1]
        return self

    @quiet
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, records projected on the ball, shape (n, K).

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return softmax(self._scores(X))

    @quiet
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label, shape (n,)."""
        best = self._scores(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def _scores(self, X: ArrayLike) -> FloatArray:
        coords = self._coords(self._projected(X))
        found: FloatArray = coords @ self.coef_.T + self.intercept_
        return found

    def _coords(self, points: FloatArray) -> FloatArray:
        manifold, center = self._manifold, self._domain.center
        return manifold.tangent_to_coords(manifold.log(points, center), center)

    def _mean_gradient(
        self, entry: Entry, codes: NDArray[np.int64]
    ) -> Callable[[FloatArray], FloatArray]:
        """The mean of the units' gradients, as a function of the weights."""
        coords = self._coords(self._domain.project(entry.data))
        own = entry.arranged(codes)
        ends = np.arange(entry.n + 1) if entry.unit_ends is None else entry.unit_ends
        features = features_of(self._domain)
        return lambda weights: _core.logistic_gradient(
            coords, own, ends, weights, features, LONGEST
        )

    def _units(self) -> FloatArray:
        """What the coordinates of a logarithm and a 1 are multiplied with."""
        scale, constant = features_of(self._domain)
        return np.append(np.full(self._manifold.dim, scale), constant)

    def _assumed(self) -> set[str]:
        """The assumptions that `Entry` does not know of."""
        return set() if self.classes is not None else {"public-classes"}


def gradient_noise(size: int, n: int, moved: int, share: PureDP | GDP) -> VectorNoise:
    """Noise for the mean of n gradients of length at most `LONGEST`, `moved` of which change."""
    return VectorNoise.of(
        size,
        2 * LONGEST * moved / n,
        LONGEST * _core.summation_error(n),
        LONGEST,
        share,
    )


def features_of(ball: Ball) -> tuple[float, float]:
    """Factor of the coordinates of a logarithm and the constant beside them: length at most 1."""
    length = math.hypot(1.0, _CONSTANT)
    return 1.0 / ball.radius / length, _CONSTANT / length


def descend(
    gradient: Callable[[FloatArray], FloatArray], shape: tuple[int, int], n_steps: int
) -> FloatArray:
    """Weights, shape (classes, dim + 1): the average of the last half of the steps from 0.

    `gradient` is the mean of the records' gradients at the weights, with noise.
    """
    weights, velocity, average = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    kept = n_steps - n_steps // 2
    for step in range(n_steps):
        found = gradient(weights)
        with np.errstate(all="ignore"):
            velocity = _MOMENTUM * velocity - _STEP * found
            weights = weights + velocity
            if step >= n_steps - kept:
                average += weights / kept
    return average
