"""Ground of pictures of the sphere: of the Earth longitudes, latitudes and coasts, else rings."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.datasets import example_file
from curvedp.manifolds import Sphere
from curvedp.plotting.orthographic import Orthographic
from curvedp.unit import Unit

__all__ = ["coast_lines", "draw_ground"]

Array = NDArray[np.float64]

#: Degrees between lines of a grid, and the half-width of view from which each is used.
_SPACINGS = (
    *((0.01, 0.0), (0.02, 6e-4), (0.05, 1.2e-3), (0.1, 3e-3), (0.2, 6e-3), (0.5, 0.012)),
    *((1, 0.03), (2, 0.06), (5, 0.12), (10, 0.3), (30, 0.7)),
)
#: Lines on each side of the middle, and points along each.
_LINES, _ALONG = 30, 361


@functools.cache
def coast_lines() -> list[Array]:
    """Coasts as unit vectors, one array of shape (k, 3) for each line.

    Natural Earth's at 1:110 million, in the public domain; see `curvedp.datasets.example_file`.
    """
    with np.load(example_file("coastline.npz")) as file:
        lonlat, lengths = file["hundredths"] / 100.0, file["lengths"]
    points = Sphere(2).as_points(lonlat)
    return np.split(points, np.cumsum(lengths)[:-1])


def draw_ground(ax: Any, view: Orthographic, extent: float, unit: Unit | None) -> None:
    """Outline of a globe, with the Earth's grid and coasts where the unit is one of the Earth.

    Parameters
    ----------
    ax : matplotlib axes
    view : Orthographic
    extent : float
        Half-width of the picture.
    unit : Unit or None
    """
    if unit is None or unit.field != "earth":
        view.draw_globe(ax, extent)
        return
    view.draw_outline(ax, extent)
    step = max(degrees for degrees, least in _SPACINGS if extent >= least)
    for line in _grid(step, Sphere(2).to_lonlat(view.towards)):
        ax.plot(*view.project(Sphere(2).as_points(line)).T, color="0.86", linewidth=0.6, zorder=1)
    for coast in coast_lines():
        ax.plot(*view.project(coast).T, color="0.55", linewidth=0.7, zorder=1.5)
    told = f"longitude and latitude every {step}°"
    ax.text(0.01, 0.01, told, fontsize=8, color="0.4", transform=ax.transAxes)


def _grid(step: float, middle: Array) -> list[Array]:
    """Meridians and parallels about a place, as longitudes and latitudes in degrees."""
    lon, lat = step * np.round(middle / step)[:, None] + step * np.arange(-_LINES, _LINES + 1)
    lon, lat = np.unique(lon % 360.0), lat[abs(lat) < 90.0]
    lowest, highest = max(lat[0] - step, -90.0), min(lat[-1] + step, 90.0)
    along = np.linspace(lowest, highest, _ALONG)
    reach = min(_LINES * step / max(math.cos(math.radians(float(middle[1]))), 1e-3), 180.0)
    across = middle[0] + np.linspace(-reach, reach, _ALONG)
    meridians = [np.column_stack([np.full_like(along, own), along]) for own in lon]
    return meridians + [np.column_stack([across, np.full_like(across, own)]) for own in lat]
