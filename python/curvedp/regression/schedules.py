"""Shares of the budget of an adaptive geodesic regression.

Proof: docs/proofs/adaptive-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from curvedp.privacy import GDP, PureDP


@dataclass(frozen=True)
class Cycle:
    """Steps at one clipping length.

    Attributes
    ----------
    quantile : float
        Share of the budget for the quantile that the length is taken from; 0 for a public length.
    steps : tuple of pair
        Share of the budget and length of each step.
    fall : float
        How far the public length of residuals has fallen from half the radius, 0, to `tau`, 1.
    """

    quantile: float
    steps: tuple[tuple[float, float], ...]
    fall: float = 1.0


@dataclass(frozen=True)
class Schedule:
    """Shares of the budget.

    Attributes
    ----------
    moments : float
        Of the second moments of covariates.
    leverages : float
        Of the means of cut leverages.
    cycles : tuple of Cycle
    meat : float
        Of the second moments of contributions.
    reserve : float
        Units that a quantile leaves above it, in scales of its own noise: more of them make it
        rarer that it lies beyond all.
    """

    moments: float
    leverages: float
    cycles: tuple[Cycle, ...]
    meat: float
    reserve: float = 16.0

    @property
    def measures(self) -> bool:
        """True if covariates are measured; otherwise they count as spread evenly."""
        return self.moments > 0.0

    def weights(self) -> list[float]:
        """Of all stages in turn."""
        found = [self.moments, self.leverages] if self.measures else []
        for cycle in self.cycles:
            found += [cycle.quantile] if cycle.quantile else []
            found += [share for share, _ in cycle.steps]
        return [*found, self.meat]


_GAUSSIAN = Schedule(
    0.11,
    0.08,
    (
        Cycle(0.07, ((0.05, 1.0), (0.05, 1.0))),
        Cycle(0.06, ((0.07, 1.0),)),
        Cycle(0.10, tuple((0.12, 1 / k) for k in (1, 2, 3))),
    ),
    0.09,
)
#: The same for budgets at which measuring costs little.
_GAUSSIAN_RICH = Schedule(
    0.03,
    0.035,
    (
        Cycle(0.03, ((0.02, 1.0), (0.02, 1.0))),
        Cycle(0.02, ((0.03, 1.0),)),
        Cycle(0.07, tuple((0.25, 1 / k) for k in (1, 2, 3))),
    ),
    0.04,
    reserve=20.0,
)
_PURE = Schedule(
    0.14, 0.08, (Cycle(0.07, ((0.13, 1.0),)), Cycle(0.08, ((0.15, 1.0), (0.34, 1.0)))), 0.07
)
#: Where the length of residuals is given.
_GAUSSIAN_GIVEN = Schedule(
    0.12,
    0.08,
    (
        Cycle(0.0, ((0.06, 1.0),), 0.0),
        Cycle(0.0, ((0.06, 1.0),), 0.5),
        Cycle(0.0, ((0.08, 1.0), *((0.18, 1 / k) for k in (1, 2, 3)))),
    ),
    0.07,
)
_PURE_GIVEN = Schedule(
    0.14,
    0.08,
    (
        Cycle(0.0, ((0.14, 1.0),), 0.0),
        Cycle(0.0, ((0.14, 1.0),), 0.5),
        Cycle(0.0, ((0.14, 1.0), (0.32, 1.0))),
    ),
    0.07,
)
#: The same for Gaussian budgets too small to measure covariates, and to travel at longer lengths.
_GAUSSIAN_SHORT = Schedule(
    0.0, 0.0, (Cycle(0.0, ((0.25, 1.0), (0.25, 1.0), (0.25, 1.0), (0.25, 1 / 2))),), 0.05
)
#: Noise of a step with the whole budget over its clipping length, beyond which steps may not
#: arrive: with a public length of residuals, and without.
_GAUSSIAN_NOISE = {True: 0.1, False: 0.06}
_PURE_NOISE = {True: 0.03, False: 0.02}
#: The same, below which measuring costs little.
_RICH = 0.003


def noise_ratio(n: int, size: int, way: PureDP | GDP, units: int) -> float:
    """Root mean square noise of one step with the whole budget, over its clipping length."""
    share = 2 * units / n
    if isinstance(way, PureDP):
        return share * math.sqrt(size * (size + 1)) / way.epsilon
    return share * math.sqrt(size) / way.mu


def is_short(ratio: float, pure: bool, given: bool) -> bool:
    """True if a `noise_ratio` is too large for steps to arrive; `given`: residuals' length is."""
    return ratio > (_PURE_NOISE if pure else _GAUSSIAN_NOISE)[given]


def schedule_for(ratio: float, pure: bool, given: bool) -> Schedule:
    """The shares of the budget for a `noise_ratio`."""
    if not given:
        return _PURE if pure else _GAUSSIAN_RICH if ratio < _RICH else _GAUSSIAN
    if pure:
        return _PURE_GIVEN
    return _GAUSSIAN_SHORT if is_short(ratio, pure, given) else _GAUSSIAN_GIVEN
