"""Plans of geodesic regressions."""

from __future__ import annotations

import numpy as np

from curvedp.planning.plan import Plan
from curvedp.planning.request import Request
from curvedp.regression.choice import expected_choice, longest_velocity
from curvedp.regression.private import GeodesicLine

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


def _adaptive_regression(request: Request, n: int) -> Plan:
    ball = request.ball
    call = request.call(GeodesicLine((0.0, 1.0), v_max=request.v_max))
    (design,), _ = call.designs(np.array([n], dtype=np.int64), alone=True)

    spread = request.spread
    low, high = design.usual_error(0.0), design.usual_error(ball.radius / 2)
    if spread is not None:
        low = high = design.usual_error(spread)
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
        "covariates from the least-squares geodesic's, for covariates spread evenly; a release "
        "says if its steps may not have arrived." + advice,
        radius=ball.radius,
    )
