"""Mean directions and mean axes with their confidence sets: on a circle, or on the sphere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._displays import Shown
from curvedp.directions import MeanAxis, MeanDirection, as_radians
from curvedp.manifolds import Projective, Sphere, as_manifold
from curvedp.plotting.figures import budget_text, new_figure
from curvedp.plotting.orthographic import Orthographic
from curvedp.plotting.points import VALUE, draw_dial, unit_circle

Array = NDArray[np.float64]

#: Points along an arc, and on each side of the picture of a sphere.
_ALONG, _ACROSS = 241, 301
#: Half-width of a picture of the sphere over the sine of `half_angle`.
_AROUND_SET = 1.5


class DirectionDisplay(Shown):
    """A mean direction or mean axis, with its confidence set.

    `MeanDirection.plot` and `MeanAxis.plot` make it. In the plane an arrow of the mean resultant
    length inside the unit circle, on which the confidence set is an arc; of axes both ends. On the
    2-sphere the half seen from above the mean, where the set is shaded.

    Parameters
    ----------
    mean : MeanDirection or MeanAxis
        In the plane or on the 2-sphere.

    Attributes
    ----------
    boundaries_ : list of ndarray, shape (2, k)
        The arcs, or the rims of the set where they are seen, in the coordinates of `ax_`.
    ax_ : matplotlib axes
        Set by `plot`.
    figure_ : matplotlib.figure.Figure
        Set by `plot`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> hours = np.random.default_rng(0).normal(23.5, 1.5, 2000) % 24
    >>> mean = cdp.directions.mean_direction(hours, "torus:1", cdp.GDP(mu=1.0), angle_units="hours")
    >>> mean.plot().boundaries_[0].shape
    (2, 241)
    """

    ax_: Any
    boundaries_: list[Array]

    def __init__(self, mean: MeanDirection | MeanAxis) -> None:
        if not isinstance(mean, MeanDirection | MeanAxis):
            raise TypeError(f"mean must be a MeanDirection or MeanAxis, got {type(mean).__name__}")
        space = as_manifold(mean.manifold)
        if space.dim > 2:
            raise ValueError(f"{mean.manifold} has no picture, only dimensions 1 and 2: report()")
        self.mean = mean
        self._is_axes = isinstance(space, Projective)

    @classmethod
    def from_mean(cls, mean: MeanDirection | MeanAxis, *, ax: Any = None) -> DirectionDisplay:
        """Draw a mean; parameters as in the class and in `plot`."""
        return cls(mean).plot(ax)

    def plot(self, ax: Any = None) -> DirectionDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Plane ones; of a new figure by default.

        Raises
        ------
        ValueError
            If `ax` is a 3-D one.
        MissingExtraError
            matplotlib is not installed; the message names the install command.
        """
        if ax is None:
            ax = new_figure(5.2, 4.6).add_subplot()
        elif ax.name == "3d":
            raise ValueError("a mean direction is drawn on a plane axes")
        self.ax_, self.figure_, self.boundaries_ = ax, ax.figure, []
        mean = self.mean
        if isinstance(mean, MeanDirection) and len(mean.resultant) == 2:
            self._draw_circle(mean)
        else:
            self._draw_sphere(mean)
        ax.set_axis_off()
        budget = "without privacy" if mean.guarantee is None else budget_text(mean.guarantee)
        kind = "mean axis" if self._is_axes else "mean direction"
        ax.set_title(f"{kind} on {mean.manifold}\n{budget}", fontsize=10, parse_math=False)
        ax.legend(loc="upper left", bbox_to_anchor=(1.02, 0.95), fontsize=8, frameon=False)
        return self

    @property
    def _label(self) -> str:
        return f"{100 * self.mean.region.level:g} % confidence set"

    def _draw_circle(self, mean: MeanDirection) -> None:
        """An arrow of length rho and the arc of the set; of axes, both halves."""
        ax, turns = self.ax_, 2 if self._is_axes else 1
        is_sphere = isinstance(as_manifold(mean.manifold), Sphere)
        ax.plot(*unit_circle().T, color="0.8", linewidth=0.8)
        middle = math.atan2(mean.resultant[1], mean.resultant[0]) / turns
        start, reach = 0.0, 2 * math.pi / turns
        if (ends := mean.interval) is not None:
            first, last = ends if is_sphere else as_radians(ends, mean.angle_units)
            start, reach = float(first), float(last - first) % (2 * math.pi / turns)
        for half in range(turns):
            angle = start + half * math.pi + np.linspace(0.0, reach, _ALONG)
            arc = np.stack([np.cos(angle), np.sin(angle)])
            self.boundaries_.append(arc)
            name = {} if half else {"label": self._label}
            ax.plot(*arc, color=VALUE, linewidth=5, alpha=0.45, solid_capstyle="butt", **name)
            tip = mean.mean_resultant_length * np.exp(1j * (middle + half * math.pi))
            name = {} if half else {"label": "mean, as long as the resultant"}
            ax.plot([0.0, tip.real], [0.0, tip.imag], color=VALUE, linewidth=1.6, **name)
            ax.plot(tip.real, tip.imag, marker="o", markersize=5, color=VALUE)
        if not is_sphere:
            draw_dial(ax, float(as_radians(1.0, mean.angle_units)), mean.angle_units)
        ax.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))
        ax.set_aspect("equal")

    def _draw_sphere(self, mean: MeanDirection | MeanAxis) -> None:
        """The set where its p-values say that it is, on the near half."""
        point = mean.mean_axis if isinstance(mean, MeanAxis) else np.asarray(mean.mean_direction)
        towards = point / np.linalg.norm(point)
        view, ax, reach = Orthographic(towards), self.ax_, mean.half_angle
        extent = 1.04
        if _AROUND_SET * math.sin(min(reach, math.pi / 2)) < extent:
            extent = _AROUND_SET * math.sin(reach)
        view.draw_globe(ax, extent)
        side = np.linspace(-extent, extent, _ACROSS)
        x, y = np.meshgrid(side, side)
        height = 1.0 - x * x - y * y
        is_seen = height >= 0.0
        seen = np.stack([x, y, np.sqrt(np.maximum(height, 0.0))], axis=-1)[is_seen]
        p_values = np.full(x.shape, np.nan)
        p_values[is_seen] = mean.p_value(seen @ np.stack([view.right, view.up, view.towards]))
        least = 1.0 - mean.region.level
        ax.contourf(x, y, p_values, levels=[least, 2.0], colors=[VALUE], alpha=0.25, zorder=2)
        if np.nanmin(p_values) < least:
            rim = ax.contour(x, y, p_values, levels=[least], colors=[VALUE], zorder=3)
            self.boundaries_ += [curve.T for curve in rim.allsegs[0]]
        ax.fill([], [], color=VALUE, alpha=0.25, label=self._label)
        ax.plot(0.0, 0.0, marker="o", markersize=5, ls="none", color=VALUE, label="mean", zorder=4)
