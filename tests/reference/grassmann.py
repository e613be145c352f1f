"""Twin of the Grassmannian: bases in columns (Edelman, Arias and Smith 1998)."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin, random_orthogonal


class Grassmann(Twin):
    injectivity_radius = 0.5 * np.pi

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k = n, k
        self.dim = k * (n - k)
        self.point_shape = (n, k)
        if min(k, n - k) == 1 and n > 2:
            self.constant_curvature = 1.0

    def exp(self, vector: Array, base: Array) -> Array:
        u, angles, vt = np.linalg.svd(vector, full_matrices=False)
        return (base @ vt.T * np.cos(angles) + u * np.sin(angles)) @ vt

    @staticmethod
    def parts(point: Array, base: Array) -> tuple[Array, Array, Array]:
        """Principal angles, and the vectors between which they lie, at `base` and across it."""
        p, cosines, qt = np.linalg.svd(base.T @ point)
        difference = point - base
        across = (difference - base @ (base.T @ difference)) @ qt.T
        sines = np.linalg.norm(across, axis=0)
        return np.arctan2(sines, cosines), across / np.where(sines > 0, sines, 1.0), p

    def log(self, point: Array, base: Array) -> Array:
        angles, across, p = self.parts(point, base)
        return np.asarray(across * angles @ p.T)

    def dist(self, a: Array, b: Array) -> float:
        return float(np.linalg.norm(self.parts(b, a)[0]))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(np.sum(a * b))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        velocity = self.log(end, base)
        u, angles, vt = np.linalg.svd(velocity, full_matrices=False)
        along = u.T @ vector
        carried = vector - u @ along
        carried += (u * np.cos(angles) - base @ vt.T * np.sin(angles)) @ along
        return np.asarray(carried @ (self.exp(velocity, base).T @ end))

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        x = velocity
        return lambda y: x @ x.T @ y + y @ x.T @ x - 2 * x @ y.T @ x

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return vector - base @ (base.T @ vector)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return np.linalg.qr(rng.standard_normal(self.point_shape))[0]

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        turn = random_orthogonal(rng, self.n)
        return lambda x: turn @ x, lambda x: turn.T @ x
