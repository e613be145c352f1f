"""Private confidence intervals for the Fréchet variance (Jiang et al., Theorem 5, Corollary 2).

    V_n - V ~ N(0, sigma_F^2/n + noise),   sigma_F^2 = Var rho(x, mean)^2

Where the noise of a private mean would be large beside the ball, which public numbers tell: one
release, the variance as the restricted minimum, and a bound of sigma_F^2. Elsewhere two: the mean,
and the second and fourth moment of the distance from it together. The
half-width carries the noise in sigma_F^2 as a Student quantile, without which the interval covers
too rarely. Derivation and measured coverage: docs/proofs/frechet-variance.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import sensitivity
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_numbers, as_positive, as_probability
from curvedp.curvature import mean_hessian_trace
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import ExistenceError
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.base_point import BasePoint
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.confidence_region import gaussian_way
from curvedp.statistics.design import design_mean_under, shares_of
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.interval import ON_FOUND_BALL, VarianceInterval
from curvedp.statistics.log_moments import (
    MomentDesign,
    draw_moments,
    flat_mechanism,
    refuse_fine_noise,
)
from curvedp.statistics.moments import DEFAULT_WEIGHTS, DistanceMoments
from curvedp.statistics.paid import Paid
from curvedp.statistics.quantiles import effective_dof, hotelling_quantile
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases
from curvedp.statistics.statistic import Calibrated
from curvedp.statistics.variance import Variance, VarianceDesign

#: Mean square of the noise of a private mean, in squared radii, from which on it is not released.
_LARGE_NOISE = 0.1
_RESTRICTED = Variance()

#: Columns by name, and the releases that they rest on.
Found = tuple[dict[str, FloatArray], tuple[Releases[Any], ...]]


@dataclass(frozen=True)
class Interval(Calibrated[VarianceInterval]):
    """A confidence interval for the variance as a value; `variance_interval` releases it.

    Parameters
    ----------
    level, weights, max_dist
        As in `variance_interval`.

    Examples
    --------
    >>> Interval().options()
    {'level': 0.95, 'weights': [0.25, 0.75], 'max_dist': None}
    """

    title: ClassVar[str] = "confidence interval of the Fréchet variance"
    _on_found_ball: ClassVar[str] = ON_FOUND_BALL
    word: ClassVar[str | None] = "interval"
    takes_unknown_n: ClassVar[bool] = True
    infers: ClassVar[bool] = True

    level: float = 0.95
    weights: tuple[float, ...] = DEFAULT_WEIGHTS
    max_dist: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", as_probability(self.level, "level"))
        weights = as_numbers(self.weights, "weights")
        if len(weights) != 2:
            raise ValueError(
                "weights must be two positive numbers, the shares of the mean and of the moments"
            )
        own = tuple(as_positive(weight, "a weight") for weight in weights)
        object.__setattr__(self, "weights", own)
        if self.max_dist is not None:
            object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    def ways(self, call: Call) -> tuple[PureDP | GDP, ...]:
        return gaussian_way(call.guarantee, "an interval")

    def mechanism_of(self, design: MomentDesign | VarianceDesign) -> str:
        if isinstance(design, VarianceDesign):
            return _RESTRICTED.mechanism_of(design)
        return flat_mechanism(design.shares[0]).name

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return ()

    def extent(self, call: Call) -> tuple[float, str]:
        return call.ball.radius**2, "radius squared"

    def is_exact(self, call: Call) -> bool:
        return True

    def design_under(
        self, call: Call, way: PureDP | GDP, ball: Ball, n: int
    ) -> MomentDesign | VarianceDesign:
        if n < 2:
            raise ExistenceError("An interval needs at least 2 records, got 1.", smallest_n=2)
        shares, unit = shares_of(way, self.weights), call.records_per_unit
        refuse_fine_noise(ball, n, unit, shares[1], 4, self.max_dist)
        mean = design_mean_under(ball, n, shares[0], unit, None)
        if self.max_dist is None and mean.mean_square >= _LARGE_NOISE * ball.radius**2:
            return _RESTRICTED.design_under(call, way, ball, n)
        return MomentDesign(ball, mean, way, shares[1:])

    def outlook(
        self, call: Call, design: MomentDesign | VarianceDesign, n: int
    ) -> tuple[float, float]:
        if isinstance(design, VarianceDesign):
            return _RESTRICTED.outlook(call, design, n)
        ball = design.ball
        reach = 2 * ball.radius * (1 + BOUNDARY_SLACK)
        reach = reach if self.max_dist is None else min(reach, self.max_dist)
        own = DistanceMoments(self.max_dist)
        noise = own.noise(call, design.shares[0], ball, n, reach)
        # of the first of both, which is the variance
        return noise.scale * reach**2, noise.scale * reach**2 * math.sqrt(2 / math.pi)

    def noise_share(self, call: Call, design: MomentDesign | VarianceDesign, n: int) -> float:
        if not isinstance(design, VarianceDesign):
            return math.nan
        return _RESTRICTED.noise_share(call, design, n)

    def release(self, paid: Paid) -> Releases[VarianceInterval]:
        restricted = self._restricted(paid.only(VarianceDesign))
        found = [self._at_means(paid.only(MomentDesign), restricted is not None), restricted]
        if paid.report is not None:
            paid.report(len(paid), len(paid))
        columns, parts = zip(*[own for own in found if own is not None], strict=True)
        common = columns[0]
        for other in columns[1:]:
            common = {
                name: np.where(np.isnan(own), other[name], own) for name, own in common.items()
            }
        more = {name: common.pop(name) for name in ("lower", "upper")}
        return paid.releases(**common, more=more, parts=sum(parts, ()))

    def _at_means(self, paid: Paid, there_are_others: bool) -> Found | None:
        """Of groups in which the noise of a mean is small: from moments about released means."""
        if there_are_others and not paid.released.any():
            return None
        count, statistic = len(paid), DistanceMoments(self.max_dist)
        cores = [statistic.core(paid.call.manifold)]
        drawn = draw_moments(replace(paid, report=None), Mean(), cores, max_dist=self.max_dist)
        own, square = drawn.moment(statistic.column), drawn.max_dist**2
        moments = paid.part(
            statistic,
            drawn.shares(0),
            value=statistic.finish(drawn),
            base_point=drawn.points,
            **own.noise(),
        )
        ends = np.full((count, 3), np.nan)
        for g, base in drawn.bases().items():
            ends[g] = interval_ends(base, moments.release_at(g), int(paid.n[g]), self.level)
            if paid.report is not None and g % 256 == 0:
                paid.report(g, count)
        assert drawn.means is not None
        numbers = {
            "sensitivity": own.sensitivity * square,
            "solver_tolerance": own.solver_tolerance * square,
            "scale": own.scale * square,
            "expected_error": own.scale * square * math.sqrt(2 / math.pi),
        }
        return _columns(ends, numbers), (drawn.means, moments)

    def _restricted(self, paid: Paid) -> Found | None:
        """Of groups in which it is large: from the variance as the restricted minimum."""
        if not paid.released.any():
            return None
        call = replace(paid.call, statistic=_RESTRICTED, counting=None)
        variances = _RESTRICTED.release(replace(paid, call=call, report=None))
        ends = np.full((len(paid), 3), np.nan)
        for g in np.flatnonzero(paid.released).tolist():
            own = variances.release_at(g).interval(self.level)
            ends[g] = own.lower, own.estimate, own.upper
        names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
        numbers = {name: getattr(variances, name) for name in names}
        return _columns(ends, numbers), (variances,)

    def result(self, releases: Releases[VarianceInterval], index: int) -> VarianceInterval:
        return VarianceInterval(
            lower=float(releases.more["lower"][index]),
            upper=float(releases.more["upper"][index]),
            estimate=float(releases.value[index]),
            level=self.level,
            n=int(releases.n[index]),
            guarantee=releases.guarantee,
            parts=tuple(part.release_at(index) for part in releases.parts if part.released[index]),
        )


def _columns(ends: FloatArray, numbers: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return numbers | {
        "value": ends[:, 1].copy(),
        "lower": ends[:, 0].copy(),
        "upper": ends[:, 2].copy(),
    }


@overload
def variance_interval(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    level: float = 0.95,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    max_dist: float | None = None,
    **call: Unpack[CallOptions],
) -> VarianceInterval: ...
@overload
def variance_interval(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    level: float = 0.95,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    max_dist: float | None = None,
    **call: Unpack[CallOptions],
) -> Releases[VarianceInterval]: ...
@quiet
@hinting
def variance_interval(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    level: float = 0.95,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    max_dist: float | None = None,
    **call: Unpack[CallOptions],
) -> VarianceInterval | Releases[VarianceInterval]:
    """Release a confidence interval for the Fréchet variance of the population.

    The population is that of the records projected on the ball. Where the noise of a private mean
    has a mean square above r^2/10, which public numbers tell, the interval is that of
    `frechet_variance` (`VarianceRelease.interval`), wide but kept; otherwise it rests on a released
    mean and on moments of the distance from it.

    Parameters
    ----------
    records, ball, groups
        As in `frechet_mean`; a data set, or group, needs two records.
    guarantee : GDP, ZCDP or ApproxDP
        Of the whole interval (of each group): its parts compose to it.
    level : float
        Probability of covering the variance.
    weights : pair of float
        Shares of mu^2 of the mean and of the moments of the distance, by default 0.25 and 0.75,
        where they are released.
    max_dist : float, optional
        Public length at which distances from a released mean are clipped; by default r + rho(c, p),
        which never clips. With it the interval always rests on a released mean.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    VarianceInterval, or Releases of intervals with `groups`

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
    >>> interval = variance_interval(records, ball, cdp.GDP(mu=1.0))
    >>> interval.lower <= interval.estimate <= interval.upper
    True
    """
    statistic = Interval(level, as_numbers(weights, "weights"), max_dist)
    return release(statistic, records, ball, guarantee, groups=groups, **call)


def interval_ends(
    base: BasePoint, moments: Release, n: int, level: float
) -> tuple[float, float, float]:
    """Lower end, estimate and upper end from the releases of an interval: post-processing.

    In units of R^2: a is the noisy mean of rho^2, b of rho^4 - rho^2; both carry independent noise
    of standard deviation s and s/c.
    """
    assert base.noise is not None
    ball, reach = base.ball, base.max_dist
    s, c = moments.scale, sensitivity.FOURTH_MOMENT_WEIGHT
    a, fourth = float(moments.value[0]) / reach**2, float(moments.value[1]) / reach**4
    covariance = base.noise.covariance(base.point)
    dim = ball.manifold.dim
    dist = math.sqrt(min(max(a, 0.0), 1.0)) * reach
    stretch = mean_hessian_trace(ball.manifold, dist) / dim
    # the noise of the mean adds tr(H cov) on average, with variance 2 tr((H cov)^2)
    added = stretch * float(np.trace(covariance))
    added_variance = 2 * stretch**2 * float(np.sum(covariance**2))
    estimate = a * reach**2 - added
    estimate += max(estimate, 0.0) / (n - 1)
    # sigma_F^2 = E rho^4 - V^2, whose noisy square is s^2 too large
    squares = fourth - a**2 + s**2
    sigma_f2 = min(max(squares, 0.0), 0.25) * reach**4
    squares_noise = (1 / c**2 + (1 - 2 * a) ** 2) * s**2 * reach**8
    variance = sigma_f2 / n + (s * reach**2) ** 2 + added_variance
    relative = squares_noise / n**2 / variance**2 + 2 / (n - 1)
    quantile = hotelling_quantile(level, 1, effective_dof(1, relative, relative))
    half = math.sqrt(quantile * variance)
    most = (2 * ball.radius) ** 2  # of points in the ball
    return (
        float(min(max(estimate - half, 0.0), most)),
        float(min(max(estimate, 0.0), most)),
        float(max(min(estimate + half, most), 0.0)),
    )
