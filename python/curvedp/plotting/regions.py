"""Confidence regions for Fréchet means: in a tangent plane, on the sphere, as ellipses of matrices.

A picture shows regions, which are released, and points, which are drawn as they are: give public
points, or data that need no protection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._displays import Shown
from curvedp._validation import as_choice, as_points
from curvedp.manifolds import SPD, Manifold, Sphere, as_manifold
from curvedp.plotting.earth import draw_ground
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.orthographic import Orthographic
from curvedp.statistics import ConfidenceRegion

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]

#: Colours of private regions, in turn, and of regions without privacy.
PRIVATE_COLOURS = ("#1f6fb4", "#2a9d6f", "#8a5bb5", "#c47f17")
NONPRIVATE_COLOUR = "#c8332b"

VIEWS = ("tangent", "sphere", "matrices")
_ON_BOUNDARY = 240
_ELLIPSES = 60
_MERIDIANS, _PARALLELS = 48, 25


class RegionDisplay(Shown):
    """Confidence regions on one manifold, drawn over each other.

    Build it with `from_regions`, which draws at once, or draw with `plot`.

    Parameters
    ----------
    regions : sequence of ConfidenceRegion
        On one manifold of dimension at least 2.
    names : sequence of str, optional
        For the legend; by default the budget, or "without privacy".
    base_point : array-like, shape point_shape, optional
        Point of contact of the tangent plane; by default the first region's estimate.
    points : array-like, shape (k, *point_shape), optional
        Points to be drawn too. They are **not protected**: give public ones only.

    Attributes
    ----------
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.
    boundaries_ : list of ndarray
        The boundary of each region as drawn, in the coordinates of `ax_`: shape (2, k) for a
        curve, (3, p, q) for a surface, (k, 2, p) for a family of ellipses.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> region = cdp.confidence_region(records, ball, cdp.GDP(mu=1.0))
    >>> display = RegionDisplay.from_regions([region])
    >>> display.boundaries_[0].shape, display.names
    ((2, 241), ['μ = 1'])
    """

    ax_: Any
    boundaries_: list[Array]

    def __init__(
        self,
        regions: Sequence[ConfidenceRegion],
        *,
        names: Sequence[str] | None = None,
        base_point: ArrayLike | None = None,
        points: ArrayLike | None = None,
    ) -> None:
        self.regions = list(regions)
        specs = {region.manifold for region in self.regions}
        if len(specs) != 1:
            raise ValueError(f"regions must lie on one manifold, not on {sorted(specs)}")
        self.manifold: Manifold = as_manifold(specs.pop())
        if self.manifold.dim < 2:
            raise ValueError(f"a region on {self.manifold.spec} is an interval: see its axes()")
        self.names = [_name(r) for r in self.regions] if names is None else list(names)
        if len(self.names) != len(self.regions):
            raise ValueError(f"{len(self.names)} names for {len(self.regions)} regions")
        shape = self.manifold.point_shape
        self.base_point = (
            self.regions[0].estimate
            if base_point is None
            else as_points(base_point, shape, "base_point")
        )
        self.points = None if points is None else as_points(points, shape, "points")

    @classmethod
    def from_regions(
        cls,
        regions: Sequence[ConfidenceRegion],
        *,
        names: Sequence[str] | None = None,
        base_point: ArrayLike | None = None,
        points: ArrayLike | None = None,
        ax: Any = None,
        view: str = "tangent",
        coordinates: Sequence[int] | None = None,
    ) -> RegionDisplay:
        """Draw regions; parameters as in the class and in `plot`."""
        display = cls(regions, names=names, base_point=base_point, points=points)
        return display.plot(ax, view=view, coordinates=coordinates)

    def plot(
        self,
        ax: Any = None,
        *,
        view: str = "tangent",
        coordinates: Sequence[int] | None = None,
        legend: bool = True,
    ) -> RegionDisplay:
        """Draw all regions.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default. Three tangent coordinates need a 3-D axes.
        view : {"tangent", "sphere", "matrices"}
            Tangent coordinates at `base_point`; the sphere S^2 seen from above `base_point`; or
            the ellipses {D u: |u| = 1} of the matrices D of SPD(2) on the boundary.
        coordinates : sequence of 2 or 3 int, optional
            Tangent coordinates shown; by default the first three, in dimension 2 both. A region of
            more dimensions is projected on them: the sub-block of its covariance.
        legend : bool
            True to name the regions.

        Raises
        ------
        ValueError
            For a view that the manifold does not have.
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        as_choice(view, VIEWS, "view")
        if view != "tangent" and coordinates is not None:
            raise ValueError("coordinates belong to the view 'tangent'")
        draw: Callable[[Any], None]
        if view == "sphere":
            if not (isinstance(self.manifold, Sphere) and self.manifold.dim == 2):
                raise ValueError(f"the view 'sphere' shows sphere:2, not {self.manifold.spec}")
            draw, spatial = self._draw_sphere, False
        elif view == "matrices":
            if not (isinstance(self.manifold, SPD) and self.manifold.m == 2):
                raise ValueError(f"the view 'matrices' shows spd:2, not {self.manifold.spec}")
            draw, spatial = self._draw_matrices, False
        else:
            shown = _coordinates(coordinates, self.manifold.dim)
            spatial = len(shown) == 3
            draw = lambda axes: self._draw_tangent(axes, shown)  # noqa: E731
        if ax is None:
            figure = new_figure(5.2, 4.6)
            ax = figure.add_subplot(projection="3d") if spatial else figure.add_subplot()
        elif spatial != (ax.name == "3d"):
            raise ValueError("three coordinates need a 3-D axes, two coordinates a plane one")
        self.ax_, self.figure_, self.boundaries_ = ax, ax.figure, []
        draw(ax)
        if legend:
            ax.legend(loc="upper right", fontsize=8, framealpha=0.85)
        return self

    def _coloured(self) -> list[tuple[ConfidenceRegion, str, str]]:
        """Each region with its name and colour."""
        private = [region.guarantee is not None for region in self.regions]
        turn = np.cumsum(private) - 1
        colours = [
            PRIVATE_COLOURS[k % len(PRIVATE_COLOURS)] if is_private else NONPRIVATE_COLOUR
            for k, is_private in zip(turn, private, strict=True)
        ]
        return list(zip(self.regions, self.names, colours, strict=True))

    def _tangent(self, points: Array) -> Array:
        """Coordinates at the base point, shape (..., dim)."""
        space = self.manifold
        return space.tangent_to_coords(space.log(points, self.base_point), self.base_point)

    def _draw_tangent(self, ax: Any, shown: tuple[int, ...]) -> None:
        k = list(shown)
        length, unit = _length_of(self.regions[0])
        if self.points is not None:
            coords = self._tangent(self.points)[..., k].reshape(-1, len(k)) / length
            ax.scatter(*coords.T, **_dots(len(coords)), zorder=1)
        for region, name, colour in self._coloured():
            boundary = np.moveaxis(self._boundary(region, shown), -1, 0) / length
            center = self._tangent(region.estimate)[k] / length
            self.boundaries_.append(boundary)
            if len(k) == 2:
                ax.fill(*boundary, color=colour, alpha=0.12, linewidth=0, zorder=2)
                ax.plot(*boundary, color=colour, linewidth=1.6, label=name, zorder=3)
            else:
                ax.plot_surface(*boundary, color=colour, alpha=0.12, linewidth=0, shade=False)
                for curve in _outlines(boundary):
                    ax.plot(*curve, color=colour, linewidth=0.9)
                ax.plot([], [], [], color=colour, linewidth=1.6, label=name)
            ax.plot(*center[:, None], marker="o", markersize=4, color=colour, linestyle="none")
        ax.set_aspect("equal", adjustable="box")
        setters = (ax.set_xlabel, ax.set_ylabel) + ((ax.set_zlabel,) if len(k) == 3 else ())
        for setter, index in zip(setters, k, strict=True):
            setter(f"tangent coordinate {index + 1}{unit}", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.locator_params(nbins=5)
        if len(k) == 3:
            ax.set_box_aspect(None, zoom=0.86)

    def _boundary(self, region: ConfidenceRegion, shown: tuple[int, ...]) -> Array:
        """Boundary of the region's projection, in coordinates at the base point.

        Through the manifold, exactly, if all coordinates are shown; to first order otherwise.
        """
        unit = _circle() if len(shown) == 2 else _sphere()
        if len(shown) < region.dim:
            center, covariance = region.in_chart(self.base_point)
            block = covariance[np.ix_(shown, shown)]
            root = np.linalg.cholesky(region.quantile * block)
            return np.asarray(center[list(shown)] + unit @ root.T)
        radii, directions = region.axes()
        space, base = self.manifold, region.chart_point
        middle = space.tangent_to_coords(space.log(region.estimate, base), base)
        vectors = space.coords_to_tangent(middle + (unit * radii) @ directions, base)
        return self._tangent(space.exp(vectors, base))[..., list(shown)]

    def _draw_sphere(self, ax: Any) -> None:
        assert isinstance(self.manifold, Sphere)
        view = Orthographic(self.base_point / self.manifold.radius)
        curves = [
            np.concatenate([region.boundary(_ON_BOUNDARY), region.boundary(_ON_BOUNDARY)[:1]])
            for region in self.regions
        ]
        seen = [*curves, *([] if self.points is None else [self.points.reshape(-1, 3)])]
        extent = view.extent(np.concatenate(seen) / self.manifold.radius)
        draw_ground(ax, view, extent, self.regions[0].ball_unit)
        if self.points is not None:
            flat = view.project(self.points.reshape(-1, 3) / self.manifold.radius)
            ax.scatter(*flat.T, **_dots(len(flat)), zorder=2)
        for (region, name, colour), curve in zip(self._coloured(), curves, strict=True):
            boundary = view.project(curve / self.manifold.radius).T
            self.boundaries_.append(boundary)
            ax.fill(*boundary, color=colour, alpha=0.15, linewidth=0, zorder=3)
            ax.plot(*boundary, color=colour, linewidth=1.6, label=name, zorder=4)
            center = view.project(region.estimate / self.manifold.radius)
            ax.plot(*center[:, None], marker="o", markersize=4, color=colour, zorder=4)

    def _draw_matrices(self, ax: Any) -> None:
        circle = _circle()
        for region, name, colour in self._coloured():
            family = np.einsum("kij,pj->kip", region.boundary(_ELLIPSES), circle)
            self.boundaries_.append(family)
            for ellipse in family:
                ax.plot(*ellipse, color=colour, alpha=0.2, linewidth=0.7, zorder=2)
            ax.plot(
                *(region.estimate @ circle.T), color=colour, linewidth=1.8, label=name, zorder=3
            )
        ax.set_aspect("equal", adjustable="box")
        ax.tick_params(labelsize=8)


def _length_of(region: ConfidenceRegion) -> tuple[float, str]:
    """Length of the unit of a region's ball, and its name after a comma."""
    unit = region.ball_unit
    return (1.0, "") if unit is None or unit.length is None else (unit.length, f", {unit.name}")


def _name(region: ConfidenceRegion) -> str:
    return "without privacy" if region.guarantee is None else budget_text(region.guarantee)


def _dots(count: int) -> dict[str, Any]:
    """Keywords of `scatter` for so many points."""
    return {"s": 30 if count <= 20 else 9, "color": "0.35", "linewidths": 0}


def _coordinates(coordinates: Sequence[int] | None, dim: int) -> tuple[int, ...]:
    shown = tuple(range(min(dim, 3)) if coordinates is None else coordinates)
    valid = all(isinstance(k, int | np.integer) and 0 <= k < dim for k in shown)
    if len(shown) not in (2, 3) or not valid or len(set(shown)) < len(shown):
        raise ValueError(f"coordinates must be two or three different integers below {dim}")
    return shown


def _circle() -> Array:
    """Closed unit circle, shape (k + 1, 2)."""
    angle = np.linspace(0, 2 * np.pi, _ON_BOUNDARY + 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _sphere() -> Array:
    """Grid of longitudes and latitudes on the unit sphere, shape (p, q, 3)."""
    longitude = np.linspace(0, 2 * np.pi, _MERIDIANS + 1)[:, None]
    latitude = np.linspace(0, np.pi, _PARALLELS)[None, :]
    ring = np.sin(latitude)
    height = np.cos(latitude) * np.ones_like(longitude)
    return np.stack([np.cos(longitude) * ring, np.sin(longitude) * ring, height], axis=-1)


def _outlines(surface: Array) -> list[Array]:
    """The equator and two meridians, at right angles to each other, of such a grid."""
    quarter, half = _MERIDIANS // 4, _MERIDIANS // 2
    meridians = [
        np.concatenate([surface[:, k], surface[:, k + half, ::-1]], axis=-1) for k in (0, quarter)
    ]
    return [surface[:, :, _PARALLELS // 2], *meridians]
