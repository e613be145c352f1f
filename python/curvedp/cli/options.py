"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from curvedp.manifolds.reading import ORDERS, TRIANGLES, UNITS_OF_ANGLES, Reading
from curvedp.manifolds.spaces import SPACE_NAMES

__all__ = [
    "ball_options",
    "budget_options",
    "center_option",
    "data_argument",
    "data_options",
    "example",
    "ledger_options",
    "output_options",
    "reading_of",
    "reading_options",
    "records_per_unit_option",
    "units_option",
]

Command = Callable[..., Any]


def budget_options(command: Command) -> Command:
    """The guarantee to ask for."""
    for option in (
        click.option("--mu", type=float, help="Gaussian DP with this mu."),
        click.option("--rho", type=float, help="Zero-concentrated DP with this rho."),
        click.option("--delta", type=float, help="With --epsilon: approximate DP."),
        click.option("--epsilon", type=float, help="Pure DP with this epsilon."),
    ):
        command = option(command)
    return command


def example(line: str) -> str:
    """The end of a help text: one command, with options of a ball for tensors."""
    spd = "--manifold spd:3 --center identity --radius 2"
    return f"Example: {line.format(spd=spd)}"


def data_argument(command: Command) -> Command:
    """The file of the records."""
    return click.argument("data", type=click.Path(path_type=Path))(command)


def records_per_unit_option(command: Command) -> Command:
    """The number of records of one person."""
    return click.option(
        "--records-per-unit",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Largest number of records one protected person contributes.",
    )(command)


def ball_options(command: Command) -> Command:
    """The ball, but for its centre, and the protected unit."""
    for option in (
        records_per_unit_option,
        click.option(
            "--radius",
            type=float,
            help="Radius of the public ball, a distance. A mean needs no ball, with --epsilon "
            "alone up to dimension 3: leave --center and --radius out.",
        ),
        click.option(
            "--manifold",
            required=True,
            metavar="SPEC",
            help="Name and size, as in spd:3, spd:3:log-euclidean, sphere:2, grassmann:5:2, "
            f"'rotations:3 x euclidean:3': {', '.join(SPACE_NAMES)}.",
        ),
    ):
        command = option(command)
    return command


def center_option(command: Command) -> Command:
    """The ball's centre."""
    return click.option(
        "--center",
        metavar="POINT",
        help="Centre of the ball, chosen without looking at the data: identity, 0.8*identity, "
        "origin, numbers separated by commas, or a file (npy, npz, csv, parquet, or a release's "
        "json).",
    )(command)


def units_option(command: Command) -> Command:
    """The names of persons."""
    return click.option(
        "--units",
        metavar="NAME",
        help="Column that names each record's person, instead of --records-per-unit: all records "
        "of a person are protected together.",
    )(command)


def relation_options(command: Command) -> Command:
    """Options for what is protected: values of records, or whether they are there."""
    for option in (
        click.option(
            "--n-guess",
            type=click.IntRange(min=1),
            help="With --neighbours add-remove and a ball: a guess of the number of records, in "
            "each group if there are groups, that was made without a look at them.",
        ),
        click.option(
            "--neighbours",
            type=click.Choice(["replace", "add-remove"]),
            default="replace",
            show_default=True,
            help="What is protected: the value of a record, their number being public, or whether "
            "a record is there at all.",
        ),
    ):
        command = option(command)
    return command


def reading_options(command: Command) -> Command:
    """Options for the way in which the numbers of points are written."""
    for option in (
        click.option(
            "--angle-units",
            type=click.Choice(list(UNITS_OF_ANGLES)),
            help="Of longitude and latitude, degrees by default, and of angles on a torus, radians "
            "by default.",
        ),
        click.option(
            "--scalar-first/--scalar-last",
            default=None,
            help="Of quaternions: w x y z, or by default x y z w.",
        ),
        click.option(
            "--order",
            type=click.Choice([*ORDERS, *TRIANGLES], case_sensitive=False),
            help="Of the six numbers of a diffusion tensor, as these programs write them: fsl (by "
            "default) xx xy xz yy yz zz, dipy xx xy yy xz yz zz, mrtrix xx yy zz xy xz yz. Of any "
            "SPD or correlation matrix: lower, its lower triangle row by row; nilearn, the same as "
            "nilearn vectorises it.",
        ),
    ):
        command = option(command)
    return command


def reading_of(options: dict[str, Any]) -> Reading:
    """Order and unit of the numbers of points, from the options."""
    return Reading(options["order"], options["scalar_first"], options["angle_units"])


def data_options(command: Command) -> Command:
    """Options for the place of the records in their file."""
    for option in (
        units_option,
        relation_options,
        click.option(
            "--mask",
            type=click.Path(dir_okay=False, exists=True, path_type=Path),
            help="File (npy) with the public mask of a volume, whose voxels are the records.",
        ),
        reading_options,
        click.option(
            "--header/--no-header",
            default=True,
            show_default=True,
            help="Whether the first line of a csv file holds column names.",
        ),
        click.option(
            "--encoding",
            metavar="NAME",
            help="Encoding of a csv file, such as latin-1 or utf-16; by default UTF-8.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            default=".",
            show_default=True,
            help="Decimal sign of a csv file.",
        ),
        click.option(
            "--delimiter",
            type=click.Choice([",", ";", "tab", "|"]),
            help="What separates the cells of a csv file; by default commas.",
        ),
        click.option(
            "--columns",
            help="Columns of a csv or parquet file, separated by commas; with --no-header their "
            "numbers, from 1 on.",
        ),
        click.option("--key", help="Member of an npz file."),
    ):
        command = option(command)
    return command


coverage_option = click.option(
    "--coverage/--no-coverage",
    default=None,
    help="Also release how many records were points inside the ball, with a small share of "
    "the guarantee; warns if they are few. By default where there are enough records.",
)


def ledger_options(command: Command) -> Command:
    """The ledger that pays, and what it is called."""
    for option in (
        click.option(
            "--ledger-unit",
            metavar="NAME",
            help="Name of what a new ledger protects, for reports: person, patient, household.",
        ),
        click.option(
            "--ledger-data",
            metavar="NAME",
            help="Name of the data set of a new ledger, for reports.",
        ),
        click.option(
            "--ledger-budget",
            metavar="BUDGET",
            help="Total budget of a new ledger: epsilon=3, epsilon=3,delta=1e-6, rho=0.5 or mu=1.",
        ),
        click.option(
            "--ledger",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Ledger file to spend from; created when new. Refuses before any noise is drawn.",
        ),
    ):
        command = option(command)
    return command


def output_options(command: Command) -> Command:
    """Options for the file of the release and the budget that it spends."""
    for option in (
        coverage_option,
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            help="For reproduction only: a seeded release carries no guarantee.",
        ),
        ledger_options,
        click.option(
            "--out",
            type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
            required=True,
            help="Where to write the release as json; an existing file is never overwritten; "
            "- prints it.",
        ),
    ):
        command = option(command)
    return command
