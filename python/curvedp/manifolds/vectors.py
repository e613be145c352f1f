"""Spaces whose points are vectors: flat, spherical, hyperbolic; axes and angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_count, as_negative, as_positive
from curvedp.manifolds.base import Equation, Manifold
from curvedp.manifolds.reading import AXES_AS_ANGLES, Written

#: Largest dimension or number of landmarks.
MAX_SIZE = 1_000_000

UNIT_LENGTH = Equation("|value|^2 - R^2", slice(None), True, Fraction(1))

#: Centres on hyperbolic space are served up to this distance from its origin, in units of
#: 1/sqrt(-curvature).
_FARTHEST_CENTER = 15.0

#: Copies of a point over which densities on a torus are summed at most.
_MOST_COPIES = 100_000


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

    _title = "Euclidean space"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"euclidean": {}}
    _origin_name = "origin"

    def __init__(self, dim: int) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        super().__init__("euclidean", size, 0.0, (size,))


class _LonLat(Manifold):
    """A space whose points in R^3 have longitude and latitude."""

    @property
    def written(self) -> Written:
        return Written(self.spec, "lonlat" if self.dim == 2 else "")

    def to_lonlat(self, points: ArrayLike) -> FloatArray:
        """Longitude and latitude in degrees of points of a 2-sphere, which `as_points` reads.

        Of one of the two ends of an axis.

        Parameters
        ----------
        points : array-like, shape (..., 3)

        Returns
        -------
        ndarray, shape (..., 2)
            Longitudes from -180 to 180, latitudes from -90 to 90.

        Raises
        ------
        ValueError
            In another dimension.

        Examples
        --------
        >>> Sphere(2).to_lonlat([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]).round(6).tolist()
        [[90.0, 0.0], [180.0, 45.0]]
        """
        if self.dim != 2:
            raise ValueError(
                f"longitude and latitude are of a 2-sphere and its axes, not of {self.spec}"
            )
        x, y, z = np.moveaxis(self._points(points, "points"), -1, 0)
        lonlat = np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=-1)
        return np.asarray(np.degrees(lonlat))


class Sphere(_LonLat):
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

    _title = "spheres of any dimension and radius"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"sphere": {}, "hypersphere": {}}
    _is_compact = True
    _keyword = "radius"
    _extra_rows = 1
    _short_form = "longitude and latitude in degrees"

    def __init__(self, dim: int, *, radius: float = 1.0) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        self.radius = as_positive(radius, "radius")
        super().__init__("sphere", size, self.radius, (size + 1,))

    def _meant(self, shape: tuple[int, ...]) -> str:
        if len(shape) > 2 and shape[-1] in (2, 3):
            return "; landmarks and curves become points by to_points of what aligns them"
        if shape[-1:] == (self.dim,) and self.dim > 2:
            return f"; the sphere of R^{self.dim} is Sphere({self.dim - 1})"
        return ""

    @property
    def spec(self) -> str:
        return f"sphere:{self.dim}" + ("" if self.radius == 1 else f":{self.radius!r}")

    @property
    def origin(self) -> FloatArray:
        """The pole (0, ..., 0, radius)."""
        origin = np.zeros(self.dim + 1)
        origin[-1] = self.radius
        return origin

    def _equations(self) -> Sequence[Equation]:
        return [Equation("|value|^2 - R^2", slice(None), True, Fraction(self.radius) ** 2)]


class Projective(_LonLat):
    """Axes, the real projective space RP^dim: unit vectors of shape (dim+1,) up to sign.

    The distance of two axes is the angle between them, arccos|<x, y>|. Sectional curvature 1 (0 in
    dimension 1), injectivity radius pi/2. The unit sphere covers it twice; statistics of a ball,
    whose radius is below pi/4, are those of its copy there, and noise is drawn there (proof:
    docs/proofs/coverings.md).

    Parameters
    ----------
    dim : int

    Examples
    --------
    >>> float(Projective(2).dist([0.0, 0.0, 1.0], [0.0, 0.6, -0.8]).round(4))
    0.6435
    """

    _title = "axes (directions up to sign)"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"projective": {}}
    _is_compact = True
    _extra_rows = 1
    _short_form = "longitude and latitude in degrees"

    def __init__(self, dim: int) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        super().__init__("projective", size, 0.0, (size + 1,))

    @property
    def origin(self) -> FloatArray:
        """The axis through (0, ..., 0, 1)."""
        origin = np.zeros(self.dim + 1)
        origin[-1] = 1.0
        return origin

    def _equations(self) -> Sequence[Equation]:
        return [UNIT_LENGTH]

    def _meant(self, shape: tuple[int, ...]) -> str:
        are_angles = self.dim == 1 and (len(shape) == 1 or shape[-1:] == (1,))
        return f": {AXES_AS_ANGLES}" * are_angles

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        near = self.dist(point, center)
        return [near, np.pi - near]


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

    _title = "hyperbolic space"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"hyperboloid": {}, "hyperbolic": {}}
    _keyword = "curvature"
    _extra_rows = 1
    _origin_name = "origin"
    _short_form = "a point of the Poincaré ball"

    def __init__(self, dim: int, *, curvature: float = -1.0) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        self.curvature = as_negative(curvature, "curvature")
        super().__init__("hyperboloid", size, self.curvature, (size + 1,))

    @property
    def spec(self) -> str:
        return f"hyperboloid:{self.dim}" + ("" if self.curvature == -1 else f":{self.curvature!r}")

    @property
    def origin(self) -> FloatArray:
        """The point (1/sqrt(-curvature), 0, ..., 0)."""
        origin = np.zeros(self.dim + 1)
        origin[0] = 1 / math.sqrt(-self.curvature)
        return origin

    def _equations(self) -> Sequence[Equation]:
        square = 1 / Fraction(self.curvature)
        return [Equation("<value, value> + R^2", slice(None), True, square, first=-1)]

    def to_poincare(self, points: ArrayLike) -> FloatArray:
        """Points of the Poincaré ball of radius R = 1/sqrt(-curvature), which `as_points` reads.

        R x / (R + t) of a point (t, x), t the time.

        Parameters
        ----------
        points : array-like, shape (..., dim + 1)

        Returns
        -------
        ndarray, shape (..., dim)

        Examples
        --------
        >>> space = Hyperboloid(2)
        >>> far = space.exp([0.0, 2.0, 0.0], space.origin)
        >>> bool(np.allclose(space.to_poincare(far), [np.tanh(1.0), 0.0]))
        True
        """
        array = self._points(points, "points")
        radius = 1 / math.sqrt(-self.curvature)
        return np.asarray(radius * array[..., 1:] / (radius + array[..., :1]))

    def _too_far(self, center: FloatArray) -> str:
        """The refusal of a centre, with the nearest one that works."""
        radius = float(self.origin[0])
        farthest = _FARTHEST_CENTER * radius
        direction = np.concatenate([[0.0], center[1:] / np.linalg.norm(center[1:])])
        nearest = np.array2string(self.exp(farthest * direction, self.origin), separator=", ")
        return (
            f"center lies {radius * math.asinh(np.linalg.norm(center[1:]) / radius):.4g} from the "
            f"origin of {self.spec}, farther than double precision carries a ball: centres up to "
            f"{farthest:.6g} are served, such as {nearest}; or move all points by an isometry"
        )


class Torus(Manifold):
    """The flat torus: `dim` angles in radians, points of shape (dim,) with entries in [-pi, pi).

    The distance is sqrt(sum of squared differences), each taken in [-pi, pi). Flat, injectivity
    radius pi. Euclidean space covers it; statistics of a ball, whose radius is below pi/2, are
    those of its copy there, and noise is drawn there (proof: docs/proofs/coverings.md).

    Parameters
    ----------
    dim : int

    Examples
    --------
    >>> float(Torus(2).dist([3.0, 0.0], [-3.0, 0.1]).round(4))
    0.3003
    """

    _title = "angles (tori)"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"torus": {}}
    _origin_name = "origin"

    def __init__(self, dim: int) -> None:
        size = as_count(dim, "dim", most=MAX_SIZE)
        super().__init__("torus", size, 0.0, (size,))

    @property
    def _has_hadamard_frame(self) -> bool:
        return True

    @property
    def written(self) -> Written:
        return Written(self.spec, "angles", self.dim)

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.project(rng.uniform(-np.pi, np.pi, (count, self.dim)))

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        turns = 2 * np.pi * _lattice(self.dim, max(1, math.ceil(reach / (2 * np.pi))))
        difference = self.log(point, center)
        return [np.asarray(np.linalg.norm(difference + turn, axis=-1)) for turn in turns]


def _lattice(dim: int, most: int) -> FloatArray:
    """Integer vectors with entries up to `most`."""
    if (2 * most + 1) ** dim > _MOST_COPIES:
        raise ValueError(
            f"the density of noise on torus:{dim} at this scale is a sum over more than "
            f"{_MOST_COPIES} copies of a point: ask in fewer dimensions or at a smaller scale"
        )
    axis = np.arange(-most, most + 1.0)
    return np.stack(np.meshgrid(*[axis] * dim), axis=-1).reshape(-1, dim)
