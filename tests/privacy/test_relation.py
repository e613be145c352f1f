"""The neighbouring relation as a part of every guarantee: values, ledgers, events, texts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp.audit import audit_release_function, low_bits
from curvedp.errors import BudgetError, ConversionError, LedgerError
from curvedp.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Ledger,
    PureDP,
    Unproved,
    compose,
    compose_mixed,
    to_dp_event,
)
from curvedp.privacy.base import RELATIONS, Guarantee

ADD = "add-remove"
KINDS = [PureDP(0.75), ApproxDP(0.75, 1e-6), ZCDP(0.3), GDP(1.25)]
each = pytest.mark.parametrize("own", KINDS, ids=lambda own: type(own).__name__)


def moved(own: Guarantee) -> Guarantee:
    """The same numbers for adding or removing a record."""
    return replace(own, neighbours=ADD)


# ------------------------------------------------------------------------------------ values


@each
def test_the_relation_is_a_part_of_the_value(own):
    other = moved(own)
    assert own.neighbours == "replace"
    assert other.neighbours == ADD
    assert own != other
    assert len({own, other, replace(other, neighbours="replace")}) == 2
    assert other.to_dict() == own.to_dict() | {"neighbours": ADD}
    assert Guarantee.from_dict(json.loads(json.dumps(other.to_dict()))) == other


@each
def test_every_text_names_the_relation(own):
    other = moved(own)
    assert repr(own).endswith("neighbouring: replace one record, n public>")
    assert repr(other).endswith("neighbouring: add or remove one record>")
    assert "replace one record, n public" in own._repr_html_()
    assert "add or remove one record" in other._repr_html_()
    assert "neighbours" not in str(own)
    assert eval(str(other)) == other
    claim = Unproved(other, "no proof")
    assert claim.neighbours == ADD
    assert str(other) in str(claim)


@pytest.mark.parametrize("wrong", ["zero-out", "", "Replace", None, 1])
def test_another_relation_is_refused(wrong):
    with pytest.raises(ValueError, match="neighbours must be one of 'replace', 'add-remove'"):
        GDP(1.0, neighbours=wrong)
    with pytest.raises(ValueError, match="neighbours must be one of"):
        Guarantee.from_dict({"kind": "GDP", "mu": 1.0, "neighbours": wrong})


def test_the_relation_is_given_by_name():
    with pytest.raises(TypeError):
        GDP(1.0, ADD)


def test_conversions_and_shares_keep_the_relation():
    pure, approx, zcdp, gdp = map(moved, KINDS)
    found = [
        pure.to_gdp(),
        pure.to_gdp(bounded_range=True),
        pure.to_zcdp(),
        pure.to_pure_dp(),
        gdp.to_zcdp(),
        gdp.to_gdp(),
        zcdp.to_zcdp(),
        approx.sufficient_gdp(),
        approx.sufficient_zcdp(),
        *(own.to_approx_dp(1e-5) for own in (pure, approx, zcdp, gdp)),
        *(share for own in (pure, approx, zcdp, gdp) for share in own.split([1, 3])),
        *(compose(own, own) for own in (pure, approx, zcdp, gdp)),
        compose_mixed([pure, gdp], 1e-6),
    ]
    assert {own.neighbours for own in found} == {ADD}
    for own in found:
        usual = replace(own, neighbours="replace")
        assert own.to_dict() == usual.to_dict() | {"neighbours": ADD}


@each
def test_relations_do_not_compose(own):
    for first, second in ((own, moved(own)), (moved(own), own)):
        with pytest.raises(ConversionError, match="to_replace"):
            compose(first, second)
        with pytest.raises(ConversionError, match="to_replace"):
            compose_mixed([first, second], 1e-5)
    assert compose(own, moved(own).to_replace()).neighbours == "replace"


# -------------------------------------------------------------------- from add-remove to replace


@each
def test_replacing_is_two_steps_and_says_nothing_about_one(own):
    assert own.to_replace() is own
    implied = moved(own).to_replace()
    assert implied.neighbours == "replace"
    assert type(implied) is type(own)


def test_two_steps_cost_twice_the_loss():
    assert PureDP(0.1, neighbours=ADD).to_replace() == PureDP(0.2)
    assert GDP(0.1, neighbours=ADD).to_replace() == GDP(0.2)
    assert ZCDP(0.1, neighbours=ADD).to_replace() == ZCDP(0.4)
    with pytest.raises(ConversionError, match="no proof"):
        Unproved(GDP(1.0, neighbours=ADD), "no proof").to_replace()


@given(st.floats(0.0, 700.0), st.floats(-320.0, -0.01))
def test_delta_of_two_steps_is_rounded_up_by_little(epsilon, power):
    delta = 10.0**power
    own = ApproxDP(epsilon, max(delta, 5e-324), neighbours=ADD)
    with mpmath.workdps(60):
        exact = (1 + mpmath.exp(mpmath.mpf(own.epsilon))) * mpmath.mpf(own.delta)
        if exact >= 1 - 1e-12:
            if exact >= 1:
                with pytest.raises(ValueError, match="implies nothing"):
                    own.to_replace()
            return
        implied = own.to_replace()
        assert implied.epsilon == 2 * own.epsilon
        assert exact <= implied.delta <= exact * (1 + 1e-13) + 5e-324


@pytest.mark.parametrize("own", [PureDP(1.7e308), GDP(1.7e308), ZCDP(1.7e308)])
def test_what_is_beyond_floats_is_refused(own):
    with pytest.raises(ValueError, match="too large"):
        moved(own).to_replace()


@pytest.mark.parametrize(("epsilon", "delta"), [(800.0, 5e-324), (1e308, 0.5)])
def test_an_epsilon_beyond_exponentials_is_refused(epsilon, delta):
    with pytest.raises(ValueError, match="implies nothing"):
        ApproxDP(epsilon, delta, neighbours=ADD).to_replace()


def chain(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three laws, those in a row (epsilon, delta)-close, whose ends are as far as two steps go.

    P has mass (1 + e^epsilon) delta where R has none; Q has delta there.
    """
    odds = math.exp(epsilon)
    ends = (1 + odds) * delta
    p = np.array([ends, 1 - ends])
    q = np.array([delta, 1 - delta])
    return p, q, np.array([0.0, 1.0])


def apart(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Smallest delta at which two finite laws are (epsilon, delta)-close, both ways."""
    odds = math.exp(epsilon)
    return max(np.maximum(p - odds * q, 0).sum(), np.maximum(q - odds * p, 0).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-3), (2.0, 0.01)])
def test_two_steps_reach_the_delta_that_is_implied(epsilon, delta):
    p, q, r = chain(epsilon, delta)
    assert apart(p, q, epsilon) <= delta * (1 + 1e-12)
    assert apart(q, r, epsilon) <= delta * (1 + 1e-12)
    implied = ApproxDP(epsilon, delta, neighbours=ADD).to_replace()
    reached = apart(p, r, implied.epsilon)
    assert reached == pytest.approx(implied.delta, rel=1e-12)
    assert reached > 2 * delta * (1 + 1e-3)  # control: adding both deltas is not enough


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_shifted_normals_reach_what_is_implied(mu):
    """N(0, 1), N(mu, 1) and N(2 mu, 1) are a chain of two steps of mu-GDP and of mu^2/2-zCDP."""
    assert GDP(mu, neighbours=ADD).to_replace().mu == 2 * mu
    rho = Fraction(mu) ** 2 / 2
    implied = ZCDP(float(rho), neighbours=ADD).to_replace().rho
    assert implied == pytest.approx((2 * mu) ** 2 / 2, rel=1e-15)


@given(st.floats(0.01, 3.0), st.floats(1.01, 60.0))
def test_the_order_that_the_proof_takes_gives_four_rho(rho, alpha):
    """Section 9 of docs/proofs/conversions.md: p = 1 + (alpha - 1)/alpha makes both terms 4."""
    p = 1 + (alpha - 1) / alpha
    q = p / (p - 1)
    first = (alpha - 1 / p) / (alpha - 1) * rho * p * alpha
    second = rho * q * (alpha - 1 / p)
    assert first + second == pytest.approx(4 * rho * alpha, rel=1e-9)


# ------------------------------------------------------------------------------------ ledgers


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_replace_ledger_charges_what_is_implied(on_disk, tmp_path):
    path = tmp_path / "ledger" if on_disk else None
    ledger = Ledger(GDP(5.0), path=path)
    entry = ledger.spend(GDP(1.5, neighbours=ADD), "counted")
    assert entry.guarantee == GDP(1.5, neighbours=ADD)
    assert ledger.spent == GDP(3.0)
    ledger.spend(GDP(4.0), "known n")
    assert ledger.spent == GDP(5.0)
    assert ledger.remaining is None
    with pytest.raises(BudgetError):
        ledger.spend(GDP(0.1, neighbours=ADD))
    assert "GDP(mu=1.5, neighbours='add-remove')  counted" in ledger.report()
    if on_disk:
        again = Ledger.open(path)
        assert again.spent == GDP(5.0)
        assert again.entries[0].guarantee == GDP(1.5, neighbours=ADD)


@pytest.mark.parametrize("on_disk", [False, True])
def test_an_add_remove_ledger_takes_its_own_relation_alone(on_disk, tmp_path):
    path = tmp_path / "ledger" if on_disk else None
    budget = ApproxDP(1.0, 1e-6, neighbours=ADD)
    ledger = Ledger(budget, path=path)
    with pytest.raises(ConversionError, match="says nothing"):
        ledger.spend(PureDP(0.25))
    assert ledger.spent is None
    ledger.spend(PureDP(0.25, neighbours=ADD))
    assert ledger.spent == PureDP(0.25, neighbours=ADD)
    assert ledger.remaining == ApproxDP(0.75, 1e-6, neighbours=ADD)
    assert "neighbours='add-remove'" in ledger.report()
    assert "add or remove one record" in repr(ledger)
    if on_disk:
        assert Ledger.open(path).budget == budget
        with pytest.raises(LedgerError, match="budget ApproxDP"):
            Ledger(ApproxDP(1.0, 1e-6), path=path)


@pytest.mark.parametrize(
    ("budget", "spent", "cost"),
    [
        (PureDP(9.0), PureDP(0.5), (Fraction(1),)),
        (ApproxDP(9.0, 0.5), PureDP(0.5), (Fraction(1), Fraction(0))),
        (ZCDP(9.0), ZCDP(0.5), (Fraction(2),)),
        (ZCDP(9.0), GDP(0.5), (Fraction(1, 2),)),
        (ZCDP(9.0), PureDP(0.5), (Fraction(1, 2),)),
        (GDP(9.0), GDP(0.5), (Fraction(1),)),
    ],
)
def test_the_cost_in_another_kind_is_that_of_what_is_implied(budget, spent, cost):
    ledger = Ledger(budget)
    ledger.spend(moved(spent))
    assert ledger._store.total() == cost
    assert Ledger(budget)._cost(moved(spent).to_replace()) == cost


def test_a_statistic_is_refused_before_the_ledger_is_asked():
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    for budget in (GDP(2.0), GDP(2.0, neighbours=ADD)):
        ledger = Ledger(budget)
        with pytest.raises(TypeError, match="n_guess is needed"):
            cdp.confidence_region(np.zeros((9, 1)), ball, GDP(1.0, neighbours=ADD), ledger=ledger)
        assert ledger.spent is None
    with pytest.raises(ConversionError, match="says nothing"):
        cdp.frechet_mean(np.zeros((9, 1)), ball, GDP(1.0), ledger=ledger)
    assert ledger.spent is None


# ------------------------------------------------------------------------------------- events


dp_accounting = pytest.importorskip("dp_accounting")
pld = pytest.importorskip("dp_accounting.pld")
rdp = pytest.importorskip("dp_accounting.rdp")
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_gdp_is_exact_by_distributions_and_safe_by_divergences(mu):
    own = GDP(mu, neighbours=ADD)
    exact = own.to_epsilon(1e-6)
    by_loss = pld.PLDAccountant(ADD_OR_REMOVE)
    by_loss.compose(to_dp_event(own, by_loss))
    assert exact * (1 - 1e-11) <= by_loss.get_epsilon(1e-6) <= exact * (1 + 1e-7)
    by_order = rdp.RdpAccountant(neighboring_relation=ADD_OR_REMOVE)
    by_order.compose(to_dp_event(own, by_order))
    assert exact <= by_order.get_epsilon(1e-6) <= 1.1 * exact
    for accountant in (
        pld.PLDAccountant(ADD_OR_REMOVE),
        rdp.RdpAccountant(neighboring_relation=ADD_OR_REMOVE),
    ):
        accountant.compose(own.to_dp_event())
        assert exact * (1 - 1e-11) <= accountant.get_epsilon(1e-6) <= 1.1 * exact


def test_zcdp_goes_to_divergences_alone():
    own = ZCDP(0.5, neighbours=ADD)
    by_order = rdp.RdpAccountant(neighboring_relation=ADD_OR_REMOVE)
    by_order.compose(to_dp_event(own, by_order))
    assert own.to_epsilon(1e-6) * (1 - 1e-12) <= by_order.get_epsilon(1e-6)
    assert own.to_dp_event() == dp_accounting.ZCDpEvent(0.5)
    with pytest.raises(ConversionError, match="use compose_mixed"):
        to_dp_event(own, pld.PLDAccountant(ADD_OR_REMOVE))


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 100), (0.5, 20)])
def test_trap_laplace_events_understate_pure_guarantees(epsilon, times):
    """Of randomised responses, which are epsilon-DP too, the exact epsilon is larger."""
    naive = pld.PLDAccountant(ADD_OR_REMOVE)
    naive.compose(dp_accounting.LaplaceDpEvent(1 / epsilon), times)
    found = naive.get_epsilon(1e-6)
    heads = np.arange(times + 1)
    truth = 1 / (1 + math.exp(-epsilon))
    weight = [math.comb(times, int(k)) * truth**k * (1 - truth) ** (times - k) for k in heads]
    losses = epsilon * (2 * heads - times)
    delta = np.sum(weight * np.maximum(-np.expm1(found - losses), 0.0))
    assert delta > 1.2e-6
    own = [PureDP(epsilon, neighbours=ADD)] * times
    total = compose_mixed(own, 1e-6)
    assert total.neighbours == ADD
    assert np.sum(weight * np.maximum(-np.expm1(total.epsilon - losses), 0.0)) <= 1e-6


def test_pure_guarantees_have_no_event():
    own = PureDP(0.5, neighbours=ADD)
    for accountant in (
        None,
        pld.PLDAccountant(ADD_OR_REMOVE),
        rdp.RdpAccountant(neighboring_relation=ADD_OR_REMOVE),
    ):
        with pytest.raises(ConversionError, match="use compose_mixed"):
            to_dp_event(own, accountant)
    assert not pld.PLDAccountant(ADD_OR_REMOVE).supports(PureDP(0.5).to_dp_event())


@pytest.mark.parametrize("own", [GDP(1.0), PureDP(1.0), ZCDP(1.0)])
def test_accountants_of_another_relation_are_refused(own):
    known = dp_accounting.NeighboringRelation
    wanted = {"replace": known.REPLACE_ONE, ADD: known.ADD_OR_REMOVE_ONE}
    for relation, right in wanted.items():
        for other in set(known) - {right}:
            for accountant in (
                pld.PLDAccountant(other),
                rdp.RdpAccountant(neighboring_relation=other),
            ):
                with pytest.raises(ValueError, match=right.name):
                    to_dp_event(replace(own, neighbours=relation), accountant)


# -------------------------------------------------------------------------------------- texts


def release(own: Guarantee, **changes: object) -> cdp.Release:
    parts = {
        "value": np.zeros(1),
        "guarantee": own,
        "mechanism": "Riemannian Gaussian",
        "statistic": "Fréchet mean",
        "manifold": "euclidean:1",
        "ball_center": np.zeros(1),
        "ball_radius": 1.0,
        "n": 4321,
        "records_per_unit": 1,
        "sensitivity": 0.1,
        "solver_tolerance": 0.0,
        "scale": 0.1,
        "expected_error": 0.1,
    }
    return cdp.Release(**parts | changes)


@each
@pytest.mark.parametrize("named", [(), ("units-by-name",)])
def test_statement_and_page_say_what_is_protected(own, named):
    counted = "units" if named else "records"
    one, other = (release(g, assumptions=frozenset(named)) for g in (own, moved(own)))
    told = f"Public, so not protected: the number of {counted}, n = 4321."
    assert told in one.statement.protected
    assert "the domain, n and" in one.statement.assuming
    values = "sets of records a protected person" if named else "values a protected record"
    assert f"which of two {values} has" in one.statement.cost
    told = other.statement
    assert f"The number of {counted} is protected, too." in told.protected
    assert "there, nor on what" in told.protected
    assert " n = " not in str(told)
    assert "public" not in told.protected
    assert "the domain and" in told.assuming
    assert f"whether a protected {'person' if named else 'record'} is there" in told.cost
    assert "finds a record in at most" in other.document()
    assert "finds one of two values of a record in at most" in one.document()


@each
def test_release_and_report_name_the_relation_of_the_guarantee(own):
    one, other = release(own), release(moved(own))
    assert "replace one record; the number of records n is public" in one.report()
    assert "add or remove one record; the number of records is protected" in other.report()
    assert str(moved(own)) in other.report().replace("\n" + " " * 16, " ")
    assert "add or remove one record" in other._repr_html_()
    again = cdp.Release.from_json(other.to_json())
    assert again == other != one
    assert again.guarantee.neighbours == ADD


def test_a_registry_gets_the_relation(tmp_path):
    ball = cdp.Ball("euclidean:1", [0.0], 1.0)
    own = cdp.frechet_mean(np.zeros((4321, 1)), ball, GDP(1.0))
    names = ("name", "data_curator", "description", "intended_use", "region")
    product = dict.fromkeys(names, "x") | {"curator_type": "Industry", "authors": ["A"]}
    usual = own.to_registry(**product)["deployment"]
    other = release(GDP(1.0, neighbours=ADD), provenance=own.provenance).to_registry(**product)
    deployed = other["deployment"]
    assert usual["privacy_loss"]["number_of_privacy_units"] == 4321
    assert "number_of_privacy_units" not in deployed["privacy_loss"]
    assert "replaced units" in usual["privacy_loss"]["privacy_parameters_details"]
    assert "added and removed units" in deployed["privacy_loss"]["privacy_parameters_details"]
    assert deployed["privacy_loss"]["privacy_unit_details"] == "One record is added or removed."
    assert "4321" in usual["dp_variant"]["unprotected_quantities"]
    assert "4321" not in deployed["dp_variant"]["unprotected_quantities"]


@given(st.sampled_from(KINDS), st.sampled_from(list(RELATIONS)))
def test_every_kind_has_both_relations(own, relation):
    assert replace(own, neighbours=relation).neighbours == relation


# -------------------------------------------------------------------------------------- audits


def noisy_sum(rng: np.random.Generator):
    return lambda data: float(np.sum(data)) + rng.standard_normal()


@pytest.mark.parametrize("audit", ["audit_release_function", "low_bits"])
def test_an_audit_wants_data_sets_of_the_claims_relation(audit):
    draw = noisy_sum(np.random.default_rng(5))
    few, many, other = np.ones(4), np.ones(5), np.array([0.0, 1.0, 1.0, 1.0])

    def run(a, b, claimed, **how):
        if audit == "low_bits":
            return low_bits(draw, a, b, n_releases=64, claimed=claimed, **how)
        return audit_release_function(draw, a, b, float, n_releases=64, claimed=claimed, **how)

    assert run(few, many, GDP(1.0, neighbours=ADD)).passed
    assert run(many, few, GDP(1.0, neighbours=ADD)).passed
    assert run(few, other, GDP(1.0)).passed
    assert run(few, np.ones(7), GDP(3.0, neighbours=ADD), records_per_unit=3).passed
    with pytest.raises(ValueError, match="neighbours under 'add-remove'"):
        run(few, many, GDP(1.0))
    with pytest.raises(ValueError, match="to_replace"):
        run(few, other, GDP(1.0, neighbours=ADD))
    for wrong in (np.ones(6), np.array([1.0, 1.0, 2.0, 2.0, 1.0])):
        with pytest.raises(ValueError, match="differ in at most 1"):
            run(few, wrong, GDP(1.0, neighbours=ADD))


def test_an_audit_of_both_relations_tells_a_claim_that_is_too_small():
    """A sum of numbers up to 2 with unit noise: 2-GDP to add one, 4-GDP to replace 2 by -2."""
    draw = noisy_sum(np.random.default_rng(6))
    few, many = np.zeros(4), np.array([0.0, 0.0, 2.0, 0.0, 0.0])

    def passed(a, b, claimed):
        return audit_release_function(draw, a, b, float, n_releases=4000, claimed=claimed).passed

    assert passed(many, few, GDP(2.0, neighbours=ADD))
    assert not passed(many, few, GDP(1.0, neighbours=ADD))
    low, high = np.array([0.0, -2.0]), np.array([0.0, 2.0])
    assert passed(high, low, GDP(2.0, neighbours=ADD).to_replace())
    assert not passed(high, low, GDP(2.0))
