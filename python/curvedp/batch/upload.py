"""A result in an object store: made and kept on this machine, then copied, its manifest last.

A place is written only if it was empty before the first byte, or if an earlier copy of the same
result began there: the stage remembers that. Between the look and the write somebody else may
still write, which object stores do not prevent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import posixpath
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from curvedp._arrow import fs
from curvedp._places import public_name
from curvedp.batch.folder import folder_of
from curvedp.batch.listing import filesystem_of
from curvedp.batch.output import output_of
from curvedp.errors import BatchError

__all__ = ["Upload", "place_of"]


@dataclass(frozen=True)
class Upload:
    """A result on this machine and the URI to which it goes.

    Attributes
    ----------
    local : Path
        The result on this machine: its job is kept beside it.
    uri : str
        Where it goes.
    """

    local: Path
    uri: str

    @property
    def name(self) -> str:
        """Name of the place in messages and logs."""
        return public_name(self.uri)

    def check_vacant(self) -> None:
        """Refuses a place where something is, but what an earlier copy of this result left."""
        with self._told("cannot be opened"):
            is_vacant = self._is_vacant(*filesystem_of(self.uri))
        if not is_vacant:
            raise BatchError(f"{self.name} exists: releases that were paid for are not overwritten")

    def copy(self) -> None:
        """Copies the finished result, unless it is there already."""
        again = f"the result stands in {self.local}; resume to copy it again, which spends nothing"
        with self._told(f"cannot be written: {again}"):
            filesystem, path = filesystem_of(self.uri)
            manifest, place = self._paths(path)[-1]
            is_there = _read(filesystem, place) == manifest.read_bytes()  # it comes last
            if is_there and all(_is_copied(filesystem, *pair) for pair in self._paths(path)):
                return
            if not self._is_vacant(filesystem, path):
                raise BatchError(f"{self.name} exists: {again}")
            self._begun.touch()
            for source, target in self._paths(path):
                if filesystem.type_name in ("local", "py::fsspec+memory"):
                    filesystem.create_dir(posixpath.dirname(target), recursive=True)
                with source.open("rb") as file, filesystem.open_output_stream(target) as stream:
                    shutil.copyfileobj(file, stream, 1 << 22)

    def _is_vacant(self, filesystem: Any, path: str) -> bool:
        manifest, place = self._paths(path)[-1]
        found = _read(filesystem, place)
        if not self._begun.exists():
            return found is None and not _exists(filesystem, path)
        # a copy that failed may have left a part of the manifest
        own = manifest.read_bytes() if manifest.exists() else b""
        return found is None or own.startswith(found)

    @property
    def _begun(self) -> Path:
        """The file that says that a copy began, so that what stands at the place is its own."""
        return self.local.with_name(f".{self.local.name}.copied")

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Says by the type alone what a file system did: its words may hold keys and values."""
        try:
            yield
        except BatchError:
            raise
        except Exception as error:
            raise BatchError(f"{self.name} ({type(error).__name__}): {what}") from None

    def _paths(self, path: str) -> list[tuple[Path, str]]:
        """Files and their places, the manifest last."""
        manifest = output_of(self.local, folder_of(self.local), "").manifest
        if manifest.parent == self.local:
            parts = sorted(self.local.glob("*.parquet"))
            own = [(part, f"{path}/{part.name}") for part in parts]
            return [*own, (manifest, f"{path}/{manifest.name}")]
        return [(self.local, path), (manifest, posixpath.dirname(path) + "/" + manifest.name)]


def place_of(out: Any, stage: Any) -> tuple[Path, Upload | None]:
    """Where a result is made, and where it goes if that is elsewhere.

    Every URI has a folder of its own in the stage.

    Raises
    ------
    TypeError
        For a URI without `stage`, or `stage` without one.
    BatchError
        If no file system opens the URI.
    """
    text = os.fsdecode(out)
    if "://" not in text:
        if stage is not None:
            raise TypeError("stage is for results that go to a URI")
        return Path(text).resolve(), None
    if stage is None:
        raise TypeError(
            "a result that goes to a URI needs stage, the folder of this machine where it is made"
        )
    folder = Path(os.fsdecode(stage)).resolve()
    if not folder.is_dir():
        raise BatchError(f"{folder}: no such folder")
    uri = text.rstrip("/")
    try:
        filesystem_of(uri)
    except BatchError:
        raise
    except Exception as error:
        raise BatchError(f"{public_name(uri)} ({type(error).__name__}): cannot be opened") from None
    own = folder / hashlib.sha256(uri.encode()).hexdigest()[:16]
    own.mkdir(mode=0o700, exist_ok=True)
    local = own / posixpath.basename(urlsplit(uri).path)
    return local, Upload(local, uri)


def _read(filesystem: Any, path: str) -> bytes | None:
    """Content of a file; None if there is none."""
    if not _exists(filesystem, path):
        return None
    with filesystem.open_input_stream(path) as stream:
        return bytes(stream.read())


def _is_copied(filesystem: Any, source: Path, target: str) -> bool:
    """True if a file is where it goes, and as long."""
    found = filesystem.get_file_info(target)
    return bool(found.type == fs.FileType.File and found.size == source.stat().st_size)


def _exists(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != fs.FileType.NotFound)
