"""Files that appear whole or not at all, and a folder that one process at a time works in."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from curvedp.errors import BatchError

__all__ = [
    "atomically",
    "locked",
    "make_public",
    "publish",
    "sync_file",
    "write_atomically",
    "write_json",
]


@contextlib.contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A file next to `path`, readable by the owner alone, that is moved there when complete."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        sync_file(draft)
        os.replace(draft, path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill the file that `atomically` moves to its place."""
    with atomically(path) as draft:
        write(draft)


def sync_file(path: Path) -> None:
    """Makes what was written to a file survive a loss of power."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Makes names in a folder survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Writes JSON, readable by the owner alone."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def publish(draft: Path, target: Path) -> None:
    """Gives a finished file its name; never over another file."""
    if target.exists() and target.samefile(draft):
        return
    try:
        os.link(draft, target)
    except FileExistsError:
        raise BatchError(f"{target} appeared meanwhile: move it away and resume") from None
    sync_folder(target.parent)


def make_public(path: Path) -> None:
    """Gives a file the mode that new files of this process have.

    The mode is that of a new file, made to find out: the process's mask can only be read by
    changing it for all threads.
    """
    probe = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        os.close(handle)
        probe.unlink()
    path.chmod(mode)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps a second process from working on the same job, where the system has file locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BatchError(f"{folder}: another process works on this batch") from None
        yield
    finally:
        os.close(handle)
