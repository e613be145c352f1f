"""Numbers of records in other orders and units, as names of columns or a word say.

Names of columns and the words are public. So ``lat, lon`` is read as longitude and latitude,
``w, x, y, z`` and ``q0, q1, q2, q3`` as a quaternion with its scalar last, ``x1, x2, ..., y1, ...``
as landmarks, ``Dxx, Dyy, Dzz, Dxy, Dxz, Dyz`` as the upper triangle row by row, ``lon_rad,
lat_rad`` in radians. What names and words say of one table must agree.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import as_choice

__all__ = ["ORDERS", "PLAIN", "TRIANGLES", "UNITS_OF_ANGLES", "Reading", "Written"]

#: Advice for axes of the plane that are given as angles.
AXES_AS_ANGLES = (
    "axes given as angles are read by directions.mean_direction(angles, 'projective:1', ...); here "
    "give vectors, numpy.column_stack([numpy.cos(t), numpy.sin(t)]) of t in radians"
)

#: Names of one number in lower case, the usual one first.
Aliases = tuple[str, ...]

#: An angle round a sphere and one up from its equator: on the Earth, in the sky, of
#: palaeomagnetism, above a horizon, of geology. Declination is the second of one pair and the first
#: of another, so that names are read in pairs.
_PAIRS: tuple[tuple[Aliases, Aliases], ...] = (
    (("lon", "long", "longitude", "lng"), ("lat", "latitude")),
    (("ra", "right_ascension"), ("dec", "de", "decl", "declination")),
    (("dec", "decl", "declination"), ("inc", "incl", "inclination")),
    (("az", "azimuth"), ("alt", "altitude", "el", "elevation")),
    (("trend",), ("plunge",)),
)
#: Angles of spheres that are neither, or one or the other by who writes them.
_OTHER_ANGLES = frozenset(
    ("colat", "colatitude", "zenith", "polar", "theta", "phi", "strike", "dip", "rake")
)
_XYZ: tuple[Aliases, ...] = (("x",), ("y",), ("z",))
#: A quaternion by numbers from 0 on begins with its scalar.
_Q1230: tuple[Aliases, ...] = (("q1", "q_1"), ("q2", "q_2"), ("q3", "q_3"), ("q0", "q_0"))
#: A coordinate of a landmark: x1, X_1, 1.x, lm1_x.
_LANDMARK = re.compile(r"(.*?)(?:([xy])[._]?(\d{1,9})|(\d{1,9})[._]?([xy]))")

#: Units of angles, in radians.
UNITS_OF_ANGLES: Mapping[str, float] = MappingProxyType(
    {"radians": 1.0, "degrees": math.pi / 180, "hours": math.pi / 12}
)
_UNIT_IN_NAME = re.compile(r"(?:^|[\W_])(deg|degrees?|rad|radians?|hours?|hrs?)\W*$")

#: Entries of a symmetric 3 x 3 matrix as programs write them: FSL's dtifit --save_tensor, dipy's
#: lower_triangular, MRtrix's dwi2tensor.
ORDERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fsl": ("xx", "xy", "xz", "yy", "yz", "zz"),
        "dipy": ("xx", "xy", "yy", "xz", "yz", "zz"),
        "mrtrix": ("xx", "yy", "zz", "xy", "xz", "yz"),
    }
)
#: A triangle of a symmetric matrix that is not the upper one: the lower one row by row, and that of
#: nilearn's sym_matrix_to_vec, whose diagonal is divided by √2.
TRIANGLES = ("lower", "nilearn")


@dataclass(frozen=True)
class Written:
    """Numbers of a space's records, for which there are names, orders or units.

    Attributes
    ----------
    spec : str
        The space.
    kind : {"", "lonlat", "quaternion", "symmetric", "correlation", "angles", "landmarks"}
        "" for any others.
    size : int
        Order of a symmetric matrix, number of angles or of landmarks in the plane.
    """

    spec: str
    kind: str = ""
    size: int = 0


@dataclass(frozen=True)
class Reading:
    """Order and unit of records, where they are not as `Manifold.as_points` reads them.

    Attributes
    ----------
    order : {"fsl", "dipy", "mrtrix", "lower", "nilearn"} or None
        Of the six numbers of a symmetric 3 x 3 matrix, in capitals or not; of the lower triangle of
        a symmetric or correlation matrix, row by row (`TRIANGLES`).
    scalar_first : bool or None
        Of quaternions.
    angle_units : {"radians", "degrees", "hours"} or None
        Of longitude and latitude (degrees by default, never hours) and of angles on a torus
        (radians by default).

    Examples
    --------
    >>> import curvedp as cdp
    >>> rows = np.array([[1.0, 2, 3, 4, 5, 6]])
    >>> Reading(order="mrtrix").of_rows(rows, cdp.SPD(3).written).tolist()
    [[1.0, 4.0, 5.0, 2.0, 6.0, 3.0]]
    >>> places, rest = Reading().of_columns(["lat_rad", "lon_rad"], cdp.Sphere(2).written)
    >>> places, rest
    ([1, 0], Reading(order=None, scalar_first=None, angle_units='radians'))
    """

    order: str | None = None
    scalar_first: bool | None = None
    angle_units: str | None = None

    def __post_init__(self) -> None:
        if self.order is not None:
            own = self.order.lower() if isinstance(self.order, str) else self.order
            object.__setattr__(self, "order", as_choice(own, (*ORDERS, *TRIANGLES), "order"))
        if not isinstance(self.scalar_first, (bool, NoneType)):
            raise TypeError(f"scalar_first must be True or False, got {self.scalar_first!r}")
        if self.angle_units is not None:
            as_choice(self.angle_units, tuple(UNITS_OF_ANGLES), "angle_units")

    def check(self, space: Written) -> Reading:
        """The reading, if it says nothing of what points of the space do not have.

        Raises
        ------
        ValueError
            Otherwise.
        """
        if self.order in TRIANGLES and space.kind not in ("symmetric", "correlation"):
            raise ValueError(
                f"order={self.order!r} is a triangle of an SPD or correlation matrix, not of "
                f"{space.spec}"
            )
        if self.order in ORDERS and not (space.kind == "symmetric" and space.size == 3):
            raise ValueError(
                f"order={self.order!r} is that of six numbers of spd:3, not of {space.spec}"
            )
        if self.scalar_first is not None and space.kind != "quaternion":
            raise ValueError(f"scalar_first is of quaternions on rotations:3, not {space.spec}")
        if self.angle_units is not None:
            if space.kind not in ("angles", "lonlat"):
                way = f": {AXES_AS_ANGLES}" if space.spec == "projective:1" else ""
                raise ValueError(
                    "angle_units is of longitude and latitude and of angles on a torus, not of "
                    f"{space.spec}{way}"
                )
            if self.angle_units == "hours" and space.kind != "angles":
                raise ValueError("longitude and latitude are in degrees or radians, not in hours")
        return self

    def of_rows(self, rows: NDArray[Any], space: Written, name: str = "records") -> NDArray[Any]:
        """Numbers without names as points or their short forms, shape (..., width) each.

        Raises
        ------
        ValueError
            If the reading is of another number of them.
        """
        if self == PLAIN:
            return rows
        width = rows.shape[-1] if rows.ndim else 1
        if not self.reads(width, space, angles=False):
            said = "scalar_first" if self.order is None else "order"
            wanted = " or ".join(map(str, self.widths(space)))
            raise ValueError(
                f"{said} is of records of {wanted} numbers, and {name} have {width} on their last "
                "axis"
            )
        if self.order == "nilearn" and width == space.size * (space.size + 1) // 2:
            scale = np.ones(width)
            scale[np.cumsum(np.arange(1, space.size + 1)) - 1] = math.sqrt(2)
            with np.errstate(all="ignore"):  # what leaves the range of doubles is no point
                rows = rows * scale
        if (written := self.permutation(width, space)) is not None:
            rows = rows[..., written]
        return self._scaled(rows, space, name)

    def widths(self, space: Written) -> tuple[int, ...]:
        """Numbers of a record whose order is said; nothing if none is."""
        if self.order in TRIANGLES:
            whole = space.size * (space.size + 1) // 2
            return (whole,) if space.kind == "symmetric" else (whole - space.size, whole)
        if self.order is not None:
            return (6,)
        return () if self.scalar_first is None else (4,)

    def reads(self, width: int, space: Written, *, angles: bool = True) -> bool:
        """True if records of so many numbers can be written so."""
        fits = width in (self.widths(space) or (width,))
        in_units = angles and self.angle_units is not None
        return fits and not (in_units and _default_unit(space, width) is None)

    def permutation(self, width: int, space: Written) -> NDArray[np.intp] | None:
        """Numbers of a record that a point's, or its short form's, are; None if as they come."""
        if (written := ORDERS.get(self.order or "")) is not None:
            return np.array([written.index(entry) for entry in ORDERS["fsl"]])
        if self.order in TRIANGLES:
            m = space.size
            own = int(width < m * (m + 1) // 2)  # the first diagonal that is there
            at = np.zeros((m, m), dtype=np.intp)
            at[np.tril_indices(m, -own)] = np.arange(width)
            at += np.tril(at, -1).T
            is_whole = space.kind == "correlation" and own == 0
            return at.ravel() if is_whole else at[np.triu_indices(m, own)]
        return np.array([1, 2, 3, 0]) if self.scalar_first else None

    def of_columns(self, names: Sequence[str], space: Written) -> tuple[list[int], Reading]:
        """The places of a point's columns in the order of a point, and what is left to be read.

        Names say what a column holds in any case, and all with one prefix, as in ``dti_xx``; units
        of angles stand at their end, as in ``lon_deg``. Others stay as they come.

        Parameters
        ----------
        names : sequence of str
            One column for each number of a point, or one for all.
        space : Written

        Returns
        -------
        list of int
        Reading
            Of the columns in this order, for `of_rows`.

        Raises
        ------
        ValueError
            If a name says that its column stands elsewhere, and not all say where they stand; a
            bare number, as tables without names have, says so only where all do. If the names
            contradict each other or this reading.
        """
        self.check(space)
        if space.kind == "landmarks":
            return _places_of_landmarks(names, space), self
        readings = [known for known in _readings(space) if len(known) == len(names)]
        angular = _default_unit(space, len(names)) is not None
        bare = [_without_unit(name) for name in names] if angular else list(names)
        rest = self._with_units_of(names, space) if angular else self
        written = replace(self, angle_units=None)
        said = list(range(len(names)))
        if readings:
            written.of_rows(np.zeros(len(names)), space, "columns")  # refused if they do not fit
            if (order := written.permutation(len(names), space)) is not None:
                said = order.tolist()
        for known in readings:
            if found := _places(bare, known):
                if written != PLAIN and said != found:
                    raise ValueError(
                        f"columns {', '.join(names)} say by their names that they are not written "
                        f"as {written.words}: leave that out, and they are read by name"
                    )
                if self.order == "nilearn":  # which says how they are scaled, too
                    return list(range(len(names))), rest
                return found, replace(rest, order=None, scalar_first=None)
        _refuse_others(names, space)
        for at, own in enumerate(said):
            places = [_place(bare[own], "", known) for known in readings]
            told = [k for k, place in enumerate(places) if place != -1]
            if told and at not in places and not bare[own].isdecimal():
                expected = ", ".join(other[0] for other in readings[told[0]])
                raise ValueError(
                    f"column {names[own]!r} is number {at + 1} of a point, and by its name "
                    f"number {places[told[0]] + 1}: points of {space.spec} are read as "
                    f"{expected}. Name all columns so, or none"
                )
        return list(range(len(names))), rest

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary for JSON, of what is said."""
        return {name: said for name, said in asdict(self).items() if said is not None}

    def _with_units_of(self, names: Sequence[str], space: Written) -> Reading:
        """The reading in the unit that names say."""
        found = {_unit(name) for name in names} - {None}
        if len(found) > 1:
            raise ValueError(f"columns {', '.join(names)} name several units of angles")
        if not found:
            return self
        (unit,) = found
        if self.angle_units not in (None, unit):
            raise ValueError(
                f"columns {', '.join(names)} say {unit}, and angle_units {self.angle_units}: "
                "rename the columns, or leave angle_units out"
            )
        return replace(self, angle_units=unit).check(space)

    @property
    def words(self) -> str:
        """The reading as keywords."""
        return ", ".join(f"{name}={said!r}" for name, said in self.to_dict().items())

    def _scaled(self, rows: NDArray[Any], space: Written, name: str) -> NDArray[Any]:
        if self.angle_units is None:
            return rows
        width = rows.shape[-1] if rows.ndim else 1
        usual = _default_unit(space, width) or _default_unit(space, 1)
        if usual is None:
            raise ValueError(
                f"angle_units is of longitude and latitude, two numbers, and {name} have {width} "
                "on their last axis"
            )
        if usual == self.angle_units:
            return rows
        with np.errstate(all="ignore"):  # what leaves the range of doubles is no angle
            if usual == "degrees":
                return np.asarray(np.degrees(rows))
            return np.asarray(rows * UNITS_OF_ANGLES[self.angle_units])


#: As points are read.
PLAIN = Reading()


def _refuse_others(names: Sequence[str], space: Written) -> None:
    """Raises ValueError where columns are by their names no point's, or not a point's alone."""
    if own := _columns_of_points(names, space):
        raise ValueError(
            f"beside the columns of points stand others: take those of points, table[{own}], on "
            f"the command line --columns {','.join(own)}"
        )
    readings = _readings(space)
    fitting = {name for known in readings if len(known) == len(names) for name in _all(known)}
    elsewhere = {name for known in readings for name in _all(known)} - fitting
    if not fitting:  # one column of lists, or a number that is refused
        return
    for name in names:
        bare = _without_unit(name)
        if bare in elsewhere and not bare.isdecimal():
            raise ValueError(
                f"column {name!r} belongs by its name to points of {space.spec} that are written "
                f"in another number of columns than {len(names)}: take the columns of points alone"
            )
        if space.kind == "lonlat" and len(names) == 2 and bare in _OTHER_ANGLES:
            raise ValueError(
                f"column {name!r} is by its name no longitude and no latitude, as which two "
                "columns are read: convert the angles, and name the columns lon and lat"
            )


def _columns_of_points(names: Sequence[str], space: Written) -> list[str]:
    """Of more columns those whose names say that they are a point's; none if they do not."""
    if space.kind == "landmarks":
        return [names[at] for at in _landmarks(names, space.size)]
    if space.kind == "angles":
        angles = [name for name in names if _unit(name)]
        return angles if len(angles) == space.size < len(names) else []
    bare = [_without_unit(name) for name in names]
    for known in _readings(space):
        if len(known) < len(names) and (found := _places(bare, known)):
            return [names[at] for at in found]
    return []


def _places_of_landmarks(names: Sequence[str], space: Written) -> list[int]:
    """The places of x and y of each landmark, by their numbers; as they come if none has one."""
    if found := _landmarks(names, space.size):
        if len(found) < len(names):
            _refuse_others(names, space)
        return found
    if len(names) == 2 * space.size and all(_LANDMARK.fullmatch(own.lower()) for own in names):
        raise ValueError(
            f"columns {', '.join(names[:4])}, ... name coordinates, but not x and y of each of "
            f"{space.size} landmarks: name all so, as in x1, y1, x2, y2, or none"
        )
    return list(range(len(names)))


def _landmarks(names: Sequence[str], size: int) -> list[int]:
    """The places of x and y of as many landmarks, in the order of their numbers; else none.

    All names have one prefix; others may stand among them.
    """
    places: dict[str, dict[tuple[int, str], list[int]]] = {}
    for at, name in enumerate(names):
        if told := _LANDMARK.fullmatch(name.lower()):
            key = (int(told[3] or told[4]), told[2] or told[5])
            places.setdefault(told[1], {}).setdefault(key, []).append(at)
    for own in places.values():
        numbers = sorted({number for number, _ in own})
        if len(numbers) == size and len(own) == 2 * size and max(map(len, own.values())) == 1:
            return [own[number, axis][0] for number in numbers for axis in "xy"]
    return []


def _places(names: Sequence[str], known: Sequence[Aliases]) -> list[int]:
    """The place of the one column that names each number of a point; none if one has none.

    All names have one prefix.
    """
    shared = Counter(prefix for name in names for prefix in _prefixes(name, known))
    for prefix in sorted((own for own in shared if shared[own] >= len(known)), key=len):
        of_names = [_place(name, prefix, known) for name in names]
        if all(of_names.count(k) == 1 for k in range(len(known))):
            return [of_names.index(k) for k in range(len(known))]
    return []


def _all(known: Sequence[Aliases]) -> set[str]:
    return {name for own in known for name in own}


def _default_unit(space: Written, width: int) -> str | None:
    """The unit in which so many numbers of a record are angles; None if they are none."""
    if space.kind == "angles" and width in (1, space.size):
        return "radians"
    return "degrees" if space.kind == "lonlat" and width == 2 else None


def _unit(name: str) -> str | None:
    """The unit at the end of a column's name."""
    found = _UNIT_IN_NAME.search(name.lower())
    return None if found is None else {"d": "degrees", "r": "radians", "h": "hours"}[found[1][0]]


def _without_unit(name: str) -> str:
    return _UNIT_IN_NAME.sub("", name.lower()) or name


def _readings(space: Written) -> tuple[tuple[Aliases, ...], ...]:
    """Names of the numbers of a point, and of its short forms."""
    if space.kind == "lonlat":
        return (*_PAIRS, _XYZ, _XYZ[:2])  # x and y of maps are longitude and latitude
    if space.kind == "quaternion":
        return (*_XYZ, ("w",)), _Q1230, _entries(3)
    if space.kind == "symmetric":
        m = space.size
        upper = tuple(_entry(m, i, j) + _entry(m, j, i) for i in range(m) for j in range(i, m))
        return upper, _entries(m)
    return ()


def _entries(m: int) -> tuple[Aliases, ...]:
    return tuple(_entry(m, i, j) for i in range(m) for j in range(m))


def _entry(m: int, i: int, j: int) -> Aliases:
    """Names of an entry of a matrix: axes up to order 3, numbers from 1 up to order 9."""
    numbers = (f"{i + 1}{j + 1}", f"{i + 1}_{j + 1}") if m <= 9 else (f"{i + 1}_{j + 1}",)
    return ("xyz"[i] + "xyz"[j], *numbers) if m <= 3 else numbers


def _prefixes(name: str, known: Sequence[Aliases]) -> set[str]:
    """What the name may begin with, where its end is known."""
    lower = name.lower()
    return {lower[: len(lower) - len(end)] for end in _all(known) if lower.endswith(end)}


def _place(name: str, prefix: str, known: Sequence[Aliases]) -> int:
    """Number of the entry that a name with this prefix stands for; -1 if it names none."""
    lower = name.lower()
    if not lower.startswith(prefix):
        return -1
    return next((k for k, own in enumerate(known) if lower[len(prefix) :] in own), -1)
