"""Where a ledger's file stands, and what stands beside it: nobody else may change either.

SQLite plays back a `<ledger>-journal` that it finds, whoever wrote it: another user who may write
to the ledger's folder could undo what was spent without being able to read the ledger. Who may
write to a folder above could put another folder in its place, and who may replace a link could
lead to another ledger.

All folders that a path passes are looked at, links followed one by one. What was found cannot
change before the file is used, except by its owner or the administrator: others may write to none
of the folders that name it. Modes and owners are those of POSIX, with its access control lists;
nothing is looked at on Windows, nor lists of other kinds (NFSv4, macOS).
"""

from __future__ import annotations

import functools
import os
import stat
from contextlib import suppress

from curvedp.errors import LedgerError

__all__ = ["JOURNALS", "check_files", "real_path"]

#: What SQLite adds to the name of a database for the files that it plays back.
JOURNALS = ("-journal", "-wal", "-shm")
_MOST_LINKS = 40


def real_path(path: str | os.PathLike[str]) -> str:
    """The absolute path of a ledger without links, if only its owner can put a file there.

    Raises
    ------
    LedgerError
        If another user could put a file there or lead to another one.
    """
    text = os.fsdecode(path)
    if os.name != "posix":
        return os.path.realpath(text)
    try:
        found = _followed(text if os.path.isabs(text) else os.path.join(os.getcwd(), text))
        with suppress(FileNotFoundError):
            _check_folder(os.path.dirname(found), is_own=True)
    except OSError as error:
        raise LedgerError(f"{text}: cannot be reached ({error.strerror})") from None
    return found


def check_files(path: str) -> None:
    """Refuses a ledger's file, or one from which SQLite would restore it, that others could change.

    Raises
    ------
    LedgerError
    """
    if os.name != "posix":
        return
    with suppress(FileNotFoundError):  # what SQLite says of it is better
        found = _checked(path)
        if found.st_nlink > 1:
            _remove_drafts(path, found)
            if os.lstat(path).st_nlink > 1:
                raise LedgerError(
                    f"{path} has a second name (hard link), and what was spent under one could be "
                    "undone under the other: remove the other name"
                )
    for ending in JOURNALS:
        with suppress(FileNotFoundError):
            if _checked(path + ending).st_nlink > 1:
                raise _foreign(path + ending)


def _checked(path: str) -> os.stat_result:
    """Status of a ledger's file or one beside it, if its owner alone can change it."""
    found = os.lstat(path)
    is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
    if is_own and not found.st_mode & 0o077:
        return found
    if path.endswith(JOURNALS):
        raise _foreign(path)
    if not is_own:
        raise LedgerError(f"{path} must be a file of the user who runs this")
    raise LedgerError(
        f"{path} is open to others, who could change what was spent: see that nobody did, and run "
        "chmod 600"
    )


def _foreign(path: str) -> LedgerError:
    return LedgerError(
        f"{path} may have been put there by others to undo what was spent: find out who did, see "
        "that nobody else can write to the folder, and move it away"
    )


def _remove_drafts(path: str, found: os.stat_result) -> None:
    """Removes the name under which a ledger was written before it got its own."""
    folder, name = os.path.split(path)
    with os.scandir(folder) as entries:
        for entry in entries:
            is_draft = entry.name.startswith(f".{name}.")
            with suppress(FileNotFoundError):
                if is_draft and os.path.samestat(entry.stat(follow_symlinks=False), found):
                    os.unlink(entry.path)


def _followed(path: str) -> str:
    """An absolute path without links, if others can replace none of its parts."""
    at, left, links = "/", path.split("/")[::-1], 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        place = os.path.join(at, part)
        try:
            found = os.lstat(place)
        except FileNotFoundError:
            return os.path.join(place, *left[::-1])
        _check_folder(at, is_own=False, holds=found)
        if not stat.S_ISLNK(found.st_mode):
            at = place
            continue
        links += 1
        if links > _MOST_LINKS:
            raise LedgerError(f"{path}: its links lead round in a circle")
        target = os.readlink(place)
        at = "/" if target.startswith("/") else at
        left += target.split("/")[::-1]
    return at


def _check_folder(folder: str, *, is_own: bool, holds: os.stat_result | None = None) -> None:
    """Refuses a folder in which others could replace what it `holds`, or, if it is the ledger's own
    folder, add a file."""
    found, trusted = os.stat(folder), (0, os.geteuid())
    if found.st_uid not in trusted:
        raise LedgerError(
            f"{folder} belongs to another user, who could undo what is spent from a ledger in it: "
            "keep the ledger in a folder of your own"
        )
    if not _others_write(folder, found):
        return
    is_sticky = bool(found.st_mode & stat.S_ISVTX)
    if is_sticky and not is_own and holds is not None and holds.st_uid in trusted:
        return
    mend = "keep the ledger in a folder of your own (mkdir -m 700 FOLDER)"
    if found.st_uid == os.geteuid() and not is_sticky:
        mend = f"run chmod go-w {folder} after you have seen that nobody did, or {mend}"
    raise LedgerError(
        f"others may write to {folder}, and so could undo what is spent from a ledger there: {mend}"
    )


def _others_write(folder: str, found: os.stat_result) -> bool:
    """True if a folder's mode lets anybody but its owner, the user and the administrator write."""
    if not found.st_mode & 0o022:
        return False
    if found.st_mode & 0o002 or not _is_private_group(found.st_gid, os.geteuid()):
        return True
    with suppress(AttributeError, OSError):  # an access control list shows as the group's mode
        return "system.posix_acl_access" in os.listxattr(folder)
    return False


@functools.lru_cache
def _is_private_group(group: int, user: int) -> bool:
    """True for a group that has the user's name and nobody else in it, as many systems give one
    to every user."""
    import grp
    import pwd

    try:
        own, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    is_named = members.gr_gid == own.pw_gid and members.gr_name == own.pw_name
    others = (entry for entry in pwd.getpwall() if entry.pw_uid != user)
    is_alone = set(members.gr_mem) <= {own.pw_name}
    return is_named and is_alone and all(entry.pw_gid != group for entry in others)
