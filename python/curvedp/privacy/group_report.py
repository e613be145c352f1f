"""Statement and report about releases of groups, whether they stand in memory or in files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from curvedp._html import MOST_ROWS
from curvedp.privacy.base import Guarantee
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.guarantees import Unproved, composed
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.statement import Statement, accuracy_of, statement
from curvedp.privacy.wording import LOCAL, coverage_text, limits_of_error, told_error
from curvedp.unit import Unit, told_in

__all__ = [
    "Range",
    "disclosure_of_groups",
    "domain_text",
    "of_all_text",
    "report_of_groups",
    "statement_of_groups",
]

_WIDTH, _INDENT = 88, 20
#: The least and the largest of the expected errors that are known.
Range = tuple[float, float]


def statement_of_groups(
    total: Guarantee,
    *,
    statistic: str,
    groups: int,
    by_name: bool,
    records_per_unit: int,
    private_keys: bool = False,
    errors: Range | None,
    unit: Unit | None = None,
    coverage: Coverage | GroupCoverage | None,
    uncounted: str | None,
    provenance: Provenance | None,
) -> Statement:
    """The statement about the releases of all groups together.

    Parameters
    ----------
    total : Guarantee
        Of all releases, to one unit.
    statistic : str
    groups : int
        With those that were skipped.
    by_name : bool
        True if units are known by name.
    records_per_unit : int
    private_keys : bool
        True if which groups there are is protected, too.
    errors : pair of float or None
        The range of the expected errors; None if none is known.
    unit : Unit or None
        In which they are told.
    coverage : Coverage, GroupCoverage or None
    uncounted : str or None
        Why the records inside the ball were not counted.
    provenance : Provenance or None
    """
    local, one = statistic.startswith(LOCAL), "person" if by_name else "record"
    return statement(
        total,
        n=f"the sizes of {groups} groups, and which {one} is in which",
        accuracy=_accuracy(
            statistic, errors, unit, "" if local else coverage_text(coverage, uncounted)
        ),
        by_name=by_name,
        records_per_unit=records_per_unit,
        grouped=True,
        private_keys=private_keys,
        steady=provenance is not None and provenance.steady,
        local=local,
        provenance=provenance,
    )


def disclosure_of_groups(
    statistic: str,
    manifold: str,
    *,
    domain: str,
    total: Guarantee,
    each: Guarantee,
    told: Statement,
    provenance: Provenance | None,
    n: int,
    records_per_unit: int,
    groups: int,
    groups_per_unit: int,
    assumptions: Iterable[str],
    mechanisms: Iterable[str],
    parts: Iterable[tuple[str, Guarantee]],
    coverage: Coverage | GroupCoverage | None,
) -> Disclosure:
    """Facts about the releases of all groups together.

    Parameters
    ----------
    statistic, manifold, domain : str
    total, each : Guarantee
        Of all releases and of a group's, to one unit.
    told : Statement
    provenance : Provenance or None
    n : int
        Of all groups.
    records_per_unit, groups, groups_per_unit : int
    assumptions : iterable of str
    mechanisms : iterable of str
    parts : iterable of (str, Guarantee)
        Statistics that each group's release rests on.
    coverage : Coverage, GroupCoverage or None
    """
    noise = tuple(
        f"{name}: sensitivity and noise scale of each group stand with its release, the error of "
        "the solver is added to the sensitivity"
        for name in dict.fromkeys(mechanisms)
    )
    return Disclosure(
        statistic=statistic,
        manifold=manifold,
        domain=domain,
        guarantee=total,
        statement=told,
        provenance=provenance,
        n=n,
        records_per_unit=records_per_unit,
        assumptions=frozenset(assumptions),
        noise=noise,
        parts=tuple(parts),
        count=None if coverage is None else coverage.guarantee,
        groups=groups,
        groups_per_unit=groups_per_unit,
        each=each,
    )


def domain_text(radii: Iterable[float | None], unit: Unit | None = None) -> str:
    """Where the records of groups lie, and what became of others.

    Parameters
    ----------
    radii : iterable of float or None
        Of the balls; infinite without one, None for a product of balls.
    unit : Unit or None
        In which a radius is told.
    """
    known = set(radii)
    radius = known.pop()
    if radius == math.inf:
        return "the manifold: there was no public ball, one was found privately"
    where = "a ball of each group around a public centre"
    if not known:
        of_radius = (
            "product of balls" if radius is None else f"ball of radius {told_in(unit)(radius)}"
        )
        where = f"{of_radius} around a public centre"
    return f"{where}; records outside were projected on it"


def of_all_text(
    each: Guarantee,
    total: Guarantee,
    groups_per_unit: int,
    groups: int,
    assumptions: Iterable[str] = (),
) -> str:
    """The promise of all releases to one unit, and to one whose records are in every group.

    Parameters
    ----------
    each, total : Guarantee
        Of a group's release, and of all of them to one unit.
    groups_per_unit, groups : int
        Groups that a unit's records may be in, and that are released.
    assumptions : iterable of str
        Where units are known by name, or groups protected, nobody counts in more groups than that.
    """
    held = not {"units-by-name", "groups-by-record"}.isdisjoint(assumptions)
    if held or isinstance(each, Unproved) or groups <= groups_per_unit:
        return str(total)
    few = f"{groups_per_unit} group{'s' if groups_per_unit > 1 else ''}"
    try:
        most = str(composed(each, groups))
    except ValueError:
        most = "nothing is promised"
    return f"{total} if a unit's records are in at most {few}, {most} if in all {groups}"


def report_of_groups(
    title: str,
    told: Statement,
    facts: Sequence[tuple[str, str]],
    table: Sequence[Sequence[str]],
    groups: int,
    *,
    alarm: str,
    warnings: Sequence[str],
) -> str:
    """Plain text: the statement about all groups, the facts, then a table of the first groups.

    Parameters
    ----------
    title : str
    told : Statement
    facts : sequence of (name, text)
    table : sequence of rows of texts
        The first is its head.
    groups : int
        Number of groups, of which at most ten are shown.
    alarm : str
        Empty if all guarantees are proved.
    warnings : sequence of str
        See `Coverage.warnings`.
    """
    lines = [title, "", *([*textwrap.wrap(alarm, _WIDTH), ""] if alarm else [])]
    for text in warnings:
        lines += [*textwrap.wrap(f"WARNING: {text}", _WIDTH), ""]
    lines += [*told.lines(), ""]
    for name, text in facts:
        row = f"{f'{name}:':<{_INDENT}}{text}"
        lines += textwrap.wrap(row, _WIDTH, subsequent_indent=" " * _INDENT)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines += ["", *("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)]
    hidden = groups - MOST_ROWS
    return "\n".join([*lines, *([f"and {hidden} more"] if hidden > 0 else [])]) + "\n"


def _accuracy(statistic: str, errors: Range | None, unit: Unit | None, counted: str) -> str:
    """The range of the expected errors."""
    limits = limits_of_error(statistic)
    if errors is None:
        return accuracy_of("not known", limits, counted)
    about = limits or "mean distance from that of a group's records"
    least, most = errors
    if least == most:
        return accuracy_of(told_error(statistic, unit, least), about, counted)
    told = [told_error(statistic, unit, error) for error in errors]
    return f"expected errors {told[0]} to {told[1]} ({about}). {counted}"
