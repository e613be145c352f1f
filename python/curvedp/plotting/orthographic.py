"""The unit sphere seen from far away: orthographic projection, with rings about its middle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Angles between rings, degrees, and the half-width of view from which each is used.
_SPACINGS = ((0.5, 0.0), (1, 0.03), (2, 0.06), (5, 0.15), (10, 0.35), (15, 0.6))


class Orthographic:
    """View of the unit sphere S^2 from above a point.

    Parameters
    ----------
    above : array-like, shape (3,)
        Unit vector towards the viewer; the third axis of space points up in the picture, near the
        poles the second.
    """

    def __init__(self, above: ArrayLike) -> None:
        self.towards = np.asarray(above, dtype=np.float64)
        up = np.eye(3)[1 if abs(self.towards[2]) > 0.95 else 2]
        right = np.cross(up, self.towards)
        self.right = right / np.linalg.norm(right)
        self.up = np.cross(self.towards, self.right)

    def project(self, points: ArrayLike) -> Array:
        """Position in the picture, shape (..., 2); NaN for points on the far side."""
        array = np.asarray(points, dtype=np.float64)
        flat = np.stack([array @ self.right, array @ self.up], axis=-1)
        return np.where((array @ self.towards)[..., None] >= -1e-12, flat, np.nan)

    def extent(self, points: Array) -> float:
        """Half-width of a picture that holds points, at most that of the whole sphere."""
        flat = self.project(points)
        return 1.04 if np.isnan(flat).any() else min(1.15 * float(np.abs(flat).max()), 1.04)

    def draw_globe(self, ax: Any, extent: float) -> None:
        """Outline, rings of points at the same distance from the middle, and limits of the axes."""
        circle = self.draw_outline(ax, extent)
        step = max(degrees for degrees, least in _SPACINGS if extent >= least)
        for ring in np.sin(np.radians(np.arange(step, 90, step))):
            ax.plot(*(ring * circle), color="0.82", linewidth=0.6, zorder=1)
        for spoke in np.radians(np.arange(0, 180, 30)):
            arm = np.array([np.cos(spoke), np.sin(spoke)])
            ax.plot(*np.outer(arm, [-1, 1]), color="0.88", linewidth=0.6, zorder=1)
        ax.text(0.01, 0.01, f"rings every {step}°", fontsize=8, color="0.4", transform=ax.transAxes)

    def draw_outline(self, ax: Any, extent: float) -> Array:
        """Outline and limits of the axes.

        Returns
        -------
        ndarray, shape (2, k)
            The closed unit circle.
        """
        angle = np.linspace(0, 2 * np.pi, 361)
        circle = np.array([np.cos(angle), np.sin(angle)])
        ax.fill(*circle, facecolor="0.975", edgecolor="0.5", zorder=0)
        ax.set(xlim=(-extent, extent), ylim=(-extent, extent))
        ax.set_aspect("equal")
        ax.set_axis_off()
        return circle
