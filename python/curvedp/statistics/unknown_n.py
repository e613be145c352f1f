"""Releases that protect the number of records: count, resize, release.

    records -> cells (data set, group, sample of a group) -> count of each, with noise
            -> so many records of each -> the statistic of a public number of records

The numbers of records are released with noise; from them alone follow the numbers that are used: a
random selection of the records, or all with copies of the ball's centre. The statistic of so many
records is then released as ever, calibrated to replacing one of them. Proof:
docs/proofs/count-resize.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._validation import FloatArray, as_count
from curvedp.checked_domain import check_any_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.privacy.guarantees import composed
from curvedp.privacy.payment import charged
from curvedp.privacy.provenance import Provenance
from curvedp.statistics.beside import read_beside
from curvedp.statistics.call import (
    Call,
    CoverageOption,
    Designs,
    Progress,
    as_balls,
    check_timing,
    reporter,
)
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.counting import check_coverage, counted, with_coverage
from curvedp.statistics.design import smallest_n
from curvedp.statistics.grouping import Grouping, GroupsLike, Offsets
from curvedp.statistics.paid import Paid
from curvedp.statistics.protected_groups import grouped, keys_are_private
from curvedp.statistics.public_time import Timing
from curvedp.statistics.resize import Selection
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.with_counts import UNCOUNTED, with_counts

#: Probability with which a statement about a population is made of more records than there are.
_PADDING = 1e-3


def release_counted(
    statistic: Statistic[Any],
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    covariate: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: GroupsLike = None,
    **options: Any,
) -> Any:
    """The release of a statistic under a guarantee for adding or removing a record.

    Parameters
    ----------
    statistic : Statistic
        One that `takes_unknown_n`.
    records : array-like, shape (n, *point_shape)
        Also none.
    ball : Ball, or a list with one for each of `keys`
    guarantee : PureDP, ApproxDP, ZCDP or GDP
    covariate, labels, groups
        As in `release`.
    **options
        Keywords of `release`.

    Raises
    ------
    ValueError, TypeError
        As `release`, for options that would show the number of records, and without `n_guess`.
    ExistenceError
        If there is no such release of `n_guess` records, or the budget is too small to count them.
    BudgetError, ConversionError
        If the ledger refuses.
    """
    rows = as_balls(ball)[0].manifold.read_records(records, least=0)
    given = {"covariate": covariate, "labels": labels}
    beside = read_beside(statistic, len(rows), is_public=False, **given)
    return release_of_rows(statistic, rows, beside, ball, guarantee, groups=groups, **options)


def release_of_rows(
    statistic: Statistic[Any],
    rows: FloatArray,
    beside: FloatArray | None,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    n_guess: int | None = None,
    groups: GroupsLike = None,
    keys: GroupsLike = None,
    units: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    coverage: CoverageOption = None,
) -> Any:
    """`release_counted` of records, and of numbers beside them, that were read already.

    No group is ever too small: `skip_small` changes nothing.
    """
    private_keys = keys_are_private(guarantee, keys, groups)
    _refuse(
        {
            "secret": secret is not None,
            "timing": check_timing(timing, progress) != "prompt",
            "groups_per_unit": groups is None and groups_per_unit != 1,
            "progress": private_keys and bool(progress),
            'coverage="each"': coverage == "each",
        }
    )
    if n_guess is None:
        raise TypeError(
            "n_guess is needed to add or remove a record: a public guess of the number of records, "
            "in each group if there are groups, made without a look at them. A wrong one costs "
            "accuracy alone"
        )
    own_balls = tuple(map(check_any_ball, as_balls(ball)))
    if private_keys and isinstance(ball, (list, tuple)):
        raise ValueError("how many groups there are is protected: give one ball for all")
    guess, k = as_count(n_guess, "n_guess"), as_count(records_per_unit, "records_per_unit")
    if units is not None and k != 1:
        raise ValueError("give units or records_per_unit, not both")
    plan = CountPlan.of(
        guarantee,
        min(_parted(statistic, guess)),
        k,
        own_balls[0].manifold.dim,
        private_keys=private_keys,
        padding=_PADDING / statistic.part_count if statistic.infers else None,
    )
    call = Call(
        statistic=statistic if units is None else statistic.with_units(),
        balls=own_balls,
        guarantee=plan.rest,
        records_per_unit=k,
        groups_per_unit=as_count(groups_per_unit, "groups_per_unit"),
        skip_small=True,
        public_keys=keys is not None,
        private_keys=private_keys,
    )
    if call.statistic.given_points(call, range(1)) is not None:
        raise ValueError(_refusal("a given base point", "leave mean out"))
    if call.statistic.has_parts and units is not None and groups_per_unit != 1:
        raise ValueError("a unit in several groups may be in several samples: leave units out")
    call.keys(None, seed)
    grouping = grouped(guarantee, keys, groups, len(rows), with_units=units is not None)
    if isinstance(ball, (list, tuple)) and groups is None:
        raise ValueError(_refusal("a list of balls", "give one"))
    if len(own_balls) not in (1, len(grouping.labels)):
        raise ValueError(f"{len(own_balls)} balls do not fit {len(grouping.labels)} groups")
    several = 1 if groups is None or private_keys else len(grouping.labels)
    check_coverage(call, coverage, is_grouped=groups is not None)
    least = _check_at_guess(call, guess, several, coverage, by_unit=units is not None)
    cells = Cells.of(call.statistic, grouping, rows, beside, units, groups_per_unit)
    if private_keys:  # a key without a record is none
        cells = cells.only(cells.n.max(axis=1) > 0)
    provenance = _paid_by(ledger, call, guarantee, None if groups is None else several, seed)
    with charged(ledger):
        stream = _stream(seed)
        counts = plan.draw(cells.n.ravel(), stream).reshape(cells.n.shape)
        if private_keys:
            is_shown = counts.min(axis=1) >= plan.key_threshold
            cells, counts = cells.only(is_shown), counts[is_shown]
        wished = np.array([plan.target(int(count)) for count in counts.flat], dtype=np.int64)
        sizes, designs = _with_designs(call, wished.reshape(counts.shape), least)
        uncounted: str | None = UNCOUNTED
        total = int(sizes.sum())
        if coverage and total:  # of the records that are used, where their number allows it
            call, designs, uncounted = counted(call, _sizes(sizes), None, total)
        ready = Paid(
            call=call,
            designs=designs,
            keys=call.keys(None, seed),
            labels=cells.labels,
            seed=seed,
            is_grouped=groups is not None,
            report=reporter(progress),
            units_by_name=units is not None,
            provenance=provenance,
            **cells.resized(call, sizes, stream),
        )
        found = call.statistic.release(ready.by_unit())
        whole = with_counts(found, guarantee, plan, counts, grouped=groups is not None)
        of_ball = ready.coverage()
        if of_ball is not None:  # with the counts of all groups, which say of how many
            of_ball = replace(of_ball, guarantee=whole.total)
        released = with_coverage(whole, of_ball, uncounted)
        if groups is not None:
            return released
        return with_coverage(released.release_at(0), of_ball, uncounted, warns=False)


def _refuse(given: dict[str, bool]) -> None:
    """Refuses options that do not go with an unknown number of records."""
    for name, is_given in given.items():
        if is_given:
            raise ValueError(_refusal(name, "leave it out"))


def _refusal(what: str, instead: str) -> str:
    return f"{what} is not served under neighbours='add-remove': {instead}"


@dataclass(frozen=True)
class Cells:
    """The records of each sample of each group, or of each group, or all: each is counted.

    Attributes
    ----------
    labels : sequence
        Of the groups.
    n : ndarray of int, shape (groups, parts)
        Number of records of each cell, or of units where they are known by name.
    first : ndarray of int, shape (groups, parts)
        Number of the first of them.
    rows : ndarray, shape (n, *point_shape)
    beside : ndarray or None
    ends : ndarray of int, or None
        Where the records of each unit begin and the last one's end.
    """

    labels: Sequence[Any]
    n: Offsets
    first: Offsets
    rows: FloatArray
    beside: FloatArray | None
    ends: Offsets | None

    @classmethod
    def of(
        cls,
        statistic: Statistic[Any],
        grouping: Grouping,
        rows: FloatArray,
        beside: FloatArray | None,
        units: GroupsLike,
        groups_per_unit: int,
    ) -> Cells:
        """The cells of groups; no label of a unit, a group or a sample raises."""
        parts, own, ends = statistic.part_count, grouping, None
        if statistic.has_parts:
            assert beside is not None
            own = grouping.by_part(beside, parts)
        if units is not None:
            own, ends = own.by_protected_unit(units, groups_per_unit)
        starts = own.offsets if ends is None else np.searchsorted(ends, own.offsets)
        return cls(
            grouping.labels,
            np.diff(starts).reshape(-1, parts),
            starts[:-1].reshape(-1, parts),
            own.arranged(rows),
            None if beside is None else own.arranged(beside),
            ends,
        )

    def only(self, kept: NDArray[np.bool_]) -> Cells:
        """The same of some groups."""
        labels = [label for label, own in zip(self.labels, kept.tolist(), strict=True) if own]
        return replace(self, labels=labels, n=self.n[kept], first=self.first[kept])

    def resized(self, call: Call, m: Offsets, stream: _core.Stream) -> dict[str, Any]:
        """The records that are used, as `Paid` takes them."""
        parts = m.shape[1]
        selection = Selection(self.first.ravel(), self.n.ravel(), m.ravel(), stream, self.ends)
        centers = [call.ball_of(group).center for group in range(len(m)) for _ in range(parts)]
        shape = self.rows.shape[1:]
        padding = np.reshape(centers, (len(centers), *shape))
        ends = np.concatenate(([0], np.cumsum(m.sum(axis=1), dtype=np.int64)))
        own = None
        if self.beside is not None:
            missing = np.full((m.size, *self.beside.shape[1:]), call.statistic.padding_beside)
            if call.statistic.has_parts:
                missing = np.tile(np.arange(parts, dtype=float), len(m))
            own = selection.of(self.beside, missing)
        return {
            "records": selection.of(self.rows, padding),
            "offsets": ends if selection.ends is None else selection.ends[ends],
            "beside": own,
            "unit_ends": selection.ends,
        }


def _parted(statistic: Statistic[Any], n: int) -> tuple[int, ...]:
    """n records as equal parts."""
    parts = statistic.part_count
    return tuple(max(1, (n + part) // parts) for part in range(parts))


def _sizes(sizes: Offsets) -> Offsets:
    """Sizes of cells as designs take them."""
    return sizes[:, 0] if sizes.shape[1] == 1 else sizes


def _check_at_guess(
    call: Call, guess: int, groups: int, coverage: CoverageOption, *, by_unit: bool
) -> Offsets:
    """The least size of a cell of each group, from which on its release exists: by the guess.

    Refuses and warns by the guess alone: nothing was spent yet.
    """
    own = _parted(call.statistic, guess)
    sizes = np.tile(np.array(own, dtype=np.int64), (groups, 1))
    usual = replace(call, skip_small=False)
    total = int(sizes.sum())
    usual, found, _ = counted(usual, _sizes(sizes), coverage or False, total, alone=True)
    usual.warn_of_noise(found, sizes.sum(axis=1))
    size = groups * guess * call.manifold.point_size * 8
    usual.ask_for_memory(size, guess, by_unit=by_unit, groups=groups)

    def exists(ball: Ball, n: int) -> bool:
        try:
            call.statistic.design_of_parts(call, ball, (n,) * len(own))
        except ExistenceError:
            return False
        return True

    def least(ball: Ball) -> int:
        return smallest_n(lambda n: n >= min(own) or exists(ball, n), "")

    of_ball = [least(ball) for ball in call.balls]
    return np.array(of_ball, dtype=np.int64)[:, None]


def _with_designs(call: Call, wished: Offsets, least: Offsets) -> tuple[Offsets, Designs]:
    """Sizes of cells with a release, the wished ones if these have, and the designs.

    Noise that is too fine for double precision has none: such sizes are halved.
    """
    sizes = np.maximum(wished, least)
    while True:
        designs, choice = call.designs(_sizes(sizes))
        fails = np.array([own is None for own in designs], dtype=np.bool_)[choice]
        halved = np.where(fails[:, None], np.maximum(sizes // 2, least), sizes)
        if (halved == sizes).all():
            return sizes, (designs, choice)
        sizes = halved


def _paid_by(
    ledger: Ledger | None, call: Call, whole: Guarantee, groups: int | None, seed: int | None
) -> Provenance:
    """Payment before anything is drawn: of all, or where there is one cell and the ledger is of the
    relation "replace" of what the statistic promises by itself.

    A record that is replaced may go to another group or sample, and moves the counts of both.
    """
    total: Guarantee | None = composed(whole, call.groups_per_unit)
    by_replacing = ledger is not None and ledger.budget.neighbours == "replace"
    if by_replacing and groups is None and not call.statistic.has_parts:
        total = None
    return call.pay(ledger, groups, seed, whole=total)


def _stream(seed: int | None) -> _core.Stream:
    """Randomness of the count and the selection, apart from that of the noise."""
    if seed is None:
        return _core.Stream.from_os()
    return _core.Stream.from_key(hashlib.sha256(f"count {seed}".encode()).digest(), 0)
