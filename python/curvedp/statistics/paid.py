"""Groups of records of a call that has been paid for, and their releases."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.manifolds import Manifold
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP, Release, Unproved
from curvedp.privacy.secret import fingerprint_of
from curvedp.statistics.base_point import GivenPoints
from curvedp.statistics.call import (
    Call,
    Designs,
    Progress,
    Report,
    Result,
    Statistic,
    as_balls,
    check_timing,
    reporter,
)
from curvedp.statistics.design import Design
from curvedp.statistics.grouping import (
    Grouping,
    GroupsLike,
    Names,
    Offsets,
    joined,
    units_of_groups,
)
from curvedp.statistics.public_time import (
    KINDS,
    Coordinates,
    Timing,
    at_public_time,
    slow_records,
)
from curvedp.statistics.releases import NoiseLaw, Releases
from curvedp.statistics.units import one_record_each


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

    @cached_property
    def n(self) -> Offsets:
        """Number of records of each group, or of its units where they are known by name."""
        if self.unit_ends is None:
            return np.diff(self.offsets)
        return units_of_groups(self.unit_ends, self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
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
        names = [str(number).encode() for number in range(len(self))]
        if self.names is not None:
            text, ends = self.names[0].tobytes(), self.names[1].tolist()
            names = [text[start:stop] for start, stop in itertools.pairwise(ends)]
        both = zip(names, own, strict=True)
        return replace(self, names=joined([len(a).to_bytes(8, "little") + a + b for a, b in both]))

    def rehearsed(self, kind: Coordinates) -> Paid:
        """The same with public records and noise of their own: nothing of it is released."""
        records = slow_records(kind, self.call.balls, self.offsets, self.records.shape)
        own = None if self.beside is None else self.call.statistic.slow_beside(self.beside)
        return replace(
            self,
            records=records,
            beside=own,
            keys=_core.GroupKeys.fresh(),
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
        return min(1.0, self.call.records_per_unit / n)

    def columns(self, statistic: _core.GroupStatistic, means: Sequence[Design | None]) -> Columns:
        """Columns that compiled code releases, by name; `means` has one for each design."""
        size = self.call.manifold.point_size
        report, count = self.report, len(self)
        return self._groups(means).release(
            self.records.reshape(len(self.records), size),
            statistic,
            self.keys,
            None if report is None else lambda done: report(done, count),
        )

    def _groups(self, means: Sequence[Design | None]) -> _core.Groups:
        found, choice = self.designs
        kept = [number for number, design in enumerate(found) if design is not None]
        sizes = self.sizes()
        own = [
            _core.GroupDesign(self.replaced(sizes[number]), _mean_design(means[number]))
            for number in kept
        ]
        renumbered = np.full(len(found), -1, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        frames = [ball._frame for ball in self.call.balls]
        return _core.Groups(frames, self.offsets, own, renumbered[choice], self.names)

    def releases(self, **fields: Any) -> Releases[Any]:
        """Releases of these groups; `fields` may replace what they have in common."""
        common: dict[str, Any] = {
            "call": self.call,
            "labels": self.labels,
            "n": self.n,
            "released": self.released,
            "guarantee": self.promise(self.call.statistic.promise(self.call)),
            "laws": [self.law(design) for design in self.designs[0]],
            "law_of": self.designs[1],
            "assumptions": self.assumptions,
        }
        return Releases(**(common | fields))

    def law(self, design: Any) -> NoiseLaw | None:
        """The noise of the releases of a design."""
        if design is None:
            return None
        statistic = self.call.statistic
        mechanism, way = statistic.mechanism_of(design), statistic.way_of(design)
        promised = self.promise(statistic.promise(self.call))
        return NoiseLaw(mechanism, None if isinstance(promised, Unproved) else way, promised)

    def part(
        self,
        statistic: Statistic[Any],
        shares: Sequence[tuple[str, PureDP | GDP] | None],
        **fields: Any,
    ) -> Releases[Any]:
        """Releases that others rest on.

        `shares` holds the mechanism and the share of the guarantee, one for each design.
        """
        call = replace(self.call, statistic=statistic)
        laws = [None if own is None else self.law_of_share(*own) for own in shares]
        guarantees = {law.guarantee for law in laws if law is not None}
        common = {
            "call": call,
            "assumptions": replace(self, call=call).assumptions,
            "laws": laws,
        }
        if len(guarantees) == 1:  # otherwise that of all parts together holds for each
            common["guarantee"] = guarantees.pop()
        return self.releases(**(common | fields))

    def law_of_share(self, mechanism: str, share: PureDP | GDP) -> NoiseLaw:
        """The noise of a release that is calibrated to a share of the guarantee."""
        promised = self.promise(share)
        return NoiseLaw(mechanism, None if isinstance(promised, Unproved) else share, promised)

    def groups(self, stages: int) -> Iterator[Group]:
        """The groups that have a release, one after the other, each with so many streams."""
        core = self._groups([None] * len(self.designs[0]))
        for number in np.flatnonzero(self.released).tolist():
            yield Group(self, core, number, stages)


#: Arrays by name, one row for each group.
Columns = dict[str, FloatArray]


def _mean_design(
    design: Design | None,
) -> tuple[_core.Plan, _core.Noise, bool, float, float, float] | None:
    if design is None:
        return None
    noise = design.mechanism
    return design.plan, noise._noise, noise.in_chart, design.mean_square, *noise._grid


@dataclass(frozen=True)
class Group:
    """One group of records that has been paid for."""

    paid: Paid
    core: _core.Groups
    number: int
    stages: int

    @property
    def call(self) -> Call:
        """The call that it belongs to."""
        return self.paid.call

    @property
    def ball(self) -> Ball:
        """Its public domain."""
        return self.call.ball_of(self.number)

    @property
    def manifold(self) -> Manifold:
        """The manifold of its records."""
        return self.call.manifold

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that its release shall satisfy."""
        return self.call.guarantee

    @property
    def design(self) -> Any:
        """The result of `Statistic.design` for it."""
        found, choice = self.paid.designs
        return found[choice[self.number]]

    @property
    def rows(self) -> slice:
        """Its records among those of all groups."""
        start, stop = self.paid.offsets[self.number : self.number + 2].tolist()
        return slice(start, stop)

    @property
    def n(self) -> int:
        """Number of records, or of units where they are known by name."""
        return int(self.paid.n[self.number])

    @property
    def records(self) -> FloatArray:
        """Its records, shape (n, *point_shape)."""
        own = self.paid.records[self.rows]
        return own.reshape(len(own), *self.manifold.point_shape)

    @property
    def beside(self) -> FloatArray:
        """What its records have beside their points, shape (n,) or (n, q)."""
        assert self.paid.beside is not None
        return self.paid.beside[self.rows]

    @property
    def ends(self) -> Offsets:
        """See `Paid.ends_of`."""
        return self.paid.ends_of(self.number)

    def enter(self) -> FloatArray:
        """The records projected on the ball and moved into its frame, one row each."""
        return self.ball._enter(self.records)

    def stream(self, stage: int) -> _core.Stream:
        """The randomness of a stage."""
        rows = self.paid.records.reshape(len(self.paid.records), self.manifold.point_size)
        return self.core.stream(rows, self.paid.keys, self.number, self.stages, stage)

    def release(self, **fields: Any) -> Release:
        """A release of this group, with what it promises."""
        law = self.paid.law(self.design)
        assert law is not None
        described: dict[str, Any] = {
            "guarantee": law.guarantee,
            "calibrated_to": law.calibrated_to,
            "mechanism": law.mechanism,
            "manifold": self.manifold.spec,
            "ball_center": self.ball.center,
            "ball_radius": self.ball.radius,
            "n": self.n,
            "records_per_unit": self.call.records_per_unit,
            "assumptions": self.paid.assumptions,
        }
        return Release(**(described | fields))


class EachGroup(Statistic[Result]):
    """A statistic that is computed in Python, one group after the other."""

    #: Streams that a group draws from.
    stages: ClassVar[int] = 1

    @property
    def streams(self) -> int:
        """The same, where the keywords decide."""
        return self.stages

    @abc.abstractmethod
    def release_group(self, group: Group) -> Result:
        """The release of one group, whose design is ``group.design``."""

    def release(self, paid: Paid) -> Releases[Result]:
        count, report = len(paid), paid.report or (lambda done, groups: None)
        results: list[Result | None] = [None] * count
        report(0, count)
        for group in paid.groups(self.streams):
            results[group.number] = self.release_group(group)
            report(group.number + 1, count)
        report(count, count)  # also if the last groups are skipped
        shape = self.value_shape(paid.call)
        return paid.releases(**_columns_of(results, shape), results=tuple(results))

    def result(self, releases: Releases[Result], index: int) -> Result:
        assert releases.results is not None
        found: Result = releases.results[index]
        return found


def _columns_of(results: Sequence[Any], value_shape: tuple[int, ...]) -> dict[str, Any]:
    """The columns of releases that exist one by one; NaN for values of other sizes."""
    values = np.full((len(results), *value_shape), np.nan)
    for number, own in enumerate(results):
        if own is not None and own.value.size == values[number].size:
            values[number] = own.value.reshape(value_shape)
    found: dict[str, Any] = {"value": values}
    for name in ("sensitivity", "solver_tolerance", "scale", "expected_error"):
        numbers = [getattr(own, name, None) for own in results]
        found[name] = np.array([np.nan if x is None else x for x in numbers])
    return found


def release(
    statistic: Statistic[Result],
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    covariate: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    units: GroupsLike = None,
) -> Result | Releases[Result]:
    """Release a statistic of records: checked, then paid for, then drawn.

    Parameters
    ----------
    statistic : Statistic
        Such as ``Mean()``, ``TwoSampleTest()`` or one of your own.
    records : array-like, shape (n, *point_shape)
        No value raises: a record that is not a point of the manifold counts as the ball's centre.
    ball : Ball, or a list with one for each group
        Public domain of the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of the release of each group, when one unit's records are replaced.
    covariate : array-like, shape (n,) or (n, q), optional
        Covariates of the records, for statistics that take them: regressions, trends.
    labels : array-like, shape (n,), optional
        Labels of the records, for statistics that take them: two samples, classifiers.
    groups : array-like, optional
        Labels or offsets of public groups; see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, instead of `records_per_unit`.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.

    Returns
    -------
    Release of the statistic, or Releases of them with `groups`

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("spd:2", center="identity", radius=1.0)
    >>> X = np.tile(np.eye(2), (600, 1, 1))
    >>> found = cdp.release(cdp.Mean(), X, ball, cdp.GDP(mu=1.0), groups=[0, 200, 600])
    >>> found.value.shape
    (2, 2, 2)
    """
    space = as_balls(ball)[0].manifold
    data = space._records(records)
    beside = read_beside(check_statistic(statistic), len(data), covariate=covariate, labels=labels)
    return release_read(
        statistic,
        data,
        ball,
        guarantee,
        beside=beside,
        groups=groups,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        skip_small=skip_small,
        ledger=ledger,
        secret=secret,
        seed=seed,
        progress=progress,
        timing=timing,
        units=units,
    )


def release_read(
    statistic: Statistic[Result],
    data: FloatArray,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    beside: FloatArray | None = None,
    groups: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    units: GroupsLike = None,
) -> Result | Releases[Result]:
    """`release` of records that were read already, and of the numbers beside them."""
    call = Call(
        statistic=statistic,
        balls=as_balls(ball),
        guarantee=guarantee,
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
        groups_per_unit=as_count(groups_per_unit, "groups_per_unit"),
        skip_small=bool(skip_small),
    )
    check_timing(timing, progress)
    statistic, is_grouped = call.statistic, groups is not None
    grouping = Grouping.of(groups, len(data), with_units=units is not None)
    unit_ends = None
    if units is not None:
        if call.records_per_unit != 1:
            raise ValueError("give units or records_per_unit, not both")
        grouping, unit_ends = grouping.by_unit(units, call.groups_per_unit)
    count = len(grouping.labels)
    if len(call.balls) not in (1, count):
        raise ValueError(f"{len(call.balls)} balls do not fit {count} groups")
    keys, given = call.keys(secret, seed), statistic.given_points(call, grouping.labels)
    names = None if secret is None else grouping.names()
    beside = None if beside is None else grouping.arranged(beside)
    sizes = sizes_of(statistic, beside, grouping.offsets, unit_ends)
    designs = call.designs(sizes, alone=not is_grouped)
    call.warn_of_noise(designs, numbers_of(sizes))
    largest = int(grouping.n.max())
    call.ask_for_memory(
        data.nbytes, largest, by_unit=unit_ends is not None, timing=timing, groups=count
    )
    if secret is not None:
        units_of = () if unit_ends is None else (grouping.arranged(np.arange(len(data))), unit_ends)
        secret._bind(fingerprint_of([data, *(() if beside is None else (beside,)), *units_of]))
    call.pay(ledger, count if is_grouped else None, seed)
    paid = Paid(
        call=call,
        records=grouping.arranged(data),
        offsets=grouping.offsets,
        designs=designs,
        keys=keys,
        labels=grouping.labels,
        names=names,
        seed=seed,
        is_grouped=is_grouped,
        report=reporter(progress),
        beside=beside,
        unit_ends=unit_ends,
        units_by_name=units is not None,
        given=given,
    )

    def answer(paid: Paid) -> Result | Releases[Result]:
        ready = paid.by_unit()
        found = statistic.release(ready if secret is None else ready.salted())
        return found if is_grouped else statistic.result(found, 0)

    if timing == "prompt":
        return answer(paid)
    return at_public_time(answer, map(paid.rehearsed, KINDS), paid)


def check_statistic(statistic: Statistic[Result]) -> Statistic[Result]:
    """The statistic, if it is one."""
    if not isinstance(statistic, Statistic):
        name = getattr(statistic, "__name__", type(statistic).__name__)
        raise TypeError(f"statistic must be a Statistic, such as Mean(), got {name}")
    return statistic


def read_beside(statistic: Statistic[Any], n: int, **given: Any) -> FloatArray | None:
    """What n records have beside their points, of what was `given` by keyword.

    Raises
    ------
    ValueError, TypeError
        For what the statistic does not take, or lacks, and another number of rows.
    """
    for name, own in given.items():
        if own is not None and name != statistic.beside:
            raise TypeError(f"the {statistic.title} takes no {name}")
    if statistic.beside is None:
        return None
    if given.get(statistic.beside) is None:
        raise TypeError(f"the {statistic.title} needs {statistic.beside}, one for each record")
    found = statistic.read_beside(given[statistic.beside], n)
    if found.shape[:1] != (n,):
        raise ValueError(
            f"{statistic.beside} must be given for each of {n} records, got shape {found.shape}"
        )
    return found


def sizes_of(
    statistic: Statistic[Any],
    beside: FloatArray | None,
    offsets: Offsets,
    unit_ends: Offsets | None,
) -> Offsets:
    """Public sizes of groups of records in order: see `Statistic.parts`."""
    if unit_ends is None:
        return statistic.parts(beside, offsets)
    own = None if beside is None else statistic.beside_of_units(beside, unit_ends)
    return statistic.parts(own, np.searchsorted(unit_ends, offsets))


def numbers_of(sizes: Offsets) -> Offsets:
    """Numbers of records, from sizes of parts."""
    return sizes if sizes.ndim == 1 else np.asarray(sizes.sum(axis=1))
