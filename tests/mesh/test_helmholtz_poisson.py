"""The Helmholtz-Poisson solver: its certificates hold, whatever the method."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
from scipy.sparse import diags

import curvedp as cdp
from curvedp.conformal import Mesh, fibonacci_mesh, helmholtz_poisson, knn_graph, laplacian

METHODS = ("jacobi", "multigrid", "auto")


def random_mesh(spec, n, seed=0):
    manifold = cdp.as_manifold(spec)
    generator = np.random.default_rng(seed)
    return Mesh(manifold, manifold.random_point(n, rng=generator), generator.uniform(0.5, 2, n))


def dense_solution(operator, upsilon, h):
    matrix = operator.stiffness.toarray() + upsilon * np.diag(operator.mass)
    # in quadruple-like accuracy: two steps of refinement in extended precision
    factor = scipy.linalg.cho_factor(matrix)
    sigma = scipy.linalg.cho_solve(factor, operator.mass * h)
    weights = np.longdouble(1) * -(matrix - np.diag(np.diag(matrix)))
    for _ in range(3):
        x = sigma.astype(np.longdouble)
        image = weights.sum(1) * x - weights @ x + upsilon * operator.mass * x
        sigma = x + scipy.linalg.cho_solve(factor, (operator.mass * h - image).astype(float))
    return sigma


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spec", ["sphere:2", "spd:2", "sphere:6"])
@pytest.mark.parametrize("upsilon", [1e-4, 1.0, 1e4])
def test_the_certified_error_holds_against_a_dense_solution(method, spec, upsilon):
    operator = laplacian(knn_graph(random_mesh(spec, 500), k=8))
    h = np.random.default_rng(1).standard_normal(500)
    exact = dense_solution(operator, upsilon, h)
    for tol in (1e-3, 1e-8, 1e-14):
        solution = helmholtz_poisson(operator, h, upsilon=upsilon, tol=tol, method=method)
        error = solution.value - exact
        norm = np.sqrt((operator.mass * error**2).sum())
        assert norm <= solution.error
        assert np.abs(error).max() <= solution.max_error
        assert solution.error == pytest.approx(solution.residual / upsilon)
        if tol > 1e-14:
            assert solution.converged
            assert solution.residual <= tol * np.sqrt((operator.mass * h**2).sum())


def test_the_certificate_is_no_idle_bound():
    """It is attained by constants: there S vanishes and the error is residual / upsilon."""
    operator = laplacian(knn_graph(fibonacci_mesh(2000)))
    coarse = helmholtz_poisson(operator, np.ones(2000), upsilon=0.5, tol=1e-3, method="multigrid")
    error = np.abs(coarse.value - 2.0).max()
    assert error <= coarse.max_error
    rough = np.random.default_rng(0).standard_normal(2000)
    rough -= (operator.mass * rough).sum() / operator.mass.sum()
    rough_solution = helmholtz_poisson(operator, rough, upsilon=0.5, tol=1e-2, method="jacobi")
    fine = helmholtz_poisson(operator, rough, upsilon=0.5, tol=1e-12, method="multigrid")
    distance = np.sqrt((operator.mass * (rough_solution.value - fine.value) ** 2).sum())
    assert 1e-4 * rough_solution.error < distance <= rough_solution.error


@pytest.mark.parametrize("normalization", ["unnormalised", "random-walk", "density-corrected"])
@pytest.mark.parametrize("method", METHODS)
def test_solutions_are_those_of_scipy(normalization, method):
    mesh = fibonacci_mesh(3000)
    operator = laplacian(knn_graph(mesh, k=12), normalization=normalization)
    h = np.exp(4 * mesh.points[:, 0])
    matrix = (operator.stiffness + diags(0.7 * operator.mass)).tocsc()
    expected = scipy.sparse.linalg.spsolve(matrix, operator.mass * h)
    solution = helmholtz_poisson(operator, h, upsilon=0.7, tol=1e-11, method=method)
    np.testing.assert_allclose(solution.value, expected, rtol=1e-8)
    assert solution.method == method or method == "auto"


def test_multigrid_needs_as_many_iterations_on_fine_meshes_as_on_coarse_ones():
    iterations = []
    for n in (2_000, 8_000, 32_000):
        mesh = fibonacci_mesh(n)
        operator = laplacian(knn_graph(mesh, k=10))
        h = np.exp(8 * (mesh.points[:, 0] - 1))
        solution = helmholtz_poisson(operator, h, upsilon=1.0, tol=1e-10, method="multigrid")
        assert solution.converged
        iterations.append(int(solution.n_iter))
    assert max(iterations) <= 30
    assert iterations[2] <= iterations[0] + 8


@pytest.mark.parametrize("method", ["jacobi", "multigrid", "auto"])
@pytest.mark.parametrize(("scaled", "upsilon"), [(False, 0.01), (True, 1.0)])
def test_every_iteration_converges_on_a_very_uneven_mesh(method, scaled, upsilon):
    """Half of the nodes about one point: weights differ by many powers of ten.

    On this very mesh a smoother for an estimated spectrum makes multigrid indefinite.
    """
    n = 20_000
    x = np.random.default_rng(4).standard_normal((n, 3))
    x[: n // 2] *= 0.35
    x[: n // 2, 0] += 1.0
    mesh = Mesh("sphere", x / np.linalg.norm(x, axis=1, keepdims=True), np.ones(n))
    bandwidth = np.median(mesh.neighbours(10)[1][:, -1]) ** 2 / 4
    operator = laplacian(knn_graph(mesh, k=10), bandwidth=bandwidth, scaled=scaled)
    noise = np.random.default_rng(5).laplace(0, 0.01, n)
    h = np.exp(8 * (mesh.points[:, 0] - 1)) + noise
    solution = helmholtz_poisson(operator, h.mean() - h, upsilon=upsilon, method=method)
    assert solution.converged
    if method == "multigrid":
        assert solution.n_iter < 100


def test_solutions_obey_the_maximum_principle_of_theorem_III_5():
    """(c - f_max)/upsilon <= sigma <= (c - f_min)/upsilon, and phi = e^(2 sigma) accordingly."""
    mesh = fibonacci_mesh(3000)
    operator = laplacian(knn_graph(mesh))
    generator = np.random.default_rng(2)
    for upsilon in (0.05, 1.0, 20.0):
        f = np.exp(6 * mesh.points[:, 1]) + generator.laplace(size=3000)
        c = (operator.mass * f).sum() / operator.mass.sum()
        solution = helmholtz_poisson(operator, c - f, upsilon=upsilon)
        low, high = (c - f.max()) / upsilon, (c - f.min()) / upsilon
        assert low - solution.max_error <= solution.value.min()
        assert solution.value.max() <= high + solution.max_error
        # the mean of the right-hand side vanishes, and with it that of the solution
        assert abs((operator.mass * solution.value).sum()) <= 1e-6 * np.abs(solution.value).max()


def test_constant_densities_have_the_solution_zero_and_the_bounds_are_sharp():
    operator = laplacian(knn_graph(fibonacci_mesh(500)))
    zero = helmholtz_poisson(operator, np.zeros(500), upsilon=0.1)
    assert not zero.value.any()
    assert zero.error == 0


@pytest.mark.parametrize("upsilon", [0.01, 1.0, 1e6])
def test_conjugate_gradients_leave_the_constants_out(upsilon):
    """L 1 = 0: a constant is known at once, alone or beside other parts."""
    mesh = random_mesh("sphere:3", 4000)
    operator = laplacian(knn_graph(mesh))
    constant = helmholtz_poisson(operator, np.full(4000, 3.0), upsilon=upsilon, method="jacobi")
    assert constant.converged
    assert constant.n_iter <= 1  # of rounding errors
    np.testing.assert_allclose(constant.value, 3 / upsilon, rtol=1e-12)
    h = mesh.points[:, 0] - (operator.mass @ mesh.points[:, 0]) / operator.mass.sum()
    alone, raised = (
        helmholtz_poisson(operator, g, upsilon=upsilon, method="jacobi") for g in (h, h + 1)
    )
    assert raised.converged
    assert raised.n_iter <= alone.n_iter
    np.testing.assert_allclose(
        raised.value, alone.value + 1 / upsilon, rtol=0, atol=alone.max_error + raised.max_error
    )


def test_conjugate_gradients_go_on_where_rounding_brings_the_constants_back():
    """Four clusters without edges between them: residuals grow by many powers of ten on the way."""
    generator = np.random.default_rng(1)
    centers = generator.standard_normal((4, 3))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    x = np.repeat(centers, [1500, 1000, 9, 9], axis=0) + 1e-3 * generator.standard_normal((2518, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    mesh = Mesh("sphere", x, np.random.default_rng(0).uniform(0.5, 2, 2518))
    operator = laplacian(knn_graph(mesh, k=8))
    h = generator.standard_normal(2518)
    solution = helmholtz_poisson(operator, h, upsilon=1e-3, method="jacobi")
    assert solution.residual < 1e-4  # of 56; rounding allows no tenth digit


@pytest.mark.parametrize("upsilon", [1e-30, 1e306])
def test_extreme_shifts_do_not_disturb_the_constants(upsilon):
    """upsilon times the volume, or the mean of h over it, may leave the range of numbers."""
    mesh = random_mesh("sphere:2", 3000)
    operator = laplacian(knn_graph(mesh))
    h = np.random.default_rng(3).standard_normal(3000)
    h -= (operator.mass @ h) / operator.mass.sum()
    if upsilon > 1:  # otherwise the solution would leave the range of numbers
        h += 1.0
    norm = np.sqrt(operator.mass @ h**2)
    solution = helmholtz_poisson(operator, h, upsilon=upsilon, method="jacobi")
    assert solution.residual < 1e-9 * norm


def test_several_right_hand_sides_are_solved_like_each_alone():
    operator = laplacian(knn_graph(fibonacci_mesh(2500), k=12))
    h = np.random.default_rng(3).standard_normal((2, 3, 2500))
    together = helmholtz_poisson(operator, h, upsilon=1.0, method="multigrid")
    assert together.value.shape == h.shape
    assert together.error.shape == (2, 3)
    alone = helmholtz_poisson(operator, h[1, 2], upsilon=1.0, method="multigrid")
    np.testing.assert_array_equal(together.value[1, 2], alone.value)


def test_solutions_do_not_depend_on_the_number_of_threads():
    mesh = fibonacci_mesh(20_000)
    operator = laplacian(knn_graph(mesh, k=10))
    h = np.exp(mesh.points[:, 0])
    results = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        results.append(
            [
                helmholtz_poisson(operator, h, upsilon=1.0, tol=tol, method=m).value.tobytes()
                for m, tol in (("multigrid", 1e-10), ("jacobi", 1e-3))
            ]
        )
    cdp.set_num_threads(0)
    assert results[0] == results[1] == results[2]


def test_loose_ends_do_not_break_any_method():
    """Nodes far from all others, pairs, and a component that is a single distant cluster."""
    generator = np.random.default_rng(4)
    points = np.concatenate(
        [generator.standard_normal((800, 2)), 1e3 + generator.standard_normal((5, 2)), [[1e6, 0]]]
    )
    mesh = Mesh("euclidean:2", points)
    operator = laplacian(knn_graph(mesh, k=3))
    h = generator.standard_normal(len(points))
    for method in METHODS:
        solution = helmholtz_poisson(operator, h, upsilon=1e-3, tol=1e-8, method=method)
        assert np.isfinite(solution.value).all()
        assert solution.converged, method


def test_wrong_arguments_are_refused_by_name():
    operator = laplacian(knn_graph(fibonacci_mesh(50), k=5))
    ones = np.ones(50)
    for arguments, name in [
        ({"upsilon": 0.0}, "upsilon"),
        ({"upsilon": np.inf}, "upsilon"),
        ({"upsilon": 1.0, "tol": -1.0}, "tol"),
        ({"upsilon": 1.0, "method": "lu"}, "method"),
    ]:
        with pytest.raises(ValueError, match=name):
            helmholtz_poisson(operator, ones, **arguments)
    with pytest.raises(ValueError, match="h must be finite"):
        helmholtz_poisson(operator, np.full(50, np.nan), upsilon=1.0)
    with pytest.raises(ValueError, match="h must have shape"):
        helmholtz_poisson(operator, np.ones(49), upsilon=1.0)
