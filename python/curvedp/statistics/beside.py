"""Numbers beside the points of records, as a statistic reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from curvedp._validation import FloatArray
from curvedp.statistics.statistic import Result, Statistic

__all__ = ["check_statistic", "read_beside"]


def check_statistic(statistic: Statistic[Result]) -> Statistic[Result]:
    """The statistic, if it is one."""
    if not isinstance(statistic, Statistic):
        name = getattr(statistic, "__name__", type(statistic).__name__)
        raise TypeError(f"statistic must be a Statistic, such as Mean(), got {name}")
    return statistic


def read_beside(
    statistic: Statistic[Any], n: int, *, is_public: bool = True, **given: Any
) -> FloatArray | None:
    """Numbers beside the points of n records, of those `given` by keyword.

    Where the number of records is not public no label raises.

    Raises
    ------
    ValueError, TypeError
        For what the statistic does not take, or lacks, and another number of rows.
    """
    for name, own in given.items():
        if own is not None and name != statistic.beside:
            raise TypeError(f"the {statistic.title} takes no {name}")
    if statistic.beside is None:
        return None
    if given.get(statistic.beside) is None:
        raise TypeError(f"the {statistic.title} needs {statistic.beside}, one for each record")
    if not is_public and n == 0 and not np.size(given[statistic.beside]):
        return statistic.slow_beside(np.empty(0))  # no records, in whatever form
    read = statistic.read_beside if is_public else statistic.read_protected_beside
    found = read(given[statistic.beside], n)
    if found.shape[:1] != (n,):
        of_n = f"each of {n} records, got shape {found.shape}" if is_public else "each record"
        raise ValueError(f"{statistic.beside} must be given for {of_n}")
    return found
