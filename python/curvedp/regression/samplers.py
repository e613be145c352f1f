"""How a private geodesic is drawn: by descent, or from the K-norm gradient."""

from __future__ import annotations

from dataclasses import dataclass

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms.grid import grid_step
from curvedp.mechanisms.k_norm_gradient import (
    CHAIN_WHY,
    MAX_EXACT_DIM,
    MAX_PRECISION,
    is_resolved,
)
from curvedp.privacy import Guarantee, Unproved
from curvedp.regression.choice import choose_sampler
from curvedp.regression.descent import Descent, NoisyGradient, calibrate
from curvedp.regression.k_norm import MAX_EXTENT, KNormGradient
from curvedp.regression.schedule import schedule
from curvedp.statistics.entry import Entry, native

SAMPLERS = ("auto", "gradient", "exact", "metropolis")

_LABEL = "geodesic regression"


@dataclass(frozen=True)
class Drawn:
    """A private geodesic in the frame of its ball, before it is rounded.

    Attributes
    ----------
    footpoint : ndarray, shape (point_size,)
    velocity : ndarray, shape (dim,)
        Coordinates at the footpoint.
    promise : Guarantee
    mechanism : str
    sensitivity, rounding, scale : float
        Of the gradients.
    """

    footpoint: FloatArray
    velocity: FloatArray
    promise: Guarantee
    mechanism: str
    sensitivity: float
    rounding: float
    scale: float


def draw_geodesic(
    entry: Entry,
    times: FloatArray,
    *,
    tau: float,
    v_max: float,
    sampler: str,
    chain_length: int,
) -> Drawn:
    """Spends the guarantee and draws with the sampler of that name."""
    if sampler == "auto":
        sampler = choose_sampler(
            entry.ball,
            entry.n,
            entry.guarantee,
            tau=tau,
            v_max=v_max,
            records_per_unit=entry.records_per_unit,
        )
    if sampler == "gradient":
        return _descend(entry, times, tau, v_max)
    if sampler == "exact":
        check_exact(entry.ball, tau, v_max)
    law = KNormGradient.calibrate(
        entry.ball,
        entry.n,
        entry.guarantee,
        tau=tau,
        v_max=v_max,
        records_per_unit=entry.records_per_unit,
    )
    if sampler == "exact" and tau > MAX_PRECISION * law.scale:
        raise ValueError(
            f"noise of scale {law.scale:.3g} is too small beside tau = {tau:.3g} for exact draws: "
            "use a smaller budget, or sampler='gradient'"
        )
    grid_step(entry.ball, law.scale)
    promise, mechanism = entry.promise(entry.guarantee), "K-norm gradient"
    if sampler == "metropolis":
        promise = Unproved(claimed=entry.guarantee, why=CHAIN_WHY)
        mechanism = "K-norm gradient by a Markov chain"
    entry.spend(_LABEL, promise)
    rows, stream = entry.enter(), entry.stream(0)
    entry.report("draw")
    if sampler == "exact":
        footpoint, velocity = law.draw(rows, times, stream)
    else:
        footpoint, velocity = law.walk(rows, times, stream, chain_length)
    return Drawn(footpoint, velocity, promise, mechanism, law.sensitivity, law.rounding, law.scale)


def check_exact(ball: Ball, tau: float, v_max: float) -> None:
    """Refuses dimensions in which boxes are too coarse, and supports too large for them."""
    dim = 2 * ball.manifold.dim
    if dim > MAX_EXACT_DIM:
        raise ValueError(
            f"exact draws exist up to {MAX_EXACT_DIM} dimensions of the tangent bundle, and that "
            f"of {ball.manifold.spec} has {dim}: use sampler='gradient'"
        )
    least = (ball.radius + v_max / 2) / MAX_EXTENT
    if tau < least:
        raise ValueError(
            f"exact draws need tau of at least (r + v_max/2)/{MAX_EXTENT:g} = {least:.3g}, got "
            f"{tau:.3g}: use a larger tau, or sampler='gradient'"
        )
    if not is_resolved(ball, 2 * ball.radius + v_max / 2, tau):
        raise ValueError(
            f"exact draws lose digits on {ball.manifold.spec} with a radius of {ball.radius:.3g} "
            f"and v_max = {v_max:.3g}: use a smaller ball, or sampler='gradient'"
        )


def plan_steps(entry: Entry, tau: float, v_max: float) -> list[NoisyGradient]:
    """The steps of a descent with their noise; their shares of the budget compose to the whole."""
    ball, budget = entry.ball, native(entry.guarantee)
    steps = schedule(entry.n, ball.manifold.dim, ball.radius, tau, budget, entry.records_per_unit)
    shares = entry.shares([1.0] * len(steps))
    return [
        calibrate(ball, entry.n, v_max, step, share, entry.records_per_unit)
        for step, share in zip(steps, shares, strict=True)
    ]


def _descend(entry: Entry, times: FloatArray, tau: float, v_max: float) -> Drawn:
    steps = plan_steps(entry, tau, v_max)
    grid_step(entry.ball, steps[-1].scale)
    entry.spend(_LABEL)
    rows = entry.enter()
    entry.report("descent")
    descent = Descent.start(entry.ball, v_max)
    descent.run(rows, times, steps, entry.stream(0))
    last = steps[-1]
    return Drawn(
        descent.footpoint,
        descent.velocity,
        entry.promise(entry.guarantee),
        "noisy gradient descent",
        last.sensitivity,
        last.rounding,
        last.scale,
    )
