"""Surfaces given as triangles: nodes, edges, Laplacian, density."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

import curvedp as cdp
from curvedp.conformal import (
    TriangleMesh,
    cotangent_laplacian,
    density,
    edge_graph,
    factor,
    heat_smooth,
    helmholtz_poisson,
    icosphere_mesh,
    shortest_paths,
)

pytest.importorskip("robust_laplacian")

SQUARE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
HALVES = [[0, 1, 2], [0, 2, 3]]


def sphere(level: int = 3) -> TriangleMesh:
    points = icosphere_mesh(level).points
    return TriangleMesh(points, scipy.spatial.ConvexHull(points).simplices)


def slivers(seed: int) -> TriangleMesh:
    """A height field with triangles fifty times as long as wide."""
    flat = np.random.default_rng(seed).random((300, 2))
    corners = scipy.spatial.Delaunay(flat * [1, 50]).simplices
    return TriangleMesh(np.column_stack([flat, 0.1 * np.sin(6 * flat[:, 0])]), corners)


@pytest.mark.parametrize("mesh", [sphere(), slivers(0), slivers(1)], ids=["sphere", "one", "two"])
def test_no_weight_is_negative_and_areas_are_kept(mesh):
    operator = cotangent_laplacian(mesh)
    entries = operator.stiffness.tocoo()
    assert (entries.data[entries.row != entries.col] <= 0).all()
    np.testing.assert_array_equal(operator.mass, mesh.volumes)
    np.testing.assert_allclose(operator(np.ones(len(mesh))), 0.0, atol=1e-9)
    sides = mesh.points[mesh.triangles[:, 1:]] - mesh.points[mesh.triangles[:, :1]]
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2
    assert mesh.volumes.sum() == pytest.approx(areas.sum())


def test_plain_cotangents_of_slivers_are_negative():
    """The control: the bounds of the solver need the intrinsic triangulation."""
    mesh = slivers(0)
    weights = np.zeros((len(mesh), len(mesh)))
    for own in mesh.triangles:
        for k in range(3):
            i, j, top = own[k], own[(k + 1) % 3], own[(k + 2) % 3]
            a, b = mesh.points[i] - mesh.points[top], mesh.points[j] - mesh.points[top]
            cotangent = a @ b / np.linalg.norm(np.cross(a, b))
            weights[i, j] += cotangent / 2
            weights[j, i] += cotangent / 2
    assert weights.min() < 0


def test_eigenvalues_of_the_sphere():
    operator = cotangent_laplacian(sphere(4))
    mass = scipy.sparse.diags_array(operator.mass)
    start = np.ones(len(operator.mass))
    found = scipy.sparse.linalg.eigsh(
        operator.stiffness, 16, mass, sigma=-0.1, v0=start, return_eigenvectors=False
    )
    exact = np.repeat([degree * (degree + 1) for degree in range(4)], [1, 3, 5, 7])
    np.testing.assert_allclose(np.sort(found), exact, rtol=0.01, atol=1e-6)


def test_equations_are_solved_on_the_surface():
    mesh = sphere(4)
    operator, height = cotangent_laplacian(mesh), mesh.points[:, 2]
    found = helmholtz_poisson(operator, height, upsilon=1.0)
    np.testing.assert_allclose(found.value, height / 3, atol=0.005)
    warm = heat_smooth(operator, height, 0.5)
    np.testing.assert_allclose(warm, height * math.exp(-1), atol=0.005)


def test_edges_are_those_of_the_triangles():
    graph = edge_graph(TriangleMesh(SQUARE, HALVES))
    assert graph.k is None
    assert graph.lengths.nnz == 2 * 5
    start = np.array([np.inf, 0.0, np.inf, np.inf])
    np.testing.assert_allclose(shortest_paths(graph, start), [1, 0, 1, 2])
    folded = TriangleMesh([*SQUARE[:3], [1.0, 0.01, 0.01]], [[0, 1, 2], [0, 2, 3]])
    paths = shortest_paths(edge_graph(folded), start)
    assert paths[3] > 1  # not over the fold, where the two are near


def test_a_density_lies_on_the_surface():
    mesh = sphere()
    ball = cdp.Ball("euclidean:3", center=[0.0, 0.0, 0.0], radius=1.01)
    rng = np.random.default_rng(0)
    north = rng.standard_normal((5000, 3)) * 0.1 + [0.0, 0.0, 1.0]
    found = density(north, ball, cdp.PureDP(1.0), mesh=mesh)
    assert found.mesh is mesh
    assert (
        found.value[np.argmax(mesh.points[:, 2])]
        > 20 * np.abs(found.value[mesh.points[:, 2] < 0]).mean()
    )
    again = cdp.Release.from_json(found.to_json())
    assert again == found
    np.testing.assert_array_equal(again.mesh.triangles, mesh.triangles)
    np.testing.assert_array_equal(factor(again).phi, factor(found).phi)
    assert factor(found).phi.argmin() == found.value.argmax()
    rate = 1 / found.scale
    variance = 2 * math.exp(-rate) / math.expm1(-rate) ** 2
    in_two_dimensions = variance * len(mesh) * mesh.volumes.sum() / 5000**2 / (8 * math.pi)
    assert found.heat_time == pytest.approx(in_two_dimensions)


def test_a_record_counts_at_the_vertex_nearest_to_it():
    mesh, ball = sphere(1), cdp.Ball("euclidean:3", center=[0.0, 0.0, 0.0], radius=2.0)
    records = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 3))
    # no noise but with a probability of 2 e^-50 a vertex
    found = density(records, ball, cdp.PureDP(100.0), mesh=mesh, heat_time=0.0)
    gaps = np.linalg.norm(records[:, None] - mesh.points, axis=2)
    counts = np.bincount(gaps.argmin(axis=1), minlength=len(mesh))
    np.testing.assert_allclose(found.value * 50 * mesh.volumes, counts, atol=1e-9)


@pytest.mark.parametrize(
    ("vertices", "triangles", "error", "words"),
    [
        (np.zeros((4, 2)), HALVES, ValueError, "vertices must have shape"),
        ([*SQUARE[:3], [np.nan, 0, 0]], HALVES, ValueError, "finite"),
        (SQUARE, [[0, 1, 4]], ValueError, "from 0 to 3"),
        (SQUARE, [[0, 1, -1]], ValueError, "from 0 to 3"),
        (SQUARE, [[0, 1, 1]], ValueError, "one corner twice"),
        (SQUARE, [[0.0, 1.0, 2.0]], TypeError, "integers"),
        (SQUARE, [0, 1, 2], ValueError, r"\(m, 3\)"),
        (SQUARE, np.empty((0, 3), int), ValueError, r"\(m, 3\)"),
        (SQUARE, [[0, 1, 2]], ValueError, "no triangle"),
        (np.array(SQUARE) * [1, 0, 0], HALVES, ValueError, "no triangle"),
        (np.array(SQUARE) * 1e200, HALVES, ValueError, "no triangle"),
    ],
)
def test_what_is_no_surface_is_refused(vertices, triangles, error, words):
    with np.errstate(all="ignore"), pytest.raises(error, match=words):
        TriangleMesh(vertices, triangles)


def test_other_nodes_have_no_triangles():
    for function in (edge_graph, cotangent_laplacian):
        with pytest.raises(TypeError, match="TriangleMesh"):
            function(icosphere_mesh(1))


def test_the_core_refuses_edges_that_do_not_ascend():
    graph = edge_graph(TriangleMesh(SQUARE, HALVES)).kernels
    for edges in ([[1, 0]], [[0, 4]], [[-1, 2]], [[1, 2], [0, 1]], [[1, 1]]):
        with pytest.raises(ValueError, match="ascend"):
            type(graph).joined(4, np.array(edges, dtype=np.int64), np.ones(len(edges)))
