"""Calls that count which of their records are points inside the ball, and what comes of it."""

from __future__ import annotations

import math
from typing import Any

from curvedp._guard import warn_of_paid
from curvedp.errors import CoverageWarning, ExistenceError
from curvedp.mechanisms import Way
from curvedp.privacy import GDP, PureDP, Release
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.of_parts import OfParts
from curvedp.statistics.call import Call, CoverageOption, Designs
from curvedp.statistics.coverage import Counting, share_of, why_not
from curvedp.statistics.grouping import Offsets, numbers_of
from curvedp.statistics.releases import Releases

__all__ = ["check_coverage", "counted", "warn_of_coverage", "with_coverage"]


def counted(
    call: Call, sizes: Offsets, coverage: CoverageOption, total: int, *, alone: bool = False
) -> tuple[Call, Designs, str | None]:
    """The call with a share of its budget for a count, its designs, or why it does not count.

    Parameters
    ----------
    call : Call
    sizes : ndarray
        See `sizes_of`.
    coverage : bool, "each" or None
        None where the public rule says so and every release exists beside the count, True always,
        False never, "each" for a count of every group that is large enough.
    total : int
        Number of records of all groups.
    alone : bool
        True for one data set.

    Raises
    ------
    ExistenceError
        If there is no such release; for True and "each" also where there are too few records to
        count.
    ValueError
        For these where the statistic does not count, and for "each" without groups.
    """
    check_coverage(call, coverage, is_grouped=not alone)
    trials: list[Call] = []
    why = None if coverage is None else "coverage=False"
    if not call.statistic.counted:
        why = call.statistic.why_uncounted
    elif coverage is not False:
        trials, why = _with_count(call, sizes, total, coverage)
    refused: ExistenceError | None = None
    for trial in trials:
        try:
            designs = trial.designs(sizes, alone=alone)
        except ExistenceError as error:
            refused = refused or error
        else:
            if coverage or not _skips(designs) or _same_skipped(designs, call.designs(sizes)):
                return trial, designs, None
    if coverage and refused is not None:
        raise refused
    if trials:
        why = f"the rest of the budget would be too small for the {call.statistic.title}"
    return call, call.designs(sizes, alone=alone), why


def check_coverage(call: Call, coverage: CoverageOption, *, is_grouped: bool) -> None:
    """Refuses what is no such option, and counts that the statistic, or one data set, has not."""
    words: tuple[CoverageOption, ...] = (None, True, False)
    if not any(coverage is own for own in words) and coverage != "each":
        raise TypeError(f'coverage must be True, False, "each" or None, got {coverage!r}')
    if coverage and not call.statistic.counted:
        raise ValueError(f"{call.statistic.why_uncounted}: leave coverage out")
    if coverage == "each" and not is_grouped:
        raise ValueError('coverage="each" counts the records of each group: give groups, or True')


def _with_count(
    call: Call, sizes: Offsets, total: int, coverage: CoverageOption
) -> tuple[list[Call], str | None]:
    """Calls that count, the best first, or why there are none, which raises if it must.

    The best of several ways is that with the least expected error, or without one known the usual.
    """
    own, unit = call.guarantee, (call.records_per_unit, call.groups_per_unit)
    ways = (own,) if isinstance(own, (GDP, PureDP)) else call.ways()
    found: list[tuple[float, bool, Call]] = []
    refused: list[ExistenceError] = []

    def planned(way: Way) -> Counting:
        if coverage == "each":
            return Counting.of_each(own, way, numbers_of(sizes).tolist(), call.records_per_unit)
        return Counting.of(own, way, total, *unit)

    def usual_way() -> Way | None:
        return call.statistic.way_of(call.design_of_largest(sizes)[0])

    for way in ways:
        try:
            trial = call.shared(planned(way))
            error = trial.largest_error(sizes) if len(ways) > 1 else 0.0
            other = math.isinf(error) and way != usual_way()
            found.append((error, other, trial))
        except ExistenceError as refusal:
            refused.append(refusal)
    if found:
        return [trial for *_, trial in sorted(found, key=lambda one: one[:2])], None
    if coverage:
        raise refused[-1]
    short = next((way for way in ways if share_of(way, total, *unit) is None), None)
    rest = f"the rest of the budget would be too small for the {call.statistic.title}"
    return [], rest if short is None else why_not(short, total, *unit)


def _skips(designs: Designs) -> bool:
    return any(design is None for design in designs[0])


def _same_skipped(one: Designs, other: Designs) -> bool:
    """True if the same groups have no release."""
    gone, others = ([design is None for design in found] for found, _ in (one, other))
    return gone == others


def with_coverage(
    released: Any,
    coverage: Coverage | GroupCoverage | None,
    uncounted: str | None,
    *,
    warns: bool = True,
) -> Any:
    """The same fresh release, or releases, with numbers of records, or with why there are none.

    Warns of what they tell; a warning that is made an error does not lose what was paid for: the
    report has it too.
    """
    if warns:
        warn_of_coverage(coverage)
    if isinstance(released, (Release, Releases, OfParts)):
        for name, own in (("coverage", coverage), ("uncounted", uncounted)):
            object.__setattr__(released, name, own)  # a copy would lose what is in no field
    return released


def warn_of_coverage(coverage: Coverage | GroupCoverage | None) -> None:
    """Warns of what released numbers of records tell."""
    for text in () if coverage is None else coverage.warnings:
        warn_of_paid(text, CoverageWarning)
