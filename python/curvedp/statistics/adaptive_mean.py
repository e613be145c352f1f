"""The adaptive mean: a private mean on a ball that has privately shrunk to the records.

    records -> private mean on the public ball -> private quantile of the distances to it
            -> smaller ball about the mean -> private mean of the records projected on that ball

Everything that a stage takes from the records goes through its own share of the guarantee; centres
and radii are released before they are used. Proof: docs/proofs/adaptive-mean.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold
from curvedp.mechanisms import Mechanism, RankExponential
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.entry import Entry, Progress
from curvedp.statistics.frechet_mean import design_mean, find_plan, release_mean
from curvedp.statistics.quantile import release_quantile
from curvedp.statistics.schedule import Schedule, adaptive_schedule

#: Radii are sought from this fraction of the ball's radius on.
SMALLEST_SHRINKAGE = 1e-3

#: The released quantile of distances is multiplied by 1 + this / sqrt(dim).
_INFLATION = 0.4


def adaptive_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    schedule: str | Sequence[float] = "auto",
    quantile: float | None = None,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    mechanism: str | type[Mechanism] | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the Fréchet mean of records, privately, on a ball that adapts to them.

    A first private mean and a private quantile of the records' distances to it give a smaller ball,
    on which the records are projected anew; the mean on that ball needs less noise. It pays where
    the records lie closer together than the public ball allows, and costs accuracy where they fill
    it, are skewed or contaminated: figures in docs/adaptive-mean.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public. No value raises: a record that is not a point of the
        manifold counts as the ball's centre.
    ball : Ball
        Public domain, chosen without looking at the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the whole release, all parts together, shall satisfy when one unit's records are
        replaced.
    schedule : {"auto", "one-shot"} or sequence of float
        Shares of the stages mean, radius, mean (, radius, mean ...): of epsilon for PureDP, of mu^2
        otherwise; they are divided by their sum. "auto" takes them from n, the guarantee and the
        ball alone, see `adaptive_schedule`.
    quantile : float, optional
        Level of the quantiles of distances, between 0 and 1; by default the highest that the
        radius's share can tell from the largest distance. Lower it for contaminated data, raise it
        for skewed data.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend the whole guarantee from, before any noise is drawn.
    mechanism : str or Mechanism class, optional
        For the means; see `choose_mechanism`.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    progress : bool or callable
        True prints the name of each stage to standard error; a callable receives it.

    Returns
    -------
    Release
        The last mean, with the public ball and the guarantee of all parts; sensitivity, scale and
        expected error are the last part's. `parts` holds the releases of all stages in order, each
        with the ball that it used.

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
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.7)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.adaptive_mean(records, ball, cdp.GDP(mu=0.5))
    >>> [part.statistic for part in release.parts[:2]]
    ['Fréchet mean', 'quantile of distances']
    >>> release.value.shape, release.guarantee == cdp.GDP(mu=0.5)
    ((3,), True)
    """
    entry = Entry.check(
        records,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration="proved",
        seed=seed,
        progress=progress,
    )
    plan = adaptive_schedule(
        ball,
        entry.n,
        guarantee,
        schedule=schedule,
        quantile=quantile,
        records_per_unit=records_per_unit,
        mechanism=mechanism,
    )
    entry.spend("adaptive Fréchet mean")
    parts = _stages(entry, plan, mechanism)
    mean = parts[-1]
    return entry.release(
        entry.promise(guarantee),
        value=mean.value,
        mechanism=mean.mechanism,
        statistic="adaptive Fréchet mean",
        sensitivity=mean.sensitivity,
        solver_tolerance=mean.solver_tolerance,
        scale=mean.scale,
        expected_error=mean.expected_error,
        parts=tuple(parts),
    )


def inflation(manifold: Manifold) -> float:
    """The factor from a released quantile of distances to the radius of the next ball."""
    return 1 + _INFLATION / math.sqrt(manifold.dim)


def _stages(entry: Entry, plan: Schedule, mechanism: str | type[Mechanism] | None) -> list[Release]:
    """The releases of all stages; each sees the records through the ball released before it."""
    shares = entry.shares(plan.weights)
    rows = entry.enter()
    parts = []
    for stage, share in enumerate(shares):
        if stage % 2 == 0:
            design = design_mean(
                entry.ball,
                entry.n,
                share,
                entry.records_per_unit,
                calibration=entry.calibration,
                mechanism=mechanism,
            )
            parts.append(release_mean(entry, rows, design, share, stage))
            continue
        entry.report("radius")
        center = entry.ball.project(parts[-1].value)
        parts.append(_release_radius(entry, rows, center, plan.levels[stage // 2], share, stage))
        means = shares[stage + 1 :: 2]
        smaller = shrunk_ball(entry, center, float(parts[-1].value), means, mechanism)
        if smaller is not entry.ball:
            entry = replace(entry, ball=smaller)
            rows = entry.enter()
    return parts


def _release_radius(
    entry: Entry, rows: FloatArray, center: FloatArray, q: float, share: Guarantee, stage: int
) -> Release:
    """The private q-quantile of the projected records' distances to a released centre."""
    ball = entry.ball
    dist = np.empty(len(rows))
    ball._frame.manifold.dist(rows, ball._enter(center[None]), dist)
    quantile = RankExponential(
        q,
        low=SMALLEST_SHRINKAGE * ball.radius,
        high=2 * ball.radius,
        guarantee=share,
        records_per_unit=entry.records_per_unit,
        base="log-uniform",
    )
    return release_quantile(
        entry, dist, quantile, stage, statistic="quantile of distances", base_point=center
    )


def shrunk_ball(
    entry: Entry,
    center: FloatArray,
    quantile: float,
    shares: Sequence[Guarantee],
    mechanism: str | type[Mechanism] | None,
) -> Ball:
    """The ball about a released centre for further means with shares of the budget.

    The old one if its radius is no larger, or if the new one is too small or too far out for
    double precision to certify and round every one of these means.
    """
    ball = entry.ball
    radius = quantile * inflation(ball.manifold)
    if radius >= ball.radius or not ball.manifold._core.carries(center.reshape(-1)):
        return ball
    smaller = Ball(ball.manifold, center, radius)
    _, plan = find_plan(smaller, entry.n, entry.records_per_unit, calibration="proved")
    if plan is None:
        return ball
    try:
        for share in shares:
            design_mean(
                smaller,
                entry.n,
                share,
                entry.records_per_unit,
                calibration="proved",
                mechanism=mechanism,
            )
    except ExistenceError:
        return ball
    return smaller
