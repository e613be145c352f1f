"""Twin of the rotations SO(3): base @ exp(W) for skew W, the distance is the angle of rotation."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin


def skew(matrix: Array) -> Array:
    return 0.5 * (matrix - matrix.T)


def rodrigues(generator: Array) -> Array:
    """exp(W) = I + sin(t)/t W + (1 - cos(t))/t^2 W^2, t = |W|/sqrt 2."""
    t = np.linalg.norm(generator) / np.sqrt(2)
    first, second = np.sinc(t / np.pi), 0.5 * np.sinc(t / (2 * np.pi)) ** 2
    return np.asarray(np.eye(3) + first * generator + second * generator @ generator)


class Rotations(Twin):
    dim = 3
    point_shape = (3, 3)
    injectivity_radius = np.pi
    constant_curvature = 0.25

    def exp(self, vector: Array, base: Array) -> Array:
        return base @ rodrigues(skew(base.T @ vector))

    def log(self, point: Array, base: Array) -> Array:
        # base.T @ point is the identity and this, whose skew part carries no rounding error
        generator = skew(base.T @ (point - base))
        sine = np.linalg.norm(generator) / np.sqrt(2)
        if sine == 0.0:
            return np.zeros((3, 3))
        return self.dist(point, base) / sine * base @ generator

    def dist(self, a: Array, b: Array) -> float:
        sine = np.linalg.norm(skew(a.T @ (b - a))) / np.sqrt(2)
        return float(np.arctan2(sine, 0.5 * (np.trace(a.T @ b) - 1.0)))

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return 0.5 * float(np.sum(a * b))

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        half = rodrigues(0.5 * base.T @ self.log(end, base))
        return base @ half @ (base.T @ vector) @ half

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return base @ skew(base.T @ vector)

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        q, r = np.linalg.qr(rng.standard_normal((3, 3)))
        turn = q * np.sign(np.diag(r))
        return np.asarray(turn * np.sign(np.linalg.det(turn)))

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        left, right = self.random_point(rng), self.random_point(rng)
        return lambda x: left @ x @ right, lambda x: left.T @ x @ right.T
