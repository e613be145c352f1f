"""A site's book: the rounds that it answered, written down before an answer leaves.

A round that is in the book is never answered again, also by another process or after a crash: two
answers to one round, each with noise of its own, would have their difference and their mean read.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from dataclasses import dataclass, replace
from fractions import Fraction

from curvedp.errors import SiteError
from curvedp.privacy import Ledger
from curvedp.privacy.stored import DAMAGE
from curvedp.sites.kept import Kept
from curvedp.sums.filter import Filter

_MARK = 0x63647333
_TABLES = """
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, agreement TEXT NOT NULL, site TEXT NOT NULL, entry INTEGER,
    paid TEXT NOT NULL, keys TEXT NOT NULL, is_over INTEGER NOT NULL
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
    entry : int or None
        Number of the ledger's entry that paid for it.
    paid : str
        Time of that entry, by which it is known again; empty without one.
    keys : str
        Digest of the keys of all sites; empty without masks.
    is_over : bool
        True if nothing is answered any more.
    rounds : tuple
        Number, digest of the plan and share of mu of each round that was answered, in order.
    """

    agreement: str
    site: str
    entry: int | None
    paid: str
    keys: str
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
        shares = [share, *(mu for run in runs if run is not None for *_, mu in run.rounds)]
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
        last: tuple[int, str, float],
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
        last : tuple
            Number, digest of the plan and share.
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
                row = (run, begun.agreement, begun.site, begun.entry, begun.paid, begun.keys)
                connection.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, 0)", row)
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
        "SELECT agreement, site, entry, paid, keys, is_over FROM run WHERE id = ?", (run,)
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
        texts = str(row[3]), str(row[4])
        return Run(str(row[0]), str(row[1]), entry, *texts, bool(row[5]), rounds)
    except DAMAGE:
        raise SiteError("the state file is damaged: this run goes on without this site") from None
