"""State of servers and sites: an SQLite file of its owner alone, or the memory of one process."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from curvedp.errors import SiteError
from curvedp.privacy.place import check_files, real_path

_BUSY_SECONDS = 60.0


class Kept:
    """Tables in a file or in memory.

    Parameters
    ----------
    path : path or None
        A file of mode 0600 in a folder of which others cannot change the names; made if it does not
        exist. In memory it serves one process, and no fork of it.
    whose : str
        "a site" or "a server".
    mark : int
        SQLite's application id of such files.
    tables : str
        Statements that make them.

    Raises
    ------
    SiteError
        If the file cannot be used.
    LedgerError
        If others could change it, as for files of ledgers.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, *, whose: str, mark: int, tables: str
    ) -> None:
        self.path = None if path is None else real_path(path)
        self._whose = whose
        self._lock, self._process = threading.RLock(), os.getpid()
        self._memory: sqlite3.Connection | None = None
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
        with self.opened() as connection:
            [(own,)] = connection.execute("PRAGMA application_id")
            if own == 0 and not connection.execute("SELECT * FROM sqlite_master").fetchall():
                made = f"PRAGMA application_id={mark};{tables}"
                connection.executescript(f"BEGIN IMMEDIATE;{made}COMMIT")
            elif own != mark:
                raise SiteError(
                    f"{self.path} is no state file of {whose}, or of an earlier version: choose "
                    "another path"
                )

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """A connection, with which every statement is a transaction."""
        if self._memory is not None and os.getpid() != self._process:
            raise SiteError(
                f"what {self._whose} keeps lies in the memory of another process, and a copy could "
                "go on from it twice: give a state file to share"
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
                    connection.execute("PRAGMA secure_delete=ON")
                    yield connection
        except sqlite3.Error as error:
            raise SiteError(
                f"the state file {self.path} cannot be used ({error}): nothing was done"
            ) from error

    @contextmanager
    def changed(self) -> Iterator[sqlite3.Connection]:
        """A connection in one transaction, as durable as the file is when it ends."""
        with self.opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection
