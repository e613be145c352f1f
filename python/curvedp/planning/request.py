"""The parameters of a plan, and the designs that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp import _core
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.statistics.base_point import MeanNoise
from curvedp.statistics.call import Call
from curvedp.statistics.design import Design, design_mean_under
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.statistic import Statistic
from curvedp.unit import Unit, told_in, unit_of_lengths


@dataclass(frozen=True)
class Request:
    """The parameters of `plan`, checked."""

    ball: Ball
    guarantee: Guarantee
    spread: float | None
    level: float
    tau: float | None
    v_max: float | None
    records_per_unit: int
    mechanism: str | type[Mechanism] | None

    @property
    def unit(self) -> Unit | None:
        """That of lengths."""
        return self.ball.unit or unit_of_lengths(self.ball.manifold)

    @property
    def told_spread(self) -> str:
        return told_in(self.unit)(self.spread)

    def call(self, statistic: Statistic[Any]) -> Call:
        """A call of a statistic with these parameters."""
        return Call(
            statistic=statistic,
            balls=(self.ball,),
            guarantee=self.guarantee,
            records_per_unit=self.records_per_unit,
        )

    def mean_design(self, n: int) -> Design:
        """The design of a mean."""
        statistic = Mean(self.mechanism)
        return statistic.design(self.call(statistic), self.ball, n)

    def mean_error(self, ball: Ball, n: int, share: PureDP | GDP) -> float:
        """Expected error of a mean on a ball for a share of the guarantee."""
        unit, kind = self.records_per_unit, self.mechanism
        return design_mean_under(ball, n, share, unit, kind).mechanism.expected_error

    def shrunk_error(self, n: int, share: PureDP | GDP, radius: float, level: float) -> float:
        """That of an adaptive mean whose last ball has that radius, from a quantile of a level."""
        smaller = Ball(self.ball.manifold, self.ball.center, radius)
        return math.hypot(self.mean_error(smaller, n, share), _core.BIAS * (1 - level) * radius)

    def mean_noise(self, statistic: Statistic[Any], n: int) -> MeanNoise:
        """The noise of the private mean that a statistic rests on."""
        (design,), _ = self.call(statistic).designs(np.array([n], dtype=np.int64), alone=True)
        return MeanNoise.of(design.mean.mechanism, self.ball)
