"""Balls made in km, degrees, hours or mm^2/s are told in them, and computed with as any others."""

from __future__ import annotations

import json
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import curvedp as cdp
from curvedp.batch.parameters import ball_from_dict, ball_to_dict
from curvedp.plotting import RegionDisplay
from curvedp.plotting.earth import coast_lines
from curvedp.unit import Unit

KM = 1 / 6371.0088
EARTH = cdp.Ball.from_units("earth", "km", center=[13.4, 52.5], radius=500)
CLOCK = cdp.Ball.from_units("clock", "hours", center=23.5, radius=5.5)
TENSORS = cdp.Ball.from_units("dti", "mm^2/s")
TURNS = cdp.Ball.from_units("rotations", "degrees", radius=60)
BALLS = {"earth": EARTH, "clock": CLOCK, "tensors": TENSORS, "turns": TURNS}
PLACES = np.random.default_rng(0).normal([13.0, 52.0], 1.0, (400, 2))


def plain(ball):
    return cdp.Ball(ball.manifold, ball.center, ball.radius)


def records_on(ball, n=400):
    tangent = 0.1 * np.random.default_rng(1).standard_normal((n, ball.manifold.dim))
    space = ball.manifold
    return space.exp(space.coords_to_tangent(tangent, ball.center), ball.center)


@pytest.mark.parametrize("name", BALLS)
def test_a_repr_makes_the_ball_again(name):
    ball = BALLS[name]
    assert eval(repr(ball), {"Ball": cdp.Ball}) == ball
    assert repr(ball).startswith("Ball.from_units(")
    assert pickle.loads(pickle.dumps(ball)) == ball != plain(ball)
    kept = json.loads(json.dumps(ball_to_dict(ball)))
    assert ball_from_dict(kept) == ball
    assert ball_from_dict(kept).unit == ball.unit


def test_reprs_make_balls_again_wherever_they_lie():
    rng = np.random.default_rng(2)
    for _ in range(100):
        center = [rng.uniform(-180, 180), rng.uniform(-90, 90)]
        there = cdp.Ball.from_units("earth", "miles", center=center, radius=rng.uniform(1, 5000))
        hours = cdp.Ball.from_units(
            "clock", "hours", center=round(rng.uniform(-24, 24), 2), radius=2.0
        )
        bare = plain(there)
        own = cdp.Ball(bare.manifold, center, 0.3, unit=Unit("mine", "leagues", 0.1))
        for ball in (there, hours, bare, own):
            assert eval(repr(ball), {"Ball": cdp.Ball, "Unit": Unit}) == ball


@pytest.mark.parametrize("name", BALLS)
def test_numbers_do_not_depend_on_the_unit(name):
    ball = BALLS[name]
    rows = records_on(ball)
    for function in (cdp.frechet_mean, cdp.adaptive_mean, cdp.frechet_variance):
        here, bare = (function(rows, own, cdp.GDP(1.0), seed=3) for own in (ball, plain(ball)))
        found, wanted = here.to_dict(), bare.to_dict()
        assert found["ball_unit"] == ball.unit.to_dict()
        assert wanted["ball_unit"] is None
        for own in ("ball_unit", "parts", "provenance"):
            found.pop(own), wanted.pop(own)
        assert found == wanted
        assert {part.ball_unit for part in here.parts} <= {ball.unit}


def test_texts_are_the_numbers_in_the_unit():
    mean = cdp.frechet_mean(PLACES, EARTH, cdp.GDP(1.0))
    report = mean.report()
    assert "ball of radius 500 km" in report
    words = " ".join(report.split())
    assert words.count("in units of the metric") == 2  # sensitivity and scale, which are lengths
    scores = cdp.principal_components(PLACES, 1, EARTH, cdp.PureDP(50.0))
    assert "units of the metric" not in " ".join(text for _, text in scores._facts())
    told = re.search(r"expected error: ([\d.]+) km", report)
    assert float(told[1]) == pytest.approx(mean.expected_error / KM, rel=1e-5)
    lon, lat = cdp.Sphere(2).to_lonlat(mean.value)
    shown = re.search(r"\[\s*([\d.]+)\s*,\s*([\d.]+)\s*\] \(longitude", report)
    assert [float(shown[1]), float(shown[2])] == pytest.approx([lon, lat], abs=1e-5)
    variance = cdp.frechet_variance(PLACES, EARTH, cdp.GDP(1.0))
    told = re.search(r"in its unit: +([\d.e+]+) km\^2", variance.report())
    assert float(told[1]) == pytest.approx(float(variance.value) / KM**2, rel=1e-5)
    region = cdp.confidence_region(PLACES, EARTH, cdp.GDP(1.0))
    first = re.search(r"half-lengths of its axes: \[ *([\d.]+) .*\] km", region.report())
    assert float(first[1]) == pytest.approx(region.axes()[0][0] / KM, rel=1e-3)
    assert region.ball_unit == EARTH.unit
    groups = cdp.frechet_mean(PLACES, EARTH, cdp.GDP(1.0), groups=np.arange(400) % 2)
    assert re.search(r"expected errors? [\d.]+ km", groups.report())
    assert groups._row(0)[3].endswith(" km")
    assert "500.0" in EARTH._repr_html_() or "500 km" in EARTH._repr_html_()


@pytest.mark.parametrize("statistic", ["frechet_mean", "frechet_variance", "confidence_region"])
@pytest.mark.parametrize("name", BALLS)
def test_all_that_is_planned_is_in_the_unit_of_the_ball(statistic, name):
    """Wishes, guesses and errors alike; a unit of tensors' entries is none of distances."""
    ball, budget = BALLS[name], cdp.GDP(1.0)
    one = ball.unit.length or 1.0
    power = 2 if statistic == "frechet_variance" else 1
    spread = {} if statistic != "confidence_region" else {"spread": 0.3 * ball.radius}
    told = {name: length / one for name, length in spread.items()}
    bare = cdp.plan(statistic, plain(ball), budget, n=400, **spread)
    found = cdp.plan(statistic, ball, budget, n=400, **told)
    assert (found.low, found.high) == pytest.approx((bare.low / one**power, bare.high / one**power))
    wished = cdp.plan(statistic, ball, budget, error=found.high * (1 + 1e-9), **told)
    assert wished.n == 400
    assert wished.high <= found.high * (1 + 1e-9)
    if found.radius is not None:
        assert found.radius == pytest.approx(ball.radius / one)
    unit = json.loads(found.to_json())["unit"]
    assert unit["name"] == ball.unit.name
    if ball.unit.length is not None:
        squared = "^2" * (power == 2)
        assert f"{found.high:.4g} {ball.unit.name}{squared}" in found.report()
        assert "units of the metric" not in " ".join(found.report().split())
    elif power == 2:
        assert "units of the metric" in " ".join(found.report().split())


@pytest.mark.parametrize("name", BALLS)
def test_expected_errors_and_numbers_of_records_are_in_the_unit_of_the_ball(name):
    ball, budget = BALLS[name], cdp.GDP(1.0)
    one = ball.unit.length or 1.0
    error = cdp.expected_error(ball, 400, budget)
    assert error * one == pytest.approx(cdp.expected_error(plain(ball), 400, budget), rel=1e-12)
    assert cdp.required_n(ball, error * (1 + 1e-9), budget) == 400
    planned = cdp.plan("frechet_mean", ball, budget, n=400)
    assert planned.low <= error * (1 + 1e-9)
    assert error <= planned.high * (1 + 1e-9)


@pytest.mark.parametrize(
    "function", [cdp.frechet_mean, cdp.confidence_region, cdp.frechet_variance]
)
def test_arrays_are_in_radians_on_a_ball_of_hours_and_columns_in_their_unit(function):
    hours = np.random.default_rng(0).normal(23.0, 1.0, 300)
    radians = cdp.directions.as_radians(hours, "hours")
    wanted = function(radians, CLOCK, cdp.GDP(1.0), seed=1, coverage=False)
    for same in (pd.Series(hours, name="hour"), pd.DataFrame({"time_hours": hours})):
        found = function(same, CLOCK, cdp.GDP(1.0), seed=1, coverage=False)
        assert found.to_json() == wanted.to_json()
    for bare in (hours, pd.Series(hours, name="time")):
        found = function(bare, CLOCK, cdp.GDP(1.0), seed=1, coverage=False)
        assert found.to_json() != wanted.to_json()


def test_refusals_of_plans_are_told_in_the_unit():
    for refused in (
        lambda: cdp.plan("frechet_mean", EARTH, cdp.GDP(1.0), error=1e-30),
        lambda: cdp.required_n(EARTH, 1e-30, cdp.GDP(1.0)),
    ):
        with pytest.raises(ValueError, match=r"down to 1e-30 km"):
            refused()
    guess = cdp.plan("confidence_region", EARTH, cdp.GDP(1.0), n=400, spread=300)
    assert "distance 300 km from" in guess.report()


@pytest.mark.parametrize(
    ("domain", "spread", "words"),
    [
        ("sphere:2", 25, r"spread of 25 radians: its points are at most 3\.14159 radians apart"),
        ("torus:3", 6.0, r"at most 5\.4414 radians apart"),
        ("projective:2", 1.6, "at most 1.5708 radians"),
        (EARTH, 1001, "spread of 1001 km: its points are at most 1000 km apart"),
    ],
)
def test_spreads_that_no_records_have_are_refused(domain, spread, words):
    with pytest.raises(ValueError, match=words):
        cdp.plan("frechet_mean", domain, cdp.GDP(1.0), n=1000, spread=spread)


def test_plans_of_directions_without_a_unit_say_radians():
    free = cdp.plan("frechet_mean", "sphere:2", cdp.GDP(1.0), error=0.035, spread=0.43).report()
    assert re.search(r"0\.0\d+ radians to 0\.0\d+ radians", free)
    assert "at spread 0.43 radians" in " ".join(free.split())
    variance = cdp.plan("frechet_variance", plain(EARTH), cdp.GDP(1.0), n=400).report()
    assert "radians^2" in variance
    for space in ("euclidean:2", "spd:2", cdp.Sphere(2, radius=6371.0)):
        assert (
            "radians"
            not in cdp.plan("frechet_mean", space, cdp.GDP(1.0), n=900, spread=1.0).report()
        )


def test_hours_and_entries_of_tensors():
    clock = cdp.frechet_mean(records_on(CLOCK), CLOCK, cdp.GDP(1.0)).report()
    assert "ball of radius 5.5 hours" in clock
    assert re.search(r"\[\s*(23|0)\.\d+\] \(hours\)", clock)
    tensors = cdp.frechet_mean(records_on(TENSORS), TENSORS, cdp.GDP(1.0)).report()
    assert "of the value's entries mm^2/s" in tensors
    assert "ball of radius 2.34 around" in tensors


def test_stored_releases_keep_it_and_refuse_others():
    mean = cdp.frechet_mean(PLACES, EARTH, cdp.GDP(1.0))
    again = cdp.Release.from_json(mean.to_json())
    assert again == mean
    assert again.report() == mean.report()
    data = mean.to_dict()
    for wrong in (
        {"field": "earth", "name": "km"},
        {"field": "earth", "name": "km", "length": -1.0},
        {"field": "earth", "name": "km", "length": "1"},
        {"field": "earth", "name": "k\nm", "length": 1.0},
        {"field": "earth", "name": "km" * 30, "length": 1.0},
        "km",
    ):
        with pytest.raises(ValueError, match=r"not a release|unit|length|field"):
            cdp.Release.from_json(json.dumps(data | {"ball_unit": wrong}))
    with pytest.raises(TypeError, match="unit must be a Unit"):
        cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5, unit="km")


# ----------------------------------------------------------------------------- pictures


def test_coasts_are_on_the_sphere_and_where_they_should_be():
    coasts = np.concatenate(coast_lines())
    np.testing.assert_allclose(np.linalg.norm(coasts, axis=1), 1.0, atol=1e-12)
    for lonlat in ([-9.5, 38.7], [144.9, -38.3], [-74.0, 40.6], [18.4, -34.1]):  # ports
        near = cdp.Sphere(2).dist(cdp.Sphere(2).as_points(lonlat), coasts).min()
        assert near < 150 * KM
    for lonlat in ([0.0, 0.0], [-140.0, 0.0], [90.0, 45.0], [25.0, 0.0]):  # far from any
        near = cdp.Sphere(2).dist(cdp.Sphere(2).as_points(lonlat), coasts).min()
        assert near > 400 * KM


def lines_of(display):
    return len(display.axes_[0].lines)


def test_only_the_earth_has_coasts():
    display, bare = EARTH.plot(), plain(EARTH).plot()
    assert lines_of(display) > 150 > lines_of(bare)
    assert display.figure_._suptitle.get_text() == "Ball on sphere:2, radius 500 km"
    told = [text.get_text() for text in display.axes_[0].texts]
    assert any(text.startswith("longitude and latitude every") for text in told)
    region = cdp.confidence_region(PLACES, EARTH, cdp.GDP(1.0))
    shown = RegionDisplay.from_regions([region], view="sphere")
    assert any("longitude" in text.get_text() for text in shown.ax_.texts)


@pytest.mark.parametrize("center", [[0, 90], [180, -89.9], [179.9, 0], [10, 50]])
@pytest.mark.parametrize("radius", [5, 30, 9000])
def test_every_place_has_a_grid(center, radius):
    ball = cdp.Ball.from_units("earth", "km", center=center, radius=radius)
    (ax,) = ball.plot().axes_
    (low, high), seen = ax.get_xlim(), 0
    for line in ax.lines:
        x, y = line.get_data()
        if line.get_color() == "0.86":
            inside = (low < np.asarray(x)) & (np.asarray(x) < high)
            seen += bool((inside & (low < np.asarray(y)) & (np.asarray(y) < high)).any())
    assert 4 <= seen <= 100


def test_titles_and_numbers_are_in_the_unit():
    mean = cdp.frechet_mean(PLACES, EARTH, cdp.GDP(1.0)).plot()
    assert f"expected error {mean.release.expected_error / KM:.3g} km" in mean.ax_.get_title()
    variance = cdp.frechet_variance(PLACES, EARTH, cdp.GDP(1.0)).plot()
    ends = next(line for line in variance.ax_.lines if line.get_label() == "range").get_xdata()
    assert list(ends) == pytest.approx([0.0, 500.0**2])
    assert variance.ax_.get_xlabel() == "km^2"
    clock = cdp.frechet_mean(records_on(CLOCK), CLOCK, cdp.GDP(1.0)).plot()
    assert [text.get_text() for text in clock.ax_.texts] == ["0 hours", "6", "12", "18"]


def test_regions_intervals_and_geodesics_are_drawn_in_the_unit():
    region = cdp.confidence_region(PLACES, EARTH, cdp.GDP(1.0))
    shown = RegionDisplay.from_regions([region])
    assert shown.ax_.get_xlabel() == "tangent coordinate 1, km"
    longest = np.ptp(shown.boundaries_[0], axis=1).max() / 2
    assert longest <= 1.001 * region.axes()[0][0] / KM < 2 * longest
    interval = cdp.variance_interval(PLACES, EARTH, cdp.GDP(1.0))
    row = interval.plot()
    assert row.ax_.get_xlabel() == "Fréchet variance, km^2"
    assert row.ax_.lines[0].get_xdata()[0] == pytest.approx(interval.estimate / KM**2)
    fit = cdp.geodesic_regression(
        np.linspace(0, 1, 400), PLACES, EARTH, cdp.GDP(2.0), x_range=(0.0, 1.0)
    )
    assert re.search(r"velocity over the range at most [\d.]+ km", fit.report())
    assert any("longitude" in text.get_text() for text in fit.plot().ax_.texts)


def test_numbers_stand_on_their_range():
    values = np.random.default_rng(4).normal(40.0, 10.0, 500)
    median = cdp.quantile(values, 0.5, low=0, high=100, guarantee=cdp.PureDP(1.0)).plot()
    ends = next(line for line in median.ax_.lines if line.get_label() == "range").get_xdata()
    assert list(ends) == [0.0, 100.0]
    several = cdp.quantile(values, [0.25, 0.5], low=0, high=100, guarantee=cdp.PureDP(1.0)).plot()
    assert several.view == "entries"


def test_a_unit_is_a_positive_length():
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="length"):
            Unit("earth", "km", wrong)


@pytest.mark.parametrize("ball", BALLS.values(), ids=BALLS)
def test_a_unit_of_a_field_has_that_fields_length_in_stored_texts_and_balls(ball):
    """5000 km told as 5 would be a ball of another size; units of one's own have any length."""
    records = np.repeat(ball.center[None], 50, axis=0)
    data = json.loads(cdp.frechet_mean(records, ball, cdp.GDP(1.0)).to_json())
    own = data["ball_unit"]
    length = None if own["length"] else 1.0
    for wrong in (own | {"length": 5.0}, own | {"length": length}, own | {"name": "leagues"}):
        with pytest.raises(ValueError, match=r"another length|no unit"):
            cdp.Release.from_json(json.dumps(data | {"ball_unit": wrong}))
        with pytest.raises(ValueError, match=r"another length|no unit"):
            cdp.Ball(ball.manifold, ball.center, ball.radius, unit=Unit(**wrong))
    mine = own | {"field": "mine", "length": 5.0}
    assert cdp.Release.from_json(json.dumps(data | {"ball_unit": mine})).ball_unit.length == 5.0


def test_products_of_balls_in_different_units_are_different():
    line = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    one, other = cdp.ProductBall(EARTH, line), cdp.ProductBall(plain(EARTH), line)
    assert one != other
    assert one == cdp.ProductBall(EARTH, line)
    assert hash(one) == hash(cdp.ProductBall(EARTH, line))


@pytest.mark.parametrize("length", [1e-170, 1e100, 1e-60, 1e60])
def test_units_have_lengths_whose_fourth_power_is_a_number(length):
    """A report must not fail after payment."""
    if not 1e-60 <= length <= 1e60:
        with pytest.raises(ValueError, match="length of a unit"):
            Unit("lab", "m", length)
        return
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0, unit=Unit("lab", "m", length))
    for release in (cdp.frechet_variance, cdp.fourth_moment):
        assert release(np.zeros((50, 2)), ball, cdp.GDP(1.0)).report()


def test_a_radius_that_is_no_number_of_the_unit_is_typed_in_that_of_the_metric():
    for radius in [0.1, *np.random.default_rng(0).uniform(0.05, 1.0, 40)]:
        ball = cdp.Ball("sphere:2", EARTH.center, radius, unit=EARTH.unit)
        again = eval(repr(ball), {"Ball": cdp.Ball, "Unit": Unit})
        assert again.radius == ball.radius
