"""Everything about a private mean that is fixed before a record is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from curvedp import _core, sensitivity
from curvedp._validation import as_count
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import (
    ChartGaussian,
    Mechanism,
    TangentGaussian,
    choose_mechanism,
    native_guarantee,
)
from curvedp.mechanisms.base import IntrinsicMechanism
from curvedp.privacy import GDP, Guarantee, PureDP

#: The solver's public tolerance, as a fraction of the sensitivity.
TOLERANCE_SHARE = _core.TOLERANCE_SHARE


@dataclass(frozen=True)
class Design:
    """A private mean before there are records.

    Attributes
    ----------
    mechanism : Mechanism
    plan : Plan
        Of the solver.
    sensitivity : float
        Of the exact mean.
    """

    mechanism: Mechanism
    plan: _core.Plan
    sensitivity: float


@lru_cache(maxsize=4096)
def design_mean(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """The mechanism, plan and sensitivity of a private mean of n records.

    Kept for the next call and the next chunk of a batch: some Laplace noise takes time to prepare.
    """
    count = as_count(n, "n")
    delta, plan = plan_mean(ball, count, records_per_unit)
    kind = choose_mechanism(ball, guarantee, mechanism)
    check_drawing(kind)
    try:
        noise = kind(ball, delta + 2 * plan.tolerance, native_guarantee(guarantee, kind))
    except ExistenceError as error:
        raise _with_smallest_n(error, count, guarantee) from None
    return Design(noise, plan, delta)


def plan_mean(ball: Ball, n: int, records_per_unit: int) -> tuple[float, _core.Plan]:
    """The sensitivity of a mean of n records and the solver's plan for it."""
    delta, plan = find_plan(ball, n, records_per_unit)
    if plan is None:
        raise ValueError(
            f"a ball of radius {ball.radius:g} on {ball.manifold.spec} is too large, or too small, "
            "for double precision to certify the mean: use another radius"
        )
    return delta, plan


def find_plan(ball: Ball, n: int, records_per_unit: int) -> tuple[float, _core.Plan | None]:
    """As `plan_mean`, with no plan where double precision cannot certify a mean on the ball."""
    delta = sensitivity.frechet_mean(ball, n, records_per_unit=records_per_unit)
    return delta, ball._frame.plan(n, TOLERANCE_SHARE * delta)


def check_drawing(kind: type[Mechanism]) -> None:
    """Refuses a mechanism with a way of drawing of its own: the kernels draw all noise."""
    family = ChartGaussian if issubclass(kind, ChartGaussian) else IntrinsicMechanism
    if kind._release is not family._release:
        raise ValueError(
            f"{kind.__name__} draws noise in a way of its own, which statistics do not know: "
            "define its law by _build_noise, or draw with its method sample"
        )


def native(guarantee: Guarantee) -> PureDP | GDP:
    """Guarantee of noise from which `guarantee` follows: itself if pure, GDP otherwise."""
    if isinstance(guarantee, PureDP):
        return guarantee
    return native_guarantee(guarantee, TangentGaussian)


@lru_cache(maxsize=1024)
def shares_of(guarantee: Guarantee, weights: tuple[float, ...]) -> tuple[PureDP | GDP, ...]:
    """Guarantees of stages that noise is calibrated to and that compose to the whole."""
    return native(guarantee).split(weights)


def smallest_n(enough: Callable[[int], bool], refusal: str, least: int = 1) -> int:
    """The smallest n from `least` on that is enough, if more records are always enough too.

    Raises ValueError with the text `refusal` if no n up to 10^15 is.
    """
    low, high = least - 1, least
    while not enough(high):
        low, high = high, 2 * high
        if high > 10**15:
            raise ValueError(refusal)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _with_smallest_n(error: ExistenceError, n: int, guarantee: Guarantee) -> ExistenceError:
    """The same error with the n that works: the smallest epsilon falls as 1/n."""
    smallest = error.smallest_epsilon
    epsilon = getattr(guarantee, "epsilon", None)
    if smallest is None or epsilon is None:
        return error
    needed = math.ceil(n * smallest / epsilon)
    return ExistenceError(error.message, smallest_epsilon=smallest, smallest_n=needed)
