"""Plans of variances and confidence regions."""

from __future__ import annotations

import math

import numpy as np

from curvedp.planning.plan import Plan
from curvedp.planning.request import Request
from curvedp.statistics.confidence_region import Region, expected_region
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.variance import Variance


def frechet_variance(request: Request, n: int) -> Plan:
    ball, statistic = request.ball, Variance()
    unit = request.unit
    squared = (
        "" if unit is not None and unit.length is not None else ", in squared units of the metric"
    )
    design = statistic.design(request.call(statistic), ball, n)
    least = min(design.least_within, design.within)
    return Plan(
        statistic="frechet_variance",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=design.error(least),
        high=design.error(design.within),
        meaning=f"The error is that of the variance{squared}: least where the records' mean is "
        "the ball's centre, largest where it lies at the edge.",
        radius=None,
    )


def confidence_region(request: Request, n: int) -> Plan:
    ball, dim = request.ball, request.ball.manifold.dim

    def region(spread: float, max_dist: float) -> ConfidenceRegion:
        return expected_region(
            ball,
            n,
            request.guarantee,
            spread=spread,
            max_dist=max_dist,
            level=request.level,
            records_per_unit=request.records_per_unit,
            mechanism=request.mechanism,
        )

    def half_length(expected: ConfidenceRegion) -> float:
        axes, _ = expected.axes()
        return math.exp(sum(map(math.log, axes)) / dim)

    if request.spread is None:
        largest = region(ball.radius, 2 * ball.radius)
        statistic = Region(request.level, mechanism=request.mechanism)
        noise = request.mean_noise(statistic, n).covariance(ball.center)
        known = hotelling_quantile(request.level, dim, math.inf)
        low, high = math.sqrt(known * float(np.trace(noise)) / dim), half_length(largest)
        records = "from the noise of the mean alone to records spread over the ball"
    else:
        low, high = sorted(half_length(region(request.spread, k * ball.radius)) for k in (1, 2))
        records = f"for records at root mean square distance {request.told_spread} from their mean"
    return Plan(
        statistic="confidence_region",
        n=n,
        guarantee=request.guarantee,
        quantity="half-length",
        low=low,
        high=high,
        meaning=f"The half-length is that of the axes of the {100 * request.level:g} % region, "
        f"{records}, alike in all directions.",
        radius=ball.radius,
    )
