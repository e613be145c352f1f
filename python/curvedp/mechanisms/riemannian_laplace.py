"""Riemannian Laplace mechanism: epsilon-DP on every homogeneous manifold.

Density proportional to exp(-lambda rho(p, y)) with respect to the Riemannian volume (Reimherr et al.
2021). On a homogeneous manifold its normalising constant does not depend on the true value p, so by the
triangle inequality lambda = epsilon/Delta gives epsilon-DP. Proof: docs/proofs/riemannian-laplace.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.errors import ExistenceError
from curvedp.mechanisms.base import Mechanism, require_existence


class RiemannianLaplace(Mechanism):
    """Riemannian Laplace noise, scale 1/lambda = sensitivity/epsilon."""

    name = "Riemannian Laplace"
    proof = "docs/proofs/riemannian-laplace.md"
    profile = "laplace"

    def _calibrate(self) -> float:
        epsilon = self._epsilon()
        require_existence(self.ball, self.sensitivity, epsilon)
        return self.sensitivity / epsilon

    def _build_noise(self) -> _core.Noise:
        try:
            return self._intrinsic_noise()
        except ValueError as error:
            smallest = self._smallest_drawable_epsilon()
            raise ExistenceError(
                f"{error}; epsilon {smallest:.4g} is large enough at sensitivity "
                f"{self.sensitivity:.4g}",
                smallest_epsilon=smallest,
            ) from None

    def _smallest_drawable_epsilon(self) -> float:
        """Smallest epsilon, to 1 %, whose noise the exact sampler draws at an acceptable rate."""
        low, high = self._epsilon(), 2 * self._epsilon()
        while not self._drawable(high):
            low, high = high, 2 * high
        while high > 1.01 * low:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._drawable(middle) else (middle, high)
        return high

    def _drawable(self, epsilon: float) -> bool:
        scale = self.sensitivity / epsilon
        try:
            _core.Noise(*self.ball.manifold.noise_space, self.profile, scale)
        except ValueError:
            return False
        return True

    def _sample_in_frame(
        self, true_value: FloatArray, stream: _core.Stream, n_samples: int
    ) -> FloatArray:
        return self._sample_around(true_value, stream, n_samples)

    def log_density(self, point: ArrayLike, true_value: ArrayLike) -> FloatArray:
        return np.asarray(-self.ball.manifold.dist(point, true_value) / self.scale)
