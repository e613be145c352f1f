"""Base of confidence regions and intervals: results that rest on releases, shown with them."""

from __future__ import annotations

import abc
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp._validation import as_count
from curvedp.privacy.base import Guarantee
from curvedp.privacy.coverage import Coverage
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.release import Release, check_parts
from curvedp.privacy.release_text import lines_of_parts
from curvedp.privacy.statement import Statement
from curvedp.privacy.wording import NOT_PRIVATE, alarm_of, coverage_text
from curvedp.unit import Unit

__all__ = ["OfParts", "report_of_parts", "used_by"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OfParts(Disclosed):
    """A number or set with what it tells of a population, and the releases it rests on.

    Attributes
    ----------
    n : int
        Number of records.
    guarantee : Guarantee or None
        Guarantee of everything in this object; None without privacy.
    parts : tuple of Release
        The releases that it was computed from.
    coverage : Coverage or None
        How many records were points inside the ball, if they were counted; the guarantee covers it.
    uncounted : str or None
        Why they were not counted, where that is known.
    """

    n: int
    guarantee: Guarantee | None = None
    parts: tuple[Release, ...] = ()
    coverage: Coverage | None = None
    uncounted: str | None = None

    #: Its name where it is published.
    _statistic: ClassVar[str]
    #: Where the function stands that draws several.
    _display: ClassVar[str]

    def __post_init__(self) -> None:
        check_parts(self.guarantee, self.parts)
        object.__setattr__(self, "n", as_count(self.n, "n"))
        if not isinstance(self.coverage, (Coverage, type(None))):
            raise TypeError("coverage must be a Coverage or None")
        if self.uncounted is not None and not self.uncounted.isprintable():
            raise TypeError("uncounted must be a plain text")

    @property
    def count(self) -> RecordCount | None:
        """The released number of records, where it is protected."""
        return self.parts[0].count if self.parts else None

    @property
    def ball_unit(self) -> Unit | None:
        """The unit in which the ball was stated, and texts and pictures tell lengths."""
        return self.parts[0].ball_unit if self.parts else None

    @property
    @abc.abstractmethod
    def _title(self) -> str:
        """The first line of its report."""

    @abc.abstractmethod
    def _accuracy(self) -> str:
        """The sentence of the statement on how often it holds what it is made for."""

    def _facts(self) -> list[tuple[str, str]]:
        """Names and texts of what a report and a notebook show."""
        return [
            ("guarantee", str(self.guarantee or NOT_PRIVATE)),
            ("records", used_by(self.parts, self.n)),
        ]

    @property
    def statement(self) -> Statement | None:
        """See `Release.statement`; None without privacy."""
        if self.guarantee is None or not self.parts:
            return None
        whole = replace(self.parts[0], parts=(), guarantee=self.guarantee, calibrated_to=None)
        counted = coverage_text(self.coverage, self.uncounted)
        return replace(whole.statement, accuracy=f"{self._accuracy()} {counted}")

    def _disclosure(self) -> Disclosure:
        if self.guarantee is None or self.statement is None:
            raise ValueError("what was computed without privacy has no guarantee to disclose")
        parts = list(map(self._facts_of, self.parts))
        return replace(
            parts[0],
            statistic=self._statistic,
            guarantee=self.guarantee,
            statement=self.statement,
            assumptions=frozenset[str]().union(*(own.assumptions for own in parts)),
            noise=tuple(text for own in parts for text in own.noise),
            parts=tuple((own.statistic, own.guarantee) for own in parts),
            count=None if self.coverage is None else self.coverage.guarantee,
        )

    def _warnings(self) -> tuple[str, ...]:
        """Sentences of the coverage against the ball or the format of the records."""
        return () if self.coverage is None else self.coverage.warnings

    def report(self) -> str:
        """Plain text: the result, the `statement`, then the releases that it rests on."""
        return report_of_parts(self, self._title, self._facts())

    def plot(self, ax: Any = None) -> Shown:
        """Draw it with the matplotlib of the extra ``plot``.

        By `curvedp.plotting.RegionDisplay` or `VarianceIntervalDisplay`, which draw several and
        have more options.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Returns
        -------
        RegionDisplay or VarianceIntervalDisplay
            With `figure_` and `ax_`; a notebook shows it.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return displayed([self], self._display, ax=ax)

    def __repr__(self) -> str:
        known = NOT_PRIVATE if self.guarantee is None else self.guarantee._brief
        return f"<{type(self).__name__}: {self._title}, {known}, n={self.n}>"

    def _repr_html_(self) -> str:
        return card(
            self._title,
            [*(() if self.statement is None else self.statement.items()), *self._facts()],
            alarm=alarm_of(self.guarantee, self._warnings()),
            parts=self.parts,
        )

    def _stored(self) -> dict[str, Any]:
        """Its own fields for JSON; `_read` reads them."""
        return {
            "n": self.n,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
            "coverage": None if self.coverage is None else self.coverage.to_dict(),
            "uncounted": self.uncounted,
        }

    @staticmethod
    def _read(data: dict[str, Any]) -> dict[str, Any]:
        """The same fields as they were, beside others that `data` holds."""
        given, counted = data["guarantee"], data["coverage"]
        return data | {
            "guarantee": None if given is None else Guarantee.from_dict(given),
            "parts": tuple(map(Release.from_dict, data["parts"])),
            "coverage": None if counted is None else Coverage.from_dict(counted),
        }


def report_of_parts(own: OfParts, title: str, facts: Sequence[tuple[str, str]]) -> str:
    """The report of a result, or of what was computed from one, with a title and facts.

    Parameters
    ----------
    own : OfParts
    title : str
    facts : sequence of (name, text)
    """
    lines, warnings = [title], () if own.coverage is None else own.coverage.warnings
    for text in warnings:
        lines += ["", *textwrap.wrap(f"WARNING: {text}", 88)]
    lines += [""] if warnings else []
    lines += [f"{name}: {text}" for name, text in facts]
    lines += [] if own.statement is None else ["", *own.statement.lines()]
    return "\n".join([*lines, *lines_of_parts(own.parts, own.guarantee, (), own.coverage)]) + "\n"


def used_by(parts: Sequence[Release], n: int) -> str:
    """The number of records of releases, or what became of an unknown one."""
    count = parts[0].count if parts else None
    return f"n = {n}" if count is None else count.used(n)
