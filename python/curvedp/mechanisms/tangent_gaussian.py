"""Tangent Gaussian mechanism: mu-GDP in the chart at the ball's centre, on every manifold.

On flat manifolds the chart is an isometry and sigma = Delta/mu. On positive curvature log_c expands
distances in the ball by at most r sqrt(kappa)/sin(r sqrt(kappa)), which multiplies the sensitivity.
Proof: docs/proofs/tangent-gaussian.md.
"""

from __future__ import annotations

from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.calibration import outward_scale


class TangentGaussian(ChartGaussian):
    """Noise exp_c(log_c(p) + sigma N(0, I)), sigma = sensitivity * Lipschitz constant of log_c/mu.

    On positive curvature the expected error is an upper bound, since exp_c contracts distances.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> noise = TangentGaussian(ball, 0.01, cdp.GDP(mu=1.0))
    >>> round(noise.scale, 6), noise.sample(ball.center, n_samples=5).shape
    (0.010429, (5, 3))
    """

    name = "tangent Gaussian"
    proof = "docs/proofs/tangent-gaussian.md"
    stretched = True

    def _calibrate(self) -> float:
        return outward_scale(self.sensitivity * self.ball.frame.lipschitz, self._mu())
