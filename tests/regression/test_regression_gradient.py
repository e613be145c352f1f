"""Energy and gradients of geodesic regression, and how far one record moves them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from curvedp.sensitivity.jacobi import sum_of_norms_bound
from manifold_list import CASES
from reference import regression
from regression_problems import SPACES, problem, tangent

AFFORDABLE = [case for case in CASES if case.twin.dim <= 10]


def row(array):
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1)


def configuration(case, seed, n=5):
    """Points off a geodesic of nearly the injectivity radius, or of length 2.4."""
    rng, twin = np.random.default_rng(seed), case.twin
    reach = min(twin.injectivity_radius, 3.0)
    footpoint = twin.random_point(rng, 0.5)
    velocity = 0.8 * reach * twin.random_unit_vector(rng, footpoint)
    times = rng.uniform(-0.5, 0.5, n)
    points = []
    for t in times:
        q = twin.exp(t * velocity, footpoint)
        points.append(twin.exp(0.3 * reach * rng.random() * twin.random_unit_vector(rng, q), q))
    return times, np.array(points), footpoint, velocity


def compiled(manifold, points, times, footpoint, velocity, tau=math.inf):
    coords = row(manifold.tangent_to_coords(velocity, footpoint))
    rows = np.ascontiguousarray(points).reshape(len(points), -1)
    return manifold.kernels.regression_energy(rows, times, row(footpoint), coords, tau)


@pytest.mark.parametrize("case", AFFORDABLE, ids=repr)
def test_energy_and_gradients_agree_with_integrated_jacobi_fields(case):
    times, points, footpoint, velocity = configuration(case, 1)
    basis = np.array([case.manifold.coords_to_tangent(e, footpoint) for e in np.eye(case.twin.dim)])
    energy, at_p, at_v = compiled(case.manifold, points, times, footpoint, velocity)
    expected = regression.energy(case.twin, points, times, footpoint, velocity)
    assert energy == pytest.approx(expected, rel=1e-12)
    wanted_p, wanted_v = regression.gradients(case.twin, points, times, footpoint, velocity, basis)
    np.testing.assert_allclose(at_p, wanted_p, atol=1e-10)
    np.testing.assert_allclose(at_v, wanted_v, atol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_gradients_agree_with_finite_differences(case):
    times, points, footpoint, velocity = configuration(case, 2)
    twin, h = case.twin, 1e-5
    _, at_p, at_v = compiled(case.manifold, points, times, footpoint, velocity)
    for j in range(min(twin.dim, 3)):
        direction = case.manifold.coords_to_tangent(np.eye(twin.dim)[j], footpoint)

        def moved(step, direction=direction):
            end = twin.exp(step * direction, footpoint)
            carried = twin.parallel_transport(velocity, footpoint, end)
            return regression.energy(twin, points, times, end, carried)

        def faster(step, direction=direction):
            return regression.energy(twin, points, times, footpoint, velocity + step * direction)

        assert (moved(h) - moved(-h)) / (2 * h) == pytest.approx(at_p[j], abs=1e-7)
        assert (faster(h) - faster(-h)) / (2 * h) == pytest.approx(at_v[j], abs=1e-7)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("speed", [0.0, 0.5, 1.0])
def test_no_record_moves_the_gradients_beyond_the_sensitivity(space, speed):
    """n = 1: the terms of single records, at random geodesics of the support."""
    rng, tau, manifold = np.random.default_rng(3), 0.4, space.manifold
    kwargs = {"tau": tau, "v_max": space.v_max}
    worst = {"footpoint": 0.0, "shooting": 0.0, "sum": 0.0}
    for trial in range(200):
        footpoint = manifold.exp(
            tangent(space, rng, space.center, space.radius * rng.random()), space.center
        )
        velocity = tangent(space, rng, footpoint, max(speed * space.v_max, 1e-9))
        time = np.array([rng.choice([-0.5, 0.5]) if trial % 2 else rng.uniform(-0.5, 0.5)])
        record = space.ball.project(
            manifold.exp(tangent(space, rng, footpoint, 1.2 * space.radius), footpoint)
        )
        _, at_p, at_v = compiled(manifold, record[None], time, footpoint, velocity, tau)
        worst["footpoint"] = max(worst["footpoint"], float(np.linalg.norm(at_p)))
        worst["shooting"] = max(worst["shooting"], float(np.linalg.norm(at_v)))
        terms = np.linalg.norm(at_p / 2 + at_v) + np.linalg.norm(at_p / 2 - at_v)
        worst["sum"] = max(worst["sum"], float(terms))
    bounds = {
        "footpoint": sensitivity.regression_footpoint(space.ball, 1, **kwargs),
        "shooting": sensitivity.regression_shooting(space.ball, 1, **kwargs),
        "sum": sensitivity.regression_sum_of_norms(space.ball, 1, **kwargs),
    }
    share = {name: 2 * worst[name] / bound for name, bound in bounds.items()}
    print(f"{space!r}, |v| = {speed:g} V: share of the bound {share}")
    assert max(share.values()) <= 1


def test_sensitivities_are_attained_by_opposite_residuals():
    """Flat line: records at t = 1/2 with residuals tau and -tau."""
    ball, n, tau = cdp.Ball("euclidean:1", [0.0], 1.0), 10, 0.25
    times, line = np.full(n, 0.5), np.zeros((n, 1))
    gradients = []
    for end in (1.0, -1.0):
        points = line.copy()
        points[0] = end
        _, *found = compiled(ball.manifold, points, times, np.zeros(1), np.zeros(1), tau)
        gradients.append(np.ravel(found))
    moved = np.abs(gradients[0] - gradients[1])
    for bound, own in (
        (sensitivity.regression_footpoint, moved[0]),
        (sensitivity.regression_shooting, moved[1]),
    ):
        assert own <= bound(ball, n, tau=tau, v_max=1.0) <= own * (1 + 1e-8)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_gradients_do_not_depend_on_the_number_of_threads(space):
    times, points, footpoint, velocity = problem(space, np.random.default_rng(5), 5000, 0.1)
    found = []
    for threads in (1, 2):
        cdp.set_num_threads(threads)
        found.append(compiled(space.manifold, points, times, footpoint, velocity, 0.2))
    cdp.set_num_threads(0)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_residuals_that_are_not_finite_count_nothing():
    space = SPACES[0]
    times, points, footpoint, velocity = problem(space, np.random.default_rng(6), 9, 0.1)
    points[4] = np.inf
    found = compiled(space.manifold, points, times, footpoint, velocity, 0.2)
    assert all(np.isfinite(part).all() for part in found)


def test_sensitivities_refuse_unusable_parameters():
    ball = SPACES[1].ball
    with pytest.raises(ValueError, match="tau"):
        sensitivity.regression_footpoint(ball, 10, tau=0.0, v_max=1.0)
    with pytest.raises(ValueError, match="v_max"):
        sensitivity.regression_shooting(ball, 10, tau=0.1, v_max=math.inf)


def sum_of_norms(u, angles, t, hyperbolic):
    c = np.cosh(angles) if hyperbolic else np.cos(angles)
    g = np.array([(np.sinh if hyperbolic else np.sin)(x) / x if x else 1.0 for x in angles])
    return np.linalg.norm((c / 2 + t * g) * u) + np.linalg.norm((c / 2 - t * g) * u)


@pytest.mark.parametrize("length", [0.1, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("hyperbolic", [False, True])
def test_sum_of_norms_bound_holds_and_is_nearly_attained(length, hyperbolic):
    """Against a search over residuals in a flat and a curved direction, times and velocities."""
    space = cdp.Hyperboloid(2) if hyperbolic else cdp.Sphere(2)
    bound = sum_of_norms_bound(space, length)
    found = max(
        sum_of_norms(np.array([np.cos(w), np.sin(w)]), (0.0, 2 * t * share * length), t, hyperbolic)
        for w in np.linspace(0, np.pi / 2, 41)
        for t in np.linspace(0, 0.5, 26)
        for share in np.linspace(0, 1, 11)
    )
    print(f"{space.spec}, x = {length:g}: search {found:.5f}, bound {bound:.5f}")
    assert found <= bound <= 1.02 * found


def test_sum_of_norms_bound_is_one_on_flat_space():
    assert sum_of_norms_bound(cdp.Euclidean(3), 7.0) == 1.0
