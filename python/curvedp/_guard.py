"""Guard between the caller's settings and the values of records.

Under `np.errstate(under="raise")` one tiny record would decide between a release and an error after
the budget is spent. So every public function that takes records is `quiet`.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

import numpy as np

from curvedp.errors import NoiseWarning

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def quiet(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function with NumPy's floating point errors ignored, whatever the caller has set."""

    @functools.wraps(call)
    def quietly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return call(*args, **kwargs)

    return quietly


def warn_of_noise(message: str) -> None:
    """A `NoiseWarning` at the line that called curvedp."""
    warn_caller(message, NoiseWarning)


def warn_of_paid(message: str, kind: type[Warning]) -> None:
    """A warning about what was released; made an error it does not lose what was paid for."""
    with suppress(kind):
        warn_caller(message, kind)


def warn_caller(message: str, kind: type[Warning]) -> None:
    """A warning at the line that called curvedp."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "curvedp"
