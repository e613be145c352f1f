"""Directions, axes of the plane and angles as unit vectors."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_array, as_float_array
from curvedp.manifolds import Manifold, Projective, Sphere, Torus, as_manifold
from curvedp.manifolds.reading import PLAIN, UNITS_OF_ANGLES, Reading

Angles = Literal["radians", "degrees", "hours"]

#: Points on the rim of a cone of directions, or on a circle of them.
RIM = 720


def as_radians(angles: ArrayLike, unit: Angles) -> FloatArray:
    """Angles in radians, as `Torus(1)` takes them.

    Parameters
    ----------
    angles : array-like
    unit : {"radians", "degrees", "hours"}
        360 degrees or 24 hours are a whole turn.

    Returns
    -------
    ndarray, of the same shape

    Raises
    ------
    ValueError, TypeError
        For another unit, and for what are no numbers.

    Examples
    --------
    >>> as_radians([6.0, 12.0], "hours").round(4).tolist()
    [1.5708, 3.1416]
    """
    return as_float_array(angles, "angles") * unit_of(unit)


def unit_of(unit: str) -> float:
    if not isinstance(unit, str) or unit not in UNITS_OF_ANGLES:
        raise ValueError(f"angle_units must be one of {list(UNITS_OF_ANGLES)}, got {unit!r}")
    return UNITS_OF_ANGLES[unit]


def as_angles(unit: str) -> Angles:
    unit_of(unit)
    return cast(Angles, unit)


def in_units(radians: float, manifold: str, angle_units: str) -> float:
    """An angle of the embedded circle, in the unit of the records; on spheres in radians."""
    if manifold.startswith("sphere"):
        return radians
    return radians / unit_of(angle_units) / (2.0 if manifold.startswith("projective") else 1.0)


def space_of(manifold: Manifold | str) -> Manifold:
    space = as_manifold(manifold)
    if isinstance(space, Sphere) or (isinstance(space, Torus | Projective) and space.dim == 1):
        return space
    is_axes = isinstance(space, Projective)
    way = "directions.mean_axis" if is_axes else "frechet_mean(records, manifold, guarantee)"
    raise ValueError(
        f"directions are on spheres, torus:1 and projective:1, not on {space.spec}: use {way}"
    )


def size_of(space: Manifold) -> int:
    """Entries of the unit vectors."""
    return space.dim + 1


def unit_on(space: Manifold, unit: str | None) -> Angles:
    """The unit of angles, or the usual one: on spheres and of axes in space that of longitude and
    latitude, which are in no hours.
    """
    is_lonlat = not (isinstance(space, Torus) or (isinstance(space, Projective) and space.dim == 1))
    if unit is None:
        return "degrees" if is_lonlat else "radians"
    if is_lonlat and unit == "hours":
        raise ValueError("longitude and latitude are in degrees or radians, not in hours")
    return as_angles(unit)


def read_directions(
    space: Manifold, records: ArrayLike, angle_units: Angles | None, least: int
) -> tuple[FloatArray, Angles]:
    """Unit vectors, shape (n, p), NaN for what is no direction, and the unit of angles.

    That is the one which is said, or which a column has in its name.
    """
    if angle_units is not None:
        unit_of(angle_units)
    reads = Torus(1) if _are_angles(space, records) else space
    is_of_vectors = isinstance(space, Projective) and reads is space
    said = PLAIN if is_of_vectors else Reading(angle_units=angle_units).check(reads.written)
    points = reads.as_points(reads.read_records(records, least=least, reading=said))
    named = reads.named(records, said)[1].angle_units
    unit = unit_on(space, named if angle_units is None else angle_units)
    if reads is space:
        return unit_vectors(space, points), unit
    return of_angles(points[:, 0] * (2.0 if isinstance(space, Projective) else 1.0)), unit


def _are_angles(space: Manifold, records: ArrayLike) -> bool:
    if isinstance(space, Projective):
        shape = as_array(records, "records").shape
        return len(shape) == 1 or shape[1:] == (1,)
    return isinstance(space, Torus)


def of_angles(radians: FloatArray) -> FloatArray:
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def unit_vectors(space: Manifold, points: FloatArray) -> FloatArray:
    if isinstance(space, Sphere):
        return np.asarray(points / space.radius)
    x, y = points[..., 0], points[..., 1]
    return np.stack([x * x - y * y, 2 * x * y], axis=-1)  # doubled angles
