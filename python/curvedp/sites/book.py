"""A site's book: the rounds that it answered, written down before an answer leaves.

A round that is in the book is never answered again, also by another process or after a crash: two
answers to one round, each with noise of its own, would have their difference and their mean read.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from curvedp.errors import SiteError
from curvedp.privacy import Ledger
from curvedp.privacy.place import check_files, real_path
from curvedp.privacy.stored import DAMAGE
from curvedp.sums.filter import Filter

_APPLICATION = 0x63647332
_BUSY_SECONDS = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, agreement TEXT NOT NULL, site TEXT NOT NULL, entry INTEGER,
    paid TEXT NOT NULL, is_over INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS round (
    run TEXT NOT NULL, number INTEGER NOT NULL, plan TEXT NOT NULL, mu TEXT NOT NULL,
    PRIMARY KEY (run, number)
);
"""


@dataclass(frozen=True)
class Run:
    """A run of a study as a site knows it.

    Attributes
    ----------
    agreement, site : str
        Digest of the agreement, and the site's name.
    entry : int or None
        Number of the ledger's entry that paid for it.
    paid : str
        Time of that entry, by which it is known again; empty without one.
    is_over : bool
        True if nothing is answered any more.
    rounds : tuple
        Number, digest of the plan and share of mu of each round that was answered, in order.
    """

    agreement: str
    site: str
    entry: int | None
    paid: str
    is_over: bool
    rounds: tuple[tuple[int, str, float], ...]

    def is_paid_by(self, ledger: Ledger) -> bool:
        """True if the entry is one of that ledger."""
        if self.entry is None:
            return False
        own = [each.time.isoformat() for each in ledger.entries[self.entry - 1 : self.entry]]
        return own == [self.paid]

    def goes_on(self, before: Run) -> bool:
        """True if this may be what became of an earlier state of the run."""
        rounds = self.rounds[: len(before.rounds)]
        return replace(self, rounds=rounds, is_over=before.is_over) == before and (
            self.is_over or not before.is_over
        )

    def budget(self, mu: float) -> Filter:
        """The rest of mu after its rounds."""
        budget = Filter(mu)
        for *_, share in self.rounds:
            budget.take(share)
        return budget


class Book:
    """Runs and rounds of one site, in an SQLite file or in memory.

    Parameters
    ----------
    path : path or None
        A file of mode 0600 in a folder of which others cannot change the names; made if it does not
        exist. In memory it serves one process, and no fork of it.

    Raises
    ------
    SiteError
        If the file cannot be used.
    LedgerError
        If others could change it, as for files of ledgers.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else real_path(path)
        self._lock, self._process = threading.RLock(), os.getpid()
        self._memory: sqlite3.Connection | None = None
        #: Runs as this process saw them last.
        self._seen: dict[str, Run] = {}
        if self.path is None:
            self._memory = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
        else:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            except FileExistsError:
                pass
            except OSError as error:
                raise SiteError(
                    f"no state file can be made at {self.path} ({error.strerror}): choose a folder "
                    "on a local disk with room in it"
                ) from None
        with self._opened() as connection:
            [(mark,)] = connection.execute("PRAGMA application_id")
            if mark == 0 and not connection.execute("SELECT * FROM sqlite_master").fetchall():
                made = f"PRAGMA application_id={_APPLICATION};{_TABLES}"
                connection.executescript(f"BEGIN IMMEDIATE;{made}COMMIT")
            elif mark != _APPLICATION:
                raise SiteError(f"{self.path} is no state file of a site: choose another path")

    def run(self, run: str) -> Run | None:
        """The run of that id, if a round of it was answered."""
        with self._opened() as connection:
            return self._read(connection, run)

    def runs(self, agreement: str, site: str) -> list[str]:
        """Ids of a site's runs of an agreement that are not over."""
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT id FROM run WHERE is_over = 0 AND agreement = ? AND site = ? ORDER BY id",
                (agreement, site),
            )
            return [run for (run,) in rows.fetchall()]

    def note(self, run: str, known: Run | None, begun: Run, last: tuple[int, str, float]) -> None:
        """Writes down that a round is answered; as durable as the file is when it returns.

        Parameters
        ----------
        run : str
        known : Run or None
            As `run` returned it: what was decided by.
        begun : Run
            The run itself, for the first round of it.
        last : tuple
            Number, digest of the plan and share.

        Raises
        ------
        SiteError
            If another process answered meanwhile.
        """
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                if self._read(connection, run) != known:
                    raise SiteError(
                        "another process of this site answers the same run: one answer leaves, and "
                        "this one is none"
                    )
                if known is None:
                    row = (run, begun.agreement, begun.site, begun.entry, begun.paid)
                    connection.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, 0)", row)
                number, plan, mu = last
                connection.execute(
                    "INSERT INTO round VALUES (?, ?, ?, ?)", (run, number, plan, mu.hex())
                )
        self._seen[run] = replace(begun, rounds=(*begun.rounds, last))

    def end(self, run: str) -> Run | None:
        """The run, which is over now; None if it was."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                found = self._read(connection, run)
                connection.execute("UPDATE run SET is_over = 1 WHERE id = ?", (run,))
        if found is None or found.is_over:
            return None
        self._seen[run] = replace(found, is_over=True)
        return found

    def _read(self, connection: sqlite3.Connection, run: str) -> Run | None:
        """The run, which has not lost what this process saw of it."""
        found, before = _run(connection, run), self._seen.get(run)
        if before is not None and (found is None or not found.goes_on(before)):
            raise SiteError(
                "the state file is an older copy, or another one than before: this run goes on "
                "without this site, which could answer a round twice"
            )
        if found is not None:
            self._seen[run] = found
        return found

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None and os.getpid() != self._process:
            raise SiteError(
                "this site lives in the memory of another process, and a copy could answer a round "
                "twice: give it a state file to share"
            )
        try:
            with self._lock:
                if self._memory is not None:
                    yield self._memory
                    return
                assert self.path is not None
                real_path(self.path)  # raises if others could change what stands there
                check_files(self.path)
                uri = f"{Path(self.path).as_uri()}?mode=rw"  # makes no new file
                with closing(
                    sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
                ) as connection:
                    connection.execute("PRAGMA synchronous=EXTRA")
                    yield connection
        except sqlite3.Error as error:
            raise SiteError(
                f"the state file {self.path} cannot be used ({error}): nothing was answered"
            ) from error


def _run(connection: sqlite3.Connection, run: str) -> Run | None:
    row = connection.execute(
        "SELECT agreement, site, entry, paid, is_over FROM run WHERE id = ?", (run,)
    ).fetchone()
    rows = connection.execute(
        "SELECT number, plan, mu FROM round WHERE run = ? ORDER BY number", (run,)
    ).fetchall()
    if row is None:
        return None
    try:
        rounds = tuple((int(number), str(plan), float.fromhex(mu)) for number, plan, mu in rows)
        if not all(0.0 < mu < math.inf for *_, mu in rounds):
            raise ValueError("shares")
        entry = None if row[2] is None else int(row[2])
        return Run(str(row[0]), str(row[1]), entry, str(row[3]), bool(row[4]), rounds)
    except DAMAGE:
        raise SiteError("the state file is damaged: this run goes on without this site") from None
