"""Mechanisms and the private Fréchet mean as measurements of OpenDP (an extra).

`Mechanism.to_opendp` maps a point of a ball to a noisy point, with the geodesic distance as metric;
`make_frechet_mean` maps a data set to its private mean, with OpenDP's change-one distance. OpenDP
composes and converts them; the losses that it adds up are those that curvedp prints on a release.

OpenDP has no measure for Gaussian DP: mu-GDP enters as mu^2/2-zCDP. Nor does it check that an
argument belongs to a domain of the user's own: the measurements project points and records on the
ball, so that every argument does.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from curvedp import sensitivity
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism, ways_to_meet
from curvedp.mechanisms.measurement import domain_name, loss, opendp_prelude, output_measure
from curvedp.privacy import Guarantee
from curvedp.statistics.design import design_mean_under, least_error
from curvedp.statistics.frechet_mean import frechet_mean

__all__ = ["make_frechet_mean", "to_opendp"]


def __dir__() -> list[str]:
    return sorted(__all__)


def to_opendp(mechanism: Mechanism) -> Any:
    """A mechanism as a measurement of OpenDP; described at `Mechanism.to_opendp`.

    Parameters
    ----------
    mechanism : Mechanism

    Returns
    -------
    opendp.mod.Measurement

    Raises
    ------
    MissingExtraError
        If opendp is not installed.

    Examples
    --------
    >>> import curvedp as cdp, opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> noise = cdp.RiemannianLaplace(ball, 0.01, cdp.PureDP(epsilon=1.0)).to_opendp()
    >>> noise.map(0.01), noise.map(0.02), noise([0.0, 0.0, 1.0]).shape
    (1.0, 2.0, (3,))
    """
    return mechanism.to_opendp()


def make_frechet_mean(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    mechanism: str | type[Mechanism] | None = None,
) -> Any:
    """The private Fréchet mean of n records as a measurement of OpenDP.

    Input: arrays of shape (n, *point_shape) with the change-one distance, each record projected on
    the ball. Output: what `frechet_mean` releases. Privacy map, for k changed records: that of the
    mechanism at the sensitivity for k records of one unit plus twice the solver's tolerance.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records; public.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the measurement when one record is changed.
    mechanism : str or Mechanism class, optional
        As in `frechet_mean`.

    Returns
    -------
    opendp.mod.Measurement
        Under the max divergence for Laplace noise, under the zero-concentrated divergence for
        Gaussian noise, whichever has the smaller expected error.

    Raises
    ------
    MissingExtraError
        If opendp is not installed.
    ExistenceError, ValueError, TypeError
        As `expected_error`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp, opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> mean = make_frechet_mean(ball, 500, cdp.ZCDP(rho=0.5))
    >>> round(mean.map(1), 6), round(mean.map(2), 3)
    (0.5, 2.0)
    >>> mean(np.tile([0.0, 0.0, 1.0], (500, 1))).shape
    (3,)
    """
    dp = opendp_prelude()
    count = as_count(n, "n")
    shape = (count, *ball.manifold.point_shape)
    # losses that OpenDP adds up: not that of the l2 mechanism, which keeps (epsilon, delta) alone
    design = least_error(
        ways_to_meet(guarantee, mechanism),
        lambda way: design_mean_under(ball, count, way, 1, mechanism),
        lambda found: found.expected_error,
    )
    noise = design.mechanism

    def release(records: Any) -> FloatArray:
        if np.shape(records) != shape:
            raise ValueError(f"records must have shape {shape}, got {np.shape(records)}")
        found = frechet_mean(records, ball, design.way, mechanism=mechanism, coverage=False)
        return found.value

    def privacy_map(changed: int) -> float:
        k = min(as_count(changed, "d_in", least=0), count)
        if k == 0:
            return 0.0
        moved = sensitivity.frechet_mean(ball, count, records_per_unit=k)
        dist = Fraction(moved + 2 * design.plan.tolerance)
        return loss(noise.guarantee, noise.sensitivity, noise.profile, dist)

    return dp.m.make_user_measurement(
        input_domain=dp.user_domain(
            f"curvedp: {count} records, each projected on {domain_name(ball)}",
            lambda records: np.shape(records) == shape,
        ),
        input_metric=dp.change_one_distance(),
        output_measure=output_measure(dp, noise.profile),
        function=release,
        privacy_map=privacy_map,
    )
