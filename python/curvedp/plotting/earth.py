"""Ground of pictures of the sphere: of the Earth longitudes, latitudes and coasts, else rings."""

from __future__ import annotations

import functools
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
_SPACINGS = ((1, 0.0), (2, 0.06), (5, 0.12), (10, 0.3), (30, 0.7))
_ALONG = np.linspace(-180.0, 180.0, 361)


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
    for line in _grid(step):
        ax.plot(*view.project(Sphere(2).as_points(line)).T, color="0.86", linewidth=0.6, zorder=1)
    for coast in coast_lines():
        ax.plot(*view.project(coast).T, color="0.55", linewidth=0.7, zorder=1.5)
    told = f"longitude and latitude every {step}°"
    ax.text(0.01, 0.01, told, fontsize=8, color="0.4", transform=ax.transAxes)


def _grid(step: int) -> list[Array]:
    """Meridians and parallels as longitudes and latitudes in degrees."""
    half = _ALONG / 2
    meridians = [np.column_stack([np.full_like(half, lon), half]) for lon in range(-180, 180, step)]
    parallels = [
        np.column_stack([_ALONG, np.full_like(_ALONG, lat)]) for lat in range(step - 90, 90, step)
    ]
    return meridians + parallels
