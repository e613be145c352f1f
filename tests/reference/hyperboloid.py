"""Twin of hyperbolic space: the sheet x_0 > 0 of <x, x> = -R^2 in Minkowski space, R^2 = 1/|K|."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin, random_orthogonal


def minkowski(a: Array, b: Array) -> float:
    """-a_0 b_0 + a_1 b_1 + ... ."""
    return float(a[1:] @ b[1:] - a[0] * b[0])


class Hyperboloid(Twin):
    def __init__(self, dim: int, curvature: float = -1.0) -> None:
        self.dim = dim
        self.radius = 1.0 / np.sqrt(-curvature)
        self.constant_curvature = curvature if dim > 1 else 0.0
        self.point_shape = (dim + 1,)

    def exp(self, vector: Array, base: Array) -> Array:
        angle = self.norm(vector, base) / self.radius
        sinhc = np.sinh(angle) / angle if angle > 0.0 else 1.0
        return np.cosh(angle) * base + sinhc * vector

    def log(self, point: Array, base: Array) -> Array:
        direction = self.to_tangent(point - base, base)
        length = self.norm(direction, base)
        if length == 0.0:
            return np.zeros_like(base)
        return self.dist(point, base) / length * direction

    def dist(self, a: Array, b: Array) -> float:
        # R sinh(d/R) is the length of the tangent part of b - a, which forgets the radial rounding.
        return self.radius * float(
            np.arcsinh(self.norm(self.to_tangent(b - a, a), a) / self.radius)
        )

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return minkowski(a, b)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        middle = base + end
        # <end - base, v> = <end, v>, and is accurate when the points are close.
        share = minkowski(end - base, vector) / minkowski(middle, middle)
        return vector - 2.0 * share * middle

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return vector - minkowski(vector, base) / minkowski(base, base) * base

    def on_sheet(self, space: Array) -> Array:
        """The point with the given space part."""
        return np.concatenate([[np.sqrt(self.radius**2 + space @ space)], space])

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        direction = rng.standard_normal(self.dim)
        distance = spread * np.abs(rng.standard_normal())
        return self.on_sheet(
            self.radius * np.sinh(distance) * direction / np.linalg.norm(direction)
        )

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        turn = np.eye(self.dim + 1)
        turn[1:, 1:] = random_orthogonal(rng, self.dim)
        boost = np.eye(self.dim + 1)
        rapidity = rng.uniform(-1.0, 1.0)
        boost[:2, :2] = [
            [np.cosh(rapidity), np.sinh(rapidity)],
            [np.sinh(rapidity), np.cosh(rapidity)],
        ]
        back = np.eye(self.dim + 1)
        back[:2, :2] = [
            [np.cosh(rapidity), -np.sinh(rapidity)],
            [-np.sinh(rapidity), np.cosh(rapidity)],
        ]
        return lambda x: boost @ turn @ x, lambda x: turn.T @ back @ x
