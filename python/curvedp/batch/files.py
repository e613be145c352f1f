"""Parquet files wherever they are: paths, folders, patterns, lists, data sets, object stores."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from curvedp._arrow import fs, pa
from curvedp.errors import BatchError

__all__ = [
    "ENDINGS",
    "File",
    "Location",
    "check_outside",
    "filesystem_of",
    "find_files",
    "is_files",
    "location_of",
    "name_of",
    "public_name",
]

#: Endings of the names of Parquet files.
ENDINGS = (".parquet", ".parq", ".pq")
#: Bytes and number of the pieces of a file by which it is known again.
_PIECE, _PIECES = 1 << 14, 1 << 8

#: The place of a source as JSON holds it: one place, or the places of files.
Location = str | list[str]


@dataclass(frozen=True)
class File:
    """One Parquet file.

    Attributes
    ----------
    filesystem : pyarrow.fs.FileSystem
    path : str
    keys : dict
        Columns that its folders name, as in ``site=3/``, each of one value.
    """

    filesystem: Any
    path: str
    keys: dict[str, Any] = field(default_factory=dict)

    def open(self) -> Any:
        """A pyarrow.NativeFile."""
        return self.filesystem.open_input_file(self.path)

    def fingerprint(self) -> dict[str, Any]:
        """Size, time and digests of the footer and of pieces all over the file.

        By these a changed file is noticed; up to 4 MB the pieces are the whole file.
        """
        pieces = hashlib.sha256()
        info = self.filesystem.get_file_info(self.path)
        with self.open() as file:
            size = file.size()
            file.seek(max(0, size - 8))
            length = int.from_bytes(file.read(4), "little")
            file.seek(max(0, size - 8 - length))
            footer = hashlib.sha256(file.read()).hexdigest()
            step = max(_PIECE, size // _PIECES)
            for start in range(0, size, step):
                file.seek(start)
                pieces.update(file.read(min(_PIECE, size - start)))
        return {
            "bytes": size,
            "modified_ns": info.mtime_ns,
            "footer": footer,
            "pieces": pieces.hexdigest(),
        }


def is_files(source: Any) -> bool:
    """True for what names files, in contrast to a table in memory."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(part, (str, os.PathLike)) for part in source)
    return isinstance(source, (str, os.PathLike)) or _is_data_set(source)


def _is_data_set(source: Any) -> bool:
    """True for a data set of pyarrow, whose module takes 45 MB: it is imported only if it is."""
    return type(source).__name__ == "FileSystemDataset"


def location_of(source: Any) -> Location:
    """The place of a source for JSON.

    Raises
    ------
    BatchError
        For a data set whose file system has no name that another process could open.
    """
    if _is_data_set(source):
        if not isinstance(source.filesystem, fs.LocalFileSystem):
            raise BatchError(
                "a data set on another file system cannot be found again by its paths: give its "
                "files by URI, such as s3://bucket/folder"
            )
        return [_absolute(path) for path in source.files]
    if isinstance(source, (list, tuple)):
        return [_absolute(os.fspath(path)) for path in source]
    return _absolute(os.fspath(source))


def _absolute(path: str) -> str:
    return path if "://" in path else Path(path).resolve().as_posix()  # as Arrow writes paths


def find_files(location: Location) -> list[File]:
    """The files of a place, in the order of their paths; those of a list in its order.

    Raises
    ------
    BatchError
        If there are none, or the place cannot be read.
    """
    parts = location if isinstance(location, list) else [location]
    found = [_paths_of(place) for place in parts]
    paths = [path for _, _, own in found for path in own]
    if not paths:
        raise BatchError(f"{name_of(location)}: no Parquet file (endings: {', '.join(ENDINGS)})")
    filesystem, base, _ = found[0]
    if any(other != filesystem for other, _, _ in found):
        raise BatchError(f"{name_of(location)}: a list of files must stand on one file system")
    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise BatchError(
            f"{name_of(location)}: a file comes twice, and its records would count twice"
        )
    if isinstance(location, str) and base is None:
        return [File(filesystem, paths[0])]
    try:
        return _with_keys(filesystem, base if len(parts) == 1 else None, paths)
    except (OSError, pa.ArrowException):
        raise BatchError(f"{name_of(location)}: cannot be read") from None


def check_outside(out: str, location: Location) -> None:
    """Refuses a result among the records, of which it would be one.

    Raises
    ------
    BatchError
    """
    for place in location if isinstance(location, list) else [location]:
        is_pattern = _is_pattern(place) and not Path(place).exists()
        base = _normal(_base_of(place) if is_pattern else place)
        if _normal(out).is_relative_to(base):
            raise BatchError(
                f"{public_name(out)} stands among the records of {public_name(place)}: choose "
                "another folder"
            )


def _normal(place: str) -> PurePosixPath:
    """One spelling of a path or URI, begun by the kind of its file system."""
    filesystem, path = filesystem_of(place)
    if filesystem.type_name == "local":
        path = Path(path).resolve().as_posix()
    return PurePosixPath(filesystem.type_name, posixpath.normpath(path).lstrip("/"))


def name_of(location: Location) -> str:
    """What messages call a place."""
    if isinstance(location, str):
        return public_name(location)
    return f"{public_name(location[0])} and {len(location) - 1} more"


def public_name(place: str) -> str:
    """A path, or a URI without the keys and options that it may hold."""
    if "://" not in place:
        return place
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _paths_of(place: str) -> tuple[Any, str | None, list[str]]:
    """The file system of a place, the folder above its files, and their paths."""
    try:
        filesystem, path = filesystem_of(place)
        kind = filesystem.get_file_info(path).type
        if kind == fs.FileType.NotFound and _is_pattern(path):
            return filesystem, _base_of(path), list(_matching(filesystem, path))
        if kind == fs.FileType.NotFound:
            raise BatchError(f"{public_name(place)}: no such file")
        if kind == fs.FileType.File:
            return filesystem, None, [path]
        return filesystem, path, list(_files_below(filesystem, path))
    except (OSError, pa.ArrowException):
        raise BatchError(f"{public_name(place)}: cannot be read") from None


def filesystem_of(place: str) -> tuple[Any, str]:
    """The file system of a path or URI, and the path in it."""
    if "://" not in place:
        return fs.LocalFileSystem(), place
    try:
        filesystem, path = fs.FileSystem.from_uri(place)
        return filesystem, path
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass  # a scheme that Arrow does not know
    try:
        import fsspec
    except ImportError:
        raise BatchError(
            f"{public_name(place)}: this needs fsspec, which opens such places"
        ) from None
    try:
        opened, path = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise BatchError(
            f"{public_name(place)}: cannot be opened ({type(error).__name__})"
        ) from None
    return fs.PyFileSystem(fs.FSSpecHandler(opened)), path


def _is_pattern(path: str) -> bool:
    return any(letter in path for letter in "*?[")


def _base_of(pattern: str) -> str:
    """The folder above the first part of a path that is a pattern."""
    parts = pattern.split("/")
    first = next(number for number, part in enumerate(parts) if _is_pattern(part))
    return "/".join(parts[:first])


def _matching(filesystem: Any, pattern: str) -> Iterator[str]:
    """Files whose path matches a pattern part by part; ``**`` stands for any parts."""
    base = _base_of(pattern)
    for path in _all_below(filesystem, base):
        if _matches(path.split("/"), pattern.split("/")):
            yield path


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _files_below(filesystem: Any, folder: str) -> Iterator[str]:
    for path in _all_below(filesystem, folder):
        if path.endswith(ENDINGS):
            yield path


def _all_below(filesystem: Any, folder: str) -> list[str]:
    """Files below a folder but those that are hidden: a name on their path begins with . or _."""
    found = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = [info.path for info in found if info.type == fs.FileType.File]
    count = len(folder.rstrip("/")) + 1
    return sorted(
        path
        for path in paths
        if not any(part.startswith((".", "_")) for part in path[count:].split("/"))
    )


def _with_keys(filesystem: Any, base: str | None, paths: Sequence[str]) -> list[File]:
    """Files with the columns that their folders name, those below a base if it is given."""
    import pyarrow.dataset as ds

    found = ds.dataset(
        list(paths),
        filesystem=filesystem,
        format="parquet",
        partitioning=ds.HivePartitioning.discover(infer_dictionary=False),
        partition_base_dir=base,
    )
    schema = found.schema
    files = []
    for fragment in found.get_fragments():
        keys = ds.get_partition_keys(fragment.partition_expression)
        typed = {name: pa.scalar(value, schema.field(name).type) for name, value in keys.items()}
        files.append(File(filesystem, fragment.path, typed))
    return files
