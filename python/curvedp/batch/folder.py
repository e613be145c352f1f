"""The folder of a job, beside its result: made whole, owned by the user alone, removed by renaming.

`<out>.job` appears by renaming a folder that already holds what makes it a job, and disappears by
renaming before anything in it is deleted: so a folder of this name is a job's, or was put there by
somebody else and is refused. Folders named `.<out>.job.<digits>` are what a killed process left of
the making or the removal.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from curvedp.batch.storage import sync_folder
from curvedp.errors import BatchError

__all__ = ["check_own", "folder_of", "new_folder", "receipt_of", "remove_folder", "sweep"]


def folder_of(out: Path) -> Path:
    """The folder of the job of a result."""
    return out.with_name(out.name + ".job")


def receipt_of(out: Path) -> Path:
    """The file beside a result that says how it was made."""
    return out.with_name(f".{out.name}.receipt")


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to be filled, which gets its name when it is, where none is."""
    draft = _aside(folder)
    try:
        draft.mkdir(mode=0o700)
        yield draft
        sync_folder(draft)
        os.rename(draft, folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise BatchError(f"{folder}: cannot be made ({error.strerror})") from None
        raise


def remove_folder(folder: Path) -> None:
    """Removes a job's folder: first its name, then the secret, then everything else."""
    removed = _aside(folder)
    os.rename(folder, removed)
    sync_folder(folder.parent)
    (removed / "secret").unlink(missing_ok=True)
    shutil.rmtree(removed)


def check_own(folder: Path, *, is_file: bool = False) -> None:
    """Refuses anything that is not a folder, or a file, which the user alone can reach."""
    found = folder.lstat()
    if not (stat.S_ISREG if is_file else stat.S_ISDIR)(found.st_mode):
        raise BatchError(f"{folder} is not a {'file' if is_file else 'folder'}: move it away")
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise BatchError(
            f"{folder} belongs to another user or is open to others, so what it holds may not be "
            "this batch's: move it away and begin anew, which is a new spend"
        )


def sweep(folder: Path) -> None:
    """Deletes what killed processes left of the making or the removal of a folder."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.{'[0-9a-f]' * 16}"):
        with contextlib.suppress(BatchError):
            check_own(left)
            shutil.rmtree(left, ignore_errors=True)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
