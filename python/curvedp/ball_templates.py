"""Balls of a field in its own units: diffusion tensors, places on the Earth, turns.

    a field's name, a unit -> manifold, public centre, radius in the units of the metric

What is public is stated here with its source; nothing is computed from records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from curvedp._validation import FloatArray, as_finite, as_positive
from curvedp.manifolds import Manifold
from curvedp.manifolds.reading import UNITS_OF_ANGLES
from curvedp.unit import Unit

#: Mean radius of the Earth in km (International Union of Geodesy and Geophysics, Moritz 2000).
_EARTH = 6371.0088

#: Centre and radius that hold both free water at body temperature, 3.0 I (Holz, Heil and Sacco
#: 2000), and the splenium in any direction, with diffusivities 1.685, .287, .109 (Pierpaoli,
#: Jezzard, Basser, Barnett and Di Chiro 1996), in 1e-3 mm^2/s: the smallest such ball, rounded up.
_DIFFUSIVITY, _TENSORS = 0.78, 2.34


@dataclass(frozen=True)
class Template:
    """Common part of the balls of a field.

    Attributes
    ----------
    manifold : str
    units : mapping of str to float
        What a unit is in the units of `center_of` and of the metric.
    center_of : callable, optional
        The centre for such a factor, where the template has one.
    radius : float, optional
        In the units of the metric, where the template has one: units scale the centre then.
    center_in_units : bool
        True if a centre that is given is one number, in the unit.
    """

    manifold: str
    units: Mapping[str, float]
    center_of: Callable[[float], Any] | None = None
    radius: float | None = None
    center_in_units: bool = False


_DEGREE = math.pi / 180
_Value = TypeVar("_Value")

#: The templates by the name of their field.
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        "dti": Template(
            "spd:3",
            {"1e-3 mm^2/s": 1.0, "um^2/ms": 1.0, "mm^2/s": 1e-3, "m^2/s": 1e-9},
            lambda unit: _DIFFUSIVITY * unit * np.eye(3),
            _TENSORS,
        ),
        "earth": Template(
            "sphere:2",
            {
                "km": 1 / _EARTH,
                "m": 1e-3 / _EARTH,
                "miles": 1.609344 / _EARTH,
                "degrees": _DEGREE,
            },
        ),
        "rotations": Template(
            "rotations:3", {"degrees": _DEGREE, "radians": 1.0}, lambda unit: "identity"
        ),
        "clock": Template("torus:1", UNITS_OF_ANGLES, center_in_units=True),
    }
)


def public_ball(
    field: str, units: str, center: Any, radius: float | None
) -> tuple[str, Any, float, Unit]:
    """Manifold, centre, radius and unit of a field's ball; see `Ball.from_units`.

    Raises
    ------
    ValueError
        For another field, unit, or a centre or radius that the template does not have.
    """
    template = _named(TEMPLATES, field, "field")
    unit = _named(template.units, units, f"unit of {field!r}")
    if center is None:
        if template.center_of is None:
            raise ValueError(f"balls of {field!r} need a center")
        center = template.center_of(unit)
    elif template.radius is not None and radius is None:
        raise ValueError(f"the radius of {field!r} is that about its own center: give a radius too")
    elif template.center_in_units:
        center = [as_finite(center, "center") * unit]
    if radius is None:
        if template.radius is None:
            raise ValueError(f"balls of {field!r} need a radius, in {units}")
        return template.manifold, center, template.radius, Unit(field, units)
    length = as_positive(radius, "radius")
    if template.radius is not None:
        return template.manifold, center, length, Unit(field, units)
    return template.manifold, center, length * unit, Unit(field, units, unit)


def is_of_field(manifold: Manifold, unit: Unit) -> bool:
    """True for a unit that a field's template has, with its length."""
    template = TEMPLATES.get(unit.field)
    if template is None or manifold.spec != template.manifold or unit.name not in template.units:
        return False
    return unit.length == (None if template.radius is not None else template.units[unit.name])


def checked_unit(unit: Unit) -> Unit:
    """A unit, of a field's with that field's length: others would tell a ball of another size.

    Raises
    ------
    ValueError
        For a field's unit with another name or length.
    """
    template = TEMPLATES.get(unit.field)
    if template is None:
        return unit
    length = _named(template.units, unit.name, f"unit of {unit.field!r}")
    told = 0.0 if template.radius is not None else length
    if not math.isclose(unit.length or 0.0, told, rel_tol=1e-9):
        raise ValueError(f"{unit.name!r} of {unit.field!r} has another length than {unit.length}")
    return unit


def stored_unit(data: Any) -> Unit | None:
    """`Unit.from_dict` of a unit that can be one, or of None."""
    return None if data is None else checked_unit(Unit.from_dict(data))


def is_template(manifold: Manifold, center: FloatArray, radius: float, unit: Unit) -> bool:
    """True for the ball that a field's template has itself, in this unit."""
    template = TEMPLATES.get(unit.field)
    if template is None or template.radius != radius or template.center_of is None:
        return False
    if manifold.spec != template.manifold or unit.name not in template.units:
        return False
    return np.array_equal(template.center_of(template.units[unit.name]), center)


def _named(known: Mapping[str, _Value], name: str, kind: str) -> _Value:
    if name not in known:
        raise ValueError(
            f"no {kind} {name!r}: choose from {list(known)}, or give a radius in the units of the "
            "metric to Ball(manifold, center, radius)"
        )
    return known[name]
