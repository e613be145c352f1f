"""The metric of regression steps: Jacobi fields, optimal designs, laws of covariates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from curvedp.regression.whitening import CovariateLaw, StepMetric, jacobi_fields
from regression_problems import SPACES, geodesic


def law_of(times: np.ndarray) -> CovariateLaw:
    """With the moments of covariates in [-1/2, 1/2]^q."""
    center = times.mean(axis=0)
    moments = np.eye(times.shape[1] + 1)
    moments[1:, 1:] = np.atleast_2d(np.cov(times.T, bias=True))
    return CovariateLaw.about(center, moments)


def uneven(q: int, n: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(q)
    times = rng.beta(0.5, 2.0, (n, q)) - 0.5
    times[:, -1] += 0.3 * times[:, 0]
    return np.clip(times, -0.5, 0.5)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_leverages_have_the_mean_of_the_number_of_rows(q):
    times = uneven(q)
    law, moved = law_of(times), times - times.mean(axis=0)
    leverages = law.leverage(moved)
    assert leverages.mean() == pytest.approx(q + 1, rel=1e-9)
    assert leverages.max() <= law.highest_leverage * (1 + 1e-12)
    corners = np.array(np.meshgrid(*zip(law.low, law.high, strict=True))).reshape(q, -1).T
    assert law.leverage(corners).max() == pytest.approx(law.highest_leverage)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_no_leverage_of_a_design_is_higher_than_the_least_possible(q):
    """Kiefer and Wolfowitz: q + 1 on the box, less than any other law has; 2 q + 2 runs at most."""
    times = uneven(q)
    law, moved = law_of(times), times - times.mean(axis=0)
    for leverage in (q + 1.0, 2.0 * q + 2, law.highest_leverage):
        design = law.design(leverage)
        assert len(design) <= 2 * q + 2
        z = np.column_stack([np.ones(len(design)), design])
        matrix = np.linalg.inv(z.T @ z / len(z))
        own = law.design_leverage(design, leverage)
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", z, matrix, z), own, rtol=1e-9)
        assert own.max() == pytest.approx(q + 1)
        near = moved[law.leverage(moved) <= leverage]
        assert law.design_leverage(near, leverage).max() <= (q + 1) * (1 + 1e-9)
    whitened = law.leverage(moved[law.leverage(moved) <= law.highest_leverage]).max()
    assert whitened > 1.5 * (q + 1)  # of steps whitened by the covariates themselves


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("uniform", np.linspace(-0.5, 0.5, 100_001)),
        ("two values", np.repeat([-0.5, 0.5], [95, 5])),
        ("uneven", uneven(1)[:, 0]),
    ],
)
def test_nodes_of_one_covariate_have_its_moments(name, times):
    law = law_of(times[:, None])
    nodes, weights = law.nodes
    assert weights @ nodes[:, 0] == pytest.approx(0.0, abs=1e-6)
    assert weights @ nodes[:, 0] ** 2 == pytest.approx(law.covariance[0, 0], rel=0.03)
    assert (nodes[:, 0] >= law.low[0] - 1e-12).all()
    assert (nodes[:, 0] <= law.high[0] + 1e-12).all()
    if name != "uneven":  # the mean of cosh(6 t)^2 on long geodesics, for laws that Beta laws have
        moved = times - times.mean()
        exact = np.mean(np.cosh(6 * moved) ** 2)
        assert weights @ np.cosh(6 * nodes[:, 0]) ** 2 == pytest.approx(exact, rel=0.12)


@pytest.mark.parametrize("q", [2, 3])
def test_nodes_of_several_have_their_moments_within_their_ranges(q):
    rng = np.random.default_rng(0)
    law = law_of(0.1 * rng.standard_normal((1000, q)).clip(-4, 4))
    nodes, weights = law.nodes
    np.testing.assert_allclose(weights @ nodes, 0.0, atol=1e-12)
    np.testing.assert_allclose((nodes.T * weights) @ nodes, law.covariance, rtol=1e-9)
    rare = law_of(np.where(rng.random((1000, q)) < 0.01, 0.5, -0.5))
    assert (rare.nodes[0] <= rare.high).all()
    assert (rare.nodes[0] >= rare.low).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("q", [1, 2])
def test_the_effect_of_a_change_is_that_of_moving_the_geodesic(space, q):
    """J by finite differences of predictions, against W, G^-1 W^-1 and the effects."""
    rng, manifold = np.random.default_rng(3), space.ball.frame.manifold
    footpoint, velocities = geodesic(space, rng, q, 0.4 * space.v_max)
    law = law_of(uneven(q))
    metric = StepMetric.at(manifold, velocities, law, law.highest_leverage)
    dim, size = space.manifold.dim, (q + 1) * space.manifold.dim
    times = np.ascontiguousarray(law.nodes[0])[:3]
    for t in times:
        # contributions of a record at a small distance from the prediction, in each direction
        found = []
        for direction in np.eye(dim):
            ends = np.array([0, 1])
            step, base = 1e-6 * direction[None], np.empty((1, len(footpoint)))
            manifold.exp_coords(np.ascontiguousarray(t @ velocities)[None], footpoint[None], base)
            point = np.empty_like(base)
            manifold.exp_coords(step, base, point)
            own = manifold.regression_contributions(
                point, t[None].copy(), ends, footpoint, velocities, metric.whitening
            )
            found.append(own[0] / 1e-6)
        contributions = np.array(found)  # W J e, e an orthonormal basis at the prediction
        gram = metric.solution @ contributions.T  # G^-1 J e
        effects = metric.effect(t)
        blocks = (metric.solution.T @ np.linalg.solve(metric.whitening, contributions.T)).reshape(
            q + 1, dim, dim
        )
        expected = np.einsum("aij,bij->ab", blocks, blocks)
        np.testing.assert_allclose(effects, expected, rtol=2e-4, atol=1e-8)
        assert gram.shape == (size, dim)
        fields = np.linalg.solve(metric.whitening, contributions.T)
        leverage = float(np.sum(fields * gram)) / dim
        assert metric.leverage(t) == pytest.approx(leverage, rel=2e-4)
    # noise of deviation 1 moves predictions by tr G^-1 D, mean square over the covariates
    nodes, weights = law.nodes
    mean = weights @ np.trace(metric.effect(nodes), axis1=-2, axis2=-1)
    assert mean == pytest.approx(metric.spread, rel=1e-6 if q == 1 else 0.2)


def test_jacobi_fields_solve_their_equation():
    times, step = np.linspace(-0.9, 0.9, 7), 1e-4
    for curvature in (-30.0, -1e-3, 0.0, 1e-3, 4.0):
        for field in range(2):
            before, now, after = (
                jacobi_fields(np.array([curvature]), times[:, None] + shift)[field][:, 0]
                for shift in (-step, 0.0, step)
            )
            second = (before - 2 * now + after) / step**2
            np.testing.assert_allclose(second, -curvature * now, atol=2e-4 * (1 + abs(now).max()))
    c, g = jacobi_fields(np.array([-1.0, 1e300]), 1.0)
    assert c[0] == pytest.approx(math.cosh(1.0))
    assert g[0] == pytest.approx(math.sinh(1.0))
    assert np.isfinite(jacobi_fields(np.array([-1e300]), 1.0)).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_extreme_velocities_and_moments_leave_the_metric_finite(space):
    rng, manifold = np.random.default_rng(1), space.ball.frame.manifold
    for q in (1, 2):
        for scale in (0.0, 1e-300, 1.0, 100.0):
            for variance in (1e-14, 1e-3, 0.25):
                velocities = scale * rng.standard_normal((q, space.manifold.dim))
                moments = np.diag([1.0, *[variance] * q])
                for center in (np.zeros(q), np.full(q, 0.5)):
                    law = CovariateLaw.about(center, moments)
                    for leverage in (q + 1.0, law.highest_leverage):
                        metric = StepMetric.at(manifold, velocities, law, max(leverage, q + 1.0))
                        assert np.isfinite(metric.whitening).all()
                        assert np.isfinite(metric.solution).all()


@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_residual_variance_is_that_of_residuals_on_two_ends(q):
    """Covariates of 0 and 1 lie at both ends, which nodes cut to the ranges do not reach."""
    rng = np.random.default_rng(0)
    times = rng.integers(0, 2, (500, q)) - 0.5
    times[:, 0] = rng.uniform(-0.4, 0.4, 500)
    times -= times.mean(axis=0)
    law = CovariateLaw(law_of(times).moments, times.min(axis=0), times.max(axis=0))
    leverage = float(law.leverage(times).max())
    design = law.design(leverage)
    even = CovariateLaw.gram(design, np.full(len(design), 1 / len(design)))
    z = np.column_stack([np.ones(500), times])
    meat = 0.3 * z.T @ z / 500 @ np.linalg.inv(even)  # its trace is that of the whitened one
    assert law.residual_variance(meat, leverage) == pytest.approx(0.3, rel=1e-12)


def test_nodes_have_the_moments_whatever_these_are():
    """Means anywhere in the range, and variances from nearly 0 to that of a law on both ends."""
    for mean in (-0.499, -0.4, -0.05, 0.0, 0.3, 0.45, 0.4999):
        low, high = -0.5 - mean, 0.5 - mean
        for share in (1e-12, 1e-6, 1e-4, 1e-3, 0.02, 0.3, 0.9, 0.97, 0.999, 1.0):
            variance = share * -low * high
            law = CovariateLaw.about(np.array([mean]), np.diag([1.0, variance]))
            nodes, weights = law.nodes
            assert weights.sum() == pytest.approx(1.0)
            assert (weights >= -1e-12).all()
            spread = math.sqrt(variance)
            assert weights @ nodes[:, 0] == pytest.approx(0.0, abs=1e-3 * spread), (mean, share)
            assert weights @ nodes[:, 0] ** 2 == pytest.approx(variance, rel=0.03), (mean, share)
    # raised above what is possible, and about an end
    for center, variance in ((0.45, 0.2), (0.5, 0.01)):
        law = CovariateLaw.about(np.array([center]), np.diag([1.0, variance]))
        assert np.isfinite(law.nodes[0]).all()
