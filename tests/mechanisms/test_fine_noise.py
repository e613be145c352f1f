"""Noise too fine for double precision is refused before anything is spent, naming a budget."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import curvedp as cdp

RNG = np.random.default_rng(0)
SPACE = cdp.Sphere(2)
BALL = cdp.Ball(SPACE, [0.0, 0.6, 0.8], 0.5)
RECORDS = SPACE.exp(
    SPACE.coords_to_tangent(0.1 * RNG.standard_normal((60, 2)), BALL.center), BALL.center
)
OFFSETS = np.array([0, 30, 60])
TIMES = np.linspace(0.0, 1.0, 60)
HUGE = 1e12

CALLS: dict[str, Any] = {
    "frechet_mean": lambda g, ledger: cdp.frechet_mean(RECORDS, BALL, g, ledger=ledger),
    "tangent Gaussian": lambda g, ledger: cdp.frechet_mean(
        RECORDS, BALL, g, mechanism="tangent-gaussian", ledger=ledger
    ),
    "frechet_mean of groups": lambda g, ledger: cdp.frechet_mean(
        RECORDS, BALL, g, groups=OFFSETS, ledger=ledger
    ),
    "adaptive_mean": lambda g, ledger: cdp.adaptive_mean(RECORDS, BALL, g, ledger=ledger),
    "adaptive_mean, shares": lambda g, ledger: cdp.adaptive_mean(
        RECORDS, BALL, g, schedule=[0.01, 0.01, 0.98], ledger=ledger
    ),
    "adaptive_mean of groups": lambda g, ledger: cdp.adaptive_mean(
        RECORDS, BALL, g, groups=OFFSETS, ledger=ledger
    ),
    "frechet_variance": lambda g, ledger: cdp.frechet_variance(RECORDS, BALL, g, ledger=ledger),
    "frechet_variance within 0.1": lambda g, ledger: cdp.frechet_variance(
        RECORDS, BALL, g, within=0.1, ledger=ledger
    ),
    "frechet_variance of groups": lambda g, ledger: cdp.frechet_variance(
        RECORDS, BALL, g, groups=OFFSETS, ledger=ledger
    ),
    "log_covariance": lambda g, ledger: cdp.log_covariance(
        RECORDS, BALL, g, mean=BALL.center, ledger=ledger
    ),
    "fourth_moment": lambda g, ledger: cdp.fourth_moment(
        RECORDS, BALL, g, mean=BALL.center, ledger=ledger
    ),
    "mean_hessian": lambda g, ledger: cdp.mean_hessian(
        RECORDS, BALL, g, mean=BALL.center, ledger=ledger
    ),
    "confidence_region": lambda g, ledger: cdp.confidence_region(RECORDS, BALL, g, ledger=ledger),
    "confidence_region of groups": lambda g, ledger: cdp.confidence_region(
        RECORDS, BALL, g, groups=OFFSETS, ledger=ledger
    ),
    "variance_interval": lambda g, ledger: cdp.variance_interval(RECORDS, BALL, g, ledger=ledger),
    "geodesic_regression": lambda g, ledger: cdp.geodesic_regression(
        TIMES, RECORDS, BALL, g, x_range=(0.0, 1.0), tau=0.2, v_max=1.0, ledger=ledger
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_refused_before_the_ledger_is_asked(name: str) -> None:
    with cdp.Ledger(cdp.GDP(2 * HUGE)) as ledger:
        with pytest.raises(cdp.ExistenceError, match="too fine for double precision"):
            CALLS[name](cdp.GDP(HUGE), ledger)
        assert ledger.spent is None


@pytest.mark.parametrize(
    ("ball", "kind"),
    [
        (BALL, cdp.PureDP),
        (BALL, cdp.GDP),
        (cdp.Ball("spd:3", "identity", 2.0), cdp.PureDP),
        (cdp.Ball("spd:3", "identity", 2.0), cdp.GDP),
        (cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 4.0), cdp.PureDP),
        (cdp.Ball("kendall:4", cdp.KendallPlanar(4).random_point(rng=RNG), 0.3), cdp.GDP),
        (cdp.Ball("euclidean:3", np.zeros(3), 5.0), cdp.GDP),
    ],
    ids=str,
)
def test_the_budget_that_the_error_names_is_served(ball: Any, kind: Any) -> None:
    records = np.broadcast_to(ball.center, (1000, *ball.center.shape))
    with pytest.raises(cdp.ExistenceError) as error:
        cdp.frechet_mean(records, ball, kind(HUGE))
    named = re.search(rf"{kind.__name__}\((?:epsilon|mu)=([0-9.e+-]+)\)", str(error.value))
    assert named is not None
    released = cdp.frechet_mean(records, ball, kind(float(named.group(1))))
    assert ball.manifold.dist(released.value, ball.center) < 1e-3
    least = ball.frame.least_scale(False)
    assert released.scale < 1.1 * least or released.scale < 1e-5


def test_steps_are_far_above_the_rounding_of_the_chart() -> None:
    """A point of the ball comes back from the chart, in units of the step, within 2^-16."""
    for spec, radius in [("sphere:2", 0.5), ("kendall:4", 0.3), ("hyperboloid:2", 3.0)]:
        space = cdp.as_manifold(spec)
        center = space.random_point(rng=np.random.default_rng(1))
        ball = cdp.Ball(space, center, radius)
        frame = ball.frame
        step = frame.grid_step(frame.least_scale(True), True)
        coords = np.random.default_rng(2).uniform(-1, 1, (1000, space.dim))
        coords *= 0.9 * radius / np.linalg.norm(coords, axis=1, keepdims=True)
        coords = np.round(coords / step) * step
        points = np.empty((1000, frame.manifold.point_size))
        origin = np.ascontiguousarray(frame.origin[None])
        frame.manifold.exp_coords(coords, origin, points)
        rounded = points.copy()
        frame.round_to_grid(rounded, step)
        again = points * (1 + np.random.default_rng(3).integers(-1, 2, points.shape) * 2.0**-53)
        frame.round_to_grid(again, step)
        assert np.array_equal(rounded, again)


@pytest.mark.parametrize(
    ("spec", "radius", "n", "mu"),
    [("spd:2", 0.163, 1500, 1200.0), ("spd:3", 1e-3, 2000, 30.0), ("sphere:2", 0.5, 2000, 1e6)],
)
def test_a_ball_does_not_shrink_beyond_what_later_means_need(
    spec: str, radius: float, n: int, mu: float
) -> None:
    """On SPD matrices the least scale does not shrink with the ball."""
    space = cdp.as_manifold(spec)
    center = np.eye(space.m) if spec.startswith("spd") else np.array([0.0, 0.0, 1.0])
    ball, records = cdp.Ball(space, center, radius), np.tile(center, (n, *[1] * center.ndim))
    for _ in range(20):
        value = cdp.adaptive_mean(records, ball, cdp.GDP(mu)).value
        assert np.isfinite(value).all()
    many = np.tile(records, (20, *[1] * center.ndim))
    groups = cdp.adaptive_mean(many, ball, cdp.GDP(mu), groups=np.arange(21) * n)
    assert np.isfinite(groups.value).all()


@pytest.mark.parametrize("radius", [1e-200, 1e-160, 1e180])
def test_radii_at_the_ends_of_double_precision_are_refused_at_once(radius: float) -> None:
    ball = cdp.Ball("euclidean:3", np.zeros(3), radius)
    with pytest.raises(ValueError, match=r"between 1e-100 and 1e100|too fine|too large"):
        cdp.expected_error(ball, 1000, cdp.PureDP(4e7))


@pytest.mark.parametrize("radius", [1e-55, 1e-30, 1e55])
@pytest.mark.parametrize("name", ["frechet_variance", "fourth_moment", "confidence_region"])
def test_powers_that_leave_double_precision_are_refused_before_the_ledger(
    name: str, radius: float
) -> None:
    ball = cdp.Ball("euclidean:2", np.zeros(2), radius)
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        try:
            getattr(cdp, name)(np.zeros((50, 2)), ball, cdp.GDP(1.0), ledger=ledger)
        except ValueError:
            assert ledger.spent is None
