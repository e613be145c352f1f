"""Combined means: weights, errors, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp

BALL = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=2.0)


def sites(sizes=(200, 800), guarantee=None, ball=BALL, seed=0):
    rng = np.random.default_rng(seed)
    return [
        cdp.frechet_mean(
            ball.project(
                ball.manifold.exp(
                    ball.manifold.coords_to_tangent(
                        0.2 * rng.standard_normal((n, ball.manifold.dim)), ball.center
                    ),
                    ball.center,
                )
            ),
            ball,
            guarantee or cdp.GDP(1.0),
        )
        for n in sizes
    ]


def test_weights_are_the_precisions():
    releases = sites()
    combined = cdp.combine(releases)
    precision = np.array([1 / release.expected_error**2 for release in releases])
    np.testing.assert_allclose(combined.weights, precision / precision.sum())
    np.testing.assert_allclose(
        combined.value, combined.weights @ [release.value for release in releases], atol=1e-9
    )
    assert combined.expected_error == pytest.approx(1 / math.sqrt(precision.sum()))
    assert combined.n == 1000
    assert combined.guarantees == (cdp.GDP(1.0), cdp.GDP(1.0))


def test_the_spread_moves_weights_from_precisions_to_sizes():
    releases = sites()
    shares = [cdp.combine(releases, spread=s).weights[0] for s in (0.0, 0.5, 5.0, math.inf)]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(0.2)


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_weights_do_not_depend_on_the_unit(unit):
    """Squares of errors and spreads are beyond doubles here, or close to it."""
    weights = [
        cdp.combine(sites(ball=cdp.Ball("euclidean:2", [0.0, 0.0], size)), spread=size * s).weights
        for size in (1.0, unit)
        for s in (0.0, 0.5)
    ]
    np.testing.assert_allclose(weights[:2], weights[2:])
    large = cdp.combine(sites(), spread=1e300).weights
    np.testing.assert_allclose(large, cdp.combine(sites(), spread=math.inf).weights)


@pytest.mark.parametrize("spec", ["euclidean:2", "sphere:2", "spd:2"])
def test_the_expected_error_is_that_of_the_noise(spec):
    center = "identity" if spec == "spd:2" else cdp.as_manifold(spec).origin
    ball = cdp.Ball(spec, center, 0.5)
    records = [ball.center[None].repeat(n, axis=0) for n in (50, 100)]
    errors, expected = [], []
    for _ in range(400):
        own = [cdp.frechet_mean(points, ball, cdp.GDP(1.0)) for points in records]
        combined = cdp.combine(own)
        errors.append(float(ball.manifold.dist(combined.value, ball.center)))
        expected.append(combined.expected_error)
    assert np.mean(errors) == pytest.approx(np.mean(expected), rel=0.2)


def test_the_bias_of_adaptive_means_does_not_average():
    """It is alike at all sites: theirs add up, their noise does not."""
    records = 0.05 * np.random.default_rng(0).standard_normal((4000, 2))
    sites_of = np.arange(4000) % 4
    releases = list(cdp.adaptive_mean(records, BALL, cdp.GDP(1.0), groups=sites_of, seed=1))
    noise = np.array([one.parts[-1].expected_error for one in releases])
    whole = np.array([one.expected_error for one in releases])
    assert (whole > 1.05 * noise).all()
    combined = cdp.combine(releases)
    bias = combined.weights @ np.sqrt(whole**2 - noise**2)
    expected = np.hypot(np.linalg.norm(combined.weights * noise), bias)
    assert combined.expected_error == pytest.approx(expected, rel=1e-9)
    assert combined.expected_error > 1.1 * np.linalg.norm(combined.weights * whole)


def test_one_release_is_itself_and_groups_are_sites():
    (release,) = sites((200,))
    np.testing.assert_allclose(cdp.combine([release]).value, release.value)
    records = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
    groups = np.repeat(["north", "south"], [100, 200])
    releases = cdp.frechet_mean(records, BALL, cdp.GDP(1.0), groups=groups)
    assert cdp.combine(releases).n == 300
    adaptive = cdp.adaptive_mean(records, BALL, cdp.GDP(1.0), groups=groups)
    assert cdp.combine(adaptive).value.shape == (2,)


def test_what_cannot_be_combined_is_refused():
    with pytest.raises(ValueError, match="no release"):
        cdp.combine([])
    with pytest.raises(TypeError, match="takes releases"):
        cdp.combine([np.zeros(2)])
    other = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    with pytest.raises(ValueError, match="different manifolds"):
        cdp.combine([*sites(), *sites(ball=other)])
    with pytest.raises(TypeError, match="released means"):
        cdp.combine([cdp.frechet_variance(np.zeros((50, 2)), BALL, cdp.GDP(1.0))])
    correlations = cdp.Ball(cdp.Correlation(3), np.eye(3), 1.0)  # as many entries as dimensions
    spread = cdp.log_covariance(np.tile(np.eye(3), (200, 1, 1)), correlations, cdp.GDP(1.0))
    with pytest.raises(TypeError, match="released means"):
        cdp.combine([spread])
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="spread must be"):
            cdp.combine(sites(), spread=wrong)


def test_means_without_a_common_ball_are_refused():
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    releases = [
        cdp.frechet_mean(np.tile(point, (500, 1)), cdp.Ball("sphere:2", point, 0.5), cdp.GDP(9.0))
        for point in corners
    ]
    with pytest.raises(ValueError, match="too far apart"):
        cdp.combine(releases)


def test_the_report_gives_weights_guarantees_and_error():
    combined = cdp.combine(sites())
    text = combined.report()
    for part in ("2 releases", "n = 1000", "GDP(mu=1)", f"{combined.expected_error:.6g}"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 88
    assert "NO GUARANTEE" not in text
    seeded = [cdp.frechet_mean(np.zeros((50, 2)), BALL, cdp.GDP(1.0), seed=s) for s in (1, 2)]
    assert cdp.combine(seeded).report().splitlines()[2].startswith("!!! NO GUARANTEE")


def test_the_statement_is_that_of_a_site_where_sites_are_alike():
    releases = sites()
    told, own = cdp.combine(releases).statement, releases[0].statement
    assert told.against == own.against
    assert told.protected == own.protected.replace(
        "number of records, n = 200", "number of records of each site"
    )
    assert told.assuming.startswith(own.assuming)
    assert "otherwise their guarantees compose" in told.assuming
    assert told.cost.startswith(own.cost)
    assert "costs nothing more" in told.cost
    total = sum(one.coverage.inside for one in releases)
    assert f"about {total / 10:.0f} %" in told.accuracy
    assert f"{cdp.combine(releases).expected_error:.6g}" in told.accuracy
    assert "Release" not in told.protected + told.against + told.assuming


def test_the_statement_tells_sites_apart_that_differ():
    """Guarantee, unit, ledger and count: nothing is said of one release that holds of another."""
    records = np.zeros((100, 2))
    ledger = cdp.Ledger(cdp.GDP(2.0), data="visits", unit="patient")
    releases = [
        cdp.frechet_mean(records, BALL, cdp.GDP(1.0), ledger=ledger),
        cdp.frechet_mean(records, BALL, cdp.PureDP(1.0), units=np.arange(100) // 2),
        cdp.frechet_mean(records + 50.0, BALL, cdp.GDP(1.0), coverage=True),
        cdp.frechet_mean(records, BALL, cdp.GDP(1.0), seed=1),
    ]
    combined = cdp.combine(releases)
    told = combined.statement
    assert "Release 1: the record of one patient" in told.protected
    assert "Release 2: all records of one person" in told.protected
    assert "Release 4: nobody, as far as is proved" in told.protected
    assert "Releases 1, 2, 3: everybody who sees" in told.against
    assert "Release 4: nobody" in told.against
    assert "Releases 1, 3: GDP(mu=1)" in told.cost
    assert "Release 2: PureDP(epsilon=1)" in told.cost
    assert "Entry 1 of a ledger in memory charged GDP(mu=1)" in told.cost
    assert "No ledger was asked for 3 of the releases" in told.cost
    text = " ".join(combined.report().split())
    assert "WARNING: release 3: only about" in text
    assert "NO GUARANTEE" in text
    rows = [line.split() for line in combined.report().splitlines()][-4:]
    assert [row[:2] for row in rows] == [["1", "100"], ["2", "50"], ["3", "100"], ["4", "100"]]
