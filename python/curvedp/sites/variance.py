"""The variance about a mean that was just found, by one more sum over the same records.

Each record at the distance t of the mean sends (min(t, R)^2, R^2/2), R the clip level of the last
round, as a point of flat space: the message of a round there (docs/proofs/sums-of-messages.md,
section 12). Its own sum of counts tells how many records it is of.
"""

from __future__ import annotations

import math
from dataclasses import replace

from curvedp.sums.asking import Asking, asked
from curvedp.sums.filter import Filter
from curvedp.sums.found import Found
from curvedp.sums.geometry import squares
from curvedp.sums.messages import ROUND_UNIT, Request, squares_radius
from curvedp.sums.search import Search


def last_of(search: Search, budget: Filter) -> float:
    """The share of a last round: all that is left, but for what a void one is asked again with."""
    return budget.rest * math.sqrt(1.0 - search.spare**2)


def variance_about(search: Search, found: Found, budget: Filter, most: float) -> Asking[Found]:
    """The request for squares, and what was found with the variance.

    A void sum is asked for again with what is left; where that is nothing there is no variance.

    Parameters
    ----------
    search : Search
    found : Found
        With a mean.
    budget : Filter
    most : float
        Share that is asked for.
    """
    wanted = Request("round", most, found.value, found.radius, "squares")
    answered = yield from asked(budget, wanted)
    if answered is None:
        return found
    noisy, share = answered
    flat, square = squares(), found.radius**2
    unit = squares_radius(found.radius) / (ROUND_UNIT - 8.0 * flat.dim)
    deviation = search.bound("round", flat) / (share / search.widening) * unit
    deviation *= search.noise.unit_deviation(flat.dim)
    n, error = float(noisy[1]) * unit / (0.5 * square), deviation / (0.5 * square)
    if search.missing == 0.0:
        search.note(n, error**2)
        n, error = search.number, 0.0 if search.number == search.n else search.count[1]
    n = max(n, 1.0)
    variance = min(max(float(noisy[0]) * unit / n, 0.0), square)
    told = math.hypot(deviation, variance * error) / n
    return replace(found, variance=variance, variance_error=told)
