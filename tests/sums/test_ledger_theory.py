"""What a ledger may charge after an early stop (docs/proofs/sums-of-messages.md, 6), exactly.

A release with the cap CAP draws an integer with rounded normal noise of the share FIRST and stops,
or goes on with a normal step of all that is left of the cap. Then somebody spends what the ledger
has left on a mechanism of the worst kind. Laws are finite sums of closed forms.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, ndtr

CAP, FIRST, BOUND = 1.0, 0.3, 8
SECOND = math.sqrt(CAP**2 - FIRST**2)


def normal(mu, c):
    """The largest P(N(mu, 1) in A) - c P(N(0, 1) in A)."""
    if mu == 0.0:
        return max(1.0 - c, 0.0)
    return ndtr(mu / 2 - math.log(c) / mu) - c * ndtr(-mu / 2 - math.log(c) / mu)


def response(epsilon, c):
    """The same of randomised response."""
    p = expit(epsilon)
    return max(p - c * (1 - p), 0.0) + max(1 - p - c * p, 0.0)


def both(mu, epsilon, c):
    """The same of a normal step and a randomised response beside it."""
    p = expit(epsilon)
    return p * normal(mu, c * (1 - p) / p) + (1 - p) * normal(mu, c * p / (1 - p))


def epsilon_at(mu, delta):
    """The ε at which mu-GDP is (ε, delta)."""
    return brentq(lambda epsilon: normal(mu, math.exp(epsilon)) - delta, 0.0, 50.0)


def pure_share(epsilon):
    """The share of which ε-DP is GDP, conversions.md, section 3."""
    return 2 * -_quantile(1 / (1 + math.exp(epsilon)))


def _quantile(p):
    return brentq(lambda z: ndtr(z) - p, -40.0, 40.0)


def first_step(share=FIRST, places=(0, BOUND)):
    """Outcomes of the first step with their two probabilities."""
    scale = BOUND / share
    outcomes = np.arange(-int(11 * scale), int(11 * scale))
    laws = [
        ndtr((outcomes - place + 0.5) / scale) - ndtr((outcomes - place - 0.5) / scale)
        for place in places
    ]
    return list(zip(outcomes, *laws, strict=True))


STOPS = {
    "high": lambda outcome: outcome > 20,
    "low": lambda outcome: outcome < -10,
    "middle": lambda outcome: abs(outcome - 4) < 25,
    "mostly": lambda outcome: outcome > -60,
    "never": lambda outcome: False,
}


def profile(stops, after_stop, after_all, c, swap=False):
    """Exact P1(A) - c P0(A) of the release and of what follows, given their profiles."""
    total = 0.0
    for outcome, p0, p1 in first_step():
        if swap:
            p0, p1 = p1, p0
        if p1 > 0.0 and p0 > 0.0:
            follows = after_stop if stops(outcome) else after_all
            total += p1 * follows(c * p0 / p1)
        else:
            total += max(p1 - c * p0, 0.0)
    return total


@pytest.mark.parametrize("swap", [False, True], ids=["added", "removed"])
@pytest.mark.parametrize("stops", STOPS)
@pytest.mark.parametrize("kind", ["normal", "response"])
def test_a_gaussian_ledger_charges_what_was_spent(kind, stops, swap):
    budget = 1.2
    left_stop, left_all = math.sqrt(budget**2 - FIRST**2), math.sqrt(budget**2 - CAP**2)
    if kind == "normal":
        after_stop = partial(normal, left_stop)
        after_all = partial(normal, math.hypot(SECOND, left_all))
    else:
        pure_stop, pure_all = (
            brentq(lambda epsilon, left=left: pure_share(epsilon) - left, 1e-3, 20.0)
            for left in (left_stop, left_all)
        )
        after_stop = partial(response, pure_stop)
        after_all = partial(both, SECOND, pure_all)
    for c in np.exp(np.linspace(-1, 4, 6)):
        assert profile(STOPS[stops], after_stop, after_all, c, swap) <= normal(budget, c) + 1e-12


def test_a_ledger_that_forgets_a_stopped_release_is_seen():
    budget = 1.2
    rest = math.sqrt(budget**2 - CAP**2)
    found = profile(
        STOPS["high"],
        partial(normal, budget),
        partial(normal, math.hypot(SECOND, rest)),
        math.e,
    )
    assert found > normal(budget, math.e) + 1e-3


def largest_divergence(order, charged, rest):
    """Rényi divergence of the release and a randomised response of what is left of ρ = rest + .045.

    The release has the cap .3 and may stop after the share .15.
    """

    def moment(rho):
        p = expit(math.sqrt(2 * rho))
        return p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)

    after_stop = moment(rest + 0.045 - charged)
    after_all = moment(rest) * math.exp(order * (order - 1) * (0.045 - 0.15**2 / 2))
    worst = 0.0
    for stops in STOPS.values():
        for swap in (False, True):
            total = 0.0
            for outcome, p0, p1 in first_step(0.15):
                low, high = (p1, p0) if swap else (p0, p1)
                if low > 0.0:
                    ratio = (high / low) ** (order - 1)
                    total += high * ratio * (after_stop if stops(outcome) else after_all)
            worst = max(worst, math.log(total) / (order - 1))
    return worst


@pytest.mark.parametrize("order", [1.2, 2.0, 4.0, 16.0])
def test_a_zcdp_ledger_charges_what_was_spent(order):
    claimed = order * (0.015 + 0.045)
    assert largest_divergence(order, 0.15**2 / 2, 0.015) <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("order", [1.2, 2.0])
def test_a_zcdp_ledger_that_forgets_a_stopped_release_is_seen(order):
    """At small orders, where randomised response has nearly the divergence it is charged for."""
    assert largest_divergence(order, 0.0, 0.015) > 1.02 * order * (0.015 + 0.045)


def test_pure_steps_may_be_charged_one_by_one_where_delta_is_spent_too():
    """Steps of ε = .3 and, after one of the answers, .7; then the worst (1.5 - spent, .01)."""
    total, delta = 1.5, 0.01

    def revealing(epsilon, c):
        return delta + (1 - delta) * response(epsilon, c)

    def exact(charged_once):
        worst = 0.0
        for goes_on in (False, True):
            found, c = 0.0, math.exp(total)
            for answer in (False, True):
                p1 = expit(0.3) if answer else expit(-0.3)
                p0 = 1 - p1
                again = c * p0 / p1
                if answer == goes_on:
                    rest = total - (0.7 if charged_once else 1.0)
                    for more in (False, True):
                        q1 = expit(0.7) if more else expit(-0.7)
                        found += p1 * q1 * revealing(rest, again * (1 - q1) / q1)
                else:
                    found += p1 * revealing(total - 0.3, again)
            worst = max(worst, found)
        return worst

    assert exact(charged_once=False) <= delta + 1e-12
    assert exact(charged_once=True) > 2 * delta  # the control: the larger one alone


def after_refund(delta, stops):
    """Exact δ of an (ε, δ) ledger that charges (ε(spent), δ) after a stop, at its own ε."""
    total = epsilon_at(CAP, delta)
    left = total - epsilon_at(FIRST, delta)
    return profile(stops, partial(response, left), partial(normal, SECOND), math.exp(total))


@pytest.mark.parametrize(("delta", "times"), [(1e-2, 1.6), (1e-4, 1.9), (1e-6, 1.95)])
def test_a_ledger_with_a_delta_may_not_charge_what_was_spent(delta, times):
    worst = max(after_refund(delta, lambda outcome, b=b: outcome > b) for b in range(0, 140, 4))
    assert worst > times * delta
    assert after_refund(delta, STOPS["never"]) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_ledger_with_a_delta_may_charge_the_cap(delta):
    total = epsilon_at(CAP, delta) + 0.5
    worst = max(
        profile(
            lambda outcome, b=b: outcome > b,
            partial(response, 0.5),
            partial(both, SECOND, 0.5),
            math.exp(total),
        )
        for b in range(0, 140, 4)
    )
    assert worst <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("charged", "right"), [(max, True), (min, False)])
def test_groups_are_charged_what_the_dearest_spent(charged, right):
    """The other group, in which nobody changed, stops in a third of all cases."""
    budget, found = 1.2, 0.0
    for probability, other in ((1 / 3, FIRST), (2 / 3, CAP)):
        left_stop, left_all = (
            math.sqrt(budget**2 - charged(own, other) ** 2) for own in (FIRST, CAP)
        )
        found += probability * profile(
            STOPS["low"],
            partial(normal, left_stop),
            partial(normal, math.hypot(SECOND, left_all)),
            math.e,
        )
    assert (found <= normal(budget, math.e) + 1e-12) == right


@pytest.mark.parametrize(("factor", "right"), [(2.0, True), (1.0, False)])
def test_a_ledger_of_replacements_charges_twice_the_share(factor, right):
    """Both steps move twice as far when a record is replaced; the release stops if it is high."""
    budget = 2.5
    left_stop = math.sqrt(budget**2 - (factor * FIRST) ** 2)
    left_all = math.sqrt(budget**2 - (factor * CAP) ** 2)
    found = 0.0
    for outcome, p0, p1 in first_step(places=(-BOUND, BOUND)):
        if p0 > 0 and p1 > 0:
            share = left_stop if outcome > 20 else math.hypot(2 * SECOND, left_all)
            found += p1 * normal(share, math.e * p0 / p1)
    assert (found <= normal(budget, math.e) + 1e-12) == right
