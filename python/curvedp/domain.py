"""The public domain of a release: a closed geodesic ball that the user states beforehand."""

from __future__ import annotations

import functools
import itertools
import math
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._displays import Shown, displayed
from curvedp._html import card
from curvedp._text import numbers, shortest
from curvedp._validation import FloatArray, as_array, as_finite, as_positive
from curvedp.ball_templates import checked_unit, is_of_field, is_template, public_ball
from curvedp.manifolds import Manifold, Product, Sphere, Torus, as_manifold
from curvedp.unit import Unit, told_in, unit_of_lengths

#: Relative slack of the radius: rounding may leave records and means that far outside the ball.
#: Sensitivities count it.
BOUNDARY_SLACK = _core.BOUNDARY_SLACK

#: After k steps the radius is within about 1/k of the least.
_COVERING_STEPS = 2000

#: Letters of a centre that is written with all its digits.
_TYPED = 100


class Ball:
    """Closed geodesic ball B(center, radius): the public domain on which records are projected.

    Centre and radius must be chosen without looking at the data; otherwise no guarantee holds. A
    ball cannot be changed.

    Parameters
    ----------
    manifold : Manifold, str or geomstats space
        See `as_manifold`.
    center : array-like, "identity" or "origin"
        Public centre, in any form that `Manifold.as_points` reads; "identity" is the identity
        matrix, for matrices, "origin" that of Euclidean and hyperbolic spaces and of the torus.
    radius : float
        Public radius in the units of the metric, below `manifold.max_ball_radius`, so that every
        data set in the ball has a unique Fréchet mean.
    unit : Unit, optional
        The unit in which the ball was stated and its releases are told, as `from_units` sets it;
        everything is computed in the units of the metric.

    Raises
    ------
    ValueError
        If the centre is not on the manifold, or on hyperbolic space more than 15/sqrt(-curvature)
        from its origin, or the radius is not positive, finite and small enough.

    Examples
    --------
    >>> ball = Ball("spd:3", center="identity", radius=1.5)
    >>> bool(ball.contains(4.0 * np.eye(3)))
    False
    >>> float(ball.manifold.dist(ball.center, ball.project(4.0 * np.eye(3))).round(6))
    1.5
    """

    _unit: Unit | None = None

    def __init__(
        self,
        manifold: Manifold | str | Any,
        center: ArrayLike | str,
        radius: float,
        *,
        unit: Unit | None = None,
    ) -> None:
        if not isinstance(unit, (Unit, NoneType)):
            raise TypeError(f"unit must be a Unit or None, got {type(unit).__name__}")
        self._unit = None if unit is None else checked_unit(unit)
        if isinstance(manifold, Product):
            raise TypeError("a product of manifolds has a ball for each factor: use ProductBall")
        if isinstance(center, str):
            space = as_manifold(manifold)
            if (name := space._origin_name) != center:
                known = f" or {name!r}" * (name is not None)
                raise ValueError(
                    f"center must be a point{known} on {space.spec}, got {center!r}: choose it "
                    "from what is public. A mean of the records is private; "
                    "frechet_mean(records, manifold, guarantee) releases it without a ball"
                )
            point: FloatArray = space.origin
        else:
            space = as_manifold(manifold, as_array(center, "center").shape)
            point = space._whole(center, "center")
            if point.shape != space.point_shape:
                raise ValueError(f"center must be one point, got shape {point.shape}")
        if np.isnan(space.as_points(point)).any():
            raise ValueError(f"center is not a point of {space.spec}")
        if isinstance(manifold, str) and ":" not in manifold and not space.belongs(point):
            raise ValueError(
                f"{manifold!r} without a size means {space.spec} here, and center is no point of "
                f"it: say the size, as in {space.spec!r}"
            )
        if not space.kernels.carries(np.ascontiguousarray(point).reshape(-1)):
            raise ValueError(space._too_far(point))
        length = as_positive(radius, "radius")
        bound = space._largest_radius(point)
        if length * (1 + BOUNDARY_SLACK) >= bound:
            why = "so that the mean of every data set in the ball is unique"
            if bound < space.max_ball_radius:
                why = "about this center, as doubles hold no points farther out"
            further = ". For records that lie farther apart give frechet_mean the manifold"
            if isinstance(space, Sphere | Torus):
                further += ", or use curvedp.directions.mean_direction"
            raise ValueError(
                f"radius must be below {told_in(unit_of_lengths(space))(bound)} on {space.spec}, "
                f"{why}, got {length:.6g}" + further * math.isfinite(space.max_ball_radius)
            )
        self._manifold = space
        self._center = space.project(point)
        self._center.flags.writeable = False
        self._radius = length

    @staticmethod
    def covering(manifold: Manifold | str | Any, points: ArrayLike, *, margin: float = 0.0) -> Ball:
        """The smallest ball that holds stated extremes, about the point in their middle.

        For points that are public: the most extreme tensors, directions or shapes that the field
        knows, from the literature or from data that need no protection. Records that have been
        looked at are none. The centre takes steps to the farthest point (Arnaudon and Nielsen 2013,
        algorithm 1).

        Parameters
        ----------
        manifold : Manifold, str or geomstats space
        points : array-like, shape (k, *point_shape), or tuple of arrays on a product
            Two or more, in any form that `Manifold.as_points` reads.
        margin : float
            Share by which the radius is longer than these points need.

        Returns
        -------
        Ball, or ProductBall on a product

        Raises
        ------
        ValueError
            If a point is none of the manifold, or they lie too far apart for a ball.

        Examples
        --------
        >>> free_water, white_matter = 3.0 * np.eye(3), np.diag([1.6, 0.3, 0.3])
        >>> ball = Ball.covering("spd:3", [free_water, white_matter])
        >>> round(ball.radius, 3), bool(ball.contains([free_water, white_matter]).all())
        (1.658, True)
        """
        share = as_finite(margin, "margin")
        if share < 0:
            raise ValueError(f"margin must be at least 0, got {share}")
        space = as_manifold(manifold)
        if isinstance(space, Product):
            parts = zip(
                space.factors, space.split(space.read_records(points, "points")), strict=True
            )
            balls = [Ball.covering(factor, part, margin=share) for factor, part in parts]
            from curvedp.product_ball import ProductBall

            return ProductBall(*balls, manifold=space)
        extremes = space.as_points(space.read_records(points, "points"))
        if len(extremes) < 2 or np.isnan(extremes).any():
            raise ValueError(f"points must be two or more points of {space.spec}")
        moving = middle = extremes[0]
        reach = math.inf
        for k in range(1, _COVERING_STEPS + 1):
            dist = space.dist(extremes, moving)
            if dist.max() < reach:
                middle, reach = moving, float(dist.max())
            step = space.log(extremes[dist.argmax()], moving) / (k + 1)
            moving = space.project(space.exp(step, moving))
        return Ball(space, middle, reach * (1.0 + share) * (1.0 + 1e-9))

    @staticmethod
    def from_units(
        field: str, units: str, *, center: ArrayLike | None = None, radius: float | None = None
    ) -> Ball:
        """A field's public ball, or one stated in its units.

        - ``"dti"``: records in "1e-3 mm^2/s", "um^2/ms", "mm^2/s" or "m^2/s"; the ball of radius
          2.34 about .78 (in 1e-3 mm^2/s) times the identity, on ``spd:3``, or another.
        - ``"earth"``: a radius in "km", "m", "miles" or "degrees" on ``sphere:2``.
        - ``"rotations"``: a radius in "degrees" or "radians" on ``rotations:3``, by default about
          the identity.
        - ``"clock"``: centre and radius in "hours" of a day, "degrees" or "radians" on ``torus:1``.

        The unit is that of centre and radius, and of texts, plans and `expected_error`. Records are
        read as on any ball of the space: arrays of angles in radians
        (`curvedp.directions.as_radians` converts them), columns of a table in the unit that their
        names say (``time_hours``), longitude and latitude in degrees.

        The ball of diffusion tensors is the smallest that holds free water at body temperature, 3.0
        (Holz, Heil and Sacco 2000, PCCP 2, 4740), and the splenium in any direction, 1.685, .287
        and .109 (Pierpaoli et al. 1996, Radiology 201, 637).

        Parameters
        ----------
        field : str
        units : str
            Of the records of "dti", of the radius of "earth" and "rotations", of centre and radius
            on the "clock".
        center : array-like, optional
            In any form that `Manifold.as_points` reads; on the Earth longitude and latitude in
            degrees.
        radius : float, optional
            In `units`; of "dti" in those of the metric.

        Returns
        -------
        Ball

        Raises
        ------
        ValueError
            For another field or unit, and where a centre or radius is missing.

        Examples
        --------
        >>> ball = Ball.from_units("dti", "mm^2/s")
        >>> bool(ball.contains(3.0e-3 * np.eye(3))), float(ball.center[0, 0].round(6)), ball.radius
        (True, 0.00078, 2.34)
        >>> near_berlin = Ball.from_units("earth", "km", center=[13.4, 52.5], radius=500)
        >>> near_berlin
        Ball.from_units('earth', 'km', center=[13.4, 52.5], radius=500.0)
        >>> round(near_berlin.radius, 4), near_berlin.unit.name
        (0.0785, 'km')
        """
        space, middle, length, unit = public_ball(field, units, center, radius)
        return Ball(space, middle, length, unit=unit)

    @property
    def manifold(self) -> Manifold:
        """The manifold."""
        return self._manifold

    @property
    def center(self) -> FloatArray:
        """The public centre, shape point_shape, read-only."""
        return self._center

    @property
    def radius(self) -> float:
        """The public radius, in the units of the metric."""
        return self._radius

    @property
    def unit(self) -> Unit | None:
        """The unit in which the ball was stated and its releases are printed, if there is one."""
        return self._unit

    @property
    def radii(self) -> tuple[float, ...]:
        """All radii: of this ball alone, or of each factor."""
        return (self._radius,)

    def project(self, points: ArrayLike) -> FloatArray:
        """Each record moved to the closest point of the ball along the geodesic from the centre.

        x -> exp_c(min(1, r/rho(c, x)) log_c x). A record that stands for no point, or for one in
        the cut locus of the centre, becomes the centre.

        Parameters
        ----------
        points : array-like
            In any form that `Manifold.as_points` reads.

        Returns
        -------
        ndarray, shape (..., *point_shape)
        """
        array = self.manifold._whole(points, "points")
        result = np.empty_like(array)
        if result.size:
            size = self.manifold.point_size
            self.frame.project(array.reshape(-1, size), result.reshape(-1, size))
        return result

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Membership of points in the ball, up to 1e-9 relative.

        Parameters
        ----------
        points : array-like
            In any form that `Manifold.as_points` reads.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        array = self.manifold._whole(points, "points")
        batch = array.shape[: array.ndim - len(self.manifold.point_shape)]
        inside = self.frame.contains(array.reshape(-1, self.manifold.point_size))
        return np.array(inside, dtype=np.bool_).reshape(batch)

    @functools.cached_property
    def frame(self) -> _core.Frame:
        """Compiled maps of the ball, whose centre is the origin of the space."""
        return _core.Frame(self.manifold.kernels, self.center.reshape(-1), self.radius)

    def enter(self, records: ArrayLike) -> FloatArray:
        """Records projected on the ball and moved into the frame, one row each.

        Parameters
        ----------
        records : array-like, shape (n, *point_shape)

        Returns
        -------
        ndarray, shape (n, size of a point of the frame)
        """
        array = self.manifold.read_records(records)
        rows = np.empty((len(array), self.frame.manifold.point_size))
        self.frame.enter(array.reshape(len(array), -1), rows)
        return rows

    def leave(self, rows: FloatArray) -> FloatArray:
        """Points of the frame moved back to the manifold, shape (n, *point_shape).

        Parameters
        ----------
        rows : ndarray
            As `enter` returns them.
        """
        points = np.empty((len(rows), self.manifold.point_size))
        self.frame.leave(rows, points)
        return points.reshape(len(rows), *self.manifold.point_shape)

    def _step(self, point: FloatArray, coords: FloatArray) -> FloatArray:
        """exp_point(v) for the coordinates of v, projected on the ball; points of the frame."""
        frame, base = self.frame, point[None]
        end = np.empty_like(base)
        frame.manifold.exp_coords(np.ascontiguousarray(coords[None]), base, end)
        inside = np.empty_like(point)
        _core.Frame(frame.manifold, frame.origin, self.radius).project(end, inside[None])
        return inside

    def plot(self) -> Shown:
        """Draw what the ball holds with the matplotlib of the extra ``plot``.

        Its rim on surfaces and lines, elsewhere points of the rim beside the centre; see
        `curvedp.plotting.BallDisplay`.

        Returns
        -------
        BallDisplay
            With `figure_` and `axes_`; a notebook shows it.

        Raises
        ------
        TypeError
            On a product.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5).plot().view
        'globe'
        """
        return displayed(self, "curvedp.plotting.balls:BallDisplay.from_ball")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ball):
            return NotImplemented
        same = (type(self), self.manifold, self.radii, self.unit)
        return same == (type(other), other.manifold, other.radii, other.unit) and np.array_equal(
            self.center, other.center
        )

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        center = (self.center + 0.0).tobytes()  # zeros of both signs are equal
        return hash((type(self), self.manifold, center, self.radii, self.unit))

    def __repr__(self) -> str:
        """A text that makes the ball again, where its centre has few numbers."""
        said = ""
        if self.unit is not None and not self._is_of_field:
            said = f", unit={self.unit!r}"
        elif self.unit is not None:
            unit, length = self.unit, self.unit.length or 1.0
            if is_template(self.manifold, self.center, self.radius, unit):
                return f"Ball.from_units({unit.field!r}, {unit.name!r})"
            text = shortest(self.radius / length, lambda own: own * length == self.radius)
            if float(text) * length == self.radius:
                return (
                    f"Ball.from_units({unit.field!r}, {unit.name!r}, center={self._told_center}, "
                    f"radius={text})"
                )
            said = f", unit={unit!r}"
        named = f"{self.manifold.spec!r}, center={self._typed_center}, radius={self.radius!r}"
        return f"Ball({named}{said})"

    @property
    def _is_of_field(self) -> bool:
        return self.unit is not None and is_of_field(self.manifold, self.unit)

    @property
    def _typed_center(self) -> str:
        """The centre by its name, or by all digits of its numbers if that is short."""
        named = self._named_center
        if named[0] != "[":
            return named
        return typed if len(typed := self._digits) <= _TYPED else named

    @property
    def _digits(self) -> str:
        """Numbers of which the centre is made again: rounding onto the manifold may alternate
        between two points."""
        return repr(self.manifold.project(self.center).tolist())

    @property
    def _told_center(self) -> str:
        """The centre in the ball's unit."""
        assert self.unit is not None
        found = self.unit.numbers_of(self.manifold, self.center)
        if found is None:
            return self._typed_center
        given, _ = found
        turn = 2 * math.pi / (self.unit.length or 1.0)
        ways = [given, given - turn] if given.size == 1 else [given]
        for digits, numbers_of_way in itertools.product(range(1, 18), ways):
            rounded = [float(f"{own:.{digits}g}") for own in numbers_of_way.tolist()]
            said = rounded[0] if given.size == 1 else rounded
            space, center, *_ = public_ball(self.unit.field, self.unit.name, said, self.radius)
            if np.array_equal(Ball(space, center, self.radius).center, self.center):
                return repr(said)
        return repr(given.item()) if given.size == 1 else self._digits

    @property
    def _named_center(self) -> str:
        """The centre by its name, such as "identity", by its numbers, or by its shape."""
        space = self.manifold
        if space._origin_name is not None and np.array_equal(self.center, space.origin):
            return repr(space._origin_name)
        return numbers(self.center)

    def _repr_html_(self) -> str:
        space = self.manifold
        facts = [
            ("manifold", space.spec),
            ("dimension", str(space.dim)),
            ("center", self._told_center if self._is_of_field else self._named_center),
            ("radius", told_in(self.unit)(self.radius)),
        ]
        return card(f"{type(self).__name__}: the public domain of a release", facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _ball, (self.manifold, self.center, self.radius, self.unit)


def _ball(manifold: Manifold, center: FloatArray, radius: float, unit: Unit | None) -> Ball:
    return Ball(manifold, center, radius, unit=unit)
