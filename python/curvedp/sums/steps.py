"""A search, one request after another, however many sites answer it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from curvedp.sums.messages import Request
from curvedp.sums.search import Found, Search


class Steps:
    """A search that waits for the total of all answers to `request`, until `found` is there.

    Parameters
    ----------
    search : Search

    Attributes
    ----------
    request : Request or None
    found : Found or None
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.found: Found | None = None
        self._run = search.run()
        self.request: Request | None = next(self._run)

    def answer(self, total: NDArray[np.int64] | None, missing: float = 0.0) -> None:
        """Goes on with a total, or without one where the sum is void.

        Parameters
        ----------
        total : ndarray of int, or None
            Sum of all noisy answers, modulo 2^64.
        missing : float
            The part of the records that it is known to lack.
        """
        self.search.missing = missing
        try:
            self.request = self._run.send(None if total is None else total.astype(np.float64))
        except StopIteration as end:
            self.request, self.found = None, end.value


def searched(search: Search, answer: Callable[[Request, int], NDArray[np.int64]]) -> Found:
    """The end of a search with one site, which answers each request by its number."""
    steps, number = Steps(search), 0
    while steps.request is not None:
        steps.answer(answer(steps.request, number))
        number += 1
    assert steps.found is not None
    return steps.found
