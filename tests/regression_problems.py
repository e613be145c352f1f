"""Random problems of geodesic regression on the manifolds of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import curvedp as cdp

ONE = cdp.GDP(1.0)


@dataclass(frozen=True)
class Space:
    """A manifold with a ball and a bound on velocities for which 2 r + V/2 is allowed."""

    manifold: Any
    center: Any
    radius: float
    v_max: float

    @property
    def is_thorough(self) -> bool:
        """Whether the default run leaves it to CI: all but one of each curvature."""
        return repr(self) not in ("euclidean:2", "sphere:2", "hyperboloid:3", "spd:2")

    @property
    def ball(self) -> cdp.Ball:
        return cdp.Ball(self.manifold, self.center, self.radius)

    def __repr__(self) -> str:
        return str(self.manifold.spec)


def _shape(k: int) -> np.ndarray:
    return cdp.KendallPlanar(k).project(np.random.default_rng(4).standard_normal((k, 2)))


SPACES = [
    Space(cdp.Euclidean(2), np.zeros(2), 1.0, 2.0),
    Space(cdp.Sphere(2), np.array([0.0, 0.0, 1.0]), 0.78, 2.0),
    Space(cdp.Sphere(5, radius=2.0), 2.0 * np.eye(6)[1], 1.2, 3.0),
    Space(cdp.KendallPlanar(5), _shape(5), 0.35, 0.8),
    Space(cdp.Hyperboloid(3), np.array([1.0, 0.0, 0.0, 0.0]), 1.0, 2.0),
    Space(cdp.SPD(2), np.array([[2.0, 0.3], [0.3, 1.0]]), 1.0, 2.0),
    Space(cdp.SPD(3), np.eye(3), 1.0, 2.0),
]


def tangent(space: Space, rng: np.random.Generator, base: Any, length: float) -> Any:
    coords = rng.standard_normal(space.manifold.dim)
    coords *= length / np.linalg.norm(coords)
    return space.manifold.coords_to_tangent(coords, base)


def problem(
    space: Space, rng: np.random.Generator, n: int, noise: float
) -> tuple[Any, Any, Any, Any]:
    """Times, records, footpoint and velocity: p to 0.8 r, |v| to 0.9 V."""
    manifold = space.manifold
    footpoint = manifold.exp(
        tangent(space, rng, space.center, 0.8 * space.radius * rng.random()), space.center
    )
    velocity = tangent(space, rng, footpoint, 0.9 * space.v_max * rng.random())
    times = rng.uniform(-0.5, 0.5, n)
    on_curve = manifold.exp(times.reshape((n,) + (1,) * velocity.ndim) * velocity, footpoint)
    lengths = noise * np.sqrt(rng.chisquare(manifold.dim, n) / manifold.dim)
    steps = [tangent(space, rng, q, s) for q, s in zip(on_curve, lengths, strict=True)]
    return times, manifold.exp(np.array(steps), on_curve), footpoint, velocity


def release(
    space: Space, x: Any, y: Any, guarantee: cdp.privacy.Guarantee = ONE, **changes: Any
) -> Any:
    """A regression with the range [-1/2, 1/2]."""
    return cdp.geodesic_regression(
        x, y, space.ball, guarantee, **{"x_range": (-0.5, 0.5), **changes}
    )


def geodesic(
    space: Space, rng: np.random.Generator, q: int, length: float, reach: float = 0.9
) -> tuple[Any, Any]:
    """A footpoint in the frame of the ball, to `reach` radii, and velocities there."""
    frame, dim = space.ball.frame, space.manifold.dim
    start = rng.standard_normal((1, dim))
    start *= reach * space.radius * rng.random() / np.linalg.norm(start)
    footpoint = np.empty((1, len(frame.origin)))
    frame.manifold.exp_coords(start, frame.origin[None], footpoint)
    velocities = rng.standard_normal((q, dim))
    return footpoint[0], velocities * length / np.linalg.norm(velocities, axis=1).sum()


SPHERE, MATRICES = SPACES[1], SPACES[5]
