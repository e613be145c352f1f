"""The strong composition by which PrivateMail's figures state their budgets (section 6.2)."""

from __future__ import annotations

import math

import scipy

from curvedp._validation import as_count, as_positive


def strong_epsilon(epsilon: float, count: int, slack: float) -> float:
    """Epsilon of `count` epsilon-DP releases together, apart from the probability `slack`.

    epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1)/(e^epsilon + 1) for k = `count`; the
    delta of the whole is k delta + slack, with delta = 0 of Laplace noise. Plain composition, k
    epsilon without slack, is smaller wherever slack is below exp(-k/2): .37 for two iterations.

    Parameters
    ----------
    epsilon : float
        Of one release.
    count : int
    slack : float
        The paper's delta', in (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> round(strong_epsilon(1.0, 2, 1e-6), 3)
    8.358
    """
    single, k, chance = as_positive(epsilon, "epsilon"), as_count(count, "count"), _slack(slack)
    return single * math.sqrt(-2 * k * math.log(chance)) + k * single * math.tanh(single / 2)


def strong_share(epsilon: float, count: int, slack: float) -> float:
    """Epsilon of one of `count` releases whose `strong_epsilon` is at most the given one.

    Parameters
    ----------
    epsilon : float
        Of all releases together.
    count : int
    slack : float
        In (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> round(strong_epsilon(strong_share(3.0, 2, 1e-6), 2, 1e-6), 9)
    3.0
    """
    whole, k, chance = as_positive(epsilon, "epsilon"), as_count(count, "count"), _slack(slack)
    # tanh(x/2) >= 0.46 min(x, 1), so the root lies below
    above = 3 * whole / k + math.sqrt(3 * whole / k)
    share: float = scipy.optimize.brentq(
        lambda single: strong_epsilon(single, k, chance) - whole if single > 0 else -whole,
        0.0,
        above,
        xtol=1e-300,
        rtol=1e-14,
    )
    return share * (1 - 1e-12)


def _slack(value: float) -> float:
    slack = as_positive(value, "slack")
    if slack >= 1:
        raise ValueError(f"slack must lie in (0, 1), got {slack:g}")
    return slack
