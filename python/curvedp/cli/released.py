"""Records from a file, with columns beside the points, released and written to another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import curvedp
from curvedp.cli.csv_files import Dialect
from curvedp.cli.options import reading_of
from curvedp.cli.output import ReleaseFile, kept_in
from curvedp.cli.parameters import LEDGER_OPTIONS, open_ledger, parse_ball, parse_guarantee
from curvedp.cli.tables import FileError, as_points, read_labels, read_mask, read_table
from curvedp.domain import Ball
from curvedp.privacy.base import with_relation
from curvedp.statistics import Statistic

__all__ = [
    "Array",
    "Result",
    "read_beside",
    "read_points",
    "read_text_labels",
    "release_file",
    "releasing",
    "report_of",
]

Array = NDArray[np.float64]


class Result(Protocol):
    """Anything that can be stored and reported."""

    def to_json(self) -> str: ...

    def report(self) -> str: ...


def releasing(statistic: Statistic[Any]) -> Callable[..., Result]:
    """The function that releases a statistic."""

    def release(*given: Any, **how: Any) -> Any:
        return curvedp.release(statistic, *given, **how)

    return release


def release_file(
    data: Path, options: dict[str, Any], statistic: Callable[..., Result], **beside: Any
) -> None:
    """Read records, release ``statistic(records, ball, guarantee, ...)`` of them, store it.

    The file for the release is claimed before the budget is spent, and the budget before any noise
    is drawn.

    Parameters
    ----------
    data : Path
    options : dict
        Those that all commands share.
    statistic : callable
    **beside
        Covariates or labels of the records, as its keywords.
    """
    budget = parse_guarantee(*(options[name] for name in ("epsilon", "delta", "rho", "mu")))
    guarantee = with_relation(budget, options["neighbours"])
    guess = {} if options["n_guess"] is None else {"n_guess": options["n_guess"]}
    ball = parse_ball(options["manifold"], options["center"], options["radius"])
    if (
        options["units"] is not None
        and options["columns"] is None
        and data.suffix.lower() != ".npz"
    ):
        raise ValueError("name the columns of the points with --columns")
    records = read_points(data, options, ball)
    for name, own in beside.items():
        if len(own) != len(records):
            named = {"covariate": "covariates"}.get(name, name)
            raise FileError(f"{data}: {len(own)} {named} for {len(records)} records")
    units = None
    if options["units"] is not None:
        units = read_text_labels(data, options["units"], options)
        if len(units) != len(records):
            raise FileError(f"{data}: {len(units)} names of units for {len(records)} records")
    messages = Console(stderr=True, soft_wrap=True, highlight=False)
    if data.suffix.lower() == ".csv":
        kept = "taken as column names" if options["header"] else "taken as a record"
        count = len(records) if units is None else len(set(units))
        counted = "records" if units is None else "persons"
        known = f"{count} {counted}; " if guarantee.neighbours == "replace" else ""
        messages.print(f"{known}the first line was {kept}.", markup=False)
    out = options["out"]
    with (
        ReleaseFile(out) as file,
        open_ledger(*(options[name] for name in LEDGER_OPTIONS)) as book,
        messages.status("release"),
    ):
        release = statistic(
            records,
            ball,
            guarantee,
            records_per_unit=options["records_per_unit"],
            units=units,
            ledger=book,
            seed=options["seed"],
            coverage=options["coverage"],
            **beside,
            **guess,
        )
        file.write(release.to_json())
    if str(out) == "-":
        messages.print(report_of(release), markup=False)
        return
    with kept_in(out):
        report_to = Console(soft_wrap=True, highlight=False)
        report_to.print(report_of(release), markup=False)
        report_to.print(f"Written to {out}", markup=False)


def report_of(release: Result) -> str:
    """The report, and the slopes of a regression where their errors are known."""
    report = release.report().rstrip()
    if isinstance(release, curvedp.GeodesicRelease) and release.meat is not None:
        return f"{report}\n\n{release.summary().rstrip()}"
    return report


def _dialect(options: dict[str, Any]) -> Dialect:
    """Dialect of csv files."""
    delimiter = "\t" if options["delimiter"] == "tab" else options["delimiter"]
    return Dialect(options["header"], delimiter, options["decimal"], options["encoding"])


def read_points(data: Path, options: dict[str, Any], ball: Ball) -> Array:
    """The records of a file."""
    columns = options["columns"]
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    space, mask = ball.manifold, options["mask"]
    table = read_table(
        data,
        space,
        key=options["key"],
        columns=chosen,
        dialect=_dialect(options),
        reading=reading_of(options).check(space.written),
        mask=None if mask is None else read_mask(mask),
    )
    return as_points(table, space, str(data))


def read_text_labels(data: Path, name: str, options: dict[str, Any]) -> Any:
    """A column of labels, or a member of an npz file."""
    return read_labels(data, name, _dialect(options))


def read_beside(data: Path, kind: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Column of what a statistic takes beside the points, by the keyword that it has there."""
    if kind is None:
        return {}
    read = _read_covariate if kind == "covariate" else read_text_labels
    return {kind: read(data, options[kind], options)}


def _read_covariate(data: Path, name: str, options: dict[str, Any]) -> Array:
    """One number for each record: a column of csv and parquet, a member of npz."""
    suffix = data.suffix.lower()
    if suffix == ".npz":
        table = read_table(data, key=name)
    elif suffix in (".csv", ".parquet"):
        if options["columns"] is None:
            raise ValueError("name the columns of the points with --columns")
        table = read_table(data, columns=[name], dialect=_dialect(options))
    else:
        raise FileError(f"{data}: a covariate stands in a csv, parquet or npz file")
    if table.shape[1:] != (1,):
        raise FileError(f"{data}: {name} must hold one number for each record")
    return table[:, 0]
