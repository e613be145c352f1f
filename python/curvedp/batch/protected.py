"""Groups of a table where who is there is protected: public keys that are given, or secret ones.

    table -> keys that are given, or that occur -> records with one of them -> releases -> table

Nothing about a key that is not shown, or about a number of records, is in the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from curvedp._arrow import pa
from curvedp.batch.columns import RecordColumns
from curvedp.batch.files import Location, check_outside, is_location
from curvedp.batch.folder import folder_of, new_folder, remove_folder
from curvedp.batch.keys import Table, numbered_keys, unit_codes
from curvedp.batch.output import Output, output_of
from curvedp.batch.parameters import (
    BatchParameters,
    check_columns,
    check_of_batch,
    columns_of,
    names_of,
)
from curvedp.batch.parquet import all_rows
from curvedp.batch.results import errors_of, manifest
from curvedp.batch.storage import as_json
from curvedp.batch.tables import BatchReleases
from curvedp.checked_domain import WholeSpace, as_domain
from curvedp.domain import Ball
from curvedp.manifolds.reading import Reading
from curvedp.statistics import Statistic
from curvedp.statistics.beside import check_statistic
from curvedp.statistics.release import release_read
from curvedp.statistics.releases import Releases
from curvedp.statistics.tables import releases_table
from curvedp.statistics.unknown_n import release_of_rows

__all__ = ["Rows", "check_no_guess", "refuse", "release_protected"]


def release_protected(
    statistic: Statistic[Any],
    data: Location | Table,
    *,
    points: str | Sequence[str],
    ball: Ball,
    by: str | Sequence[str],
    keys: Any,
    covariate: str | None,
    labels: str | None,
    units: str | None,
    groups_per_unit: int,
    reading: Reading,
    out: str | os.PathLike[str] | None,
    **options: Any,
) -> BatchReleases:
    """The releases of groups of a table or file in the order of their keys.

    Parameters
    ----------
    statistic : Statistic
    data : the place of files, or a pyarrow.Table
    points, by, covariate, labels, units, groups_per_unit, out
        As in `curvedp.batch.release`.
    reading : Reading
    ball : Ball
    keys : sequence, table or None
        The public keys; None where they are secret.
    **options
        Further keywords of `release_of_rows`.
    """
    groups, ball = names_of(by, "by"), as_domain(ball)
    columns, reading = columns_of(points, ball.manifold, reading)
    beside = (covariate, labels, units, options["records_per_unit"])
    own = check_columns(check_statistic(statistic), groups, columns, *beside)
    check_of_batch(statistic)
    names = [name for name in (*groups, *columns, own, units) if name is not None]
    rows = Rows(statistic, columns, own, units, ball, reading)
    with contextlib.ExitStack() as stack:
        place = None if out is None else stack.enter_context(_new_result(out, data))
        table = all_rows(data, names) if is_location(data) else data
        more = {"groups_per_unit": groups_per_unit, **options}
        result, described = _release_groups(rows, table, groups, keys, more)
        if place is None:
            return BatchReleases(described, _table=result)
        return BatchReleases(_stored(result, described, place, groups), path=place.out)


def refuse(**given: Any) -> None:
    """Refuses keywords that have no meaning where who is there is protected."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ValueError(
                f"{name} is not served under neighbours='add-remove': leave it out. Public keys "
                "are given as keys, and all records are read at once"
            )


def _release_groups(
    rows: Rows, table: Table, by: tuple[str, ...], keys: Any, options: dict[str, Any]
) -> tuple[Table, dict[str, Any]]:
    """The releases of groups as a table, and the manifest."""
    names, group = numbered_keys(table, by, keys)
    if keys is None:  # a record without a key is in no group
        kept = np.flatnonzero(group >= 0)
        table, group = table.take(pa.array(kept)), group[kept]
    numbers = None if keys is None else np.arange(len(names))
    found: Releases[Any] = rows.release(table, groups=group, keys=numbers, **options)
    shown = names.take(pa.array(np.asarray(found.labels, dtype=np.int64)))
    result = releases_table(shown, found)
    assert found.provenance is not None
    described = manifest(
        BatchParameters(
            *(by, rows.points, found.call, rows.beside, rows.units), reading=rows.reading
        ),
        Counter({0: len(found)}),
        set(),
        (name for name in found.mechanism.tolist() if name is not None),
        noise="fresh",
        errors=errors_of(result),
        coverage=found.coverage,
        uncounted=found.uncounted,
        provenance=found.provenance,
        protected=found,
    )
    return result, described


@contextlib.contextmanager
def _new_result(out: str | os.PathLike[str], data: Location | Table) -> Iterator[Output]:
    """A place for a result, made before a record is read and swept afterwards."""
    target = Path(os.fsdecode(out)).resolve()
    folder = folder_of(target)
    place = output_of(target, folder, secrets.token_hex(16))
    if is_location(data):
        check_outside(target.as_posix(), data)
    place.check_free()
    with new_folder(folder):
        pass
    try:
        yield place
    finally:
        remove_folder(folder)


def _stored(
    table: Table, described: dict[str, Any], place: Output, by: tuple[str, ...]
) -> dict[str, Any]:
    """Writes releases and manifest to their place; returns the manifest as it is written."""
    with place.draft([*by, "guarantee", "mechanism", "calibrated_to"]) as append:
        append(table)
    digest = place.digest(place.written)
    told = dict(json.loads(as_json(described | {"job": place.identity, "result_sha256": digest})))
    place.publish(told)
    return told


def check_no_guess(n_guess: int | None) -> None:
    """Refuses a guess of the number of records where it is counted by a search."""
    if n_guess is not None:
        raise ValueError("n_guess belongs to a ball: leave it out")


@dataclass(frozen=True)
class Rows:
    """The records of a table, and the statistic that is released of them.

    Attributes
    ----------
    statistic : Statistic
    points : tuple of str
        Columns of points.
    beside, units : str or None
        Further columns.
    ball : Ball
    reading : Reading
    """

    statistic: Statistic[Any]
    points: tuple[str, ...]
    beside: str | None
    units: str | None
    ball: Ball
    reading: Reading

    def release(self, table: Table, *, n_guess: int | None, **options: Any) -> Any:
        """The release of all records of a table, or of groups of them."""
        statistic, ball = self.statistic, self.ball
        if self.units is not None:
            codes = unit_codes(table, self.units)
            named = np.flatnonzero(codes >= 0)  # a record without a name is left out
            table, options["units"] = table.take(pa.array(named)), codes[named]
            if options.get("groups") is not None:
                options["groups"] = options["groups"][named]
        columns = RecordColumns(
            *(self.points, ball.manifold, self.beside, None, statistic),
            is_public=False,
            reading=self.reading,
        )
        records, beside, _ = columns.records(table)
        guarantee = options.pop("guarantee")
        if isinstance(ball, WholeSpace):
            check_no_guess(n_guess)
            return release_read(statistic, records, ball, guarantee, beside=beside, **options)
        if not statistic.takes_unknown_n:
            raise ValueError(f"the {statistic.title} is not served under neighbours='add-remove'")
        return release_of_rows(
            statistic, records, beside, ball, guarantee, n_guess=n_guess, **options
        )
