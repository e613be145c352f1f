"""Releases of many disjoint groups, column by column, with what they promise together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from curvedp._displays import Shown, displayed
from curvedp._html import MOST_ROWS, card
from curvedp._text import numbers
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms import Way
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.group_report import (
    disclosure_of_groups,
    domain_text,
    of_all_text,
    report_of_groups,
    statement_of_groups,
)
from curvedp.privacy.guarantees import composed
from curvedp.privacy.of_parts import OfParts
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.statement import Statement
from curvedp.privacy.wording import alarm_of, told_error, unproved_text
from curvedp.statistics.call import Call
from curvedp.statistics.coverage import why_not
from curvedp.statistics.statistic import Result
from curvedp.unit import Unit

#: Columns about the noise in a table of releases.
NOISE_COLUMNS = ("sensitivity", "scale", "expected_error")


@dataclass(frozen=True)
class NoiseLaw:
    """The noise of a group's release, and what it promises.

    Attributes
    ----------
    mechanism : str
    calibrated_to : PureDP, GDP, ApproxDP or None
        As in `Release`.
    guarantee : Guarantee
        Of the release.
    """

    mechanism: str
    calibrated_to: Way | None
    guarantee: Guarantee


@dataclass(frozen=True, eq=False, kw_only=True)
class Releases(Disclosed, Generic[Result]):
    """One release per group, as columns; ``releases[label]`` is the release of one group.

    Groups stand in the order of their labels: integers by size, then texts by their letters, then
    other labels, a missing one last. So the order says nothing about where a person's records
    stand. A group is found by its label and, if labels are no integers, by its number too.
    Iteration gives the releases, without groups that were skipped, as that of a pandas Series
    gives its values; `keys`, `values`, `items` and ``label in releases`` are those of a mapping, so
    ``dict(releases.items())`` is one.

    Attributes
    ----------
    labels : sequence
        Labels of the groups; their numbers if they were given by offsets.
    n : ndarray of int, shape (groups,)
        Number of records of each group (public).
    released : ndarray of bool, shape (groups,)
        False for groups that were skipped because they are too small.
    value : ndarray, shape (groups, *value_shape)
        NaN for groups that were skipped, as in all columns.
    sensitivity, solver_tolerance, scale, expected_error : ndarray, shape (groups,)
        As in `Release`.
    more : dict of ndarray
        Further columns, such as the covariance of a region.
    guarantee : Guarantee
        Of each group's release.
    total : Guarantee
        Of all releases together to one unit: `guarantee` composed `groups_per_unit` times, groups
        being disjoint and public.
    laws : sequence of NoiseLaw
        The noise of the releases.
    law_of : ndarray of int, shape (groups,)
        The number of each group's: the mechanism follows the number of records.
    statistic : str
    base_point : ndarray, shape (groups, *point_shape), or None
        The public point of each group about which the statistic was computed.
    parts : tuple of Releases
        Releases that each group's release rests on.
    balls : tuple of Ball
        One for all groups, or one for each.
    records_per_unit, groups_per_unit : int
        Most records that one unit contributes to a group, and most groups to which it contributes.
    assumptions : frozenset of str
    provenance : Provenance or None
        Version and day, and the ledger that paid.
    coverage : Coverage, GroupCoverage or None
        How many records of all groups were points inside their ball, if they were counted: by one
        count, or added up from a count of each group.
    uncounted : str or None
        Why they were not counted, where that is known.
    counts : tuple of RecordCount, or None
        Released numbers of records of each group, where these are protected.
    """

    #: Head of the table of a report.
    _heads: ClassVar[tuple[str, ...]] = ("group", "n", "value", "expected error")

    call: Call
    labels: Sequence[Hashable]
    n: NDArray[np.int64]
    released: NDArray[np.bool_]
    value: FloatArray
    sensitivity: FloatArray
    solver_tolerance: FloatArray
    scale: FloatArray
    expected_error: FloatArray
    guarantee: Guarantee
    laws: Sequence[NoiseLaw | None]
    law_of: NDArray[np.int32]
    assumptions: frozenset[str]
    base_point: FloatArray | None = None
    parts: tuple[Releases[Any], ...] = ()
    more: Mapping[str, FloatArray] = field(default_factory=dict)
    #: Further data from which a statistic makes one group's result.
    details: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Any] | None = None
    provenance: Provenance | None = None
    coverage: Coverage | GroupCoverage | None = None
    uncounted: str | None = None
    counts: tuple[RecordCount, ...] | None = None

    @property
    def mechanism(self) -> NDArray[np.object_]:
        """Name of each group's mechanism, shape (groups,); None for groups that were skipped."""
        names = [None if law is None else law.mechanism for law in self.laws]
        return np.array(names, dtype=object)[self.law_of]

    def law(self, index: int) -> NoiseLaw:
        """The noise of a group that has a release."""
        found: NoiseLaw | None = self.laws[self.law_of[index]]
        assert found is not None
        return found

    @property
    def statistic(self) -> str:
        """Name of the statistic that is released of each group."""
        return self.call.statistic.title

    @property
    def balls(self) -> tuple[Ball, ...]:
        """One for all groups, or one for each."""
        return self.call.balls

    @property
    def records_per_unit(self) -> int:
        """Most records that one unit contributes to a group."""
        return self.call.records_per_unit

    @property
    def groups_per_unit(self) -> int:
        """Most groups to which one unit contributes."""
        return self.call.groups_per_unit

    @property
    def total(self) -> Guarantee:
        """The guarantee of all releases together to one unit."""
        return composed(self.guarantee, self.groups_per_unit)

    def columns(self) -> dict[str, FloatArray]:
        """Arrays for a table of releases, by name, with one row per group."""
        noise = {name: getattr(self, name) for name in NOISE_COLUMNS}
        further = self.call.statistic.further_columns(self)
        return {"value": self.value, **self.more, **further, **noise}

    def to_arrow(self) -> Any:
        """One row per group as a pyarrow.Table: `group`, `n`, the columns, `guarantee`.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed (the extra ``batch``).
        """
        from curvedp.statistics.tables import labelled_table

        return labelled_table(self)

    def to_pandas(self) -> Any:
        """One row per group as a pandas.DataFrame whose index are the labels.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed (the extra ``batch``).
        """
        return self.to_arrow().to_pandas().set_index("group")

    @property
    def unit(self) -> Unit | None:
        """The unit in which all groups' balls were stated, if there is one."""
        units = {ball.unit for ball in self.balls}
        return units.pop() if len(units) == 1 else None

    @property
    def statement(self) -> Statement:
        """See `Release.statement`: about all releases together."""
        known = self.expected_error[np.isfinite(self.expected_error)]
        return statement_of_groups(
            self.total,
            statistic=self.statistic,
            groups=len(self),
            by_name="units-by-name" in self.assumptions,
            records_per_unit=self.records_per_unit,
            private_keys=self.call.private_keys,
            errors=(float(known.min()), float(known.max())) if len(known) else None,
            unit=self.unit,
            coverage=self.coverage,
            uncounted=self.uncounted,
            provenance=self.provenance,
        )

    def report(self) -> str:
        """Plain text: the `statement` about all groups, then a line for each of the first ten."""
        return self._report(self.statement)

    def _report(self, statement: Statement) -> str:
        """The report with this statement: of a model it says more than of the releases."""
        shown = range(min(len(self), MOST_ROWS))
        return report_of_groups(
            self._title,
            statement,
            self._facts(),
            [self._heads, *map(self._row, shown)],
            len(self),
            alarm=unproved_text(self.guarantee),
            warnings=() if self.coverage is None else self.coverage.warnings,
        )

    def _disclosure(self) -> Disclosure:
        return disclosure_of_groups(
            self.statistic,
            self.balls[0].manifold.spec,
            domain=domain_text((ball.radius for ball in self.balls), self.unit),
            total=self.total,
            each=self.guarantee,
            told=self.statement,
            provenance=self.provenance,
            n=int(self.n.sum()),
            records_per_unit=self.records_per_unit,
            groups=len(self),
            groups_per_unit=self.groups_per_unit,
            assumptions=self.assumptions,
            mechanisms=[law.mechanism for law in self.laws if law is not None],
            parts=[(part.statistic, part.guarantee) for part in self.parts],
            coverage=self.coverage,
        )

    @property
    def _title(self) -> str:
        return f"Releases: {self.statistic} on {self.balls[0].manifold.spec}"

    def _facts(self) -> list[tuple[str, str]]:
        count = int(self.released.sum())
        skipped = f", and {len(self) - count} skipped: too small" if count < len(self) else ""
        return [
            ("groups", f"{count}{skipped}"),
            ("guarantee of each", str(self.guarantee)),
            ("of all to one unit", self._of_all),
            *([] if self.provenance is None else [("provenance", str(self.provenance))]),
        ]

    @property
    def _of_all(self) -> str:
        asked = (self.guarantee, self.total, self.groups_per_unit, int(self.released.sum()))
        return of_all_text(*asked, self.assumptions)

    def plot(self, ax: Any = None) -> Shown:
        """Draw all groups with the matplotlib of the extra ``plot``.

        Numbers in intervals of their expected errors, points by their distances from each other;
        see `curvedp.plotting.ReleasesDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Returns
        -------
        ReleasesDisplay
            With `figure_` and `ax_`; a notebook shows it.

        Raises
        ------
        TypeError, ValueError
            For other statistics, and points of different manifolds or of more than 2000 groups.
        MissingExtraError
            If matplotlib is not installed.
        """
        return displayed(self, "curvedp.plotting.groups:ReleasesDisplay.from_releases", ax=ax)

    def __len__(self) -> int:
        return len(self.n)

    def __iter__(self) -> Iterator[Result]:
        return (self.release_at(index) for index in np.flatnonzero(self.released).tolist())

    def __contains__(self, label: object) -> bool:
        try:
            return bool(self.released[self._index(label)])
        except (LookupError, TypeError):
            return False

    def keys(self) -> Sequence[Hashable]:
        """The labels, of groups that were skipped too."""
        return self.labels

    def values(self) -> Iterator[Result]:
        """The release of each group, without those that were skipped."""
        return iter(self)

    def items(self) -> Iterator[tuple[Hashable, Result]]:
        """Label and release of each group, without those that were skipped."""
        return (
            (self.labels[g], self.release_at(g)) for g in np.flatnonzero(self.released).tolist()
        )

    def __getitem__(self, label: Hashable) -> Result:
        index = self._index(label)
        if not self.released[index]:
            raise ValueError(f"group {label!r} was skipped: nothing was released")
        return self.release_at(index)

    def release_at(self, index: int) -> Result:
        """The release of the group of that number, which must have one.

        Parameters
        ----------
        index : int
        """
        found: Result = self.call.statistic.result(self, index)
        if self.counts is not None:
            self._dress(found, self.counts[index])
        elif isinstance(found, (Release, OfParts)):
            coverage, uncounted = self._count_of(index)
            object.__setattr__(found, "coverage", coverage)
            object.__setattr__(found, "uncounted", uncounted)
        return found

    def _count_of(self, index: int) -> tuple[Coverage | None, str | None]:
        """A group's own count, or why it has none."""
        if self.coverage is None:
            return None, self.uncounted
        counting = self.call.counting
        if not isinstance(self.coverage, GroupCoverage) or counting is None:
            return None, _OF_ALL
        n, error = int(self.n[index]), float(self.more["count_error"][index])
        if math.isnan(error):
            return None, why_not(counting.way, n, self.records_per_unit)
        outside, no_point = (float(self.more[name][index]) for name in ("outside", "no_point"))
        own = self.coverage
        return Coverage.of_numbers(outside, no_point, error, n, own.noise, own.guarantee), None

    def _dress(self, found: Any, count: RecordCount) -> None:
        """Gives a fresh release, and those that were drawn for it, the whole guarantee and the
        count; not one that was given to the statistic."""
        for name, value in (
            ("guarantee", self.guarantee),
            ("count", count),
            ("provenance", self.provenance),
            ("uncounted", self.uncounted if self.coverage is None else _OF_ALL),
        ):
            if name in found.__dataclass_fields__:  # a region or interval has no others
                object.__setattr__(found, name, value)  # a copy would lose what is in no field
        for part in found.parts:
            if not any(part is given for given in self.call.statistic.rests_on):
                self._dress(part, count)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def _has_numbers(self) -> bool:
        """True if an integer that is no label finds the group of that number."""
        if isinstance(self.labels, range):
            return True
        return not any(isinstance(own, (int, np.integer)) for own in self.labels)

    def _index(self, label: Hashable) -> int:
        """The number of the group of that label."""
        found = None if isinstance(self.labels, range) else self._numbers.get(label)
        if found is not None:
            return found
        if isinstance(label, (int, np.integer)) and self._has_numbers:
            return range(len(self))[int(label)]
        raise KeyError(label)

    def __repr__(self) -> str:
        count = int(self.released.sum())
        return f"<Releases: {self.statistic} of {count} groups, {self.guarantee!r} each>"

    def _repr_html_(self) -> str:
        shown = range(min(len(self), MOST_ROWS))
        hidden = len(self) - len(shown)
        return card(
            self._title,
            [*self.statement.items(), *self._facts()],
            alarm=alarm_of(self.guarantee, () if self.coverage is None else self.coverage.warnings),
            notes=[
                *([f"The first {len(shown)} groups; {hidden} more."] if hidden else []),
            ],
            columns=self._heads,
            rows=map(self._row, shown),
        )

    def _row(self, index: int) -> tuple[str, ...]:
        """Texts of a group: label, size, value and error."""
        label, n = str(self.labels[index]), str(self.n[index])
        if not self.released[index]:
            return label, n, "skipped", ""
        error = float(self.expected_error[index])
        unit = self.call.ball_of(index).unit
        known = told_error(self.statistic, unit, None if math.isnan(error) else error, 4)
        return label, n, numbers(self.value[index]), known


#: Why a group's release has no count of its own.
_OF_ALL = "of this group alone: all groups have one count, the coverage of the releases"


def release_of(releases: Releases[Any], index: int) -> Release:
    """One group's release, where it is a `Release`."""
    return Release(**release_fields(releases, index))


def release_fields(releases: Releases[Any], index: int) -> dict[str, Any]:
    """Fields of one group's release that every `Release` has."""
    ball = releases.call.ball_of(index)
    base_point = releases.base_point
    expected = float(releases.expected_error[index])
    law = releases.law(index)
    return {
        "value": releases.value[index],
        "guarantee": law.guarantee,
        "calibrated_to": law.calibrated_to,
        "mechanism": law.mechanism,
        "statistic": releases.statistic,
        "manifold": ball.manifold.spec,
        "ball_center": ball.center,
        "ball_radius": ball.radius,
        "ball_unit": ball.unit,
        "n": int(releases.n[index]),
        "records_per_unit": releases.records_per_unit,
        "sensitivity": float(releases.sensitivity[index]),
        "solver_tolerance": float(releases.solver_tolerance[index]),
        "scale": float(releases.scale[index]),
        "expected_error": None if math.isnan(expected) else expected,
        "assumptions": releases.assumptions,
        "base_point": None if base_point is None else base_point[index],
        "parts": tuple(part.release_at(index) for part in releases.parts),
        "provenance": releases.provenance,
        "count": None if releases.counts is None else releases.counts[index],
    }
