"""The non-private fit: converges on every problem, to the best minimum, where geomstats does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import curvedp as cdp
from curvedp.nonprivate import frechet_mean, geodesic_regression
from oracles import geomstats
from regression_problems import SPACES, geodesic, problem, release, tangent


def check_convergence(space, rng, restarts):
    n = int(rng.integers(5, 201))
    # shapes have curvature 4: noise in units of 1/sqrt(kappa)
    largest = 0.3 if space.manifold.curvature_bounds[1] <= 1 else 0.15
    times, points, _, _ = problem(space, rng, n, rng.uniform(0.0, largest))
    fit = geodesic_regression(times, points, space.manifold, x_range=(-0.5, 0.5))
    assert fit.converged
    assert fit.gradient_norm <= 1e-10
    rows = points.reshape(n, -1)
    for _ in range(restarts):
        start = space.manifold.exp(
            tangent(space, rng, space.center, space.radius * rng.random()), space.center
        )
        coords = rng.standard_normal(space.manifold.dim)
        coords *= space.v_max * rng.random() / np.linalg.norm(coords)
        other = space.manifold.kernels.regression_fit(
            rows, times, start.reshape(-1), coords, 1e-10, 500, np.inf
        )
        assert fit.loss <= other[2] * (1 + 1e-9) + 1e-14
    return fit.n_iter


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_fit_converges_to_the_best_of_restarts(space):
    rng = np.random.default_rng(11)
    most = max(check_convergence(space, rng, 5) for _ in range(10))
    print(f"{space!r}: at most {most} evaluations")


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_fit_converges_on_a_thousand_problems(space):
    rng = np.random.default_rng(12)
    most = max(check_convergence(space, rng, 20) for _ in range(1000))
    print(f"{space!r}: at most {most} evaluations")


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_points_on_a_geodesic_give_it_back(space):
    times, points, footpoint, _ = problem(space, np.random.default_rng(13), 20, 0.0)
    fit = geodesic_regression(times, points, space.manifold, x_range=(-0.5, 0.5))
    assert fit.loss < 1e-18
    assert fit.r_squared == pytest.approx(1.0)
    assert np.max(space.manifold.dist(fit.predict(times), points)) < 1e-9
    assert space.manifold.dist(fit.footpoint, footpoint) < 1e-9


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_intercept_and_slope_describe_the_same_geodesic(space):
    times, points, _, _ = problem(space, np.random.default_rng(14), 30, 0.05)
    x = 40.0 + 20.0 * times
    fit = geodesic_regression(x, points, space.manifold, x_range=(30.0, 50.0))
    for point, velocity, origin in ((fit.intercept, fit.slope, 30.0), (*fit.at(47.0), 47.0)):
        at = np.array([31.0, 42.0])
        steps = (at - origin).reshape((2,) + (1,) * velocity.ndim) * velocity
        gap = space.manifold.dist(space.manifold.exp(steps, point), fit.predict(at))
        assert np.max(gap) < 1e-9


def test_equal_covariates_give_the_mean():
    space = SPACES[1]
    _, points, _, _ = problem(space, np.random.default_rng(15), 30, 0.2)
    fit = geodesic_regression(np.full(30, 3.0), points, space.manifold)
    mean = frechet_mean(points, space.manifold).value
    assert fit.converged
    assert space.manifold.dist(fit.predict(3.0), mean) < 1e-9


def test_velocity_stays_within_its_bound():
    space = SPACES[1]
    rng = np.random.default_rng(16)
    footpoint = space.center
    velocity = tangent(space, rng, footpoint, 1.8)
    times = np.linspace(-0.5, 0.5, 40)
    points = space.manifold.exp(times[:, None] * velocity, footpoint)
    free = geodesic_regression(times, points, space.manifold)
    bound = geodesic_regression(times, points, space.manifold, v_max=1.0)
    length = space.manifold.norm(bound.velocity, bound.footpoint)
    assert length == pytest.approx(1.0, rel=1e-9)
    assert bound.converged
    assert bound.loss > free.loss + 0.01


def test_linear_regression_on_flat_space():
    rng = np.random.default_rng(17)
    x, y = rng.uniform(2.0, 9.0, 50), rng.standard_normal((50, 3))
    fit = geodesic_regression(x, y, "euclidean:3")
    slope, intercept = np.polyfit(x - x.min(), y, 1)
    np.testing.assert_allclose(fit.slope, slope, atol=1e-12)
    np.testing.assert_allclose(fit.intercept, intercept, atol=1e-12)


class PreciseMinimizer:
    """In place of geomstats' optimiser, which stops at a gradient of 1e-5."""

    def minimize(self, objective, start):
        return scipy.optimize.minimize(
            objective, start, method="BFGS", jac="3-point", options={"gtol": 1e-10}
        )


@pytest.mark.parametrize("index", [1, 5], ids=["sphere:2", "spd:2"])
def test_predictions_agree_with_geomstats(index):
    space = SPACES[index]
    module = geomstats("learning.geodesic_regression")
    theirs = {
        1: lambda: geomstats("geometry.hypersphere").Hypersphere(2),
        5: lambda: geomstats("geometry.spd_matrices").SPDMatrices(2),
    }[index]()
    times, points, _, _ = problem(space, np.random.default_rng(18), 30, 0.1)
    model = module.GeodesicRegression(theirs, method="extrinsic", initialization="frechet")
    model.optimizer = PreciseMinimizer()
    expected = model.fit(times, points).predict(times)
    found = geodesic_regression(times, points, space.manifold).predict(times)
    assert np.max(np.abs(found - expected)) < 1e-8
    # as one of several covariates
    found = geodesic_regression(times[:, None], points, space.manifold).predict(times[:, None])
    assert np.max(np.abs(found - expected)) < 1e-8


def several(space, q, n=120, noise=0.15):
    """Covariates that go together, and records about exp_p(sum_j t_j v_j)."""
    rng = np.random.default_rng([q, space.manifold.dim])
    footpoint, velocities = geodesic(space, rng, q, 0.9 * space.v_max)
    times = rng.uniform(-0.5, 0.5, (n, q))
    times[:, 1:] = 0.8 * times[:, :1] + 0.2 * times[:, 1:]
    kernels = space.ball.frame.manifold
    means = np.empty((n, len(footpoint)))
    kernels.exp_coords(np.ascontiguousarray(times @ velocities), footpoint[None], means)
    points = np.empty_like(means)
    steps = noise * rng.standard_normal((n, space.manifold.dim)) / np.sqrt(space.manifold.dim)
    kernels.exp_coords(steps, means, points)
    return times, space.ball.leave(points)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_no_step_from_the_fit_of_several_covariates_lowers_the_loss(space):
    """By losses alone, which know nothing of Jacobi fields."""
    x, y = several(space, 2)
    fit = geodesic_regression(x, y, space.manifold)
    assert fit.converged
    assert fit.gradient_norm <= 1e-10
    np.testing.assert_allclose(fit.x_center, x.mean(axis=0))
    manifold, rng = space.manifold, np.random.default_rng(1)
    t = (x - np.array(fit.x_center)) / np.ptp(x, axis=0)

    def loss(size, direction):
        point = manifold.exp(size * tangent_of(direction[0], fit.footpoint), fit.footpoint)
        moved = [
            own + size * tangent_of(d, fit.footpoint)
            for own, d in zip(fit.velocity, direction[1:], strict=True)
        ]
        v = np.stack(
            [manifold.parallel_transport(m, fit.footpoint, end_point=point) for m in moved]
        )
        ahead = manifold.exp(np.tensordot(t, v, axes=1), point)
        return 0.5 * np.mean(manifold.dist(ahead, y) ** 2)

    def tangent_of(coords, base):
        return manifold.coords_to_tangent(coords, base)

    assert fit.loss == pytest.approx(loss(0.0, np.ones((3, manifold.dim))), rel=1e-9)
    for _ in range(5):
        direction = rng.standard_normal((3, manifold.dim))
        size = 1e-3 / np.linalg.norm(direction)
        there, back = loss(size, direction), loss(-size, direction)
        assert min(there, back) > fit.loss
        # the gradient along it: 0 but for terms of third order
        assert abs(there - back) < 1e-2 * (there + back - 2 * fit.loss)


def test_least_squares_over_several_covariates_on_flat_space():
    rng = np.random.default_rng(19)
    x, y = rng.uniform(2.0, 9.0, (50, 3)), rng.standard_normal((50, 2))
    x = np.column_stack([x, x[:, 0] ** 2])
    fit = geodesic_regression(x, y, "euclidean:2")
    z = np.column_stack([np.ones(50), x])
    np.testing.assert_allclose(fit.predict(x), z @ np.linalg.lstsq(z, y)[0], atol=1e-9)
    assert fit.velocity.shape == (4, 2)
    spread = np.mean(np.sum((y - y.mean(axis=0)) ** 2, axis=1))
    assert fit.r_squared == pytest.approx(1 - 2 * fit.loss / spread)
    # a column twice: the sum of its slopes is determined, its halves are not
    twice = geodesic_regression(x[:, [0, 1, 1]], y, "euclidean:2")
    once = geodesic_regression(x[:, :2], y, "euclidean:2")
    np.testing.assert_allclose(twice.predict(x[:, [0, 1, 1]]), once.predict(x[:, :2]), atol=1e-9)


def test_a_release_of_several_covariates_tends_to_the_fit_without_privacy():
    space = SPACES[4]
    x, y = several(space, 2, n=4000)
    fit = geodesic_regression(x, y, space.manifold, x_range=[(-0.5, 0.5)] * 2)
    made = release(space, x, y, cdp.GDP(200.0), x_range=[(-0.5, 0.5)] * 2)
    gaps = space.manifold.dist(made.predict(x), fit.predict(x))
    assert np.sqrt(np.mean(gaps**2)) < 0.003  # residuals are .15 long


def test_wrong_arguments_are_refused():
    y = np.eye(3)
    with pytest.raises(ValueError, match="one covariate: leave it out"):
        geodesic_regression(np.eye(3)[:, :2], y, "sphere:2", v_max=1.0)
    with pytest.raises(ValueError, match="x must have shape"):
        geodesic_regression(np.eye(3), y, "sphere:2", x_range=[(0.0, 1.0)] * 2)
    with pytest.raises(ValueError, match="x must have shape"):
        geodesic_regression([0.0, 1.0], y, "sphere:2")
    with pytest.raises(ValueError, match="finite"):
        geodesic_regression([0.0, 1.0, np.nan], y, "sphere:2")
    with pytest.raises(ValueError, match="x_lo < x_hi"):
        geodesic_regression([0.0, 1.0, 2.0], y, "sphere:2", x_range=(1.0, 1.0))
    with pytest.raises(TypeError, match="pair"):
        geodesic_regression([0.0, 1.0, 2.0], y, "sphere:2", x_range=3.0)
    with pytest.raises(ValueError, match="do not lie"):
        geodesic_regression([0.0, 1.0, 2.0], 0 * y, "sphere:2")
