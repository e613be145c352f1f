"""Geodesic regression as published (Kulkarni and Soto 2025): for comparison, without a guarantee.

The footpoint p at x_lo is drawn from exp(-|grad_p E(p, v)|/sigma_p) with v the non-private estimate
carried to p, then v at that p from exp(-|grad_v E|/sigma_v), sigma = Delta/epsilon, each by a
random-walk Metropolis chain that starts at the estimate. What is missing for a guarantee is listed
in docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import numpy as np

from curvedp import _core, nonprivate, sensitivity
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.privacy import PureDP
from curvedp.regression.descent import carry
from curvedp.regression.geodesic import Geodesic

WHY = (
    "the shooting vector and the normalising constant depend on the records beyond what the noise "
    "covers, residuals are not clipped, and the Markov chain is not certified to have converged"
)
#: Radius of the proposals, in units of sigma.
_FOOTPOINT_STEP = 1.5
_VELOCITY_STEP = 2.5


def sequential_kng(
    x: FloatArray,
    y: FloatArray,
    ball: Ball,
    shares: tuple[PureDP, PureDP],
    *,
    x_range: tuple[float, float],
    tau: float,
    v_max: float,
    chain_length: int,
    stream: _core.Stream,
) -> tuple[Geodesic, float]:
    """Draws footpoint and shooting vector one after the other.

    Returns the geodesic and sigma of the footpoint. `x` lies in the range, `y` in the ball.
    """
    space = ball.manifold
    core = space._core
    rows = y.reshape(len(y), -1)
    low, high = x_range
    times = np.ascontiguousarray((x - low) / (high - low))
    fit = nonprivate.geodesic_regression(x, y, space, x_range=x_range)
    origin = np.ascontiguousarray(fit.intercept.reshape(1, -1))
    shooting = space.tangent_to_coords(fit.slope * (high - low), fit.intercept)
    # from the end of the range |t| <= 1: both gradients have the bound of the footpoint's
    delta = sensitivity.regression_footpoint(ball, len(y), tau=tau, v_max=2 * v_max)
    sigma_p, sigma_v = (delta / share.epsilon for share in shares)

    def plan(radius: float) -> tuple[int, int, int, float, None]:
        return chain_length - 1, 1, 1, radius, None

    chain = _core.published_footpoint(
        core, rows, times, origin[0], shooting, sigma_p, plan(_FOOTPOINT_STEP * sigma_p), stream
    )
    p = chain.draws()
    start = carry(core, shooting, origin, p[None])
    chain = _core.published_shooting(
        core, rows, times, p, start, sigma_v, plan(_VELOCITY_STEP * sigma_v), stream
    )
    v = chain.draws()
    return _from_end(ball, p, v, x_range), sigma_p


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
