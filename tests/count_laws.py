"""The law of count, resize, release on the line, exactly: for tests of what it promises.

The whole release on the line is (count, value): the count's law, the number m that follows, the
selection's hypergeometric law and the noise of m records are all taken from the library, and
delta(epsilon) of two data sets that differ by one record is an integral over the values, a sum over
the counts. Theorem and proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import sensitivity
from curvedp.mechanisms.calibration import calibrated_scale
from curvedp.privacy.base import with_relation
from curvedp.statistics.count_plan import CountPlan

ADD = "add-remove"
LINE = cdp.Ball("euclidean:1", [0.0], 1.0)
WHOLE = [cdp.GDP(1.0), cdp.GDP(0.6), cdp.PureDP(1.0), cdp.PureDP(2.0)]
SIZES = (0, 1, 2, 5)
#: Of the integrals, and of counts that are left out.
TOLERANCE = 1e-5
Selected = Callable[[int, int, bool], dict[float, float]]


def plan_of(whole: cdp.privacy.Guarantee, n: int = 9, *, private_keys: bool = False) -> CountPlan:
    return CountPlan.of(with_relation(whole, ADD), n, 1, 1, private_keys=private_keys)


def counts_of(plan: CountPlan, n: int) -> dict[int, float]:
    """The law of the released count, of all but 1e-13."""
    reach = math.ceil(40 * plan.scale)
    noise = np.arange(-reach, reach + 1)
    if isinstance(plan.way, cdp.PureDP):
        q = math.exp(-plan._rate)
        weights = (1 - q) / (1 + q) * q ** np.abs(noise).astype(float)
    else:
        ends = np.concatenate([noise - 0.5, [reach + 0.5]]) / plan.scale
        weights = np.where(noise > 0, -np.diff(stats.norm.sf(ends)), np.diff(stats.norm.cdf(ends)))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    return {n + int(k): float(w) for k, w in zip(noise, weights, strict=True)}


def means_of_selection(n: int, m: int, with_one: bool) -> dict[float, float]:
    """The law of the mean of m of n records at -1 and, if it is there, one at 1; padded by 0."""
    total = n + with_one
    missing = max(0, m - total)
    chance = (min(1.0, m / total) if total else 0.0) if with_one else 0.0
    of_others = -(min(m, total) - 0.0)
    law = {of_others / m: 1.0 - chance, (of_others + 2.0) / m: chance}
    assert missing + min(m, total) == m
    return {mean: weight for mean, weight in law.items() if weight > 0}


def scale_of(plan: CountPlan, m: int) -> float:
    way = plan.rest.sufficient_gdp() if isinstance(plan.rest, cdp.ApproxDP) else plan.rest
    return calibrated_scale(sensitivity.frechet_mean(LINE, m), 0.0, way)


def used(plan: CountPlan, count: int) -> int:
    return max(1, plan.target(count))


def delta(
    plan: CountPlan,
    n: int,
    epsilons: Sequence[float],
    *,
    remove: bool = False,
    noise: Callable[[CountPlan, int], float] = scale_of,
    selected: Selected = means_of_selection,
    paid: bool = True,
) -> np.ndarray:
    """delta(epsilon) of the release of n records against that of n + 1, or of the reverse, for each
    epsilon."""
    laws = []
    for with_one in (False, True):
        size = n + with_one
        laws.append(counts_of(plan, size) if paid else {size: 1.0})
    if remove:
        laws.reverse()
    total = np.zeros(len(epsilons))
    for count, weight in laws[0].items():
        other = laws[1].get(count, 0.0)
        if weight < 1e-10:
            continue
        m = used(plan, count)
        own = selected(n, m, remove)
        against = selected(n, m, not remove)
        total += weight * excess(plan, noise(plan, m), own, against, epsilons, other / weight)
    return total


def excess(
    plan: CountPlan,
    scale: float,
    own: dict[float, float],
    against: dict[float, float],
    epsilons: Sequence[float],
    ratio: float,
) -> np.ndarray:
    """The integrals of the positive part of p - e^epsilon ratio q, of mixtures with one noise."""
    places = np.array([*own, *against])
    grid = np.linspace(places.min() - 20 * scale, places.max() + 20 * scale, 6_001)

    def density(mixture: dict[float, float]) -> np.ndarray:
        means, weights = np.array([*mixture]), np.array([*mixture.values()])
        z = np.abs(grid - means[:, None]) / scale
        if isinstance(plan.way, cdp.PureDP):
            return weights @ np.exp(-z) / (2 * scale)
        return weights @ np.exp(-(z**2) / 2) / (scale * math.sqrt(2 * math.pi))

    p, q = density(own), ratio * density(against)
    return np.array([np.trapezoid(np.maximum(p - math.exp(e) * q, 0), grid) for e in epsilons])


def cells(
    plan: CountPlan, n: int, remove: bool = False, threshold: float = -math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of (count, value) in narrow cells, of n records and of one more, or reversed.

    All counts below a threshold are one cell, the last: there nothing is shown.
    """
    few, many = counts_of(plan, n), counts_of(plan, n + 1)
    counts = [own for own in sorted({*few, *many}) if max(few.get(own, 0), many.get(own, 0)) > 1e-9]
    law = stats.laplace if isinstance(plan.rest, cdp.PureDP) else stats.norm
    tables: list[list[np.ndarray]] = [[], []]
    hidden = [0.0, 0.0]
    for count in counts:
        weights = few.get(count, 0.0), many.get(count, 0.0)
        if count < threshold:
            hidden = [one + own for one, own in zip(hidden, weights, strict=True)]
            continue
        m = used(plan, count)
        scale = scale_of(plan, m)
        ends = np.linspace(-1.0 - 12 * scale, 1.0 + 12 * scale, 1_501)
        for table, weight, with_one in zip(tables, weights, (False, True), strict=True):
            mixture = means_of_selection(n, m, with_one)
            table.append(
                weight * sum(w * np.diff(law.cdf(ends, mean, scale)) for mean, w in mixture.items())
            )
    found = [np.append(np.concatenate([*t, []]), h) for t, h in zip(tables, hidden, strict=True)]
    return (found[1], found[0]) if remove else (found[0], found[1])


def delta_of(law: tuple[np.ndarray, np.ndarray], epsilon: float | np.ndarray) -> np.ndarray:
    """delta(epsilon) of a pair of laws on the same cells."""
    p, q = (own[law[0] > 0] for own in law)
    with np.errstate(divide="ignore"):
        losses = np.log(p) - np.log(q)
    order = np.argsort(-losses)
    p, q, losses = p[order], q[order], losses[order]
    sums = np.concatenate(([0.0], np.cumsum(p))), np.concatenate(([0.0], np.cumsum(q)))
    at = np.searchsorted(-losses, -np.asarray(epsilon, dtype=float))
    return sums[0][at] - np.exp(epsilon) * sums[1][at]


def delta_of_both(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], epsilon: float
) -> float:
    """delta(epsilon) of two independent releases together."""
    p, q = one
    sure = p > 0
    p, q = p[sure], q[sure]
    with np.errstate(divide="ignore"):
        losses = np.log(p) - np.log(q)
    finite = np.isfinite(losses)
    return float(p[~finite].sum() + p[finite] @ delta_of(other, epsilon - losses[finite]))
