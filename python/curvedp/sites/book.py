"""A site's book: the rounds that it answered, written down before an answer leaves.

A round that is in the book is never answered again, also by another process or after a crash: two
answers to one round, each with noise of its own, would have their difference and their mean read.
The ledger has the same rounds (`Ledger.note`), so that an older copy of the book is known as one.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from curvedp.errors import SiteError
from curvedp.privacy.steps import Noted, Step
from curvedp.privacy.stored import DAMAGE
from curvedp.sites.kept import Kept
from curvedp.sums.filter import Filter

_MARK = 0x63647335
_TABLES = """
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, agreement TEXT NOT NULL, site TEXT NOT NULL, is_paid INTEGER NOT NULL,
    keys TEXT NOT NULL, is_over INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS round (
    run TEXT NOT NULL, number INTEGER NOT NULL, plan TEXT NOT NULL, mu TEXT NOT NULL,
    PRIMARY KEY (run, number)
);
CREATE TABLE IF NOT EXISTS mask (
    agreement TEXT NOT NULL, site TEXT NOT NULL, secret BLOB NOT NULL,
    PRIMARY KEY (agreement, site)
);
"""


@dataclass(frozen=True)
class Run:
    """A run of a study as a site knows it.

    Attributes
    ----------
    agreement, site : str
        Digest of the agreement, and the site's name.
    is_paid : bool
        True if it was begun with a ledger, which paid for it.
    keys : str
        Digest of the keys of all sites; empty without masks.
    is_over : bool
        True if nothing is answered any more.
    rounds : tuple of Step
        Number, digest of the plan and share of mu of each round that was answered, in order.
    """

    agreement: str
    site: str
    is_paid: bool
    keys: str
    is_over: bool
    rounds: tuple[Step, ...]

    def goes_on(self, before: Run) -> bool:
        """True if this may be what became of an earlier state of the run."""
        rounds = self.rounds[: len(before.rounds)]
        return replace(self, rounds=rounds, is_over=before.is_over) == before and (
            self.is_over or not before.is_over
        )

    def check_noted(self, noted: Noted | None) -> None:
        """Refuses a book that lacks rounds which a ledger has, and a ledger that lacks rounds.

        A process that is killed leaves at most one round in the book alone.

        Parameters
        ----------
        noted : Noted or None
            What the ledger knows of the run.

        Raises
        ------
        SiteError
        """
        if noted is None:
            if self.rounds:
                raise SiteError(
                    "this run was begun with another ledger, or none: give the site that"
                )
            return
        count = len(noted.steps)
        if noted.steps != self.rounds[:count]:
            raise SiteError(
                "the ledger has rounds of this run that this site's state lacks: the state file is "
                "an older copy, another one than before, or was not kept; this run goes on without "
                "this site, which could answer a round twice"
            )
        if len(self.rounds) > count + 1:
            raise SiteError(
                "the ledger lacks rounds of this run that the state file has: it is an older copy, "
                "and lacks what else was spent since; bring the last one back"
            )
        if noted.is_over:
            raise SiteError("this run is over: a new one is paid anew")


def budget_of(mu: float, rounds: Iterable[Step]) -> Filter:
    """The rest of mu after rounds."""
    budget = Filter(mu)
    for own in rounds:
        budget.take(own.share)
    return budget


class Book:
    """Runs and rounds of one site, and the secrets of its masks.

    Parameters
    ----------
    path : path or None
        As of `Kept`.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._kept = Kept(path, whose="a site", mark=_MARK, tables=_TABLES)
        #: Runs as this process saw them last.
        self._seen: dict[str, Run] = {}

    def run(self, run: str) -> Run | None:
        """The run of that id, if a round of it was answered."""
        with self._kept.opened() as connection:
            return self._read(connection, run)

    def runs(self, agreement: str, site: str) -> list[str]:
        """Ids of a site's runs of an agreement that are not over."""
        with self._kept.opened() as connection:
            rows = connection.execute(
                "SELECT id FROM run WHERE is_over = 0 AND agreement = ? AND site = ? ORDER BY id",
                (agreement, site),
            )
            return [run for (run,) in rows.fetchall()]

    def check_spent(self, agreement: str, site: str, share: float, most: Fraction | None) -> None:
        """Refuses a share with which the squares of all of an agreement would pass `most`.

        Raises
        ------
        SiteError
        """
        if most is not None:
            with self._kept.opened() as connection:
                self._check_spent(connection, (agreement, site), share, most)

    def _check_spent(
        self, connection: sqlite3.Connection, whose: tuple[str, str], share: float, most: Fraction
    ) -> None:
        ids = connection.execute("SELECT id FROM run WHERE agreement = ? AND site = ?", whose)
        runs = [self._read(connection, run) for (run,) in ids.fetchall()]
        shares = [share, *(own.share for run in runs if run is not None for own in run.rounds)]
        if sum(Fraction(mu) ** 2 for mu in shares) > most:
            raise SiteError(
                "the server would see more of this site's answers without masks than its own "
                "limit allows (clear)"
            )

    def secret(self, agreement: str, site: str) -> bytes:
        """32 random bytes of which a site's key is made: the same until `forget`."""
        with self._kept.changed() as connection:
            row = connection.execute(
                "SELECT secret FROM mask WHERE agreement = ? AND site = ?", (agreement, site)
            ).fetchone()
            own = secrets.token_bytes(32) if row is None else row[0]
            if row is None:
                connection.execute("INSERT INTO mask VALUES (?, ?, ?)", (agreement, site, own))
        if not (isinstance(own, bytes) and len(own) == 32):
            raise SiteError("the state file is damaged: this site has no key for masks")
        return own

    def forget(self, agreement: str, site: str) -> None:
        """Removes the secret of a site's masks."""
        with self._kept.changed() as connection:
            connection.execute(
                "DELETE FROM mask WHERE agreement = ? AND site = ?", (agreement, site)
            )

    def note(
        self,
        run: str,
        known: Run | None,
        begun: Run,
        last: Step,
        most: Fraction | None = None,
    ) -> None:
        """Writes down that a round is answered; as durable as the file is when it returns.

        Parameters
        ----------
        run : str
        known : Run or None
            As `run` returned it: what was decided by.
        begun : Run
            The run itself, for the first round of it.
        last : Step
        most : Fraction or None
            As of `check_spent`.

        Raises
        ------
        SiteError
            If another process answered meanwhile.
        """
        with self._kept.changed() as connection:
            if self._read(connection, run) != known:
                raise SiteError(
                    "another process of this site answers the same run: one answer leaves, and "
                    "this one is none"
                )
            if known is None:
                row = (run, begun.agreement, begun.site, begun.is_paid, begun.keys)
                connection.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, 0)", row)
            number, plan, mu = last
            if most is not None:
                self._check_spent(connection, (begun.agreement, begun.site), mu, most)
            connection.execute(
                "INSERT INTO round VALUES (?, ?, ?, ?)", (run, number, plan, mu.hex())
            )
        self._seen[run] = replace(begun, rounds=(*begun.rounds, last))

    def end(self, run: str) -> Run | None:
        """The run, which is over now; None if it was."""
        with self._kept.changed() as connection:
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


def _run(connection: sqlite3.Connection, run: str) -> Run | None:
    row = connection.execute(
        "SELECT agreement, site, is_paid, keys, is_over FROM run WHERE id = ?", (run,)
    ).fetchone()
    rows = connection.execute(
        "SELECT number, plan, mu FROM round WHERE run = ? ORDER BY number", (run,)
    ).fetchall()
    if row is None:
        return None
    try:
        rounds = tuple(Step(int(number), str(plan), float.fromhex(mu)) for number, plan, mu in rows)
        if not all(0.0 < own.share < math.inf for own in rounds):
            raise ValueError("shares")
        texts = str(row[0]), str(row[1])
        return Run(*texts, bool(row[2]), str(row[3]), bool(row[4]), rounds)
    except DAMAGE:
        raise SiteError("the state file is damaged: this run goes on without this site") from None
