"""A search that is followed by sums about the mean that it found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from curvedp.sites.clusters import clusters_about
from curvedp.sites.variance import last_of, variance_about
from curvedp.sums.asking import Asking
from curvedp.sums.filter import Filter
from curvedp.sums.found import Found
from curvedp.sums.messages import SQUARED
from curvedp.sums.search import Search


class SearchAndMore(Search):
    """A mean, and then the variance and clusters about it.

    Parameters
    ----------
    *arguments, **options
        As of `Search`.
    whole : float
        More than the search's own budget: what is left of it is spent on the rest.
    variance : float
        Part of the whole's mu^2 for the variance, 0 for none; all that is left without clusters.
    clusters : int
        Number of clusters, 0 for none.
    """

    def __init__(
        self, *arguments: Any, whole: float, variance: float, clusters: int, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.whole = whole
        self.variance = variance
        self.clusters = clusters

    def run(self) -> Asking[Found]:
        """Requests of the search, then those for squares and cells."""
        found = yield from super().run()
        if found.value is None or not SQUARED[0] <= found.radius <= SQUARED[1]:
            return found
        budget = Filter(self.whole)
        budget.take(found.spent)
        if self.variance:
            share = (
                self.whole * math.sqrt(self.variance) if self.clusters else last_of(self, budget)
            )
            found = yield from variance_about(self, found, budget, share)
        if self.clusters:
            found = yield from clusters_about(self, found, budget, self.clusters)
        return replace(found, spent=budget.spent)
