"""The exact mu of Riemannian Gaussian noise on spheres: mu* of Jiang, Chang and Hu, Table 1.

Two laws with densities proportional to exp(-rho(p, y)^2/(2 sigma^2)) about means p, p' at the
distance Delta are distinguished best by thresholds t of their log-ratio L: mu* is the largest value
over t of Phi^-1(P_p(L > t)) - Phi^-1(P_p'(L > t)). An isometry exchanges the means, so that
P_p'(L > t) = P_p(L <= -t). In polar coordinates about p, with x the cosine of the angle to p',
L > t is an interval of x for each distance, whose probability is an incomplete beta function.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from curvedp._validation import as_positive
from curvedp.manifolds import Manifold, Sphere, as_manifold

#: Thresholds at which the tests are compared; the largest value was at 0 wherever we looked.
_THRESHOLDS = 17
#: Distances from p beyond the noise's own length, in sigma, that are left out.
_TAIL = 12.0


def exact_mu(manifold: Manifold | str, sigma: float, sensitivity: float) -> float:
    """The least mu for which Riemannian Gaussian noise of scale sigma is mu-GDP on a sphere.

    Parameters
    ----------
    manifold : Manifold or str
        A sphere of dimension 2 or more.
    sigma : float
        Scale of the noise, in the units of the metric.
    sensitivity : float
        Distance Delta of the two means, below that of antipodes.

    Returns
    -------
    float
        By quadrature; at most Delta/sigma, the mu to which `RiemannianGaussian` is calibrated.

    Raises
    ------
    ValueError
        On another space, and if a parameter is out of range.

    References
    ----------
    Jiang, Chang, Liu, Ding, Kong and Jiang, Gaussian differential privacy on Riemannian manifolds,
    2023.

    Examples
    --------
    >>> round(exact_mu("sphere:2", 0.3, 0.3), 4)
    0.9849
    """
    space = as_manifold(manifold)
    if not isinstance(space, Sphere) or space.dim < 2:
        raise ValueError(f"manifold must be a sphere of dimension 2 or more, got {space.spec}")
    root = math.sqrt(space.curvature_bounds[1])
    gap = root * as_positive(sensitivity, "sensitivity")
    if gap >= math.pi:
        raise ValueError(
            f"sensitivity must be below {math.pi / root:.6g}, the distance of antipodes, got "
            f"{sensitivity:.6g}"
        )
    noise = _Noise(space.dim, root * as_positive(sigma, "sigma"), gap)
    bound = gap / noise.sigma
    # where the log-ratio ends, and where both tests have hardly any errors left to compare
    last = min(0.95 * gap * (2 * math.pi - gap) / (2 * noise.sigma**2), bound**2 / 2 + 2 * bound)
    found = max(noise.separation(t) for t in np.linspace(0.0, last, _THRESHOLDS))
    return min(found, bound)


@dataclass(frozen=True)
class _Noise:
    """The noise about p on a unit sphere, and the distance of p' from p."""

    dim: int
    sigma: float
    gap: float

    def separation(self, threshold: float) -> float:
        """Phi^-1(P_p(L > t)) - Phi^-1(P_p'(L > t)), from the smaller of P_p(L > t), P_p(L <= t)."""
        above = self._share(threshold, above=True)
        here = scipy.special.ndtri(above)
        if above > 0.5:
            here = -scipy.special.ndtri(self._share(threshold, above=False))
        return float(here - scipy.special.ndtri(self._share(-threshold, above=False)))

    def _share(self, threshold: float, *, above: bool) -> float:
        """P_p(L > t), or P_p(L <= t)."""
        part = self._integral(
            threshold, lambda s: self._density(s) * self._angles(s, threshold, above)
        )
        return part / self._integral(threshold, self._density)

    def _integral(self, threshold: float, function: Callable[[float], float]) -> float:
        """Integral over the distance from p, between the ends of its smooth pieces."""
        ends = self._ends(threshold)
        pieces = (
            scipy.integrate.quad(function, low, high, epsabs=0.0, epsrel=1e-10, limit=200)[0]
            for low, high in itertools.pairwise(ends)
        )
        return float(sum(pieces))

    def _density(self, dist: float) -> float:
        """Density of the distance from p, up to a constant."""
        power = (self.dim - 1) * math.log(max(math.sin(dist), 1e-300) / self.sigma)
        return math.exp(power - (dist / self.sigma) ** 2 / 2)

    def _angles(self, dist: float, threshold: float, above: bool) -> float:
        """Share of the directions at a distance from p in which L > t, or L <= t.

        L > t where p' is further away than c, c^2 = dist^2 + 2 sigma^2 t.
        """
        square = dist * dist + 2 * self.sigma**2 * threshold
        if not 0 < square < math.pi**2:
            return float(above == (square <= 0))
        c = math.sqrt(square)
        if above:
            part = math.sin((c + dist + self.gap) / 2) * math.sin((dist + self.gap - c) / 2)
        else:
            part = math.sin((c + dist - self.gap) / 2) * math.sin((c - dist + self.gap) / 2)
        share = part / (math.sin(dist) * math.sin(self.gap))
        half = (self.dim - 1) / 2
        return float(scipy.special.betainc(half, half, min(max(share, 0.0), 1.0)))

    def _ends(self, threshold: float) -> list[float]:
        """Distances from p between which the integrand is smooth."""
        shift, gap = 2 * self.sigma**2 * threshold, self.gap
        around = 2 * math.pi - gap
        last = min(math.pi, self.sigma * (math.sqrt(self.dim) + _TAIL) + gap)
        inner = {
            (shift - gap * gap) / (2 * gap),
            (gap * gap - shift) / (2 * gap),
            (around * around - shift) / (2 * around),
            math.sqrt(max(math.pi**2 - shift, 0.0)),
            math.sqrt(max(-shift, 0.0)),
            self.sigma * math.sqrt(self.dim - 1),
            2 * self.sigma * math.sqrt(self.dim),
        }
        return [0.0, *sorted(end for end in inner if 0 < end < last), last]
