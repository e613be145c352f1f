"""An adaptive mean's printed error is its error: of every part on its ball, and on real records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from record_cases import Place, places_of_all

MU = cdp.GDP(1000.0)
SHARES = (0.02, 0.03, 0.15, 0.05, 0.75)
PLACES = {repr(place): place for place in places_of_all()}


def skewed(place: Place, n: int = 400) -> np.ndarray:
    """A crowd near the edge of the ball, and a fifth of the records outside, on one side."""
    ball, rng = place.ball, np.random.default_rng(3)
    space, room = ball.manifold, min(1.8 * ball.radius, 0.9 * ball.manifold.injectivity_radius)
    coords = 0.05 * ball.radius * rng.standard_normal((n, space.dim))
    coords[:, 0] += 0.5 * ball.radius
    coords[::5, 0] = rng.uniform(ball.radius, room, len(coords[::5]))
    coords[::5, -1] += 0.4 * ball.radius
    return space.exp(space.coords_to_tangent(coords, ball.center), ball.center)


def about(part: cdp.Release, records: np.ndarray) -> float:
    """Distance of a part's value from the exact mean of records on its ball."""
    space = cdp.as_manifold(part.manifold)
    own = cdp.Ball(space, part.ball_center, part.ball_radius)
    return float(
        space.dist(part.value, cdp.nonprivate.frechet_mean(own.project(records), space).value)
    )


@pytest.mark.parametrize("name", PLACES)
def test_every_part_is_the_mean_of_all_records_projected_on_the_public_ball_and_on_its_own(name):
    """Seeded: hence no part is farther off than a few times its noise, or double precision."""
    place = PLACES[name]
    ball, records = place.ball, skewed(place)
    inside = ball.project(records)
    smaller = 0
    for seed in range(4):
        release = cdp.adaptive_mean(records, ball, MU, schedule=SHARES, quantile=0.7, seed=seed)
        for part in release.parts[::2]:
            allowed = 5 * part.expected_error + 1e-6 * ball.radius
            assert about(part, inside) < allowed
            smaller += part.ball_radius < ball.radius
    assert smaller >= 4


@pytest.mark.parametrize("name", ["spd:3-narrow", "spd:3-precise", "hyperboloid:2-wide"])
def test_records_straight_on_the_last_ball_would_have_another_mean(name):
    """The control: where many lie outside the public ball, one projection is not two."""
    place = PLACES[name]
    records = skewed(place)
    how = {"schedule": SHARES, "quantile": 0.9, "seed": 1}
    last = cdp.adaptive_mean(records, place.ball, MU, **how).parts[-1]
    assert last.ball_radius < place.ball.radius
    assert about(last, records) > 20 * last.expected_error
    first = place.ball.project(records)[: 2 * len(records) // 3]
    assert about(last, first) > 5 * last.expected_error


# ------------------------------------------------------------------ real records


def tensors(folder: Path) -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(folder / "dti_tensors/small_101D.npz")
    return held["tensor"][held["mask"]], cdp.Ball.from_units("dti", "um^2/ms")


def gesture(folder: Path) -> tuple[np.ndarray, cdp.Ball]:
    held = np.load(folder / "emg_covariances/emg_cov_8x8.npz", allow_pickle=True)
    records, public = held["cov"].astype(float), held["session"] == "mg_s1"
    center = cdp.nonprivate.frechet_mean(records[public], cdp.SPD(8)).value
    return records[~public & (held["gesture"] == "ok")], cdp.Ball(cdp.SPD(8), center, 5.0)


def quakes(folder: Path) -> tuple[np.ndarray, cdp.Ball]:
    file = folder / "sphere/earthquakes_week2018.csv"
    lon, lat = np.radians(np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1))).T
    points = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)
    east, north = np.radians((-150.0, 40.0))
    center = [np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)]
    return points, cdp.Ball("sphere:2", center, 1.5)


def wind(folder: Path) -> tuple[np.ndarray, cdp.Ball]:
    rows = np.genfromtxt(folder / "sphere/wind_col_de_la_roa.csv", skip_header=1)
    return rows[:, None], cdp.Ball(cdp.Torus(1), [0.0], 1.55)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("load", "n", "mu"),
    [
        *((tensors, 3000, 3.0), (tensors, 1000, 1.0), (gesture, 1000, 1.0), (gesture, 3000, 3.0)),
        *((quakes, 300, 1.0), (quakes, 3000, 1.0), (wind, 1000, 1.0), (wind, 300, 3.0)),
    ],
)
def test_errors_on_real_records_are_those_printed(data_dir, load, n, mu):
    """Keys are the test's own, so that it does not fail by chance."""
    records, ball = load(data_dir)
    points, rng, space = ball.project(records), np.random.default_rng(5), ball.manifold
    errors = []
    seeds = 4 if load is gesture else 8  # in 36 dimensions errors hardly vary
    for _ in range(3 if load is gesture else 10):
        rows = points[rng.integers(len(points), size=n)]
        exact = cdp.nonprivate.frechet_mean(rows, space).value
        for seed in range(seeds):
            found = cdp.adaptive_mean(rows, ball, cdp.GDP(mu), seed=seed)
            errors.append((float(space.dist(found.value, exact)), found.expected_error))
    true, printed = np.mean(errors, axis=0)
    assert 0.5 < true / printed < 2
    assert true < 1.4 * cdp.expected_error(ball, n, cdp.GDP(mu))
