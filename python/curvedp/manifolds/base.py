"""Base of all manifolds: batched geometry with the names and shapes of geomstats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_array, as_count, as_float_array, as_points, of_cell
from curvedp.manifolds.reading import PLAIN, Reading, Written, columns_of_points

Seed = np.random.Generator | int | None


class Equation(NamedTuple):
    """A weighted sum of entries of points, or of their squares, has a known value."""

    name: str
    entries: slice
    is_squared: bool
    value: Fraction = Fraction(0)
    #: Weights are 1, that of the first entry has this sign.
    first: int = 1


class Manifold:
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
    #: What the shorter form of a point is.
    _short_form: ClassVar[str] = ""
    #: Whether projections of normal numbers are uniform on it.
    _is_compact: ClassVar[bool] = False

    #: Compiled maps of the space.
    kernels: _core.Manifold
    point_shape: tuple[int, ...]

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

    def as_points(
        self,
        records: ArrayLike,
        *,
        order: str | None = None,
        scalar_first: bool | None = None,
        angle_units: str | None = None,
        mask: ArrayLike | None = None,
    ) -> FloatArray:
        """The points that records stand for, as every release reads them.

        A record is a point, up to 1e-5 relative, as an array or flat, or its shorter form: the
        upper triangle of a symmetric matrix row by row, longitude and latitude in degrees on the
        2-sphere, a quaternion with its scalar last or a SciPy ``Rotation``, a point of the Poincaré
        ball, the projector on a subspace. Directions, axes and quaternions may have any length,
        landmarks any place and size, angles any number of turns; a subspace is the span of any
        basis. Numbers that are written otherwise are read by the keywords; columns of a table,
        pandas or polars, by their names, where these say what they hold: ``lat, lon``;
        ``w, x, y, z``; ``Dxx, Dyy, ...``; ``lon_rad, lat_rad``; ``time_hours``.

        Parameters
        ----------
        records : array-like, shape (..., *point_shape), (..., point_size) or (..., short form)
            Landmarks also as an array of complex numbers, shape (..., k_landmarks), complex
            matrices as one of shape (..., m, m).
        order : {"fsl", "dipy", "mrtrix"}, optional
            Of the six numbers of a diffusion tensor: xx, xy, xz, yy, yz, zz, as FSL's dtifit has
            them and as they are read by default; xx, xy, yy, xz, yz, zz, dipy's lower triangle;
            xx, yy, zz, xy, xz, yz, MRtrix's.
        scalar_first : bool, optional
            True for quaternions w, x, y, z, as MNE, pyquaternion and Eigen's constructor have
            them; by default the scalar is last, as in SciPy and ROS.
        angle_units : {"radians", "degrees", "hours"}, optional
            Of longitude and latitude, degrees by default, and of angles on a torus, radians by
            default; 24 hours are a turn.
        mask : array-like of bool, optional
            For volumes: the public region whose voxels are records, of the shape of the leading
            axes of `records`. One that was made from the records is not public.

        Returns
        -------
        ndarray, shape (..., *point_shape), with `mask` (n, *point_shape)
            NaN for what stands for no point; releases count it as the centre of their ball.

        Raises
        ------
        ValueError, TypeError
            For another shape or dtype, for a keyword that says nothing of this manifold, and for
            names of columns that contradict it.

        Examples
        --------
        >>> import curvedp as cdp
        >>> cdp.Sphere(2).as_points([[90.0, 0.0], [0.0, 90.0]]).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> cdp.Sphere(2).as_points([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]).tolist()
        [[0.0, 0.0, 1.0], [nan, nan, nan]]
        >>> volume = np.full((2, 2, 2, 6), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0])  # MRtrix's order
        >>> brain = np.arange(8).reshape(2, 2, 2) < 3
        >>> cdp.SPD(3).as_points(volume, order="mrtrix", mask=brain).shape
        (3, 3, 3)
        """
        reading = Reading(order, scalar_first, angle_units).check(self.written)
        numbers = self._numbers(records, "records", reading)
        if mask is not None:
            numbers = as_masked(numbers, mask)
        if self.point_shape == (1,) and numbers.ndim == 1 and len(numbers) != 1:
            numbers = numbers[:, None]  # numbers, each of them a point
        return self._snapped(self._whole(numbers, "records"))

    def _snapped(self, records: FloatArray) -> FloatArray:
        """Points of records of shape (..., *point_shape), NaN for what stands for none."""
        points = np.array(records)
        valid = np.zeros(self._lead(points), dtype=np.bool_)
        if valid.size:
            self.kernels.snap(self._flat(points), valid.reshape(-1))
        points[~valid] = np.nan
        return points

    def read_records(
        self, value: ArrayLike, name: str = "records", *, least: int = 1
    ) -> FloatArray:
        """Records, shape (n, *point_shape) with n >= least, whatever form they come in.

        Parameters
        ----------
        value : array-like
            Points, flat points or a shorter form of them; no value raises.
        name : str
            For messages.
        least : {0, 1}
            With 0 an empty container of any dtype is no records.

        Raises
        ------
        ValueError, TypeError
            For another shape or dtype, and for no record unless `least` is 0.
        """
        if least == 0 and _is_empty(value):
            shape = getattr(value, "shape", (0,))
            columns = shape if len(shape) > 1 and 0 not in shape[1:] else (0, *self.point_shape)
            return self._whole(np.empty(columns), name)
        array = self._numbers(value, name)
        if self.point_shape == (1,) and array.ndim == 1:
            array = array[:, None]  # numbers, each of them a point
        if array.shape == self.point_shape and array.shape[1:] == (self.kernels.short_size,):
            array = array[:, None, :]  # rows of short forms, not one point
            points = self._complete(array.reshape(len(array), -1))
            assert points is not None
            array = points.reshape(len(points), *self.point_shape)
        columns = [str(own) for own in getattr(value, "columns", ())]
        array = self._whole(array, name, is_n_public=least > 0, columns=columns)
        if array.ndim != len(self.point_shape) + 1:
            wanted, got = _shape(("n", *self.point_shape)), _shape(array.shape, least > 0)
            further = "; of a volume take the points of a public mask: as_points(volume, mask=mask)"
            is_volume = array.ndim > len(self.point_shape) + 1
            raise ValueError(f"{name} must have shape {wanted}, got {got}{further * is_volume}")
        if len(array) < least:
            raise ValueError(f"{name} is empty: a data set needs at least one record")
        return array

    def _whole(
        self, value: Any, name: str, *, is_n_public: bool = True, columns: Sequence[str] = ()
    ) -> FloatArray:
        """Records of any form in that of points, shape (..., *point_shape); values stay theirs."""
        array = self._numbers(value, name)
        size = len(self.point_shape)
        if array.ndim >= size and array.shape[array.ndim - size :] == self.point_shape:
            return array
        lead, rows = array.shape[:-1], None
        if array.ndim > 0:
            rows = self._complete(array.reshape(math.prod(lead), array.shape[-1]))
        if rows is None:
            wanted, got = _shape(("...", *self.point_shape)), _shape(array.shape, is_n_public)
            entries = f"; {self._expected_entries}" if self.kernels.short_size else ""
            if chosen := columns_of_points(columns, self.written):
                entries = f": take those of points, table[{chosen}]"
            raise ValueError(f"{name} must have shape {wanted}, got {got}{entries}")
        return rows.reshape(*lead, *self.point_shape)

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        """An array of real numbers from what users of this manifold have.

        A table's by the names of its columns.
        """
        order = None
        if hasattr(value, "to_numpy"):
            column = as_array(value, name)
            if column.dtype == np.dtype(object) and column.ndim == 1:  # cells hold lists or arrays
                return self._of_cells([of_cell(cell) for cell in column], reading)
            if column.ndim == 2 and len(names := getattr(value, "columns", ())):
                order, reading = reading.of_columns([str(own) for own in names], self.written)
            named = getattr(value, "name", None)
            if column.ndim == 1 and self.point_size == 1 and isinstance(named, str):
                _, reading = reading.of_columns([named], self.written)
        numbers = as_float_array(value, name)
        numbers = numbers if order is None else numbers[..., order]
        if reading == PLAIN:
            return np.ascontiguousarray(numbers)
        return np.ascontiguousarray(reading.of_rows(numbers, self.written, name))

    def _of_cells(self, cells: Sequence[FloatArray | None], reading: Reading) -> FloatArray:
        """Points from flat lists of numbers of any lengths, each a function of its own list."""
        size = self.point_size
        rows = np.full((len(cells), size), np.nan)
        for length in {size, self.kernels.short_size or size}:
            own = [k for k, cell in enumerate(cells) if cell is not None and len(cell) == length]
            block = np.array([cells[k] for k in own]).reshape(len(own), length)
            if not reading.reads(length, self.written):
                continue  # of another form than is said: no point
            whole = self._complete(reading.of_rows(block, self.written))
            if whole is not None:
                rows[own] = whole
        return rows.reshape(len(cells), *self.point_shape)

    def _points(self, value: Any, name: str) -> FloatArray:
        """Points or tangent vectors, shape (..., *point_shape)."""
        return as_points(self._numbers(value, name), self.point_shape, name)

    def _complete(self, rows: FloatArray) -> FloatArray | None:
        """Flat rows of whole points, given flat or short ones; None for another width."""
        if rows.shape[1] == self.point_size:
            return rows
        if rows.shape[1] != self.kernels.short_size:
            return None
        points = np.empty((len(rows), self.point_size))
        if points.size:
            self.kernels.from_short(np.ascontiguousarray(rows), points)
        return points

    @property
    def _expected_entries(self) -> str:
        short = self.kernels.short_size
        other = f", or {short} for {self._short_form}" if short else ""
        return f"a point of {self.spec} has {self.point_size} entries{other}"

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

    def _lead(self, points: FloatArray) -> tuple[int, ...]:
        return points.shape[: points.ndim - len(self.point_shape)]

    def _broadcast(self, *arrays: FloatArray) -> tuple[int, ...]:
        leads = {self._lead(array) for array in arrays}
        return leads.pop() if len(leads) == 1 else np.broadcast_shapes(*leads)

    def _flat(self, points: FloatArray) -> FloatArray:
        return points.reshape(-1, self.point_size)

    def _rows(self, points: FloatArray, lead: tuple[int, ...]) -> FloatArray:
        return _rows(points, lead, self.point_shape)

    def _set(self, points: ArrayLike, name: str) -> FloatArray:
        array = self._points(points, name)
        if array.ndim != len(self.point_shape) + 1:
            raise ValueError(f"{name} must be one set of points, got shape {array.shape}")
        return self._flat(array)


def _shape(sizes: tuple[object, ...], is_n_public: bool = True) -> str:
    """A shape as text, without the number of records where that is protected."""
    shown = sizes if is_n_public else ("n", *sizes[1:])
    return f"({', '.join(map(str, shown))}{',' if len(shown) == 1 else ''})"


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


def as_masked(records: FloatArray, mask: ArrayLike) -> FloatArray:
    """The records of a volume where a public mask is True, shape (n, ...).

    Raises
    ------
    ValueError, TypeError
        For a mask of other values or of another shape than the leading axes of records, and for
        one that is False everywhere.
    """
    chosen = np.asarray(mask)
    if chosen.dtype.kind in "iuf" and np.isin(chosen, (0, 1)).all():
        chosen = chosen.astype(np.bool_)
    if chosen.dtype != np.bool_:
        raise TypeError("mask must be of bool, or of 0 and 1")
    if chosen.ndim == 0 or chosen.shape != records.shape[: chosen.ndim]:
        shapes = f"{records.shape}, got {chosen.shape}"
        raise ValueError(f"mask must have the shape of the leading axes of records, {shapes}")
    if not chosen.any():
        raise ValueError("mask is False everywhere: a data set needs at least one record")
    return np.ascontiguousarray(records[chosen])


def _is_empty(value: Any) -> bool:
    """True for a container of nothing."""
    try:
        return len(value) == 0
    except TypeError:  # it has no length
        return False
