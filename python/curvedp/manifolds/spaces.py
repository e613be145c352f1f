"""The manifolds: Euclidean space, spheres, SPD matrices, hyperbolic space, planar shapes."""

from __future__ import annotations

import math

import numpy as np

from curvedp._validation import FloatArray, as_choice, as_count, as_negative, as_positive
from curvedp.manifolds.base import Manifold

#: Largest dimension or number of landmarks.
MAX_SIZE = 1_000_000
SPD_METRICS = ("affine-invariant", "log-euclidean", "log-cholesky")


class Euclidean(Manifold):
    """Euclidean space R^dim; points of shape (dim,).

    Parameters
    ----------
    dim : int

    Examples
    --------
    >>> float(Euclidean(3).dist(np.zeros(3), np.ones(3)).round(4))
    1.7321
    """

    def __init__(self, dim: int) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        super().__init__("euclidean", size, 0.0, (size,))

    @property
    def spec(self) -> str:
        return f"euclidean:{self.dim}"

    @property
    def noise_space(self) -> tuple[str, int, float]:
        return "flat", self.dim, 0.0

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return rng.standard_normal((count, self.dim))


class Sphere(Manifold):
    """Sphere of dimension `dim` in R^(dim+1): points x of shape (dim+1,) with |x| = radius.

    Sectional curvature 1/radius^2 (0 on the circle), injectivity radius pi * radius.

    Parameters
    ----------
    dim : int
    radius : float

    Examples
    --------
    >>> float(Sphere(2).dist([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]).round(4))
    1.5708
    """

    def __init__(self, dim: int, *, radius: float = 1.0) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        self.radius = as_positive(radius, "radius")
        super().__init__("sphere", size, self.radius, (size + 1,))

    @property
    def spec(self) -> str:
        return f"sphere:{self.dim}" + ("" if self.radius == 1 else f":{self.radius!r}")

    @property
    def noise_space(self) -> tuple[str, int, float]:
        return "sphere", self.dim, self.radius

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.project(rng.standard_normal((count, self.dim + 1)))


class SPD(Manifold):
    """Symmetric positive definite matrices; points of shape (m, m).

    Parameters
    ----------
    m : int
    metric : {"affine-invariant", "log-euclidean", "log-cholesky"}
        Affine-invariant: <V, W>_P = tr(P^-1 V P^-1 W), curvature in [-1/2, 0]. The other two are
        flat: the matrix logarithm (Arsigny et al. 2007) or the Cholesky factor with logarithmic
        diagonal (Lin 2019) maps them isometrically onto Euclidean space.

    Examples
    --------
    >>> float(SPD(2).dist(np.eye(2), np.e * np.eye(2)).round(4))
    1.4142
    """

    def __init__(self, m: int, *, metric: str = "affine-invariant") -> None:
        self.m = as_count(m, "m", most=1000)
        self.metric = as_choice(metric, SPD_METRICS, "metric")
        kind = "spd" if metric == "affine-invariant" else f"spd:{metric}"
        super().__init__(kind, self.m, 0.0, (self.m, self.m))

    @property
    def spec(self) -> str:
        suffix = "" if self.metric == "affine-invariant" else f":{self.metric}"
        return f"spd:{self.m}{suffix}"

    @property
    def noise_space(self) -> tuple[str, int, float]:
        if self.metric == "affine-invariant":
            return "spd", self.m, 0.0
        return "flat", self.dim, 0.0

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        coords = rng.standard_normal((count, self.dim))
        identity = np.eye(self.m)
        return self.exp(self.coords_to_tangent(coords, identity), identity)


class Hyperboloid(Manifold):
    """Hyperbolic space as the upper sheet <x, x>_L = 1/curvature, time first; points (dim+1,).

    Parameters
    ----------
    dim : int
    curvature : float
        Negative.

    Examples
    --------
    >>> space = Hyperboloid(2)
    >>> float(space.dist(space.origin, space.exp([0.0, 1.5, 0.0], space.origin)).round(4))
    1.5
    """

    def __init__(self, dim: int, *, curvature: float = -1.0) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        self.curvature = as_negative(curvature, "curvature")
        super().__init__("hyperboloid", size, self.curvature, (size + 1,))

    @property
    def spec(self) -> str:
        return f"hyperboloid:{self.dim}" + ("" if self.curvature == -1 else f":{self.curvature!r}")

    @property
    def noise_space(self) -> tuple[str, int, float]:
        return "hyperbolic", self.dim, self.curvature

    @property
    def origin(self) -> FloatArray:
        """The point (1/sqrt(-curvature), 0, ..., 0)."""
        origin = np.zeros(self.dim + 1)
        origin[0] = 1 / math.sqrt(-self.curvature)
        return origin

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        vectors = np.zeros((count, self.dim + 1))
        vectors[:, 1:] = rng.standard_normal((count, self.dim))
        return self.exp(vectors, self.origin)


class KendallPlanar(Manifold):
    """Shapes of `k_landmarks` points in the plane: centred, unit, up to rotation (CP^(k-2)).

    Points have shape (k_landmarks, 2). Sectional curvature in [1, 4], injectivity radius pi/2.

    Parameters
    ----------
    k_landmarks : int
        3 or more.

    Examples
    --------
    >>> triangle = KendallPlanar(3).project([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> turned = triangle @ [[0.0, 1.0], [-1.0, 0.0]]
    >>> bool(KendallPlanar(3).dist(triangle, turned) < 1e-7)
    True
    """

    def __init__(self, k_landmarks: int) -> None:
        self.k_landmarks = as_count(k_landmarks, "k_landmarks", least=3, most=MAX_SIZE)
        super().__init__("kendall", self.k_landmarks, 0.0, (self.k_landmarks, 2))

    @property
    def spec(self) -> str:
        return f"kendall:{self.k_landmarks}"

    @property
    def noise_space(self) -> tuple[str, int, float]:
        return "projective", self.k_landmarks - 2, 0.0

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.project(rng.standard_normal((count, self.k_landmarks, 2)))
