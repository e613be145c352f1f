"""Populations on a ball whose Fréchet mean and variance are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import integrate

import curvedp as cdp


@dataclass(frozen=True)
class Population:
    """Records around the centre of a ball, which is their mean by symmetry.

    Attributes
    ----------
    ball : Ball
    variance : float
        E rho(centre, x)^2.
    sample : callable
        From n and a generator to n records, shape (n, *point_shape).
    """

    ball: cdp.Ball
    variance: float
    sample: Callable[[int, np.random.Generator], np.ndarray]

    def __repr__(self) -> str:
        return self.ball.manifold.spec


def uniform_on_cap(radius: float) -> Population:
    """Uniform on the cap of S^2 about the north pole."""
    height = 1 - np.cos(radius)

    def sample(n: int, rng: np.random.Generator) -> np.ndarray:
        z = 1 - height * rng.random(n)
        angle = 2 * np.pi * rng.random(n)
        ring = np.sqrt(1 - z**2)
        return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])

    variance = integrate.quad(lambda t: t**2 * np.sin(t), 0, radius)[0] / height
    return Population(cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], radius), variance, sample)


def uniform_in_tangent_ball(m: int, radius: float) -> Population:
    """exp_I of a uniform law on the tangent ball at the identity, affine-invariant metric.

    The inversion X -> X^-1 is an isometry that fixes I only and keeps the law: I is the mean.
    """
    space = cdp.SPD(m)

    def sample(n: int, rng: np.random.Generator) -> np.ndarray:
        coords = rng.standard_normal((n, space.dim))
        length = radius * rng.random((n, 1)) ** (1 / space.dim)
        coords *= length / np.linalg.norm(coords, axis=1, keepdims=True)
        return space.exp(space.coords_to_tangent(coords, np.eye(m)), np.eye(m))

    variance = space.dim / (space.dim + 2) * radius**2
    return Population(cdp.Ball(space, "identity", radius), variance, sample)


#: The two populations of Jiang et al., section 5, with n = 600 there.
CAP = uniform_on_cap(np.pi / 8)
SPD_BALL = uniform_in_tangent_ball(2, 1.5)
