"""Releases of many disjoint groups, column by column, with what they promise together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Release, Unproved, compose


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupReleases:
    """One release per group, as columns; ``releases[g]`` is the `Release` of group g.

    Attributes
    ----------
    value : ndarray, shape (groups, *value_shape)
        NaN for groups that were passed over.
    n : ndarray of int, shape (groups,)
        Number of records of each group (public).
    sensitivity, solver_tolerance, scale, expected_error : ndarray, shape (groups,)
        As in `Release`; NaN for groups that were passed over.
    released : ndarray of bool, shape (groups,)
        False for groups that were passed over.
    balls : sequence of Ball
        One for all groups, or one each.
    guarantee : Guarantee
        What each group's release promises.
    total : Guarantee
        What all releases promise together to one unit: `guarantee` composed `groups_per_unit`
        times, groups being disjoint and public.
    mechanism, statistic : str
    records_per_unit : int
        Most records that one unit contributes to a group.
    groups_per_unit : int
        Most groups to which one unit contributes.
    assumptions : frozenset of str
    base_point : ndarray, shape (groups, *point_shape), or None
        The public point of each group about which the statistic was computed.
    parts : tuple of GroupReleases
        Releases that each group's release rests on, under the same guarantee.
    """

    value: FloatArray
    n: NDArray[np.int64]
    sensitivity: FloatArray
    solver_tolerance: FloatArray
    scale: FloatArray
    expected_error: FloatArray
    released: NDArray[np.bool_]
    balls: Sequence[Ball]
    guarantee: Guarantee
    mechanism: str
    statistic: str
    records_per_unit: int
    groups_per_unit: int
    assumptions: frozenset[str]
    base_point: FloatArray | None = None
    parts: tuple[GroupReleases, ...] = ()

    @property
    def total(self) -> Guarantee:
        """What all releases promise together to one unit."""
        return composed(self.guarantee, self.groups_per_unit)

    def __len__(self) -> int:
        return len(self.n)

    def __iter__(self) -> Iterator[Release]:
        return (self[group] for group in range(len(self)))

    def __getitem__(self, group: int) -> Release:
        index = range(len(self))[group]
        if not self.released[index]:
            raise ValueError(f"group {index} was passed over: nothing was released")
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
            parts=tuple(part[index] for part in self.parts),
        )

    def __repr__(self) -> str:
        count = int(self.released.sum())
        return f"<GroupReleases: {self.statistic} of {count} groups, {self.guarantee!r} each>"


def composed(guarantee: Guarantee, times: int) -> Guarantee:
    """A guarantee given `times` times."""
    if isinstance(guarantee, Unproved) or times == 1:
        return guarantee
    return compose(*[guarantee] * times)
