"""Base of the estimators: records, tags, and parameters of the ball and the guarantee."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from curvedp._hints import refuse_keywords, refuse_places
from curvedp._labels import refuse_missing
from curvedp._validation import FloatArray
from curvedp.checked_domain import check_any_ball, check_ball
from curvedp.domain import Ball
from curvedp.errors import BudgetError
from curvedp.learning._sklearn import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_classification_targets,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from curvedp.manifolds import Manifold
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.release_text import ReleaseText
from curvedp.privacy.statement import Statement
from curvedp.product_ball import ProductBall
from curvedp.statistics.call import CommonOptions, CoverageOption

#: Parameters that are values with parameters of their own.
_VALUES = ("ball", "guarantee")
#: What no guarantee of a fit covers.
_SEARCHED = (
    "Where a search chose parameters by scores of these records that does not hold: its choice has "
    "no guarantee."
)
#: What a fit sets before it is paid for, and what it sets of what was paid.
_OPENED, _PAID = ("_domain", "n_features_in_", "feature_names_in_"), ("release_", "releases_")


@contextlib.contextmanager
def renamed(inner: str, own: str) -> Iterator[None]:
    """Errors about a parameter by the name that it has here.

    Parameters
    ----------
    inner, own : str
        Of the statistic's parameter, and of the estimator's.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        error.args = tuple(
            said.replace(inner, own) if isinstance(said, str) else said for said in error.args
        )
        raise


class EstimatorOptions(CommonOptions, total=False):
    """Keywords of a statistic that all estimators share."""

    n_guess: int | None


Parameters = ParamSpec("Parameters")
Model = TypeVar("Model", bound="Estimator")


@dataclass(eq=False, repr=False)
class Estimator(BaseEstimator, Disclosed):  # type: ignore[misc]
    """A scikit-learn estimator of releases, with the parameters that all of them share.

    Each call of `fit` is a new release and spends the guarantee again, also in clones, folds of a
    cross-validation and candidates of a search: k candidates with m folds cost k m releases, and
    one more for the refit. With a ledger all are charged to it. A search on private records gives
    each fit ``budget.split([1] * (k * m + 1))[0]``; what it chooses has no guarantee.

    A fitted model is stored and copied (`pickle`, `copy`) with its ledger closed: it predicts, and
    refuses to be fitted again until ``set_params(ledger=...)``.

    `get_params` and `set_params` also know the parts of ball and guarantee, such as
    ``ball__radius`` and ``guarantee__mu``: both never change, so setting a part sets a new one.

    Parameters
    ----------
    ball : Ball
        Public domain of the records, chosen without looking at them.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of each call of `fit`, when one unit's records are replaced; with
        ``neighbours="add-remove"`` when they are added or removed, see `n_guess`.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget from which every fit is spent, before any noise is drawn; clones share it.
    secret : NoiseSecret, optional
        Derive the noise from a secret: fits to the same records give the same release. Clones share
        it. It serves the records of the first fit and is refused for others, so for folds too; an
        estimator that holds one is not stored.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    coverage : bool, "each" or None
        As in `frechet_mean`; "each" counts the records of every class, where these are groups.
    n_guess : int, optional
        As in `frechet_mean`: a public guess of the number of records, for a guarantee with
        ``neighbours="add-remove"``.

    Attributes
    ----------
    guarantee_ : Guarantee
        Of all that the fit released together.
    n_features_in_ : int
        Entries of a record, or columns of a table.
    coverage_ : Coverage, GroupCoverage or None
        Numbers of records that were points inside the ball, once a fit, if they were counted.

    Notes
    -----
    `score` is computed from the records given, without privacy. For records that need protection
    publish neither it nor what a search has chosen by it. `transform` maps each record without
    noise: **a model that a later step of a pipeline fits to its results is not private.**
    """

    #: True if the ball may be one of a product of manifolds.
    _takes_products: ClassVar[bool] = False

    ball: Ball
    guarantee: Guarantee
    _: KW_ONLY
    records_per_unit: int = 1
    ledger: Ledger | None = None
    secret: NoiseSecret | None = None
    seed: int | None = None
    coverage: CoverageOption = None
    n_guess: int | None = None

    def __new__(cls, *args: Any, **given: Any) -> Self:
        _, *own = inspect.signature(cls.__init__).parameters.values()
        if all(one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in own):
            names = [one.name for one in own]
            refuse_keywords(cls.__name__, given, names)
            plain = [one.name for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
            refuse_places(cls.__name__, len(args), plain, names, cls.__doc__)
        made: Self = super().__new__(cls)
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor; parameters as in `sklearn.base.BaseEstimator`."""
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in _VALUES:
                for part, value in _parts(found[name]).items():
                    found[f"{name}__{part}"] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of the constructor, or parts of its ball and its guarantee."""
        nested: dict[str, dict[str, Any]] = {}
        whole = {}
        for key, value in params.items():
            name, _, part = key.partition("__")
            if part and name in _VALUES:
                nested.setdefault(name, {})[part] = value
            else:
                whole[key] = value
        super().set_params(**whole)
        for name, given in nested.items():
            old = getattr(self, name)
            parts = _parts(old)
            for part in given:
                if part not in parts:
                    raise ValueError(
                        f"Invalid parameter {part!r} for {name} of {type(self).__name__}: choose "
                        f"from {list(parts)}"
                    )
            setattr(self, name, type(old)(**(parts | given)))
        return self

    @property
    def guarantee_(self) -> Guarantee:
        """Guarantee of all that the fit released together."""
        return self._disclosure().guarantee

    @property
    def statement(self) -> Statement:
        """Five sentences about the fit; see `Release.statement`."""
        return self._disclosure().statement

    def _disclosure(self) -> Disclosure:
        check_is_fitted(self)
        own = self._released()
        return replace(own, model=type(self).__name__, statement=of_fit(own.statement))

    def report(self) -> str:
        """Plain text about what the fit released; see `Release.report`."""
        check_is_fitted(self)
        return self._fit_report()

    def _released(self) -> Disclosure:
        """Facts about the releases of a fit, as of any records."""
        return self._facts_of(vars(self)["release_"])

    def _fit_report(self) -> str:
        """The report of the releases, with the statement of the fit."""
        release: ReleaseText = vars(self)["release_"]
        return release._report(of_fit(release.statement))

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy; that of a fitted model spends nothing, and names no place."""
        state: dict[str, Any] = dict(super().__getstate__())
        if self.ledger is not None and any(name in state for name in _PAID):
            state["ledger"] = self.ledger.closed_copy()
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        is_ball = isinstance(self.ball, Ball)
        tags.input_tags.three_d_array = is_ball and len(self.ball.manifold.point_shape) > 1
        tags.non_deterministic = self.seed is None
        return tags

    @property
    def _manifold(self) -> Manifold:
        """The manifold of a fitted estimator."""
        manifold: Manifold = self._domain.manifold
        return manifold

    @property
    def _options(self) -> EstimatorOptions:
        """The keywords of a statistic that all estimators share."""
        return {
            "records_per_unit": self.records_per_unit,
            "ledger": self.ledger,
            "secret": self.secret,
            "seed": self.seed,
            "coverage": self.coverage,
            "n_guess": self.n_guess,
        }

    def _open(self, X: ArrayLike) -> FloatArray:
        """The records to fit, and the ball that later calls use, whatever becomes of `ball`."""
        check_guarantee(self.guarantee, ("replace", "add-remove"))
        check = check_any_ball if self._takes_products else check_ball
        self._domain: Ball = check(self._ball_of(X))
        return self._read(X, reset=True)

    def _ball_of(self, X: ArrayLike) -> Ball:
        """The ball for these records."""
        return self.ball

    def _projected(self, X: ArrayLike) -> FloatArray:
        """Further records, projected on the ball."""
        check_is_fitted(self)
        return self._domain.project(self._read(X, reset=False))

    def _read(self, X: ArrayLike, *, reset: bool) -> FloatArray:
        if issparse(X):
            raise TypeError("X is a sparse matrix: sparse input is not supported, give an array")
        records = self._rows(X, least=0 if adds_or_removes(self.guarantee) else 1)
        flat = (len(records), math.prod(records.shape[1:]))
        table = X if hasattr(X, "columns") else records.reshape(flat)
        validate_data(self, table, reset=reset, skip_check_array=True)
        return records

    def _rows(self, X: ArrayLike, *, least: int) -> FloatArray:
        """Records, one each row."""
        if getattr(X, "ndim", 2) == 1 and self._manifold.point_shape == (1,):
            raise ValueError("X must have shape (n, 1): reshape it with X.reshape(-1, 1)")
        return self._manifold.read_records(X, "X", least=least)


def of_fit(own: Statement) -> Statement:
    """The statement of releases, as that of a fit, whose parameters a search may have chosen."""
    return replace(own, assuming=f"{own.assuming} {_SEARCHED}")


def all_or_nothing(
    fit: Callable[Concatenate[Model, Parameters], Model],
) -> Callable[Concatenate[Model, Parameters], Model]:
    """`fit` that leaves a fitted estimator as it was if it is refused.

    Otherwise what was released in one ball would go on with the records of another.
    """

    @functools.wraps(fit)
    def whole(model: Model, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Model:
        own = model.__dict__
        before = dict(own)
        try:
            return fit(model, *args, **kwargs)
        except BaseException as error:
            if isinstance(error, BudgetError):
                error.add_note(
                    "Each fit of a search or cross-validation is paid for: k candidates and m "
                    "folds with a refit take budget.split([1] * (k * m + 1))[0] each."
                )
            if all(own.get(name) is before.get(name) for name in _PAID):
                for name in _OPENED:
                    own.pop(name, None)
                own.update((name, before[name]) for name in _OPENED if name in before)
            raise

    return whole


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """An estimator with `transform`, whose columns are named after its class."""


def public_labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in order, and the number of the class of each of n public labels.

    Raises
    ------
    ValueError
        For another number of labels, missing ones, and numbers that are no classes.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    refuse_missing(y, "y")
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) != n:
        raise ValueError(f"y must hold one label for each of {n} records, got {len(labels)}")
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int64)


def _parts(value: Any) -> dict[str, Any]:
    """The parameters of a ball or a guarantee."""
    if isinstance(value, Ball) and not isinstance(value, ProductBall):
        return {"manifold": value.manifold, "center": value.center, "radius": value.radius}
    return value._parameters() if isinstance(value, Guarantee) else {}
