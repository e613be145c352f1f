"""Public records as they should be, and in wrong formats that no shape or dtype gives away."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import curvedp as cdp
from curvedp.datasets import example_file, load_diffusion_tensors

Rows = np.ndarray

_DIPY = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
_MRTRIX = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]


@dataclass(frozen=True)
class Format:
    """Records, the ball that suits right ones, and what is wrong with them.

    Attributes
    ----------
    name : str
    ball : Ball
    records : callable
        n of them, from a generator.
    wrong : {"", "outside", "no point", "both"}
        Where nearly all, or a fifth of them, lie instead of in the ball.
    """

    name: str
    ball: cdp.Ball
    records: Callable[[np.random.Generator, int], Rows]
    wrong: str

    def __repr__(self) -> str:
        return self.name


def tensors(rng: np.random.Generator, n: int) -> Rows:
    """Diffusion tensors in 1e-3 mm^2/s, upper triangles row by row."""
    full = rng.permutation(load_diffusion_tensors().records)[np.arange(n) % 584]
    return full[:, *np.triu_indices(3)]


def places(rng: np.random.Generator, n: int) -> Rows:
    """Epicentres in North America: longitude and latitude in degrees."""
    with example_file("earthquakes.csv").open() as file:
        rows = [(float(row["lon"]), float(row["lat"])) for row in csv.DictReader(file)]
    near = np.array([(x, y) for x, y in rows if -126 < x < -112 and 31 < y < 42])
    return near[rng.integers(len(near), size=n)]


def turns(rng: np.random.Generator, n: int) -> Rows:
    """Quaternions of turns by some ten degrees, scalar last."""
    vector = 0.1 * rng.standard_normal((n, 3))
    scalar = np.sqrt(1.0 - (vector**2).sum(axis=1))
    return np.column_stack([vector, scalar])


def covariances(rng: np.random.Generator, n: int) -> Rows:
    """Covariances of four channels with noise of size 1, of 40 samples each."""
    signals = rng.standard_normal((n, 40, 4))
    return np.einsum("nti,ntj->nij", signals, signals) / 40


def _reordered(order: list[tuple[int, int]]) -> Callable[[np.random.Generator, int], Rows]:
    def records(rng: np.random.Generator, n: int) -> Rows:
        right, entries = tensors(rng, n), list(zip(*np.triu_indices(3), strict=True))
        return right[:, [entries.index(own) for own in order]]

    return records


def _with_missing(rng: np.random.Generator, n: int) -> Rows:
    found = tensors(rng, n)
    found[rng.permutation(n)[: n // 5]] = np.nan
    return found


def _referenced(rng: np.random.Generator, n: int) -> Rows:
    centre = np.eye(4) - 0.25
    return centre @ covariances(rng, n) @ centre


_DTI = cdp.Ball.from_units("dti", "1e-3 mm^2/s")
_WEST = cdp.Ball.from_units("earth", "km", center=[-119.0, 36.5], radius=1200)
_TURNS = cdp.Ball.from_units("rotations", "degrees", radius=60)
_SIGNALS = cdp.Ball("spd:4", center="identity", radius=2.0)

RIGHT = (
    Format("tensors", _DTI, tensors, ""),
    Format("longitude, latitude", _WEST, places, ""),
    Format("quaternions", _TURNS, turns, ""),
    Format("covariances", _SIGNALS, covariances, ""),
)

WRONG = (
    Format("dipy's order", _DTI, _reordered(_DIPY), "both"),
    Format("MRtrix's order", _DTI, _reordered(_MRTRIX), "no point"),
    Format("mm^2/s", _DTI, lambda rng, n: 1e-3 * tensors(rng, n), "outside"),
    Format("a fifth missing", _DTI, _with_missing, "no point"),
    Format("latitude, longitude", _WEST, lambda rng, n: places(rng, n)[:, ::-1], "no point"),
    Format("radians", _WEST, lambda rng, n: np.radians(places(rng, n)), "outside"),
    Format("scalar first", _TURNS, lambda rng, n: turns(rng, n)[:, [3, 0, 1, 2]], "outside"),
    Format("average reference", _SIGNALS, _referenced, "both"),
)
