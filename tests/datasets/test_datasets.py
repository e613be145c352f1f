"""The shipped data are real, whole, symmetric positive definite, and say where they come from."""

import os
from pathlib import Path

import numpy as np
import pytest

from curvedp.datasets import load_diffusion_tensors

DATA = os.environ.get("CURVEDP_DATA")


@pytest.fixture(scope="module")
def tensors():
    return load_diffusion_tensors()


def test_records_are_symmetric_positive_definite_in_the_stated_range(tensors):
    assert tensors.records.shape == (584, 3, 3)
    assert tensors.records.dtype == np.float64
    np.testing.assert_array_equal(tensors.records, tensors.records.swapaxes(1, 2))
    eigenvalues = np.linalg.eigvalsh(tensors.records)
    assert eigenvalues.min() > 0.02
    assert eigenvalues.max() < 4.0


def test_anisotropy_and_diffusivity_agree_with_the_tensors(tensors):
    eigenvalues = np.linalg.eigvalsh(tensors.records)
    mean = eigenvalues.mean(axis=1, keepdims=True)
    spread = ((eigenvalues - mean) ** 2).sum(axis=1)
    anisotropy = np.sqrt(1.5 * spread / (eigenvalues**2).sum(axis=1))
    np.testing.assert_allclose(tensors.covariates["mean_diffusivity"], mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(tensors.covariates["fractional_anisotropy"], anisotropy, rtol=1e-5)


def test_voxels_are_distinct_places_in_the_block(tensors):
    voxel = tensors.covariates["voxel"]
    assert voxel.shape == (584, 3)
    assert voxel.max() < 10
    assert len(np.unique(voxel, axis=0)) == 584


def test_origin_and_licence_travel_with_the_data(tensors):
    assert tensors.manifold == "spd:3"
    assert tensors.units == "1e-3 mm^2/s"
    assert "2ecd365584cc344c61e3543d8d7d4a498739a51c" in tensors.source
    assert "dipy developers" in tensors.licence
    assert "Redistributions in binary form must reproduce" in tensors.licence
    assert "584 voxels" in repr(tensors)


def test_a_caller_cannot_change_what_the_next_caller_gets(tensors):
    first = load_diffusion_tensors()
    first.records[:] = 0.0
    np.testing.assert_array_equal(load_diffusion_tensors().records, tensors.records)


@pytest.mark.skipif(DATA is None, reason="CURVEDP_DATA does not name a data folder")
def test_shipped_records_are_the_masked_voxels_of_the_full_block(tensors):
    with np.load(Path(DATA) / "dti_tensors" / "small_64D.npz") as full:
        np.testing.assert_array_equal(tensors.records, full["tensor"][full["mask"]])
        np.testing.assert_array_equal(tensors.covariates["voxel"], np.argwhere(full["mask"]))
