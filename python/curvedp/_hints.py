"""Hints for keywords that other libraries have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_HINTS = {
    "epsilon": "say it in the guarantee: PureDP(epsilon=1.0), or ApproxDP(epsilon=1.0, delta=1e-6)",
    "delta": "say it in the guarantee: ApproxDP(epsilon=1.0, delta=1e-6)",
    "mu": "say it in the guarantee: GDP(mu=1.0)",
    "rho": "say it in the guarantee: ZCDP(rho=0.5)",
    "random_state": "noise is fresh; for tests and examples alone there is seed=",
    "accountant": "a budget is spent from ledger=Ledger(GDP(mu=2.0))",
    "bounds": "records are bounded by a ball: Ball(manifold, center, radius)",
}


def hinting(function: F) -> F:
    """The function, which says what to write instead of keywords of other libraries."""

    @functools.wraps(function)
    def told(*args: Any, **keywords: Any) -> Any:
        for name in _HINTS.keys() & keywords.keys():
            raise TypeError(f"{function.__name__}() has no keyword {name!r}: {_HINTS[name]}")
        return function(*args, **keywords)

    return cast(F, told)
