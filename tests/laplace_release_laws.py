"""Laws of releases of Laplace noise, by closed forms and quadrature of the densities alone.

Volumes are products of sinh's. Multiplied out, they make the law of the noise's length a sum of
powers times exponentials, which is integrated exactly up to the limit of existence.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import integrate, special

from laplace_release_cases import Array, Case, half_gap

CDF = Callable[[Array], Array]


def tail(power: int, x: Array) -> Array:
    """∫_x^∞ y^power e^-y dy / power!."""
    return np.exp(-x) * sum(x**k / special.factorial(k) for k in range(power + 1))


@dataclass(frozen=True)
class Mixture:
    """The law on (0, ∞) with a density in proportion to Σ weights t^power e^(-rates t)."""

    power: int
    rates: Array
    weights: Array

    def beyond(self, t: float) -> Array:
        """The integral of every term over (t, ∞)."""
        whole = self.weights * special.factorial(self.power) / self.rates ** (self.power + 1)
        return whole * tail(self.power, self.rates * t)

    def density(self, t: Array) -> Array:
        terms = self.weights.ravel() * np.exp(-np.multiply.outer(t, self.rates.ravel()))
        return t**self.power * terms.sum(axis=-1) / self.beyond(0.0).sum()

    def cdf_up_to(self, limit: float, nodes: int = 1_001) -> CDF:
        t = np.linspace(0.0, limit, nodes) ** 2 / limit
        mass = 1 - np.array([self.beyond(x).sum() for x in t]) / self.beyond(0.0).sum()
        return lambda x: np.interp(x, t, mass)

    def mean_within(self, limit: float) -> float:
        """E min(t, limit)."""
        longer = replace(self, power=self.power + 1)
        first = longer.beyond(0.0).sum() - longer.beyond(limit).sum()
        return float((first + limit * self.beyond(limit).sum()) / self.beyond(0.0).sum())


def spd2_terms(scale: float, theta: Array) -> Mixture:
    """t sinh(t sin θ / √2) e^(-t/scale): log-eigenvalues at an angle θ to the multiples of (1, 1).
    Times dθ; the first axis holds the terms."""
    half = np.sin(theta) / np.sqrt(2)
    weights = np.multiply.outer([1, -1], np.ones_like(theta)) / 2
    return Mixture(1, 1 / scale - np.stack([half, -half]), weights)


def spd3_terms(scale: float, phi: Array, omega: Array) -> Mixture:
    """t² Π sinh((l_i - l_j) / 2) e^(-t/scale): log-eigenvalues l_i = t cos(φ)/√3 + t √(2/3) sin(φ)
    cos(ω - 2πi/3), which decrease in i for 0 < ω < π/3. Times sin φ dφ dω."""
    values = np.sqrt(2 / 3) * np.cos(omega - 2 * np.pi * np.arange(3)[:, None] / 3)
    gaps = (values[[0, 0, 1]] - values[[1, 2, 2]]) / 2
    signs = np.array(list(itertools.product([1, -1], repeat=3)))
    slopes = np.sin(phi)[:, None] * (signs @ gaps)[:, None, :]
    weights = np.multiply.outer(signs.prod(axis=1), np.ones_like(slopes[0])) / 8
    return Mixture(2, 1 / scale - slopes, weights)


def gauss(low: float, high: float, nodes: int) -> tuple[Array, Array]:
    x, weight = np.polynomial.legendre.leggauss(nodes)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * weight


@functools.cache
def length_law(case: Case) -> Mixture:
    """The law of the length of the noise."""
    if case.spec == "spd:2":
        theta, weight = gauss(0, np.pi / 2, 100)
        terms = spd2_terms(case.scale, theta)
        return replace(terms, weights=terms.weights * weight)
    if case.spec == "spd:3":
        (phi, first), (omega, second) = gauss(0, np.pi / 2, 50), gauss(0, np.pi / 3, 30)
        terms = spd3_terms(case.scale, phi, omega)
        return replace(terms, weights=terms.weights * np.outer(np.sin(phi) * first, second))
    k = np.arange(case.size)
    rates = 1 / case.scale - case.omega * (case.size - 1 - 2 * k)
    return Mixture(0, rates, (-1.0) ** k * special.binom(case.size - 1, k))


def tabulated(x: Array, density: Array) -> CDF:
    mass = integrate.cumulative_trapezoid(density, x, initial=0.0)
    return lambda y: np.interp(y, x, mass / mass[-1])


def shape(logs: Array) -> list[Array]:
    """θ of `spd2_terms`, or φ and ω of `spd3_terms`, of decreasing log-eigenvalues."""
    if logs.shape[1] == 2:
        return [np.arctan2(logs[:, 0] - logs[:, 1], logs.sum(axis=1))]
    first = logs[:, 0] - (logs[:, 1] + logs[:, 2]) / 2
    second = np.sqrt(3) / 2 * (logs[:, 1] - logs[:, 2])
    phi = np.arctan2(np.hypot(first, second) * np.sqrt(2), logs.sum(axis=1))
    return [phi, np.arctan2(second, first)]


@functools.cache
def shape_cdfs(case: Case, beyond: float) -> list[CDF]:
    """The laws of `shape` for noise longer than ``beyond`` around the centre."""
    if case.spec == "spd:2":
        theta = np.linspace(0, np.pi, 4_001)
        return [tabulated(theta, spd2_terms(case.scale, theta).beyond(beyond).sum(axis=0))]
    phi, (omega, weight) = np.linspace(0, np.pi, 1_001), gauss(0, np.pi / 3, 30)
    terms = spd3_terms(case.scale, phi, omega)
    laws = [tabulated(phi, np.sin(phi) * (terms.beyond(beyond).sum(axis=0) @ weight))]
    (phi, weight), omega = gauss(0, np.pi / 2, 50), np.linspace(0, np.pi / 3, 301)
    terms = spd3_terms(case.scale, phi, omega)
    laws.append(tabulated(omega, (weight * np.sin(phi)) @ terms.beyond(beyond).sum(axis=0)))
    return laws


def hyperbolic_dist_cdf(case: Case) -> CDF:
    """P(a release lies within x of the centre), by the hyperbolic law of cosines.

    Noise of length t ends there if sinh((x+t-a)/2) sinh((x-t+a)/2) / (sinh t sinh a) is at least
    the sine squared of half its angle to the direction of the centre.
    """
    a, law = case.omega * case.distance, length_law(case)
    x = np.linspace(0, case.omega * case.edge, 801)[:, None]
    u, weight = gauss(0, np.pi, 128)
    low = np.abs(x - a)
    t = low + (x + a - low) * np.sin(u / 2) ** 2
    dt = (x + a - low) / 2 * np.sin(u) * weight
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.sinh((x + t - a) / 2) * np.sinh((x - t + a) / 2) / (np.sinh(t) * np.sinh(a))
    half = (case.size - 1) / 2
    inside = special.betainc(half, half, np.clip(np.nan_to_num(share), 0, 1))
    partly = (inside * law.density(t / case.omega) * dt).sum(axis=1) / case.omega
    near = law.cdf_up_to(case.edge)(np.maximum(x[:, 0] - a, 0) / case.omega)
    return lambda y: np.interp(y, x[:, 0] / case.omega, near + partly)


def hyperbolic_clipped_turn_cdf(case: Case) -> CDF:
    """The law of the angle under which a clipped release is seen from the centre: points in the
    direction ψ at a distance D > 16 lie D + ln(cosh a - sinh a cos ψ) from the true value."""
    a, psi = case.omega * case.distance, np.linspace(0, np.pi, 20_001)
    ln_excess = np.log(np.exp(-a) + 2 * np.sinh(a) * np.sin(psi / 2) ** 2)
    density = np.exp(-ln_excess / (case.scale * case.omega))
    return tabulated(psi, np.sin(psi) ** (case.size - 2) * density)


def spd2_density(case: Case, dist: Array, theta: Array, beta: Array) -> Array:
    """ln of the density of the drawn point on a grid: distance from the centre, angle of the
    log-eigenvalues, angle of the eigenvectors."""
    d, theta, beta = dist[:, None, None], theta[:, None], np.sin(beta) ** 2
    u, a = d * np.sin(theta) / np.sqrt(2), half_gap(case)
    # cosh(half gap to the true value) = cosh(u - a) cos² + cosh(u + a) sin²
    near, far = np.logaddexp(u - a, a - u), np.logaddexp(u + a, -u - a)
    ln_cosh = np.maximum(near + np.log1p(beta * np.expm1(far - near)) - np.log(2), 0)
    gap = ln_cosh + np.log1p(np.sqrt(-np.expm1(-2 * ln_cosh)))
    trace = d * np.cos(theta) - case.distance * np.cos(case.angle)
    volume = np.log(d) + u + np.log(-np.expm1(-2 * u)) - np.log(2)
    return volume - np.sqrt(trace**2 + 2 * gap**2) / case.scale


@functools.cache
def spd2_off_centre(case: Case) -> tuple[CDF, CDF, CDF, CDF]:
    """Laws on SPD(2) of the distance from the centre, of the angle of eigenvectors of releases that
    are not clipped and of those that are, and of the angle of log-eigenvalues of the latter."""
    tiny = 1e-9
    v, v_weight = gauss(-1, 1, 64)
    theta, theta_weight = np.pi / 2 * (1 + v**3), 3 * np.pi / 2 * v**2 * v_weight
    beta = np.pi / 2 * np.linspace(0, 1, 129) ** 3
    dist = np.linspace(tiny, case.edge, 321)
    inside = theta_weight @ np.exp(spd2_density(case, dist, theta, beta))
    total = np.pi / 2 * 2 * length_law(case).beyond(0.0).sum()
    mass = integrate.cumulative_trapezoid(integrate.trapezoid(inside, beta), dist, initial=0.0)
    x, weight = np.polynomial.laguerre.laggauss(48)
    rate = 1 / case.scale - 1 / np.sqrt(2)
    far, weight = case.edge + x / rate, (np.log(weight) + x)[:, None, None] - np.log(rate)
    outside = np.exp(weight + spd2_density(case, far, theta, beta)).sum(axis=0)
    clipped = integrate.trapezoid(theta_weight @ outside, beta)
    assert np.isclose(mass[-1] + clipped, total, rtol=1e-3)
    angles = np.pi / 2 * (1 + np.linspace(-1 + tiny, 1 - tiny, 257) ** 3)
    shapes = np.exp(weight + spd2_density(case, far, angles, beta)).sum(axis=0)
    return (
        lambda y: np.interp(y, dist, mass / total),
        tabulated(beta, integrate.trapezoid(inside, dist, axis=0)),
        tabulated(beta, theta_weight @ outside),
        tabulated(angles, integrate.trapezoid(shapes, beta)),
    )
