"""Files the commands write: a release's place is claimed before its budget is spent."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from curvedp import ConfidenceRegion, Release, VarianceInterval
from curvedp.cli.tables import FileError
from curvedp.directions import MeanAxis, MeanDirection

__all__ = ["ReleaseFile", "check_writable", "kept_in", "read_stored"]


class ReleaseFile:
    """Context manager that makes sure a release can be stored before it is drawn.

    A release is paid for when it is drawn, so the file is created first and an existing one is
    refused. It disappears again when nothing was written to it. Should writing fail, the text goes
    to standard output, and to standard output it goes from a file of its own, which stays if that
    fails, rather than being lost.

    Parameters
    ----------
    path : Path
        Target; ``-`` is standard output.

    Raises
    ------
    FileError
        The file exists already or cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_shown = path, str(path) == "-"
        self._file: TextIO | None = None
        self._written = False

    def __enter__(self) -> ReleaseFile:
        try:
            if self._is_shown:
                handle, name = tempfile.mkstemp(prefix="curvedp-release-", suffix=".json")
                self._path, self._file = Path(name), os.fdopen(handle, "w", encoding="utf-8")
            else:
                self._file = self._path.open("x", encoding="utf-8")
        except FileExistsError as error:
            raise FileError(
                f"{self._path}: exists; a release that was paid for is not overwritten, "
                "choose another --out"
            ) from error
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written ({error.strerror})") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        if not self._written:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def write(self, text: str) -> None:
        """Store the text; raises `FileError` when that fails, which says where it is."""
        try:
            self._store(text)
        except OSError as error:
            raise FileError(
                f"{self._path}: cannot be written ({error.strerror}); "
                f"the release stands {_rescued(text)}"
            ) from error
        if self._is_shown:
            with kept_in(self._path):
                _show(text)
            self._written = False  # the file may go

    def _store(self, text: str) -> None:
        assert self._file is not None
        self._file.write(text + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._written = True


@contextlib.contextmanager
def kept_in(place: Path | str) -> Iterator[None]:
    """Adds to an error after a release where it is."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"the release is kept in {place}")
        raise


def _rescued(text: str) -> str:
    """Where a text stands that could not be stored."""
    try:
        _show(text)
        return "on standard output"
    except OSError:
        handle, name = tempfile.mkstemp(prefix="curvedp-release-", suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return f"in {name}"


def _show(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def read_stored(path: Path) -> Any:
    """The release, region, interval or mean direction that a json file holds, or a batch's result.

    Raises
    ------
    FileError
        The file cannot be read, or holds none.
    MissingExtraError
        For the result of a batch, if pyarrow is not installed.
    BatchError
        If its manifest is missing, or not its own.
    """
    if path.is_dir() or path.suffix.lower() in (".parquet", ".parq", ".pq"):
        from curvedp.batch import BatchReleases

        return BatchReleases.open(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise FileError(f"{path}: cannot be read ({reason})") from error
    for kind in (Release, ConfidenceRegion, VarianceInterval, MeanDirection, MeanAxis):
        with contextlib.suppress(ValueError):
            return kind.from_json(text)
    raise FileError(f"{path}: holds no release, region or interval that curvedp wrote")


def check_writable(path: Path) -> None:
    """Raise `FileError` unless a file can be written at `path`, before long work begins."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise FileError(f"{path}: cannot be written")
