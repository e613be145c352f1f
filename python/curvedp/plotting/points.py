"""A released point in the manner of its space, in its public ball, with the error to expect.

Every function draws on axes that it is given, from public numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.manifolds import (
    SPD,
    Correlation,
    Euclidean,
    Hyperboloid,
    KendallPlanar,
    Manifold,
    Projective,
    Rotations,
    Sphere,
    Torus,
)
from curvedp.plotting.earth import draw_ground
from curvedp.plotting.ellipsoids import draw_ellipsoid
from curvedp.plotting.orthographic import Orthographic
from curvedp.plotting.regions import PRIVATE_COLOURS
from curvedp.unit import Unit

Array = NDArray[np.float64]

VALUE = PRIVATE_COLOURS[0]
BALL: dict[str, Any] = {"color": "0.45", "lw": 1.1, "ls": "--", "label": "public ball"}
_DOT: dict[str, Any] = {"color": VALUE, "marker": "o", "markersize": 5, "ls": "none"}
_ERROR: dict[str, Any] = {"color": VALUE, "lw": 1.2, "label": "expected error"}
_AXES = ("#c8332b", "#2a9d6f", "#1f6fb4")
_AROUND = 240
#: Bars up to this many, beyond it a line.
_BARS = 60


@dataclass(frozen=True)
class ReleasedPoint:
    """Content of a picture of a released point.

    Attributes
    ----------
    space : Manifold
    center : ndarray, shape point_shape
    radius : float
        Of the ball; 0 if there is none to be drawn.
    value : ndarray, shape point_shape
    error : float
        Expected distance of the value from the exact statistic; 0 if it is not known.
    scale : float
        Of the noise.
    label : str
        Of the value.
    unit : Unit or None
        Of the ball.
    is_released : bool
        True if the ball is one that a mean without a ball has released, about itself.
    """

    space: Manifold
    center: Array
    radius: float
    value: Array
    error: float
    scale: float
    label: str = "released"
    unit: Unit | None = None
    is_released: bool = False

    @property
    def of_ball(self) -> dict[str, Any]:
        """The looks of the ball."""
        return {**BALL, "label": "released ball"} if self.is_released else BALL

    @property
    def centers(self) -> list[tuple[Array, dict[str, Any]]]:
        """The ball's centre and its looks; nothing where it is the value itself."""
        return [] if self.is_released else [(self.center, {**BALL, "label": "ball's centre"})]

    def circle(self, about: Array, length: float) -> Array:
        """Points at a distance from a point, closed, shape (k, *point_shape): in dimension 2.

        There are none (k = 0) if the distance is 0, or so large that geodesics meet.
        """
        if not 0.0 < length < self.space.injectivity_radius:
            return np.empty((0, *self.space.point_shape))
        tangent = self.space.coords_to_tangent(length * unit_circle(), about)
        with np.errstate(all="ignore"):
            return self.space.exp(tangent, about)

    def circles(self) -> Iterator[tuple[Array, dict[str, Any]]]:
        """The rim of the ball and the circle of the expected error, with their looks."""
        if self.radius > 0.0:
            yield self.circle(self.center, self.radius), self.of_ball
        yield self.circle(self.value, self.error), _ERROR


@dataclass(frozen=True)
class View:
    """A way to draw a point.

    Attributes
    ----------
    draw : callable
        Draws a `ReleasedPoint` on axes.
    spatial : bool
        True for 3-D axes.
    """

    draw: Callable[[Any, ReleasedPoint], None]
    spatial: bool = False


def view_of(space: Manifold) -> str:
    """The view that a manifold's points are drawn in: a key of `VIEWS`.

    Parameters
    ----------
    space : Manifold

    Returns
    -------
    str
    """
    match space:
        case Sphere(dim=1) | Projective(dim=1) | Torus(dim=1):
            return "circle"
        case Sphere(dim=2) | Projective(dim=2):
            return "globe"
        case Torus(dim=2):
            return "square"
        case Rotations():
            return "frame"
        case SPD(m=2):
            return "ellipse"
        case SPD(m=3):
            return "ellipsoid"
        case Correlation():
            return "matrix"
        case SPD() if space.m > 3:
            return "matrix"
        case KendallPlanar():
            return "outline"
        case Hyperboloid(dim=2):
            return "disc"
        case Euclidean(dim=1):
            return "line"
        case Euclidean(dim=2):
            return "plane"
        case Euclidean(dim=3):
            return "space"
    return "coordinates"


def unit_circle() -> Array:
    """Closed unit circle, shape (k, 2)."""
    angle = np.linspace(0.0, 2 * np.pi, _AROUND + 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def draw_entries(ax: Any, entries: Array) -> None:
    """Numbers in a row: bars, or a line of many.

    Parameters
    ----------
    ax : matplotlib axes
    entries : ndarray, shape (k,)
    """
    numbers = np.arange(len(entries))
    if len(entries) <= _BARS:
        ax.bar(numbers, entries, color=VALUE, label="released")
    else:
        ax.plot(numbers, entries, color=VALUE, linewidth=0.9, label="released")
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.tick_params(labelsize=8)


def draw_image(ax: Any, matrix: Array, largest: float | None = None) -> None:
    """A matrix as an image with a colour bar, white at 0.

    Parameters
    ----------
    ax : matplotlib axes
    matrix : ndarray, shape (rows, columns)
    largest : float, optional
        End of the colour bar; by default the largest entry's size.
    """
    end = largest or float(np.abs(matrix).max()) or 1.0
    aspect = "equal" if matrix.shape[0] == matrix.shape[1] else "auto"
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-end, vmax=end, aspect=aspect)
    ax.figure.colorbar(image, ax=ax, shrink=0.85)
    ax.locator_params(integer=True)
    ax.tick_params(labelsize=8)


# ------------------------------------------------------------------ one for each kind of space


def _circle(ax: Any, point: ReleasedPoint) -> None:
    """Angles; an axis has two ends."""
    ax.plot(*unit_circle().T, color="0.8", linewidth=0.8)
    length = point.space.radius if isinstance(point.space, Sphere) else 1.0
    ends = (0.0, np.pi) if isinstance(point.space, Projective) else (0.0,)
    for turn in ends:
        name = {"label": None} if turn else {}
        middle, angle = (_angle(p) + turn for p in (point.center, point.value))
        for about, arc, place, look in (
            (middle, point.radius / length, 1.0, point.of_ball),
            (angle, min(point.error / length, np.pi), 1.07, _ERROR),
        ):
            if arc > 0.0 or look is _ERROR:
                ax.plot(*_arc(about, arc, place), **{**look, "lw": 2.2, **name})
        ax.plot(*_arc(angle, 0.0, 1.0)[:, :1], **_DOT, **({"label": point.label} | name))
    if len(ends) == 2:
        ends_of_axis = np.stack([_arc(_angle(point.value) + turn, 0.0, 1.0)[:, 0] for turn in ends])
        ax.plot(*ends_of_axis.T, color=VALUE, linewidth=1.2)
    if point.unit is not None:
        draw_dial(ax, point.unit.length or 1.0, point.unit.name)
    _square(ax, 1.2 if point.unit is None else 1.35)
    ax.set_axis_off()


def draw_dial(ax: Any, length: float, unit: str) -> None:
    """Marks at the quarters of a turn, in a unit.

    Parameters
    ----------
    ax : matplotlib axes
    length : float
        Of the unit, in radians.
    unit : str
    """
    for quarter, across in enumerate(("left", "center", "right", "center")):
        angle = quarter * math.pi / 2
        told = f"{angle / length:.4g}"
        place = {"ha": across, "va": ("center", "bottom", "center", "top")[quarter]}
        ax.plot(*_arc(angle, 0.0, 0.97)[:, :1], marker=".", color="0.6", markersize=4)
        label = f"{told} {unit}" if quarter == 0 else told
        ax.text(*_arc(angle, 0.0, 1.12)[:, 0], label, fontsize=8, color="0.4", **place)


def _angle(point: Array) -> float:
    return float(point[0]) if len(point) == 1 else math.atan2(point[1], point[0])


def _arc(about: float, half: float, radius: float) -> Array:
    angle = about + np.linspace(-half, half, _AROUND)
    return radius * np.stack([np.cos(angle), np.sin(angle)])


def _globe(ax: Any, point: ReleasedPoint) -> None:
    """The near side of the sphere from above the ball's centre; of axes, their ends there."""
    size = point.space.radius if isinstance(point.space, Sphere) else 1.0
    center = point.center / size
    view = Orthographic(center)

    def flat(points: Array) -> Array:
        near = points / size
        if len(near) and isinstance(point.space, Projective):
            near = near * np.where(near[:1] @ center < 0, -1.0, 1.0)[:, None]
        return view.project(near).T

    curves = [(flat(curve), look) for curve, look in point.circles()]
    dot = flat(point.value[None])
    seen = np.concatenate([*(curve for curve, _ in curves), dot], axis=1)
    extent = 1.04 if np.isnan(seen).any() else min(1.15 * float(np.abs(seen).max()), 1.04)
    draw_ground(ax, view, extent, point.unit)
    for curve, look in curves:
        ax.plot(*curve, **look, zorder=3)
    ax.plot(*dot, **_DOT, label=point.label, zorder=4)


def _square(ax: Any, extent: float) -> None:
    ax.set(xlim=(-extent, extent), ylim=(-extent, extent))
    ax.set_aspect("equal")


def _torus(ax: Any, point: ReleasedPoint) -> None:
    for curve, look in point.circles():
        jumps = np.abs(np.diff(curve, axis=0)).max(axis=1, initial=0.0) > np.pi
        ax.plot(*np.insert(curve, np.flatnonzero(jumps) + 1, np.nan, axis=0).T, **look)
    ax.plot(*point.value[:, None], **_DOT, label=point.label)
    _square(ax, np.pi)
    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks([-np.pi, 0.0, np.pi], ["−π", "0", "π"])


def _frame(ax: Any, point: ReleasedPoint) -> None:
    """The turned axes, with the circles on which a turn by the expected error leaves their tips."""
    across = np.sin(point.error) * unit_circle() if point.error < np.pi / 2 else np.empty((0, 2))
    for k, colour in enumerate(_AXES):
        tip, others = point.value[:, k], np.delete(point.value, k, axis=1)
        name = {"label": None} if k else {}
        for center, look in point.centers:
            ax.plot(*_from_origin(center[:, k]), **{**look, **name})
        ax.plot(*_from_origin(tip), color=colour, linewidth=2.2, label=f"axis {'xyz'[k]}")
        ring = np.cos(point.error) * tip[:, None] + others @ across.T
        ax.plot(*ring, color=colour, linewidth=0.9)
    _box(ax, 1.0)


def _from_origin(tip: Array) -> Array:
    return np.stack([np.zeros(3), tip], axis=1)


def _box(ax: Any, extent: float, about: Array | None = None) -> None:
    low, high = (np.zeros(3) if about is None else about) + np.array([[-extent], [extent]])
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect((1.0, 1.0, 1.0))
    ax.tick_params(labelsize=7)


def _ellipse(ax: Any, point: ReleasedPoint) -> None:
    """{D u: |u| = 1} of the matrix D, and of the ball's centre."""
    for center, look in point.centers:
        ax.plot(*(center @ unit_circle().T), **look)
    ax.plot(*(point.value @ unit_circle().T), color=VALUE, linewidth=1.8, label=point.label)
    ax.set_aspect("equal", adjustable="datalim")


def _ellipsoid(ax: Any, point: ReleasedPoint) -> None:
    """As `_ellipse`, the ball's centre in black outline."""
    both = np.linalg.eigvalsh(np.stack([point.value, point.center]))
    draw_ellipsoid(ax, point.value, point.center, 1.05 * float(both.max()), "")
    for _ in point.centers:
        ax.plot([], [], [], color="black", label="ball's centre")


def _matrix(ax: Any, point: ReleasedPoint) -> None:
    draw_image(ax, point.value, 1.0 if isinstance(point.space, Correlation) else None)


def _outline(ax: Any, point: ReleasedPoint) -> None:
    """The shape, turned to the ball's centre, its landmarks in circles of their expected error."""
    center, value = (p @ np.array([1.0, 1.0j]) for p in (point.center, point.value))
    product = np.vdot(value, center)
    value = value * (product / abs(product) if product else 1.0)
    each = point.error / math.sqrt(len(value))
    shapes = [(center, look) for _, look in point.centers]
    for shape, look in (*shapes, (value, {**_SHAPE, "label": point.label})):
        closed = np.append(shape, shape[0])
        ax.plot(closed.real, closed.imag, **look)
    if each < 1.0:
        rings = value[:, None] + each * (unit_circle() @ np.array([1.0, 1.0j]))
        ax.plot(rings.real.T, rings.imag.T, color=VALUE, linewidth=0.6)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()


_SHAPE: dict[str, Any] = {**_DOT, "markersize": 3, "ls": "-"}


def _disc(ax: Any, point: ReleasedPoint) -> None:
    """The Poincaré disc."""
    size = float(point.space.origin[0])

    def flat(points: Array) -> Array:
        with np.errstate(all="ignore"):
            return (points[..., 1:] / (size + points[..., :1])).T

    ax.plot(*unit_circle().T, color="0.6", linewidth=0.9)
    for curve, look in point.circles():
        ax.plot(*flat(curve), **look)
    ax.plot(*flat(point.value[None]), **_DOT, label=point.label)
    _square(ax, 1.04)
    ax.set_axis_off()


def _line(ax: Any, point: ReleasedPoint) -> None:
    ends = point.center[0] + point.radius * np.array([-1.0, 1.0])
    if point.radius > 0.0:
        ax.plot(ends, [0.0, 0.0], **{**point.of_ball, "lw": 2.2})
    label = f"{point.label}, expected error" if point.error else point.label
    draw_interval(ax, float(point.value[0]), point.error, label)


def draw_interval(
    ax: Any, value: float, error: float, label: str = "released, expected error"
) -> None:
    """A number between its ends at the expected error.

    Parameters
    ----------
    ax : matplotlib axes
    value : float
    error : float
        0 if it is not known.
    label : str
    """
    look = {"fmt": "o", "markersize": 6, "capsize": 5, "color": VALUE}
    ax.errorbar([value], [0.0], xerr=[error], **look, label=label)
    ax.set_ylim(-1.0, 1.0)
    ax.set_yticks([])
    ax.tick_params(labelsize=8)


def _plane(ax: Any, point: ReleasedPoint) -> None:
    for curve, look in point.circles():
        ax.plot(*curve.T, **look)
    ax.plot(*point.value[:, None], **_DOT, label=point.label)
    ax.set_aspect("equal", adjustable="datalim")
    ax.tick_params(labelsize=8)


def _space(ax: Any, point: ReleasedPoint) -> None:
    """Three great circles of the ball, and of the expected error."""
    for about, length, look in (
        *([(point.center, point.radius, point.of_ball)] * (point.radius > 0.0)),
        (point.value, point.error, _ERROR),
    ):
        for k in range(3):
            ring = np.insert(unit_circle(), k, 0.0, axis=1)
            name = {} if k == 0 else {"label": None}
            ax.plot(*(about + length * ring).T, **{**look, "lw": 0.8, **name})
    ax.plot(*point.value[:, None], **_DOT, label=point.label)
    away = float(np.abs(point.value - point.center).max())
    _box(ax, 1.05 * max(point.radius, away, point.error), point.center)


def _coordinates(ax: Any, point: ReleasedPoint) -> None:
    """Coordinates of the logarithm at the ball's centre, and a band of the noise scale about 0."""
    log = point.space.log(point.value, point.center)
    draw_entries(ax, point.space.tangent_to_coords(log, point.center))
    ax.axhspan(-point.scale, point.scale, color="0.5", alpha=0.2, linewidth=0, label="noise scale")
    origin = "the origin" if point.is_released else "the ball's centre"
    ax.set_xlabel(f"coordinates from {origin}", fontsize=9)


#: The ways to draw a point, by name.
VIEWS: dict[str, View] = {
    "circle": View(_circle),
    "globe": View(_globe),
    "square": View(_torus),
    "frame": View(_frame, spatial=True),
    "ellipse": View(_ellipse),
    "ellipsoid": View(_ellipsoid, spatial=True),
    "matrix": View(_matrix),
    "outline": View(_outline),
    "disc": View(_disc),
    "line": View(_line),
    "plane": View(_plane),
    "space": View(_space, spatial=True),
    "coordinates": View(_coordinates),
}
