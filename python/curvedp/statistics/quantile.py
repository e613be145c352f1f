"""The private quantile of numbers in a public interval.

    values -> clipped to [low, high] -> exponential mechanism on ranks -> public grid -> Release

Proof: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._validation import as_finite, as_level, as_values
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import RankExponential
from curvedp.privacy import Guarantee, Release
from curvedp.statistics.call import Call, CallOptions
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release
from curvedp.statistics.releases import Releases


@dataclass(frozen=True)
class Quantile(EachGroup[Release]):
    """A quantile of numbers as a value; `quantile` releases it.

    Parameters
    ----------
    q, low, high, base
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

    q: float
    low: float
    high: float
    base: str = "uniform"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_level(self.q, "q"))
        for name in ("low", "high"):
            object.__setattr__(self, name, as_finite(getattr(self, name), name))
        if not self.low < self.high:
            raise ValueError(f"low must be less than high, got {self.low:g} and {self.high:g}")
        if not math.isfinite(self.high - self.low):
            raise ValueError("low and high are too far apart for double precision")

    def ball(self) -> Ball:
        """The interval as a ball on the line."""
        return Ball(Euclidean(1), [0.5 * (self.low + self.high)], 0.5 * (self.high - self.low))

    def check(self, call: Call) -> None:
        self._mechanism(call)

    def _mechanism(self, call: Call) -> RankExponential:
        return RankExponential(
            self.q,
            low=self.low,
            high=self.high,
            guarantee=call.guarantee,
            records_per_unit=call.records_per_unit,
            base=self.base,
        )

    def mechanism_of(self, design: RankExponential) -> str:
        return design.name

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return ()

    def design(self, call: Call, ball: Ball, n: int) -> RankExponential:
        return self._mechanism(call)

    def outlook(self, call: Call, design: RankExponential, n: int) -> tuple[float, float]:
        return design.scale, math.nan

    def release_group(self, group: Group) -> Release:
        mechanism: RankExponential = group.design
        return group.release(
            value=mechanism.sample(group.records[:, 0], group.stream(0))[0],
            statistic=f"quantile at level {self.q:g}",
            sensitivity=mechanism.sensitivity,
            solver_tolerance=0.0,
            scale=mechanism.scale,
            expected_error=None,
        )


@overload
def quantile(
    values: ArrayLike,
    q: float,
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: None = None,
    base: str = "uniform",
    **call: Unpack[CallOptions],
) -> Release: ...
@overload
def quantile(
    values: ArrayLike,
    q: float,
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: GroupsLike,
    base: str = "uniform",
    **call: Unpack[CallOptions],
) -> Releases[Release]: ...
@quiet
@hinting
def quantile(
    values: ArrayLike,
    q: float,
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    groups: GroupsLike = None,
    base: str = "uniform",
    **call: Unpack[CallOptions],
) -> Release | Releases[Release]:
    """Release a quantile of numbers under differential privacy.

    The density at y is proportional to exp(-|k(y) - q n| / scale) with respect to the base measure
    on [low, high], where k(y) of the n values lie below y: the release is off by a few `scale` =
    2 records_per_unit / epsilon ranks, more where large gaps of the interval hold no value. That
    does not bound its distance from the quantile: where many values are equal, as in counts, grades
    or rounded numbers, it may lie anywhere between theirs and the next other value, or the end of
    the interval. Of 100,000 values of 5 in [0, 100] the median was released as 3 to 97.

    Parameters
    ----------
    values : array-like, shape (n,)
        One number per record; n is public. No value raises: values outside the interval count as
        its nearer end, NaN as `low`.
    q : float
        Level between 0 and 1: 0.5 for the median.
    low, high : float
        Public interval, chosen without looking at the values.
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Guarantee of the release when one unit's values are replaced. With the epsilon of the
        density it satisfies epsilon-DP, epsilon^2/8-zCDP and mu-GDP with
        mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))).
    groups : array-like, optional
        Labels or offsets of public groups; see `frechet_mean`.
    base : {"uniform", "log-uniform"}
        Public measure on the interval: "log-uniform" (low > 0) where the order of magnitude is not
        known beforehand.
    records_per_unit, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
        As in `frechet_mean`.

    Returns
    -------
    Release, or Releases with `groups`
        `value` has shape (); sensitivity and scale count ranks.

    Raises
    ------
    BudgetError, ExistenceError, ValueError, TypeError
        As in `frechet_mean`.

    References
    ----------
    McSherry and Talwar (2007), Mechanism design via differential privacy; Smith (2011),
    Privacy-preserving statistical estimation with optimal convergence rates, section 3.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ages = np.random.default_rng(0).normal(40.0, 12.0, size=2000)
    >>> median = cdp.quantile(ages, 0.5, low=0.0, high=120.0, guarantee=cdp.PureDP(1.0))
    >>> bool(abs(median.value - 40.0) < 5.0)
    True
    """
    data = as_values(values)
    statistic = Quantile(q, low=low, high=high, base=base)
    if call.get("units") is not None:  # a person's mean is that of values as they count
        data = np.where(np.isnan(data), statistic.low, np.clip(data, statistic.low, statistic.high))
    return release(statistic, data[:, None], statistic.ball(), guarantee, groups=groups, **call)
