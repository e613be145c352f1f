"""Parts of mean directions and mean axes that are alike: what follows from their region."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp.privacy import Guarantee
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.of_parts import report_of_parts, used_by
from curvedp.privacy.statement import Statement
from curvedp.privacy.wording import NOT_PRIVATE, alarm_of
from curvedp.statistics.region import ConfidenceRegion


class OfRegion(Disclosed):
    """Post-processing of one confidence region."""

    region: ConfidenceRegion
    manifold: str

    #: Its name where it is published.
    _statistic: ClassVar[str]

    @property
    @abstractmethod
    def _title(self) -> str:
        """The report's first line."""

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """The report's lines, with `_facts_of_region` at their end."""

    @property
    def guarantee(self) -> Guarantee | None:
        """Guarantee of everything here; None without privacy."""
        return self.region.guarantee

    @property
    def statement(self) -> Statement | None:
        """See `Release.statement`; None without privacy."""
        return self.region.statement

    def _disclosure(self) -> Disclosure:
        told = self._facts_of(self.region)
        return replace(told, statistic=self._statistic, manifold=self.manifold)

    def report(self) -> str:
        """Plain text: the result, how sure it is, the `statement`, and the releases behind it."""
        return report_of_parts(self.region, self._title, self._facts())

    def plot(self, ax: Any = None) -> Shown:
        """Draw it with the matplotlib of the extra ``plot``: in the plane and on the 2-sphere.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.

        Returns
        -------
        DirectionDisplay
            With `figure_` and `ax_`; a notebook shows it. See `curvedp.plotting`.

        Raises
        ------
        ValueError
            In higher dimension, or if `ax` is a 3-D one.
        MissingExtraError
            If matplotlib is not installed.
        """
        return displayed(self, "curvedp.plotting:DirectionDisplay.from_mean", ax=ax)

    def _facts_of_region(self) -> list[tuple[str, str]]:
        count = self.region.count
        return [
            ("guarantee", str(self.guarantee or NOT_PRIVATE)),
            ("records", used_by(self.region.parts, self.region.n)),
            *([] if count is None else [("count", str(count))]),
        ]

    def _repr_html_(self) -> str:
        counted = self.region.coverage
        return card(
            self._title,
            [*(() if self.statement is None else self.statement.items()), *self._facts()],
            alarm=alarm_of(self.guarantee, () if counted is None else counted.warnings),
            parts=self.region.parts,
        )
