"""Public properties of a space that the search for a mean needs."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from curvedp._validation import FloatArray
from curvedp.curvature import has_curved_hessian, mean_hessian_trace, radial_hessian
from curvedp.manifolds import Euclidean, Manifold, Rotations, Sphere

#: Octaves of distances below the largest one on compact spaces, on matrices and hyperbolic space,
#: and on flat space; a grid has four levels in each.
_OCTAVES = {"compact": 16, "open": 20, "flat": 100}
#: Largest distance on hyperbolic space in units of 1/sqrt(-curvature), on matrices, on flat space.
_FARTHEST = {"hyperboloid": 2.0**6, "matrices": 2.0**9, "flat": 2.0**40}

#: Hessians are those at this part of the conjugate distance from there on.
_BEFORE_CONJUGATE = 0.99
#: Largest dimension in which directions are asked for: a message has half its square of numbers.
_MOST_AXES = 20
#: Distances in a bin over which a Hessian is averaged.
_PARTS = 64
#: Public random points of which distances are the uniform law's.
_UNIFORM = 2001
#: Those whose logarithms turn along a public step: numbers in all, most and least points; and its
#: length over the injectivity radius.
_TURNED, TURN_STEP = (2**20, 2**14, 2**9), 0.08
#: Records have no mean worth the name from this share of the uniform law's median distance on; on
#: spheres, where all its distances come near a quarter circle, from a twentieth of them on or more.
_SPREAD_OUT, _NEAREST = 0.75, 0.05


@dataclass(frozen=True)
class Geometry:
    """A space as the search sees it.

    Attributes
    ----------
    manifold : Manifold
    largest : float
        Distances beyond it count as it.
    bins : int
        Levels of the grid of distances.
    """

    manifold: Manifold
    largest: float
    bins: int

    @property
    def dim(self) -> int:
        """Dimension."""
        return self.manifold.dim

    @property
    def is_compact(self) -> bool:
        """True where there is a uniform law."""
        return math.isfinite(self.manifold.injectivity_radius)

    def across(self, dist: FloatArray) -> FloatArray:
        """Mean eigenvalue of Hess (1/2) rho^2 across the geodesic, at distances."""
        if not has_curved_hessian(self.manifold):
            return np.ones_like(dist)
        return np.array([_across(self.manifold, float(t)) for t in dist])

    def least_across(self, level: FloatArray) -> FloatArray:
        """Least eigenvalue of Hess (1/2) rho^2 on spheres, by bin: mean over distances between the
        levels of a grid. 1 on other spaces."""
        if not self.may_be_saddle:
            return np.ones_like(level)
        lower = np.append(level[1:], 0.0)
        part = (np.arange(_PARTS) + 0.5) / _PARTS
        dist = lower[:, None] + (level - lower)[:, None] * part
        return np.asarray(across_sphere(dist).mean(axis=1))

    @property
    def may_be_saddle(self) -> bool:
        """True on spheres: across records on a geodesic their mean may be no minimum."""
        return isinstance(self.manifold, Sphere) and self.dim > 1

    @property
    def tells_axes(self) -> bool:
        """True where directions of records may be asked for."""
        return self.may_be_saddle and self.dim <= _MOST_AXES

    @property
    def may_turn(self) -> bool:
        """True where logarithms jump at the cut locus: it does not begin with conjugate points."""
        radius, upper = self.manifold.injectivity_radius, self.manifold.curvature_bounds[1]
        return (
            math.isfinite(radius)
            and radius * math.sqrt(max(upper, 0.0)) < _BEFORE_CONJUGATE * math.pi
        )

    def turning(self, level: FloatArray) -> FloatArray:
        """Parts of the Hessian along a step that jumps of logarithms at the cut locus take, by bin.

        Mean over uniform points with distances in each bin of a grid and over directions of the
        step (docs/proofs/sums-of-messages.md, section 10).

        Parameters
        ----------
        level : ndarray, shape (bins,)
            Upper ends of the bins, falling.
        """
        if not self.may_turn:
            return np.zeros_like(level)
        dist, rate = _turned(self.manifold)
        own = np.maximum(np.searchsorted(-level, -dist, side="right") - 1, 0)
        sums = np.bincount(own, rate, len(level))
        count = np.bincount(own, minlength=len(level))
        return np.asarray(sums / np.maximum(count, 1))

    def move(self, base: FloatArray, coords: FloatArray) -> FloatArray:
        """exp of a tangent vector at `base` in coordinates; NaN where doubles end."""
        space = self.manifold
        point = np.empty((1, space.point_size))
        row = np.ascontiguousarray(base).reshape(1, -1)
        space.kernels.exp_coords(coords.reshape(1, -1), row, point)
        return np.asarray(space.project(point.reshape(space.point_shape))).reshape(-1)

    @property
    def most_spread(self) -> float:
        """Median distance beyond which records lie nearly as far apart as uniform ones."""
        return _most_spread(self.manifold) if self.is_compact else math.inf


def across_sphere(dist: FloatArray) -> FloatArray:
    """t cot t, up to nearly half a turn: the Hessian of half the squared distance across geodesics
    of a sphere."""
    x = np.minimum(dist, _BEFORE_CONJUGATE * math.pi)
    return np.asarray(np.divide(x, np.tan(x), out=np.ones_like(x), where=x > 0.0))


def geometry_of(manifold: Manifold) -> Geometry:
    """The grid of distances follows from the kind of space."""
    if math.isfinite(manifold.injectivity_radius):
        largest, octaves = _diameter(manifold), _OCTAVES["compact"]
    elif isinstance(manifold, Euclidean):
        largest, octaves = _FARTHEST["flat"], _OCTAVES["flat"]
    elif manifold.noise_space[0] == "hyperbolic":
        unit = 1.0 / math.sqrt(-manifold.curvature_bounds[0])
        largest, octaves = unit * _FARTHEST["hyperboloid"], _OCTAVES["open"]
    else:
        largest, octaves = _FARTHEST["matrices"], _OCTAVES["open"]
    return Geometry(manifold, largest, 4 * octaves)


def log_diagonals(order: int) -> Geometry:
    """The logarithms of the diagonals of matrices as points of flat space."""
    return Geometry(Euclidean(order), _FARTHEST["matrices"], 4 * _OCTAVES["open"])


def squares() -> Geometry:
    """Squares of clipped distances, each beside a count, as points of flat space."""
    return Geometry(Euclidean(2), _FARTHEST["flat"], 4 * _OCTAVES["flat"])


def axes(geometry: Geometry) -> Geometry:
    """Weighted projectors on the directions of records, as points of flat space."""
    size = geometry.dim * (geometry.dim + 1) // 2
    return Geometry(Euclidean(size), _FARTHEST["flat"], 4 * _OCTAVES["flat"])


def cells(geometry: Geometry, count: int) -> Geometry:
    """Logarithms at the nearest of so many points over the clip level, each beside a count, as
    points of flat space: one block for each cell."""
    return Geometry(Euclidean(count * (geometry.dim + 1)), _FARTHEST["flat"], 4 * _OCTAVES["flat"])


def _diameter(manifold: Manifold) -> float:
    """Bound on distances: those of rank k have a flat torus of k circles through two points."""
    return manifold.injectivity_radius * math.sqrt(manifold.rank)


def _across(manifold: Manifold, dist: float) -> float:
    """As `Geometry.across`, at one distance up to the last before the conjugate one."""
    others = manifold.dim - 1
    _, upper = manifold.curvature_bounds
    if upper <= 0.0 and manifold.noise_space[0] not in ("hyperbolic", "radial"):
        # exact to second order: all curvatures but 0 count as their mean
        rank = min(manifold.rank, others)
        count = manifold.dim - rank
        step = 2.0**-10
        second = (mean_hessian_trace(manifold, step) - manifold.dim) / step**2
        kappa = -3.0 * second / count
        return 1.0 + count / others * (radial_hessian(kappa, dist) - 1.0)
    conjugate = _BEFORE_CONJUGATE * math.pi / math.sqrt(upper) if upper > 0.0 else math.inf
    return (mean_hessian_trace(manifold, min(dist, conjugate)) - 1.0) / others


def _uniform(manifold: Manifold, count: int) -> FloatArray:
    """Public random points of the uniform law."""
    if isinstance(manifold, Rotations):
        return manifold.project(np.random.default_rng(0).standard_normal((count, 3, 3)))
    return manifold.random_point(count, rng=0)


@functools.cache
def _most_spread(manifold: Manifold) -> float:
    points = _uniform(manifold, _UNIFORM)
    dist = manifold.dist(manifold.origin, points)
    nearest = np.quantile(dist, _NEAREST) if isinstance(manifold, Sphere) else 0.0
    return float(max(_SPREAD_OUT * np.median(dist), nearest))


@functools.cache
def _turned(manifold: Manifold) -> tuple[FloatArray, FloatArray]:
    """Distances of uniform points from the origin, and what the jumps of their logarithms take from
    the mean eigenvalue of the Hessian, on a step that leads away from each.

    A jump is 2i, i the injectivity radius, along a normal of the cut locus; with cos = i/t at the
    distance t, 2i cos of it is seen along the step, which is h cos long along the normal. Half of
    all directions lead there: each jump counts with i/(h cos).
    """
    radius, origin, (numbers, most, least) = manifold.injectivity_radius, manifold.origin, _TURNED
    points = _uniform(manifold, min(max(numbers // manifold.point_size, least), most))
    step = TURN_STEP * radius

    def coords(ends: FloatArray, base: FloatArray) -> FloatArray:
        return np.asarray(manifold.tangent_to_coords(manifold.log(ends, base), base))

    before = coords(points, origin)
    dist = np.linalg.norm(before, axis=1)
    away = manifold.coords_to_tangent(before * (-step / dist)[:, None], origin)
    moved = manifold.project(manifold.exp(away, origin))
    back = coords(np.broadcast_to(origin, moved.shape), moved)
    jump = dist + step - (coords(points, moved) * back).sum(axis=1) / step
    cosine = radius / np.clip(dist + 0.5 * step, radius, _diameter(manifold))
    jump[jump < radius * cosine] = 0.0
    return dist, jump / (2.0 * cosine**2 * step * manifold.dim)
