"""Draws of a private geodesic from the K-norm gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms.k_norm_gradient import (
    MAX_EXACT_DIM,
    MAX_PRECISION,
    is_resolved,
)
from curvedp.privacy import Guarantee
from curvedp.regression.k_norm import MAX_EXTENT, KNormGradient
from curvedp.statistics.group import Group

SAMPLERS = ("auto", "whitened", "exact", "metropolis")


@dataclass(frozen=True)
class GeodesicDesign:
    """A private geodesic by the K-norm gradient, before there are records.

    Attributes
    ----------
    tau, v_max : float
        Length at which residuals are clipped, and bound on the velocity.
    law : KNormGradient
        The law to draw from.
    chain_length : int or None
        Steps of a Markov chain; none for exact draws.
    """

    tau: float
    v_max: float
    law: KNormGradient
    chain_length: int | None

    @property
    def is_exact(self) -> bool:
        """True if draws are exact, and not those of a Markov chain."""
        return self.chain_length is None

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return "K-norm gradient" + ("" if self.is_exact else " by a Markov chain")

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
        if sampler == "exact":
            check_exact(ball, tau, v_max)
        law = KNormGradient.calibrate(ball, n, guarantee, **public)
        if sampler == "exact" and tau > MAX_PRECISION * law.scale:
            raise ValueError(
                f"noise of scale {law.scale:.3g} is too small beside tau = {tau:.3g} for exact "
                "draws: use a smaller budget, or sampler='whitened'"
            )
        if sampler == "exact" and not is_resolved(ball, 2 * ball.radius + v_max / 2, n, law.scale):
            raise ValueError(
                f"exact draws lose digits on {ball.manifold.spec} with a radius of "
                f"{ball.radius:.3g} and v_max = {v_max:.3g}: use a smaller ball, a smaller budget, "
                "or sampler='whitened'"
            )
        _ = law.step  # raises here for noise that is too fine
        return cls(tau, v_max, law, chain_length if sampler == "metropolis" else None)

    def draw(self, group: Group, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Footpoint and coordinates of the velocity, in the frame of the group's ball."""
        rows, stream = group.enter(), group.stream(0)
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
            f"of {ball.manifold.spec} has {dim}: use sampler='whitened'"
        )
    least = (ball.radius + v_max / 2) / MAX_EXTENT
    if tau < least:
        raise ValueError(
            f"exact draws need tau of at least (r + v_max/2)/{MAX_EXTENT:g} = {least:.3g}, got "
            f"{tau:.3g}: use a larger tau, or sampler='whitened'"
        )
