"""Riemannian Laplace mechanism: epsilon-DP on every homogeneous manifold.

Density proportional to exp(-lambda rho(p, y)) with respect to the Riemannian volume (Reimherr et
al. 2021). On a homogeneous manifold its normalising constant does not depend on the true value p,
so by the triangle inequality lambda = epsilon/Delta gives epsilon-DP.
Proof: docs/proofs/riemannian-laplace.md.
"""

from __future__ import annotations

from curvedp._text import rounded_down, rounded_up
from curvedp.errors import ExistenceError
from curvedp.mechanisms.base import IntrinsicMechanism, largest_laplace_scale
from curvedp.mechanisms.calibration import outward_scale


class RiemannianLaplace(IntrinsicMechanism):
    """Riemannian Laplace noise, scale 1/lambda = sensitivity/epsilon.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> noise = RiemannianLaplace(ball, 0.01, cdp.PureDP(epsilon=1.0))
    >>> round(noise.scale, 6), noise.sample(ball.center, n_samples=5).shape
    (0.01, (5, 3))
    """

    name = "Riemannian Laplace"
    proof = "docs/proofs/riemannian-laplace.md"
    profile = "laplace"

    def _calibrate(self) -> float:
        scale = outward_scale(self.sensitivity, self._epsilon())
        largest = largest_laplace_scale(self.ball.manifold.noise_space)
        if largest == 0:
            raise ExistenceError(
                f"Riemannian Laplace noise on {self.ball.manifold.spec} has no exact sampler; "
                "matrices up to 16 by 16 have one. Ask for GDP, whose noise always exists."
            )
        if scale > largest:
            raise ExistenceError(
                f"Riemannian Laplace noise on {self.ball.manifold.spec} cannot be drawn at scale "
                f"{rounded_up(scale, 4)}, because volumes grow exponentially: scales up to "
                f"{rounded_down(largest, 4)} can. Ask for GDP, whose noise always exists, or for "
                "more epsilon, more records or a smaller radius.",
                smallest_epsilon=self.sensitivity / largest * (1 + 1e-9),  # room for rounding
            )
        return scale
