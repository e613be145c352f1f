"""A statistic of records as a release: checked, then paid for, then drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import warn_of_paid
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball, WholeSpace
from curvedp.errors import CoverageWarning, ExistenceError, LedgerError
from curvedp.manifolds import Manifold
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP, Release
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.of_parts import OfParts
from curvedp.privacy.payment import charged, settle
from curvedp.privacy.provenance import Payment
from curvedp.privacy.secret import fingerprint_of
from curvedp.statistics.beside import check_statistic, read_beside
from curvedp.statistics.call import (
    Call,
    CallOptions,
    CoverageOption,
    Designs,
    Progress,
    Result,
    Statistic,
    UnitOptions,
    as_balls,
    check_timing,
    reporter,
)
from curvedp.statistics.coverage import Counting, share_of, why_not
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.paid import Paid
from curvedp.statistics.protected_groups import grouped, keys_are_private
from curvedp.statistics.public_time import KINDS, Timing, at_public_time
from curvedp.statistics.releases import Releases
from curvedp.statistics.unknown_n import release_counted


def release(
    statistic: Statistic[Result],
    records: ArrayLike,
    ball: Ball | Sequence[Ball] | Manifold,
    guarantee: Guarantee,
    *,
    covariate: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> Result | Releases[Result]:
    """Release a statistic of records: checked, then paid for, then drawn.

    Parameters
    ----------
    statistic : Statistic
        Such as ``Mean()``, ``TwoSampleTest()`` or one of your own.
    records : array-like, shape (n, *point_shape)
        No value raises: a record that is not a point of the manifold counts as the ball's centre.
    ball : Ball, a list with one for each group, or a Manifold where the statistic needs none
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
    records_per_unit, groups_per_unit, keys, skip_small, ledger, secret, seed, progress, timing, \
    coverage
        As in `frechet_mean`.
    n_guess : int, optional
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
    domain = as_balls(ball)[0]
    is_whole = isinstance(domain, WholeSpace)
    if check_statistic(statistic).takes_unknown_n and adds_or_removes(guarantee) and not is_whole:
        given = {"covariate": covariate, "labels": labels, "groups": groups, **call}
        found: Result | Releases[Result] = release_counted(
            statistic, records, cast(Ball | Sequence[Ball], ball), guarantee, **given
        )
        return found
    if call.get("n_guess") is not None:
        raise ValueError(
            "n_guess belongs to a guarantee with neighbours='add-remove' and one of the statistics "
            "that serve it: leave it out where the number of records is public, or no ball is given"
        )
    space = domain.manifold
    is_public = not adds_or_removes(guarantee)
    data = space.read_records(records, least=1 if is_public else 0)
    beside = read_beside(statistic, len(data), covariate=covariate, labels=labels)
    how = cast(UnitOptions, {name: own for name, own in call.items() if name != "n_guess"})
    return release_read(statistic, data, ball, guarantee, beside=beside, groups=groups, **how)


def release_read(
    statistic: Statistic[Result],
    data: FloatArray,
    ball: Ball | Sequence[Ball] | Manifold,
    guarantee: Guarantee,
    *,
    beside: FloatArray | None = None,
    groups: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    keys: GroupsLike = None,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    units: GroupsLike = None,
    coverage: CoverageOption = None,
) -> Result | Releases[Result]:
    """`release` of records that were read already, and of the numbers beside them."""
    call = Call(
        statistic=statistic if units is None else statistic.with_units(),
        balls=as_balls(ball),
        guarantee=guarantee,
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
        groups_per_unit=as_count(groups_per_unit, "groups_per_unit"),
        skip_small=bool(skip_small),
        private_keys=keys_are_private(guarantee, keys, groups),
    )
    check_timing(timing, progress)
    if call.private_keys and (secret is not None or progress or timing == "steady"):
        raise ValueError(
            "secret, progress and timing='steady' would tell which groups there are: leave them "
            "out, or give keys, the public labels of the groups"
        )
    statistic, is_grouped = call.statistic, groups is not None
    check_coverage(call, coverage, is_grouped=is_grouped)
    grouping = grouped(guarantee, keys, groups, len(data), with_units=units is not None)
    unit_ends = None
    if units is not None:
        if call.records_per_unit != 1:
            raise ValueError("give units or records_per_unit, not both")
        is_public = guarantee.neighbours == "replace"
        arrange = grouping.by_unit if is_public else grouping.by_protected_unit
        grouping, unit_ends = arrange(units, call.groups_per_unit)
        if call.private_keys:  # a key without a record is none
            grouping = grouping.occurring()
    count = len(grouping.labels)
    if call.private_keys and len(call.balls) > 1:
        raise ValueError("how many groups there are is protected: give one manifold for all")
    if len(call.balls) not in (1, count):
        raise ValueError(f"{len(call.balls)} balls do not fit {count} groups")
    names = None if secret is None else grouping.names()
    beside = None if beside is None else grouping.arranged(beside)
    sizes = sizes_of(statistic, beside, grouping.offsets, unit_ends)
    if guarantee.neighbours != "replace":  # no public numbers: nothing may follow from them
        sizes = np.zeros_like(sizes)
    total = int(numbers_of(sizes).sum())
    call, designs, uncounted = counted(call, sizes, coverage, total, alone=not is_grouped)
    keys, given = call.keys(secret, seed), statistic.given_points(call, grouping.labels)
    call.warn_of_noise(designs, numbers_of(sizes))
    call.ask_for_memory(
        data.nbytes,
        int(grouping.n.max(initial=0)),
        by_unit=unit_ends is not None,
        timing=timing,
        groups=1 if call.private_keys else count,
    )
    if secret is not None:
        units_of = () if unit_ends is None else (grouping.arranged(np.arange(len(data))), unit_ends)
        secret._bind(fingerprint_of([data, *(() if beside is None else (beside,)), *units_of]))
    provenance = call.pay(ledger, count if is_grouped else None, seed, timing)
    with charged(ledger):
        ready = Paid(
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
            provenance=provenance,
            by_secret=secret is not None,
        )

        def answer(
            own: Paid,
        ) -> tuple[Result | Releases[Result], Coverage | GroupCoverage | None, Guarantee | None]:
            by_unit = own.by_unit()
            found = statistic.release(by_unit if secret is None else by_unit.salted())
            found, spent = own.with_counts(found), statistic.spent(found)
            of_ball = own.coverage() or found.coverage
            return found if is_grouped else statistic.result(found, 0), of_ball, spent

        if timing == "prompt":
            released, of_ball, spent = answer(ready)
        else:
            released, of_ball, spent = at_public_time(answer, map(ready.rehearsed, KINDS), ready)
        if ledger is not None and spent is not None:
            settle_release(released, ledger, spent)
        whole: Result | Releases[Result] = with_coverage(released, of_ball, uncounted)
        return whole


def settle_release(released: Any, ledger: Ledger, spent: Guarantee) -> None:
    """Puts the ledger's entry for what was spent on a fresh release, or releases.

    A ledger that cannot be written any more keeps the whole charge: the release is not lost.
    """
    made = released.provenance
    try:
        entry = settle(ledger, made.payment.number, spent)
    except LedgerError as error:
        text = f"the ledger keeps the whole charge of a release that spent {spent}: {error}"
        warn_of_paid(text, RuntimeWarning)
        return
    if entry is not None:
        payment = Payment.of(ledger, entry)
        object.__setattr__(released, "provenance", replace(made, payment=payment))


def counted(
    call: Call, sizes: Offsets, coverage: CoverageOption, total: int, *, alone: bool = False
) -> tuple[Call, Designs, str | None]:
    """The call with a share of its budget for a count, its designs, or why it does not count.

    Parameters
    ----------
    call : Call
    sizes : ndarray
        See `sizes_of`.
    coverage : bool, "each" or None
        None where the public rule says so and every release exists beside the count, True always,
        False never, "each" for a count of every group that is large enough.
    total : int
        Number of records of all groups.
    alone : bool
        True for one data set.

    Raises
    ------
    ExistenceError
        If there is no such release; for True and "each" also where there are too few records to
        count.
    ValueError
        For these where the statistic does not count, and for "each" without groups.
    """
    check_coverage(call, coverage, is_grouped=not alone)
    trials: list[Call] = []
    why = None if coverage is None else "coverage=False"
    if not call.statistic.counted:
        why = call.statistic.why_uncounted
    elif coverage is not False:
        trials, why = _with_count(call, sizes, total, coverage)
    refused: ExistenceError | None = None
    for trial in trials:
        try:
            designs = trial.designs(sizes, alone=alone)
        except ExistenceError as error:
            refused = refused or error
        else:
            if coverage or not _skips(designs) or _same_skipped(designs, call.designs(sizes)):
                return trial, designs, None
    if coverage and refused is not None:
        raise refused
    if trials:
        why = f"the rest of the budget would be too small for the {call.statistic.title}"
    return call, call.designs(sizes, alone=alone), why


def check_coverage(call: Call, coverage: CoverageOption, *, is_grouped: bool) -> None:
    """Refuses what is no such option, and counts that the statistic, or one data set, has not."""
    words: tuple[CoverageOption, ...] = (None, True, False)
    if not any(coverage is own for own in words) and coverage != "each":
        raise TypeError(f'coverage must be True, False, "each" or None, got {coverage!r}')
    if coverage and not call.statistic.counted:
        raise ValueError(f"the {call.statistic.title} does not count records: leave coverage out")
    if coverage == "each" and not is_grouped:
        raise ValueError('coverage="each" counts the records of each group: give groups, or True')


def _with_count(
    call: Call, sizes: Offsets, total: int, coverage: CoverageOption
) -> tuple[list[Call], str | None]:
    """Calls that count, the best first, or why there are none, which raises if it must.

    The best of several ways is that with the least expected error, or without one known the usual.
    """
    own, unit = call.guarantee, (call.records_per_unit, call.groups_per_unit)
    ways = (own,) if isinstance(own, (GDP, PureDP)) else call.ways()
    found: list[tuple[float, bool, Call]] = []
    refused: list[ExistenceError] = []

    def planned(way: PureDP | GDP) -> Counting:
        if coverage == "each":
            return Counting.of_each(own, way, numbers_of(sizes).tolist(), call.records_per_unit)
        return Counting.of(own, way, total, *unit)

    def usual_way() -> PureDP | GDP | None:
        return call.statistic.way_of(call.design_of_largest(sizes)[0])

    for way in ways:
        try:
            trial = call.shared(planned(way))
            error = trial.largest_error(sizes) if len(ways) > 1 else 0.0
            other = math.isinf(error) and way != usual_way()
            found.append((error, other, trial))
        except ExistenceError as refusal:
            refused.append(refusal)
    if found:
        return [trial for *_, trial in sorted(found, key=lambda one: one[:2])], None
    if coverage:
        raise refused[-1]
    short = next((way for way in ways if share_of(way, total, *unit) is None), None)
    rest = f"the rest of the budget would be too small for the {call.statistic.title}"
    return [], rest if short is None else why_not(short, total, *unit)


def _skips(designs: Designs) -> bool:
    return any(design is None for design in designs[0])


def _same_skipped(one: Designs, other: Designs) -> bool:
    """True if the same groups have no release."""
    gone, others = ([design is None for design in found] for found, _ in (one, other))
    return gone == others


def with_coverage(
    released: Any, coverage: Coverage | GroupCoverage | None, uncounted: str | None
) -> Any:
    """The same fresh release, or releases, with numbers of records, or with why there are none.

    Warns of what they tell; a warning that is made an error does not lose what was paid for: the
    report has it too.
    """
    warn_of_coverage(coverage)
    if isinstance(released, (Release, Releases, OfParts)):
        for name, own in (("coverage", coverage), ("uncounted", uncounted)):
            object.__setattr__(released, name, own)  # a copy would lose what is in no field
    return released


def warn_of_coverage(coverage: Coverage | GroupCoverage | None) -> None:
    """Warns of what released numbers of records tell."""
    for text in () if coverage is None else coverage.warnings:
        warn_of_paid(text, CoverageWarning)


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
