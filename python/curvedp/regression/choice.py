"""Choice of the sampler with the smaller expected error, from public values alone.

The K-norm gradient with sigma = 2 Delta/epsilon puts its mass near the minimiser, with root mean
square prediction error sigma sqrt(8 d (d + 1)) on flat space for covariates spread evenly, or,
where the budget is small, all over the support: far away the clipped gradient has a norm of about
tau/2 or more, and exp(tau/(2 sigma)) has to outweigh the volume of the support. Whitened steps pay
for their number, but stay where the data are.
"""

from __future__ import annotations

import math

from curvedp import sensitivity
from curvedp.domain import Ball
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.k_norm_gradient import is_resolved
from curvedp.privacy import Guarantee
from curvedp.regression.adaptive_design import AdaptiveDesign

#: The bound on the velocity if none is given, in radii: of exact draws, and of whitened steps,
#: whose noise does not depend on it.
_CROSSES_ONCE, _CROSSES_OFTEN = 2.0, 8.0
#: Limits within which an exact draw takes seconds at most, by the dimension of the manifold (some
#: 30,000 gradients in 2 dimensions, a million in 3): numbers of records, r + V/2 in lengths tau and
#: in radii of curvature.
_QUICK = {
    1: (range(20, 1001), 25.0, math.inf),
    2: (range(20, 1001), 25.0, math.inf),
    3: (range(20, 201), 20.0, 1.3),
}
#: Lengths tau in noise scales beyond which the law is so narrow that steps may as well serve.
_QUICK_PRECISION = 1e4


def expected_choice(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    tau: float,
    v_max: float | None,
    records_per_unit: int,
) -> tuple[str, float]:
    """The sampler, "exact" or "whitened", and its root mean square prediction error in flat space
    for covariates spread evenly, at most the extent of the support."""
    design = AdaptiveDesign.best(
        ball,
        n,
        guarantee,
        covariates=1,
        v_max=longest_velocity(ball, v_max, exact=False),
        records_per_unit=records_per_unit,
        tau=tau,
    )
    v_max = longest_velocity(ball, v_max, exact=True)
    whitened = min(design.usual_error(tau), ball.radius + v_max / 4)
    exact = _exact_error(ball, n, guarantee, tau, v_max, records_per_unit)
    return ("exact", exact) if exact <= whitened else ("whitened", whitened)


def longest_velocity(ball: Ball, v_max: float | None, *, exact: bool) -> float:
    """The bound on the velocity: the given one, or one in proportion to the ball.

    Larger by default where noise does not depend on it.
    """
    if v_max is not None:
        return v_max
    return ball.radius * (_CROSSES_ONCE if exact else _CROSSES_OFTEN)


def _exact_error(
    ball: Ball, n: int, guarantee: Guarantee, tau: float, v_max: float, records_per_unit: int
) -> float:
    """Of an exact draw, infinite where none is to be had in seconds."""
    dim, extent = ball.manifold.dim, ball.radius + v_max / 4
    if not (is_quick(ball, n, tau, v_max) and is_supported(ball, v_max)):
        return math.inf
    delta = sensitivity.regression_sum_of_norms(
        ball, n, tau=tau, v_max=v_max, records_per_unit=records_per_unit
    )
    scale = 2 * delta / bounded_range_epsilon(guarantee)
    if tau > _QUICK_PRECISION * scale or not is_resolved(
        ball, 2 * ball.radius + v_max / 2, n, scale
    ):
        return math.inf
    near = scale * math.sqrt(8 * dim * (dim + 1))
    return near + extent * far_mass(dim, ball.radius, v_max, tau, scale)


def is_supported(ball: Ball, v_max: float) -> bool:
    """Returns True if no geodesic of the support meets the cut locus of a record."""
    return 2 * ball.radius + 0.5 * v_max < ball.manifold.injectivity_radius


def is_quick(ball: Ball, n: int, tau: float, v_max: float) -> bool:
    """Returns True if an exact draw takes seconds at most."""
    space = ball.manifold
    if space.dim not in _QUICK:
        return False
    counts, lengths, radii = _QUICK[space.dim]
    extent = ball.radius + v_max / 2
    curvature = max(map(abs, space.curvature_bounds))
    return n in counts and extent <= lengths * tau and extent * math.sqrt(curvature) <= radii


def far_mass(dim: int, radius: float, v_max: float, tau: float, scale: float) -> float:
    """Mass of the K-norm gradient far from the minimiser over that near it, flat space.

    (r V)^d exp(-tau/(2 sigma)) / ((12 sigma^2)^d (d!)^2)
    """
    volume = dim * math.log(radius * v_max / (12 * scale**2)) - 2 * math.lgamma(dim + 1)
    return math.exp(min(volume - tau / (2 * scale), 700.0))
