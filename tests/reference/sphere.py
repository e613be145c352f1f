"""Twin of the sphere of radius R in R^(dim+1): great circles."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin, random_orthogonal


class Sphere(Twin):
    def __init__(self, dim: int, radius: float = 1.0) -> None:
        self.dim = dim
        self.radius = radius
        self.point_shape = (dim + 1,)
        self.injectivity_radius = np.pi * radius
        self.constant_curvature = radius**-2 if dim > 1 else 0.0

    def exp(self, vector: Array, base: Array) -> Array:
        angle = self.norm(vector, base) / self.radius
        return np.cos(angle) * base + np.sinc(angle / np.pi) * vector

    def log(self, point: Array, base: Array) -> Array:
        # The tangent part of the point is that of the difference and of the sum, and whichever of
        # the two is short carries no rounding error.
        short = point - base if point @ base > 0 else point + base
        direction = self.to_tangent(short, base)
        length = self.norm(direction, base)
        if length == 0.0:
            return np.zeros_like(base)
        return self.dist(point, base) / length * direction

    def dist(self, a: Array, b: Array) -> float:
        chord, cochord = self.norm(a - b, a), self.norm(a + b, a)
        return 2.0 * self.radius * float(np.arctan2(chord, cochord))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(a @ b)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        log = self.log(end, base)
        length = self.norm(log, base)
        if length == 0.0:
            return vector
        velocity, angle = log / length, length / self.radius
        arrival = np.cos(angle) * velocity - np.sin(angle) * base / self.radius
        return vector + (vector @ velocity) * (arrival - velocity)

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return vector - (vector @ base) / (base @ base) * base

    def start_point(self, total: Array) -> tuple[Array, float]:
        length = float(np.linalg.norm(total))
        return self.radius * total / length, length

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        point = rng.standard_normal(self.dim + 1)
        return self.radius * point / np.linalg.norm(point)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        turn = random_orthogonal(rng, self.dim + 1)
        return lambda x: turn @ x, lambda x: turn.T @ x
