"""A private permutation test of a trend: do records change with covariates?

    T = |1/n sum_i z_i phi(u_i)^T|,

z_i the covariates moved to [-1/2, 1/2] by their public ranges; a relabelling gives the covariates
to other records: see `statistics.permutation`. Linear kernel: records and covariates are first
moved to private middles, and records cut at a private length, see `regression.trend_features`.
Gaussian: z_i less their mean; T is the root of an HSIC with a linear kernel of z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import FloatArray, as_choice, as_count, as_float_array, as_positive
from curvedp.checked_domain import check_ball
from curvedp.domain import Ball
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import Guarantee
from curvedp.regression.covariate import (
    Ranges,
    as_covariates,
    as_ranges,
    categories_of,
    clipped_times,
    mean_times,
    pairs_of,
    slow_covariates,
)
from curvedp.regression.trend_features import MEASURED, Middles
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import Group
from curvedp.statistics.grouping import GroupsLike, Offsets
from curvedp.statistics.permutation import (
    Labels,
    PermutationDesign,
    PermutationRelease,
    PermutationTest,
    as_deviations,
    chart_coords,
    simulated_power,
)
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

KERNELS = ("gaussian", "linear")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TrendRelease(PermutationRelease):
    """The outcome of a private test of a trend: see `PermutationRelease`.

    Attributes
    ----------
    x_range : pair of float, or tuple of pairs
    kernel : str

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    >>> x = np.linspace(0.0, 10.0, 400)
    >>> y = np.stack([0.08 * x, 0.0 * x], axis=1)
    >>> cdp.trend_test(x, y, ball, cdp.GDP(mu=2.0), x_range=(0.0, 10.0)).rejects
    True
    """

    x_range: Ranges
    kernel: str

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "x_range", as_ranges(self.x_range))

    def _notes(self) -> list[str]:
        told = "change with the covariates" if self.rejects else "were not seen to change"
        return [
            f"the {self.n} records {told} at the level {self.level:g} "
            f"({self.relabellings} relabellings, {self.kernel} kernel). {self._meaning}"
        ]


@dataclass(frozen=True, kw_only=True)
class TrendTest(PermutationTest[TrendRelease]):
    """A test of a trend as a value; `trend_test` releases it.

    Parameters
    ----------
    x_range, level, kernel, width, relabellings
        As in `trend_test`.

    Examples
    --------
    >>> TrendTest(x_range=(20.0, 80.0)).kernel
    'linear'
    """

    title: ClassVar[str] = "permutation test of a trend"
    word: ClassVar[str | None] = "trend"
    stages: ClassVar[int] = 5
    beside: ClassVar[Literal["covariate"]] = "covariate"

    x_range: Ranges = field(kw_only=True)
    kernel: str = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_choice(self.kernel, KERNELS, "kernel") == "linear" and self.width is not None:
            raise ValueError("width is that of the Gaussian kernel: leave it out for a linear one")
        object.__setattr__(self, "x_range", as_ranges(self.x_range))

    def bandwidth(self, ball: Ball) -> float:
        width = super().bandwidth(ball)
        return 0.0 if self.kernel == "linear" else width

    def read_beside(self, given: Any, n: int) -> FloatArray:
        return as_covariates(given, self.x_range)

    def categories_beside(self, beside: FloatArray) -> FloatArray:
        return categories_of(beside, self.x_range)

    @property
    def beside_width(self) -> int:
        return len(pairs_of(self.x_range))

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        return slow_covariates(len(beside), self.x_range)

    def beside_of_units(self, beside: FloatArray, ends: Offsets) -> FloatArray:
        return mean_times(beside, self.x_range, ends)

    def design(self, call: Call, ball: Ball, n: int) -> PermutationDesign:
        return _design(self, ball, call.guarantee, n, call.records_per_unit)

    def features(self, group: Group) -> tuple[FloatArray, FloatArray]:
        coords = chart_coords(group.ball, group.enter())
        times = clipped_times(group.beside, self.x_range)
        if self.kernel == "gaussian":
            return coords, _weights(times)
        middles = _middles(self, group.design, group.n, group.call.records_per_unit)
        streams = [group.stream(stage) for stage in (2, 3, 4)]
        return _about(middles, coords, times, streams)

    def outcome(self, group: Group, told: dict[str, Any]) -> TrendRelease:
        return TrendRelease(**told, x_range=self.x_range, kernel=self.kernel)


@overload
def trend_test(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float] | Sequence[tuple[float, float]],
    level: float = 0.05,
    kernel: str = "linear",
    width: float | None = None,
    relabellings: int = 199,
    groups: None = None,
    **call: Unpack[CallOptions],
) -> TrendRelease: ...
@overload
def trend_test(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float] | Sequence[tuple[float, float]],
    level: float = 0.05,
    kernel: str = "linear",
    width: float | None = None,
    relabellings: int = 199,
    groups: GroupsLike,
    **call: Unpack[CallOptions],
) -> Releases[TrendRelease]: ...
@quiet
@hinting
def trend_test(
    x: ArrayLike,
    y: ArrayLike,
    ball: Ball | Sequence[Ball],
    guarantee: Guarantee,
    *,
    x_range: tuple[float, float] | Sequence[tuple[float, float]],
    level: float = 0.05,
    kernel: str = "linear",
    width: float | None = None,
    relabellings: int = 199,
    groups: GroupsLike = None,
    **call: Unpack[CallOptions],
) -> TrendRelease | Releases[TrendRelease]:
    """Test privately whether records change with covariates.

    If pairs of records and covariates are independent and of one law, and records are independent
    of their covariates, the test rejects with probability `level` at most, at every n and
    dimension. It needs no fit: the trend is sought in the chart at the ball's centre, after records
    are cut at a length that a fifth of the budget is spent on, so that a wide ball costs little.
    A fit does not replace it: its band holds the noise, not how far a sample of these records
    strays from its population. For groups, such as columns of 0 and 1, see `k_sample_test`.

    Parameters
    ----------
    x : array-like, shape (n,) or (n, q)
        Covariates, clipped to `x_range`; a missing one counts as the middle. No value raises.
    y : array-like, shape (n, *point_shape)
        Records.
    ball : Ball, or a list with one for each group
        Public domain of the records.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the outcome when one unit's records and covariates are replaced.
    x_range : pair of float, or list of q pairs
        Public range (x_lo, x_hi) of the covariate, to which it is clipped.
    level : float
        Level of the test, chosen beforehand: one test is released, not a p-value.
    kernel : {"linear", "gaussian"}
        Kernel of the records: the linear one seeks a trend of the mean, the Gaussian one of the
        law. The latter takes time that grows with n^2.
    width : float, optional
        Public width of the Gaussian kernel, by default the ball's radius.
    relabellings : int
        Number of relabellings; more cost no budget and gain little.
    groups : array-like, optional
        Labels or offsets of public groups, one test for each: see `frechet_mean`.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs: the mean of a person's records at the mean
        of the person's covariates counts as one, so that the level holds.
    records_per_unit : int
        Number of records of one unit. Several records of one person are not independent: the
        guarantee holds, the level does not.
    groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.

    Returns
    -------
    TrendRelease, or Releases of them with `groups`

    Raises
    ------
    BudgetError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    Kim and Schrab (2023), Differentially private permutation tests: applications to kernel methods
    (their dpHSIC).

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.8)
    >>> rng, age = np.random.default_rng(0), np.linspace(20.0, 80.0, 2000)
    >>> coords = 0.1 * rng.standard_normal((2000, 2)) + np.outer((age - 50.0) / 100.0, [1.0, 0.0])
    >>> y = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    >>> cdp.trend_test(age, y, ball, cdp.GDP(mu=1.0), x_range=(20.0, 80.0)).rejects
    True
    """
    test = TrendTest(
        x_range=as_ranges(x_range),
        level=level,
        kernel=kernel,
        width=width,
        relabellings=relabellings,
    )
    return release(test, y, ball, guarantee, covariate=x, groups=groups, **call)


def trend_power(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    slope: float,
    spread: ArrayLike,
    x_share: float = 1.0,
    level: float = 0.05,
    kernel: str = "linear",
    width: float | None = None,
    relabellings: int = 199,
    records_per_unit: int = 1,
    simulations: int = 400,
    seed: int = 0,
) -> float:
    """Probability that `trend_test` sees a trend in normal records: by simulation, no data.

    Parameters
    ----------
    ball : Ball
    n : int
    guarantee, level, kernel, width, relabellings, records_per_unit
        As in `trend_test`.
    slope : float
        Distance that the mean moves in a random direction of the chart, from one end of `x_range`
        to the other.
    spread : float or array-like, shape (dim,)
        Root mean square distance of records from their mean, alike in all directions, or their
        standard deviations along the axes: a guess that is not taken from the records.
    x_share : float
        Covariates are spread evenly over this share of `x_range`, in its middle.
    simulations : int
        400 make a standard error of at most 0.025.
    seed : int
        Of the simulation.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `trend_test`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    >>> public = {"slope": 0.8, "spread": 0.7, "simulations": 100}
    >>> power = [cdp.trend_power(ball, n, cdp.GDP(mu=1.0), **public) for n in (50, 1500)]
    >>> power[0] < 0.5 < 0.9 < power[1]
    True
    """
    count = as_count(n, "n")
    unit = as_count(records_per_unit, "records_per_unit")
    test = TrendTest(
        x_range=(0.0, 1.0), level=level, kernel=kernel, width=width, relabellings=relabellings
    )
    design = _design(test, check_ball(ball), check_guarantee(guarantee), count, unit)
    share = as_positive(x_share, "x_share")
    if share > 1:
        raise ValueError(f"x_share must be at most 1, got {share:g}")
    times = share * ((np.arange(count) + 0.5) / count - 0.5)
    middles = _middles(test, design, count, unit) if kernel == "linear" else None

    def features(coords: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        if middles is None:
            return coords, _weights(times)
        keys = _core.GroupKeys.numbered(rng.bytes(32))
        return _about(middles, coords, times, [keys.part(stage).first() for stage in range(3)])

    return simulated_power(
        design,
        features,
        float(as_float_array(slope, "slope")) * times,
        as_deviations(as_float_array(spread, "spread"), ball.manifold.dim),
        as_count(simulations, "simulations"),
        np.random.default_rng(seed),
    )


def _design(
    test: TrendTest, ball: Ball, guarantee: Guarantee, n: int, records_per_unit: int
) -> PermutationDesign:
    columns = len(pairs_of(test.x_range))
    measured = MEASURED if test.kernel == "linear" else 0.0
    labels = replace(_labels(n, columns, records_per_unit), measured=measured)
    design = PermutationDesign.of(test, ball, guarantee, labels)
    if measured:
        _middles(test, design, n, records_per_unit)  # raises here where there are none
    return design


def _middles(test: TrendTest, design: PermutationDesign, n: int, records_per_unit: int) -> Middles:
    """The noise of what records and covariates are moved to, for a linear kernel."""
    own = design.way.split((MEASURED, 1 - MEASURED))[0]
    return Middles.of(design.ball, n, len(pairs_of(test.x_range)), records_per_unit, own)


def _labels(n: int, q: int, records_per_unit: int) -> Labels:
    root = math.sqrt(q)
    # T moves by 1/n, a relabelled one, where covariates and features belong to different terms, by
    # 2/n, and neither is longer than half
    share = records_per_unit / n
    moved = root * (min(0.5, share) + min(0.5, 2 * share))
    rounding = 32 * root * 2.0**-53
    half = root / 2
    return Labels(count=n, moved=moved, largest=half, total=half, columns=q, rounding=rounding)


def _weights(times: FloatArray) -> FloatArray:
    """(z_i - mean z)/n, one row for each covariate."""
    rows = np.ascontiguousarray(np.atleast_2d(times.T))  # NumPy adds up pairwise
    return np.asarray((rows - rows.mean(axis=1, keepdims=True)) / rows.shape[1])


def _about(
    middles: Middles, coords: FloatArray, times: FloatArray, streams: Sequence[_core.Stream]
) -> tuple[FloatArray, FloatArray]:
    """Features about private middles, and the covariates about theirs over n."""
    rows = times.reshape(len(times), -1)
    features, about = middles.applied(coords, rows, streams)
    return features, np.ascontiguousarray(about.T / len(rows))
