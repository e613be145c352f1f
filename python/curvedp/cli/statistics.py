"""The commands that release a statistic of the records in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import curvedp
from curvedp.cli.options import (
    ball_options,
    budget_options,
    center_option,
    data_options,
    level_option,
    mechanism_option,
    output_options,
)
from curvedp.cli.output import ReleaseFile
from curvedp.cli.parameters import open_ledger, parse_ball, parse_guarantee
from curvedp.cli.tables import FileError, as_points, read_labels, read_table
from curvedp.domain import Ball

__all__ = ["COMMANDS"]

Array = NDArray[np.float64]


class Result(Protocol):
    """Anything that can be stored and reported."""

    def to_json(self) -> str: ...

    def report(self) -> str: ...


def _release(
    data: Path,
    options: dict[str, Any],
    statistic: Callable[..., Result],
    *covariates: Array,
    **parameters: Any,
) -> None:
    """Read records, release ``statistic(*covariates, records, ball, guarantee, ...)``, store it.

    The file for the release is claimed before the budget is spent, and the budget before any noise
    is drawn.
    """
    guarantee = parse_guarantee(*(options[name] for name in ("epsilon", "delta", "rho", "mu")))
    ball = parse_ball(options["manifold"], options["center"], options["radius"])
    if options["units"] is not None and options["columns"] is None and data.suffix != ".npz":
        raise ValueError("name the columns of the points with --columns")
    records = _read_points(data, options, ball)
    for covariate in covariates:
        if len(covariate) != len(records):
            raise FileError(f"{data}: {len(covariate)} covariates for {len(records)} records")
    units = None
    if options["units"] is not None:
        units = read_labels(data, options["units"], header=options["header"])
        if len(units) != len(records):
            raise FileError(f"{data}: {len(units)} names of units for {len(records)} records")
    messages = Console(stderr=True, soft_wrap=True, highlight=False)
    if data.suffix.lower() == ".csv":
        kept = "taken as column names" if options["header"] else "taken as a record"
        count = len(records) if units is None else len(set(units))
        counted = "records" if units is None else "persons"
        messages.print(f"{count} {counted}; the first line was {kept}.", markup=False)
    out = options["out"]
    with (
        ReleaseFile(out) as file,
        open_ledger(options["ledger"], options["ledger_budget"]) as book,
        messages.status("release"),
    ):
        release = statistic(
            *covariates,
            records,
            ball,
            guarantee,
            records_per_unit=options["records_per_unit"],
            units=units,
            ledger=book,
            seed=options["seed"],
            **parameters,
        )
        file.write(release.to_json())
    report_to = messages if str(out) == "-" else Console(soft_wrap=True, highlight=False)
    report_to.print(release.report().rstrip(), markup=False)
    if str(out) != "-":
        report_to.print(f"Written to {out}", markup=False)


def _read_points(data: Path, options: dict[str, Any], ball: Ball) -> Array:
    columns = options["columns"]
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    space = ball.manifold
    table = read_table(data, space, key=options["key"], columns=chosen, header=options["header"])
    return as_points(table, ball.manifold, str(data))


def _read_covariate(data: Path, name: str, options: dict[str, Any]) -> Array:
    """One number for each record: a column of csv and parquet, a member of npz."""
    suffix = data.suffix.lower()
    if suffix == ".npz":
        table = read_table(data, key=name)
    elif suffix in (".csv", ".parquet"):
        if options["columns"] is None:
            raise ValueError("name the columns of the points with --columns")
        table = read_table(data, columns=[name], header=options["header"])
    else:
        raise FileError(f"{data}: a covariate stands in a csv, parquet or npz file")
    if table.shape[1:] != (1,):
        raise FileError(f"{data}: {name} must hold one number for each record")
    return table[:, 0]


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@ball_options
@center_option
@budget_options
@mechanism_option
@data_options
@output_options
def mean(data: Path, mechanism: str | None, **options: Any) -> None:
    """Private Frechet mean of the records in a file.

    DATA is an npy, npz, csv or parquet file. One row is one record: a point, flattened, the
    upper triangle of a symmetric matrix row by row, longitude and latitude in degrees, or a
    quaternion. Directions may have any length and landmarks any position and size. A record that is
    not a point of the manifold, or has an empty cell, counts as the centre. The number of records
    is public.
    """
    _release(data, options, curvedp.frechet_mean, mechanism=mechanism)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@ball_options
@center_option
@budget_options
@level_option("Release an interval at this level instead, with Gaussian noise.", None)
@data_options
@output_options
def variance(data: Path, level: float | None, **options: Any) -> None:
    """Private Frechet variance, or an interval for it.

    The mean squared distance of the records in a file from their mean, which is released with it
    under the same budget. DATA is read as by the command mean.
    """
    if level is None:
        _release(data, options, curvedp.frechet_variance)
    else:
        _release(data, options, curvedp.variance_interval, level=level)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@ball_options
@center_option
@budget_options
@level_option("Level of confidence.", 0.95)
@mechanism_option
@data_options
@output_options
def region(data: Path, level: float, mechanism: str | None, **options: Any) -> None:
    """Private confidence region for the mean.

    For the mean of the population behind the records in a file. Gaussian noise: the budget is
    --mu, --rho, or --epsilon with --delta. DATA is read as by the command mean.
    """
    _release(data, options, curvedp.confidence_region, level=level, mechanism=mechanism)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@ball_options
@center_option
@budget_options
@click.option(
    "--covariate",
    required=True,
    metavar="NAME",
    help="Column of a csv or parquet file, or member of an npz file. An empty cell counts as the "
    "middle of the range.",
)
@click.option(
    "--x-range",
    nargs=2,
    type=float,
    required=True,
    metavar="LOW HIGH",
    help="Public range of the covariate, to which it is clipped.",
)
@click.option(
    "--tau",
    type=float,
    help="Public length at which residuals are clipped; found privately if not given.",
)
@click.option(
    "--v-max",
    type=float,
    help="Public bound on the distance that the geodesic covers over the range; "
    "by default 8 radii, "
    "with --tau 2.",
)
@click.option(
    "--sampler",
    type=click.Choice(["auto", "gradient", "exact"]),
    default="auto",
    show_default=True,
    help="How the geodesic is drawn. Exact draws, in small dimensions, may take minutes.",
)
@data_options
@output_options
def regression(
    data: Path,
    covariate: str,
    x_range: tuple[float, float],
    tau: float | None,
    v_max: float | None,
    sampler: str,
    **options: Any,
) -> None:
    """Private geodesic along which records move.

    They stand in a file with a covariate, with which they move. DATA is read as by the command
    mean; --columns names the columns of the points, or --key the member of an npz file.
    """
    x = _read_covariate(data, covariate, options)
    _release(
        data,
        options,
        curvedp.geodesic_regression,
        x,
        sampler=sampler,
        x_range=x_range,
        tau=tau,
        v_max=v_max,
    )


COMMANDS = (mean, variance, region, regression)
