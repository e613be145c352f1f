"""Mixed composition against closed forms; the traps of dp_accounting, each shown by running it."""

from __future__ import annotations

import math
import sys

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import curvedp as cdp
from curvedp.errors import ConversionError, MissingExtraError
from curvedp.privacy.accounting import compose_mixed, to_dp_event
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved, compose
from curvedp.privacy.l2_noise import L2Noise

Relation = dp_accounting.NeighboringRelation


def exact_delta(mu: float, epsilons: list[float], deltas: list[float], target: float):
    """delta at `target` of N(0,1) against N(mu,1) and dominating pairs of (epsilon, delta)-DP."""
    with mpmath.workdps(50):
        losses = {mpmath.mpf(0): mpmath.mpf(1)}
        survive = mpmath.mpf(1)
        for epsilon, delta in zip(epsilons, deltas, strict=True):
            truth = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
            survive *= 1 - mpmath.mpf(delta)
            after: dict = {}
            for loss, weight in losses.items():
                for step, share in ((epsilon, truth), (-epsilon, 1 - truth)):
                    key = loss + mpmath.mpf(step)
                    after[key] = after.get(key, 0) + weight * share
            losses = after
        total = mpmath.mpf(0)
        for loss, weight in losses.items():
            rest = mpmath.mpf(target) - loss
            if mu == 0.0:
                total += weight * max(mpmath.mpf(0), 1 - mpmath.exp(rest))
            else:
                shift = mpmath.mpf(mu)
                total += weight * (
                    mpmath.ncdf(shift / 2 - rest / shift)
                    - mpmath.exp(rest) * mpmath.ncdf(-shift / 2 - rest / shift)
                )
        return (1 - survive) + survive * total


# compose_mixed


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize(
    ("mu", "bounded"),
    [
        (1.0, [(0.5, 0.0)] * 4),
        (0.3, [(0.1, 0.0)] * 10),
        (0.01, [(0.01, 0.0)]),
        (2.0, [(1.0, 1e-11), (0.3, 0.0)]),
        (0.0, [(0.1, 0.0)] * 10),
        (0.0, [(0.2, 1e-12)] * 5),
        (3.0, [(0.37, 0.0), (0.11, 0.0)]),
    ],
)
def test_mixed_composition_holds_and_is_nearly_tight(mu, bounded, delta):
    parts = [ApproxDP(*pair) if pair[1] else PureDP(pair[0]) for pair in bounded]
    parts += [GDP(mu)] if mu else []
    total = compose_mixed(parts, delta)
    assert total.delta == delta
    epsilons, deltas = zip(*bounded, strict=True)
    assert exact_delta(mu, epsilons, deltas, total.epsilon) <= delta
    assert exact_delta(mu, epsilons, deltas, total.epsilon * 0.999 - 1e-12) > delta


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.01, 3.0),
    st.lists(st.floats(1e-4, 2.0), min_size=1, max_size=4),
    st.floats(-11.0, -1.0),
)
def test_mixed_composition_never_understates(mu, epsilons, power):
    delta = 10.0**power
    total = compose_mixed([GDP(mu), *map(PureDP, epsilons)], delta)
    assert exact_delta(mu, epsilons, [0.0] * len(epsilons), total.epsilon) <= delta


def test_many_equal_releases_hold_where_rounded_transforms_understate():
    from dp_accounting.pld import common, privacy_loss_distribution

    exact = exact_delta(0.0, [0.1] * 100, [0.0] * 100, 6.0)
    single = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(0.1, 0.0), value_discretization_interval=1e-5
    )
    assert single.self_compose(100).get_delta_for_epsilon(6.0) < exact * (1 - 1e-7)
    total = compose_mixed([PureDP(0.1)] * 100, float(exact))
    assert exact_delta(0.0, [0.1] * 100, [0.0] * 100, total.epsilon) <= exact
    assert total.epsilon == pytest.approx(6.0, rel=1e-3)


def test_one_kind_agrees_with_its_exact_composition():
    parts = [GDP(0.6), GDP(0.8)]
    assert compose_mixed(parts, 1e-6).epsilon == pytest.approx(GDP(1.0).to_epsilon(1e-6), rel=1e-4)
    assert compose_mixed(parts, 1e-6).epsilon >= GDP(1.0).to_epsilon(1e-6) * (1 - 1e-11)
    assert compose_mixed([PureDP(0.3)], 1e-9).epsilon <= 0.3
    assert compose_mixed([ApproxDP(0.3, 1e-9)], 1e-6).epsilon <= 0.3


def test_zcdp_composes_with_every_kind():
    delta = 1e-6
    among = compose_mixed([ZCDP(0.02), GDP(0.1), PureDP(0.1)], delta).epsilon
    total = compose(ZCDP(0.02), GDP(0.1).to_zcdp(), PureDP(0.1).to_zcdp())
    assert among == total.to_epsilon(delta)
    mixed = compose_mixed([ZCDP(0.02), ApproxDP(0.5, 1e-7), GDP(0.1)], delta).epsilon
    assert ZCDP(0.02).to_epsilon(delta) < mixed
    left = (delta - 1e-7) / 2
    assert mixed <= ZCDP(0.02).to_epsilon(left) + 0.5 + GDP(0.1).to_epsilon(left) + 1e-12


@pytest.mark.parametrize("delta", [1e-14, 1e-100])
def test_delta_below_the_transforms_error_uses_the_closed_forms(delta):
    parts = [GDP(1.0), PureDP(0.5)]
    total = compose_mixed(parts, delta).epsilon
    closed = compose(GDP(1.0), PureDP(0.5).to_gdp()).to_epsilon(delta)
    basic = GDP(1.0).to_epsilon(delta) + 0.5
    assert total == pytest.approx(min(closed, basic), rel=1e-9)


def test_huge_parameters_still_compose():
    assert compose_mixed([PureDP(1e6), ApproxDP(1.0, 1e-9)], 1e-6).epsilon <= 1e6 + 1.0
    assert compose_mixed([PureDP(1e300), PureDP(1e200)], 1e-6).epsilon <= 1.0001e300
    assert compose_mixed([GDP(100.0), ApproxDP(1.0, 1e-9)], 1e-6).epsilon < 6000


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(ConversionError, match="proves nothing"):
        compose_mixed([PureDP(1.0), Unproved(GDP(1.0), "no proof")], 1e-6)
    with pytest.raises(ValueError, match="at least one"):
        compose_mixed([], 1e-6)
    with pytest.raises(ValueError, match="exceed the sum"):
        compose_mixed([ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6)], 2e-6)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        compose_mixed([PureDP(1.0)], 0.0)


def test_without_the_extra_the_message_names_the_install_command(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "dp_accounting":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    for call in (
        lambda: compose_mixed([PureDP(1.0), GDP(1.0)], 1e-6),
        lambda: to_dp_event(GDP(1.0), None),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'curvedp\[accounting\]'"):
            call()


# to_dp_event and the traps it avoids


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_gdp_event_in_a_pld_accountant_is_the_same_guarantee(mu):
    accountant = PLDAccountant(Relation.REPLACE_ONE)
    accountant.compose(to_dp_event(GDP(mu), accountant))
    for epsilon in (0.0, 0.5, 2.0):
        assert accountant.get_delta(epsilon) == pytest.approx(GDP(mu).to_delta(epsilon), rel=1e-5)


def test_trap_replace_one_doubles_the_sensitivity_of_a_gaussian_event():
    accountant = PLDAccountant(Relation.REPLACE_ONE)
    accountant.compose(dp_accounting.GaussianDpEvent(1.0))
    assert accountant.get_delta(1.0) == pytest.approx(GDP(2.0).to_delta(1.0), rel=1e-6)


def test_trap_renyi_accounting_ignores_the_relation_of_a_gaussian_event():
    naive = RdpAccountant(neighboring_relation=Relation.REPLACE_ONE)
    naive.compose(dp_accounting.GaussianDpEvent(2.0))
    assert naive.get_epsilon(1e-6) < 0.5 * GDP(1.0).to_epsilon(1e-6)
    accountant = RdpAccountant(neighboring_relation=Relation.REPLACE_ONE)
    accountant.compose(to_dp_event(GDP(1.0), accountant))
    exact = GDP(1.0).to_epsilon(1e-6)
    assert exact <= accountant.get_epsilon(1e-6) <= 1.1 * exact


def test_zcdp_event_in_a_renyi_accountant_is_no_better_than_the_exact_optimum():
    accountant = RdpAccountant(neighboring_relation=Relation.REPLACE_ONE)
    accountant.compose(to_dp_event(ZCDP(0.5), accountant))
    exact = ZCDP(0.5).to_epsilon(1e-6)
    assert exact * (1 - 1e-12) <= accountant.get_epsilon(1e-6) <= exact * 1.02


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 4.0, 20.0])
def test_pure_event_is_the_dominating_randomised_response(epsilon):
    accountant = PLDAccountant(Relation.REPLACE_ONE)
    accountant.compose(to_dp_event(PureDP(epsilon), accountant))
    assert accountant.get_epsilon(0.0) >= epsilon * (1 - 1e-12)
    assert accountant.get_epsilon(0.0) <= epsilon + 2e-4
    for part in (0.0, 0.5):
        claimed = PureDP(epsilon).to_delta(part * epsilon)
        assert claimed * (1 - 1e-9) <= accountant.get_delta(part * epsilon) <= claimed + 2e-4


@pytest.mark.parametrize("dim", [1, 2, 6, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_laplace_noise_on_the_line_dominates_l2_noise_of_every_dimension(dim, epsilon):
    noise = L2Noise(epsilon, dim)
    parts = [0.0, 0.3, 0.6, 0.9]
    claimed = [noise.to_delta(part * epsilon) for part in parts]
    laplace = [-math.expm1((part - 1.0) * epsilon / 2.0) for part in parts]
    assert all(own <= most * (1 + 1e-6) for own, most in zip(claimed, laplace, strict=True))
    if dim == 1:  # control: Laplace noise of a smaller epsilon does not
        assert claimed[0] > -math.expm1(-0.45 * epsilon) * (1 + 1e-6)


def test_l2_events_overstate_in_each_accountant():
    for relation, neighbours in (
        (Relation.ADD_OR_REMOVE_ONE, "add-remove"),
        (Relation.REPLACE_ONE, "replace"),
    ):
        noise = L2Noise(0.5, 2, neighbours=neighbours)
        exact = compose_mixed([noise] * 8, delta=1e-5).epsilon
        pure = compose_mixed([PureDP(0.5, neighbours=neighbours)] * 8, delta=1e-5).epsilon
        for accountant in (PLDAccountant(relation), RdpAccountant(neighboring_relation=relation)):
            for event in [to_dp_event(noise, accountant)] * 8:
                accountant.compose(event)
            assert accountant.get_epsilon(1e-5) >= exact
        tight = PLDAccountant(relation)
        for _ in range(8):
            tight.compose(to_dp_event(noise))
        assert exact <= tight.get_epsilon(1e-5) <= pure * (1 + 1e-3)


def test_the_losses_of_a_release_by_the_l2_mechanism_have_events():
    ball = cdp.Ball("euclidean:6", [0.0] * 6, 1.0)
    found = cdp.frechet_mean(
        np.zeros((500, 6)), ball, ApproxDP(1.0, 1e-3), mechanism="l2-mechanism", coverage=False
    )
    accountant = RdpAccountant(neighboring_relation=Relation.REPLACE_ONE)
    with pytest.raises(ConversionError, match=r"release\.losses"):
        found.guarantee.to_dp_event(accountant)
    for loss in found.losses:
        accountant.compose(to_dp_event(loss, accountant))
    (noise,) = found.losses
    assert noise.to_epsilon(1e-3) <= accountant.get_epsilon(1e-3)


def test_trap_replace_special_understates_randomised_response():
    truthful = PLDAccountant(Relation.REPLACE_ONE)
    event = to_dp_event(PureDP(1.0), truthful)
    special = PLDAccountant(Relation.REPLACE_SPECIAL)
    special.compose(event)
    assert special.get_epsilon(0.0) < 0.63
    with pytest.raises(ValueError, match="REPLACE_ONE"):
        to_dp_event(PureDP(1.0), special)


def test_trap_the_count_of_randomised_response_is_ignored():
    counted, repeated = (PLDAccountant(Relation.REPLACE_ONE) for _ in range(2))
    event = to_dp_event(PureDP(1.0), counted)
    counted.compose(event, count=5)
    for _ in range(5):
        repeated.compose(event)
    assert counted.get_epsilon(0.0) == pytest.approx(1.0, abs=2e-4)
    assert repeated.get_epsilon(0.0) == pytest.approx(5.0, abs=1e-3)


@pytest.mark.parametrize("epsilon", [1e-17, 1e-9, 0.5, 1.0, 30.0, 700.0, 1e4])
def test_the_probability_to_lie_is_rounded_to_the_private_side(epsilon):
    accountant = PLDAccountant(Relation.REPLACE_ONE)
    lie = mpmath.mpf(to_dp_event(PureDP(epsilon), accountant).noise_parameter)
    with mpmath.workdps(50):
        exact = 2 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert exact - mpmath.mpf(1e-15) <= lie <= exact
        assert lie < 1


@pytest.mark.parametrize("relation", [Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_SPECIAL])
def test_other_neighbouring_relations_are_refused(relation):
    for accountant in (PLDAccountant(relation), RdpAccountant(neighboring_relation=relation)):
        for guarantee in (PureDP(1.0), GDP(1.0)):
            with pytest.raises(ValueError, match="REPLACE_ONE"):
                to_dp_event(guarantee, accountant)


def test_guarantees_without_an_event_are_refused():
    pld = PLDAccountant(Relation.REPLACE_ONE)
    rdp = RdpAccountant(neighboring_relation=Relation.REPLACE_ONE)
    unproved = Unproved(GDP(1.0), "no proof")
    for guarantee, accountant in (
        (ZCDP(1.0), pld),
        (ApproxDP(1.0, 1e-6), pld),
        (ApproxDP(1.0, 1e-6), rdp),
        (unproved, pld),
        (unproved, rdp),
    ):
        with pytest.raises(ConversionError, match="no event"):
            to_dp_event(guarantee, accountant)
    with pytest.raises(TypeError, match="accountant must be"):
        to_dp_event(GDP(1.0), "pld")


def test_laplace_events_do_not_exist_under_replace_one():
    accountant = PLDAccountant(Relation.REPLACE_ONE)
    assert not accountant.supports(dp_accounting.LaplaceDpEvent(1.0))
    assert math.isfinite(accountant.get_epsilon(1e-6))


# without an accountant


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kind", [PLDAccountant, RdpAccountant])
def test_the_event_for_an_unknown_accountant_understates_in_none(kind, mu):
    accountant = kind(neighboring_relation=Relation.REPLACE_ONE)
    accountant.compose(GDP(mu).to_dp_event())
    exact = GDP(mu).to_epsilon(1e-6)
    assert exact <= accountant.get_epsilon(1e-6) * (1 + 1e-9)
    named = kind(neighboring_relation=Relation.REPLACE_ONE)
    named.compose(GDP(mu).to_dp_event(named))
    assert named.get_epsilon(1e-6) <= accountant.get_epsilon(1e-6) * (1 + 1e-9)


@pytest.mark.parametrize("kind", [PLDAccountant, RdpAccountant])
def test_the_method_and_the_function_give_one_event(kind):
    accountant = kind(neighboring_relation=Relation.REPLACE_ONE)
    for guarantee in (GDP(1.0), PureDP(0.5)):
        assert guarantee.to_dp_event(accountant) == to_dp_event(guarantee, accountant)
    event = PureDP(0.5).to_dp_event()
    accountant.compose(event)
    assert accountant.get_epsilon(1e-9) >= 0.5 - 1e-4
    assert ZCDP(0.5).to_dp_event() == dp_accounting.ZCDpEvent(0.5)


def test_what_has_no_event_is_refused_without_an_accountant_too():
    with pytest.raises(ConversionError, match="compose_mixed"):
        ApproxDP(1.0, 1e-6).to_dp_event()
    with pytest.raises(ConversionError, match="proves nothing"):
        Unproved(GDP(1.0), "no proof").to_dp_event()
