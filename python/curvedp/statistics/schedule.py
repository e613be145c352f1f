"""Division of an adaptive mean's budget, and its radii: functions of public values alone.

The rule was found by simulation (benches/adaptive_mean.py; docs/measured/adaptive-mean.md). The
guarantee does not rest on it, since any shares compose to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from curvedp import _core
from curvedp._validation import as_choice, as_count, as_level, as_positive
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, bounded_range_epsilon, ways_to_meet
from curvedp.mechanisms.rank_exponential import rank_scale
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.statistics.design import Design, design_mean_under, least_error

SCHEDULES = ("auto", "one-shot", "adaptive")

#: Radii are sought from this fraction of the public ball's on, up to twice that one ...
_SMALLEST = 1e-3
#: ... for a further centre this many noise scales (in ranks) below the largest distance, but at a
#: level no higher and no lower than these ...
_EARLY_MARGIN, _EARLY_LEVELS = 8.0, (0.5, 0.95)
#: ... and for the last mean this many below it at least, which for the rule must be no more than
#: this share of the records.
_MARGIN, _MOST = 5.0, 0.25
#: From a quantile to the last radius, and from the largest such radius to the end of the interval.
_INFLATION, _ROOM = 1.06, 1.25
#: A last ball is taken where its noise is less than this fraction of that on the public ball.
_WORTH = 0.85
#: Radius, over the public one, at which noise is about proportional to it.
_SMALL = 0.3
#: Largest shares of the last radius: of mu, and of epsilon for PureDP.
_LAST_RADIUS = {GDP: 0.35, PureDP: 0.1}


@dataclass(frozen=True)
class Schedule:
    """Shares and levels of an adaptive mean.

    Attributes
    ----------
    weights : tuple of float
        Of the stages mean, radius, mean (, radius, mean ...): shares of epsilon for PureDP, of mu^2
        otherwise, as `Guarantee.split` takes them.
    levels : tuple of float
        Levels of the quantiles of distances, one for each radius; where the ball before the last
        mean is large in positive curvature that is lower, at least 0.9.
    shares : tuple of PureDP or GDP
        Guarantees of the stages, of the kind with which the last mean has the smaller error.
    slope : float
        Rise of the last mean's expected error with the radius of a small ball. That share of the
        records outside makes noise and worst bias together least.
    top : float
        Radius from which on the last mean is taken on the public ball.
    """

    weights: tuple[float, ...]
    levels: tuple[float, ...]
    shares: tuple[PureDP | GDP, ...]
    slope: float
    top: float


@dataclass(frozen=True)
class RadiusLaw:
    """Law of a radius.

    Attributes
    ----------
    level : float
        Highest level of the quantile of distances; `level_at` says where it is lower.
    slope : float
        As in `Schedule`; 0 for radii before the last.
    scale : float
        Of the quantile's noise, in ranks.
    low, high : float
        The quantile is sought in this interval, log-uniformly.
    factor : float
        From the quantile to the radius.
    top : float
        From this radius on the public ball is kept.
    """

    level: float
    slope: float
    scale: float
    low: float
    high: float
    factor: float
    top: float

    def level_at(self, steepness: float) -> float:
        """The level where noise rises so many times as fast as in flat space.

        Parameters
        ----------
        steepness : float
        """
        return min(self.level, 1 - min(self.slope * steepness, _core.MOST_OUTSIDE))


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

    Let N = n epsilon / records_per_unit (with mu for epsilon, except for PureDP), d the dimension,
    a the expected error of `frechet_mean` over the ball's radius r, b its slope in the radius (b =
    a on flat space), n b the records that one may leave outside, t = (2 + sqrt(2/d)) / sqrt(N), and
    s the scale of the last radius's noise in ranks. The rule gives the first mean m of the budget,
    the last radius h, and the last mean the rest:

    - PureDP: m = 0.75 a^(1/3), h = 10/(n b epsilon), between t and 0.1, of epsilon;
    - otherwise: m = 0.85 a^(1/3), h = 6.3/(n b mu), between u = max(t, 25/N) and 0.35, of mu;
      between them a radius with u of mu and a second mean with 0.3, for a better centre.

    The last ball leaves K = max(n b', 5 s, 1) records outside, b' the slope for the last mean's
    share: level 1 - K/n. One mean takes all if K > n/4, if m + h > 0.45 (PureDP), m + u > 1 or the
    last mean's mu^2 is below half of the whole, or if Laplace noise for the first mean does not
    exist. "auto" follows the rule but for PureDP, where it gains nothing on average: there it takes
    one mean, and "adaptive" insists.

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
    >>> plan = adaptive_schedule(ball, 500, cdp.GDP(mu=1.0))
    >>> [round(weight, 2) for weight in plan.weights], [round(q, 2) for q in plan.levels]
    ([0.02, 0.02, 0.09, 0.12, 0.75], [0.85, 0.96])
    >>> adaptive_schedule(ball, 500, cdp.PureDP(epsilon=1.0)).weights
    (1.0,)
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

    def design(share: PureDP | GDP) -> Design:
        return design_mean_under(ball, n, share, records_per_unit, mechanism)

    def slope(share: PureDP | GDP) -> float:
        return _slope(ball, n, share, records_per_unit, mechanism)

    by_rule = schedule == "adaptive" or (schedule == "auto" and isinstance(way, GDP))
    if isinstance(schedule, str):
        weights: tuple[float, ...] = (1.0,)
        error = design(way).mechanism.expected_error / ball.radius
        if by_rule:
            weights = _automatic(way, n, records_per_unit, ball.manifold.dim, error, slope(way))
    else:
        weights = schedule
    shares: tuple[PureDP | GDP, ...] = tuple(way.split(weights))
    means = sorted(zip(weights[::2], range(0, len(weights), 2), strict=True))
    try:
        design(shares[means[0][1]])
        if not by_rule:  # the finest noise must not be too fine
            design(shares[means[-1][1]])
    except ExistenceError as refusal:
        if not by_rule:
            raise refusal.of_whole(shares[means[0][1]], way) from None
        shares = ()
    one_mean = Schedule((1.0,), (), tuple(way.split((1.0,))), 0.0, ball.radius)
    if len(shares) < 2:
        return one_mean
    ranks = [records_per_unit / (n * bounded_range_epsilon(share)) for share in shares[1::2]]
    rise = slope(shares[-1]) if quantile is None else 0.0
    outside = max(rise, 2 * _MARGIN * ranks[-1], 1 / n)
    if by_rule and quantile is None and outside > _MOST:
        return one_mean
    levels = (*map(_early_level, ranks[:-1]), 1 - min(outside, 0.5))
    if quantile is not None:
        levels = (quantile,) * len(ranks)
    return Schedule(weights, levels, shares, rise, _top(ball, is_stretched(design(shares[0]))))


def radius_laws(ball: Ball, schedule: Schedule, records_per_unit: int) -> list[RadiusLaw]:
    """Law of each radius of a schedule.

    Parameters
    ----------
    ball : Ball
        The public one.
    schedule : Schedule
    records_per_unit : int

    Raises
    ------
    ValueError
        Where a radius has no noise.
    """
    low, radius = _SMALLEST * ball.radius, ball.radius
    scales = [rank_scale(share, records_per_unit) for share in schedule.shares[1::2]]
    wider = 1 + 0.4 / math.sqrt(ball.manifold.dim)
    found = [
        RadiusLaw(level, 0.0, scale, low, 2 * radius, wider, radius)
        for level, scale in zip(schedule.levels, scales, strict=True)
    ]
    if found:
        high = _ROOM * schedule.top / _INFLATION
        found[-1] = RadiusLaw(
            schedule.levels[-1], schedule.slope, scales[-1], low, high, _INFLATION, schedule.top
        )
    return found


def is_stretched(design: Design) -> bool:
    """True if the noise's scale counts the Lipschitz constant of the chart at the centre."""
    return design.mechanism.stretched


def steepness(ball: Ball, stretched: bool, radius: float) -> float:
    """Rise of the noise's scale with the radius, over that in flat space.

    With an upper curvature bound kappa > 0 and a = radius sqrt(kappa) the derivative of tan(a),
    `stretched` of a/cos(a); else 1.

    Parameters
    ----------
    ball : Ball
    stretched : bool
        See `is_stretched`.
    radius : float
    """
    angle = radius * math.sqrt(max(ball.manifold.curvature_bounds[1], 0.0))
    cosine = math.cos(angle)
    return (cosine + angle * math.sin(angle) if stretched else 1.0) / cosine**2


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


def _slope(
    ball: Ball,
    n: int,
    share: PureDP | GDP,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> float:
    """Rise of a mean's expected error with the radius of a small ball."""
    try:
        small = Ball(ball.manifold, ball.center, _SMALL * ball.radius)
        design = design_mean_under(small, n, share, records_per_unit, mechanism)
    except (ExistenceError, ValueError):  # double precision does not serve such a ball
        small, design = ball, design_mean_under(ball, n, share, records_per_unit, mechanism)
    return design.mechanism.expected_error / _relative_scale(
        small, is_stretched(design), small.radius
    )


def _relative_scale(ball: Ball, stretched: bool, radius: float) -> float:
    """The noise's scale on a ball of that radius over that on a small one of radius 1."""
    root = math.sqrt(max(ball.manifold.curvature_bounds[1], 0.0))
    if root == 0.0:
        return radius
    angle = radius * root
    return radius / math.cos(angle) if stretched else math.tan(angle) / root


def _top(ball: Ball, stretched: bool) -> float:
    """The radius at which noise falls to a fraction of that on the public ball."""
    wished = _WORTH * _relative_scale(ball, stretched, ball.radius)
    low, high = 0.0, ball.radius
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if _relative_scale(ball, stretched, middle) < wished else (low, middle)
        )
    return low


def _automatic(
    budget: PureDP | GDP, n: int, records_per_unit: int, dim: int, error: float, slope: float
) -> tuple[float, ...]:
    """Weights by the rule; `error` is the expected error of one mean over the ball's radius."""
    amount = budget.epsilon if isinstance(budget, PureDP) else budget.mu
    size = min(n / records_per_unit * amount, 1e12)
    radius = (2 + math.sqrt(2 / dim)) / math.sqrt(size)
    # so that its margin is about as many records as the slope asks for
    wished = 2 * _MARGIN * records_per_unit / (n * slope * amount)
    most = _LAST_RADIUS[type(budget)]
    if isinstance(budget, PureDP):
        mean, last = 0.75 * error ** (1 / 3), min(most, max(radius, wished))
        return (mean, last, 1 - mean - last) if mean + last <= 0.45 else (1.0,)
    mean, radius = 0.85 * error ** (1 / 3), max(radius, 25 / size)
    # bounded range epsilon is 1.6 mu
    last = min(most, max(radius, math.sqrt(math.pi / 8) * wished))
    squares = tuple(share * share for share in (mean, radius, 0.3, last))
    rest = 1 - sum(squares)
    return (*squares, rest) if mean + radius <= 1 and rest >= 0.5 else (1.0,)


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


def _early_level(ranks: float) -> float:
    """The highest level that a radius of noise scale 2 n `ranks` can aim at."""
    low, high = _EARLY_LEVELS
    return min(high, max(low, 1 - 2 * _EARLY_MARGIN * ranks))
