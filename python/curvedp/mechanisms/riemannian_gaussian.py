"""Riemannian Gaussian mechanism: mu-GDP on symmetric spaces of nonnegative curvature.

Density proportional to exp(-rho(p, y)^2 / (2 sigma^2)) with respect to the Riemannian volume, with
sigma = Delta/mu (Jiang et al., Algorithm 1). Proof: docs/proofs/riemannian-gaussian.md.
"""

from __future__ import annotations

from curvedp.mechanisms.base import IntrinsicMechanism
from curvedp.mechanisms.calibration import outward_scale


class RiemannianGaussian(IntrinsicMechanism):
    """Riemannian Gaussian noise, sigma = sensitivity/mu, on nonnegative curvature.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> noise = RiemannianGaussian(ball, 0.01, cdp.GDP(mu=1.0))
    >>> round(noise.scale, 6), noise.sample(ball.center, n_samples=5).shape
    (0.01, (5, 3))
    """

    name = "Riemannian Gaussian"
    proof = "docs/proofs/riemannian-gaussian.md"
    profile = "gaussian"

    def _calibrate(self) -> float:
        mu = self._mu()
        if self.ball.manifold.curvature_bounds[0] < 0:
            raise ValueError(
                f"the Riemannian Gaussian needs nonnegative curvature, which "
                f"{self.ball.manifold.spec} has not: use ExponentialWrappedGaussian"
            )
        return outward_scale(self.sensitivity, mu)
