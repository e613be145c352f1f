"""A mean of 20 sites, of which 4 may drop out, is about as good as that of all records at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.sites import Agreement, simulate
from site_cases import names, normal

DRAWS = 40
#: Noise is sqrt(20/16) = 1.12 times as much; means of so few errors add chance. Seeds are fixed.
MOST = 1.35


def quotient(space: cdp.Manifold, records: np.ndarray, mu: float, replaces: bool) -> float:
    """Mean error of a study over that of one site without dropouts; NaN if neither finds."""
    exact = cdp.nonprivate.frechet_mean(records, space).value
    guarantee = cdp.GDP(mu) if replaces else cdp.GDP(mu, neighbours="add-remove")
    n = len(records) if replaces else None
    errors, found = [], []
    for sites, dropouts in ((20, 4), (1, 0)):
        own = Agreement(space, guarantee, names(sites), dropouts, n=n)
        parts = np.array_split(records, sites)
        releases = [simulate(parts, own, seed=seed) for seed in range(DRAWS)]
        found.append(sum(release.found for release in releases))
        with np.errstate(invalid="ignore"):
            values = [release.value for release in releases if release.found]
        errors.append(np.mean([space.dist(value, exact) for value in values]) if values else np.nan)
    assert abs(found[0] - found[1]) <= DRAWS // 6
    return float(errors[0] / errors[1])


@pytest.mark.parametrize(
    "replaces",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["add-remove", "replace"],
)
def test_directions(replaces: bool) -> None:
    assert 0.8 < quotient(cdp.Sphere(2), normal("sphere:2", 1000, 0.1), 1.0, replaces) < MOST


def test_diffusion_tensors() -> None:
    records = cdp.datasets.load_diffusion_tensors().records
    assert 0.8 < quotient(cdp.SPD(3), records, 1.0, False) < MOST


@pytest.mark.slow
def test_emg_covariances(data_dir: Path) -> None:
    held = np.load(data_dir / "emg_covariances/emg_cov_8x8.npz", allow_pickle=True)
    assert 0.8 < quotient(cdp.SPD(8), held["cov"].astype(float), 1.0, False) < MOST


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1.0, 6.0])
def test_connectomes_are_found_or_not_at_one_site_as_at_many(data_dir: Path, mu: float) -> None:
    held = np.load(data_dir / "connectomes/fnc_correlation_28x28.npz")
    found = quotient(cdp.SPD(28), held["corr"].astype(float), mu, False)
    assert np.isnan(found) or 0.8 < found < MOST
