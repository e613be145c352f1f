"""Plans of geodesic regressions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from curvedp.errors import ExistenceError
from curvedp.planning.plan import Plan
from curvedp.planning.request import Request
from curvedp.regression.adaptive_design import AdaptiveDesign
from curvedp.regression.choice import expected_choice, longest_velocity
from curvedp.regression.private import GeodesicLine
from curvedp.statistics.design import smallest_n

#: Errors of a regression up to this share of tau are as computed for flat space, within a third.
_ARRIVES = 0.25


def geodesic_regression(request: Request, n: int) -> Plan:
    ball = request.ball
    if request.tau is None:
        return _adaptive_regression(request, n)
    sampler, error = expected_choice(
        ball,
        n,
        request.guarantee,
        tau=request.tau,
        v_max=request.v_max,
        records_per_unit=request.records_per_unit,
    )
    drawn = {"whitened": "clipped Gauss-Newton steps", "exact": "an exact draw"}[sampler]
    extent = ball.radius + longest_velocity(ball, request.v_max, exact=True) / 4
    return Plan(
        statistic="geodesic_regression",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=error,
        high=error if error <= _ARRIVES * request.tau else extent,
        meaning=f"The error is the root mean square distance of predictions from the best ones, by "
        f"{drawn}, on flat space, for covariates spread evenly over their range"
        + ("." if error <= _ARRIVES * request.tau else "; the noise is large beside tau."),
        radius=ball.radius,
    )


def _design(request: Request, n: int) -> AdaptiveDesign:
    call = request.call(GeodesicLine((0.0, 1.0), v_max=request.v_max))
    (design,), _ = call.designs(np.array([n], dtype=np.int64), alone=True)
    found: AdaptiveDesign = design
    return found


def _adaptive_regression(request: Request, n: int) -> Plan:
    ball, spread = request.ball, request.spread
    design = _design(request, n)
    residual = ball.radius / 2 if spread is None else spread

    def is_enough(count: int) -> bool:
        try:
            return _design(request, count).is_likely_seen(residual)
        except ExistenceError:
            return False

    low, high = design.usual_error(spread or 0.0), design.usual_error(residual)
    advice = ""
    if design.is_short:
        advice = (
            " Measuring the scale takes much of this budget: give tau, if about the largest "
            "residual is known, and a range no wider than the covariate's."
        )
    return Plan(
        statistic="geodesic_regression",
        n=n,
        guarantee=request.guarantee,
        quantity="expected error",
        low=low,
        high=high,
        meaning="The error is the root mean square distance of predictions at the records' "
        "covariates from the least-squares geodesic's, for covariates spread evenly. "
        + _told_likely(n, is_enough)
        + advice,
        radius=ball.radius,
    )


def _told_likely(n: int, is_enough: Callable[[int], bool]) -> str:
    """Whether a release of n records is likely to print an error and p-values."""
    wide = "wider ranges than the covariates' need more."
    if is_enough(n):
        return f"So many records are likely to give errors and p-values; {wide}"
    least = smallest_n(is_enough, "no number of records gives p-values", least=n + 1)
    return (
        "A release of so few records is likely to say that its steps may not have arrived, and to "
        f"give no error, no band and no p-value; one of {least:,} is likely to give them; {wide}"
    )
