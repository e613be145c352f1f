"""The l2 mechanism: density proportional to exp(-|x|/scale) in the chart at the ball's centre.

Calibrated to (epsilon, delta) by the noise's own privacy curve in its dimension (Joseph, Yu 2025,
arXiv 2502.15929), which is between those of Laplace noise in low and Gaussian noise in high
dimensions, and below both. Proof: docs/proofs/l2-mechanism.md.
"""

from __future__ import annotations

from curvedp.mechanisms.base import ChartMechanism
from curvedp.mechanisms.calibration import outward_scale, own_epsilon
from curvedp.privacy import ApproxDP, PureDP


class L2Mechanism(ChartMechanism):
    """Noise exp_c(log_c(p) + z), z of scale sensitivity * Lipschitz constant of log_c / epsilon'.

    epsilon' is epsilon for PureDP; for ApproxDP the largest shift that keeps (epsilon, delta),
    `l2_epsilon`. On positive curvature the expected error is an upper bound, since exp_c contracts
    distances; on Hadamard manifolds it is exact at the centre and a lower bound elsewhere.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("euclidean:6", center=[0.0] * 6, radius=1.0)
    >>> noise = cdp.L2Mechanism(ball, 0.01, cdp.ApproxDP(epsilon=1.0, delta=1e-3))
    >>> round(noise.scale, 6), noise.sample(ball.center).shape
    (0.008293, (1, 6))
    """

    name = "l2 mechanism"
    proof = "docs/proofs/l2-mechanism.md"
    profile = "laplace"
    stretched = True

    def _calibrate(self) -> float:
        shift = self.sensitivity * self.ball.frame.lipschitz
        return outward_scale(shift, self._loss.epsilon)

    @property
    def _loss(self) -> PureDP:
        """The pure guarantee that it has beside (epsilon, delta): epsilon'-DP."""
        if not isinstance(self.guarantee, PureDP | ApproxDP):
            raise TypeError(f"{self.name} gives pure or (epsilon, delta)-DP: ask for one of them")
        epsilon = own_epsilon(self.guarantee, self.ball.manifold.dim)
        return PureDP(epsilon, neighbours=self.guarantee.neighbours)
