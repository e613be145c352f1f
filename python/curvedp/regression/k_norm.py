"""The K-norm gradient of geodesic regression, footpoint and velocity at once.

    density of (p, v) = exp(-N(p, v)/sigma),  N = |g_p/2 + g_v| + |g_p/2 - g_v|,
    sigma = 2 Delta/epsilon,

with respect to the Sasaki volume of {p in the ball, |v| <= V}: of bounded range epsilon. Drawn
exactly where the tangent bundle has at most 6 dimensions, by rejection from boxes; elsewhere
a Metropolis chain comes close without a guarantee. Proof: docs/proofs/geodesic-regression.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curvedp import _core, sensitivity
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Manifold
from curvedp.mechanisms.bounded_range import bounded_range_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.mechanisms.grid import grid_step
from curvedp.mechanisms.k_norm_gradient import chain_plan
from curvedp.privacy import Guarantee

#: Largest support, r + V/2 in lengths tau, that boxes cover: they cannot be much larger than tau.
MAX_EXTENT = 50.0


@dataclass(frozen=True)
class KNormGradient:
    """The mechanism, calibrated before a record is seen.

    Attributes
    ----------
    ball : Ball
    tau, v_max : float
        Length at which residuals are clipped, and bound on the velocity.
    sensitivity : float
        Of N.
    rounding : float
        Bound on the rounding error of N.
    scale : float
        sigma.
    """

    ball: Ball
    tau: float
    v_max: float
    sensitivity: float
    rounding: float
    scale: float

    @classmethod
    def calibrate(
        cls,
        ball: Ball,
        n: int,
        guarantee: Guarantee,
        *,
        tau: float,
        v_max: float,
        records_per_unit: int = 1,
    ) -> KNormGradient:
        """For n records, so that `guarantee` holds: sigma = 2 (Delta + 2 rounding)/epsilon."""

        def bound(count: int, changed: int) -> float:
            return sensitivity.regression_sum_of_norms(
                ball, count, tau=tau, v_max=v_max, records_per_unit=changed
            )

        delta = bound(n, records_per_unit)
        rounding = bound(1, 1) * gradient_rounding(ball.manifold, n)
        scale = outward_scale(2 * (delta + 2 * rounding), bounded_range_epsilon(guarantee))
        return cls(ball, tau, v_max, delta, rounding, scale)

    @property
    def step(self) -> float:
        """Of the lattice that is drawn from; raises where rounding leaves none."""
        return grid_step(self.ball, min(self.scale, self.ball.radius, self.v_max))

    @property
    def _law(self) -> _core.KNormRegression:
        return _core.KNormRegression(self.ball.frame, self.tau, self.scale, self.v_max, None)

    def draw(
        self, rows: FloatArray, times: FloatArray, stream: _core.Stream
    ) -> tuple[FloatArray, FloatArray]:
        """An exact draw: footpoint and coordinates of the velocity, in the frame of the ball."""
        drawn, _ = self._law.sample_exact(rows, times, 1, stream, self.step)
        size = rows.shape[1]
        return drawn[:size], drawn[size:]

    def walk(
        self, rows: FloatArray, times: FloatArray, stream: _core.Stream, length: int
    ) -> tuple[FloatArray, FloatArray]:
        """The end of one chain of that length: footpoint and coordinates of the velocity."""
        end = self.chains(rows, times, stream, count=1, burn_in=length - 1, draws=1).draws()
        size = rows.shape[1]
        return end[:size], end[size:]

    def chains(
        self,
        rows: FloatArray,
        times: FloatArray,
        stream: _core.Stream,
        *,
        count: int,
        burn_in: int,
        draws: int,
        thinning: int = 1,
    ) -> _core.Chains:
        """Metropolis chains from public starts, uniform in normal coordinates of the support."""
        starts = self._uniform(stream, count)
        plan = chain_plan(self.ball.radius, burn_in, draws, thinning)
        return self._law.run_chains(rows, times, starts, plan, stream)

    def _uniform(self, stream: _core.Stream, count: int) -> FloatArray:
        """Rows (a, w), each half uniform in its ball."""
        dim = self.ball.manifold.dim
        halves = []
        for limit in (self.ball.radius, self.v_max):
            points, uniform = np.empty((count, dim)), np.empty(count)
            stream.noise("gaussian", 1.0, points.reshape(-1))
            stream.uniform(uniform)
            lengths = np.linalg.norm(points, axis=1)
            halves.append(points * (limit * uniform ** (1 / dim) / lengths)[:, None])
        return np.ascontiguousarray(np.hstack(halves))


def gradient_rounding(manifold: Manifold, n: int) -> float:
    """Bound on the rounding of a gradient, relative to the largest term of a record.

    The rounding of the sum over records, of adding up the projections on the eigenspaces of the
    curvature operator, and of the two vectors that get the noise; doubled, since the sum of two
    norms may be twice the longest term.
    """
    eps = np.finfo(np.float64).eps
    projections = 4 * manifold.dim**1.5 * manifold.kernels.eigenspaces * eps
    return float(2 * (_core.summation_error(n) + projections + 2 * eps))
