"""Groups of records of a call that has been paid for, and their releases."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.manifolds import as_manifold
from curvedp.mechanisms import Way
from curvedp.privacy import Guarantee, Unproved
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.provenance import Provenance
from curvedp.statistics.base_point import GivenPoints
from curvedp.statistics.call import (
    Call,
    Designs,
    Report,
)
from curvedp.statistics.design import Design
from curvedp.statistics.grouping import (
    Names,
    Offsets,
    joined,
    units_of_groups,
)
from curvedp.statistics.public_time import (
    Coordinates,
    slow_records,
)
from curvedp.statistics.releases import NoiseLaw, Releases
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.tallies import (
    Tally,
    Weights,
    categories,
    weights_of,
    weights_of_groups,
    whole_weights,
)
from curvedp.statistics.units import one_record_each


class Unheld(NamedTuple):
    """One data set that is not held in memory.

    Attributes
    ----------
    n : int
        Number of records.
    sums : sequence of RecordSums
        One for each factor of the manifold, which a search asks.
    """

    n: int
    sums: Sequence[Any]


@dataclass(frozen=True)
class Paid:
    """Groups of records of a call that has been paid for.

    Attributes
    ----------
    call : Call
    records : ndarray, shape (n, point_size)
        Group by group.
    offsets : ndarray of int, shape (groups + 1,)
    designs : pair
        See `Call.designs`.
    keys : GroupKeys
        Source of the noise.
    labels : sequence
        Names of the groups.
    names : pair of ndarray, or None
        Their names in the keys of their noise, if a secret gives them; None for their numbers.
    seed : int or None
    is_grouped : bool
        False for one data set.
    report : callable or None
    beside : ndarray or None
        What each record has beside its point, as numbers: shape (n,) or (n, q).
    unit_ends : ndarray of int, or None
        Where the records of each unit begin and the last one's end, if the statistic needs them.
    units_by_name : bool
        True if units are known by name.
    given : GivenPoints or None
        See `Statistic.given_points`.
    provenance : Provenance or None
    by_secret : bool
        True if the keys come from a secret.
    tally : Tally
        What the first statistic of these records counts while it reads them.
    is_rehearsal : bool
        True for public records of which nothing is released, nor said.
    unheld : Unheld, or None
        The data set where it is not held: `records` is empty then.
    """

    call: Call
    records: FloatArray
    offsets: Offsets
    designs: Designs
    keys: _core.GroupKeys
    labels: Sequence[Hashable]
    names: Names | None = None
    seed: int | None = None
    is_grouped: bool = True
    report: Report | None = None
    beside: FloatArray | None = None
    unit_ends: Offsets | None = None
    units_by_name: bool = False
    given: GivenPoints | None = None
    provenance: Provenance | None = None
    by_secret: bool = False
    tally: Tally = field(default_factory=Tally)
    is_rehearsal: bool = False
    unheld: Unheld | None = None

    @cached_property
    def n(self) -> Offsets:
        """Number of records of each group, or of its units where they are known by name."""
        if self.unheld is not None:
            return np.array([self.unheld.n], dtype=np.int64)
        if self.unit_ends is None:
            return self.offsets[1:] - self.offsets[:-1]
        return units_of_groups(self.unit_ends, self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def released(self) -> NDArray[np.bool_]:
        """False for groups that are skipped."""
        found, choice = self.designs
        exists = np.array([design is not None for design in found], dtype=np.bool_)
        return np.asarray(exists[choice])

    def only(self, kind: type[Any]) -> Paid:
        """The same without the groups whose design is of another kind."""
        found, choice = self.designs
        own = [design if isinstance(design, kind) else None for design in found]
        return replace(self, designs=(own, choice))

    def promise(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee that a release may claim whose noise is calibrated to `guarantee`."""
        return self.call.promise(guarantee, self.seed)

    @property
    def assumptions(self) -> frozenset[str]:
        """Assumptions of every guarantee, besides its proof."""
        return self.assumptions_if(self.call.statistic.is_exact(self.call))

    def assumptions_if(self, is_exact: bool) -> frozenset[str]:
        """The same of noise that is drawn in exact arithmetic, or not."""
        idealized = set() if is_exact else {"idealized-sampling"}
        grouped = {"public-groups"} if self.is_grouped else set()
        if self.call.public_keys:
            grouped = {"public-keys"}
        if self.call.private_keys:
            grouped = {"groups-by-record"}
        seeded = {"seeded"} if self.seed is not None else set()
        by_name = {"units-by-name"} if self.units_by_name else set()
        return frozenset(idealized | grouped | seeded | by_name)

    def salted(self) -> Paid:
        """The same, with noise that depends on everything else that a release is computed from.

        Keys derived from a secret hash the records' points alone. Without this, changed covariates
        or another base point would get the noise of an earlier release.
        """
        if self.given is None and self.beside is None and self.unit_ends is None:
            return self
        own = [b""] * len(self)
        if self.given is not None:
            own = [point.tobytes() for point in self.given.points]
        if self.beside is not None:
            bounds = itertools.pairwise(self.offsets.tolist())
            own = [
                b + self.beside[start:stop].tobytes()
                for b, (start, stop) in zip(own, bounds, strict=True)
            ]
        if self.unit_ends is not None:
            own = [b + self.ends_of(number).tobytes() for number, b in enumerate(own)]
        both = zip(self._name_bytes(), own, strict=True)
        return replace(self, names=joined([len(a).to_bytes(8, "little") + a + b for a, b in both]))

    def _name_bytes(self) -> list[bytes]:
        """The name of each group in keys of noise, or its number."""
        if self.names is None:
            return [str(number).encode() for number in range(len(self))]
        text, ends = self.names[0].tobytes(), self.names[1].tolist()
        return [text[start:stop] for start, stop in itertools.pairwise(ends)]

    def rehearsed(self, kind: Coordinates) -> Paid:
        """The same with public records and noise of their own: nothing of it is released."""
        records = slow_records(kind, self.call.balls, self.offsets, self.records.shape)
        own = None if self.beside is None else self.call.statistic.slow_beside(self.beside)
        return replace(
            self,
            records=records,
            beside=own,
            keys=_core.GroupKeys.fresh(),
            tally=Tally(),
            is_rehearsal=True,
        )

    def by_unit(self) -> Paid:
        """The same with one record for each unit, where units are known and the statistic does not
        average over their records itself."""
        if self.unit_ends is None or self.call.statistic.takes_units:
            return self
        offsets, own = np.concatenate(([0], np.cumsum(self.n))), None
        records = one_record_each(self.call.balls, self.records, self.unit_ends, offsets)
        if self.beside is not None:
            own = self.call.statistic.beside_of_units(self.beside, self.unit_ends)
        return replace(self, records=records, offsets=offsets, beside=own, unit_ends=None)

    def ends_of(self, group: int) -> Offsets:
        """Where the records of each unit of a group begin and the last one's end; one each if not
        known."""
        start, stop = self.offsets[group : group + 2].tolist()
        if self.unit_ends is None:
            return np.arange(stop - start + 1, dtype=np.int64)
        first, last = np.searchsorted(self.unit_ends, (start, stop))
        return np.ascontiguousarray(self.unit_ends[first : last + 1] - start)

    def sizes(self) -> list[int]:
        """The number of records of the groups of each design."""
        found, choice = self.designs
        sizes = np.zeros(len(found), dtype=np.int64)
        sizes[choice] = self.n
        return [int(size) for size in sizes]

    def replaced(self, n: int) -> float:
        """The share of n records that a unit replaces."""
        return min(1.0, self.call.records_per_unit / max(n, 1))

    def columns(self, statistic: _core.GroupStatistic, means: Sequence[Design | None]) -> Columns:
        """Columns that compiled code releases, by name; `means` has one for each design."""
        size = self.call.manifold.point_size
        report, count, counting = self.report, len(self), self.call.counting
        columns, counts, of_each = self.core_groups(means).release(
            self.records.reshape(len(self.records), size),
            statistic,
            self.keys,
            None if report is None else lambda done: report(done, count),
            None if counting is None or self.tally.counts is not None else counting.each,
        )
        self.tally.note(self.records, self.call.balls, counts, of_each)
        return columns

    def core_groups(self, means: Sequence[Design | None]) -> _core.Groups:
        """The groups for compiled code; `means` has one design of a mean for each design."""
        found, choice = self.designs
        kept = [number for number, design in enumerate(found) if design is not None]
        sizes = self.sizes()
        own = [
            _core.GroupDesign(self.replaced(sizes[number]), _mean_design(means[number]))
            for number in kept
        ]
        renumbered = np.full(len(found), -1, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        frames = [ball.frame for ball in self.call.balls]
        return _core.Groups(frames, self.offsets, own, renumbered[choice], self.names)

    def releases(self, **fields: Any) -> Releases[Any]:
        """Releases of these groups; `fields` may replace what they have in common."""
        own: dict[str, Any] = {
            "call": self.call,
            "guarantee": self._promised,
            "laws": [self.law(design) for design in self.designs[0]],
            "assumptions": self.assumptions,
        }
        return Releases(**(self._common | own | fields))

    @cached_property
    def _common(self) -> dict[str, Any]:
        """Columns that releases of these groups have in common with those that they rest on."""
        return {
            "labels": self.labels,
            "n": self.n,
            "released": self.released,
            "law_of": self.designs[1],
            "provenance": self.provenance,
        }

    @property
    def _promised(self) -> Guarantee:
        """The guarantee that the releases of these groups may claim."""
        return self.promise(self.call.statistic.promise(self.call))

    def law(self, design: Any) -> NoiseLaw | None:
        """The noise of the releases of a design."""
        if design is None:
            return None
        statistic = self.call.statistic
        mechanism, way = statistic.mechanism_of(design), statistic.way_of(design)
        promised = self._promised
        if self.call.counting is not None and way is not None:
            way = self.call.counting.way
        return NoiseLaw(mechanism, None if isinstance(promised, Unproved) else way, promised)

    def coverage(self) -> Coverage | None:
        """Numbers of records that were points inside the ball, drawn, if the call counts all."""
        counting = self.call.counting
        if counting is None or counting.each:
            return None
        promised = self.promise(counting.total)
        return counting.draw(self.weights(), promised, self._stream_of_count())

    def weights(self) -> Weights:
        """Exact sums of weights of records outside the ball and of no points: private."""
        own = None
        if self.beside is not None:
            own = self.call.statistic.categories_beside(self.beside)
        if own is None and self.unit_ends is None:
            counts = self.tally.of(self.records, self.call.balls)
            if counts is not None:
                return whole_weights(counts)
        return weights_of(self._categories(own), self.unit_ends)

    def _categories(self, beside: FloatArray | None) -> FloatArray:
        """The worse one of each record's point and of what it has beside it."""
        found = categories(self.call.balls, self.records, self.offsets)
        return found if beside is None else np.maximum(found, beside)

    def with_counts(self, releases: Releases[Any]) -> Releases[Any]:
        """Releases of these groups with a count of the records of each, if the call says so."""
        counting = self.call.counting
        if counting is None or not counting.each:
            return releases
        own = None
        if self.beside is not None:
            own = self.call.statistic.categories_beside(self.beside)
        weights = None
        if own is None and self.unit_ends is None:
            weights = self.tally.of_each(self.records, self.call.balls)
        if weights is None:
            weights = weights_of_groups(self._categories(own), self.offsets, self.unit_ends)
        promised = self.promise(counting.total)
        rows = self.records.reshape(len(self.records), self.call.manifold.point_size)
        ids = self._ids_of_counts() if self.by_secret else None
        counts = counting.draw_each(
            np.where(self.released, self.n, -1),
            weights,
            lambda designs, choice: _flat_groups(rows, self.offsets, ids, designs, choice),
            rows,
            self.keys.part(_COUNT),
        )
        whole = GroupCoverage.of(
            self.n.astype(np.float64),
            *counts[1:],
            groups=len(self),
            noise=counting.kind,
            guarantee=promised,
        )
        columns = dict(zip(COUNT_COLUMNS, counts, strict=True))
        return replace(releases, more={**releases.more, **columns}, coverage=whole)

    def _ids_of_counts(self) -> Names:
        """All that the count of each group is made of, besides records: for its key of a secret."""
        names = enumerate(self._name_bytes())
        return joined([_told([name, *self._of_group(g)]) for g, name in names])

    def _of_group(self, group: int) -> list[bytes]:
        """All that a group's release is computed from besides points of records."""
        ball = self.call.ball_of(group)
        parts = [np.array(ball.radii), ball.center, self.ends_of(group)]
        parts += [] if self.given is None else [self.given.points[group]]
        if self.beside is not None:
            parts.append(self.beside[slice(*self.offsets[group : group + 2].tolist())])
        return [np.ascontiguousarray(own).tobytes() for own in parts]

    def _stream_of_count(self) -> _core.Stream:
        """Randomness of the count alone: under a secret, of all that the release is made of."""
        rows = self.records.reshape(len(self.records), self.call.manifold.point_size)
        return stream_of_count(self.keys, rows, self._all_but_records() if self.by_secret else None)

    def _all_but_records(self) -> bytes:
        """All that the release is computed from besides points of records, for keys of noise."""
        parts = [self.offsets, np.array([ball.radii for ball in self.call.balls])]
        parts += [ball.center for ball in self.call.balls]
        parts += [] if self.given is None else list(self.given.points)
        parts += [own for own in (self.beside, self.unit_ends) if own is not None]
        text, ends = joined([np.ascontiguousarray(own).tobytes() for own in parts])
        return ends.tobytes() + text.tobytes()

    def part(
        self,
        statistic: Statistic[Any],
        shares: Sequence[tuple[str, Way] | None],
        **fields: Any,
    ) -> Releases[Any]:
        """Releases that others rest on.

        `shares` holds the mechanism and the share of the guarantee, one for each design.
        """
        call = replace(self.call, statistic=statistic)
        laws = [None if own is None else self.law_of_share(*own) for own in shares]
        guarantees = {law.guarantee for law in laws if law is not None}
        own: dict[str, Any] = {
            "call": call,
            # that of all parts together holds for each
            "guarantee": guarantees.pop() if len(guarantees) == 1 else self._promised,
            "laws": laws,
            "assumptions": self.assumptions_if(statistic.is_exact(call)),
        }
        return Releases(**(self._common | own | fields))

    def law_of_share(self, mechanism: str, share: Way) -> NoiseLaw:
        """The noise of a release that is calibrated to a share of the guarantee."""
        promised = self.promise(share)
        return NoiseLaw(mechanism, None if isinstance(promised, Unproved) else share, promised)


def stream_of_count(keys: _core.GroupKeys, rows: FloatArray, name: bytes | None) -> _core.Stream:
    """Randomness of the count of a call: of numbers and a name, if its keys come from a secret.

    Parameters
    ----------
    keys : GroupKeys
        Of the call.
    rows : ndarray, shape (n, size)
    name : bytes or None
        None for keys that know their groups by number.
    """
    ends = np.array([0, len(rows)], dtype=np.int64)
    ids = None if name is None else joined([name])
    groups = _flat_groups(rows, ends, ids, 1, np.zeros(1, dtype=np.int32))
    return groups.stream(rows, keys.part(_COUNT), 0, 1, 0)


def _flat_groups(
    rows: FloatArray, offsets: Offsets, ids: Names | None, designs: int, choice: NDArray[np.int32]
) -> _core.Groups:
    """Groups of rows as points of a flat space, for keys of noise that depend on all their bits."""
    frame = _core.Frame(_flat(rows.shape[1]), np.zeros(rows.shape[1]), 1.0)
    return _core.Groups([frame], offsets, [_core.GroupDesign(1.0, None)] * designs, choice, ids)


def _told(parts: Sequence[bytes]) -> bytes:
    """Parts as one text, with the length of each before it."""
    return b"".join(len(own).to_bytes(8, "little") + own for own in parts)


@cache
def _flat(size: int) -> _core.Manifold:
    """Rows of so many numbers as points."""
    return as_manifold(f"euclidean:{size}").kernels


#: Number of the part of the keys from which the count draws; factors of products have small ones.
_COUNT = 2**32

#: Columns of a count of each group: the numbers of records with noise, and their standard error.
COUNT_COLUMNS = ("inside", "outside", "no_point", "count_error")

#: Arrays by name, one row for each group.
Columns = dict[str, FloatArray]


def _mean_design(
    design: Design | None,
) -> tuple[_core.Plan, _core.Noise, bool, float, float, float] | None:
    if design is None:
        return None
    noise = design.mechanism
    return design.plan, noise._noise, noise.in_chart, design.mean_square, *noise._grid
