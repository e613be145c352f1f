"""The private Fréchet mean (Reimherr et al. 2021; Jiang et al., Algorithm 1).

    records -> projection on the public ball -> mean, within a public tolerance e0 of the true one
            -> noise calibrated to Delta + 2 e0 -> rounding to a public grid -> Release

Proofs: docs/proofs/frechet-mean-sensitivity.md, docs/proofs/frechet-mean-solver.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray, as_choice, as_count, as_positive
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, choose_mechanism, native_guarantee
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.entry import Entry, Progress, check_ball, check_guarantee

#: The solver's public tolerance, as a fraction of the sensitivity.
TOLERANCE_SHARE = 1e-4


@dataclass(frozen=True)
class Design:
    """Everything about a release that is fixed before a record is seen."""

    mechanism: Mechanism
    plan: _core.Plan
    sensitivity: float


def frechet_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    calibration: str = "proved",
    mechanism: str | type[Mechanism] | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the Fréchet mean of records under differential privacy.

    The mean minimises sum_i rho(p, x_i)^2 over the ball, x_i the records projected on it; it is
    about the projected records.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public. No value raises: a record that is not a point of the
        manifold counts as the ball's centre.
    ball : Ball
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release shall satisfy when one unit's records are replaced.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn.
    calibration : {"proved", "published"}
        "published" uses the sensitivity of Reimherr et al. and returns an `Unproved` release.
    mechanism : str or Mechanism class, optional
        See `choose_mechanism`.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    progress : bool or callable
        True prints the name of each stage to standard error; a callable receives it.

    Returns
    -------
    Release
        `value` has shape point_shape.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ExistenceError
        If Laplace noise does not exist at this budget; carries the smallest epsilon and n that
        work.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.frechet_mean(records, ball, cdp.PureDP(epsilon=1.0))
    >>> release.value.shape
    (3,)
    """
    entry = Entry.check(
        records,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )
    design = design_mean(
        ball,
        entry.n,
        guarantee,
        records_per_unit,
        calibration=calibration,
        mechanism=mechanism,
    )
    entry.spend("Fréchet mean")
    return release_mean(entry, entry.enter(), design, guarantee)


def release_mean(
    entry: Entry, rows: FloatArray, design: Design, guarantee: Guarantee, stage: int = 0
) -> Release:
    """The mean of rows of the frame, with the noise of a design calibrated to `guarantee`."""
    entry.report("mean")
    mean = entry.ball._frame.mean(rows, design.plan)
    entry.report("noise")
    mechanism = design.mechanism
    return entry.release(
        entry.promise(guarantee),
        value=mechanism._release(mean, entry.stream(stage), 1)[0],
        mechanism=mechanism.name,
        statistic="Fréchet mean",
        sensitivity=design.sensitivity,
        solver_tolerance=design.plan.tolerance,
        scale=mechanism.scale,
        expected_error=mechanism.expected_error,
    )


def expected_error(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    calibration: str = "proved",
    mechanism: str | type[Mechanism] | None = None,
) -> float:
    """Expected distance between the private and the true mean, before any record is seen.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    guarantee, records_per_unit, calibration, mechanism
        As in `frechet_mean`.

    Returns
    -------
    float
        In the units of the metric.

    Raises
    ------
    ExistenceError
        As in `frechet_mean`.
    ValueError, TypeError
        For wrong parameters.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(expected_error(ball, n=1000, guarantee=cdp.PureDP(epsilon=1.0)), 5)
    0.00219
    """
    design = design_mean(
        ball, n, guarantee, records_per_unit, calibration=calibration, mechanism=mechanism
    )
    return design.mechanism.expected_error


def required_n(
    ball: Ball,
    error: float,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
) -> int:
    """Smallest number of records at which the expected error is at most `error`.

    Parameters
    ----------
    ball : Ball
    error : float
        Wished expected distance between the private and the true mean.
    guarantee, records_per_unit, mechanism
        As in `frechet_mean`.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If no n up to 10^15 is enough.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> required_n(ball, 0.01, cdp.PureDP(epsilon=1.0))
    219
    """
    wished = as_positive(error, "error")

    def enough(n: int) -> bool:
        try:
            return wished >= expected_error(
                ball, n, guarantee, records_per_unit=records_per_unit, mechanism=mechanism
            )
        except ExistenceError:
            return False

    return smallest_n(enough, f"no number of records brings the expected error down to {wished:g}")


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


def design_mean(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    records_per_unit: int,
    *,
    calibration: str,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """The mechanism, plan and sensitivity of a private mean of n records."""
    check_ball(ball)
    check_guarantee(guarantee)
    count = as_count(n, "n")
    delta, plan = plan_mean(ball, count, records_per_unit, calibration=calibration)
    kind = choose_mechanism(ball, guarantee, mechanism)
    total = delta + (2 * plan.tolerance if calibration == "proved" else 0.0)
    try:
        noise = kind(ball, total, native_guarantee(guarantee, kind))
    except ExistenceError as error:
        raise _with_smallest_n(error, count, guarantee) from None
    return Design(noise, plan, delta)


def plan_mean(
    ball: Ball, n: int, records_per_unit: int, *, calibration: str
) -> tuple[float, _core.Plan]:
    """The sensitivity of a mean of n records and the solver's plan for it."""
    delta, plan = find_plan(ball, n, records_per_unit, calibration=calibration)
    if plan is None:
        raise ValueError(
            f"a ball of radius {ball.radius:g} on {ball.manifold.spec} is too large, or too small, "
            "for double precision to certify the mean: use another radius"
        )
    return delta, plan


def find_plan(
    ball: Ball, n: int, records_per_unit: int, *, calibration: str
) -> tuple[float, _core.Plan | None]:
    """As `plan_mean`, with no plan where double precision cannot certify a mean on the ball."""
    as_choice(calibration, sensitivity.CALIBRATIONS, "calibration")
    delta = sensitivity.frechet_mean(
        ball, n, records_per_unit=records_per_unit, calibration=calibration
    )
    return delta, ball._frame.plan(n, TOLERANCE_SHARE * delta)


def _with_smallest_n(error: ExistenceError, n: int, guarantee: Guarantee) -> ExistenceError:
    """The same error with the n that works: the smallest epsilon falls as 1/n."""
    smallest = error.smallest_epsilon
    epsilon = getattr(guarantee, "epsilon", None)
    if smallest is None or epsilon is None:
        return error
    needed = math.ceil(n * smallest / epsilon)
    return ExistenceError(error.message, smallest_epsilon=smallest, smallest_n=needed)
