"""The paths of a place: what a folder or a pattern stands for, on any file system.

What could hold records is listed or refused, never left out without a word.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from curvedp._arrow import fs, pa
from curvedp._places import public_name
from curvedp.errors import BatchError

__all__ = ["ENDINGS", "base_of", "filesystem_of", "is_pattern", "paths_of"]

#: Endings of the names of Parquet files.
ENDINGS = (".parquet", ".parq", ".pq")
#: Folders that hold the log of a table, and its kind.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}


def paths_of(place: str) -> tuple[Any, str | None, list[str]]:
    """The file system of a place, the folder above its files, and their paths."""
    try:
        filesystem, path = filesystem_of(place)
        kind = filesystem.get_file_info(path).type
        if kind == fs.FileType.NotFound and is_pattern(path):
            return filesystem, base_of(path), _matching(filesystem, path)
        if kind == fs.FileType.NotFound:
            raise BatchError(f"{public_name(place)}: no such file")
        if kind == fs.FileType.File:
            return filesystem, None, [path]
        return filesystem, path, _files_below(filesystem, path)
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


def is_pattern(path: str) -> bool:
    return any(letter in path for letter in "*?[")


def base_of(pattern: str) -> str:
    """The folder above the first part of a path that is a pattern."""
    parts = pattern.split("/")
    first = next(number for number, part in enumerate(parts) if is_pattern(part))
    return "/".join(parts[:first])


def _matching(filesystem: Any, pattern: str) -> list[str]:
    """Files whose path matches a pattern part by part; ``**`` stands for any parts."""
    parts = pattern.split("/")
    return _below(filesystem, base_of(pattern), lambda path: _matches(path.split("/"), parts))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _files_below(filesystem: Any, folder: str) -> list[str]:
    """The Parquet files below a folder, in which there may be none that would be left out."""
    paths = _below(filesystem, folder, lambda path: True)
    other = [path for path in paths if not path.lower().endswith(ENDINGS)]
    if other:
        raise BatchError(
            f"{public_name(folder)} holds files whose names do not end in {', '.join(ENDINGS)} "
            f"({len(other)}, such as {posixpath.basename(public_name(other[0]))}): what they hold "
            "would be left out. Move them away, or give a pattern of what counts, such as "
            "'folder/**/*.parquet'"
        )
    return paths


def _below(filesystem: Any, folder: str, counts: Callable[[str], bool]) -> list[str]:
    """Files below a folder that count, but those that are hidden.

    Raises
    ------
    BatchError
        If one cannot be read, or its table has a log that says which files count.
    """
    found = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    start = len(folder.rstrip("/")) + 1
    others = {info.path for info in found if info.type == fs.FileType.Unknown}
    if filesystem.type_name == "local":
        others.update(_broken_links(folder))
    paths = [info.path for info in found if info.type == fs.FileType.File]
    paths = sorted(p for p in [*paths, *others] if not _is_hidden(p[start:]) and counts(p))
    for path in others.intersection(paths):
        raise BatchError(
            f"{public_name(path)} is neither a file nor a folder, or a link that leads nowhere: "
            "what it stands for would be left out"
        )
    for info in found:
        kind, table = _logged_table(info.path)
        if kind and any(path.startswith(f"{table}/") for path in paths):
            raise BatchError(
                f"{public_name(folder)} holds a {kind} table, whose log says which files count: "
                "give the paths of those"
            )
    return paths


def _logged_table(path: str) -> tuple[str | None, str]:
    """The kind and folder of the table whose log stands at a path."""
    folder, name = posixpath.split(path)
    if name in _LOGS:
        return _LOGS[name], folder
    is_iceberg = name.endswith(".metadata.json") and posixpath.basename(folder) == "metadata"
    return ("Iceberg" if is_iceberg else None), posixpath.dirname(folder)


def _is_hidden(path: str) -> bool:
    """True if a name on a path begins with . or _, but for folders that name a column."""
    return any(
        part.startswith(".") or (part.startswith("_") and "=" not in part)
        for part in path.split("/")
    )


def _broken_links(folder: str) -> Iterator[str]:
    """Links below a folder that lead nowhere: Arrow does not list them."""
    for parent, folders, names in os.walk(folder, followlinks=True):
        for path in (Path(parent, name) for name in [*folders, *names]):
            if not path.exists():
                yield path.as_posix()
