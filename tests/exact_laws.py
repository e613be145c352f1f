"""Distribution functions of the noise, by quadrature of the densities and of nothing else.

Every law here is written from its density alone, so that a sampler cannot share a mistake with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, special

from chance import FAILURE

LogFunction = Callable[[np.ndarray], np.ndarray]


class RadialLaw:
    """The law on (0, upper) with a density proportional to exp(log_density)."""

    def __init__(self, log_density: LogFunction, upper: float, nodes: int = 40_001) -> None:
        self.grid = np.linspace(0.0, upper, nodes)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = log_density(self.grid)
        logs = np.where(np.isnan(logs), -np.inf, logs)
        density = np.exp(logs - logs.max())
        mass = integrate.cumulative_trapezoid(density, self.grid, initial=0.0)
        self._cdf = mass / mass[-1]

    def cdf(self, t: np.ndarray) -> np.ndarray:
        """P(T <= t)."""
        return np.interp(t, self.grid, self._cdf)


def laplace(scale: float) -> LogFunction:
    """Noise profile e^{-t / scale}."""
    return lambda t: -t / scale


def gaussian(scale: float) -> LogFunction:
    """Noise profile e^{-t² / (2 scale²)}."""
    return lambda t: -0.5 * (t / scale) ** 2


def flat_volume(dim: int) -> LogFunction:
    """ln t^{dim-1}, the area of a Euclidean sphere of radius t."""
    return lambda t: special.xlogy(dim - 1, t)


def sphere_volume(dim: int) -> LogFunction:
    """ln sin^{dim-1} t on [0, π]."""
    return lambda t: special.xlogy(dim - 1, np.abs(np.sin(t)))


def hyperbolic_volume(dim: int) -> LogFunction:
    """ln sinh^{dim-1} t."""
    return lambda t: special.xlogy(dim - 1, np.sinh(t))


def projective_volume(complex_dim: int) -> LogFunction:
    """ln (sin^{2m-1} t cos t) on [0, π/2], m the complex dimension."""
    return lambda t: special.xlogy(2 * complex_dim - 1, np.sin(t)) + np.log(np.abs(np.cos(t)))


def _log_sinh(x: np.ndarray) -> np.ndarray:
    return x + np.log1p(-np.exp(-2 * x)) - np.log(2)


def spd2_volume() -> LogFunction:
    """ln of the volume of a sphere in SPD(2): eigenvalue law sinh(|λ₁ - λ₂| / 2) dλ on a circle."""
    return _two_by_two_volume(1)


def hpd2_volume() -> LogFunction:
    """The same in HPD(2), whose roots are double: the square of the hyperbolic sine."""
    return _two_by_two_volume(2)


def _two_by_two_volume(multiplicity: int) -> LogFunction:
    angle, weight = np.polynomial.legendre.leggauss(80)
    angle, weight = (angle + 1) * np.pi / 2, weight * np.pi / 2

    def log_volume(t: np.ndarray) -> np.ndarray:
        half_gap = t[:, None] * np.sin(angle) / np.sqrt(2)
        product = multiplicity * _log_sinh(half_gap)
        return np.log(t) + special.logsumexp(product, axis=1, b=weight)

    return log_volume


def spd3_volume() -> LogFunction:
    """The same in SPD(3): three factors sinh(|λ_i - λ_j| / 2), two angles.

    The eigenvalues are t cos(φ)/√3 plus √(2/3) t sin(φ) cos(ω - 2πi/3); one sixth of the range of ω
    orders them.
    """
    nodes, weights = np.polynomial.legendre.leggauss(40)
    phi, phi_weight = (nodes + 1) * np.pi / 2, weights * np.pi / 2
    omega, omega_weight = (nodes + 1) * np.pi / 6, weights * np.pi / 6
    values = np.sqrt(2 / 3) * np.cos(omega[:, None] - 2 * np.pi * np.arange(3) / 3)
    gaps = np.abs(values[:, [0, 0, 1]] - values[:, [1, 2, 2]])
    direction = np.sin(phi)[:, None, None] * gaps
    weight = np.sin(phi)[:, None] * phi_weight[:, None] * omega_weight

    def log_volume(t: np.ndarray) -> np.ndarray:
        logs = np.empty(len(t))
        for i, radius in enumerate(t):
            product = _log_sinh(radius * direction / 2).sum(axis=-1)
            logs[i] = 2 * np.log(radius) + special.logsumexp(product, b=weight)
        return logs

    return log_volume


def spd2_half_gap_cdf(log_profile: LogFunction, upper: float) -> RadialLaw:
    """The law of g = (λ₁ - λ₂) / √2 on SPD(2): sinh(g / √2) times the profile integrated over the
    trace part s = (λ₁ + λ₂) / √2."""
    return _half_gap_cdf(log_profile, upper, 1)


def hpd2_half_gap_cdf(log_profile: LogFunction, upper: float) -> RadialLaw:
    """The same on HPD(2), whose roots are double."""
    return _half_gap_cdf(log_profile, upper, 2)


def _half_gap_cdf(log_profile: LogFunction, upper: float, multiplicity: int) -> RadialLaw:
    trace = np.linspace(0.0, upper, 2_001)

    def log_density(g: np.ndarray) -> np.ndarray:
        profile = log_profile(np.hypot(g[:, None], trace))
        volume = multiplicity * _log_sinh(g / np.sqrt(2))
        return volume + special.logsumexp(profile, axis=1)

    return RadialLaw(log_density, upper, nodes=2_001)


def uniform_direction_cdf(dim: int) -> Callable[[np.ndarray], np.ndarray]:
    """P(u_1 <= x) for u uniform on the unit sphere of R^dim."""

    def cdf(x: np.ndarray) -> np.ndarray:
        inside = special.betainc(0.5, (dim - 1) / 2, np.minimum(x * x, 1.0))
        return 0.5 * (1 + np.sign(x) * inside)

    return cdf


def ks_statistic(sample: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Largest distance between the empirical and the given distribution function."""
    exact = cdf(np.sort(sample))
    steps = np.arange(len(sample) + 1) / len(sample)
    return float(max((steps[1:] - exact).max(), (exact - steps[:-1]).max()))


def ks_critical(n: int) -> float:
    """The Kolmogorov-Smirnov distance that ``n`` correct draws exceed with probability FAILURE.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, for every n.
    """
    return math.sqrt(math.log(2 / FAILURE) / (2 * n))


def detectable_gap(n: int) -> float:
    """Two laws this far apart are told from ``n`` draws but with probability FAILURE.

    By Hoeffding's inequality where the laws differ most.
    """
    return ks_critical(n) + math.sqrt(math.log(1 / FAILURE) / (2 * n))
