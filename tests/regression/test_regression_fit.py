"""The non-private fit: converges on every problem, to the best minimum, where geomstats does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from curvedp.nonprivate import frechet_mean, geodesic_regression
from oracles import geomstats
from regression_problems import SPACES, problem, tangent


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


def test_wrong_arguments_are_refused():
    y = np.eye(3)
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
