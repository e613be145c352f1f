"""The commands that release a statistic of the records in a file, and those that read releases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import curvedp
from curvedp.cli.fields import field_options, names_as, statistic_of, taken
from curvedp.cli.options import (
    ball_options,
    budget_options,
    center_option,
    data_argument,
    data_options,
    example,
    output_options,
    records_per_unit_option,
)
from curvedp.cli.output import read_stored
from curvedp.cli.parameters import parse_ball
from curvedp.cli.released import (
    Array,
    Result,
    read_beside,
    read_points,
    read_text_labels,
    release_file,
    releasing,
    report_of,
)
from curvedp.domain import Ball
from curvedp.statistics import Statistic

__all__ = ["COMMANDS"]

Kind = type[Statistic[Any]]
Command = Callable[..., Any]


def _reads(
    line: str, *options: Command, data: Command = data_argument, ball: bool = True
) -> Callable[[Command], click.Command]:
    """A command with the options of its own, and those of the file, the ball and the guarantee.

    Parameters
    ----------
    line : str
        An example.
    *options : callable
    data : callable
        The argument that names the file.
    ball : bool
        False if there is none.
    """
    domain = (ball_options, center_option) if ball else (records_per_unit_option,)

    def made(command: Command) -> click.Command:
        for option in (output_options, data_options, *options[::-1], budget_options, *domain[::-1]):
            command = option(command)
        return click.command(epilog=example(line))(data(command))

    return made


def _of(kind: Kind, line: str, text: str, *, only: tuple[str, ...] | None = None) -> click.Command:
    """The command that releases one statistic, whose fields are its options."""

    @_reads(line, field_options({"": kind}, only=only))
    def run(data: Path, **options: Any) -> None:
        statistic = statistic_of(kind, taken(options, kind))
        beside = read_beside(data, kind.beside, options)
        release_file(data, options, releasing(statistic), **beside)

    run.help = text
    return run


_MEAN = """Private Frechet mean of the records in a file.

DATA is an npy, npz, csv or parquet file. One row is one record: a point, flattened, the
upper triangle of a symmetric matrix row by row, longitude and latitude in degrees, or a
quaternion. Columns named lat, lon, or w, x, y, z, or Dxx, Dyy, ..., may come in any order.
Directions may have any length and landmarks any position and size. A record that is
not a point of the manifold, or has an empty cell, counts as the ball's centre, or without a
ball not at all. The number of records is public but for --neighbours add-remove.
"""

_ADAPTIVE = """Private Frechet mean on a ball that shrinks to the records.

Better than mean where the records lie much closer together than the ball allows. With an
epsilon alone (pure differential privacy) it is the mean: there no smaller ball gains on
average. DATA is read as by the command mean.
"""

_CONFORMAL = """Private Frechet mean whose noise follows a private density of the records.

The mechanism of He et al. made private; its noise is longer than that of mean. DATA is read as
by the command mean.
"""

_MEDIAN = """Private geometric median, which a few far records hardly move.

DATA is read as by the command mean.
"""

_REGION = """Private confidence region for the mean.

For the mean of the population behind the records in a file. Gaussian noise: the budget is
--mu, --rho, or --epsilon with --delta. DATA is read as by the command mean.
"""

_REGRESSION = """Private geodesic along which records move.

They stand in a file with a covariate, with which they move. DATA is read as by the command
mean; --columns names the columns of the points, or --key the member of an npz file.
"""

_TREND = """Private test whether records change with a covariate.

A permutation test, which needs no fit. DATA is read as by the command mean; --columns names the
columns of the points, or --key the member of an npz file.
"""

_BY_AGE = (
    "directions.csv --manifold sphere:2 --center 0,0,1 --radius 0.7 --columns x,y,z "
    "--covariate age --x-range 20 80 --mu 0.5 --out"
)


@_reads(
    "curvedp variance tensors.csv {spd} --mu 1 --level 0.95 --out interval.json",
    field_options(
        {"variance": curvedp.Variance, "interval": curvedp.Interval},
        only=("within", "weights", "max_dist"),
    ),
    click.option(
        "--level",
        type=float,
        help="Release an interval at this level instead, with Gaussian noise.",
    ),
)
def variance(data: Path, **options: Any) -> None:
    """Private Frechet variance, or an interval for it.

    The mean squared distance of the records in a file from their mean, which is released with it
    under the same budget. DATA is read as by the command mean.
    """
    kind = curvedp.Variance if options["level"] is None else curvedp.Interval
    own = taken(options, curvedp.Variance, curvedp.Interval)
    release_file(data, options, releasing(statistic_of(kind, own)))


@_reads(
    "curvedp quantile directions.csv --columns age --q 0.5 --low 0 --high 120 --epsilon 1 "
    "--out median-age.json",
    field_options({"": curvedp.Quantile}),
    ball=False,
)
def quantile(data: Path, **options: Any) -> None:
    """Private quantiles of one column of numbers.

    Values outside of the public range count as its ends, empty cells as its middle.
    """
    own = taken(options, curvedp.Quantile)
    center, radius = repr(0.5 * (own["low"] + own["high"])), own["high"] - own["low"]
    line = {"manifold": "euclidean:1", "center": center, "radius": radius}

    def of_values(records: Array, ball: Ball, guarantee: Any, **how: Any) -> Result:
        values = records.reshape(len(records))
        found: Result = curvedp.quantile(values, guarantee=guarantee, **own, **how)
        return found

    release_file(data, line | options, of_values)


@_reads(
    "curvedp test patients.csv controls.csv {spd} --mu 1 --out test.json",
    field_options({"": curvedp.TwoSampleTest}, only=("level", "width", "relabellings")),
    data=lambda command: click.argument("data_a", type=click.Path(path_type=Path))(
        click.argument("data_b", type=click.Path(path_type=Path))(command)
    ),
)
def test(data_a: Path, data_b: Path, **options: Any) -> None:
    """Private test whether the records of two files have one distribution.

    A permutation test with a kernel. Both files are read as by the command mean; which record is in
    which file is public.
    """
    ball = parse_ball(options["manifold"], options["center"], options["radius"])
    other = read_points(data_b, options, ball)
    own = taken(options, curvedp.TwoSampleTest)

    def of_both(
        records: Array, ball: Ball, guarantee: Any, *, units: Any = None, **how: Any
    ) -> Result:
        if units is not None:
            how["units"] = (units, read_text_labels(data_b, options["units"], options))
        found: Result = curvedp.two_sample_test(records, other, ball, guarantee, **own, **how)
        return found

    release_file(data_a, options, of_both)


@_reads(
    "curvedp means subjects.csv --manifold sphere:2 --center 0,0,1 --radius 0.7 --columns x,y,z "
    "--labels arm --mu 1 --out means.json",
    field_options({"": curvedp.KSampleTest}, optional=("samples",)),
)
def means(data: Path, **options: Any) -> None:
    """Private test whether samples have equal means, whatever their sizes and spreads.

    A one-way analysis of variance with a p-value. DATA is read as by the command mean; which record
    is in which sample is public, and without --samples which samples there are.
    """
    own = taken(options, curvedp.KSampleTest)
    beside = read_beside(data, "labels", options)
    if "samples" in own:
        own["samples"] = names_as(own["samples"], beside["labels"], "--samples")

    def of_samples(
        records: Array, ball: Ball, guarantee: Any, *, labels: Any, **how: Any
    ) -> Result:
        found: Result = curvedp.k_sample_test(records, labels, ball, guarantee, **own, **how)
        return found

    release_file(data, options, of_samples, **beside)


@click.command(epilog=example("curvedp compare patients.json controls.json"))
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--level", type=float, default=0.05, show_default=True, help="Significance level.")
def compare(first: Path, second: Path, level: float) -> None:
    """Compare the means of two released regions, at no further cost.

    FIRST and SECOND are files that the command region wrote. Do the populations have one mean?
    """
    regions = [read_stored(path) for path in (first, second)]
    for path, region in zip((first, second), regions, strict=True):
        if not isinstance(region, curvedp.ConfidenceRegion):
            raise ValueError(f"{path}: holds no region, which the command region writes")
    click.echo(curvedp.compare_means(*regions, level=level).report(), nl=False)


@click.command(epilog=example("curvedp show mean.json"))
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """Print the report of a stored release, region or interval, or of the result of a batch.

    FILE is what --out named: of a batch the Parquet file, with its manifest beside it, or the
    folder that holds both.
    """
    click.echo(report_of(read_stored(file)))


@click.command(epilog=example("curvedp ledger study.ledger"))
@click.argument("file", type=click.Path(path_type=Path))
def ledger(file: Path) -> None:
    """Print what a ledger's budget was spent on, and what remains."""
    with curvedp.Ledger.open(file) as book:
        click.echo(book.report(), nl=False)


COMMANDS = {
    "mean": _of(curvedp.Mean, "curvedp mean tensors.csv {spd} --epsilon 1 --out mean.json", _MEAN),
    "adaptive-mean": _of(
        curvedp.AdaptiveMean,
        "curvedp adaptive-mean tensors.csv {spd} --mu 1 --out mean.json",
        _ADAPTIVE,
    ),
    "conformal-mean": _of(
        curvedp.conformal.ConformalMean,
        "curvedp conformal-mean tensors.csv {spd} --mu 1 --out mean.json",
        _CONFORMAL,
        only=("split", "contrast"),
    ),
    "median": _of(
        curvedp.GeometricMedian,
        "curvedp median tensors.csv {spd} --mu 1 --out median.json",
        _MEDIAN,
    ),
    "variance": variance,
    "region": _of(
        curvedp.Region, "curvedp region tensors.csv {spd} --mu 1 --out region.json", _REGION
    ),
    "quantile": quantile,
    "regression": _of(
        curvedp.GeodesicLine, f"curvedp regression {_BY_AGE} geodesic.json", _REGRESSION
    ),
    "trend": _of(curvedp.TrendTest, f"curvedp trend {_BY_AGE} trend.json", _TREND),
    "test": test,
    "means": means,
    "compare": compare,
    "show": show,
    "ledger": ledger,
}
