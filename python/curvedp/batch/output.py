"""The result of a job: one Parquet file with a manifest beside it, or a folder that holds both.

It is written in the job's folder, which its owner alone can reach, with the modes that new files
have, and gets its name when it is complete, never over anything else. Its row groups and files hold
a fixed number of groups: the chunks of a job depend on how many records there are, which `units`
protects.
"""

from __future__ import annotations

import abc
import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curvedp._arrow import pa, pq
from curvedp.batch.listing import ENDINGS
from curvedp.batch.storage import (
    as_json,
    digest_of,
    publish,
    sync_file,
    sync_folder,
    write_public,
)
from curvedp.errors import BatchError

__all__ = ["Output", "output_of", "read_manifest"]

#: Groups in a row group of a file, and in a file of a folder.
_GROUPS = 1 << 16

#: Appends a table to a result.
Append = Callable[[Any], None]


@dataclass(frozen=True)
class Output(abc.ABC):
    """The result of a job.

    Attributes
    ----------
    out : Path
        Its place.
    folder : Path
        That of the job.
    identity : str
        That of the job.
    """

    out: Path
    folder: Path
    identity: str

    @property
    @abc.abstractmethod
    def manifest(self) -> Path:
        """Path of the manifest."""

    @property
    def written(self) -> Path:
        """Where it stands when it is complete, but not yet in its place."""
        return self.folder / "result"

    @abc.abstractmethod
    def digest(self, place: Path) -> str:
        """The checksum of what is in a place."""

    @contextlib.contextmanager
    def draft(self, encoded: Sequence[str]) -> Iterator[Append]:
        """Lets the caller append tables in order, after which it is written.

        Columns `encoded` get a dictionary. The draft of a process that was cut off is removed.
        """
        path = self.folder / ".result"
        _remove(path)
        with self._writer(path, list(encoded)) as write, _in_blocks(write) as append:
            yield append
        _remove(self.written)  # what was damaged
        os.rename(path, self.written)
        sync_folder(self.folder)

    @abc.abstractmethod
    def _writer(self, path: Path, encoded: list[str]) -> contextlib.AbstractContextManager[Append]:
        """Writes blocks of groups to a place, and makes them survive a loss of power."""

    @abc.abstractmethod
    def publish(self, told: dict[str, Any]) -> None:
        """Puts it in its place with its manifest."""

    def is_published(self) -> bool:
        """True if it is this job's and stands in its place."""
        try:  # the manifest comes first: somebody else's file may have taken the place since
            told = read_manifest(self)
            return told.get("job") == self.identity and self.is_result_of(told)
        except BatchError:
            return False

    def is_result_of(self, told: dict[str, Any]) -> bool:
        """True if what stands in its place is what a manifest tells of."""
        try:
            return bool(told.get("result_sha256") == self.digest(self.out))
        except OSError:
            return False

    def check_free(self) -> None:
        """Refuses a place where something is."""
        if self.out.exists():
            raise BatchError(f"{self.out} exists: releases that were paid for are not overwritten")
        if self.manifest.exists():
            raise BatchError(f"{self.manifest} exists: choose another name for the result")


class _FileOutput(Output):
    """One file; the manifest stands beside it."""

    @property
    def manifest(self) -> Path:
        return self.out.with_name(self.out.name + ".manifest.json")

    def digest(self, place: Path) -> str:
        return digest_of(place)

    @contextlib.contextmanager
    def _writer(self, path: Path, encoded: list[str]) -> Iterator[Append]:
        with contextlib.ExitStack() as stack:
            writers: list[Any] = []

            def write(table: Any) -> None:
                if not writers:
                    writer = pq.ParquetWriter(path, table.schema, use_dictionary=encoded)
                    writers.append(stack.enter_context(writer))
                writers[0].write_table(table)
                sync_file(path)  # little by little, so that the end need not wait

            yield write
        sync_file(path)

    def publish(self, told: dict[str, Any]) -> None:
        text = self.folder / "manifest.json"
        write_public(text, as_json(told))
        publish(text, self.manifest)
        publish(self.written, self.out)


class _FolderOutput(Output):
    """A folder with a file for each block of groups, and the manifest among them."""

    @property
    def manifest(self) -> Path:
        return self.out / "_manifest.json"

    def digest(self, place: Path) -> str:
        found = hashlib.sha256()
        for part in sorted(place.glob("*.parquet")):
            found.update(f"{part.name} {digest_of(part)}\n".encode())
        return found.hexdigest()

    @contextlib.contextmanager
    def _writer(self, path: Path, encoded: list[str]) -> Iterator[Append]:
        path.mkdir()
        numbers = itertools.count()

        def write(table: Any) -> None:
            part = path / f"part-{next(numbers):06d}.parquet"
            pq.write_table(table, part, use_dictionary=encoded)
            sync_file(part)

        yield write
        sync_folder(path)

    def publish(self, told: dict[str, Any]) -> None:
        write_public(self.written / self.manifest.name, as_json(told))
        sync_folder(self.written)
        self.check_free()
        os.rename(self.written, self.out)
        sync_folder(self.out.parent)


def _remove(path: Path) -> None:
    """Removes a file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _in_blocks(write: Append) -> Iterator[Append]:
    """Calls `write` for each block of so many rows of what is appended, and for the rest."""
    held: list[Any] = []
    blocks = 0

    def append(table: Any) -> None:
        nonlocal blocks
        held.append(table)
        if sum(map(len, held)) < _GROUPS:
            return
        whole = pa.concat_tables(held)
        held.clear()
        while len(whole) >= _GROUPS:
            write(whole.slice(0, _GROUPS).combine_chunks())
            whole, blocks = whole.slice(_GROUPS), blocks + 1
        held.append(whole)

    yield append
    rest = pa.concat_tables(held)
    if len(rest) or not blocks:
        write(rest.combine_chunks())


def output_of(out: Path, folder: Path, identity: str) -> Output:
    """The result of a job: a file if its name ends as those of Parquet files do, else a folder."""
    kind = _FileOutput if out.suffix.lower() in ENDINGS else _FolderOutput
    return kind(out, folder, identity)


def read_manifest(output: Output) -> dict[str, Any]:
    """The manifest of a finished result."""
    try:
        return dict(json.loads(output.manifest.read_text(encoding="utf-8")))
    except (OSError, RecursionError, ValueError, TypeError):
        raise BatchError(
            f"{output.manifest}: not readable as the manifest of {output.out}"
        ) from None
