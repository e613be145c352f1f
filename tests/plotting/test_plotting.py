"""Pictures show what was released, on one scale, without a screen and without global state."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import curvedp
from curvedp.plotting import (
    DiffusionTensorDisplay,
    direction_colour,
    ellipsoid_surface,
    fractional_anisotropy,
    tensor_ellipsoids,
)

pytest.importorskip("matplotlib")

PROLATE = np.diag([0.3, 1.7, 0.3])


@pytest.fixture(scope="module")
def releases():
    ball = curvedp.Ball(curvedp.SPD(3), np.eye(3), 2.0)
    records = np.broadcast_to(PROLATE, (400, 3, 3))
    return [curvedp.frechet_mean(records, ball, curvedp.PureDP(e)) for e in (0.5, 2.0)]


def test_anisotropy_is_zero_for_a_sphere_and_one_for_a_line():
    np.testing.assert_allclose(fractional_anisotropy(0.7 * np.eye(3)), 0.0, atol=1e-15)
    np.testing.assert_allclose(fractional_anisotropy(np.diag([1e-12, 1e-12, 1.0])), 1.0)
    np.testing.assert_allclose(
        fractional_anisotropy(np.stack([PROLATE, 5.0 * PROLATE])),
        1.4 / np.sqrt(1.7**2 + 2 * 0.3**2),
        rtol=1e-12,
    )


@pytest.mark.parametrize(("axis", "channel"), [(0, "red"), (1, "green"), (2, "blue")])
def test_colour_names_the_principal_direction(axis, channel):
    tensor = np.diag(np.roll([1.7, 0.2, 0.2], axis))
    colour = dict(zip(("red", "green", "blue"), direction_colour(tensor), strict=True))
    assert max(colour, key=colour.get) == channel
    assert all(0.0 <= value <= 1.0 for value in colour.values())


def test_an_isotropic_tensor_is_grey():
    red, green, blue = direction_colour(0.9 * np.eye(3))
    np.testing.assert_allclose([red, green], blue, atol=1e-6)


def test_surface_is_the_ellipsoid_of_the_eigenvalues():
    rotation = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
    tensor = rotation @ np.diag([0.2, 0.6, 1.8]) @ rotation.T
    points = ellipsoid_surface(tensor).reshape(3, -1)
    along_axes = rotation.T @ points / np.array([[0.2], [0.6], [1.8]])
    np.testing.assert_allclose(np.linalg.norm(along_axes, axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(points, axis=0).max(), 1.8, rtol=1e-2)


def test_all_panels_share_one_scale():
    axes = tensor_ellipsoids(np.stack([np.eye(3), 3.0 * np.eye(3)]), titles=["small", "large"])
    assert axes[0].get_xlim() == axes[1].get_xlim() == axes[1].get_zlim()
    assert axes[0].get_xlim()[1] >= 3.0
    assert [ax.get_title() for ax in axes] == ["small", "large"]


def test_titles_tell_budget_and_distance(releases):
    display = DiffusionTensorDisplay.from_releases(releases, nonprivate_mean=PROLATE)
    titles = [ax.get_title() for ax in display.ax_]
    assert titles[0].startswith("non-private mean")
    for release, title in zip(releases, titles[1:], strict=True):
        distance = float(curvedp.SPD(3).dist(release.value, PROLATE))
        assert title == f"private, ε = {release.guarantee.epsilon:g}\ndistance {distance:.2g}"
    np.testing.assert_array_equal(display.tensors[1:], [r.value for r in releases])


def test_without_a_nonprivate_mean_only_releases_are_drawn(releases):
    display = DiffusionTensorDisplay.from_releases(releases)
    assert len(display.ax_) == 2
    assert all("distance" not in ax.get_title() for ax in display.ax_)
    assert all(not ax.lines for ax in display.ax_)


def test_every_kind_of_guarantee_is_named_in_its_letters(releases):
    guarantees = {
        "ε = 1, δ = 1e-06": curvedp.ApproxDP(1.0, 1e-6),
        "ρ = 0.5": curvedp.ZCDP(0.5),
        "μ = 0.25": curvedp.GDP(0.25),
        "unproved ε = 2": curvedp.Unproved(curvedp.PureDP(2.0), "seeded"),
    }
    shown = [
        replace(releases[0], guarantee=guarantee, calibrated_to=None)
        for guarantee in guarantees.values()
    ]
    display = DiffusionTensorDisplay.from_releases(shown)
    assert [ax.get_title() for ax in display.ax_] == [f"private, {text}" for text in guarantees]


def test_display_draws_into_a_given_figure(releases):
    from matplotlib.figure import Figure

    figure = Figure()
    display = DiffusionTensorDisplay.from_releases(releases, figure=figure)
    assert display.figure_ is figure
    assert list(display.ax_) == figure.axes


def test_picture_is_written_without_a_screen(releases, tmp_path):
    target = tmp_path / "mean.png"
    DiffusionTensorDisplay.from_releases(releases, nonprivate_mean=PROLATE).figure_.savefig(target)
    from matplotlib.image import imread

    pixels = imread(target)
    assert pixels.shape[1] > pixels.shape[0]
    assert pixels[..., :3].std() > 0.02


@pytest.mark.parametrize("shape", [(3,), (2, 2), (0, 3, 3), (4, 3, 2)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"shape \(k, 3, 3\)"):
        tensor_ellipsoids(np.ones(shape))


def test_titles_must_match_the_tensors():
    with pytest.raises(ValueError, match="1 titles for 2 tensors"):
        tensor_ellipsoids(np.stack([np.eye(3)] * 2), titles=["only one"])


def test_releases_on_another_manifold_are_refused(releases):
    with pytest.raises(ValueError, match="spd:3"):
        DiffusionTensorDisplay.from_releases([replace(releases[0], manifold="spd:4")])
    with pytest.raises(ValueError, match="spd:3"):
        DiffusionTensorDisplay.from_releases([])


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


def test_importing_the_module_does_not_import_matplotlib():
    result = run_python("import sys, curvedp.plotting; assert 'matplotlib' not in sys.modules")
    assert result.returncode == 0, result.stderr


def test_drawing_leaves_pyplot_alone():
    result = run_python(
        "import sys, numpy as np\n"
        "from curvedp.plotting import tensor_ellipsoids\n"
        "tensor_ellipsoids(np.eye(3))[0].figure.canvas.draw()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert result.returncode == 0, result.stderr


def test_without_matplotlib_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(curvedp.errors.MissingExtraError, match=r"pip install 'curvedp\[plot\]'"):
        tensor_ellipsoids(np.eye(3))
