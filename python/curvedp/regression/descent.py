"""Noisy Riemannian gradient descent on the tangent bundle, in the frame of a ball.

Each step draws noise once on both gradients, in a norm in which one record moves them by no more
than a public bound; everything else is post-processing of the noisy gradients. The norm is
sqrt(|g_p|^2 + s^2 |g_v|^2) for Gaussian noise and |g_p/2 + g_v| + |g_p/2 - g_v| for pure DP, where
it gives a fifth to a quarter less error. Proof: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Manifold
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.mechanisms.grid import STEPS_PER_SCALE
from curvedp.privacy import GDP, PureDP
from curvedp.regression.schedule import SLOPE_STEP, SLOPE_WEIGHT, Step


@dataclass(frozen=True)
class NoisyGradient:
    """A step with its noise, calibrated before a record is seen.

    Attributes
    ----------
    step : Step
    sensitivity : float
        Of the gradients, in the norm of the noise.
    rounding : float
        Bound on the rounding error of the computed gradients, in the same norm.
    scale : float
        sigma, or lambda of the density exp(-norm/lambda).
    grid_step : float
        Of the grid to which noisy gradients are rounded.
    pure : bool
        True if the noise is that of pure DP.
    """

    step: Step
    sensitivity: float
    rounding: float
    scale: float
    grid_step: float
    pure: bool

    def norm(self, g_p: FloatArray, g_v: FloatArray) -> float:
        """The norm in which one record moves the gradients by at most `sensitivity`."""
        if self.pure:
            return float(np.linalg.norm(g_p / 2 + g_v) + np.linalg.norm(g_p / 2 - g_v))
        return math.hypot(float(np.linalg.norm(g_p)), SLOPE_WEIGHT * float(np.linalg.norm(g_v)))

    def law(self, dim: int) -> _core.Noise:
        """The law of each half of the noise, on R^dim."""
        return _core.Noise("flat", dim, 0.0, "laplace" if self.pure else "gaussian", self.scale)

    def add_noise(
        self, g_p: FloatArray, g_v: FloatArray, stream: _core.Stream
    ) -> tuple[FloatArray, FloatArray]:
        """Both gradients with noise, rounded to a grid.

        Its density is exp(-norm/scale) or exp(-norm^2/(2 scale^2)), drawn in exact arithmetic
        around the computed gradients.
        """
        if self.pure:
            halves = np.stack([g_p / 2 + g_v, g_p / 2 - g_v])
        else:
            halves = np.stack([g_p, SLOPE_WEIGHT * g_v])
        self.law(len(g_p)).add_on_grid(stream, self.grid_step, halves)
        if self.pure:
            return halves[0] + halves[1], (halves[0] - halves[1]) / 2
        return halves[0], halves[1] / SLOPE_WEIGHT


def calibrate(
    ball: Ball, n: int, v_max: float, step: Step, share: PureDP | GDP, records_per_unit: int
) -> NoisyGradient:
    """A step whose noisy gradients satisfy the share of the budget."""

    def bound(count: int, moved: int) -> float:
        if isinstance(share, PureDP):
            return sensitivity.regression_sum_of_norms(
                ball, count, tau=step.tau, v_max=v_max, records_per_unit=moved
            )
        return sensitivity.regression_joint(
            ball,
            count,
            tau=step.tau,
            v_max=v_max,
            slope_weight=SLOPE_WEIGHT,
            records_per_unit=moved,
        )

    delta = bound(n, records_per_unit)
    largest = bound(1, 1)
    rounding = largest * gradient_rounding(ball.manifold, n)
    pure = isinstance(share, PureDP)
    scale = calibrated_scale(delta, rounding, share)
    grid_step = _core.flat_grid_step(scale, largest, STEPS_PER_SCALE)
    noisy = NoisyGradient(step, delta, rounding, scale, grid_step, pure)
    noisy.law(ball.manifold.dim)  # refuses a scale that cannot be drawn, before a budget is spent
    return noisy


def gradient_rounding(manifold: Manifold, n: int) -> float:
    """Bound on the rounding of a gradient, relative to the largest term of a record.

    The rounding of the sum over records, of adding up the projections on the eigenspaces of the
    curvature operator, and of the two vectors that get the noise; doubled, since the sum of two
    norms may be twice the longest term.
    """
    eps = np.finfo(np.float64).eps
    projections = 4 * manifold.dim**1.5 * manifold.kernels.eigenspaces * eps
    return float(2 * (_core.summation_error(n) + projections + 2 * eps))


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
        return cls(ball, v_max, ball.frame.origin, np.zeros(ball.manifold.dim))

    def run(
        self,
        rows: FloatArray,
        times: FloatArray,
        steps: Sequence[NoisyGradient],
        stream: _core.Stream,
    ) -> None:
        """Takes the steps, each with noise of its own."""
        manifold = self.ball.frame.manifold
        for noisy in steps:
            _, g_p, g_v = manifold.regression_energy(
                rows, times, self.footpoint, self.velocity, noisy.step.tau
            )
            self.step(*noisy.add_noise(g_p, g_v, stream), noisy.step.length)

    def step(self, g_p: FloatArray, g_v: FloatArray, length: float) -> None:
        """Moves against noisy gradients and returns to the support: post-processing."""
        velocity = self.velocity - length * SLOPE_STEP * g_v
        self.move(shorten(-length * g_p, 2 * self.ball.radius), shorten(velocity, self.v_max))

    def move(self, shift: FloatArray, velocity: FloatArray) -> None:
        """To exp_p(shift), projected on the ball, with the velocity carried along."""
        self.footpoint, (self.velocity,) = moved(
            self.ball, self.v_max, self.footpoint, shift, velocity[None]
        )


def moved(
    ball: Ball, v_max: float, footpoint: FloatArray, shift: FloatArray, velocities: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """exp_p(shift), projected on the ball, with velocities carried along, in the ball's frame.

    Velocities, shape (q, dim), are shortened together if their lengths add up to more than `v_max`.
    """
    end = ball._step(footpoint, shift)
    carried = carry(ball.frame.manifold, velocities, footpoint[None], end[None])
    return end, shorten_together(carried, v_max)


def carry(
    manifold: _core.Manifold, coords: FloatArray, base: FloatArray, end: FloatArray
) -> FloatArray:
    """Coordinates at `end` of tangent vectors at `base` carried along the shortest geodesic."""
    tangent = np.empty((len(coords), base.shape[1]))
    carried, result = np.empty_like(tangent), np.empty_like(coords)
    manifold.from_coords(np.ascontiguousarray(coords), base, tangent)
    manifold.parallel_transport(tangent, base, end, carried)
    manifold.coords(carried, end, result)
    return result


def shorten_together(vectors: FloatArray, limit: float) -> FloatArray:
    """Rows whose lengths add up to at most `limit`; 0 if one is not finite."""
    total = sum(float(np.linalg.norm(vector)) for vector in vectors)
    if not math.isfinite(total):
        return np.zeros_like(vectors)
    return vectors * (limit / total) if total > limit else vectors


def shorten(vector: FloatArray, limit: float) -> FloatArray:
    """The vector at a length of at most `limit`; 0 if it is not finite."""
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length):
        return np.zeros_like(vector)
    return vector * (limit / length) if length > limit else vector
