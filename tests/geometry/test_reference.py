"""The NumPy twins agree with the textbook formulas in 60-digit arithmetic."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from manifold_list import CASES, Case
from reference.accuracy import EPS, allowance, condition, gap
from reference.precise import DIGITS, lift, lower

AFFORDABLE = [case for case in CASES if np.prod(case.twin.point_shape) <= 20]
GAPS = [1e-9, 1e-4, 0.1, 0.7]


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(DIGITS):
        yield


@pytest.mark.parametrize("distance", GAPS)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
def test_twin_agrees_with_sixty_digits(case: Case, seed: int, distance: float) -> None:
    twin, precise = case.twin, case.precise
    rng = np.random.default_rng(seed)
    base = twin.random_point(rng)
    vector = distance * twin.random_unit_vector(rng, base)
    other = twin.random_unit_vector(rng, base)
    point = twin.exp(vector, base)
    exact_point = lower(precise.exp(lift(vector), lift(base)))
    assert np.max(np.abs(point - exact_point)) <= 64 * EPS * condition(twin, base) * np.max(
        np.abs(exact_point)
    )
    limit = allowance(twin, distance, base, point)
    assert abs(twin.dist(base, point) - precise.dist(lift(base), lift(point))) <= limit
    log = lower(precise.log(lift(point), lift(base)))
    assert gap(twin, twin.log(point, base), log, base) <= limit
    carried = lower(precise.parallel_transport(lift(other), lift(base), lift(point)))
    assert gap(twin, twin.parallel_transport(other, base, point), carried, point) <= allowance(
        twin, 1.0, base, point
    )
    assert abs(twin.norm(other, base) - precise.norm(lift(other), lift(base))) <= allowance(
        twin, 1.0, base
    )


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
def test_twin_isometries_keep_distances_and_undo_each_other(case: Case) -> None:
    twin = case.twin
    rng = np.random.default_rng(3)
    there, back = twin.random_isometry(rng)
    a, b = twin.random_points(rng, 2)
    worst = (a, b, there(a), there(b))
    assert twin.dist(there(a), there(b)) == pytest.approx(
        twin.dist(a, b), abs=allowance(twin, twin.dist(a, b), *worst)
    )
    assert np.max(np.abs(back(there(a)) - a)) <= 1e-13 * condition(twin, *worst) * np.max(np.abs(a))
