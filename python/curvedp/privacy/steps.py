"""Steps of searches that outlive a process, as the ledger that paid has them: none is taken twice.

What a process keeps beside the ledger may be brought back from an older copy, and then lacks steps
that were taken. So each step is noted in the ledger, too, before anything of it leaves, and the
ledger takes it only from a process that knows all earlier ones.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

TABLES = """
CREATE TABLE search (name TEXT PRIMARY KEY, entry INTEGER NOT NULL UNIQUE);
CREATE TABLE step (
    search TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL, share TEXT NOT NULL,
    PRIMARY KEY (search, number)
);
"""


class Step(NamedTuple):
    """A step of a search.

    Attributes
    ----------
    number : int
        Numbers rise from step to step.
    digest : str
        Of what was asked.
    share : float
        Of the budget.
    """

    number: int
    digest: str
    share: float


@dataclass(frozen=True)
class Noted:
    """A search as a ledger knows it.

    Attributes
    ----------
    entry : int
        Number of the entry that set its budget aside.
    steps : tuple of Step
        In order.
    is_over : bool
        True if that entry was settled: no step follows.
    """

    entry: int
    steps: tuple[Step, ...] = ()
    is_over: bool = False

    def with_steps(self, before: tuple[Step, ...], steps: tuple[Step, ...]) -> Noted | None:
        """With further ones; None if those before them are others, or none may follow."""
        whole = before + steps
        numbers = [step.number for step in whole]
        if self.is_over or before != self.steps or numbers != sorted(set(numbers)):
            return None
        return replace(self, steps=whole)


def read(connection: sqlite3.Connection, settled: Collection[int]) -> dict[str, Noted]:
    """The searches of a ledger's file.

    Raises
    ------
    ValueError, TypeError
        If it is damaged.
    """
    steps: dict[str, list[Step]] = {}
    rows = connection.execute("SELECT search, number, digest, share FROM step ORDER BY number")
    for search, number, digest, share in rows:
        own = Step(number, digest, float.fromhex(share))
        if not (isinstance(number, int) and isinstance(digest, str) and 0 < own.share < math.inf):
            raise ValueError("no step")
        steps.setdefault(search, []).append(own)
    found = {
        name: Noted(entry, tuple(steps.pop(name, ())), entry in settled)
        for name, entry in connection.execute("SELECT name, entry FROM search")
    }
    if steps:
        raise ValueError("steps of no search")
    return found


def write(connection: sqlite3.Connection, search: str, steps: tuple[Step, ...]) -> None:
    """Adds steps to the file."""
    rows = [(search, step.number, step.digest, step.share.hex()) for step in steps]
    connection.executemany("INSERT INTO step VALUES (?, ?, ?, ?)", rows)
