"""Texts of a release about itself: statement, report, short text, table for notebooks, picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp._text import is_long, numbers, rounded_down, rounded_up
from curvedp.manifolds import as_manifold
from curvedp.privacy.assumptions import explained
from curvedp.privacy.base import Guarantee, adds_or_removes
from curvedp.privacy.coverage import Coverage
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.guarantees import GDP, NO_GUARANTEE, ApproxDP, PureDP, Unproved, compose
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.statement import FALSE_ALARMS, Statement, statement
from curvedp.privacy.wording import (
    LOCAL,
    alarm_of,
    coverage_text,
    limits_of_error,
    power_of,
    told_error,
)
from curvedp.unit import Unit, told_in

#: Facts that releases from one data set have in common.
_COMMON = {"neighbouring", "records", "units", "domain", "calibration", "provenance"}


class ReleaseText(Disclosed):
    """A release as texts, for whoever reads it without the code; `Release` has the fields.

    Kinds of releases say what is particular to them by `_facts`, `_notes`, `_noise` and `_error`.
    """

    #: Where the function stands that draws it.
    _display = "curvedp.plotting.releases:display_of"
    #: True if what it rests on had been released before: its guarantee does not cover that.
    _given = False

    value: NDArray[np.float64]
    guarantee: Guarantee
    mechanism: str
    statistic: str
    manifold: str
    ball_radius: float
    n: int
    records_per_unit: int
    sensitivity: float
    solver_tolerance: float
    scale: float
    expected_error: float | None
    assumptions: frozenset[str]
    calibration: str
    calibrated_to: PureDP | GDP | ApproxDP | None
    parts: Sequence[ReleaseText]
    provenance: Provenance | None
    coverage: Coverage | None
    uncounted: str | None
    count: RecordCount | None
    ball_unit: Unit | None

    @property
    def statement(self) -> Statement:
        """Five sentences: who is protected, against whom, assuming what, the cost, the accuracy."""
        return statement(
            self.guarantee,
            n=f"the number of {'units' if self.units_by_name else 'records'}, n = {self.n}",
            accuracy=self._accuracy(),
            by_name=self.units_by_name,
            records_per_unit=self.records_per_unit,
            grouped=bool({"public-groups", "public-keys", "groups-by-record"} & self.assumptions),
            private_keys="groups-by-record" in self.assumptions,
            steady=self.provenance is not None and self.provenance.steady,
            local=self.is_local,
            provenance=self.provenance,
        )

    def report(self) -> str:
        """Plain text that a reader without the code can follow: the `statement`, then the facts.

        Lines are at most 88 characters wide, except for rows of the value. A value of more than a
        dozen numbers is named by its shape. What is particular to a kind of release stands after
        the facts that all have, then assumptions, and the releases that it was computed from.
        """
        return self._report(self.statement)

    def _report(self, statement: Statement) -> str:
        """The report with this statement: of a model it says more than of the release."""
        lines = [self._title, ""]
        if isinstance(self.guarantee, Unproved):
            lines += [NO_GUARANTEE, *_paragraph(self.guarantee._claim), ""]
        for text in self._warnings():
            lines += [*textwrap.wrap(f"WARNING: {text}", 88), ""]
        lines += [*statement.lines(), ""]
        return "\n".join([*lines, *self._details()]) + "\n"

    def _details(self, known: Sequence[tuple[str, str]] = ()) -> list[str]:
        """Lines of a report after the statement, without facts that are known."""
        lines = []
        for fact in self._facts():
            lines += [] if fact in known else _row(*fact)
        for note in self._notes():
            lines += ["", *textwrap.wrap(note, 88)]
        further = self.explained_assumptions()
        if further or not known:
            lines += ["", f"further assumptions:{'' if further else ' none'}"]
        for text in further:
            lines += textwrap.wrap(f"- {text}", 88, subsequent_indent="  ")
        known = [*known, *self._common()]
        if self._given:
            return [*lines, *lines_of_parts(self.parts, None, known)]
        return [*lines, *lines_of_parts(self.parts, self.guarantee, known, self.coverage)]

    def _inside(self, known: Sequence[tuple[str, str]]) -> tuple[list[str], list[tuple[str, str]]]:
        """Lines within another's report, and the facts that are known after them."""
        return [self._title, "", *self._details(known)], [*known, *self._common()]

    def _common(self) -> list[tuple[str, str]]:
        """Facts that the releases that it rests on need not repeat."""
        return [fact for fact in self._facts() if fact[0] in _COMMON]

    def _disclosure(self) -> Disclosure:
        return Disclosure(
            statistic=self.statistic,
            manifold=self.manifold,
            domain=self._domain(),
            guarantee=self.guarantee,
            statement=self.statement,
            provenance=self.provenance,
            n=self.n,
            records_per_unit=self.records_per_unit,
            assumptions=self.assumptions,
            noise=(
                f"{self.mechanism}: sensitivity {rounded_up(self.sensitivity)}, noise scale "
                f"{rounded_down(self.scale)}, error of the solver "
                f"{self._tolerance() or '0'}",
            ),
            parts=tuple((part.statistic, part.guarantee) for part in self.parts if not self._given),
            count=None if self.coverage is None else self.coverage.guarantee,
            is_local=self.is_local,
        )

    def explained_assumptions(self) -> list[str]:
        """Assumptions besides the proof, each with its meaning."""
        return explained(self.assumptions)

    def plot(self, ax: Any = None) -> Shown:
        """Draw the release with the matplotlib of the extra ``plot``.

        Shows what the release holds and nothing else: the value in the manner of its space, the
        ball, and the expected error of the noise. See `curvedp.plotting.ReleaseDisplay`, its
        `GeodesicDisplay` for geodesics, and `curvedp.conformal.display.MeshFieldDisplay` for
        densities on the sphere.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Returns
        -------
        ReleaseDisplay, GeodesicDisplay or MeshFieldDisplay
            With `figure_` and `ax_`; a notebook shows it.

        Raises
        ------
        ValueError
            If `ax` is a plane one where three dimensions are drawn, or the reverse, or the value
            holds numbers that no picture shows.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> import numpy as np, curvedp as cdp
        >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
        >>> mean = cdp.frechet_mean(np.tile(ball.center, (500, 1)), ball, cdp.GDP(mu=1.0))
        >>> mean.plot().view
        'globe'
        """
        return displayed(self, self._display, ax=ax)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.statistic} on {self.manifold}, {self._in_brief()}, "
            f"{self.guarantee._brief}, n={self.n}>"
        )

    def _in_brief(self) -> str:
        """The value on one line."""
        return f"value={numbers(self.value)}"

    def _repr_html_(self) -> str:
        return card(
            self._title,
            [*self.statement.items(), *self._facts()],
            alarm=alarm_of(self.guarantee, self._warnings()),
            notes=[
                *self._notes(),
                *(f"assumes {text}" for text in self.explained_assumptions()),
            ],
            parts=self.parts,
        )

    @property
    def _title(self) -> str:
        return f"Release of the {self.statistic} on {self.manifold} by {self.mechanism}"

    def _facts(self) -> list[tuple[str, str]]:
        """Names and texts of what a report and a notebook show."""
        has_length = self.ball_unit is not None and self.ball_unit.length is not None
        is_length = has_length and power_of(self.statistic) == 1
        of_metric = ", in units of the metric" if is_length else ""
        value = f"array of shape {self.value.shape}: see .value"
        if not is_long(self.value):
            value = np.array2string(self.value, precision=6, suppress_small=True, max_line_width=84)
        return [
            ("value", value),
            *self._told_value(),
            ("guarantee", str(self.guarantee)),
            ("meaning", self.guarantee._promise),
            *self._way(),
            ("neighbouring", self._neighbouring()),
            *([] if self.count is None else [("count", str(self.count))]),
            ("units" if self.units_by_name else "records", self._used()),
            ("domain", self._domain()),
            (
                "sensitivity",
                f"{rounded_up(self.sensitivity)}{of_metric}: the most that {self._one()} changes "
                f"before noise{self._solver()}",
            ),
            ("noise scale", rounded_down(self.scale) + of_metric),
            ("expected error", self._error()),
            *self._noise(),
            ("calibration", self._calibration()),
            *([] if self.provenance is None else [("provenance", str(self.provenance))]),
        ]

    def _one(self) -> str:
        """The unit of the guarantee, in short."""
        return "one unit" if self.units_by_name or self.records_per_unit > 1 else "one record"

    def _solver(self) -> str:
        """The solver's part of the sensitivity."""
        if not self._tolerance():
            return ""
        counted = "counted twice" if self.calibration == "proved" else "which is not counted"
        return f"; the solver adds {self._tolerance()}, {counted}"

    def _tolerance(self) -> str:
        """The bound on the solver's error."""
        bound = rounded_up(self.solver_tolerance, 3)
        return f"at most {bound}" if self.solver_tolerance else ""

    def _told_value(self) -> list[tuple[str, str]]:
        """The value in the unit of the ball."""
        unit, power = self.ball_unit, power_of(self.statistic)
        if unit is None or power == 0:
            return []
        if unit.length is None:
            return [("unit", f"of the value's entries {unit.name}")] if power == 1 else []
        if power > 1:
            return [("in its unit", unit.told(float(self.value), power=power))]
        space = as_manifold(self.manifold)
        found = (
            unit.numbers_of(space, self.value) if self.value.shape == space.point_shape else None
        )
        if found is None:
            return []
        numbers_told, what = found
        told = np.array2string(numbers_told, precision=6, suppress_small=True, separator=", ")
        return [("in its unit", f"{told} ({what})")]

    def _calibration(self) -> str:
        """The kind of calibration; "proved" only of what is."""
        if self.calibration == "proved" and isinstance(self.guarantee, Unproved):
            return "as for a proved guarantee, which this release has not"
        return self.calibration

    def _accuracy(self) -> str:
        """The last sentence of the statement."""
        return f"expected error {self._error()}.{self._counted()}"

    def _counted(self) -> str:
        """A sentence on the count of records inside the ball, after a space."""
        return "" if self.is_local else f" {coverage_text(self.coverage, self.uncounted)}"

    def _domain(self) -> str:
        """Where records lie, and what became of others."""
        return (
            f"ball of radius {told_in(self.ball_unit)(self.ball_radius)} around a public centre; "
            "records outside were projected on it"
        )

    def _error(self) -> str:
        """The expected error, and what it leaves out."""
        known = told_error(self.statistic, self.ball_unit, self.expected_error)
        default = "mean size of the error"
        if power_of(self.statistic) == 1:
            default = "mean distance from that of the records"
        if self.expected_error is None:
            default = ""
        limits = limits_of_error(self.statistic) or default
        used = "" if self.count is None else "about the records that were used"
        told = "; ".join(filter(None, (limits, used)))
        return f"{known} ({told})" if told else known

    def _notes(self) -> list[str]:
        """Sentences on what is particular to this kind of release."""
        return []

    def _noise(self) -> list[tuple[str, str]]:
        """Size of the noise beside what the ball alone says, where that can be compared."""
        return []

    def _warnings(self) -> tuple[str, ...]:
        """Sentences of the coverage against the ball or the format of the records."""
        return () if self.coverage is None else self.coverage.warnings

    def _way(self) -> list[tuple[str, str]]:
        if self.calibrated_to in (None, self.guarantee):
            return []
        if self.count is not None:
            return [("met by", f"a count, and noise for {self.calibrated_to}")]
        return [("met by", f"noise for {self.calibrated_to}, which implies it")]

    @property
    def units_by_name(self) -> bool:
        """True if a person's records bear a label, and all of them count as one."""
        return "units-by-name" in self.assumptions

    @property
    def is_local(self) -> bool:
        """True if the release is about one record, whose owner trusts nobody."""
        return self.statistic.startswith(LOCAL)

    def _neighbouring(self) -> str:
        if self.is_local:
            return "any other record in its place"
        what, counted = "one record", "records"
        if self.units_by_name:
            what, counted = "all records of one unit", "units"
        if self.guarantee.neighbours == "replace":
            return f"replace {what}; the number of {counted} n is public"
        told = f"add or remove {what}; the number of {counted} is protected"
        if self.count is None:
            return told
        return f"{told}. Replacing {what} is protected by {self.count.replacing}"

    def _used(self) -> str:
        """The number of records, or what became of an unknown number."""
        if self.count is None:
            return f"n = {self.n}"
        return self.count.used(self.n)


def lines_of_parts(
    parts: Sequence[ReleaseText],
    whole: Guarantee | None,
    known: Sequence[tuple[str, str]] = (),
    coverage: Coverage | None = None,
) -> list[str]:
    """Lines of a report on the releases that it rests on, with what they and a count add up to.

    What they have in common, and the facts that are known, stand once.

    Parameters
    ----------
    parts : sequence of Release
    whole : Guarantee or None
        Of what rests on them; None if it does not cover them.
    known : sequence of (name, text)
    coverage : Coverage or None
    """
    if not parts:
        return []
    covered = "which the guarantee above does not cover: theirs is added to it"
    if whole is not None:
        told = _added_up([part.guarantee for part in parts], coverage, whole)
        covered = f"which the guarantee above covers{told}"
    lines = ["", *textwrap.wrap(f"computed from these releases, {covered}:", 88)]
    for part in parts:
        inner, known = part._inside(known)
        lines += ["", *textwrap.indent("\n".join(inner), "  ").split("\n")]
    return lines


def _added_up(guarantees: list[Guarantee], coverage: Coverage | None, whole: Guarantee) -> str:
    """The composition of guarantees of releases from one data set, if they are of one kind."""
    counted = [] if coverage is None else [coverage.guarantee]
    guarantees = guarantees + counted
    kinds = {type(guarantee) for guarantee in guarantees}
    if len(guarantees) < 2 or len(kinds) > 1 or Unproved in kinds or adds_or_removes(guarantees[0]):
        return ""
    together = compose(*guarantees)
    leaves = together.power(FALSE_ALARMS) < 0.999 * whole.power(FALSE_ALARMS)
    rest = "; the value itself has the rest" if leaves else ""
    return f" (together{' with the count' if counted else ''} {together}{rest})"


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(text, 88, initial_indent="    ", subsequent_indent="    ")


def _row(name: str, text: str) -> list[str]:
    label = f"{name + ':':<16}"
    if "\n" in text:
        return [label.rstrip(), *("    " + line for line in text.splitlines())]
    return textwrap.wrap(label + text, 88, subsequent_indent=" " * 16)
