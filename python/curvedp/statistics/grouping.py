"""Groups of records, given by labels of any kind or by offsets."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp._labels import (
    LabelsLike,
    as_labels,
    as_written,
    codes_among,
    exact_codes,
    has_missing_part,
    named_codes,
    ordered_codes,
)

Offsets = NDArray[np.int64]
#: Bytes of the names of all groups, and where each begins.
Names = tuple[NDArray[np.uint8], Offsets]
#: One label for each record, or offsets.
GroupsLike = LabelsLike


@dataclass(frozen=True)
class Grouping:
    """Disjoint groups of records.

    Attributes
    ----------
    labels : sequence
        Names of the groups, see `ordered_codes`; their numbers if they were given by offsets.
    offsets : ndarray of int, shape (groups + 1,)
        Group g holds the records ``offsets[g]:offsets[g + 1]``, once they are in order.
    order : ndarray of int, shape (n,), or None
        The records group by group; None if that is how they came.
    total : int or None
        Number of records, where some are in none of the groups.
    """

    labels: Sequence[Hashable]
    offsets: Offsets
    order: NDArray[np.int64] | None = None
    total: int | None = None

    @classmethod
    def among(cls, keys: GroupsLike, groups: GroupsLike, n: int) -> Grouping:
        """The groups of public keys, whether or not a record has them; others are left out.

        Parameters
        ----------
        keys : sequence
            Labels of the groups, in their order; no two are equal.
        groups : array-like, shape (n,)
            The label of each record.
        n : int
            Number of records.

        Raises
        ------
        ValueError, TypeError
            For another number of labels, a dtype without equality and keys that are equal.
        """
        public, given = as_labels(keys, "keys"), as_labels(groups, "groups")
        if public.ndim != 1 or not len(public):
            raise ValueError("keys must be labels, one for each group that shall be released")
        if given.shape != (n,):
            raise ValueError("groups must have one label for each record")
        names, places = exact_codes(public, "keys")
        if len(names) < len(public):
            raise ValueError("keys names a group twice")
        number = {names[place]: index for index, place in enumerate(places.tolist())}
        if given.dtype.kind == "O":  # one record's label may be anything, and must not raise
            own = codes_among(public, given, n, "groups")
        else:
            found, codes = exact_codes(given, "groups")
            own = np.array([number.get(label, -1) for label in found], dtype=np.int64)[codes]
        order = np.argsort(own, kind="stable")[np.count_nonzero(own < 0) :]
        sizes = np.bincount(own[order], minlength=len(number))
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        return cls(list(number), ends, order, n)

    @classmethod
    def of_protected(cls, groups: GroupsLike, n: int) -> Grouping:
        """The groups of all labels that occur, where which ones do is protected: no label raises.

        Records without a label, or in an array of objects with another one than a text, an integer
        or a day, are in no group.

        Raises
        ------
        ValueError, TypeError
            For another number of labels and a dtype without equality.
        """
        given, own = as_labels(groups, "groups"), getattr(groups, "dtype", None)
        if given.shape != (n,):
            raise ValueError("groups must have one label for each record")
        if getattr(own, "kind", "O") in "fc":  # a column of integers some of which are missing
            raise TypeError(f"labels of groups must be texts, integers or days, got {own}")
        labels, codes = ordered_codes(as_written(given), "groups")
        if labels and labels[-1] is None:
            labels = labels[:-1]
        sizes = np.bincount(codes, minlength=len(labels))[: len(labels)]
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        return cls(labels, ends, np.argsort(codes, kind="stable")[: int(ends[-1])], n)

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
        given = as_labels(groups, "groups")
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
        labels, codes = ordered_codes(given, "groups")
        sizes = np.bincount(codes, minlength=len(labels))
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        in_order = bool((codes[1:] >= codes[:-1]).all())
        order = None if in_order else np.argsort(codes, kind="stable")
        return cls(labels, ends, order)

    @property
    def n(self) -> Offsets:
        """Number of records of each group."""
        return self.offsets[1:] - self.offsets[:-1]

    def arranged(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows of records, group by group."""
        return rows if self.order is None else rows[self.order]

    def by_unit(self, units: GroupsLike, groups_per_unit: int) -> tuple[Grouping, Offsets]:
        """The same groups with the records of one unit after the other, and where each unit begins.

        Raises
        ------
        ValueError, TypeError
            For another number of labels, missing ones, labels without equality, and a unit in more
            groups than `groups_per_unit`. Which units there are, whether some have no name, and
            which unit is in which group is public, as the groups are.
        """
        count = int(self.offsets[-1]) if self.total is None else self.total
        given = as_labels(units, "units")
        if given.shape != (count,):
            raise ValueError("units must have one label for each record, in the same order")
        names, codes = exact_codes(self.arranged(given), "units")
        if any(map(has_missing_part, names)):
            raise ValueError("units must name each record's person: some labels are missing")
        order, ends = side_by_side(codes, self.offsets)
        refuse_many_groups(most_groups(codes[order[ends[:-1]]]), groups_per_unit)
        before = order if self.order is None else self.order[order]
        return replace(self, order=before), ends

    def by_protected_unit(
        self, units: GroupsLike, groups_per_unit: int
    ) -> tuple[Grouping, Offsets]:
        """As `by_unit` where who is there is protected: no label raises.

        Records without a name are left out, and those of a unit in more groups than
        `groups_per_unit` after its first ones.

        Raises
        ------
        ValueError, TypeError
            For another number of labels.
        """
        given = as_labels(units, "units")
        count = int(self.offsets[-1]) if self.total is None else self.total
        if given.shape != (count,):
            raise ValueError("units must have one label for each record, in the same order")
        codes = named_codes(self.arranged(given), int(self.offsets[-1]), "units")
        group = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        pairs, own = np.unique(np.stack([codes, group], axis=1), axis=0, return_inverse=True)
        first = np.searchsorted(pairs[:, 0], pairs[:, 0])
        allowed = (np.arange(len(pairs)) - first < groups_per_unit) & (pairs[:, 0] >= 0)
        kept = np.flatnonzero(allowed[own.ravel()])
        sizes = np.bincount(group[kept], minlength=len(self.offsets) - 1)
        offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        order, ends = side_by_side(codes[kept], offsets)
        before = kept[order] if self.order is None else self.order[kept[order]]
        return replace(self, offsets=offsets, order=before, total=count), ends

    def by_part(self, part: NDArray[Any], parts: int) -> Grouping:
        """The parts of all groups as groups, those of one group one after the other.

        Parameters
        ----------
        part : ndarray, shape (n,)
            Number of each record's part, in the order in which records came; records of another
            number than 0 to parts - 1 are left out.
        parts : int
        """
        own = self.arranged(part)
        group = np.repeat(np.arange(len(self.offsets) - 1), self.n)
        kept = np.flatnonzero((own >= 0) & (own < parts))
        cell = group[kept] * parts + own[kept].astype(np.int64)
        order = kept[np.argsort(cell, kind="stable")]
        sizes = np.bincount(cell, minlength=len(self.n) * parts)
        ends = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        before = order if self.order is None else self.order[order]
        return Grouping(range(len(sizes)), ends, before, len(part))

    def occurring(self) -> Grouping:
        """The groups without those of which no record is left."""
        kept = np.flatnonzero(np.diff(self.offsets) > 0)
        ends = self.offsets[1:][kept]
        labels = [self.labels[number] for number in kept.tolist()]
        return replace(self, labels=labels, offsets=np.concatenate(([0], ends)))

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
            f"a unit has records in {most} groups, more than groups_per_unit={groups_per_unit}: "
            f"say groups_per_unit={most} (--groups-per-unit {most}), which costs one group's "
            f"guarantee {most} times ({math.sqrt(most):.3g} mu under GDP, {most} epsilon)"
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


def numbers_of(sizes: Offsets) -> Offsets:
    """Numbers of records, from sizes of parts."""
    return sizes if sizes.ndim == 1 else np.asarray(sizes.sum(axis=1))
