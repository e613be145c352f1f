"""A batch in memory: an Arrow table in, a table of releases and a manifest out."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._arrow import pa, pq
from curvedp._html import MOST_ROWS, card
from curvedp._validation import FloatArray
from curvedp.ball_templates import stored_unit
from curvedp.batch.chunk import Chunk, rows_of_chunk
from curvedp.batch.columns import RecordColumns
from curvedp.batch.counts import added_up, count_of, counts_of_groups
from curvedp.batch.folder import folder_of
from curvedp.batch.keys import Table, grouped, key_columns, select
from curvedp.batch.output import output_of, read_manifest
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.results import count_sizes, errors_of, manifest, mechanisms_of
from curvedp.errors import BatchError
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.privacy.coverage import Coverage, GroupCoverage, coverage_from_dict
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.group_report import (
    disclosure_of_groups,
    domain_text,
    of_all_text,
    report_of_groups,
)
from curvedp.privacy.payment import charged
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.secret import fingerprint_of
from curvedp.privacy.statement import Statement
from curvedp.privacy.wording import alarm_of, unproved_text
from curvedp.statistics.call import Designs, Report
from curvedp.statistics.counting import counted
from curvedp.statistics.grouping import Offsets, most_groups, numbers_of, refuse_many_groups
from curvedp.statistics.tables import releases_table

__all__ = ["BatchReleases", "release_table"]


@dataclass(frozen=True)
class BatchReleases(Disclosed):
    """Releases of a batch.

    Attributes
    ----------
    manifest : dict
        The guarantee of all releases together, the `statement`, and everything public about their
        input; for JSON.
    path : Path or None
        The Parquet file, or the folder of such files, that holds them, if they were written.
    table : pyarrow.Table
        One row per group in the order of the keys: the key's columns, `n`, `value` (of a mean or a
        matrix a fixed-size list, row-major; of a variance a number, beside it `within` and
        `unclipped`; of a moment beside it the private `mean` and its `mean_scale`; of an adaptive
        mean beside it the `radius` of the last ball; of a region its estimate, beside it
        `chart_point`, `covariance`, `quantile` and `dof`; of an interval beside it `lower` and
        `upper`), `sensitivity`, `scale`, `expected_error` (of a region its mean's), `guarantee`,
        `mechanism` and what its noise is `calibrated_to`.
    """

    manifest: dict[str, Any]
    path: Path | None = None
    _table: Any = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BatchReleases:
        """The releases of a finished batch of files.

        Parameters
        ----------
        path : path
            The Parquet file, whose manifest must stand beside it, or the folder that holds both.

        Raises
        ------
        BatchError
            If the manifest cannot be read, or is that of another result.
        """
        place = Path(os.fsdecode(path)).resolve()
        output = output_of(place, folder_of(place), "")
        found = read_manifest(output)
        if not output.is_result_of(found):
            raise BatchError(f"{output.manifest}: not the manifest of {place} as it stands now")
        return cls(found, path=place)

    @property
    def statement(self) -> Statement:
        """Five sentences about all releases together; see `curvedp.Release.statement`."""
        return Statement(**self.manifest["statement"])

    @property
    def coverage(self) -> Coverage | GroupCoverage | None:
        """Numbers of records of all groups inside the ball, if they were counted.

        By one count, or added up from one of each group, which stand in the table.
        """
        found = self.manifest["coverage"]
        return None if found is None else coverage_from_dict(found)

    @property
    def table(self) -> Any:
        """The releases; read from the file if they were written to one."""
        return self._table if self.path is None else pq.read_table(self.path)

    def manifest_json(self) -> str:
        """The manifest as JSON text."""
        return json.dumps(self.manifest, indent=2, allow_nan=False)

    def __repr__(self) -> str:
        where = "" if self.path is None else f" in {str(self.path)!r}"
        return f"<BatchReleases: {self._about}{where}>"

    def report(self) -> str:
        """Plain text: the `statement` about all groups, then a line for each of the first ten."""
        return report_of_groups(
            f"Batch of releases: {self._about}",
            self.statement,
            self._facts(),
            self._first_rows(),
            self.manifest["groups"],
            alarm=unproved_text(self._guarantee),
            warnings=() if self.coverage is None else self.coverage.warnings,
        )

    def _repr_html_(self) -> str:
        columns, *rows = self._first_rows()
        return card(
            f"BatchReleases: {self._about}",
            [*self.statement.items(), *self._facts()],
            alarm=alarm_of(
                self._guarantee, () if self.coverage is None else self.coverage.warnings
            ),
            columns=columns,
            rows=rows,
        )

    def _facts(self) -> list[tuple[str, str]]:
        found = self.manifest
        return [
            ("groups", f"{found['groups']}, by {', '.join(found['by'])}"),
            ("skipped: too small", str(found["groups_skipped"])),
            ("guarantee of each", str(self._guarantee)),
            ("of all to one unit", self._of_all),
            ("composition", found["composition"]),
            ("noise", found["noise"]),
            ("provenance", str(Provenance.from_dict(found["provenance"]))),
            *([] if self.path is None else [("file", str(self.path))]),
        ]

    def _disclosure(self) -> Disclosure:
        found = self.manifest
        ball = found["ball"]
        return disclosure_of_groups(
            found["statistic"],
            ball["manifold"],
            domain=domain_text(
                [ball.get("radius", math.inf if len(ball) == 1 else None)],
                stored_unit(ball.get("unit")),
            ),
            total=Guarantee.from_dict(found["guarantee_of_all"]),
            each=self._guarantee,
            told=self.statement,
            provenance=Provenance.from_dict(found["provenance"]),
            n=found["records" if found["units_by"] is None else "units"],
            records_per_unit=found["records_per_unit"],
            groups=found["groups"],
            groups_per_unit=found["groups_per_unit"],
            assumptions=found["assumptions"],
            mechanisms=found["mechanisms"],
            parts=[],
            coverage=self.coverage,
        )

    @property
    def _guarantee(self) -> Guarantee:
        """That of each group's release."""
        return Guarantee.from_dict(self.manifest["guarantee_of_each_group"])

    @property
    def _of_all(self) -> str:
        found = self.manifest
        total = Guarantee.from_dict(found["guarantee_of_all"])
        released = found["groups"] - found["groups_skipped"]
        asked = (self._guarantee, total, found["groups_per_unit"], released)
        return of_all_text(*asked, found["assumptions"])

    @property
    def _about(self) -> str:
        found = self.manifest
        of = found["groups"] - found["groups_skipped"]
        return f"{found['statistic']} on {found['ball']['manifold']} of {of} groups"

    def _first_rows(self) -> list[list[str]]:
        """Names, then keys, numbers of records and expected errors of the first groups.

        Of a result that was moved away, nothing.
        """
        if self.path is not None and not self.path.exists():
            return [[]]
        first = self._table.slice(0, MOST_ROWS) if self.path is None else _first_of(self.path)
        shown = [*self.manifest["by"], "n", "expected_error"]
        columns = [first.column(name).to_pylist() for name in shown]
        texts = [f"{own:.4g}" if isinstance(own, float) else str(own) for own in columns.pop()]
        rows = [list(map(str, row)) for row in zip(*columns, texts, strict=True)]
        return [[*shown[:-1], "expected error"], *rows]


def _first_of(path: Path) -> Any:
    """The first releases of a file, or of a folder of files."""
    with pq.ParquetFile(path if path.is_file() else min(path.glob("*.parquet"))) as file:
        return pa.Table.from_batches(
            [next(file.iter_batches(MOST_ROWS))] if file.metadata.num_rows else [],
            file.schema_arrow,
        )


def release_table(
    table: Table,
    parameters: BatchParameters,
    ledger: Ledger | None,
    secret: NoiseSecret | None,
    progress: Report | None,
) -> BatchReleases:
    """The releases of the groups of a table in memory."""
    call = parameters.call
    keys = key_columns(table, parameters.by)
    if not len(keys):
        raise BatchError("the table holds no record")
    columns, (firsts, n, order) = parameters.columns, grouped(keys)
    whole, cuts, sizes = None, _cuts(table, parameters, n), n
    if len(cuts) == 2 or order is not None:
        rows = columns.read(table)
        rows = rows if order is None else rows[order]
        whole, cuts = Chunk.of(firsts, n, rows, columns), [0, len(n)]
        sizes = whole.sizes(call.statistic)
        if whole.units is not None:
            refuse_many_groups(most_groups(whole.units), call.groups_per_unit)
    else:
        columns.read(table.slice(0, 1))  # their shape, before all else
    total = int(numbers_of(sizes).sum())
    call, (designs, choice), uncounted = counted(call, sizes, parameters.coverage, total)
    call.warn_of_noise((designs, choice), numbers_of(sizes))
    if whole is not None:
        by_unit = whole.units is not None
        call.ask_for_memory(rows.nbytes, int(n.max()), by_unit=by_unit, groups=len(n))
    if secret is not None:
        blocks = _blocks(table, columns)
        secret._bind(fingerprint_of(blocks))
    provenance = call.pay(ledger, len(n))
    with charged(ledger):
        ends = np.concatenate(([0], np.cumsum(n)))
        parts, skipped, weights = [], set[int](), [(0, 0)]
        for start, stop in itertools.pairwise(cuts):
            chunk = whole
            if chunk is None:
                rows = columns.read(table.slice(ends[start], ends[stop] - ends[start]))
                chunk = Chunk.of(firsts.slice(start, stop - start), n[start:stop], rows, columns)
            releases, own = chunk.release(
                call,
                secret,
                _of_some(designs, choice[start:stop]),
                report=progress and _of_all(progress, start, len(n)),
            )
            parts.append(releases_table(chunk.keys, releases))
            weights += [] if own is None else [own]
            skipped.update(np.unique(releases.n[~releases.released]).tolist())
        found = pa.concat_tables(parts)
        described = manifest(
            parameters,
            count_sizes(numbers_of(sizes)),
            skipped,
            mechanisms_of(call, designs),
            noise="fresh" if secret is None else "kept",
            errors=errors_of(found),
            coverage=count_of(call, added_up(weights), secret)
            or counts_of_groups(call, found, len(n)),
            uncounted=uncounted,
            provenance=provenance,
        )
        return BatchReleases(described, _table=found)


def _blocks(table: Table, columns: RecordColumns) -> Iterator[FloatArray]:
    """The records of a table in the order of its rows, a block at a time."""
    step = rows_of_chunk(None, columns.width)
    return (columns.read(table.slice(start, step)) for start in range(0, len(table), step))


def _of_some(designs: Sequence[Any], choice: NDArray[np.int32]) -> Designs:
    """The designs of some groups without those of others."""
    used, own = np.unique(choice, return_inverse=True)
    return [designs[number] for number in used], own.astype(np.int32)


def _of_all(progress: Report, start: int, groups: int) -> Report:
    """Report of a chunk as progress of all groups."""
    return lambda done, _: progress(start + done, groups)


def _cuts(table: Any, parameters: BatchParameters, n: Offsets) -> list[int]:
    """Groups that are released together: all, if that takes no copy of all records.

    Columns that lie in pieces, as they do when they come from a file, are brought together chunk by
    chunk. Names of units, and labels of parts, are looked at all at once, before anything is
    spent.
    """
    select(table.schema, parameters.columns.names)
    if parameters.columns.units is not None or parameters.call.statistic.has_parts:
        return [0, len(n)]
    columns = [table.column(name) for name in parameters.columns.names]
    if all(column.num_chunks < 2 for column in columns):
        return [0, len(n)]
    ends, cuts = np.cumsum(n), [0]
    chunk_rows = rows_of_chunk(None, parameters.columns.width)
    while cuts[-1] < len(n):
        begun = ends[cuts[-1]] - n[cuts[-1]]
        cuts.append(min(int(np.searchsorted(ends, begun + chunk_rows)) + 1, len(n)))
    return cuts
