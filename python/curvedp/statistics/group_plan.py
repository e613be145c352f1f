"""What the releases of many disjoint groups have in common, whatever the statistic.

Sensitivity, scale and the solver's plan depend on the number of records and the ball alone and are
computed once for each distinct pair.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import curvedp
from curvedp import _core
from curvedp._validation import FloatArray, as_count, as_points
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import ChartGaussian, Mechanism
from curvedp.mechanisms.base import IntrinsicMechanism
from curvedp.privacy import Guarantee, Ledger, NoiseSecret, Unproved
from curvedp.statistics.entry import SEEDED_WHY, check_ball, check_guarantee
from curvedp.statistics.frechet_mean import Design, design_mean
from curvedp.statistics.group_releases import GroupResults, composed

Offsets = NDArray[np.int64]
#: Bytes of the names of all groups, and where each begins; the groups' numbers if None.
Names = tuple[NDArray[np.uint8], Offsets]
#: The designs in use, and the number of each group's; None where there is no release.
Designs = tuple[list[Design | None], NDArray[np.int32]]
Progress = Callable[[int, int], object]
Results = TypeVar("Results", bound=GroupResults)


@dataclass(frozen=True, kw_only=True)
class GroupPlan(abc.ABC, Generic[Results]):
    """What the releases of groups are computed with; the same for every chunk of a batch."""

    #: What is released of each group.
    statistic: ClassVar[str]

    balls: tuple[Ball, ...]
    guarantee: Guarantee
    records_per_unit: int = 1
    groups_per_unit: int = 1
    pass_over: bool = False

    def __post_init__(self) -> None:
        if not self.balls:
            raise ValueError("balls is empty: give one ball for all groups, or one for each")
        if len({check_ball(ball).manifold.spec for ball in self.balls}) > 1:
            raise ValueError("the balls of all groups must lie on one manifold")
        as_count(self.records_per_unit, "records_per_unit")
        composed(check_guarantee(self.guarantee), as_count(self.groups_per_unit, "groups_per_unit"))

    # ------------------------------------------------------------- what a statistic says

    @property
    @abc.abstractmethod
    def mechanism_name(self) -> str:
        """Name of the mechanism of every release."""

    @abc.abstractmethod
    def options(self) -> dict[str, Any]:
        """The statistic's own keywords, for JSON."""

    @property
    @abc.abstractmethod
    def value_shape(self) -> tuple[int, ...]:
        """Shape of a group's value."""

    @abc.abstractmethod
    def outlook(self, design: Design, n: int) -> tuple[float, float]:
        """Scale and expected error of a release of n records, at most."""

    @property
    @abc.abstractmethod
    def extent(self) -> float:
        """What an expected error is to be compared with: the radius, or its square."""

    @abc.abstractmethod
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
    ) -> Results:
        """The releases of groups whose budget has been spent."""

    @abc.abstractmethod
    def _mean_keywords(self) -> tuple[Guarantee, str | type[Mechanism] | None]:
        """Guarantee and mechanism of the private means."""

    # ------------------------------------------------------------------------ what follows

    @property
    def manifold(self) -> Any:
        """The manifold of all groups."""
        return self.balls[0].manifold

    @property
    def total(self) -> Guarantee:
        """What all releases cost one unit."""
        return composed(self.guarantee, self.groups_per_unit)

    def context(self) -> bytes:
        """All parameters that the groups share, for the keys of their noise."""
        described = {
            "library": curvedp.__version__,
            "statistic": self.statistic,
            "manifold": self.manifold.spec,
            "guarantee": self.guarantee.to_dict(),
            "mechanism": self.mechanism_name,
            "records_per_unit": self.records_per_unit,
        }
        return json.dumps(self.options() | described, sort_keys=True).encode()

    def designs(self, n: Offsets) -> Designs:
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
                found.append(self.design(ball_of[number // len(sizes)], count))
            except ExistenceError as error:
                share, _ = self._mean_keywords()
                failed.append((count, error.of_whole(share, self.guarantee)))
                found.append(None)
        if failed and not self.pass_over:
            raise _too_small(failed)
        return found, choice.astype(np.int32)

    def design(self, ball: Ball, n: int) -> Design:
        """The design of the mean of n records."""
        guarantee, mechanism = self._mean_keywords()
        return mean_design(ball, n, guarantee, self.records_per_unit, mechanism)

    def groups(self, offsets: Offsets, designs: Designs, names: Names | None) -> _core.Groups:
        """Groups as the kernels take them."""
        found, choice = designs
        kept = [number for number, design in enumerate(found) if design is not None]
        own = [_group_design(found[number]) for number in kept]
        renumbered = np.full(len(found), -1, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        frames = [ball._frame for ball in self.balls]
        return _core.Groups(frames, offsets, own, renumbered[choice], names)

    def described(self, n: Offsets, designs: Designs, seed: int | None) -> dict[str, Any]:
        """What releases of groups of n records tell besides their values."""
        found, choice = designs
        exists = np.array([design is not None for design in found], dtype=np.bool_)
        seeded = {"seeded"} if seed is not None else set()
        return {
            "n": n,
            "released": exists[choice],
            "balls": self.balls,
            "records_per_unit": self.records_per_unit,
            "groups_per_unit": self.groups_per_unit,
            "assumptions": frozenset({"idealized-sampling", "public-groups"} | seeded),
        }


@lru_cache(maxsize=4096)
def mean_design(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    records_per_unit: int,
    mechanism: str | type[Mechanism] | None,
) -> Design:
    """The design of a mean, kept for the next chunk: some Laplace noise takes time to prepare."""
    design = design_mean(
        ball, n, guarantee, records_per_unit, calibration="proved", mechanism=mechanism
    )
    _check_drawing(type(design.mechanism))
    return design


def _check_drawing(kind: type[Mechanism]) -> None:
    """Refuses a mechanism that draws otherwise than the kernels, which draw the noise of groups."""
    family = ChartGaussian if issubclass(kind, ChartGaussian) else IntrinsicMechanism
    if kind._release is not family._release:
        raise ValueError(
            f"{kind.__name__} draws noise in a way of its own, which groups released together "
            "do not have: release each of them alone, or see each_group"
        )


def mechanism_word(mechanism: str | type[Mechanism] | None) -> str | None:
    """What a call's mechanism is written as in JSON."""
    if mechanism is None or isinstance(mechanism, str):
        return mechanism
    return f"{mechanism.__module__}.{mechanism.__qualname__}"


def _group_design(design: Design | None) -> _core.GroupDesign:
    assert design is not None
    noise = design.mechanism
    return _core.GroupDesign(design.plan, noise._noise, *noise._grid)


def sizes_of(n: Offsets, designs: Designs) -> list[int]:
    """The number of records of the groups of each design."""
    found, choice = designs
    sizes = np.zeros(len(found), dtype=np.int64)
    sizes[choice] = n
    return [int(size) for size in sizes]


def mean_columns(designs: Designs) -> dict[str, Any]:
    """Sensitivity, tolerance, scale and expected error of each group's mean; NaN if passed over."""
    found, choice = designs
    columns = np.full((len(found), 4), np.nan)
    for row, design in zip(columns, found, strict=True):
        if design is not None:
            noise = design.mechanism
            row[:] = design.sensitivity, design.plan.tolerance, noise.scale, noise.expected_error
    names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
    return dict(zip(names, columns[choice].T, strict=True))


def release_each(
    plan: GroupPlan[Results],
    points: ArrayLike,
    offsets: ArrayLike,
    *,
    ledger: Ledger | None,
    secret: NoiseSecret | None,
    names: Sequence[str] | None,
    seed: int | None,
    progress: Progress | None,
) -> Results:
    """The releases of groups of records, checked and paid for before any noise is drawn."""
    shape = plan.manifold.point_shape
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
        count = len(ends) - 1
        ledger.spend(promise(plan.total, seed), label=f"{plan.statistic} of {count} groups")
    return plan.release(data, ends, designs, keys, names=label, seed=seed, report=progress)


def as_balls(balls: Ball | Sequence[Ball]) -> tuple[Ball, ...]:
    """One ball for all groups, or one for each."""
    return (balls,) if isinstance(balls, Ball) else tuple(map(check_ball, balls))


def noise_keys(
    plan: GroupPlan[Any], secret: NoiseSecret | None, seed: int | None
) -> _core.GroupKeys:
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


def promise(guarantee: Guarantee, seed: int | None) -> Guarantee:
    """What a release may claim: nothing proved if its noise comes from a seed."""
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
