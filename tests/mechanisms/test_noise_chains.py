"""Metropolis chains for isotropic noise: their law is the exact one; they tell when not yet."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.mechanisms import metropolis
from exact_laws import (
    RadialLaw,
    flat_volume,
    gaussian,
    hyperbolic_volume,
    ks_critical,
    ks_statistic,
    laplace,
    projective_volume,
    spd2_volume,
    spd3_volume,
    sphere_volume,
)

PROFILES = {"laplace": laplace, "gaussian": gaussian}

#: Manifold, profile, scale, volume of spheres, largest distance.
CASES = [
    ("euclidean:3", "laplace", 0.5, flat_volume(3), 15.0),
    ("sphere:2", "laplace", 0.3, sphere_volume(2), np.pi),
    ("sphere:5", "gaussian", 0.5, sphere_volume(5), np.pi),
    ("hyperboloid:3", "laplace", 0.25, hyperbolic_volume(3), 20.0),
    ("kendall:5", "gaussian", 0.4, projective_volume(3), np.pi / 2),
    ("spd:2", "laplace", 0.4, spd2_volume(), 25.0),
    ("spd:3", "gaussian", 0.8, spd3_volume(), 15.0),
    ("spd:2:log-cholesky", "laplace", 0.5, flat_volume(3), 15.0),
]


def stream(seed: int = 0) -> _core.Stream:
    return _core.Stream.from_key(bytes([seed]) * 32, 0)


def center_of(spec: str) -> np.ndarray:
    return cdp.as_manifold(spec).random_point(rng=7)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_ends_of_chains_follow_the_exact_law_and_no_other(case):
    """One state of each of many chains, after burning in from far apart: independent draws."""
    spec, profile, scale, volume, upper = case
    center = center_of(spec)
    settings = {"profile": profile, "chains": 2000, "draws": 1, "burn_in": 400}
    right = metropolis(spec, center, scale, stream=stream(), **settings)
    wrong = metropolis(spec, center, 1.5 * scale, stream=stream(), **settings)
    law = RadialLaw(lambda t: PROFILES[profile](scale)(t) + volume(t), upper, 4001)
    space = cdp.as_manifold(spec)
    assert np.all(space.belongs(right.points))
    radius = space.dist(right.points[:, 0], center)
    np.testing.assert_allclose(radius, right.dist[:, 0], rtol=1e-6)
    assert ks_statistic(radius, law.cdf) <= ks_critical(2000)
    assert ks_statistic(wrong.dist[:, 0], law.cdf) > ks_critical(2000)


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "kendall:4"])
def test_means_agree_with_the_exact_sampler_within_the_effective_sample_size(spec):
    scale = 0.2
    found = metropolis(spec, center_of(spec), scale, draws=2000, thinning=5, stream=stream(1))
    exact = _core.Noise(*cdp.as_manifold(spec).noise_space, "laplace", scale)
    deviation = np.sqrt(exact.root_mean_square_dist**2 - exact.expected_dist**2)
    assert found.r_hat.max() < 1.02
    assert 1000 < found.effective_sample_size[-1] < 16 * 2000
    error = abs(found.dist.mean() - exact.expected_dist)
    assert error < 5 * deviation / np.sqrt(found.effective_sample_size[-1])
    assert np.all(np.abs(found.acceptance - 0.35) < 0.15)


def test_matrices_too_large_for_the_exact_sampler_have_chains():
    """At a small scale space is nearly flat: the mean distance is the dimension times the scale."""
    with pytest.raises(cdp.ExistenceError, match="16 by 16"):
        cdp.RiemannianLaplace(cdp.Ball("spd:17", np.eye(17), 1.0), 1e-5, cdp.PureDP(1.0))
    found = metropolis(
        "spd:17", np.eye(17), 1e-5, chains=8, burn_in=2000, draws=100, thinning=40, stream=stream(2)
    )
    assert found.points.shape == (8, 100, 17, 17)
    assert found.dist.mean() == pytest.approx(153e-5, rel=0.05)


def test_starts_far_apart_show_that_chains_have_not_met():
    settings = {"burn_in": 0, "draws": 200, "step": 1e-3, "acceptance": None}
    found = metropolis("spd:2", np.eye(2), 0.3, stream=stream(3), **settings)
    assert found.r_hat.max() > 10
    assert np.all(found.step == 1e-3)


@pytest.mark.parametrize("spec", ["sphere:3", "hyperboloid:2", "spd:3", "spd:7"])
def test_chains_do_not_depend_on_threads(spec):
    center = center_of(spec)

    def points() -> bytes:
        settings = {"burn_in": 20, "draws": 10, "chains": 20, "stream": stream(4)}
        return metropolis(spec, center, 0.1, **settings).points.tobytes()

    threads = cdp.num_threads()
    try:
        cdp.set_num_threads(1)
        one = points()
        cdp.set_num_threads(3)
        assert points() == one
    finally:
        cdp.set_num_threads(threads)


def test_parameters_are_checked():
    for bad, word in (
        ({"scale": 0.0}, "scale"),
        ({"scale": 2.0}, "no Laplace law"),
        ({"scale": 20.0, "profile": "gaussian"}, "double precision"),
        ({"profile": "cauchy"}, "profile"),
        ({"center": -np.eye(2)}, "center"),
        ({"chains": 0}, "chains"),
        ({"draws": 0}, "draws"),
        ({"burn_in": -1}, "burn_in"),
        ({"thinning": 0}, "thinning"),
        ({"step": -1.0}, "step"),
        ({"acceptance": 1.5}, "acceptance"),
    ):
        arguments = {"manifold": "spd:2", "center": np.eye(2), "scale": 0.1, **bad}
        with pytest.raises(ValueError, match=word):
            metropolis(**arguments)


@pytest.mark.parametrize(("spec", "scale"), [("spd:2", 0.4), ("spd:3", 0.3), ("spd:4", 0.25)])
def test_chains_on_matrices_do_not_tell_a_matrix_from_its_inverse(spec, scale):
    """Inversion is an isometry about I: log det has the mean 0."""
    m = int(spec[-1])
    found = metropolis(spec, np.eye(m), scale, chains=1000, draws=1, burn_in=600, stream=stream(7))
    log_det = np.linalg.slogdet(found.points[:, 0])[1]
    assert abs(log_det.mean()) < 4 * log_det.std() / np.sqrt(len(log_det))
