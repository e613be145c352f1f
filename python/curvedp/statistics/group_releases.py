"""Releases of many disjoint groups, column by column, with what they promise together."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Release, Unproved, compose

#: What tells of the noise in a table of releases.
NOISE_COLUMNS = ("sensitivity", "scale", "expected_error")


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupResults(abc.ABC):
    """What the releases of many groups have in common, whatever is released.

    Attributes
    ----------
    n : ndarray of int, shape (groups,)
        Number of records of each group (public).
    released : ndarray of bool, shape (groups,)
        False for groups that were passed over.
    balls : sequence of Ball
        One for all groups, or one each.
    guarantee : Guarantee
        What each group's release promises.
    total : Guarantee
        What all releases promise together to one unit: `guarantee` composed `groups_per_unit`
        times, groups being disjoint and public.
    records_per_unit : int
        Most records that one unit contributes to a group.
    groups_per_unit : int
        Most groups to which one unit contributes.
    assumptions : frozenset of str
    """

    n: NDArray[np.int64]
    released: NDArray[np.bool_]
    balls: Sequence[Ball]
    guarantee: Guarantee
    records_per_unit: int
    groups_per_unit: int
    assumptions: frozenset[str]

    @abc.abstractmethod
    def columns(self) -> dict[str, FloatArray]:
        """What is released of each group, for a table: one array per column, one row per group."""

    @property
    def total(self) -> Guarantee:
        """What all releases promise together to one unit."""
        return composed(self.guarantee, self.groups_per_unit)

    def __len__(self) -> int:
        return len(self.n)

    def _index(self, group: int) -> int:
        """The number from the front of a group that was not passed over."""
        index = range(len(self))[group]
        if not self.released[index]:
            raise ValueError(f"group {index} was passed over: nothing was released")
        return index


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupReleases(GroupResults):
    """One release per group, as columns; ``releases[g]`` is the `Release` of group g.

    Attributes
    ----------
    value : ndarray, shape (groups, *value_shape)
        NaN for groups that were passed over.
    sensitivity, solver_tolerance, scale, expected_error : ndarray, shape (groups,)
        As in `Release`; NaN for groups that were passed over.
    mechanism, statistic : str
    base_point : ndarray, shape (groups, *point_shape), or None
        The public point of each group about which the statistic was computed.
    parts : tuple of GroupReleases
        Releases that each group's release rests on, under the same guarantee.
    n, released, balls, guarantee, total, records_per_unit, groups_per_unit, assumptions
        Numbers of records; which groups were not passed over; balls, one for all groups or one
        each; what each release promises and all together to one unit: groups are disjoint and
        public, and a unit contributes to so many groups so many records of each.
    """

    value: FloatArray
    sensitivity: FloatArray
    solver_tolerance: FloatArray
    scale: FloatArray
    expected_error: FloatArray
    mechanism: str
    statistic: str
    base_point: FloatArray | None = None
    parts: tuple[GroupReleases, ...] = ()

    def columns(self) -> dict[str, FloatArray]:
        """What is released of each group, for a table: one array per column, one row per group."""
        found = {"value": self.value}
        for part in self.parts:
            found |= {"mean": part.value, "mean_scale": part.scale}
        return found | {name: getattr(self, name) for name in NOISE_COLUMNS}

    def __iter__(self) -> Iterator[Release]:
        return (self[group] for group in range(len(self)))

    def __getitem__(self, group: int) -> Release:
        index = self._index(group)
        ball = self.balls[0 if len(self.balls) == 1 else index]
        return Release(
            value=self.value[index],
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            statistic=self.statistic,
            manifold=ball.manifold.spec,
            ball_center=ball.center,
            ball_radius=ball.radius,
            n=int(self.n[index]),
            records_per_unit=self.records_per_unit,
            sensitivity=float(self.sensitivity[index]),
            solver_tolerance=float(self.solver_tolerance[index]),
            scale=float(self.scale[index]),
            expected_error=float(self.expected_error[index]),
            assumptions=self.assumptions,
            base_point=None if self.base_point is None else self.base_point[index],
            parts=self._parts_of(index),
        )

    def _parts_of(self, index: int) -> tuple[Release, ...]:
        """The releases that a group's release rests on."""
        return tuple(part[index] for part in self.parts)

    def __repr__(self) -> str:
        count = int(self.released.sum())
        return f"<GroupReleases: {self.statistic} of {count} groups, {self.guarantee!r} each>"


def composed(guarantee: Guarantee, times: int) -> Guarantee:
    """A guarantee given `times` times."""
    if isinstance(guarantee, Unproved) or times == 1:
        return guarantee
    return compose(*[guarantee] * times)
