"""The result of a job: one Parquet file with a manifest beside it, or a folder that holds both.

It is written in the job's folder and gets its name when it is complete, never over anything else.
"""

from __future__ import annotations

import abc
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curvedp._arrow import pq
from curvedp.batch.storage import (
    as_json,
    atomically,
    digest_of,
    make_public,
    publish,
    sync_file,
    sync_folder,
    write_text,
)
from curvedp.errors import BatchError

__all__ = ["Output", "output_of", "read_manifest"]

#: Endings by which a result is one file.
_ENDINGS = (".parquet", ".parq", ".pq")

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

    @abc.abstractmethod
    def is_complete(self) -> bool:
        """True if it is written, but not yet in its place."""

    @abc.abstractmethod
    def draft(self, encoded: Sequence[str]) -> contextlib.AbstractContextManager[Append]:
        """Lets the caller append tables in order, after which it is complete.

        Columns `encoded` get a dictionary. The draft of a process that was cut off is removed.
        """

    @abc.abstractmethod
    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        """Puts it in its place with its manifest, which is returned."""

    @abc.abstractmethod
    def is_published(self) -> bool:
        """True if it is this job's and stands in its place."""

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

    def is_complete(self) -> bool:
        return self._result.exists()

    @contextlib.contextmanager
    def draft(self, encoded: Sequence[str]) -> Iterator[Append]:
        for left in self.folder.glob(f".{self._result.name}.*"):
            left.unlink()
        with atomically(self._result) as path, contextlib.ExitStack() as stack:
            writers: list[Any] = []

            def append(table: Any) -> None:
                if not writers:
                    writer = pq.ParquetWriter(path, table.schema, use_dictionary=list(encoded))
                    writers.append(stack.enter_context(writer))
                if len(table):
                    writers[0].write_table(table)
                    sync_file(path)  # little by little, so that the end need not wait

            yield append

    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        make_public(self._result)
        text, told = self.folder / "manifest.json", described | {"job": self.identity}
        told["result_sha256"] = digest_of(self._result)
        if not (text.exists() and text.read_text(encoding="utf-8") == as_json(told)):
            write_text(text, as_json(told))
        make_public(text)
        publish(text, self.manifest)
        publish(self._result, self.out)
        return dict(json.loads(as_json(told)))

    def is_published(self) -> bool:
        return self.out.exists() and self._result.exists() and self.out.samefile(self._result)


class _FolderOutput(Output):
    """A folder with a file for each chunk, and the manifest among them."""

    @property
    def manifest(self) -> Path:
        return self.out / "_manifest.json"

    @property
    def _result(self) -> Path:
        return self.folder / "result"

    def is_complete(self) -> bool:
        return self._result.is_dir()

    @contextlib.contextmanager
    def draft(self, encoded: Sequence[str]) -> Iterator[Append]:
        path, count = self.folder / ".result", 0
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)

        def append(table: Any) -> None:
            nonlocal count
            if len(table) or not count:
                part = path / f"part-{count:06d}.parquet"
                pq.write_table(table, part, use_dictionary=list(encoded))
                make_public(part)
                sync_file(part)
                count += 1

        yield append
        sync_folder(path)
        os.rename(path, self._result)
        sync_folder(self.folder)

    def publish(self, described: dict[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256()
        for part in sorted(self._result.glob("*.parquet")):
            digest.update(f"{part.name} {digest_of(part)}\n".encode())
        told = described | {"job": self.identity, "result_sha256": digest.hexdigest()}
        text = self._result / self.manifest.name
        write_text(text, as_json(told))
        make_public(text)
        make_public(self._result)
        self.check_free()
        os.rename(self._result, self.out)
        sync_folder(self.out.parent)
        return dict(json.loads(as_json(told)))

    def is_published(self) -> bool:
        try:
            return bool(read_manifest(self).get("job") == self.identity)
        except BatchError:
            return False


def output_of(out: Path, folder: Path, identity: str) -> Output:
    """The result of a job: a file if its name ends as those of Parquet files do, else a folder."""
    kind = _FileOutput if out.suffix.lower() in _ENDINGS else _FolderOutput
    return kind(out, folder, identity)


def read_manifest(output: Output) -> dict[str, Any]:
    """The manifest of a finished result."""
    try:
        return dict(json.loads(output.manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise BatchError(
            f"{output.manifest}: not readable as the manifest of {output.out}"
        ) from None
