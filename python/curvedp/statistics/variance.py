"""The private Fréchet variance: the restricted minimum of the mean squared distance.

    records -> projection on the public ball -> their mean m, and t = rho(c, m) with noise
            -> s, an upper bound of t -> V_s, the least of mean rho(q, x_i)^2 over the points q
               within s of the centre c -> noise of sensitivity (r + s)^2/n -> cut to [0, r^2]

V_s is the variance wherever t <= s. No base point is released, so nothing has to be subtracted, and
the noise does not depend on the dimension. Proof: docs/proofs/frechet-variance.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Unpack, overload

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_finite, as_numbers, as_positive, as_probability
from curvedp.curvature import radial_hessian
from curvedp.domain import Ball
from curvedp.mechanisms.calibration import amount_of, calibrated_scale, unit_error
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import plan_mean, shares_of
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.interval import (
    ON_FOUND_BALL,
    TOO_SMALL,
    VarianceInterval,
    restricted_ends,
)
from curvedp.statistics.log_moments import flat_mechanism, refuse_fine_noise
from curvedp.statistics.paid import Paid
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases, release_fields, release_of
from curvedp.statistics.statistic import Calibrated, Statistic
from curvedp.unit import told_in

#: Shares of the budget (of mu^2 for GDP) of the distance of the mean from the centre, and of the
#: variance.
DEFAULT_WEIGHTS = (0.1, 0.9)

#: s is so many noise scales above the released distance: then it exceeds t with probability 0.95.
GAUSSIAN_MARGIN = NormalDist().inv_cdf(0.95)
LAPLACE_MARGIN = math.log(10.0)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VarianceRelease(Release):
    """A released variance; `value` has shape (), in squared units of the metric.

    Attributes
    ----------
    within : float
        s: the variance is that from the best point within s of the ball's centre.
    unclipped : float
        The number before it was cut to [0, r^2].

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> few = cdp.frechet_variance(np.tile(ball.center, (3, 1)), ball, cdp.GDP(mu=1e-3))
    >>> few.cut in (0.0, 0.25), cdp.Release.from_json(few.to_json()) == few
    (True, True)
    """

    within: float
    unclipped: float

    @property
    def cut(self) -> float | None:
        """The end of [0, r^2] at which the value was cut; None if it was not.

        A value cut at 0 says that the noise is larger than the variance, not that there is none.
        """
        value = self.value.item()
        return None if self.unclipped == value else value

    def interval(self, level: float = 0.95) -> VarianceInterval:
        """A confidence interval for the variance of the population, by post-processing.

        From the noise and a bound on the variance of squared distances, without a further release;
        so it is wide where the noise is small: `variance_interval` is shorter there. See
        docs/proofs/frechet-variance.md.

        Parameters
        ----------
        level : float

        Raises
        ------
        ValueError
            For a single record.
        """
        level = as_probability(level, "level")
        if self.n < 2:
            raise ValueError("one record has no variance: an interval needs two")
        lower, estimate, upper = restricted_ends(
            self.unclipped,
            self.scale,
            self.ball_radius + self.within,
            self.ball_radius,
            self.n,
            level,
            pure="Laplace" in self.mechanism,
        )
        return VarianceInterval(
            lower=lower,
            upper=upper,
            estimate=estimate,
            level=level,
            n=self.n,
            guarantee=self.guarantee,
            parts=(self,),
            coverage=self.coverage,
            uncounted=self.uncounted,
        )

    def _notes(self) -> list[str]:
        notes = [
            f"the mean is assumed within {told_in(self.ball_unit)(self.within)} of the centre: "
            "otherwise the value is "
            "the mean squared distance from the best point there",
            f"it is of records as moved to the ball: {TOO_SMALL}",
        ]
        if self.cut is not None:
            notes.append(
                f"CUT: the noise took the number to {self.unclipped:.6g}, outside [0, r^2]; the "
                "value says that the variance is small beside the noise, or large, and no more"
            )
        return notes


@dataclass(frozen=True)
class VarianceDesign:
    """Everything about a variance that is fixed before a record is seen.

    Attributes
    ----------
    ball : Ball
    plan : Plan
        Of the solver.
    way : PureDP or GDP
        The guarantee that all noise together is calibrated to.
    to_mean : PureDP, GDP or None
        Share of the distance of the mean from the centre; None where s is public.
    share : PureDP or GDP
        Of the variance.
    within : float
        s, or the largest that it can be.
    replaced : float
        Share of the records that a unit replaces.
    n : int
    """

    ball: Ball
    plan: _core.Plan
    way: PureDP | GDP
    to_mean: PureDP | GDP | None
    share: PureDP | GDP
    within: float
    replaced: float
    n: int

    def scale(self, within: float) -> float:
        """Scale of the noise on the variance, for one s."""
        sensitivity, tolerance = self._bounds(within)
        return calibrated_scale(sensitivity, tolerance, self.share)

    def _bounds(self, within: float) -> tuple[float, float]:
        return self.ball.frame.restricted_bounds(self.plan, self.n, self.replaced, within)

    def error(self, within: float) -> float:
        """Expected error for one s at most: where the variance is r^2/2."""
        one = np.zeros(1, dtype=np.int64)
        middle, scale = np.array([0.5 * self.ball.radius**2]), np.array([self.scale(within)])
        return float(expected_errors([self], one, middle, scale, np.array([within]))[0])

    @property
    def to_mean_scale(self) -> float:
        """Scale of the noise on the mean's distance from the centre; 0 where s is public."""
        if self.to_mean is None:
            return 0.0
        shift = self.ball.frame.sensitivity(1.0, self.replaced)
        tolerance = self.plan.tolerance + self.ball.frame.dist_error
        return calibrated_scale(shift, tolerance, self.to_mean)

    @property
    def least_within(self) -> float:
        """s if the released distance is 0."""
        margin = LAPLACE_MARGIN if isinstance(self.to_mean, PureDP) else GAUSSIAN_MARGIN
        return self.within if self.to_mean is None else margin * self.to_mean_scale

    @property
    def steepness(self) -> float:
        """Factor of (t - s)^2_+ in the bound on V_s - V: h(2 r); 0 where s is public."""
        if self.to_mean is None:
            return 0.0
        lower = min(self.ball.manifold.curvature_bounds[0], 0.0)
        return radial_hessian(lower, 2 * self.ball.radius)

    @property
    def excess(self) -> float:
        """E (t - s)^2_+ by the noise on t; 0 where s is public."""
        return 0.0 if self.to_mean is None else _excess(self.to_mean) * self.to_mean_scale**2


@dataclass(frozen=True)
class Variance(Calibrated[VarianceRelease]):
    """The Fréchet variance, as a value: see `frechet_variance`.

    Parameters
    ----------
    within, weights
        As in `frechet_variance`.

    Examples
    --------
    >>> Variance(within=0.1).options()
    {'within': 0.1, 'weights': [0.1, 0.9]}
    """

    title: ClassVar[str] = "Fréchet variance"
    _on_found_ball: ClassVar[str] = ON_FOUND_BALL
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "variance"

    within: float | None = None
    weights: tuple[float, ...] = DEFAULT_WEIGHTS

    def __post_init__(self) -> None:
        if self.within is not None:
            object.__setattr__(self, "within", as_finite(self.within, "within"))
            if self.within < 0:
                raise ValueError(f"within must be 0 or more, got {self.within:g}")
        weights = as_numbers(self.weights, "weights")
        if len(weights) != 2:
            raise ValueError(
                "weights must be two positive numbers: of the mean's distance from the centre and "
                "of the variance"
            )
        own = tuple(as_positive(weight, "a weight") for weight in weights)
        object.__setattr__(self, "weights", own)

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return ()

    def extent(self, call: Call) -> tuple[float, str]:
        return call.ball.radius**2, "radius squared"

    def is_exact(self, call: Call) -> bool:
        return True

    def mechanism_of(self, design: VarianceDesign) -> str:
        return flat_mechanism(design.share).name

    def design_under(self, call: Call, way: PureDP | GDP, ball: Ball, n: int) -> VarianceDesign:
        unit = call.records_per_unit
        _, plan = plan_mean(ball, n, unit)
        is_public = self.within is not None
        shares = (way,) if is_public else shares_of(way, self.weights)
        for power, share in enumerate(reversed(shares)):
            refuse_fine_noise(ball, n, unit, share, 2 - power, None)
        within = ball.radius if self.within is None else min(self.within, ball.radius)
        to_mean = None if is_public else shares[0]
        return VarianceDesign(ball, plan, way, to_mean, shares[-1], within, min(1.0, unit / n), n)

    def outlook(self, call: Call, design: VarianceDesign, n: int) -> tuple[float, float]:
        return design.scale(design.within), design.error(design.within)

    def noise_share(self, call: Call, design: VarianceDesign, n: int) -> float:
        least = design.scale(min(design.least_within, design.within))
        return least * unit_error(design.share, 1) / design.ball.radius**2

    def release(self, paid: Paid) -> Releases[VarianceRelease]:
        found, choice = paid.designs
        parts = [_parts_of(design) for design in found if design is not None]
        columns = paid.columns(_core.GroupStatistic.variance(parts), [None] * len(found))
        numbers = {name: own[:, 0] for name, own in columns.items()}
        of_ball = [np.nan if own is None else own.ball.radius**2 for own in found]
        square, unclipped = np.array(of_ball)[choice], numbers["variance"]
        value = np.clip(unclipped, 0.0, square)
        own = numbers["scale"], numbers["within"]
        expected = expected_errors(found, choice, value, *own)
        distance = () if self.within is not None else (_distance(paid, numbers),)
        return paid.releases(
            value=value,
            sensitivity=numbers["sensitivity"],
            solver_tolerance=numbers["tolerance"],
            scale=numbers["scale"],
            expected_error=expected,
            more={"within": numbers["within"], "unclipped": unclipped},
            parts=distance,
        )

    def result(self, releases: Releases[VarianceRelease], index: int) -> VarianceRelease:
        more = releases.more
        within, unclipped = (float(more[name][index]) for name in ("within", "unclipped"))
        described = release_fields(releases, index)
        return VarianceRelease(**described, within=within, unclipped=unclipped)


@dataclass(frozen=True)
class _MeanDistance(Statistic[Release]):
    """The distance of the mean from the ball's centre, released as a part of a variance."""

    title: ClassVar[str] = "distance of the mean from the centre"

    def check(self, call: Call) -> None:
        pass

    def mechanism_of(self, design: VarianceDesign) -> str:
        assert design.to_mean is not None
        return flat_mechanism(design.to_mean).name

    def is_exact(self, call: Call) -> bool:
        return True

    def design(self, call: Call, ball: Ball, n: int) -> Any:
        return Variance().design(call, ball, n)

    def release(self, paid: Paid) -> Releases[Release]:
        (distance,) = Variance().release(paid).parts
        return distance

    def result(self, releases: Releases[Release], index: int) -> Release:
        return release_of(releases, index)


def _distance(paid: Paid, numbers: dict[str, FloatArray]) -> Releases[Release]:
    """The releases of the mean's distance from the centre."""
    statistic, designs = _MeanDistance(), paid.designs[0]
    shares = [
        None if own is None or own.to_mean is None else (statistic.mechanism_of(own), own.to_mean)
        for own in designs
    ]
    units = np.array([math.nan if own is None else unit_error(own[1], 1) for own in shares])
    return paid.part(
        statistic,
        shares,
        value=numbers["to_mean"],
        sensitivity=numbers["to_mean_sensitivity"],
        solver_tolerance=numbers["to_mean_tolerance"],
        scale=numbers["to_mean_scale"],
        expected_error=units[paid.designs[1]] * numbers["to_mean_scale"],
    )


def _parts_of(design: VarianceDesign) -> Any:
    """A design as compiled code takes it."""
    share = design.to_mean
    released = None
    if share is not None:
        margin = LAPLACE_MARGIN if isinstance(share, PureDP) else GAUSSIAN_MARGIN
        released = amount_of(share), margin
    return design.plan, amount_of(design.share), design.within, released


def expected_errors(
    designs: Sequence[VarianceDesign | None],
    choice: NDArray[Any],
    variance: FloatArray,
    scale: FloatArray,
    within: FloatArray,
) -> FloatArray:
    """E |cut(V + N) - V| and the bias, for variances V with noise of that scale, one for each s.

    The bias is at most h(2 r) times both E (t - s)^2_+ and 0.05 (r - s)^2: t is at most r, and
    above s with probability 0.05.

    Parameters
    ----------
    designs : sequence of VarianceDesign
    choice : ndarray of int
        The number of each one's design.
    variance, scale, within : ndarray
    """

    def of(tell: Callable[[VarianceDesign], float]) -> FloatArray:
        told = np.array([np.nan if own is None else tell(own) for own in designs])
        return np.asarray(told[choice])

    radius = of(lambda own: own.ball.radius)
    pure = of(lambda own: isinstance(own.share, PureDP)) == 1.0
    within_reach = [
        np.where(pure, _least_laplace(length / scale), _least_gaussian(length / scale))
        for length in (variance, radius**2 - variance)
    ]
    excess = np.minimum(of(lambda own: own.excess), 0.05 * (radius - within) ** 2)
    bias = of(lambda own: own.steepness) * excess
    return np.asarray(np.minimum(scale * (within_reach[0] + within_reach[1]) + bias, radius**2))


def _least_laplace(length: FloatArray) -> FloatArray:
    """E min(N, length) for the positive part N of Laplace noise of scale 1."""
    return np.asarray(-0.5 * np.expm1(-length))


def _least_gaussian(length: FloatArray) -> FloatArray:
    """The same of Gaussian noise."""
    height = (1.0 - np.exp(-0.5 * length**2)) / math.sqrt(2 * math.pi)
    return np.asarray(height + length * scipy.special.ndtr(-length))


def _excess(share: PureDP | GDP) -> float:
    """E (N - z)^2 where noise N of scale 1 exceeds the margin z."""
    if isinstance(share, PureDP):
        return math.exp(-LAPLACE_MARGIN)
    z = GAUSSIAN_MARGIN
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return 0.05 * (1 + z * z) - z * density


@overload
def frechet_variance(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    within: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    **call: Unpack[CallOptions],
) -> VarianceRelease: ...
@overload
def frechet_variance(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    within: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    **call: Unpack[CallOptions],
) -> Releases[VarianceRelease]: ...
@quiet
@hinting
def frechet_variance(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    within: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    **call: Unpack[CallOptions],
) -> VarianceRelease | Releases[VarianceRelease]:
    """Release the Fréchet variance: the mean squared distance of the records from their mean.

    Released is V_s, the least mean squared distance from a point within s of the ball's centre,
    with noise of sensitivity (r + s)^2/n, cut to [0, r^2]. V_s is the variance if the mean lies
    within s of the centre. s is an upper bound of that distance, which is released first and holds
    with probability 0.95; where it does not, V_s is only a little larger. Multiply by n/(n - 1) to
    estimate the variance of the population.

    Parameters
    ----------
    records, ball, guarantee, groups
        As in `frechet_mean`.
    within : float, optional
        Public bound s on the distance of the mean from the centre; by default one is released. 0
        gives the mean squared distance from the centre.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean's distance from the centre and of the
        variance, without `within`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    VarianceRelease, or Releases with `groups`
        `value` has shape (), in squared units of the metric; `cut` says if the noise took it out of
        [0, r^2]. `expected_error` is that at the released value.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> release = frechet_variance(records, ball, cdp.GDP(mu=1.0))
    >>> release.value.shape, release.cut, [part.statistic for part in release.parts]
    ((), None, ['distance of the mean from the centre'])
    """
    return release(
        Variance(within, as_numbers(weights, "weights")),
        records,
        ball,
        guarantee,
        groups=groups,
        **call,
    )
