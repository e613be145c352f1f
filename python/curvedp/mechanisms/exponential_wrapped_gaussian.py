"""Exponential-wrapped Gaussian mechanism: mu-GDP on Hadamard manifolds.

Gaussian noise in the tangent space at the ball's centre c, carried to the manifold by exp_c (Jiang
et al., Algorithm 1). On a Hadamard manifold log_c is 1-Lipschitz, so sigma = Delta/mu.
Proof: docs/proofs/exponential-wrapped-gaussian.md.
"""

from __future__ import annotations

from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.calibration import outward_scale


class ExponentialWrappedGaussian(ChartGaussian):
    """Noise exp_c(log_c(p) + sigma N(0, I)), sigma = sensitivity/mu, on Hadamard manifolds.

    The expected error is exact for a true value at the centre and a lower bound elsewhere, since
    exp_c expands distances.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.0)
    >>> noise = ExponentialWrappedGaussian(ball, 0.01, cdp.GDP(mu=1.0))
    >>> round(noise.scale, 6), noise.sample(ball.center).shape
    (0.01, (1, 2, 2))
    """

    name = "exponential-wrapped Gaussian"
    proof = "docs/proofs/exponential-wrapped-gaussian.md"

    def _calibrate(self) -> float:
        mu = self._mu()
        if not self.ball.manifold._has_hadamard_frame:
            raise ValueError(
                f"the exponential-wrapped Gaussian needs a Hadamard manifold, not "
                f"{self.ball.manifold.spec}: use RiemannianGaussian or TangentGaussian"
            )
        return outward_scale(self.sensitivity, mu)
