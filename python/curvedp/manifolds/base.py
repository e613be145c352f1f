"""Base of all manifolds: batched geometry with the names and shapes of geomstats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_count, as_points
from curvedp.manifolds.reading import Written
from curvedp.manifolds.records import RecordReader

Seed = np.random.Generator | int | None


class Equation(NamedTuple):
    """A weighted sum of entries of points, or of their squares, has a known value."""

    name: str
    entries: slice
    is_squared: bool
    value: Fraction = Fraction(0)
    #: Weights are 1, that of the first entry has this sign.
    first: int = 1


class Manifold(RecordReader):
    """A Riemannian manifold with closed-form geodesics.

    Points and tangent vectors are arrays of shape ``(..., *point_shape)``; leading axes broadcast
    against each other. Input of any real dtype is widened to float64. Lengths are in the units of
    the metric. Spaces are made by their own classes, such as `Sphere`.

    Parameters
    ----------
    kind : str
        Name of the compiled maps.
    size : int
        Dimension, or order of the matrices.
    parameter : float
        Further number of that kind, such as a radius or a curvature.
    point_shape : tuple of int
        Shape of a point.
    """

    #: What its points are called together.
    _title: ClassVar[str]
    #: Names in a text, in lower case, with the keywords that each means.
    _names: ClassVar[dict[str, dict[str, Any]]]
    #: Keyword of the third part of a text.
    _keyword: ClassVar[str | None] = None
    #: Rows of a point beyond the size of the space.
    _extra_rows: ClassVar[int] = 0
    #: Word that the origin goes by.
    _origin_name: ClassVar[str | None] = None
    #: Whether projections of normal numbers are uniform on it.
    _is_compact: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if "__init__" in cls.__dict__:
            cls.__init__ = hinting(cls.__init__)  # type: ignore[method-assign]

    def __init__(
        self, kind: str, size: int, parameter: float, point_shape: tuple[int, ...]
    ) -> None:
        self.kernels = _core.Manifold(kind, size, parameter)
        self.point_shape = point_shape
        self._size = size

    # ------------------------------------------------------------------ what it is

    @property
    def spec(self) -> str:
        """Text that names the manifold, e.g. ``"sphere:2"``; `as_manifold` reads it."""
        return f"{next(iter(self._names))}:{self._size}"

    @property
    def origin(self) -> FloatArray:
        """The customary reference point, shape point_shape: the identity matrix, or 0."""
        shape = self.point_shape
        return np.eye(shape[0], shape[1]) if len(shape) > 1 else np.zeros(shape)

    @property
    def rank(self) -> int:
        """Dimension of a maximal flat; 1 where every plane through a geodesic may be curved."""
        return self.kernels.rank

    @property
    def written(self) -> Written:
        """Names, orders and units in which the numbers of records may come."""
        return Written(self.spec)

    @property
    def noise_space(self) -> tuple[str, int, float]:
        """The homogeneous space on which isotropic noise is drawn: kind, size, parameter."""
        return self.kernels.noise_space

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return self.kernels.dim

    @property
    def point_size(self) -> int:
        """Number of entries of a point."""
        return self.kernels.point_size

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the sectional curvatures."""
        return self.kernels.curvature_bounds

    @property
    def injectivity_radius(self) -> float:
        """Radius up to which geodesics from a point are unique and minimising."""
        return self.kernels.injectivity_radius

    @property
    def is_hadamard(self) -> bool:
        """True if it is complete, simply connected and nowhere positively curved."""
        return self.curvature_bounds[1] <= 0 and math.isinf(self.injectivity_radius)

    @property
    def is_flat(self) -> bool:
        """True if one chart maps it isometrically onto Euclidean space."""
        return self.is_hadamard and self.curvature_bounds[0] == 0

    @property
    def _has_hadamard_frame(self) -> bool:
        """True if balls are moved into a Hadamard manifold: this one, or one that covers it."""
        return self.is_hadamard

    @property
    def _has_flat_frame(self) -> bool:
        """True if that manifold is flat."""
        return self._has_hadamard_frame and self.curvature_bounds[0] == 0

    @property
    def is_homogeneous(self) -> bool:
        """True if isometries take any point to any other, as on every manifold here."""
        return True

    @property
    def max_ball_radius(self) -> float:
        """Balls of a smaller radius have a unique Fréchet mean: min(inj, pi/sqrt(kappa))/2."""
        upper = self.curvature_bounds[1]
        conjugate = math.pi / math.sqrt(upper) if upper > 0 else math.inf
        return 0.5 * min(self.injectivity_radius, conjugate)

    def __repr__(self) -> str:
        """A text that makes the space again."""
        _, size, *parameter = self.spec.split(":")
        value = "".join(parameter)
        value = repr(value) if self._keyword == "metric" else value
        named = f", {self._keyword}={value}" if parameter else ""
        return f"{type(self).__name__}({size}{named})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifold) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __reduce__(self) -> tuple[Any, ...]:
        from curvedp.manifolds.convert import as_manifold

        return (as_manifold, (self.spec,))

    # ------------------------------------------------------------------ points

    def belongs(self, point: ArrayLike, atol: float = 1e-5) -> NDArray[np.bool_]:
        """Membership of points in the manifold, up to `atol` relative to their size.

        Parameters
        ----------
        point : array-like, shape (..., *point_shape)
        atol : float

        Returns
        -------
        ndarray of bool, shape (...)
            False for NaN and infinite entries.
        """
        points = self._points(point, "point")
        found = np.zeros(self._lead(points), dtype=np.bool_)
        if found.size:
            self.kernels.belongs(self._flat(points), atol, found.reshape(-1))
        return found

    def project(self, point: ArrayLike) -> FloatArray:
        """The closest points of the manifold, or their customary stand-ins.

        Total: a point without one (not finite, or zero where a direction is needed) becomes NaN, so
        that no exception tells anything about a record.

        Parameters
        ----------
        point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        points = np.array(self._points(point, "point"))
        found = np.zeros(self._lead(points), dtype=np.bool_)
        if found.size:
            self.kernels.project(self._flat(points), found.reshape(-1))
        points[~found] = np.nan
        return points

    def _equations(self) -> Sequence[Equation]:
        """Polynomial equations that the entries of points satisfy, up to rounding."""
        return ()

    def random_point(self, n_samples: int = 1, *, rng: Seed = None) -> FloatArray:
        """Random points, for tests and examples.

        Uniform on compact spaces, but for rotations of space; elsewhere the exponential of a
        standard normal tangent vector at the origin.

        Parameters
        ----------
        n_samples : int
            One point is returned without a leading axis.
        rng : numpy.random.Generator, int or None

        Returns
        -------
        ndarray, shape (n_samples, *point_shape), or point_shape if n_samples is 1
        """
        count = as_count(n_samples, "n_samples")
        points = self._random_points(count, np.random.default_rng(rng))
        return points[0] if count == 1 else points

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        if self._is_compact:
            return self.project(rng.standard_normal((count, *self.point_shape)))
        coords = rng.standard_normal((count, self.dim))
        return self.exp(self.coords_to_tangent(coords, self.origin), self.origin)

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        """Distances to the points that stand for `point` in the space where noise is drawn, at
        least those up to `reach` farther than the closest."""
        return [self.dist(point, center)]

    def _largest_radius(self, center: FloatArray) -> float:
        """The bound on the radius of a ball about this centre."""
        return self.max_ball_radius

    def _too_far(self, center: FloatArray) -> str:
        """The refusal of a centre near which points lose their digits."""
        return f"double precision does not carry a ball about this center on {self.spec}"

    def random_tangent_vec(
        self, base_point: ArrayLike, n_samples: int = 1, *, rng: Seed = None
    ) -> FloatArray:
        """Standard normal tangent vectors at one base point.

        Parameters
        ----------
        base_point : array-like, shape point_shape
        n_samples : int
        rng : numpy.random.Generator, int or None

        Returns
        -------
        ndarray, shape (n_samples, *point_shape), or point_shape if n_samples is 1
        """
        count = as_count(n_samples, "n_samples")
        coords = np.random.default_rng(rng).standard_normal((count, self.dim))
        vectors = self.coords_to_tangent(coords, base_point)
        return vectors[0] if count == 1 else vectors

    # ------------------------------------------------------------------ geodesics

    def to_tangent(self, vector: ArrayLike, base_point: ArrayLike) -> FloatArray:
        """The tangent part of ambient vectors at a base point.

        Parameters
        ----------
        vector, base_point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        return self._binary(self.kernels.to_tangent, vector, base_point, ("vector", "base_point"))

    def exp(
        self, tangent_vec: ArrayLike, base_point: ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Exponential map exp_p(v).

        Parameters
        ----------
        tangent_vec, base_point : array-like, shape (..., *point_shape)
        out : ndarray of float64, optional
            C-contiguous array of the result's shape to write to.

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        names = ("tangent_vec", "base_point")
        return self._binary(self.kernels.exp, tangent_vec, base_point, names, out)

    def log(
        self, point: ArrayLike, base_point: ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Logarithm map log_p(x): total, of length dist(p, x), deterministic at the cut locus.

        Parameters
        ----------
        point, base_point : array-like, shape (..., *point_shape)
        out : ndarray of float64, optional

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        return self._binary(self.kernels.log, point, base_point, ("point", "base_point"), out)

    def dist(
        self, point_a: ArrayLike, point_b: ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Geodesic distance rho(a, b).

        Parameters
        ----------
        point_a, point_b : array-like, shape (..., *point_shape)
        out : ndarray of float64, optional
            C-contiguous array of the result's shape to write to.

        Returns
        -------
        ndarray, shape (...)
        """
        a = self._points(point_a, "point_a")
        b = self._points(point_b, "point_b")
        lead = self._broadcast(a, b)
        result = _output(out, lead, a, b)
        if result.size:
            rows = (self._rows(a, lead), self._rows(b, lead))
            self.kernels.dist(*rows, result.reshape(-1))
        return result if out is not None else _scalar(result)

    def pairwise_dist(self, points_a: ArrayLike, points_b: ArrayLike | None = None) -> FloatArray:
        """Matrix of distances between two sets of points, or within one.

        Parameters
        ----------
        points_a : array-like, shape (n, *point_shape)
        points_b : array-like, shape (k, *point_shape), optional

        Returns
        -------
        ndarray, shape (n, k), or (n, n)
        """
        a = self._set(points_a, "points_a")
        b = None if points_b is None else self._set(points_b, "points_b")
        result = np.zeros((len(a), len(a if b is None else b)))
        if result.size:
            self.kernels.pairwise_dist(a, b, result)
        return result

    def parallel_transport(
        self,
        tangent_vec: ArrayLike,
        base_point: ArrayLike,
        *,
        end_point: ArrayLike | None = None,
        direction: ArrayLike | None = None,
    ) -> FloatArray:
        """Parallel transport along the geodesic from `base_point` to `end_point`.

        Parameters
        ----------
        tangent_vec, base_point : array-like, shape (..., *point_shape)
        end_point : array-like, shape (..., *point_shape), optional
        direction : array-like, shape (..., *point_shape), optional
            Initial velocity of the geodesic, in place of its end point.

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        if (end_point is None) == (direction is None):
            raise ValueError("give either end_point or direction")
        if end_point is None:
            assert direction is not None
            end_point = self.exp(direction, base_point)
        arrays = [
            self._points(value, name)
            for value, name in (
                (tangent_vec, "tangent_vec"),
                (base_point, "base_point"),
                (end_point, "end_point"),
            )
        ]
        lead = self._broadcast(*arrays)
        result = np.empty(lead + self.point_shape)
        if result.size:
            v, p, q = (self._rows(array, lead) for array in arrays)
            self.kernels.parallel_transport(v, p, q, self._flat(result))
        return result

    # ------------------------------------------------------------------ metric

    def inner(
        self, tangent_vec_a: ArrayLike, tangent_vec_b: ArrayLike, base_point: ArrayLike
    ) -> FloatArray:
        """Inner product <v, w>_p of the Riemannian metric.

        Parameters
        ----------
        tangent_vec_a, tangent_vec_b, base_point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (...)
        """
        arrays = [
            self._points(value, name)
            for value, name in (
                (tangent_vec_a, "tangent_vec_a"),
                (tangent_vec_b, "tangent_vec_b"),
                (base_point, "base_point"),
            )
        ]
        lead = self._broadcast(*arrays)
        result = np.empty(lead)
        if result.size:
            a, b, p = (self._rows(array, lead) for array in arrays)
            self.kernels.inner(a, b, p, result.reshape(-1))
        return _scalar(result)

    def norm(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> FloatArray:
        """Length |v|_p = sqrt(<v, v>_p) of tangent vectors.

        Parameters
        ----------
        tangent_vec, base_point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (...)
        """
        coords = self.tangent_to_coords(tangent_vec, base_point)
        with np.errstate(all="ignore"):
            return _scalar(np.asarray(np.linalg.norm(coords, axis=-1)))

    def tangent_to_coords(self, tangent_vec: ArrayLike, base_point: ArrayLike) -> FloatArray:
        """Coordinates of tangent vectors in an orthonormal basis of the tangent space.

        The basis depends on the base point alone; the Euclidean norm is the Riemannian norm.

        Parameters
        ----------
        tangent_vec, base_point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (..., dim)
        """
        v = self._points(tangent_vec, "tangent_vec")
        p = self._points(base_point, "base_point")
        lead = self._broadcast(v, p)
        result = np.empty((*lead, self.dim))
        if result.size:
            rows = (self._rows(v, lead), self._rows(p, lead))
            self.kernels.coords(*rows, result.reshape(-1, self.dim))
        return result

    def coords_to_tangent(self, coords: ArrayLike, base_point: ArrayLike) -> FloatArray:
        """Tangent vectors with given coordinates: inverse of `tangent_to_coords`.

        Parameters
        ----------
        coords : array-like, shape (..., dim)
        base_point : array-like, shape (..., *point_shape)

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        c = as_points(coords, (self.dim,), "coords")
        p = self._points(base_point, "base_point")
        lead = np.broadcast_shapes(c.shape[:-1], self._lead(p))
        result = np.empty(lead + self.point_shape)
        if result.size:
            rows = (_rows(c, lead, (self.dim,)), self._rows(p, lead))
            self.kernels.from_coords(*rows, self._flat(result))
        return result

    def log_volume_density(self, coords: ArrayLike) -> FloatArray:
        """Logarithm of the volume density of the exponential map at tangent vectors.

        The sum of ln(sin(x)/x), on noncompact spaces of ln(sinh(x)/x), over the restricted roots x
        of a vector; the same at every base point.

        Parameters
        ----------
        coords : array-like, shape (..., dim)
            Coordinates in an orthonormal basis, as of `tangent_to_coords`.

        Returns
        -------
        ndarray, shape (...)
            NaN from the first conjugate point on.

        Examples
        --------
        >>> import curvedp as cdp
        >>> density = np.exp(cdp.Sphere(2).log_volume_density([0.0, np.pi / 2]))
        >>> float(density.round(4))  # sin(x)/x
        0.6366
        """
        c = as_points(coords, (self.dim,), "coords")
        result = np.empty(c.shape[:-1])
        if result.size:
            rows = np.ascontiguousarray(c).reshape(-1, self.dim)
            self.kernels.log_volume_density(rows, result.reshape(-1))
        return _scalar(result)

    # ------------------------------------------------------------------ arrays

    def _binary(
        self,
        kernel: Any,
        first: ArrayLike,
        base: ArrayLike,
        names: tuple[str, str],
        out: FloatArray | None = None,
    ) -> FloatArray:
        a = self._points(first, names[0])
        p = self._points(base, names[1])
        lead = self._broadcast(a, p)
        result = _output(out, lead + self.point_shape, a, p)
        if result.size:
            kernel(self._rows(a, lead), self._rows(p, lead), self._flat(result))
        return result

    def _broadcast(self, *arrays: FloatArray) -> tuple[int, ...]:
        leads = {self._lead(array) for array in arrays}
        return leads.pop() if len(leads) == 1 else np.broadcast_shapes(*leads)

    def _rows(self, points: FloatArray, lead: tuple[int, ...]) -> FloatArray:
        return _rows(points, lead, self.point_shape)

    def _set(self, points: ArrayLike, name: str) -> FloatArray:
        array = self._points(points, name)
        if array.ndim != len(self.point_shape) + 1:
            raise ValueError(f"{name} must be one set of points, got shape {array.shape}")
        return self._flat(array)


def _rows(array: FloatArray, lead: tuple[int, ...], trail: tuple[int, ...]) -> FloatArray:
    """Rows that broadcast to the leading shape: one row if it serves all, otherwise all of them."""
    own = array.shape[: array.ndim - len(trail)]
    if own != lead and math.prod(own) != 1:
        array = np.broadcast_to(array, lead + trail)
    return np.ascontiguousarray(array).reshape(-1, math.prod(trail))


def _output(out: FloatArray | None, shape: tuple[int, ...], *inputs: FloatArray) -> FloatArray:
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an array, got {type(out).__name__}")
    if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a C-contiguous float64 array of shape {shape}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable")
    if any(np.may_share_memory(out, array) for array in inputs):
        raise ValueError("out must not overlap an input")
    return out


def _scalar(array: FloatArray) -> FloatArray:
    """A NumPy scalar in place of an array without axes."""
    result: FloatArray = array[()] if array.ndim == 0 else array
    return result
