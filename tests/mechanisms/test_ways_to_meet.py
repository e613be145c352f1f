"""Pure and Gaussian noise that meet one request: what implies it, and which errs less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp.mechanisms import ways_to_meet
from manifold_list import SMALL

EPSILONS = st.floats(1e-3, 50.0)
DELTAS = st.floats(1e-12, 0.3)


def request(kind: str, size: float, delta: float) -> cdp.privacy.Guarantee:
    return {
        "ApproxDP": lambda: cdp.ApproxDP(size, delta),
        "ZCDP": lambda: cdp.ZCDP(size),
        "GDP": lambda: cdp.GDP(size),
    }[kind]()


def implies(way: cdp.privacy.Guarantee, wanted: cdp.privacy.Guarantee) -> bool:
    match wanted:
        case cdp.ApproxDP(epsilon, delta):
            return way.to_delta(epsilon) <= delta
        case cdp.ZCDP(rho):
            return way.to_zcdp().rho <= rho
        case cdp.GDP(mu):
            return way.to_gdp().mu <= mu
    raise AssertionError


@given(st.sampled_from(["ApproxDP", "ZCDP", "GDP"]), EPSILONS, DELTAS)
def test_each_way_implies_the_request_and_a_larger_one_does_not(kind, size, delta):
    wanted = request(kind, size, delta)
    gaussian, pure = ways_to_meet(wanted)
    assert isinstance(gaussian, cdp.GDP)
    assert isinstance(pure, cdp.PureDP)
    assert implies(pure, wanted)
    assert not implies(cdp.PureDP(pure.epsilon * (1 + 1e-6) + 1e-9), wanted)
    if kind != "ZCDP":  # mu^2/2-zCDP is rounded up
        assert implies(gaussian, wanted)
    assert not implies(cdp.GDP(gaussian.mu * (1 + 1e-6)), wanted)


def test_pure_privacy_is_met_by_pure_noise_alone():
    assert ways_to_meet(cdp.PureDP(0.7)) == (cdp.PureDP(0.7),)
    with pytest.raises(TypeError, match="Gaussian DP"):
        ways_to_meet(cdp.PureDP(0.7), "riemannian-gaussian")
    with pytest.raises(TypeError, match="PureDP, ApproxDP"):
        ways_to_meet(cdp.Unproved(cdp.GDP(1.0), "as published"))


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.manifold.spec)
@pytest.mark.parametrize("n", [10, 300])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_an_approximate_guarantee_never_costs_more_than_the_pure_one(case, n, delta):
    manifold = case.manifold
    ball = cdp.Ball(
        manifold, manifold.random_point(rng=1), min(1.0, 0.5 * manifold.max_ball_radius)
    )
    for epsilon in (0.3, 1.0, 8.0):
        approximate = cdp.expected_error(ball, n, cdp.ApproxDP(epsilon, delta))
        gaussian = cdp.ApproxDP(epsilon, delta).sufficient_gdp()
        assert approximate <= cdp.expected_error(ball, n, gaussian)
        try:
            assert approximate <= cdp.expected_error(ball, n, cdp.PureDP(epsilon))
        except cdp.errors.ExistenceError:
            assert not manifold.is_flat


@pytest.mark.parametrize("statistic", ["frechet_mean", "adaptive_mean", "frechet_variance"])
def test_plans_and_other_statistics_take_the_better_way_too(statistic):
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
    plans = {
        name: cdp.plan(statistic, ball, own, n=400).high
        for name, own in (
            ("approximate", cdp.ApproxDP(1.0, 1e-6)),
            ("pure", cdp.PureDP(1.0)),
            ("gaussian", cdp.ApproxDP(1.0, 1e-6).sufficient_gdp()),
        )
    }
    assert plans["approximate"] <= 1.000001 * min(plans["pure"], plans["gaussian"])
    assert plans["pure"] < 0.7 * plans["gaussian"]  # so the choice matters


def test_the_way_follows_the_number_of_records_and_the_release_says_which():
    """On hyperbolic space Laplace noise exists, and is the better, for large groups alone."""
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 2.0)
    sizes = (3, 500, 3, 700)
    offsets = np.cumsum((0, *sizes))
    records = np.tile(ball.center, (offsets[-1], 1))
    wanted = cdp.ApproxDP(1.0, 1e-6)
    releases = cdp.frechet_mean(records, ball, wanted, groups=offsets, coverage=False)
    charted, laplace = "l2 mechanism", "Riemannian Laplace"
    assert releases.mechanism.tolist() == [charted, laplace, charted, laplace]
    pure = ways_to_meet(wanted)[1]
    for g, n in enumerate(sizes):
        alone = cdp.frechet_mean(records[:n], ball, wanted, coverage=False)
        assert releases[g].guarantee == alone.guarantee == wanted
        assert releases[g].calibrated_to == alone.calibrated_to
        assert releases[g].mechanism == alone.mechanism
        assert releases[g].scale == alone.scale
    assert releases[1].calibrated_to == pure
    assert f"met by:         noise for {pure}" in releases[1].report()
    assert cdp.Release.from_json(releases[1].to_json()) == releases[1]
    table = releases.to_arrow()
    assert table["mechanism"].to_pylist() == releases.mechanism.tolist()
    assert table["calibrated_to"].to_pylist()[1] == str(pure)


def test_parts_hold_shares_of_the_way_of_their_own_group():
    """The first group is too small for a mean by Laplace noise."""
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 1.0)
    records = np.tile(ball.center, (4 + 2000, 1))
    how = {"groups": [0, 4, 2004], "coverage": False}
    releases = cdp.log_covariance(records, ball, cdp.ApproxDP(1.0, 1e-6), **how)
    for release, kind in zip(releases, (cdp.GDP, cdp.PureDP), strict=True):
        assert isinstance(release.calibrated_to, kind)
        (mean,) = release.parts
        assert mean.guarantee == mean.calibrated_to == release.calibrated_to.split((0.25, 0.75))[0]


def test_noise_from_a_seed_is_calibrated_to_nothing():
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
    release = cdp.frechet_mean(np.tile(ball.center, (9, 1)), ball, cdp.GDP(1.0), seed=1)
    assert release.calibrated_to is None
    with pytest.raises(ValueError, match="unproved"):
        type(release)(**(vars(release) | {"calibrated_to": cdp.GDP(1.0)}))
    named = cdp.frechet_mean(np.tile(ball.center, (9, 1)), ball, cdp.GDP(1.0))
    with pytest.raises(TypeError, match="calibrated_to"):
        type(named)(**(vars(named) | {"calibrated_to": cdp.ZCDP(1.0)}))
