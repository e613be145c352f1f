"""The result of a job: one Parquet file with a manifest beside it, or a folder that holds both.

It is written in the job's folder and gets its name when it is complete, never over anything else.
Its row groups and files hold a fixed number of groups: the chunks of a job depend on how many
records there are, which `units` protects.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from curvedp._arrow import pa, pq
from curvedp.batch.listing import ENDINGS
from curvedp.batch.storage import (
    as_json,
    atomically,
    digest_of,
    make_public,
    publish,
    read_json,
    sync_file,
    sync_folder,
    write_json,
    write_text,
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
    asked : str
        Digest of the parameters.
    """

    out: Path
    folder: Path
    identity: str
    asked: str = ""

    @property
    @abc.abstractmethod
    def manifest(self) -> Path:
        """Path of the manifest."""

    @abc.abstractmethod
    def digest(self) -> str:
        """The checksum of what is written, but not yet in its place."""

    @property
    def _seal(self) -> Path:
        return self.folder / "result.json"

    def seal(self) -> None:
        """Notes its checksum, when it is complete."""
        write_json(self._seal, self.identity, {"sha256": self.digest()})

    def is_complete(self) -> bool:
        """True if it is written, but not yet in its place; what is damaged is written anew."""
        try:
            return bool(read_json(self._seal, self.identity)["sha256"] == self.digest())
        except (BatchError, OSError):
            return False

    def with_asked(self, parameters: dict[str, Any]) -> Output:
        """The same with the parameters of its batch."""
        text = json.dumps(parameters, sort_keys=True)
        return replace(self, asked=hashlib.sha256(text.encode()).hexdigest())

    def check_asked(self) -> None:
        """Refuses a finished result of other parameters."""
        if read_manifest(self).get("asked") != self.asked:
            raise BatchError(f"{self.out} is the result of a batch with other parameters")

    def told(self, described: dict[str, Any]) -> dict[str, Any]:
        """The manifest: what is described, whose it is, and the checksum that was just checked."""
        checked = read_json(self._seal, self.identity)["sha256"]
        own = {"job": self.identity, "asked": self.asked, "result_sha256": checked}
        return dict(json.loads(as_json(described | own)))

    @abc.abstractmethod
    def draft(self, encoded: Sequence[str]) -> contextlib.AbstractContextManager[Append]:
        """Lets the caller append tables in order, after which it is complete.

        Columns `encoded` get a dictionary. The draft of a process that was cut off is removed.
        """

    @abc.abstractmethod
    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        """Puts it in its place with its manifest, which is returned."""

    def is_published(self) -> bool:
        """True if it is this job's and stands in its place."""
        try:
            return self.out.exists() and read_manifest(self).get("job") == self.identity
        except BatchError:
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

    @property
    def _result(self) -> Path:
        return self.folder / "result.parquet"

    def digest(self) -> str:
        return digest_of(self._result)

    @contextlib.contextmanager
    def draft(self, encoded: Sequence[str]) -> Iterator[Append]:
        for left in self.folder.glob(f".{self._result.name}.*"):
            left.unlink()
        with atomically(self._result) as path, contextlib.ExitStack() as stack:
            writers: list[Any] = []

            def write(table: Any) -> None:
                if not writers:
                    writer = pq.ParquetWriter(path, table.schema, use_dictionary=list(encoded))
                    writers.append(stack.enter_context(writer))
                writers[0].write_table(table)
                sync_file(path)  # little by little, so that the end need not wait

            with _in_blocks(write) as append:
                yield append
        self.seal()

    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        make_public(self._result)
        text, told = self.folder / "manifest.json", self.told(described)
        if not (text.exists() and text.read_bytes() == as_json(told).encode()):
            write_text(text, as_json(told))
        make_public(text)
        publish(text, self.manifest)
        publish(self._result, self.out)
        return told

    def is_published(self) -> bool:
        # the manifest comes first: somebody else's file may have taken the place since
        return super().is_published() and (
            read_manifest(self).get("result_sha256") == digest_of(self.out)
        )


class _FolderOutput(Output):
    """A folder with a file for each block of groups, and the manifest among them."""

    @property
    def manifest(self) -> Path:
        return self.out / "_manifest.json"

    @property
    def _result(self) -> Path:
        return self.folder / "result"

    def digest(self) -> str:
        found = hashlib.sha256()
        for part in sorted(self._result.glob("*.parquet")):
            found.update(f"{part.name} {digest_of(part)}\n".encode())
        return found.hexdigest()

    @contextlib.contextmanager
    def draft(self, encoded: Sequence[str]) -> Iterator[Append]:
        path, numbers = self.folder / ".result", itertools.count()
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)

        def write(table: Any) -> None:
            part = path / f"part-{next(numbers):06d}.parquet"
            pq.write_table(table, part, use_dictionary=list(encoded))
            make_public(part)
            sync_file(part)

        with _in_blocks(write) as append:
            yield append
        sync_folder(path)
        shutil.rmtree(self._result, ignore_errors=True)  # what was damaged
        os.rename(path, self._result)
        sync_folder(self.folder)
        self.seal()

    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        text, told = self._result / self.manifest.name, self.told(described)
        write_text(text, as_json(told))
        make_public(text)
        make_public(self._result)
        self.check_free()
        os.rename(self._result, self.out)
        sync_folder(self.out.parent)
        return told


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
