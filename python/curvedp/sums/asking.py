"""Steps that ask for sums, and ask again where too few sites answered."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TypeVar

from curvedp._validation import FloatArray
from curvedp.sums.filter import Filter
from curvedp.sums.messages import Request

#: Least part of the budget for which a sum is asked.
_LEAST_SHARE = 0.01

_T = TypeVar("_T")
#: Steps that end with a result; None is sent to them for a void sum.
Asking = Generator[Request, FloatArray | None, _T]


def asked(budget: Filter, wanted: Request) -> Asking[tuple[FloatArray, float] | None]:
    """A noisy sum and its share; None where too little of a budget is left to ask for it.

    A void sum has cost its share, and is asked for again with what is left, at most as much.

    Parameters
    ----------
    budget : Filter
    wanted : Request
    """
    while min(wanted.share, budget.rest) >= _LEAST_SHARE * budget.whole:
        share = budget.take(wanted.share)
        noisy = yield replace(wanted, share=share)
        if noisy is not None:
            return noisy, share
    return None
