"""Twin of HPD(m): Hermitian matrices with the metric Re tr(P^-1 U P^-1 V).

Written with complex matrices, real and imaginary parts on the last axis of points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from reference.twin import Array, PointMap, Twin

Complex = NDArray[np.complex128]


def to_complex(point: Array) -> Complex:
    return np.asarray(point[..., 0] + 1j * point[..., 1])


def to_real(matrix: Complex) -> Array:
    return np.stack([matrix.real, matrix.imag], axis=-1)


def hermitian(matrix: Complex) -> Complex:
    return np.asarray(0.5 * (matrix + matrix.conj().T))


def apply_to_eigenvalues(function: Any, matrix: Complex) -> Complex:
    """f(A) for a Hermitian matrix A."""
    values, vectors = np.linalg.eigh(matrix)
    return hermitian((vectors * function(values)) @ vectors.conj().T)


def normal(rng: np.random.Generator, m: int) -> Complex:
    return np.asarray(rng.standard_normal((m, m)) + 1j * rng.standard_normal((m, m)))


def random_unitary(rng: np.random.Generator, m: int) -> Complex:
    """A Haar-distributed unitary matrix."""
    q, r = np.linalg.qr(normal(rng, m))
    diagonal = np.diag(r)
    return np.asarray(q * (diagonal / np.abs(diagonal)))


class HPD(Twin):
    def __init__(self, m: int) -> None:
        self.m = m
        self.dim = m * m
        self.point_shape = (m, m, 2)

    def whiten(self, matrix: Array, base: Array) -> Complex:
        """L^-1 M L^-* with base = L L^*."""
        lower = np.linalg.cholesky(to_complex(base))
        half = solve_triangular(lower, to_complex(matrix), lower=True)
        return hermitian(solve_triangular(lower, half.conj().T, lower=True))

    def colour(self, matrix: Complex, base: Array) -> Array:
        """L M L^*: the inverse of `whiten`."""
        lower = np.linalg.cholesky(to_complex(base))
        return to_real(hermitian(lower @ matrix @ lower.conj().T))

    def whitened_log(self, point: Array, base: Array) -> Complex:
        """log(L^-1 Q L^-*), through log1p of the difference when the points are close."""
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
        return float(np.sum(self.whiten(a, base).conj() * self.whiten(b, base)).real)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        root = apply_to_eigenvalues(np.sqrt, self.whiten(end, base))
        return self.colour(root @ self.whiten(vector, base) @ root, base)

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        return self.by_brackets(-1.0, velocity, base)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return to_real(hermitian(to_complex(vector)))

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        turn = random_unitary(rng, self.m)
        values = np.exp(spread * rng.standard_normal(self.m))
        return to_real(hermitian((turn * values) @ turn.conj().T))

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        scale = np.exp(0.5 * rng.standard_normal(self.m))
        left, right = random_unitary(rng, self.m), random_unitary(rng, self.m)
        there, back = (left * scale) @ right, right.conj().T @ (left / scale).conj().T

        def by(factor: Complex) -> PointMap:
            return lambda p: to_real(hermitian(factor @ to_complex(p) @ factor.conj().T))

        return by(there), by(back)
