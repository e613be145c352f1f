"""The public ball: fixed once made, and never so large that rounding leaves room for two means."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import curvedp as cdp

LARGEST = {"sphere:1": np.pi / 2, "sphere:2": np.pi / 2, "sphere:2:3.0": 1.5 * np.pi}


def test_a_ball_cannot_be_changed_after_its_sensitivity_was_computed() -> None:
    ball = cdp.Ball("spd:3", "identity", 1.5)
    for name, value in (("radius", 0.1), ("center", np.eye(3)), ("manifold", cdp.SPD(2))):
        with pytest.raises(AttributeError):
            setattr(ball, name, value)
    with pytest.raises(ValueError, match="read-only"):
        ball.center[0, 0] = 2.0


@pytest.mark.parametrize("spec", ["spd:3", "sphere:2:3.0", "hyperboloid:2", "kendall:5"])
def test_copies_of_a_ball_are_the_same_ball(spec: str) -> None:
    manifold = cdp.as_manifold(spec)
    ball = cdp.Ball(manifold, manifold.random_point(rng=3), 0.5)
    points = manifold.random_point(5, rng=4)
    for other in (pickle.loads(pickle.dumps(ball)), copy.deepcopy(ball)):
        assert (other.manifold, other.radius) == (ball.manifold, ball.radius)
        assert not other.center.flags.writeable
        assert np.allclose(other.center, ball.center, rtol=0, atol=1e-15)
        assert np.allclose(other.project(points), ball.project(points), rtol=0, atol=1e-13)


@pytest.mark.parametrize("spec", LARGEST)
def test_the_radius_keeps_clear_of_its_bound_by_more_than_rounding(spec: str) -> None:
    """A solver's plan, where there is one, never stops farther off than it says."""
    manifold = cdp.as_manifold(spec)
    center, n = manifold.random_point(rng=3), 10**6
    for gap in (0.0, 1e-12, 1e-10, 5e-10):
        with pytest.raises(ValueError, match="radius must be below"):
            cdp.Ball(manifold, center, np.nextafter((1 - gap) * LARGEST[spec], 0.0))
    for gap in (2e-9, 1e-7, 1e-5, 1e-3):
        ball = cdp.Ball(manifold, center, (1 - gap) * LARGEST[spec])
        delta = cdp.sensitivity.frechet_mean(ball, n)
        assert 0 < delta <= 2 * ball.radius * (1 + 1e-8)
        plan = ball.frame.plan(n, 1e-4 * delta)
        assert plan is None or 0 < plan.gradient_target <= plan.tolerance


def test_the_bound_on_the_sensitivity_covers_the_slack_of_the_ball() -> None:
    for spec in ("sphere:2", "euclidean:3"):
        manifold = cdp.as_manifold(spec)
        ball = cdp.Ball(manifold, manifold.random_point(rng=3), 1.2)
        for moved in (1, 5):
            delta = cdp.sensitivity.frechet_mean(ball, 1, records_per_unit=moved)
            assert delta >= 2 * ball.radius * (1 + 0.99e-9)


def test_a_ball_keeps_its_own_copy_of_the_centre() -> None:
    center = np.array([0.0, 0.0, 1.0])
    domain = cdp.Ball(cdp.Sphere(2), center, 1.0)
    center[:] = [1.0, 0.0, 0.0]
    assert np.array_equal(domain.center, [0.0, 0.0, 1.0])


def test_balls_about_other_centres_have_other_hashes() -> None:
    """What is kept for each of a thousand groups' balls would else be looked for among all."""
    centers = np.random.default_rng(0).standard_normal((200, 2))
    assert len({hash(cdp.Ball("euclidean:2", center, 1.0)) for center in centers}) == 200
    zero, negative = (cdp.Ball("euclidean:1", [x], 1.0) for x in (0.0, -0.0))
    assert zero == negative
    assert hash(zero) == hash(negative)
