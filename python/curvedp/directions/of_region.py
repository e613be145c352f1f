"""Parts of mean directions and mean axes that are alike: what follows from their region."""

from __future__ import annotations

from abc import ABC, abstractmethod

from curvedp._html import card
from curvedp.privacy import Guarantee
from curvedp.privacy.of_parts import report_of_parts
from curvedp.privacy.wording import NOT_PRIVATE, unproved_text
from curvedp.statistics.region import ConfidenceRegion


class OfRegion(ABC):
    """Post-processing of one confidence region."""

    region: ConfidenceRegion

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

    def report(self) -> str:
        """Plain text: the result, how sure it is, the `statement`, and the releases behind it."""
        return report_of_parts(self.region, self._title, self._facts())

    def _facts_of_region(self) -> list[tuple[str, str]]:
        facts = [
            ("guarantee", str(self.guarantee or NOT_PRIVATE)),
            ("records", f"n = {self.region.n}"),
        ]
        if self.region.coverage is not None:
            facts.append(("coverage", str(self.region.coverage)))
        return facts

    def _repr_html_(self) -> str:
        alarm = unproved_text(self.guarantee)
        return card(self._title, self._facts(), alarm=alarm, parts=self.region.parts)
