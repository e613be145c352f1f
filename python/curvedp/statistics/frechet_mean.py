"""The private Fréchet mean (Reimherr et al. 2021; Jiang et al., Algorithm 1).

    records -> projection on the public ball -> mean, within a public tolerance e0 of the true one
            -> noise calibrated to Delta + 2 e0 -> rounding to a public grid -> Release

Proofs: docs/proofs/frechet-mean-sensitivity.md, docs/proofs/frechet-mean-solver.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_count, as_positive
from curvedp.checked_domain import check_any_ball
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.manifolds import Manifold
from curvedp.mechanisms import Mechanism, Way, choose_mechanism, ways_of_one_draw
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.mechanisms.choice import draws_exactly
from curvedp.privacy import Guarantee, Ledger, NoiseSecret
from curvedp.statistics.call import (
    Call,
    CallOptions,
    CoverageOption,
    Designs,
    Progress,
)
from curvedp.statistics.counting import counted
from curvedp.statistics.design import (
    LIMITS,
    Design,
    check_drawing,
    design_mean,
    design_mean_under,
    smallest_n,
)
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.located_release import LocatedMeanRelease
from curvedp.statistics.mean_release import MeanRelease
from curvedp.statistics.paid import Paid
from curvedp.statistics.product import OfFactors
from curvedp.statistics.public_time import Timing
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases, release_fields, release_of
from curvedp.statistics.shrinkage import error_ratio, numbers_of_noise, shrunk_points
from curvedp.statistics.statistic import Calibrated, Statistic
from curvedp.unit import length_of, told_in


@dataclass(frozen=True)
class Mean(Calibrated[MeanRelease]):
    """The Fréchet mean as a value, for `curvedp.batch.release`; `frechet_mean` releases it.

    Parameters
    ----------
    mechanism
        As in `frechet_mean`.

    Examples
    --------
    >>> Mean().options()
    {'mechanism': None}
    """

    title: ClassVar[str] = "Fréchet mean"
    takes_unknown_n: ClassVar[bool] = True
    word: ClassVar[str | None] = "mean"

    mechanism: str | type[Mechanism] | None = None

    def ways(self, call: Call) -> tuple[Way, ...]:
        return ways_of_one_draw(call.guarantee, self.mechanism)

    def of_factors(self) -> Statistic[Any]:
        return OfFactors(self)

    def without_ball(self) -> Statistic[Any]:
        if self.mechanism is not None:
            raise ValueError(
                "without a ball the noise follows from the guarantee: leave mechanism out"
            )
        return LocatedMean()

    def check(self, call: Call) -> None:
        for way in self.ways(call):
            check_drawing(choose_mechanism(call.ball, way, self.mechanism))

    def mechanism_of(self, design: Design) -> str:
        return design.mechanism.name

    def is_exact(self, call: Call) -> bool:
        return draws_exactly(self.mechanism)

    def design_under(self, call: Call, way: Way, ball: Ball, n: int) -> Design:
        return design_mean_under(ball, n, way, call.records_per_unit, self.mechanism)

    def design(self, call: Call, ball: Ball, n: int) -> Design:
        return design_mean(ball, n, call.guarantee, call.records_per_unit, self.mechanism)

    def outlook(self, call: Call, design: Design, n: int) -> tuple[float, float]:
        return design.mechanism.scale, design.expected_error

    def noise_share(self, call: Call, design: Design, n: int) -> float:
        return design.noise_share

    def release(self, paid: Paid) -> Releases[MeanRelease]:
        columns = paid.columns(_core.GroupStatistic.mean(), paid.designs[0])
        value, raw = (as_points(paid, columns[name]) for name in ("value", "unprojected"))
        dist, stretch = (columns[name][:, 0] for name in ("dist", "stretch"))
        return released_means(paid, value, raw, dist, stretch)

    def further_columns(self, releases: Releases[MeanRelease]) -> dict[str, FloatArray]:
        details, call = releases.details, releases.call
        if "unprojected" not in details:  # a part of another statistic
            return {}
        square, strength = numbers_of_noise(releases)
        shrunk, error = np.full_like(releases.value, np.nan), np.full(len(releases), np.nan)
        for ball, rows in _by_ball(call, releases.released):
            raw, own = details["unprojected"][rows], square[rows]
            shrunk[rows] = shrunk_points(ball, raw, own, strength[rows])
            ratio = error_ratio(call.manifold.dim, own, details["dist"][rows], ball.radius)
            error[rows] = ratio * releases.expected_error[rows]
        return {"shrunk": shrunk, "shrunk_error": error}

    def result(self, releases: Releases[MeanRelease], index: int) -> Any:
        details = releases.details
        if "unprojected" not in details:  # a part of another statistic
            return release_of(releases, index)
        design = details["designs"][releases.law_of[index]]
        return MeanRelease(
            **release_fields(releases, index),
            unprojected=details["unprojected"][index],
            mean_square=design.mean_square,
            strength=design.strength,
        )


def released_means(
    paid: Paid, value: FloatArray, raw: FloatArray, dist: FloatArray, stretch: FloatArray
) -> Releases[MeanRelease]:
    """Releases of means, with expected errors at the released points: from public numbers alone.

    `raw` are the points before they were moved to the ball, `dist` the estimated distances of the
    exact means from the centre, `stretch` by how much the chart stretches noise there.
    """
    found, choice = paid.designs
    own = noise_of_means(paid.designs)
    none = [math.nan] * (1 + len(LIMITS))
    table = [none if one is None else one.lengths_within for one in found]
    lengths = np.array(table).reshape(len(found), len(none))
    r = lengths[:, 0][choice]
    place = (np.hypot(r, dist) / r - 1.0) / (LIMITS[1] - 1.0)
    low = np.fmin(place, len(LIMITS) - 2).astype(np.int64)
    at = low + len(none) * choice
    near, far = (lengths.ravel()[k:][at] for k in (1, 2))
    own["expected_error"] = np.minimum(stretch * (near + (place - low) * (far - near)), r + dist)
    details = {"unprojected": raw, "dist": dist, "designs": found}
    return paid.releases(value=value, **own, details=details)


def _by_ball(call: Call, released: NDArray[np.bool_]) -> Iterator[tuple[Ball, Any]]:
    """The balls and the groups of each that have a release."""
    kept = np.flatnonzero(released)
    if len(call.balls) == 1:
        yield call.ball, kept
        return
    for group in kept.tolist():
        yield call.ball_of(group), np.array([group])


def as_points(paid: Paid, rows: Any) -> Any:
    """Rows of entries as points."""
    return rows.reshape(len(paid), *paid.call.manifold.point_shape)


def noise_of_means(designs: Designs) -> dict[str, Any]:
    """Sensitivity, tolerance, scale and expected error of each group's mean; NaN if skipped."""
    found, choice = designs
    names = ("sensitivity", "solver_tolerance", "scale", "expected_error")
    none = [math.nan] * len(names)
    table = [none if one is None else one.numbers for one in found]
    columns = np.array(table).reshape(len(found), len(names))
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
) -> MeanRelease: ...
@overload
def frechet_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    mechanism: str | type[Mechanism] | None = None,
    **call: Unpack[CallOptions],
) -> Releases[MeanRelease]: ...
@overload
def frechet_mean(
    records: ArrayLike,
    ball: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: None = None,
    mechanism: None = None,
    **call: Unpack[CallOptions],
) -> LocatedMeanRelease: ...
@overload
def frechet_mean(
    records: ArrayLike,
    ball: Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike,
    mechanism: None = None,
    **call: Unpack[CallOptions],
) -> Releases[LocatedMeanRelease]: ...
@quiet
@hinting
def frechet_mean(
    records: ArrayLike,
    ball: Ball | Sequence[Ball] | Manifold | str,
    guarantee: Guarantee,
    *,
    groups: GroupsLike = None,
    mechanism: str | type[Mechanism] | None = None,
    units: GroupsLike = None,
    records_per_unit: int = 1,
    groups_per_unit: int = 1,
    keys: GroupsLike = None,
    skip_small: bool = False,
    ledger: Ledger | None = None,
    secret: NoiseSecret | None = None,
    seed: int | None = None,
    progress: Progress = False,
    timing: Timing = "prompt",
    coverage: CoverageOption = None,
    n_guess: int | None = None,
) -> MeanRelease | LocatedMeanRelease | Releases[MeanRelease] | Releases[LocatedMeanRelease]:
    """Release the Fréchet mean of records under differential privacy.

    The mean minimises sum_i rho(p, x_i)^2 over the ball, x_i the records projected on it; it is
    about the projected records. Without a ball, with the manifold in its place, a ball is found
    privately: see `LocatedMean` and docs/no-ball.md.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        One record per row; n is public, but under neighbours="add-remove". No value raises: a
        record that is not a point of the manifold counts as the ball's centre, without a ball not
        at all.
    ball : Ball, a list with one for each group, or a Manifold
        Public domain, chosen without looking at the records. A manifold says that there is no
        public ball: GDP, ZCDP and ApproxDP serve that. A list follows the order of the
        groups' labels, see `Releases`.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release (of each group) when one unit's records are replaced; with
        neighbours="add-remove" when they are added or removed, see `n_guess`.
    groups : array-like, optional
        The label of each record's group, shape (n,): texts, integers, dates or anything else with
        exact equality, also as an Arrow array or a Series. Or offsets, shape (groups + 1,), from 0
        to n, if the records stand group by group: group g holds ``records[offsets[g]:offsets[g +
        1]]``. Groups are public: which record belongs to which is known or was fixed before the
        data were seen, so that replacing a record changes one group's release.
    mechanism : str or Mechanism class, optional
        Noise to use instead of the default for the guarantee and the manifold, see
        `choose_mechanism`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, where persons have several: the mean of a
        person's records then counts as one record (about which variances and regions speak, too), n
        counts persons, and the guarantee holds when all records of one are replaced by any number
        of others. In place of `records_per_unit`.
    records_per_unit : int
        Number of records that one unit (a person) contributes (to any one group) at most, where it
        is not known who is who.
    groups_per_unit : int
        Number of groups to which one unit contributes at most.
    keys : array-like, optional
        Public labels of all groups that shall be released, under a guarantee with
        ``neighbours="add-remove"``: which labels occur would tell who is there. Records with other
        labels are left out. Under ApproxDP keys may be left out, too: groups with enough records
        are shown then, if their labels are texts, integers or days. That hides whether anybody is
        in a group, not the name of a large one: give no names that are secret themselves.
    skip_small : bool
        Skip groups that are too small for the mechanism to exist, instead of raising.
    ledger : Ledger, optional
        Budget from which `guarantee` is spent, composed `groups_per_unit` times, before any noise
        is drawn.
    secret : NoiseSecret, optional
        Derive the noise from a secret, so that the same call gives the same releases again; by
        default it comes from a fresh key of the operating system. A secret is refused for other
        data than it served first. See `NoiseSecret` for what that means.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.
    progress : bool or callable
        A callable is called with the number of groups done and their number in all; True prints
        them to standard error.
    timing : {"prompt", "steady"}
        "steady" answers at a time that says nothing about the records to who measures it: after
        four times as long as public records take that are worked on first. The value is the same.
    coverage : bool, "each" or None
        Also release how many records were points inside the ball, outside it, and no points, with
        a share of the guarantee: from .1 to .3 of mu, from .02 to .1 of epsilon. The release holds
        them as `coverage`, and a `CoverageWarning` says what they tell. By default (None) this is
        left out where the numbers would err by more than n/10, which the report says; True insists
        on it, False never counts. Groups share one count; "each" counts those of every group that
        is large enough. See docs/proofs/coverage.md.
    n_guess : int, optional
        A public guess of the number of records, in each group if there are groups, for a guarantee
        with neighbours="add-remove", which protects that number: it is released as `count` with a
        share of the guarantee, and the mean is that of a random selection of so many records, or of
        all and copies of the centre. A wrong guess costs accuracy alone. Without `secret` and
        "steady" time; `coverage` is left out unless it is True, and counts the records that are
        used.

    Returns
    -------
    MeanRelease, or LocatedMeanRelease without a ball, or Releases of them with `groups`
        `value` has shape point_shape, or (groups, *point_shape), and lies in the ball. `shrunk` is
        the same mean shrunk to the centre, which errs less where noise is large.

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
        units=units,
        records_per_unit=records_per_unit,
        groups_per_unit=groups_per_unit,
        keys=keys,
        skip_small=skip_small,
        ledger=ledger,
        secret=secret,
        seed=seed,
        progress=progress,
        timing=timing,
        coverage=coverage,
        n_guess=n_guess,
    )


@hinting
def expected_error(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
    coverage: bool | None = None,
) -> float:
    """Expected distance between the private and the true mean, before any record is seen.

    For a true mean half-way between the ball's centre and its edge: where noise is added in the
    chart at the centre of a Hadamard manifold, or fills the ball, it is less at the centre, and
    more at the edge. `plan` gives both; a release prints the error at the value that was released,
    and as `shrunk_error` that of `shrunk`. Where noise is longer than the radius they differ most:
    with 3 records in 384 dimensions it is 1.12 radii here, 1 to 1.41 in a plan and 1.41 printed.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    guarantee, records_per_unit, mechanism, coverage
        As in `frechet_mean`.

    Returns
    -------
    float
        In the unit in which the ball was stated (km, degrees, hours), else in the units of the
        metric; `Release.expected_error` always is in the latter.

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
    0.00228
    """
    count, unit = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    call = Call(
        statistic=Mean(mechanism),
        balls=(check_any_ball(ball),),
        guarantee=check_guarantee(guarantee),
        records_per_unit=unit,
    )
    sizes = np.array([count], dtype=np.int64)
    call, designs, _ = counted(call, sizes, coverage, count, alone=True)
    return call.statistic.outlook(call, designs[0][0], count)[1] / length_of(ball.unit)


@hinting
def required_n(
    ball: Ball,
    error: float,
    guarantee: Guarantee,
    *,
    records_per_unit: int = 1,
    mechanism: str | type[Mechanism] | None = None,
    coverage: bool | None = None,
) -> int:
    """Smallest number of records at which the expected error is at most `error`.

    Parameters
    ----------
    ball : Ball
    error : float
        Wished expected distance between the private and the true mean, in the unit in which the
        ball was stated (km, degrees, hours), else in the units of the metric.
    guarantee, records_per_unit, mechanism, coverage
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
    243
    """
    wished, told = as_positive(error, "error"), told_in(check_any_ball(ball).unit)

    def enough(n: int) -> bool:
        try:
            return wished >= expected_error(
                ball,
                n,
                guarantee,
                records_per_unit=records_per_unit,
                mechanism=mechanism,
                coverage=coverage,
            )
        except ExistenceError:
            return False

    least = told(wished * length_of(ball.unit))
    return smallest_n(enough, f"no number of records brings the expected error down to {least}")
