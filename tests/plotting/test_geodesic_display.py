"""Pictures of geodesics show the geodesics."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.plotting import GeodesicDisplay
from curvedp.plotting.orthographic import Orthographic
from regression_problems import SPACES, problem

pytest.importorskip("matplotlib")

SPHERE, SHAPES, FLAT, MATRICES = SPACES[1], SPACES[3], SPACES[0], SPACES[5]


def geodesics(space):
    """The fit and a release."""
    times, points, _, _ = problem(space, np.random.default_rng(1), 200, 0.02)
    inside = space.ball.project(points)
    arguments = {"x_range": (-0.5, 0.5), "tau": 0.2, "v_max": space.v_max}
    release = cdp.geodesic_regression(times, inside, space.ball, cdp.GDP(1.0), **arguments)
    fit = cdp.nonprivate.geodesic_regression(times, inside, space.manifold, x_range=(-0.5, 0.5))
    return [fit, release]


def test_the_curve_on_the_sphere_is_the_geodesic_and_the_band_is_as_wide_as_asked():
    fit, release = geodesics(SPHERE)
    display = GeodesicDisplay.from_geodesics([fit, release], bands=[None, 0.05])
    view = Orthographic(fit.footpoint)
    x = np.linspace(-0.5, 0.5, 121)
    np.testing.assert_allclose(display.curves_[1], view.project(release.predict(x)).T)
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == [
        "without privacy",
        "μ = 1",
    ]
    (band,) = display.bands_
    depth = np.sqrt(1 - np.sum(band**2, axis=0))
    outline = band.T @ np.array([view.right, view.up]) + depth[:, None] * view.towards
    nearest = SPHERE.manifold.dist(outline[:121], release.predict(x))
    np.testing.assert_allclose(nearest, 0.05, atol=1e-9)


def test_ellipses_are_those_of_the_matrices():
    fit, release = geodesics(MATRICES)
    display = GeodesicDisplay.from_geodesics([fit, release], x=[-0.5, 0.0, 0.5])
    for geodesic, drawn in zip((fit, release), display.curves_, strict=True):
        ellipses = drawn - drawn[:, :, :-1].mean(axis=2, keepdims=True)
        for matrix, ellipse in zip(geodesic.predict([-0.5, 0.0, 0.5]), ellipses, strict=True):
            forms = np.einsum("ip,ij,jp->p", ellipse, np.linalg.inv(matrix), ellipse)
            np.testing.assert_allclose(forms, 1.0, atol=1e-9)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["-0.5", "0", "0.5"]


def test_shapes_are_the_predicted_ones():
    fit, release = geodesics(SHAPES)
    display = GeodesicDisplay.from_geodesics([fit, release])
    assert display.curves_[0].shape == (5, 2, 5)
    for geodesic, drawn in zip((fit, release), display.curves_, strict=True):
        shapes = SHAPES.manifold.project(np.moveaxis(drawn, 1, 2))
        predicted = geodesic.predict(np.linspace(-0.5, 0.5, 5))
        np.testing.assert_allclose(SHAPES.manifold.dist(shapes, predicted), 0.0, atol=1e-7)


def test_outlines_are_closed_on_demand():
    fit, release = geodesics(SHAPES)
    opened, closed = (
        GeodesicDisplay.from_geodesics([fit, release], closed=closed).curves_[1]
        for closed in (False, True)
    )
    np.testing.assert_array_equal(closed[..., :-1], opened)
    np.testing.assert_array_equal(closed[..., -1], opened[..., 0])


def test_what_cannot_be_drawn_is_refused():
    sphere, shapes, flat = (geodesics(space) for space in (SPHERE, SHAPES, FLAT))
    with pytest.raises(ValueError, match="no view"):
        GeodesicDisplay.from_geodesics(flat)
    with pytest.raises(ValueError, match="no view"):
        GeodesicDisplay.from_geodesics(sphere, view="shapes")
    with pytest.raises(ValueError, match="one manifold"):
        GeodesicDisplay(sphere + shapes)
    with pytest.raises(ValueError, match="1 names for 2"):
        GeodesicDisplay(sphere, names=["one"])
