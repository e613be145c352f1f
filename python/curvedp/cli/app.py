"""The group of commands, exit codes, the demo and the plan; releases have their own module."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click import shell_completion
from rich.console import Console

import curvedp
from curvedp._places import public_name
from curvedp.cli import demo as demo_module
from curvedp.cli.batch import batch
from curvedp.cli.fields import field_options
from curvedp.cli.options import (
    ball_options,
    budget_options,
    example,
)
from curvedp.cli.parameters import parse_ball, parse_guarantee
from curvedp.cli.statistics import COMMANDS
from curvedp.cli.tables import FileError
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


class _CutOff(click.ClickException):
    exit_code = 1


#: Where the arguments of the command are kept, and how notes of batches name the call that goes on.
_ARGUMENTS, _RESUME = "curvedp.arguments", "resume=True"

_FAILURES: tuple[tuple[type[Exception], type[click.ClickException]], ...] = (
    (FileError, _FileFailure),
    (LedgerError, _FileFailure),
    (SecretError, _FileFailure),
    (BatchError, _FileFailure),
    (BudgetError, _BudgetFailure),
    (ExistenceError, _ExistenceFailure),
    (OSError, _FileFailure),
    (MemoryError, _FileFailure),
    (CurvedpError, _ParameterFailure),
    (ValueError, _ParameterFailure),
    (TypeError, _ParameterFailure),
)


@contextlib.contextmanager
def _errors_in_one_line(arguments: Sequence[str]) -> Iterator[None]:
    """Errors as one line each; of those after a charge also what was paid and how to go on."""
    try:
        yield
    except BaseException as error:
        notes = [_with_command(note, arguments) for note in getattr(error, "__notes__", [])]
        failure = next((own for kind, own in _FAILURES if isinstance(error, kind)), None)
        if isinstance(error, BrokenPipeError) and not notes:
            raise  # who reads the output has enough
        if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
            click.echo("; ".join(notes), err=True)  # so does who reads the report
            raise SystemExit(0) from None
        is_own = not isinstance(error, OSError) and not (notes and isinstance(error, MemoryError))
        if failure is not None and is_own:
            said = str(error)
        elif failure is not None or notes:  # others' words may hold what is not public
            failure = failure or _CutOff
            reason = getattr(error, "strerror", None) or type(error).__name__
            said = f"{getattr(error, 'filename', None) or 'cut off'}: {reason}"
        else:
            raise
        raise failure(" ".join("; ".join([said, *notes]).split())) from error


def _with_command(note: str, arguments: Sequence[str]) -> str:
    """A note with the command that goes on in place of the library's call, without keys of URIs."""
    again = [_without_keys(own) for own in arguments if own != "--resume"]
    return note.replace(_RESUME, f"'{shlex.join(['curvedp', *again, '--resume'])}'")


def _without_keys(argument: str) -> str:
    """An argument, or the public part of a place."""
    if "://" not in argument:
        return argument
    option, mark, place = argument.partition("=")
    is_option = bool(mark) and option.startswith("--")
    return f"{option}={public_name(place)}" if is_option else public_name(argument)


def _refuse_several(arguments: Sequence[str]) -> None:
    """Refuses several covariates, of which the last would be released as if it were all."""
    given = [own.partition("=")[0] for own in arguments]
    for option in ("--covariate", "--x-range"):
        if given.count(option) > 1:
            raise click.UsageError(
                f"{option} is given twice, and takes one covariate: several are served in Python, "
                "by geodesic_regression(x, ...) with x of shape (n, q)"
            )


class _App(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        _refuse_several(rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _errors_in_one_line(ctx.meta[_ARGUMENTS]):
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name != "--by":
                raise
            way = f"{error.message}: groups of records are released by curvedp batch"
            raise click.UsageError(way, error.ctx) from None


@click.group(cls=_App, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(curvedp.__version__)
def app() -> None:
    """Differential privacy for data that live on curved spaces.

    Exit codes: 1 interrupted, 2 a parameter is wrong, 3 the budget is spent, 4 no such release
    exists for these parameters, 5 a file cannot be read or written.
    """


app.add_command(batch)
for _word, _command in COMMANDS.items():
    app.add_command(_command, _word)


@app.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("curvedp-demo.png"),
    show_default=True,
    help="Where to write the picture.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for tensors.csv and directions.csv instead, which the examples of the other "
    "commands read; nothing is released.",
)
def demo(out: Path, data: Path | None) -> None:
    """Private mean of real diffusion tensors, with a picture; or data for the examples."""
    console = Console(soft_wrap=True, highlight=False)
    if data is None:
        demo_module.run(out, console)
    else:
        demo_module.write_data(data, console)


#: Functions by the word that the command line has for them.
_STATISTICS = {
    "mean": "frechet_mean",
    "adaptive-mean": "adaptive_mean",
    "conformal-mean": "conformal_mean",
    "variance": "frechet_variance",
    "region": "confidence_region",
    "regression": "geodesic_regression",
}


@app.command(epilog=example("curvedp plan --manifold spd:3 --radius 2 --epsilon 1 --n 500"))
@click.option(
    "--statistic",
    type=click.Choice(list(_STATISTICS)),
    default="mean",
    show_default=True,
    help="What will be released.",
)
@ball_options
@click.option("--center", metavar="POINT", help="As for mean; the error does not depend on it.")
@budget_options
@field_options(
    {"mean": curvedp.Mean, "region": curvedp.Region, "regression": curvedp.GeodesicLine},
    only=("mechanism", "level", "tau", "v_max"),
)
@click.option("--n", type=click.IntRange(min=1), help="Number of records: what error to expect?")
@click.option(
    "--error",
    type=float,
    help="Wished error, as the radius in the units of the metric, radians for directions and "
    "turns: how many records are needed?",
)
@click.option(
    "--spread",
    type=float,
    help="A guess of the records' root mean square distance from their mean, in the unit of "
    "--error: for adaptive-mean and region, and needed for a mean without a ball.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as json.")
def plan(
    statistic: str,
    manifold: str,
    radius: float | None,
    center: str | None,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mu: float | None,
    as_json: bool,
    **design: Any,
) -> None:
    """Expected error, or the number of records it takes.

    Reads no data: plan as long as you like before a release is drawn. For a region the error is the
    half-length of its axes.
    """
    if (design["n"] is None) == (design["error"] is None):
        raise ValueError("give either --n (what error?) or --error (how many records?)")
    guarantee = parse_guarantee(epsilon, delta, rho, mu)
    if center is None and radius is not None:
        space = curvedp.as_manifold(manifold)
        ball = curvedp.Ball(space, space.origin, radius)
    else:
        ball = parse_ball(manifold, center, radius)
    design = {name: value for name, value in design.items() if value is not None}
    found = curvedp.plan(_STATISTICS[statistic], ball, guarantee, **design)
    click.echo(found.to_json() if as_json else found.report().rstrip())


@app.command(epilog=example('eval "$(curvedp completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script by which a shell completes commands and options."""
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    click.echo(kind(app, {}, "curvedp", "_CURVEDP_COMPLETE").source())
