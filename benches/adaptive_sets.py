"""Real data sets with public balls on which adaptive means are measured (CURVEDP_DATA).

The rule's numbers were chosen on the sets of `TUNED`, and on none of `OTHERS`.
"""

from __future__ import annotations

import gzip

import numpy as np

import curvedp as cdp
from real_data import DATA, Data, globe, images, on_globe, shapes, spd, unit

SIZES = (100, 300, 1000, 3000)


def columns(file: str, *names: str) -> np.ndarray:
    """Columns of a table by name, one row for each record."""
    found = np.genfromtxt(DATA / file, delimiter=",", names=True, usecols=names)
    return np.stack([found[name] for name in names], axis=-1)


def gestures(name: str | None = None) -> tuple[np.ndarray, cdp.Ball]:
    """Of three sessions, in a ball about the mean of a fourth."""
    held = np.load(DATA / "emg_covariances/emg_cov_8x8.npz", allow_pickle=True)
    rows, public = held["cov"].astype(float), held["session"] == "mg_s1"
    center = cdp.nonprivate.frechet_mean(rows[public], cdp.SPD(8)).value
    kept = ~public if name is None else ~public & (held["gesture"] == name)
    return rows[kept], cdp.Ball(cdp.SPD(8), center, 5.0)


def tensors(name: str) -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(DATA / f"dti_tensors/{name}.npz")
    return held["tensor"][held["mask"]], cdp.Ball.from_units("dti", "um^2/ms")


def wind() -> tuple[np.ndarray, cdp.Ball]:
    rows = columns("sphere/wind_col_de_la_roa.csv", "direction_rad")
    return rows, cdp.Ball(cdp.Torus(1), [0.0], 1.55)


def comets() -> tuple[np.ndarray, cdp.Ball]:
    rows = columns("sphere/comets.csv", "nx", "ny", "nz")
    return unit(rows), cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 1.5)


def quakes() -> tuple[np.ndarray, cdp.Ball]:
    return globe("sphere/earthquakes_week2018.csv", (0, 1), (-150.0, 40.0), 1.5)


def california() -> tuple[np.ndarray, cdp.Ball]:
    rows = columns("sphere/earthquakes_week2018.csv", "lon", "lat")
    (west, south), (east, north) = (-125.0, 32.0), (-114.0, 42.0)
    inside = ((rows > (west, south)) & (rows < (east, north))).all(axis=1)
    points = on_globe(*rows[inside].T)
    center = on_globe(np.array(-119.5), np.array(37.0))
    return points, cdp.Ball(cdp.Sphere(2), center, 740 / 6371)


def mammals() -> tuple[np.ndarray, cdp.Ball]:
    rows = columns("hyperbolic/wordnet_mammals_poincare2d.csv", "h0", "h1", "h2")
    return rows, cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 8.0)


def rats() -> tuple[np.ndarray, cdp.Ball]:
    """In a ball about a shape of a rat that is left out."""
    held = np.load(DATA / "landmarks/rats.npz", allow_pickle=True)
    space, rat = cdp.KendallPlanar(8), held["rat"]
    points = space.as_points(held["landmarks"].astype(float))
    return points[rat != rat[0]], cdp.Ball(space, points[0], 0.3)


def digits() -> tuple[np.ndarray, cdp.Ball]:
    """Images of 64 pixels as directions, about that of a grey one."""
    with gzip.open(DATA / "digits/digits.csv.gz") as file:
        rows = np.genfromtxt(file, delimiter=",")[:, :64]
    return unit(rows), cdp.Ball(cdp.Sphere(63), np.full(64, 0.125), 1.2)


TUNED = (
    Data("wind", wind, SIZES),
    Data("comets", comets, SIZES),
    Data("mammals", mammals, SIZES),
    Data("quakes, California", california, SIZES),
    Data("quakes", quakes, SIZES),
    Data("DTI small_101D", lambda: tensors("small_101D"), SIZES),
    Data("DTI small_64D", lambda: tensors("small_64D"), SIZES),
    Data("rats", rats, SIZES),
    Data("leaves", lambda: shapes("landmarks/passiflora.npz", 0.7), SIZES),
    Data("EMG", gestures, SIZES),
    Data("EMG, ok", lambda: gestures("ok"), SIZES),
    Data("EMG, rest", lambda: gestures("rest"), SIZES),
)
OTHERS = (
    Data(
        "EEG, SPD(16)",
        lambda: spd("eeg_covariances/mne_sample_erp_cov.npz", "cov16", 2.0, 4.0),
        SIZES[:3],
    ),
    Data(
        "connectomes, SPD(28)",
        lambda: spd("connectomes/fnc_correlation_28x28.npz", "corr", 0.3, 6.0),
        SIZES[:2],
    ),
    Data(
        "fashion, SPD(5)",
        lambda: images("fashion_mnist/fashion_mnist_5000.npz", "images", 0.02),
        SIZES,
    ),
    Data(
        "X-rays, SPD(5)",
        lambda: images("pneumoniamnist/pneumoniamnist_val_test.npz", "test_images", 0.02),
        SIZES,
    ),
    Data("digits, S⁶³", digits, SIZES),
    Data(
        "airports, S²",
        lambda: globe("sphere/us_airports.csv", (4, 3), (-98.0, 39.0), 0.7),
        SIZES,
    ),
    Data(
        "corpora callosa",
        lambda: shapes("corpus_callosum_adhd200/cc_landmarks.npz", 0.25),
        SIZES,
    ),
    Data("mouse vertebrae", lambda: shapes("landmarks/mice_vertebrae.npz", 0.3), SIZES),
)
