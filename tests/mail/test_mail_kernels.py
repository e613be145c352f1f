"""Kernels of PrivateMail agree with dense NumPy matrices, whatever the memory and the threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial

import curvedp as cdp
from curvedp import _core
from curvedp.mail import Laplacians, cccp_embedding, nearest, objective, spectral_embedding
from curvedp.mail.reference import dense_laplacians
from reference import mail as twin


def unit_rows(n, m, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, m))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def problem(n=500, m=7, k=3, classes=4, seed=1):
    rng = np.random.default_rng(seed)
    return unit_rows(n, m, seed), rng.integers(0, classes, n), rng.standard_normal((n, k))


@pytest.mark.parametrize("form", ["normalised", "published"])
@pytest.mark.parametrize("memory_limit", [0, 2**30])
@pytest.mark.parametrize(("n", "alpha"), [(2, 0.5), (383, 0.7), (384, -0.4), (900, 1.3)])
def test_an_iteration_agrees_with_the_dense_matrices(form, memory_limit, n, alpha):
    rows, labels, z = problem(n)
    operators = Laplacians(
        rows, 0.8, labels=labels, label_bandwidth=1.4, radius=1.0, memory_limit=memory_limit
    )
    assert operators.is_stored == (memory_limit > 0)
    w_x, w_y = twin.gaussian_kernel(rows, 0.8), twin.label_kernel(labels, 1.4)
    expected = found = z
    for _ in range(3):
        expected = twin.iterate(expected, w_x, w_y, alpha, form)
        found = operators.step(found, alpha, form)
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def test_single_precision_agrees_to_single_precision():
    rows, labels, z = problem(900, 50)
    w_x, w_y = twin.gaussian_kernel(rows, 0.8), twin.label_kernel(labels, 0.8)
    expected = twin.iterate(z, w_x, w_y, 0.5, "normalised")
    for memory_limit in (0, 2**30):
        operators = Laplacians(rows, 0.8, labels=labels, dtype="float32", memory_limit=memory_limit)
        difference = np.abs(operators.step(z, 0.5) - expected).max()
        assert 1e-12 < difference < 1e-5


def test_results_do_not_depend_on_the_number_of_threads_or_on_storage():
    rows, labels, z = problem(1500, 20)
    results = set()
    for threads in (1, 2, 5):
        cdp.set_num_threads(threads)
        for memory_limit in (0, 3_000_000, 2**30):  # none, two of ten tiles, all
            operators = Laplacians(rows, 0.5, labels=labels, memory_limit=memory_limit)
            results.add(operators.step(z, 0.5).tobytes())
        results_of_others = (_core.diameter(z), nearest(z, z, 5).tobytes())
        results.add(results_of_others)
    cdp.set_num_threads(0)
    assert len(results) == 2


def test_weights_keep_the_range_that_the_sensitivity_assumes():
    """Rows on the sphere, exactly opposite ones among them: no degree falls below (n - 1) w."""
    rows = unit_rows(400, 3)
    rows[200:] = -rows[:200]
    kernel = _core.GaussianKernel(rows, 0.3, np.exp(-2 / 0.3**2), 0, False)
    columns = np.empty((400, 400))
    kernel.product(np.eye(400), columns)
    off_diagonal = columns[~np.eye(400, dtype=bool)]
    assert np.all(np.diag(columns) == 0)
    assert off_diagonal.min() >= np.exp(-2 / 0.3**2)
    assert off_diagonal.max() <= 1.0


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_published_iteration_never_raises_the_objective(alpha):
    """Majorisation: 2 Diag(L_X) - L_X is positive semidefinite and the label part is concave."""
    rows, labels, z = problem(300)
    operators = Laplacians(rows, 0.7, labels=labels)
    w_x, w_y = twin.gaussian_kernel(rows, 0.7), twin.label_kernel(labels, 0.7)
    values = []
    for _ in range(25):
        values.append(twin.objective(z, w_x, w_y, alpha))
        z = operators.step(z, alpha, "published")
    scale = np.abs(values).max()
    assert np.all(np.diff(values) <= 1e-12 * scale)
    assert values[0] - values[-1] > 0.1 * abs(values[0])


def test_the_concave_convex_procedure_never_raises_its_objective():
    rows, labels, z = problem(120)
    l_x, l_y = dense_laplacians(rows, labels, 0.7)
    # bounded below: the label term outweighed by the record term
    alpha = 0.4 * float(np.linalg.eigvalsh(l_x)[1] / np.linalg.eigvalsh(l_y)[-1])
    direction = np.random.default_rng(3).standard_normal(z.shape)
    steps = cccp_embedding(l_x, l_y, alpha, z, direction, 6)
    pull = 2 * alpha * (len(z) * direction - direction.sum(axis=0))
    values = [objective(z, l_x, l_y, alpha) + np.sum(pull * z) for z in steps]
    assert np.all(np.diff(values) <= 1e-10 * np.abs(values).max())
    assert values[1] < values[0]


def test_the_spectral_embedding_minimises_the_objective():
    rows, labels, _ = problem(80)
    l_x, l_y = dense_laplacians(rows, labels, 0.7)
    best = spectral_embedding(l_x, l_y, 0.05, 3)
    assert np.allclose(best.T @ best, np.eye(3), atol=1e-12)
    assert np.abs(best.sum(axis=0)).max() < 1e-9
    lowest = objective(best, l_x, l_y, 0.05)
    rng = np.random.default_rng(0)
    for _ in range(100):
        other = rng.standard_normal(best.shape)
        other = best + 0.05 * (other - other.mean(axis=0))
        other = np.linalg.qr(other)[0]
        assert objective(other, l_x, l_y, 0.05) >= lowest - 1e-9


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (40, 2, 40), (1000, 3, 8), (700, 64, 5)])
def test_nearest_neighbours_are_exact(n, d, k):
    rng = np.random.default_rng(n)
    points, queries = rng.standard_normal((n, d)), rng.standard_normal((90, d))
    found = nearest(queries, points, k)
    assert np.array_equal(found, twin.nearest(queries, points, k))
    tree = scipy.spatial.KDTree(points)
    assert np.array_equal(found, tree.query(queries, k)[1].reshape(90, k))


def test_equally_near_points_are_ranked_by_place():
    points = np.zeros((300, 2))
    assert nearest([[1.0, 0.0]], points, 4).tolist() == [[0, 1, 2, 3]]


def test_the_diameter_is_the_largest_distance_and_never_less():
    for seed in range(20):
        z = np.random.default_rng(seed).standard_normal((300, 4)) + 100.0
        exact = scipy.spatial.distance.pdist(z).max()
        assert exact <= _core.diameter(z) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("bad", [np.zeros((1, 3)), np.zeros((0, 3)), np.zeros((4, 0)), np.zeros(4)])
def test_rows_of_the_wrong_shape_are_refused(bad):
    with pytest.raises(ValueError, match="rows must have shape"):
        Laplacians(bad, 1.0)


def test_kernels_refuse_what_does_not_fit():
    kernel = _core.GaussianKernel(np.zeros((3, 2)), 1.0, 0.0, 0, False)
    with pytest.raises(ValueError, match="rows"):
        kernel.product(np.zeros((4, 2)), np.zeros((4, 2)))
    with pytest.raises(ValueError, match="codes must lie"):
        _core.label_sums(np.array([0, 2]), 2, 0.5, np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(ValueError, match="k"):
        nearest(np.zeros((1, 2)), np.zeros((3, 2)), 4)
