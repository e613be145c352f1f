"""Which sampler is expected to have the smaller error: a function of public values alone.

The K-norm gradient with sigma = 2 Delta/epsilon puts its mass near the minimiser, with root mean
square prediction error sigma sqrt(8 d (d + 1)) on flat space for covariates spread evenly, or,
where the budget is small, all over the support: far away the clipped gradient has a norm of about
tau/2 or more, and exp(tau/(2 sigma)) has to outweigh the volume of the support. A descent pays for
its steps, but stays where the data are.
"""

from __future__ import annotations

import math

from curvedp import sensitivity
from curvedp.domain import Ball
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.privacy import Guarantee
from curvedp.regression.k_norm import MAX_EXACT_DIM
from curvedp.regression.schedule import noise_after
from curvedp.statistics.entry import native


def choose_sampler(
    ball: Ball, n: int, guarantee: Guarantee, *, tau: float, v_max: float, records_per_unit: int
) -> str:
    """ "exact" or "gradient"."""
    dim = ball.manifold.dim
    if 2 * dim > MAX_EXACT_DIM:
        return "gradient"
    budget = native(guarantee)
    descent = noise_after(n, dim, ball.radius, tau, budget, records_per_unit)
    delta = sensitivity.regression_sum_of_norms(
        ball, n, tau=tau, v_max=v_max, records_per_unit=records_per_unit
    )
    scale = 2 * delta / bounded_range_epsilon(guarantee)
    extent = ball.radius + v_max / 4
    near = scale * math.sqrt(8 * dim * (dim + 1))
    exact = near + extent * far_mass(dim, ball.radius, v_max, tau, scale)
    return "exact" if exact <= min(descent, extent) else "gradient"


def far_mass(dim: int, radius: float, v_max: float, tau: float, scale: float) -> float:
    """Mass of the K-norm gradient far from the minimiser over that near it, flat space.

    (r V)^d exp(-tau/(2 sigma)) / ((12 sigma^2)^d (d!)^2)
    """
    volume = dim * math.log(radius * v_max / (12 * scale**2)) - 2 * math.lgamma(dim + 1)
    return math.exp(min(volume - tau / (2 * scale), 700.0))
