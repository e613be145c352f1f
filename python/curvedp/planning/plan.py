"""A plan: the error to expect of a release, with what it means."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass, replace

from curvedp._html import card
from curvedp.privacy import Guarantee
from curvedp.privacy.wording import percent
from curvedp.unit import Unit, length_of, told_in


@dataclass(frozen=True, repr=False, kw_only=True)
class Plan:
    """Expected error of a release of `n` records.

    Attributes
    ----------
    statistic : str
        Name of the function that releases it.
    n : int
        Number of records.
    guarantee : Guarantee
    quantity : str
        Meaning of `low` and `high`: "expected error" or "half-length".
    low, high : float
        Its values for the most and the least favourable records; equal if it does not depend on
        them.
    meaning : str
        Meaning of the figures, in one sentence or two.
    radius : float or None
        The ball's radius, where the quantity is a distance.
    unit : Unit or None
        That of `low`, `high` and `radius`: the one in which the ball was stated, else radians on
        spaces of directions and turns; None for the units of the metric.
    """

    statistic: str
    n: int
    guarantee: Guarantee
    quantity: str
    low: float
    high: float
    meaning: str
    radius: float | None
    unit: Unit | None = None

    def to_json(self) -> str:
        """JSON text: an entry for each attribute."""
        unit = None if self.unit is None else self.unit.to_dict()
        own = vars(self) | {"guarantee": self.guarantee.to_dict(), "unit": unit}
        return json.dumps(own, ensure_ascii=False)

    def report(self) -> str:
        """Plain text: one line for each attribute, then what they mean."""
        rows = [f"{name:<17}{text}" for name, text in self._facts()]
        return "\n".join([*rows, *textwrap.wrap(self.meaning, 88), ""])

    def _facts(self) -> list[tuple[str, str]]:
        power = power_of_error(self.statistic)
        tell, one = told_in(self.unit), length_of(self.unit)

        def told(number: float) -> str:
            return tell(number * one**power, 4, power)

        between = "" if self.low == self.high else f"{told(self.low)} to "
        share = ""
        if self.radius is not None:
            share = f"  ({percent(self.high / self.radius)} of the radius)"
        return [
            ("records", str(self.n)),
            ("guarantee", str(self.guarantee)),
            (self.quantity, f"{between}{told(self.high)}{share}"),
        ]

    def in_unit(self, unit: Unit | None) -> Plan:
        """The plan in a unit, where it was in the units of the metric.

        Parameters
        ----------
        unit : Unit or None
        """
        one = length_of(unit)
        power = one ** power_of_error(self.statistic)
        radius = None if self.radius is None else self.radius / one
        return replace(self, low=self.low / power, high=self.high / power, radius=radius, unit=unit)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {text}" for name, text in self._facts())
        return f"<Plan of {self.statistic}: {' '.join(facts.split())}>"

    def _repr_html_(self) -> str:
        return card(f"Plan of {self.statistic}", self._facts(), notes=[self.meaning])


def power_of_error(statistic: str) -> int:
    """The power of a length that the error of a function's result is."""
    return 2 if statistic == "frechet_variance" else 1
