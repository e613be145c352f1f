"""Covariances of time series agree with their twins and never speak of a record."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import curvedp as cdp
import oracles
from curvedp.descriptors import time_series_covariance
from reference import descriptors as twin

ANYTHING = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
SEEDS = st.integers(0, 2**32 - 1)


def signals(n: int = 5, channels: int = 4, samples: int = 50, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, channels, samples))


@given(
    seed=SEEDS,
    channels=st.integers(1, 12),
    samples=st.integers(1, 40) | st.sampled_from([1024, 1025, 3000]),
    shrinkage=st.floats(0.0, 1.0),
    offset=st.floats(-1e3, 1e3),
)
def test_covariances_agree_with_the_twin(
    seed: int, channels: int, samples: int, shrinkage: float, offset: float
) -> None:
    x = signals(2, channels, samples, seed)
    matrices = time_series_covariance(x + offset, ridge=1e-3, shrinkage=shrinkage)
    truth = [twin.time_series_covariance(one, 1e-3, shrinkage) for one in x]
    assert np.max(np.abs(matrices - truth)) <= 1e-13 * (1.0 + abs(offset))


def test_covariances_agree_with_pyriemann_and_scikit_learn() -> None:
    oracles.pyriemann("mean")  # skips where pyriemann does not run
    covariances = importlib.import_module("pyriemann.estimation").Covariances
    shrunk_covariance = importlib.import_module("sklearn.covariance").shrunk_covariance
    x = signals(6, 5, 200)
    x -= x.mean(axis=2, keepdims=True)
    plain = covariances(estimator="scm").transform(x)
    ours = time_series_covariance(x, ridge=1e-12)
    assert np.max(np.abs(ours - plain)) <= 2e-12
    ours = time_series_covariance(x, ridge=1e-12, shrinkage=0.1)
    assert np.max(np.abs(ours - shrunk_covariance(plain, shrinkage=0.1))) <= 2e-12


def test_the_unit_of_the_signals_is_the_unit_of_the_covariance() -> None:
    x = signals()
    volts = time_series_covariance(1e-6 * x, ridge=1e-15, shrinkage=0.2)
    assert np.allclose(1e12 * volts, time_series_covariance(x, ridge=1e-3, shrinkage=0.2))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e160, 1e308])
def test_a_record_that_breaks_the_covariance_becomes_the_ridge(bad: float) -> None:
    x = signals()
    usual = time_series_covariance(x, ridge=1e-3)
    x[2, 1, ::2] = bad
    matrices = time_series_covariance(x, ridge=1e-3)
    assert np.array_equal(matrices[2], 1e-3 * np.eye(4))
    assert np.array_equal(np.delete(matrices, 2, axis=0), np.delete(usual, 2, axis=0))


def test_dependent_channels_and_few_samples_still_give_points() -> None:
    x = signals(40, 8, 3)
    x[:, 5] = x[:, 2]
    x[7] = 0.0
    matrices = time_series_covariance(x, ridge=1e-6)
    assert cdp.SPD(8).belongs(matrices, atol=0.0).all()
    assert np.array_equal(matrices[7], 1e-6 * np.eye(8))
    assert np.linalg.eigvalsh(matrices).min() >= 1e-6 * (1 - 1e-6)


@given(
    x=hnp.arrays(np.float64, (2, 3, 4), elements=ANYTHING),
    ridge=st.floats(1e-150, 1e150),
    shrinkage=st.floats(0, 1),
)
def test_any_signals_give_points(x: Any, ridge: float, shrinkage: float) -> None:
    matrices = time_series_covariance(x, ridge=ridge, shrinkage=shrinkage)
    assert cdp.SPD(3).belongs(matrices, atol=0.0).all()


def test_a_signal_decides_its_own_covariance_alone() -> None:
    x = signals(700, 3, 20)
    together = time_series_covariance(x, ridge=1e-3)
    alone = [time_series_covariance(x[i : i + 1], ridge=1e-3)[0] for i in range(700)]
    assert np.array_equal(together, alone)
    try:
        cdp.set_num_threads(3)
        assert np.array_equal(time_series_covariance(x, ridge=1e-3), together)
    finally:
        cdp.set_num_threads(0)


@pytest.mark.parametrize("shape", [(), (3, 4), (1, 2, 3, 4), (0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_wrong_shapes_of_signals_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"signals (must have shape|is empty)"):
        time_series_covariance(np.zeros(shape), ridge=1.0)


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "1", None, 1e-200])
def test_ridges_must_be_positive(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="ridge"):
        time_series_covariance(signals(), ridge=bad)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, "0.1", None, [0.1]])
def test_shrinkage_is_a_share(bad: Any) -> None:
    with pytest.raises(ValueError, match="shrinkage"):
        time_series_covariance(signals(), ridge=1.0, shrinkage=bad)


def test_surrogate_epochs_of_a_real_recording_give_back_its_covariances(data_dir: Path) -> None:
    """Epochs with exactly the covariance of real EEG trials: whitened noise times its factor."""
    real = np.load(data_dir / "eeg_covariances" / "mne_sample_erp_cov.npz")["cov16"].astype(float)
    noise = signals(len(real), 16, 120, seed=2)
    noise -= noise.mean(axis=2, keepdims=True)
    own = np.linalg.cholesky(noise @ noise.swapaxes(1, 2) / 120)
    epochs = np.linalg.cholesky(real) @ np.linalg.solve(own, noise)
    ridge = 1e-6 * float(np.trace(real[0])) / 16
    matrices = time_series_covariance(epochs, ridge=ridge)
    error = np.abs(matrices - real - ridge * np.eye(16)).max(axis=(1, 2))
    assert np.all(error <= 1e-12 * np.abs(real).max(axis=(1, 2)))
