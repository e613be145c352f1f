"""Private means at the rim of the largest balls that are accepted.

``python tests/rim_cases.py`` prints the table of docs/measured/audits.md.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

import curvedp as cdp
from curvedp import _core

Array = NDArray[np.float64]

#: Records of each mean, all at one point.
N = 100
#: Means of each case.
MEANS = 300
#: Radii, as shares of the largest one that is accepted.
SHARES = (0.6, 0.9, 0.999)
#: Distance of the mean from the centre, in radii.
PLACE = 0.999

SPACES = (
    "euclidean:3",
    "torus:2",
    "sphere:1",
    "sphere:2",
    "sphere:9",
    "projective:2",
    "rotations:3",
    "kendall:4",
    "grassmann:4:2",
    "so:4",
    "hyperboloid:1",
    "hyperboloid:2",
    "hyperboloid:3",
    "hyperboloid:10",
    "spd:2",
    "spd:3",
    "spd:8",
    "spd:3:log-euclidean",
    "correlation:3",
    "hpd:2",
    "hpd:3",
)
GUARANTEES = (cdp.PureDP(epsilon=1.0), cdp.GDP(mu=1.0), cdp.GDP(mu=30.0))


#: Noise as wide as exists, of which one draw takes a tenth of a second.
_SLOW = [(spec, GUARANTEES[0]) for spec in ("spd:8", "hpd:3")]


def is_accepted(spec: str, radius: float, guarantee: cdp.Guarantee) -> bool:
    """True if a mean is released on the ball of that radius."""
    try:
        cdp.expected_error(_ball(spec, radius), n=N, guarantee=guarantee, coverage=False)
    except (ValueError, cdp.ExistenceError):
        return False
    return True


@functools.cache
def largest_radius(spec: str, guarantee: cdp.Guarantee) -> float:
    """The largest radius of a ball on which a mean is released, to 1 part in 1000.

    Up to 1000, of flat spaces of matrices up to 20, where doubles still hold their logarithms.
    """
    low, high = 1e-2, 20.0 if spec in ("spd:3:log-euclidean", "correlation:3") else 1e3
    if is_accepted(spec, high, guarantee):
        return high
    while high > 1.001 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if is_accepted(spec, middle, guarantee) else (low, middle)
    return low


def _ball(spec: str, radius: float) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    return cdp.Ball(manifold, np.asarray(manifold.origin), radius)


@dataclass(frozen=True)
class Rim:
    """Means of records at one point near the rim of a ball, beside that point."""

    spec: str
    guarantee: Any
    share: float

    def __str__(self) -> str:
        return f"{self.spec}-{self.guarantee}-{self.share:g}"

    @cached_property
    def ball(self) -> cdp.Ball:
        return _ball(self.spec, self.share * largest_radius(self.spec, self.guarantee))

    @cached_property
    def point(self) -> Array:
        """On matrices a multiple of the identity, which doubles hold however far it is."""
        space, coords = self.ball.manifold, np.zeros(self.ball.manifold.dim)
        if self.spec.startswith(("spd", "hpd")) and "log" not in self.spec:
            m = int(self.spec.split(":")[1])
            factor = np.exp(PLACE * self.ball.radius / np.sqrt(m))
            return np.asarray(factor * np.asarray(space.origin))
        coords[:2] = (0.8, 0.6)[: space.dim] if space.dim > 1 else 1.0
        tangent = space.coords_to_tangent(PLACE * self.ball.radius * coords, self.ball.center)
        return np.asarray(space.exp(tangent, self.ball.center))

    @cached_property
    def releases(self) -> Any:
        records = np.repeat(self.point[None], N * MEANS, axis=0)
        offsets = np.arange(MEANS + 1) * N
        secret = cdp.NoiseSecret(self.key)
        how = {"groups": offsets, "secret": secret, "coverage": False}
        return cdp.frechet_mean(records, self.ball, self.guarantee, **how)

    @cached_property
    def drawn(self) -> Array:
        """Points that the mechanism draws about the mean, before any is clipped."""
        step, _ = self.noise._grid
        points = np.empty((MEANS, self.ball.manifold.point_size))
        mean = np.ascontiguousarray(self.ball.enter(self.point[None])[0])
        stream = _core.Stream.from_key(self.key, 0)
        self.noise._noise.release(self.ball.frame, mean, stream, (step, math.inf), points)
        return points.reshape(MEANS, *self.ball.manifold.point_shape)

    @property
    def key(self) -> bytes:
        return hashlib.sha256(str(self).encode()).digest()

    def dists(self, points: Array) -> Array:
        """Distances from the point, to the digits that the points have."""
        space = self.ball.manifold
        if self.spec.startswith("hyperboloid"):
            return _hyperbolic_dists(points, self.point)
        if self.spec.startswith("spd") and "log" not in self.spec:
            eigenvalues = np.linalg.eigvalsh(points)
            return np.linalg.norm(np.log(eigenvalues) - np.log(self.point[0, 0]), axis=-1)
        if self.spec.startswith("hpd"):
            eigenvalues = np.linalg.eigvalsh(space.to_complex(points))
            return np.linalg.norm(np.log(eigenvalues) - np.log(self.point[0, 0, 0]), axis=-1)
        return np.asarray(space.dist(points, self.point))

    @property
    def printed(self) -> float:
        """The error that releases print, on average."""
        return float(np.mean([release.expected_error for release in self.releases]))

    @property
    def error(self) -> float:
        """The mean distance of releases from the point."""
        return float(self.dists(np.stack([own.value for own in self.releases])).mean())

    @property
    def noise(self) -> Any:
        """The mechanism."""
        return self.releases.details["designs"][0].mechanism

    def below(self) -> Callable[[Array], Array] | None:
        """P(distance <= t) of the noise by quadrature; none where the density is not one of t."""
        kind, size, parameter = self.ball.manifold.noise_space
        volume = _VOLUMES.get(kind)
        if volume is None or self.noise.in_chart or self.spec.split(":")[0] in _FOLDED:
            return None
        scale, is_laplace = self.noise.scale, self.noise.profile == "laplace"

        def log_density(t: Array) -> Array:
            profile = -t / scale if is_laplace else -((t / scale) ** 2) / 2
            return np.asarray(profile + volume(t, size, parameter))

        farthest = min(self.ball.manifold.injectivity_radius, scale)
        while farthest < self.ball.manifold.injectivity_radius:
            t = np.linspace(0.0, farthest, 400_001)[1:]
            logs = log_density(t)
            if logs[-1] < logs.max() - 40:
                break
            farthest = min(self.ball.manifold.injectivity_radius, 1.5 * farthest)
        t = np.linspace(0.0, farthest, 400_001)[1:]
        logs = log_density(t)
        mass = np.cumsum(np.exp(logs - logs.max()))
        return lambda x: np.interp(x, t, mass / mass[-1])


def _hyperbolic_dists(points: Array, point: Array) -> Array:
    """sinh(d/2)^2 = sinh((b - a)/2)^2 + sinh a sinh b |w - v|^2/4 for points at a v and b w."""

    def polar(x: Array) -> tuple[Array, Array]:
        largest = np.abs(x[..., 1:]).max(axis=-1, keepdims=True)
        length = np.linalg.norm(x[..., 1:] / largest, axis=-1, keepdims=True)
        return np.asarray(largest * length), np.asarray(x[..., 1:] / largest / length)

    (sinh_a, v), (sinh_b, w) = polar(points), polar(point)
    along = np.sinh((np.arcsinh(sinh_b) - np.arcsinh(sinh_a)) / 2)[..., 0]
    across = np.linalg.norm(w - v, axis=-1) * np.sqrt(sinh_a[..., 0]) * np.sqrt(sinh_b[..., 0])
    return np.asarray(2 * np.arcsinh(np.hypot(along, across / 2)))


def _log_sinh(t: Array, dim: int, curvature: float) -> Array:
    x = t * np.sqrt(-curvature)
    return (dim - 1) * (x + np.log(-np.expm1(-2 * x)))


#: Logarithms of the volume of spheres of radius t, up to a constant.
_VOLUMES: dict[str, Callable[[Array, int, float], Array]] = {
    "flat": lambda t, dim, _: (dim - 1) * np.log(t),
    "sphere": lambda t, dim, radius: (dim - 1) * np.log(np.abs(np.sin(t / radius)) + 1e-300),
    "hyperbolic": _log_sinh,
}
#: Noise wraps around these.
_FOLDED = ("torus", "rotations", "projective")


def cases(shares: tuple[float, ...] = SHARES) -> list[Rim]:
    """All cases at these shares of the largest radius."""
    all_cases = itertools.product(SPACES, GUARANTEES, shares)
    return [Rim(*case) for case in all_cases if (case[0], case[1]) not in _SLOW]


def row(spec: str, rims: list[Rim]) -> str:
    """A line of the table: what all cases of a space have in common."""
    largest = [f"{rim.ball.radius / rim.share:.3g}" for rim in rims if rim.share == SHARES[-1]]
    distinct = min(len({point.tobytes() for point in rim.drawn}) for rim in rims)
    ratios = [rim.error / rim.printed for rim in rims]
    laws = [(rim.below(), rim.dists(rim.drawn)) for rim in rims]
    p = [scipy.stats.kstest(dists, below).pvalue for below, dists in laws if below is not None]
    told = f"{min(p):.2g} of {len(p)}" if p else "–"
    cells = spec, ", ".join(largest), f"{distinct} of {MEANS}", f"{max(ratios):.2f}", told
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print("| space | largest radii | distinct draws | error / printed | least p of the law |")
    print("|---|---|---|---|---|")
    for spec in sys.argv[1:] or SPACES:
        print(row(spec, [rim for rim in cases() if rim.spec == spec]), flush=True)
