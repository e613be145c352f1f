"""Counts by the square-root factorization, and what is read from them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from curvedp import _core
from curvedp.sums.tail_counts import (
    UNIT,
    TailCounts,
    counts_of,
    levels,
    root_entries,
)

BINS = 64


def _sum_of_columns(dist: np.ndarray, largest: float, bins: int = BINS) -> np.ndarray:
    """The sum of the columns of records, from the definition."""
    entries = np.asarray(_core.square_root_column(bins))
    total = np.zeros(bins)
    for t in dist:
        j = min(bins - 1, max(0, math.floor(4 * math.log2(largest / t)))) if t > 0 else bins - 1
        total[j:] += entries[: bins - j]
    return total


def test_the_square_of_the_root_sums_prefixes() -> None:
    b = root_entries(BINS)
    assert [Fraction(x).limit_denominator(4**20) for x in b[:6]] == [
        Fraction(math.comb(2 * k, k), 4**k) for k in range(6)
    ]
    np.testing.assert_allclose(np.convolve(b, b)[:BINS], 1.0, rtol=1e-13)


def test_without_noise_counts_are_the_numbers_of_records_beyond_each_level() -> None:
    rng = np.random.default_rng(5)
    dist = rng.gamma(2.0, 0.3, size=200)
    y = levels(4.0, BINS)
    counts, _ = counts_of(_sum_of_columns(dist, 4.0), 0.0)
    below = np.append(y[1:], 0.0)
    expected = [np.count_nonzero(dist > level) for level in below[:-1]] + [len(dist)]
    np.testing.assert_allclose(counts, expected, atol=1e-3)


@pytest.mark.parametrize("bins", [64, 80])
def test_the_noise_of_counts_has_the_stated_deviation(bins: int) -> None:
    rng = np.random.default_rng(6)
    draws = np.array(
        [counts_of(rng.standard_normal(bins) / UNIT, 1.0 / UNIT)[0] for _ in range(4000)]
    )
    _, deviation = counts_of(np.zeros(bins), 1.0 / UNIT)
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.08)
    assert draws.std(axis=0)[-1] == pytest.approx(deviation[-1], rel=0.08)


def _exact(dist: np.ndarray, largest: float, deviation: float = 1e-9) -> TailCounts:
    counts, sd = counts_of(_sum_of_columns(dist, largest), deviation / UNIT)
    return TailCounts(levels(largest, BINS), counts, sd)


def test_the_clip_level_is_found_from_below() -> None:
    dist = np.repeat([0.1, 1.0, 8.0], [900, 80, 20])
    tails = _exact(dist, 16.0)
    index = tails.clip(np.full(BINS, 30.0))
    assert 1.0 <= tails.level[index] <= 1.2
    # one noisy count far out does not end the scan
    noisy = tails.count.copy()
    noisy[2] = 90.0
    assert TailCounts(tails.level, noisy, tails.deviation).clip(np.full(BINS, 30.0)) == index
    first_from_above = int(np.argmax(noisy > 30.0))
    assert tails.level[first_from_above] > 8.0


def test_the_excess_beyond_the_clip_level_is_that_of_the_records() -> None:
    dist = np.repeat([0.1, 1.0, 8.0], [900, 80, 20])
    tails = _exact(dist, 16.0)
    index = tails.clip(np.full(BINS, 30.0))
    exact = float(np.maximum(dist - tails.level[index], 0.0).sum())
    assert tails.excess(index, 4.0, (1.5, 3.0)) == pytest.approx(exact, rel=0.2)
    assert tails.median(1000.0) == pytest.approx(0.1, rel=0.2)
    assert tails.quantile(0.95, 1000.0) == pytest.approx(1.0, rel=0.2)


def test_counts_that_noise_alone_makes_tell_nothing() -> None:
    rng = np.random.default_rng(7)
    excess = []
    for _ in range(500):
        noise = rng.standard_normal(BINS) / UNIT
        counts, sd = counts_of(_sum_of_columns(np.full(1000, 1e-4), 2.0**8) + noise, 1.0 / UNIT)
        tails = TailCounts(levels(2.0**8, BINS), counts, sd)
        index = tails.clip(np.maximum(5.0, 2.0 * sd))
        excess.append(tails.excess(index, 4.0, (1.5, 3.0)) / tails.level[index])
    # in clip levels times records: on average less than a tenth of what noise of 1000 records is
    assert np.mean(excess) < 5.0
