"""Files that appear whole or not at all, sealed against damage, and work of one process at a time.

A seal is the last line of a file: a checksum of whose file it is, its name and what it holds. It
tells damage and files of others, not a forger's work, who could write seals as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curvedp._arrow import pa
from curvedp.errors import BatchError

__all__ = [
    "SEAL",
    "as_json",
    "atomically",
    "check_seal",
    "digest_of",
    "locked",
    "make_public",
    "publish",
    "read_json",
    "read_sealed",
    "sealed",
    "sync_file",
    "sync_folder",
    "write_json",
    "write_text",
]

#: Bytes of a seal: 64 digits and the end of the line.
SEAL = 65


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


@contextlib.contextmanager
def sealed(path: Path, owner: str) -> Iterator[Path]:
    """As `atomically`, for a file of `owner`, which is sealed when complete."""
    with atomically(path) as draft:
        yield draft
        seal = _seal(path, owner, _mapped(draft))
        with draft.open("ab") as file:
            file.write(seal)


def read_sealed(path: Path, owner: str) -> Any:
    """What a sealed file holds, as a buffer of Arrow that is read when it is looked at.

    Raises
    ------
    BatchError
        If the file is missing, damaged or not that of `owner`.
    """
    try:
        whole = _mapped(path)
    except OSError as error:
        raise BatchError(f"{path}: cannot be read ({error.strerror})") from None
    held = max(0, whole.size - SEAL)
    if whole.slice(held).to_pybytes() != _seal(path, owner, whole.slice(0, held)):
        raise BatchError(f"{path}: damaged, or of another batch")
    return whole.slice(0, held)


def check_seal(path: Path, owner: str) -> None:
    """Raises as `read_sealed`, in little memory."""
    with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
        left = path.stat().st_size - SEAL
        digest = hashlib.sha256(_head(path, owner))
        while left > 0 and (part := file.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
        if file.read() == digest.hexdigest().encode() + b"\n":
            return
    raise BatchError(f"{path}: missing, damaged, or of another batch")


def _mapped(path: Path) -> Any:
    """A file's bytes."""
    if not path.stat().st_size:  # cannot be mapped
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def _head(path: Path, owner: str) -> bytes:
    return f"{owner}\n{path.name}\n".encode()


def _seal(path: Path, owner: str, held: Any) -> bytes:
    digest = hashlib.sha256(_head(path, owner))
    digest.update(held)
    return digest.hexdigest().encode() + b"\n"


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


def write_text(path: Path, text: str) -> None:
    """Writes a file of text, readable by the user alone."""
    with atomically(path) as draft:
        draft.write_text(text, encoding="utf-8")


def as_json(data: dict[str, Any]) -> str:
    """The text of a JSON file."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def write_json(path: Path, owner: str, data: dict[str, Any]) -> None:
    """Writes a sealed JSON file of `owner`."""
    with sealed(path, owner) as draft:
        draft.write_text(as_json(data), encoding="utf-8")


def read_json(path: Path, owner: str) -> dict[str, Any]:
    """What `write_json` wrote."""
    found: dict[str, Any] = json.loads(read_sealed(path, owner).to_pybytes())
    return found


def digest_of(path: Path) -> str:
    """The SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def publish(draft: Path, target: Path) -> None:
    """Gives a finished file its name; never over another file."""
    if target.exists() and digest_of(target) == digest_of(draft):
        return
    try:
        if target.exists():
            raise FileExistsError
        os.link(draft, target)
    except FileExistsError:
        raise BatchError(f"{target} appeared meanwhile: move it away and resume") from None
    except OSError:  # no hard links here
        copy = draft.with_name(f".{draft.name}.{secrets.token_hex(8)}")
        shutil.copy(draft, copy)
        sync_file(copy)
        os.rename(copy, target)
    sync_folder(target.parent)


def make_public(path: Path) -> None:
    """Gives a file or folder the mode that new ones of this process have.

    The mode is that of a new file, made to find out: the process's mask can only be read by
    changing it for all threads.
    """
    probe = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    if path.is_dir():
        probe.mkdir()
        mode = stat.S_IMODE(probe.stat().st_mode)
        probe.rmdir()
        path.chmod(mode)
        return
    handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        os.close(handle)
        probe.unlink()
    path.chmod(mode)


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Keeps a second process from working on the same result, where the system has file locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = target.with_name(f".{target.name}.lock")
    with contextlib.ExitStack() as stack:
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BatchError(f"{target}: another process works on this batch") from None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):  # not removed meanwhile
                    break
        stack.callback(path.unlink, missing_ok=True)
        yield
