"""Every mechanism on the manifolds it serves, at scales where curvature shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp import _core
from manifold_list import COMPACT

BALL_RADIUS = 0.5


@dataclass(frozen=True)
class Case:
    """A mechanism calibrated to ``sensitivity`` under a guarantee of parameter 1.

    For mechanisms with σ = Δ/μ or 1/λ = Δ/ε the noise scale equals ``sensitivity``; that of the l2
    mechanism follows from (ε, δ) and the dimension.
    """

    mechanism: str
    spec: str
    sensitivity: float

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.spec}"

    @property
    def is_thorough(self) -> bool:
        """Whether the default run leaves it to CI."""
        return str(self) not in FEW

    @property
    def guarantee(self) -> Any:
        """ε = 1 for Laplace noise, μ = 1 for Gaussian noise; (1, .01) for the l2 mechanism."""
        if self.mechanism == "L2Mechanism":
            return cdp.ApproxDP(1.0, 0.01)
        return cdp.PureDP(1.0) if self.mechanism == "RiemannianLaplace" else cdp.GDP(1.0)

    @property
    def manifold(self) -> Any:
        """The manifold named by ``spec``."""
        return cdp.as_manifold(self.spec)

    def ball(self) -> Any:
        """A ball of radius 1/2 about a point that is no coordinate axis."""
        center = self.manifold.random_point(1, rng=np.random.default_rng(7))
        center = np.asarray(center).reshape(self.manifold.point_shape)
        return cdp.Ball(self.manifold, center=center, radius=BALL_RADIUS)

    def build(self, noise: float = 1.0, ball: Any = None) -> Any:
        """The mechanism; ``noise`` below 1 gives a broken one that makes the same claim with that
        share of the noise it needs."""
        ball = self.ball() if ball is None else ball
        kind = getattr(cdp, self.mechanism)
        return kind(ball, noise * self.sensitivity, self.guarantee)

    def point_at(self, ball: Any, distance: float, seed: int = 11) -> np.ndarray:
        """A point at ``distance`` from the ball's centre; the same direction for the same seed,
        the opposite one for negative distances."""
        manifold = ball.manifold
        coords = np.random.default_rng(seed).standard_normal(manifold.dim)
        coords *= distance / np.linalg.norm(coords)
        return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)

    def neighbours(self, ball: Any) -> tuple[np.ndarray, np.ndarray]:
        """Two true values on either side of the centre, ``sensitivity`` apart."""
        half = self.sensitivity / 2
        return self.point_at(ball, half), self.point_at(ball, -half)


LAPLACE = [
    Case("RiemannianLaplace", spec, sensitivity)
    for spec, sensitivity in (
        ("euclidean:3", 0.3),
        ("sphere:2", 0.6),
        ("sphere:9", 0.15),
        ("hyperboloid:2", 0.5),
        ("hyperboloid:5", 0.17),
        ("kendall:5", 0.2),
        ("rotations:3", 0.9),
        ("projective:2", 0.4),
        ("torus:2", 0.5),
        *((case.name, case.audited[0]) for case in COMPACT),
        ("spd:2", 0.6),
        ("spd:3", 0.4),
        ("hpd:2", 0.3),
        ("spd:3:log-euclidean", 0.3),
        ("spd:2:log-cholesky", 0.3),
    )
]
GAUSSIAN = [
    Case("RiemannianGaussian", spec, sensitivity)
    for spec, sensitivity in (
        ("sphere:2", 0.7),
        ("sphere:9", 0.45),
        ("kendall:5", 0.4),
        ("rotations:3", 0.9),
        ("projective:2", 0.4),
        ("torus:2", 0.7),
        *((case.name, case.audited[1]) for case in COMPACT),
    )
]
WRAPPED = [
    Case("ExponentialWrappedGaussian", spec, sensitivity)
    for spec, sensitivity in (
        ("euclidean:3", 0.5),
        ("hyperboloid:3", 0.5),
        ("torus:2", 0.5),
        ("spd:3", 0.4),
        ("hpd:2", 0.4),
    )
]
TANGENT = [
    Case("TangentGaussian", spec, sensitivity)
    for spec, sensitivity in (
        ("euclidean:3", 0.5),
        ("sphere:2", 0.3),
        ("kendall:5", 0.1),
        ("rotations:3", 0.4),
        ("projective:2", 0.2),
        ("torus:2", 0.4),
        ("grassmann:4:2", 0.2),
        ("so:4", 0.3),
        ("hyperboloid:3", 0.4),
        ("spd:3:log-euclidean", 0.4),
        ("spd:2:log-cholesky", 0.4),
    )
]
L2 = [
    Case("L2Mechanism", spec, sensitivity)
    for spec, sensitivity in (("euclidean:3", 0.3), ("sphere:2", 0.3), ("spd:3", 0.3))
]
EVERY = LAPLACE + GAUSSIAN + WRAPPED + TANGENT + L2

#: Of each mechanism one on every kind of curvature, which the default run draws.
FEW = {
    "RiemannianLaplace-sphere:2",
    "RiemannianLaplace-hyperboloid:2",
    "RiemannianLaplace-spd:2",
    "RiemannianLaplace-spd:3:log-euclidean",
    "RiemannianGaussian-sphere:2",
    "RiemannianGaussian-kendall:5",
    "ExponentialWrappedGaussian-hyperboloid:3",
    "ExponentialWrappedGaussian-torus:2",
    "TangentGaussian-sphere:2",
    "TangentGaussian-hyperboloid:3",
    "TangentGaussian-spd:2:log-cholesky",
    "L2Mechanism-sphere:2",
    "L2Mechanism-spd:3",
}


def draw(mechanism: Any, true_value: np.ndarray, n: int) -> np.ndarray:
    """``n`` outputs with fresh randomness."""
    return mechanism.sample(true_value, _core.Stream.from_os(), n_samples=n)
