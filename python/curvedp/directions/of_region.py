"""Parts of mean directions and mean axes that are alike: what follows from their region."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp.directions.reading import Angles
from curvedp.privacy import Guarantee
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.of_parts import report_of_parts, used_by
from curvedp.privacy.statement import Statement
from curvedp.privacy.stored import restored
from curvedp.privacy.wording import NOT_PRIVATE, alarm_of
from curvedp.statistics.region import ConfidenceRegion

_SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class OfRegion(Disclosed):
    """Post-processing of one confidence region."""

    region: ConfidenceRegion
    manifold: str
    angle_units: Angles = None  # type: ignore[assignment]

    #: Its name where it is published.
    statistic: ClassVar[str]

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
        own = self._facts_of(self.region)
        return replace(own, statistic=self.statistic, manifold=self.manifold)

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

    def to_json(self) -> str:
        """JSON text with ``schema_version``; floats survive it exactly."""
        data = {
            "schema_version": _SCHEMA_VERSION,
            "statistic": self.statistic,
            "manifold": self.manifold,
            "angle_units": self.angle_units,
            "region": json.loads(self.region.to_json()),
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is none of this schema.
        """
        return restored(text, cls.statistic, cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Self:
        if not isinstance(data, dict) or data.pop("schema_version", None) != _SCHEMA_VERSION:
            raise ValueError(f"another schema than {_SCHEMA_VERSION}")
        if data.pop("statistic", None) != cls.statistic:
            raise ValueError("it is of another statistic")
        if set(data) != {field.name for field in fields(cls)}:
            raise ValueError("unexpected or missing fields")
        region = ConfidenceRegion.from_json(json.dumps(data["region"]))
        return cls(region, data["manifold"], data["angle_units"])

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
