"""Private Fréchet means of many disjoint groups in one call.

Each group is released as `frechet_mean` releases a data set: the same projection, mean, noise and
grid, bit for bit, with a stream of noise of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.domain import Ball
from curvedp.mechanisms import Mechanism, choose_mechanism
from curvedp.mechanisms.base import ChartGaussian
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.statistics.frechet_mean import Design
from curvedp.statistics.group_plan import (
    Designs,
    GroupPlan,
    Names,
    Offsets,
    Progress,
    as_balls,
    mean_columns,
    mechanism_word,
    promise,
    release_each,
)
from curvedp.statistics.group_releases import GroupReleases


@dataclass(frozen=True, kw_only=True)
class MeanPlan(GroupPlan[GroupReleases]):
    """What the means of groups are released with."""

    statistic: ClassVar[str] = "Fréchet mean"

    mechanism: str | type[Mechanism] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kind  # noqa: B018 - raises for a mechanism that does not fit

    @property
    def kind(self) -> type[Mechanism]:
        """The mechanism of every group."""
        return choose_mechanism(self.balls[0], self.guarantee, self.mechanism)

    @property
    def mechanism_name(self) -> str:
        return self.kind.name

    def options(self) -> dict[str, Any]:
        return {"mechanism": mechanism_word(self.mechanism)}

    @property
    def value_shape(self) -> tuple[int, ...]:
        return tuple(self.manifold.point_shape)

    def outlook(self, design: Design, n: int) -> tuple[float, float]:
        return design.mechanism.scale, design.mechanism.expected_error

    @property
    def extent(self) -> float:
        return self.balls[0].radius

    def _mean_keywords(self) -> tuple[Guarantee, str | type[Mechanism] | None]:
        return self.guarantee, self.mechanism

    def release(
        self,
        data: FloatArray,
        offsets: Offsets,
        designs: Designs,
        keys: _core.GroupKeys,
        *,
        names: Names | None = None,
        seed: int | None = None,
        report: Progress | None = None,
    ) -> GroupReleases:
        count, size = len(offsets) - 1, self.manifold.point_size
        value = np.empty((count, size))
        self.groups(offsets, designs, names).means(
            data.reshape(len(data), size),
            issubclass(self.kind, ChartGaussian),
            keys,
            None if report is None else lambda done: report(done, count),
            value,
        )
        return GroupReleases(
            value=value.reshape(count, *self.value_shape),
            guarantee=promise(self.guarantee, seed),
            mechanism=self.mechanism_name,
            statistic=self.statistic,
            **mean_columns(designs),
            **self.described(np.diff(offsets), designs, seed),
        )


def frechet_means(
    points: ArrayLike,
    offsets: ArrayLike,
    balls: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    ledger: Ledger | None = None,
    mechanism: str | type[Mechanism] | None = None,
    pass_over: bool = False,
    secret: NoiseSecret | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> GroupReleases:
    """Release the Fréchet mean of every group of records, each under differential privacy.

    Group g holds the records ``points[offsets[g]:offsets[g + 1]]``. Groups are disjoint, and which
    record belongs to which group is public or fixed before the data were seen, as the number of
    records is: replacing a record changes one group's release. If a unit (a person) contributes to
    several groups, say to how many: its loss is that of so many releases.

    Parameters
    ----------
    points : array-like, shape (n, *point_shape)
        Records, group by group. No value raises: a record that is not a point of the manifold
        counts as its ball's centre.
    offsets : array-like of int, shape (groups + 1,)
        Public; from 0 to n, increasing: an empty group has no mean.
    balls : Ball or sequence of Ball
        Public domain of all groups, or of each.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release of each group shall satisfy.
    records_per_unit : int
        Number of records that one unit contributes to any one group at most.
    groups_per_unit : int
        Number of groups to which one unit contributes at most.
    ledger : Ledger, optional
        Budget from which `guarantee` is spent, composed `groups_per_unit` times, before any noise
        is drawn.
    mechanism : str or Mechanism class, optional
        See `choose_mechanism`.
    pass_over : bool
        Pass over groups that are too small for the mechanism to exist, instead of raising.
    secret : NoiseSecret, optional
        Derive the noise from a secret, so that the same call gives the same releases again; by
        default it comes from a fresh key of the operating system. See `NoiseSecret` for what that
        means.
    names : sequence of str, optional
        Distinct names of the groups, for noise derived from a secret; their numbers by default.
    seed : int, optional
        For tests and examples only: the releases are then `Unproved`.
    progress : callable, optional
        Called with the number of groups done and their number in all.

    Returns
    -------
    GroupReleases

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ExistenceError
        If groups are too small for Laplace noise to exist; carries the smallest n that works.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> releases = cdp.frechet_means(records, [0, 200, 600], ball, cdp.PureDP(epsilon=1.0))
    >>> releases.value.shape, releases.n.tolist()
    ((2, 3), [200, 400])
    >>> releases[1].scale < releases[0].scale
    True
    """
    plan = MeanPlan(
        balls=as_balls(balls),
        guarantee=guarantee,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        mechanism=mechanism,
        pass_over=bool(pass_over),
    )
    return release_each(
        plan,
        points,
        offsets,
        ledger=ledger,
        secret=secret,
        names=names,
        seed=seed,
        progress=progress,
    )
