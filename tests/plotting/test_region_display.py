"""Pictures of regions and intervals show what the regions and intervals say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import curvedp as cdp
from curvedp.plotting import RegionDisplay, VarianceIntervalDisplay
from curvedp.plotting.figures import new_figure
from curvedp.plotting.orthographic import Orthographic
from inference_cases import make_ball, spread_records

pytest.importorskip("matplotlib")

Regions = list[cdp.ConfidenceRegion]


def make_regions(spec: str) -> Regions:
    """One without privacy, two private ones of different budgets."""
    ball = make_ball(spec)
    records = spread_records(ball, 300)
    private = [cdp.confidence_region(records, ball, cdp.GDP(mu)) for mu in (0.5, 2.0)]
    return [cdp.nonprivate.confidence_region(records, ball.manifold), *private]


@pytest.fixture(scope="module")
def sphere() -> Regions:
    return make_regions("sphere:2")


@pytest.fixture(scope="module")
def matrices() -> Regions:
    return make_regions("spd:2")


def labels(display: RegionDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def curves(display: RegionDisplay) -> list[np.ndarray]:
    """The data of the lines with an entry in the legend, shape (2, k) each."""
    named = [line for line in display.ax_.lines if not line.get_label().startswith("_")]
    return [np.array(line.get_data()) for line in named]


def from_tangent(region: cdp.ConfidenceRegion, base: np.ndarray, coords: np.ndarray) -> np.ndarray:
    space = cdp.as_manifold(region.manifold)
    return space.exp(space.coords_to_tangent(coords, base), base)


def test_the_curves_in_the_tangent_plane_are_the_boundaries(sphere: Regions) -> None:
    base = np.array(make_ball("sphere:2").center)
    display = RegionDisplay.from_regions(sphere, base_point=base)
    assert labels(display) == ["without privacy", "μ = 0.5", "μ = 2"]
    for region, curve, boundary in zip(sphere, curves(display), display.boundaries_, strict=True):
        np.testing.assert_array_equal(curve, boundary)
        points = from_tangent(region, base, curve.T)
        inner, outer = (
            replace(region, quantile=region.quantile * factor).contains(points)
            for factor in (1 - 1e-6, 1 + 1e-6)
        )
        assert outer.all()
        assert not inner.any()
    assert display.ax_.get_aspect() == 1.0


def test_the_curves_on_the_sphere_are_the_boundaries(sphere: Regions) -> None:
    display = RegionDisplay.from_regions(sphere, view="sphere")
    view = Orthographic(sphere[0].estimate)
    for region, curve in zip(sphere, curves(display), strict=True):
        expected = view.project(region.boundary(240)).T
        np.testing.assert_allclose(curve[:, :-1], expected, atol=1e-14)
        np.testing.assert_array_equal(curve[:, -1], curve[:, 0])
    low, high = display.ax_.get_xlim()
    assert high == -low < 1.0
    assert np.abs(np.concatenate(display.boundaries_, axis=1)).max() < high


def test_spheres_of_any_radius_are_drawn_as_directions() -> None:
    small, large = make_regions("sphere:2:3.0"), []
    for region in small:
        large.append(
            replace(
                region,
                manifold="sphere:2",
                estimate=region.estimate / 3,
                chart_point=region.chart_point / 3,
                covariance=region.covariance / 9,
            )
        )
    shown = [RegionDisplay.from_regions(r, view="sphere") for r in (small, large)]
    for one, other in zip(shown[0].boundaries_, shown[1].boundaries_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_far_side_of_the_sphere_is_not_drawn() -> None:
    view = Orthographic([0.0, 0.6, 0.8])
    near, far = np.array([0.0, 0.6, 0.8]), np.array([0.0, -0.6, -0.8])
    np.testing.assert_allclose(view.project(near), 0.0, atol=1e-15)
    assert np.isnan(view.project(far)).all()
    assert view.extent(np.array([near, far])) == 1.04
    turned = view.project(np.array([[1.0, 0.0, 0.0], [0.0, 0.8, -0.6]]))
    np.testing.assert_allclose(np.abs(turned), np.eye(2), atol=1e-15)


def test_the_ellipses_of_spd_2_are_those_of_boundary_matrices(matrices: Regions) -> None:
    display = RegionDisplay.from_regions(matrices, view="matrices")
    for region, family, middle in zip(matrices, display.boundaries_, curves(display), strict=True):
        for ellipse, matrix in zip(family, region.boundary(len(family)), strict=True):
            along = np.linalg.norm(np.linalg.solve(matrix, ellipse), axis=0)
            np.testing.assert_allclose(along, 1.0, rtol=1e-9)
        along = np.linalg.norm(np.linalg.solve(region.estimate, middle), axis=0)
        np.testing.assert_allclose(along, 1.0, rtol=1e-9)


def test_all_three_coordinates_show_the_exact_boundary(matrices: Regions) -> None:
    base = np.eye(2)
    display = RegionDisplay.from_regions(matrices, base_point=base)
    assert display.ax_.name == "3d"
    for region, surface in zip(matrices, display.boundaries_, strict=True):
        points = from_tangent(region, base, np.moveaxis(surface, 0, -1))
        for factor, expected in ((1 - 1e-6, False), (1 + 1e-6, True)):
            scaled = replace(region, quantile=region.quantile * factor)
            assert (scaled.contains(points) == expected).all()


@pytest.mark.parametrize("coordinates", [(0, 1), (2, 0), (0, 1, 2), (4, 9, 14)])
def test_fewer_coordinates_show_the_shadow_of_the_region(coordinates: tuple[int, ...]) -> None:
    """No boundary point falls outside the drawn ellipsoid; those on its rim touch it."""
    region = make_regions("spd:3:log-euclidean")[1] if max(coordinates) < 6 else None
    if region is None:
        space = cdp.SPD(5, metric="log-euclidean")
        ball = cdp.Ball(space, "identity", 1.5)
        region = cdp.confidence_region(spread_records_at(ball), ball, cdp.GDP(1.0))
    display = RegionDisplay.from_regions([region], coordinates=coordinates)
    k = list(coordinates)
    drawn = np.moveaxis(display.boundaries_[0], 0, -1).reshape(-1, len(k))
    radii, directions = region.axes()
    root = radii * directions.T  # region = center + root u, |u| <= 1
    toward = np.random.default_rng(0).standard_normal((200, len(k)))
    support = np.linalg.norm(toward @ root[k], axis=1)  # largest <toward, x> over the region
    np.testing.assert_allclose((toward @ drawn.T).max(axis=1), support, rtol=0.02)
    assert ((toward @ drawn.T).max(axis=1) <= support * (1 + 1e-9)).all()


def spread_records_at(ball: cdp.Ball) -> np.ndarray:
    coords = 0.1 * np.random.default_rng(1).standard_normal((300, ball.manifold.dim))
    coords *= np.linspace(1, 3, ball.manifold.dim)
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


def test_a_shadow_on_a_curved_manifold_is_near_that_of_its_boundary(matrices: Regions) -> None:
    base = np.array(make_ball("spd:2").center)
    region = matrices[2]
    space = cdp.SPD(2)
    display = RegionDisplay.from_regions([region], base_point=base, coordinates=(0, 2))
    cloud = space.tangent_to_coords(space.log(region.boundary(4000), base), base)[:, [0, 2]]
    drawn = display.boundaries_[0].T
    for toward in np.random.default_rng(0).standard_normal((20, 2)):
        middle = space.tangent_to_coords(space.log(region.estimate, base), base)[[0, 2]] @ toward
        assert np.isclose(
            (drawn @ toward).max() - middle, (cloud @ toward).max() - middle, rtol=0.1
        )


def test_points_are_drawn_where_they_are(sphere: Regions) -> None:
    base = np.array(make_ball("sphere:2").center)
    points = spread_records(make_ball("sphere:2"), 30)
    display = RegionDisplay.from_regions(sphere, base_point=base, points=points)
    drawn = np.asarray(display.ax_.collections[0].get_offsets())
    np.testing.assert_allclose(from_tangent(sphere[0], base, drawn), points, atol=1e-9)
    one = RegionDisplay.from_regions(sphere, points=base, view="sphere")
    np.testing.assert_allclose(
        one.ax_.collections[0].get_offsets(), [Orthographic(sphere[0].estimate).project(base)]
    )
    assert not RegionDisplay.from_regions(sphere).ax_.collections


def test_panels_are_the_callers_axes(sphere: Regions, matrices: Regions) -> None:
    figure = new_figure(9, 4)
    left, right = figure.add_subplot(121), figure.add_subplot(122, projection="3d")
    one = RegionDisplay(sphere, names=["exact", "a", "b"]).plot(left)
    RegionDisplay(matrices).plot(right, legend=False)
    assert one.ax_ is left
    assert one.figure_ is figure
    assert labels(one) == ["exact", "a", "b"]
    assert right.get_legend() is None
    with pytest.raises(ValueError, match="3-D axes"):
        RegionDisplay(matrices).plot(left)
    with pytest.raises(ValueError, match="3-D axes"):
        RegionDisplay(sphere).plot(right)


def test_what_cannot_be_drawn_is_refused(sphere: Regions, matrices: Regions) -> None:
    with pytest.raises(ValueError, match="on one manifold"):
        RegionDisplay([*sphere, *matrices])
    with pytest.raises(ValueError, match="on one manifold"):
        RegionDisplay([])
    with pytest.raises(ValueError, match="2 names for 3 regions"):
        RegionDisplay(sphere, names=["a", "b"])
    with pytest.raises(ValueError, match="interval"):
        RegionDisplay(make_regions("sphere:1"))
    with pytest.raises(ValueError, match="not spd:2"):
        RegionDisplay(matrices).plot(view="sphere")
    with pytest.raises(ValueError, match="not sphere:2"):
        RegionDisplay(sphere).plot(view="matrices")
    with pytest.raises(ValueError, match="view"):
        RegionDisplay(sphere).plot(view="globe")
    with pytest.raises(ValueError, match="belong to the view"):
        RegionDisplay(sphere).plot(view="sphere", coordinates=(0, 1))
    for wrong in ((0,), (0, 0), (0, 3), (0, -1), (0.0, 1.0), (0, 1, 2, 3)):
        with pytest.raises(ValueError, match="different integers below 3"):
            RegionDisplay(matrices).plot(coordinates=wrong)


@pytest.mark.parametrize("view", ["tangent", "sphere"])
def test_regions_are_written_without_a_screen(sphere: Regions, view: str, tmp_path) -> None:
    from matplotlib.image import imread

    target = tmp_path / "regions.png"
    RegionDisplay.from_regions(sphere, view=view).figure_.savefig(target)
    assert imread(target)[..., :3].std() > 0.02


@pytest.mark.parametrize("view", ["tangent", "matrices"])
def test_regions_of_matrices_are_written(matrices: Regions, view: str, tmp_path) -> None:
    from matplotlib.image import imread

    target = tmp_path / "regions.png"
    RegionDisplay.from_regions(matrices, view=view).figure_.savefig(target)
    assert imread(target)[..., :3].std() > 0.02


def test_intervals_reach_from_end_to_end() -> None:
    ball = make_ball("spd:2")
    records = spread_records(ball, 300)
    intervals = [cdp.variance_interval(records, ball, cdp.GDP(mu)) for mu in (0.3, 1.0, 3.0)]
    exact = cdp.nonprivate.variance_interval(records, ball.manifold)
    display = VarianceIntervalDisplay.from_intervals([*intervals, exact], nonprivate=exact)
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert texts == ["μ = 0.3", "μ = 1", "μ = 3", "without privacy"]
    for row, (interval, bars) in enumerate(
        zip([*intervals, exact], display.ax_.containers, strict=True)
    ):
        ((start, stop),) = bars[2][0].get_segments()
        np.testing.assert_allclose(start, [interval.lower, row])
        np.testing.assert_allclose(stop, [interval.upper, row])
        assert bars[0].get_xdata()[0] == interval.estimate
    top, bottom = display.ax_.transData.transform([[0, 0], [0, 3]])[:, 1]
    assert top > bottom
    band = display.ax_.patches[0].get_extents().transformed(display.ax_.transData.inverted())
    np.testing.assert_allclose([band.x0, band.x1], [exact.lower, exact.upper])
    assert not VarianceIntervalDisplay.from_intervals(intervals).ax_.patches
    with pytest.raises(ValueError, match="1 names for 3 intervals"):
        VarianceIntervalDisplay(intervals, names=["a"])
    with pytest.raises(ValueError, match="one VarianceInterval"):
        VarianceIntervalDisplay([])


def test_without_matplotlib_the_error_names_the_install_command(
    sphere: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(cdp.MissingExtraError, match=r"pip install 'curvedp\[plot\]'"):
        RegionDisplay.from_regions(sphere)


def test_regions_and_intervals_draw_themselves(sphere: Regions) -> None:
    shown = sphere[1].plot()
    assert isinstance(shown, RegionDisplay)
    assert shown.regions == [sphere[1]]
    ball = make_ball("sphere:2")
    interval = cdp.variance_interval(spread_records(ball, 300), ball, cdp.GDP(1.0))
    display = interval.plot()
    assert isinstance(display, VarianceIntervalDisplay)
    assert display.intervals == [interval]
    assert display._repr_png_() is not None
