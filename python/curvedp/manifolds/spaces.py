"""The manifolds: flat, spherical, hyperbolic spaces, matrices, shapes, rotations, subspaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._validation import FloatArray, as_choice, as_count, as_negative, as_positive
from curvedp.manifolds.base import Equation, Manifold
from curvedp.manifolds.reading import AXES_AS_ANGLES, PLAIN, Reading, Written

__all__ = [
    "HPD",
    "SPD",
    "Correlation",
    "Euclidean",
    "Grassmann",
    "Hyperboloid",
    "KendallPlanar",
    "Projective",
    "Rotations",
    "SpecialOrthogonal",
    "Sphere",
    "Torus",
    "Unitary",
]

#: Largest dimension or number of landmarks.
MAX_SIZE = 1_000_000
#: Largest dimension of the space around subspaces.
MOST_AXES = 1000
#: Largest dimension of a space whose rotations are points: that of the exact samplers of noise.
MOST_TURNED = 33
#: Largest order of unitary matrices, for the same reason.
MOST_UNITARY = 16
SPD_METRICS = ("affine-invariant", "log-euclidean", "log-cholesky")
_PYRIEMANN = dict(zip(("riemann", "logeuclid", "logchol"), SPD_METRICS, strict=True))

#: Centres on hyperbolic space are served up to this distance from its origin, in units of
#: 1/sqrt(-curvature).
_FARTHEST_CENTER = 15.0

#: Balls of correlation matrices lie within this distance of the identity.
_FARTHEST_CORRELATIONS = 16.0

_UNIT_LENGTH = Equation("|value|^2 - R^2", slice(None), True, Fraction(1))

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

    _title = "symmetric positive definite matrices (affine-invariant, log-Euclidean, log-Cholesky)"
    #: As users of pyRiemann and geomstats write them.
    _names: ClassVar[dict[str, dict[str, Any]]] = {
        "spd": {},
        "riemann": {},
        "affine-invariant": {},
        "logeuclid": {"metric": "log-euclidean"},
        "log-euclidean": {"metric": "log-euclidean"},
        "logchol": {"metric": "log-cholesky"},
        "log-cholesky": {"metric": "log-cholesky"},
    }
    _keyword = "metric"
    _origin_name = "identity"
    _short_form = "the upper triangle row by row"

    def __init__(self, m: int, *, metric: str = "affine-invariant") -> None:
        self.m = as_count(m, "m", most=1000)
        self.metric = as_choice(_PYRIEMANN.get(str(metric), metric), SPD_METRICS, "metric")
        kind = "spd" if self.metric == SPD_METRICS[0] else f"spd:{self.metric}"
        super().__init__(kind, self.m, 0.0, (self.m, self.m))

    @property
    def spec(self) -> str:
        suffix = "" if self.metric == "affine-invariant" else f":{self.metric}"
        return f"spd:{self.m}{suffix}"

    @property
    def written(self) -> Written:
        return Written(self.spec, "symmetric", self.m)

    def _meant(self, shape: tuple[int, ...]) -> str:
        return _of_signals(shape, self.m)


class _ComplexMatrices(Manifold):
    """Spaces of complex matrices, in real and imaginary parts on the last axis of points."""

    _origin_name = "identity"

    @property
    def origin(self) -> FloatArray:
        """The identity matrix."""
        return _complex_parts(np.eye(self.point_shape[0], dtype=np.complex128))

    def to_complex(self, points: ArrayLike) -> NDArray[np.complex128]:
        """Points or tangent vectors as complex matrices; a view where their memory allows it.

        Parameters
        ----------
        points : array-like, shape (..., m, m, 2)

        Returns
        -------
        ndarray of complex128, shape (..., m, m)

        Examples
        --------
        >>> HPD(2).to_complex(HPD(2).origin).tolist()
        [[(1+0j), 0j], [0j, (1+0j)]]
        """
        pairs = np.ascontiguousarray(self._points(points, "points"))
        matrices: NDArray[np.complex128] = pairs.view(np.complex128)[..., 0]
        return matrices

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        # only an array may be complex: the dtype of a list depends on its entries
        if isinstance(value, np.ndarray) and value.dtype.kind == "c":
            return _complex_parts(value)
        numbers = super()._numbers(value, name, reading)
        m = self.point_shape[0]
        if numbers.shape[-2:] == (m, m) and numbers.shape[-3:] != self.point_shape:
            raise ValueError(
                f"{name} must be complex, shape (..., {m}, {m}), or real and imaginary "
                f"parts, shape (..., {m}, {m}, 2), got real numbers of shape "
                f"{numbers.shape}"
            )
        return numbers


class HPD(_ComplexMatrices):
    """Hermitian positive definite matrices, <V, W>_P = Re tr(P^-1 V P^-1 W); points (m, m, 2).

    The last axis holds real and imaginary parts, as complex numbers lie in memory. Arrays of
    complex numbers, shape (..., m, m), are read wherever points or tangent vectors are; what is
    returned is real, like every array that is released, stored or sent, and `to_complex` views it
    as complex matrices. Dimension m^2, sectional curvature in [-1/2, 0]; real matrices are a
    totally geodesic part, with the affine-invariant metric (proof:
    docs/proofs/hermitian-matrices.md).

    Parameters
    ----------
    m : int

    Examples
    --------
    >>> space = HPD(2)
    >>> coherent = np.array([[2.0, 1.0j], [-1.0j, 2.0]])  # eigenvalues 1 and 3
    >>> float(space.dist(space.origin, coherent).round(4))
    1.0986
    """

    _title = "Hermitian positive definite matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"hpd": {}}

    def __init__(self, m: int) -> None:
        self.m = as_count(m, "m", most=500)
        super().__init__("hpd", self.m, 0.0, (self.m, self.m, 2))


class Correlation(Manifold):
    """Correlation matrices of full rank with the off-log metric; points of shape (m, m).

    The entries of the matrix logarithm above its diagonal, times √2, map them isometrically onto
    Euclidean space of dimension m(m-1)/2: rho(A, B) = |off(log A) - off(log B)|, where off leaves
    out the diagonal. A covariance matrix stands for its correlations.

    Parameters
    ----------
    m : int
        2 or more.

    References
    ----------
    Archakov and Hansen (2021), A new parametrization of correlation matrices. Econometrica 89.

    Examples
    --------
    >>> half = [[1.0, 0.5], [0.5, 1.0]]
    >>> float(Correlation(2).dist(np.eye(2), half).round(4))
    0.7768
    """

    _title = "correlation matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"correlation": {}}
    _origin_name = "identity"
    _short_form = "the entries above the diagonal row by row"

    def __init__(self, m: int) -> None:
        self.m = as_count(m, "m", least=2, most=1000)
        super().__init__("correlation", self.m, 0.0, (self.m, self.m))

    @property
    def written(self) -> Written:
        return Written(self.spec, "correlation", self.m)

    def _meant(self, shape: tuple[int, ...]) -> str:
        if shape[-1:] != (self.m * (self.m + 1) // 2,):
            return _of_signals(shape, self.m)
        return (
            "; a lower triangle with its diagonal, as nilearn vectorises it, is read by "
            'as_points(records, order="nilearn")'
        )

    def _largest_radius(self, center: FloatArray) -> float:
        """Beyond a distance of 16 from the identity doubles do not hold correlation matrices."""
        return max(_FARTHEST_CORRELATIONS - float(self.dist(center, self.origin)), 0.0)


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


#: Advice for landmarks in space.
LANDMARKS_IN_SPACE = (
    "shapes are planar here; landmarks in space can be aligned to a public template, see "
    "curvedp.descriptors.AlignedLandmarks"
)


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

    _title = "Kendall's planar shapes"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"kendall": {}}
    _is_compact = True

    def __init__(self, k_landmarks: int) -> None:
        self.k_landmarks = as_count(k_landmarks, "k_landmarks", least=3, most=MAX_SIZE)
        super().__init__("kendall", self.k_landmarks, 0.0, (self.k_landmarks, 2))

    @property
    def origin(self) -> FloatArray:
        """The regular polygon."""
        angle = 2.0 * np.pi * np.arange(self.k_landmarks) / self.k_landmarks
        return self.project(np.stack([np.cos(angle), np.sin(angle)], axis=1))

    @property
    def written(self) -> Written:
        return Written(self.spec, "landmarks", self.k_landmarks)

    def _equations(self) -> Sequence[Equation]:
        name = "sum of coordinate {} of the landmarks"
        sums = [Equation(name.format(axis), slice(axis, None, 2), False) for axis in range(2)]
        return [_UNIT_LENGTH, *sums]

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        # only an array may be complex: the dtype of a list depends on its entries
        if isinstance(value, np.ndarray) and value.dtype.kind == "c":
            return _complex_parts(value)
        return super()._numbers(value, name, reading)

    def _meant(self, shape: tuple[int, ...]) -> str:
        return f": {LANDMARKS_IN_SPACE}" * (len(shape) > 1 and shape[-1] == 3)


class Rotations(Manifold):
    """Rotations of three-dimensional space, SO(3): matrices of shape (3, 3) with determinant 1.

    The distance of two rotations is the angle between them. Sectional curvature 1/4, injectivity
    radius pi. The sphere of dimension 3 and radius 2 covers them twice; statistics of a ball, whose
    radius is below pi/2, are those of its copy there, and noise is drawn there (proof:
    docs/proofs/coverings.md).

    Parameters
    ----------
    m : int
        Order of the matrices: 3.

    Examples
    --------
    >>> quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    >>> float(Rotations().dist(np.eye(3), quarter).round(4))
    1.5708
    """

    _title = "rotations of R³"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"rotations": {}}
    _origin_name = "identity"
    _short_form = (
        "a quaternion, its scalar last; Euler angles and rotation vectors are read as SciPy's "
        "Rotation.from_euler and from_rotvec make them"
    )

    def __init__(self, m: int = 3) -> None:
        size = as_count(m, "m", least=3, most=3)
        super().__init__("rotations", size, 0.0, (3, 3))

    @property
    def written(self) -> Written:
        return Written(self.spec, "quaternion")

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        as_quat = getattr(value, "as_quat", None)  # SciPy's Rotation
        if as_quat is None:
            return super()._numbers(value, name, reading)
        if reading.scalar_first is not None:
            raise ValueError(f"{name} are rotations, not quaternions: leave scalar_first out")
        return super()._numbers(as_quat(), name)

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        near = self.dist(point, center)
        return [near, 2 * np.pi - near]


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
        return [_UNIT_LENGTH]

    def _meant(self, shape: tuple[int, ...]) -> str:
        are_angles = self.dim == 1 and (len(shape) == 1 or shape[-1:] == (1,))
        return f": {AXES_AS_ANGLES}" * are_angles

    def _noise_dists(
        self, point: ArrayLike, center: ArrayLike, reach: float
    ) -> Sequence[FloatArray]:
        near = self.dist(point, center)
        return [near, np.pi - near]


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


class Grassmann(Manifold):
    """The Grassmannian: k-dimensional subspaces of R^n, points of shape (n, k).

    A point is given by an orthonormal basis in columns; any other orthonormal basis of the subspace
    is the same point. The distance is sqrt(sum of squared principal angles), in radians. Sectional
    curvature in [0, 2] (1 for k = 1 and k = n - 1), injectivity radius pi/2; balls have a radius
    below pi/4. Released bases are those closest to that of the ball's centre. Proof:
    docs/proofs/grassmann.md.

    Parameters
    ----------
    n : int
        2 to 1000.
    k : int
        1 to n - 1.

    Examples
    --------
    >>> planes = Grassmann(3, 2)
    >>> tilted = [[1.0, 0.0], [0.0, 0.8], [0.0, 0.6]]
    >>> float(planes.dist(planes.origin, tilted).round(4))
    0.6435
    """

    _title = "subspaces (Grassmannians)"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"grassmann": {}}
    _is_compact = True
    _keyword: ClassVar[str | None] = "k"
    _short_form = "its projector"

    def __init__(self, n: int, k: int) -> None:
        self.n = as_count(n, "n", least=2, most=MOST_AXES)
        self.k = as_count(k, "k", most=self.n - 1)
        super().__init__("grassmann", self.n, float(self.k), (self.n, self.k))

    @property
    def spec(self) -> str:
        return f"grassmann:{self.n}:{self.k}"

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        array = super()._numbers(value, name, reading)
        if array.shape[-2:] == (self.n, self.n):  # projectors
            array = array.reshape(*array.shape[:-2], self.n * self.n)
        return array

    def _equations(self) -> Sequence[Equation]:
        return _unit_columns(self.point_shape[1])


class SpecialOrthogonal(Manifold):
    """Rotations of R^n, SO(n): matrices of shape (n, n) with orthonormal columns and determinant 1.

    R^T S turns planes by angles t_i in [0, pi]; the distance is sqrt(sum of t_i^2), in radians,
    |log(R^T S)|/sqrt 2 in Frobenius norm. Sectional curvature in [0, 1/2] (1/4 for n = 3, 0 for
    n = 2), injectivity radius pi; balls have a radius below pi/2. For n = 3 this is the space of
    ``Rotations``, which is faster and takes its noise from the sphere that covers it. Proof:
    docs/proofs/special-orthogonal.md.

    Parameters
    ----------
    n : int
        2 to 33.

    Examples
    --------
    >>> turn = [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]]
    >>> angles = np.pi / 2, np.pi
    >>> bool(np.isclose(SpecialOrthogonal(4).dist(np.eye(4), turn), np.hypot(*angles)))
    True
    """

    _title = "rotations of Rⁿ"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"so": {}}
    _is_compact = True
    _origin_name = "identity"

    def __init__(self, n: int) -> None:
        self.n = as_count(n, "n", least=2, most=MOST_TURNED)
        super().__init__("so", self.n, 0.0, (self.n, self.n))

    def _equations(self) -> Sequence[Equation]:
        return _unit_columns(self.point_shape[1])


class Unitary(_ComplexMatrices):
    """Unitary matrices, U(n), <V, W>_U = Re tr(V^* W); points (n, n, 2).

    The last axis holds real and imaginary parts; arrays of complex numbers, shape (..., n, n), are
    read as well, and `to_complex` views points as complex matrices, as on ``HPD``. U^* V has
    eigenvalues exp(i t_j) with t_j in (-pi, pi]; the distance is sqrt(sum of t_j^2), in radians,
    |log(U^* V)| in Frobenius norm. Matrices that differ by a phase are two points: for gates up to
    a phase, fix the phase of each record by a public rule. Dimension n^2, sectional curvature in
    [0, 1/2] (0 for n = 1, the circle), injectivity radius pi; balls have a radius below pi/2.
    Proof: docs/proofs/special-orthogonal.md, section 7.

    Parameters
    ----------
    n : int
        1 to 16.

    Examples
    --------
    >>> space = Unitary(2)
    >>> gate = np.diag([1.0, 1.0j])
    >>> bool(np.isclose(space.dist(space.origin, gate), np.pi / 2))
    True
    """

    _title = "unitary matrices"
    _names: ClassVar[dict[str, dict[str, Any]]] = {"unitary": {}}
    _is_compact = True

    def __init__(self, n: int) -> None:
        self.n = as_count(n, "n", most=MOST_UNITARY)
        super().__init__("unitary", self.n, 0.0, (self.n, self.n, 2))

    def _equations(self) -> Sequence[Equation]:
        width = 2 * self.n
        rows = [slice(i * width, (i + 1) * width) for i in range(self.n)]
        return [Equation(f"|row {i}|^2 - 1", row, True, Fraction(1)) for i, row in enumerate(rows)]


def _of_signals(shape: tuple[int, ...], channels: int) -> str:
    """Where records that may be time series of so many channels are read."""
    if len(shape) < 3 or channels not in shape[-2:]:
        return ""
    turned = "" if shape[-2] == channels else ", of shape (n, channels, samples)"
    return (
        "; time series become matrices by descriptors.time_series_covariance(signals, ridge=...)"
        f"{turned}"
    )


def _unit_columns(width: int) -> list[Equation]:
    """The columns of a matrix have length 1."""
    names = [f"|column {j}|^2 - 1" for j in range(width)]
    return [
        Equation(name, slice(j, None, width), True, Fraction(1)) for j, name in enumerate(names)
    ]


def _complex_parts(value: Any) -> FloatArray:
    """Real and imaginary parts on a new last axis; NaN where masked."""
    with np.errstate(all="ignore"):
        parts = np.stack([value.real, value.imag], axis=-1).astype(np.float64)
    if isinstance(value, np.ma.MaskedArray):
        parts[value.mask] = np.nan
    return np.ascontiguousarray(np.asarray(parts))


def _lattice(dim: int, most: int) -> FloatArray:
    """Integer vectors with entries up to `most`."""
    if (2 * most + 1) ** dim > _MOST_COPIES:
        raise ValueError(
            f"the density of noise on torus:{dim} at this scale is a sum over more than "
            f"{_MOST_COPIES} copies of a point: ask in fewer dimensions or at a smaller scale"
        )
    axis = np.arange(-most, most + 1.0)
    return np.stack(np.meshgrid(*[axis] * dim), axis=-1).reshape(-1, dim)


#: Every manifold, in the order in which messages name them.
SPACES: tuple[type[Manifold], ...] = (
    Sphere,
    SPD,
    HPD,
    Hyperboloid,
    KendallPlanar,
    Rotations,
    Correlation,
    Projective,
    Torus,
    Grassmann,
    SpecialOrthogonal,
    Unitary,
    Euclidean,
)

#: Their names in texts.
SPACE_NAMES = tuple(next(iter(space._names)) for space in SPACES)
