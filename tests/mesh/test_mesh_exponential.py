"""The exponential mechanism on a mesh: exact probabilities against a twin, and under attack."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import _core, sensitivity
from curvedp.conformal import (
    Mesh,
    MeshExponential,
    ball_mesh,
    factor,
    fibonacci_mesh,
    knn_graph,
    laplacian,
)
from reference import conformal as twin

SPECS = ["sphere:2", "sphere:5", "spd:2", "hyperboloid:3", "kendall:4", "euclidean:1"]


def domain(spec):
    manifold = cdp.as_manifold(spec)
    center = manifold.random_point(1, rng=3).reshape(manifold.point_shape)
    return cdp.Ball(manifold, center, min(0.7, 0.8 * manifold.max_ball_radius))


def random_sigma(n, seed, spread=1.0):
    return spread * np.random.default_rng(seed).standard_normal(n)


def build(ball, n=60, k=5, seed=0, spread=1.0, sensitivity=0.05, guarantee=None):
    graph = knn_graph(ball_mesh(ball, n), k)
    return MeshExponential(
        graph,
        random_sigma(n, seed, spread),
        ball=ball,
        sensitivity=sensitivity,
        guarantee=cdp.PureDP(1.0) if guarantee is None else guarantee,
    )


@pytest.mark.parametrize("spec", SPECS)
def test_probabilities_are_those_of_the_dense_twin(spec):
    ball = domain(spec)
    mechanism = build(ball)
    mesh, sigma = mechanism.graph.mesh, random_sigma(60, 0)
    lengths = mechanism.graph.lengths.toarray()
    lengths = np.where(lengths > 0, lengths, np.inf)
    phi, m = np.exp(2 * sigma), math.exp(sigma.max())
    for eta in ball.project(ball.manifold.random_point(4, rng=1)):
        dist = ball.manifold.dist(eta, mesh.points)
        u = twin.path_lengths(lengths, dist, phi, m)
        np.testing.assert_allclose(mechanism.path_lengths(eta), u / m, rtol=1e-11)
        rate = 1.0 / (2 * m * (0.05 + 2 * mechanism.rounding))
        expected = twin.probabilities(u, mesh.volumes, phi, ball.manifold.dim, rate)
        found = np.exp(mechanism.log_probabilities(eta))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert found.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0, 200.0])
def test_path_lengths_are_lipschitz_in_the_true_value(spec, spread):
    """The lemma that the guarantee rests on, for factors as wild as they may be."""
    ball = domain(spec)
    mechanism = build(ball, spread=spread)
    points = ball.project(ball.manifold.random_point(30, rng=2))
    lengths = np.array([mechanism.path_lengths(eta) for eta in points])
    for i in range(len(points)):
        moved = np.abs(lengths - lengths[i]).max(axis=1)
        assert np.all(moved <= ball.manifold.dist(points[i], points) + 2 * mechanism.rounding)


def loss_range(mechanism, a, b):
    loss = mechanism.log_probabilities(a) - mechanism.log_probabilities(b)
    return np.abs(loss).max(), np.ptp(loss)


@pytest.mark.parametrize("spec", ["sphere:2", "spd:2"])
def test_no_true_values_found_by_search_break_the_range_and_some_come_near_it(spec):
    """Random factors and pairs one sensitivity apart, then a climb along the best."""
    ball, delta = domain(spec), 0.05
    space = ball.manifold
    rng = np.random.default_rng(4)
    greatest = 0.0
    for trial in range(40):
        mechanism = build(ball, n=80, seed=trial, spread=rng.uniform(0, 2), sensitivity=delta)
        best = None
        for _ in range(15):
            if best is None or rng.random() < 0.4:
                a = ball.project(space.random_point(1, rng=rng))
                coords = rng.standard_normal(space.dim)
            else:
                a = space.exp(
                    space.coords_to_tangent(0.02 * rng.standard_normal(space.dim), best[1]),
                    best[1],
                )
                a = ball.project(a)
                coords = best[2] + 0.3 * rng.standard_normal(space.dim)
            coords = coords * delta / np.linalg.norm(coords)
            b = ball.project(space.exp(space.coords_to_tangent(coords, a), a))
            loss, width = loss_range(mechanism, a, b)
            assert loss <= 1.0 + 1e-9
            assert width <= 1.0 + 1e-9
            if best is None or width > best[0]:
                best = (width, a, coords)
        greatest = max(greatest, best[0])
    assert greatest > 0.85


def test_a_rate_without_the_factor_two_is_caught_by_the_same_search():
    """The loss itself, not only its range, exceeds epsilon once the rate is doubled."""
    ball = domain("euclidean:1")
    mesh = ball_mesh(ball, 200)
    heavy = np.where(np.arange(200) == 199, 30.0, 0.0)  # nearly all mass in the last cell
    mesh = Mesh(mesh.manifold, mesh.points, mesh.volumes * np.exp(heavy))

    def worst(claimed):
        mechanism = MeshExponential(
            knn_graph(mesh, 2),
            np.zeros(200),
            ball=ball,
            sensitivity=0.05,
            guarantee=cdp.PureDP(claimed),
        )
        return loss_range(mechanism, ball.center, ball.center + 0.05)[0]

    assert 0.9 < worst(1.0) <= 1.0
    assert worst(2.0) > 1.8  # twice the rate: twice the loss of a claim of 1


def test_neighbouring_data_sets_found_by_search_keep_epsilon():
    """The audit: exact output probabilities at the means of whole data sets that differ in one
    record, for one released factor; the search moves the record and the others."""
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    n, epsilon = 5, 0.8
    delta = sensitivity.frechet_mean(ball, n)
    operator = laplacian(knn_graph(ball_mesh(ball, 300), 12))
    rng = np.random.default_rng(8)
    greatest = 0.0
    for _ in range(6):
        density = 1 + 2 * rng.standard_normal(300)
        found = factor(density, 1.0, laplacian=operator)
        mechanism = MeshExponential(
            operator.graph,
            found.sigma,
            ball=ball,
            sensitivity=1.0001 * delta,
            guarantee=cdp.PureDP(epsilon),
        )
        best, kept = 0.0, None
        for step in range(40):
            fresh = kept is None or step % 4 == 0
            base = ball.manifold.random_point(n + 1, rng=rng) if fresh else kept
            if not fresh:
                base = base + 0.2 * rng.standard_normal(base.shape)
                base /= np.linalg.norm(base, axis=1, keepdims=True)
            points = ball.project(base)
            means = [
                cdp.nonprivate.frechet_mean(np.delete(points, i, axis=0), ball.manifold).value
                for i in (0, 1)
            ]
            loss, width = loss_range(mechanism, *means)
            assert loss <= epsilon
            assert width <= epsilon
            if width > best:
                best, kept = width, base
        greatest = max(greatest, best)
    assert greatest > 0.3 * epsilon


@pytest.mark.parametrize(
    "guarantee", [cdp.GDP(0.7), cdp.ZCDP(0.2), cdp.ApproxDP(0.5, 1e-6)], ids=str
)
def test_other_guarantees_follow_from_bounded_range(guarantee):
    """The exact privacy curve at the worst pair of a line stays below what is claimed."""
    ball = domain("euclidean:1")
    mechanism = build(ball, n=100, k=2, spread=0.0, guarantee=guarantee)
    a, b = ball.center, ball.center + 0.05
    p, q = (np.exp(mechanism.log_probabilities(x)) for x in (a, b))
    for epsilon in (0.0, 0.1, 0.3, 0.6, 1.0):
        exact = max(
            np.maximum(p - np.exp(epsilon) * q, 0).sum(),
            np.maximum(q - np.exp(epsilon) * p, 0).sum(),
        )
        assert exact <= guarantee.to_delta(epsilon) + 1e-12
    if isinstance(guarantee, cdp.ZCDP):
        for alpha in (1.5, 2.0, 8.0):
            divergence = np.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1)
            assert divergence <= guarantee.rho * alpha


def test_draws_have_the_exact_probabilities():
    ball = domain("sphere:2")
    mechanism = build(ball, n=30, sensitivity=0.2)
    eta = ball.center
    expected = np.exp(mechanism.log_probabilities(eta))
    stream = _core.Stream.from_key(bytes(32), 1)
    drawn = mechanism.sample_node(eta, stream, 40_000)
    counts = np.bincount(drawn, minlength=30)
    assert stats.chisquare(counts, expected * counts.sum()).pvalue > 1e-6
    # the negative control: probabilities without the volume factor phi^{d/2}
    wrong = expected * np.exp(-2 * random_sigma(30, 0))
    wrong /= wrong.sum()
    assert stats.chisquare(counts, wrong * counts.sum()).pvalue < 1e-6


def test_constant_factors_cancel():
    ball = domain("sphere:2")
    graph = knn_graph(ball_mesh(ball, 50), 6)
    sigma = random_sigma(50, 3)
    settings = {"ball": ball, "sensitivity": 0.1, "guarantee": cdp.PureDP(1.0)}
    first = MeshExponential(graph, sigma, **settings)
    second = MeshExponential(graph, sigma + 5.0, **settings)
    np.testing.assert_allclose(
        first.log_probabilities(ball.center), second.log_probabilities(ball.center), atol=1e-9
    )
    assert first.scale == second.scale


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_probabilities_do_not_depend_on_the_condition_of_the_centre(condition):
    """Carried by a congruence, ball, mesh and true value keep their law: distances are computed in
    the ball's frame."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    root = turn @ np.diag([condition**0.25, condition**-0.25]) @ turn.T
    space = cdp.SPD(2)
    ball = cdp.Ball(space, np.eye(2), 1.0)
    points = ball.project(space.random_point(40, rng=5))
    laws = []
    for factor_of in (np.eye(2), root):
        mechanism = MeshExponential(
            knn_graph(Mesh(space, factor_of @ points @ factor_of), 6),
            np.zeros(40),
            ball=cdp.Ball(space, factor_of @ factor_of, 1.0),
            sensitivity=1e-3,
            guarantee=cdp.PureDP(1.0),
        )
        laws.append(mechanism.path_lengths(factor_of @ points[0] @ factor_of))
        assert mechanism.rounding < 1e-9
    np.testing.assert_allclose(laws[1], laws[0], atol=1e-15 * condition)


def test_disconnected_graphs_keep_every_node_possible():
    """Two clusters far apart, each the other's only way out: u is finite by the direct term."""
    line = np.concatenate([np.linspace(-1, -0.9, 20), np.linspace(0.9, 1, 20)])[:, None]
    mesh = Mesh("euclidean:1", line, np.full(40, 0.05))
    mechanism = MeshExponential(
        knn_graph(mesh, 3),
        random_sigma(40, 1),
        ball=cdp.Ball("euclidean:1", [0.0], 1.0),
        sensitivity=0.1,
        guarantee=cdp.PureDP(1.0),
    )
    for eta in (-1.0, 0.0, 1.0):
        assert np.isfinite(mechanism.log_probabilities([eta])).all()
    assert loss_range(mechanism, [0.0], [0.1])[1] <= 1.0


@pytest.mark.parametrize("epsilon", [1e-9, 1e9])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_extreme_budgets_and_meshes_of_one_node(epsilon, n):
    ball = domain("sphere:2")
    mesh = ball_mesh(ball, n)
    mechanism = MeshExponential(
        knn_graph(mesh, 1)
        if n > 1
        else knn_graph(Mesh(mesh.manifold, np.repeat(mesh.points, 2, 0)), 1),
        np.zeros(max(n, 2)),
        ball=ball,
        sensitivity=0.1,
        guarantee=cdp.PureDP(epsilon),
    )
    point = mechanism.sample(ball.center)[0]
    assert ball.manifold.belongs(point)
    if epsilon > 1 and n == 50:
        nearest = mesh.nearest(ball.center[None])[0][0]
        assert np.array_equal(point, mesh.points[nearest])


def test_nodes_outside_the_ball_do_not_set_the_stretch():
    ball = domain("sphere:2")
    mesh = fibonacci_mesh(400)
    outside = ball.manifold.dist(ball.center, mesh.points) > ball.radius
    graph = knn_graph(mesh, 8)
    settings = {"ball": ball, "sensitivity": 0.1, "guarantee": cdp.PureDP(1.0)}
    mechanism = MeshExponential(graph, np.where(outside, 3.0, 0.0), **settings)
    flat = MeshExponential(graph, np.zeros(400), **settings)
    inside = ~outside
    # within the ball u is what it is without the outside, up to paths that leave it
    np.testing.assert_allclose(
        mechanism.path_lengths(ball.center)[inside], flat.path_lengths(ball.center)[inside]
    )


def test_parameters_are_checked():
    ball = domain("sphere:2")
    graph = knn_graph(ball_mesh(ball, 20), 4)
    settings = {"ball": ball, "sensitivity": 0.1, "guarantee": cdp.PureDP(1.0)}
    with pytest.raises(ValueError, match="finite"):
        MeshExponential(graph, np.full(20, np.nan), **settings)
    with pytest.raises(ValueError, match="shape"):
        MeshExponential(graph, np.zeros(19), **settings)
    with pytest.raises(ValueError, match="mesh is on"):
        MeshExponential(graph, np.zeros(20), **{**settings, "ball": domain("spd:2")})
    with pytest.raises(ValueError, match="sensitivity"):
        MeshExponential(graph, np.zeros(20), **{**settings, "sensitivity": 0.0})
