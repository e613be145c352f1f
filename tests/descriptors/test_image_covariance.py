"""Covariance descriptors agree with their twins, are points, and never speak of a pixel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

import curvedp as cdp
from curvedp.descriptors import FEATURES, PRESETS, feature_labels, image_covariance
from reference import descriptors as twin
from reference.twin import Array

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
SUBSETS = st.lists(st.sampled_from(FEATURES), min_size=1, unique=True).map(tuple)
COLOUR = np.array([0.299, 0.587, 0.114])


def gray_bytes(n: int = 6, size: int = 28, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (n, size, size), dtype=np.uint8)


def expected(images: Any, names: tuple[str, ...], ridge: float, high: float, weights: Any) -> Array:
    return np.array(
        [twin.image_covariance(image, names, ridge, 0.0, high, weights) for image in images]
    )


# ---------------------------------------------------------------------------- what it computes


@given(data=st.data(), names=SUBSETS, seed=st.integers(0, 2**32 - 1))
def test_descriptors_agree_with_the_twin(data: Any, names: tuple[str, ...], seed: int) -> None:
    """Shapes beyond a block of 1024 pixels, and rows longer than one, are among them."""
    size = st.tuples(st.integers(1, 40), st.integers(1, 40))
    height, width = data.draw(size | st.sampled_from([(1, 1), (2, 1500), (90, 70), (1024, 1)]))
    channels = data.draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    images = rng.uniform(size=(2, height, width, channels)) ** 4
    weights = COLOUR if channels == 3 else np.ones(channels)
    matrices = image_covariance(images, features=names, ridge=1e-4)
    truth = expected(images, names, 1e-4, 1.0, weights)
    assert matrices.shape == truth.shape
    assert np.max(np.abs(matrices - truth)) <= 1e-14


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_are_levels_from_0_to_255(preset: str, channels: int) -> None:
    images = np.random.default_rng(1).integers(0, 256, (5, 17, 23, channels), dtype=np.uint8)
    weights = COLOUR if channels == 3 else np.ones(1)
    truth = expected(images, PRESETS[preset], 1e-6, 255.0, weights)
    matrices = image_covariance(images, features=preset)
    assert np.max(np.abs(matrices - truth)) <= 1e-15
    for same in (
        images / 255,
        np.asfortranarray(images),
        np.repeat(images, 2, axis=2)[:, :, ::2],
    ):
        assert np.array_equal(image_covariance(same, features=preset), matrices)
    for same in (images.astype(np.uint16), images.astype(int), images.tolist(), 1.0 * images):
        again = image_covariance(same, features=preset, value_range=(0, 255))
        assert np.array_equal(again, matrices)


def test_presets_give_the_sizes_of_the_literature() -> None:
    assert image_covariance(gray_bytes(), features="texture").shape == (6, 5, 5)
    assert image_covariance(gray_bytes()).shape == (6, 9, 9)
    colour = np.random.default_rng(0).uniform(size=(6, 32, 32, 3))
    assert image_covariance(colour).shape == (6, 11, 11)
    assert feature_labels("region", channels=3)[2:5] == (
        "intensity_0",
        "intensity_1",
        "intensity_2",
    )


def test_derivatives_are_the_filters_of_the_literature_with_repeated_borders() -> None:
    """SciPy's correlate1d with mode "nearest" as oracle."""
    images = np.random.default_rng(2).uniform(size=(4, 11, 13))

    def filtered(kernel: list[int], axis: int) -> Array:
        return ndimage.correlate1d(images, kernel, axis=axis, mode="nearest")

    dx, dy = filtered([-1, 0, 1], 2), filtered([-1, 0, 1], 1)
    dxx, dyy = filtered([-1, 2, -1], 2), filtered([-1, 2, -1], 1)
    planes = np.stack([images, *map(np.abs, (dx, dy, dxx, dyy))], axis=1).reshape(4, 5, -1)
    truth = np.array([np.cov(rows, bias=True) for rows in planes]) + 1e-6 * np.eye(5)
    assert np.max(np.abs(image_covariance(images, features="texture") - truth)) <= 1e-15


def test_turning_an_image_exchanges_the_axes() -> None:
    images = gray_bytes(4, 20)
    names = ("intensity", "abs_dx", "abs_dy", "abs_dxx", "abs_dyy", "abs_dxy", "gradient_norm")
    swapped = ("intensity", "abs_dy", "abs_dx", "abs_dyy", "abs_dxx", "abs_dxy", "gradient_norm")
    turned = image_covariance(np.swapaxes(images, 1, 2), features=swapped)
    assert np.max(np.abs(image_covariance(images, features=names) - turned)) <= 1e-15


def test_brightness_changes_nothing_and_contrast_scales() -> None:
    dark = np.random.default_rng(3).uniform(0.1, 0.4, size=(5, 16, 16))
    matrices = image_covariance(dark, features="texture")
    assert np.max(np.abs(image_covariance(dark + 0.5, features="texture") - matrices)) <= 1e-15
    doubled = image_covariance(2 * dark, features="texture", ridge=4e-6)
    assert np.max(np.abs(doubled - 4 * matrices)) <= 1e-15


def test_ridge_is_added_to_the_diagonal() -> None:
    small = image_covariance(gray_bytes(), ridge=1e-6)
    large = image_covariance(gray_bytes(), ridge=1e-2)
    assert np.max(np.abs(large - small - (1e-2 - 1e-6) * np.eye(9))) <= 1e-16


def test_gray_weights_are_scaled_to_sum_one() -> None:
    images = np.random.default_rng(4).uniform(size=(3, 9, 9, 2))
    first = image_covariance(images, features=("gray", "abs_dx"), gray_weights=[3, 0])
    assert np.array_equal(first, image_covariance(images[..., 0], features=("intensity", "abs_dx")))


@given(data=st.data())
def test_eigenvalues_stay_within_the_documented_bounds(data: Any) -> None:
    shape = data.draw(st.tuples(st.just(2), st.integers(1, 9), st.integers(1, 9)))
    images = data.draw(hnp.arrays(np.uint8, shape, elements=st.sampled_from([0, 255])))
    lengths = {"gradient_norm": np.sqrt(2), "orientation": np.pi / 2}
    lengths |= dict.fromkeys(("abs_dxx", "abs_dyy", "abs_dxy", "dx", "dy"), 2.0)
    lengths |= dict.fromkeys(("dxx", "dyy", "dxy"), 4.0)
    names = data.draw(SUBSETS)
    values = np.linalg.eigvalsh(image_covariance(images, features=names, ridge=1e-6))
    assert values.min() >= 1e-6 - 1e-14
    assert values.max() <= 1e-6 + sum(lengths.get(name, 1.0) ** 2 / 4 for name in names) + 1e-14


# ---------------------------------------------------------------------------- every record counts


def test_an_image_decides_its_own_descriptor_alone() -> None:
    images = gray_bytes(200, 12)
    together = image_covariance(images)
    alone = [image_covariance(images[i : i + 1])[0] for i in range(200)]
    assert np.array_equal(together, alone)
    order = np.random.default_rng(0).permutation(200)
    assert np.array_equal(image_covariance(images[order]), together[order])


def test_descriptors_do_not_depend_on_the_number_of_threads() -> None:
    images = gray_bytes(2000, 10)
    try:
        cdp.set_num_threads(1)
        one = image_covariance(images)
        cdp.set_num_threads(3)
        assert np.array_equal(image_covariance(images), one)
    finally:
        cdp.set_num_threads(0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_an_image_with_an_unusable_pixel_becomes_the_ridge(bad: float, dtype: Any) -> None:
    images = np.random.default_rng(5).uniform(size=(3, 8, 8, 3)).astype(dtype)
    usual = image_covariance(images)
    images[1, 4, 5, 2] = bad
    matrices = image_covariance(images, ridge=1e-6)
    assert np.array_equal(matrices[1], 1e-6 * np.eye(11))
    assert np.array_equal(matrices[[0, 2]], usual[[0, 2]])


def test_masked_pixels_are_unusable() -> None:
    images = np.ma.masked_array(gray_bytes(2), mask=np.zeros((2, 28, 28), dtype=bool))
    whole = image_covariance(images)
    images[1, 0, 0] = np.ma.masked
    matrices = image_covariance(images)
    assert np.array_equal(matrices[0], whole[0])
    assert np.array_equal(matrices[1], 1e-6 * np.eye(9))


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0, -7.0, 1e308, 5e-324])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_constant_image_has_no_texture(level: float, channels: int) -> None:
    images = np.full((1, 30, 40, channels), level)
    m = 4 + channels
    assert np.array_equal(image_covariance(images, features="texture")[0], 1e-6 * np.eye(m))


def test_pixels_out_of_range_are_clipped() -> None:
    images = np.random.default_rng(6).normal(size=(3, 9, 9))
    assert np.array_equal(image_covariance(images), image_covariance(np.clip(images, 0, 1)))
    shifted = image_covariance(images, value_range=(-1, 3))
    levels = np.clip((images + 1) / 4, 0, 1)
    assert np.max(np.abs(shifted - image_covariance(levels))) <= 1e-15


@given(data=st.data())
def test_any_float_image_gives_a_point(data: Any) -> None:
    """Warnings are errors in this suite, so the test sees them too."""
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * 4))
    images = data.draw(hnp.arrays(np.float64, shape, elements=ANYTHING))
    names = data.draw(SUBSETS)
    matrices = image_covariance(images, features=names, ridge=1e-6)
    assert cdp.SPD(matrices.shape[1]).belongs(matrices, atol=0.0).all()
    usable = np.isfinite(images).reshape(len(images), -1).all(axis=1)
    assert np.all(matrices[~usable] == 1e-6 * np.eye(matrices.shape[1]))


def test_large_integers_in_lists_are_pixels_like_any_other() -> None:
    images = gray_bytes(2, 4).tolist()
    images[1][0][0] = 255
    usual = image_covariance(images, value_range=(0, 255))
    for value in (2**63, 2**70, 10**400):
        images[1][0][0] = value
        again = image_covariance(images, value_range=(0, 255))
        assert np.array_equal(again[0], usual[0])
        if value < 10**400:
            assert np.array_equal(again[1], usual[1])
    images[1][0][0] = None
    assert np.array_equal(image_covariance(images, value_range=(0, 255))[1], 1e-6 * np.eye(9))


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("shape", [(), (4,), (4, 4), (1, 2, 3, 4, 5), (0, 4, 4), (2, 0, 4)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"images (must have shape|is empty)"):
        image_covariance(np.zeros(shape))


@pytest.mark.parametrize("images", ["abc", np.full((1, 2, 2), "a"), np.zeros((1, 2, 2), complex)])
def test_wrong_dtypes_are_refused(images: Any) -> None:
    with pytest.raises(TypeError, match="images must hold real numbers"):
        image_covariance(images, value_range=(0, 1))


@pytest.mark.parametrize("images", [gray_bytes().astype(np.int64), gray_bytes().tolist()])
def test_pixels_without_a_public_range_are_refused(images: Any) -> None:
    with pytest.raises(ValueError, match="value_range"):
        image_covariance(images)


@pytest.mark.parametrize(
    "bad", [(1, 0), (0, 0), (0, np.inf), (np.nan, 1), (-1e308, 1e308), (1,), 3, ("a", "b")]
)
def test_impossible_ranges_are_refused(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="value_range"):
        image_covariance(gray_bytes(), value_range=bad)


@pytest.mark.parametrize("bad", ["", "5x5", (), ("x", "z"), ("x", "x"), (3,), 3, None])
def test_unknown_features_are_refused(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="features"):
        image_covariance(gray_bytes(), features=bad)


def test_images_have_at_least_one_channel() -> None:
    for bad in (0, -1, 1.5, None):
        with pytest.raises((ValueError, TypeError), match="channels"):
            feature_labels("region", channels=bad)


@pytest.mark.parametrize("bad", [0, -1, 1e-11, np.nan, np.inf, "1", None])
def test_ridges_that_rounding_could_eat_are_refused(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="ridge"):
        image_covariance(gray_bytes(), ridge=bad)


@pytest.mark.parametrize("bad", [[1], [1, 2, -1], [0, 0, 0], [1, np.nan, 1], [np.inf, 1, 1]])
def test_impossible_gray_weights_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="gray_weights"):
        image_covariance(np.zeros((1, 4, 4, 3)), gray_weights=bad)


# ---------------------------------------------------------------------------- real images


def eigenvalue_range(matrices: Array) -> tuple[float, float]:
    values = np.linalg.eigvalsh(matrices)
    return float(values.min()), float(values.max())


def test_chest_x_rays_have_the_spectrum_known_for_them(data_dir: Path) -> None:
    """With NumPy's gradient, half of [-1 0 1], eigenvalues lie in [3.5e-5, 0.118] (MANIFEST)."""
    images = np.load(data_dir / "pneumoniamnist" / "pneumoniamnist_val_test.npz")["test_images"]
    levels = images / 255
    dx, dy = np.gradient(levels, axis=2), np.gradient(levels, axis=1)
    dxx, dyy = np.gradient(dx, axis=2), np.gradient(dy, axis=1)
    planes = np.stack([levels, *map(np.abs, (dx, dy, dxx, dyy))], axis=1)
    planes = planes.reshape(len(images), 5, -1)
    low, high = eigenvalue_range(np.array([np.cov(rows, bias=True) for rows in planes]))
    assert low == pytest.approx(3.5e-5, rel=0.02)
    assert high == pytest.approx(0.118, rel=0.01)

    matrices = image_covariance(images, features="texture", ridge=1e-10)
    some = expected(images[::40, ..., None], PRESETS["texture"], 1e-10, 255.0, np.ones(1))
    assert np.max(np.abs(matrices[::40] - some)) <= 1e-14
    ours = eigenvalue_range(matrices)
    assert low < ours[0] < 16 * low
    assert high < ours[1] < 1.1 * high


def test_descriptors_of_photographs_are_points(data_dir: Path) -> None:
    fashion = np.load(data_dir / "fashion_mnist" / "fashion_mnist_5000.npz")["images"]
    colour = np.load(data_dir / "cifar10" / "cifar10_2000.npz")["images"]
    for images, m, channels in ((fashion, 9, 1), (colour, 11, 3)):
        matrices = image_covariance(images)
        assert matrices.shape == (len(images), m, m)
        assert cdp.SPD(m).belongs(matrices, atol=0.0).all()
        weights = COLOUR if channels == 3 else np.ones(1)
        planes = images[:50].reshape(50, *images.shape[1:3], channels)
        truth = expected(planes, PRESETS["region"], 1e-6, 255.0, weights)
        assert np.max(np.abs(matrices[:50] - truth)) <= 1e-14


def test_a_private_mean_of_x_rays_tells_the_classes_apart(data_dir: Path) -> None:
    """The whole way: images, descriptors, ball from another split, release."""
    stored = np.load(data_dir / "pneumoniamnist" / "pneumoniamnist_val_test.npz")
    public = image_covariance(stored["val_images"], features="texture", ridge=1e-4)
    center = cdp.nonprivate.frechet_mean(public, cdp.SPD(5)).value
    ball = cdp.Ball(cdp.SPD(5), center=center, radius=2.0)
    private = image_covariance(stored["test_images"], features="texture", ridge=1e-4)
    normal, ill = (private[stored["test_labels"].ravel() == label] for label in (0, 1))
    means = [cdp.frechet_mean(x, ball, cdp.GDP(1.0), seed=3).value for x in (normal, ill)]
    between = float(cdp.SPD(5).dist(*means))
    noise = cdp.expected_error(ball, n=len(normal), guarantee=cdp.GDP(1.0))
    assert between > 2 * noise
