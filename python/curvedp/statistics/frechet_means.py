"""Private Fréchet means of many disjoint groups in one call.

Each group is released as `frechet_mean` releases a data set: the same projection, mean, noise and
grid, bit for bit, with a stream of noise of its own. Sensitivity, scale and the solver's plan
depend on the number of records and the ball alone and are computed once for each distinct pair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_count, as_points
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, choose_mechanism
from curvedp.mechanisms.base import ChartGaussian
from curvedp.mechanisms.grid import clip_radius, grid_step
from curvedp.privacy import Guarantee, Ledger, NoiseSecret, Unproved
from curvedp.statistics.entry import SEEDED_WHY, check_ball, check_guarantee
from curvedp.statistics.frechet_mean import Design, design_mean
from curvedp.statistics.group_releases import GroupReleases, composed

STATISTIC = "Fréchet mean"

Offsets = NDArray[np.int64]
#: Bytes of the names of all groups, and where each begins; the groups' numbers if None.
Names = tuple[NDArray[np.uint8], Offsets]


@dataclass(frozen=True)
class GroupPlan:
    """What the releases of groups are computed with; the same for every chunk of a batch."""

    balls: tuple[Ball, ...]
    guarantee: Guarantee
    records_per_unit: int = 1
    groups_per_unit: int = 1
    mechanism: str | type[Mechanism] | None = None
    pass_over: bool = False

    @classmethod
    def check(
        cls,
        balls: Ball | Sequence[Ball],
        guarantee: Guarantee,
        *,
        records_per_unit: int,
        groups_per_unit: int,
        mechanism: str | type[Mechanism] | None,
        pass_over: bool,
    ) -> GroupPlan:
        """The plan, with its parameters checked."""
        given = (balls,) if isinstance(balls, Ball) else tuple(map(check_ball, balls))
        if not given:
            raise ValueError("balls is empty: give one ball for all groups, or one for each")
        if len({ball.manifold.spec for ball in given}) > 1:
            raise ValueError("the balls of all groups must lie on one manifold")
        times = as_count(groups_per_unit, "groups_per_unit")
        composed(check_guarantee(guarantee), times)
        return cls(
            given,
            guarantee,
            as_count(records_per_unit, "records_per_unit"),
            times,
            mechanism,
            bool(pass_over),
        )

    @property
    def kind(self) -> type[Mechanism]:
        """The mechanism of every group."""
        return choose_mechanism(self.balls[0], self.guarantee, self.mechanism)

    @property
    def total(self) -> Guarantee:
        """What all releases cost one unit."""
        return composed(self.guarantee, self.groups_per_unit)

    def context(self) -> bytes:
        """All parameters that the groups share, for the keys of their noise."""
        described = {
            "library": version("curvedp"),
            "statistic": STATISTIC,
            "manifold": self.balls[0].manifold.spec,
            "guarantee": self.guarantee.to_dict(),
            "mechanism": self.kind.name,
            "records_per_unit": self.records_per_unit,
        }
        return json.dumps(described, sort_keys=True).encode()

    def designs(self, n: Offsets) -> tuple[list[Design | None], NDArray[np.int32]]:
        """The design of each distinct pair of radius and number of records, and each group's pair.

        None stands for a pair without a release, if groups may be passed over.
        """
        radius = np.array([ball.radius for ball in self.balls])
        of_radius = np.unique(radius, return_inverse=True)[1].astype(np.int64)
        sizes, size_of = np.unique(n, return_inverse=True)
        pair = of_radius * len(sizes) + size_of
        pairs, choice = np.unique(pair, return_inverse=True)
        ball_of = {int(number): ball for number, ball in zip(of_radius, self.balls, strict=True)}
        found: list[Design | None] = []
        failed: list[tuple[int, ExistenceError]] = []
        for number in pairs.tolist():
            count = int(sizes[number % len(sizes)])
            try:
                found.append(self._design(ball_of[number // len(sizes)], count))
            except ExistenceError as error:
                failed.append((count, error))
                found.append(None)
        if failed and not self.pass_over:
            raise _too_small(failed)
        return found, choice.astype(np.int32)

    def _design(self, ball: Ball, n: int) -> Design:
        return _design(ball, n, self.guarantee, self.records_per_unit, self.mechanism)


@lru_cache(maxsize=4096)
def _design(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """A design, kept for the next chunk: Laplace noise on larger matrices takes time to prepare."""
    return design_mean(
        ball, n, guarantee, records_per_unit, calibration="proved", mechanism=mechanism
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
    plan = GroupPlan.check(
        balls,
        guarantee,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        mechanism=mechanism,
        pass_over=pass_over,
    )
    shape = plan.balls[0].manifold.point_shape
    data = as_points(points, shape, "points")
    if data.ndim != len(shape) + 1:
        raise ValueError(f"points must be one record per row, got shape {data.shape}")
    ends = as_offsets(offsets, len(data))
    if len(plan.balls) not in (1, len(ends) - 1):
        raise ValueError(f"{len(plan.balls)} balls do not fit {len(ends) - 1} groups")
    if seed is not None and secret is not None:
        raise ValueError("give a seed or a secret, not both")
    label = None if names is None else _encoded(names, len(ends) - 1)
    keys = noise_keys(plan, secret, seed)
    designs = plan.designs(np.diff(ends))
    if ledger is not None:
        ledger.spend(_promise(plan.total, seed), label=f"{STATISTIC} of {len(ends) - 1} groups")
    return release_groups(plan, data, ends, designs, keys, names=label, seed=seed, report=progress)


def release_groups(
    plan: GroupPlan,
    data: FloatArray,
    offsets: Offsets,
    designs: tuple[list[Design | None], NDArray[np.int32]],
    keys: _core.GroupKeys,
    *,
    names: Names | None = None,
    seed: int | None = None,
    report: Callable[[int, int], object] | None = None,
) -> GroupReleases:
    """The releases of groups whose budget has been spent."""
    found, choice = designs
    count = len(offsets) - 1
    kept = [number for number, design in enumerate(found) if design is not None]
    columns = np.full((len(found), 4), np.nan)
    own = []
    for number in kept:
        design = found[number]
        assert design is not None
        noise = design.mechanism
        columns[number] = (
            design.sensitivity,
            design.plan.tolerance,
            noise.scale,
            noise.expected_error,
        )
        step = grid_step(noise.ball, noise.scale)
        own.append(_core.GroupDesign(design.plan, noise._noise, step, clip_radius(noise.ball)))
    renumbered = np.full(len(found), -1, dtype=np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)
    space = plan.balls[0].manifold
    value = np.empty((count, space.point_size))
    _core.group_means(
        [ball._frame for ball in plan.balls],
        data.reshape(len(data), space.point_size),
        offsets,
        own,
        renumbered[choice],
        issubclass(plan.kind, ChartGaussian),
        keys,
        names,
        None if report is None else lambda done: report(done, count),
        value,
    )
    sensitivity, tolerance, scale, error = columns[choice].T
    assumptions = {"idealized-sampling", "public-groups"} | (
        {"seeded"} if seed is not None else set()
    )
    return GroupReleases(
        value=value.reshape(count, *space.point_shape),
        n=np.diff(offsets),
        sensitivity=sensitivity,
        solver_tolerance=tolerance,
        scale=scale,
        expected_error=error,
        released=renumbered[choice] >= 0,
        balls=plan.balls,
        guarantee=_promise(plan.guarantee, seed),
        mechanism=plan.kind.name,
        statistic=STATISTIC,
        records_per_unit=plan.records_per_unit,
        groups_per_unit=plan.groups_per_unit,
        assumptions=frozenset(assumptions),
    )


def noise_keys(plan: GroupPlan, secret: NoiseSecret | None, seed: int | None) -> _core.GroupKeys:
    """Where the groups' noise comes from: a secret, a seed, or the operating system."""
    if seed is not None:
        number = as_count(seed, "seed", least=0, most=2**63 - 1)
        return _core.GroupKeys.numbered(number.to_bytes(32, "little"))
    if secret is None:
        return _core.GroupKeys.fresh()
    if not isinstance(secret, NoiseSecret):
        raise TypeError(f"secret must be a NoiseSecret, got {type(secret).__name__}")
    return secret._keys(plan.context())


def as_offsets(offsets: ArrayLike, total: int) -> Offsets:
    """Offsets of groups that are not empty and hold `total` records together."""
    given: NDArray[Any] = np.asarray(offsets)
    if given.ndim != 1 or len(given) < 2 or given.dtype.kind not in "iu":
        raise ValueError("offsets must be integers, one more than there are groups")
    ends = np.ascontiguousarray(given, dtype=np.int64)
    if ends[0] != 0 or ends[-1] != total:
        raise ValueError(f"offsets must begin at 0 and end at {total}, the number of records")
    sizes = np.diff(ends)
    if (sizes < 0).any():
        raise ValueError("offsets must not decrease")
    if (sizes == 0).any():
        raise ValueError(f"group {int(np.argmin(sizes))} is empty: it has no mean")
    return ends


def _encoded(names: Sequence[str], count: int) -> Names:
    """The names' bytes, one after the other."""
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"names must hold one name for each of {count} groups")
    if not all(isinstance(name, str) for name in names):
        raise TypeError("names must be strings")
    if len(set(names)) != count:
        raise ValueError("names must differ: groups of one name would share their noise")
    encoded = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _promise(guarantee: Guarantee, seed: int | None) -> Guarantee:
    return guarantee if seed is None else Unproved(claimed=guarantee, why=SEEDED_WHY)


def _too_small(failed: list[tuple[int, ExistenceError]]) -> ExistenceError:
    """One error for all sizes of groups without a release."""
    largest, error = max(failed, key=lambda pair: pair[0])
    return ExistenceError(
        f"groups of up to {largest} records are too small for this guarantee. {error.message} "
        "Groups that are too small can be passed over.",
        smallest_epsilon=error.smallest_epsilon,
        smallest_n=error.smallest_n,
    )
