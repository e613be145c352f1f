"""Any private statistic, released for each of many disjoint groups and paid for once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from curvedp._validation import as_count, as_points
from curvedp.domain import Ball
from curvedp.privacy import Guarantee, Ledger
from curvedp.statistics.entry import check_ball, check_guarantee
from curvedp.statistics.group_plan import as_offsets
from curvedp.statistics.group_releases import composed

Result = TypeVar("Result")


def each_group(
    statistic: Callable[..., Result],
    points: ArrayLike,
    offsets: ArrayLike,
    balls: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups_per_unit: int = 1,
    ledger: Ledger | None = None,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> list[Result]:
    """Release a statistic of every group of records, each under differential privacy.

    For `adaptive_mean`, `confidence_region`, `variance_interval` and every other statistic that is
    called with records, ball and guarantee. Groups are disjoint and public, as in `frechet_means`
    and `frechet_variances`, which are far faster for means and variances: this calls the statistic
    once for each.

    Parameters
    ----------
    statistic : callable
        Called as ``statistic(records, ball, guarantee, **options)`` for each group.
    points : array-like, shape (n, *point_shape)
        Records, group by group.
    offsets : array-like of int, shape (groups + 1,)
        Public; from 0 to n, increasing.
    balls : Ball or sequence of Ball
        Public domain of all groups, or of each.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        What the release of each group shall satisfy.
    groups_per_unit : int
        Number of groups to which one unit contributes at most.
    ledger : Ledger, optional
        Budget from which `guarantee` is spent, composed `groups_per_unit` times, before the first
        group is looked at. A group that the statistic refuses afterwards, such as one that is too
        small, ends the call; what was spent stays spent.
    progress : callable, optional
        Called with the number of groups done and their number in all.
    **options
        Keywords of the statistic, except `ledger` and `progress`.

    Returns
    -------
    list
        What the statistic returns, one for each group.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes and parameters, and what the statistic raises.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> ledger = cdp.Ledger(cdp.GDP(1.0))
    >>> variances = cdp.each_group(
    ...     cdp.frechet_variance, records, [0, 200, 600], ball, cdp.GDP(1.0), ledger=ledger
    ... )
    >>> [release.n for release in variances], ledger.spent == cdp.GDP(1.0)
    ([200, 400], True)
    """
    given = [balls] if isinstance(balls, Ball) else [check_ball(ball) for ball in balls]
    if not given:
        raise ValueError("balls is empty: give one ball for all groups, or one for each")
    shape = given[0].manifold.point_shape
    data = as_points(points, shape, "points")
    if data.ndim != len(shape) + 1:
        raise ValueError(f"points must be one record per row, got shape {data.shape}")
    ends = as_offsets(offsets, len(data)).tolist()
    count = len(ends) - 1
    if len(given) not in (1, count):
        raise ValueError(f"{len(given)} balls do not fit {count} groups")
    if options.get("seed") is not None:
        raise ValueError("a seed would give all groups the same noise: leave it out")
    keywords = inspect.signature(statistic).parameters
    unknown = sorted(set(options) - set(keywords))
    if unknown:
        raise TypeError(f"{statistic.__name__} has no keyword {', '.join(unknown)}")
    total = composed(check_guarantee(guarantee), as_count(groups_per_unit, "groups_per_unit"))
    if ledger is not None:
        ledger.spend(total, label=f"{statistic.__name__} of {count} groups")
    releases = []
    for group in range(count):
        ball = given[0 if len(given) == 1 else group]
        releases.append(statistic(data[ends[group] : ends[group + 1]], ball, guarantee, **options))
        if progress is not None:
            progress(group + 1, count)
    return releases
