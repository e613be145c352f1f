"""Gradients that exact draws of the K-norm mean compute: below a number known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.mechanisms.draw_cost import (
    MAX_EVALUATIONS,
    clipped_evaluations,
    expected_evaluations,
)
from curvedp.privacy import GDP
from curvedp.statistics.call import Call
from curvedp.statistics.kng_mean import KNGDesign, KNGMean

N = 60


def ball_of(spec: str, radius: float) -> cdp.Ball:
    space = cdp.as_manifold(spec)
    return cdp.Ball(space, space.origin, radius)


def arrangements(ball: cdp.Ball) -> dict[str, np.ndarray]:
    """Records that are hard in different ways."""
    dim, radius, rng = ball.manifold.dim, 0.999 * ball.radius, np.random.default_rng(0)
    end = rng.standard_normal(dim)
    end *= radius / np.linalg.norm(end)
    directions = rng.standard_normal((N, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    outlier = 0.02 * radius * rng.standard_normal((N, dim))
    outlier[0] = end
    signs = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
    coords = {
        "centre": np.zeros((N, dim)),
        "rim": np.tile(end, (N, 1)),
        "near": 0.05 * radius * directions * rng.random((N, 1)),
        "ends": signs * end,
        "outlier": outlier,
        "geodesic": np.linspace(-1.0, 1.0, N)[:, None] * end,
        "sphere": radius * directions,
        "ball": radius * directions * rng.random((N, 1)) ** (1 / dim),
    }
    space, center = ball.manifold, ball.center
    return {
        name: space.exp(space.coords_to_tangent(rows, center), center)
        for name, rows in coords.items()
    }


def design_of(ball: cdp.Ball, guarantee: GDP, tau: float | None = None) -> KNGDesign:
    statistic = KNGMean(tau)
    return statistic.design(Call(statistic=statistic, balls=(ball,), guarantee=guarantee), ball, N)


def counted(
    ball: cdp.Ball, guarantee: GDP, tau: float | None = None
) -> tuple[dict[str, int], float]:
    """Gradients of one draw for each arrangement of records, and the number known beforehand."""
    design = design_of(ball, guarantee, tau)
    law = _core.KNormMean(ball.frame, math.inf if tau is None else tau, design.scale)
    found = {}
    for name, points in arrangements(ball).items():
        stream = _core.Stream.from_key(bytes(32), 0)
        _, found[name] = law.sample_exact(ball.enter(points), 1, stream, design.step)
    if tau is not None:
        return found, clipped_evaluations(ball, design.scale, design.step)
    return found, expected_evaluations(ball, N, design.scale, design.step)


WHOLE = [
    ("euclidean:1", 1.0, 1.0),
    ("euclidean:2", 1.0, 1e-3),
    ("euclidean:2", 1.0, 1000.0),
    ("euclidean:5", 1.0, 30.0),
    ("sphere:2", 0.78, 1.0),
    ("sphere:2", 1.4, 100.0),
    ("sphere:5", 0.8, 100.0),
    ("hyperboloid:2", 3.0, 30.0),
    ("hyperboloid:2", 5.0, 1.0),
    ("hyperboloid:3", 1.5, 1.0),
    ("spd:2", 3.0, 1.0),
    ("kendall:4", 0.5, 10.0),
    ("rotations:3", 1.0, 10.0),
]


@pytest.mark.parametrize(("spec", "radius", "mu"), WHOLE)
def test_draws_compute_fewer_gradients_than_the_bound(spec, radius, mu):
    ball = ball_of(spec, radius)
    found, bound = counted(ball, GDP(mu))
    print(f"{spec} {radius} mu {mu}: {found}, bound {bound:.3g}")
    assert bound <= MAX_EVALUATIONS
    assert max(found.values()) <= bound


def test_the_bound_is_not_far_above_what_a_draw_computes():
    """The control: a tenth of the bound is exceeded."""
    found, bound = counted(ball_of("euclidean:5", 1.0), GDP(1.0))
    assert max(found.values()) > bound / 10


CLIPPED = [
    ("euclidean:2", 1.0, 0.5, 30.0),
    ("euclidean:2", 1.0, 0.02, 1.0),
    ("sphere:2", 0.78, 0.05, 30.0),
    ("hyperboloid:2", 3.0, 0.3, 10.0),
    ("euclidean:3", 1.0, 0.5, 5.0),
    ("spd:2", 1.0, 0.1, 5.0),
    ("euclidean:5", 1.0, 0.5, 1.0),
]


@pytest.mark.parametrize(("spec", "radius", "tau", "mu"), CLIPPED)
def test_clipped_draws_compute_fewer_gradients_than_the_measured_number(spec, radius, tau, mu):
    found, number = counted(ball_of(spec, radius), GDP(mu), tau)
    print(f"{spec} {radius} tau {tau} mu {mu}: {found}, number {number:.3g}")
    assert max(found.values()) <= number <= MAX_EVALUATIONS


REFUSED = [
    ("sphere:5", 0.95 * math.pi / 2, 100.0, None),
    ("sphere:5", 0.999 * math.pi / 2, 1e3, None),
    ("spd:3", 5.0, 1.0, None),
    ("hyperboloid:2", 8.0, 30.0, None),
    ("hyperboloid:2", 8.0, 1.0, None),
    ("hyperboloid:2", 20.0, 1.0, None),
    ("euclidean:5", 1.0, 30.0, 0.5),
    ("spd:3", 1.0, 30.0, 0.5),
]


@pytest.mark.parametrize(("spec", "radius", "mu", "tau"), REFUSED)
def test_what_may_take_too_long_is_refused_before_anything_is_spent(spec, radius, mu, tau):
    ball = ball_of(spec, radius)
    records = np.tile(ball.center, (N, *(1,) * np.ndim(ball.center)))
    with cdp.Ledger(GDP(2 * mu)) as ledger:
        with pytest.raises(cdp.ExistenceError, match=r"smaller ball.* or frechet_mean"):
            cdp.kng_mean(records, ball, GDP(mu), tau=tau, ledger=ledger)
        assert ledger.spent is None


@pytest.mark.parametrize("spec", ["sphere:2", "sphere:5", "spd:2", "spd:3", "hyperboloid:3"])
def test_the_border_is_where_the_bound_passes_the_limit(spec):
    """From narrow to wide balls: accepted, then refused, and never accepted again."""
    limit = cdp.as_manifold(spec).max_ball_radius
    widest = limit if math.isfinite(limit) else 10.0
    answers = []
    for share in np.linspace(0.02, 0.99, 25):
        ball = ball_of(spec, share * widest)
        try:
            design_of(ball, GDP(1.0))
            answers.append(True)
        except ValueError:
            answers.append(False)
    assert answers[0]
    assert not answers[-1]
    assert answers == sorted(answers, reverse=True)
