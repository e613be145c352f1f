"""Geodesic regression as published (Kulkarni and Soto 2025): for comparison, without a guarantee.

The footpoint p at x_lo is drawn from exp(-|grad_p E(p, v)|/sigma_p) with v the non-private estimate
carried to p, then v at that p from exp(-|grad_v E|/sigma_v), sigma = Delta/epsilon with the bounds
of Theorem 3.3 and equation 44, each by a random-walk Metropolis chain that starts at the estimate.
What is missing for a guarantee is listed in docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core, nonprivate
from curvedp._guard import quiet
from curvedp._validation import FloatArray, as_count, as_float_array, as_positive
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, PureDP
from curvedp.published import sensitivity
from curvedp.published.call import Call, Options
from curvedp.regression.covariate import as_range, clipped_times
from curvedp.regression.geodesic import Geodesic
from curvedp.regression.release import GeodesicRelease, stack
from curvedp.regression.steps import carry

_WHY = (
    "the shooting vector and the normalising constant depend on the records beyond what the noise "
    "covers, residuals are not clipped, and the Markov chain is not certified to have converged"
)
#: Radius of the proposals, in units of sigma.
_FOOTPOINT_STEP = 1.5
_VELOCITY_STEP = 2.5


@quiet
def geodesic_regression(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float],
    tau: float,
    weights: Sequence[float] = (1.0, 1.0),
    chain_length: int = 10_000,
    **options: Unpack[Options],
) -> GeodesicRelease:
    """Draw footpoint and shooting vector of a geodesic one after the other: `Unproved`.

    Parameters
    ----------
    x : array-like, shape (n,)
        Covariates, clipped to `x_range`.
    y : array-like, shape (n, *point_shape)
        Records.
    ball : Ball
        The paper assumes a radius of at most pi/(8 sqrt(kappa)), kappa > 0 the upper curvature
        bound (assumption 3.2). It is not checked: the noise does not depend on it, and records on
        the sphere with the paper's noise of variance 0.1 lie in no such ball.
    guarantee : PureDP
        The guarantee that the paper claims for both parts together.
    x_range : pair of float
    tau : float
        Bound on residuals, to which the noise is in proportion; nothing is clipped to it.
    weights : pair of float
        Shares of epsilon of the footpoint and of the shooting vector.
    chain_length : int
        Steps of each Markov chain.
    **options
        As in `frechet_mean`.

    Returns
    -------
    GeodesicRelease
        `sensitivity` and `scale` are those of the footpoint; `v_max` is the paper's bound
        2 (r + tau) on the velocity over the range, to which nothing is shortened.

    Raises
    ------
    TypeError
        If `guarantee` is not pure.
    ValueError
        For wrong shapes and parameters.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:1", center=[0.0], radius=2.0)
    >>> x = np.linspace(0.0, 1.0, 100)
    >>> release = cdp.published.geodesic_regression(
    ...     x, x[:, None], ball, cdp.PureDP(1.0), x_range=(0.0, 1.0), tau=0.5
    ... )
    >>> release.slope.shape
    (1,)
    """
    call = Call.check(y, ball, guarantee, why=_WHY, **options)
    covariates = as_float_array(x, "x")
    if covariates.shape != (call.n,):
        raise ValueError(f"x must have shape ({call.n},), got {covariates.shape}")
    limits = as_range(x_range)
    largest = as_positive(tau, "tau")
    steps = as_count(chain_length, "chain_length")
    if not isinstance(guarantee, PureDP):
        raise TypeError("the published mechanism claims pure DP: ask for PureDP(epsilon)")
    if len(weights) != 2:
        raise ValueError("weights must be two positive numbers: of footpoint and shooting vector")
    footpoint, shooting = guarantee.split(weights)
    call.pay("published geodesic regression")
    k = call.records_per_unit
    delta_p = sensitivity.regression_footpoint(ball, call.n, tau=largest, records_per_unit=k)
    delta_v = sensitivity.regression_shooting(ball, call.n, tau=largest, records_per_unit=k)
    scale = delta_p / footpoint.epsilon
    low, high = limits
    geodesic = _draw(
        low + 0.5 * (high - low) + clipped_times(covariates, limits) * (high - low),
        ball.project(call.data),
        ball,
        (scale, delta_v / shooting.epsilon),
        limits,
        steps,
        call.stream(0),
    )
    release = call.release(
        guarantee,
        value=stack(geodesic.footpoint, geodesic.velocity),
        mechanism="sequential K-norm gradient",
        statistic="geodesic regression",
        sensitivity=delta_p,
        solver_tolerance=0.0,
        scale=scale,
        expected_error=None,
    )
    longest = 2 * (ball.radius + largest)
    return GeodesicRelease(**vars(release), x_range=limits, tau=largest, v_max=longest)


def _draw(
    x: FloatArray,
    y: FloatArray,
    ball: Ball,
    sigma: tuple[float, float],
    x_range: tuple[float, float],
    chain_length: int,
    stream: _core.Stream,
) -> Geodesic:
    """The geodesic at the ends of both chains; `x` lies in the range, `y` in the ball."""
    space, core = ball.manifold, ball.manifold.kernels
    rows = y.reshape(len(y), -1)
    low, high = x_range
    times = np.ascontiguousarray((x - low) / (high - low))
    fit = nonprivate.geodesic_regression(x, y, space, x_range=x_range)
    origin = np.ascontiguousarray(fit.intercept.reshape(1, -1))
    shooting = space.tangent_to_coords(fit.slope * (high - low), fit.intercept)
    sigma_p, sigma_v = sigma

    def plan(radius: float) -> tuple[int, int, int, float, None]:
        return chain_length - 1, 1, 1, radius, None

    chain = _core.published_footpoint(
        core, rows, times, origin[0], shooting, sigma_p, plan(_FOOTPOINT_STEP * sigma_p), stream
    )
    p = chain.draws()
    start = carry(core, shooting[None], origin, p[None])[0]
    chain = _core.published_shooting(
        core, rows, times, p, start, sigma_v, plan(_VELOCITY_STEP * sigma_v), stream
    )
    return _from_end(ball, p, chain.draws(), x_range)


def _from_end(ball: Ball, p: FloatArray, v: FloatArray, x_range: tuple[float, float]) -> Geodesic:
    """The geodesic through p at x_lo with velocity v over the range, from its middle."""
    space = ball.manifold
    point = p.reshape(space.point_shape)
    velocity = space.coords_to_tangent(v, point)
    width = x_range[1] - x_range[0]
    # a geodesic whose "middle" is x_lo, read at half a range further
    shifted = Geodesic(
        manifold=space.spec,
        x_range=(x_range[0] - 0.5 * width, x_range[0] + 0.5 * width),
        footpoint=point,
        velocity=velocity,
    )
    middle, speed = shifted.at(x_range[0] + 0.5 * width)
    return Geodesic(manifold=space.spec, x_range=x_range, footpoint=middle, velocity=speed * width)
