"""A ledger's account in an SQLite file shared by processes.

A store holds the exact total charged so far and the list of entries. `charge` decides and records
in one step that no other thread or process can interleave with, and returns only when the charge
is as durable as the store is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any

from curvedp.errors import LedgerError
from curvedp.privacy import steps as noted
from curvedp.privacy.account import (
    Cost,
    Decide,
    Spend,
    Total,
    check_paid,
    check_settled,
    check_steps,
    known_search,
)
from curvedp.privacy.base import Guarantee
from curvedp.privacy.place import JOURNALS, check_files, real_path
from curvedp.privacy.steps import Noted, Step
from curvedp.privacy.stored import DAMAGE


@dataclass(frozen=True)
class LedgerEntry:
    """One spend: when (UTC), what for, and the guarantee that was spent.

    Attributes
    ----------
    time : datetime
    label : str
    guarantee : Guarantee
    number : int
        Its place among the ledger's spends, from 1.
    spent : Guarantee
        Composition of all spends up to it, rounded up.
    remaining : Guarantee or None
        What was left after it, rounded down.
    settles : int or None
        The number of the entry in whose place this one stands: of a search that stopped early, what
        it spent instead of what had been set aside.
    """

    time: datetime
    label: str
    guarantee: Guarantee
    number: int
    spent: Guarantee
    remaining: Guarantee | None
    settles: int | None = None


@dataclass(frozen=True)
class MadeWith:
    """A ledger's budget, and the names of its data set and of its unit."""

    budget: Guarantee
    data: str
    unit: str


_APPLICATION = 0x63647031
_SCHEMA = 6
_BUSY_SECONDS = 60.0
_TABLES = f"""
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id = 1), budget TEXT NOT NULL, total TEXT NOT NULL,
    data TEXT NOT NULL, unit TEXT NOT NULL
);
CREATE TABLE entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL, label TEXT NOT NULL, guarantee TEXT NOT NULL, total TEXT NOT NULL,
    settles INTEGER UNIQUE
);
{noted.TABLES.strip()}
"""
_INSERT = "INSERT INTO entry (time, label, guarantee, total, settles) VALUES (?, ?, ?, ?, ?)"
_ENTRIES = "SELECT time, label, guarantee, total, settles FROM entry ORDER BY id"

# SQLite keeps per-process state about open files that a fork in mid-transaction would inherit:
# connections are short and a fork waits for them.
_connections = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_connections.acquire,
        after_in_parent=_connections.release,
        after_in_child=_connections.release,
    )


class _LedgerFile:
    """An SQLite file that may be a ledger's; looked at in every transaction."""

    def __init__(self, path: str) -> None:
        self.path = path

    def made_with(self) -> MadeWith:
        """Its budget and names."""
        with self._transaction("BEGIN") as connection:
            [(text, data, unit)] = connection.execute("SELECT budget, data, unit FROM account")
            return MadeWith(Guarantee.from_dict(json.loads(text)), data, unit)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        real_path(self.path)  # raises if others could change what stands there
        check_files(self.path)
        uri = f"{Path(self.path).as_uri()}?mode=rw"
        try:
            with (
                _connections,
                closing(
                    sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
                ) as connection,
            ):
                connection.execute("PRAGMA synchronous=EXTRA")
                connection.execute(begin)
                self._check_schema(connection)
                with connection:
                    yield connection
        except sqlite3.Error as error:
            raise LedgerError(
                f"the ledger file {self.path} cannot be used ({error}): nothing was released; "
                "check that it exists, is a ledger, is writable and not locked for long"
            ) from error
        except DAMAGE:
            raise LedgerError(
                f"the ledger file {self.path} is damaged or was edited: what it says was spent "
                "cannot be relied on, and nothing was released; bring back a copy that holds every "
                "spend, or count the data set's budget as spent"
            ) from None

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        marks = tuple(
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if marks != (_APPLICATION, _SCHEMA):
            raise LedgerError(f"{self.path} is not a ledger file of this version of curvedp")
        found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        if sorted(text for (text,) in found) != sorted(_TABLES.strip().rstrip(";").split(";\n")):
            raise ValueError("other tables, or triggers")


class FileStore(_LedgerFile):
    """Account in an SQLite file, one short connection and one immediate transaction per charge.

    The file is created with mode 0600, whole, under another name and then linked to its path, so
    that a crash never leaves half an account and two creators never both succeed. The rollback
    journal with synchronous=EXTRA makes a returned charge survive kill -9 and power loss; a charge
    that was cut off before it returned may or may not be in it, and no noise has been drawn then.

    Each entry holds the total after it. The account's total must be the last entry's at every
    charge, and the whole file is added up when it is opened or its entries are read.
    """

    def __init__(
        self, path: str, made: MadeWith, start: Total, cost: Cost, *, create: bool
    ) -> None:
        super().__init__(path)
        self._made = made
        self._start, self._cost = start, cost
        if not os.path.lexists(real_path(path)):
            if not create:
                raise LedgerError(
                    f"{path}: no such file. A ledger that was sent here spends from its own file: "
                    "make it visible under this path"
                )
            self._create()
        there = self.made_with()
        if there.budget != made.budget:
            raise LedgerError(
                f"{path} is a ledger with the budget {there.budget}, not {made.budget}: open it "
                "with its own budget, or choose another path for another data set"
            )
        for name, own, given in (
            ("data", there.data, made.data),
            ("unit", there.unit, made.unit),
        ):
            if given not in ("", own):
                raise LedgerError(
                    f"{path} is a ledger with {name}={own!r}, not {given!r}: leave the name out, "
                    "or choose another path for another data set"
                )
        self.made = there
        self.read()

    def _create(self) -> None:
        left = [path for path in map(self.path.__add__, JOURNALS) if os.path.lexists(path)]
        if left and not os.path.lexists(self.path):  # no other process made the ledger meanwhile
            raise LedgerError(
                f"{left[0]} was left by an earlier ledger of this name and would be played back "
                "into a new one: bring that ledger back, or move the file away"
            )
        try:
            self._write_new()
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise LedgerError(
                f"{self.path}: no ledger can be made there ({reason}): nothing was spent; choose a "
                "folder on a local disk with room in it"
            ) from None

    def _write_new(self) -> None:
        folder, name = os.path.split(self.path)
        handle, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        os.close(handle)
        try:
            with _connections, closing(sqlite3.connect(draft)) as connection:
                connection.executescript(
                    f"PRAGMA application_id={_APPLICATION};PRAGMA user_version={_SCHEMA};{_TABLES}"
                )
                with connection:
                    budget = json.dumps(self._made.budget.to_dict(), sort_keys=True)
                    connection.execute(
                        "INSERT INTO account VALUES (1, ?, ?, ?, ?)",
                        (budget, _write(self._start), self._made.data, self._made.unit),
                    )
            with suppress(FileExistsError):
                os.link(draft, self.path)
        finally:
            with suppress(FileNotFoundError):  # removed by one who opened the ledger meanwhile
                os.unlink(draft)

    def charge(self, decide: Decide, spend: Spend) -> tuple[int, Total]:
        """As `MemoryStore.charge`."""
        described = json.dumps(spend.guarantee.to_dict())
        with self._transaction("BEGIN IMMEDIATE") as connection:
            own = (spend.search,)
            paid = connection.execute("SELECT entry FROM search WHERE name = ?", own).fetchone()
            if paid is not None:
                [(text,)] = connection.execute("SELECT total FROM entry WHERE id = ?", paid)
                return paid[0], _read(text)
            after = decide(self._total(connection))
            total = _write(after)
            connection.execute("UPDATE account SET total = ?", (total,))
            if spend.settles is not None:
                check_settled(spend.settles, _spends(connection))
                check_steps(spend, _searches(connection))
            row = (spend.time.isoformat(), spend.label, described, total, spend.settles)
            number = connection.execute(_INSERT, row).lastrowid
            assert number is not None
            if spend.search is not None:
                connection.execute("INSERT INTO search VALUES (?, ?)", (spend.search, number))
            return number, after

    def note(self, search: str, before: tuple[Step, ...], steps: tuple[Step, ...]) -> bool:
        """As `MemoryStore.note`."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if known_search(_searches(connection), search).with_steps(before, steps) is None:
                return False
            noted.write(connection, search, steps)
            return True

    def searches(self) -> dict[str, Noted]:
        """As `MemoryStore.searches`."""
        with self._transaction("BEGIN") as connection:
            return _searches(connection)

    def read(self) -> tuple[Total, tuple[tuple[Spend, Total], ...]]:
        """As `MemoryStore.read`."""
        with self._transaction("BEGIN") as connection:
            last = self._total(connection)
            total, spends = self._start, list[tuple[Spend, Total]]()
            for row in connection.execute(_ENTRIES):
                spend, after = _spend(row), row[3]
                cost = self._cost(spend.guarantee)
                if spend.settles is not None:
                    check_settled(spend.settles, [own for own, _ in spends])
                    before = self._cost(spends[spend.settles - 1][0].guarantee)
                    cost = tuple(own - old for own, old in zip(cost, before, strict=True))
                    if any(own > 0 for own in cost):
                        raise ValueError("an entry that settles another for more")
                total = tuple(a + b for a, b in zip(total, cost, strict=True))
                if _read(after) != total:
                    raise ValueError("a total that its entries do not make")
                spends.append((spend, total))
            if last != total:
                raise ValueError("a total that its entries do not make")
            for own in _searches(connection).values():
                check_paid(own, spends)
        return total, tuple(spends)

    def total(self) -> Total:
        with self._transaction("BEGIN") as connection:
            return self._total(connection)

    def _total(self, connection: sqlite3.Connection) -> Total:
        """Spent total, on which the account and the last entry agree."""
        [(text,)] = connection.execute("SELECT total FROM account")
        last = connection.execute("SELECT total FROM entry ORDER BY id DESC LIMIT 1").fetchone()
        if text != (_write(self._start) if last is None else last[0]):
            raise ValueError("two totals")
        return _read(text)


def _searches(connection: sqlite3.Connection) -> dict[str, Noted]:
    rows = connection.execute("SELECT settles FROM entry WHERE settles IS NOT NULL")
    return noted.read(connection, {number for (number,) in rows})


def _spends(connection: sqlite3.Connection) -> list[Spend]:
    return [_spend(row) for row in connection.execute(_ENTRIES)]


def _spend(row: Sequence[Any]) -> Spend:
    """A row of the table of entries."""
    time, label, described, _, settles = row
    if not isinstance(label, str) or not isinstance(settles, (int, NoneType)):
        raise ValueError("an entry of other types")
    guarantee = Guarantee.from_dict(json.loads(described))
    return Spend(datetime.fromisoformat(time), label, guarantee, settles)


def made_with(path: str) -> MadeWith:
    """Budget and names of the ledger in a file.

    Raises
    ------
    LedgerError
        If the file is no ledger.
    """
    if not os.path.exists(path):
        raise LedgerError(f"{path}: no such file")
    return _LedgerFile(path).made_with()


def _write(total: Total) -> str:
    return " ".join(f"{part.numerator:x}/{part.denominator:x}" for part in total)


def _read(text: str) -> Total:
    pairs = (part.split("/") for part in text.split(" "))
    total = tuple(Fraction(int(above, 16), int(below, 16)) for above, below in pairs)
    if _write(total) != text or any(part < 0 for part in total):
        raise ValueError("no total")
    return total
