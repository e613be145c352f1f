"""The shipped example files are what SOURCE.md says, under licences that travel with them."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.datasets import example_file

DATA = os.environ.get("CURVEDP_DATA")
NAMES = ("earthquakes.csv", "emg_windows.npz", "mammals.csv", "tensors_by_scan.csv")
TERMS = {
    "earthquakes.csv": "public domain",
    "emg_windows.npz": "LICENSE-geomstats",
    "mammals.csv": "LICENSE-wordnet",
    "tensors_by_scan.csv": "LICENSE-dipy",
}


def rows(name):
    with example_file(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def scans():
    table = rows("tensors_by_scan.csv")
    values = [[float(row[c]) for c in ("xx", "xy", "xz", "yy", "yz", "zz")] for row in table]
    return np.array([row["scan"] for row in table]), cdp.SPD(3).as_points(np.array(values))


@pytest.mark.parametrize("name", NAMES)
def test_the_source_and_the_terms_of_every_file_are_told(name):
    path = example_file(name)
    text = (path.parent / "SOURCE.md").read_text(encoding="utf-8")
    section = text.partition(f"# {name}\n")[2].partition("\n# ")[0]
    assert TERMS[name] in section
    if TERMS[name].startswith("LICENSE"):
        assert len((path.parent / TERMS[name]).read_text(encoding="utf-8")) > 900


def test_no_other_file_can_be_asked_for():
    for name in ("SOURCE.md", "../__init__.py", ""):
        with pytest.raises(ValueError, match="no example file"):
            example_file(name)


def test_tensors_are_positive_definite_and_of_three_scans():
    names, tensors = scans()
    assert {str(k): int((names == k).sum()) for k in np.unique(names)} == {
        "small_101D": 600,
        "small_25": 160,
        "small_64D": 584,
    }
    assert np.linalg.eigvalsh(tensors).min() > 0.02
    whole = cdp.datasets.load_diffusion_tensors().records
    np.testing.assert_allclose(tensors[names == "small_64D"], whole, atol=0.000501)


def test_windows_are_positive_definite_and_of_five_gestures():
    stored = np.load(example_file("emg_windows.npz"), allow_pickle=False)
    records = cdp.SPD(8).as_points(stored["upper_triangle"].astype(float))
    assert records.shape == (1160, 8, 8)
    assert np.linalg.eigvalsh(records).min() > 0.2
    assert set(stored["gesture"]) == {"ok", "paper", "rest", "rock", "scissors"}
    assert len(set(stored["session"])) == 4


def test_epicentres_are_places_on_earth():
    table = rows("earthquakes.csv")
    places = np.array([[float(row["lon"]), float(row["lat"])] for row in table])
    assert places.shape == (1679, 2)
    assert np.abs(places[:, 0]).max() <= 180
    assert np.abs(places[:, 1]).max() < 90


def test_words_are_one_tree():
    parent = {row["word"]: row["parent"] for row in rows("mammals.csv")}
    assert len(parent) == 1181
    for word in parent:
        above = [word]
        while parent[above[-1]]:
            above.append(parent[above[-1]])
            assert len(above) < 12, "no circles"
        assert above[-1] == "mammal.n.01"


@pytest.mark.skipif(DATA is None, reason="CURVEDP_DATA does not name a data folder")
def test_shipped_windows_are_every_third_of_the_full_set():
    stored = np.load(example_file("emg_windows.npz"), allow_pickle=False)
    with np.load(Path(DATA) / "emg_covariances" / "emg_cov_8x8.npz") as full:
        across, down = np.triu_indices(8)
        expected = full["cov"][::3][:, across, down]
        np.testing.assert_allclose(stored["upper_triangle"], expected, rtol=5e-4, atol=1e-4)
        np.testing.assert_array_equal(stored["gesture"], full["gesture"][::3])


@pytest.mark.skipif(DATA is None, reason="CURVEDP_DATA does not name a data folder")
@pytest.mark.parametrize("scan", ["small_25", "small_64D", "small_101D"])
def test_shipped_tensors_are_the_masked_voxels_of_each_scan(scan):
    names, tensors = scans()
    with np.load(Path(DATA) / "dti_tensors" / f"{scan}.npz") as full:
        np.testing.assert_allclose(
            tensors[names == scan], full["tensor"][full["mask"]], atol=0.000501
        )
