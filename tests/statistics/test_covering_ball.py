"""Balls about stated extremes: they hold these, and hardly more."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from manifold_list import SMALL, Case


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_covering_ball_holds_its_points_and_hardly_more(case: Case) -> None:
    space = case.manifold
    size = 0.2 * min(space.max_ball_radius, 2.0)
    rng = np.random.default_rng(3)
    coords = rng.standard_normal((6, space.dim))
    coords *= size / np.linalg.norm(coords, axis=1, keepdims=True)
    points = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    ball = cdp.Ball.covering(space, points)
    assert ball.contains(points).all()
    # six points at one distance from the origin: no ball about it is smaller
    assert ball.radius <= size * (1 + 1e-3)
    apart = space.pairwise_dist(points).max()
    assert ball.radius >= 0.5 * apart * (1 - 1e-9)


def test_two_points_have_the_ball_about_their_midpoint() -> None:
    ball = cdp.Ball.covering("spd:2", [np.eye(2), 4.0 * np.eye(2)])
    np.testing.assert_allclose(ball.center, 2.0 * np.eye(2), rtol=1e-12)
    assert ball.radius == pytest.approx(np.sqrt(2) * np.log(2), rel=1e-8)
    wider = cdp.Ball.covering("spd:2", [np.eye(2), 4.0 * np.eye(2)], margin=0.1)
    assert wider.radius == pytest.approx(1.1 * ball.radius)


def test_a_product_has_one_for_each_factor() -> None:
    space = cdp.RigidMotions(length=2.0)
    moved = space.join((np.eye(3), [0.0, 0.0, 6.0]))
    turned = space.join(([0.0, 0.0, 0.6, 0.8], [0.0, 0.0, 0.0]))
    ball = cdp.Ball.covering(space, [moved, turned])
    turns, moves = ball.factors
    assert moves.radius == pytest.approx(3.0)
    assert turns.radius == pytest.approx(np.arcsin(0.6))
    assert ball.contains([moved, turned]).all()


@pytest.mark.parametrize(
    ("points", "margin", "words"),
    [
        ([[0.0, 0.0, 1.0]], 0.0, "two or more"),
        ([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], 0.0, "two or more"),
        ([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], 0.0, "radius must be below"),
        ([[0.0, 0.0, 1.0], [0.0, 0.1, 1.0]], -0.1, "margin must be"),
    ],
)
def test_what_has_no_ball_is_refused(points: list[list[float]], margin: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cdp.Ball.covering("sphere:2", points, margin=margin)
