"""Where a release comes from: the version and day that made it, and the ledger that paid for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

import curvedp
from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import GDP
from curvedp.privacy.ledger import Ledger
from curvedp.privacy.store import LedgerEntry

__all__ = ["Payment", "Provenance"]


@dataclass(frozen=True)
class Payment:
    """A ledger's entry for a release.

    Attributes
    ----------
    ledger : str
        Name of the ledger's file, without its folder; empty for one in memory.
    number : int
        The entry's number among the ledger's spends, from 1.
    guarantee : Guarantee
        What was charged.
    budget : Guarantee
        Of the ledger.
    spent : Guarantee
        Composition of all spends up to this one, rounded up.
    remaining : Guarantee or None
        What was left then, rounded down.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ledger = cdp.Ledger(cdp.GDP(mu=2.0), unit="patient")
    >>> str(Payment.of(ledger, ledger.spend(cdp.GDP(mu=1.0)))).split(": ")[1]
    'GDP(mu=1) of GDP(mu=2) is spent, GDP(mu=1.73205) is left (squares of mu add up)'
    """

    ledger: str
    number: int
    guarantee: Guarantee
    budget: Guarantee
    spent: Guarantee
    remaining: Guarantee | None

    @classmethod
    def of(cls, ledger: Ledger, entry: LedgerEntry) -> Payment:
        """That of an entry that was just made.

        Parameters
        ----------
        ledger : Ledger
        entry : LedgerEntry
        """
        return cls(
            ledger=os.path.basename(ledger.path or ""),
            number=entry.number,
            guarantee=entry.guarantee,
            budget=ledger.budget,
            spent=entry.spent,
            remaining=entry.remaining,
        )

    def __str__(self) -> str:
        place = f"the ledger {self.ledger}" if self.ledger else "a ledger in memory"
        left = "nothing" if self.remaining is None else self.remaining.as_rest()
        squares = " (squares of mu add up)" if isinstance(self.budget, GDP) else ""
        return (
            f"entry {self.number} of {place} charged {self.guarantee}: {self.spent} of "
            f"{self.budget} is spent, {left} is left{squares}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.to_dict() if isinstance(value, Guarantee) else value
            for name, value in own.items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Payment:
        """Inverse of `to_dict`."""
        own: dict[str, Any] = {
            name: Guarantee.from_dict(value) if isinstance(value, dict) else value
            for name, value in data.items()
        }
        return cls(**own)


@dataclass(frozen=True)
class Provenance:
    """The origin of a release; public, and no part of what makes two releases equal.

    Attributes
    ----------
    version : str
        Of curvedp.
    day : str
        On which it was released (UTC), such as ``"2026-11-25"``.
    data : str
        Name of the data set, of the ledger; empty if none was given.
    unit : str
        Name of what is protected, such as ``"patient"``, of the ledger; empty if none was given.
    steady : bool
        True if the answer came at a public time, see ``timing`` of `frechet_mean`.
    payment : Payment or None
        The ledger's entry; None if no ledger was asked.

    Examples
    --------
    >>> Provenance(version="0.1.0", day="2026-11-25", data="visits").payment is None
    True
    """

    version: str
    day: str
    data: str = ""
    unit: str = ""
    steady: bool = False
    payment: Payment | None = None

    def __post_init__(self) -> None:
        date.fromisoformat(self.day)
        for name in ("version", "data", "unit"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a text")

    @classmethod
    def now(
        cls,
        ledger: Ledger | None = None,
        entry: LedgerEntry | None = None,
        *,
        steady: bool = False,
    ) -> Provenance:
        """That of a release that is being made.

        Parameters
        ----------
        ledger : Ledger or None
        entry : LedgerEntry or None
            What it was charged.
        steady : bool
        """
        return cls(
            version=curvedp.__version__,
            day=today(),
            data="" if ledger is None else ledger.data,
            unit="" if ledger is None else ledger.unit,
            steady=steady,
            payment=None if ledger is None or entry is None else Payment.of(ledger, entry),
        )

    def __str__(self) -> str:
        of_data = f" from {self.data}" if self.data else ""
        return f"made{of_data} by curvedp {self.version} on {self.day}"

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return own | {"payment": None if self.payment is None else self.payment.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """Inverse of `to_dict`."""
        paid = data["payment"]
        return cls(**{**data, "payment": None if paid is None else Payment.from_dict(paid)})


def today() -> str:
    """The day (UTC)."""
    return datetime.now(UTC).date().isoformat()
