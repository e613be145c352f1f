"""What a ball holds, in a picture."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp.plotting.points import view_of
from drawn_spaces import DRAWN
from manifold_list import BY_NAME, CASES

pytest.importorskip("matplotlib")

from curvedp.plotting.balls import rim_points

PNG = b"\x89PNG\r\n"


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def ball_on(case):
    space = case.manifold
    return cdp.Ball(space, space.random_point(rng=1), min(0.5 * space.max_ball_radius, 1.0))


@pytest.mark.parametrize("case", DRAWN, ids=repr)
def test_a_ball_is_drawn_on_every_space(case):
    display = ball_on(case).plot()
    assert display.view == view_of(case.manifold)
    assert case.manifold.spec in display.figure_.get_suptitle()
    assert display._repr_png_().startswith(PNG)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_points_of_the_rim_lie_on_it_apart_from_each_other(case):
    ball = ball_on(case)
    points = [point for _, point in rim_points(ball)]
    away = ball.manifold.dist(np.stack(points), ball.center)
    np.testing.assert_allclose(away, ball.radius, rtol=1e-6)
    between = ball.manifold.pairwise_dist(np.stack(points), np.stack(points))
    assert between[~np.eye(len(points), dtype=bool)].min() > 0.5 * ball.radius


def test_the_rim_of_tensors_holds_the_largest_and_the_longest():
    points = dict(rim_points(cdp.Ball("spd:3", center="identity", radius=1.5)))
    assert list(points) == ["largest", "smallest", "longest", "flattest"]
    side = np.exp(1.5 / np.sqrt(3))
    np.testing.assert_allclose(points["largest"], side * np.eye(3), rtol=1e-12)
    np.testing.assert_allclose(points["smallest"], np.eye(3) / side, rtol=1e-12)
    long, *short = np.linalg.eigvalsh(points["longest"])[::-1]
    assert long == pytest.approx(np.exp(1.5 * 2 / np.sqrt(6)))
    np.testing.assert_allclose(short, np.exp(-1.5 / np.sqrt(6)), rtol=1e-12)


def test_a_product_has_no_picture_of_its_own():
    ball = ball_on(BY_NAME["sphere:2"])
    with pytest.raises(TypeError, match="each of its factors"):
        cdp.ProductBall(ball, ball).plot()
