"""Twin of Euclidean space."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin, random_orthogonal


class Euclidean(Twin):
    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.point_shape = (dim,)

    def exp(self, vector: Array, base: Array) -> Array:
        return base + vector

    def log(self, point: Array, base: Array) -> Array:
        return point - base

    def dist(self, a: Array, b: Array) -> float:
        return self.norm(a - b, a)

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(a @ b)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        return vector

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return vector

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return spread * rng.standard_normal(self.dim)

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        turn, shift = random_orthogonal(rng, self.dim), rng.standard_normal(self.dim)
        return lambda x: turn @ x + shift, lambda x: turn.T @ (x - shift)
