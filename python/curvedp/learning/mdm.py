"""Minimum distance to private class means (Barachant et al. 2012, released under privacy)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet, warn_of_paid
from curvedp._hints import hinting
from curvedp._labels import refuse_missing
from curvedp._validation import FloatArray
from curvedp.errors import NoiseWarning
from curvedp.learning._sklearn import ClassifierMixin
from curvedp.learning.estimator import (
    Transformer,
    all_or_nothing,
    of_fit,
    public_labels,
    renamed,
)
from curvedp.manifolds import Manifold
from curvedp.privacy import Release
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.disclosure import Disclosure
from curvedp.statistics.adaptive_mean import adaptive_mean
from curvedp.statistics.frechet_mean import frechet_mean
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.logistic import softmax
from curvedp.statistics.releases import Releases

#: Most classes that a warning names.
_NAMED = 6


@dataclass(eq=False, repr=False)
class PrivateMDM(ClassifierMixin, Transformer):  # type: ignore[misc]
    """Classifier by the nearest of the released means of the classes.

    **The labels are public** where the number of records is: who belongs to which class is known or
    was fixed before the data were seen, and the guarantee says nothing about it. Replacing a record
    then changes one class alone, so that the guarantee of one mean is that of all. **Labels are
    private** with a guarantee of ``neighbours="add-remove"``: give the public `classes`, and who is
    in which, and how many are, is protected. `TangentLogisticRegression` has private labels, too.

    Parameters
    ----------
    ball, guarantee, records_per_unit, ledger, secret, seed, coverage
        As in `Estimator`: one ball for all classes, the guarantee of each one's mean, and most
        records of a unit in any one class.
    classes : sequence, optional
        With ``neighbours="add-remove"`` the public labels; records with others are left out.
    adaptive : bool
        True for means by `adaptive_mean`, False for those by `frechet_mean`. On muscle signals the
        two classify alike, on new recordings, sessions and people too (docs/learning.md).
    classes_per_unit : int
        Number of classes to which one unit contributes records at most: the guarantee of `fit` is
        `guarantee` composed so many times.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        Labels in order.
    means_ : ndarray, shape (K, *point_shape)
        Released means, in the order of `classes_`.
    releases_ : dict
        The release of each class by its label.
    doubts_ : tuple of str
        Empty unless noise may hide the distance of two classes: where the squared noise of both
        means is more than half of the squared distance of the released ones.

    Notes
    -----
    Source: Barachant, Bonnet, Congedo and Jutten 2012, IEEE TBME 59 (4), 920-928.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.learning import PrivateMDM
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 200, axis=0)
    >>> y = np.repeat(["left", "right"], 200)
    >>> model = PrivateMDM(ball, cdp.GDP(mu=1.0)).fit(X, y)
    >>> model.predict(X[[0, -1]]).tolist(), model.guarantee_ == cdp.GDP(mu=1.0)
    (['left', 'right'], True)
    """

    classes: Sequence[Any] | None = field(default=None, kw_only=True)
    adaptive: bool = field(default=True, kw_only=True)
    classes_per_unit: int = field(default=1, kw_only=True)

    @quiet
    @all_or_nothing
    @hinting
    def fit(self, X: ArrayLike, y: ArrayLike, units: GroupsLike = None) -> Self:
        """Releases the mean of each class and spends the guarantee.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            One record per row; no value raises.
        y : array-like, shape (n,)
            Public labels; with `classes` private ones, none of which raises.
        units : array-like, shape (n,), optional
            Label of the person to whom each record belongs; see `frechet_mean`.

        Returns
        -------
        PrivateMDM
            Itself.

        Raises
        ------
        BudgetError, ExistenceError, ValueError, TypeError
            As `frechet_mean`; never for the value of a record.

        Warns
        -----
        NoiseWarning
            If noise may hide the distance of two classes' means (`doubts_`), by the released means
            and their expected errors.
        """
        records = self._open(X)
        classes, groups = self._classes_of(y, len(records))
        options: dict[str, Any] = {
            "groups": groups,
            "keys": None if self.classes is None else classes.tolist(),
            "units": units,
            "groups_per_unit": self.classes_per_unit,
            **self._options,
        }
        release = adaptive_mean if self.adaptive else frechet_mean
        with renamed("groups_per_unit", "classes_per_unit"):
            found: Releases[Any] = release(records, self._domain, self.guarantee, **options)
        self.classes_: NDArray[Any] = classes
        self.means_: FloatArray = np.array(found.value)
        named = replace(found, labels=classes.tolist())
        self.releases_: dict[Any, Release] = dict(named.items())
        self._facts, self._report = self._facts_of(named), named._report(of_fit(named.statement))
        self.coverage_ = found.coverage
        self.doubts_ = _doubts(self._manifold, classes, self.means_, found.expected_error)
        for doubt in self.doubts_:
            warn_of_paid(f"{type(self).__name__}: {doubt}", NoiseWarning)
        return self

    def _classes_of(self, y: Any, n: int) -> tuple[NDArray[Any], Any]:
        """The classes in order, and the label of each record's."""
        if adds_or_removes(self.guarantee):
            if self.classes is None:
                raise ValueError(
                    "which labels occur would tell who is there: give classes, the public labels"
                )
            refuse_missing(self.classes, "classes")
            return np.unique(np.asarray(self.classes)), y
        if self.classes is not None:
            raise ValueError(
                'classes are for guarantees with neighbours="add-remove": leave them out, those '
                "that occur are public"
            )
        return public_labels(y, n)

    def _released(self) -> Disclosure:
        return self._facts

    def _fit_report(self) -> str:
        """The report about all classes, and `doubts_`; see `Releases.report`."""
        lines = (line for doubt in self.doubts_ for line in ["", *textwrap.wrap(doubt, 88)])
        return self._report + "".join(f"{line}\n" for line in lines)

    @quiet
    def transform(self, X: ArrayLike) -> FloatArray:
        """Distances of records, projected on the ball, from the mean of each class.

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
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label of the nearest mean, shape (n,)."""
        nearest = self._distances(X).argmin(axis=1)
        found: NDArray[Any] = self.classes_[nearest]
        return found

    @quiet
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities in proportion to exp(-squared distance), shape (n, K), as in pyRiemann."""
        return softmax(-(self._distances(X) ** 2))

    def _distances(self, X: ArrayLike) -> FloatArray:
        points = self._projected(X)
        return self._manifold.pairwise_dist(points, self.means_)

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)


def _doubts(
    space: Manifold, classes: NDArray[Any], means: FloatArray, errors: FloatArray
) -> tuple[str, ...]:
    """Doubts about released means of classes beside their expected errors, shape (K,).

    The mean squared distance of two of them is about that without noise and that of the noise.
    """
    squares = space.pairwise_dist(means, means) ** 2
    noise = errors[:, None] ** 2 + errors**2
    close = squares < 2 * noise
    np.fill_diagonal(close, False)
    doubtful = classes[close.any(axis=1)].tolist()
    if not doubtful:
        return ()
    named = ", ".join(map(str, doubtful[:_NAMED])) + (", ..." if len(doubtful) > _NAMED else "")
    return (
        f"noise may hide how far the means of {len(doubtful)} of {len(classes)} classes ({named}) "
        "are from another one's (an estimate from one draw, which near the bound falls on either "
        "side): they are separated less well than by means without noise. Use a larger budget, "
        "more records, a smaller ball or fewer classes.",
    )
