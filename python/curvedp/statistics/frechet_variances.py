"""Private Fréchet variances of many disjoint groups in one call.

Each group is released as `frechet_variance` releases a data set: a private mean, the mean squared
distance from it with noise, less what the mean's own noise adds, bit for bit, with streams of noise
of its own. Proof: docs/proofs/frechet-variance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray, as_reach
from curvedp.curvature import hessian_trace
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import Mechanism, choose_mechanism
from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP
from curvedp.statistics.dispersion import DEFAULT_WEIGHTS
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
    promise,
    release_each,
    sizes_of,
)
from curvedp.statistics.group_releases import GroupReleases


@dataclass(frozen=True, kw_only=True)
class VariancePlan(GroupPlan[GroupReleases]):
    """What the variances of groups are released with."""

    statistic: ClassVar[str] = "Fréchet variance"

    weights: tuple[float, ...] = DEFAULT_WEIGHTS
    max_dist: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.weights) != 2:
            raise ValueError(
                "weights must be two positive numbers: of the mean and of the statistic"
            )
        self.shares()
        if self.max_dist is not None:
            as_reach(self.max_dist, "max_dist")

    def shares(self) -> tuple[PureDP | GDP, ...]:
        """Guarantees of the mean and of the mean squared distance."""
        return native(self.guarantee).split(self.weights)

    @property
    def mean_kind(self) -> type[Mechanism]:
        """The mechanism of every group's mean."""
        return choose_mechanism(self.balls[0], self.shares()[0])

    @property
    def mechanism_name(self) -> str:
        line = Ball(Euclidean(1), [0.0], 1.0)
        return choose_mechanism(line, self.shares()[1]).name

    def options(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "max_dist": self.max_dist}

    @property
    def value_shape(self) -> tuple[int, ...]:
        return ()

    def outlook(self, design: Design, n: int) -> tuple[float, float]:
        noise = self._noise(n, self._reach(design.mechanism.ball, 2.0))
        return noise.scale, noise.expected_error

    @property
    def extent(self) -> float:
        return self.balls[0].radius ** 2

    def _mean_keywords(self) -> tuple[Guarantee, str | type[Mechanism] | None]:
        return self.shares()[0], None

    def design(self, ball: Ball, n: int) -> Design:
        design = super().design(ball, n)
        for factor in (1.0, 2.0):  # noise that cannot be drawn is refused before a record is seen
            self._noise(n, self._reach(ball, factor))
        return design

    def _reach(self, ball: Ball, factor: float) -> float:
        """The length at which distances are clipped: a factor from 1 to 2 times the radius."""
        reach = factor * ball.radius * (1 + BOUNDARY_SLACK)
        return reach if self.max_dist is None else min(reach, self.max_dist)

    def _noise(self, n: int, reach: float) -> Mechanism:
        """The noise of the mean squared distance where distances are at most `reach`."""
        return _line_noise(self.shares()[1], self._moved(n), n, reach)

    def _moved(self, n: int) -> float:
        """The share of n records that a unit replaces."""
        unit = Ball(Euclidean(1), [0.0], 1.0)
        return sensitivity.frechet_variance(
            unit, n, max_dist=1.0, records_per_unit=self.records_per_unit
        )

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
    ) -> GroupReleases:
        found, choice = designs
        count, size, shape = len(offsets) - 1, self.manifold.point_size, self.manifold.point_shape
        n = np.diff(offsets)
        sizes = sizes_of(n, designs)
        share, kind = self.shares()[1], self.mean_kind
        public = [
            (self._moved(number), _mean_noise(design, kind))
            for number, design in zip(sizes, found, strict=True)
            if design is not None
        ]
        out = np.empty((count, 2 * size + 3))
        self.groups(offsets, designs, names).variances(
            data.reshape(len(data), size),
            issubclass(kind, ChartGaussian),
            public,
            (True, share.epsilon) if isinstance(share, PureDP) else (False, share.mu),
            np.inf if self.max_dist is None else self.max_dist,
            STEPS_PER_SCALE,
            hessian_trace(self.manifold),
            keys,
            None if report is None else lambda done: report(done, count),
            out,
        )
        described = self.described(n, designs, seed)
        means = GroupReleases(
            value=out[:, 1 : 1 + size].reshape(count, *shape),
            guarantee=promise(self.shares()[0], seed),
            mechanism=kind.name,
            statistic=MeanPlan.statistic,
            **mean_columns(designs),
            **described,
        )
        largest, scale = out[:, -2] * out[:, -2], out[:, -1].copy()
        moved = np.array([self._moved(number) for number in sizes])
        rounding = np.array([_core.summation_error(number) for number in sizes])
        unit = _core.Noise("flat", 1, 0.0, _profile(share), 1.0)
        return GroupReleases(
            value=out[:, 0].copy(),
            guarantee=promise(self.guarantee, seed),
            mechanism=self.mechanism_name,
            statistic=self.statistic,
            sensitivity=largest * moved[choice],
            solver_tolerance=rounding[choice] * largest,
            scale=scale,
            expected_error=unit.expected_dist * scale,
            base_point=out[:, 1 + size : 1 + 2 * size].reshape(count, *shape),
            parts=(means,),
            **described,
        )


@lru_cache(maxsize=4096)
def _line_noise(share: PureDP | GDP, moved: float, n: int, reach: float) -> Mechanism:
    """Noise of a mean squared distance of n records, a share of which moves by reach^2 at most."""
    largest = reach * reach
    total = largest * moved + 2 * (_core.summation_error(n) * largest)
    line = Ball(Euclidean(1), [0.0], largest)
    return choose_mechanism(line, share)(line, total, share)


def _profile(share: PureDP | GDP) -> str:
    return "laplace" if isinstance(share, PureDP) else "gaussian"


def _mean_noise(design: Design, kind: type[Mechanism]) -> float:
    """Mean squared length of the mean's noise; of one coordinate, where it is drawn in a chart."""
    noise = design.mechanism
    if issubclass(kind, ChartGaussian):
        return noise.scale * noise.scale
    return noise._noise.root_mean_square_dist * noise._noise.root_mean_square_dist


def frechet_variances(
    points: ArrayLike,
    offsets: ArrayLike,
    balls: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    max_dist: float | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    ledger: Ledger | None = None,
    pass_over: bool = False,
    secret: NoiseSecret | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> GroupReleases:
    """Release the Fréchet variance of every group of records, each with its private mean.

    Group g holds the records ``points[offsets[g]:offsets[g + 1]]``; what is said of groups in
    `frechet_means` holds here too, and what is said of variances in `frechet_variance`: the value
    is (1/n) sum_i rho(p, x_i)^2 with noise, p the private mean, less what the noise of p adds.

    Parameters
    ----------
    points, offsets, balls
        As in `frechet_means`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What mean and variance of each group shall satisfy together.
    max_dist : float, optional
        Public length R at which distances are clipped; by default r + rho(c, p), which never clips.
    weights : pair of float
        Shares of the budget (of mu^2 for GDP) of the mean and of the variance.
    records_per_unit, groups_per_unit, ledger, pass_over, secret, names, seed, progress
        As in `frechet_means`.

    Returns
    -------
    GroupReleases
        `value` has shape (groups,), in squared units of the metric; ``parts[0]`` holds the private
        means.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_means`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> releases = cdp.frechet_variances(records, [0, 200, 600], ball, cdp.GDP(mu=1.0))
    >>> releases.value.shape, releases.parts[0].value.shape
    ((2,), (2, 3))
    >>> [part.statistic for part in releases[1].parts]
    ['Fréchet mean']
    """
    plan = VariancePlan(
        balls=as_balls(balls),
        guarantee=guarantee,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        weights=tuple(weights),
        max_dist=max_dist,
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
