"""A call of a private statistic: checked once, before a record's value is looked at.

    Statistic (what) + Call (ball, guarantee, unit) + records, groups -> paid -> Releases

One data set is a group of one. Sensitivity, scale and the solver's plan depend on the number of
records and the ball alone and are found once for each distinct pair.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

import curvedp
from curvedp import _core
from curvedp._guard import warn_of_noise
from curvedp._memory import ask_for_memory
from curvedp._validation import as_choice, as_count
from curvedp.checked_domain import WholeSpace, as_domain
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold
from curvedp.mechanisms import Way
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import (
    Guarantee,
    Ledger,
    NoiseSecret,
    Unproved,
)
from curvedp.privacy.base import calibration_of
from curvedp.privacy.guarantees import composed
from curvedp.privacy.payment import pay
from curvedp.privacy.provenance import Provenance
from curvedp.product_ball import ProductBall
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.public_time import TIMINGS, Timing
from curvedp.statistics.statistic import Statistic

if TYPE_CHECKING:
    from curvedp.statistics.coverage import Counting

#: True prints to standard error; a callable receives the number of groups done and of all.
Progress = bool | Callable[[int, int], object]
Report = Callable[[int, int], object]
#: Whether records are counted: by the public rule, always, never, or in each group.
CoverageOption = bool | Literal["each"] | None
#: The designs in use, and the number of each group's; None where there is no release.
Designs = tuple[list[Any], NDArray[np.int32]]

SEEDED_WHY = "the noise was drawn from a seed, which whoever knows it can draw again and subtract"


class CommonOptions(TypedDict, total=False):
    """Keywords of every statistic but `units`; see `frechet_mean`."""

    records_per_unit: int
    groups_per_unit: int
    keys: GroupsLike
    skip_small: bool
    ledger: Ledger | None
    secret: NoiseSecret | None
    seed: int | None
    progress: Progress
    timing: Timing
    coverage: CoverageOption


class UnitOptions(CommonOptions, total=False):
    """Keywords of every statistic of a public number of records; see `frechet_mean`."""

    units: GroupsLike


class CallOptions(UnitOptions, total=False):
    """Keywords of every statistic; see `frechet_mean`."""

    n_guess: int | None


@dataclass(frozen=True, kw_only=True)
class Call:
    """A checked call of a statistic.

    Attributes
    ----------
    statistic : Statistic
    balls : tuple of Ball
        One for all groups, or one for each.
    guarantee : Guarantee
        What the statistic of each group may spend.
    records_per_unit, groups_per_unit : int
        Most records that one unit contributes to a group, and most groups to which it contributes.
    skip_small : bool
        True if groups that are too small are left out instead of refused.
    public_keys : bool
        True if the groups' keys are public and which record has which is protected.
    private_keys : bool
        True if which groups there are is protected, too.
    counting : Counting or None
        How records are counted beside it, with the guarantee of both together.
    """

    statistic: Statistic[Any]
    balls: tuple[Ball, ...]
    guarantee: Guarantee
    records_per_unit: int = 1
    groups_per_unit: int = 1
    skip_small: bool = False
    public_keys: bool = False
    private_keys: bool = False
    counting: Counting | None = None

    def __post_init__(self) -> None:
        if len(self.balls) > 1 and len({ball.manifold.spec for ball in self.balls}) > 1:
            raise ValueError("the balls of all groups must lie on one manifold")
        if isinstance(self.ball, ProductBall):
            object.__setattr__(self, "statistic", self.statistic.of_factors())
        if any(isinstance(ball, WholeSpace) for ball in self.balls):
            object.__setattr__(self, "statistic", self.statistic.without_ball())
        as_count(self.records_per_unit, "records_per_unit")
        check_guarantee(self.guarantee, self.statistic.served, self.statistic.why_unserved)
        composed(self.guarantee, as_count(self.groups_per_unit, "groups_per_unit"))
        self.statistic.check(self)

    @property
    def ball(self) -> Ball:
        """The first group's ball: for what all balls have in common."""
        return self.balls[0]

    @property
    def manifold(self) -> Manifold:
        """The manifold of all groups."""
        return self.ball.manifold

    @property
    def counts_all(self) -> bool:
        """True if the records of all groups together are counted."""
        return self.counting is not None and not self.counting.each

    @property
    def promised(self) -> Guarantee:
        """The guarantee of the release of each group."""
        return self.guarantee if self.counting is None else self.counting.whole

    def ways(self) -> tuple[Way, ...]:
        """Guarantees that the statistic's noise may be calibrated to."""
        return self.statistic.ways(self)

    def shared(self, counting: Counting) -> Call:
        """The same beside a count, with its share of the budget."""
        asked = self.statistic.asked
        return replace(self, statistic=asked, guarantee=counting.rest, counting=counting)

    def design_of_largest(self, parts: Offsets) -> tuple[Any, int]:
        """Design and number of records of the group with most."""
        n = parts if parts.ndim == 1 else parts.sum(axis=1)
        largest = int(np.argmax(n))
        own = tuple(np.atleast_1d(parts[largest]).tolist())
        return self.statistic.design_of_parts(self, self.ball_of(largest), own), int(n[largest])

    def largest_error(self, parts: Offsets) -> float:
        """Expected error of the group with most records; infinite where it is not known."""
        error = self.statistic.outlook(self, *self.design_of_largest(parts))[1]
        return math.inf if math.isnan(error) else error

    @property
    def total(self) -> Guarantee:
        """The guarantee of all releases together to one unit."""
        return composed(self.promised, self.groups_per_unit)

    def ball_of(self, group: int) -> Ball:
        """A group's ball."""
        return self.balls[0 if len(self.balls) == 1 else group]

    def context(self) -> bytes:
        """All parameters that the groups share, for the keys of their noise."""
        described = {
            "library": curvedp.__version__,
            "statistic": self.statistic.title,
            "manifold": self.manifold.spec,
            "guarantee": calibration_of(self.guarantee),
            "records_per_unit": self.records_per_unit,
        }
        if self.guarantee.neighbours != "replace":  # another scale of the same noise
            described["neighbours"] = self.guarantee.neighbours
        if self.counting is not None:
            described["counting"] = self.counting.told()
        asked = self.statistic.asked
        if vars(type(asked)).get("word") is None:  # a user's own may bear another's title
            described["class"] = asked.name()
        return json.dumps(self.statistic.options() | described, sort_keys=True).encode()

    def designs(self, parts: Offsets, *, alone: bool = False) -> Designs:
        """The design of each distinct pair of radius and sizes, and each group's pair.

        None stands for a pair without a release, if groups may be skipped. `parts` are the numbers
        of records of each group, or of its parts: see `Statistic.parts`.
        """
        numbers: dict[tuple[float, ...], int] = {}
        own = [numbers.setdefault(ball.radii, len(numbers)) for ball in self.balls]
        of_radius = np.array(own, dtype=np.int64)
        sizes, size_of = _distinct(parts)
        pair = of_radius * len(sizes) + size_of
        pairs, choice = _distinct(pair)
        ball_of = {int(number): ball for number, ball in zip(of_radius, self.balls, strict=True)}
        found: list[Any] = []
        failed: list[tuple[int, ExistenceError]] = []
        for number in pairs.tolist():
            ball, own_sizes = ball_of[number // len(sizes)], sizes[number % len(sizes)]
            each = tuple(np.atleast_1d(own_sizes).tolist())
            try:
                found.append(self.statistic.design_of_parts(self, ball, each))
            except ExistenceError as error:
                if self.counting is not None:
                    error = error.of_whole(self.guarantee, self.promised)
                failed.append((sum(each), error))
                found.append(None)
        if failed and alone:
            raise failed[0][1] from None
        if failed and not self.skip_small:
            raise _too_small(failed)
        return found, choice.astype(np.int32)

    def ask_for_memory(
        self,
        records: int,
        largest: int,
        *,
        by_unit: bool,
        timing: Timing = "prompt",
        groups: int = 1,
    ) -> None:
        """Raises where records of so many bytes, a largest group of so many records and so many
        releases take more memory than there is; one for each unit takes more, and so do public
        records to begin with.
        """
        copies = self.statistic.memory + 4.0 * by_unit + (timing == "steady")
        of_groups = self.statistic.memory_of_group(self, largest)
        of_groups += groups * self.statistic.memory_of_result(self)
        ask_for_memory(copies * records + of_groups)

    def warn_of_noise(
        self, designs: Designs, n: Offsets, counts: NDArray[np.int64] | None = None
    ) -> None:
        """Warns where a release would tell less than its ball does: before anything is spent.

        `counts` are the numbers of groups of each n, if `designs` are those of sizes.
        """
        found, choice = designs
        sizes = np.zeros(len(found), dtype=np.int64)
        sizes[choice] = n
        shares = [
            math.nan if own is None else self.statistic.noise_share(self, own, size)
            for own, size in zip(found, sizes.tolist(), strict=True)
        ]
        if not any(share > 1.0 for share in shares):
            return
        large = np.array([share > 1.0 for share in shares])
        times = np.ones(len(choice), dtype=np.int64) if counts is None else counts
        groups, all_groups = int(times[large[choice]].sum()), int(times.sum())
        of_groups = f" of {groups} of {all_groups} groups" if all_groups > 1 else ""
        told = self.statistic.noise_told(self, float(np.nanmax(shares)), of_groups)
        warn_of_noise(f"{told}. Use a larger budget, more records or a smaller ball.")

    def promise(self, guarantee: Guarantee, seed: int | None) -> Guarantee:
        """The guarantee that a release may claim: `Unproved` if its noise comes from a seed."""
        if seed is None or isinstance(guarantee, Unproved):
            return guarantee
        return Unproved(claimed=guarantee, why=SEEDED_WHY)

    def pay(
        self,
        ledger: Ledger | None,
        groups: int | None,
        seed: int | None = None,
        timing: Timing = "prompt",
        whole: Guarantee | None = None,
    ) -> Provenance:
        """Takes what all releases cost from the ledger, before any noise is drawn.

        `groups` is their number; None for one data set. `whole` is what they promise together with
        others, if there are any.
        """
        label = self.statistic.title if groups is None else self.label(groups)
        entry = pay(ledger, self._cost(seed, whole), label)
        return Provenance.now(ledger, entry, steady=timing == "steady")

    def check_budget(self, ledger: Ledger | None) -> None:
        """Refuses what `pay` would refuse now, before long work that comes before it."""
        if ledger is not None:
            ledger.check(self._cost(None))

    def _cost(self, seed: int | None, whole: Guarantee | None = None) -> Guarantee:
        """Guarantee of all releases, which a ledger charges."""
        claimed = self.statistic.promise(self)
        if not isinstance(claimed, Unproved):
            claimed = self.total if whole is None else whole
        return self.promise(claimed, seed)

    def label(self, groups: int) -> str:
        """A ledger's name for the releases of so many groups."""
        if self.private_keys:
            return f"{self.statistic.title} of groups with private keys"
        return f"{self.statistic.title} of {groups} groups"

    def keys(self, secret: NoiseSecret | None, seed: int | None) -> _core.GroupKeys:
        """The source of the groups' noise: a secret, a seed, or the operating system."""
        if seed is not None and secret is not None:
            raise ValueError("give a seed or a secret, not both")
        if seed is not None:
            number = as_count(seed, "seed", least=0, most=2**63 - 1)
            return _core.GroupKeys.numbered(number.to_bytes(32, "little"))
        if secret is None:
            return _core.GroupKeys.fresh()
        if not isinstance(secret, NoiseSecret):
            raise TypeError(f"secret must be a NoiseSecret, got {type(secret).__name__}")
        return secret._keys(self.context())


def check_timing(timing: Timing, progress: Progress) -> Timing:
    """The word, if it is one, and if nothing else tells the time."""
    as_choice(timing, TIMINGS, "timing")
    if timing == "steady" and progress:
        raise ValueError(
            "progress tells how long each group takes, which timing='steady' hides: leave one out"
        )
    return timing


def as_balls(ball: Ball | Sequence[Ball] | Manifold | str) -> tuple[Ball, ...]:
    """One ball for all groups, or one for each."""
    given: Any = ball if isinstance(ball, (list, tuple)) else (ball,)
    if not given:
        raise ValueError("ball is empty: give one ball for all groups, or one for each")
    return tuple(map(as_domain, given))


def reporter(progress: Progress) -> Report | None:
    """A function that is called with the number of groups that are done."""
    if callable(progress):
        return progress
    if progress:
        return lambda done, groups: print(f"curvedp: {done} of {groups} groups", file=sys.stderr)
    return None


def _too_small(failed: list[tuple[int, ExistenceError]]) -> ExistenceError:
    """One error for all sizes of groups without a release."""
    largest, error = max(failed, key=lambda pair: pair[0])
    message = f"groups of {largest} records cannot be released: {error.message}"
    if error.smallest_epsilon is not None or error.smallest_n is not None:
        message = (
            f"groups of up to {largest} records are too small for this guarantee. {error.message} "
            "Groups that are too small can be skipped: skip_small=True, or --skip-small."
        )
    return ExistenceError(
        message,
        smallest_epsilon=error.smallest_epsilon,
        smallest_n=error.smallest_n,
    )


def _distinct(numbers: Offsets) -> tuple[Offsets, NDArray[np.intp]]:
    """The distinct ones of some integers, or rows of them, in order, and the place of each."""
    if len(numbers) == 1:  # one data set: sorting would take longer than all else here
        return numbers, np.zeros(1, dtype=np.intp)
    found, place = np.unique(numbers, return_inverse=True, axis=0 if numbers.ndim > 1 else None)
    return found, place.ravel()
