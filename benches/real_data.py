"""Printed and measured errors of means and variances over twelve real data sets.

    CURVEDP_DATA=/path/to/data python benches/real_data.py --write docs/measured/real-data.md

Records are drawn with replacement; errors are about the drawn records' own mean and variance, the
interval is about the variance of the whole data set and has data sets of its own. Nothing was tuned
on these data: balls are those that a user would name from the units alone.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning

DATA = Path(os.environ.get("CURVEDP_DATA", "data"))
BUDGETS = (0.3, 1.0, 3.0)
HEAD = (
    "| data | n | μ | mean: printed | measured | shrunk: printed | measured | variance | printed "
    "| measured | cut | interval covers |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Data:
    """A data set with its public ball and the numbers of records to draw.

    The coverage of intervals is left out where it is not quick.
    """

    name: str
    load: Callable[[], tuple[np.ndarray, cdp.Ball]]
    sizes: tuple[int, ...] = (40, 100, 300, 1000)
    repetitions: int = 12
    is_quick: bool = True


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def on_globe(longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    x, y = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=-1)


def spd(file: str, name: str, center: float, radius: float) -> tuple[np.ndarray, cdp.Ball]:
    rows = np.load(DATA / file)[name].astype(float)
    size = rows.shape[-1]
    return rows, cdp.Ball(cdp.SPD(size), center * np.eye(size), radius)


def tensors() -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(DATA / "dti_tensors/small_101D.npz")
    return held["tensor"][held["mask"]], cdp.Ball(cdp.SPD(3), 0.8 * np.eye(3), 2.0)


def globe(file: str, columns: tuple[int, int], at: tuple[float, float], radius: float):
    rows = np.genfromtxt(DATA / file, delimiter=",", skip_header=1, usecols=columns)
    points = on_globe(rows[:, 0], rows[:, 1])
    ball = cdp.Ball(cdp.Sphere(2), on_globe(*map(np.array, at)), radius)
    return points[np.isfinite(points).all(axis=1)], ball


def shapes(file: str, radius: float) -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(DATA / file)["landmarks"].astype(float)
    points = cdp.KendallPlanar(held.shape[1]).as_points(held)
    # the first record stands for a published template
    return points, cdp.Ball(cdp.KendallPlanar(held.shape[1]), points[0], radius)


def words() -> tuple[np.ndarray, cdp.Ball]:
    file = DATA / "hyperbolic/wordnet_mammals_poincare2d.csv"
    rows = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(5, 6, 7))
    return rows, cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 6.0)


def embeddings() -> tuple[np.ndarray, cdp.Ball]:
    rows = np.load(DATA / "retrieval_features/fashion_pca64_unit_5000.npz")["features"]
    return unit(rows.astype(float)), cdp.Ball(cdp.Sphere(63), np.eye(64)[0], 1.3)


def images(file: str, name: str, center: float) -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(DATA / file)[name]
    rows = cdp.descriptors.image_covariance(held / 255.0, ridge=1e-3)
    size = rows.shape[-1]
    return rows, cdp.Ball(cdp.SPD(size), center * np.eye(size), 7.0)


SETS = (
    Data("EMG, SPD(8)", lambda: spd("emg_covariances/emg_cov_8x8.npz", "cov", 4.0, 5.0)),
    Data(
        "EEG, SPD(16)",
        lambda: spd("eeg_covariances/mne_sample_erp_cov.npz", "cov16", 2.0, 4.0),
        (30, 100, 200, 400),
        6,
    ),
    Data("DTI, SPD(3)", tensors),
    Data(
        "connectomes, SPD(28)",
        lambda: spd("connectomes/fnc_correlation_28x28.npz", "corr", 0.3, 6.0),
        (30, 60, 86, 172),
        3,
        is_quick=False,
    ),
    Data(
        "X-rays, SPD(5)",
        lambda: images("pneumoniamnist/pneumoniamnist_val_test.npz", "test_images", 0.02),
    ),
    Data(
        "earthquakes, S²",
        lambda: globe("sphere/earthquakes_week2018.csv", (0, 1), (-120.0, 40.0), 1.0),
    ),
    Data("airports, S²", lambda: globe("sphere/us_airports.csv", (4, 3), (-98.0, 39.0), 0.7)),
    Data("image embeddings, S⁶³", embeddings),
    Data(
        "corpora callosa, 50 landmarks",
        lambda: shapes("corpus_callosum_adhd200/cc_landmarks.npz", 0.25),
    ),
    Data("passion flower leaves, 15 landmarks", lambda: shapes("landmarks/passiflora.npz", 0.7)),
    Data("mouse vertebrae, 6 landmarks", lambda: shapes("landmarks/mice_vertebrae.npz", 0.3)),
    Data("WordNet mammals, H²", words),
)


def coverage(
    inside: np.ndarray, ball: cdp.Ball, sizes: tuple[int, ...], count: int
) -> dict[tuple[int, float], float]:
    """Share of 95 % intervals that hold the variance of all records, `count` data sets a number."""
    whole = cdp.nonprivate.frechet_variance(inside, ball.manifold)
    held = {(n, mu): 0 for n in sizes for mu in BUDGETS}
    for n in sizes:
        rng = np.random.default_rng([1, n])
        for _ in range(count):
            own = inside[rng.integers(len(inside), size=n)]
            for mu in BUDGETS:
                seed = int(rng.integers(2**62))
                interval = cdp.variance_interval(own, ball, cdp.GDP(mu), seed=seed)
                held[n, mu] += interval.lower <= whole <= interval.upper
    return {key: hits / count for key, hits in held.items()}


def rows_of(data: Data, noises: int, intervals: int) -> Iterator[str]:
    """One line for each number of records and budget."""
    records, ball = data.load()
    space, rng = ball.manifold, np.random.default_rng(0)
    inside = ball.project(records)
    covers = coverage(inside, ball, data.sizes, intervals) if data.is_quick else None
    for n in data.sizes:
        found: dict[float, list[tuple[float, ...]]] = {mu: [] for mu in BUDGETS}
        for _ in range(data.repetitions):
            own = inside[rng.integers(len(inside), size=n)]
            exact = cdp.nonprivate.frechet_mean(own, space).value
            variance = float(np.mean(space.dist(exact, own) ** 2))
            for mu in BUDGETS:
                for _ in range(noises):
                    mean = cdp.frechet_mean(own, ball, cdp.GDP(mu), coverage=False)
                    spread = cdp.frechet_variance(own, ball, cdp.GDP(mu), coverage=False)
                    found[mu].append(
                        (
                            mean.expected_error,
                            float(space.dist(mean.value, exact)),
                            mean.shrunk_error,
                            float(space.dist(mean.shrunk, exact)),
                            variance,
                            spread.expected_error,
                            abs(float(spread.value) - variance),
                            spread.cut is not None,
                        )
                    )
        for mu in BUDGETS:
            numbers = np.mean(found[mu], axis=0)
            covered = "-" if covers is None else f"{covers[n, mu]:.3f}"
            told = " | ".join(f"{number:.3g}" for number in numbers[:-1])
            yield f"| {data.name} | {n} | {mu:g} | {told} | {numbers[-1]:.2f} | {covered} |"


PAGE = """# Printed and measured errors on real data

Generated by `benches/real_data.py`, which says how and prints every cell. Measured over printed
errors of means, shrunk means and variances, least and largest over numbers of records drawn with
replacement and μ = .3, 1, 3; "cut" is the largest share of variances that the noise took out of
[0, r²], the last column the share of 95 % intervals that hold the variance of all records, of
{intervals} data sets (standard error {error:.3f} at .95; left out where it takes minutes). The
error of a shrunk mean is printed too large where the noise is larger than the distance of the mean
from the centre: a release cannot tell.

{table}
"""
PAGE_HEAD = (
    "| data | n | mean | shrunk mean | variance | cut | interval covers |\n"
    "|---|---|---|---|---|---|---|"
)


def page_table(lines: list[str]) -> str:
    """One row for each data set, of the lines of its cells."""
    cells: dict[str, list[list[str]]] = {}
    for line in lines:
        name, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        cells.setdefault(name, []).append(rest)
    rows = []
    for name, of_set in cells.items():
        columns = list(zip(*of_set, strict=True))
        numbers = [[float(text) for text in column] for column in columns[2:-1]]
        ratios = [
            _range([a / b for a, b in zip(numbers[k + 1], numbers[k], strict=True)])
            for k in (0, 2, 5)
        ]
        covered = [float(text) for text in columns[-1] if text != "-"]
        told = [f"{columns[0][0]} to {columns[0][-1]}", *ratios, f"{max(numbers[-1]):.2f}"]
        rows.append(f"| {name} | {' | '.join(told)} | {_range(covered, 3) if covered else '-'} |")
    return "\n".join([PAGE_HEAD, *rows])


def _range(numbers: list[float], digits: int = 2) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="part of a data set's name")
    parser.add_argument("--noises", type=int, default=12, help="releases of each drawn data set")
    parser.add_argument("--intervals", type=int, default=400, help="data sets of the last column")
    parser.add_argument("--write", type=Path, help="the page to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    lines: list[str] = []
    print(HEAD)
    for data in SETS:
        if arguments.only is None or arguments.only in data.name:
            for line in rows_of(data, arguments.noises, arguments.intervals):
                print(line, flush=True)
                lines.append(line)
    if arguments.write is not None:
        page = PAGE.format(
            table=page_table(lines),
            intervals=arguments.intervals,
            error=(0.95 * 0.05 / arguments.intervals) ** 0.5,
        )
        arguments.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
