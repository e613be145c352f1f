"""The variance about a mean that was just found, by one more sum over the same records.

Each record at the distance t of the mean sends (min(t, R)^2, R^2/2), R the clip level of the last
round, as a point of flat space: the message of a round there (docs/proofs/sums-of-messages.md,
section 12). Its own sum of counts tells how many records it is of.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from curvedp.sums.filter import Filter
from curvedp.sums.found import Found
from curvedp.sums.geometry import squares
from curvedp.sums.messages import ROUND_UNIT, SQUARED, Request, squares_radius
from curvedp.sums.search import Asking, Search


class SearchWithVariance(Search):
    """A search that is followed by the variance about what it found.

    Parameters
    ----------
    *arguments, **options
        As of `Search`.
    whole : float
        More than the search's own budget: what is left of it is spent on the variance.
    """

    def __init__(self, *arguments: Any, whole: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.whole = whole

    def run(self) -> Asking[Found]:
        """Requests of the search, then that for squares; a void sum is not asked for again."""
        found = yield from super().run()
        if found.value is None or not SQUARED[0] <= found.radius <= SQUARED[1]:
            return found
        budget = Filter(self.whole)
        budget.take(found.spent)
        share = budget.take(budget.rest)
        noisy = yield Request("round", share, found.value, found.radius, "squares")
        found = replace(found, spent=budget.spent)
        if noisy is None:
            return found
        flat, square = squares(), found.radius**2
        unit = squares_radius(found.radius) / (ROUND_UNIT - 8.0 * flat.dim)
        deviation = self._bound("round", flat) / (share / self.widening) * unit
        deviation *= self.noise.unit_deviation(flat.dim)
        n, error = float(noisy[1]) * unit / (0.5 * square), deviation / (0.5 * square)
        if self.missing == 0.0:
            self._note(n, error**2)
            n, error = self.number, 0.0 if self.number == self.n else self.count[1]
        n = max(n, 1.0)
        variance = min(max(float(noisy[0]) * unit / n, 0.0), square)
        told = math.hypot(deviation, variance * error) / n
        return replace(found, variance=variance, variance_error=told)
