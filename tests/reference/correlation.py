"""Twin of correlation matrices: the logarithm's entries off the diagonal are an isometry."""

from __future__ import annotations

import numpy as np

from reference.spd_affine import apply_to_eigenvalues, symmetric
from reference.spd_log_euclidean import SPDLogEuclidean, log_quotients
from reference.twin import Array, PointMap


def hollow(matrix: Array) -> Array:
    """The matrix with zeros on its diagonal."""
    return matrix - np.diag(np.diag(matrix))


class Correlation(SPDLogEuclidean):
    def __init__(self, m: int) -> None:
        super().__init__(m)
        self.dim = m * (m - 1) // 2

    def chart(self, point: Array) -> Array:
        return hollow(apply_to_eigenvalues(np.log, point))

    def unchart(self, coords: Array) -> Array:
        """exp(coords + d) with the diagonal d that gives a unit diagonal, by Newton's method."""
        diagonal = np.zeros(self.m)
        for _ in range(200):
            point = apply_to_eigenvalues(np.exp, coords + np.diag(diagonal))
            excess = np.log(np.diag(point))
            if np.max(np.abs(excess)) < 1e-15:
                break
            if np.max(np.abs(excess)) > 0.1:
                diagonal -= excess
            else:
                diagonal -= np.linalg.solve(self.slope(point), np.diag(point) - 1)
        roots = np.sqrt(np.diag(point))
        return point / np.outer(roots, roots)

    def slope(self, base: Array) -> Array:
        """Derivative of diag exp(L) along diagonal matrices, L = log base."""
        columns = [np.diag(self._dexp(np.diag(row), base)) for row in np.eye(self.m)]
        return np.array(columns).T

    def _dexp(self, vector: Array, base: Array) -> Array:
        values, q = np.linalg.eigh(base)
        return symmetric(q @ ((q.T @ vector @ q) / log_quotients(values)) @ q.T)

    def dlog(self, vector: Array, base: Array) -> Array:
        return hollow(super().dlog(vector, base))

    def dexp_at_log(self, vector: Array, base: Array) -> Array:
        bare = self._dexp(vector, base)
        diagonal = np.linalg.solve(self.slope(base), -np.diag(bare))
        return hollow(bare + self._dexp(np.diag(diagonal), base))

    def exp(self, vector: Array, base: Array) -> Array:
        return self.unchart(self.chart(base) + self.dlog(vector, base))

    def norm_of_chart(self, point: Array) -> float:
        return float(np.linalg.norm(self.chart(point)))

    def chart_difference(self, point: Array, base: Array) -> Array:
        return self.chart(point) - self.chart(base)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return hollow(symmetric(vector))

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return self.unchart(hollow(spread * symmetric(rng.standard_normal((self.m, self.m)))))

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        order = rng.permutation(self.m)
        signs = np.outer(*[rng.choice([-1.0, 1.0], self.m)] * 2)
        shift = hollow(symmetric(rng.standard_normal((self.m, self.m))))

        def there(point: Array) -> Array:
            return self.unchart((signs * self.chart(point))[np.ix_(order, order)] + shift)

        def back(point: Array) -> Array:
            chart = (self.chart(point) - shift)[np.ix_(np.argsort(order), np.argsort(order))]
            return self.unchart(signs * chart)

        return there, back
