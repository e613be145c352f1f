"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from curvedp.mechanisms.choice import MECHANISMS

__all__ = ["ball_options", "budget_options", "mechanism_option"]

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


def mechanism_option(command: Command) -> Command:
    """The noise to use."""
    return click.option(
        "--mechanism",
        type=click.Choice(list(MECHANISMS)),
        help="Noise to use instead of the default for the guarantee and the manifold.",
    )(command)


def ball_options(command: Command) -> Command:
    """The ball, but for its centre, and the protected unit."""
    for option in (
        click.option(
            "--records-per-unit",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Largest number of records one protected person contributes.",
        ),
        click.option(
            "--radius", type=float, required=True, help="Radius of the public ball, a distance."
        ),
        click.option(
            "--manifold",
            required=True,
            metavar="SPEC",
            help="spd:3, spd:3:log-euclidean, sphere:2, hyperboloid:2, kendall:10, euclidean:3.",
        ),
    ):
        command = option(command)
    return command
