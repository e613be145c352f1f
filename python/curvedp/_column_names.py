"""Columns in the order in which a point's numbers are read, by their names, which are public.

So ``lat, lon`` is read as longitude and latitude, ``w, x, y, z`` as a quaternion with its scalar
last, ``Dxx, Dyy, Dzz, Dxy, Dxz, Dyz`` as the upper triangle row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

from curvedp.manifolds import SPD, Manifold, Projective, Rotations, Sphere

__all__ = ["in_reading_order", "reading_order"]

#: Names of one number in lower case, the usual one first.
Aliases = tuple[str, ...]

_LONLAT: tuple[Aliases, ...] = (("lon", "long", "longitude", "lng"), ("lat", "latitude"))
_XYZ: tuple[Aliases, ...] = (("x",), ("y",), ("z",))


def in_reading_order(names: Sequence[str], manifold: Manifold) -> tuple[str, ...]:
    """The columns of a point in their `reading_order`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> in_reading_order(["lat", "lon"], cdp.Sphere(2))
    ('lon', 'lat')
    >>> in_reading_order(["Dxx", "Dyy", "Dxy"], cdp.SPD(2))
    ('Dxx', 'Dxy', 'Dyy')
    """
    return tuple(names[place] for place in reading_order(names, manifold))


def reading_order(names: Sequence[str], manifold: Manifold) -> list[int]:
    """The places of a point's columns as its numbers are read, if their names say what they hold.

    Names say so in any case, and all with one prefix, as in ``dti_xx``. Others stay as they come.

    Parameters
    ----------
    names : sequence of str
        One column for each number of a point, or one for all.
    manifold : Manifold

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        If a name says that its column stands elsewhere, and not all say where they stand; a bare
        number, as tables without names have, says so only where all do.
    """
    known = _readings(manifold).get(len(names), ())
    for prefix in _prefixes(names[0], known) if known else ():
        places = [_place(name, prefix, known) for name in names]
        if sorted(places) == list(range(len(known))):
            return [places.index(k) for k in range(len(known))]
    for at, name in enumerate(names):
        place = _place(name, "", known)
        if place not in (-1, at) and not name.isdecimal():
            expected = ", ".join(own[0] for own in known)
            raise ValueError(
                f"column {name!r} is number {at + 1} of a point, and by its name number "
                f"{place + 1}: points of {manifold.spec} are read as {expected}. Name all columns "
                "so, or none"
            )
    return list(range(len(names)))


def _readings(manifold: Manifold) -> dict[int, tuple[Aliases, ...]]:
    """Names of the numbers of a point, or of its short form, by how many there are."""
    if isinstance(manifold, Sphere | Projective) and manifold.dim == 2:
        return {2: _LONLAT, 3: _XYZ}
    if isinstance(manifold, Rotations):
        return {4: (*_XYZ, ("w",)), 9: _entries(3)}
    if isinstance(manifold, SPD):
        m = manifold.point_shape[0]
        upper = tuple(_entry(m, i, j) + _entry(m, j, i) for i in range(m) for j in range(i, m))
        return {m * (m + 1) // 2: upper, m * m: _entries(m)}
    return {}


def _entries(m: int) -> tuple[Aliases, ...]:
    return tuple(_entry(m, i, j) for i in range(m) for j in range(m))


def _entry(m: int, i: int, j: int) -> Aliases:
    """Names of an entry of a matrix: axes up to order 3, numbers from 1 up to order 9."""
    numbers = (f"{i + 1}{j + 1}", f"{i + 1}_{j + 1}") if m <= 9 else (f"{i + 1}_{j + 1}",)
    return ("xyz"[i] + "xyz"[j], *numbers) if m <= 3 else numbers


def _prefixes(name: str, known: Sequence[Aliases]) -> list[str]:
    """Beginnings that all names may have, shortest first."""
    lower = name.lower()
    ends = {alias for own in known for alias in own if lower.endswith(alias)}
    return sorted((lower[: len(lower) - len(alias)] for alias in ends), key=len)


def _place(name: str, prefix: str, known: Sequence[Aliases]) -> int:
    """Number of the entry that a name with this prefix stands for; -1 if it names none."""
    lower = name.lower()
    if not lower.startswith(prefix):
        return -1
    return next((k for k, own in enumerate(known) if lower[len(prefix) :] in own), -1)
