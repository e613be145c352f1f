"""Spaces on which pictures are tested: of each kind one in every view that shows it."""

from __future__ import annotations

from curvedp.plotting.points import view_of
from manifold_list import CASES, SMALL, Case


def _drawn() -> list[Case]:
    found = {}
    for case in [*reversed(CASES), *SMALL]:
        kind, *metric = (part for part in case.name.split(":") if not part[0].isdigit())
        found[kind, *metric, view_of(case.manifold)] = case
    return list(found.values())


#: The smallest, or that of `SMALL`; others of a kind and a view look like it.
DRAWN = _drawn()
