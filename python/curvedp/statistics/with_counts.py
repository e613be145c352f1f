"""Fresh releases with the guarantee of all that was drawn for them, and the released counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from curvedp.privacy import Guarantee, Unproved
from curvedp.privacy.record_count import RecordCount
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.grouping import Offsets
from curvedp.statistics.releases import Releases

__all__ = ["UNCOUNTED", "with_counts"]

UNCOUNTED = "where the number of records is protected"


def with_counts(
    found: Releases[Any], whole: Guarantee, plan: CountPlan, counts: Offsets, *, grouped: bool
) -> Releases[Any]:
    """Releases, and those that they rest on, with the whole guarantee and the counts.

    Parameters
    ----------
    found : Releases
        Fresh ones, of the records that are used.
    whole : Guarantee
        Of each group's count and release together.
    plan : CountPlan
    counts : ndarray of int, shape (groups, parts)
    grouped : bool
        False for one data set.
    """
    is_one = not grouped and counts.shape[1] == 1
    told = tuple(
        RecordCount(
            value=own[0] if len(own) == 1 else tuple(own),
            standard_error=plan.standard_error,
            guarantee=plan.share,
            replacing=plan.rest if is_one else whole.to_replace(),
        )
        for own in counts.tolist()
    )
    return _dressed(found, whole, told)


def _dressed(
    found: Releases[Any], whole: Guarantee, counts: tuple[RecordCount, ...]
) -> Releases[Any]:
    laws = [
        None if law is None else replace(law, guarantee=_as_promised(law.guarantee, whole))
        for law in found.laws
    ]
    return replace(
        found,
        guarantee=_as_promised(found.guarantee, whole),
        laws=laws,
        counts=counts,
        parts=tuple(_dressed(part, whole, counts) for part in found.parts),
    )


def _as_promised(own: Guarantee, whole: Guarantee) -> Guarantee:
    return Unproved(claimed=whole, why=own.why) if isinstance(own, Unproved) else whole
