"""Number of gradients of an exact draw from a K-norm gradient, known before a record is seen.

Every box that a draw halves has been proposed before a point was accepted: with probability at most
U/(U + Z), U the mass of its bound and Z that of the law. The sum over all boxes of the tree, with
bounds on U and Z from public numbers, bounds the expected number of gradients whatever the records
are. Proof: docs/proofs/kng-mean.md.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from curvedp._validation import FloatArray
from curvedp.domain import Ball

#: Gradients that an exact draw is expected to compute at most, or it is refused.
MAX_EVALUATIONS = 700_000

#: Rejected points at which a bound is closer than this do not halve their box.
_TIGHT = 0.7

#: Largest number of times that a coordinate is halved.
_MOST_BITS = 45

#: Room for rounding in exponents, where the gradient's is at most 1/16 of the scale: twice in
#: bounds, once in the density, and 1e-9 of at most 1e7 scales.
_ROUNDING = 3 / 16 + 0.01

#: Distances at which boxes are counted, in radii.
_DISTANCES = np.concatenate([[0.0], 2 * np.geomspace(1e-9, 1.0, 400)])


def expected_evaluations(ball: Ball, n: int, scale: float, step: float) -> float:
    """Bound on the expected number of gradients of a draw of the mean, no logarithm clipped.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records.
    scale : float
        sigma.
    step : float
        Largest step of the lattice.
    """
    if scale / 16 >= ball.radius:
        return _Tree(ball, scale, step, 2 * ball.radius).evaluations()  # the mean is not used
    plan = ball.frame.plan(n, scale / 16)
    return math.inf if plan is None else _Tree(ball, scale, step, plan.tolerance).evaluations()


def clipped_evaluations(ball: Ball, scale: float, step: float) -> float:
    """About the most gradients of a draw where logarithms are clipped: measured, not proved.

    Half the records on either side of the ball, farther apart than tau, leave a gradient near 0
    along the geodesic between them: in d dimensions the boxes along it cost up to
    (r/sigma)^(1 - 1/d).
    """
    dim = ball.manifold.dim
    tube = (ball.radius / scale) ** (1 - 1 / dim)
    return _Tree(ball, scale, step, 0.0).evaluations() * max(2.0, float(_TUBE * tube))


#: The share of (r/sigma)^(1 - 1/d) that adversarial records reach, with room.
_TUBE = 0.04


class _Tree:
    """Bounds for all boxes of a depth, from public numbers."""

    def __init__(self, ball: Ball, scale: float, step: float, tolerance: float) -> None:
        lower, upper = ball.manifold.curvature_bounds
        self.dim, self.radius = ball.manifold.dim, ball.radius
        self.scale, self.step, self.tolerance = scale, step, tolerance
        self.falling, self.rising = math.sqrt(max(-lower, 0.0)), math.sqrt(max(upper, 0.0))
        #: of the ball of dimension j
        self.volumes = [math.pi ** (j / 2) / math.gamma(j / 2 + 1) for j in range(self.dim + 1)]
        x, angle = self.falling * self.radius, self.rising * self.radius
        self.stretch = math.sinh(x) / x if x > 0 else 1.0
        self.log_volume = (self.dim - 1) * math.log(self.stretch)
        self.slope = (self.dim - 1) * (
            self.falling * min(x / 3, 1.0) + self.rising * angle / 3 / (1 - (angle / math.pi) ** 2)
        )

    def evaluations(self) -> float:
        """1 for the root, e^0.7 for points at which the bound is close, 3 for each halved box."""
        halved, sides = 0.0, np.full(self.dim, 2 * self.radius * (1 + 1 / 64))
        decay = np.exp(-self._least_norm(_DISTANCES * self.radius) / self.scale)
        log_unit = self.log_volume + _ROUNDING + 1 / 16 - self._log_mass()
        for depth in range(_MOST_BITS * self.dim):
            diagonal = float(np.linalg.norm(sides)) / 2
            if self._gap(diagonal) < _TIGHT or sides.max() < self.step:
                break
            ratio = math.exp(min(np.log(sides).sum() + log_unit, 700.0)) * decay
            counts = np.minimum(self._within(sides), 2.0**depth)
            shares = ratio / (1 + ratio)
            halved += counts[0] * shares[0] + float(np.diff(counts) @ shares[:-1])
            sides[depth % self.dim] /= 2
        return 1 + math.exp(_TIGHT) + 3 * halved

    def _smoothness(self, reach: float) -> float:
        """Largest rate of change of the gradient, logarithms up to a length `reach`."""
        x, angle = self.falling * reach, self.rising * reach
        if angle >= math.pi:
            return math.inf
        beyond = abs(angle / math.tan(angle)) if angle > math.pi / 2 else 1.0
        return max(1 + min(x * x / 3, x), beyond)

    def _gap(self, diagonal: float) -> float:
        """Largest distance of the bound on a box of a half diagonal from the log density in it."""
        moved = self.stretch * diagonal
        rate = self._smoothness(2 * self.radius + moved)
        return 2 * (rate * moved / self.scale + self.slope * diagonal) + _ROUNDING

    def _least_norm(self, distances: FloatArray) -> FloatArray:
        """Least gradient at a distance from the mean in coordinates."""
        angle = self.rising * self.radius
        shrunk = distances * (math.sin(angle) / angle if angle > 0 else 1.0)
        shrunk = np.maximum(shrunk - self.tolerance, 0.0)
        if angle == 0:
            return shrunk
        turned = np.sin(np.minimum(self.rising * shrunk, math.pi / 2))
        return np.asarray(math.cos(angle) / self.rising * turned)

    def _within(self, sides: FloatArray) -> FloatArray:
        """Most boxes with these sides at a distance from a point: Steiner's formula."""
        symmetric = np.zeros(self.dim + 1)
        symmetric[0] = 1.0
        for side in sides:
            symmetric[1:] += 2 * side * symmetric[:-1].copy()
        symmetric /= sides.prod()
        far = _DISTANCES * self.radius
        terms = [v * far**j * symmetric[self.dim - j] for j, v in enumerate(self.volumes)]
        return np.asarray(np.sum(terms, axis=0))

    def _log_mass(self) -> float:
        """Logarithm of the least mass of the law: of a sector of the ball about the mean."""
        rate = self._smoothness(2 * self.radius) / self.scale
        masses = []
        for share in np.linspace(0.3, 4.0, 12):
            reach = min(share * self.dim / rate, self.radius)
            x = self.falling * self.radius
            far = self.falling * reach / 2
            cosine = math.tanh(far) / math.tanh(x) if x > 0 else reach / (2 * self.radius)
            sector = 0.5
            if self.dim > 1:
                sector *= scipy.special.betainc((self.dim - 1) / 2, 0.5, 1 - cosine**2)
            angle = self.rising * reach
            element = math.sin(angle) / angle if angle > 0 else 1.0
            radial = math.gamma(self.dim) * scipy.special.gammainc(self.dim, rate * reach)
            sphere = self.dim * self.volumes[self.dim]
            masses.append(sector * element ** (self.dim - 1) * sphere * radial)
        if max(masses) <= 0 or not math.isfinite(rate):
            return -math.inf
        corner = math.sqrt(self.dim) * self.step
        return (
            math.log(0.99 * max(masses))
            - self.dim * math.log(rate)
            - corner * (rate * self.stretch + self.slope)
        )
