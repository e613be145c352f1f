"""Prefix counts by a square root (docs/proofs/sums-of-messages.md, 8)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import isqrt

import numpy as np
import pytest

from chance import DEVIATIONS

SCALE = 2**20


@cache
def coefficients(bins):
    """b_k = C(2k, k) / 4^k, exactly."""
    return [Fraction(math.comb(2 * k, k), 4**k) for k in range(bins)]


def column(bins):
    """rint(2^20 b_k), as Python rounds a fraction."""
    return [round(SCALE * b) for b in coefficients(bins)]


def lower_toeplitz(first):
    places = np.subtract.outer(np.arange(len(first)), np.arange(len(first)))
    return np.where(places >= 0, np.asarray(first, float)[places], 0.0)


#: β² of the page's table, and the bound for replacing over that for adding.
PRINTED = {64: (2.389, 1.237), 80: (2.460, 1.243), 277: (2.856, 1.268), 400: (2.973, 1.274)}


def test_the_table_is_a_root_of_all_prefix_sums():
    b = coefficients(64)
    for k in range(64):
        assert sum(b[i] * b[k - i] for i in range(k + 1)) == 1


@pytest.mark.parametrize("bins", PRINTED)
def test_the_noise_of_prefix_counts_is_that_of_the_page(bins):
    """Deviations of B(Bh + η) - h's prefix sums: those of Bη with β/μ on every entry."""
    root = lower_toeplitz(coefficients(bins))
    beta_squared = float(sum(b * b for b in coefficients(bins)))
    assert round(beta_squared, 3) == PRINTED[bins][0]
    covariance = root @ root.T * beta_squared  # of a share of 1
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(deviations <= beta_squared * (1 + 1e-12))
    assert math.isclose(deviations[-1], beta_squared, rel_tol=1e-12)
    # the control: prefix sums of a histogram with noise of deviation 1
    histogram = np.tril(np.ones((bins, bins)))
    assert math.sqrt((histogram @ histogram.T)[-1, -1]) > 3 * deviations[-1]


def test_a_wide_range_costs_its_logarithm():
    limit = (np.euler_gamma + 4 * math.log(2)) / math.pi
    assert round(limit, 4) == 1.0663
    b, total = 1.0, 0.0
    for k in range(200_000):
        total += b * b
        b *= (2 * k + 1) / (2 * k + 2)
        if k + 1 in (64, 400, 10_000, 200_000):
            assert abs(total - math.log(k + 1) / math.pi - limit) < 0.1 / (k + 1)


@pytest.mark.parametrize("bins", PRINTED)
def test_bounds_of_columns_are_those_of_the_page(bins):
    first = column(bins)
    moved = [[0] * j + first[: bins - j] for j in range(bins)]
    norms = [sum(a * a for a in c) for c in moved]
    assert max(norms) == norms[0]
    from_first = [sum((a - b) ** 2 for a, b in zip(first, c, strict=True)) for c in moved]
    sample = range(0, bins, 1 if bins < 100 else 37)
    everything = np.array(moved, dtype=np.int64)
    products = everything.astype(float) @ everything.astype(float).T
    distances = np.add.outer(np.diag(products), np.diag(products)) - 2 * products
    assert np.unravel_index(distances.argmax(), distances.shape)[0] == 0
    assert all(distances[i, j] <= max(from_first) for i in sample for j in sample)
    assert round(math.sqrt(max(from_first) / norms[0]), 3) == PRINTED[bins][1]
    assert max(from_first) <= 2 * norms[0]


def test_columns_in_which_signs_alternate_move_further():
    """The control: what makes √2 enough is that no entry is negative."""
    first = np.array(column(64))
    signs = (-1) ** np.arange(64)
    second = np.append(0, (first * signs)[:-1])
    assert ((first * signs - second) ** 2).sum() > 2 * (first**2).sum()


@pytest.mark.parametrize("bins", [64, 80])
def test_units_of_many_bins_keep_the_bound(bins):
    """Means of columns, cut towards 0, differ by K_G + √G at most and are no longer than K_H."""
    rng = np.random.default_rng(bins)
    first = column(bins)
    table = np.array([[0] * j + first[: bins - j] for j in range(bins)], dtype=np.int64)
    longest = int((table[0] ** 2).sum())
    widest = max(int(((table[0] - c) ** 2).sum()) for c in table)
    room = widest + isqrt(4 * widest * bins) + bins
    for _ in range(2000):
        units = []
        for side in (0, 1):
            low, high = ((0, 3), (0, bins), (bins * 3 // 4, bins))[int(rng.integers(3))]
            if rng.random() < 0.3:
                low, high = ((0, 1), (bins * 53 // 64, bins * 53 // 64 + 1))[side]
            records = table[rng.integers(low, high, size=int(rng.integers(1, 9)))]
            units.append(records.sum(axis=0) // len(records))
            assert (units[-1] ** 2).sum() <= longest
        assert ((units[0] - units[1]) ** 2).sum() <= room


@pytest.mark.parametrize("bins", PRINTED)
def test_rounding_of_table_and_noise_moves_no_count_by_more_than_a_hundred_thousandth(bins):
    b = np.array(coefficients(bins), float)
    errors = lower_toeplitz(column(bins)) / SCALE - lower_toeplitz(b)
    assert np.abs(errors).max() <= 2.0**-21
    assert np.abs(lower_toeplitz(b) @ errors).max() <= b.sum() * 2.0**-21 < 1.1e-5


def test_counts_drawn_are_as_far_off_as_they_should_be():
    """The whole way with integers: histogram, table, rounded noise, table again."""
    rng = np.random.default_rng(11)
    bins, share, draws = 80, 0.4, 4000
    histogram = rng.multinomial(500, rng.dirichlet(np.full(bins, 0.2)))
    first = column(bins)
    message = lower_toeplitz(first).astype(np.int64) @ histogram
    sigma = math.sqrt(sum(a * a for a in first)) / share
    noise = np.rint(sigma * rng.standard_normal((draws, bins))).astype(np.int64)
    counts = (message + noise) @ lower_toeplitz(coefficients(bins)).T / SCALE
    off = counts - np.cumsum(histogram)
    b = np.array(coefficients(bins), float)
    expected = math.sqrt((b * b).sum()) / share * np.sqrt(np.cumsum(b * b))
    assert np.all(np.abs(off.mean(axis=0)) < DEVIATIONS * expected / math.sqrt(draws))
    ratio = off.std(axis=0) / expected
    assert np.all(np.abs(ratio - 1) < DEVIATIONS / math.sqrt(2 * draws))


# ---- radii by ranks


def largest_loss(level, scale):
    """Over all data sets of up to 14 distances on three points and one more distance."""
    worst = 0.0
    points = np.arange(3)
    for size in range(15):
        for values in combinations_with_replacement(range(3), size):
            for more in range(3):
                logs = []
                for v in (values, (*values, more)):
                    ranks = (np.array(v, int)[:, None] <= points).sum(axis=0)
                    scores = -np.abs(ranks - level * len(v)) / scale
                    logs.append(scores - np.logaddexp.reduce(scores))
                worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
    return worst


@pytest.mark.parametrize("level", [0.5, 0.7, 0.9])
def test_ranks_need_the_larger_part_of_one_record(level):
    epsilon = 1.0
    assert largest_loss(level, 2 * level / epsilon) <= epsilon + 1e-12
    if level > 0.5:  # the control: what is enough for the median
        assert largest_loss(level, 1 / epsilon) > 1.1 * epsilon
