"""Mean directions: SciPy's without noise, coverage and level on what nobody tuned on."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from mpmath import besseli, mpf
from scipy import stats

import curvedp as cdp
from chance import FAILURE
from curvedp import directions
from curvedp.directions.mean import concentration_of
from curvedp.directions.reading import of_angles, read_directions, space_of
from curvedp.privacy.guarantees import composed
from curvedp.statistics.releases import Releases

#: Noise so small that SciPy's values are met.
FINE = cdp.GDP(mu=1e4)
HOURS = np.random.default_rng(1).normal(23.5, 2.0, 3000) % 24


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("angles", "turn"), [("hours", 24), ("degrees", 360), ("radians", 2 * np.pi)]
)
def test_without_noise_it_is_scipys(angles, turn):
    x = HOURS / 24 * turn
    mean = directions.mean_direction(x, "torus:1", FINE, angle_units=angles)
    assert mean.mean_direction == pytest.approx(stats.circmean(x, high=turn), rel=1e-4)
    # SciPy's are the sample's: the population's rho^2 is (1 - rho^2)/n less
    assert mean.circular_std == pytest.approx(stats.circstd(x, high=turn), rel=1e-3)
    assert mean.circular_variance == pytest.approx(stats.circvar(x, high=turn), rel=1e-3)
    low, high = mean.interval
    assert low < mean.mean_direction < high
    assert high - low == pytest.approx(2 * mean.half_angle, rel=1e-2)


def test_on_the_sphere_it_is_scipys_of_vectors_and_of_longitude_and_latitude():
    x = unit(np.random.default_rng(2).normal([0.3, -0.4, 0.2], 1.0, (2000, 3)))
    wanted = stats.directional_stats(x)
    for records in (x, 7 * x, cdp.Sphere(2).to_lonlat(x)):
        mean = directions.mean_direction(records, "sphere:2", FINE)
        np.testing.assert_allclose(mean.mean_direction, wanted.mean_direction, atol=1e-4)
        assert mean.mean_resultant_length == pytest.approx(wanted.mean_resultant_length, rel=1e-2)


def test_angles_of_many_turns_and_columns_are_the_same_angles():
    a, b, c = (
        directions.mean_direction(x, "torus:1", cdp.GDP(1.0), angle_units="hours", seed=3)
        for x in (HOURS, HOURS[:, None], HOURS - 24)
    )
    assert a.mean_direction == b.mean_direction
    assert a.mean_direction == pytest.approx(c.mean_direction, abs=1e-6)


PLACES = np.random.default_rng(5).normal([9.0, 48.0], 3.0, (400, 2))


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (np.radians(PLACES), "radians"),
        (PLACES, "degrees"),
        (pd.DataFrame(np.radians(PLACES)[:, ::-1], columns=["lat", "lon"]), "radians"),
        (pd.DataFrame(np.radians(PLACES), columns=["lon_rad", "lat_rad"]), None),
    ],
)
def test_longitude_and_latitude_are_read_in_the_unit_that_is_said(records, said):
    wanted = directions.mean_direction(PLACES, "sphere:2", cdp.GDP(1.0), seed=1)
    found = directions.mean_direction(records, "sphere:2", cdp.GDP(1.0), angle_units=said, seed=1)
    np.testing.assert_allclose(found.mean_direction, wanted.mean_direction, atol=1e-9)
    middle = np.array([9.0, 48.0])
    for place in (middle, middle + 30.0):
        own = np.radians(place) if found.angle_units == "radians" else place
        assert found.contains(own) == wanted.contains(place)
    assert wanted.contains(middle)
    assert not wanted.contains(middle + 30.0)
    assert directions.compare_directions(found, wanted).angle < 1e-6  # whatever their units


def test_units_of_angles_that_records_do_not_have_are_refused():
    for records, manifold, said in (
        (PLACES, "sphere:2", "hours"),
        (np.ones((9, 3)), "sphere:2", "degrees"),
        (np.ones((9, 4)), "sphere:3", "radians"),
    ):
        with pytest.raises(ValueError, match=r"hours|two numbers|angle_units is of"):
            directions.mean_direction(records, manifold, cdp.GDP(1.0), angle_units=said)


@pytest.mark.parametrize("name", ["hour", "time_hours", "t (hrs)"])
def test_the_unit_in_a_columns_name_is_read_as_by_the_other_means(name):
    wanted = directions.mean_direction(HOURS, "torus:1", FINE, angle_units="hours", seed=1)
    table = pd.DataFrame({name: HOURS})
    for records in (table, table[name]):
        found = directions.mean_direction(records, "torus:1", FINE, seed=1)
        assert (found.mean_direction, found.angle_units) == (wanted.mean_direction, "hours")
        with pytest.raises(ValueError, match="say hours"):
            directions.mean_direction(records, "torus:1", FINE, angle_units="radians")
    axes = pd.DataFrame({"strike_deg": [170.0, 175.0, 5.0] * 50})
    mean = directions.mean_direction(axes, "projective:1", FINE)
    assert mean.angle_units == "degrees"
    assert mean.mean_direction == pytest.approx(176.7, abs=0.1)


def test_other_means_are_not_compared_as_directions():
    rng = np.random.default_rng(0)
    axis = directions.mean_axis(rng.normal([3.0, 0, 0], 1, (300, 3)), "projective:2", FINE)
    with pytest.raises(TypeError, match=r"compare_means\(a\.region, b\.region\)"):
        directions.compare_directions(axis, axis)
    assert cdp.compare_means(axis.region, axis.region).p_value == pytest.approx(1.0)


@pytest.mark.parametrize("p", [2, 3, 7, 64])
@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.3, 0.9, 0.999, 1 - 1e-7])
def test_the_concentration_inverts_the_ratio_of_bessel_functions(p, rho):
    kappa = mpf(concentration_of(rho, p))
    ratio = besseli(mpf(p) / 2, kappa) / besseli(mpf(p) / 2 - 1, kappa)
    assert float((1 - ratio) / (1 - rho)) == pytest.approx(1, rel=1e-6)
    assert float(ratio / rho) == pytest.approx(1, rel=1e-6)


def test_the_ends_of_the_concentration():
    assert concentration_of(0.0, 3) == 0.0
    assert concentration_of(1.0, 3) == math.inf


def _two_clusters(rng, n):
    return np.where(rng.random(n) < 0.2, rng.normal(1.5, 0.2, n), rng.normal(0.0, 0.05, n))


def _skew_on_the_sphere(rng, n):
    x = unit(rng.standard_normal((n, 3)) * 0.05 + [0, 0, 1])
    other = unit(rng.standard_normal((n, 3)) * 0.2 + [1, 0, 0.3])
    return np.where(rng.random((n, 1)) < 0.2, other, x)


def _few_turned_over(rng, n):
    x = unit(rng.standard_normal((n, 4)) * [0.2, 0.5, 0.8, 0.1] + [0, 0, 0, 1])
    return x * np.where(rng.random((n, 1)) < 0.1, -1, 1)


#: Laws by (manifold, draw): one von Mises with a weak mean, one concentrated, the rest far from it.
LAWS = {
    "weak": ("torus:1", lambda rng, n: rng.vonmises(0.3, 0.5, n)),
    "narrow": ("torus:1", lambda rng, n: rng.vonmises(-3.1, 50.0, n)),
    "clusters": ("torus:1", _two_clusters),
    "axes": ("projective:1", lambda rng, n: rng.gamma(2.0, 0.3, n) + np.pi * (rng.random(n) < 0.4)),
    "sphere": ("sphere:2", _skew_on_the_sphere),
    "S^3": ("sphere:3", _few_turned_over),
}


def true_direction(name):
    manifold, draw = LAWS[name]
    x = draw(np.random.default_rng(99), 400_000)
    space = space_of(manifold)
    mean = read_directions(space, x, None, 1)[0].mean(axis=0)
    if isinstance(space, cdp.Sphere):
        return mean
    return math.atan2(mean[1], mean[0]) / (2 if manifold == "projective:1" else 1)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("n", "mu"), [(40, 1.0), (600, 0.5)])
def test_the_set_covers_the_mean_direction(name, n, mu):
    manifold, draw = LAWS[name]
    true = true_direction(name)
    runs = 120
    means = [
        directions.mean_direction(
            draw(np.random.default_rng(1000 + k), n), manifold, cdp.GDP(mu), seed=k
        )
        for k in range(runs)
    ]
    covered = sum(bool(mean.contains(true)) for mean in means)
    # a right level of .95 gives fewer than 96 of 120 with a chance of 4e-10
    assert covered >= stats.binom.ppf(FAILURE, runs, 0.95)
    # control: a covariance of a sixteenth is found
    small = [_with_less(mean) for mean in means]
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    if name in ("weak", "clusters", "axes") and n == 600:
        assert sum(bool(mean.contains(true)) for mean in small) < least


def _with_less(mean):
    region = dataclasses.replace(mean.region, covariance=mean.region.covariance / 16)
    return dataclasses.replace(mean, region=region)


def _known(mean, resultant, scale):
    """The same mean direction with a resultant of known covariance."""
    covariance = scale**2 * np.eye(len(resultant))
    region = dataclasses.replace(
        mean.region, estimate=resultant, covariance=covariance, dof=math.inf
    )
    return dataclasses.replace(mean, region=region)


@pytest.mark.parametrize("manifold", ["torus:1", "sphere:2"])
@pytest.mark.parametrize("length", [0.0, 0.5, 1.5, 3.0])
def test_the_set_covers_however_short_the_mean_vector_is(manifold, length):
    rng, runs = np.random.default_rng(21), 6000 if length == 0.0 else 1000
    x = HOURS if manifold == "torus:1" else rng.standard_normal((300, 3))
    mean = directions.mean_direction(x, manifold, cdp.GDP(1.0), seed=1)
    p = len(mean.resultant)
    true, axis = 0.0 if p == 2 else np.eye(p)[0], np.eye(p)[0]
    draws = [
        _known(mean, 0.01 * (rng.standard_normal(p) + length * axis), 0.01) for _ in range(runs)
    ]
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    assert sum(bool(own.contains(true)) for own in draws) >= least
    assert np.mean([own.p_value(true) < 0.05 for own in draws]) <= 1 - least / runs
    if length == 0.0:  # control: the cone alone, with no look at whether the vector may be 0
        assert sum(bool(own.misfit(axis) <= own._quantile) for own in draws) < least


def test_a_comparison_keeps_its_level_where_one_mean_vector_is_short():
    rng, runs = np.random.default_rng(22), 300
    mean = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), seed=1)
    clear = _known(mean, np.array([0.9, 0.0]), 0.01)
    most = stats.binom.isf(1e-4, runs, 0.2)  # seeded
    rejected = alone = 0
    for _ in range(runs):
        found = directions.compare_directions(
            clear, _known(mean, 0.01 * rng.standard_normal(2), 0.01), level=0.2
        )
        rejected += found.rejects
        alone += stats.chi2.sf(found.statistic, 1) < 0.2
    assert rejected <= most
    assert alone > most  # control: the statistic's law with directions that are sure


def test_a_comparison_finds_the_least_of_several_minima():
    rng = np.random.default_rng(23)
    mean = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), seed=1)
    circle = of_angles(np.linspace(0, 2 * np.pi, 7200))

    def drawn():
        factor = rng.standard_normal((2, 2))
        covariance = factor @ factor.T + 0.01 * np.eye(2)
        covariance *= 0.01 / covariance.max()
        resultant = np.linalg.cholesky(covariance) @ rng.standard_normal(2) * rng.uniform(1, 6)
        resultant /= max(1.0, np.linalg.norm(resultant))
        region = dataclasses.replace(mean.region, estimate=resultant, covariance=covariance)
        return dataclasses.replace(mean, region=region)

    for _ in range(60):
        a, b = drawn(), drawn()
        least = (a.misfit(circle) + b.misfit(circle)).min()
        assert directions.compare_directions(a, b).statistic <= least * (1 + 1e-6) + 1e-6


def test_the_report_says_that_there_may_be_no_direction_where_the_set_is_everything():
    rng = np.random.default_rng(24)
    for shift, said in ((0.0, True), (2.0, False)):
        x = rng.standard_normal((400, 4)) + np.array([shift, 0, 0, 0])
        mean = directions.mean_direction(x, "sphere:3", cdp.GDP(1.0), seed=1)
        region = dataclasses.replace(mean.region, parts=(), guarantee=None)
        for own in (mean, directions.MeanDirection(region, "sphere:3")):
            assert own.contains([0.0, 0.0, 0.0, -1.0]) == said
            assert ("may be 0" in own.report()) == said


@pytest.mark.parametrize("manifold", ["torus:1", "sphere:2"])
def test_the_test_of_uniformity_keeps_its_level_and_has_power(manifold):
    rng = np.random.default_rng(5)
    p = 2 if manifold == "torus:1" else 3

    def p_values(shift, n=100, mu=0.5):
        x = unit(rng.standard_normal((200, n, p)) + shift)
        records = np.arctan2(x[..., 1], x[..., 0]) if p == 2 else x
        return [
            directions.mean_direction(own, manifold, cdp.GDP(mu), seed=k).uniformity_p_value
            for k, own in enumerate(records)
        ]

    none = p_values(0.0)
    assert stats.kstest(none, "uniform").pvalue > 1e-3  # seeded
    assert np.mean(np.less(p_values(0.5), 0.05)) > 0.9
    # control: the noise of the release left out of the law
    scale = (
        directions.mean_direction(
            np.zeros(100) if p == 2 else np.eye(3)[[0] * 100], manifold, cdp.GDP(0.5), seed=0
        )
        .region.parts[0]
        .scale
    )
    ratio = (1 / (100 * p) + scale**2) * 100 * p
    wrong = stats.chi2.sf(ratio * stats.chi2.isf(none, p), p)
    assert stats.kstest(wrong, "uniform").pvalue < 1e-3


def test_groups_at_opposite_ends_are_said_and_axes_tell_them_apart():
    rng = np.random.default_rng(6)
    x = rng.vonmises(1.0, 20.0, 4000) + np.pi * (rng.random(4000) < 0.5)
    mean = directions.mean_direction(x, "torus:1", cdp.GDP(1.0), seed=1)
    assert "opposite ends" in mean.report()
    axes = directions.mean_direction(x, "projective:1", cdp.GDP(1.0), angle_units="radians", seed=1)
    assert axes.uniformity_p_value < 1e-9
    assert axes.mean_direction == pytest.approx(1.0, abs=0.05)
    assert "opposite ends" not in axes.report()
    assert directions.mean_direction(
        np.c_[np.cos(x), np.sin(x)], "projective:1", cdp.GDP(1.0), seed=1
    ).mean_direction == pytest.approx(axes.mean_direction, abs=1e-6)


def test_the_rim_is_where_the_set_ends():
    x = _skew_on_the_sphere(np.random.default_rng(7), 300)
    mean = directions.mean_direction(x, "sphere:2", cdp.GDP(1.0), seed=2)
    np.testing.assert_allclose(mean.misfit(mean.rim), mean._quantile, rtol=1e-9)
    center = mean.resultant / np.linalg.norm(mean.resultant)
    assert mean.contains(unit(center + 0.99 * (mean.rim - center))).all()
    assert not mean.contains(unit(center + 1.01 * (mean.rim - center))).any()
    assert mean.half_angle == pytest.approx(float(np.arccos(mean.rim @ center).max()), rel=1e-6)


def test_where_nothing_is_known_the_set_is_everything():
    x = np.random.default_rng(8).uniform(0, 24, 50)
    mean = directions.mean_direction(x, "torus:1", cdp.GDP(0.2), angle_units="hours", seed=1)
    assert mean.rim is None
    assert mean.interval is None
    assert mean.half_angle == pytest.approx(12)
    assert mean.contains(np.arange(24.0)).all()
    assert "any direction" in mean.report()


def test_two_directions_are_compared_whatever_their_spreads():
    def rejected(shift, seed, runs=60):
        rng, found = np.random.default_rng(seed), 0
        for k in range(runs):
            a = directions.mean_direction(
                rng.vonmises(1.0, 0.7, 150), "torus:1", cdp.GDP(1.0), seed=2 * k
            )
            b = directions.mean_direction(
                rng.vonmises(1.0 + shift, 20.0, 900), "torus:1", cdp.GDP(1.0), seed=2 * k + 1
            )
            found += directions.compare_directions(a, b).rejects
        return found

    assert rejected(0.0, 11) <= stats.binom.isf(FAILURE, 60, 0.05)
    assert rejected(1.2, 12) > 54


def test_groups_persons_and_small_groups():
    rng = np.random.default_rng(9)
    x, site = rng.vonmises(0.0, 3.0, 600), np.repeat(["a", "b", "c"], [297, 300, 3])
    found = directions.mean_direction(
        x, "torus:1", cdp.GDP(1.0), groups=site, skip_small=True, seed=1
    )
    assert [label for label, _ in found.items()] == ["a", "b"]
    assert found["a"].region.n == 297
    person = np.repeat(np.arange(200), 3)
    mean = directions.mean_direction(x, "torus:1", cdp.GDP(1.0), units=person, seed=1)
    assert mean.region.n == 200


def test_groups_have_a_report_a_total_and_a_table():
    rng = np.random.default_rng(9)
    rows = rng.normal(np.repeat([8.0, 17.0, 1.0], [300, 300, 2]), 2.0) % 24
    site = np.repeat(["a", "b", "c"], [300, 300, 2])
    call = {"groups": site, "skip_small": True, "groups_per_unit": 2}
    found = directions.mean_direction(
        rows, "torus:1", cdp.ApproxDP(1.0, 1e-6), angle_units="hours", seed=1, **call
    )
    assert isinstance(found, Releases)
    assert found.total == composed(found.guarantee, 2)
    assert [repr(own) for own in found] == [repr(own) for _, own in found.items()]
    report = found.report()
    assert "Releases: mean direction on torus:1" in report
    assert "a      300  8." in report
    assert "c      2    skipped" in report
    assert "mean vector" in found.statement.accuracy
    table = found.to_pandas()
    for label, own in found.items():
        names = ("mean_direction", "mean_resultant_length", "half_angle", "uniformity_p_value")
        for name in names:
            assert table.loc[label, name] == getattr(own, name)
        np.testing.assert_array_equal(table.loc[label, "value"], own.resultant)
    assert table.loc["c", "mean_direction"] is None or np.isnan(table.loc["c", "mean_direction"])
    assert cdp.compare_means(found.regions, found.regions)["a"].p_value == 1.0
    assert "mean direction of 2 groups" in repr(found)
    assert "within" in found._repr_html_()
    assert "# The mean direction of each of 3 groups on torus:1" in found.document()


def test_a_stored_mean_direction_is_read_again():
    mean = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), angle_units="hours", seed=1)
    again = directions.MeanDirection.from_json(mean.to_json())
    assert again.report() == mean.report()
    assert (again.mean_direction, again.interval) == (mean.mean_direction, mean.interval)
    assert again.to_json() == mean.to_json()
    with pytest.raises(ValueError, match="not a mean axis: it is of another statistic"):
        directions.MeanAxis.from_json(mean.to_json())
    for edited in ('"hours"', '"torus:1"'):  # of another unit, on another space
        text = mean.to_json().replace(edited, {'"hours"': '"turns"'}.get(edited, '"sphere:2"'))
        with pytest.raises(ValueError, match="not a mean direction"):
            directions.MeanDirection.from_json(text)


def test_the_stored_region_gives_the_same_report():
    mean = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), angle_units="hours", seed=1)
    region = cdp.ConfidenceRegion.from_json(mean.region.to_json())
    again = directions.MeanDirection(region, "torus:1", "hours")
    with pytest.raises(ValueError, match="not in hours"):  # of longitude and latitude
        directions.MeanDirection(region, "sphere:1", "hours")
    assert again.report() == mean.report()
    assert repr(again) == repr(mean)
    assert "nothing is promised" in mean.report()  # of a seed
    assert "mean direction" in mean._repr_html_()


def test_directions_are_read_as_records_are():
    x = np.random.default_rng(10).normal(1.0, 0.4, 500)
    axes = directions.mean_direction(x, "projective:1", cdp.GDP(1.0), seed=1)
    angles = np.array([0.96, 0.97 + np.pi])  # as many as a vector has entries
    assert axes.contains(angles).all()
    np.testing.assert_allclose(
        axes.p_value(angles), axes.p_value(np.c_[np.cos(angles), np.sin(angles)]), rtol=1e-9
    )
    circle = np.c_[np.cos(x), np.sin(x)]
    for manifold, rows in (("sphere:1", circle), ("sphere:2", np.c_[circle, x])):
        mean = directions.mean_direction(rows, manifold, cdp.GDP(1.0), seed=1)
        with pytest.raises(ValueError, match="must have shape"):
            mean.contains(1.0)


def test_no_value_raises():
    bad = HOURS.copy()
    bad[:4] = [np.nan, np.inf, -np.inf, 1e308]
    mean = directions.mean_direction(bad, "torus:1", cdp.GDP(1.0), angle_units="hours", seed=1)
    whole = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), angle_units="hours", seed=1)
    assert abs(mean.mean_direction - whole.mean_direction) < 0.02
    for rows in (np.full((50, 3), np.nan), np.zeros((50, 3))):
        mean = directions.mean_direction(rows, "sphere:2", cdp.GDP(1.0), seed=1)
        assert np.isfinite(mean.mean_direction).all()
        assert mean.report()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(manifold="spd:3"), "directions are on spheres"),
        (dict(manifold="torus:2"), "directions are on spheres"),
        (dict(manifold="projective:2"), r"use directions\.mean_axis"),
        (dict(angle_units="turns"), "angle_units must be one of"),
        (dict(timing="steady"), "leave out timing"),
        (dict(guarantee=cdp.PureDP(1.0)), "Gaussian noise"),
        (dict(records=np.zeros((5, 2))), "shape"),
        (dict(level=1.5), "level"),
    ],
)
def test_what_is_wrong_is_refused(given, message):
    call = {"records": HOURS, "manifold": "torus:1", "guarantee": cdp.GDP(1.0)} | given
    with pytest.raises((ValueError, TypeError), match=message):
        directions.mean_direction(**call)


def test_a_region_of_another_space_is_refused():
    mean = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0))
    with pytest.raises(ValueError, match="not that of"):
        directions.MeanDirection(mean.region, "sphere:2")
    other = directions.mean_direction(HOURS, "torus:1", cdp.GDP(1.0), angle_units="hours")
    with pytest.raises(ValueError, match="one unit"):
        directions.compare_directions(mean, other)


def test_a_ball_too_wide_is_led_to_what_works():
    with pytest.raises(ValueError, match=r"directions\.mean_direction"):
        cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 3.0)


def test_a_ball_of_the_clock_and_numbers_as_points():
    ball = cdp.Ball.from_units("clock", "hours", center=23, radius=3)
    assert ball.radius == pytest.approx(np.pi / 4)
    x = directions.as_radians(HOURS, "hours")
    one = cdp.frechet_mean(x, ball, cdp.GDP(1.0), seed=1)
    assert one.value == cdp.frechet_mean(x[:, None], ball, cdp.GDP(1.0), seed=1).value
    line = cdp.Ball("euclidean:1", [0.0], 10.0)
    assert cdp.frechet_mean(np.arange(5.0), line, cdp.GDP(1.0), seed=1).value.shape == (1,)


def test_origins_have_names_and_axes_longitude_and_latitude():
    for spec in ("torus:2", "euclidean:3", "hyperboloid:2"):
        ball = cdp.Ball(spec, center="origin", radius=0.5)
        np.testing.assert_array_equal(ball.center, ball.manifold.origin)
        assert repr(eval(repr(ball), {"Ball": cdp.Ball})) == repr(ball)
    with pytest.raises(ValueError, match="'identity' on spd:2, got 'origin'"):
        cdp.Ball("spd:2", center="origin", radius=0.5)
    with pytest.raises(ValueError, match="a point on sphere:2, got 'origin'"):
        cdp.Ball("sphere:2", center="origin", radius=0.5)
    lonlat = [[-70.0, 40.0], [10.0, -20.0]]
    axes = cdp.Projective(2).as_points(lonlat)
    found = cdp.Projective(2).to_lonlat(axes)
    np.testing.assert_allclose(
        cdp.Projective(2).dist(cdp.Projective(2).as_points(found), axes), 0, atol=1e-7
    )


def test_of_a_protected_number_of_records_the_report_tells_the_released_one():
    """It uses fewer than there are: that number alone looked like the count."""
    whole = cdp.GDP(2.0, neighbours="add-remove")
    mean = directions.mean_direction(HOURS, "torus:1", whole, n_guess=2500, angle_units="hours")
    words = " ".join(mean.report().split("\n\n")[0].split())
    count = mean.region.count
    assert f"records: as of n = {mean.region.n}, by the count" in words
    assert f"count: {count.value} released (standard deviation" in words
    public = directions.mean_direction(HOURS, "torus:1", cdp.GDP(2.0), angle_units="hours")
    assert "records: n = 3000\n" in public.report()
