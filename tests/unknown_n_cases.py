"""Statistics that are released where the number of records is protected: cases of several tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp import conformal

ADD = "add-remove"
BALL = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
MESH = conformal.ball_mesh(BALL, 40)
GDP = cdp.GDP(3.0, neighbours=ADD)
BUDGETS = [
    GDP,
    cdp.PureDP(6.0, neighbours=ADD),
    cdp.ZCDP(4.0, neighbours=ADD),
    cdp.ApproxDP(6.0, 1e-6, neighbours=ADD),
]
SERVED: dict[str, Callable[..., Any]] = {
    "mean": cdp.frechet_mean,
    "tangent Gaussian": lambda *given, **how: cdp.frechet_mean(
        *given, mechanism="tangent-gaussian", **how
    ),
    "adaptive": cdp.adaptive_mean,
    "median": cdp.geometric_median,
    "kng": lambda *given, **how: cdp.kng_mean(*given, tau=0.3, **how),
    "variance": cdp.frechet_variance,
    "fourth moment": cdp.fourth_moment,
    "covariance": cdp.log_covariance,
    "hessian": cdp.mean_hessian,
    "k-means": lambda x, ball, own, **how: cdp.k_means(
        x, n_clusters=3, ball=ball, guarantee=own, **how
    ),
    "conformal": cdp.conformal_mean,
    "density": lambda *given, **how: conformal.density(*given, mesh=MESH, **how),
}
#: Words that follow from noisy numbers.
FROM_NOISE = r"noisy sizes: [-\d, ]+|<p>CUT: .*?</p>|CUT: .*?(?=assumptions)|assumed within.*?of"
served = pytest.mark.parametrize("name", SERVED)


def rows(n: int, ball: cdp.Ball = BALL) -> np.ndarray:
    space, rng = ball.manifold, np.random.default_rng(3)
    coords = 0.2 * ball.radius * rng.standard_normal((400, space.dim))[:n]
    return np.asarray(space.exp(space.coords_to_tangent(coords, ball.center), ball.center))


def serves(name: str, guarantee: cdp.privacy.Guarantee) -> bool:
    """Mechanisms with Gaussian noise alone do not serve pure privacy."""
    return name != "tangent Gaussian" or not isinstance(guarantee, cdp.PureDP)
