"""Geodesics of a regression: on the sphere with their bands, as ellipses and as shapes along x.

A picture shows released geodesics, and points, which are drawn as they are: give public points, or
data that need no protection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._displays import Shown
from curvedp._validation import as_choice, as_points
from curvedp.manifolds import SPD, KendallPlanar, Manifold, Sphere
from curvedp.plotting.earth import draw_ground
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.orthographic import Orthographic
from curvedp.plotting.regions import NONPRIVATE_COLOUR, PRIVATE_COLOURS
from curvedp.regression import Geodesic, GeodesicRelease

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]

VIEWS = ("auto", "sphere", "matrices", "shapes")
_ON_GEODESIC = 121
_ON_ELLIPSE = 120
_MATRICES, _SHAPES = 9, 5
#: Room between figures along x, in their largest extent.
_GAP = 1.15


class GeodesicDisplay(Shown):
    """Geodesics on one manifold over one range of the covariate, drawn over each other.

    Build it with `from_geodesics`, which draws at once, or draw with `plot`.

    Parameters
    ----------
    geodesics : sequence of GeodesicRelease or Geodesic
        Releases, or fits without privacy, on the sphere S^2, on SPD(2) or on planar shapes.
    names : sequence of str, optional
        For the legend; by default the budget, or "without privacy".
    bands : sequence of float or None, optional
        For each geodesic a distance to be shown as a band about it, such as the error that is to be
        expected of it; on the sphere only.
    points : array-like, shape (k, *point_shape), optional
        Points to be drawn too, on the sphere. They are **not protected**: give public ones only.

    Attributes
    ----------
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.
    curves_ : list of ndarray
        The curves drawn for each geodesic, in the coordinates of `ax_`: shape (2, p) on the sphere,
        (k, 2, p) for k ellipses or shapes.
    bands_ : list of ndarray
        The outline of each band, shape (2, p).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> x = np.linspace(0.0, 1.0, 1000)
    >>> y = np.column_stack([np.sin(x - 0.5), np.zeros_like(x), np.cos(x - 0.5)])
    >>> release = cdp.geodesic_regression(
    ...     x, y, ball, cdp.GDP(mu=1.0), x_range=(0.0, 1.0), tau=0.1, v_max=1.2
    ... )
    >>> display = GeodesicDisplay.from_geodesics([release], bands=[0.05])
    >>> display.curves_[0].shape, display.names
    ((2, 121), ['μ = 1'])
    """

    ax_: Any
    curves_: list[Array]
    bands_: list[Array]

    def __init__(
        self,
        geodesics: Sequence[GeodesicRelease | Geodesic],
        *,
        names: Sequence[str] | None = None,
        bands: Sequence[float | None] | None = None,
        points: ArrayLike | None = None,
    ) -> None:
        self.geodesics = [g.geodesic if isinstance(g, GeodesicRelease) else g for g in geodesics]
        specs = {(g.manifold, g.x_range) for g in self.geodesics}
        if len(specs) != 1:
            raise ValueError(
                "geodesics must lie on one manifold, over one range of the covariate: give all the "
                "same x_range"
            )
        self.manifold: Manifold = self.geodesics[0]._space
        self.x_range = self.geodesics[0].x_range
        self.private = [isinstance(g, GeodesicRelease) for g in geodesics]
        units = {g.ball_unit for g in geodesics if isinstance(g, GeodesicRelease)}
        self.unit = units.pop() if len(units) == 1 else None
        self.names = [_name(g) for g in geodesics] if names is None else list(names)
        self.bands = [None] * len(self.geodesics) if bands is None else list(bands)
        for what, given in (("names", self.names), ("bands", self.bands)):
            if len(given) != len(self.geodesics):
                raise ValueError(f"{len(given)} {what} for {len(self.geodesics)} geodesics")
        shape = self.manifold.point_shape
        self.points = None if points is None else as_points(points, shape, "points")

    @classmethod
    def from_geodesics(
        cls,
        geodesics: Sequence[GeodesicRelease | Geodesic],
        *,
        names: Sequence[str] | None = None,
        bands: Sequence[float | None] | None = None,
        points: ArrayLike | None = None,
        ax: Any = None,
        view: str = "auto",
        x: ArrayLike | None = None,
        closed: bool = False,
    ) -> GeodesicDisplay:
        """Draw geodesics; parameters as in the class and in `plot`."""
        display = cls(geodesics, names=names, bands=bands, points=points)
        return display.plot(ax, view=view, x=x, closed=closed)

    def plot(
        self,
        ax: Any = None,
        *,
        view: str = "auto",
        x: ArrayLike | None = None,
        closed: bool = False,
        legend: bool = True,
    ) -> GeodesicDisplay:
        """Draw all geodesics.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a new figure by default.
        view : {"auto", "sphere", "matrices", "shapes"}
            The sphere S^2 seen from above the first geodesic's middle; ellipses
            {D^(1/2) u: |u| = 1} of the matrices D of SPD(2) at values of x; or shapes there, turned
            to the first geodesic's middle. "auto" is the one that the manifold has.
        x : array-like, shape (k,), optional
            Values of the covariate at which ellipses and shapes are drawn; spread evenly over the
            range by default.
        closed : bool
            True for outlines: the last landmark of a shape is joined to the first.
        legend : bool
            True to name the geodesics.

        Raises
        ------
        ValueError
            For a view that the manifold does not have.
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        as_choice(view, VIEWS, "view")
        views = {
            "sphere": isinstance(self.manifold, Sphere) and self.manifold.dim == 2,
            "matrices": isinstance(self.manifold, SPD) and self.manifold.m == 2,
            "shapes": isinstance(self.manifold, KendallPlanar),
        }
        if view == "auto":
            view = next((name for name, fits in views.items() if fits), "none")
        if not views.get(view, False):
            raise ValueError(f"no view {view!r} of {self.manifold.spec}: {', '.join(VIEWS[1:])}")
        if ax is None:
            wide = view != "sphere"
            ax = new_figure(7.2 if wide else 5.2, 2.6 if wide else 4.6).add_subplot()
        self.ax_, self.figure_, self.curves_, self.bands_ = ax, ax.figure, [], []
        if view == "sphere":
            self._draw_sphere(ax)
        else:
            count = _MATRICES if view == "matrices" else _SHAPES
            values = (
                np.linspace(*self.geodesics[0].one_range, count)
                if x is None
                else np.asarray(x, dtype=float)
            )
            outlines = self._ellipses(values) if view == "matrices" else self._shapes(values)
            if closed and view == "shapes":
                outlines = [np.concatenate([o, o[..., :1]], axis=-1) for o in outlines]
            self._draw_row(ax, outlines, values, dotted=view == "shapes")
        if legend:
            ax.legend(loc="upper right", fontsize=8, framealpha=0.85)
        return self

    def _colours(self) -> list[str]:
        turn = np.cumsum(self.private) - 1
        return [
            PRIVATE_COLOURS[k % len(PRIVATE_COLOURS)] if private else NONPRIVATE_COLOUR
            for k, private in zip(turn, self.private, strict=True)
        ]

    def _draw_sphere(self, ax: Any) -> None:
        assert isinstance(self.manifold, Sphere)
        radius = self.manifold.radius
        x = np.linspace(*self.geodesics[0].one_range, _ON_GEODESIC)
        paths = [g.predict(x) for g in self.geodesics]
        outlines = [
            None if band is None else _band(g, x, band, self.manifold)
            for g, band in zip(self.geodesics, self.bands, strict=True)
        ]
        view = Orthographic(self.geodesics[0].footpoint / radius)
        seen = [*paths, *(o for o in outlines if o is not None)]
        if self.points is not None:
            seen.append(self.points.reshape(-1, 3))
        draw_ground(ax, view, view.extent(np.concatenate(seen) / radius), self.unit)
        if self.points is not None:
            flat = view.project(self.points.reshape(-1, 3) / radius)
            ax.scatter(*flat.T, s=9, color="0.35", linewidths=0, zorder=2)
        rows = zip(paths, outlines, self.names, self._colours(), strict=True)
        for path, outline, name, colour in rows:
            if outline is not None:
                flat = view.project(outline / radius).T
                self.bands_.append(flat)
                ax.fill(*flat, color=colour, alpha=0.15, linewidth=0, zorder=3)
            curve = view.project(path / radius).T
            self.curves_.append(curve)
            ax.plot(*curve, color=colour, linewidth=1.8, label=name, zorder=4)
            ax.plot(*curve[:, :1], marker="o", markersize=4, color=colour, zorder=4)

    def _ellipses(self, x: Array) -> list[Array]:
        """Outlines, shape (k, 2, p), of each geodesic's matrices."""
        angle = np.linspace(0, 2 * np.pi, _ON_ELLIPSE + 1)
        circle = np.array([np.cos(angle), np.sin(angle)])
        found = []
        for geodesic in self.geodesics:
            values, vectors = np.linalg.eigh(geodesic.predict(x))
            found.append((vectors * np.sqrt(values)[:, None, :]) @ circle)
        return found

    def _shapes(self, x: Array) -> list[Array]:
        """Landmarks, shape (k, 2, p), of each geodesic, turned to the first one's middle."""
        middle = self.geodesics[0].footpoint @ np.array([1.0, 1.0j])
        found = []
        for geodesic in self.geodesics:
            shapes = geodesic.predict(x) @ np.array([1.0, 1.0j])
            product = shapes.conj() @ middle
            shapes = shapes * (product / np.maximum(np.abs(product), 1e-300))[:, None]
            found.append(np.stack([shapes.real, shapes.imag], axis=1))
        return found

    def _draw_row(self, ax: Any, outlines: list[Array], x: Array, *, dotted: bool) -> None:
        gap = _GAP * max(float(np.ptp(o[:, 0], axis=1).max()) for o in outlines)
        places = gap * np.arange(len(x))
        # outlines that nearly agree: the wider one shows on either side of those above it
        widths = np.linspace(1.2 + 0.9 * (len(outlines) - 1), 1.2, len(outlines))
        rows = zip(outlines, self.names, self._colours(), widths, strict=True)
        for outline, name, colour, width in rows:
            moved = outline + np.stack([places, np.zeros(len(x))], axis=1)[:, :, None]
            self.curves_.append(moved)
            style = {"marker": "o" if dotted else None, "markersize": 2.5, "lw": width}
            for k, figure in enumerate(moved):
                label = name if k == 0 else None
                ax.plot(*figure, color=colour, label=label, **style)
        ax.set_xticks(places, [f"{value:.3g}" for value in x])
        ax.set_yticks([])
        ax.set_aspect("equal", adjustable="datalim")
        ax.tick_params(labelsize=8)
        ax.set_xlabel("x", fontsize=9)


def _band(geodesic: Geodesic, x: Array, width: float, space: Manifold) -> Array:
    """Points at a distance from the geodesic on either side, there and back, closed."""
    points = geodesic.predict(x)
    normal = np.cross(geodesic.footpoint, geodesic.velocity)
    length = float(np.linalg.norm(normal))
    if length == 0:  # a geodesic that stays: any direction will do
        normal = np.cross(geodesic.footpoint, np.eye(3)[np.argmin(np.abs(geodesic.footpoint))])
        length = float(np.linalg.norm(normal))
    across = np.broadcast_to(normal * (width / length), points.shape)
    there, back = space.exp(across, points), space.exp(-across, points)[::-1]
    return np.concatenate([there, back, there[:1]])


def _name(geodesic: GeodesicRelease | Geodesic) -> str:
    if isinstance(geodesic, GeodesicRelease):
        return budget_text(geodesic.guarantee)
    return "without privacy"
