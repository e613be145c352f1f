"""Nearest neighbours are those that comparing all distances gives, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

import curvedp as cdp
from curvedp.conformal import Mesh, ball_mesh, fibonacci_mesh, icosphere_mesh, knn_graph
from manifold_list import CASES
from reference import graph as twin

K = 7


def all_dists(manifold, a, b):
    """Distances from every point of `a` to every point of `b`."""
    axes = len(manifold.point_shape)
    return manifold.dist(np.expand_dims(a, axis=1), np.expand_dims(b, axis=0)) if axes else None


def assert_exact(mesh, k=K):
    indices, distances = mesh.neighbours(k)
    dists = all_dists(mesh.manifold, mesh.points, mesh.points)
    expected, least = twin.nearest(dists, k, exclude_self=True)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(distances, least)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_neighbours_are_those_of_least_distance(case):
    n = 60 if case.manifold.point_size > 60 else 300
    assert_exact(Mesh(case.manifold, case.manifold.random_point(n, rng=1)))


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_nearest_nodes_of_other_points_are_those_of_least_distance(case):
    """Few points are compared with all nodes, many are sought: the bits are the same."""
    generator = np.random.default_rng(2)
    mesh = Mesh(case.manifold, case.manifold.random_point(150, rng=generator))
    points = case.manifold.random_point(50, rng=generator)
    indices, distances = mesh.nearest(points)
    dists = all_dists(case.manifold, points, mesh.points)
    expected, least = twin.nearest(dists, 1, exclude_self=False)
    np.testing.assert_array_equal(indices, expected[:, 0])
    np.testing.assert_array_equal(distances, least[:, 0])
    for few in (1, 4):
        index, distance = mesh.nearest(points[:few])
        np.testing.assert_array_equal(index, indices[:few])
        np.testing.assert_array_equal(distance, distances[:few])


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_coincident_nodes_are_neighbours_in_the_order_of_their_indices(case):
    points = case.manifold.random_point(12, rng=3)
    assert_exact(Mesh(case.manifold, np.concatenate([points] * 4)))


def test_ties_on_symmetric_meshes_go_to_the_smaller_index():
    """Exact ties on a grid, ties up to rounding on the icosphere."""
    grid = np.stack(np.meshgrid(*[np.arange(7.0)] * 3), axis=-1).reshape(-1, 3)
    for k in (1, 3, 6, 10, 26):
        assert_exact(Mesh("euclidean:3", grid), k)
        assert_exact(icosphere_mesh(3), k)


@pytest.mark.parametrize("spec", ["euclidean:12", "sphere:15"])
@pytest.mark.parametrize("width", [1e-12, 1e-7, 1e-3])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_clusters_that_single_precision_does_not_resolve(spec, width, offset):
    """In many dimensions distances are first compared in single precision."""
    generator = np.random.default_rng(4)
    manifold = cdp.Sphere(15) if spec == "sphere:15" else cdp.Euclidean(12)
    points = generator.standard_normal((300, manifold.point_size))
    points[:150] = points[0] + width * points[:150]
    points[140:150] = points[0]
    points[-1] *= 1e3
    if spec == "sphere:15":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    else:
        points += offset
    mesh = Mesh(manifold, points)
    assert_exact(mesh)
    queries = np.roll(mesh.points, 1, axis=0)[:40]
    expected, least = twin.nearest(all_dists(manifold, queries, mesh.points), 1, exclude_self=False)
    np.testing.assert_array_equal(mesh.nearest(queries)[0], expected[:, 0])
    np.testing.assert_array_equal(mesh.nearest(queries)[1], least[:, 0])


def test_all_other_nodes_can_be_neighbours():
    for n in (2, 3, 17, 40):
        assert_exact(fibonacci_mesh(n), n - 1)


def test_scattered_hyperbolic_and_spd_nodes_far_from_the_origin():
    generator = np.random.default_rng(5)
    hyperboloid = cdp.Hyperboloid(2)
    far = hyperboloid.exp(
        np.pad(generator.standard_normal((300, 2)) * 3, ((0, 0), (1, 0))), hyperboloid.origin
    )
    assert_exact(Mesh(hyperboloid, far))
    scale = np.exp(2 * generator.standard_normal((200, 3, 1)))
    root = np.linalg.qr(generator.standard_normal((200, 3, 3)))[0] * np.swapaxes(scale, 1, 2)
    assert_exact(Mesh("spd:3", root @ np.swapaxes(root, 1, 2)))


@pytest.mark.parametrize("dim", [2, 4, 9])
def test_neighbours_on_spheres_are_those_of_a_kd_tree(dim):
    x = np.random.default_rng(7).standard_normal((3000, dim + 1))
    x[:1500] *= 0.2
    x[:1500, 0] += 1.0
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    indices, distances = Mesh(cdp.Sphere(dim), x).neighbours(10)
    chords, expected = cKDTree(x).query(x, 11)
    np.testing.assert_array_equal(indices, expected[:, 1:])
    np.testing.assert_allclose(distances, 2 * np.arcsin(chords[:, 1:] / 2), rtol=1e-9)


def test_neighbours_do_not_depend_on_the_number_of_threads():
    meshes = [fibonacci_mesh(5000), Mesh("hyperboloid:3", cdp.Hyperboloid(3).random_point(2000))]
    results = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        results.append([x.tobytes() for mesh in meshes for x in mesh.neighbours(9)])
    cdp.set_num_threads(0)
    assert results[0] == results[1] == results[2]


def test_the_graph_joins_neighbours_in_either_direction(small_case):
    mesh = Mesh(small_case.manifold, small_case.manifold.random_point(80, rng=4))
    lengths = knn_graph(mesh, k=5).lengths
    expected = twin.symmetric_lengths(*mesh.neighbours(5), len(mesh))
    np.testing.assert_allclose(lengths.toarray(), expected, rtol=1e-12)
    assert (lengths != lengths.T).nnz == 0
    assert lengths.has_sorted_indices


@pytest.mark.parametrize("k", [0, 40, 1.5])
def test_impossible_numbers_of_neighbours_are_refused(k):
    with pytest.raises((ValueError, TypeError), match="k must"):
        fibonacci_mesh(40).neighbours(k)


def test_queries_of_any_value_have_a_node():
    """Records come here: nothing may depend on their values but the node."""
    ball = cdp.Ball("sphere", center=[0, 0, 1], radius=0.7)
    mesh = ball_mesh(ball, 30)
    odd = np.array([[np.nan, 0, 0], [np.inf, 1, 1], [0, 0, 0], [1e300, 1e300, 1e300]])
    for manifold in (mesh, Mesh("spd:2", cdp.SPD(2).random_point(20, rng=0))):
        shape = manifold.manifold.point_shape
        points = np.resize(odd, (4, *shape))
        indices, _ = manifold.nearest(points)
        assert ((indices >= 0) & (indices < len(manifold))).all()
