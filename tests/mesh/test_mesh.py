"""Public meshes lie where they should, and their volumes add up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import curvedp as cdp
from curvedp.conformal import Mesh, ball_mesh, fibonacci_mesh, icosphere_mesh


@pytest.mark.parametrize("mesh", [fibonacci_mesh(3000), icosphere_mesh(4)], ids=repr)
def test_sphere_meshes_integrate_polynomials(mesh):
    x, y, z = mesh.points.T
    np.testing.assert_allclose(np.linalg.norm(mesh.points, axis=1), 1, rtol=1e-15)
    for f, integral in [(1 + 0 * x, 1), (z * z, 1 / 3), (x * y, 0), (x**4, 1 / 5), (x * z * z, 0)]:
        assert (f * mesh.volumes).sum() == pytest.approx(4 * math.pi * integral, abs=2e-3)


def test_icospheres_are_nested_and_even():
    coarse, fine = icosphere_mesh(2), icosphere_mesh(3)
    np.testing.assert_array_equal(fine.points[: len(coarse)], coarse.points)
    assert len(fine) == 10 * 4**3 + 2
    assert fine.volumes.sum() == pytest.approx(4 * math.pi, rel=1e-13)
    assert fine.volumes.max() < 1.6 * fine.volumes.min()


def _ball_volume(manifold, radius):
    """Volume of a ball by integrating the area of spheres, where these are homogeneous."""
    d = manifold.dim
    unit = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    low, high = manifold.curvature_bounds
    root = math.sqrt(abs(low))
    if isinstance(manifold, cdp.KendallPlanar):
        return unit * quad(lambda t: math.sin(t) ** (d - 1) * math.cos(t), 0, radius)[0]
    assert low == high
    area = {1: lambda t: math.sin(root * t) / root, -1: lambda t: math.sinh(root * t) / root}
    sphere = area.get(int(np.sign(low)), lambda t: t)
    return unit * quad(lambda t: sphere(t) ** (d - 1), 0, radius)[0]


@pytest.mark.parametrize(
    "spec",
    [
        "euclidean:1",
        "euclidean:2",
        "euclidean:4",
        "sphere:1",
        "sphere:2",
        "sphere:2:3",
        "sphere:5",
        "hyperboloid:2",
        "hyperboloid:3:-0.25",
        "kendall:3",
        "kendall:5",
        "spd:2:log-euclidean",
        "spd:3:log-cholesky",
    ],
)
def test_volumes_of_ball_meshes_add_up_to_the_ball(spec):
    manifold = cdp.as_manifold(spec)
    ball = cdp.Ball(manifold, center=manifold.random_point(rng=1), radius=0.6)
    mesh = ball_mesh(ball, 2000)
    assert ball.contains(mesh.points).all()
    assert mesh.volumes.sum() == pytest.approx(_ball_volume(manifold, 0.6), rel=5e-3)


@pytest.mark.parametrize("m", [2, 3])
def test_volumes_on_spd_matrices_are_those_of_the_metric(m):
    """Against the Riemannian volume element det(P)^-(m+1)/2 dP of the affine-invariant metric."""
    manifold = cdp.SPD(m)
    center = manifold.random_point(rng=2)
    mesh = ball_mesh(cdp.Ball(manifold, center=center, radius=1.0), 40)
    coords = manifold.tangent_to_coords(manifold.log(mesh.points, center), center)
    i, j = np.tril_indices(m)
    scale = np.where(i == j, 1.0, math.sqrt(2))

    def entries(c):
        p = manifold.exp(manifold.coords_to_tangent(c, center), center)
        return scale * p[:, i, j]

    step = 1e-5
    columns = [
        (entries(coords + step * e) - entries(coords - step * e)) / (2 * step)
        for e in np.eye(manifold.dim)
    ]
    jacobian = np.abs(np.linalg.det(np.stack(columns, axis=-1)))
    density = jacobian * np.linalg.det(mesh.points) ** (-(m + 1) / 2)
    ratio = mesh.volumes / density
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-6)
    d = manifold.dim
    cell = math.pi ** (d / 2) / math.gamma(d / 2 + 1) / 40
    np.testing.assert_allclose(ratio, cell, rtol=1e-6)


def test_ball_meshes_fill_their_ball():
    """Every random point of the ball has a node within a few cell widths."""
    for spec, reach in [("sphere:2", 0.08), ("hyperboloid:2", 0.08), ("spd:2", 0.22)]:
        manifold = cdp.as_manifold(spec)
        center = manifold.random_point(rng=3)
        ball = cdp.Ball(manifold, center=center, radius=0.7)
        coords = np.random.default_rng(4).uniform(-0.37, 0.37, (500, manifold.dim))
        inside = manifold.exp(manifold.coords_to_tangent(coords, center), center)
        assert ball_mesh(ball, 1000).nearest(inside)[1].max() < reach


def test_meshes_are_public_and_fixed():
    mesh = fibonacci_mesh(10)
    with pytest.raises(ValueError, match="read-only"):
        mesh.points[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        mesh.volumes[0] = 0
    first = ball_mesh(cdp.Ball("spd:3", "identity", 1.0), 50)
    second = ball_mesh(cdp.Ball("spd:3", "identity", 1.0), 50)
    assert first.points.tobytes() == second.points.tobytes()


@pytest.mark.parametrize(
    ("points", "volumes", "message"),
    [
        ([[1.0, 0, 0], [2.0, 0, 0]], None, "do not lie"),
        ([[1.0, 0, 0], [0, np.nan, 0]], None, "do not lie"),
        ([[1.0, 0, 0]], [1.0, 1.0], "shape"),
        ([[1.0, 0, 0]], [0.0], "positive"),
        ([[1.0, 0, 0]], [np.inf], "positive"),
        (np.zeros((0, 3)), None, "empty"),
    ],
)
def test_unusable_nodes_and_volumes_are_refused(points, volumes, message):
    with pytest.raises(ValueError, match=message):
        Mesh("sphere:2", points, volumes)
