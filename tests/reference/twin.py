"""Base of every twin; see the file of each manifold for the formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PointMap = Callable[[Array], Array]


class Twin:
    """A manifold for one point and one tangent vector at a time (arrays of `point_shape`)."""

    dim: int
    point_shape: tuple[int, ...]
    injectivity_radius: float = np.inf
    #: Curvature of all planes; 0 if it is not the same for all.
    constant_curvature: float = 0.0

    def exp(self, vector: Array, base: Array) -> Array:
        raise NotImplementedError

    def log(self, point: Array, base: Array) -> Array:
        raise NotImplementedError

    def dist(self, a: Array, b: Array) -> float:
        raise NotImplementedError

    def inner(self, a: Array, b: Array, base: Array) -> float:
        raise NotImplementedError

    def parallel_transport(self, vector: Array, base: Array, end: Array) -> Array:
        """Along the minimising geodesic from `base` to `end`."""
        raise NotImplementedError

    def to_tangent(self, vector: Array, base: Array) -> Array:
        raise NotImplementedError

    def curvature_along(self, velocity: Array, base: Array) -> PointMap:
        """u -> R(u, v)v at the base point."""
        square = self.inner(velocity, velocity, base)

        def isotropic(u: Array) -> Array:
            along = self.inner(u, velocity, base)
            return np.asarray(self.constant_curvature * (square * u - along * velocity))

        return isotropic

    def is_cut(self, dist: float) -> bool:
        """True if records at that distance from a centre count as the centre."""
        return dist >= self.injectivity_radius

    def random_point(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        raise NotImplementedError

    def random_isometry(self, rng: np.random.Generator) -> tuple[PointMap, PointMap]:
        """An isometry of the manifold and its inverse, as maps of points."""
        raise NotImplementedError

    def norm(self, vector: Array, base: Array) -> float:
        size = float(np.max(np.abs(vector), initial=0.0))
        if size == 0.0:
            return 0.0
        scaled = vector / size
        return size * float(np.sqrt(max(self.inner(scaled, scaled, base), 0.0)))

    def random_unit_vector(self, rng: np.random.Generator, base: Array) -> Array:
        """A tangent vector of norm 1 (its law is not uniform)."""
        vector = self.to_tangent(rng.standard_normal(self.point_shape), base)
        return vector / self.norm(vector, base)

    def random_points(self, rng: np.random.Generator, n: int, spread: float = 1.0) -> Array:
        return np.array([self.random_point(rng, spread) for _ in range(n)])

    def by_brackets(self, sign: float, velocity: Array, base: Array) -> PointMap:
        """sign [v, [v, u]]/4, of whitened vectors: u -> R(u, v)v of groups and their quotients."""
        v = self.whiten(velocity, base)

        def along(u: Array) -> Array:
            w = self.whiten(u, base)
            inner = v @ w - w @ v
            return self.colour(0.25 * sign * (v @ inner - inner @ v), base)

        return along

    def whiten(self, vector: Array, base: Array) -> NDArray[Any]:
        """A tangent vector carried to the identity, where it is a matrix."""
        raise NotImplementedError

    def colour(self, matrix: NDArray[Any], base: Array) -> Array:
        """Inverse of `whiten`."""
        raise NotImplementedError

    def each(self, method: str, *batches: Array) -> Array:
        """`method` applied to the rows of `batches`, one after the other."""
        return np.array([getattr(self, method)(*rows) for rows in zip(*batches, strict=True)])


def random_orthogonal(rng: np.random.Generator, size: int) -> Array:
    """A Haar-distributed orthogonal matrix."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(q * np.sign(np.diag(r)))
