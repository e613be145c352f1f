"""Multinomial logistic regression on logarithms, by noisy gradient descent.

    records -> projection on the ball -> log_c x / r and a constant, shortened to length 1
            -> each step: gradients of the records, clipped, averaged, with noise -> momentum

The core computes each record's gradient by itself, in the same bits whatever other records there
are. Proof: docs/proofs/private-logistic.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet, warn_of_paid
from curvedp._hints import hinting
from curvedp._labels import LabelsLike, codes_among, refuse_missing
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.errors import NoiseWarning
from curvedp.manifolds import as_manifold
from curvedp.mechanisms import RiemannianLaplace, TangentGaussian, ways_to_meet
from curvedp.mechanisms.vector_noise import VectorNoise
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

#: What a class may be called.
Label = str | int | float | bool

#: Length of the gradient of one record: |p - e_y| <= sqrt 2 times that of its features, 1.
LONGEST = math.sqrt(2.0)
#: Constant feature beside log_c x / r.
_CONSTANT = 0.5
#: The Hessian of the loss is at most 1/2 (Boehning 1992): 1/L.
_STEP = 2.0
_MOMENTUM = 0.9


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LogisticRelease(Release):
    """Released coefficients and intercepts of classes: `value`, shape (K, dim + 1).

    Sensitivity and scale are those of a step.

    Attributes
    ----------
    classes : tuple
        The K labels in order.
    doubts : tuple of str
        Empty unless the noise of the coefficients is larger than what they learned.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    >>> x, y = np.repeat([[-0.5], [0.5]], 500, axis=0), np.repeat([0, 1], 500)
    >>> found = cdp.tangent_logistic(x, y, ball, cdp.GDP(mu=2.0), classes=[0, 1])
    >>> found.predict([[-0.6], [0.4]]).tolist(), found.predict_proba(x).shape
    ([0, 1], (1000, 2))
    """

    classes: tuple[Label, ...]
    doubts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "doubts", tuple(map(str, self.doubts)))
        classes = as_classes(self.classes)
        if classes != tuple(self.classes):
            raise ValueError("classes must stand in order, each once")
        object.__setattr__(self, "classes", classes)
        if self.value.ndim != 2 or len(self.value) != len(self.classes):
            raise ValueError("value must hold a row of coefficients for each class")

    @property
    def coef(self) -> FloatArray:
        """For `Manifold.tangent_to_coords` coordinates of log_c x, shape (K, dim)."""
        return self.value[:, :-1]

    @property
    def intercept(self) -> FloatArray:
        """One for each class, shape (K,)."""
        return self.value[:, -1]

    @quiet
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, shape (n, K). As private as the records.

        Parameters
        ----------
        X : array-like, shape (n, *point_shape)
            Projected on the ball; no value raises.
        """
        return softmax(self._scores(X))

    @quiet
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label, shape (n,); parameters as in `predict_proba`."""
        found: NDArray[Any] = np.array(self.classes)[self._scores(X).argmax(axis=1)]
        return found

    def _scores(self, X: ArrayLike) -> FloatArray:
        ball = Ball(self.manifold, self.ball_center, self.ball_radius)
        coords = chart_coords(ball, as_manifold(self.manifold).read_records(X, "X"))
        found: FloatArray = coords @ self.coef.T + self.intercept
        return found

    def _notes(self) -> list[str]:
        named = ", ".join(map(str, self.classes[:12])) + (", ..." if len(self.classes) > 12 else "")
        rows = f"a row of the value for each class, the intercept last: {named}"
        return [*self.doubts, rows]


@dataclass(frozen=True)
class LogisticDesign:
    """Everything that is fixed before a record is seen: all steps have noise of one law."""

    way: PureDP | GDP
    noise: VectorNoise


@dataclass(frozen=True)
class TangentLogistic(EachGroup[LogisticRelease]):
    """Logistic regression on logarithms as a value; `tangent_logistic` releases it.

    Parameters
    ----------
    classes, n_steps
        As in `tangent_logistic`.

    Examples
    --------
    >>> TangentLogistic(["right", "left"]).classes
    ('left', 'right')
    """

    title: ClassVar[str] = "tangent logistic regression"
    word: ClassVar[str | None] = "logistic"
    beside: ClassVar[Literal["labels"]] = "labels"
    takes_units: ClassVar[bool] = True
    takes_unknown_n: ClassVar[bool] = True
    padding_beside: ClassVar[float] = -1.0

    classes: Sequence[Label]
    n_steps: int = 60

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", as_classes(self.classes))
        object.__setattr__(self, "n_steps", as_count(self.n_steps, "n_steps"))

    def check(self, call: Call) -> None:
        pass

    def read_beside(self, given: Any, n: int) -> FloatArray:
        """The number of each record's class, -1 for labels that are none; no value raises."""
        return codes_among(np.array(self.classes), given, n, "labels").astype(np.float64)

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        return np.arange(len(beside), dtype=np.float64) % len(self.classes)

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (len(self.classes), call.manifold.dim + 1)

    def mechanism_of(self, design: LogisticDesign) -> str:
        return (RiemannianLaplace if design.noise.pure else TangentGaussian).name

    def way_of(self, design: LogisticDesign) -> PureDP | GDP:
        return design.way

    def outlook(self, call: Call, design: LogisticDesign, n: int) -> tuple[float, float]:
        return design.noise.scale, math.nan

    def memory_of_group(self, call: Call, n: int) -> float:
        return 8.0 * n * (4 * call.manifold.point_size + 2 * call.manifold.dim + 4)

    def design(self, call: Call, ball: Ball, n: int) -> LogisticDesign:
        way = ways_to_meet(call.guarantee)[0]
        size = math.prod(self.value_shape(call))
        changed = min(call.records_per_unit, n)
        return LogisticDesign(way, gradient_noise(size, n, changed, _of_a_step(way, self.n_steps)))

    def release_group(self, group: Group) -> LogisticRelease:
        ball, noise, stream = group.ball, group.design.noise, group.stream(0)
        mean = mean_gradient(ball, group.records, group.beside.astype(np.int64), group.ends)
        average = descend(
            lambda weights: noise.add(mean(weights), stream),
            (len(self.classes), ball.manifold.dim + 1),
            self.n_steps,
        )
        scale, constant = features_of(ball)
        released = group.release(
            value=average * np.append(np.full(ball.manifold.dim, scale), constant),
            statistic=self.title,
            sensitivity=noise.sensitivity,
            solver_tolerance=noise.rounding,
            scale=noise.scale,
            expected_error=None,
        )
        doubts = _doubts(average[:, :-1], noise.deviation * noise_gain(self.n_steps))
        return LogisticRelease(**vars(released), classes=tuple(self.classes), doubts=doubts)


@overload
def tangent_logistic(
    records: ArrayLike,
    labels: LabelsLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    classes: Sequence[Label],
    n_steps: int = 60,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> LogisticRelease: ...
@overload
def tangent_logistic(
    records: ArrayLike,
    labels: LabelsLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    classes: Sequence[Label],
    n_steps: int = 60,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[LogisticRelease]: ...
@quiet
@hinting
def tangent_logistic(
    records: ArrayLike,
    labels: LabelsLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    classes: Sequence[Label],
    n_steps: int = 60,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> LogisticRelease | Releases[LogisticRelease]:
    """Release a multinomial logistic regression on log_c x, c the ball's public centre.

    Full-batch gradient descent with a public number of steps, momentum and the average of the last
    half. Each step adds noise to the mean of the records' gradients, which lie within a public
    length whatever records and labels are: **labels are as private as records**. Proof:
    docs/proofs/private-logistic.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        No value raises.
    labels : array-like, shape (n,)
        Labels of the records; no value raises. A record whose label is none of `classes`, or is
        missing, counts in n and moves nothing.
    ball : Ball, or a list with one for each group
        Public domain, chosen without looking at the records. Logarithms are divided by its radius.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's records and labels are replaced. PureDP needs many
        more records: a step's noise grows with n_steps then, instead of its root, and with the
        number of coefficients.
    classes : sequence of str, int, float or bool
        The public labels, in any order.
    n_steps : int
        Number of steps, between which the guarantee is divided.
    groups : array-like, optional
        Labels or offsets of public groups, a classifier of each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs: the mean of the gradients of a person's
        records then counts as one.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    LogisticRelease, or Releases of them with `groups`

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    Warns
    -----
    NoiseWarning
        If the noise of the released coefficients is larger than what they learned (`doubts`), which
        they tell beside the public scale of the noise.

    References
    ----------
    Bassily, Smith and Thakurta 2014 (noisy gradient descent); Barachant et al. 2012 (classifiers on
    logarithms).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.5)
    >>> X = np.repeat([np.diag([1.0, 2.0]), np.diag([2.0, 1.0])], 500, axis=0)
    >>> y = np.repeat(["left", "right"], 500)
    >>> found = cdp.tangent_logistic(X, y, ball, cdp.GDP(mu=2.0), classes=["left", "right"])
    >>> found.predict(X[[0, -1]]).tolist()
    ['left', 'right']
    """
    statistic = TangentLogistic(classes, n_steps)
    found = release(statistic, records, ball, guarantee, labels=labels, groups=groups, **call)
    _warn_of_doubts([found] if isinstance(found, LogisticRelease) else list(found))
    return found


def as_classes(given: Any) -> tuple[Label, ...]:
    """Public labels in order, each once.

    Raises
    ------
    ValueError, TypeError
        For missing ones, none at all, and labels that are no texts or numbers.
    """
    refuse_missing(given, "classes")
    classes = np.unique(np.asarray(given)).tolist()
    as_count(len(classes), "the number of classes")
    for label in classes:
        if type(label) not in (str, int, float, bool) or label in (math.inf, -math.inf):
            raise TypeError(f"classes must be texts or finite numbers, got {label!r}")
    return tuple(classes)


@functools.lru_cache(maxsize=64)
def _of_a_step(way: PureDP | GDP, n_steps: int) -> PureDP | GDP:
    """The share of each of so many steps."""
    return way.split([1.0] * n_steps)[0]


def gradient_noise(size: int, n: int, changed: int, share: PureDP | GDP) -> VectorNoise:
    """Noise for the mean of n gradients of length at most `LONGEST`, `changed` of which change."""
    return VectorNoise.of(
        size,
        2 * LONGEST * changed / n,
        LONGEST * _core.summation_error(n),
        LONGEST,
        share,
    )


def mean_gradient(
    ball: Ball, records: FloatArray, codes: NDArray[np.int64], ends: Offsets
) -> Callable[[FloatArray], FloatArray]:
    """The mean of the units' gradients, as a function of the weights.

    Parameters
    ----------
    ball : Ball
    records : ndarray, shape (n, *point_shape)
    codes : ndarray of int, shape (n,)
        Number of each record's class, -1 for none.
    ends : ndarray of int, shape (units + 1,)
        Unit j has the records ``ends[j]:ends[j + 1]``.
    """
    coords, features = chart_coords(ball, records), features_of(ball)
    return lambda weights: _core.logistic_gradient(coords, codes, ends, weights, features, LONGEST)


def chart_coords(ball: Ball, records: FloatArray) -> FloatArray:
    """Coordinates of log_c x of records, projected on the ball, shape (n, dim)."""
    space, center = ball.manifold, ball.center
    return space.tangent_to_coords(space.log(ball.project(records), center), center)


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


@functools.lru_cache(maxsize=64)
def noise_gain(n_steps: int) -> float:
    """Standard deviation of the noise in `descend` over that of a gradient's, on a flat loss.

    The loss is convex, so that its curvature takes some of the noise of early steps away.
    """
    kept = n_steps - n_steps // 2
    response = _STEP * (1 - _MOMENTUM ** np.arange(1, n_steps + 1)) / (1 - _MOMENTUM)
    summed = np.append(0.0, np.cumsum(response))
    left = np.arange(n_steps, 0, -1)
    in_average = summed[left] - summed[np.maximum(left - kept, 0)]
    return float(np.linalg.norm(in_average)) / kept


def _doubts(coef: FloatArray, deviation: float) -> tuple[str, ...]:
    """Doubts about released coefficients, shape (K, dim), with noise of that deviation in each.

    About their mean over the classes, which moves no probability.
    """
    found = float(np.linalg.norm(coef - coef.mean(axis=0)))
    noise = deviation * math.sqrt((len(coef) - 1) * coef.shape[1])
    if found >= math.sqrt(2.0) * noise:
        return ()
    learned = math.sqrt(max(found / noise - 1.0, 0.0) * (found / noise + 1.0)) * noise
    return (
        f"the noise of the coefficients, about {noise:.3g} long, is larger than what they learned, "
        f"about {learned:.3g} of {found:.3g} (an estimate from one draw, which near the bound "
        "falls on either side): the classes are separated less well than by coefficients without "
        "noise. Use a larger budget, more records, fewer classes or a space of fewer dimensions.",
    )


def _warn_of_doubts(found: list[LogisticRelease]) -> None:
    """One warning for all groups."""
    doubted = [release.doubts[0] for release in found if release.doubts]
    if doubted:
        groups = f" ({len(doubted)} of {len(found)} groups)" if len(found) > 1 else ""
        warn_of_paid(f"{found[0].statistic}{groups}: {doubted[0]}", NoiseWarning)


def softmax(scores: FloatArray) -> FloatArray:
    """Rows of probabilities in proportion to e^score."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return found
