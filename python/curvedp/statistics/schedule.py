"""Division of an adaptive mean's budget: a function of public values alone.

The rule was found by simulation (benches/adaptive_mean.py; figures in docs/adaptive-mean.md). The
guarantee does not rest on it, since any shares compose to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from curvedp._validation import as_choice, as_count, as_level, as_positive
from curvedp.domain import Ball, check_ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, bounded_range_epsilon, ways_to_meet
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.statistics.design import design_mean_under, least_error

SCHEDULES = ("auto", "one-shot")

#: A quantile is sought this many noise scales (in ranks) below the largest distance ...
_MARGIN = 8.0
#: ... but at a level no higher and no lower than these.
_LEVELS = (0.5, 0.95)


@dataclass(frozen=True)
class Schedule:
    """Shares and levels of an adaptive mean.

    Attributes
    ----------
    weights : tuple of float
        Of the stages mean, radius, mean (, radius, mean ...): shares of epsilon for PureDP, of mu^2
        otherwise, as `Guarantee.split` takes them.
    levels : tuple of float
        Levels of the quantiles of distances, one for each radius.
    shares : tuple of PureDP or GDP
        Guarantees of the stages, of the kind with which the last mean has the smaller error.
    """

    weights: tuple[float, ...]
    levels: tuple[float, ...]
    shares: tuple[PureDP | GDP, ...]


def adaptive_schedule(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
) -> Schedule:
    """The schedule that `adaptive_mean` follows, before any record is seen.

    Let N = n epsilon / records_per_unit (with mu for epsilon, except for PureDP), d the dimension
    and a the expected error of `frechet_mean` over the ball's radius. "auto" gives the first mean m
    of the budget, each radius t, and the last mean the rest:

    - PureDP: m = 0.75 a^(1/3) and t = (2 + sqrt(2/d)) / sqrt(N) of epsilon, if m + t <= 0.52;
    - otherwise: m = 0.85 a^(1/3) and t = max((2 + sqrt(2/d)) / sqrt(N), 25 / N) of mu, if
      m + t <= 1; from N = 80 on there is a second mean, with 0.3 of mu, and a radius about it.

    If the sum is larger, or Laplace noise for the first mean does not exist, one mean takes all.
    Levels are 1 - 8 s / n within [0.5, 0.95], s the scale of the radius's noise in ranks.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    guarantee, schedule, quantile, records_per_unit, mechanism
        As in `adaptive_mean`.

    Returns
    -------
    Schedule

    Raises
    ------
    ExistenceError
        As in `frechet_mean`, for every mean of the schedule.
    ValueError, TypeError
        For wrong parameters.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> plan = adaptive_schedule(ball, 500, cdp.PureDP(epsilon=1.0))
    >>> [round(weight, 2) for weight in plan.weights], round(plan.levels[0], 2)
    ([0.16, 0.13, 0.71], 0.76)
    """
    check_ball(ball)
    count, unit = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    level = None if quantile is None else as_level(quantile, "quantile")
    if isinstance(schedule, str):
        as_choice(schedule, SCHEDULES, "schedule")
    else:
        schedule = check_weights(schedule)
    return least_error(
        ways_to_meet(guarantee, mechanism),
        lambda way: schedule_under(ball, count, way, schedule, level, unit, mechanism),
        lambda found: _mean_error(ball, count, found.shares[-1], unit, mechanism),
    )


@lru_cache(maxsize=4096)
def schedule_under(
    ball: Ball,
    n: int,
    way: PureDP | GDP,
    schedule: str | tuple[float, ...],
    quantile: float | None,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Schedule:
    """The schedule of noise calibrated to `way`, kept for the next chunk of a batch."""

    def expected_error(share: PureDP | GDP) -> float:
        return _mean_error(ball, n, share, records_per_unit, mechanism)

    if schedule == "auto":
        error = expected_error(way) / ball.radius
        weights = _automatic(way, n / records_per_unit, ball.manifold.dim, error)
    else:
        weights = (1.0,) if isinstance(schedule, str) else schedule
    shares = way.split(weights)
    least = shares[2 * weights[::2].index(min(weights[::2]))]
    try:
        expected_error(least)
        if schedule != "auto":  # the finest noise must not be too fine
            expected_error(shares[2 * weights[::2].index(max(weights[::2]))])
    except ExistenceError as error:
        if schedule != "auto":
            raise error.of_whole(least, way) from None
        weights, shares = (1.0,), way.split((1.0,))
    levels = tuple(
        _level(n * bounded_range_epsilon(share) / records_per_unit)
        if quantile is None
        else quantile
        for share in shares[1::2]
    )
    return Schedule(weights, levels, tuple(shares))


def _mean_error(
    ball: Ball,
    n: int,
    share: PureDP | GDP,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> float:
    """Expected error of a mean on the public ball."""
    design = design_mean_under(ball, n, share, records_per_unit, mechanism)
    return design.mechanism.expected_error


def _automatic(budget: PureDP | GDP, n: float, dim: int, error: float) -> tuple[float, ...]:
    """Weights by the rule; `error` is the expected error of one mean over the ball's radius."""
    size = min(n * (budget.epsilon if isinstance(budget, PureDP) else budget.mu), 1e12)
    radius = (2 + math.sqrt(2 / dim)) / math.sqrt(size)
    if isinstance(budget, PureDP):
        mean = 0.75 * error ** (1 / 3)
        return (mean, radius, 1 - mean - radius) if mean + radius <= 0.52 else (1.0,)
    mean, radius = 0.85 * error ** (1 / 3), max(radius, 25 / size)
    if mean + radius > 1:
        return (1.0,)
    early = (mean, radius, 0.3, radius) if size >= 80 else (mean, radius)
    squares = tuple(share * share for share in early)
    return (*squares, 1 - sum(squares))


def check_weights(schedule: Sequence[float]) -> tuple[float, ...]:
    """Weights of an odd number of stages."""
    try:
        weights = tuple(as_positive(weight, "a weight of the schedule") for weight in schedule)
    except TypeError:
        weights = ()
    if len(weights) % 2 == 0:
        words = ", ".join(map(repr, SCHEDULES))
        raise ValueError(
            f"schedule must be {words} or an odd number of positive weights: mean, radius, mean ..."
        )
    return weights


def _level(n_epsilon: float) -> float:
    """The highest level that a radius of noise scale 2 n / n_epsilon ranks can aim at."""
    low, high = _LEVELS
    return min(high, max(low, 1 - 2 * _MARGIN / n_epsilon))
