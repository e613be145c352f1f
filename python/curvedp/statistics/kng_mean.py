"""The Fréchet mean by the K-norm gradient (Soto, Bharath, Reimherr and Slavković 2022).

    density of p = exp(-|g(p)|/sigma),  g(p) = -(1/n) sum_i log_p x_i,  sigma = 2 Delta/epsilon

with respect to the volume of the ball, logarithms shortened to a public length tau. No mean is
computed: what is noisy is the equation that defines it. Proof: docs/proofs/kng-mean.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, sensitivity
from curvedp._validation import as_choice, as_count, as_positive
from curvedp.domain import Ball
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.mechanisms.k_norm_gradient import (
    CHAIN_WHY,
    MAX_EXACT_DIM,
    MAX_PRECISION,
    chain_plan,
    is_resolved,
)
from curvedp.privacy import Guarantee, Ledger, Release, Unproved
from curvedp.statistics.entry import Entry, Progress

SAMPLERS = ("exact", "metropolis")


def kng_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    tau: float | None = None,
    sampler: str = "exact",
    chain_length: int = 10_000,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> Release:
    """Release the Fréchet mean of records by the K-norm gradient mechanism.

    Beside `frechet_mean` it needs twice the noise where records fill the ball; with `tau` below the
    ball's radius it needs less in proportion to tau: it then suits records that lie close together
    somewhere in a large ball, if the budget is large enough for the mass far away not to count.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public. One that is not a point of the manifold counts as the
        ball's centre.
    ball : Ball
        Public domain of the records, and of the release.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release shall satisfy when one unit's records are replaced. The mechanism is
        calibrated to the largest epsilon-bounded range that implies it.
    tau : float, optional
        Public length at which logarithms are clipped, in the units of the metric: about the largest
        distance of a record from the mean. By default none is.
    sampler : {"exact", "metropolis"}
        "exact" draws by rejection, in dimensions up to 6; how long that takes depends on the
        records. "metropolis" ends a Markov chain after `chain_length` steps in any dimension; the
        release is then `Unproved`.
    chain_length : int
        Steps of the Markov chain.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    progress : bool or callable
        True prints the name of each stage to standard error; a callable receives it.

    Returns
    -------
    Release
        `value` has shape point_shape; `sensitivity` and `scale` are those of the gradient.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (500, 1))
    >>> release = cdp.kng_mean(records, ball, cdp.PureDP(epsilon=1.0), tau=0.1)
    >>> release.value.shape
    (3,)
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
    as_choice(sampler, SAMPLERS, "sampler")
    length = as_count(chain_length, "chain_length")
    clip = 2 * ball.radius if tau is None else min(as_positive(tau, "tau"), 2 * ball.radius)
    if sampler == "exact" and ball.manifold.dim > MAX_EXACT_DIM:
        raise ValueError(
            f"exact draws exist up to dimension {MAX_EXACT_DIM}, and {ball.manifold.spec} has "
            f"{ball.manifold.dim}: use frechet_mean"
        )
    if sampler == "exact" and not is_resolved(ball, 2 * ball.radius, clip):
        raise ValueError(
            f"exact draws lose digits on {ball.manifold.spec} with a radius of {ball.radius:.3g}: "
            "use a smaller ball, or frechet_mean"
        )
    delta = sensitivity.kng_mean(ball, entry.n, tau=clip, records_per_unit=records_per_unit)
    rounding = clip * _core.summation_error(entry.n)
    scale = outward_scale(2 * (delta + 2 * rounding), bounded_range_epsilon(guarantee))
    if sampler == "exact" and clip > MAX_PRECISION * scale:
        raise ValueError(
            f"noise of scale {scale:.3g} is too small beside logarithms of length {clip:.3g} for "
            "exact draws: use a smaller budget, or frechet_mean"
        )
    grid_step(ball, scale)
    promise = entry.promise(guarantee)
    if sampler == "metropolis":
        promise = Unproved(claimed=guarantee, why=CHAIN_WHY)
    entry.spend("Fréchet mean", promise)
    rows, stream = entry.enter(), entry.stream(0)
    # the clipping of logarithms to 2 r would touch rounding alone
    law = _core.KNormMean(ball._frame, clip if tau is not None else np.inf, scale)
    entry.report("draw")
    if sampler == "exact":
        point, _ = law.sample_exact(rows, 1, stream)
    else:
        start = ball._frame.origin[None]
        plan = chain_plan(ball.radius, burn_in=length - 1, draws=1)
        point = law.run_chains(rows, start, plan, stream).draws()
    return entry.release(
        promise,
        value=ball._leave(round_to_grid(ball, point[None], scale))[0],
        mechanism="K-norm gradient",
        statistic="Fréchet mean",
        sensitivity=delta,
        solver_tolerance=rounding,
        scale=scale,
        expected_error=None,
    )
