"""Noisy Riemannian gradient descent on the tangent bundle, in the frame of a ball.

Each step draws noise once on both gradients, in coordinates z = (g_p, s g_v) of which one record
moves the norm by no more than `sensitivity.regression_joint`; everything else is post-processing
of the noisy gradients. Proof: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import SPD, Manifold
from curvedp.privacy import GDP, PureDP
from curvedp.regression.schedule import SLOPE_STEP, SLOPE_WEIGHT, Step


@dataclass(frozen=True)
class NoisyGradient:
    """A step with its noise, calibrated before a record is seen.

    Attributes
    ----------
    step : Step
    sensitivity : float
        Of (g_p, s g_v).
    rounding : float
        Bound on the rounding error of the computed gradients, in the same norm.
    noise : Noise
        On R^(2 dim).
    scale : float
    """

    step: Step
    sensitivity: float
    rounding: float
    noise: _core.Noise
    scale: float


def calibrate(
    ball: Ball, n: int, v_max: float, step: Step, share: PureDP | GDP, records_per_unit: int
) -> NoisyGradient:
    """Gaussian noise for GDP; noise of density exp(-|z|/scale) for pure DP."""
    delta = sensitivity.regression_joint(
        ball,
        n,
        tau=step.tau,
        v_max=v_max,
        slope_weight=SLOPE_WEIGHT,
        records_per_unit=records_per_unit,
    )
    longest = sensitivity.regression_joint(
        ball, 1, tau=step.tau, v_max=v_max, slope_weight=SLOPE_WEIGHT
    )
    rounding = longest * gradient_rounding(ball.manifold, n)
    pure = isinstance(share, PureDP)
    budget = share.epsilon if isinstance(share, PureDP) else share.mu
    scale = (delta + 2 * rounding) / budget
    profile = "laplace" if pure else "gaussian"
    noise = _core.Noise("flat", 2 * ball.manifold.dim, 0.0, profile, scale)
    return NoisyGradient(step, delta, rounding, noise, scale)


def gradient_rounding(manifold: Manifold, n: int) -> float:
    """Bound on the rounding of a gradient, relative to the largest term of a record.

    That of the sum over records, and that of adding up the projections on the eigenspaces of the
    curvature operator.
    """
    dim = manifold.dim
    eigenspaces = manifold.m * (manifold.m - 1) // 2 + 1 if isinstance(manifold, SPD) else 3
    projections = 4 * dim**1.5 * eigenspaces * np.finfo(np.float64).eps
    return float(_core.summation_error(n) + projections)


@dataclass
class Descent:
    """The state of the descent: a geodesic of the support, in the frame of the ball."""

    ball: Ball
    v_max: float
    footpoint: FloatArray
    velocity: FloatArray

    @classmethod
    def start(cls, ball: Ball, v_max: float) -> Descent:
        """The constant geodesic at the centre."""
        return cls(ball, v_max, ball._frame.origin, np.zeros(ball.manifold.dim))

    def run(
        self,
        rows: FloatArray,
        times: FloatArray,
        steps: Sequence[NoisyGradient],
        stream: _core.Stream,
    ) -> None:
        """Takes the steps, each with noise of its own."""
        manifold = self.ball._frame.manifold
        for noisy in steps:
            _, g_p, g_v = manifold.regression_energy(
                rows, times, self.footpoint, self.velocity, noisy.step.tau
            )
            noise = np.empty((1, 2 * manifold.dim))
            noisy.noise.sample_coords(stream, noise)
            gradient = np.concatenate([g_p, SLOPE_WEIGHT * g_v]) + noise[0]
            self.step(gradient, noisy.step.length)

    def step(self, gradient: FloatArray, length: float) -> None:
        """Moves against a noisy gradient and returns to the support: post-processing."""
        dim = self.ball.manifold.dim
        shift = -length * gradient[:dim]
        velocity = self.velocity - length * SLOPE_STEP / SLOPE_WEIGHT * gradient[dim:]
        self.move(shorten(shift, 2 * self.ball.radius), shorten(velocity, self.v_max))

    def move(self, shift: FloatArray, velocity: FloatArray) -> None:
        """To exp_p(shift), projected on the ball, with the velocity carried along."""
        manifold, base = self.ball._frame.manifold, self.footpoint[None]
        end = np.empty_like(base)
        manifold.exp_coords(np.ascontiguousarray(shift[None]), base, end)
        inside = np.empty_like(base)
        inner = _core.Frame(manifold, self.ball._frame.origin, self.ball.radius)
        inner.project(end, inside)
        self.velocity = shorten(carry(manifold, velocity, base, inside), self.v_max)
        self.footpoint = inside[0]


def carry(
    manifold: _core.Manifold, coords: FloatArray, base: FloatArray, end: FloatArray
) -> FloatArray:
    """Coordinates at `end` of the tangent vector at `base` carried along the shortest geodesic."""
    tangent, carried = np.empty_like(base), np.empty_like(base)
    manifold.from_coords(np.ascontiguousarray(coords[None]), base, tangent)
    manifold.parallel_transport(tangent, base, end, carried)
    result = np.empty((1, len(coords)))
    manifold.coords(carried, end, result)
    return np.asarray(result[0])


def shorten(vector: FloatArray, limit: float) -> FloatArray:
    """The vector at a length of at most `limit`; 0 if it is not finite."""
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length):
        return np.zeros_like(vector)
    return vector * (limit / length) if length > limit else vector
