"""Noise far wider than the manifold, and streams that a fork copies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core

DRAWS = 40
CENTRES: dict[str, Any] = {
    "sphere:2": [0.0, 0.0, 1.0],
    "kendall:4": None,
    "hyperboloid:2": [1.0, 0.0, 0.0],
    "spd:2": "identity",
    "spd:2:log-euclidean": "identity",
    "spd:2:log-cholesky": "identity",
    "euclidean:2": [0.0, 0.0],
}


def domain(spec: str) -> cdp.Ball:
    manifold = cdp.as_manifold(spec)
    center = CENTRES[spec]
    if center is None:
        center = manifold.random_point(1, rng=1)
    return cdp.Ball(manifold, center, 0.3)


@pytest.mark.parametrize("spec", CENTRES)
@pytest.mark.parametrize("mu", [1e-4, 1e-7, 1e-12])
@pytest.mark.parametrize("mechanism", [None, "tangent-gaussian"])
def test_noise_wider_than_the_manifold_is_not_rounded_to_one_point(
    spec: str, mu: float, mechanism: str | None
) -> None:
    ball = domain(spec)
    kind = cdp.mechanisms.choose_mechanism(ball, cdp.GDP(mu), mechanism)
    points = kind(ball, 0.1, cdp.GDP(mu)).sample(ball.center, n_samples=DRAWS)
    assert len(np.unique(points, axis=0)) == DRAWS
    assert np.all(ball.manifold.belongs(points))
    assert np.median(ball.manifold.dist(points, ball.center)) > ball.radius


@pytest.mark.parametrize("spec", ["sphere:2", "kendall:4", "spd:2:log-euclidean", "euclidean:2"])
def test_laplace_noise_wider_than_the_manifold_is_not_rounded_to_one_point(spec: str) -> None:
    ball = domain(spec)
    mechanism = cdp.RiemannianLaplace(ball, 0.1, cdp.PureDP(1e-12))
    assert len(np.unique(mechanism.sample(ball.center, n_samples=DRAWS), axis=0)) == DRAWS


@pytest.mark.parametrize("curvature", [-1e-6, -1e6])
@pytest.mark.parametrize("dim", [1, 2])
def test_releases_are_clipped_in_units_of_the_curvature(dim: int, curvature: float) -> None:
    manifold = cdp.Hyperboloid(dim, curvature=curvature)
    unit = 1 / np.sqrt(-curvature)
    center = np.eye(1, dim + 1)[0] * unit
    ball = cdp.Ball(manifold, center, unit)
    far = cdp.ExponentialWrappedGaussian(ball, 1e3 * unit, cdp.GDP(1.0)).sample(
        center, n_samples=20
    )
    dist = manifold.dist(far, center) / unit
    assert np.all(manifold.belongs(far))
    assert np.all(dist <= 16.001)
    assert np.median(dist) > 15.9


def child(work: Any) -> bytes:
    """The result of `work` in a forked child."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, work())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


@pytest.mark.true_entropy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_stream_made_before_a_fork_is_not_drawn_from_twice() -> None:
    """Parent and child would add the same noise, and the difference of releases bare the data."""
    ball = domain("sphere:2")
    mechanism = cdp.RiemannianLaplace(ball, 0.1, cdp.PureDP(1.0))
    stream = _core.Stream.from_os()

    def attempt() -> bytes:
        try:
            return mechanism.sample(ball.center, stream).tobytes()
        except RuntimeError as error:
            return str(error).encode()

    assert b"process" in child(attempt)
    assert len(attempt()) == 3 * 8
    key = bytes(32)
    given = [lambda: mechanism.sample(ball.center, _core.Stream.from_key(key, 0)).tobytes()] * 2
    assert child(given[0]) == given[1]()
