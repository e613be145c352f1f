"""Conversions: every curve against mpmath at 50 digits, erring on the private side."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from curvedp.privacy.conversion import round_down, round_up, sqrt_bounds
from curvedp.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    PureDP,
)

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
@example(10.0**-1.46875, 10.0)
def test_zcdp_delta_is_the_optimum_over_orders_rounded_up(rho, epsilon):
    log_delta = exact_zcdp_log_delta(rho, epsilon)
    delta = mpmath.mpf(ZCDP(rho).to_delta(epsilon))
    assume(log_delta > -740)
    assert mpmath.log(delta) >= log_delta - mpmath.mpf(10) ** -25
    # below 2.2e-308 neighbouring floats are 4.9e-324 apart, whatever their size
    assert delta <= mpmath.exp(log_delta + 1e-11) + 2 * mpmath.mpf(math.ulp(0.0))


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
@example(10.0**5.5, False)
@example(1e8, False)
def test_pure_dp_implies_the_exact_gdp(epsilon, bounded_range):
    mu = PureDP(epsilon).to_gdp(bounded_range=bounded_range).mu
    effective = mpmath.mpf(epsilon) / (2 if bounded_range else 1)
    if epsilon > 1e8:
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


# Not implied


def test_zcdp_of_randomised_response_is_not_gdp_with_the_same_rho():
    rho = PureDP(1.0).to_zcdp().rho
    mu = PureDP(1.0).to_gdp().mu
    assert math.sqrt(2.0 * rho) == 1.0
    truth = 1.0 / (1.0 + math.exp(-1.0))
    for candidate, dominated in ((1.0, False), (mu, True)):
        least_error = mpmath.ncdf(
            -mpmath.mpf(candidate) - mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(1.0 - truth) - 1)
        )
        assert (least_error <= 1.0 - truth + 1e-12) is dominated


# Rounding and extremes


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
