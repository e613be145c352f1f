"""The density of He et al. at the records: its kernel, its noise, and how far the factor may go.

Equations 9 to 12 and 16. What is computed here beside the density itself follows from public
numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from curvedp import _core
from curvedp._validation import FloatArray, as_choice, as_positive
from curvedp.conformal.factor import GREATEST_SIGMA
from curvedp.domain import Ball
from curvedp.manifolds import Manifold

NOISES = ("measure", "pointwise")

#: Probability at which noise beyond `DensityNoise.greatest_sigma` is neglected.
_NEGLECTED = 1e-9

#: Directions over which the volume of a geodesic sphere is averaged, and radii that are added up.
_DIRECTIONS, _RADII = 256, 61


@dataclass(frozen=True)
class DensityNoise:
    """The noisy density at n records before they are seen.

    Attributes
    ----------
    manifold : Manifold
    n : int
    bandwidth : float
        Reach h of the kernel K_h(r) = h^{-d} K(r²/h²), K(s) = exp(-1/(1 - s)).
    sensitivity : float
        2 k B_K(h)/n, equation 11: k the records of a unit, B_K the kernel's mass.
    scale : float
        Of the Laplace noise on the value at a record.
    """

    manifold: Manifold
    n: int
    bandwidth: float
    sensitivity: float
    scale: float

    @classmethod
    def make(
        cls,
        ball: Ball,
        n: int,
        epsilon: float,
        *,
        noise: str,
        bandwidth: float | None,
        records_per_unit: int = 1,
    ) -> DensityNoise:
        """The noise of a density that spends epsilon; see `curvedp.published.conformal_mean`."""
        space, way = ball.manifold, as_choice(noise, NOISES, "noise")
        reach = default_bandwidth(ball)
        if bandwidth is not None:
            reach = as_positive(bandwidth, "bandwidth")
        most = space.injectivity_radius / 2
        if reach > most:
            raise ValueError(
                f"bandwidth must be at most {most:.4g}, half the injectivity radius of "
                f"{space.spec}, got {reach:g}"
            )
        log_mass = _log_mass(space, reach, True) - space.dim * math.log(reach)
        log_cell = _log_mass(space, ball.radius, False) if way == "measure" else math.log(n)
        log_scale = math.log(2 * records_per_unit / epsilon) + log_mass - log_cell
        log_peak = -1 - space.dim * math.log(reach)
        if min(log_mass, log_scale) < -600 or max(log_peak, log_scale) > 600:
            raise ValueError(
                f"the published density leaves the range of double precision in dimension "
                f"{space.dim}, at bandwidth {reach:g}: use a bandwidth near 1 or a space of lower "
                "dimension"
            )
        sensitivity = 2 * records_per_unit * math.exp(log_mass) / n
        return cls(space, n, reach, sensitivity, math.exp(log_scale))

    def greatest_sigma(self, upsilon: float) -> float:
        """Bound of |sigma| by equation 16, exceeded with probability 1e-9 at most."""
        peak = math.exp(-1 - self.manifold.dim * math.log(self.bandwidth))
        return (peak + self.scale * greatest_deviation(self.n)) / upsilon

    def check(self, upsilon: float) -> None:
        """Refuses, by public numbers, a factor that would have to be cut."""
        greatest = self.greatest_sigma(upsilon)
        if greatest > GREATEST_SIGMA:
            raise ValueError(
                f"the published log √phi may reach {greatest:.3g} and would be cut at "
                f"{GREATEST_SIGMA:g}: use an upsilon of at least "
                f"{1.01 * upsilon * greatest / GREATEST_SIGMA:.3g}, a larger epsilon, "
                "noise='pointwise' or a larger bandwidth"
            )

    def add(self, density: FloatArray, stream: _core.Stream) -> FloatArray:
        """The density at the records with its noise."""
        exponential = np.empty((2, self.n))
        for row in exponential:
            stream.exponential(row)
        return np.asarray(density + self.scale * (exponential[0] - exponential[1]))


def default_bandwidth(ball: Ball) -> float:
    """Half the ball's radius, but no less than e^{-1/d}, at which the kernel's peak is 1.

    At most half the injectivity radius, as the paper has it.
    """
    least = math.exp(-1 / ball.manifold.dim)
    return float(min(max(ball.radius / 2, least), ball.manifold.injectivity_radius / 2))


def kernel_mass(space: Manifold, bandwidth: float) -> float:
    """B_K(h), the integral of h^{-d} K(r²/h²) over the manifold, equation 11."""
    return math.exp(_log_mass(space, bandwidth, True) - space.dim * math.log(bandwidth))


def ball_volume(ball: Ball) -> float:
    """Volume of the ball in the manifold's metric."""
    return math.exp(_log_mass(ball.manifold, ball.radius, False))


def greatest_deviation(n: int) -> float:
    """The c at which |Ξ_i - mean Ξ| > c for some of n Laplace variables at most once in 1e9.

    Ξ_i - mean Ξ has weights 1 - 1/n and, n - 1 times, -1/n: Chernoff's bound at
    E e^{0.95 X} = 1/(1 - 0.95² w²) for a variable of weight w, both signs, n variables.
    """
    rate = 0.95
    log_moment = -math.log1p(-((rate * (1 - 1 / n)) ** 2))
    log_moment -= (n - 1) * math.log1p(-((rate / n) ** 2)) if n > 1 else 0.0
    return (math.log(2 * n / _NEGLECTED) + log_moment) / rate


@lru_cache(maxsize=64)
def _log_mass(space: Manifold, reach: float, bump: bool) -> float:
    """ln of the integral of K(r²/reach²), or of 1, over the geodesic ball of that radius.

    With r = reach e^{-x/d} that is the volume of the flat ball times the integral of e^{-x} K J, J
    the volume density averaged over directions that are drawn once, by the trapezoidal rule in
    ln x: to six digits where J does not depend on the direction, to about a percent elsewhere.
    """
    dim = space.dim
    directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    at = np.linspace(-16, math.log(60 + 6 * math.sqrt(dim)), _RADII)
    x = np.exp(at)
    log_density = np.array(
        [space.log_volume_density(r * directions) for r in reach * np.exp(-x / dim)]
    )
    top = log_density.max(axis=1)
    logs = at - x + top + np.log(np.exp(log_density - top[:, None]).mean(axis=1))
    if bump:
        logs += 1 / np.expm1(-2 * x / dim)
    greatest = float(logs.max())
    total = greatest + math.log(np.exp(logs - greatest).sum() * (at[1] - at[0]))
    flat = dim / 2 * math.log(math.pi) - math.lgamma(dim / 2 + 1) + dim * math.log(reach)
    return flat + total


@lru_cache(maxsize=64)
def volume_growth(space: Manifold) -> float:
    """Exponential rate at which volumes of balls grow, to 1 part in 100; 0 on compact spaces.

    The length of the sum of the restricted roots: the gradient of the logarithm of the volume
    density J far out, where that of ln(sinh(x)/x) is 1 - 1/x.
    """
    if math.isfinite(space.injectivity_radius):
        return 0.0
    steps = 0.5 * np.concatenate([np.eye(space.dim), -np.eye(space.dim)])
    found = 0.0
    for direction in np.random.default_rng(0).standard_normal((16, space.dim)):
        near, far = (
            np.subtract(*space.log_volume_density(length * direction + steps).reshape(2, -1))
            for length in np.array([150.0, 300.0]) / np.linalg.norm(direction)
        )
        found = max(found, float(np.linalg.norm(2 * far - near)))
    return found
