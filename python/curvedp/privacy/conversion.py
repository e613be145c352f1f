"""Conversion curves between pure, approximate, zero-concentrated and Gaussian privacy.

Plain functions of floats behind the methods of :mod:`curvedp.privacy.guarantees`. Parameters are
taken as exact numbers and every result is rounded to the private side, so that the claim it makes
still holds: a delta, a rho or an epsilon that is implied is never below the true one, a mu or rho
that suffices is never above. The excess is at most 1e-11 relative.

Sources: Dong, Roth, Su (2022), Gaussian differential privacy, Corollary 1; Canonne, Kamath,
Steinke (2020), The discrete Gaussian for differential privacy, Proposition 12 and Corollary 13;
Kairouz, Oh, Viswanath (2015), The composition theorem for differential privacy, Theorem 3.2.
The proofs stand in docs/proofs/conversions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

_UNIT_ROUNDOFF = 2.0**-53
_CURVE_MARGIN = 2e-12
_TINIEST = math.ulp(0.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def round_down(value: Fraction) -> float:
    """Largest float not above a rational number."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest


def round_up(value: Fraction) -> float:
    """Smallest float not below a rational number."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < value else nearest


def sqrt_bounds(square: Fraction) -> tuple[Fraction, Fraction]:
    """Rational bounds of a square root, 2^-64 apart relative to it, equal where exact."""
    digits = square.numerator.bit_length() - square.denominator.bit_length()
    shift = max(0, 66 - digits // 2)
    scaled = (square.numerator << 2 * shift) // square.denominator
    root = math.isqrt(scaled)
    lower = Fraction(root, 1 << shift)
    return lower, lower if lower * lower == square else Fraction(root + 1, 1 << shift)


def _inflate(value: float, relative: float) -> float:
    return math.nextafter(value * (1.0 + relative), math.inf)


def _last_true(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Bisect between a float where `holds` is true and one where it is not; returns a true one."""
    while True:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            return inside
        if holds(middle):
            inside = middle
        else:
            outside = middle


def last_true_above(holds: Callable[[float], bool], start: float) -> float:
    """Largest positive argument where a predicate that turns false once is still true."""
    inside = start
    while not holds(inside):
        inside *= 0.5
        if inside == 0.0:
            raise ValueError("no positive parameter satisfies this epsilon and delta: raise them")
    outside = 2.0 * inside
    while math.isfinite(outside) and holds(outside):
        inside, outside = outside, 2.0 * outside
    return inside if math.isinf(outside) else _last_true(holds, inside, outside)


# Gaussian differential privacy


def _mills(x: float) -> float:
    return math.sqrt(0.5 * math.pi) * float(scipy.special.erfcx(x * math.sqrt(0.5)))


def _mills_slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - x M(x) = -M'(x) for the Mills ratio M, without cancellation; x > -1."""
    series = np.ones_like(x)
    near = np.minimum(x, 10.0)
    far = np.maximum(x, 10.0)
    term = np.ones_like(x)
    for order in range(1, 40):
        term = term * -(2 * order + 1) / far**2
        series += term
    direct = 1.0 - near * math.sqrt(0.5 * math.pi) * scipy.special.erfcx(near * math.sqrt(0.5))
    return np.where(x < 10.0, direct, series / far**2)


def gdp_delta(mu: float, epsilon: float) -> float:
    r"""Smallest delta that mu-GDP implies at epsilon.

    .. math:: \delta = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon \Phi(-\mu/2 - \epsilon/\mu)
              = \varphi(x) \, (M(x) - M(x + \mu)), \qquad x = \epsilon/\mu - \mu/2

    with the Mills ratio M = (1 - Phi) / phi. The second form has no cancellation between the two
    tails; the difference is an integral of -M' where mu is small.
    """
    if epsilon / mu - 0.5 * mu > 40.0:
        return _TINIEST
    x = float(Fraction(epsilon) / Fraction(mu) - Fraction(mu) / 2)
    density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    if mu <= 1.0:
        slopes = _mills_slope(x + 0.5 * mu * (_NODES + 1.0))
        delta = density * 0.5 * mu * float(_WEIGHTS @ slopes)
    elif x >= 0.0:
        delta = density * (_mills(x) - _mills(x + mu))
    else:
        delta = float(scipy.special.ndtr(-x)) - density * _mills(x + mu)
    return min(1.0, _inflate(delta, _CURVE_MARGIN))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon that mu-GDP implies at delta; zero where the curve starts below delta."""

    def holds(epsilon: float) -> bool:
        return gdp_delta(mu, epsilon) <= delta

    if holds(0.0):
        return 0.0
    inside = max(mu * (0.5 * mu - float(scipy.special.ndtri(delta))), _TINIEST)
    while not holds(inside):
        inside *= 2.0
    return _last_true(holds, inside, 0.0)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest mu for which mu-GDP implies (epsilon, delta)."""
    quantile = -float(scipy.special.ndtri(delta))
    start = delta * math.sqrt(2.0 * math.pi)
    if quantile > 0.0 and epsilon > 0.0:
        leg = math.hypot(quantile, math.sqrt(2.0) * math.sqrt(epsilon))
        start = max(start, 2.0 * (epsilon / (quantile + leg)))
    return last_true_above(lambda mu: gdp_delta(mu, epsilon) <= delta, start)


def pure_mu(epsilon: float) -> float:
    r"""Smallest mu with epsilon-DP implying mu-GDP.

    .. math:: \mu = 2 \Phi^{-1}(e^\epsilon / (1 + e^\epsilon))
              = 2 \sqrt 2 \, \mathrm{erf}^{-1}(\tanh(\epsilon / 2))
    """
    if epsilon < 1e-8:
        mu = math.sqrt(0.5 * math.pi) * epsilon
    elif epsilon < 1.0:
        mu = 2.0 * math.sqrt(2.0) * float(scipy.special.erfinv(math.tanh(0.5 * epsilon)))
    else:
        mu = -2.0 * float(scipy.special.ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return _inflate(mu, 1e-13)


# Zero-concentrated differential privacy


def zcdp_delta(rho: float, epsilon: float) -> float:
    r"""Smallest delta of the Canonne-Kamath-Steinke bound for rho-zCDP at epsilon.

    .. math:: \log \delta = \inf_{\alpha > 1} \;
              (\alpha - 1)(\alpha \rho - \epsilon) - \log(\alpha - 1)
              + \alpha \log(1 - 1/\alpha)

    Convex in alpha; its derivative, with t = alpha - 1, is rho + 2 rho t - epsilon -
    log(1 + 1/t), increasing in t. Every alpha gives a valid bound, so the root needs no proof.
    """
    above = max(0.0, epsilon - rho)
    upper = 0.5 * above / rho + math.sqrt(0.5 / rho)
    lower = math.exp(-min(700.0, rho * (1.0 + 2.0 * upper)))
    t = _rising_root(lambda t: rho - epsilon + 2.0 * rho * t - math.log1p(1.0 / t), lower, upper)
    terms = (t * rho * (1.0 + t), -t * epsilon, -t * math.log1p(1.0 / t), -math.log1p(t))
    if not all(map(math.isfinite, terms)):
        return 1.0 if rho >= epsilon else _zcdp_gaussian_tail(rho, epsilon)
    log_delta = math.fsum(terms) + 8.0 * _UNIT_ROUNDOFF * math.fsum(map(abs, terms))
    return min(1.0, _inflate(math.exp(min(0.0, log_delta)), 8.0 * _UNIT_ROUNDOFF))


def _zcdp_gaussian_tail(rho: float, epsilon: float) -> float:
    """The weaker exp(-(epsilon - rho)^2 / 4 rho), for parameters where the sharp one overflows."""
    exponent = (epsilon - rho) / (2.0 * math.sqrt(rho))
    return max(_TINIEST, math.exp(-(min(exponent, 30.0) ** 2)) * (1.0 + 1e-9))


def zcdp_epsilon(rho: float, delta: float) -> float:
    r"""Smallest epsilon of the Canonne-Kamath-Steinke bound for rho-zCDP at delta.

    .. math:: \epsilon = \inf_{\alpha > 1} \; \alpha \rho
              + \frac{\log(1/\delta) - \log \alpha}{\alpha - 1} + \log(1 - 1/\alpha)

    Stationary where rho (alpha - 1)^2 + log alpha = log 1/delta, one root as the left is rising.
    """
    if rho > 1e300:
        return math.inf
    log_inverse = -math.log(delta)
    upper = math.sqrt(log_inverse) / math.sqrt(rho)
    lower = math.sqrt(0.5) * upper
    if log_inverse < 700.0:
        upper = min(upper, math.expm1(log_inverse))
        lower = min(lower, math.expm1(0.5 * log_inverse))
    t = _rising_root(
        lambda t: (rho * t) * t + math.log1p(t) - log_inverse, lower, max(upper, _TINIEST)
    )
    terms = (rho, rho * t, log_inverse / t, -math.log1p(t) / t, -math.log1p(1.0 / t))
    epsilon = math.fsum(terms) + 8.0 * _UNIT_ROUNDOFF * math.fsum(map(abs, terms))
    return max(0.0, epsilon)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest rho for which rho-zCDP implies (epsilon, delta) by the same bound."""
    log_inverse = -math.log(delta)
    start = (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2
    start = max(start, 0.5 * delta * delta, _TINIEST)
    return last_true_above(lambda rho: zcdp_delta(rho, epsilon) <= delta, start)


def _rising_root(rising: Callable[[float], float], lower: float, upper: float) -> float:
    """A point near the root of a rising function, by bisection on the logarithm."""
    low, high = math.log(max(lower, _TINIEST)), min(709.0, math.log(upper))
    for _ in range(64):
        middle = 0.5 * (low + high)
        if rising(math.exp(middle)) < 0.0:
            low = middle
        else:
            high = middle
    return math.exp(high)


# Pure and approximate differential privacy


def approx_delta(epsilon: float, delta: float, smaller: float) -> float:
    r"""Smallest delta that (epsilon, delta)-DP implies at a smaller epsilon'.

    .. math:: \delta' = \delta + (1 - \delta) \frac{e^\epsilon - e^{\epsilon'}}{1 + e^\epsilon}

    for epsilon' < epsilon, and delta from epsilon on.
    """
    if smaller >= epsilon:
        return delta
    excess = -math.expm1(smaller - epsilon) / (1.0 + math.exp(-epsilon))
    return min(1.0, _inflate(delta + (1.0 - delta) * excess, 16.0 * _UNIT_ROUNDOFF))


def approx_epsilon(epsilon: float, delta: float, larger: float) -> float:
    """Smallest epsilon that (epsilon, delta)-DP implies at a larger delta'; inverts the above."""
    gap = (larger - delta) / (1.0 - delta) * (1.0 - 8.0 * _UNIT_ROUNDOFF)
    if gap <= 0.0:
        return epsilon
    if epsilon < 1.0:
        taken = gap * (2.0 + math.expm1(epsilon))
        rest = math.expm1(epsilon) - taken
        rest += 8.0 * _UNIT_ROUNDOFF * (math.expm1(epsilon) + taken)
        implied = _inflate(math.log1p(rest), 8.0 * _UNIT_ROUNDOFF) if rest > 0.0 else 0.0
    else:
        taken = gap * (1.0 + math.exp(-epsilon)) * (1.0 - 8.0 * _UNIT_ROUNDOFF)
        rest = epsilon + math.log1p(-taken) if taken < 1.0 else -math.inf
        implied = rest + 16.0 * _UNIT_ROUNDOFF * epsilon
    return min(epsilon, max(0.0, implied))


def delta_of_two(epsilon: float, delta: float) -> Fraction:
    """(1 + e^epsilon) delta from above: what (epsilon, delta)-DP of each of two steps leaves."""
    odds = _inflate(math.exp(min(epsilon, 709.0)), 8.0 * _UNIT_ROUNDOFF)
    return (1 + Fraction(odds)) * Fraction(delta) if epsilon <= 709.0 else Fraction(1)


def approx_power(epsilon: float, delta: float, false_alarms: float) -> float:
    """Largest power of a test with that share of false alarms, of laws that are (epsilon, delta)
    close: from P(A) <= e^epsilon Q(A) + delta for the alarm and for its complement."""
    most = math.exp(min(epsilon, 700.0)) * false_alarms + delta
    missed = math.exp(-epsilon) * (1.0 - delta - false_alarms)
    return _as_power(min(most, 1.0 - missed))


def zcdp_power(rho: float, false_alarms: float) -> float:
    """The same of laws whose Rényi divergences are at most rho alpha.

    Data processing gives (alpha - 1) log q + alpha log(p / q) <= (alpha - 1) alpha rho for the
    power p and false alarms q, hence p <= exp(-(sqrt(log 1/q) - sqrt(rho))^2) at the best alpha;
    likewise for the complements, with p and q exchanged.
    """
    root = math.sqrt(-math.log(false_alarms)) - math.sqrt(rho)
    most = math.exp(-root * root) if root > 0.0 else 1.0
    kept = math.sqrt(-math.log1p(-false_alarms)) + math.sqrt(rho)
    return _as_power(min(most, 1.0 - math.exp(-kept * kept)))


def gdp_power(mu: float, false_alarms: float) -> float:
    """The same of laws that are as close as N(0, 1) and N(mu, 1): that of the half-lines."""
    return _as_power(float(scipy.special.ndtr(float(scipy.special.ndtri(false_alarms)) + mu)))


def _as_power(bound: float) -> float:
    return min(1.0, _inflate(bound, _CURVE_MARGIN))
