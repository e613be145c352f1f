"""Any statistic over disjoint groups: each on its own records, all for the price of one."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError

OFFSETS = [0, 80, 200, 500]


@pytest.fixture
def data():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.0, 1.0], radius=0.6)
    generator = np.random.default_rng(0)
    tangent = np.zeros((500, 3))
    tangent[:, :2] = 0.15 * generator.standard_normal((500, 2))
    tangent[200:, 0] += 0.3  # the last group lies elsewhere
    return ball, ball.project(cdp.Sphere(2).exp(tangent, ball.center))


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        (cdp.frechet_mean, {}),
        (cdp.frechet_variance, {"weights": (0.5, 0.5)}),
        (cdp.fourth_moment, {}),
        (cdp.log_covariance, {}),
        (cdp.adaptive_mean, {"schedule": "one-shot"}),
        (cdp.confidence_region, {"level": 0.9}),
        (cdp.variance_interval, {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_statistic_is_released_for_each_group_and_paid_for_once(data, statistic, options):
    ball, records = data
    ledger = cdp.Ledger(cdp.GDP(2.0))
    seen = []
    results = cdp.each_group(
        statistic,
        records,
        OFFSETS,
        ball,
        cdp.GDP(1.0),
        ledger=ledger,
        progress=lambda *state: seen.append(state),
        **options,
    )
    assert [result.n for result in results] == [80, 120, 300]
    assert [entry.guarantee for entry in ledger.entries] == [cdp.GDP(1.0)]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_each_group_is_about_its_own_records(data):
    ball, records = data
    wide = cdp.GDP(1e6)
    balls = [ball, ball, cdp.Ball(ball.manifold, ball.center, 0.7)]
    releases = cdp.each_group(cdp.frechet_mean, records, OFFSETS, balls, wide)
    for g, release in enumerate(releases):
        own = balls[g].project(records[OFFSETS[g] : OFFSETS[g + 1]])
        exact = cdp.nonprivate.frechet_mean(own, ball.manifold).value
        assert ball.manifold.dist(release.value, exact) < 1e-4
        assert release.ball_radius == balls[g].radius
    assert ball.manifold.dist(releases[0].value, releases[2].value) > 0.2


def test_a_unit_in_several_groups_costs_several_times(data):
    ball, records = data
    ledger = cdp.Ledger(cdp.PureDP(3.0))
    arguments = (cdp.frechet_mean, records, OFFSETS, ball, cdp.PureDP(1.0))
    cdp.each_group(*arguments, groups_per_unit=3, ledger=ledger)
    assert ledger.spent == cdp.PureDP(3.0)
    with pytest.raises(BudgetError):
        cdp.each_group(*arguments, ledger=ledger)


def test_impossible_calls_are_refused_before_anything_is_spent(data):
    ball, records = data
    ledger = cdp.Ledger(cdp.GDP(2.0))

    def call(*, offsets=OFFSETS, balls=ball, points=records, **options):
        cdp.each_group(
            cdp.frechet_variance, points, offsets, balls, cdp.GDP(1.0), ledger=ledger, **options
        )

    for changes, kind, message in (
        ({"offsets": [0, 80, 80, 500]}, ValueError, "group 1 is empty"),
        ({"balls": [ball, ball]}, ValueError, "2 balls do not fit 3 groups"),
        ({"balls": []}, ValueError, "balls is empty"),
        ({"points": records[:, :2]}, ValueError, "points must have shape"),
        ({"points": records[0]}, ValueError, "one record per row"),
        ({"seed": 1}, ValueError, "same noise"),
        ({"wieghts": (1, 1)}, TypeError, "no keyword wieghts"),
        ({"groups_per_unit": 0}, ValueError, "at least 1"),
    ):
        with pytest.raises(kind, match=message):
            call(**changes)
    assert ledger.spent is None
