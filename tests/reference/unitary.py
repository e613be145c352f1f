"""Twin of the unitary matrices U(n): base @ exp(W) for skew-Hermitian W, from the eigenvectors of
complex Schur forms; the distance is sqrt(sum of squared angles).

Real and imaginary parts lie on the last axis of points.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from reference.hpd import Complex, hermitian, random_unitary, to_complex, to_real
from reference.twin import Array, PointMap, Twin


def exp_minus_one(h: Complex) -> Complex:
    """exp(iH) - I"""
    values, vectors = np.linalg.eigh(h)
    return np.asarray((vectors * np.expm1(1j * values)) @ vectors.conj().T)


class Unitary(Twin):
    injectivity_radius = np.pi

    def __init__(self, n: int) -> None:
        self.n = n
        self.dim = n * n
        self.point_shape = (n, n, 2)

    def whiten(self, vector: Array, base: Array) -> Complex:
        """H of the tangent part base @ iH of a vector."""
        return hermitian(-1j * to_complex(base).conj().T @ to_complex(vector))

    def colour(self, h: Complex, base: Array) -> Array:
        """base @ iH: the inverse of `whiten`."""
        return to_real(1j * to_complex(base) @ h)

    def exp(self, vector: Array, base: Array) -> Array:
        return base + to_real(to_complex(base) @ exp_minus_one(self.whiten(vector, base)))

    @staticmethod
    def angles(point: Array, base: Array) -> tuple[Array, Complex]:
        """Angles of the eigenvalues of base^* point, and unitary eigenvectors.

        Of the difference to the identity the skew part carries no rounding error to first order;
        the Hermitian one is minus half the square of the whole.
        """
        difference = to_complex(base).conj().T @ to_complex(point - base)
        skew = 0.5 * (difference - difference.conj().T)
        normal = skew - 0.5 * difference.conj().T @ difference
        form, vectors = scipy.linalg.schur(normal, output="complex")
        values = np.diag(form)
        return np.arctan2(values.imag, 1 + values.real), vectors

    def log(self, point: Array, base: Array) -> Array:
        angles, vectors = self.angles(point, base)
        return self.colour(hermitian((vectors * angles) @ vectors.conj().T), base)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.angles(b, a)[0]))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(a * b))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        half = np.eye(self.n) + exp_minus_one(0.5 * self.whiten(self.log(end, base), base))
        return to_real(1j * to_complex(base) @ half @ self.whiten(vector, base) @ half)

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        return self.by_brackets(1.0, velocity, base)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return self.colour(self.whiten(vector, base), base)

    def start_point(self, total: Array) -> tuple[Array, float]:
        u, values, vh = np.linalg.svd(to_complex(total.reshape(self.point_shape)))
        return to_real(u @ vh), float(values[-1])

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return to_real(random_unitary(rng, self.n))

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        left, right = random_unitary(rng, self.n), random_unitary(rng, self.n)
        return (
            lambda x: to_real(left @ to_complex(x) @ right),
            lambda x: to_real(left.conj().T @ to_complex(x) @ right.conj().T),
        )
