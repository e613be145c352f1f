"""Twin of Kendall's space of planar shapes: centred unit vectors in C^k modulo rotation, CP^(k-2).

Points and tangent vectors are `(k, 2)` arrays read as complex vectors; a tangent vector is
horizontal: centred and complex-orthogonal to its base point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reference.twin import Array, PointMap, Twin, random_orthogonal

Complex = NDArray[np.complex128]


def to_complex(array: Array) -> Complex:
    return array[:, 0] + 1j * array[:, 1]


def to_real(vector: Complex) -> Array:
    return np.stack([vector.real, vector.imag], axis=-1)


class KendallPlanar(Twin):
    def __init__(self, k_landmarks: int) -> None:
        self.k = k_landmarks
        self.dim = 2 * k_landmarks - 4
        self.point_shape = (k_landmarks, 2)
        self.injectivity_radius = 0.5 * np.pi

    def phase(self, point: Array, base: Array) -> complex:
        """The unit complex number that rotates `point` closest to `base`."""
        overlap = complex(np.vdot(to_complex(point), to_complex(base)))
        return overlap / abs(overlap) if abs(overlap) > 0.0 else 1.0 + 0.0j

    def exp(self, vector: Array, base: Array) -> Array:
        angle = self.norm(vector, base)
        return np.cos(angle) * base + np.sinc(angle / np.pi) * vector

    def log(self, point: Array, base: Array) -> Array:
        # The horizontal part turns with the point, and that of the difference is accurate.
        direction = self.to_tangent(point - base, base)
        length = self.norm(direction, base)
        if length == 0.0:
            return np.zeros_like(base)
        turned = self.phase(point, base) * to_complex(direction)
        return to_real(self.dist(point, base) / length * turned)

    def dist(self, a: Array, b: Array) -> float:
        horizontal = self.to_tangent(b - a, a)
        overlap = abs(np.vdot(to_complex(a), to_complex(b)))
        return float(np.arctan2(self.norm(horizontal, a), overlap))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(a * b))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        # The complex line of the velocity turns with the geodesic, its complement stays.
        log = self.log(end, base)
        angle = self.norm(log, base)
        if angle == 0.0:
            return to_real(to_complex(vector) / self.phase(end, base))
        velocity, z = to_complex(log) / angle, to_complex(base)
        arrival = np.cos(angle) * velocity - np.sin(angle) * z
        carried = to_complex(vector) + np.vdot(velocity, to_complex(vector)) * (arrival - velocity)
        return to_real(carried / self.phase(end, base))

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        square = self.inner(velocity, velocity, base)
        turned = np.stack([-velocity[:, 1], velocity[:, 0]], axis=1)

        def along(u: Array) -> Array:
            isotropic = square * u - self.inner(u, velocity, base) * velocity
            return np.asarray(isotropic + 3 * self.inner(u, turned, base) * turned)

        return along

    def to_tangent(self, vector: Array, base: Array) -> Array:
        w, z = to_complex(vector), to_complex(base)
        w = w - w.mean()
        return to_real(w - np.vdot(z, w) / np.vdot(z, z) * z)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        point = rng.standard_normal((self.k, 2))
        point -= point.mean(axis=0)
        return point / np.linalg.norm(point)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        """A unitary map of the centred vectors: fixed axis (1, ..., 1), random elsewhere."""
        gaussian = rng.standard_normal((self.k, self.k)) + 1j * rng.standard_normal(
            (self.k, self.k)
        )
        gaussian[:, 0] = 1.0
        basis, _ = np.linalg.qr(gaussian)  # its first column is the axis
        turn = np.eye(self.k, dtype=complex)
        phases = np.diag(np.exp(2j * np.pi * rng.uniform(size=self.k - 1)))
        turn[1:, 1:] = random_orthogonal(rng, self.k - 1) @ phases
        unitary = basis @ turn @ basis.conj().T
        return (
            lambda x: to_real(unitary @ to_complex(x)),
            lambda x: to_real(unitary.conj().T @ to_complex(x)),
        )
