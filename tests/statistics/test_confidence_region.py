"""Confidence regions: their geometry, what they rest on, and what they are near without noise."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import sensitivity
from curvedp.statistics.quantiles import hotelling_quantile
from inference_cases import BALLS, GUARANTEES, make_ball, spread_records
from inference_populations import CAP

CURVED = ("sphere:2", "sphere:5", "hyperboloid:2", "spd:2", "spd:3", "kendall:3", "kendall:5")


def make_region(spec: str, mu: float = 1.0, n: int = 400, seed: int = 3) -> cdp.ConfidenceRegion:
    ball = make_ball(spec)
    return cdp.confidence_region(spread_records(ball, n), ball, cdp.GDP(mu), seed=seed)


def to_points(region: cdp.ConfidenceRegion, coords: np.ndarray) -> np.ndarray:
    space = cdp.as_manifold(region.manifold)
    return space.exp(space.coords_to_tangent(coords, region.chart_point), region.chart_point)


def to_coords(region: cdp.ConfidenceRegion, points: np.ndarray) -> np.ndarray:
    space = cdp.as_manifold(region.manifold)
    log = space.log(points, region.chart_point)
    return space.tangent_to_coords(log, region.chart_point)


def quadratic_form(region: cdp.ConfidenceRegion, points: np.ndarray) -> np.ndarray:
    offset = to_coords(region, points) - to_coords(region, region.estimate)
    return np.einsum("...i,ij,...j", offset, np.linalg.inv(region.covariance), offset)


@pytest.mark.parametrize("spec", BALLS)
def test_boundary_points_have_the_quantile_as_quadratic_form(spec: str) -> None:
    region = make_region(spec)
    boundary = region.boundary(40)
    assert boundary.shape == (40, *region.estimate.shape)
    assert cdp.as_manifold(spec).belongs(boundary).all()
    np.testing.assert_allclose(quadratic_form(region, boundary), region.quantile, rtol=1e-7)


def test_a_region_makes_each_release_that_it_rests_on_once(monkeypatch):
    made, check = [], cdp.Release.__post_init__

    def counted(release: cdp.Release) -> None:
        made.append(release.statistic)
        check(release)

    monkeypatch.setattr(cdp.Release, "__post_init__", counted)
    region = make_region("sphere:2")
    assert made == [part.statistic for part in region.parts]
    assert len(set(made)) == 3


@pytest.mark.parametrize("spec", BALLS)
def test_the_ends_of_the_axes_lie_on_the_boundary(spec: str) -> None:
    region = make_region(spec)
    radii, directions = region.axes()
    assert (np.diff(radii) <= 0).all()
    np.testing.assert_allclose(directions @ directions.T, np.eye(region.dim), atol=1e-12)
    middle = to_coords(region, region.estimate)
    for sign in (-1, 1):
        arms = sign * radii[:, None] * directions
        assert region.contains(to_points(region, middle + 0.999 * arms)).all()
        assert not region.contains(to_points(region, middle + 1.001 * arms)).any()
    assert region.contains(region.estimate)


@pytest.mark.parametrize("spec", [spec for spec in BALLS if cdp.as_manifold(spec).dim <= 3])
def test_volume_is_the_share_of_a_box_that_the_region_contains(spec: str) -> None:
    region = make_region(spec)
    radii, directions = region.axes()
    box = np.random.default_rng(0).uniform(-1, 1, (40_000, region.dim)) * radii
    inside = region.contains(
        to_points(region, to_coords(region, region.estimate) + box @ directions)
    )
    assert math.isclose(region.volume(), inside.mean() * np.prod(2 * radii), rel_tol=0.02)


@pytest.mark.parametrize("spec", BALLS)
def test_json_keeps_everything(spec: str) -> None:
    region = make_region(spec)
    again = cdp.ConfidenceRegion.from_json(region.to_json())
    assert again.to_json() == region.to_json()
    for name in ("estimate", "chart_point", "covariance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(region, name))
    for name in ("manifold", "quantile", "dof", "level", "n", "guarantee"):
        assert getattr(again, name) == getattr(region, name)
    np.testing.assert_array_equal(again.boundary(), region.boundary())


def test_json_of_a_region_without_privacy_says_so() -> None:
    ball = make_ball("sphere:2")
    region = cdp.nonprivate.confidence_region(spread_records(ball, 50), ball.manifold)
    again = cdp.ConfidenceRegion.from_json(region.to_json())
    assert again.guarantee is None
    assert again.parts == ()
    assert "NONE: computed without privacy" in again.report()


@pytest.mark.parametrize("change", ["schema_version", "estimate", "extra"])
def test_json_of_another_kind_is_refused(change: str) -> None:
    data = json.loads(make_region("sphere:2").to_json())
    if change == "extra":
        data["surprise"] = 1
    elif change == "estimate":
        del data["estimate"]
    else:
        data["schema_version"] = 999
    with pytest.raises(ValueError, match="not a confidence region"):
        cdp.ConfidenceRegion.from_json(json.dumps(data))
    with pytest.raises(ValueError, match="not a confidence region"):
        cdp.ConfidenceRegion.from_json("[]")


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_the_parts_compose_to_the_guarantee(spec: str, guarantee: cdp.GDP) -> None:
    ball = make_ball(spec)
    region = cdp.confidence_region(spread_records(ball, 200), ball, guarantee)
    assert region.guarantee == guarantee
    assert len(region.parts) == (3 if spec in CURVED or "3.0" in spec or "-0.25" in spec else 2)
    shares = [part.guarantee for part in region.parts]
    shares += [] if region.coverage is None else [region.coverage.guarantee]
    mu = math.sqrt(sum(own.mu**2 for own in shares))
    assert math.isclose(mu, cdp.compose(*shares).mu)
    match guarantee:
        case cdp.GDP(most):
            assert math.isclose(mu, most, rel_tol=1e-12)
        case cdp.ZCDP(rho):
            assert mu**2 / 2 <= rho * (1 + 1e-12)
        case cdp.ApproxDP(epsilon, delta):
            assert cdp.GDP(mu).to_delta(epsilon) <= delta * (1 + 1e-9)
    assert region.n == 200
    assert region.manifold == ball.manifold.spec


def test_weights_are_shares_of_mu_squared() -> None:
    ball = make_ball("sphere:2")
    region = cdp.confidence_region(
        spread_records(ball, 100), ball, cdp.GDP(2.0), weights=(5.0, 3.0, 2.0), coverage=False
    )
    shares = [part.guarantee.mu**2 / 4.0 for part in region.parts]
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], rtol=1e-12)


@pytest.mark.parametrize("spec", BALLS)
def test_with_little_noise_the_region_is_the_one_without_privacy(spec: str) -> None:
    """Pushed through the manifold: the charts of the two differ on Hadamard manifolds."""
    ball = make_ball(spec)
    records = spread_records(ball, 4000)
    private = cdp.confidence_region(records, ball, cdp.GDP(1e4), seed=1)
    exact = cdp.nonprivate.confidence_region(records, ball.manifold)
    size = exact.axes()[0][-1]
    assert ball.manifold.dist(private.estimate, exact.estimate) < 0.02 * size
    np.testing.assert_allclose(private.quantile, exact.quantile, rtol=0.01)
    form = quadratic_form(private, exact.boundary(60)) / private.quantile
    np.testing.assert_allclose(form, 1.0, atol=0.08)
    assert math.isclose(form.mean(), 1.0, abs_tol=0.02)


@pytest.mark.parametrize("spec", BALLS)
def test_more_privacy_makes_a_larger_region(spec: str) -> None:
    volumes = [make_region(spec, mu=mu, n=1000).volume() for mu in (0.1, 1.0, 100.0)]
    assert volumes[0] > volumes[1] > volumes[2]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_quantile_is_hotellings_at_the_level(level: float) -> None:
    ball = make_ball("sphere:2")
    region = cdp.confidence_region(
        spread_records(ball, 300), ball, cdp.GDP(1.0), level=level, seed=2
    )
    assert region.level == level
    assert region.quantile == hotelling_quantile(level, 2, region.dof)
    assert region.quantile > stats.chi2.ppf(level, 2)


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def test_the_region_without_privacy_moves_with_an_isometry() -> None:
    ball = make_ball("sphere:2")
    records = spread_records(ball, 300)
    turn = rotation_about(np.array([1.0, -2.0, 0.5]), 1.1)
    one = cdp.nonprivate.confidence_region(records, ball.manifold)
    other = cdp.nonprivate.confidence_region(records @ turn.T, ball.manifold)
    np.testing.assert_allclose(other.axes()[0], one.axes()[0], rtol=1e-9)
    np.testing.assert_allclose(
        quadratic_form(other, one.boundary() @ turn.T), one.quantile, rtol=1e-7
    )


def test_the_law_of_the_region_moves_with_an_isometry() -> None:
    """Half-axes and coverage of the exact mean: turned records in a turned ball, other seeds."""
    ball = make_ball("sphere:2")
    records = spread_records(ball, 300)
    turn = rotation_about(np.array([1.0, -2.0, 0.5]), 1.1)
    turned_ball = cdp.Ball(ball.manifold, turn @ ball.center, ball.radius)
    mean = cdp.nonprivate.frechet_mean(records, ball.manifold).value
    volumes: list[list[float]] = [[], []]
    forms: list[list[float]] = [[], []]
    for seed in range(150):
        for k, (x, b, eta) in enumerate(
            [(records, ball, mean), (records @ turn.T, turned_ball, turn @ mean)]
        ):
            region = cdp.confidence_region(x, b, cdp.GDP(0.5), seed=2 * seed + k)
            volumes[k].append(region.volume())
            forms[k].append(float(quadratic_form(region, eta)))
    assert stats.ks_2samp(*volumes).pvalue > 1e-4
    assert stats.ks_2samp(*forms).pvalue > 1e-4
    larger = 1.5 * np.array(volumes[1])
    assert stats.ks_2samp(volumes[0], larger).pvalue < 1e-4


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "euclidean:3"])
def test_records_per_unit_scales_the_sensitivity_of_every_part(spec: str) -> None:
    ball = make_ball(spec)
    records = spread_records(ball, 500)
    reach = 0.8 * ball.radius
    how = {"max_dist": reach, "seed": 4, "coverage": False}
    single, triple = (
        cdp.confidence_region(records, ball, cdp.GDP(1.0), records_per_unit=k, **how)
        for k in (1, 3)
    )
    for one, three in zip(single.parts, triple.parts, strict=True):
        assert math.isclose(three.sensitivity, 3 * one.sensitivity, rel_tol=1e-12)
        assert math.isclose(three.scale, 3 * one.scale, rel_tol=1e-3)
        assert three.records_per_unit == 3
    assert single.parts[1].sensitivity == sensitivity.log_covariance(ball, 500, max_dist=reach)


@pytest.mark.parametrize("spec", BALLS)
def test_seeded_regions_are_reproducible_and_promise_nothing(spec: str) -> None:
    one, again, other = (make_region(spec, seed=seed) for seed in (3, 3, 4))
    assert one.to_json() == again.to_json()
    assert one.volume() != other.volume()
    assert isinstance(one.guarantee, cdp.Unproved)
    assert all(isinstance(part.guarantee, cdp.Unproved) for part in one.parts)
    assert one.guarantee.claimed == cdp.GDP(1.0)


def test_the_report_names_level_axes_and_every_part() -> None:
    ball = make_ball("sphere:2")
    region = cdp.confidence_region(spread_records(ball, 300), ball, cdp.GDP(1.0), level=0.9)
    text = region.report()
    assert text.startswith("90 % confidence region for the Fréchet mean on sphere:2")
    assert "guarantee: GDP(mu=1)" in text
    assert "n = 300" in text
    for part in region.parts:
        assert part.report().splitlines()[0] in text


def test_records_off_the_manifold_or_not_finite_count_as_the_centre() -> None:
    ball = make_ball("sphere:2")
    records = spread_records(ball, 300)
    broken, mended = records.copy(), records.copy()
    broken[:40] = np.nan
    broken[40:60] = np.inf
    broken[60] = 0.0
    mended[:61] = ball.center
    how = {"seed": 5, "coverage": False}  # which tells them apart
    one, other = (cdp.confidence_region(x, ball, cdp.GDP(1.0), **how) for x in (broken, mended))
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize("spec", BALLS)
@pytest.mark.parametrize("fill", [np.nan, np.inf, 0.0, 1e300])
def test_any_records_whatever_give_a_finite_region(spec: str, fill: float) -> None:
    ball = make_ball(spec)
    records = np.full((ball.manifold.dim + 2, *ball.manifold.point_shape), fill)
    region = cdp.confidence_region(records, ball, cdp.GDP(0.05))
    assert np.isfinite(region.estimate).all()
    assert (np.linalg.eigvalsh(region.covariance) > 0).all()
    assert math.isfinite(region.volume())
    assert region.contains(region.estimate)


def test_points_without_a_logarithm_or_a_value_are_outside() -> None:
    region = make_region("sphere:2")
    assert not region.contains(-region.estimate)
    assert not region.contains(np.full(3, np.nan))
    with pytest.raises(ValueError, match="records must have shape"):
        region.contains(np.zeros(4))


def test_a_smaller_share_of_the_quantile_makes_a_smaller_region() -> None:
    region = make_region("spd:2")
    inner = replace(region, quantile=region.quantile / 4)
    assert math.isclose(inner.volume(), region.volume() / 8, rel_tol=1e-12)
    assert region.contains(inner.boundary(200)).all()


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2"])
def test_p_values_say_what_the_region_says_at_every_level(spec: str) -> None:
    ball = make_ball(spec)
    records = spread_records(ball, 300)
    regions = [
        cdp.confidence_region(records, ball, cdp.GDP(3.0), level=level, seed=1)
        for level in (0.5, 0.95)
    ]
    assert regions[0].p_value(regions[0].estimate) == pytest.approx(1.0)
    for region in regions:
        around = np.concatenate([own.boundary(40) for own in regions])
        found = region.p_value(around)
        assert found.shape == (len(around),)
        assert found[:40] == pytest.approx(0.5, abs=1e-6)
        assert found[40:] == pytest.approx(0.05, abs=1e-6)
        far = region.p_value(ball.manifold.random_point(rng=3))
        assert region.contains(ball.manifold.random_point(rng=3)) == (far >= 1 - region.level)


def test_the_p_value_of_the_true_mean_is_below_a_level_about_so_often() -> None:
    found, off = [], []
    for i in range(400):
        records = CAP.sample(150, np.random.default_rng([11, i]))
        region = cdp.confidence_region(records, CAP.ball, cdp.GDP(1.0), seed=i)
        found.append(float(region.p_value(CAP.ball.center)))
        off.append(float(region.p_value([np.sin(0.08), 0.0, np.cos(0.08)])))
    for level in (0.01, 0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(found) < level) - level) < 4 * (level / 400) ** 0.5
    assert np.mean(np.array(off) < 0.05) > 0.5  # the control
