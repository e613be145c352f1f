"""Quantile of a region whose covariance is mostly noise: parametric bootstrap of the noise.

The expansion of quantiles.py holds for small errors M of Gamma, and leaves out the floor under the
eigenvalues, which keeps Gamma from being far too small. For large M, noise is added once more to S
and H, their eigenvalues are clipped once more, and the quantile of y' Gamma*^-1 y, y ~ N(0, Gamma),
is simulated. This starts from the released S shrunk towards a multiple of I, since noise has spread
its eigenvalues (Ledoit and Wolf 2004, with a known variance). Draws come from a fixed seed: the
quantile is a function of the releases. Measured: docs/proofs/confidence-region.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from curvedp._validation import FloatArray
from curvedp.statistics.symmetric import clip_eigenvalues

_DRAWS = 12_000
_MATRICES = 400


@dataclass(frozen=True)
class NoisyCovariance:
    """Gamma = H^-1 S H^-1/n + N at the base point, and the noise in its parts.

    Attributes
    ----------
    second : ndarray, shape (dim, dim)
        S, with eigenvalues in `second_range`.
    second_range : pair of float
    second_scale : float
        Noise per coordinate of `vecd`; smaller by 1/sqrt(dim + 1) on the trace.
    hessian : ndarray, shape (dim, dim)
        H, with eigenvalues in `hessian_range`.
    hessian_range : pair of float
    hessian_scale : float
    mean_noise : ndarray, shape (dim, dim)
        N.
    n : int
    """

    second: FloatArray
    second_range: tuple[float, float]
    second_scale: float
    hessian: FloatArray
    hessian_range: tuple[float, float]
    hessian_scale: float
    mean_noise: FloatArray
    n: int

    def gamma(self, second: FloatArray, hessian: FloatArray) -> FloatArray:
        """H^-1 S H^-1/n + N, for stacks of matrices."""
        inverse = np.linalg.inv(hessian)
        return np.asarray(inverse @ second @ inverse / self.n + self.mean_noise)

    def less_spread(self) -> FloatArray:
        """S with the spread of its eigenvalues reduced by what noise and sampling add to it."""
        dim, trace = len(self.second), float(np.trace(self.second))
        middle = trace / dim * np.eye(dim)
        noise = self.second_scale**2 * (dim * (dim + 1) / 2 - 1)
        noise += (float(np.sum(self.second**2)) + trace**2) / (self.n - 1)
        spread = float(np.sum((self.second - middle) ** 2))
        kept = max(1 - noise / spread, 0.0) if spread > 0 else 0.0
        return np.asarray(middle + kept * (self.second - middle))

    def quantile(self, level: float) -> float:
        """The q with P(y' Gamma*^-1 y <= q) = level."""
        dim, second = len(self.second), self.less_spread()
        rng = np.random.default_rng(0)
        count = min(_MATRICES, max(60, 400_000 // dim**2))
        root = np.linalg.cholesky(second)
        sampling = math.sqrt(2 / (self.n - 1)) * _symmetric(rng, count, dim)
        noise = self.second_scale * _symmetric(rng, count, dim)
        trace = np.trace(noise, axis1=1, axis2=2)[:, None, None] / dim
        noise -= (1 - 1 / math.sqrt(dim + 1)) * trace * np.eye(dim)
        seconds = clip_eigenvalues(second + root @ sampling @ root.T + noise, *self.second_range)
        hessians = self.hessian[None]
        if self.hessian_scale > 0:
            errors = self.hessian_scale * _symmetric(rng, count, dim)
            hessians = clip_eigenvalues(self.hessian + errors, *self.hessian_range)
        normal = rng.standard_normal((count, _DRAWS // count, dim))
        y = normal @ np.linalg.cholesky(self.gamma(second, self.hessian)).T
        solved = np.linalg.solve(self.gamma(seconds, hessians), np.swapaxes(y, 1, 2))
        return float(np.quantile(np.sum(y * np.swapaxes(solved, 1, 2), axis=-1), level))


def _symmetric(rng: np.random.Generator, count: int, dim: int) -> FloatArray:
    """Symmetric matrices, standard normal in the Frobenius norm, shape (count, dim, dim)."""
    square = rng.standard_normal((count, dim, dim))
    return np.asarray((square + np.swapaxes(square, 1, 2)) / 2)
