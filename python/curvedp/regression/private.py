"""Private geodesic regression (Kulkarni and Soto 2025, with another sampler and calibration).

    records -> projection on the public ball, covariates clipped to their public range
            -> noisy gradients of the clipped loss -> descent within the public support, or
               a draw from the K-norm gradient
            -> rounding to a public grid -> GeodesicRelease

Proof: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_choice, as_count, as_float_array, as_positive
from curvedp.domain import Ball
from curvedp.mechanisms.grid import grid_step, round_to_grid
from curvedp.privacy import Guarantee, Ledger, PureDP, Unproved
from curvedp.regression.covariate import as_range, clipped_times
from curvedp.regression.descent import carry, shorten
from curvedp.regression.published import WHY, sequential_kng
from curvedp.regression.release import GeodesicRelease, stack
from curvedp.regression.samplers import SAMPLERS, Drawn, draw_geodesic
from curvedp.statistics.entry import Entry, Progress

#: Longest reach in radii of curvature: squares of hyperbolic functions of it are finite.
_LONGEST = 300.0


def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    sampler: str = "auto",
    calibration: str = "proved",
    weights: Sequence[float] = (1.0, 1.0),
    chain_length: int = 10_000,
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> GeodesicRelease:
    """Release the geodesic along which records move with a covariate.

    Approximates the minimiser of (1/2n) sum_i min(rho(exp_p(t_i v), y_i), tau)^2 (Fletcher 2011,
    residuals clipped in the gradient), t_i the covariate moved to [-1/2, 1/2], over p in the ball
    and |v| <= V. Footpoint and velocity are released together.

    Parameters
    ----------
    x : array-like, shape (n,)
        Covariates. Clipped to `x_range`; one that is missing counts as the middle of the range.
    y : array-like, shape (n, *point_shape)
        Records. One that is not a point of the manifold counts as the ball's centre.
    ball : Ball
        Public domain of the records and of the point at the middle of the range.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release shall satisfy when one unit's pairs (x_i, y_i) are replaced.
    x_range : pair of float
        Public range (x_lo, x_hi) of the covariate.
    tau : float
        Public length at which residuals are clipped, in the units of the metric: noise is
        proportional to it. About the largest residual expected; below the typical residual the
        estimate is that of a spatial median.
    v_max : float
        Public bound V on the length of the geodesic over the range. On positive curvature
        2 r + V/2 must be below the injectivity radius, so that residuals are continuous.
    sampler : {"auto", "gradient", "exact", "metropolis"}
        "gradient" is noisy Riemannian gradient descent with a public number of steps. "exact" draws
        from the K-norm gradient by rejection, in dimensions up to 3; how long that takes depends on
        the records, from milliseconds to seconds. "metropolis" runs a Markov chain of
        `chain_length` steps towards the same law in any dimension; the release is then `Unproved`.
        "auto" takes the one of the first two with the smaller expected error, which n, the
        guarantee and the other public parameters decide.
    calibration : {"proved", "published"}
        "published" draws footpoint and shooting vector one after the other by Markov chains, as
        Kulkarni and Soto do, for pure DP; the release is then `Unproved`.
    weights : pair of float
        Shares of epsilon of the footpoint and of the shooting vector, with "published".
    chain_length : int
        Steps of each Markov chain, with "published" and "metropolis".
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
    GeodesicRelease
        With `intercept`, `slope` and `predict`. `sensitivity` and `scale` are those of the
        gradients, in the last step of a descent.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record or covariate.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> x = np.linspace(0.0, 10.0, 2000)
    >>> y = np.column_stack([np.sin(0.05 * x), np.zeros_like(x), np.cos(0.05 * x)])
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> release = cdp.geodesic_regression(
    ...     x, y, ball, cdp.GDP(mu=1.0), x_range=(0.0, 10.0), tau=0.1, v_max=1.0
    ... )
    >>> release.predict([0.0, 5.0, 10.0]).shape
    (3, 3)
    """
    entry = Entry.check(
        y,
        ball,
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration=calibration,
        seed=seed,
        progress=progress,
    )
    covariates = as_float_array(x, "x")
    if covariates.shape != (entry.n,):
        raise ValueError(f"x must have shape ({entry.n},), got {covariates.shape}")
    limits = as_range(x_range)
    clip, speed = as_positive(tau, "tau"), as_positive(v_max, "v_max")
    steps_each = as_count(chain_length, "chain_length")
    as_choice(sampler, SAMPLERS, "sampler")
    check_support(ball, speed)
    if calibration == "published":
        return _published(entry, covariates, limits, clip, speed, weights, steps_each)
    # no residual is longer than 2 r + V/2
    reach = 2 * ball.radius + 0.5 * speed
    drawn = draw_geodesic(
        entry,
        clipped_times(covariates, limits),
        tau=min(clip, reach),
        v_max=speed,
        sampler=sampler,
        chain_length=steps_each,
    )
    release = entry.release(
        drawn.promise,
        value=rounded(ball, drawn, speed),
        mechanism=drawn.mechanism,
        statistic="geodesic regression",
        sensitivity=drawn.sensitivity,
        solver_tolerance=drawn.rounding,
        scale=drawn.scale,
        expected_error=None,
    )
    return GeodesicRelease(**vars(release), x_range=limits, tau=clip, v_max=speed)


def _published(
    entry: Entry,
    x: FloatArray,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    weights: Sequence[float],
    chain_length: int,
) -> GeodesicRelease:
    budget = entry.guarantee
    if not isinstance(budget, PureDP):
        raise TypeError("the published mechanism claims pure DP: ask for PureDP(epsilon)")
    if len(weights) != 2:
        raise ValueError("weights must be two positive numbers: of footpoint and shooting vector")
    footpoint, shooting = budget.split(weights)
    entry.spend("geodesic regression")
    low, high = x_range
    middle = low + 0.5 * (high - low)
    geodesic, sigma = sequential_kng(
        middle + clipped_times(x, x_range) * (high - low),
        entry.ball.project(entry.data),
        entry.ball,
        (footpoint, shooting),
        x_range=x_range,
        tau=tau,
        v_max=v_max,
        chain_length=chain_length,
        stream=entry.stream(0),
    )
    release = entry.release(
        Unproved(claimed=budget, why=WHY),
        value=stack(geodesic.footpoint, geodesic.velocity),
        mechanism="sequential K-norm gradient",
        statistic="geodesic regression",
        sensitivity=sigma * footpoint.epsilon,
        solver_tolerance=0.0,
        scale=sigma,
        expected_error=None,
    )
    return GeodesicRelease(**vars(release), x_range=x_range, tau=tau, v_max=v_max)


def check_support(ball: Ball, v_max: float) -> None:
    """Refuses geodesics that could meet the cut locus of a record, or leave double precision."""
    reach = 2 * ball.radius + 0.5 * v_max
    root = math.sqrt(max(0.0, -ball.manifold.curvature_bounds[0]))
    if root * reach > _LONGEST:
        raise ValueError(
            f"2 r + v_max/2 must be at most {_LONGEST / root:.6g} on {ball.manifold.spec}, got "
            f"{reach:.6g}: hyperbolic functions of it are too large for double precision"
        )
    if reach >= ball.manifold.injectivity_radius:
        raise ValueError(
            f"2 r + v_max/2 must be below the injectivity radius "
            f"{ball.manifold.injectivity_radius:.6g} of {ball.manifold.spec}, got {reach:.6g}: "
            "use a smaller ball or a smaller v_max"
        )


def rounded(ball: Ball, drawn: Drawn, v_max: float) -> FloatArray:
    """Footpoint and velocity on the public grid, outside the frame, shape (2, *point_shape)."""
    manifold, scale = ball._frame.manifold, drawn.scale
    base = drawn.footpoint[None]
    footpoint = round_to_grid(ball, base, scale)
    step = grid_step(ball, scale)
    carried = shorten(carry(manifold, drawn.velocity, base, footpoint), v_max)
    velocity = np.round(carried / step) * step
    length = float(np.linalg.norm(velocity))
    # an isometry takes geodesics to geodesics: the velocity outside is read off a short piece
    share = min(1.0, 0.25 * ball.manifold.injectivity_radius / length) if length > 0 else 1.0
    ahead = np.empty_like(footpoint)
    manifold.exp_coords(np.ascontiguousarray(share * velocity[None]), footpoint, ahead)
    space = ball.manifold
    outer, further = ball._leave(footpoint)[0], ball._leave(ahead)[0]
    # so far out on hyperbolic space that coordinates keep no digit of a direction, there is none
    return stack(outer, shorten(space.log(further, outer) / share, math.inf))
