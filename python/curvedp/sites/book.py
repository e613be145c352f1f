"""A site's book: the rounds that it answered, written down before an answer leaves.

A round that is in the book is never answered again, also by another process or after a crash: two
answers to one round, each with noise of its own, would have their difference and their mean read.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

from curvedp.errors import SiteError
from curvedp.privacy.place import real_path
from curvedp.privacy.stored import DAMAGE
from curvedp.sums.filter import Filter

_APPLICATION = 0x63647332
_BUSY_SECONDS = 60.0
_TABLES = """
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, agreement TEXT NOT NULL, site TEXT NOT NULL, entry INTEGER,
    is_over INTEGER NOT NULL
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
        The ledger's entry that paid for it.
    is_over : bool
        True if nothing is answered any more.
    rounds : tuple
        Number, digest of the plan and share of mu of each round that was answered, in order.
    """

    agreement: str
    site: str
    entry: int | None
    is_over: bool
    rounds: tuple[tuple[int, str, float], ...]

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
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else real_path(path)
        self._lock, self._process = threading.RLock(), os.getpid()
        self._memory: sqlite3.Connection | None = None
        if self.path is None:
            self._memory = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
        else:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with self._opened() as connection:
            [(mark,)] = connection.execute("PRAGMA application_id")
            if mark == 0 and not connection.execute("SELECT * FROM sqlite_master").fetchall():
                connection.executescript(f"PRAGMA application_id={_APPLICATION};{_TABLES}")
            elif mark != _APPLICATION:
                raise SiteError(f"{self.path} is no state file of a site: choose another path")

    def run(self, run: str) -> Run | None:
        """The run of that id, if a round of it was answered."""
        with self._opened() as connection:
            return _run(connection, run)

    def runs(self) -> list[str]:
        """Ids of runs that are not over."""
        with self._opened() as connection:
            rows = connection.execute("SELECT id FROM run WHERE is_over = 0 ORDER BY id")
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
                if _run(connection, run) != known:
                    raise SiteError(
                        "another process of this site answers the same run: one answer leaves, and "
                        "this one is none"
                    )
                if known is None:
                    row = (run, begun.agreement, begun.site, begun.entry)
                    connection.execute("INSERT INTO run VALUES (?, ?, ?, ?, 0)", row)
                number, plan, mu = last
                connection.execute(
                    "INSERT INTO round VALUES (?, ?, ?, ?)", (run, number, plan, mu.hex())
                )

    def end(self, run: str) -> Run | None:
        """The run, which is over now; None if it was."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                found = _run(connection, run)
                connection.execute("UPDATE run SET is_over = 1 WHERE id = ?", (run,))
        return None if found is None or found.is_over else found

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
                with closing(
                    sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
                ) as connection:
                    connection.execute("PRAGMA synchronous=EXTRA")
                    yield connection
        except sqlite3.Error as error:
            raise SiteError(
                f"the state file {self.path} cannot be used ({error}): nothing was answered"
            ) from error


def _run(connection: sqlite3.Connection, run: str) -> Run | None:
    row = connection.execute(
        "SELECT agreement, site, entry, is_over FROM run WHERE id = ?", (run,)
    ).fetchone()
    rows = connection.execute(
        "SELECT number, plan, mu FROM round WHERE run = ? ORDER BY number", (run,)
    ).fetchall()
    if row is None:
        return None
    try:
        rounds = tuple((int(number), str(plan), float.fromhex(mu)) for number, plan, mu in rows)
        return Run(str(row[0]), str(row[1]), row[2], bool(row[3]), rounds)
    except DAMAGE:
        raise SiteError("the state file is damaged: this run goes on without this site") from None
