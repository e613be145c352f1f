"""The non-private Fréchet mean of real data: the gradient vanishes to what float64 can see.

Each set is projected on the ball its question suggests. The sets lie in the folder that the
environment variable CURVEDP_DATA names; without it these tests are skipped.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import frechet_mean as reference
from reference.accuracy import EPS
from reference.hyperboloid import Hyperboloid
from reference.kendall import KendallPlanar
from reference.spd_affine import SPDAffine
from reference.spd_log_cholesky import SPDLogCholesky
from reference.spd_log_euclidean import SPDLogEuclidean
from reference.sphere import Sphere
from reference.twin import Array, Twin

Loader = Callable[[Path], Array]


def columns(path: Path, *names: str) -> Array:
    with path.open(newline="") as file:
        rows = [[row[name] for name in names] for row in csv.DictReader(file)]
    return np.array([row for row in rows if all(row)], dtype=float)


def on_globe(path: Path, latitude: str, longitude: str) -> Array:
    lat, lon = np.deg2rad(columns(path, latitude, longitude)).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def preshapes(landmarks: Array) -> Array:
    centred = landmarks - landmarks.mean(axis=1, keepdims=True)
    return centred / np.linalg.norm(centred, axis=(1, 2), keepdims=True)


def texture_covariances(images: Array) -> Array:
    """5x5 covariances of intensity and the sizes of its first and second derivatives."""
    out = []
    for image in images / 255.0:
        dy, dx = np.gradient(image)
        dyy, dxx = np.gradient(dy, axis=0), np.gradient(dx, axis=1)
        features = np.stack([image, np.abs(dx), np.abs(dy), np.abs(dxx), np.abs(dyy)])
        out.append(np.cov(features.reshape(5, -1)) + 1e-6 * np.eye(5))
    return np.array(out)


def npz_any(path: Path, key: str) -> Any:
    with np.load(path) as file:
        return file[key]


def dti(name: str) -> Loader:
    def load(folder: Path) -> Array:
        path = folder / "dti_tensors" / name
        tensors: Array = npz_any(path, "tensor")[npz_any(path, "mask")]
        return tensors

    return load


def npz(path: str, key: str) -> Loader:
    return lambda folder: np.asarray(npz_any(folder / path, key), dtype=np.float64)


def shapes(path: str, key: str = "landmarks") -> Loader:
    def load(folder: Path) -> Array:
        array = npz_any(folder / path, key)
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], axis=-1)
        return preshapes(np.asarray(array, dtype=np.float64))

    return load


def textures(path: str, key: str, count: int) -> Loader:
    def load(folder: Path) -> Array:
        images = np.asarray(npz_any(folder / path, key)[:count], dtype=np.float64)
        return texture_covariances(images.mean(axis=-1) if images.ndim == 4 else images)

    return load


def unit(load: Loader) -> Loader:
    def normalised(folder: Path) -> Array:
        vectors = load(folder)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return normalised


def table(path: str, *names: str) -> Loader:
    return unit(lambda folder: columns(folder / path, *names))


def globe(path: str, latitude: str, longitude: str) -> Loader:
    return lambda folder: on_globe(folder / path, latitude, longitude)


def household(folder: Path) -> Array:
    """Square roots of the shares of four kinds of spending."""
    spent = columns(
        folder / "sphere/household_expenditure.csv", "housing", "food", "goods", "service"
    )
    return np.asarray(np.sqrt(spent / spent.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class DataSet:
    name: str
    spec: str
    twin: Twin
    load: Loader
    radius: float
    center: Array | None = None  # the first record, as a public template, if absent

    def __repr__(self) -> str:
        return self.name


def spd(name: str, m: int, load: Loader, radius: float, scale: float = 1.0) -> list[DataSet]:
    center = scale * np.eye(m)
    return [
        DataSet(name, f"spd:{m}", SPDAffine(m), load, radius, center),
        DataSet(
            f"{name}, log-Euclidean",
            f"spd:{m}:log-euclidean",
            SPDLogEuclidean(m),
            load,
            radius,
            center,
        ),
        DataSet(
            f"{name}, log-Cholesky",
            f"spd:{m}:log-cholesky",
            SPDLogCholesky(m),
            load,
            radius,
            center,
        ),
    ]


def planar(name: str, k: int, load: Loader, radius: float) -> DataSet:
    return DataSet(name, f"kendall:{k}", KendallPlanar(k), load, radius)


def directions(
    name: str, load: Loader, radius: float, center: tuple[float, ...] | None, dim: int = 2
) -> DataSet:
    middle = None if center is None else np.array(center) / np.linalg.norm(center)
    return DataSet(name, f"sphere:{dim}", Sphere(dim), load, radius, middle)


EUROPE = (0.62, 0.11, 0.78)
KANSAS = (-0.12, -0.77, 0.62)
NORTH = (0.0, 0.0, 1.0)
BONES = "landmarks"
SETS = [
    *spd("diffusion tensors, 64 directions", 3, dti("small_64D.npz"), 2.0),
    *spd("diffusion tensors, 101 directions", 3, dti("small_101D.npz"), 2.0),
    *spd("diffusion tensors, 25 directions", 3, dti("small_25.npz"), 2.0),
    *spd("muscle", 8, npz("emg_covariances/emg_cov_8x8.npz", "cov"), 6.0, 10.0),
    *spd("evoked potentials", 16, npz("eeg_covariances/mne_sample_erp_cov.npz", "cov16"), 6.0),
    *spd("prototypes", 32, npz("eeg_covariances/mne_sample_erp_cov.npz", "cov32"), 12.0),
    *spd("connectomes", 28, npz("connectomes/fnc_correlation_28x28.npz", "corr"), 12.0),
    *spd(
        "chest textures",
        5,
        textures("pneumoniamnist/pneumoniamnist_val_test.npz", "test_images", 200),
        6.0,
        1e-2,
    ),
    *spd(
        "clothes textures",
        5,
        textures("fashion_mnist/fashion_mnist_5000.npz", "images", 300),
        6.0,
        1e-2,
    ),
    *spd("photo textures", 5, textures("cifar10/cifar10_2000.npz", "images", 300), 6.0, 1e-2),
    planar("corpus callosum", 50, shapes("corpus_callosum_adhd200/cc_landmarks.npz"), 0.3),
    planar("rat skulls", 8, shapes(f"{BONES}/rats.npz"), 0.3),
    planar("rat calvaria", 8, shapes(f"{BONES}/calvaria_preshapes.npz", "preshape"), 0.3),
    planar("ape skulls", 8, shapes(f"{BONES}/apes.npz"), 0.4),
    planar("digit 3", 13, shapes(f"{BONES}/digit3.npz"), 0.7),
    planar("brain midlines", 13, shapes(f"{BONES}/schizophrenia.npz"), 0.4),
    planar("mouse vertebrae", 6, shapes(f"{BONES}/mice_vertebrae.npz"), 0.4),
    planar("mouse outlines", 60, shapes(f"{BONES}/mice_vertebrae.npz", "outlines"), 0.4),
    planar("hands", 56, shapes(f"{BONES}/hand_contours.npz"), 0.4),
    planar("cortical outlines", 500, shapes(f"{BONES}/cortical_outlines.npz"), 0.4),
    planar("leaves", 15, shapes(f"{BONES}/passiflora.npz"), 0.7),
    directions("comets", table("sphere/comets.csv", "nx", "ny", "nz"), 1.4, NORTH),
    directions("venus", table("sphere/venus_craters.csv", "x", "y", "z"), 1.5, NORTH),
    directions("remanence", table("sphere/fisher1987_B3_B5_B6.csv", "x", "y", "z"), 1.3, NORTH),
    directions("cities", globe("sphere/world_cities.csv", "lat", "lng"), 1.5, EUROPE),
    directions("american cities", globe("sphere/us_cities60.csv", "lat", "lon"), 0.5, KANSAS),
    directions("airports", globe("sphere/us_airports.csv", "latitude", "longitude"), 0.7, KANSAS),
    directions("earthquakes", globe("sphere/earthquakes_week2018.csv", "lat", "lon"), 1.0, KANSAS),
    directions("households", household, 1.0, (1.0, 1.0, 1.0, 1.0), dim=3),
    directions(
        "clothes features",
        unit(npz("retrieval_features/fashion_pca64_unit_5000.npz", "features")),
        1.5,
        None,
        dim=63,
    ),
    DataSet(
        "mammals",
        "hyperboloid:2",
        Hyperboloid(2),
        lambda folder: columns(
            folder / "hyperbolic/wordnet_mammals_poincare2d.csv", "h0", "h1", "h2"
        ),
        4.0,
        np.array([1.0, 0.0, 0.0]),
    ),
]


def whitened_condition(twin: Twin, points: Array, mean: Array) -> float:
    """The worst condition of the records as the mean sees them."""
    if isinstance(twin, SPDAffine):
        return max(float(np.linalg.cond(twin.whiten(point, mean))) for point in points)
    if isinstance(twin, SPDLogEuclidean | SPDLogCholesky):
        return max(float(np.linalg.cond(point)) for point in points)
    if isinstance(twin, Hyperboloid):
        return float(np.cosh(2 * max(twin.dist(mean, point) for point in points)))
    return 1.0


@pytest.mark.parametrize("data", SETS, ids=repr)
def test_gradient_vanishes_on_real_data(data: DataSet, data_dir: Path) -> None:
    import curvedp

    records = data.load(data_dir)
    manifold = curvedp.as_manifold(data.spec)
    center = records[0] if data.center is None else data.center
    points = curvedp.Ball(manifold, center, data.radius).project(records)
    result = curvedp.nonprivate.frechet_mean(points, manifold)
    limit = max(1e-12, 8 * EPS * whitened_condition(data.twin, points, result.value))
    gradient = reference.gradient(data.twin, points, result.value)
    assert result.gradient_norm <= limit
    # The twin measures with rounding of its own.
    assert data.twin.norm(gradient, result.value) <= 2 * limit
    assert data.twin.dist(center, result.value) <= data.radius
