"""Counts of groups with public and secret keys: their laws on the line, and what breaks them.

Theorem and proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from count_laws import ADD, LINE, cells, counts_of, delta, delta_of, delta_of_both, excess, plan_of
from curvedp.privacy.base import with_relation
from curvedp.privacy.private_keys import geometric_key_threshold
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.k_samples import KSampleDesign

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


# ------------------------------------------------------------------------- a test of two samples


def delta_of_a_test(
    plan: CountPlan, sizes: tuple[int, int], epsilon: float, remove: bool, louder: float = 1.0
) -> float:
    """delta(epsilon) of counts and released values of a test of two means, exactly.

    Records of the first sample are at -1, with one at 1 or not, of the second at 1/2. For given
    counts the values are one of two points with Gaussian noise, for either data set.
    """
    n = sizes[0]
    laws = counts_of(plan, n), counts_of(plan, n + 1)
    own, other = laws[::-1] if remove else laws
    of_second: dict[int, float] = {}
    for count, weight in counts_of(plan, sizes[1]).items():
        m = max(2, plan.target(count))
        of_second[m] = of_second.get(m, 0.0) + weight
    total = 0.0
    for (count, weight), (m2, second) in itertools.product(own.items(), of_second.items()):
        if weight * second < 1e-7:
            continue
        m1 = max(2, plan.target(count))
        design = KSampleDesign.of(LINE, plan.rest, (m1, m2), 1)
        common = min(n, m1 - 1) if n < m1 else m1 - 1

        def values(
            last: float,
            design: KSampleDesign = design,
            m1: int = m1,
            m2: int = m2,
            common: int = common,
        ) -> np.ndarray:
            first = [-1.0] * common + [0.0] * (m1 - common - 1) + [last]
            rest = min(m2, sizes[1])
            rows = np.array([*first, *[0.5] * rest, *[0.0] * (m2 - rest)])[:, None]
            return design.values(rows, np.repeat([0.0, 1.0], (m1, m2)))

        length = float(np.linalg.norm(values(1.0) - values(0.0 if n < m1 else -1.0)))
        chance = min(1.0, m1 / (n + 1))
        few, many = {0.0: 1.0}, {0.0: 1.0 - chance, length: chance}
        pair = (many, few) if remove else (few, many)
        ratio = other.get(count, 0.0) / weight
        scale = louder * design.mechanism.scale
        total += weight * second * float(excess(plan, scale, *pair, [epsilon], ratio)[0])
    return total


@pytest.mark.parametrize("remove", [False, True])
def test_a_test_of_two_means_keeps_what_it_promises(remove):
    whole = cdp.GDP(2.0)
    plan = CountPlan.of(with_relation(whole, ADD), 6, 1, 1, padding=5e-4)
    for n in (0, 2, 6):
        for epsilon in (0.0, 1.0):
            found = delta_of_a_test(plan, (n, 6), epsilon, remove)
            assert found <= whole.to_delta(epsilon) + TOLERANCE


def test_control_a_test_with_a_tenth_of_its_noise_does_not():
    whole = cdp.GDP(2.0)
    plan = CountPlan.of(with_relation(whole, ADD), 6, 1, 1, padding=5e-4)
    found = [delta_of_a_test(plan, (n, 6), 1.0, False, 0.1) for n in (0, 2, 6)]
    assert max(found) > whole.to_delta(1.0) + 0.01
