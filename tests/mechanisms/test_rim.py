"""Private means at the rim of the largest balls: no value twice, the law, errors as printed.

All draws are seeded.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy

import curvedp as cdp
from rim_cases import MEANS, Rim, cases

#: Measured errors may exceed printed ones by this: a mean of 300, of a law with a long tail.
ROOM = 1.25


@pytest.fixture(scope="module", params=cases((0.999,)), ids=str)
def rim(request: pytest.FixtureRequest) -> Rim:
    return request.param


def test_no_value_is_drawn_twice(rim: Rim) -> None:
    assert len({point.tobytes() for point in rim.drawn}) == MEANS


def test_errors_are_no_larger_than_printed(rim: Rim) -> None:
    assert rim.error <= ROOM * rim.printed


def test_distances_have_the_law_of_the_noise(rim: Rim) -> None:
    below = rim.below()
    if below is None:
        return
    dists = rim.dists(rim.drawn)
    assert scipy.stats.kstest(dists, below).pvalue > 1e-6
    # the control: twice as far
    assert scipy.stats.kstest(2 * dists, below).pvalue < 1e-6


@pytest.mark.parametrize("mu", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_means_of_wide_balls_are_as_near_as_told_or_refused(dim: int, mu: float) -> None:
    """3 of 60 records at .7 of the radius, the others at the centre: the mean lies between."""
    refused = 0
    for radius in [15.0, 18.0, 20.0, 22.0, 24.0, 26.0, 29.0]:
        space = cdp.Hyperboloid(dim)
        ball = cdp.Ball(space, np.asarray(space.origin), radius)
        records = np.tile(ball.center, (60, 1))
        records[:3, :2] = np.cosh(0.7 * radius), np.sinh(0.7 * radius)
        secret = cdp.NoiseSecret(bytes(range(32)))
        try:
            release = cdp.frechet_mean(records, ball, cdp.GDP(mu=mu), secret=secret)
        except cdp.ExistenceError:
            refused += 1
            continue
        far = 0.05 * 0.7 * radius
        along = np.arcsinh(release.unprojected[1]) - far
        assert abs(along) <= 6 * release.expected_error
    # the control: some are refused where noise is fine, and few where it is wide
    assert refused >= 3 or mu < 100
    assert refused <= 2 or mu > 1


def test_a_refused_ball_is_served_with_the_budget_that_is_named() -> None:
    space = cdp.Hyperboloid(2)
    ball = cdp.Ball(space, np.asarray(space.origin), 22.0)
    with pytest.raises(cdp.ExistenceError, match="smaller radius") as refusal:
        cdp.expected_error(ball, n=1000, guarantee=cdp.GDP(mu=30.0))
    named = re.search(r"GDP\(mu=([\d.e-]+)\)", str(refusal.value))
    assert named
    cdp.expected_error(ball, n=1000, guarantee=cdp.GDP(mu=float(named[1])))
