"""Plans of means."""

from __future__ import annotations

import math

import scipy

import curvedp
from curvedp import _core
from curvedp.errors import ExistenceError
from curvedp.planning.plan import Plan
from curvedp.planning.request import Request
from curvedp.privacy import PureDP
from curvedp.statistics.adaptive_mean import AdaptiveDesign, AdaptiveMean, combined_error
from curvedp.statistics.frechet_mean import Mean
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.schedule import is_stretched, radius_laws, steepness
from curvedp.statistics.search_design import whole_of
from curvedp.sums.noise import mean_length


def frechet_mean(request: Request, n: int) -> Plan:
    design = request.mean_design(n)
    return Plan(
        statistic="frechet_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=design.error_at(0.0),
        high=design.error_at(request.ball.radius),
        meaning="The error is the distance from the exact mean of the projected records: least "
        "where that is the ball's centre, largest where it lies at the edge.",
        radius=request.ball.radius,
    )


#: Noise of a mean without a ball, in that of one sum with the whole budget at a clip level of one
#: spread: least, and its growth with the number of records where distances have an exponential
#: tail, Gaussian and pure. Measured: see docs/measured/no-ball.md.
_CLIP, _PURE_CLIP = (1.8, 1.3, 10.0), (2.8, 1.55, 45.0)


def located_mean(request: Request, n: int) -> Plan:
    if request.spread is None:
        raise ValueError(
            "without a ball the error follows from how far the records spread: give spread, a "
            "guess of their root mean square distance from the mean"
        )
    statistic, space = LocatedMean(), request.ball.manifold
    call = request.call(statistic)
    design = statistic.design(call, request.ball, n)
    statistic.refuse_few(call, design, n)
    amount = n * whole_of(design.way) / request.records_per_unit
    moved = 2.0 if design.way.neighbours == "replace" else 1.0
    is_pure = isinstance(design.way, PureDP)
    length, known = (space.dim, amount / moved) if is_pure else (mean_length(space.dim), amount)
    unit = moved * request.spread * length / amount
    least, growth, start = _PURE_CLIP if is_pure else _CLIP
    largest = max(least, growth * (1.0 + math.log(max(known / start, 1.0))))
    return Plan(
        statistic="frechet_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=least * unit,
        high=largest * unit,
        meaning=(
            "Mean distance from the mean of the records, where no ball is given: for records of "
            f"like distances, and for an exponential tail, at spread {request.told_spread}."
        ),
        radius=None,
    )


def adaptive_mean(request: Request, n: int) -> Plan:
    ball, statistic = request.ball, AdaptiveMean(mechanism=request.mechanism)
    design = statistic.design(request.call(statistic), ball, n)
    if request.spread is None:
        errors = _adaptive_error(request, design, n, 0.0), _largest_error(request, design, n)
        records = "least where the records are all one, largest where they fill the public ball"
    else:
        errors = (_adaptive_error(request, design, n, request.spread),) * 2
        records = f"for normal records at root mean square distance {request.told_spread} from it"
    one = Mean(request.mechanism)
    alone = one.design(request.call(one), ball, n).mechanism
    advice = ""
    if not design.schedule.levels:
        advice = (
            " It is one mean: with so many records and this guarantee no smaller ball is sought."
        )
    elif request.spread is not None and errors[0] >= alone.expected_error:
        advice = (
            f" Take frechet_mean, whose expected error is {alone.expected_error:.3g}: records of "
            "this spread fill the ball."
        )
    return Plan(
        statistic="adaptive_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=errors[0],
        high=errors[1],
        meaning="The error is the distance from the mean of the records projected on the public "
        f"ball, {records}. It is an estimate and no bound: a few records far from the others may "
        f"move that mean unseen.{advice}",
        radius=ball.radius,
    )


def _adaptive_error(request: Request, design: AdaptiveDesign, n: int, spread: float) -> float:
    """Expected error for normal records about the ball's centre, at that spread."""
    ball, dim, stretched = request.ball, request.ball.manifold.dim, is_stretched(design.first)
    shares, unit = design.schedule.shares[::2], request.records_per_unit
    reached, largest = (share * ball.radius for share in _core.EXPECTED_SHRINKAGE)
    on_public, error = [request.mean_error(ball, n, shares[0])], math.nan
    for law, share in zip(radius_laws(ball, design.schedule, unit), shares[1:], strict=True):
        level = law.level_at(steepness(ball, stretched, reached))
        length = spread * math.sqrt(float(scipy.stats.chi2.ppf(level, dim)) / dim)
        radius = min(max(length, law.low), law.high) * law.factor
        reached, error = min(radius, largest), math.nan
        try:
            if radius < law.top:
                error = request.shrunk_error(n, share, radius, level)
        except ExistenceError:  # double precision does not serve that ball
            pass
        if math.isnan(error):
            on_public.append(request.mean_error(ball, n, share))
    return combined_error(on_public) if math.isnan(error) else error


def _largest_error(request: Request, design: AdaptiveDesign, n: int) -> float:
    """Expected error where the public ball is just kept, or the last one just smaller."""
    ball, schedule = request.ball, design.schedule
    first, last = (request.mean_error(ball, n, schedule.shares[end]) for end in (0, -1))
    if not schedule.levels:
        return first
    largest = _core.EXPECTED_SHRINKAGE[1] * ball.radius
    law = radius_laws(ball, schedule, request.records_per_unit)[-1]
    level = law.level_at(steepness(ball, is_stretched(design.first), largest))
    kept = combined_error([first, last])
    return max(kept, request.shrunk_error(n, schedule.shares[-1], law.top, level))


def conformal_mean(request: Request, n: int) -> Plan:
    ball, statistic = request.ball, curvedp.conformal.ConformalMean()
    low, high = statistic.design(request.call(statistic), ball, n).errors
    return Plan(
        statistic="conformal_mean",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=low,
        high=high,
        meaning="The error is the distance from the exact mean of the projected records: least if "
        "the records are nowhere dense and that is the ball's centre, largest if they are densest "
        "about it and it lies at the edge.",
        radius=ball.radius,
    )
