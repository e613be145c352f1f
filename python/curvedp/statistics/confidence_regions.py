"""Private confidence regions of many disjoint groups in one call.

Each group is released as `confidence_region` releases a data set, bit for bit, with its own streams
of noise: its private mean, the second moment of the logarithms and, where it is not known, the
mean Hessian. What is drawn from the records is drawn in compiled code for all groups together; the
region itself is computed from these releases alone, one group after the other.
Proofs: docs/proofs/log-moments.md, docs/proofs/confidence-region.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray, as_probability, as_reach
from curvedp.curvature import has_curved_hessian, hessian_diameter
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, TangentGaussian, choose_mechanism
from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP
from curvedp.statistics.base_point import BasePoint, MeanNoise
from curvedp.statistics.confidence_region import assemble, region_weights
from curvedp.statistics.entry import native
from curvedp.statistics.frechet_mean import Design
from curvedp.statistics.frechet_means import MeanPlan
from curvedp.statistics.group_plan import (
    Designs,
    GroupPlan,
    Names,
    Offsets,
    Progress,
    as_balls,
    mean_columns,
    mechanism_word,
    promise,
    release_each,
    sizes_of,
)
from curvedp.statistics.group_releases import NOISE_COLUMNS, GroupReleases, GroupResults
from curvedp.statistics.moments import COVARIANCE, HESSIAN, finish_covariance, finish_hessian
from curvedp.statistics.region import ConfidenceRegion


@dataclass(frozen=True, kw_only=True)
class RegionPlan(GroupPlan["GroupRegions"]):
    """What the confidence regions of groups are released with."""

    statistic: ClassVar[str] = "confidence region of the Fréchet mean"

    level: float = 0.95
    weights: tuple[float, ...] | None = None
    max_dist: float | None = None
    mechanism: str | type[Mechanism] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.guarantee, PureDP):
            raise TypeError("a region needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
        as_probability(self.level, "level")
        self.shares()
        if self.max_dist is not None:
            as_reach(self.max_dist, "max_dist")
        self.mean_kind  # noqa: B018 - raises for a mechanism that does not fit

    def shares(self) -> tuple[GDP, ...]:
        """Guarantees of the mean, the second moment and, where it is not known, the Hessian."""
        weights = region_weights(self.weights, self.is_curved, "proved")
        shares = native(self.guarantee).split(weights)
        return tuple(share for share in shares if isinstance(share, GDP))

    @property
    def is_curved(self) -> bool:
        """Whether the Hessian of the squared distance is to be released."""
        return has_curved_hessian(self.manifold)

    @property
    def mean_kind(self) -> type[Mechanism]:
        """The mechanism of every group's mean."""
        return choose_mechanism(self.balls[0], self.shares()[0], self.mechanism)

    @property
    def mechanism_name(self) -> str:
        return self.mean_kind.name

    def options(self) -> dict[str, Any]:
        return {
            "level": float(self.level),
            "weights": None if self.weights is None else list(self.weights),
            "max_dist": self.max_dist,
            "mechanism": mechanism_word(self.mechanism),
        }

    @property
    def value_shape(self) -> tuple[int, ...]:
        return tuple(self.manifold.point_shape)

    def outlook(self, design: Design, n: int) -> tuple[float, float]:
        return design.mechanism.scale, design.mechanism.expected_error

    @property
    def extent(self) -> float:
        return self.balls[0].radius

    def _mean_keywords(self) -> tuple[Guarantee, str | type[Mechanism] | None]:
        return self.shares()[0], self.mechanism

    def design(self, ball: Ball, n: int) -> Design:
        least = ball.manifold.dim + 2
        if n < least:
            raise ExistenceError(
                f"A region on {ball.manifold.spec} needs at least {least} records.",
                smallest_n=least,
            )
        sensitivity.mean_hessian(ball, n, max_dist=self.max_dist)  # raises where it has no bound
        return super().design(ball, n)

    def _moved(self, n: int) -> float:
        """The share of n records that a unit replaces."""
        return min(1.0, self.records_per_unit / n)

    def release(
        self,
        data: FloatArray,
        offsets: Offsets,
        designs: Designs,
        keys: _core.GroupKeys,
        *,
        names: Names | None = None,
        seed: int | None = None,
        report: Progress | None = None,
    ) -> GroupRegions:
        found, choice = designs
        count, size, dim = len(offsets) - 1, self.manifold.point_size, self.manifold.dim
        n, triangle = np.diff(offsets), dim * (dim + 1) // 2
        inner_size = self.balls[0]._frame.manifold.point_size
        sizes = sizes_of(n, designs)
        used = [own for own, design in zip(sizes, found, strict=True) if design is not None]
        widths = [size, size, inner_size, 3, triangle, *([triangle] if self.is_curved else [])]
        out = np.empty((count, sum(widths)))
        mu = [share.mu for share in self.shares()]
        self.groups(offsets, designs, names).regions(
            data.reshape(len(data), size),
            issubclass(self.mean_kind, ChartGaussian),
            [self._moved(own) for own in used],
            (mu[1], mu[2] if self.is_curved else None),
            np.inf if self.max_dist is None else self.max_dist,
            STEPS_PER_SCALE,
            hessian_diameter(self.manifold),
            keys,
            None,
            out,
        )
        mean, kept, inner, numbers, *coords = np.split(out, np.cumsum(widths)[:-1], axis=1)
        reach, *scales = numbers.T
        described = self.described(n, designs, seed)
        shape = self.manifold.point_shape
        means = GroupReleases(
            value=mean.reshape(count, *shape),
            guarantee=promise(self.shares()[0], seed),
            mechanism=self.mean_kind.name,
            statistic=MeanPlan.statistic,
            **mean_columns(designs),
            **described,
        )
        points = kept.reshape(count, *shape)
        bases = {
            g: BasePoint(
                self.balls[0 if len(self.balls) == 1 else g],
                points[g],
                np.ascontiguousarray(inner[g : g + 1]),
                float(reach[g]),
                means[g],
                self._mean_noise(g, found[choice[g]]),
            )
            for g in np.flatnonzero(means.released).tolist()
        }
        moved = np.array([self._moved(own) for own in sizes])[choice]
        moments = []
        for stage, noisy in enumerate(coords):
            value = np.full((count, dim, dim), np.nan)
            finish = (finish_covariance, finish_hessian)[stage]
            for g, base in bases.items():
                value[g] = finish(base, noisy[g])
            magnitude, bound, errors = self._public(stage, reach, sizes)
            noise = _core.Noise("flat", triangle, 0.0, "gaussian", 1.0)
            moments.append(
                GroupReleases(
                    value=value,
                    guarantee=promise(self.shares()[stage + 1], seed),
                    mechanism=TangentGaussian.name,
                    statistic=(COVARIANCE, HESSIAN)[stage],
                    sensitivity=bound * moved,
                    solver_tolerance=errors[choice] * magnitude,
                    scale=scales[stage].copy(),
                    expected_error=noise.expected_dist * scales[stage],
                    base_point=points,
                    **described,
                )
            )
        parts = (means, *moments)
        return self._regions(bases, parts, seed, report, described)

    def _mean_noise(self, g: int, design: Design | None) -> MeanNoise:
        """The noise of a group's mean, on the group's own ball."""
        assert design is not None
        return MeanNoise.of(design.mechanism, self.balls[0 if len(self.balls) == 1 else g])

    def _public(
        self, stage: int, reach: FloatArray, sizes: list[int]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bounds on a moment's norm and on its change, and the relative rounding of its sums."""
        if stage == 0:
            square = reach * reach
            errors = [_core.summation_error(n) for n in sizes]
            magnitude = math.sqrt(self.manifold.dim + 1) * square
            return magnitude, math.sqrt(2) * square, np.array(errors)
        diameter = hessian_diameter(self.manifold)
        assert diameter is not None
        bound = np.array([2 * diameter.within(dist) for dist in reach.tolist()])
        inner = self.balls[0]._frame.manifold
        return bound, bound, np.array([inner.hessian_error(n) for n in sizes])

    def _regions(
        self,
        bases: dict[int, BasePoint],
        parts: tuple[GroupReleases, ...],
        seed: int | None,
        report: Progress | None,
        described: dict[str, Any],
    ) -> GroupRegions:
        """The regions, from their parts alone."""
        count, dim = len(parts[0]), self.manifold.dim
        chart_point = np.full((count, *self.manifold.point_shape), np.nan)
        covariance = np.full((count, dim, dim), np.nan)
        quantile, dof = np.full(count, np.nan), np.full(count, np.nan)
        guarantee = promise(self.guarantee, seed)
        for done, (g, base) in enumerate(bases.items()):
            moments = [part[g] for part in parts[1:]]
            region = assemble(base, moments, int(parts[0].n[g]), self.level, guarantee)
            chart_point[g], covariance[g] = region.chart_point, region.covariance
            quantile[g], dof[g] = region.quantile, region.dof
            if report is not None and done % 256 == 0:
                report(g, count)
        if report is not None:
            report(count, count)
        return GroupRegions(
            estimate=parts[0].value,
            chart_point=chart_point,
            covariance=covariance,
            quantile=quantile,
            dof=dof,
            level=self.level,
            parts=parts,
            guarantee=guarantee,
            **described,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupRegions(GroupResults):
    """One confidence region per group; ``regions[g]`` is the `ConfidenceRegion` of group g.

    Attributes
    ----------
    estimate, chart_point : ndarray, shape (groups, *point_shape)
    covariance : ndarray, shape (groups, dim, dim)
    quantile, dof : ndarray, shape (groups,)
        As in `ConfidenceRegion`; NaN for groups that were passed over.
    level : float
    parts : tuple of GroupReleases
        The means, the second moments of the logarithms and, where they are not known, the Hessians.
    n, released, balls, guarantee, total, records_per_unit, groups_per_unit, assumptions
        As in `GroupReleases`.
    """

    estimate: FloatArray
    chart_point: FloatArray
    covariance: FloatArray
    quantile: FloatArray
    dof: FloatArray
    level: float
    parts: tuple[GroupReleases, ...]

    def columns(self) -> dict[str, FloatArray]:
        names = ("chart_point", "covariance", "quantile", "dof")
        region = {name: getattr(self, name) for name in names}
        noise = {name: getattr(self.parts[0], name) for name in NOISE_COLUMNS}
        return {"value": self.estimate} | region | noise

    def __iter__(self) -> Iterator[ConfidenceRegion]:
        return (self[group] for group in range(len(self)))

    def __getitem__(self, group: int) -> ConfidenceRegion:
        index = self._index(group)
        return ConfidenceRegion(
            manifold=self.balls[0].manifold.spec,
            estimate=self.estimate[index],
            chart_point=self.chart_point[index],
            covariance=self.covariance[index],
            quantile=float(self.quantile[index]),
            dof=float(self.dof[index]),
            level=self.level,
            n=int(self.n[index]),
            guarantee=self.guarantee,
            parts=tuple(part[index] for part in self.parts),
        )

    def __repr__(self) -> str:
        return f"<GroupRegions: {int(self.released.sum())} groups, {self.guarantee!r} each>"


def confidence_regions(
    points: ArrayLike,
    offsets: ArrayLike,
    balls: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    ledger: Ledger | None = None,
    pass_over: bool = False,
    secret: NoiseSecret | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> GroupRegions:
    """Release a confidence region for the Fréchet mean of every group's population.

    Group g holds the records ``points[offsets[g]:offsets[g + 1]]``; what is said of groups in
    `frechet_means` holds here too, and what is said of regions in `confidence_region`. Each region
    holds its mean with the given level; all of them together hold theirs with less.

    Parameters
    ----------
    points, offsets, balls
        As in `frechet_means`; a group needs dim + 2 records.
    guarantee : GDP, ZCDP or ApproxDP
        What each whole region shall satisfy.
    level, weights, max_dist, mechanism
        As in `confidence_region`.
    records_per_unit, groups_per_unit, ledger, pass_over, secret, names, seed, progress
        As in `frechet_means`.

    Returns
    -------
    GroupRegions

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means` and `confidence_region`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((600, 3)))
    >>> regions = cdp.confidence_regions(records, [0, 200, 600], ball, cdp.GDP(mu=1.0))
    >>> regions.covariance.shape, regions[1].n
    ((2, 2, 2), 400)
    """
    plan = RegionPlan(
        balls=as_balls(balls),
        guarantee=guarantee,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        level=level,
        weights=None if weights is None else tuple(weights),
        max_dist=max_dist,
        mechanism=mechanism,
        pass_over=bool(pass_over),
    )
    return release_each(
        plan,
        points,
        offsets,
        ledger=ledger,
        secret=secret,
        names=names,
        seed=seed,
        progress=progress,
    )
