"""Rotations of R^n against SciPy, geomstats and the rotations of space (docs/proofs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import curvedp as cdp
import oracles

SIZES = [2, 3, 4, 5, 6, 9, 20]


def points(n: int, count: int, seed: int = 0) -> np.ndarray:
    return cdp.SpecialOrthogonal(n).random_point(count, rng=seed)


def cloud(space: cdp.Manifold, radius: float, count: int = 300) -> tuple[cdp.Ball, np.ndarray]:
    n = space.point_shape[0]
    ball = cdp.Ball(space, points(n, 2)[0], radius)
    coords = np.random.default_rng(5).standard_normal((count, space.dim))
    lengths = 1.2 * radius * np.random.default_rng(6).random(count)
    coords *= (lengths / np.linalg.norm(coords, axis=1))[:, None]
    return ball, space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


@pytest.mark.parametrize("n", SIZES)
def test_logarithms_are_those_of_scipy(n: int) -> None:
    space = cdp.SpecialOrthogonal(n)
    a, b = points(n, 12), points(n, 12, 1)
    expected = np.array([x @ scipy.linalg.logm(x.T @ y).real for x, y in zip(a, b, strict=True)])
    np.testing.assert_allclose(space.log(b, a), expected, atol=1e-8)
    np.testing.assert_allclose(
        space.dist(a, b), np.linalg.norm(expected, axis=(1, 2)) / np.sqrt(2), atol=1e-8
    )
    back = np.array([x @ scipy.linalg.expm(x.T @ v) for x, v in zip(a, expected, strict=True)])
    np.testing.assert_allclose(space.exp(expected, a), back, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_geomstats_agrees(n: int) -> None:
    other: Any = oracles.geomstats("geometry.special_orthogonal").SpecialOrthogonal(n)
    space = cdp.as_manifold(other)
    assert space == cdp.SpecialOrthogonal(n)
    base, rng = points(n, 10), np.random.default_rng(3)
    vectors = space.to_tangent(0.5 * rng.standard_normal(base.shape), base)
    ends = space.exp(vectors, base)
    metric = other.metric
    np.testing.assert_allclose(metric.exp(vectors, base), ends, atol=1e-12)
    np.testing.assert_allclose(metric.log(ends, base), space.log(ends, base), atol=1e-9)
    np.testing.assert_allclose(metric.dist(base, ends), space.dist(base, ends), atol=1e-9)
    estimator = oracles.geomstats("learning.frechet_mean").FrechetMean(other)
    estimator.set(max_iter=200, epsilon=1e-13)
    _, x = cloud(space, 1.0, 30)
    expected = estimator.fit(x).estimate_
    np.testing.assert_allclose(cdp.nonprivate.frechet_mean(x, space).value, expected, atol=1e-6)


def test_pymanopts_space_is_recognised_and_a_product_of_some_is_not() -> None:
    class SpecialOrthogonalGroup:
        def __init__(self, n: int, k: int = 1) -> None:
            self._n, self._k = n, k

    assert cdp.as_manifold(SpecialOrthogonalGroup(5)) == cdp.SpecialOrthogonal(5)
    with pytest.raises(ValueError, match="not a manifold"):
        cdp.as_manifold(SpecialOrthogonalGroup(5, 3))


def test_texts_name_the_dimension() -> None:
    assert cdp.as_manifold("so:4") == cdp.SpecialOrthogonal(4)
    assert cdp.as_manifold("so", (4, 4)) == cdp.SpecialOrthogonal(4)
    for text in ("so:1", "so:34", "so:x", "so:4:2"):
        with pytest.raises(ValueError, match=r"so:|n must"):
            cdp.as_manifold(text)


def test_three_dimensions_are_the_rotations_of_space() -> None:
    ours, space = cdp.SpecialOrthogonal(3), cdp.Rotations()
    a, b = points(3, 50), points(3, 50, 1)
    np.testing.assert_allclose(ours.dist(a, b), space.dist(a, b), atol=1e-13)
    np.testing.assert_allclose(ours.log(b, a), space.log(b, a), atol=1e-12)
    vectors = ours.to_tangent(np.random.default_rng(2).standard_normal(a.shape), a)
    np.testing.assert_allclose(
        ours.parallel_transport(vectors, a, end_point=b),
        space.parallel_transport(vectors, a, end_point=b),
        atol=1e-12,
    )
    assert ours.curvature_bounds == space.curvature_bounds == (0.25, 0.25)
    assert ours.injectivity_radius == space.injectivity_radius == np.pi
    assert ours.max_ball_radius == space.max_ball_radius
    (ball, x), (other, _) = cloud(ours, 1.2), cloud(space, 1.2)
    assert cdp.sensitivity.frechet_mean(ball, 100) == pytest.approx(
        cdp.sensitivity.frechet_mean(other, 100), rel=1e-9
    )
    np.testing.assert_allclose(
        cdp.nonprivate.frechet_mean(x, ours).value,
        cdp.nonprivate.frechet_mean(x, space).value,
        atol=1e-12,
    )
    found, expected = (
        cdp.frechet_mean(x, b, cdp.GDP(1.0), seed=1).expected_error for b in (ball, other)
    )
    assert found == pytest.approx(expected, rel=1e-4)
    assert found != pytest.approx(1.05 * expected, rel=1e-2)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-2])
def test_logarithms_lead_back_at_and_near_half_turns(n: int, gap: float) -> None:
    """One plane, or all of them, turned by pi - gap: the length is that of the angles, and exp of
    the logarithm is the rotation."""
    space, rng = cdp.SpecialOrthogonal(n), np.random.default_rng(n)
    for planes in {1, n // 2}:
        for axes in points(n, 4, 7):
            angles = np.concatenate([np.full(planes, np.pi - gap), rng.random(n // 2 - planes)])
            generator = np.zeros((n, n))
            for i, t in enumerate(angles):
                generator[2 * i + 1, 2 * i], generator[2 * i, 2 * i + 1] = t, -t
            turn = axes @ scipy.linalg.expm(generator) @ axes.T
            base = points(n, 2, 3)[0]
            log = space.log(base @ turn, base)
            assert space.dist(base, base @ turn) == pytest.approx(np.linalg.norm(angles), abs=1e-9)
            assert np.linalg.norm(log) / np.sqrt(2) == pytest.approx(
                np.linalg.norm(angles), abs=1e-7
            )
            np.testing.assert_allclose(space.exp(log, base), base @ turn, atol=3e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_the_closest_rotation_is_that_of_the_singular_vectors(n: int) -> None:
    space, rng = cdp.SpecialOrthogonal(n), np.random.default_rng(0)
    a = rng.standard_normal((30, n, n))
    u, _, vt = np.linalg.svd(a)
    u[..., -1] *= np.linalg.det(u @ vt)[:, None]
    np.testing.assert_allclose(space.project(a), u @ vt, atol=1e-10)
    assert np.array_equal(space.project(points(n, 5)), points(n, 5))


@pytest.mark.parametrize("n", [2, 4, 5])
def test_matrices_that_are_no_rotations_are_no_points(n: int) -> None:
    space = cdp.SpecialOrthogonal(n)
    good = points(n, 2)[0]
    over = good * np.where(np.arange(n) == 0, -1.0, 1.0)
    bad = [1.001 * good, over, np.zeros((n, n)), good + 1e-3, np.diag(np.arange(n) + 1.0)]
    bad += [np.full((n, n), x) for x in (np.nan, np.inf, 1e308, 5e-324)]
    for matrix in bad:
        assert not space.belongs(matrix)
        assert np.isnan(space.as_points(matrix)).all()
    noisy = good + 1e-6 * np.random.default_rng(0).uniform(-1, 1, (n, n))
    assert space.belongs(space.as_points(noisy), 1e-14)
    assert space.dist(space.as_points(noisy), good) < 1e-5


@pytest.mark.parametrize("n", [2, 4, 5])
def test_private_means_are_close_to_the_mean(n: int) -> None:
    space = cdp.SpecialOrthogonal(n)
    ball, x = cloud(space, 1.0, 5000)
    mean = cdp.nonprivate.frechet_mean(x, space).value
    for guarantee in (cdp.PureDP(1.0), cdp.GDP(1.0)):
        release = cdp.frechet_mean(x, ball, guarantee, seed=0)
        assert release.assumptions == {"seeded"}
        assert space.belongs(release.value, 1e-14)
        assert space.dist(release.value, mean) < 8 * release.expected_error < 0.2


def test_the_largest_ball_ends_at_a_quarter_turn() -> None:
    space = cdp.SpecialOrthogonal(5)
    assert space.max_ball_radius == pytest.approx(np.pi / 2)
    assert space.curvature_bounds == (0.0, 0.5)
    assert cdp.SpecialOrthogonal(2).curvature_bounds == (0.0, 0.0)
    ball = cdp.Ball(space, "identity", 1.5)
    expected = 2 * np.tan(1.5 * np.sqrt(0.5)) / np.sqrt(0.5) / 500
    assert cdp.sensitivity.frechet_mean(ball, 500) == pytest.approx(expected, rel=1e-8)
    with pytest.raises(ValueError, match="radius"):
        cdp.Ball(space, "identity", np.pi / 2)


@pytest.mark.parametrize("n", [4, 5, 7])
def test_sectional_curvatures_of_random_planes_lie_in_the_bounds(n: int) -> None:
    """K(X, Y) = |[X, Y]|^2/4 for orthonormal X, Y; 1/2 is attained, also by the geometry of small
    circles."""
    rng = np.random.default_rng(0)

    def skew(a: np.ndarray) -> np.ndarray:
        return a - np.swapaxes(a, -1, -2)

    def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(a * b, axis=(-2, -1), keepdims=True)

    x, y = skew(rng.standard_normal((2, 20_000, n, n)))
    # half of them near the plane of the largest curvature
    root = np.zeros((2, n, n))
    root[0, 1, 0] = root[0, 3, 2] = root[1, 2, 0] = 1.0
    root[1, 3, 1] = -1.0
    root = skew(root)
    x[::2], y[::2] = root[0] + 0.02 * x[::2], root[1] + 0.02 * y[::2]
    x /= np.sqrt(inner(x, x))
    y -= inner(x, y) * x
    y /= np.sqrt(inner(y, y))
    bracket = x @ y - y @ x
    curvature = 0.25 * inner(bracket, bracket)
    assert 0.0 <= curvature.min() < 0.3
    assert 0.48 < curvature.max() <= 0.5 + 1e-12
    # the circumference of small circles there
    space, step = cdp.SpecialOrthogonal(n), 0.1
    turn = 2 * np.pi * np.arange(400)[:, None, None] / 400
    circle = step * np.sqrt(0.5) * (np.cos(turn) * root[0] + np.sin(turn) * root[1])
    ring = space.exp(circle, np.broadcast_to(space.origin, circle.shape))
    length = np.sum(space.dist(ring, np.roll(ring, 1, axis=0)))
    assert 6 * (1 - length / (2 * np.pi * step)) / step**2 == pytest.approx(0.5, abs=0.02)
