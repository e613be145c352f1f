"""Twin of the real projective space RP^d: axes, unit vectors up to sign."""

from __future__ import annotations

import numpy as np

from reference.sphere import Sphere
from reference.twin import Array


class Projective(Sphere):
    """The sphere's formulas for the vector of an axis that is closer to the base point."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.injectivity_radius = 0.5 * np.pi

    @staticmethod
    def sign(point: Array, base: Array) -> float:
        return -1.0 if point @ base < 0 else 1.0

    def log(self, point: Array, base: Array) -> Array:
        return super().log(self.sign(point, base) * point, base)

    def dist(self, a: Array, b: Array) -> float:
        return super().dist(a, self.sign(b, a) * b)

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        sign = self.sign(end, base)
        return sign * super().parallel_transport(vector, base, sign * end)
