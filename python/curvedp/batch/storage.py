"""Files that appear whole or not at all, sealed against damage, and work of one process at a time.

A seal is the last line of a file: a checksum of whose file it is, its name and what it holds. It
tells damage and files of others, not a forger's work, who could write seals as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from curvedp._arrow import ipc, pa
from curvedp.errors import BatchError

__all__ = [
    "as_json",
    "digest_of",
    "locked",
    "publish",
    "read_json",
    "read_table",
    "replacing",
    "sync_file",
    "sync_folder",
    "write_json",
    "write_public",
    "write_table",
    "write_tables",
]

#: On Windows a file that is mapped can be neither removed nor replaced, nor its folder moved.
_MAPS = os.name == "posix"
#: Bytes of a seal: 64 digits and the end of the line.
_SEAL = 65


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file next to `path`, readable by the user alone, that is moved there when it is done."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


@contextlib.contextmanager
def _sealed(path: Path, owner: str, *, is_durable: bool = True) -> Iterator[Path]:
    """A file that `replacing` puts at `path`, sealed, for good if it shall survive a loss of
    power."""
    with replacing(path) as draft:
        yield draft
        seal = _seal(path, owner, _mapped(draft))
        with draft.open("ab") as file:
            file.write(seal)
        if is_durable:
            sync_file(draft)
    if is_durable:
        sync_folder(path.parent)


def _read_sealed(path: Path, owner: str) -> Any:
    """Content of a sealed file, as a buffer of Arrow that is read when it is looked at."""
    try:
        whole = _mapped(path)
    except OSError as error:
        raise BatchError(f"{path}: cannot be read ({error.strerror})") from None
    held = max(0, whole.size - _SEAL)
    if whole.slice(held).to_pybytes() != _seal(path, owner, whole.slice(0, held)):
        raise BatchError(f"{path}: damaged, or of another batch")
    return whole.slice(0, held)


def _mapped(path: Path) -> Any:
    """A file's bytes, mapped where that keeps nobody from moving or removing the file."""
    if not _MAPS or not path.stat().st_size:  # what is empty cannot be mapped
        return pa.py_buffer(path.read_bytes())
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def _seal(path: Path, owner: str, held: Any) -> bytes:
    digest = hashlib.sha256(f"{owner}\n{path.name}\n".encode())
    digest.update(held)
    return digest.hexdigest().encode() + b"\n"


def write_json(path: Path, owner: str, data: dict[str, Any]) -> None:
    """Writes a sealed JSON file of `owner`."""
    with _sealed(path, owner) as draft:
        draft.write_text(as_json(data), encoding="utf-8")


def read_json(path: Path, owner: str) -> dict[str, Any]:
    """Content that `write_json` wrote.

    Raises
    ------
    BatchError
        If the file is missing, damaged or not that of `owner`.
    """
    found: dict[str, Any] = json.loads(_read_sealed(path, owner).to_pybytes())
    return found


def write_table(path: Path, owner: str, table: Any, *, is_durable: bool = True) -> None:
    """Writes a sealed table of `owner`."""
    write_tables(path, owner, table.schema, [table], is_durable=is_durable)


def write_tables(
    path: Path, owner: str, schema: Any, tables: Iterable[Any], *, is_durable: bool = True
) -> None:
    """Writes a sealed table of `owner`, whose rows come in several."""
    with (
        _sealed(path, owner, is_durable=is_durable) as draft,
        pa.OSFile(str(draft), "wb") as file,
        ipc.new_file(file, schema) as writer,
    ):
        for table in tables:
            writer.write_table(table)


def read_table(path: Path, owner: str) -> Any:
    """Table that `write_table` wrote; raises as `read_json`."""
    try:
        return ipc.open_file(_read_sealed(path, owner)).read_all()
    except BatchError as error:
        raise BatchError(
            f"{error}: remove {path.parent} and resume, which makes again what was in it: nothing "
            "is spent or drawn anew"
        ) from None


def as_json(data: dict[str, Any]) -> str:
    """The text of a JSON file."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def write_public(path: Path, text: str) -> None:
    """Writes a file of the mode that new ones have, in place of what is there."""
    path.unlink(missing_ok=True)  # it may have a second name already
    path.write_text(text, encoding="utf-8")
    sync_file(path)


def sync_file(path: Path) -> None:
    """Makes what was written to a file survive a loss of power."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Makes names in a folder survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
        os.rename(draft, target)
    sync_folder(target.parent)


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
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise BatchError(f"{path}: cannot be made ({error.strerror})") from None
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
