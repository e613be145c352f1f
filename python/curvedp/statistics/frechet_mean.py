"""The private Fréchet mean (Reimherr et al. 2021; Jiang et al., Algorithm 1).

    records -> projection on the public ball -> mean, within a public tolerance e0 of the true one
            -> noise calibrated to Delta + 2 e0 -> rounding to a public grid -> Release

Proofs: docs/proofs/frechet-mean-sensitivity.md, docs/proofs/frechet-mean-solver.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import as_count, as_positive
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mechanisms import Mechanism, choose_mechanism
from curvedp.mechanisms.choice import draws_exactly
from curvedp.privacy import Guarantee, Ledger, NoiseSecret, Release
from curvedp.statistics.call import (
    Call,
    CallOptions,
    Designs,
    Progress,
    Statistic,
    check_ball,
    check_guarantee,
)
from curvedp.statistics.design import Design, check_drawing, design_mean, smallest_n
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.paid import Paid, release
from curvedp.statistics.releases import Releases, release_of


@dataclass(frozen=True)
class Mean(Statistic[Release]):
    """The Fréchet mean as a value, for `curvedp.batch.release`; `frechet_mean` releases it.

    Parameters
    ----------
    mechanism : str or Mechanism class, optional
        See `choose_mechanism`.

    Examples
    --------
    >>> Mean().options()
    {'mechanism': None}
    """

    title: ClassVar[str] = "Fréchet mean"

    mechanism: str | type[Mechanism] | None = None

    def check(self, call: Call) -> None:
        check_drawing(self.kind(call))

    def kind(self, call: Call) -> type[Mechanism]:
        """The mechanism of every group."""
        return self.kind_under(call, call.guarantee)

    def kind_under(self, call: Call, share: Guarantee) -> type[Mechanism]:
        """The same under a share of the guarantee.

        Parameters
        ----------
        call : Call
        share : Guarantee
        """
        return choose_mechanism(call.ball, share, self.mechanism)

    def mechanism_name(self, call: Call) -> str:
        return self.kind(call).name

    def is_exact(self, call: Call) -> bool:
        return draws_exactly(self.kind(call))

    def design(self, call: Call, ball: Ball, n: int) -> Design:
        return design_mean(ball, n, call.guarantee, call.records_per_unit, self.mechanism)

    def outlook(self, call: Call, design: Design, n: int) -> tuple[float, float]:
        return design.mechanism.scale, design.mechanism.expected_error

    def release(self, paid: Paid) -> Releases[Release]:
        found, _ = paid.designs
        engine = _core.GroupStatistic.mean(self.kind(paid.call).in_chart)
        value = paid.columns(engine, found)["value"]
        return paid.releases(value=as_points(paid, value), **noise_of_means(paid.designs))

    def result(self, releases: Releases[Release], index: int) -> Release:
        return release_of(releases, index)


def as_points(paid: Paid, rows: Any) -> Any:
    """Rows of entries as points."""
    return rows.reshape(len(paid), *paid.call.manifold.point_shape)


def noise_of_means(designs: Designs) -> dict[str, Any]:
    """Sensitivity, tolerance, scale and expected error of each group's mean; NaN if skipped."""
    found, choice = designs
    columns = np.full((len(found), 4), np.nan)
    for row, design in zip(columns, found, strict=True):
        if design is not None:
            noise = design.mechanism
            row[:] = design.sensitivity, design.plan.tolerance, noise.scale, noise.expected_error
    names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
    return dict(zip(names, columns[choice].T, strict=True))


@overload
def frechet_mean(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    groups: None = None,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def frechet_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
def frechet_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    mechanism: str | type[Mechanism] | None = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
) -> Release | Releases[Release]:
    """Release the Fréchet mean of records under differential privacy.

    The mean minimises sum_i rho(p, x_i)^2 over the ball, x_i the records projected on it; it is
    about the projected records.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public. No value raises: a record that is not a point of the
        manifold counts as the ball's centre.
    ball : Ball, or a list with one for each group
        Public domain, chosen without looking at the records. A list follows the order in which the
        groups' labels first appear among the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release (of each group) when one unit's records are replaced.
    groups : array-like, optional
        The label of each record's group, shape (n,): texts, integers, dates or anything else with
        exact equality, also as an Arrow array or a Series. Or offsets, shape (groups + 1,), from 0
        to n, if the records stand group by group: group g holds ``records[offsets[g]:offsets[g +
        1]]``. Groups are public: which record belongs to which is known or was fixed before the
        data were seen, so that replacing a record changes one group's release.
    mechanism : str or Mechanism class, optional
        See `choose_mechanism`.
    records_per_unit : int
        Number of records that one unit (a person) contributes (to any one group) at most.
    groups_per_unit : int
        Number of groups to which one unit contributes at most.
    skip_small : bool
        Skip groups that are too small for the mechanism to exist, instead of raising.
    ledger : Ledger, optional
        Budget from which `guarantee` is spent, composed `groups_per_unit` times, before any noise
        is drawn.
    secret : NoiseSecret, optional
        Derive the noise from a secret, so that the same call gives the same releases again; by
        default it comes from a fresh key of the operating system. See `NoiseSecret` for what that
        means.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    progress : bool or callable
        A callable is called with the number of groups done and their number in all; True prints
        them to standard error.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape point_shape, or (groups, *point_shape).

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ExistenceError
        If Laplace noise does not exist at this budget; carries the smallest epsilon and n that
        work.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> records = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (600, 1))
    >>> release = cdp.frechet_mean(records, ball, cdp.PureDP(epsilon=1.0))
    >>> release.value.shape
    (3,)
    >>> site = np.repeat(["north", "south"], [200, 400])
    >>> releases = cdp.frechet_mean(records, ball, cdp.PureDP(epsilon=1.0), groups=site)
    >>> releases.value.shape, releases["south"].n
    ((2, 3), 400)
    """
    return release(
        Mean(mechanism),
        records,
        ball,
        guarantee,
        groups=groups,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        skip_small=skip_small,
        ledger=ledger,
        secret=secret,
        seed=seed,
        progress=progress,
    )


def expected_error(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
) -> float:
    """Expected distance between the private and the true mean, before any record is seen.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    guarantee, records_per_unit, mechanism
        As in `frechet_mean`.

    Returns
    -------
    float
        In the units of the metric.

    Raises
    ------
    ExistenceError
        As in `frechet_mean`.
    ValueError, TypeError
        For wrong parameters.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(expected_error(ball, n=1000, guarantee=cdp.PureDP(epsilon=1.0)), 5)
    0.00219
    """
    count, unit = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    design = design_mean(check_ball(ball), count, check_guarantee(guarantee), unit, mechanism)
    return design.mechanism.expected_error


def required_n(
    ball: Ball,
    error: float,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
) -> int:
    """Smallest number of records at which the expected error is at most `error`.

    Parameters
    ----------
    ball : Ball
    error : float
        Wished expected distance between the private and the true mean.
    guarantee, records_per_unit, mechanism
        As in `frechet_mean`.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If no n up to 10^15 is enough.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.5)
    >>> required_n(ball, 0.01, cdp.PureDP(epsilon=1.0))
    219
    """
    wished = as_positive(error, "error")

    def enough(n: int) -> bool:
        try:
            return wished >= expected_error(
                ball, n, guarantee, records_per_unit=records_per_unit, mechanism=mechanism
            )
        except ExistenceError:
            return False

    return smallest_n(enough, f"no number of records brings the expected error down to {wished:g}")
