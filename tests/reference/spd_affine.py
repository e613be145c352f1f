"""Twin of SPD(m) with the affine-invariant metric tr(P^-1 U P^-1 V)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from reference.twin import Array, PointMap, Twin, random_orthogonal


def symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def apply_to_eigenvalues(function: np.ufunc, matrix: Array) -> Array:
    """f(S) for a symmetric matrix S."""
    values, vectors = np.linalg.eigh(matrix)
    return symmetric((vectors * function(values)) @ vectors.T)


def random_spd(rng: np.random.Generator, m: int, spread: float) -> Array:
    """Haar eigenvectors, log-eigenvalues normal with standard deviation `spread`."""
    turn = random_orthogonal(rng, m)
    return symmetric((turn * np.exp(spread * rng.standard_normal(m))) @ turn.T)


class SPDAffine(Twin):
    def __init__(self, m: int) -> None:
        self.m = m
        self.dim = m * (m + 1) // 2
        self.point_shape = (m, m)

    def whiten(self, matrix: Array, base: Array) -> Array:
        """L^-1 M L^-T with base = L L^T: the congruence that takes the base point to I."""
        lower = np.linalg.cholesky(base)
        half = solve_triangular(lower, matrix, lower=True)
        return symmetric(solve_triangular(lower, half.T, lower=True))

    def colour(self, matrix: Array, base: Array) -> Array:
        """L M L^T: the inverse of `whiten`."""
        lower = np.linalg.cholesky(base)
        return symmetric(lower @ matrix @ lower.T)

    def whitened_log(self, point: Array, base: Array) -> Array:
        """log(L^-1 Q L^-T), through log1p of the difference when the points are close."""
        difference = self.whiten(point - base, base)
        if np.linalg.norm(difference) < 0.5:
            return apply_to_eigenvalues(np.log1p, difference)
        return apply_to_eigenvalues(np.log, self.whiten(point, base))

    def exp(self, vector: Array, base: Array) -> Array:
        return self.colour(apply_to_eigenvalues(np.exp, self.whiten(vector, base)), base)

    def log(self, point: Array, base: Array) -> Array:
        return self.colour(self.whitened_log(point, base), base)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.whitened_log(b, a)))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(self.whiten(a, base) * self.whiten(b, base)))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        root = apply_to_eigenvalues(np.sqrt, self.whiten(end, base))
        return self.colour(symmetric(root @ self.whiten(vector, base) @ root), base)

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        return self.by_brackets(-1.0, velocity, base)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return symmetric(vector)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return random_spd(rng, self.m, spread)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        scale = np.exp(0.5 * rng.standard_normal(self.m))
        left, right = random_orthogonal(rng, self.m), random_orthogonal(rng, self.m)
        there, back = (left * scale) @ right, right.T @ (left / scale).T
        return lambda s: symmetric(there @ s @ there.T), lambda s: symmetric(back @ s @ back.T)
