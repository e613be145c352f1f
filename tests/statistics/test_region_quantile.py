"""The quantile of a region: known laws where they are known, coverage where noise dominates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp.statistics.bootstrap import NoisyCovariance
from curvedp.statistics.quantiles import dof_at_quantile, effective_dof, hotelling_quantile


def estimate(dim: int, n: int, noise: float = 0.0, floor: float = 1e-9) -> NoisyCovariance:
    return NoisyCovariance(
        second=np.eye(dim),
        second_range=(floor, math.inf),
        second_scale=noise,
        hessian=np.eye(dim),
        hessian_range=(1.0, 1.0),
        hessian_scale=0.0,
        mean_noise=np.zeros((dim, dim)),
        n=n,
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 15])
def test_without_noise_the_bootstrap_finds_chi_squared(dim: int) -> None:
    q = estimate(dim, n=10**9).quantile(0.95)
    assert math.isclose(q, stats.chi2.ppf(0.95, dim), rel_tol=0.04)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [60, 200])
def test_with_sampling_alone_the_bootstrap_finds_hotellings_law(dim: int, n: int) -> None:
    """Up to the normal approximation of Wishart matrices."""
    q = estimate(dim, n).quantile(0.95)
    expected = hotelling_quantile(0.95, dim, n - 1)
    assert math.isclose(q, expected, rel_tol=0.1)
    assert q > stats.chi2.ppf(0.95, dim)


@pytest.mark.parametrize("dim", [2, 6])
def test_with_little_noise_the_bootstrap_agrees_with_the_expansion(dim: int) -> None:
    noise = 0.12
    a = noise**2 * (dim * (dim + 1) / 2 - dim / (dim + 1))
    b = noise**2 * (dim - dim**2 / (dim + 1))
    expected = hotelling_quantile(0.95, dim, effective_dof(dim, a, b))
    q = estimate(dim, 10**9, noise).quantile(0.95)
    assert math.isclose(q, expected, rel_tol=0.05)
    assert expected > 1.01 * stats.chi2.ppf(0.95, dim)


def test_the_bootstrap_is_a_function_of_its_arguments() -> None:
    np.random.default_rng(1).standard_normal(3)
    one, again = (estimate(3, 50, 0.5, 0.5).quantile(0.95) for _ in range(2))
    assert one == again


def test_the_spread_of_eigenvalues_is_reduced_and_their_mean_kept() -> None:
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((4, 4))
    second = np.eye(4) + 0.1 * (noisy + noisy.T)
    exact = replace(estimate(4, 10**9), second=second)
    np.testing.assert_allclose(exact.less_spread(), second, atol=1e-7)
    blurred = replace(exact, second_scale=0.1).less_spread()
    drowned = replace(exact, second_scale=10.0).less_spread()
    assert math.isclose(np.trace(blurred), np.trace(second), rel_tol=1e-12)
    assert 0.0 < np.ptp(np.linalg.eigvalsh(blurred)) < np.ptp(np.linalg.eigvalsh(second))
    np.testing.assert_allclose(drowned, np.trace(second) / 4 * np.eye(4), atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 15])
def test_degrees_of_freedom_are_read_off_the_quantile(dim: int) -> None:
    for dof in (dim + 1.0, dim + 5.0, 100.0, 1e5):
        found = dof_at_quantile(hotelling_quantile(0.95, dim, dof), dim)
        assert math.isclose(found, dof, rel_tol=1e-4)
    assert math.isinf(dof_at_quantile(stats.chi2.ppf(0.95, dim) * 0.9, dim))
    assert dof_at_quantile(1e12, dim) == dim + 1.0


def test_regions_cover_and_stay_small_where_noise_outweighs_the_covariance() -> None:
    """Six dimensions, most of them flat beside the noise; the standard error is 0.02."""
    ball = cdp.Ball(cdp.Euclidean(6), np.zeros(6), 2.0)
    widths = np.linspace(0.5, 0.03, 6)
    hits, ratios = [], []
    for i in range(120):
        rng = np.random.default_rng([3, i])
        records = widths * np.clip(rng.standard_normal((300, 6)), -3, 3)
        region = cdp.confidence_region(records, ball, cdp.GDP(1.0), seed=i)
        narrow = replace(region, quantile=region.quantile / 2)
        hits.append([bool(r.contains(ball.center)) for r in (region, narrow)])
        ratios.append(region.quantile / stats.chi2.ppf(0.95, 6))
    covered, by_half = np.mean(hits, axis=0)
    assert covered >= 0.89
    assert by_half < 0.89
    assert np.median(ratios) < 1.5
