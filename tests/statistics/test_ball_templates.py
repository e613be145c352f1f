"""Balls in the units of a field."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import curvedp as cdp
from curvedp.ball_templates import TEMPLATES

WATER = 3.0 * np.eye(3)
SPLENIUM = np.diag([1.685, 0.287, 0.109])


def turned(tensor, count=200):
    turns = Rotation.random(count, random_state=1).as_matrix()
    return turns @ tensor @ turns.swapaxes(1, 2)


@pytest.mark.parametrize(("units", "scale"), list(TEMPLATES["dti"].units.items()))
def test_tensors_of_water_and_of_the_splenium_lie_in_their_ball(units, scale):
    ball = cdp.Ball.from_units("dti", units)
    assert ball.contains(scale * WATER)
    assert ball.contains(scale * turned(SPLENIUM)).all()
    assert not ball.contains(1.02 * scale * WATER)
    assert not ball.contains(1e-3 * scale * WATER)


def test_the_ball_of_tensors_is_the_smallest_up_to_its_digits():
    alike = [np.diag(order) for order in itertools.permutations(np.diag(SPLENIUM))]
    least = cdp.Ball.covering("spd:3", [WATER, *alike])
    stated = cdp.Ball.from_units("dti", "um^2/ms")
    assert least.radius == pytest.approx(stated.radius, abs=5e-3)
    assert float(stated.manifold.dist(least.center, stated.center)) < 5e-3


def test_real_tensors_lie_in_it_for_the_most_part():
    records = cdp.datasets.load_diffusion_tensors().records
    assert 0.8 < cdp.Ball.from_units("dti", "1e-3 mm^2/s").contains(records).mean() < 0.82


def test_distances_on_the_earth_are_those_of_its_units():
    berlin, paris = [13.405, 52.52], [2.3522, 48.8566]  # 878 km apart
    for radius, units in ((880, "km"), (880e3, "m"), (547, "miles"), (7.92, "degrees")):
        assert cdp.Ball.from_units("earth", units, center=berlin, radius=radius).contains(paris)
        smaller = cdp.Ball.from_units("earth", units, center=berlin, radius=0.99 * radius)
        assert not smaller.contains(paris)


def test_turns_are_measured_by_their_angle():
    ball = cdp.Ball.from_units("rotations", "degrees", radius=30)
    about_x = Rotation.from_euler("x", [[29.99], [30.01]], degrees=True)
    np.testing.assert_array_equal(ball.contains(about_x), [True, False])
    moved = cdp.Ball.from_units("rotations", "radians", center=about_x[0], radius=0.5)
    assert moved.radius == 0.5
    assert moved.contains(about_x[1])


def test_a_stated_center_and_radius_replace_those_of_the_field():
    ball = cdp.Ball.from_units("dti", "mm^2/s", center=1e-3 * np.eye(3), radius=1.5)
    np.testing.assert_array_equal(ball.center, 1e-3 * np.eye(3))
    assert ball.radius == 1.5
    assert cdp.Ball.from_units("dti", "mm^2/s", radius=3.0).center[0, 0] == pytest.approx(7.8e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("eeg", "uV^2", {}), "no field 'eeg': choose from"),
        (("dti", "km", {}), "no unit of 'dti' 'km': choose from"),
        (("earth", "km", {"radius": 5}), "need a center"),
        (("earth", "km", {"center": [0, 0]}), "need a radius, in km"),
        (("dti", "mm^2/s", {"center": np.eye(3)}), "give a radius too"),
        (("earth", "km", {"center": [0, 0], "radius": 20_000}), "radius must be below"),
        (("earth", "km", {"center": [0, 0], "radius": math.nan}), "radius must be"),
    ],
)
def test_what_is_missing_or_unknown_is_named(given, message):
    field, units, options = given
    with pytest.raises(ValueError, match=message):
        cdp.Ball.from_units(field, units, **options)
