"""The commands and what they print; parsing, files and the demo have their own modules."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import curvedp
from curvedp.cli import demo as demo_module
from curvedp.cli.batch import batch
from curvedp.cli.options import ball_options, budget_options, mechanism_option
from curvedp.cli.output import ReleaseFile
from curvedp.cli.parameters import open_ledger, parse_ball, parse_guarantee
from curvedp.cli.tables import FileError, as_points, normalise, read_table
from curvedp.errors import (
    BatchError,
    BudgetError,
    CurvedpError,
    ExistenceError,
    LedgerError,
    SecretError,
)

__all__ = ["app"]


class _ParameterFailure(click.ClickException):
    exit_code = 2


class _BudgetFailure(click.ClickException):
    exit_code = 3


class _ExistenceFailure(click.ClickException):
    exit_code = 4


class _FileFailure(click.ClickException):
    exit_code = 5


_FAILURES: tuple[tuple[type[Exception], type[click.ClickException]], ...] = (
    (FileError, _FileFailure),
    (LedgerError, _FileFailure),
    (SecretError, _FileFailure),
    (BatchError, _FileFailure),
    (BudgetError, _BudgetFailure),
    (ExistenceError, _ExistenceFailure),
    (CurvedpError, _ParameterFailure),
    (ValueError, _ParameterFailure),
    (TypeError, _ParameterFailure),
)


@contextlib.contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except tuple(kind for kind, _ in _FAILURES) as error:
        failure = next(failure for kind, failure in _FAILURES if isinstance(error, kind))
        raise failure(" ".join(str(error).split())) from error


class _App(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        with _errors_in_one_line():
            return super().invoke(ctx)


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(curvedp.__version__)
def app() -> None:
    """Differential privacy for data that live on curved spaces.

    Exit codes: 2 a parameter is wrong, 3 the budget is spent, 4 no such release exists for
    these parameters, 5 a file cannot be read or written.
    """


app.add_command(batch)


@app.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("curvedp-demo.png"),
    show_default=True,
    help="Where to write the picture.",
)
def demo(out: Path) -> None:
    """Private mean of real diffusion tensors, with a picture."""
    demo_module.run(out, Console(soft_wrap=True, highlight=False))


@app.command()
@click.argument("data", type=click.Path(path_type=Path))
@ball_options
@click.option(
    "--center",
    required=True,
    metavar="POINT",
    help="Centre of the ball, chosen without looking at the data: identity, 0.8*identity, origin, "
    "numbers separated by commas, or a file (npy, npz, csv, parquet, or a release's json).",
)
@budget_options
@mechanism_option
@click.option("--key", help="Member of an npz file.")
@click.option("--columns", help="Columns of a csv or parquet file, separated by commas.")
@click.option(
    "--header/--no-header",
    default=True,
    show_default=True,
    help="Whether the first line of a csv file holds column names.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    required=True,
    help="Where to write the release as json; an existing file is never overwritten; - prints it.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Ledger file to spend from; created when new. Refuses before any noise is drawn.",
)
@click.option(
    "--ledger-budget",
    metavar="BUDGET",
    help="Total budget of that ledger: epsilon=3, epsilon=3,delta=1e-6, rho=0.5 or mu=1.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="For reproduction only: a seeded release carries no guarantee.",
)
def mean(
    data: Path,
    manifold: str,
    radius: float,
    records_per_unit: int,
    center: str,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mu: float | None,
    mechanism: str | None,
    key: str | None,
    columns: str | None,
    header: bool,
    out: Path,
    ledger: Path | None,
    ledger_budget: str | None,
    seed: int | None,
) -> None:
    """Private Frechet mean of the records in a file.

    DATA is an npy, npz, csv or parquet file. One row is one record: a point, flattened, or the
    upper triangle of a symmetric matrix row by row. Directions may have any length and landmarks
    any position and size. A record that is not a point of the manifold, or has an empty cell,
    counts as the centre. The number of records is public.
    """
    guarantee = parse_guarantee(epsilon, delta, rho, mu)
    ball = parse_ball(manifold, center, radius)
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    table = read_table(data, key=key, columns=chosen, header=header)
    records = normalise(as_points(table, ball.manifold, str(data)), ball.manifold)
    messages = Console(stderr=True, soft_wrap=True, highlight=False)
    if data.suffix.lower() == ".csv":
        kept = "taken as column names" if header else "taken as a record"
        messages.print(f"{len(records)} records; the first line was {kept}.", markup=False)
    with (
        ReleaseFile(out) as file,
        open_ledger(ledger, ledger_budget) as book,
        messages.status("start") as status,
    ):
        release = curvedp.frechet_mean(
            records,
            ball,
            guarantee,
            records_per_unit=records_per_unit,
            ledger=book,
            seed=seed,
            progress=status.update,
            mechanism=mechanism,
        )
        file.write(release.to_json())
    report_to = messages if str(out) == "-" else Console(soft_wrap=True, highlight=False)
    report_to.print(release.report().rstrip(), markup=False)
    if str(out) != "-":
        report_to.print(f"Written to {out}", markup=False)


@app.command()
@ball_options
@click.option("--center", metavar="POINT", help="As for mean; the error does not depend on it.")
@budget_options
@mechanism_option
@click.option("--n", type=click.IntRange(min=1), help="Number of records: what error to expect?")
@click.option("--error", type=float, help="Wished error: how many records are needed?")
def plan(
    manifold: str,
    radius: float,
    records_per_unit: int,
    center: str | None,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mu: float | None,
    mechanism: str | None,
    n: int | None,
    error: float | None,
) -> None:
    """Expected error, or the number of records it takes.

    Reads no data: plan as long as you like before a release is drawn.
    """
    if (n is None) == (error is None):
        raise ValueError("give either --n (what error?) or --error (how many records?)")
    guarantee = parse_guarantee(epsilon, delta, rho, mu)
    ball = parse_ball(manifold, center, radius)
    design: dict[str, Any] = {"records_per_unit": records_per_unit, "mechanism": mechanism}
    if n is None:
        assert error is not None
        n = curvedp.required_n(ball, error, guarantee, **design)
    expected = curvedp.expected_error(ball, n, guarantee, **design)
    click.echo(f"records          {n}")
    click.echo(f"guarantee        {guarantee}")
    click.echo(f"expected error   {expected:.4g}  ({_percent(expected / radius)} of the radius)")
    click.echo("The error is the distance from the exact mean of the projected records.")


def _percent(share: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(100.0 * share))) if 0.0 < share < 1.0 else 0
    return f"{100.0 * share:.{digits}f} %"
