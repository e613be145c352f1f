"""Private quantiles of numbers in a public interval.

    values -> clipped to [low, high] -> public grid -> exponential mechanism on ranks -> Release

Proof: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import as_finite, as_values
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import GridQuantile
from curvedp.mechanisms.decimal_grid import DecimalGrid
from curvedp.mechanisms.grid_quantile import as_levels
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.base import adds_or_removes
from curvedp.privacy.release import frozen_array
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases

#: The probability with which `QuantileRelease.rank_error` holds.
PROBABILITY = 0.95


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class QuantileRelease(Release):
    """Released quantiles; `value` has shape (), or (m,) for a list of m levels.

    Attributes
    ----------
    levels : array, shape (m,), read-only
    rank_error : float
        Number of ranks by which a value is off at most with probability 0.95, whatever the values
        are: so many of them, replaced, would make it the quantile. Usual are a few `scale`. See
        `GridQuantile.rank_error`.

    Examples
    --------
    >>> import curvedp as cdp
    >>> grades = [1, 2, 2, 3, 3, 3, 3, 4, 4, 5] * 1000
    >>> how = {"low": 0.0, "high": 6.0, "guarantee": cdp.PureDP(1.0)}
    >>> quartiles = cdp.quantile(grades, [0.25, 0.5, 0.75], step=1.0, **how)
    >>> quartiles.value.tolist(), quartiles.levels.tolist()
    ([2.0, 3.0, 4.0], [0.25, 0.5, 0.75])
    """

    levels: NDArray[np.float64]
    rank_error: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", frozen_array(self.levels))
        object.__setattr__(self, "rank_error", float(self.rank_error))

    def _domain(self) -> str:
        center = float(self.ball_center[0])
        low, high = center - self.ball_radius, center + self.ball_radius
        return f"interval from {low:.6g} to {high:.6g}; values outside were moved to its ends"

    def _counted(self) -> str:
        return ""

    def _error(self) -> str:
        return (
            f"within {math.ceil(self.rank_error)} ranks with probability {PROBABILITY:g}, whatever "
            "the values are; usual are a few times the noise scale, which counts ranks"
        )


@dataclass(frozen=True)
class Quantile(EachGroup[QuantileRelease]):
    """Quantiles of numbers as a value; `quantile` releases them.

    Parameters
    ----------
    q, low, high, base, step
        As in `quantile`.

    Examples
    --------
    >>> Quantile(0.5, low=0.0, high=120.0).ball().radius
    60.0
    """

    title: ClassVar[str] = "quantile"
    word: ClassVar[str | None] = "quantile"
    memory: ClassVar[float] = 7.0
    counted: ClassVar[bool] = False
    takes_unknown_n: ClassVar[bool] = True

    q: float | Sequence[float]
    low: float
    high: float
    base: str = "uniform"
    step: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_levels(self.q))
        for name in ("low", "high"):
            object.__setattr__(self, name, as_finite(getattr(self, name), name))
        DecimalGrid.of(self.low, self.high, self.step, self.base)

    def ball(self) -> Ball:
        """The interval as a ball on the line."""
        return Ball(Euclidean(1), [0.5 * (self.low + self.high)], 0.5 * (self.high - self.low))

    def check(self, call: Call) -> None:
        self._mechanism(call)

    def _mechanism(self, call: Call) -> GridQuantile:
        return GridQuantile(
            self.q,
            low=self.low,
            high=self.high,
            guarantee=call.guarantee,
            records_per_unit=call.records_per_unit,
            base=self.base,
            step=self.step,
        )

    def mechanism_of(self, design: GridQuantile) -> str:
        return design.name

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (len(self.q),) if isinstance(self.q, tuple) else ()

    def design(self, call: Call, ball: Ball, n: int) -> GridQuantile:
        return self._mechanism(call)

    def outlook(self, call: Call, design: GridQuantile, n: int) -> tuple[float, float]:
        return design.scale, math.nan

    def release_group(self, group: Group) -> QuantileRelease:
        mechanism: GridQuantile = group.design
        levels = ", ".join(f"{level:g}" for level in mechanism.levels)
        plural = "s" if len(mechanism.levels) > 1 else ""
        described = group.release(
            value=mechanism.sample(group.records[:, 0], group.stream(0))[0],
            statistic=f"quantile{plural} at level{plural} {levels}",
            sensitivity=mechanism.sensitivity,
            solver_tolerance=0.0,
            scale=mechanism.scale,
            expected_error=None,
        )
        fields = {name: getattr(described, name) for name in Release.__dataclass_fields__}
        rank_error = mechanism.rank_error(PROBABILITY)
        return QuantileRelease(**fields, levels=np.array(mechanism.levels), rank_error=rank_error)


@overload
def quantile(
    values: ArrayLike,
    q: float | Sequence[float],
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: None = None,
    base: str = "uniform",
    step: float | None = None,
    **call: Unpack[CallOptions],
) -> QuantileRelease: ...
@overload
def quantile(
    values: ArrayLike,
    q: float | Sequence[float],
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: GroupsLike,
    base: str = "uniform",
    step: float | None = None,
    **call: Unpack[CallOptions],
) -> Releases[QuantileRelease]: ...
@quiet
@hinting
def quantile(
    values: ArrayLike,
    q: float | Sequence[float],
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: GroupsLike = None,
    base: str = "uniform",
    step: float | None = None,
    **call: Unpack[CallOptions],
) -> QuantileRelease | Releases[QuantileRelease]:
    """Release quantiles of numbers under differential privacy.

    Values are rounded to a public grid; a point y of it has a probability in proportion to
    measure(y) exp(-D(y) / scale), D(y) = max(0, L(y) - q n, q n - U(y)), where L(y) of the n values
    lie below y and U(y) at or below it. D(y) is the number of values that must be replaced for y to
    be a q-quantile, so a value that many records share is released itself: 5 of 100,000 fives, 3 of
    answers from 1 to 5 whose median is 3. The release is off by a few `scale` = 2 records_per_unit
    / epsilon ranks; at worst, `rank_error` says, by some thirty.

    Up to four levels are drawn one by one and share the guarantee (epsilon/m, mu/sqrt(m)). More are
    found by halving: the middle level first, then those on each side among the values there, at the
    price of ceil(log2(m + 1)) draws.

    Parameters
    ----------
    values : array-like, shape (n,)
        One number per record; n is public. No value raises: values outside the interval count as
        its nearer end, NaN as `low`.
    q : float, or list of float
        Level between 0 and 1, 0.5 for the median, or several in increasing order.
    low : float
        Lower end of the public interval, chosen without looking at the values.
    high : float
        Upper end of the public interval.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of all levels together when one unit's values are replaced. With the epsilon of
        a density it satisfies epsilon-DP, epsilon^2/8-zCDP and mu-GDP with
        mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))).
    groups : array-like, optional
        Labels or offsets of public groups; see `frechet_mean`.
    base : {"uniform", "log-uniform"}
        Public measure on the grid: "log-uniform" (low > 0) where the order of magnitude is not
        known beforehand; each doubling then has the same mass.
    step : float, optional
        Distance of the grid's points, counted from `low`, where values are known to lie on them: 1
        for ages, counts, answers. They then all have the same mass, and smaller groups of equal
        values are found. By default a power of ten of at most 2^-32 of the interval; a fifth of
        the mass is on its multiples of 10, 100, ..., such as 5 and 0.1.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`; there is no `coverage`, since it does not count its records.

    Returns
    -------
    QuantileRelease, or Releases with `groups`
        `value` has shape (), or (m,) for a list of m levels, in increasing order; sensitivity and
        scale count ranks.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    McSherry and Talwar (2007), Mechanism design via differential privacy; Smith (2011),
    Privacy-preserving statistical estimation with optimal convergence rates, section 3; Kaplan,
    Schnapp and Stemmer (2022), Differentially private approximate quantiles.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ages = np.random.default_rng(0).normal(40.0, 12.0, size=2000)
    >>> median = cdp.quantile(ages, 0.5, low=0.0, high=120.0, guarantee=cdp.PureDP(1.0))
    >>> bool(abs(median.value - 40.0) < 5.0)
    True
    >>> children = np.random.default_rng(0).poisson(1.2, size=20_000)
    >>> how = {"low": 0.0, "high": 20.0, "step": 1.0, "guarantee": cdp.PureDP(1.0)}
    >>> cdp.quantile(children, [0.25, 0.5, 0.9], **how).value
    array([0., 1., 3.])
    """
    data = as_values(values, least=0 if adds_or_removes(guarantee) else 1)
    statistic = Quantile(q, low=low, high=high, base=base, step=step)
    if call.get("units") is not None:  # a person's mean is that of values as they count
        data = np.where(np.isnan(data), statistic.low, np.clip(data, statistic.low, statistic.high))
    return release(statistic, data[:, None], statistic.ball(), guarantee, groups=groups, **call)
