"""Twin of SPD(m) with the log-Cholesky metric (Lin 2019).

The chart that keeps the strictly lower part of the Cholesky factor and takes the logarithm of its
diagonal is an isometry to the lower triangular matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from reference.spd_affine import random_spd, symmetric
from reference.twin import Array, PointMap, Twin


def half_diagonal(matrix: Array) -> Array:
    """Lower triangle with half the diagonal."""
    return np.tril(matrix, -1) + 0.5 * np.diag(np.diag(matrix))


class SPDLogCholesky(Twin):
    def __init__(self, m: int) -> None:
        self.m = m
        self.dim = m * (m + 1) // 2
        self.point_shape = (m, m)

    def chart(self, point: Array) -> Array:
        lower = np.linalg.cholesky(point)
        return np.tril(lower, -1) + np.diag(np.log(np.diag(lower)))

    def norm_of_chart(self, point: Array) -> float:
        return float(np.linalg.norm(self.chart(point)))

    def unchart(self, coords: Array) -> Array:
        lower = np.tril(coords, -1) + np.diag(np.exp(np.diag(coords)))
        return symmetric(lower @ lower.T)

    def dchart(self, vector: Array, base: Array) -> Array:
        """Derivative of the chart: dL = L (L^-1 V L^-T)_half, and dL_ii / L_ii on the diagonal."""
        lower = np.linalg.cholesky(base)
        half = solve_triangular(lower, vector, lower=True)
        dlower = lower @ half_diagonal(solve_triangular(lower, half.T, lower=True))
        return np.tril(dlower, -1) + np.diag(np.diag(dlower) / np.diag(lower))

    def dunchart(self, coords: Array, base: Array) -> Array:
        """The inverse of `dchart`: dL L^T + L dL^T."""
        lower = np.linalg.cholesky(base)
        dlower = np.tril(coords, -1) + np.diag(np.diag(coords) * np.diag(lower))
        return dlower @ lower.T + lower @ dlower.T

    def exp(self, vector: Array, base: Array) -> Array:
        return self.unchart(self.chart(base) + self.dchart(vector, base))

    def log(self, point: Array, base: Array) -> Array:
        return self.dunchart(self.chart(point) - self.chart(base), base)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.chart(a) - self.chart(b)))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(self.dchart(a, base) * self.dchart(b, base)))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        return self.dunchart(self.dchart(vector, base), end)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return symmetric(vector)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return random_spd(rng, self.m, spread)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        shift = np.tril(rng.standard_normal((self.m, self.m)))
        return (
            lambda point: self.unchart(self.chart(point) + shift),
            lambda point: self.unchart(self.chart(point) - shift),
        )
