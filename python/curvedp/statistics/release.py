"""A statistic of records as a release: checked, then paid for, then drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import warn_caller
from curvedp._validation import FloatArray, as_count
from curvedp.domain import Ball
from curvedp.errors import CoverageWarning, ExistenceError
from curvedp.privacy import GDP, Guarantee, Ledger, NoiseSecret, PureDP
from curvedp.privacy.coverage import Coverage
from curvedp.privacy.secret import fingerprint_of
from curvedp.statistics.call import (
    Call,
    CallOptions,
    Progress,
    Result,
    Statistic,
    as_balls,
    check_timing,
    reporter,
)
from curvedp.statistics.coverage import Counting
from curvedp.statistics.grouping import Grouping, GroupsLike, Offsets
from curvedp.statistics.paid import Paid
from curvedp.statistics.public_time import KINDS, Timing, at_public_time
from curvedp.statistics.releases import Releases


def release(
    statistic: Statistic[Result],
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
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
    ball : Ball, or a list with one for each group
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
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing, coverage
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
    space = as_balls(ball)[0].manifold
    data = space.read_records(records)
    beside = read_beside(check_statistic(statistic), len(data), covariate=covariate, labels=labels)
    return release_read(statistic, data, ball, guarantee, beside=beside, groups=groups, **call)


def release_read(
    statistic: Statistic[Result],
    data: FloatArray,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    beside: FloatArray | None = None,
    groups: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    units: GroupsLike = None,
    coverage: bool | None = False,
) -> Result | Releases[Result]:
    """`release` of records that were read already, and of the numbers beside them."""
    call = Call(
        statistic=statistic,
        balls=as_balls(ball),
        guarantee=guarantee,
        records_per_unit=as_count(records_per_unit, "records_per_unit"),
        groups_per_unit=as_count(groups_per_unit, "groups_per_unit"),
        skip_small=bool(skip_small),
    )
    check_timing(timing, progress)
    statistic, is_grouped = call.statistic, groups is not None
    grouping = Grouping.of(groups, len(data), with_units=units is not None)
    unit_ends = None
    if units is not None:
        if call.records_per_unit != 1:
            raise ValueError("give units or records_per_unit, not both")
        grouping, unit_ends = grouping.by_unit(units, call.groups_per_unit)
    count = len(grouping.labels)
    if len(call.balls) not in (1, count):
        raise ValueError(f"{len(call.balls)} balls do not fit {count} groups")
    names = None if secret is None else grouping.names()
    beside = None if beside is None else grouping.arranged(beside)
    sizes = sizes_of(statistic, beside, grouping.offsets, unit_ends)
    call = counted(call, sizes, coverage)
    keys, given = call.keys(secret, seed), statistic.given_points(call, grouping.labels)
    designs = call.designs(sizes, alone=not is_grouped)
    call.warn_of_noise(designs, numbers_of(sizes))
    largest = int(grouping.n.max())
    call.ask_for_memory(
        data.nbytes, largest, by_unit=unit_ends is not None, timing=timing, groups=count
    )
    if secret is not None:
        units_of = () if unit_ends is None else (grouping.arranged(np.arange(len(data))), unit_ends)
        secret._bind(fingerprint_of([data, *(() if beside is None else (beside,)), *units_of]))
    provenance = call.pay(ledger, count if is_grouped else None, seed, timing)
    paid = Paid(
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

    def answer(paid: Paid) -> tuple[Result | Releases[Result], Coverage | None]:
        ready = paid.by_unit()
        found = statistic.release(ready if secret is None else ready.salted())
        return found if is_grouped else statistic.result(found, 0), paid.coverage()

    if timing == "prompt":
        released, of_ball = answer(paid)
    else:
        released, of_ball = at_public_time(answer, map(paid.rehearsed, KINDS), paid)
    return released if of_ball is None else with_coverage(released, of_ball)


def counted(call: Call, sizes: Offsets, coverage: bool | None) -> Call:
    """The call with a share of its budget for how many records are points inside the ball.

    Parameters
    ----------
    call : Call
    sizes : ndarray
        See `sizes_of`.
    coverage : bool or None
        None where the public rule says so, True always, False never.

    Raises
    ------
    ExistenceError
        For True where there are too few records for the budget.
    ValueError
        For True where the statistic does not count.
    """
    if coverage is False or (coverage is None and not call.statistic.counted):
        return call
    if coverage is not None and coverage is not True:
        raise TypeError(f"coverage must be True, False or None, got {coverage!r}")
    if not call.statistic.counted:
        raise ValueError(f"the {call.statistic.title} does not count records: leave coverage out")
    own, refused = call.guarantee, None
    ways = (own,) if isinstance(own, (GDP, PureDP)) else call.ways()
    found: list[tuple[float, Call]] = []
    for way in ways:
        try:
            total = int(numbers_of(sizes).sum())
            unit = (call.records_per_unit, call.groups_per_unit)
            trial = call.shared(Counting.of(own, way, total, *unit))
            found.append((math.inf if len(ways) == 1 else trial.largest_error(sizes), trial))
        except ExistenceError as error:
            refused = error
    if found:
        return min(found, key=lambda pair: pair[0])[1]
    if coverage is None or refused is None:
        return call
    raise refused


def with_coverage(released: Any, coverage: Coverage) -> Any:
    """The release, or releases, with released numbers of records; warns of what they tell.

    A warning that is made an error does not lose what was paid for: the report has it too.
    """
    for text in coverage.warnings:
        with suppress(CoverageWarning):
            warn_caller(text, CoverageWarning)
    return replace(released, coverage=coverage)


def check_statistic(statistic: Statistic[Result]) -> Statistic[Result]:
    """The statistic, if it is one."""
    if not isinstance(statistic, Statistic):
        name = getattr(statistic, "__name__", type(statistic).__name__)
        raise TypeError(f"statistic must be a Statistic, such as Mean(), got {name}")
    return statistic


def read_beside(statistic: Statistic[Any], n: int, **given: Any) -> FloatArray | None:
    """Numbers beside the points of n records, of those `given` by keyword.

    Raises
    ------
    ValueError, TypeError
        For what the statistic does not take, or lacks, and another number of rows.
    """
    for name, own in given.items():
        if own is not None and name != statistic.beside:
            raise TypeError(f"the {statistic.title} takes no {name}")
    if statistic.beside is None:
        return None
    if given.get(statistic.beside) is None:
        raise TypeError(f"the {statistic.title} needs {statistic.beside}, one for each record")
    found = statistic.read_beside(given[statistic.beside], n)
    if found.shape[:1] != (n,):
        raise ValueError(
            f"{statistic.beside} must be given for each of {n} records, got shape {found.shape}"
        )
    return found


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
