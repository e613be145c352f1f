"""Subspaces against SciPy and geomstats, in every form of a record (docs/proofs/grassmann.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import curvedp as cdp
import oracles

SHAPES = [(2, 1), (5, 1), (4, 2), (5, 2), (5, 3), (7, 3), (6, 5), (30, 4)]
SMALL = [(4, 2), (5, 3), (7, 3)]


def points(space: cdp.Grassmann, count: int, seed: int = 0) -> np.ndarray:
    return space.random_point(count, rng=seed)


def projector(bases: np.ndarray) -> np.ndarray:
    return bases @ np.swapaxes(bases, -1, -2)


def turned(bases: np.ndarray, seed: int = 1) -> np.ndarray:
    """Other orthonormal bases of the same subspaces."""
    rng, k = np.random.default_rng(seed), bases.shape[-1]
    return np.array([x @ np.linalg.qr(rng.standard_normal((k, k)))[0] for x in bases])


def cloud(space: cdp.Grassmann, radius: float, count: int = 300) -> tuple[cdp.Ball, np.ndarray]:
    ball = cdp.Ball(space, points(space, 2)[0], radius)
    rng = np.random.default_rng(5)
    coords = rng.standard_normal((count, space.dim))
    coords *= (1.2 * radius * rng.random(count) / np.linalg.norm(coords, axis=1))[:, None]
    x = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    return ball, x


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distances_are_those_of_scipys_principal_angles(shape: tuple[int, int]) -> None:
    space = cdp.Grassmann(*shape)
    a, b = points(space, 20), points(space, 20, 1)
    angles = np.array([scipy.linalg.subspace_angles(x, y) for x, y in zip(a, b, strict=True)])
    found = space.dist(a, b)
    np.testing.assert_allclose(found, np.linalg.norm(angles, axis=1), atol=1e-12)
    np.testing.assert_allclose(space.dist(turned(a), turned(b, 2)), found, atol=1e-13)


def geomstats_space(n: int, k: int) -> Any:
    return oracles.geomstats("geometry.grassmannian").Grassmannian(n, k)


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_geomstats_agrees_up_to_its_unit_of_length(shape: tuple[int, int]) -> None:
    """Its metric is twice ours on projectors, its points are projectors."""
    space, other = cdp.Grassmann(*shape), geomstats_space(*shape)
    assert cdp.as_manifold(other) == space
    base = points(space, 10)
    rng = np.random.default_rng(3)
    vectors = space.to_tangent(0.3 * rng.standard_normal(base.shape), base)
    ends = space.exp(vectors, base)

    def seen(v: np.ndarray) -> np.ndarray:
        half = v @ np.swapaxes(base, -1, -2)
        return half + np.swapaxes(half, -1, -2)

    metric = other.metric
    np.testing.assert_allclose(
        metric.dist(projector(base), projector(ends)),
        np.sqrt(2) * space.dist(base, ends),
        atol=1e-7,
    )
    np.testing.assert_allclose(
        metric.exp(seen(vectors), projector(base)), projector(ends), atol=1e-12
    )
    np.testing.assert_allclose(
        metric.log(projector(ends), projector(base)), seen(space.log(ends, base)), atol=1e-9
    )
    other_vectors = space.to_tangent(rng.standard_normal(base.shape), base)
    carried = space.parallel_transport(other_vectors, base, end_point=ends)
    half = carried @ np.swapaxes(ends, -1, -2)
    np.testing.assert_allclose(
        metric.parallel_transport(seen(other_vectors), projector(base), direction=seen(vectors)),
        half + np.swapaxes(half, -1, -2),
        atol=1e-9,
    )


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_means_agree_with_geomstats(shape: tuple[int, int]) -> None:
    space, other = cdp.Grassmann(*shape), geomstats_space(*shape)
    ball, x = cloud(space, 0.6, 40)
    estimator = oracles.geomstats("learning.frechet_mean").FrechetMean(other)
    estimator.set(max_iter=200, epsilon=1e-13)
    expected = estimator.fit(projector(x)).estimate_
    found = cdp.nonprivate.frechet_mean(x, space).value
    np.testing.assert_allclose(projector(found), expected, atol=1e-6)
    logs = space.log(x, found)
    assert np.linalg.norm(logs.mean(axis=0)) < 1e-12
    far = projector(ball.center)
    assert np.abs(far - expected).max() > 1e-3


def test_pymanopts_space_is_recognised_and_a_product_of_some_is_not() -> None:
    class Grassmann:
        def __init__(self, n: int, p: int, k: int = 1) -> None:
            self._n, self._p, self._k = n, p, k

    assert cdp.as_manifold(Grassmann(5, 2)) == cdp.Grassmann(5, 2)
    with pytest.raises(ValueError, match="not a manifold"):
        cdp.as_manifold(Grassmann(5, 2, 3))


def test_texts_name_both_numbers() -> None:
    assert cdp.as_manifold("grassmann:5:2") == cdp.Grassmann(5, 2)
    assert cdp.as_manifold("grassmann", (5, 2)) == cdp.Grassmann(5, 2)
    assert cdp.as_manifold("grassmann:5:2").spec == "grassmann:5:2"
    for sizes in ("5", "5:5", "5:0", "5:1.5", "1:1", "5:nan", "5:2:3"):
        with pytest.raises(ValueError, match=r"grassmann|k must|n must"):
            cdp.as_manifold(f"grassmann:{sizes}")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_records_are_bases_of_any_size_or_projectors(shape: tuple[int, int]) -> None:
    space = cdp.Grassmann(*shape)
    n, k = shape
    x = points(space, 9)
    rng = np.random.default_rng(2)
    mixed = x @ rng.uniform(-1, 1, (9, k, k)) * 10.0 ** rng.uniform(-100, 100, (9, 1, k))
    for form in (projector(x), projector(x).reshape(9, -1), x.reshape(9, -1), mixed):
        found = space.as_points(form)
        assert found.shape == x.shape
        assert space.belongs(found, 1e-14).all()
        assert np.all(space.dist(found, x) < 1e-9)
    assert np.array_equal(space.as_points(x), x)
    assert space.as_points(projector(x)[0]).shape == (n, k)


@pytest.mark.parametrize("shape", [(4, 2), (5, 1), (7, 3)], ids=str)
def test_matrices_that_project_on_no_such_subspace_stand_for_none(shape: tuple[int, int]) -> None:
    space = cdp.Grassmann(*shape)
    n, k = shape
    good = projector(points(space, 2)[0])
    asymmetric = good + 1e-3 * np.triu(np.ones((n, n)), 1)
    bad = [1.001 * good, np.eye(n) - 2 * good, np.eye(n), np.zeros((n, n)), asymmetric]
    bad += [np.full((n, n), x) for x in (np.nan, np.inf, 1e308, 5e-324)]
    bad.append(projector(points(cdp.Grassmann(n, k + 1), 2)[0]))
    for matrix in bad:
        assert np.isnan(space.as_points(matrix)).all()
    noisy = good + 1e-7 * np.random.default_rng(0).standard_normal((n, n))
    assert space.dist(space.as_points(noisy), space.as_points(good)) < 1e-5


@pytest.mark.parametrize("guarantee", [cdp.PureDP(1.0), cdp.GDP(1.0)], ids=["pure", "gdp"])
@pytest.mark.parametrize("shape", [(5, 1), *SMALL], ids=str)
def test_releases_do_not_tell_the_bases_of_records(
    shape: tuple[int, int], guarantee: cdp.Guarantee
) -> None:
    space = cdp.Grassmann(*shape)
    ball, x = cloud(space, 0.7)
    releases = [
        cdp.frechet_mean(form, ball, guarantee, seed=4).value
        for form in (x, turned(x), projector(x))
    ]
    # the grid is far coarser than the rounding of the mean
    for other in releases[1:]:
        np.testing.assert_allclose(other, releases[0], atol=1e-13)
    # of all bases the one closest to the centre's: their product is symmetric and positive
    product = ball.center.T @ releases[0]
    np.testing.assert_allclose(product, product.T, atol=1e-14)
    assert np.all(np.linalg.eigvalsh(product) > -1e-14)


@pytest.mark.parametrize("shape", [(4, 2), (7, 3)], ids=str)
def test_private_means_are_close_to_the_mean(shape: tuple[int, int]) -> None:
    space = cdp.Grassmann(*shape)
    ball, x = cloud(space, 0.6, 5000)
    mean = cdp.nonprivate.frechet_mean(x, space).value
    for guarantee in (cdp.PureDP(1.0), cdp.GDP(1.0)):
        release = cdp.frechet_mean(x, ball, guarantee, seed=0)
        assert release.assumptions == {"seeded"}
        assert space.dist(release.value, mean) < 4 * release.expected_error < 0.1


def test_the_largest_ball_ends_at_an_eighth_of_a_turn() -> None:
    space = cdp.Grassmann(5, 2)
    assert space.max_ball_radius == pytest.approx(np.pi / 4)
    assert space.curvature_bounds == (0.0, 2.0)
    assert cdp.Grassmann(5, 4).curvature_bounds == (1.0, 1.0)
    assert cdp.Grassmann(2, 1).curvature_bounds == (0.0, 0.0)
    ball = cdp.Ball(space, space.origin, 0.7)
    expected = 2 * np.tan(0.7 * np.sqrt(2)) / np.sqrt(2) / 500
    assert cdp.sensitivity.frechet_mean(ball, 500) == pytest.approx(expected, rel=1e-8)
    with pytest.raises(ValueError, match="radius"):
        cdp.Ball(space, space.origin, np.pi / 4)


@pytest.mark.parametrize("shape", [(4, 2), (5, 2), (7, 3)], ids=str)
def test_sectional_curvatures_of_random_planes_lie_in_the_bounds(shape: tuple[int, int]) -> None:
    """K(X, Y) = |X Y^T - Y X^T|^2/2 + |X^T Y - Y^T X|^2/2 for orthonormal X, Y (Wong 1968); 2 is
    attained, also by the geometry of small triangles."""
    n, k = shape
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 20_000, n - k, k))
    # half of them near the plane of the largest curvature
    root = np.zeros((2, n - k, k))
    root[0, 0, 0] = root[0, 1, 1] = root[1, 1, 0] = 1.0
    root[1, 0, 1] = -1.0
    x[::2], y[::2] = root[0] + 0.1 * x[::2], root[1] + 0.1 * y[::2]
    x /= np.linalg.norm(x, axis=(1, 2), keepdims=True)
    y -= np.sum(x * y, axis=(1, 2), keepdims=True) * x
    y /= np.linalg.norm(y, axis=(1, 2), keepdims=True)
    xt, yt = np.swapaxes(x, 1, 2), np.swapaxes(y, 1, 2)
    first, second = x @ yt - y @ xt, xt @ y - yt @ x
    curvature = 0.5 * np.sum(first**2, axis=(1, 2)) + 0.5 * np.sum(second**2, axis=(1, 2))
    assert curvature.min() >= -1e-12
    assert 1.9 < curvature.max() <= 2 + 1e-12
    # the circumference of small circles there
    space, step = cdp.Grassmann(n, k), 0.05
    turn = 2 * np.pi * np.arange(400)[:, None, None] / 400
    circle = step * np.sqrt(0.5) * (np.cos(turn) * root[0] + np.sin(turn) * root[1])
    ring = space.exp(space.coords_to_tangent(circle.reshape(400, -1), space.origin), space.origin)
    length = np.sum(space.dist(ring, np.roll(ring, 1, axis=0)))
    assert 6 * (1 - length / (2 * np.pi * step)) / step**2 == pytest.approx(2.0, abs=0.05)
