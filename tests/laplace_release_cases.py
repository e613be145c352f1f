"""Releases of Laplace noise on curved spaces, in coordinates at the ball's centre."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import curvedp as cdp
import drawn_keys

Array = NDArray[np.float64]

#: Releases of every case, and the share of them on SPD(3), where each takes longest.
N = 100_000
SLOW = 0.1
CLIP = 16.0
#: Releases this close to the clipping radius, in units of it, count as clipped: rounding moves
#: them.
EDGE = 1e-4
EPSILON = 0.7


@dataclass(frozen=True)
class Case:
    """Laplace noise on ``spec``, of curvature -omega² if that is hyperbolic space."""

    spec: str
    scale: float
    omega: float = 1.0
    #: Distance of the true value from the centre; if positive, it lies on the border of the ball.
    distance: float = 0.0
    #: On SPD(2) the true value's log-eigenvalues have this angle from the multiples of (1, 1).
    angle: float = 1.2

    def __str__(self) -> str:
        curvature = "" if self.omega == 1.0 else f"-curvature{-(self.omega**2):g}"
        place = f"-at{self.distance:g}" if self.distance else ""
        return f"{self.spec}{curvature}-scale{self.scale:.4g}{place}"

    @property
    def is_thorough(self) -> bool:
        """Whether the default run leaves it to CI."""
        return self not in FEW

    @property
    def size(self) -> int:
        return int(self.spec.split(":")[1])

    @property
    def is_spd(self) -> bool:
        return self.spec.startswith("spd")

    @property
    def edge(self) -> float:
        """Releases beyond this distance from the centre are clipped ones."""
        return CLIP / self.omega * (1 - EDGE)

    @property
    def radius(self) -> float:
        return self.distance or 1.0


def hyperbolic(dim: int, omega: float, *shares: float, distance: float = 0.0) -> list[Case]:
    """Scales as shares of the limit of existence, 1 / ((dim - 1) omega)."""
    limit = 1 / ((dim - 1) * omega)
    return [Case(f"hyperboloid:{dim}", x * limit, omega, distance) for x in shares]


CENTRAL_H = [
    *hyperbolic(2, 1.0, 0.3, 0.9, 0.97, 0.998),
    *hyperbolic(2, 0.5, 0.97),
    *hyperbolic(3, 1.0, 0.3, 0.97, 0.99),
    *hyperbolic(3, 0.5, 0.99),
]
OFF_CENTRE_H = [
    *hyperbolic(2, 1.0, 0.3, 0.97, 0.998, distance=3.0),
    *hyperbolic(2, 1.0, 0.97, distance=5.0),
    *hyperbolic(2, 0.5, 0.97, distance=2.0),
    *hyperbolic(3, 1.0, 0.97, distance=3.0),
]
CENTRAL_SPD2 = [Case("spd:2", scale) for scale in (0.3, 0.9, 1.1, 1.3, 1.4)]
CENTRAL_SPD3 = [Case("spd:3", scale) for scale in (0.2, 0.5, 0.6, 0.65)]
OFF_CENTRE_SPD2 = [
    Case("spd:2", 0.3, distance=1.0),
    Case("spd:2", 1.1, distance=2.0),
    Case("spd:2", 1.3, distance=2.0, angle=2.0),
    Case("spd:2", 1.4, distance=5.0),
]
OFF_CENTRE_SPD3 = [Case("spd:3", 0.2, distance=1.0), Case("spd:3", 0.6, distance=3.0)]
CENTRAL_SPD = CENTRAL_SPD2 + CENTRAL_SPD3
CENTRAL = CENTRAL_H + CENTRAL_SPD
OFF_CENTRE = OFF_CENTRE_H + OFF_CENTRE_SPD2 + OFF_CENTRE_SPD3

#: One of each kind, near the scale at which noise ceases to exist: the default run draws these.
FEW = [
    *hyperbolic(2, 1.0, 0.97),
    *hyperbolic(2, 1.0, 0.97, distance=3.0),
    Case("spd:2", 1.3),
]


def hyperbolic_frame(case: Case) -> Array:
    """A Lorentz matrix: its first column is the centre, the second points to the true value."""
    boost, turn = np.eye(case.size + 1), np.eye(case.size + 1)
    boost[:2, :2] = np.cosh(0.7) * np.eye(2) + np.sinh(0.7) * np.eye(2)[::-1]
    turn[1:3, 1:3] = [[0.6, -0.8], [0.8, 0.6]]
    return turn @ boost @ turn


def spd_frame(case: Case) -> Array:
    """G with G G^T the centre."""
    return np.diag(np.linspace(1.5, 0.7, case.size)) + 0.3 * np.tri(case.size, k=-1)


def half_gap(case: Case) -> float:
    """Half the difference of the log-eigenvalues of the true value on SPD(2)."""
    return case.distance * np.sin(case.angle) / np.sqrt(2)


def spd_true_value(case: Case) -> Array:
    """The diagonal of the true value in the frame, on SPD(2) the larger entry first."""
    if case.size > 2:
        return np.exp(case.distance * np.array([0.8, 0.0, -0.6]))
    mean = case.distance * np.cos(case.angle) / np.sqrt(2)
    return np.exp(mean + half_gap(case) * np.array([1, -1]))


@functools.cache
def mechanism(case: Case) -> tuple[Any, Array]:
    """The mechanism and the true value."""
    if case.is_spd:
        frame = spd_frame(case)
        manifold, center = cdp.as_manifold(case.spec), frame @ frame.T
        true_value = (frame * spd_true_value(case)) @ frame.T
    else:
        manifold = cdp.Hyperboloid(case.size, curvature=-(case.omega**2))
        turn, frame = case.omega * case.distance, hyperbolic_frame(case)
        center = frame[:, 0] / case.omega
        true_value = (np.cosh(turn) * frame[:, 0] + np.sinh(turn) * frame[:, 1]) / case.omega
    ball = cdp.Ball(manifold, center, case.radius)
    sensitivity = EPSILON * case.scale
    return cdp.mechanisms.RiemannianLaplace(ball, sensitivity, cdp.PureDP(EPSILON)), true_value


@dataclass
class Releases:
    """Distances of releases from the centre and from the true value, and their coordinates."""

    dist: Array
    error: Array
    #: Log-eigenvalues in decreasing order, or coordinates on the unit hyperboloid.
    coords: Array
    #: Angle in [0, π/2] or [0, π] between a release, seen from the centre, and the true value: on
    #: SPD(2) between the eigenvectors of the larger eigenvalues.
    turn: Array


def released(case: Case, n: int = N) -> Releases:
    return shared_releases(case) if n == N else fresh_releases(case, n)


@drawn_keys.cache
def shared_releases(case: Case) -> Releases:
    return fresh_releases(case, N)


def fresh_releases(case: Case, n: int) -> Releases:
    law, true_value = mechanism(case)
    sample = law.sample(true_value, n_samples=int(n * (SLOW if case.spec == "spd:3" else 1.0)))
    assert np.all(np.isfinite(sample))
    if case.is_spd:
        inverse = np.linalg.inv(spd_frame(case))
        white = inverse @ sample @ inverse.T
        logs, vectors = spd_logs(white)
        half = 1 / np.sqrt(spd_true_value(case))
        errors, _ = spd_logs(half[:, None] * white * half)
        turn = np.arctan2(np.abs(vectors[:, 1, 0]), np.abs(vectors[:, 0, 0]))
        return Releases(np.linalg.norm(logs, axis=1), np.linalg.norm(errors, axis=1), logs, turn)
    signs = np.ones(case.size + 1)
    signs[0] = -1
    frame = hyperbolic_frame(case)
    coords = case.omega * (sample @ (signs[:, None] * frame * signs))
    turn = case.omega * case.distance
    moved = coords[:, 1:].copy()
    moved[:, 0] = np.cosh(turn) * coords[:, 1] - np.sinh(turn) * coords[:, 0]
    dist = np.arcsinh(np.linalg.norm(coords[:, 1:], axis=1)) / case.omega
    error = np.arcsinh(np.linalg.norm(moved, axis=1)) / case.omega
    angle = np.arctan2(np.linalg.norm(coords[:, 2:], axis=1), coords[:, 1])
    return Releases(dist, error, coords, angle)


def spd_logs(matrices: Array) -> tuple[Array, Array]:
    """Log-eigenvalues in decreasing order, and the eigenvectors."""
    values, vectors = np.linalg.eigh((matrices + matrices.swapaxes(1, 2)) / 2)
    logs = np.log(np.maximum(values, np.finfo(float).tiny))
    return logs[:, ::-1], vectors[:, :, ::-1]
