"""The geometric median: near the exact one, hardly moved by hostile records, paid for as said."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, NoiseWarning
from curvedp.statistics.geometric_median import (
    _GAUSSIAN,
    _GAUSSIAN_SHORT,
    _PURE,
    _PURE_SHORT,
    MedianDesign,
)
from manifold_list import SMALL, Case

Array = np.ndarray[Any, np.dtype[np.float64]]


def moved(space: cdp.Manifold, point: Array, coords: Any) -> Array:
    return space.exp(space.coords_to_tangent(np.asarray(coords), point), point)


def cloud(ball: cdp.Ball, n: int, hostile: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records about a centre off the ball's, and some at the far end."""
    space, r = ball.manifold, ball.radius
    middle = moved(space, ball.center, 0.3 * r * np.eye(space.dim)[0])
    coords = 0.1 * r / math.sqrt(space.dim) * rng.standard_normal((n, space.dim))
    records = moved(space, middle, coords)
    records[: int(hostile * n)] = moved(space, ball.center, -0.95 * r * np.eye(space.dim)[-1])
    return records, middle


def exact_median(space: cdp.Manifold, records: Array) -> Array:
    """Weiszfeld's algorithm, until steps are rounding."""
    point = cdp.nonprivate.frechet_mean(records, space).value
    for _ in range(300):
        base = np.broadcast_to(point, records.shape)
        logs = space.tangent_to_coords(space.log(records, base), base)
        inverse = 1 / np.maximum(np.linalg.norm(logs, axis=1), 1e-12)
        step = inverse @ logs / inverse.sum()
        point = moved(space, point, step)
        if np.linalg.norm(step) < 1e-13:
            break
    return point


def ball_on(case: Case) -> cdp.Ball:
    space = case.manifold
    return cdp.Ball(space, space.origin, min(0.45 * space.max_ball_radius, 1.0))


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.parametrize("guarantee", [cdp.GDP(100.0), cdp.PureDP(300.0)], ids=["GDP", "pure"])
def test_it_is_near_the_exact_median_where_noise_is_small(case: Case, guarantee: Any) -> None:
    ball = ball_on(case)
    records, _ = cloud(ball, 600, 0.1, np.random.default_rng(0))
    median = exact_median(case.manifold, records)
    mean = cdp.nonprivate.frechet_mean(records, case.manifold).value
    found = cdp.geometric_median(records, ball, guarantee, seed=1)
    error, spread = case.manifold.dist(found.value, median), 0.1 * ball.radius
    assert error < 0.15 * spread
    assert error < 0.2 * case.manifold.dist(mean, median)


@pytest.mark.parametrize("name", ["sphere:2", "spd:3", "sphere:9", "kendall:10", "correlation:4"])
def test_hostile_records_move_it_less_than_half_as_much_as_the_adaptive_mean(name: str) -> None:
    space = cdp.as_manifold(name)
    ball = cdp.Ball(space, space.origin, min(0.45 * space.max_ball_radius, 1.5))
    rng, errors = np.random.default_rng(7), []
    for seed in range(12):
        records, middle = cloud(ball, 1500, 0.1, rng)
        errors.append(
            [
                space.dist(call(records, ball, cdp.GDP(1.0), seed=seed).value, middle)
                for call in (cdp.geometric_median, cdp.adaptive_mean, cdp.frechet_mean)
            ]
        )
    median, adaptive, mean = np.mean(errors, axis=0)
    assert 2 * median < adaptive
    assert 4 * median < mean


@pytest.mark.parametrize("way", [cdp.GDP(0.7), cdp.PureDP(0.7)])
@pytest.mark.parametrize("n", [20, 10_000])
def test_shares_make_the_guarantee_and_lengths_are_public(way: Any, n: int) -> None:
    ball = cdp.Ball(cdp.SPD(3), "identity", 1.5)
    design = MedianDesign(ball, n, 1, way)
    shares = design.shares
    assert len(shares) == len(design.schedule.weights)
    if isinstance(way, cdp.GDP):
        assert math.sqrt(sum(share.mu**2 for share in shares)) <= way.mu
        assert design.schedule is (_GAUSSIAN_SHORT if n == 20 else _GAUSSIAN)
    else:
        assert sum(share.epsilon for share in shares) <= way.epsilon
        assert design.schedule is (_PURE_SHORT if n == 20 else _PURE)
    steps = [design.first_length, *[design.length_for(0.4)] * (len(shares) - 2)]
    for share, length in zip([shares[0], *shares[2:]], steps, strict=True):
        noise = design.noise(length, share)
        assert noise.sensitivity == 2 * length / n
        budget = share.mu if isinstance(share, cdp.GDP) else share.epsilon
        assert noise.scale * budget >= noise.sensitivity + 2 * noise.rounding


@pytest.mark.parametrize("hostile", [np.nan, np.inf, 0.0, -1.0])
def test_no_record_raises_or_warns(hostile: float) -> None:
    ball = cdp.Ball(cdp.SPD(2), "identity", 1.0)
    records, _ = cloud(ball, 200, 0.0, np.random.default_rng(0))
    records[5] = hostile
    expected = records.copy()
    expected[5] = np.eye(2)
    values = [
        cdp.geometric_median(x, ball, cdp.GDP(1.0), seed=2).value for x in (records, expected)
    ]
    assert np.array_equal(*values)


def test_one_record_pulls_no_more_than_its_share() -> None:
    """With the same noise, wherever it goes; the mean follows it."""
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.7)
    records, _ = cloud(ball, 300, 0.0, np.random.default_rng(3))
    moves = []
    for angle in np.linspace(0, 2 * np.pi, 9):
        far = records.copy()
        far[0] = moved(ball.manifold, ball.center, 0.69 * np.array([np.cos(angle), np.sin(angle)]))
        value = cdp.geometric_median(far, ball, cdp.GDP(1e3), seed=1).value
        moves.append(value)
    spread = np.max(ball.manifold.pairwise_dist(np.array(moves)))
    assert spread < 2 * (2 * 0.07 / 300)  # two clipping lengths of about the cloud's size
    assert spread > 0


def test_a_refusal_comes_before_the_ledger_is_asked() -> None:
    ball = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.7)
    records, _ = cloud(ball, 50, 0.0, np.random.default_rng(0))
    ledger = cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(ValueError, match=r"mechanism|scale|guarantee|noise"):
        cdp.geometric_median(records, ball, cdp.GDP(1e-300), ledger=ledger)
    assert ledger.spent is None
    cdp.geometric_median(records, ball, cdp.GDP(1.0), ledger=ledger)
    with pytest.raises(BudgetError):
        cdp.geometric_median(records, ball, cdp.GDP(0.1), ledger=ledger)
    with pytest.warns(NoiseWarning):
        cdp.geometric_median(records[:3], ball, cdp.GDP(0.1))


@pytest.mark.parametrize(("n", "warned"), [(20, True), (200, False)])
def test_a_first_step_that_is_lost_is_warned_of_and_is_no_nearer_than_a_guess(
    n: int, warned: bool
) -> None:
    """20 persons on SPD(8), radius 3, mu 1: the last step's noise alone is 40 % of the radius."""
    ball = cdp.Ball(cdp.SPD(8), "identity", 3.0)
    middle = moved(ball.manifold, ball.center, 0.73 * np.eye(36)[0])
    records, groups = np.tile(middle, (40 * n, 1, 1)), np.arange(40 * n) // n
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cdp.geometric_median(records, ball, cdp.GDP(1.0), groups=groups, coverage=False)
    said = [str(one.message) for one in caught if one.category is NoiseWarning]
    assert ["127 % of the radius" in one for one in said] == [True] * warned
    errors = ball.manifold.dist(found.value, middle)
    assert (np.mean(errors) > 0.73) == warned


def test_a_plan_of_a_median_says_how_to_plan_one() -> None:
    ball = cdp.Ball(cdp.SPD(2), "identity", 1.0)
    with pytest.raises(ValueError, match="simulated records of your n, spread and ball"):
        cdp.plan("geometric_median", ball, cdp.GDP(1.0), n=20)


def test_noise_does_not_tell_the_error_and_the_report_says_so() -> None:
    ball = cdp.Ball(cdp.Euclidean(1), [0.0], 10.0)
    levels = (np.arange(1001) + 0.5) / 1001
    symmetric, skewed = np.log(levels / (1 - levels)) / 2, -np.log(1 - levels)
    errors, scales = [], []
    for records in (symmetric, skewed):
        releases = [
            cdp.geometric_median(records[:, None], ball, cdp.GDP(3.0), coverage=False)
            for _ in range(10)
        ]
        errors.append(np.mean([abs(own.value[0] - np.median(records)) for own in releases]))
        scales.append(np.mean([own.scale for own in releases]))
        assert {own.expected_error for own in releases} == {None}
        report = " ".join(releases[0].report().split())
        assert "is not seen in a release" in report
    assert scales[1] == pytest.approx(scales[0], rel=0.3)
    assert errors[1] > 2 * errors[0]  # 17 times
