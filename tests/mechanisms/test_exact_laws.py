"""The distribution functions that judge the samplers, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from exact_laws import (
    RadialLaw,
    detectable_gap,
    flat_volume,
    gaussian,
    hyperbolic_volume,
    ks_critical,
    ks_statistic,
    laplace,
    projective_volume,
    spd2_half_gap_cdf,
    spd2_volume,
    spd3_volume,
    sphere_volume,
    uniform_direction_cdf,
)

T = np.linspace(0.01, 3.0, 50)


def law(profile, volume, upper):
    return RadialLaw(lambda t: profile(t) + volume(t), upper)


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_flat_gaussian_radius_is_chi(dim):
    found = law(gaussian(0.7), flat_volume(dim), 12.0).cdf(T)
    np.testing.assert_allclose(found, stats.chi.cdf(T / 0.7, dim), atol=1e-6)


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_flat_laplace_radius_is_gamma(dim):
    found = law(laplace(0.1), flat_volume(dim), 12.0).cdf(T)
    np.testing.assert_allclose(found, stats.gamma.cdf(T / 0.1, dim), atol=1e-5)


def test_uniform_radii_on_sphere_and_projective_space():
    uniform = laplace(np.inf)
    sphere = law(uniform, sphere_volume(2), np.pi).cdf(T)
    np.testing.assert_allclose(sphere, (1 - np.cos(T)) / 2, atol=1e-8)
    t = T[np.pi / 2 > T]
    projective = law(uniform, projective_volume(3), np.pi / 2).cdf(t)
    np.testing.assert_allclose(projective, np.sin(t) ** 6, atol=1e-6)


def test_hyperbolic_plane_laplace_radius():
    """Density e^{-3t} sinh t: P(T <= t) = 1 - 2 e^{-2t} + e^{-4t}."""
    found = law(laplace(1 / 3), hyperbolic_volume(2), 20.0).cdf(T)
    np.testing.assert_allclose(found, 1 - 2 * np.exp(-2 * T) + np.exp(-4 * T), atol=1e-6)


def monte_carlo_spd(m, scale, n):
    """Weighted draws from SPD(m): Gaussian symmetric matrices reweighted to the Laplace density."""
    generator = np.random.default_rng(5)
    square = generator.standard_normal((n, m, m)) * 0.6
    symmetric = (square + np.swapaxes(square, 1, 2)) / 2
    values = np.linalg.eigvalsh(symmetric)
    radius = np.linalg.norm(values, axis=1)
    i, j = np.triu_indices(m, 1)
    gaps = np.abs(values[:, i] - values[:, j])
    # volume over Lebesgue measure on Sym(m): product of sinhc of half gaps
    weight = np.prod(np.sinh(gaps / 2) / (gaps / 2), axis=1)
    weight = weight * np.exp(-radius / scale + radius**2 / (2 * 0.6**2))
    return values, radius, weight / weight.sum()


@pytest.mark.parametrize(("m", "volume", "scale"), [(2, spd2_volume, 0.2), (3, spd3_volume, 0.15)])
def test_spd_radius_agrees_with_reweighted_gaussian_matrices(m, volume, scale):
    _, radius, weight = monte_carlo_spd(m, scale, 200_000)
    exact = RadialLaw(lambda t: laplace(scale)(t) + volume()(t), 10.0, nodes=2_001)
    for t in (0.2, 0.5, 0.9, 1.5):
        assert abs(weight[radius <= t].sum() - exact.cdf(np.array(t))) < 0.02


def test_spd2_gap_agrees_with_reweighted_gaussian_matrices():
    values, _, weight = monte_carlo_spd(2, 0.2, 200_000)
    gap = (values[:, 1] - values[:, 0]) / np.sqrt(2)
    exact = spd2_half_gap_cdf(laplace(0.2), 8.0)
    for g in (0.1, 0.3, 0.6, 1.0):
        assert abs(weight[gap <= g].sum() - exact.cdf(np.array(g))) < 0.02


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_uniform_direction_marginal(dim):
    x = np.linspace(-0.99, 0.99, 9)
    exact = {2: 1 - np.arccos(x) / np.pi, 3: (1 + x) / 2}
    found = uniform_direction_cdf(dim)(x)
    if dim in exact:
        np.testing.assert_allclose(found, exact[dim], atol=1e-12)
    np.testing.assert_allclose(found + found[::-1], 1.0, atol=1e-12)


def test_ks_statistic_agrees_with_scipy():
    sample = np.random.default_rng(1).random(500)
    assert ks_statistic(sample, lambda x: x) == pytest.approx(
        stats.kstest(sample, "uniform").statistic, rel=1e-12
    )


def test_a_detectable_gap_is_detected_almost_always():
    n = 20_000
    generator = np.random.default_rng(2)
    shift = detectable_gap(n)
    wrong = sum(
        ks_statistic(generator.random(n), lambda x: np.clip(x - shift, 0, 1)) <= ks_critical(n)
        for _ in range(100)
    )
    assert wrong <= 3
