"""Parquet files wherever they are: paths, folders, patterns, lists, data sets, object stores."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard, TypeVar
from urllib.parse import unquote

from curvedp._arrow import fs, pa, pc
from curvedp._places import public_name
from curvedp.batch.listing import (
    ENDINGS,
    base_of,
    filesystem_of,
    is_pattern,
    paths_of,
)
from curvedp.errors import BatchError

__all__ = [
    "File",
    "Location",
    "Stamp",
    "check_outside",
    "check_spelling",
    "damage",
    "each_of",
    "find_files",
    "fingerprint_of_files",
    "is_files",
    "is_location",
    "location_of",
    "name_of",
]

#: Bytes of a piece of a file, and number of pieces, by which files are known again.
_PIECE, _PIECES = 1 << 14, 1 << 8
#: Bytes at the end of a file that are read at once: most footers are shorter.
_TAIL = 1 << 16
#: Files elsewhere that are asked at a time.
_AT_ONCE = 16

#: Endings of tables and arrays that are not Parquet.
_OTHERS = (".npy", ".npz", ".csv", ".tsv", ".txt", ".json", ".feather", ".arrow", ".xlsx", ".h5")
_T = TypeVar("_T")

#: The place of a source as JSON holds it: one place, or the places of files.
Location = str | list[str]
#: Path, size, time and version of a file: see `File.stamp`.
Stamp = list[str | int | None]


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

    @property
    def name(self) -> str:
        """Name in messages."""
        if self.filesystem.type_name == "local" or "://" in self.path:
            return public_name(self.path)
        return public_name(f"there://{self.path}").removeprefix("there://")

    def open(self) -> Any:
        """A pyarrow.NativeFile."""
        return self.filesystem.open_input_file(self.path)

    @property
    def is_here(self) -> bool:
        """True for a file of this machine's file systems, whose time its owner can set."""
        return bool(self.filesystem.type_name == "local")

    def stamp(self) -> Stamp:
        """Path, size, time of the last change, and what else tells one state from another.

        That is the time at which a local file's state changed, which nobody can set, and of others
        the version that their store gives them.
        """
        if self.is_here:
            state = os.stat(self.path)
            return [self.path, state.st_size, state.st_mtime_ns, state.st_ctime_ns]
        version = self._version()  # forgets what was listed before
        info = self.filesystem.get_file_info(self.path)
        return [self.path, info.size, info.mtime_ns, version]

    def may_keep(self, stamp: Stamp) -> bool:
        """True if other contents may have that stamp: the file's times can be set, or are unknown.

        Arrow's own stores set them alone; fsspec's may be of disks elsewhere.
        """
        _, _, time, version = stamp
        return self.is_here or (version is None and (self._store is not None or not time))

    @property
    def _store(self) -> Any:
        """The file system of fsspec, if it is one."""
        return getattr(getattr(self.filesystem, "handler", None), "fs", None)

    def _version(self) -> str | None:
        """The version that an object store gives a file, where fsspec tells it."""
        store = self._store
        if store is None:
            return None
        store.invalidate_cache()
        told = store.info(self.path)
        names = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified")
        return next((str(told[name]) for name in names if told.get(name) is not None), None)

    def footer(self) -> bytes:
        """The end of the file, which tells its columns and row groups."""
        with self.open() as file:
            size = file.size()
            file.seek(max(0, size - _TAIL))
            tail = file.read()
            held = 8 + int.from_bytes(tail[-8:-4], "little")
            if tail[-4:] != b"PAR1" or held > size:
                raise pa.ArrowInvalid("no Parquet file")
            if len(tail) < held:
                file.seek(size - held)
                tail = file.read()
        return bytes(tail[-held:])

    def pieces(self, count: int) -> str:
        """A digest of about so many pieces all over the file."""
        found = hashlib.sha256()
        with self.open() as file:
            size = file.size()
            for start in range(0, size, max(_PIECE, size // count)):
                file.seek(start)
                found.update(file.read(min(_PIECE, size - start)))
        return found.hexdigest()


def each_of(files: Sequence[File], work: Callable[[File], _T]) -> list[_T]:
    """Results of some work on files; of those elsewhere several at a time.

    Raises
    ------
    BatchError
        If one cannot be read. Arrow's own message is not repeated: it may quote contents.
    """

    def one(file: File) -> _T:
        try:
            return work(file)
        except (pa.ArrowException, OSError):
            raise damage(file.name) from None

    if all(file.is_here for file in files):
        return [one(file) for file in files]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(one, files))


def damage(name: str) -> BatchError:
    """The error of a file that cannot be read."""
    way = ""
    if name.lower().endswith(_OTHERS):
        way = (
            ". A batch reads Parquet: write a table as such (pandas' to_parquet), or release "
            "arrays by a function such as frechet_mean"
        )
    return BatchError(f"{name}: not a readable Parquet file, or damaged{way}")


def fingerprint_of_files(
    files: Sequence[File], stamps: Sequence[Stamp], footers: Sequence[str]
) -> dict[str, Any]:
    """Sizes, times, versions and digests of the footers and of pieces of files.

    By these changed files are noticed. Pieces are read where times can be set or are unknown
    (`File.may_keep`): 4 MB in all, at least one of each file. Of several files it is a digest.
    """
    sizes = [int(stamp[1] or 0) for stamp in stamps]
    whole = max(1, sum(sizes))
    count = {
        file.path: max(1, round(_PIECES * size / whole))
        for file, size in zip(files, sizes, strict=True)
    }
    doubtful = [file for file, stamp in zip(files, stamps, strict=True) if file.may_keep(stamp)]
    digests = each_of(doubtful, lambda file: file.pieces(count[file.path]))
    pieces = dict(zip((file.path for file in doubtful), digests, strict=True))
    found = [
        {"bytes": size, "modified_ns": time, "footer": footer, "pieces": pieces.get(str(path))}
        | ({} if file.is_here else {"version": version})
        for file, (path, size, time, version), footer in zip(files, stamps, footers, strict=True)
    ]
    if len(found) == 1:
        return found[0]
    told = [[file.path, own] for file, own in zip(files, found, strict=True)]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return {"files": len(found), "bytes": sum(own["bytes"] for own in found), "digest": digest}


def is_files(source: Any) -> bool:
    """True for what names files, in contrast to a table in memory."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(part, (str, os.PathLike)) for part in source)
    return isinstance(source, (str, os.PathLike)) or _is_data_set(source)


def is_location(data: Location | Any) -> TypeGuard[Location]:
    """True for the place of files, in contrast to a table."""
    return isinstance(data, (str, list))


def _is_data_set(source: Any) -> bool:
    """True for a data set of pyarrow, whose module takes 45 MB: it is imported only if it is."""
    return type(source).__name__ == "FileSystemDataset"


def location_of(source: Any) -> Location:
    """The place of a source for JSON.

    Raises
    ------
    BatchError
        For a data set whose file system has no name that another process could open, or that says
        more than its files do: a filter, a schema or partitioning, row groups, options of a format.
    """
    if _is_data_set(source):
        if not isinstance(source.filesystem, fs.LocalFileSystem):
            raise BatchError(
                "a data set on another file system cannot be found again by its paths: give its "
                "files by URI, such as s3://bucket/folder"
            )
        paths = [_absolute(path) for path in source.files]
        if said := _said_beside(source, paths):
            raise BatchError(
                f"the data set has {said}, which would not be honoured, since its files alone are "
                "read: give a table of what it selects (dataset.to_table()), or the paths of its "
                "files or their folder"
            )
        return paths
    if isinstance(source, (list, tuple)):
        return [_absolute(os.fsdecode(path)) for path in source]
    return _absolute(os.fsdecode(source))


def _said_beside(source: Any, paths: Sequence[str]) -> str | None:
    """Demands of a data set that reading its files, as `Source` does, would not honour."""
    import pyarrow.dataset as ds

    if not paths:
        return "no file"
    plain = ds.ParquetFileFormat()
    try:
        if getattr(source, "_scan_options", True):
            return "a filter or a projection"
        fragments = list(source.get_fragments())
        if not all(isinstance(part.format, ds.ParquetFileFormat) for part in fragments):
            return "files of another format than Parquet"
        if not all(part.format.equals(plain) for part in [source, *fragments]):
            return "options of its format"
        for part in fragments:
            if [own.id for own in part.row_groups] != list(range(part.metadata.num_row_groups)):
                return "row groups of its own choice"
        found = _discovered(source.filesystem, None, paths)
        if not source.schema.equals(found.schema):
            return "a schema or partitioning of its own"
        known = [source.partition_expression, *(p.partition_expression for p in fragments)]
        read = [found.partition_expression]
        read += [part.partition_expression for part in found.get_fragments()]
        if len(known) != len(read) or not all(map(pc.Expression.equals, known, read)):
            return "a partitioning of its own"
    except (OSError, pa.ArrowException):
        raise BatchError(f"{name_of(list(paths))}: cannot be read") from None
    return None


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
    found = [paths_of(place) for place in parts]
    paths = [path for _, _, own in found for path in own]
    if not paths:
        raise BatchError(f"{name_of(location)}: no Parquet file (endings: {', '.join(ENDINGS)})")
    filesystem, base, _ = found[0]
    if any(other != filesystem for other, _, _ in found):
        raise BatchError(f"{name_of(location)}: a list of files must stand on one file system")
    if len({_identity(filesystem, path) for path in paths}) < len(paths):
        raise BatchError(
            f"{name_of(location)}: a file comes twice, and its records would count twice"
        )
    if isinstance(location, str) and base is None:
        return [File(filesystem, paths[0])]
    try:
        return _with_keys(filesystem, base if len(parts) == 1 else None, paths)
    except (OSError, pa.ArrowException):
        raise damage(name_of(location)) from None


def check_outside(out: str, location: Location) -> None:
    """Refuses a result among the records, of which it would be one.

    Raises
    ------
    BatchError
    """
    for place in location if isinstance(location, list) else [location]:
        if _normal(out).is_relative_to(_normal(place, is_of_many=True)):
            raise BatchError(
                f"{public_name(out)} stands among the records of {public_name(place)}: choose "
                "another folder"
            )


def _normal(place: str, *, is_of_many: bool = False) -> PurePosixPath:
    """One spelling of a path or URI, begun by the kind of its file system; or of the folder above
    all that a pattern may stand for."""
    filesystem, path = filesystem_of(place)
    if is_of_many and is_pattern(path) and not Path(place).exists():
        path = base_of(path)
    if filesystem.type_name == "local":
        path = Path(path).resolve().as_posix()
    return PurePosixPath(filesystem.type_name, posixpath.normpath(path).lstrip("/"))


def name_of(location: Location) -> str:
    """Name of a place in messages."""
    if isinstance(location, str):
        return public_name(location)
    return f"{public_name(location[0])} and {len(location) - 1} more"


def _identity(filesystem: Any, path: str) -> Any:
    """By which a file is known under all of its names."""
    if filesystem.type_name != "local":
        return path
    try:
        found = os.stat(path)
    except OSError:
        raise BatchError(f"{public_name(path)}: cannot be read") from None
    return found.st_dev, found.st_ino


def _discovered(filesystem: Any, base: str | None, paths: Sequence[str]) -> Any:
    """Files as a data set, with the columns that their folders name."""
    import pyarrow.dataset as ds

    return ds.dataset(
        list(paths),
        filesystem=filesystem,
        format="parquet",
        partitioning=ds.HivePartitioning.discover(infer_dictionary=False),
        partition_base_dir=base,
    )


def _with_keys(filesystem: Any, base: str | None, paths: Sequence[str]) -> list[File]:
    """Files with the columns that their folders name, those below a base if it is given.

    Files that hold such a column themselves, as polars writes them, may have it of another type:
    it is read from them.
    """
    import pyarrow.dataset as ds

    partitioning = ds.HivePartitioning.discover(infer_dictionary=False)
    options = ds.FileSystemFactoryOptions(partition_base_dir=base, partitioning=partitioning)
    form = ds.ParquetFileFormat()
    factory = ds.FileSystemDatasetFactory(filesystem, list(paths), form, options)
    of_file, named = factory.inspect_schemas()  # of the first file, and of all folders' names
    schema = pa.schema([*named, *(own for own in of_file if own.name not in named.names)])
    files = []
    for fragment in factory.finish(schema).get_fragments():
        keys = ds.get_partition_keys(fragment.partition_expression)
        typed = {name: pa.scalar(value, schema.field(name).type) for name, value in keys.items()}
        files.append(File(filesystem, fragment.path, typed))
    return files


def check_spelling(files: Sequence[File], name: str) -> None:
    """Refuses folders that spell one value of a column in two ways, such as 007 and 7.

    Raises
    ------
    BatchError
    """
    spelled = dict[Any, str]()
    for file in files:
        for own, text in _named(file.path):
            if own == name and (first := spelled.setdefault(file.keys.get(name), text)) != text:
                raise BatchError(
                    f"folders name {name}={first} and {name}={text}, which would be one group: "
                    "name them as different texts, or write the column into the files"
                )


def _named(path: str) -> list[tuple[str, str]]:
    """Names and texts of the columns that the folders of a path name."""
    parts = (part.partition("=") for part in path.split("/")[:-1])
    return [(unquote(name), unquote(text)) for name, mark, text in parts if mark]
