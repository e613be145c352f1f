"""Twin of the flat torus: angles in [-pi, pi), their differences wrapped."""

from __future__ import annotations

import numpy as np

from reference.twin import Array, PointMap, Twin

#: 2 pi less the double next to it.
REST = 2.4492935982947064e-16


def wrap(angles: Array) -> Array:
    """The same angles in [-pi, pi): Python's remainder has the sign of the divisor."""
    turned = np.mod(angles, 2 * np.pi)
    return np.where(turned >= np.pi, turned - 2 * np.pi, turned)


class Torus(Twin):
    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.point_shape = (dim,)
        self.injectivity_radius = np.pi

    def exp(self, vector: Array, base: Array) -> Array:
        return wrap(base + vector)

    def log(self, point: Array, base: Array) -> Array:
        difference = point - base
        # to the copy one turn away: less than one turn from -pi to the one, from the other to pi
        around = (np.pi - np.abs(point)) + (np.pi - np.abs(base)) + REST
        across = np.where(difference > 0, -around, around)
        return np.asarray(np.where(np.abs(difference) <= np.pi, difference, across))

    def dist(self, a: Array, b: Array) -> float:
        return self.norm(self.log(b, a), a)

    def inner(self, a: Array, b: Array, base: Array) -> float:
        return float(a @ b)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        return vector

    def to_tangent(self, vector: Array, base: Array) -> Array:
        return vector

    def is_cut(self, dist: float) -> bool:
        """Never: a rule chooses the side."""
        return False

    def start_point(self, total: Array) -> tuple[Array, float]:
        pairs = total.reshape(-1, 2)
        angles = np.arctan2(pairs[:, 1], pairs[:, 0])
        return np.where(angles >= np.pi, -np.pi, angles), float(np.hypot(*pairs.T).min())

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        return wrap(rng.uniform(-np.pi, np.pi, self.dim))

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        order, shift = rng.permutation(self.dim), rng.uniform(-np.pi, np.pi, self.dim)
        flip = rng.choice([-1.0, 1.0], self.dim)
        back = np.argsort(order)
        return (
            lambda x: wrap(flip * x[order] + shift),
            lambda x: wrap((flip * (x - shift))[back]),
        )
