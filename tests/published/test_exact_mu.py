"""mu* of Riemannian Gaussian noise on spheres: against a grid, against draws, and its limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import curvedp as cdp
from curvedp.mechanisms import RiemannianGaussian
from curvedp.published import exact_mu


def test_small_noise_is_that_of_flat_space() -> None:
    for dim in (2, 5, 100):
        assert exact_mu(f"sphere:{dim}", 1e-5, 2.5e-5) == pytest.approx(2.5, rel=1e-7)


def test_the_calibration_is_never_too_small_and_far_too_large_for_wide_noise() -> None:
    for dim, sigma, mu in itertools.product((2, 30), (0.02, 0.3, 3.0), (0.1, 2.5)):
        if sigma * mu < math.pi:
            assert exact_mu(f"sphere:{dim}", sigma, sigma * mu) <= mu
    assert exact_mu("sphere:2", 1.0, 1.0) < 0.83
    assert exact_mu("sphere:30", 1.0, 1.0) < 0.3


def test_more_distance_and_less_noise_cost_more() -> None:
    for sigma, gap in itertools.product((0.1, 0.5, 2.0), (0.05, 0.4)):
        mu = exact_mu("sphere:3", sigma, gap)
        assert exact_mu("sphere:3", sigma, 1.1 * gap) > mu > exact_mu("sphere:3", 1.1 * sigma, gap)


def test_it_does_not_depend_on_the_unit() -> None:
    mu = exact_mu(cdp.Sphere(3, radius=2.0), 1.0, 0.8)
    assert mu == pytest.approx(exact_mu("sphere:3", 0.5, 0.4), rel=1e-9)


def profile(sigma: float, gap: float, epsilon: float, count: int = 1500) -> float:
    """delta(epsilon) on S^2 by the midpoint rule in spherical coordinates about the one mean."""
    polar = (np.arange(count) + 0.5) / count * math.pi
    angle = (np.arange(400) + 0.5) / 400 * math.pi
    cosine = np.cos(polar)[:, None] * math.cos(gap)
    cosine = cosine + np.sin(polar)[:, None] * math.sin(gap) * np.cos(angle)
    there = np.exp(-(np.arccos(np.clip(cosine, -1, 1)) ** 2) / (2 * sigma**2))
    here = np.exp(-(polar**2) / (2 * sigma**2))[:, None] * np.ones_like(there)
    weight = np.sin(polar)[:, None] / np.sum(np.sin(polar)[:, None] * here)
    return float(np.sum(weight * np.maximum(here - math.exp(epsilon) * there, 0.0)))


@pytest.mark.parametrize(("sigma", "gap"), [(0.3, 0.3), (1.0, 0.6), (2.0, 1.0)])
def test_it_is_the_least_mu_whose_profile_holds(sigma: float, gap: float) -> None:
    def allowed(mu: float, epsilon: float) -> float:
        return float(
            ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
        )

    mu = exact_mu("sphere:2", sigma, gap)
    epsilons = np.linspace(0.0, mu**2 / 2 + 2 * mu, 7)
    deltas = [profile(sigma, gap, epsilon) for epsilon in epsilons]
    assert all(d <= allowed(mu, e) + 1e-5 for d, e in zip(deltas, epsilons, strict=True))
    assert any(d > allowed(0.99 * mu, e) + 1e-4 for d, e in zip(deltas, epsilons, strict=True))


def test_draws_fall_on_either_side_as_often_as_it_says() -> None:
    """The best test sides with the nearer mean: right with probability Phi(mu/2)."""
    ball, count = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.5), 200_000
    noise = RiemannianGaussian(ball, 1.0, cdp.GDP(mu=1.0))
    draws = noise.sample(ball.center, n_samples=count)
    nearer = np.mean(draws @ [math.sin(1.0), 0.0, math.cos(1.0)] < draws @ ball.center)
    error = math.sqrt(0.25 / count) / 0.39
    found = 2 * ndtri(nearer)
    assert abs(found - exact_mu("sphere:2", noise.scale, 1.0)) < 2 * 7 * error
    assert abs(found - 1.0) > 2 * 20 * error


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("sphere:1", 0.1, 0.1), "dimension 2"),
        (("spd:2", 0.1, 0.1), "sphere"),
        (("sphere:2", 0.0, 0.1), "sigma"),
        (("sphere:2", 0.1, -1.0), "sensitivity"),
        (("sphere:2", 0.1, 3.2), r"below 3\.14159, the distance of antipodes"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(arguments: tuple[str, float, float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        exact_mu(*arguments)
