"""A ledger's account in the memory of one process, and rules that every account keeps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from curvedp.errors import LedgerError
from curvedp.privacy.base import Guarantee
from curvedp.privacy.steps import Noted, Step

Total = tuple[Fraction, ...]
Decide = Callable[[Total], Total]
Cost = Callable[[Guarantee], Total]


@dataclass(frozen=True)
class Spend:
    """A spend as stores keep it.

    Attributes
    ----------
    time : datetime
    label : str
    guarantee : Guarantee
    settles : int or None
        The number of the spend in whose place this one stands.
    search : str or None
        The search for which it sets a budget aside: one spend for each search.
    steps : int
        Of a spend that settles: the number of steps of the search that it is the cost of.
    """

    time: datetime
    label: str
    guarantee: Guarantee
    settles: int | None = None
    search: str | None = None
    steps: int = 0


class MemoryStore:
    """Account of one process; refuses to be used by a fork, which would spend a copy."""

    def __init__(self, start: Total) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._account: tuple[Total, tuple[tuple[Spend, Total], ...]] = (start, ())
        self._searches: dict[str, Noted] = {}

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError(
                "this ledger lives in the memory of another process and a copy would spend its "
                "budget twice: give the ledger a path to share it"
            )

    def charge(self, decide: Decide, spend: Spend) -> tuple[int, Total]:
        """Decides and records; the spend's number, from 1, and the total after it.

        A search that was paid is not paid again: number and total are those of its entry then.
        """
        self._check_process()
        with self._lock:
            total, spends = self._account
            if spend.search is not None and spend.search in self._searches:
                paid = self._searches[spend.search].entry
                return paid, spends[paid - 1][1]
            after = decide(total)
            if spend.settles is not None:
                check_settled(spend.settles, [own for own, _ in spends])
                if (search := check_steps(spend, self._searches)) is not None:
                    self._searches[search] = replace(self._searches[search], is_over=True)
            self._account = (after, (*spends, (spend, after)))
            if spend.search is not None:
                self._searches[spend.search] = Noted(len(spends) + 1)
            return len(spends) + 1, after

    def note(self, search: str, before: tuple[Step, ...], steps: tuple[Step, ...]) -> bool:
        """Adds steps to a search of which these are before; False if others are, or it is over."""
        self._check_process()
        with self._lock:
            after = known_search(self._searches, search).with_steps(before, steps)
            if after is not None:
                self._searches[search] = after
            return after is not None

    def searches(self) -> dict[str, Noted]:
        """Searches that were paid, by name."""
        self._check_process()
        return dict(self._searches)

    def read(self) -> tuple[Total, tuple[tuple[Spend, Total], ...]]:
        """The total, and each spend with the total after it."""
        self._check_process()
        return self._account

    def total(self) -> Total:
        return self.read()[0]


def check_settled(number: int, spends: Sequence[Spend]) -> None:
    """Raises unless the entry of that number is there, settles none and is not settled."""
    if not 1 <= number <= len(spends) or spends[number - 1].settles is not None:
        raise ValueError("no entry that may be settled")
    if any(own.settles == number for own in spends):
        raise ValueError("an entry that was settled")


def known_search(searches: Mapping[str, Noted], name: str) -> Noted:
    """The search of that name; raises if there is none."""
    if name not in searches:
        raise LedgerError("no search of this name was paid from this ledger")
    return searches[name]


def check_steps(spend: Spend, searches: Mapping[str, Noted]) -> str | None:
    """The search whose entry a spend settles; raises if it took further steps meanwhile."""
    for name, own in searches.items():
        if own.entry == spend.settles:
            if len(own.steps) != spend.steps:
                raise LedgerError("a search goes on in another process: nothing was given back")
            return name
    return None


def check_paid(search: Noted, spends: Sequence[tuple[Spend, Total]]) -> None:
    """Raises unless the entry of a search is there and settles none."""
    if not 1 <= search.entry <= len(spends) or spends[search.entry - 1][0].settles is not None:
        raise ValueError("a search that no entry paid for")
