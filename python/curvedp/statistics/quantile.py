"""The private quantile of numbers in a public interval.

    values -> clipped to [low, high] -> exponential mechanism on ranks -> public grid -> Release

Proof: docs/proofs/private-quantile.md.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from curvedp._validation import FloatArray, as_records
from curvedp.domain import Ball
from curvedp.manifolds import Euclidean
from curvedp.mechanisms import RankExponential
from curvedp.privacy import Guarantee, Ledger, Release
from curvedp.statistics.entry import Entry, check_guarantee


def quantile(
    values: ArrayLike,
    q: float,
    *,
    low: float,
    high: float,
    guarantee: Guarantee,
    base: str = "uniform",
    records_per_unit: int = 1,
    ledger: Ledger | None = None,
    seed: int | None = None,
) -> Release:
    """Release a quantile of numbers under differential privacy.

    The density at y is proportional to exp(-|k(y) - q n| / scale) with respect to the base measure
    on [low, high], where k(y) of the n values lie below y: the release is off by a few `scale` =
    2 records_per_unit / epsilon ranks, more where large gaps of the interval hold no value.

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
        What the release shall satisfy when one unit's values are replaced. With epsilon that of the
        density, it satisfies epsilon-DP, epsilon^2/8-zCDP and mu-GDP with
        mu = 2 Phi^-1(1/(1 + e^(-epsilon/2))).
    base : {"uniform", "log-uniform"}
        Public measure on the interval: "log-uniform" (low > 0) where the order of magnitude is not
        known beforehand.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget to spend from, before any noise is drawn.
    seed : int, optional
        For tests and examples only: the release is then `Unproved`.

    Returns
    -------
    Release
        `value` has shape (); sensitivity and scale count ranks.

    Raises
    ------
    BudgetError
        If the ledger refuses.
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

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
    data = as_records(values, (), "values")
    mechanism = RankExponential(
        q,
        low=low,
        high=high,
        guarantee=check_guarantee(guarantee),
        records_per_unit=records_per_unit,
        base=base,
    )
    middle, half = 0.5 * (mechanism.low + mechanism.high), 0.5 * (mechanism.high - mechanism.low)
    entry = Entry.check(
        data[:, None],
        Ball(Euclidean(1), [middle], half),
        guarantee,
        records_per_unit=records_per_unit,
        ledger=ledger,
        calibration="proved",
        seed=seed,
        progress=False,
    )
    entry.spend("quantile")
    return release_quantile(entry, data, mechanism, statistic=f"quantile at level {mechanism.q:g}")


def release_quantile(
    entry: Entry, values: FloatArray, mechanism: RankExponential, stage: int = 0, **fields: Any
) -> Release:
    """The quantile of one value per record of a call whose budget has been spent."""
    return entry.release(
        entry.promise(mechanism.guarantee),
        value=mechanism.sample(values, entry.stream(stage))[0],
        mechanism=mechanism.name,
        sensitivity=mechanism.sensitivity,
        solver_tolerance=0.0,
        scale=mechanism.scale,
        expected_error=None,
        **fields,
    )
