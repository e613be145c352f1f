"""Releases draw themselves on every space, from nothing but what they hold."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import curvedp as cdp
from curvedp.conformal.display import MeshFieldDisplay
from curvedp.mail.display import EmbeddingDisplay
from curvedp.plotting import (
    GeodesicDisplay,
    RegionDisplay,
    ReleaseDisplay,
    VarianceIntervalDisplay,
    tensor_ellipsoids,
)
from curvedp.plotting.points import VIEWS, ReleasedPoint, view_of
from drawn_spaces import DRAWN
from manifold_list import BY_NAME, CASES, SMALL

pytest.importorskip("matplotlib")

PNG = b"\x89PNG\r\n"
MU = cdp.GDP(mu=1.0)


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def released(case, *, center=None, seed=None, n=60):
    """A mean halfway to the rim of its ball."""
    space = case.manifold
    about = space.random_point(rng=1) if center is None else center
    ball = cdp.Ball(space, about, min(0.5 * space.max_ball_radius, 1.0))
    coords = np.full((n, space.dim), 0.5 * ball.radius / math.sqrt(space.dim))
    records = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    return cdp.frechet_mean(records, ball, MU, seed=seed)


@pytest.mark.parametrize("case", DRAWN, ids=repr)
def test_a_mean_is_drawn_on_every_space(case):
    release = released(case, n=2000)
    display = release.plot()
    assert isinstance(display, ReleaseDisplay)
    assert display.view == view_of(case.manifold)
    title = display.ax_.get_title()
    assert case.manifold.spec in title
    assert "μ = 1" in title
    assert f"expected error {release.expected_error:.3g}" in title
    assert display._repr_png_().startswith(PNG)


#: Spaces where the ball of a mean without one is drawn.
ROUND = {
    *("sphere:2", "torus:1", "torus:2", "hyperboloid:2"),
    *("euclidean:1", "euclidean:2", "euclidean:3"),
}
#: A space of each view, of the small ones where there is one.
BY_VIEW = {view_of(case.manifold): case for case in [*CASES, *reversed(SMALL)]}


def test_every_view_has_a_space():
    assert {*BY_VIEW, "plane"} == set(VIEWS)


@pytest.mark.parametrize("case", BY_VIEW.values(), ids=repr)
@pytest.mark.parametrize("error", [None, 1e-12, 3.0, 1e6, math.inf])
def test_any_expected_error_is_drawn(case, error):
    display = replace(released(case, n=2000), expected_error=error or 1.0)
    plain = {name: getattr(display, name) for name in cdp.Release.__dataclass_fields__}
    shown = cdp.Release(**{**plain, "expected_error": error}).plot()
    known = "not known" if error is None else f"{error:.3g}"
    assert f"expected error {known}" in shown.ax_.get_title()
    assert shown._repr_png_().startswith(PNG)


def line(display, label):
    (found,) = [own for own in display.ax_.lines if own.get_label() == label]
    return np.column_stack(found.get_data())


def test_circles_are_at_their_distances():
    """On the plane, the disc and the torus what is drawn has a distance that is known."""
    for name, center in (("torus:2", [0.0, 0.0]), ("hyperboloid:2", None)):
        case = BY_NAME[name]
        space = case.manifold
        release = released(case, center=space.origin if center is None else center)
        display = release.plot()

        def point(flat, space=space, name=name):
            if name == "torus:2":
                return flat
            square = (flat**2).sum(axis=1)[:, None]
            return np.concatenate([1 + square, 2 * flat], axis=1) / (1 - square)

        value = point(line(display, "released"))
        np.testing.assert_allclose(space.dist(value[0], release.value), 0.0, atol=1e-7)
        rim = space.dist(point(line(display, "public ball")), release.ball_center)
        np.testing.assert_allclose(rim, release.ball_radius, rtol=1e-7)
        ring = space.dist(point(line(display, "expected error")), release.value)
        np.testing.assert_allclose(ring, release.expected_error, rtol=1e-6)


@pytest.mark.parametrize(
    "spec",
    [
        *("sphere:2", "torus:1", "torus:2", "kendall:5", "spd:2", "spd:3", "rotations:3"),
        *("hyperboloid:2", "euclidean:1", "euclidean:2", "euclidean:3", "euclidean:12"),
    ],
)
def test_a_mean_without_a_ball_is_drawn_as_one_with_a_ball(spec):
    space = cdp.as_manifold(spec)
    coords = 0.1 * np.random.default_rng(5).standard_normal((600, space.dim))
    records = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
    release = cdp.frechet_mean(records, space, MU, seed=2)
    display = release.plot()
    assert display.view == view_of(space)
    assert "of the radius" not in display.ax_.get_title()
    own = [text.get_label() for text in display.ax_.get_children()]
    assert not {"public ball", "ball's centre"} & set(own)
    assert ("released ball" in own) == (spec in ROUND)
    if spec in ("euclidean:2", "torus:2"):
        rim = np.linalg.norm(line(display, "released ball") - release.value, axis=1)
        np.testing.assert_allclose(rim, release.ball.radius, rtol=1e-7)
    without = replace(release, level=math.inf)
    assert without.ball is None
    labels = [text.get_label() for text in without.plot().ax_.get_children()]
    assert "released ball" not in labels


def test_the_globe_is_seen_from_above_the_ball():
    release = released(BY_NAME["sphere:2:radius=3"])
    display = release.plot()
    rim = np.linalg.norm(line(display, "public ball"), axis=1)
    np.testing.assert_allclose(rim, math.sin(release.ball_radius / 3.0), rtol=1e-7)
    shown = np.linalg.norm(line(display, "released"))
    away = float(BY_NAME["sphere:2:radius=3"].manifold.dist(release.value, release.ball_center))
    np.testing.assert_allclose(shown, math.sin(away / 3.0), rtol=1e-6)


def test_an_axis_is_shown_on_the_near_side_whatever_its_sign():
    release = released(BY_NAME["projective:2"])
    turned = replace(release, value=-release.value)
    np.testing.assert_allclose(
        line(release.plot(), "released"), line(turned.plot(), "released"), atol=1e-12
    )


def test_a_ball_across_the_edge_of_the_torus_has_no_line_across_the_square():
    release = released(BY_NAME["torus:2"], center=[3.1, -3.1])
    rim = line(release.plot(), "public ball")
    steps = np.abs(np.diff(rim, axis=0))
    assert np.isnan(steps).any()
    assert np.nanmax(steps) < 0.5


def test_a_shape_is_turned_to_the_centre_of_the_ball():
    release = released(BY_NAME["kendall:10"])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = replace(release, value=release.value @ turn)
    first, second = (line(own.plot(), "released") for own in (release, turned))
    np.testing.assert_allclose(first, second, atol=1e-12)
    assert np.array_equal(first[0], first[-1])


def test_bars_are_the_coordinates_of_the_logarithm():
    case = BY_NAME["sphere:9"]
    release = released(case)
    display = release.plot()
    log = case.manifold.log(release.value, release.ball_center)
    coords = case.manifold.tangent_to_coords(log, release.ball_center)
    heights = [bar.get_height() for bar in display.ax_.patches[: len(coords)]]
    np.testing.assert_array_equal(heights, coords)


@pytest.mark.parametrize("name", ["spd:11", "correlation:4"])
def test_a_matrix_is_an_image_with_a_colour_bar(name):
    display = released(BY_NAME[name]).plot()
    (image,) = display.ax_.images
    np.testing.assert_array_equal(image.get_array(), display.release.value)
    assert len(display.figure_.axes) == 2
    low, high = image.get_clim()
    assert low == -high


def test_products_and_motions_are_drawn():
    turns = cdp.Ball("rotations:3", center="identity", radius=0.5)
    moves = cdp.Ball("euclidean:3", center=[0.0, 0.0, 0.0], radius=20.0)
    ball = cdp.ProductBall(turns, moves, manifold=cdp.RigidMotions(length=10.0))
    display = cdp.frechet_mean(np.stack([ball.center] * 2000), ball, MU).plot()
    assert display.view == "coordinates"
    assert display._repr_png_().startswith(PNG)


def kinds():
    """Releases that are no points, with what draws them."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    flat = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    turned = cdp.Ball("rotations:3", center="identity", radius=0.5)
    x = np.linspace(-1.0, 1.0, 80)
    y = np.column_stack((x / 2, x**2 / 2))
    records = ball.manifold.project(np.column_stack((0.2 * x, 0.0 * x, np.ones(80))))
    frames = np.tile(np.eye(3), (80, 1, 1))
    mesh = cdp.conformal.fibonacci_mesh(50)
    grid = cdp.conformal.Mesh(flat.manifold, y, np.ones(80))
    fit = {"x_range": (-1.0, 1.0), "tau": 0.3, "v_max": 0.9}
    return {
        "variance": (cdp.frechet_variance(records, ball, MU), "interval"),
        "test": (cdp.two_sample_test(y[:40], y[40:], flat, MU), "interval"),
        "covariance": (cdp.log_covariance(frames, turned, MU), "image"),
        "median": (cdp.geometric_median(records, ball, MU), "globe"),
        "adaptive": (cdp.adaptive_mean(records, ball, MU), "globe"),
        "plane": (cdp.frechet_mean(y, flat, MU), "plane"),
        "geodesic": (cdp.geodesic_regression(x, records, ball, MU, **fit), GeodesicDisplay),
        "line": (cdp.geodesic_regression(x, y, flat, MU, **fit), "image"),
        "density": (
            cdp.conformal.density(records, ball, cdp.PureDP(1.0), mesh=mesh),
            MeshFieldDisplay,
        ),
        "nodes": (cdp.conformal.density(y, flat, cdp.PureDP(1.0), mesh=grid), "entries"),
    }


@pytest.fixture(scope="module")
def other():
    return kinds()


@pytest.mark.parametrize(
    "name",
    list(["variance", "test", "covariance", "median", "adaptive"])
    + list(["plane", "geodesic", "line", "density", "nodes"]),
)
def test_every_kind_of_release_is_drawn(other, name):
    release, expected = other[name]
    display = release.plot()
    if isinstance(expected, str):
        assert display.view == expected
    else:
        assert type(display) is expected
    assert display._repr_png_().startswith(PNG)


def test_a_covariance_with_the_shape_of_a_point_is_no_point(other):
    release, _ = other["covariance"]
    assert release.value.shape == cdp.Rotations().point_shape
    assert release.plot().view != view_of(cdp.Rotations())


def test_a_number_stands_in_its_expected_error(other):
    release, _ = other["variance"]
    (container,) = release.plot().ax_.containers
    (bar,) = container[2]
    ends = bar.get_segments()[0][:, 0]
    value = release.value.item()
    np.testing.assert_allclose(
        ends, [value - release.expected_error, value + release.expected_error]
    )


def test_what_is_not_proved_is_loud_in_the_picture():
    case = BY_NAME["sphere:2"]
    assert "NO GUARANTEE" in released(case, seed=1).plot().ax_.get_title()
    assert "NO GUARANTEE" not in released(case).plot().ax_.get_title()


def test_a_picture_is_a_function_of_the_release():
    release = released(BY_NAME["sphere:2"], seed=918273645)
    again = cdp.Release.from_json(release.to_json())
    assert release.plot()._repr_png_() == again.plot()._repr_png_()


def test_what_is_no_point_is_drawn_as_numbers():
    release = released(BY_NAME["sphere:2"])
    assert replace(release, value=np.array([5.0, 0.0, 0.0])).plot().view == "entries"
    assert replace(release, ball_center=np.full(3, np.nan)).plot().view == "entries"


EXTREME = {
    "tiny tensor": ("spd:3", 1e-200 * np.eye(3), 1.0, 1e-200 * np.eye(3)),
    "long tensor": ("spd:3", np.eye(3), 700.0, np.diag([1e-140, 1.0, 1e140])),
    "long ellipse": ("spd:2", np.eye(2), 700.0, np.diag([1e-140, 1e140])),
    "far in the disc": ("hyperboloid:2", [1.0, 0.0, 0.0], 30.0, [math.cosh(30), math.sinh(30), 0]),
    "small cap": ("sphere:2", [0.0, 0.0, 1.0], 1e-300, [0.0, 0.0, 1.0]),
    "small ball": ("euclidean:3", np.zeros(3), 1e-300, np.zeros(3)),
    "large ball": ("euclidean:2", np.zeros(2), 1e149, np.full(2, 1e148)),
    "opposite shape": ("kendall:3", cdp.KendallPlanar(3).origin, 0.5, None),
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_points_are_drawn(name):
    spec, center, radius, value = EXTREME[name]
    if value is None:  # the mirror image, at the cut locus
        value = np.asarray(center) * [1.0, -1.0]
    release = released(BY_NAME["sphere:2"])
    fields = {key: getattr(release, key) for key in cdp.Release.__dataclass_fields__}
    own = {"manifold": spec, "ball_center": center, "ball_radius": radius, "value": value}
    display = cdp.Release(**fields | own).plot()
    assert display.view == view_of(cdp.as_manifold(spec))
    assert display._repr_png_().startswith(PNG)


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e308])
def test_numbers_that_no_picture_shows_are_refused(number):
    release = released(BY_NAME["euclidean:3"])
    with pytest.raises(ValueError, match="no picture shows"):
        replace(release, value=np.array([number, 0.0, 0.0])).plot()
    shown = replace(release, ball_center=np.array([number, 0.0, 0.0])).plot()
    assert shown.view == "entries"
    assert replace(release, expected_error=number).plot()._repr_png_().startswith(PNG)


def test_texts_are_not_read_as_formulas():
    release = replace(released(BY_NAME["sphere:2"]), statistic="$\\frac{$")
    assert release.plot()._repr_png_().startswith(PNG)


def test_the_axes_must_have_the_dimensions_of_the_view():
    from matplotlib.figure import Figure

    flat, solid = Figure().add_subplot(), Figure().add_subplot(projection="3d")
    assert released(BY_NAME["sphere:2"]).plot(flat).ax_ is flat
    assert released(BY_NAME["spd:3"]).plot(ax=solid).figure_ is solid.figure
    with pytest.raises(ValueError, match="plane axes"):
        released(BY_NAME["sphere:2"]).plot(solid)
    with pytest.raises(ValueError, match="3-D axes"):
        released(BY_NAME["rotations:3"]).plot(flat)


def test_a_circle_stops_where_geodesics_meet():
    space = cdp.Sphere(2)
    point = ReleasedPoint(space, space.origin, 0.5, space.origin, 4.0, 0.1)
    (_, _), (beyond, _) = point.circles()
    assert len(beyond) == 0


def test_all_displays_show_in_notebooks():
    region = cdp.nonprivate.confidence_region(
        0.1 * np.random.default_rng(0).standard_normal((50, 2)), "euclidean:2"
    )
    interval = cdp.nonprivate.variance_interval(np.eye(3)[[0, 0, 1, 0]] @ np.eye(3), "euclidean:3")
    points = np.random.default_rng(0).standard_normal((20, 2))
    displays = [
        RegionDisplay.from_regions([region]),
        VarianceIntervalDisplay.from_intervals([interval]),
        EmbeddingDisplay([{"rows": points}], ["start"]).plot(),
    ]
    for display in displays:
        assert display._repr_png_().startswith(PNG)
    assert RegionDisplay([region])._repr_png_() is None, "nothing was drawn"


def test_a_part_of_a_figure_shows_the_whole_figure():
    from matplotlib.figure import Figure

    figure = Figure()
    part = figure.subfigures(1, 2)[0]
    display = released(BY_NAME["sphere:2"]).plot(part.add_subplot())
    assert display._repr_png_().startswith(PNG)
    assert len(tensor_ellipsoids(np.eye(3))) == 1


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_pyplot_shows_its_own_figures_once():
    result = run_python(
        "import matplotlib; matplotlib.use('Agg')\n"
        "import matplotlib.pyplot as plt, numpy as np, curvedp as cdp\n"
        "ball = cdp.Ball('sphere:2', center=[0.0, 0.0, 1.0], radius=0.5)\n"
        "mean = cdp.frechet_mean(np.tile(ball.center, (50, 1)), ball, cdp.GDP(mu=1.0))\n"
        "assert mean.plot()._repr_png_() is not None and plt.get_fignums() == []\n"
        "assert mean.plot(plt.subplots()[1])._repr_png_() is None\n"
        "plt.close('all')\n"
    )
    assert result.returncode == 0, result.stderr


def test_releases_import_no_pictures_before_one_is_drawn():
    result = run_python(
        "import sys, numpy as np, curvedp as cdp\n"
        "ball = cdp.Ball('sphere:2', center=[0.0, 0.0, 1.0], radius=0.5)\n"
        "mean = cdp.frechet_mean(np.tile(ball.center, (50, 1)), ball, cdp.GDP(mu=1.0))\n"
        "repr(mean), mean._repr_html_(), mean.report()\n"
        "assert 'matplotlib' not in sys.modules and 'curvedp.plotting' not in sys.modules\n"
        "mean.plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    assert result.returncode == 0, result.stderr


def test_without_matplotlib_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(cdp.errors.MissingExtraError, match=r"pip install 'curvedp\[plot\]'"):
        released(BY_NAME["sphere:2"]).plot()
