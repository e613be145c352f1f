"""Exact draws of the K-norm mean that may take too long are refused beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp.privacy import GDP
from curvedp.statistics.call import Call
from curvedp.statistics.kng_mean import KNGDesign, KNGMean

N = 60


def ball_of(spec: str, radius: float) -> cdp.Ball:
    space = cdp.as_manifold(spec)
    return cdp.Ball(space, space.origin, radius)


def design_of(ball: cdp.Ball, guarantee: GDP, tau: float | None = None) -> KNGDesign:
    statistic = KNGMean(tau)
    return statistic.design(Call(statistic=statistic, balls=(ball,), guarantee=guarantee), ball, N)


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
