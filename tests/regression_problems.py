"""Random problems of geodesic regression on the manifolds of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import curvedp as cdp


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
