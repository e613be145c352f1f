"""Counts of groups with public and secret keys: their laws on the line, and what breaks them.

Theorem and proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from count_laws import ADD, cells, delta, delta_of, delta_of_both, plan_of
from curvedp.privacy.private_keys import geometric_key_threshold
from curvedp.statistics.count_plan import CountPlan

EPSILONS = (0.0, 0.5, 1.0, 2.0)
#: Of cells, in place of densities.
TOLERANCE = 1e-5


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("whole", [cdp.GDP(1.0), cdp.PureDP(1.0)], ids=str)
def test_cells_find_what_the_densities_find(whole, remove):
    """And no more: to put values into cells is a step after the release."""
    plan = plan_of(whole)
    for n, epsilon in ((0, 0.0), (2, 0.5), (5, 1.0)):
        found = float(delta_of(cells(plan, n, remove), epsilon))
        (exact,) = delta(plan, n, [epsilon], remove=remove)
        assert found == pytest.approx(exact, abs=2e-4)
        assert found <= whole.to_delta(epsilon) + TOLERANCE


@pytest.mark.parametrize("whole", [cdp.GDP(1.0), cdp.PureDP(1.0)], ids=str)
def test_a_record_in_one_of_two_groups_costs_what_one_group_costs(whole):
    """The other group's release has one law for both data sets."""
    plan = plan_of(whole)
    same = cells(plan, 3)[0]
    for remove in (False, True):
        for epsilon in EPSILONS:
            both = delta_of_both(cells(plan, 2, remove), (same, same), epsilon)
            assert both == pytest.approx(
                float(delta_of(cells(plan, 2, remove), epsilon)), abs=TOLERANCE
            )
            assert both <= whole.to_delta(epsilon) + TOLERANCE


@pytest.mark.parametrize("whole", [cdp.GDP(1.0), cdp.PureDP(1.0)], ids=str)
def test_control_a_record_that_changes_its_group_costs_more_than_one_group(whole):
    """Why a replacement is promised the price of two, which it keeps."""
    plan = plan_of(whole)
    gone, come = cells(plan, 9, True), cells(plan, 9, False)
    deltas = [delta_of_both(gone, come, epsilon) for epsilon in EPSILONS]
    assert any(d > whole.to_delta(e) + 0.01 for d, e in zip(deltas, EPSILONS, strict=True))
    twice = cdp.privacy.base.with_relation(whole, ADD).to_replace()
    assert all(d <= twice.to_delta(e) + TOLERANCE for d, e in zip(deltas, EPSILONS, strict=True))


# ---------------------------------------------------------------------------------- secret keys

SECRET = cdp.ApproxDP(2.0, 1e-3)


def test_groups_of_which_both_data_sets_have_records_keep_epsilon_and_delta():
    plan = plan_of(SECRET, 12, private_keys=True)
    tau = plan.key_threshold
    for n in (1, 2, int(tau) - 1, int(tau), int(tau) + 3):
        for remove in (False, True):
            found = float(delta_of(cells(plan, n, remove, tau), SECRET.epsilon))
            assert found <= SECRET.delta + 1e-6, (n, remove)


def test_control_a_count_at_twice_its_epsilon_is_found():
    plan = plan_of(SECRET, 12, private_keys=True)
    twice = cdp.PureDP(2.0 * plan.way.epsilon)
    loud = replace(plan, way=twice)
    tau = plan.key_threshold
    n = int(tau) + 3
    assert float(delta_of(cells(loud, n, True, tau), SECRET.epsilon)) > 10 * SECRET.delta


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("delta_", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0, 30.0])
def test_the_key_of_one_unit_is_shown_with_probability_delta_at_most(rate, delta_, k):
    """P(k + K >= tau), in fractions of the law's own numbers; one lower would be more."""
    tau = int(geometric_key_threshold(k, rate, delta_))

    def log_shown(at: int) -> float:
        return -rate * (at - k) - math.log1p(math.exp(-rate))

    assert log_shown(tau) <= math.log(delta_)
    if tau > k:
        assert log_shown(tau - 1) > math.log(delta_) - 1e-6


def test_a_plan_takes_its_threshold_from_the_noise_that_it_draws():
    whole = cdp.ApproxDP(2.0, 1e-6, neighbours=ADD)
    plan = CountPlan.of(whole, 100, 3, 2, private_keys=True)
    rate = plan.way.epsilon / 3
    assert plan.key_threshold == geometric_key_threshold(3, plan._rate, 1e-6)
    assert plan._rate == pytest.approx(rate)
    assert CountPlan.of(whole, 100, 3, 2).key_delta is None


@pytest.mark.parametrize("n", [10, 100, 10**4])
def test_shares_with_secret_keys_compose_and_show_a_group_of_the_guess(n):
    whole = cdp.ApproxDP(4.0, 1e-6, neighbours=ADD)
    plan = CountPlan.of(whole, n, 1, 2, private_keys=True)
    assert Fraction(plan.share.epsilon) + Fraction(plan.rest.epsilon) <= Fraction(whole.epsilon)
    assert plan.rest.delta == whole.delta
    if n >= 100:
        assert plan.key_threshold <= 0.6 * n


# ----------------------------------------------------------------------- what the library draws


def test_keys_are_shown_as_often_as_the_law_says():
    """Groups of 1 to 60 records about the threshold, many of each at once."""
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    whole = cdp.ApproxDP(4.0, 1e-2, neighbours=ADD)
    plan = CountPlan.of(whole, 40, 1, 1, private_keys=True)
    q, tau, copies = math.exp(-plan._rate), plan.key_threshold, 300
    sizes = [1, int(tau) - 3, int(tau), int(tau) + 2]
    labels = [f"{size} {copy}" for size in sizes for copy in range(copies) for _ in range(size)]
    found = cdp.frechet_mean(np.zeros((len(labels), 1)), ball, whole, n_guess=40, groups=labels)
    shown = [sum(str(label).startswith(f"{size} ") for label in found.labels) for size in sizes]
    for size, seen in zip(sizes, shown, strict=True):
        gap = int(tau) - size
        p = q**gap / (1 + q) if gap > 0 else 1 - q ** (1 - gap) / (1 + q)
        assert abs(seen - copies * p) <= 7 * math.sqrt(copies * p * (1 - p)) + 7
    assert shown[0] <= 35
    assert shown[3] > 100
