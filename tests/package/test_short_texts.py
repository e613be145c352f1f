"""Every object prints one short line, on every space."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp._text import MOST_NUMBERS
from manifold_list import CASES

#: Letters of a line about an object with at most a dozen numbers.
MOST_LETTERS = 240


def ball_on(case) -> cdp.Ball:
    space = case.manifold
    return cdp.Ball(space, space.origin, min(0.5 * space.max_ball_radius, 1.0))


def is_short_line(text: str) -> bool:
    return "\n" not in text and len(text) <= MOST_LETTERS


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_ball_and_a_mean_are_one_short_line(case):
    ball = ball_on(case)
    other = cdp.Ball(ball.manifold, ball.manifold.random_point(rng=1), ball.radius)
    mean = cdp.frechet_mean(np.stack([ball.center] * 400), ball, cdp.GDP(mu=1.0))
    for item in (ball, other, mean):
        assert is_short_line(repr(item)), repr(item)
        assert case.manifold.spec in repr(item)
    if ball.manifold.point_size > MOST_NUMBERS:
        assert str(ball.manifold.point_shape) in repr(other) + repr(mean)


@pytest.mark.parametrize("case", [case for case in CASES if case.manifold.dim >= 2], ids=repr)
def test_a_region_without_privacy_is_one_short_line(case):
    ball = ball_on(case)
    if ball.manifold.dim > 20:
        pytest.skip("needs many records")
    coords = 0.1 * ball.radius * np.random.default_rng(0).standard_normal((200, ball.manifold.dim))
    points = ball.project(
        ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    )
    region = cdp.nonprivate.confidence_region(points, ball.manifold)
    assert is_short_line(repr(region))
    assert all(len(line) <= 100 for line in region.report().splitlines()[:4])


def test_a_short_ball_is_made_again_from_its_text():
    for ball in (
        cdp.Ball("spd:28", center="identity", radius=1.5),
        cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5),
    ):
        again = eval(repr(ball), {"Ball": cdp.Ball})
        np.testing.assert_array_equal(again.center, ball.center)
        assert (again.manifold, again.radius) == (ball.manifold, ball.radius)


def stored_kinds() -> list[object]:
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    x = np.linspace(-1.0, 1.0, 80)
    y = np.column_stack((x / 2, x**2 / 2))
    noise = cdp.GDP(mu=1.0)
    fit = cdp.geodesic_regression(x, y, ball, cdp.GDP(50.0), x_range=(-1.0, 1.0))
    means = [cdp.frechet_mean(half, ball, noise) for half in (y[:40], y[40:])]
    regions = [cdp.confidence_region(half, ball, noise) for half in (y[:40], y[40:])]
    return [
        *means,
        *regions,
        cdp.frechet_mean(y, ball.manifold, cdp.GDP(4.0)),
        cdp.combine(means),
        cdp.compare_means(*regions),
        cdp.frechet_variance(y, ball, noise),
        cdp.quantile(x, [0.25, 0.75], low=-1.0, high=1.0, guarantee=noise),
        cdp.k_means(y, 2, ball, noise),
        cdp.tangent_logistic(y, x > 0, ball, noise, classes=[False, True]),
        cdp.variance_interval(y, ball, noise),
        cdp.two_sample_test(y[:40], y[40:], ball, noise),
        cdp.k_sample_test(y, x > 0, ball, noise),
        cdp.trend_test(x, y, ball, noise, x_range=(-1.0, 1.0)),
        fit,
        fit.geodesic,
        cdp.r_squared(x, y, fit, noise),
        cdp.conformal.density(
            y, ball, noise, mesh=cdp.conformal.Mesh(ball.manifold, y, np.ones(80))
        ),
        cdp.plan("adaptive_mean", ball, noise, n=80),
        cdp.Ledger(noise),
    ]


def test_every_kind_is_one_short_line():
    kinds = stored_kinds()
    for item in kinds:
        assert is_short_line(repr(item)), repr(item)
    below = set(cdp.Release.__subclasses__())
    shown = {type(item) for item in kinds}
    assert {kind for kind in below if "PermutationRelease" not in kind.__name__} <= shown


def test_a_large_value_does_not_stand_before_the_guarantee():
    ball = cdp.Ball("spd:28", center="identity", radius=1.5)
    mean = cdp.frechet_mean(np.tile(np.eye(28), (300, 1, 1)), ball, cdp.GDP(mu=1.0))
    lines = mean.report().splitlines()
    value = next(line for line in lines if "array of shape (28, 28): see .value" in line)
    assert lines[lines.index(value) + 1].startswith("guarantee:")
    assert len(lines) < 50
    assert all(len(line) <= 88 for line in lines)


def test_what_is_not_proved_is_loud_on_its_line():
    ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    records = np.zeros((50, 1))
    for kind in (cdp.frechet_mean, cdp.confidence_region, cdp.variance_interval):
        assert "NO GUARANTEE (claimed GDP(mu=1))" in repr(kind(records, ball, cdp.GDP(1.0), seed=1))
