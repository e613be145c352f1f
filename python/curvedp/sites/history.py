"""A server's history: the totals that it read, written down before the next plan leaves.

All that a server decides follows from its agreement and these totals, so a server that is started
anew goes on from them. They hold no single answer, and are what the guarantee protects.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp.errors import SiteError
from curvedp.privacy.stored import DAMAGE
from curvedp.sites.kept import Kept

_MARK = 0x63647334
_TABLES = """
CREATE TABLE IF NOT EXISTS study (
    agreement TEXT NOT NULL, version TEXT NOT NULL, run TEXT NOT NULL, keys TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS round (
    number INTEGER PRIMARY KEY, plan TEXT NOT NULL, total BLOB, names TEXT NOT NULL,
    seeded INTEGER NOT NULL
);
"""


@dataclass(frozen=True, eq=False)
class Heard:
    """A round as a server heard it.

    Attributes
    ----------
    plan : str
        Digest of the plan.
    total : ndarray of uint64, or None
        None where too few answered.
    names : tuple of str
        Of the sites that are in it, or would be, in order.
    seeded : bool
        True if any of their noise came from a seed.
    """

    plan: str
    total: NDArray[np.uint64] | None
    names: tuple[str, ...]
    seeded: bool


class History:
    """The rounds of one run at the server.

    Parameters
    ----------
    path : path or None
        As of `Kept`.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._kept = Kept(path, whose="a server", mark=_MARK, tables=_TABLES)

    def begun(self, agreement: str, version: str, run: str, keys: tuple[str, ...]) -> None:
        """Writes down a new run.

        Raises
        ------
        SiteError
            If there is one.
        """
        with self._kept.changed() as connection:
            if connection.execute("SELECT * FROM study").fetchall():
                raise SiteError("another process of this server began a run in this state file")
            row = (agreement, version, run, json.dumps(keys))
            connection.execute("INSERT INTO study VALUES (?, ?, ?, ?)", row)

    def run(self, agreement: str, version: str) -> tuple[str, tuple[str, ...]] | None:
        """Id and keys of the run, if one was begun.

        Raises
        ------
        SiteError
            If it is of another agreement or version.
        """
        with self._kept.opened() as connection:
            row = connection.execute("SELECT * FROM study").fetchone()
        if row is None:
            return None
        if row[:2] != (agreement, version):
            raise SiteError(
                "the state file has a run of another agreement or version of curvedp: choose "
                "another path, or go on with those"
            )
        try:
            return str(row[2]), tuple(str(key) for key in json.loads(row[3]))
        except DAMAGE:
            raise SiteError("the state file is damaged: begin a new run in another") from None

    def rounds(self) -> list[Heard]:
        """All rounds, in order."""
        with self._kept.opened() as connection:
            rows = connection.execute(
                "SELECT number, plan, total, names, seeded FROM round ORDER BY number"
            ).fetchall()
        try:
            if [row[0] for row in rows] != list(range(len(rows))):
                raise ValueError("numbers")
            return [_heard(*row[1:]) for row in rows]
        except DAMAGE:
            raise SiteError("the state file is damaged: begin a new run in another") from None

    def note(self, number: int, heard: Heard) -> None:
        """Writes down a round; as durable as the file is when it returns.

        Raises
        ------
        SiteError
            If another process did.
        """
        with self._kept.changed() as connection:
            [(count,)] = connection.execute("SELECT count(*) FROM round")
            if count != number:
                raise SiteError(
                    "another process of this server goes on with the same run: use that, or start "
                    "this one anew"
                )
            total = None if heard.total is None else heard.total.astype("<u8").tobytes()
            row = (number, heard.plan, total, json.dumps(heard.names), heard.seeded)
            connection.execute("INSERT INTO round VALUES (?, ?, ?, ?, ?)", row)


def _heard(plan: str, total: bytes | None, names: str, seeded: int) -> Heard:
    entries = None if total is None else np.frombuffer(total, dtype="<u8").astype(np.uint64)
    return Heard(str(plan), entries, tuple(str(name) for name in json.loads(names)), bool(seeded))
