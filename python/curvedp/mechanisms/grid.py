"""The public grid to which releases are rounded.

Trailing bits of floating-point noise could reveal the true value (Mironov 2012). Every release is
therefore computed from multiples of 2^-k alone, k fixed by the noise scale and the ball: of the
coordinates in the chart log_c at the ball's centre, or on spheres and shapes of those of the
ambient space. They have the law of rounded real noise (docs/proofs/exact-draws.md). On manifolds
that are not compact the chart is also clipped at a public radius, so that every release is a
finite point.
"""

from __future__ import annotations

import math

import numpy as np

from curvedp import _core
from curvedp._text import rounded_down, rounded_up
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold
from curvedp.privacy import GDP, ApproxDP, PureDP

#: Least number of grid steps in a noise scale, 2^20; steps are powers of two, so there may be
#: nearly twice as many.
STEPS_PER_SCALE = _core.STEPS_PER_SCALE


def grid_step(
    ball: Ball,
    scale: float,
    guarantee: PureDP | GDP | ApproxDP | None = None,
    *,
    in_chart: bool = False,
) -> float:
    """The public step, a power of two.

    The step is the largest that is at most 2^-20 of the noise scale, or 2^16 times the rounding
    error of chart coordinates at the centre, if that is more. A scale beyond the extent of the
    manifold (or of the releases that clipping leaves) counts as that extent: the noise is then as
    wide as the manifold, and the grid must not be coarser. The chart at the centre stretches steps
    far from it: where fewer than 16 were left to the scale of noise that is not `in_chart` itself,
    the step is finer.

    Raises
    ------
    ExistenceError
        If fewer than four steps would be left to the noise scale, which stands for `guarantee`.
    """
    step = ball.frame.grid_step(scale, in_chart)
    if step is None:
        least = ball.frame.least_scale(in_chart)
        where = (
            f"noise of scale {scale:.3g} is too fine for double precision on a ball of radius "
            f"{ball.radius:.3g} on {ball.manifold.spec}"
        )
        if math.isinf(least):
            raise ExistenceError(f"{where}, and so is any other: use a smaller radius")
        raise ExistenceError(
            f"{where}, where scales from {rounded_up(least, 3)} on are served: ask for "
            f"{weaker(guarantee, scale / least)} or less, or for fewer than "
            f"{rounded_down(scale / least, 3)} times as many records"
        )
    return step


def weaker(guarantee: PureDP | GDP | ApproxDP | None, share: float) -> str:
    """The guarantee with a share of its budget, rounded down."""
    if guarantee is None:
        return f"{rounded_down(share, 3)} times the budget"
    if isinstance(guarantee, ApproxDP):
        return f"{rounded_down(share, 3)} times epsilon and delta"
    name = "epsilon" if isinstance(guarantee, PureDP) else "mu"
    budget = getattr(guarantee, name) * share
    return f"{type(guarantee).__name__}({name}={rounded_down(budget, 4)})"


def clip_radius(ball: Ball) -> float:
    """Distance from the centre at which releases are clipped; infinite for no clipping."""
    return ball.frame.clip_radius


def clip_limit(manifold: Manifold) -> float:
    """`clip_radius` of a small ball."""
    return manifold.kernels.clip_limit


def round_to_grid(ball: Ball, points: FloatArray, scale: float) -> FloatArray:
    """Rows of points of the ball's frame, clipped and rounded; see the module's description."""
    rounded = np.array(points, dtype=np.float64, order="C")
    ball.frame.round_to_grid(rounded, grid_step(ball, scale))
    return rounded
