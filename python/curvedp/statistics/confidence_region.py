"""Private confidence regions for the Fréchet mean (Jiang et al., Theorem 4 and Corollary 1).

    phi(p) - phi(mean of the population) ~ N(0, Gamma),   Gamma = H^-1 S H^-1 / n + noise of p

with S the second moment of the logarithms and H = I + G the mean Hessian of half the squared
distance, both at the private mean p. Three releases: p, S, H; on flat manifolds H = I is known.
Derivation and corrections: docs/proofs/confidence-region.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_numbers, as_positive, as_probability
from curvedp.curvature import has_curved_hessian, mean_hessian_trace
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, ways_to_meet
from curvedp.mechanisms.choice import draws_exactly
from curvedp.privacy import GDP, Guarantee, PureDP, Release
from curvedp.statistics.base_point import BasePoint, MeanNoise
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.design import Design, design_mean_under, shares_of
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.log_moments import (
    DrawnMoments,
    MomentDesign,
    MomentNoise,
    draw_moments,
    flat_mechanism,
    refuse_fine_noise,
)
from curvedp.statistics.moments import LogCovariance, MeanHessian, check_hessian
from curvedp.statistics.paid import Paid
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.region_spread import NoisyMatrix, Spread
from curvedp.statistics.release import release
from curvedp.statistics.releases import NOISE_COLUMNS, Releases
from curvedp.statistics.statistic import Calibrated, Statistic

#: Shares of mu^2 of the mean, the covariance and the Hessian.
DEFAULT_WEIGHTS = (0.75, 0.2, 0.05)


@dataclass(frozen=True)
class Region(Calibrated[ConfidenceRegion]):
    """A confidence region as a value; `confidence_region` releases it.

    Parameters
    ----------
    level, weights, max_dist, mechanism
        As in `confidence_region`.

    Examples
    --------
    >>> Region(level=0.9).options()
    {'level': 0.9, 'weights': None, 'max_dist': None, 'mechanism': None}
    """

    title: ClassVar[str] = "confidence region of the Fréchet mean"
    word: ClassVar[str | None] = "region"
    takes_unknown_n: ClassVar[bool] = True
    infers: ClassVar[bool] = True

    level: float = 0.95
    weights: tuple[float, ...] | None = None
    max_dist: float | None = None
    mechanism: str | type[Mechanism] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", as_probability(self.level, "level"))
        if self.weights is not None:
            weights = as_numbers(self.weights, "weights")
            own = tuple(as_positive(weight, "a weight") for weight in weights)
            object.__setattr__(self, "weights", own)
        if self.max_dist is not None:
            object.__setattr__(self, "max_dist", as_positive(self.max_dist, "max_dist"))

    @cached_property
    def mean(self) -> Mean:
        """The statistic of its first part."""
        return Mean(self.mechanism)

    @cached_property
    def _matrices(self) -> tuple[LogCovariance, MeanHessian]:
        return LogCovariance(self.max_dist), MeanHessian(self.max_dist)

    def moments(self, call: Call) -> tuple[LogCovariance | MeanHessian, ...]:
        """The statistics of its further parts: the Hessian is known on flat manifolds."""
        return self._matrices if has_curved_hessian(call.manifold) else self._matrices[:1]

    def ways(self, call: Call) -> tuple[PureDP | GDP, ...]:
        return gaussian_way(call.guarantee, "a region")

    def shares(self, call: Call, way: PureDP | GDP) -> tuple[PureDP | GDP, ...]:
        """Shares of the mean, the covariance and, where it is not known, the Hessian.

        Parameters
        ----------
        call : Call
        way : PureDP or GDP
            The guarantee that they compose to.
        """
        needed = 1 + len(self.moments(call))
        weights = DEFAULT_WEIGHTS[:needed] if self.weights is None else self.weights
        if len(weights) != needed:
            names = "the mean, the covariance" + (" and the Hessian" if needed == 3 else "")
            raise ValueError(f"weights must be {needed} positive numbers, the shares of {names}")
        return shares_of(way, tuple(weights))

    def check(self, call: Call) -> None:
        (way,) = self.ways(call)
        replace(call, statistic=self.mean, guarantee=self.shares(call, way)[0])  # checks the mean

    def mechanism_of(self, design: MomentDesign) -> str:
        assert design.mean is not None
        return design.mean.mechanism.name

    def is_exact(self, call: Call) -> bool:
        return draws_exactly(self.mechanism)

    def design_under(self, call: Call, way: PureDP | GDP, ball: Ball, n: int) -> MomentDesign:
        least = ball.manifold.dim + 2
        if n < least:
            raise ExistenceError(
                f"A region on {ball.manifold.spec} needs at least {least} records, got {n}.",
                smallest_n=least,
            )
        check_hessian(ball, self.max_dist)
        shares, unit = self.shares(call, way), call.records_per_unit
        for share in shares[1:]:
            refuse_fine_noise(ball, n, unit, share, 2, self.max_dist)
        mean = design_mean_under(ball, n, shares[0], unit, self.mechanism)
        return MomentDesign(ball, mean, way, shares[1:])

    def outlook(self, call: Call, design: MomentDesign, n: int) -> tuple[float, float]:
        assert design.mean is not None
        return design.mean.mechanism.scale, design.mean.mechanism.expected_error

    def noise_share(self, call: Call, design: MomentDesign, n: int) -> float:
        assert design.mean is not None
        return design.mean.noise_share

    def release(self, paid: Paid) -> Releases[ConfidenceRegion]:
        moments = self.moments(paid.call)
        cores = [own.core(paid.call.manifold) for own in moments]
        drawn = draw_moments(replace(paid, report=None), self.mean, cores, max_dist=self.max_dist)
        assert drawn.means is not None
        bases = drawn.bases()
        parts = [_moment_part(drawn, bases, own, stage) for stage, own in enumerate(moments)]
        return self._regions(paid, bases, (drawn.means, *parts))

    def _regions(
        self, paid: Paid, bases: dict[int, BasePoint], parts: tuple[Releases[Release], ...]
    ) -> Releases[ConfidenceRegion]:
        """The regions, from their parts alone: post-processing."""
        count, dim = len(paid), paid.call.manifold.dim
        chart_point = np.full((count, *paid.call.manifold.point_shape), np.nan)
        covariance = np.full((count, dim, dim), np.nan)
        quantile, dof = np.full(count, np.nan), np.full(count, np.nan)
        for g, base in bases.items():
            moments = [NoisyMatrix(part.value[g], float(part.scale[g])) for part in parts[1:]]
            spread = Spread.of(base, moments, int(paid.n[g]))
            chart_point[g], covariance[g], dof[g] = spread.chart_point, spread.gamma, spread.dof()
            quantile[g] = hotelling_quantile(self.level, dim, float(dof[g]))
            if paid.report is not None and g % 256 == 0:
                paid.report(g, count)
        if paid.report is not None:
            paid.report(count, count)
        names = (*NOISE_COLUMNS, "solver_tolerance")
        return paid.releases(
            value=parts[0].value,
            **{name: getattr(parts[0], name) for name in names},
            more={
                "chart_point": chart_point,
                "covariance": covariance,
                "quantile": quantile,
                "dof": dof,
            },
            parts=parts,
        )

    def result(self, releases: Releases[ConfidenceRegion], index: int) -> ConfidenceRegion:
        more = releases.more
        return ConfidenceRegion(
            manifold=releases.call.manifold.spec,
            estimate=releases.value[index],
            chart_point=more["chart_point"][index],
            covariance=more["covariance"][index],
            quantile=float(more["quantile"][index]),
            dof=float(more["dof"][index]),
            level=self.level,
            n=int(releases.n[index]),
            guarantee=releases.guarantee,
            parts=tuple(part.release_at(index) for part in releases.parts),
        )


def gaussian_way(guarantee: Guarantee, what: str) -> tuple[GDP]:
    """The Gaussian guarantee that implies `guarantee`: intervals and regions count on its noise.

    Raises
    ------
    TypeError
        For PureDP.
    """
    way = ways_to_meet(guarantee)[0]
    if isinstance(way, PureDP):
        raise TypeError(f"{what} needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
    return (way,)


def _moment_part(
    drawn: DrawnMoments,
    bases: dict[int, BasePoint],
    moment: LogCovariance | MeanHessian,
    stage: int,
) -> Releases[Release]:
    """The releases of a matrix that regions rest on."""
    paid, own = drawn.paid, drawn.moment(moment.column, stage)
    dim = paid.call.manifold.dim
    value = np.full((len(paid), dim, dim), np.nan)
    for g, base in bases.items():
        value[g] = moment.finish_one(base, own.noisy[g])
    return paid.part(
        moment,
        drawn.shares(stage),
        value=value,
        base_point=drawn.points,
        **own.noise(),
    )


@overload
def confidence_region(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> ConfidenceRegion: ...
@overload
def confidence_region(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Releases[ConfidenceRegion]: ...
@quiet
@hinting
def confidence_region(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> ConfidenceRegion | Releases[ConfidenceRegion]:
    """Release a confidence region for the Fréchet mean of the population.

    The population is that of the records projected on the ball. The privacy guarantee holds for
    every n; the level is reached as n grows (docs/proofs/confidence-region.md has the coverage at
    n = 600 for all budgets).

    Parameters
    ----------
    records, ball, groups
        As in `frechet_mean`; a data set, or group, needs dim + 2 records.
    guarantee : GDP, ZCDP or ApproxDP
        Of the whole region (of each group): its parts compose to it.
    level : float
        Probability of covering the mean; the regions of many groups together hold theirs with less.
    weights : sequence of float, optional
        Shares of mu^2 of the mean, the covariance of the logarithms and (on curved manifolds) the
        mean Hessian; by default 0.75, 0.2, 0.05.
    max_dist : float, optional
        Public length R at which logarithms are clipped; by default r + rho(c, p), which never
        clips.
    mechanism : str or Mechanism class, optional
        Noise to use instead of the default for the guarantee and the manifold, see
        `choose_mechanism`. It is that of the mean.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
        As in `frechet_mean`.

    Returns
    -------
    ConfidenceRegion, or Releases of regions with `groups`

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
    >>> region = confidence_region(records, ball, cdp.GDP(mu=1.0))
    >>> bool(region.contains(region.estimate)), region.axes()[0].shape
    (True, (2,))
    """
    statistic = Region(
        level, None if weights is None else as_numbers(weights, "weights"), max_dist, mechanism
    )
    return release(statistic, records, ball, guarantee, groups=groups, **call)


def expected_region(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    spread: float,
    max_dist: float,
    level: float,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> ConfidenceRegion:
    """The region about the ball's centre if all parts equal their values without noise.

    For records at root mean square distance `spread` from their mean, evenly in all directions, and
    logarithms clipped at `max_dist`.
    """
    statistic, dim = Region(level, mechanism=mechanism), ball.manifold.dim
    call = Call(
        statistic=statistic, balls=(ball,), guarantee=guarantee, records_per_unit=records_per_unit
    )
    (way,) = statistic.ways(call)
    shares = statistic.shares(call, way)
    design = design_mean_under(ball, n, shares[0], records_per_unit, mechanism)
    kind = type(design.mechanism).name
    mean = _planned(call, n, shares[0], kind, statistic.mean, ball.center, _noise_of(design))
    noise = MeanNoise.of(design.mechanism, ball)
    base = BasePoint(ball, ball.center, ball.frame.origin[None], max_dist, mean.value, noise)
    hessian = mean_hessian_trace(ball.manifold, spread) / dim * np.eye(dim)
    second = spread**2 / dim * np.eye(dim)
    second += hessian @ noise.covariance(base.point) @ hessian
    parts = []
    for moment, share in zip(statistic.moments(call), shares[1:], strict=True):
        value = second if isinstance(moment, LogCovariance) else 2 * hessian
        own = moment.noise(call, share, ball, n, max_dist)
        kind = flat_mechanism(share).name
        parts.append(_planned(call, n, share, kind, moment, value, own))
    found = Spread.of(base, [NoisyMatrix(part.value, part.scale) for part in parts], n)
    dof = found.dof()
    return ConfidenceRegion(
        manifold=ball.manifold.spec,
        estimate=ball.center,
        chart_point=found.chart_point,
        covariance=found.gamma,
        quantile=hotelling_quantile(level, dim, dof),
        dof=dof,
        level=level,
        n=n,
        guarantee=guarantee,
        parts=(mean, *parts),
    )


def _noise_of(design: Design) -> MomentNoise:
    """The noise of a mean."""
    noise = design.mechanism
    return MomentNoise(design.sensitivity, design.plan.tolerance, noise.scale, noise.expected_error)


def _planned(
    call: Call,
    n: int,
    share: PureDP | GDP,
    mechanism: str,
    statistic: Statistic[Any],
    value: FloatArray,
    noise: MomentNoise,
) -> Release:
    """A part of a region as it is expected before there are records."""
    is_exact = statistic.is_exact(call)
    return Release(
        value=value,
        guarantee=share,
        calibrated_to=share,
        mechanism=mechanism,
        statistic=statistic.title,
        manifold=call.manifold.spec,
        ball_center=call.ball.center,
        ball_radius=call.ball.radius,
        ball_unit=call.ball.unit,
        n=n,
        records_per_unit=call.records_per_unit,
        sensitivity=noise.sensitivity,
        solver_tolerance=noise.tolerance,
        scale=noise.scale,
        expected_error=noise.expected_error,
        assumptions=frozenset() if is_exact else frozenset({"idealized-sampling"}),
    )
