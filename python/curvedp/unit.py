"""The unit in which a ball was stated: km, degrees, hours, mm^2/s.

Public, and for readers alone: whatever is computed is in the units of the metric, and a number is
divided by the unit's length where it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from curvedp._validation import FloatArray, as_positive
from curvedp.manifolds import Manifold, Projective, Sphere, Torus

__all__ = ["Unit", "length_of", "told_in", "unit_of_lengths"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Lengths of a unit whose fourth power, for a moment, is a double.
_SHORTEST, _LONGEST = 1e-60, 1e60


@dataclass(frozen=True)
class Unit:
    """A unit, and how long it is in the units of the metric.

    Attributes
    ----------
    field : str
        Whose unit it is: "dti", "earth", "rotations" or "clock", as in `Ball.from_units`.
    name : str
    length : float or None
        Of one unit in those of the metric; None where the entries of points bear the unit and
        distances have none, as for diffusion tensors.

    Examples
    --------
    >>> km = Unit("earth", "km", 1 / 6371.0088)
    >>> km.told(0.1), km.told(0.01, power=2)
    ('637.101 km', '405898 km^2')
    """

    field: str
    name: str
    length: float | None = None

    def __post_init__(self) -> None:
        for name in ("field", "name"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.isprintable() or len(text) > 40:
                raise TypeError(f"{name} of a unit must be a short plain text")
        if self.length is not None:
            object.__setattr__(self, "length", as_positive(self.length, "length"))
            if not _SHORTEST <= self.length <= _LONGEST:
                raise ValueError(f"length of a unit must be {_SHORTEST:g} to {_LONGEST:g}")

    def told(self, number: float, digits: int = 6, power: int = 1) -> str:
        """A length, or a power of one, in the unit, with so many digits.

        Parameters
        ----------
        number : float
            In the units of the metric.
        digits : int
        power : int
        """
        if self.length is None:
            return f"{number:.{digits}g}"
        of_power = "" if power == 1 else f"^{power}"
        return f"{number / self.length**power:.{digits}g} {self.name}{of_power}"

    def numbers_of(self, space: Manifold, point: FloatArray) -> tuple[FloatArray, str] | None:
        """A point's numbers as users of the unit write them, and what they are; None for others.

        Parameters
        ----------
        space : Manifold
        point : ndarray, shape point_shape
        """
        if isinstance(space, Sphere | Projective) and space.dim == 2:
            return space.to_lonlat(point), "longitude and latitude in degrees"
        if self.length is not None and isinstance(space, Torus):
            turn = round(2 * math.pi / self.length, 9)
            return np.mod(np.asarray(point) / self.length, turn), self.name
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON; `from_dict` reads it."""
        return {"field": self.field, "name": self.name, "length": self.length}

    @classmethod
    def from_dict(cls, data: Any) -> Unit:
        """Inverse of `to_dict`.

        Raises
        ------
        ValueError
            If it is none.
        """
        if not isinstance(data, dict) or set(data) != {"field", "name", "length"}:
            raise ValueError("a unit has field, name and length")
        if type(data["length"]) not in (float, type(None)):
            raise ValueError("the length of a unit is a number or null")
        return cls(**data)


def told_in(unit: Unit | None) -> Callable[..., str]:
    """`Unit.told` of a unit, or of none.

    Parameters
    ----------
    unit : Unit or None
    """
    return Unit("", "").told if unit is None else unit.told


def length_of(unit: Unit | None) -> float:
    """Length of a unit in those of the metric; 1 where lengths have none.

    Parameters
    ----------
    unit : Unit or None
    """
    return 1.0 if unit is None or unit.length is None else unit.length


def unit_of_lengths(space: Manifold) -> Unit | None:
    """Radians on spaces whose distances are angles of directions and turns; None on others.

    Parameters
    ----------
    space : Manifold
    """
    is_unit = not isinstance(space, Sphere) or space.radius == 1.0
    is_angle = space.written.kind in ("lonlat", "quaternion", "angles")
    return Unit("", "radians", 1.0) if is_angle and is_unit and space.dim < 4 else None
