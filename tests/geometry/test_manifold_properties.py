"""Properties that hold on every manifold: the batteries run over all of tests/manifold_list.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from configurations import batch, far, triple
from manifold_list import CASES, Case, of
from reference.accuracy import EPS, allowance, condition, gap
from reference.twin import Array

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS)
def test_exp_and_log_undo_each_other(case: Case, seed: int) -> None:
    base, vector, _ = triple(case, seed)
    point = case.manifold.exp(vector, base)
    limit = 4 * allowance(case.twin, case.twin.norm(vector, base), base, point)
    assert gap(case.twin, case.manifold.log(point, base), vector, base) <= limit


@given(seed=SEEDS)
def test_norm_of_a_tangent_vector_is_the_distance_it_goes(case: Case, seed: int) -> None:
    base, vector, _ = triple(case, seed)
    length = case.manifold.norm(vector, base)
    point = case.manifold.exp(vector, base)
    limit = 4 * allowance(case.twin, length, base, point)
    assert abs(case.manifold.dist(base, point) - length) <= limit


@given(seed=SEEDS)
def test_distance_is_symmetric_and_vanishes_on_the_diagonal(case: Case, seed: int) -> None:
    a, b = case.twin.random_points(np.random.default_rng(seed), 2, 0.7)
    forth, back = case.manifold.dist(a, b), case.manifold.dist(b, a)
    assert abs(forth - back) <= 2 * allowance(case.twin, float(forth), a, b)
    assert forth >= 0.0
    # Without exact arithmetic a point is at most its own rounding away from itself.
    assert case.manifold.dist(a, a) <= 16 * EPS * condition(case.twin, a)


@given(seed=SEEDS)
def test_triangle_inequality(case: Case, seed: int) -> None:
    a, b, c = case.twin.random_points(np.random.default_rng(seed), 3, 0.7)
    dist = case.manifold.dist
    path = dist(a, b) + dist(b, c)
    assert dist(a, c) <= path + 2 * allowance(case.twin, float(path), a, b, c)


@given(seed=SEEDS)
def test_isometries_keep_distances_and_angles(case: Case, seed: int) -> None:
    twin, manifold = case.twin, case.manifold
    rng = np.random.default_rng(seed)
    move, _ = twin.random_isometry(rng)
    p = twin.random_point(rng, 0.5)
    a, b = (twin.exp(0.4 * far(case) * twin.random_unit_vector(rng, p), p) for _ in range(2))
    moved = [move(p), move(a), move(b)]
    distance = float(manifold.dist(a, b))
    limit = 4 * allowance(twin, 1.0 + distance, p, a) + allowance(twin, 1.0 + distance, *moved[:2])
    assert abs(manifold.dist(moved[1], moved[2]) - distance) <= 4 * limit
    angle = manifold.inner(manifold.log(a, p), manifold.log(b, p), p)
    moved_angle = manifold.inner(
        manifold.log(moved[1], moved[0]), manifold.log(moved[2], moved[0]), moved[0]
    )
    assert abs(moved_angle - angle) <= 8 * limit


@given(seed=SEEDS)
def test_parallel_transport_is_isometric(case: Case, seed: int) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, other = triple(case, seed)
    end = twin.exp(vector, base)
    carried = manifold.parallel_transport(
        np.stack([vector, other]), base, end_point=np.stack([end, end])
    )
    limit = 8 * allowance(twin, 1.0, base, end) * (1.0 + twin.norm(vector, base))
    for a, carried_a in zip((vector, other), carried, strict=True):
        for b, carried_b in zip((vector, other), carried, strict=True):
            before, after = twin.inner(a, b, base), manifold.inner(carried_a, carried_b, end)
            assert abs(after - before) <= limit


@given(seed=SEEDS)
def test_parallel_transport_carries_velocity_to_velocity(case: Case, seed: int) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, _ = triple(case, seed)
    end = twin.exp(vector, base)
    expected = -manifold.log(base, end)
    limit = 8 * allowance(twin, twin.norm(vector, base), base, end)
    carried = manifold.parallel_transport(vector, base, end_point=end)
    assert gap(twin, carried, expected, end) <= limit
    along = manifold.parallel_transport(vector, base, direction=vector)
    assert gap(twin, along, expected, end) <= limit


@given(seed=SEEDS)
def test_parallel_transport_there_and_back_is_the_identity(case: Case, seed: int) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, other = triple(case, seed)
    end = twin.exp(vector, base)
    there = manifold.parallel_transport(other, base, end_point=end)
    back = manifold.parallel_transport(there, end, end_point=base)
    assert gap(twin, back, other, base) <= 8 * allowance(twin, 1.0, base, end)


@given(seed=SEEDS)
def test_coordinates_are_orthonormal_and_invert(case: Case, seed: int) -> None:
    twin, manifold = case.twin, case.manifold
    base, vector, other = triple(case, seed)
    frame = manifold.coords_to_tangent(np.eye(manifold.dim), base)
    assert frame.shape == (manifold.dim, *manifold.point_shape)
    gram = manifold.inner(frame[:, None], frame[None, :], base)
    limit = 8 * allowance(twin, 1.0, base)
    assert np.max(np.abs(gram - np.eye(manifold.dim))) <= limit
    coords = manifold.tangent_to_coords(np.stack([vector, other]), base)
    assert coords.shape == (2, manifold.dim)
    size = 1.0 + twin.norm(vector, base)
    assert abs(coords[0] @ coords[1] - twin.inner(vector, other, base)) <= limit * size
    back = manifold.coords_to_tangent(coords, base)
    assert gap(twin, back[0], vector, base) <= limit * size
    assert gap(twin, back[1], other, base) <= limit * size


@given(seed=SEEDS)
def test_coordinates_depend_on_the_base_point_alone(case: Case, seed: int) -> None:
    manifold = case.manifold
    base, vector, other = triple(case, seed)
    alone = manifold.tangent_to_coords(vector, base)
    again = manifold.tangent_to_coords(np.stack([other, vector, other]), base)[1]
    assert np.array_equal(alone, again)


@given(seed=SEEDS)
def test_projection_reaches_the_manifold_and_leaves_its_points_alone(case: Case, seed: int) -> None:
    manifold, twin = case.manifold, case.twin
    rng = np.random.default_rng(seed)
    ambient = rng.standard_normal((4, *manifold.point_shape))
    projected = manifold.project(ambient)
    assert np.all(manifold.belongs(projected, atol=1e-9))
    point = twin.random_point(rng, 0.5)
    size = np.max(np.abs(point))
    error = np.max(np.abs(manifold.project(point) - point))
    assert error <= 64 * EPS * condition(twin, point) * size
    assert manifold.belongs(point, atol=1e-12 * condition(twin, point))


def off_the_manifold(case: Case, point: Array) -> Array | None:
    """A finite array that no tolerance below 0.1 takes for a point; none exists in flat space."""
    if case.name.startswith(("euclidean", "torus")):
        return None
    if case.name.startswith("hpd"):
        return point + np.array([0.0, 0.2])  # symmetric where it should be Hermitian
    if case.name.startswith("spd"):
        return -point
    return 1.5 * point


def test_belongs_refuses_what_is_not_a_point(case: Case) -> None:
    manifold = case.manifold
    point = case.twin.random_point(np.random.default_rng(0), 0.5)
    wrong = off_the_manifold(case, point)
    if wrong is not None:
        assert not manifold.belongs(wrong)
    for value in (np.nan, np.inf, -np.inf):
        assert not manifold.belongs(np.full(manifold.point_shape, value))
        for start in (point, manifold.origin):
            for at in range(min(start.size, 9)):
                spoilt = start.copy()
                spoilt.flat[at] = value
                assert not manifold.belongs(spoilt)
    answers = manifold.belongs(np.stack([point, np.full_like(point, np.nan), point]))
    assert answers.dtype == bool
    assert answers.tolist() == [True, False, True]


@given(seed=SEEDS)
def test_to_tangent_is_a_projection(case: Case, seed: int) -> None:
    manifold, twin = case.manifold, case.twin
    rng = np.random.default_rng(seed)
    base = twin.random_point(rng, 0.5)
    ambient = rng.standard_normal(manifold.point_shape)
    once = manifold.to_tangent(ambient, base)
    limit = 64 * EPS * condition(twin, base) * (1.0 + np.max(np.abs(once)))
    assert np.max(np.abs(manifold.to_tangent(once, base) - once)) <= limit
    coords = manifold.tangent_to_coords(once, base)
    size = 1.0 + twin.norm(once, base)
    back = manifold.coords_to_tangent(coords, base)
    assert gap(twin, back, once, base) <= 8 * allowance(twin, size, base)


def test_random_points_belong_and_follow_the_shape_rule(case: Case) -> None:
    manifold = case.manifold
    one = manifold.random_point(rng=np.random.default_rng(1))
    assert one.shape == manifold.point_shape
    many = manifold.random_point(7, rng=np.random.default_rng(1))
    assert many.shape == (7, *manifold.point_shape)
    assert np.all(manifold.belongs(many, atol=1e-9))
    again = manifold.random_point(7, rng=np.random.default_rng(1))
    assert np.array_equal(many, again)
    fresh = manifold.random_point(7)
    assert not np.array_equal(fresh, manifold.random_point(7))


def test_random_tangent_vectors_are_tangent(case: Case) -> None:
    manifold, twin = case.manifold, case.twin
    base = twin.random_point(np.random.default_rng(2), 0.5)
    assert (
        manifold.random_tangent_vec(base, rng=np.random.default_rng(3)).shape
        == manifold.point_shape
    )
    vectors = manifold.random_tangent_vec(base, 5, rng=np.random.default_rng(3))
    assert vectors.shape == (5, *manifold.point_shape)
    for vector in vectors:
        off = gap(twin, manifold.to_tangent(vector, base), vector, base)
        assert off <= allowance(twin, 1.0 + twin.norm(vector, base), base)


@pytest.mark.parametrize("case", [*of(CASES, "sphere"), *of(CASES, "kendall")], ids=repr)
def test_random_points_of_compact_spaces_are_uniform(case: Case) -> None:
    """Mean 0 and covariance I/D of the entries in the centred ambient space of D dimensions.

    Kendall points are representatives, uniform up to a rotation that is theirs to choose, so only
    what the rotation leaves is tested: the diagonal of z z*.
    """
    n, manifold = 20_000, case.manifold
    points = manifold.random_point(n, rng=np.random.default_rng(4))
    if case.name.startswith("kendall"):
        k = manifold.point_shape[0]
        energy = np.sum(points**2, axis=2)  # |z_j|^2 ~ (1 - 1/k) Beta(1, k - 2), mean 1/k
        mean = 1.0 / k
        beta_variance = (k - 2) / ((k - 1) ** 2 * k)
        deviation = (1.0 - 1.0 / k) * np.sqrt(beta_variance / n)
        assert np.max(np.abs(energy.mean(axis=0) - mean)) <= 6 * deviation
        return
    units = points / case.twin.radius
    dimension = units.shape[1]
    assert np.max(np.abs(units.mean(axis=0))) <= 6 / np.sqrt(n * dimension)
    covariance = units.T @ units / n
    deviation = np.sqrt(2.0 / n) / dimension
    assert np.max(np.abs(covariance - np.eye(dimension) / dimension)) <= 6 * deviation


def test_pairwise_distances_are_the_distances_of_all_pairs(case: Case) -> None:
    manifold = case.manifold
    a, _, b = batch(case, 90, 37)
    b = b[:5]
    table = manifold.pairwise_dist(a, b)
    assert table.shape == (37, 5)
    expected = manifold.dist(a[:, None], b[None, :])
    assert np.max(np.abs(table - expected)) <= 2 * allowance(case.twin, far(case), *a, *b)
    square = manifold.pairwise_dist(a)
    assert square.shape == (37, 37)
    assert np.array_equal(square, square.T)
    assert np.max(np.abs(square - manifold.dist(a[:, None], a[None, :]))) <= 2 * allowance(
        case.twin, 2.0, *a
    )
    assert manifold.pairwise_dist(a[:0], b).shape == (0, 5)


def test_the_manifold_knows_itself(case: Case) -> None:
    import curvedp

    manifold, twin = case.manifold, case.twin
    assert manifold.dim == twin.dim
    assert tuple(manifold.point_shape) == twin.point_shape
    assert manifold.point_size == int(np.prod(twin.point_shape))
    assert manifold.curvature_bounds == pytest.approx(case.curvature_bounds)
    assert manifold.injectivity_radius == pytest.approx(twin.injectivity_radius)
    assert manifold.is_hadamard == np.isinf(twin.injectivity_radius)
    assert manifold.is_homogeneous
    assert manifold.is_flat == (manifold.is_hadamard and case.curvature_bounds == (0.0, 0.0))
    upper = max(case.curvature_bounds[1], 0.0)
    bound = min(twin.injectivity_radius, np.pi / np.sqrt(upper) if upper else np.inf)
    assert manifold.max_ball_radius == pytest.approx(0.5 * bound)
    assert curvedp.as_manifold(manifold) is manifold
    twin_of_spec = curvedp.as_manifold(manifold.spec)
    assert twin_of_spec.spec == manifold.spec
    a, b = twin.random_points(np.random.default_rng(7), 2, 0.5)
    assert twin_of_spec.dist(a, b) == manifold.dist(a, b)
