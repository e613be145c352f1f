"""Count, resize, release: its laws by exact enumeration on the line, and what breaks them.

Theorem and proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import CONFIDENCE, DEVIATIONS, FAILURE
from count_laws import (
    ADD,
    LINE,
    SIZES,
    TOLERANCE,
    WHOLE,
    counts_of,
    delta,
    excess,
    means_of_selection,
    plan_of,
    scale_of,
    used,
)
from curvedp import _core
from curvedp.audit import audit_release_function
from curvedp.mechanisms.calibration import budget_of
from curvedp.privacy.base import with_relation
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.resize import Selection, distinct_keys


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("whole", WHOLE, ids=str)
@pytest.mark.parametrize("remove", [False, True])
def test_no_epsilon_finds_more_than_the_guarantee_allows(whole, n, remove):
    plan = plan_of(whole)
    epsilons = (0.0, 0.25, 0.5, 1.0, 2.0)
    found = delta(plan, n, epsilons, remove=remove)
    assert np.all(found <= [whole.to_delta(e) + TOLERANCE for e in epsilons])


@pytest.mark.parametrize("whole", WHOLE, ids=str)
def test_the_guarantee_is_not_far_above_what_is_found(whole):
    """Control: the enumeration sees what is there, a good part of what is promised."""
    plan = plan_of(whole)
    worst = max(delta(plan, n, [0.0], remove=r)[0] for n in SIZES for r in (False, True))
    assert worst > 0.4 * whole.to_delta(0.0)


@pytest.mark.parametrize("whole", WHOLE, ids=str)
def test_control_noise_for_half_of_a_replacement_is_too_little(whole):
    """What moves the mean by r/m, a record that becomes the centre, does not cover a selection."""
    plan = plan_of(whole, 400)  # a small share for the count: the mean has nearly all

    def half(plan: CountPlan, m: int) -> float:
        return 0.5 * scale_of(plan, m)

    epsilons = (0.0, 1.0, 2.0)
    allowed = np.array([whole.to_delta(e) for e in epsilons])
    asked = list(itertools.product((1, 2, 5), (False, True)))
    assert any(
        np.any(delta(plan, n, epsilons, remove=r, noise=half) > allowed + 0.005) for n, r in asked
    )
    assert all(np.all(delta(plan, n, epsilons, remove=r) <= allowed + TOLERANCE) for n, r in asked)


@pytest.mark.parametrize("whole", WHOLE, ids=str)
def test_control_a_count_that_is_not_paid_for_tells_all(whole):
    assert delta(plan_of(whole), 5, [2.0], paid=False) == pytest.approx(1.0, abs=TOLERANCE)


def first_of_resorted(n: int, m: int, with_one: bool) -> dict[float, float]:
    """The mean of the first m of n records, half at -1 and half at 1, in an order that the new
    record turns round."""
    rows = [-1.0] * (n // 2) + [1.0] * (n - n // 2)
    if with_one:
        rows = [*reversed(rows), 0.0]
    return {math.fsum(rows[:m]) / m: 1.0}


def test_control_the_first_records_of_an_order_that_depends_on_them_tell_all():
    """At 40 records and a margin of 20, whatever the count takes."""
    plan = plan_of(cdp.GDP(1.0), 400)

    def half_used(n: int, m: int, with_one: bool) -> dict[float, float]:
        return first_of_resorted(n, min(m, n // 2), with_one)

    assert delta(plan, 400, [1.0], selected=half_used) > 0.9
    assert cdp.GDP(1.0).to_delta(1.0) < 0.2


def padded_by_the_last(n: int, m: int, with_one: bool) -> dict[float, float]:
    """The mean of n records at -1 and, if it is there, one at 1, with copies of the last record."""
    total = n + with_one
    if m <= total:
        return means_of_selection(n, m, with_one)
    last = 1.0 if with_one else -1.0
    return {((m - total) * last - n + with_one) / m: 1.0}


def test_control_copies_of_a_record_in_place_of_the_centre_tell_which_it_is():
    """Of few records, to which nearly all that are used are added."""
    plan = plan_of(cdp.GDP(1.0), 9)
    found = delta(plan, 2, (0.0, 1.0), selected=padded_by_the_last)
    usual = delta(plan, 2, (0.0, 1.0))
    allowed = [cdp.GDP(1.0).to_delta(e) for e in (0.0, 1.0)]
    assert any(own > most + 0.02 for own, most in zip(found, allowed, strict=True))
    assert all(own <= most + TOLERANCE for own, most in zip(usual, allowed, strict=True))


# ---------------------------------------------------------------- replacing, where n is the same


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("whole", WHOLE, ids=str)
def test_replacing_a_record_costs_what_the_rest_promises(whole, n):
    """The count is that of equally many records: for it nothing is paid."""
    plan = plan_of(whole)
    rest = plan.rest

    def selected(size: int, m: int, with_one: bool) -> dict[float, float]:
        """Of n - 1 records at -1 and one at 1 or at -1."""
        chance = min(1.0, m / n)
        others = -float(min(m, n))
        if not with_one:
            return {others / m: 1.0}
        law = {others / m: 1.0 - chance, (others + 2.0) / m: chance}
        return {mean: weight for mean, weight in law.items() if weight > 0}

    epsilons = (0.0, 0.5, 1.0)
    for one in (False, True):
        total = np.zeros(len(epsilons))
        for count, weight in counts_of(plan, n).items():
            m = used(plan, count)
            own, against = selected(n, m, one), selected(n, m, not one)
            total += weight * excess(plan, scale_of(plan, m), own, against, epsilons, 1.0)
        assert np.all(total <= [rest.to_delta(e) + TOLERANCE for e in epsilons])
    assert budget_of(rest) < budget_of(whole)


# ---------------------------------------------------------------------------- the library's draws


@pytest.mark.parametrize("whole", [cdp.PureDP(3.0), cdp.GDP(3.0)], ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_counts_have_the_law_that_is_enumerated(whole, k):
    plan = CountPlan.of(with_relation(whole, ADD), 50, k, 2)
    stream = _core.Stream.from_os()
    draws = 4000
    found = Counter(plan.draw(np.full(draws, 17), stream).tolist())
    law = counts_of(plan, 17)
    kept = [count for count in law if draws * law[count] > 10]
    rest = draws - sum(found[count] for count in kept)
    seen = [found[count] for count in kept] + [rest]
    wanted = [draws * law[count] for count in kept]
    wanted.append(draws - math.fsum(wanted))
    assert stats.chisquare(seen, wanted).pvalue > FAILURE
    shifted = [draws * law.get(count + 1, 0.0) + 1e-9 for count in kept]
    assert stats.chisquare(seen[:-1], np.array(shifted) * sum(seen[:-1]) / sum(shifted)).pvalue < (
        FAILURE
    )
    values = np.array(list(found.elements()), dtype=float)
    assert abs(values.mean() - 17) < DEVIATIONS * plan.standard_error / math.sqrt(draws)
    assert values.std() == pytest.approx(plan.standard_error, rel=0.3)
    if isinstance(whole, cdp.PureDP):
        assert plan.scale >= k / budget_of(plan.way)


def selected_rows(
    rows: np.ndarray,
    sizes: list[int],
    m: list[int],
    stream: _core.Stream,
    ends: np.ndarray | None = None,
) -> tuple[list[int], np.ndarray | None]:
    """The records of cells of these sizes that are used; -1, -2, ... are copies of the centres."""
    first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    found = Selection(first, np.array(sizes), np.array(m), stream, ends)
    centers = -1.0 - np.arange(len(sizes))[:, None]
    return found.of(rows, centers)[:, 0].astype(int).tolist(), found.ends


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6])
def test_records_used_are_a_uniformly_random_sequence(m):
    """Of 4 records: every sequence of m of them, or of all with copies of the centre."""
    rows = np.arange(1.0, 5.0)[:, None]
    stream = _core.Stream.from_os()
    pool = [1, 2, 3, 4] + [-1] * max(0, m - 4)
    law = Counter(itertools.permutations(pool, m))
    draws = (200 if m < 6 else 80) * len(law)
    found = Counter(tuple(selected_rows(rows, [4], [m], stream)[0]) for _ in range(draws))
    assert set(found) <= set(law)
    total = sum(law.values())
    seen = [found[key] for key in law]
    assert stats.chisquare(seen, [draws * law[key] / total for key in law]).pvalue > FAILURE


def test_cells_are_selected_independently_and_padded_by_their_own_centre():
    """Three cells of 3, 0 and 2 records, of which 2, 1 and 3 are used."""
    rows, stream = np.arange(1.0, 6.0)[:, None], _core.Stream.from_os()
    laws = [
        set(itertools.permutations([1, 2, 3], 2)),
        {(-2,)},
        set(itertools.permutations([4, 5, -3])),
    ]
    law = [sum(parts, ()) for parts in itertools.product(*laws)]
    draws = 200 * len(law)
    found = Counter(
        tuple(selected_rows(rows, [3, 0, 2], [2, 1, 3], stream)[0]) for _ in range(draws)
    )
    assert set(found) == set(law)
    assert stats.chisquare([found[key] for key in law]).pvalue > FAILURE


def test_units_are_selected_whole():
    rows = np.arange(10.0)[:, None]
    ends = np.array([0, 3, 4, 10])
    stream = _core.Stream.from_os()
    found = Counter()
    for _ in range(600):
        chosen, bounds = selected_rows(rows, [3], [2], stream, ends)
        own = tuple(tuple(chosen[a:b]) for a, b in itertools.pairwise(bounds))
        found[own] += 1
    units = [(0, 1, 2), (3,), (4, 5, 6, 7, 8, 9)]
    assert set(found) == set(itertools.permutations(units, 2))
    chosen, bounds = selected_rows(rows, [3], [5], stream, ends)
    assert sorted(chosen) == [-1, -1, *range(10)]
    assert len(bounds) == 6
    nobody, none = selected_rows(rows[:0], [0], [3], stream, np.array([0]))
    assert nobody == [-1, -1, -1]
    assert none.tolist() == [0, 1, 2, 3]


class Repeating:
    """A stream whose first keys are equal."""

    def __init__(self) -> None:
        self.calls = 0

    def uniform(self, out: np.ndarray) -> None:
        self.calls += 1
        out[:] = (
            0.25 if self.calls < 3 else np.random.default_rng(self.calls).uniform(size=out.size)
        )


def test_equal_keys_are_drawn_again():
    stream = Repeating()
    keys = distinct_keys(5, stream)
    assert stream.calls == 3
    assert len(set(keys.tolist())) == 5


# -------------------------------------------------------------------------------------- shares


@pytest.mark.parametrize("n", [1, 30, 1000, 10**7])
@pytest.mark.parametrize(
    "whole",
    [cdp.GDP(0.9), cdp.PureDP(0.7), cdp.ZCDP(0.3), cdp.ApproxDP(0.7, 1e-6)],
    ids=str,
)
def test_shares_compose_to_no_more_than_the_whole(whole, n):
    try:
        plan = CountPlan.of(with_relation(whole, ADD), n, 1, 2)
    except cdp.ExistenceError:
        assert n == 1
        return
    assert plan.share.neighbours == ADD
    assert plan.rest.neighbours == "replace"
    count = with_relation(plan.share, "replace").additive()
    if isinstance(whole, cdp.ApproxDP):
        assert isinstance(plan.share, cdp.PureDP)
        count = (*count, Fraction(0))
    for own, rest, all_ in zip(count, plan.rest.additive(), whole.additive(), strict=True):
        assert own + rest <= all_
        assert own + rest >= all_ * (1 - Fraction(1, 2**45))
    assert plan.way in cdp.mechanisms.ways_to_meet(with_relation(plan.share, "replace"))


# -------------------------------------------------------------------------------------- audit


def released(records: np.ndarray) -> np.ndarray:
    mean = cdp.frechet_mean(records, LINE, cdp.GDP(2.0, neighbours=ADD), n_guess=40)
    return np.array([mean.count.value, mean.n, *mean.value])


def unpaid(records: np.ndarray) -> np.ndarray:
    """Control: the whole budget for the count, and again for the mean."""
    mean = cdp.frechet_mean(records, LINE, cdp.GDP(2.0), coverage=False)
    noise = cdp.TangentGaussian(LINE, 1.0, cdp.GDP(2.0))
    return np.array([len(records) + noise.sample([0.0])[0, 0], 0.0, *mean.value])


def score(value: np.ndarray) -> float:
    """High for the data set with one more record, which is at 1."""
    return 4.0 * float(value[0]) + 78.0 * float(value[2])


@pytest.mark.parametrize(("draw", "holds"), [(released, True), (unpaid, False)])
def test_the_release_passes_an_audit_that_finds_what_is_not_paid(draw, holds):
    few = np.full((40, 1), -1.0)
    many = np.concatenate([few, [[1.0]]])
    claim = cdp.GDP(2.0, neighbours=ADD)
    result = audit_release_function(
        draw, many, few, score, n_releases=3000, claimed=claim, confidence=CONFIDENCE
    )
    assert result.passed == holds
