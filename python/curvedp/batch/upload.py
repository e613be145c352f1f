"""A result in an object store: made and kept on this machine, then copied, its manifest last."""

from __future__ import annotations

import os
import posixpath
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curvedp._arrow import fs, pa
from curvedp.batch.files import filesystem_of
from curvedp.batch.folder import folder_of
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

    def check_vacant(self, *, resume: bool) -> None:
        """Refuses a place where something is, but with `resume` what an earlier upload left."""
        filesystem, path = self._opened()
        manifest, place = self._paths(path)[-1]
        found = _read(filesystem, place)
        if resume:  # a copy that failed may have left a part of the manifest
            own = manifest.read_bytes() if manifest.exists() else b""
            is_vacant = found is None or own.startswith(found)
        else:
            is_vacant = found is None and not _exists(filesystem, path)
        if not is_vacant:
            raise BatchError(f"{self.uri} exists: releases that were paid for are not overwritten")

    def copy(self) -> None:
        """Copies the finished result; what is there already stays."""
        filesystem, path = self._opened()
        manifest, place = self._paths(path)[-1]
        if _read(filesystem, place) == manifest.read_bytes():  # it comes last
            return
        self.check_vacant(resume=True)
        try:
            for source, target in self._paths(path):
                if filesystem.type_name in ("local", "py::fsspec+memory"):
                    filesystem.create_dir(posixpath.dirname(target), recursive=True)
                with source.open("rb") as file, filesystem.open_output_stream(target) as stream:
                    shutil.copyfileobj(file, stream, 1 << 22)
        except (OSError, pa.ArrowException) as error:
            raise BatchError(
                f"{self.uri} cannot be written ({type(error).__name__}): the result stands in "
                f"{self.local}; resume to copy it again, which spends nothing"
            ) from None

    def _opened(self) -> tuple[Any, str]:
        try:
            return filesystem_of(self.uri)
        except (OSError, pa.ArrowException):
            raise BatchError(f"{self.uri}: cannot be opened") from None

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

    Raises
    ------
    TypeError
        For a URI without `stage`, or `stage` without one.
    """
    text = os.fspath(out)
    if "://" not in text:
        if stage is not None:
            raise TypeError("stage is for results that go to a URI")
        return Path(text).resolve(), None
    if stage is None:
        raise TypeError(
            "a result that goes to a URI needs stage, the folder of this machine where it is made"
        )
    uri = text.rstrip("/")
    local = Path(stage).resolve() / posixpath.basename(uri)
    return local, Upload(local, uri)


def _read(filesystem: Any, path: str) -> bytes | None:
    """What a file holds; None if there is none."""
    if not _exists(filesystem, path):
        return None
    with filesystem.open_input_stream(path) as stream:
        return bytes(stream.read())


def _exists(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != fs.FileType.NotFound)
