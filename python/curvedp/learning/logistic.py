"""Logistic regression on logarithms as a scikit-learn estimator, over `tangent_logistic`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._labels import refuse_missing
from curvedp._validation import FloatArray
from curvedp.learning._sklearn import ClassifierMixin, check_is_fitted
from curvedp.learning.estimator import Estimator, all_or_nothing, public_labels
from curvedp.privacy.base import adds_or_removes
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.logistic import LogisticRelease, tangent_logistic


@dataclass(eq=False, repr=False)
class TangentLogisticRegression(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Multinomial logistic regression on log_c x, c the ball's centre, by `tangent_logistic`.

    **Labels are as private as records.** Take folds that ignore them, such as `KFold`: stratified
    ones, scikit-learn's default for classifiers, change for other records too when one label does.

    Parameters
    ----------
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`. Logarithms are divided by the ball's radius. PureDP needs many more
        records.
    classes : sequence of str, int, float or bool, optional
        The public labels; a record with another label counts in n and moves nothing. By default
        those that occur in y: which ones do counts as public then, and the release carries the
        assumption "public-classes".
    n_steps : int
        Number of steps, between which the guarantee is divided.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Labels in order.
    coef_ : ndarray, shape (K, dim)
        For `Manifold.tangent_to_coords` coordinates of log_c x.
    intercept_ : ndarray, shape (K,)
    release_ : LogisticRelease

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
    @hinting
    def fit(self, X: ArrayLike, y: ArrayLike, units: GroupsLike = None) -> Self:
        """Releases the coefficients and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : array-like, shape (n,)
            Labels; with `classes` no value raises.
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs; see `tangent_logistic`.

        Returns
        -------
        TangentLogisticRegression
            Itself.

        Raises
        ------
        BudgetError, ValueError, TypeError
            As `tangent_logistic`; never for the value of a record.
        """
        records, labels = self._open(X), y
        if self.classes is None and adds_or_removes(self.guarantee):
            raise ValueError("which labels occur would tell who is there: give classes")
        if self.classes is None or y is None:
            classes, codes = public_labels(y, len(records))
            labels = classes[codes]
        else:
            refuse_missing(self.classes, "classes")
            classes = np.unique(np.asarray(self.classes))
        found: LogisticRelease = tangent_logistic(
            records,
            labels,
            self._domain,
            self.guarantee,
            classes=classes.tolist(),
            n_steps=self.n_steps,
            units=units,
            **self._options,
        )
        if self.classes is None:
            found = replace(found, assumptions=found.assumptions | {"public-classes"})
        self.release_: LogisticRelease = found
        self.coverage_ = found.coverage
        self.classes_: NDArray[Any] = classes
        self.coef_: FloatArray = np.array(found.coef)
        self.intercept_: FloatArray = np.array(found.intercept)
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
        check_is_fitted(self)
        return self.release_.predict_proba(self._read(X, reset=False))

    @quiet
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label, shape (n,)."""
        check_is_fitted(self)
        return self.release_.predict(self._read(X, reset=False))
