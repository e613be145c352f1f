"""Releases of many groups, in a picture."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from manifold_list import BY_NAME

pytest.importorskip("matplotlib")

from curvedp.plotting import ReleasesDisplay

PNG = b"\x89PNG\r\n"
MU = cdp.GDP(mu=1.0)
BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)


def three_sites(statistic=cdp.frechet_mean, ball=BALL, **options):
    """Two sites alike and one far away."""
    coords = np.zeros((900, ball.manifold.dim))
    coords[:, 0] = np.repeat([-0.2, -0.2, 0.3], 300)
    space = ball.manifold
    records = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    return statistic(records, ball, MU, groups=np.repeat(["$a$", "b", "c"], 300), **options)


@pytest.mark.parametrize("name", ["sphere:2", "spd:3", "hpd:2", "grassmann:4:2", "euclidean:3"])
def test_points_are_drawn_by_their_distances_in_units_of_the_noise(name):
    space = BY_NAME[name].manifold
    ball = cdp.Ball(space, space.random_point(rng=1), 0.5)
    releases = three_sites(ball=ball)
    display = releases.plot()
    assert display.view == "distances"
    (image,) = display.ax_.images
    shown = np.asarray(image.get_array())
    apart = float(space.dist(releases["b"].value, releases["c"].value))
    error = np.hypot(releases["b"].expected_error, releases["c"].expected_error)
    assert shown[1, 2] == pytest.approx(apart / error)
    assert shown[0, 2] > 10 * shown[0, 1]
    assert display._repr_png_().startswith(PNG)


def test_numbers_are_drawn_in_their_errors_by_name():
    releases = three_sites(cdp.frechet_variance)
    display = releases.plot()
    assert display.view == "intervals"
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["$a$", "b", "c"]
    dots = display.ax_.lines[0].get_xdata()
    np.testing.assert_allclose(dots, releases.value)
    assert display._repr_png_().startswith(PNG)


def test_skipped_groups_and_hundreds_of_groups_are_drawn():
    groups = np.concatenate([np.repeat(np.arange(400), 30), [400]])
    records = np.tile(BALL.center, (len(groups), 1))
    pure = cdp.PureDP(1.0)
    releases = cdp.frechet_variance(records, BALL, pure, groups=groups, skip_small=True)
    means = cdp.frechet_mean(records, BALL, MU, groups=groups)
    for found in (releases, means):
        display = found.plot()
        assert len(display.ax_.get_yticks()) <= 31
        assert display._repr_png_().startswith(PNG)
    assert means.plot().ax_.images[0].get_array().shape == (401, 401)


def test_releases_without_a_guarantee_say_so():
    assert "NO GUARANTEE" in three_sites(seed=1).plot().ax_.get_title()


def test_what_no_picture_shows_is_refused():
    with pytest.raises(TypeError, match=r"plot one, as releases\[label\].plot"):
        three_sites(cdp.log_covariance).plot()
    many = cdp.frechet_mean(np.tile(BALL.center, (4002, 1)), BALL, MU, groups=np.arange(4002) // 2)
    with pytest.raises(ValueError, match="2001 points"):
        ReleasesDisplay.from_releases(many)
