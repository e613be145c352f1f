"""Groups of records, given by labels of any kind or by offsets."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]
#: Bytes of the names of all groups, and where each begins.
Names = tuple[NDArray[np.uint8], Offsets]
#: Anything with one label for each record (array, list, Series, Arrow array), or offsets.
GroupsLike = Any


@dataclass(frozen=True)
class Grouping:
    """Disjoint groups of records.

    Attributes
    ----------
    labels : sequence
        Names of the groups; their numbers if they were given by offsets.
    offsets : ndarray of int, shape (groups + 1,)
        Group g holds the records ``offsets[g]:offsets[g + 1]``, once they are in order.
    order : ndarray of int, shape (n,), or None
        The records group by group; None if that is how they came.
    """

    labels: Sequence[Hashable]
    offsets: Offsets
    order: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, groups: GroupsLike, n: int, *, with_units: bool = False) -> Grouping:
        """The groups of n records; one of all records without labels.

        With units n labels are labels, also where they could be offsets: whether they could
        depends on n, which is not public then.

        Raises
        ------
        ValueError, TypeError
            For another number of labels, offsets that do not fit, or labels without equality.
        """
        if groups is None:
            return cls(range(1), np.array([0, n], dtype=np.int64))
        given = _array(groups)
        if given.ndim != 1:
            raise ValueError(f"groups must have one dimension, got shape {given.shape}")
        if len(given) != n:
            ends = as_offsets(given, n)
            return cls(range(len(ends) - 1), ends)
        if not with_units and _may_be_offsets(given):
            raise ValueError(
                f"groups can be read as labels of {n} records and as offsets of {n - 1} groups: "
                "write labels as texts, or give each record the number of its group"
            )
        labels, codes = _factorised(given)
        sizes = np.bincount(codes, minlength=len(labels))
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        in_order = bool((codes[1:] >= codes[:-1]).all())
        order = None if in_order else np.argsort(codes, kind="stable")
        return cls(labels, ends, order)

    @property
    def n(self) -> Offsets:
        """Number of records of each group."""
        return np.diff(self.offsets)

    def arranged(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows of records, group by group."""
        return rows if self.order is None else rows[self.order]

    def by_unit(self, units: GroupsLike, groups_per_unit: int) -> tuple[Grouping, Offsets]:
        """The same groups with the records of one unit after the other, and where each unit begins.

        Raises
        ------
        ValueError, TypeError
            For another number of labels, labels without equality, and a unit in more groups than
            `groups_per_unit`. Which unit is in which group is public, as the groups are.
        """
        count = int(self.offsets[-1])
        try:
            given = _array(units)
            if given.shape != (count,):
                raise ValueError(
                    f"units must have one label for each of {count} records, got shape "
                    f"{given.shape}"
                )
            names, codes = _factorised(self.arranged(given))
        except TypeError as error:
            raise TypeError(str(error).replace("groups", "units")) from None
        if None in names:
            raise ValueError("units must name each record's person: some labels are missing")
        order, ends = side_by_side(codes, self.offsets)
        refuse_many_groups(most_groups(codes[order[ends[:-1]]]), groups_per_unit)
        before = order if self.order is None else self.order[order]
        return replace(self, order=before), ends

    def names(self) -> Names | None:
        """Names of the groups in the keys of their noise; None for their numbers.

        Texts stand for themselves. Other labels are written as Python writes them, which tells
        the number 1 from the text "1".
        """
        if isinstance(self.labels, range):
            return None
        plain = all(isinstance(label, str) for label in self.labels)
        names = [
            (str(label) if plain else repr(label)).encode("utf-8", "surrogatepass")
            for label in self.labels
        ]
        if len(set(names)) != len(names):
            raise TypeError(
                "labels of groups that differ must be written differently, for a secret to tell "
                "them apart: use texts or numbers"
            )
        return joined(names)


def side_by_side(codes: NDArray[Any], offsets: Offsets) -> tuple[NDArray[np.int64], Offsets]:
    """An order of each group's records with those of one unit one after the other, and where each
    unit begins and the last one ends. Units keep the order of their first records."""
    count = len(codes)
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    by_unit = np.lexsort((codes, group))  # stable: a unit's first record comes first
    group, codes = group[by_unit], codes[by_unit]
    changed = (codes[1:] != codes[:-1]) | (group[1:] != group[:-1])
    starts = np.flatnonzero(np.append([True] * min(count, 1), changed))
    sizes = np.diff(np.append(starts, count))
    order = by_unit[np.argsort(np.repeat(by_unit[starts], sizes), kind="stable")]
    firsts = np.argsort(by_unit[starts])
    return order, np.concatenate(([0], np.cumsum(sizes[firsts], dtype=np.int64)))


def units_of_groups(ends: Offsets, offsets: Offsets) -> Offsets:
    """The number of units of each group; unit j begins with record ``ends[j]``."""
    return np.diff(np.searchsorted(ends, offsets))


def most_groups(units: NDArray[Any]) -> int:
    """The largest number of groups of one unit, from the units of each group."""
    return int(np.unique(units, return_counts=True)[1].max(initial=0))


def refuse_many_groups(most: int, groups_per_unit: int) -> None:
    """Refuses units with records in more groups than was said."""
    if most > groups_per_unit:
        raise ValueError(
            f"a unit has records in {most} groups, more than groups_per_unit={groups_per_unit}"
        )


def as_offsets(given: NDArray[Any], total: int) -> Offsets:
    """Offsets of groups that are not empty and hold `total` records together."""
    if len(given) < 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be labels, one for each of {total} records, or offsets: integers from 0 "
            f"to {total}, one more than there are groups"
        )
    ends = np.ascontiguousarray(given, dtype=np.int64)
    if ends[0] != 0 or ends[-1] != total:
        raise ValueError(f"offsets must begin at 0 and end at {total}, the number of records")
    sizes = np.diff(ends)
    if (sizes < 0).any():
        raise ValueError("offsets must not decrease")
    if (sizes == 0).any():
        raise ValueError(f"group {int(np.argmin(sizes))} is empty: it has no mean")
    return ends


def _may_be_offsets(labels: NDArray[Any]) -> bool:
    """True if labels, one for each record, would be offsets of as many records too."""
    if labels.dtype.kind not in "iu" or len(labels) < 2:
        return False
    ends = labels[0] == 0 and labels[-1] == len(labels)
    return bool(ends and (labels[1:] > labels[:-1]).all())


def joined(names: Sequence[bytes]) -> Names:
    """Names one after the other."""
    ends = np.cumsum([0, *map(len, names)], dtype=np.int64)
    return np.frombuffer(b"".join(names), dtype=np.uint8), ends


def _array(groups: GroupsLike) -> NDArray[Any]:
    """Labels as an array; entries of a list stay what they are, those under a mask are missing."""
    if isinstance(groups, np.ma.MaskedArray):
        groups = groups.tolist()
    if hasattr(groups, "__array__"):
        array = np.asarray(groups)
        # integers some of which are missing are floats to NumPy alone
        if array.dtype.kind != "f" or isinstance(groups, np.ndarray):
            return array
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise TypeError(f"groups must be labels or offsets, got {type(groups).__name__}")
    entries = [getattr(entry, "as_py", lambda entry=entry: entry)() for entry in groups]
    if all(map(_is_integer, entries)):
        return np.array(entries, dtype=np.int64)
    return np.fromiter(entries, dtype=object, count=len(entries))


def _is_integer(entry: Any) -> bool:
    """True if an entry is an integer of 64 bits, Python's or NumPy's."""
    is_own = type(entry) is int or isinstance(entry, np.integer)
    return is_own and -(2**63) <= int(entry) < 2**63


def _factorised(given: NDArray[Any]) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The labels in the order in which they first appear, and the number of each record's."""
    if given.dtype.kind == "T":
        given = given.astype(object)
    if given.dtype.kind in "iubSUmM":
        values, first, codes = np.unique(given, return_index=True, return_inverse=True)
        ranks = np.argsort(first)
        number = np.empty(len(ranks), dtype=np.int64)
        number[ranks] = np.arange(len(ranks))
        labels = values[ranks]
        times = given.dtype.kind in "mM"
        return [*map(_label, labels)] if times else labels.tolist(), number[codes]
    if given.dtype.kind != "O":
        raise TypeError(
            f"labels of groups must have exact equality, such as texts and integers, got "
            f"{given.dtype}"
        )
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter(
        (numbers.setdefault(_label(entry), len(numbers)) for entry in given), np.int64, len(given)
    )
    return list(numbers), codes


def _label(entry: Any) -> Hashable:
    """A label; what is missing is None."""
    label: Hashable = entry
    if type(entry) in (str, int):
        return label
    if type(entry).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(entry, (np.datetime64, np.timedelta64)) and np.isnat(entry):
        return None
    if isinstance(entry, (tuple, frozenset)):
        return type(entry)(map(_label, entry))
    if isinstance(entry, (float, complex, np.inexact)):
        if np.isnan(entry):
            return None
        raise TypeError("labels of groups must have exact equality: floats do not")
    try:
        hash(entry)
    except TypeError:
        raise TypeError(f"labels of groups must be hashable, got {type(entry).__name__}") from None
    if not _compares_values(entry.__class__) or entry != entry:
        kind = type(entry).__name__
        raise TypeError(f"labels of groups must equal others of their value: {kind} does not")
    return label


@functools.cache
def _compares_values(kind: type) -> bool:
    """False for types whose objects equal themselves alone, unless there is one for each value."""
    if issubclass(kind, (Enum, NoneType)):
        return True
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])
