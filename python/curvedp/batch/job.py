"""The state of a batch on disk: what was asked for, what is done, what is left to do.

A job lives in a folder beside its result until it is finished (see `curvedp.batch.folder`):

    job.json     the state: what was asked for, the input's fingerprint, the library that began, a
                 digest of the secret, and as they come the chunks, the ledger that is charged
                 (noted before it is asked) and the checksum of the result
    input        the input's files, their sizes and times as they were when this run began, and
                 their row groups, so that workers open only what they read
    secret       the noise secret, unless one was given (mode 0600)
    units-.../   while the chunks are found, the units of each group, if they have names
    chunks/      each chunk's keys and how many records each has, if the keys are in order, and
                 otherwise the rows by hash of their key, as they were dealt out
    parts-.../   the releases of each finished chunk, never drawn again, and what it adds to the
                 count of all records, under a pad of the secret (see `curvedp.batch.counts`)
    result       what the parts make, until it stands in its place

Of a finished job the state alone is left, beside the result (see `curvedp.batch.opening`).

The state appears whole or not at all, and so do parts; both are sealed with the job's identity. A
chunk that was cut off is released again with the same noise, since the noise of a group comes from
the secret and the group's own input. The ledger knows the job by its identity: once it is noted, a
job is deleted only if the ledger refused it. Plain files, since workers read them through network
file systems, where a database's locks do not hold, and parts may be larger than its blobs.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from curvedp.batch.chunk import Chunk
from curvedp.batch.counts import added_up, count_of, counts_of_groups, hidden, shown
from curvedp.batch.files import Location
from curvedp.batch.folder import check_own, folder_of, receipt_of, remove_folder
from curvedp.batch.layout import Division, Each, Layout, groups_path
from curvedp.batch.output import Append, Output, output_of
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.parquet import Source
from curvedp.batch.partitions import Dealt
from curvedp.batch.results import errors_of, manifest, mechanisms_of, with_plain_lists
from curvedp.batch.storage import (
    as_json,
    read_json,
    read_table,
    sync_folder,
    write_json,
    write_table,
)
from curvedp.errors import BatchError, BudgetError, ConversionError, SecretError
from curvedp.manifolds.reading import PLAIN
from curvedp.privacy import Ledger, NoiseSecret
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.group_report import Range
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.store import LedgerEntry
from curvedp.statistics.call import Call, Designs
from curvedp.statistics.releases import Releases
from curvedp.statistics.tables import releases_table
from curvedp.statistics.tallies import Weights

__all__ = ["Job"]

_SCHEMA = 9
#: The file of the state, and the owner in its seal: it says the identity itself.
_STATE, _ANY = "job.json", "job"
#: The file of the input.
_INPUT = "input"


@dataclass(frozen=True)
class Job:
    """A batch from a Parquet file to a Parquet file."""

    folder: Path
    identity: str
    location: Location
    out: str
    fingerprint: dict[str, Any]
    build: dict[str, str]
    parameters: BatchParameters
    chunk_rows: int
    given_secret: str | None
    secret_digest: str
    #: What has been found or done: "layout", "ledger", "provenance", "errors", "counts", "result".
    noted: dict[str, Any] = field(default_factory=dict)

    # ------------------------------------------------------------------ what was asked for

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON."""
        own = {part.name: getattr(self, part.name) for part in fields(self)}
        del own["folder"]
        return own | {"schema_version": _SCHEMA, "parameters": self.parameters.to_dict()}

    @classmethod
    def load(cls, folder: Path) -> Job:
        """The job of a folder.

        Raises
        ------
        BatchError
            If the folder holds none.
        """
        check_own(folder)
        return cls._read(folder / _STATE, folder)

    @classmethod
    def of_result(cls, out: Path) -> Job:
        """The finished job of a result, as its receipt has it.

        Raises
        ------
        BatchError
            If the receipt is missing or not this user's.
        """
        receipt = receipt_of(out)
        if not os.path.lexists(receipt):
            raise BatchError(
                f"{receipt} is missing, so that {out} cannot be compared with what is asked for "
                "now: choose another out, or leave resume away and read the result that is there"
            )
        check_own(receipt, is_file=True)
        return cls._read(receipt, folder_of(out))

    @classmethod
    def _read(cls, state: Path, folder: Path) -> Job:
        """The job whose state a file holds."""
        try:
            data = read_json(state, _ANY)
            if data.pop("schema_version") != _SCHEMA:
                raise BatchError(f"{state} belongs to another version of curvedp")
            data["parameters"] = BatchParameters.from_dict(data["parameters"])
            return cls(folder=folder, **data)
        except (BatchError, KeyError, TypeError, ValueError) as error:
            raise BatchError(
                f"{state.parent if state.name == _STATE else state} holds no batch that can be "
                f"resumed ({error}): move it away and begin anew, which is a new spend"
            ) from None

    def write(self, folder: Path) -> None:
        """Writes the state to a folder."""
        write_json(folder / _STATE, _ANY, self.to_dict())

    def _note(self, **facts: Any) -> None:
        """Writes down what has been found or done."""
        replace(self, noted=self.noted | facts).write(self.folder)
        self.noted.update(facts)

    @cached_property
    def source(self) -> Source:
        """The input, as it was when this run began."""
        return Source.from_table(read_table(self.folder / _INPUT, self.identity))

    def note_source(self, folder: Path, source: Source) -> None:
        """Writes down the input for this run, whose fingerprint is that of the job."""
        write_table(folder / _INPUT, self.identity, source.to_table(), is_durable=False)

    @cached_property
    def points(self) -> Source:
        """The input's records without their keys."""
        return self.source.of(self.parameters.columns.names)

    @cached_property
    def division(self) -> Division:
        """The division of its rows into chunks."""
        return Division(self.source, self.parameters, self.chunk_rows, self._chunks, self.identity)

    @cached_property
    def secret(self) -> NoiseSecret:
        """The noise secret, the one with which the job began."""
        path = Path(self.given_secret or self.folder / "secret")
        found = NoiseSecret.load(path)
        if found._digest(self.identity) != self.secret_digest:
            raise SecretError(
                f"{path} is not the secret with which the batch began: bring that one back, or "
                f"remove {self.folder} and begin anew, which is a new spend"
            )
        return found

    # ------------------------------------------------------------------ steps

    def prepare(self, each: Each, *, reads_here: bool) -> None:
        """Finds the chunks, and refuses groups without a release, before anything is spent.

        `reads_here` says whether this process is going to read the records.
        """
        self._bind_secret(keep=False)  # before long work
        if "layout" not in self.noted or not self._chunks.is_dir():
            layout = self.division.run(each, self.points if reads_here else None)
            self.source.check_unchanged()
            call, designs, _ = self.parameters.planned(layout.sizes)
            sizes, counts = np.array(sorted(layout.sizes.items()), dtype=np.int64).T
            call.warn_of_noise(designs, sizes, counts)
            self._note(layout=layout.to_dict())
        self._bind_secret(keep=True)
        self.parts.mkdir(mode=0o700, exist_ok=True)

    def _bind_secret(self, *, keep: bool) -> None:
        """Refuses a secret that cannot be used or has served other records."""
        secret = self.secret
        if self.given_secret is not None:  # the job's own serves no other
            bound = self.fingerprint
            if self.parameters.reading != PLAIN:  # the records are these files read so
                bound = bound | {"reading": self.parameters.reading.to_dict()}
            secret._bind(json.dumps(bound, sort_keys=True), keep=keep)

    def check_ledger(self, ledger: Ledger | None) -> None:
        """Refuses another ledger than the one that was noted before it was asked."""
        noted = self.noted.get("ledger")
        if noted not in (None, _name_of(ledger)) and not _is_gone(noted, ledger):
            raise BatchError(
                f"the batch in {self.folder} was begun with another ledger: resume it with that"
            )

    def was_paid_from(self, ledger: Ledger | None) -> bool:
        """True if this ledger was charged, or none and none was given."""
        return bool(self.noted.get("ledger") == _name_of(ledger))

    @property
    def _chunks(self) -> Path:
        return self.folder / "chunks"

    @cached_property
    def layout(self) -> Layout:
        """The chunks."""
        return Layout.from_dict(self.noted["layout"])

    def pay(self, ledger: Ledger | None) -> None:
        """Charges the batch to a ledger, once however often the job is resumed."""
        self.check_ledger(ledger)
        entry = None
        if ledger is not None:
            if self.noted.get("ledger") is None:
                self._note(ledger=_name_of(ledger))
            entry = self._charge(ledger)
        made, known = Provenance.now(ledger, entry).to_dict(), self.noted.get("provenance")
        made = made if known is None else made | {"day": known["day"]}
        if made != known:
            self._note(provenance=made)

    def _charge(self, ledger: Ledger) -> LedgerEntry:
        """The ledger's entry for the batch, made unless it is there."""
        mark = f"batch {self.identity}: "
        for entry in ledger.entries:
            if entry.label.startswith(mark):
                return entry
        call = self.parameters.call
        try:
            return ledger.spend(call.total, label=mark + call.label(self.groups))
        except (BudgetError, ConversionError):  # decided before anything was charged
            self._note(ledger=None)
            raise

    def is_begun(self) -> bool:
        """True if anything may have been paid or drawn for it."""
        drawn = self.parts.is_dir() and any(self.parts.iterdir())
        return drawn or self.noted.get("ledger") is not None

    @property
    def parts(self) -> Path:
        """The folder of this job's finished chunks; an earlier job in its place had another."""
        return self.folder / f"parts-{self.identity}"

    def part(self, number: int) -> Path:
        """The file of a chunk's releases."""
        return self.parts / f"{number:06d}.arrow"

    def count(self, number: int) -> Path:
        """The file of what a chunk adds to the count of all records."""
        return self.parts / f"{number:06d}.count"

    @cached_property
    def planned(self) -> tuple[Call, Designs, str | None]:
        """See `BatchParameters.planned`."""
        return self.parameters.planned(self.layout.sizes)

    @property
    def call(self) -> Call:
        """The call of all chunks."""
        return self.planned[0]

    def released(self, number: int) -> int:
        """The number of groups in a finished chunk."""
        return len(self.stored(number))

    @property
    def groups(self) -> int:
        """Number of groups."""
        return sum(self.layout.sizes.values())

    def public_chunks(self) -> dict[str, int]:
        """The number of chunks, unless it depends on how many records persons have."""
        return {} if self.parameters.units is not None else {"chunks": self.layout.chunks}

    def pending(self) -> list[int]:
        """Chunks without releases."""
        return [number for number in range(self.layout.chunks) if not self.is_done(number)]

    def is_done(self, number: int) -> bool:
        """True if a chunk needs no more work."""
        needed = [self.part(number)]
        needed += [self.count(number)] if self.call.counts_all else []
        return all(path.exists() for path in needed)

    def done(self) -> int:
        """Number of groups in finished chunks."""
        finished = set(range(self.layout.chunks)).difference(self.pending())
        return sum(map(self.released, finished))

    @cached_property
    def dealt(self) -> Dealt:
        """The records that were dealt out."""
        return self.division.dealt(self.layout.partitions, self.layout.bounds[:-1])

    def read(self, number: int, points: Source | None = None) -> Chunk:
        """The groups of a chunk, whose `points` some reader of its own may read."""
        columns, layout = self.parameters.columns, self.layout
        if layout.partitions:
            return Chunk.of(*self.dealt.read(number), columns)
        groups = read_table(groups_path(self._chunks, number), self.identity)
        rows = layout.bounds[number : number + 2]
        points = self.points if points is None else points
        records = columns.read(points.read(*rows))
        points.check_unchanged(*rows)
        return Chunk.of(groups.drop_columns("n"), groups.column("n").to_numpy(), records, columns)

    def release(
        self, chunk: Chunk, progress: Callable[[int, int], object] | None = None
    ) -> tuple[Releases[Any], Weights | None]:
        """Draws the releases of a chunk and counts its records: the same each time."""
        return chunk.release(self.call, self.secret, report=progress)

    def store(
        self, number: int, keys: Any, releases: Releases[Any], weights: Weights | None
    ) -> Any:
        """Stores the releases of a chunk, and returns them as a table; before these its count."""
        table = releases_table(keys, releases)
        if weights is not None:
            sums = hidden(weights, self.secret, self._owner(number))
            write_json(self.count(number), self.identity, {"sums": sums})
        write_table(self.part(number), self.identity, table)
        return table

    def _owner(self, number: int) -> str:
        return f"chunk {number} of {self.identity}"

    def _coverage(self) -> Coverage | GroupCoverage | None:
        """The count of all records, drawn: the same each time; or those of the groups."""
        if not self.call.counts_all:
            counts = self.noted["counts"]
            return None if counts is None else GroupCoverage.from_dict(counts)
        weights = [
            shown(
                read_json(self.count(number), self.identity)["sums"],
                self.secret,
                self._owner(number),
            )
            for number in range(self.layout.chunks)
        ]
        return count_of(self.call, added_up(weights), self.secret)

    def stored(self, number: int) -> Any:
        """The releases of a finished chunk as a table."""
        return read_table(self.part(number), self.identity)

    @contextlib.contextmanager
    def result_draft(self) -> Iterator[Append]:
        """Lets the caller append the tables of all chunks in order, which make the result."""
        # numbers that hardly repeat gain nothing from a dictionary
        repeated = self.parameters.by if len(self.parameters.by) > 1 else ()
        encoded = [*repeated, "n", "guarantee", "mechanism", "calibrated_to"]
        plain = self.parameters.call.skip_small
        errors: Range | None = None
        counts: GroupCoverage | None = None
        with self.output.draft(encoded) as append:

            def add(table: Any) -> None:
                nonlocal errors, counts
                errors = errors_of(table, errors)
                counts = counts_of_groups(self.call, table, self.groups, counts)
                append(with_plain_lists(table) if plain else table)

            yield add
        told = None if counts is None else counts.to_dict()
        result = self.output.digest(self.output.written)
        self._note(errors=errors, counts=told, result=result)
        self._drafted.append(result)

    @cached_property
    def _drafted(self) -> list[str]:
        """Checksums of what this process has just written, which need not be read once more."""
        return []

    @property
    def output(self) -> Output:
        """The result."""
        return output_of(Path(self.out), self.folder, self.identity)

    def _is_written(self) -> bool:
        """True if the result is complete, but not yet in its place."""
        if self.noted.get("result") in self._drafted:
            return True
        try:  # what is damaged is written anew
            return bool(self.noted.get("result") == self.output.digest(self.output.written))
        except OSError:
            return False

    def finish(self) -> dict[str, Any]:
        """Puts the releases together, writes result and manifest, and removes the job's folder."""
        if not self.layout.partitions:
            self.source.check_unchanged()
        if not self._is_written():
            with self.result_draft() as append:
                for number in range(self.layout.chunks):
                    append(self.stored(number))
        told = self._describe()
        self._leave_receipt()
        self.output.publish(told)
        self.remove()
        return told

    def _leave_receipt(self) -> None:
        """Writes beside the result by what it is known again, and nothing else about records."""
        receipt = receipt_of(self.output.out)
        draft = self.folder / receipt.name
        kept = {name: self.noted.get(name) for name in ("ledger", "result")}
        write_json(draft, _ANY, replace(self, noted=kept).to_dict())
        os.replace(draft, receipt)
        sync_folder(receipt.parent)

    def _describe(self) -> dict[str, Any]:
        """The manifest."""
        sizes = sorted(self.layout.sizes)
        _, (designs, choice), uncounted = self.planned
        chosen = zip(sizes, choice.tolist(), strict=True)
        described = manifest(
            self.parameters,
            self.layout.sizes,
            {size for size, number in chosen if designs[number] is None},
            mechanisms_of(self.parameters.call, designs),
            noise="deleted" if self.given_secret is None else "kept",
            errors=self.noted["errors"],
            coverage=self._coverage(),
            uncounted=uncounted,
            provenance=Provenance.from_dict(self.noted["provenance"]),
        )
        described |= {"job": self.identity, "result_sha256": self.noted["result"]}
        return dict(json.loads(as_json(described)))

    def remove(self) -> None:
        """Deletes the job's folder."""
        remove_folder(self.folder)


def _name_of(ledger: Ledger | None) -> str | None:
    """By which a job knows a ledger again: its path, or that it is in this process's memory."""
    if ledger is None:
        return None
    return ledger.path or f"memory of process {os.getpid()}: {ledger._token}"


def _is_gone(name: str, ledger: Ledger | None) -> bool:
    """True for a ledger in the memory of another process, in whose place stands one in this."""
    if ledger is None or ledger.path is not None:
        return False
    own = f"memory of process {os.getpid()}: "
    return name.startswith("memory of") and not name.startswith(own)
