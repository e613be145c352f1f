"""Count, resize, release: its laws by exact enumeration on the line, and what breaks them.

The whole release on the line is (count, value): the count's law, the number m that follows, the
selection's hypergeometric law and the noise of m records are all taken from the library, and
delta(epsilon) of two data sets that differ by one record is an integral over the values, a sum over
the counts. Theorem and proof: docs/proofs/count-resize.md.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import CONFIDENCE, DEVIATIONS, FAILURE
from curvedp import _core, sensitivity
from curvedp.audit import audit_release_function
from curvedp.mechanisms.calibration import budget_of, calibrated_scale
from curvedp.privacy.base import with_relation
from curvedp.statistics.unknown_n import CountPlan, random_order, resized

ADD = "add-remove"
LINE = cdp.Ball("euclidean:1", [0.0], 1.0)
WHOLE = [cdp.GDP(1.0), cdp.GDP(0.6), cdp.PureDP(1.0), cdp.PureDP(2.0)]
SIZES = (0, 1, 2, 5)
#: Of the integrals, and of counts that are left out.
TOLERANCE = 1e-5
Selected = Callable[[int, int, bool], dict[float, float]]

# ------------------------------------------------------------------------- the law on the line


def plan_of(whole: cdp.privacy.Guarantee, n: int = 9) -> CountPlan:
    return CountPlan.of(with_relation(whole, ADD), n, 1, 1)


def counts_of(plan: CountPlan, n: int) -> dict[int, float]:
    """The law of the released count, of all but 1e-13."""
    reach = math.ceil(40 * plan.scale)
    noise = np.arange(-reach, reach + 1)
    if isinstance(plan.way, cdp.PureDP):
        q = math.exp(-plan._rate)
        weights = (1 - q) / (1 + q) * q ** np.abs(noise).astype(float)
    else:
        ends = np.concatenate([noise - 0.5, [reach + 0.5]]) / plan.scale
        weights = np.where(noise > 0, -np.diff(stats.norm.sf(ends)), np.diff(stats.norm.cdf(ends)))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    return {n + int(k): float(w) for k, w in zip(noise, weights, strict=True)}


def means_of_selection(n: int, m: int, with_one: bool) -> dict[float, float]:
    """The law of the mean of m of n records at -1 and, if it is there, one at 1; padded by 0."""
    total = n + with_one
    missing = max(0, m - total)
    chance = (min(1.0, m / total) if total else 0.0) if with_one else 0.0
    of_others = -(min(m, total) - 0.0)
    law = {of_others / m: 1.0 - chance, (of_others + 2.0) / m: chance}
    assert missing + min(m, total) == m
    return {mean: weight for mean, weight in law.items() if weight > 0}


def scale_of(plan: CountPlan, m: int) -> float:
    way = plan.rest
    return calibrated_scale(sensitivity.frechet_mean(LINE, m), 0.0, way)


def used(plan: CountPlan, count: int) -> int:
    return max(1, plan.target(count))


def delta(
    plan: CountPlan,
    n: int,
    epsilons: Sequence[float],
    *,
    remove: bool = False,
    noise: Callable[[CountPlan, int], float] = scale_of,
    selected: Selected = means_of_selection,
    paid: bool = True,
) -> np.ndarray:
    """delta(epsilon) of the release of n records against that of n + 1, or of the reverse, for each
    epsilon."""
    laws = []
    for with_one in (False, True):
        size = n + with_one
        laws.append(counts_of(plan, size) if paid else {size: 1.0})
    if remove:
        laws.reverse()
    total = np.zeros(len(epsilons))
    for count, weight in laws[0].items():
        other = laws[1].get(count, 0.0)
        if weight < 1e-10:
            continue
        m = used(plan, count)
        own = selected(n, m, remove)
        against = selected(n, m, not remove)
        total += weight * _excess(plan, noise(plan, m), own, against, epsilons, other / weight)
    return total


def _excess(
    plan: CountPlan,
    scale: float,
    own: dict[float, float],
    against: dict[float, float],
    epsilons: Sequence[float],
    ratio: float,
) -> np.ndarray:
    """The integrals of the positive part of p - e^epsilon ratio q, of mixtures with one noise."""
    places = np.array([*own, *against])
    grid = np.linspace(places.min() - 20 * scale, places.max() + 20 * scale, 6_001)

    def density(mixture: dict[float, float]) -> np.ndarray:
        means, weights = np.array([*mixture]), np.array([*mixture.values()])
        z = np.abs(grid - means[:, None]) / scale
        if isinstance(plan.way, cdp.PureDP):
            return weights @ np.exp(-z) / (2 * scale)
        return weights @ np.exp(-(z**2) / 2) / (scale * math.sqrt(2 * math.pi))

    p, q = density(own), ratio * density(against)
    return np.array([np.trapezoid(np.maximum(p - math.exp(e) * q, 0), grid) for e in epsilons])


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
            total += weight * _excess(plan, scale_of(plan, m), own, against, epsilons, 1.0)
        assert np.all(total <= [rest.to_delta(e) + TOLERANCE for e in epsilons])
    assert budget_of(rest) < budget_of(whole)


# ---------------------------------------------------------------------------- the library's draws


@pytest.mark.parametrize("whole", [cdp.PureDP(3.0), cdp.GDP(3.0)], ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_counts_have_the_law_that_is_enumerated(whole, k):
    plan = CountPlan.of(with_relation(whole, ADD), 50, k, 2)
    stream = _core.Stream.from_os()
    draws = 4000
    found = Counter(plan.draw(17, stream) for _ in range(draws))
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


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6])
def test_records_used_are_a_uniformly_random_sequence(m):
    """Of 4 records: every sequence of m of them, or of all with copies of the centre."""
    rows, center = np.arange(1.0, 5.0)[:, None], np.zeros(1)
    stream = _core.Stream.from_os()
    pool = [1, 2, 3, 4] + [0] * max(0, m - 4)
    law = Counter(itertools.permutations(pool, m))
    draws = 200 * len(law)
    found = Counter(
        tuple(int(x) for x in resized(rows, None, center, m, stream)[0][:, 0]) for _ in range(draws)
    )
    assert set(found) <= set(law)
    total = sum(law.values())
    seen = [found[key] for key in law]
    assert stats.chisquare(seen, [draws * law[key] / total for key in law]).pvalue > FAILURE


def test_units_are_selected_whole():
    rows = np.arange(10.0)[:, None]
    ends = np.array([0, 3, 4, 10])
    stream = _core.Stream.from_os()
    found = Counter()
    for _ in range(600):
        chosen, persons = resized(rows, ends, np.array([-1.0]), 2, stream)
        own = tuple(tuple(chosen[persons == unit, 0].astype(int)) for unit in (0, 1))
        found[own] += 1
    units = [(0, 1, 2), (3,), (4, 5, 6, 7, 8, 9)]
    assert set(found) == set(itertools.permutations(units, 2))
    chosen, persons = resized(rows, ends, np.array([-1.0]), 5, stream)
    assert sorted(chosen[:, 0]) == [-1.0, -1.0, *range(10)]
    assert len(np.unique(persons)) == 5
    nobody, none = resized(rows[:0], np.array([0]), np.array([-1.0]), 3, stream)
    assert (nobody == -1.0).all()
    assert none.tolist() == [0, 1, 2]


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
    order = random_order(5, stream)
    assert stream.calls == 3
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]


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
