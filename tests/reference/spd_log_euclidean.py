"""Twin of SPD(m) with the log-Euclidean metric: the matrix logarithm is an isometry to Sym(m)."""

from __future__ import annotations

import numpy as np

from reference.spd_affine import apply_to_eigenvalues, random_spd, symmetric
from reference.twin import Array, PointMap, Twin, random_orthogonal


def log_quotients(values: Array) -> Array:
    """(log a - log b)/(a - b) for all pairs of eigenvalues, and 1/a on the diagonal."""
    out = np.ones((len(values), len(values))) / values
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a != b:
                close = abs(a - b) < 0.5 * b
                logs = np.log1p((a - b) / b) if close else np.log(a) - np.log(b)
                out[i, j] = logs / (a - b)
    return out


class SPDLogEuclidean(Twin):
    def __init__(self, m: int) -> None:
        self.m = m
        self.dim = m * (m + 1) // 2
        self.point_shape = (m, m)

    def dlog(self, vector: Array, base: Array) -> Array:
        """The derivative of the matrix logarithm at `base` (Daleckii-Krein)."""
        values, q = np.linalg.eigh(base)
        return symmetric(q @ (log_quotients(values) * (q.T @ vector @ q)) @ q.T)

    def dexp_at_log(self, vector: Array, base: Array) -> Array:
        """The derivative of the matrix exponential at log `base`: the inverse of `dlog`."""
        values, q = np.linalg.eigh(base)
        return symmetric(q @ ((q.T @ vector @ q) / log_quotients(values)) @ q.T)

    def exp(self, vector: Array, base: Array) -> Array:
        logarithm = apply_to_eigenvalues(np.log, base) + self.dlog(vector, base)
        return apply_to_eigenvalues(np.exp, logarithm)

    def norm_of_chart(self, point: Array) -> float:
        return float(np.linalg.norm(apply_to_eigenvalues(np.log, point)))

    def chart_difference(self, point: Array, base: Array) -> Array:
        return apply_to_eigenvalues(np.log, point) - apply_to_eigenvalues(np.log, base)

    def log(self, point: Array, base: Array) -> Array:
        return self.dexp_at_log(self.chart_difference(point, base), base)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.chart_difference(b, a)))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(self.dlog(a, base) * self.dlog(b, base)))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        return self.dexp_at_log(self.dlog(vector, base), end)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return symmetric(vector)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return random_spd(rng, self.m, spread)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        turn = random_orthogonal(rng, self.m)
        shift = symmetric(rng.standard_normal((self.m, self.m)))

        def there(point: Array) -> Array:
            chart = apply_to_eigenvalues(np.log, point)
            return apply_to_eigenvalues(np.exp, turn @ chart @ turn.T + shift)

        def back(point: Array) -> Array:
            chart = apply_to_eigenvalues(np.log, point)
            return apply_to_eigenvalues(np.exp, turn.T @ (chart - shift) @ turn)

        return there, back
