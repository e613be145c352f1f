"""The conformal factor: certified solution, bounds (16) and (17), and the limit on the sphere."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy.special import lpmv

import curvedp as cdp
from curvedp.conformal import (
    Mesh,
    ball_mesh,
    density,
    factor,
    fibonacci_mesh,
    helmholtz_poisson,
    icosphere_mesh,
    knn_graph,
    laplacian,
    mean_in_metric,
    sigma_error,
)


def operator_on(spec="sphere:2", n=400, seed=0, k=10):
    manifold = cdp.as_manifold(spec)
    rng = np.random.default_rng(seed)
    mesh = Mesh(manifold, manifold.random_point(n, rng=rng), rng.uniform(0.5, 2, n))
    return laplacian(knn_graph(mesh, k))


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "sphere:9"])
@pytest.mark.parametrize("upsilon", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e4])
def test_bounds_of_theorem_iii_5_hold(spec, upsilon, spread):
    operator = operator_on(spec)
    f = spread * np.random.default_rng(1).standard_normal(400) ** 3
    found = factor(f, upsilon, laplacian=operator)
    low, high = found.sigma_bounds
    assert low <= found.sigma.min() <= 0 <= found.sigma.max() <= high
    low, high = found.phi_bounds
    assert low <= found.phi.min()
    assert found.phi.max() <= high
    assert np.isfinite(found.phi).all()
    assert (found.phi > 0).all()
    # the mean of sigma by mass is 0, as L sends constants to 0 and c is the mean of f
    inside = np.abs(found.sigma) < 300
    if inside.all():
        mean = (operator.mass @ found.sigma) / operator.mass.sum()
        assert abs(mean) <= found.max_error + 1e-9 * np.abs(found.sigma).max()


def test_bounds_are_attained_by_constant_densities():
    found = factor(np.full(400, 3.7), 0.5, laplacian=operator_on())
    assert found.sigma_bounds == (0.0, 0.0)
    np.testing.assert_array_equal(found.phi, 1.0)


def test_a_sign_error_would_break_the_bounds():
    operator = operator_on()
    f = np.where(np.arange(400) == 7, 1.0, 0.0)
    found = factor(f, 1e3, laplacian=operator)
    turned = -helmholtz_poisson(operator, found.mean_density - f, upsilon=1e3).value
    low, high = found.sigma_bounds
    assert turned.min() < low or turned.max() > high


@pytest.mark.parametrize("method", ["jacobi", "multigrid"])
def test_sigma_is_certified_to_1e_8_of_the_discrete_solution(method):
    mesh, ball = fibonacci_mesh(3000), cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.5)
    release = density(mesh.points[:500], ball, cdp.PureDP(1.0), mesh=mesh)
    found = factor(release, upsilon=1.0, method=method)
    assert found.max_error < 1e-8
    exact = np.linalg.solve(
        found.laplacian.stiffness.toarray() + np.diag(found.laplacian.mass),
        found.laplacian.mass * (found.mean_density - release.value),
    )
    assert np.abs(found.sigma - exact).max() < 1e-8


def harmonic(mesh, degree, order):
    x, y, z = mesh.points.T
    return lpmv(order, degree, z) * np.cos(order * np.arctan2(y, x))


@pytest.mark.parametrize(
    ("build", "ratio", "last"),
    [(lambda s: fibonacci_mesh(10 * 4**s), 0.5, 0.02), (icosphere_mesh, 0.8, 0.03)],
    ids=["fibonacci", "icosphere"],
)
def test_solutions_tend_to_those_on_the_sphere(build, ratio, last):
    """h = Y has the solution Y / (l (l + 1) + upsilon): in norm and at the worst node, three
    meshes, both shrinking."""
    errors = []
    for level in (3, 4, 5):
        mesh = build(level)
        operator = laplacian(knn_graph(mesh, 24))
        h = np.array([harmonic(mesh, degree, 1) for degree in (1, 2, 3, 4)])
        exact = h / np.array([3.0, 7.0, 13.0, 21.0])[:, None]
        gap = helmholtz_poisson(operator, h, upsilon=1.0).value - exact
        norm = np.sqrt((operator.mass * gap**2).sum(1) / (operator.mass * exact**2).sum(1))
        errors.append((norm.max(), (np.abs(gap).max(1) / np.abs(exact).max(1)).max()))
    errors = np.array(errors)
    assert np.all(errors[1:] < ratio * errors[:-1])
    assert errors[-1].max() < last


def test_disconnected_and_isolated_nodes_have_a_factor():
    line = np.concatenate([np.linspace(-1, -0.9, 20), np.linspace(0.9, 1, 20)])[:, None]
    operator = laplacian(knn_graph(Mesh("euclidean:1", line, np.full(40, 0.05)), 3))
    found = factor(np.where(np.arange(40) < 20, 1.0, 0.0), 1.0, laplacian=operator)
    np.testing.assert_allclose(found.sigma, np.where(np.arange(40) < 20, -0.5, 0.5))
    for n in (1, 2):
        mesh = Mesh("sphere:2", np.repeat([[0.0, 0.0, 1.0]], n, 0))
        operator = laplacian(knn_graph(mesh, 1)) if n > 1 else None
        if operator is not None:
            found = factor([2.0, 0.0], 1.0, laplacian=operator)
            assert np.isfinite(found.phi).all()


def test_parameters_are_checked():
    operator = operator_on()
    with pytest.raises(TypeError, match="laplacian"):
        factor(np.zeros(400))
    with pytest.raises(ValueError, match="upsilon"):
        factor(np.zeros(400), 0.0, laplacian=operator)
    with pytest.raises(ValueError, match="finite"):
        factor(np.full(400, np.inf), 1.0, laplacian=operator)
    with pytest.raises(ValueError, match="shape"):
        factor(np.zeros(3), 1.0, laplacian=operator)


def test_noise_moves_sigma_by_less_than_the_bound_and_by_more_than_a_thirtieth():
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    operator = laplacian(knn_graph(ball_mesh(ball, 40), 8))
    records = ball.project(cdp.Sphere(2).random_point(400, rng=3))
    counts = np.bincount(operator.graph.mesh.nearest(records)[0], minlength=40)
    exact = factor(counts / (400 * operator.graph.mesh.volumes), 1e4, laplacian=operator).sigma
    moved = []
    for _ in range(30):
        found = density(
            records, ball, cdp.PureDP(1.0), mesh=operator, heat_time=0.0, coverage=False
        )
        moved.append(np.abs(factor(found, 1e4, laplacian=operator).sigma - exact).max())
        bound = sigma_error(found, 1e4, confidence=1 - 1e-12)
    assert max(moved) < bound
    assert max(moved) > bound / 30, "a thirtieth would not hold"
    for bad in ({"upsilon": 0.0}, {"confidence": 1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            sigma_error(found, **bad)


def test_the_mean_in_the_metric_has_the_least_energy_of_all_nodes():
    mesh = fibonacci_mesh(150)
    graph = knn_graph(mesh, 8)
    sides = np.array([[s * np.sqrt(3) / 2, 0.0, 0.5] for s in (1, -1)])
    found = factor(np.exp(4 * mesh.points @ sides[0]), 2.0, laplacian=laplacian(graph))
    weights = np.zeros(150)
    weights[mesh.nearest(sides)[0]] = 1.0

    def energies(root):
        edges = graph.lengths.toarray() * (root[:, None] + root) / 2
        return scipy.sparse.csgraph.shortest_path(edges, directed=False) ** 2 @ weights

    node = mean_in_metric(found, weights)
    assert node == energies(np.exp(found.sigma)).argmin()
    # between the two, nearer to the side where the metric is long than without it
    assert mesh.points[node, 0] < mesh.points[energies(np.ones(150)).argmin(), 0] - 0.1
    alone = np.zeros(150)
    alone[7] = 2.0
    assert mean_in_metric(found, alone) == 7
    for bad in (-alone, 0 * alone, alone[:5]):
        with pytest.raises(ValueError, match="weights"):
            mean_in_metric(found, bad)
