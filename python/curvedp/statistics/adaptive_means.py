"""Private adaptive means of many disjoint groups in one call.

Each group is released as `adaptive_mean` releases a data set, stage by stage and bit for bit, with
streams of noise of its own. Proof: docs/proofs/adaptive-mean.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_choice, as_level
from curvedp.domain import Ball
from curvedp.mechanisms import (
    MECHANISMS,
    Mechanism,
    RankExponential,
    choose_mechanism,
)
from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.grid import STEPS_PER_SCALE, clip_limit
from curvedp.mechanisms.rank_exponential import rank_scale
from curvedp.mechanisms.tangent_gaussian import TangentGaussian
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP, Release, Unproved
from curvedp.statistics.adaptive_mean import SMALLEST_SHRINKAGE, inflation
from curvedp.statistics.entry import native
from curvedp.statistics.frechet_mean import TOLERANCE_SHARE, Design
from curvedp.statistics.frechet_means import MeanPlan
from curvedp.statistics.group_plan import (
    Designs,
    GroupPlan,
    Names,
    Offsets,
    Progress,
    as_balls,
    mean_design,
    mechanism_word,
    promise,
    release_each,
    sizes_of,
)
from curvedp.statistics.group_releases import NOISE_COLUMNS, GroupReleases
from curvedp.statistics.schedule import (
    SCHEDULES,
    Schedule,
    adaptive_schedule,
    check_weights,
)

#: Numbers of a stage's block beside two points: the ball's radius and four more.
_NUMBERS = 5


@dataclass(frozen=True, kw_only=True)
class AdaptivePlan(GroupPlan["AdaptiveReleases"]):
    """What the adaptive means of groups are released with."""

    statistic: ClassVar[str] = "adaptive Fréchet mean"

    schedule: str | tuple[float, ...] = "auto"
    quantile: float | None = None
    mechanism: str | type[Mechanism] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in MECHANISMS.values():
            raise ValueError(f"groups have no adaptive mean with {self.kind.__name__}")
        if isinstance(self.schedule, str):
            as_choice(self.schedule, SCHEDULES, "schedule")
        else:
            check_weights(self.schedule)
        if self.quantile is not None:
            as_level(self.quantile, "quantile")

    @property
    def kind(self) -> type[Mechanism]:
        """The mechanism of every mean."""
        return choose_mechanism(self.balls[0], self.guarantee, self.mechanism)

    @property
    def mechanism_name(self) -> str:
        return self.kind.name

    def options(self) -> dict[str, Any]:
        own = self.schedule
        schedule = own if isinstance(own, str) else [float(weight) for weight in own]
        return {
            "schedule": schedule,
            "quantile": None if self.quantile is None else float(self.quantile),
            "mechanism": mechanism_word(self.mechanism),
        }

    @property
    def value_shape(self) -> tuple[int, ...]:
        return tuple(self.manifold.point_shape)

    def outlook(self, design: Design, n: int) -> tuple[float, float]:
        ball = design.mechanism.ball
        last = self._mean(ball, n, self.shares(ball, n)[-1])
        return last.mechanism.scale, last.mechanism.expected_error

    @property
    def extent(self) -> float:
        return self.balls[0].radius

    def _mean_keywords(self) -> tuple[Guarantee, str | type[Mechanism] | None]:
        return self.guarantee, self.mechanism

    def schedule_of(self, ball: Ball, n: int) -> Schedule:
        """The stages of a group of n records."""
        return _schedule(
            ball,
            n,
            self.guarantee,
            self.schedule,
            self.quantile,
            self.records_per_unit,
            self.mechanism,
        )

    def shares(self, ball: Ball, n: int) -> tuple[PureDP | GDP, ...]:
        """Guarantees of the stages."""
        return self._split(self.schedule_of(ball, n))

    def _split(self, schedule: Schedule) -> tuple[PureDP | GDP, ...]:
        return native(self.guarantee).split(schedule.weights)

    def design(self, ball: Ball, n: int) -> Design:
        schedule = self.schedule_of(ball, n)
        self._stages(schedule)  # raises where a radius has no noise
        return self._mean(ball, n, self._split(schedule)[0])

    def _mean(self, ball: Ball, n: int, share: Guarantee) -> Design:
        return mean_design(ball, n, share, self.records_per_unit, self.mechanism)

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
    ) -> AdaptiveReleases:
        found, choice = designs
        count, size, n = len(offsets) - 1, self.manifold.point_size, np.diff(offsets)
        schedules = [
            None if design is None else self.schedule_of(design.mechanism.ball, number)
            for number, design in zip(sizes_of(n, designs), found, strict=True)
        ]
        stages = [self._stages(schedule) for schedule in schedules if schedule is not None]
        shares = [() if own is None else self._split(own) for own in schedules]
        lengths = np.array([max(len(own), 1) for own in shares], dtype=np.int64)
        blocks = int(lengths.max(initial=1))
        width = 2 * size + _NUMBERS
        out = np.empty((count, blocks, width))
        self.groups(offsets, designs, names).adaptive_means(
            data.reshape(len(data), size),
            self._rule(),
            stages,
            keys,
            None if report is None else lambda done: report(done, count),
            out.reshape(count, blocks * width),
        )
        last = out[np.arange(count), lengths[choice] - 1]
        sensitivity, tolerance, scale, error = last[:, 2 * size + 1 :].T.copy()
        return AdaptiveReleases(
            value=last[:, :size].reshape(count, *self.value_shape),
            guarantee=promise(self.guarantee, seed),
            mechanism=self.mechanism_name,
            statistic=self.statistic,
            sensitivity=sensitivity,
            solver_tolerance=tolerance,
            scale=scale,
            expected_error=error,
            radius=last[:, 2 * size].copy(),
            shares=shares,
            choice=choice,
            stages=out,
            **self.described(n, designs, seed),
        )

    def _stages(self, schedule: Schedule) -> list[tuple[float, float, float]]:
        """Level of each quantile, its noise in ranks, and the share of the mean after it."""
        shares = self._split(schedule)
        after = zip(schedule.levels, shares[1::2], shares[2::2], strict=True)
        return [
            (level, rank_scale(radius, self.records_per_unit), _amount(mean))
            for level, radius, mean in after
        ]

    def _rule(self) -> _core.AdaptiveRule:
        chart = issubclass(self.kind, ChartGaussian)
        space = ("flat", self.manifold.dim, 0.0) if chart else self.manifold.noise_space
        return _core.AdaptiveRule(
            chart,
            space,
            issubclass(self.kind, TangentGaussian),
            TOLERANCE_SHARE,
            clip_limit(self.manifold),
            STEPS_PER_SCALE,
            isinstance(native(self.guarantee), PureDP),
            float(self.records_per_unit),
            SMALLEST_SHRINKAGE,
            inflation(self.manifold),
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AdaptiveReleases(GroupReleases):
    """Adaptive means of groups: as `GroupReleases`, with the stages of each.

    Attributes
    ----------
    radius : ndarray, shape (groups,)
        Radius of the ball on which each group's last mean was taken.
    shares : list of tuple of Guarantee
        To what the stages of each schedule in use are calibrated.
    choice : ndarray of int, shape (groups,)
        The number of each group's schedule.
    stages : ndarray, shape (groups, stages, 2 point_size + 5)
        A point, the centre and the radius of the ball that a stage used, and of a mean sensitivity,
        tolerance, scale and expected error, of a radius itself; NaN beyond a group's last stage.
    """

    radius: FloatArray
    shares: list[tuple[PureDP | GDP, ...]]
    choice: NDArray[np.int32]
    stages: FloatArray

    def columns(self) -> dict[str, FloatArray]:
        noise = {name: getattr(self, name) for name in NOISE_COLUMNS}
        return {"value": self.value, "radius": self.radius} | noise

    def _parts_of(self, index: int) -> tuple[Release, ...]:
        shares = self.shares[int(self.choice[index])]
        return tuple(self._stage(index, stage, share) for stage, share in enumerate(shares))

    def _stage(self, index: int, stage: int, share: PureDP | GDP) -> Release:
        ball = self.balls[0 if len(self.balls) == 1 else index]
        shape, size = ball.manifold.point_shape, ball.manifold.point_size
        block = self.stages[index, stage]
        point, center = block[:size].reshape(shape), block[size : 2 * size].reshape(shape)
        radius, *numbers = block[2 * size :].tolist()
        described: dict[str, Any] = {
            "guarantee": promise(share, 0 if isinstance(self.guarantee, Unproved) else None),
            "manifold": ball.manifold.spec,
            "ball_center": center,
            "ball_radius": radius,
            "n": int(self.n[index]),
            "records_per_unit": self.records_per_unit,
            "assumptions": self.assumptions,
        }
        if stage % 2:
            return Release(
                value=np.array(numbers[0]),
                mechanism=RankExponential.name,
                statistic="quantile of distances",
                sensitivity=float(self.records_per_unit),
                solver_tolerance=0.0,
                scale=rank_scale(share, self.records_per_unit),
                expected_error=None,
                base_point=point,
                **described,
            )
        names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
        return Release(
            value=point,
            mechanism=self.mechanism,
            statistic=MeanPlan.statistic,
            **dict(zip(names, numbers, strict=True)),
            **described,
        )


@lru_cache(maxsize=4096)
def _schedule(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    schedule: str | tuple[float, ...],
    quantile: float | None,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Schedule:
    """A schedule, kept for the next chunk."""
    return adaptive_schedule(
        ball,
        n,
        guarantee,
        schedule=schedule,
        quantile=quantile,
        records_per_unit=records_per_unit,
        mechanism=mechanism,
    )


def _amount(share: PureDP | GDP) -> float:
    return share.epsilon if isinstance(share, PureDP) else share.mu


def adaptive_means(
    points: ArrayLike,
    offsets: ArrayLike,
    balls: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    ledger: Ledger | None = None,
    mechanism: str | type[Mechanism] | None = None,
    pass_over: bool = False,
    secret: NoiseSecret | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> GroupReleases:
    """Release the adaptive mean of every group of records, each under differential privacy.

    Group g holds the records ``points[offsets[g]:offsets[g + 1]]``; what is said of groups in
    `frechet_means` holds here too, and what is said of stages in `adaptive_mean`: groups of few
    records have one stage, larger ones three or five, as `adaptive_schedule` says.

    Parameters
    ----------
    points, offsets, balls
        As in `frechet_means`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What all stages of each group shall satisfy together.
    schedule, quantile, mechanism
        As in `adaptive_mean`.
    records_per_unit, groups_per_unit, ledger, pass_over, secret, names, seed, progress
        As in `frechet_means`.

    Returns
    -------
    GroupReleases
        `value` holds the last means, `radius` the radii of the balls that they were taken on; the
        release of a group has those of its stages as `parts`.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means` and `adaptive_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (510, 1))
    >>> releases = cdp.adaptive_means(records, [0, 10, 510], ball, cdp.GDP(mu=1.0))
    >>> [len(release.parts) for release in releases]
    [1, 5]
    >>> bool((releases.radius <= 0.7).all())
    True
    """
    plan = AdaptivePlan(
        balls=as_balls(balls),
        guarantee=guarantee,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        schedule=schedule if isinstance(schedule, str) else tuple(schedule),
        quantile=quantile,
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
