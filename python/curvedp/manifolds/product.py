"""Products of manifolds, and the rigid motions of three-dimensional space."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_positive
from curvedp.manifolds.base import Manifold
from curvedp.manifolds.reading import PLAIN, Reading
from curvedp.manifolds.spaces import Euclidean, Rotations

#: Stands between the names of factors in a text.
TIMES = " x "


class Product(Manifold):
    """Product of manifolds: rho(x, y)^2 = sum_i rho_i(x_i, y_i)^2.

    A point is the row of the entries of its parts, one part for each factor, shape (point_size,).
    A tuple with one array for each factor, each in any form that its factor reads, also stands for
    points. A product has a ball for each factor (`ProductBall`); its means are the means of the
    parts, each released with a share of the guarantee.

    Parameters
    ----------
    *factors : Manifold, str or geomstats space
        Two or more; see `as_manifold`.

    Attributes
    ----------
    factors : tuple of Manifold

    Examples
    --------
    >>> space = Product("sphere:2", "euclidean:1")
    >>> north, east = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    >>> points = space.join(([north, east], [[0.0], [3.0]]))
    >>> points.shape, float(space.dist(points[0], points[1]).round(4))
    ((2, 4), 3.3864)
    """

    _names: ClassVar[dict[str, dict[str, Any]]] = {"product": {}}

    def __init__(self, *factors: Manifold | str | Any) -> None:
        from curvedp.manifolds.convert import as_manifold

        if len(factors) < 2:
            raise ValueError("a product needs two factors or more")
        spaces = tuple(as_manifold(factor) for factor in factors)
        if any(isinstance(space, Product) for space in spaces):
            raise ValueError("a factor is a product itself: give its factors instead")
        ends = np.cumsum([space.point_size for space in spaces])
        places = np.split(np.arange(ends[-1]), ends[:-1])
        self._of(spaces, places, (1.0,) * len(spaces), (int(ends[-1]),))

    def _of(
        self,
        factors: tuple[Manifold, ...],
        places: Sequence[NDArray[np.int64]],
        weights: tuple[float, ...],
        point_shape: tuple[int, ...],
        rest: FloatArray | None = None,
    ) -> None:
        self.factors, self._weights, self.point_shape = factors, weights, point_shape
        own = _Factors(factors, places, weights, math.prod(point_shape), rest)
        self.kernels = cast(_core.Manifold, own)
        self._parts = own

    @property
    def spec(self) -> str:
        return TIMES.join(factor.spec for factor in self.factors)

    @property
    def rank(self) -> int:
        return sum(factor.rank for factor in self.factors)

    @property
    def origin(self) -> FloatArray:
        """The factors' customary reference points."""
        return self.join([factor.origin for factor in self.factors])

    def join(self, parts: Sequence[ArrayLike]) -> FloatArray:
        """Points from their parts.

        Parameters
        ----------
        parts : sequence of array-like
            One for each factor, shape (..., *point_shape) of the factor or another form that it
            reads.

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        if len(parts) != len(self.factors):
            raise ValueError(
                f"a point of {self.spec} has {len(self.factors)} parts, got {len(parts)}"
            )
        named = zip(self.factors, parts, range(1, len(parts) + 1), strict=True)
        points = [factor._whole(part, f"part {i}") for factor, part, i in named]
        both = list(zip(self.factors, points, strict=True))
        lead = np.broadcast_shapes(*(factor._lead(part) for factor, part in both))
        whole = self._parts.blank(math.prod(lead))
        for place, (factor, part) in zip(self._parts.places, both, strict=True):
            wide = np.broadcast_to(part, lead + factor.point_shape)
            whole[:, place] = wide.reshape(-1, factor.point_size)
        return whole.reshape(*lead, *self.point_shape)

    def split(self, points: ArrayLike) -> tuple[FloatArray, ...]:
        """The parts of points, one for each factor: inverse of `join`.

        Parameters
        ----------
        points : array-like, shape (..., *point_shape)

        Returns
        -------
        tuple of ndarray, shape (..., *point_shape) of the factor
        """
        array = self._whole(points, "points")
        lead, rows = self._lead(array), self._flat(array)
        parts = self._parts.of(rows)
        both = zip(self.factors, parts, strict=True)
        return tuple(part.reshape(*lead, *factor.point_shape) for factor, part in both)

    def _snapped(self, records: FloatArray) -> FloatArray:
        parts = zip(self.factors, self.split(records), strict=True)
        return self.join([factor.as_points(part) for factor, part in parts])

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        is_tuple = isinstance(value, tuple)
        return self.join(value) if is_tuple else super()._numbers(value, name, reading)

    def read_records(
        self,
        value: ArrayLike,
        name: str = "records",
        *,
        least: int = 1,
        reading: Reading = PLAIN,
    ) -> FloatArray:
        if not isinstance(value, tuple) or len(value) != len(self.factors):
            return super().read_records(value, name, least=least, reading=reading)
        named = zip(self.factors, value, range(1, len(value) + 1), strict=True)
        parts = [
            factor.read_records(part, f"part {i} of {name}", least=least)
            for factor, part, i in named
        ]
        counts = [len(part) for part in parts]
        if len(set(counts)) > 1:  # a part of one record would count once for each of the others
            raise ValueError(f"the parts of {name} must have equal numbers of rows, got {counts}")
        return self.join(parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.factors))})"

    def joint_length(self, lengths: Iterable[Any]) -> Any:
        """The length of a vector whose parts have these lengths.

        Parameters
        ----------
        lengths : iterable of float or ndarray
            One for each factor, in the units of its metric.

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> float(Product("sphere:2", "euclidean:1").joint_length([3.0, 4.0]))
        5.0
        """
        both = zip(self._weights, lengths, strict=True)
        return np.sqrt(sum((weight * length) ** 2 for weight, length in both))

    def _random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.join([factor._random_points(count, rng) for factor in self.factors])


class RigidMotions(Product):
    """Rigid motions of three-dimensional space, SE(3): matrices [[R, t], [0, 1]] of shape (4, 4).

    The product of rotations and translations: rho^2 = angle^2 + (|t - u|/length)^2. SciPy's
    ``RigidTransform`` and tuples (rotations, translations) also stand for rigid motions.

    Parameters
    ----------
    length : float
        The distance that counts as much as a turn by one radian, in the units of translations.

    Examples
    --------
    >>> space = RigidMotions(length=10.0)
    >>> moved = space.join((np.eye(3), [0.0, 3.0, 4.0]))
    >>> float(space.dist(np.eye(4), moved).round(4))
    0.5
    """

    _names: ClassVar[dict[str, dict[str, Any]]] = {"rigid-motions": {}}
    _origin_name = "identity"

    def __init__(self, length: float) -> None:
        self.length = as_positive(length, "length")
        entries = np.arange(16).reshape(4, 4)
        places = entries[:3, :3].ravel(), entries[:3, 3]
        spaces = Rotations(), Euclidean(3)
        self._of(spaces, places, (1.0, 1.0 / self.length), (4, 4), np.eye(4).ravel())

    @property
    def spec(self) -> str:
        return f"rigid-motions:{self.length!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(length={self.length!r})"

    def _numbers(self, value: Any, name: str, reading: Reading = PLAIN) -> FloatArray:
        is_tuple = isinstance(value, tuple)
        as_matrix = (
            None if is_tuple else getattr(value, "as_matrix", None)
        )  # SciPy's RigidTransform
        return super()._numbers(value if as_matrix is None else as_matrix(), name, reading)


class _Factors:
    """The geometry of a product, in place of compiled code: each factor's on its own entries."""

    short_size = None

    def __init__(
        self,
        factors: tuple[Manifold, ...],
        places: Sequence[NDArray[np.int64]],
        weights: tuple[float, ...],
        point_size: int,
        rest: FloatArray | None,
    ) -> None:
        self.factors, self.places, self.weights = factors, places, weights
        self.point_size, self.rest = point_size, rest
        self.dim = sum(factor.dim for factor in factors)
        ends = np.cumsum([factor.dim for factor in factors])
        self.axes = np.split(np.arange(self.dim), ends[:-1])

    @property
    def injectivity_radius(self) -> float:
        both = zip(self.weights, self.factors, strict=True)
        return min(weight * factor.injectivity_radius for weight, factor in both)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        bounds = [np.array(factor.curvature_bounds) for factor in self.factors]
        both = zip(self.weights, bounds, strict=True)
        scaled = np.array([own / weight**2 for weight, own in both])
        return float(min(0.0, scaled.min())), float(max(0.0, scaled.max()))

    def blank(self, count: int) -> FloatArray:
        """Rows of which only what belongs to no factor is filled in."""
        return np.tile(np.zeros(self.point_size) if self.rest is None else self.rest, (count, 1))

    def of(self, rows: FloatArray) -> list[FloatArray]:
        """The parts of rows of entries."""
        return [np.ascontiguousarray(rows[:, place]) for place in self.places]

    def _map(self, name: str, out: FloatArray, *rows: FloatArray, is_tangent: bool = False) -> None:
        """Writes a kernel's points or vectors."""
        filled = 0.0 if is_tangent or self.rest is None else self.rest
        out[...] = filled
        all_parts = zip(*map(self.of, rows), strict=True)
        for factor, place, parts in zip(self.factors, self.places, all_parts, strict=True):
            part = np.empty((len(out), factor.point_size))
            getattr(factor.kernels, name)(*parts, part)
            out[:, place] = part

    def exp(self, tangent: FloatArray, base: FloatArray, out: FloatArray) -> None:
        self._map("exp", out, tangent, base)

    def log(self, point: FloatArray, base: FloatArray, out: FloatArray) -> None:
        self._map("log", out, point, base, is_tangent=True)

    def to_tangent(self, vector: FloatArray, base: FloatArray, out: FloatArray) -> None:
        self._map("to_tangent", out, vector, base, is_tangent=True)

    def parallel_transport(
        self, tangent: FloatArray, base: FloatArray, end: FloatArray, out: FloatArray
    ) -> None:
        self._map("parallel_transport", out, tangent, base, end, is_tangent=True)

    def _sum(self, out: FloatArray, kernel: Callable[..., None], power: int) -> None:
        """Writes the sum over factors of (weight^2 times the kernel's numbers)^power."""
        out[...] = 0.0
        for i, weight in enumerate(self.weights):
            part = np.empty_like(out)
            kernel(i, part)
            out += (weight * part) ** 2 if power == 2 else weight**2 * part

    def dist(self, a: FloatArray, b: FloatArray, out: FloatArray) -> None:
        of_a, of_b = self.of(a), self.of(b)
        self._sum(out, lambda i, part: self.factors[i].kernels.dist(of_a[i], of_b[i], part), 2)
        np.sqrt(out, out=out)

    def pairwise_dist(self, a: FloatArray, b: FloatArray | None, out: FloatArray) -> None:
        of_a = self.of(a)
        of_b = [None] * len(of_a) if b is None else self.of(b)

        def kernel(i: int, part: FloatArray) -> None:
            self.factors[i].kernels.pairwise_dist(of_a[i], of_b[i], part)

        self._sum(out, kernel, 2)
        np.sqrt(out, out=out)

    def inner(self, a: FloatArray, b: FloatArray, base: FloatArray, out: FloatArray) -> None:
        parts = list(zip(self.of(a), self.of(b), self.of(base), strict=True))
        self._sum(out, lambda i, part: self.factors[i].kernels.inner(*parts[i], part), 1)

    def coords(self, tangent: FloatArray, base: FloatArray, out: FloatArray) -> None:
        both = zip(self.of(tangent), self.of(base), strict=True)
        for i, (vector, point) in enumerate(both):
            part = np.empty((len(out), self.factors[i].dim))
            self.factors[i].kernels.coords(vector, point, part)
            out[:, self.axes[i]] = self.weights[i] * part

    def from_coords(self, coords: FloatArray, base: FloatArray, out: FloatArray) -> None:
        out[...] = 0.0
        for i, point in enumerate(self.of(base)):
            own = np.ascontiguousarray(coords[:, self.axes[i]] / self.weights[i])
            part = np.empty((len(out), self.factors[i].point_size))
            self.factors[i].kernels.from_coords(own, point, part)
            out[:, self.places[i]] = part

    def log_volume_density(self, coords: FloatArray, out: FloatArray) -> None:
        out[...] = 0.0
        for factor, axes, weight in zip(self.factors, self.axes, self.weights, strict=True):
            part = np.empty_like(out)
            factor.kernels.log_volume_density(np.ascontiguousarray(coords[:, axes] / weight), part)
            out += part

    def belongs(self, points: FloatArray, tolerance: float, out: NDArray[np.bool_]) -> None:
        out[...] = True
        if self.rest is not None:
            kept = np.ones(self.point_size, dtype=np.bool_)
            kept[np.concatenate(self.places)] = False
            out &= (np.abs(points[:, kept] - self.rest[kept]) <= tolerance).all(axis=1)
        for factor, part in zip(self.factors, self.of(points), strict=True):
            own = np.empty(len(points), dtype=np.bool_)
            factor.kernels.belongs(part, tolerance, own)
            out &= own

    def project(self, points: FloatArray, out: NDArray[np.bool_]) -> None:
        out[...] = True
        parts = self.of(points)
        points[...] = self.blank(len(points))
        for factor, place, part in zip(self.factors, self.places, parts, strict=True):
            own = np.empty(len(points), dtype=np.bool_)
            factor.kernels.project(part, own)
            points[:, place] = part
            out &= own

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name} is not offered on products of manifolds: take the factors and their parts"
        )

    def carries(self, point: FloatArray) -> bool:
        parts = zip(self.factors, self.of(point[None]), strict=True)
        return all(factor.kernels.carries(part[0]) for factor, part in parts)
