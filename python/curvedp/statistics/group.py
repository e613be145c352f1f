"""One group of records that has been paid for, and statistics that are computed group by group."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.manifolds import Manifold
from curvedp.mechanisms.base import Mechanism
from curvedp.privacy import Guarantee, Release
from curvedp.statistics.call import Call
from curvedp.statistics.grouping import Offsets
from curvedp.statistics.paid import Paid
from curvedp.statistics.releases import Releases
from curvedp.statistics.statistic import Result, Statistic


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
        """Numbers beside the points of its records, shape (n,) or (n, q)."""
        assert self.paid.beside is not None
        return self.paid.beside[self.rows]

    @property
    def ends(self) -> Offsets:
        """See `Paid.ends_of`."""
        return self.paid.ends_of(self.number)

    def enter(self) -> FloatArray:
        """The records projected on the ball and moved into its frame, one row each."""
        return self.ball.enter(self.records)

    def stream(self, stage: int) -> _core.Stream:
        """The randomness of a stage."""
        rows = self.paid.records.reshape(len(self.paid.records), self.manifold.point_size)
        return self.core.stream(rows, self.paid.keys, self.number, self.stages, stage)

    def drawn(self, value: FloatArray, mechanism: Mechanism) -> FloatArray:
        """Numbers, shape (m,), with noise of the first stage."""
        return np.asarray(mechanism._release(value, self.stream(0), 1)[0])

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
            "ball_unit": self.ball.unit,
            "n": self.n,
            "records_per_unit": self.call.records_per_unit,
            "assumptions": self.paid.assumptions,
            "provenance": self.paid.provenance,
        }
        return Release(**(described | fields))


def groups_of(paid: Paid, stages: int) -> Iterator[Group]:
    """The groups that have a release, one after the other, each with so many streams."""
    core = paid.core_groups([None] * len(paid.designs[0]))
    for number in np.flatnonzero(paid.released).tolist():
        yield Group(paid, core, number, stages)


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
        for group in groups_of(paid, self.streams):
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
