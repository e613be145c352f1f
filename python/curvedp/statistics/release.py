"""A statistic of records as a release: checked, then paid for, then drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet, warn_of_paid
from curvedp._validation import FloatArray, as_count
from curvedp.checked_domain import WholeSpace
from curvedp.domain import Ball
from curvedp.errors import LedgerError
from curvedp.manifolds import Manifold
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.payment import charged, settle
from curvedp.privacy.provenance import Payment
from curvedp.privacy.secret import fingerprint_of
from curvedp.statistics.beside import check_statistic, read_beside
from curvedp.statistics.call import (
    Call,
    CallOptions,
    CoverageOption,
    Progress,
    UnitOptions,
    as_balls,
    check_timing,
    reporter,
)
from curvedp.statistics.counting import check_coverage, counted, with_coverage
from curvedp.statistics.grouping import GroupsLike, Offsets, numbers_of
from curvedp.statistics.paid import Paid
from curvedp.statistics.protected_groups import grouped, keys_are_private
from curvedp.statistics.public_time import KINDS, Timing, at_public_time
from curvedp.statistics.releases import Releases
from curvedp.statistics.statistic import Result, Statistic
from curvedp.statistics.unknown_n import release_counted


@quiet
def release(
    statistic: Statistic[Result],
    records: ArrayLike,
    ball: Ball | Sequence[Ball] | Manifold | str,
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
    name = "records (y, which x precedes)" if statistic.beside == "covariate" else "records"
    data = space.read_records(records, name, least=1 if is_public else 0)
    beside = read_beside(statistic, len(data), covariate=covariate, labels=labels)
    how = cast(UnitOptions, {name: own for name, own in call.items() if name != "n_guess"})
    return release_read(statistic, data, ball, guarantee, beside=beside, groups=groups, **how)


def release_read(
    statistic: Statistic[Result],
    data: FloatArray,
    ball: Ball | Sequence[Ball] | Manifold | str,
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
        public_keys=keys is not None,
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
