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
from curvedp.cli.csv_files import Dialect
from curvedp.cli.options import (
    ball_options,
    budget_options,
    center_option,
    data_argument,
    data_options,
    example,
    level_option,
    mechanism_option,
    output_options,
    reading_of,
    records_per_unit_option,
)
from curvedp.cli.output import ReleaseFile, kept_in, read_stored
from curvedp.cli.parameters import (
    LEDGER_OPTIONS,
    open_ledger,
    parse_ball,
    parse_guarantee,
    parse_levels,
)
from curvedp.cli.tables import FileError, as_points, read_labels, read_mask, read_table
from curvedp.domain import Ball
from curvedp.privacy.base import with_relation

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
    budget = parse_guarantee(*(options[name] for name in ("epsilon", "delta", "rho", "mu")))
    guarantee = with_relation(budget, options["neighbours"])
    if options["n_guess"] is not None:
        parameters["n_guess"] = options["n_guess"]
    ball = parse_ball(options["manifold"], options["center"], options["radius"])
    if (
        options["units"] is not None
        and options["columns"] is None
        and data.suffix.lower() != ".npz"
    ):
        raise ValueError("name the columns of the points with --columns")
    records = _read_points(data, options, ball)
    for covariate in covariates:
        if len(covariate) != len(records):
            raise FileError(f"{data}: {len(covariate)} covariates for {len(records)} records")
    units = None
    if options["units"] is not None:
        units = read_labels(data, options["units"], _dialect(options))
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
            *covariates,
            records,
            ball,
            guarantee,
            records_per_unit=options["records_per_unit"],
            units=units,
            ledger=book,
            seed=options["seed"],
            coverage=options["coverage"],
            **parameters,
        )
        file.write(release.to_json())
    if str(out) == "-":
        messages.print(_report(release), markup=False)
        return
    with kept_in(out):
        report_to = Console(soft_wrap=True, highlight=False)
        report_to.print(_report(release), markup=False)
        report_to.print(f"Written to {out}", markup=False)


def _report(release: Result) -> str:
    """The report, and the slopes of a regression where their errors are known."""
    report = release.report().rstrip()
    if isinstance(release, curvedp.GeodesicRelease) and release.meat is not None:
        return f"{report}\n\n{release.summary().rstrip()}"
    return report


def _dialect(options: dict[str, Any]) -> Dialect:
    """Dialect of csv files."""
    delimiter = "\t" if options["delimiter"] == "tab" else options["delimiter"]
    return Dialect(options["header"], delimiter, options["decimal"], options["encoding"])


def _read_points(data: Path, options: dict[str, Any], ball: Ball) -> Array:
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


@click.command(epilog=example("curvedp mean tensors.csv {spd} --epsilon 1 --out mean.json"))
@data_argument
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
    quaternion. Columns named lat, lon, or w, x, y, z, or Dxx, Dyy, ..., may come in any order.
    Directions may have any length and landmarks any position and size. A record that is
    not a point of the manifold, or has an empty cell, counts as the ball's centre, or without a
    ball not at all. The number of records is public but for --neighbours add-remove.
    """
    _release(data, options, curvedp.frechet_mean, mechanism=mechanism)


@click.command(epilog=example("curvedp adaptive-mean tensors.csv {spd} --mu 1 --out mean.json"))
@data_argument
@ball_options
@center_option
@budget_options
@mechanism_option
@data_options
@output_options
def adaptive_mean(data: Path, mechanism: str | None, **options: Any) -> None:
    """Private Frechet mean on a ball that shrinks to the records.

    Better than mean where the records lie much closer together than the ball allows. With an
    epsilon alone (pure differential privacy) it is the mean: there no smaller ball gains on
    average. DATA is read as by the command mean.
    """
    _release(data, options, curvedp.adaptive_mean, mechanism=mechanism)


@click.command(epilog=example("curvedp conformal-mean tensors.csv {spd} --mu 1 --out mean.json"))
@data_argument
@ball_options
@center_option
@budget_options
@click.option(
    "--split",
    type=float,
    default=0.2,
    show_default=True,
    help="Share of the density in the budget.",
)
@data_options
@output_options
def conformal_mean(data: Path, split: float, **options: Any) -> None:
    """Private Frechet mean whose noise follows a private density of the records.

    The mechanism of He et al. made private; its noise is longer than that of mean. DATA is read as
    by the command mean.
    """
    _release(data, options, curvedp.conformal_mean, split=split)


@click.command(epilog=example("curvedp median tensors.csv {spd} --mu 1 --out median.json"))
@data_argument
@ball_options
@center_option
@budget_options
@data_options
@output_options
def median(data: Path, **options: Any) -> None:
    """Private geometric median, which a few far records hardly move.

    DATA is read as by the command mean.
    """
    _release(data, options, curvedp.geometric_median)


@click.command(
    epilog=example(
        "curvedp quantile directions.csv --columns age --q 0.5 --low 0 --high 120 --epsilon 1 "
        "--out median-age.json"
    )
)
@data_argument
@click.option("--q", required=True, help="Level, 0.5 for the median; or several, 0.25,0.5,0.75.")
@click.option("--low", type=float, required=True, help="Public lower end of the values.")
@click.option("--high", type=float, required=True, help="Public upper end of the values.")
@click.option("--step", type=float, help="Distance of possible values from low on: 1 for counts.")
@budget_options
@records_per_unit_option
@data_options
@output_options
def quantile(
    data: Path, q: str, low: float, high: float, step: float | None, **options: Any
) -> None:
    """Private quantiles of one column of numbers.

    Values outside of the public range count as its ends, empty cells as its middle.
    """
    levels = parse_levels(q)
    line = {"manifold": "euclidean:1", "center": repr(0.5 * (low + high)), "radius": high - low}

    def of_values(records: Array, ball: Ball, guarantee: Any, **how: Any) -> Result:
        values = records.reshape(len(records))
        release: Result = curvedp.quantile(
            values, levels, low=low, high=high, step=step, guarantee=guarantee, **how
        )
        return release

    _release(data, line | options, of_values)


@click.command(
    epilog=example("curvedp test patients.csv controls.csv {spd} --mu 1 --out test.json")
)
@click.argument("data_a", type=click.Path(path_type=Path))
@click.argument("data_b", type=click.Path(path_type=Path))
@ball_options
@center_option
@budget_options
@level_option("Significance level.", 0.05)
@data_options
@output_options
def test(data_a: Path, data_b: Path, level: float, **options: Any) -> None:
    """Private test whether the records of two files have one distribution.

    A permutation test with a kernel. Both files are read as by the command mean; which record is in
    which file is public.
    """
    ball = parse_ball(options["manifold"], options["center"], options["radius"])
    other = _read_points(data_b, options, ball)

    def of_both(
        records: Array, ball: Ball, guarantee: Any, *, units: Any = None, **how: Any
    ) -> Result:
        if units is not None:
            how["units"] = (units, read_labels(data_b, options["units"], _dialect(options)))
        found: Result = curvedp.two_sample_test(records, other, ball, guarantee, level=level, **how)
        return found

    _release(data_a, options, of_both)


@click.command(
    epilog=example(
        "curvedp means subjects.csv --manifold sphere:2 --center 0,0,1 --radius 0.7 "
        "--columns x,y,z --labels arm --mu 1 --out means.json"
    )
)
@data_argument
@ball_options
@center_option
@budget_options
@click.option(
    "--labels",
    required=True,
    metavar="NAME",
    help="Column of the samples' labels, or member of an npz file: public.",
)
@level_option("Significance level.", 0.05)
@data_options
@output_options
def means(data: Path, labels: str, level: float, **options: Any) -> None:
    """Private test whether samples have equal means, whatever their sizes and spreads.

    A one-way analysis of variance with a p-value. DATA is read as by the command mean; which record
    is in which sample is public.
    """
    samples = read_labels(data, labels, _dialect(options))

    def of_samples(records: Array, ball: Ball, guarantee: Any, **how: Any) -> Result:
        if len(samples) != len(records):
            raise FileError(f"{data}: {len(samples)} labels for {len(records)} records")
        found: Result = curvedp.k_sample_test(records, samples, ball, guarantee, level=level, **how)
        return found

    _release(data, options, of_samples)


def covariate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The covariate, and its public range."""
    for option in (
        click.option(
            "--x-range",
            nargs=2,
            type=float,
            required=True,
            metavar="LOW HIGH",
            help="Public range of the covariate, to which it is clipped.",
        ),
        click.option(
            "--covariate",
            required=True,
            metavar="NAME",
            help="Column of a csv or parquet file, or member of an npz file. An empty cell counts "
            "as the middle of the range.",
        ),
    ):
        command = option(command)
    return command


@click.command(
    epilog=example(
        "curvedp trend directions.csv --manifold sphere:2 --center 0,0,1 --radius 0.7 "
        "--columns x,y,z --covariate age --x-range 20 80 --mu 0.5 --out trend.json"
    )
)
@data_argument
@ball_options
@center_option
@budget_options
@covariate_options
@level_option("Significance level.", 0.05)
@data_options
@output_options
def trend(
    data: Path, covariate: str, x_range: tuple[float, float], level: float, **options: Any
) -> None:
    """Private test whether records change with a covariate.

    A permutation test, which needs no fit. DATA is read as by the command mean; --columns names the
    columns of the points, or --key the member of an npz file.
    """
    x = _read_covariate(data, covariate, options)
    _release(data, options, curvedp.trend_test, x, x_range=x_range, level=level)


@click.command(epilog=example("curvedp compare patients.json controls.json"))
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@level_option("Significance level.", 0.05)
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
    click.echo(_report(read_stored(file)))


@click.command(epilog=example("curvedp ledger study.ledger"))
@click.argument("file", type=click.Path(path_type=Path))
def ledger(file: Path) -> None:
    """Print what a ledger's budget was spent on, and what remains."""
    with curvedp.Ledger.open(file) as book:
        click.echo(book.report(), nl=False)


@click.command(
    epilog=example("curvedp variance tensors.csv {spd} --mu 1 --level 0.95 --out interval.json")
)
@data_argument
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


@click.command(epilog=example("curvedp region tensors.csv {spd} --mu 1 --out region.json"))
@data_argument
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


@click.command(
    epilog=example(
        "curvedp regression directions.csv --manifold sphere:2 --center 0,0,1 --radius 0.7 "
        "--columns x,y,z --covariate age --x-range 20 80 --mu 0.5 --out geodesic.json"
    )
)
@data_argument
@ball_options
@center_option
@budget_options
@covariate_options
@click.option(
    "--tau",
    type=float,
    help="Public length at which residuals are clipped; found privately if not given.",
)
@click.option(
    "--v-max",
    type=float,
    help="Public bound on the distance that the geodesic covers over the range; "
    "by default 8 radii, of exact draws 2.",
)
@click.option(
    "--sampler",
    type=click.Choice(["auto", "whitened", "exact"]),
    default="auto",
    show_default=True,
    help="How the geodesic is drawn. Exact draws, in small dimensions, may take minutes.",
)
@click.option(
    "--robust",
    is_flag=True,
    help="Shorten residuals beyond about their middle length, if many records may be wild.",
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
    robust: bool,
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
        robust=robust,
        x_range=x_range,
        tau=tau,
        v_max=v_max,
    )


COMMANDS = (
    mean,
    adaptive_mean,
    conformal_mean,
    median,
    variance,
    region,
    quantile,
    regression,
    trend,
    test,
    means,
    compare,
    show,
    ledger,
)
