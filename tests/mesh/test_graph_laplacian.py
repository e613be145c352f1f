"""Graph Laplacians: entry by entry against a dense twin, and in the limit against -Delta_g."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy.linalg import expm
from scipy.sparse import diags
from scipy.sparse.csgraph import dijkstra

import curvedp as cdp
from curvedp.conformal import (
    Mesh,
    ball_mesh,
    fibonacci_mesh,
    heat_smooth,
    icosphere_mesh,
    knn_graph,
    laplacian,
    shortest_paths,
)
from reference import graph as twin

NORMALIZATIONS = ("unnormalised", "random-walk", "density-corrected")


def uneven_mesh(n, seed=0):
    """Nodes on S^2 of which half lie about one pole, with volumes of their own."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, 3))
    x[: n // 2] = 0.5 * x[: n // 2] + [0, 0, 1]
    return Mesh(cdp.Sphere(2), cdp.Sphere(2).project(x), generator.uniform(0.5, 2, n))


def eigenvalues(operator, count):
    root = diags(operator.mass**-0.5)
    symmetric = (root @ operator.stiffness @ root).tocsc()
    values = scipy.sparse.linalg.eigsh(
        symmetric, count, sigma=-1, return_eigenvectors=False, v0=np.ones(len(operator.mass))
    )
    return np.sort(values)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("scaled", [True, False])
def test_entries_are_those_of_the_dense_twin(normalization, scaled):
    mesh = uneven_mesh(120)
    graph = knn_graph(mesh, k=8)
    ours = laplacian(graph, normalization=normalization, bandwidth=0.02, scaled=scaled)
    stiffness, mass = twin.laplacian(
        graph.lengths.toarray(), mesh.volumes, 0.02, 2, normalization, scaled
    )
    np.testing.assert_allclose(ours.stiffness.toarray(), stiffness, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.mass, mass, rtol=1e-12)


def test_the_unscaled_operator_is_that_of_the_literature():
    mesh = Mesh("sphere", fibonacci_mesh(200).points, np.ones(200))
    graph = knn_graph(mesh, k=10)
    ours = laplacian(graph, bandwidth=0.03, scaled=False)
    weights = graph.lengths.copy()
    weights.data = np.exp(-(weights.data**2) / 0.12)
    expected = np.diag(weights.sum(axis=1)) - weights.toarray()
    np.testing.assert_allclose(ours.stiffness.toarray(), expected, atol=1e-14)
    np.testing.assert_array_equal(ours.mass, 1.0)


SPHERICAL = np.repeat(np.arange(5.0), 2 * np.arange(5) + 1)
SPHERICAL *= SPHERICAL + 1


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("mesh", [fibonacci_mesh, icosphere_mesh], ids=["fibonacci", "icosphere"])
def test_eigenvalues_on_the_sphere_approach_l_times_l_plus_1(mesh, normalization):
    """All eigenvalues up to l = 4, with the multiplicities 2l + 1, on two meshes of one kind."""
    errors = []
    for size in (640, 2560) if mesh is fibonacci_mesh else (3, 4):
        operator = laplacian(knn_graph(mesh(size), k=24), normalization=normalization)
        found = eigenvalues(operator, len(SPHERICAL))
        assert abs(found[0]) < 1e-9
        errors.append(np.abs(found[1:] / SPHERICAL[1:] - 1).max())
    assert errors[0] < 0.15
    assert errors[1] < 0.04
    assert errors[1] < 0.5 * errors[0]


def test_only_the_density_correction_sees_through_an_uneven_mesh():
    """Without volumes a dense half of the nodes bends the other operators."""
    mesh = uneven_mesh(2000, seed=1)
    graph = knn_graph(Mesh(mesh.manifold, mesh.points), k=32)
    errors = {
        kind: np.abs(eigenvalues(laplacian(graph, normalization=kind), 4)[1:] / 2 - 1).max()
        for kind in NORMALIZATIONS
    }
    assert errors["density-corrected"] < 0.25
    assert errors["random-walk"] > 0.5
    assert errors["unnormalised"] > 0.5


def test_the_operator_is_right_on_hyperbolic_space_and_spd_matrices():
    """-Delta ½ rho(c, .)^2 = -(1 + (d - 1) rho coth rho) on H^d, and -3 on flat SPD(2)."""
    for spec, exact, tolerance in [
        ("hyperboloid:2", lambda r: -(1 + r / np.tanh(r)), 0.06),
        ("spd:2:log-euclidean", lambda r: np.full_like(r, -3.0), 0.12),
    ]:
        manifold = cdp.as_manifold(spec)
        center = manifold.random_point(rng=0)
        mesh = ball_mesh(cdp.Ball(manifold, center=center, radius=1.5), 6000)
        rho = manifold.dist(center, mesh.points)
        operator = laplacian(knn_graph(mesh, k=40))
        inside = (rho < 1.0) & (rho > 0.05)
        found = operator(rho**2 / 2)[inside]
        assert abs(np.average(found / exact(rho[inside])) - 1) < tolerance


def test_the_operator_applies_to_many_functions_at_once():
    operator = laplacian(knn_graph(fibonacci_mesh(100), k=8))
    f = np.random.default_rng(0).standard_normal((2, 3, 100))
    expected = np.einsum("ij,abj->abi", operator.stiffness.toarray(), f) / operator.mass
    np.testing.assert_allclose(operator(f), expected, rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------ heat


@pytest.mark.parametrize("time", [1e-4, 0.1, 3.0])
def test_heat_smoothing_is_the_matrix_exponential(time):
    operator = laplacian(knn_graph(uneven_mesh(150), k=8))
    f = np.random.default_rng(1).standard_normal((2, 150))
    dense = expm(-time * operator.stiffness.toarray() / operator.mass[:, None])
    np.testing.assert_allclose(heat_smooth(operator, f, time), f @ dense.T, atol=1e-10)


def test_heat_smoothing_keeps_the_integral_and_the_constants():
    operator = laplacian(knn_graph(fibonacci_mesh(1000)))
    f = np.random.default_rng(2).exponential(size=1000)
    smooth = heat_smooth(operator, f, 0.05)
    assert (operator.mass * smooth).sum() == pytest.approx((operator.mass * f).sum(), rel=1e-11)
    assert smooth.min() > 0
    np.testing.assert_allclose(heat_smooth(operator, np.ones(1000), 0.05), 1.0, rtol=1e-11)


def test_heat_decays_as_on_the_sphere():
    mesh = fibonacci_mesh(4000)
    z = mesh.points[:, 2]
    f = z + (3 * z**2 - 1)
    exact = np.exp(-2 * 0.2) * z + np.exp(-6 * 0.2) * (3 * z**2 - 1)
    assert np.abs(heat_smooth(laplacian(knn_graph(mesh)), f, 0.2) - exact).max() < 0.03


# ------------------------------------------------------------------ shortest paths


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "hyperboloid:3"])
def test_shortest_paths_with_start_values_are_those_of_bellman_and_ford(spec):
    manifold = cdp.as_manifold(spec)
    generator = np.random.default_rng(3)
    mesh = Mesh(manifold, manifold.random_point(90, rng=generator))
    graph = knn_graph(mesh, k=5)
    start, phi = generator.exponential(size=90), generator.uniform(0.5, 4, 90)
    root = np.sqrt(phi)
    lengths = graph.lengths.toarray() * 0.5 * (root[:, None] + root)
    np.testing.assert_allclose(
        shortest_paths(graph, start, conformal_factor=phi),
        twin.shortest_paths(lengths, start),
        rtol=1e-13,
    )


def test_shortest_paths_from_one_node_are_those_of_scipy():
    graph = knn_graph(fibonacci_mesh(2000), k=12)
    start = np.full(2000, np.inf)
    start[7] = 0.0
    expected = dijkstra(graph.lengths, indices=7)
    np.testing.assert_allclose(shortest_paths(graph, start), expected, rtol=1e-13)


def test_path_lengths_are_lipschitz_in_the_start_values():
    """Moving all starts by at most s moves no path length by more: privacy rests on it."""
    graph = knn_graph(fibonacci_mesh(800), k=10)
    generator = np.random.default_rng(4)
    for _ in range(20):
        phi = generator.uniform(0.1, 10, 800)
        start = generator.uniform(0, 3, 800)
        moved = start + generator.uniform(0, 0.01, 800)
        before = shortest_paths(graph, start, conformal_factor=phi)
        after = shortest_paths(graph, moved, conformal_factor=phi)
        assert np.abs(after - before).max() <= 0.01 * (1 + 1e-12)


def test_nodes_out_of_reach_are_infinitely_far():
    points = np.concatenate([np.arange(5.0), 1000 + np.arange(5.0)])[:, None]
    graph = knn_graph(Mesh("euclidean:1", points), k=2)
    start = np.full(10, np.inf)
    start[0] = 1.0
    np.testing.assert_allclose(
        shortest_paths(graph, start), [1, 2, 3, 4, 5] + [np.inf] * 5, rtol=1e-14
    )


# ------------------------------------------------------------------ arguments


def test_wrong_arguments_are_refused_by_name():
    graph = knn_graph(fibonacci_mesh(30), k=5)
    ones = np.ones(30)
    for call, name in [
        (lambda: laplacian(graph, normalization="none"), "normalization"),
        (lambda: laplacian(graph, bandwidth=0.0), "bandwidth"),
        (lambda: shortest_paths(graph, -ones), "start"),
        (lambda: shortest_paths(graph, np.full(30, np.nan)), "start"),
        (lambda: shortest_paths(graph, np.ones(29)), "start"),
        (lambda: shortest_paths(graph, ones, conformal_factor=0 * ones), "conformal_factor"),
        (lambda: heat_smooth(laplacian(graph), ones, -1.0), "time"),
        (lambda: laplacian(graph)(np.ones(31)), "f must"),
    ]:
        with pytest.raises(ValueError, match=name):
            call()
