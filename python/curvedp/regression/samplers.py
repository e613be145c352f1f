"""Samplers of a private geodesic: by descent, or from the K-norm gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms.choice import ways_to_meet
from curvedp.mechanisms.grid import grid_step
from curvedp.mechanisms.k_norm_gradient import (
    MAX_EXACT_DIM,
    MAX_PRECISION,
    is_resolved,
)
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.regression.choice import expected_choice
from curvedp.regression.descent import Descent, NoisyGradient, calibrate
from curvedp.regression.k_norm import MAX_EXTENT, KNormGradient
from curvedp.regression.schedule import noise_after, schedule
from curvedp.statistics.design import least_error
from curvedp.statistics.group import Group

SAMPLERS = ("auto", "whitened", "gradient", "exact", "metropolis")


@dataclass(frozen=True)
class GeodesicDesign:
    """A private geodesic before there are records.

    Attributes
    ----------
    tau, v_max : float
        Length at which residuals are clipped, and bound on the velocity.
    way : PureDP, GDP or None
        The guarantee that the noise of a descent is calibrated to.
    steps : list of NoisyGradient
        Of a descent.
    law : KNormGradient or None
        The law to draw from in place of a descent.
    chain_length : int or None
        Steps of a Markov chain; none for exact draws.
    """

    tau: float
    v_max: float
    way: PureDP | GDP | None
    steps: list[NoisyGradient]
    law: KNormGradient | None
    chain_length: int | None

    @property
    def noise(self) -> NoisyGradient | KNormGradient:
        """Sensitivity, rounding and scale of the gradients, in the last step of a descent."""
        return self.steps[-1] if self.law is None else self.law

    @property
    def is_exact(self) -> bool:
        """True if all noise is drawn in exact arithmetic, and not by a Markov chain."""
        return self.chain_length is None

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        if self.law is None:
            return "noisy gradient descent"
        chain = " by a Markov chain" if self.chain_length is not None else ""
        return f"K-norm gradient{chain}"

    @classmethod
    def of(
        cls,
        ball: Ball,
        n: int,
        guarantee: Guarantee,
        *,
        tau: float,
        v_max: float,
        records_per_unit: int,
        sampler: str,
        chain_length: int,
    ) -> GeodesicDesign:
        """The design for a sampler; raises here for all that cannot be served."""
        public: dict[str, Any] = {
            "tau": tau,
            "v_max": v_max,
            "records_per_unit": records_per_unit,
        }
        if sampler == "auto":
            sampler = expected_choice(ball, n, guarantee, **public)[0]
        if sampler == "gradient":

            def descent(way: PureDP | GDP) -> GeodesicDesign:
                steps = plan_steps(ball, n, way, records_per_unit, tau, v_max)
                grid_step(ball, steps[-1].scale)
                return cls(tau, v_max, way, steps, None, None)

            def error(found: GeodesicDesign) -> float:
                assert found.way is not None
                dim = ball.manifold.dim
                return noise_after(n, dim, ball.radius, tau, found.way, records_per_unit)

            return least_error(ways_to_meet(guarantee), descent, error)
        if sampler == "exact":
            check_exact(ball, tau, v_max)
        law = KNormGradient.calibrate(ball, n, guarantee, **public)
        if sampler == "exact" and tau > MAX_PRECISION * law.scale:
            raise ValueError(
                f"noise of scale {law.scale:.3g} is too small beside tau = {tau:.3g} for exact "
                "draws: use a smaller budget, or sampler='gradient'"
            )
        if sampler == "exact" and not is_resolved(ball, 2 * ball.radius + v_max / 2, n, law.scale):
            raise ValueError(
                f"exact draws lose digits on {ball.manifold.spec} with a radius of "
                f"{ball.radius:.3g} and v_max = {v_max:.3g}: use a smaller ball, a smaller budget, "
                "or sampler='gradient'"
            )
        _ = law.step  # raises here for noise that is too fine
        return cls(tau, v_max, None, [], law, chain_length if sampler == "metropolis" else None)

    def draw(self, group: Group, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Footpoint and coordinates of the velocity, in the frame of the group's ball."""
        rows, stream = group.enter(), group.stream(0)
        if self.law is None:
            descent = Descent.start(group.ball, self.v_max)
            descent.run(rows, times, self.steps, stream)
            return descent.footpoint, descent.velocity
        law = replace(self.law, ball=group.ball)
        if self.chain_length is None:
            return law.draw(rows, times, stream)
        return law.walk(rows, times, stream, self.chain_length)


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


def plan_steps(
    ball: Ball, n: int, way: PureDP | GDP, records_per_unit: int, tau: float, v_max: float
) -> list[NoisyGradient]:
    """The steps of a descent with their noise; their shares of the budget compose to the whole."""
    steps = schedule(n, ball.manifold.dim, ball.radius, tau, way, records_per_unit)
    shares: tuple[PureDP | GDP, ...] = way.split([1.0] * len(steps))
    return [
        calibrate(ball, n, v_max, step, share, records_per_unit)
        for step, share in zip(steps, shares, strict=True)
    ]
