"""Calibration of bounded-range mechanisms, so that a requested guarantee follows.

A mechanism is epsilon-bounded-range when, for each pair of neighbouring data sets, its privacy loss
lies in an interval of length epsilon; every exponential mechanism is, with epsilon twice the
sensitivity over the scale. That implies epsilon-DP, epsilon^2/8-zCDP and mu-GDP with
mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))). Proof: docs/proofs/conversions.md, sections 2 and 3.
"""

from __future__ import annotations

import functools
from fractions import Fraction

from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from curvedp.privacy.conversion import last_true_above, pure_mu, round_down, sqrt_bounds
from curvedp.privacy.l2_noise import largest_pure_epsilon


@functools.lru_cache(maxsize=1024)
def bounded_range_epsilon(guarantee: Guarantee, draws: int = 1) -> float:
    """The largest epsilon with epsilon-bounded range implying `guarantee`, rounded down.

    epsilon for PureDP; sqrt(8 rho) for ZCDP; 2 log(Phi(mu/2) / Phi(-mu/2)) for GDP; for ApproxDP
    the larger of epsilon and what the mu-GDP that implies it allows. Of m draws that compose each
    has the share epsilon/m, rho/m or mu/sqrt(m).

    Raises
    ------
    TypeError
        If `guarantee` is none of these.

    Parameters
    ----------
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    draws : int
        Number m of adaptively composed draws that meet the guarantee together.

    Returns
    -------
    float

    Examples
    --------
    >>> round(bounded_range_epsilon(ZCDP(rho=0.125)), 12)
    1.0
    >>> round(bounded_range_epsilon(GDP(mu=1.0)), 4)
    1.6139
    """
    check_guarantee(guarantee)
    match guarantee:
        case PureDP(epsilon):
            return round_down(Fraction(epsilon) / draws)
        case ZCDP(rho):
            return round_down(sqrt_bounds(8 * Fraction(rho) / draws)[0])
        case GDP(mu):
            share = mu if draws == 1 else round_down(sqrt_bounds(Fraction(mu) ** 2 / draws)[0])
            return last_true_above(lambda epsilon: pure_mu(0.5 * epsilon) <= share, share)
        case ApproxDP(epsilon):
            by_curve = bounded_range_epsilon(guarantee.sufficient_gdp(), draws)
            return max(round_down(Fraction(epsilon) / draws), by_curve)
    raise TypeError("guarantee must be PureDP, ApproxDP, ZCDP or GDP")


def pure_epsilon(guarantee: Guarantee) -> float:
    """The largest epsilon with epsilon-DP, of any mechanism, implying `guarantee`, rounded down.

    epsilon for PureDP; sqrt(2 rho) for ZCDP and log(Phi(mu/2) / Phi(-mu/2)) for GDP, half of what
    bounded range allows, since a loss in [-epsilon, epsilon] has a range of length 2 epsilon;
    log((e^epsilon + delta) / (1 - delta)) for ApproxDP, a little more than epsilon.

    Parameters
    ----------
    guarantee : PureDP, ApproxDP, ZCDP or GDP

    Returns
    -------
    float

    Raises
    ------
    TypeError
        As `bounded_range_epsilon`.

    Examples
    --------
    >>> round(pure_epsilon(ZCDP(rho=0.5)), 12), round(pure_epsilon(GDP(mu=1.0)), 3)
    (1.0, 0.807)
    """
    check_guarantee(guarantee)
    match guarantee:
        case PureDP(epsilon):
            return epsilon
        case ApproxDP(epsilon, delta):
            return largest_pure_epsilon(epsilon, delta)
    return 0.5 * bounded_range_epsilon(guarantee)
