"""Pictures of densities and conformal factors show the values at the nodes."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.conformal import ball_mesh, density, factor, fibonacci_mesh
from curvedp.conformal.display import MeshFieldDisplay

pytest.importorskip("matplotlib")


@pytest.fixture
def release():
    mesh = fibonacci_mesh(200)
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.5)
    return density(mesh.points[:40], ball, cdp.PureDP(1.0), mesh=mesh)


def test_colours_are_the_values_on_the_near_side(release):
    display = MeshFieldDisplay.from_density(release, above=[0, 0, 1])
    near = release.mesh.points[:, 2] > 0
    drawn = display.ax_.collections[0]
    np.testing.assert_array_equal(drawn.get_array(), release.value[near])
    places = np.abs(np.linalg.norm(drawn.get_offsets(), axis=1))
    np.testing.assert_allclose(places, np.sqrt(1 - release.mesh.points[near, 2] ** 2))


def test_factors_are_seen_from_where_they_are_smallest(release):
    found = factor(release, 2.0)
    display = MeshFieldDisplay.from_factor(found)
    np.testing.assert_array_equal(display.above, release.mesh.points[np.argmin(found.phi)])
    assert "υ = 2" in display.ax_.get_title()


def test_an_axes_can_be_given(release):
    first = MeshFieldDisplay.from_density(release)
    again = MeshFieldDisplay.from_density(release, ax=first.ax_)
    assert again.figure_ is first.figure_


def test_other_manifolds_are_refused():
    ball = cdp.Ball("sphere:3", [0, 0, 0, 1.0], 0.5)
    with pytest.raises(ValueError, match="sphere:2"):
        MeshFieldDisplay(ball_mesh(ball, 20), np.zeros(20))
