"""Guarantees: every implication against mpmath at 50 digits, erring on the private side."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from curvedp.errors import ConversionError, CurvedpError
from curvedp.privacy.conversion import round_down, round_up, sqrt_bounds
from curvedp.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    Unproved,
    compose,
)
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

DIGITS = 50
TIGHT = 1e-11


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log10(low), math.log10(high)).map(lambda power: 10.0**power)


deltas = decades(1e-30, 0.9)
epsilons = decades(1e-8, 700.0)
mus = decades(1e-8, 1e3)
rhos = decades(1e-8, 1e3)


@pytest.fixture(autouse=True)
def fifty_digits():
    # tails near 1e-300 subtract and mu near 1e-8 cancels twice: 50 correct digits need more
    with mpmath.workdps(DIGITS + 70):
        yield


def exact_gdp_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(DIGITS + 70):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )


def exact_zcdp_log_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """Minimum over the order, by bisection on the derivative of a convex function."""
    with mpmath.workdps(DIGITS):
        rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(10) ** -400, mpmath.mpf(10) ** 20
        for _ in range(2000):
            t = mpmath.sqrt(low * high)
            if rho + 2 * rho * t - epsilon - mpmath.log1p(1 / t) < 0:
                low = t
            else:
                high = t
            if high / low - 1 < mpmath.mpf(10) ** -30:
                break
        return t * ((1 + t) * rho - epsilon) - t * mpmath.log1p(1 / t) - mpmath.log1p(t)


def exact_approx_delta(epsilon: float, delta: float, smaller: float) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        epsilon, delta, smaller = map(mpmath.mpf, (epsilon, delta, smaller))
        if smaller >= epsilon:
            return delta
        excess = (mpmath.exp(epsilon) - mpmath.exp(smaller)) / (1 + mpmath.exp(epsilon))
        return delta + (1 - delta) * excess


def assert_just_above(claimed: float, exact: mpmath.mpf, relative: float = TIGHT) -> None:
    assert mpmath.mpf(claimed) >= exact
    assert mpmath.mpf(claimed) <= exact * (1 + relative) + mpmath.mpf(2) ** -1070


# Gaussian differential privacy


@settings(max_examples=200, deadline=None)
@given(mus, epsilons)
@example(1e-8, 1e-9)
@example(1e-8, 700.0)
@example(1e3, 700.0)
@example(1e3, 1e-8)
@example(1.0, 0.5)
@example(1.0 + 2**-52, 0.5)
@example(1.0, 37.0)
@example(30.0, 1500.0)
def test_gdp_delta_is_the_exact_curve_rounded_up(mu, epsilon):
    assert_just_above(GDP(mu).to_delta(epsilon), exact_gdp_delta(mu, epsilon))


@settings(max_examples=60, deadline=None)
@given(mus)
def test_gdp_delta_at_zero_epsilon_is_the_total_variation(mu):
    exact = mpmath.erf(mpmath.mpf(mu) / (2 * mpmath.sqrt(2)))
    assert_just_above(GDP(mu).to_delta(0.0), exact)


@settings(max_examples=60, deadline=None)
@given(decades(1e-8, 50.0), deltas)
@example(1e-8, 1e-12)
@example(20.0, 0.9)
def test_gdp_epsilon_is_the_smallest_that_holds(mu, delta):
    epsilon = GDP(mu).to_epsilon(delta)
    assert exact_gdp_delta(mu, epsilon) <= delta
    if epsilon > 0.0:
        assert exact_gdp_delta(mu, epsilon * (1 - 1e-12)) > delta * (1 - 2 * TIGHT)


@settings(max_examples=60, deadline=None)
@given(epsilons, deltas)
@example(700.0, 1e-30)
@example(1e-8, 1e-30)
def test_sufficient_gdp_is_the_largest_that_suffices(epsilon, delta):
    mu = ApproxDP(epsilon, delta).sufficient_gdp().mu
    assert exact_gdp_delta(mu, epsilon) <= delta
    assert exact_gdp_delta(mu * (1 + 1e-12), epsilon) > delta * (1 - 2 * TIGHT)


def test_sufficient_gdp_accepts_epsilon_zero():
    mu = ApproxDP(0.0, 1e-3).sufficient_gdp().mu
    exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(1e-3))
    assert exact * (1 - mpmath.mpf(TIGHT)) <= mu <= exact


@settings(max_examples=60, deadline=None)
@given(mus)
def test_gdp_implies_half_mu_squared_zcdp(mu):
    exact = Fraction(mu) ** 2 / 2
    assert exact <= Fraction(GDP(mu).to_zcdp().rho) <= exact * (1 + Fraction(1, 2**51))


# Zero-concentrated differential privacy


@settings(max_examples=60, deadline=None)
@given(rhos, epsilons)
@example(1e-8, 1e-8)
@example(1e3, 1e-8)
@example(0.5, 0.5)
def test_zcdp_delta_is_the_optimum_over_orders_rounded_up(rho, epsilon):
    log_delta = exact_zcdp_log_delta(rho, epsilon)
    claimed = mpmath.log(ZCDP(rho).to_delta(epsilon))
    assume(log_delta > -740)
    assert claimed >= log_delta - mpmath.mpf(10) ** -25
    assert claimed <= log_delta + 1e-11


@settings(max_examples=60, deadline=None)
@given(decades(1e-8, 100.0), deltas)
def test_zcdp_epsilon_is_the_optimum_over_orders_rounded_up(rho, delta):
    epsilon = ZCDP(rho).to_epsilon(delta)
    log_delta = mpmath.log(mpmath.mpf(delta))
    assert exact_zcdp_log_delta(rho, epsilon) <= log_delta
    slack = 1e-13 * (epsilon + math.sqrt(-rho * math.log(delta)) + rho)
    if epsilon > slack:
        assert exact_zcdp_log_delta(rho, epsilon - slack) > log_delta


@settings(max_examples=40, deadline=None)
@given(decades(1e-6, 600.0), deltas)
def test_sufficient_zcdp_is_the_largest_that_suffices(epsilon, delta):
    rho = ApproxDP(epsilon, delta).sufficient_zcdp().rho
    log_delta = mpmath.log(mpmath.mpf(delta))
    assert exact_zcdp_log_delta(rho, epsilon) <= log_delta
    assert exact_zcdp_log_delta(rho * (1 + 1e-10), epsilon) > log_delta - 1e-11


@settings(max_examples=100, deadline=None)
@given(decades(1e-6, 1e3), decades(1e-30, 0.1))
def test_zcdp_epsilon_beats_the_textbook_bound(rho, delta):
    textbook = rho + 2.0 * math.sqrt(-rho * math.log(delta))
    assert ZCDP(rho).to_epsilon(delta) < textbook


@settings(max_examples=60, deadline=None)
@given(decades(1e-6, 50.0), decades(1e-12, 0.1))
def test_the_direct_gdp_curve_is_never_worse_than_the_one_through_zcdp(mu, delta):
    guarantee = GDP(mu)
    assert guarantee.to_epsilon(delta) <= guarantee.to_zcdp().to_epsilon(delta) * (1 + 1e-10)


# Pure and approximate differential privacy


@settings(max_examples=200, deadline=None)
@given(decades(1e-8, 700.0) | decades(700.0, 1e300), st.booleans())
@example(1.0, False)
@example(math.nextafter(1.0, 0.0), False)
@example(1e-8, True)
def test_pure_dp_implies_the_exact_gdp(epsilon, bounded_range):
    mu = PureDP(epsilon).to_gdp(bounded_range=bounded_range).mu
    effective = mpmath.mpf(epsilon) / (2 if bounded_range else 1)
    if epsilon > 1e5:
        # tail of N at mu/2 against e^-epsilon: Q(x) <= e^(-x^2/2) / (x sqrt(2 pi)) and
        # Q(x) >= that times (1 - x^-2), without evaluating e^(-1e300)
        def log_tail(x):
            log_upper = -x * x / 2 - mpmath.log(x * mpmath.sqrt(2 * mpmath.pi))
            return log_upper, log_upper + mpmath.log1p(-1 / x**2)

        assert log_tail(mpmath.mpf(mu) / 2)[0] <= -effective
        assert log_tail(mpmath.mpf(mu) / 2 * (1 - TIGHT))[1] >= -effective
        return
    wanted = mpmath.log(1 / (1 + mpmath.exp(effective)))

    def log_tail_at(mu):
        x = mpmath.mpf(mu) / 2
        return mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2)

    assert log_tail_at(mu) <= wanted
    assert log_tail_at(mu * (1 - TIGHT)) > wanted


@settings(max_examples=60, deadline=None)
@given(decades(1e-100, 1e100))
def test_pure_dp_implies_zcdp_by_the_width_of_its_loss(epsilon):
    square = Fraction(epsilon) ** 2
    for bounded_range, exact in ((False, square / 2), (True, square / 8)):
        rho = Fraction(PureDP(epsilon).to_zcdp(bounded_range=bounded_range).rho)
        assert exact <= rho <= exact * (1 + Fraction(1, 2**51))


@settings(max_examples=100, deadline=None)
@given(decades(1e-3, 30.0), st.floats(-0.99, -0.01), st.floats(1.001, 50.0))
def test_bounded_range_pairs_satisfy_what_is_claimed_of_them(epsilon, position, order):
    """Binary pairs with loss t or t + epsilon are the extremal bounded-range mechanisms."""
    with mpmath.workdps(40):
        e = mpmath.mpf(epsilon)
        t = e * mpmath.mpf(position)
        q = -mpmath.expm1(t) / (mpmath.exp(t + e) - mpmath.exp(t))
        p = q * mpmath.exp(t + e)
        a = mpmath.mpf(order)
        divergence = mpmath.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)
        guarantee = PureDP(epsilon)
        assert divergence <= a * guarantee.to_zcdp(bounded_range=True).rho

        def quantile(probability):
            return mpmath.sqrt(2) * mpmath.erfinv(2 * probability - 1)

        assert quantile(p) - quantile(q) <= guarantee.to_gdp(bounded_range=True).mu


@settings(max_examples=100, deadline=None)
@given(decades(1e-6, 300.0), st.floats(0.0, 1.2))
def test_pure_dp_delta_is_that_of_randomised_response(epsilon, part):
    claimed = PureDP(epsilon).to_delta(part * epsilon)
    assert_just_above(claimed, exact_approx_delta(epsilon, 0.0, part * epsilon))


@settings(max_examples=100, deadline=None)
@given(decades(1e-6, 300.0), decades(1e-12, 0.5), st.floats(0.0, 1.2))
def test_approx_dp_delta_is_that_of_the_dominating_pair(epsilon, delta, part):
    claimed = ApproxDP(epsilon, delta).to_delta(part * epsilon)
    assert_just_above(claimed, exact_approx_delta(epsilon, delta, part * epsilon))


@settings(max_examples=100, deadline=None)
@given(decades(1e-6, 300.0), decades(1e-12, 0.5), decades(1e-12, 0.9))
@example(30.0, 1e-12, 0.999999)
def test_approx_dp_epsilon_inverts_its_curve(epsilon, delta, larger):
    assume(larger >= delta)
    for guarantee, own in ((ApproxDP(epsilon, delta), delta), (PureDP(epsilon), 0.0)):
        implied = guarantee.to_epsilon(larger)
        assert exact_approx_delta(epsilon, own, implied) <= larger
        slack = 1e-13 * (1.0 + epsilon) * math.exp(min(0.0, epsilon))
        if implied - slack > 0.0 and implied < epsilon and larger < 0.5:
            assert exact_approx_delta(epsilon, own, implied - slack) > larger * (1 - 1e-12)


def test_own_delta_returns_own_epsilon():
    assert ApproxDP(0.7, 1e-6).to_epsilon(1e-6) == 0.7
    assert PureDP(0.7).to_epsilon(0.0) == 0.7
    assert PureDP(0.7).to_epsilon() == 0.7
    assert PureDP(0.7).to_delta(0.7) == 0.0


def test_to_approx_dp_carries_delta_and_implied_epsilon():
    for guarantee in (PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.1), GDP(0.4)):
        implied = guarantee.to_approx_dp(1e-5)
        assert implied == ApproxDP(guarantee.to_epsilon(1e-5), 1e-5)


# What is not implied


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ApproxDP(1.0, 1e-6).to_gdp(),
        lambda: ApproxDP(1.0, 1e-6).to_zcdp(),
        lambda: ApproxDP(1.0, 1e-6).to_pure_dp(),
        lambda: ApproxDP(1.0, 1e-6).to_epsilon(1e-7),
        lambda: ZCDP(1.0).to_gdp(),
        lambda: ZCDP(1.0).to_pure_dp(),
        lambda: GDP(1.0).to_pure_dp(),
        lambda: Unproved(GDP(1.0), "no proof").to_epsilon(1e-6),
        lambda: Unproved(GDP(1.0), "no proof").to_delta(1.0),
        lambda: Unproved(GDP(1.0), "no proof").to_approx_dp(1e-6),
        lambda: Unproved(GDP(1.0), "no proof").to_gdp(),
        lambda: Unproved(GDP(1.0), "no proof").to_zcdp(),
        lambda: Unproved(PureDP(1.0), "no proof").to_pure_dp(),
        lambda: Unproved(GDP(1.0), "no proof").split([1, 1]),
        lambda: compose(Unproved(GDP(1.0), "no proof")),
        lambda: compose(GDP(1.0), Unproved(GDP(1.0), "no proof")),
        lambda: compose(GDP(1.0), PureDP(1.0)),
        lambda: compose(ApproxDP(1.0, 1e-6), PureDP(1.0)),
    ],
)
def test_what_is_not_implied_is_refused(wrong):
    with pytest.raises(ConversionError) as caught:
        wrong()
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CurvedpError)


# Composition and splitting


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_sums_compose_exactly(kind):
    assert compose(*[kind(0.1)] * 10) == kind(1.0)
    assert compose(kind(0.3)) == kind(0.3)


def test_approx_dp_composes_by_both_sums():
    assert compose(ApproxDP(0.5, 2.0**-20), ApproxDP(0.25, 2.0**-20)) == ApproxDP(0.75, 2.0**-19)
    with pytest.raises(ValueError, match="deltas add up to 1"):
        compose(ApproxDP(1.0, 0.5), ApproxDP(1.0, 0.5))


def test_gdp_composes_by_the_root_of_summed_squares():
    assert compose(GDP(3.0), GDP(4.0)) == GDP(5.0)
    assert compose(GDP(3e-200), GDP(4e-200)).mu == pytest.approx(5e-200, rel=2e-16)
    assert compose(GDP(3e200), GDP(4e200)).mu == pytest.approx(5e200, rel=2e-16)


def test_composition_that_overflows_is_refused():
    for kind in (PureDP, ZCDP, GDP):
        with pytest.raises(ValueError, match="too large"):
            compose(*[kind(1.7e308)] * 2)


def kinds_of(value: float) -> list[Guarantee]:
    return [PureDP(value), ApproxDP(value, 1e-6), ZCDP(value), GDP(value)]


@settings(max_examples=60, deadline=None)
@given(
    decades(1e-6, 1e3),
    st.lists(decades(1e-3, 1e3), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_split_never_exceeds_and_loses_only_rounding(value, weights, which):
    whole = kinds_of(value)[which]
    shares = whole.split(weights)
    assert len(shares) == len(weights)
    for index, total in enumerate(whole.additive()):
        parts = [share.additive()[index] for share in shares]
        assert sum(parts) <= total
        assert sum(parts) >= total * (1 - Fraction(1, 2**49))
        for part, weight in zip(parts, weights, strict=True):
            assert float(part / total) == pytest.approx(weight / math.fsum(weights), rel=1e-12)


def test_equal_split_of_gdp_divides_by_root_k():
    assert GDP(1.0).split([1] * 4) == (GDP(0.5),) * 4


@pytest.mark.parametrize("weights", [[], [0.0], [1.0, -1.0], [math.nan], [math.inf]])
def test_split_refuses_weights_that_are_no_shares(weights):
    with pytest.raises(ValueError, match="weight"):
        PureDP(1.0).split(weights)


# Objects

EVERY = [
    PureDP(0.1),
    ApproxDP(0.1, 1e-6),
    ApproxDP(0.0, 1e-6),
    ZCDP(0.1),
    GDP(1 / 3),
    Unproved(PureDP(0.1), "calibrated as published"),
]


@pytest.mark.parametrize("guarantee", EVERY)
def test_json_round_trip_is_exact(guarantee):
    again = Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict())))
    assert again == guarantee
    assert type(again) is type(guarantee)
    assert hash(again) == hash(guarantee)


@pytest.mark.parametrize("guarantee", EVERY)
def test_guarantees_are_values(guarantee):
    for twin in (copy.deepcopy(guarantee), pickle.loads(pickle.dumps(guarantee))):
        assert twin == guarantee
    with pytest.raises(AttributeError):
        guarantee.epsilon = 2.0
    assert len({*EVERY, guarantee}) == len(EVERY)


@pytest.mark.parametrize("guarantee", EVERY)
def test_repr_names_the_neighbouring_relation(guarantee):
    assert "replace one record, n public" in repr(guarantee)
    assert type(guarantee).__name__ in repr(guarantee)


def test_kinds_with_equal_numbers_differ():
    assert PureDP(1.0) != ZCDP(1.0)
    assert ZCDP(1.0) != GDP(1.0)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "PureDP"},
        {"kind": "Guarantee"},
        {"kind": "Perfect", "epsilon": 1.0},
        {"kind": "PureDP", "epsilon": 1.0, "delta": 0.0},
    ],
)
def test_unknown_descriptions_are_refused(data):
    with pytest.raises(ValueError, match="not the description of a guarantee"):
        Guarantee.from_dict(data)


@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_parameters_must_be_finite_and_positive(kind, value):
    with pytest.raises(ValueError, match="finite and greater than 0"):
        kind(value)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 2.0, math.nan])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        ApproxDP(1.0, delta)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        GDP(1.0).to_epsilon(delta)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        ZCDP(1.0).to_epsilon(delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_epsilon_of_a_curve_must_be_finite_and_non_negative(epsilon):
    for guarantee in (PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(1.0), GDP(1.0)):
        with pytest.raises(ValueError, match="finite and at least 0"):
            guarantee.to_delta(epsilon)


@pytest.mark.parametrize("value", ["1", None, True, 1j, np.array([1.0])])
def test_parameters_must_be_real_numbers(value):
    for kind in (PureDP, ZCDP, GDP):
        with pytest.raises(TypeError, match="real number"):
            kind(value)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), Fraction(1, 2)])
def test_other_real_numbers_become_floats(value):
    assert type(PureDP(value).epsilon) is float
    assert PureDP(value) == PureDP(0.5)
    assert PureDP(np.int64(2)) == PureDP(2) == PureDP(2.0)


@pytest.mark.parametrize("wrong", [{"claimed": 1.0, "why": "x"}, {"claimed": GDP(1), "why": " "}])
def test_unproved_says_what_and_why(wrong):
    with pytest.raises(TypeError):
        Unproved(**wrong)
    with pytest.raises(TypeError):
        Unproved(claimed=Unproved(GDP(1), "no proof"), why="twice")


@settings(max_examples=100, deadline=None)
@given(st.fractions(min_value=0), st.integers(-1000, 900))
def test_rounding_encloses_rationals(value, power):
    value = value * Fraction(2) ** power
    assume(value < Fraction(2) ** 1000)
    assert Fraction(round_down(value)) <= value <= Fraction(round_up(value))
    assert round_up(value) in (round_down(value), math.nextafter(round_down(value), math.inf))
    lower, upper = sqrt_bounds(value)
    assert lower**2 <= value <= upper**2
    assert upper - lower <= lower * Fraction(1, 2**60) or value == 0
    assert sqrt_bounds(value**2) == (value, value) or not _dyadic(value)


def _dyadic(value: Fraction) -> bool:
    return value.denominator & (value.denominator - 1) == 0 and value.numerator < 2**64


EXTREME = [5e-324, 1e-300, 1e-100, 1e-8, 1.0, 700.0, 1e100, 1e300, 1.7e308]


@pytest.mark.parametrize("value", EXTREME)
@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP])
def test_curves_stay_within_range_at_extreme_parameters(kind, value):
    guarantee = kind(value)
    for epsilon in (0.0, *EXTREME):
        assert 0.0 <= guarantee.to_delta(epsilon) <= 1.0
        if kind is not PureDP:
            assert guarantee.to_delta(epsilon) > 0.0
    for delta in (5e-324, 1e-300, 1e-6, 0.5, 1 - 2**-53):
        assert guarantee.to_epsilon(delta) >= 0.0


def test_curves_decrease():
    grid = np.linspace(0.0, 20.0, 400)
    for guarantee in (PureDP(3.0), ApproxDP(3.0, 1e-6), ZCDP(0.7), GDP(0.3), GDP(1.0), GDP(4.0)):
        values = np.array([guarantee.to_delta(epsilon) for epsilon in grid])
        assert np.all(np.diff(values) <= 1e-11 * values[:-1])
