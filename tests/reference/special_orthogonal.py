"""Twin of the rotations SO(n): base @ exp(W) for skew W, from the eigenvectors of complex Schur
forms; the distance is sqrt(sum of squared angles)."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from reference.rotations import skew
from reference.twin import Array, PointMap, Twin


def exp_minus_one(generator: Array) -> Array:
    """exp(W) - I: iW is Hermitian."""
    values, vectors = np.linalg.eigh(1j * generator)
    return np.asarray((vectors * np.expm1(-1j * values)) @ vectors.conj().T).real


class SpecialOrthogonal(Twin):
    injectivity_radius = np.pi

    def __init__(self, n: int) -> None:
        self.n = n
        self.dim = n * (n - 1) // 2
        self.point_shape = (n, n)
        if n == 3:
            self.constant_curvature = 0.25

    def exp(self, vector: Array, base: Array) -> Array:
        return base + base @ exp_minus_one(skew(base.T @ vector))

    @staticmethod
    def angles(point: Array, base: Array) -> tuple[Array, Array]:
        """Angles of the eigenvalues of base.T @ point, and unitary eigenvectors.

        Of the difference to the identity the skew part carries no rounding error to first order;
        the symmetric one is minus half the square of the whole.
        """
        difference = base.T @ (point - base)
        normal = skew(difference) - 0.5 * difference.T @ difference
        form, vectors = scipy.linalg.schur(normal, output="complex")
        values = np.diag(form)
        return np.arctan2(values.imag, 1 + values.real), vectors

    def log(self, point: Array, base: Array) -> Array:
        angles, vectors = self.angles(point, base)
        return base @ skew(((vectors * (1j * angles)) @ vectors.conj().T).real)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.angles(b, a)[0]) / np.sqrt(2))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return 0.5 * float(np.sum(a * b))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        half = np.eye(self.n) + exp_minus_one(0.5 * base.T @ self.log(end, base))
        return base @ half @ (base.T @ vector) @ half

    def whiten(self, vector: Array, base: Array) -> Array:
        """X of the tangent part base @ X of a vector."""
        return np.asarray(base.T @ vector)

    def colour(self, matrix: Array, base: Array) -> Array:
        return np.asarray(base @ matrix)

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        return self.by_brackets(-1.0, velocity, base)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return base @ skew(base.T @ vector)

    def start_point(self, total: Array) -> tuple[Array, float]:
        u, values, vh = np.linalg.svd(total.reshape(self.point_shape))
        if np.linalg.det(u @ vh) < 0:
            u[:, -1], values[-1] = -u[:, -1], -values[-1]
        return u @ vh, float(values[-1])

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        q, r = np.linalg.qr(rng.standard_normal(self.point_shape))
        turn = q * np.sign(np.diag(r))
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        return np.asarray(turn)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        left, right = self.random_point(rng), self.random_point(rng)
        return lambda x: left @ x @ right, lambda x: left.T @ x @ right.T
