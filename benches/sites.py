"""One mean of 20 sites beside the central one and beside combined means, over real data sets.

    CURVEDP_DATA=/path/to/data python benches/sites.py
    python benches/sites.py --about                      # the variance and clusters about the mean

Records are dealt to the sites at random. The rule of the search is the same at one site and at
twenty; up to 4 of them may drop out, and none does. Combined are means of each site on a ball about
the exact mean that holds 99 % of all records, which nobody knows. Errors are about the exact mean.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

import curvedp as cdp
from adaptive_sets import gestures, tensors
from curvedp.errors import ExistenceError
from curvedp.sites import Agreement, simulate
from real_data import spd

SITES, DROPOUTS = 20, 4
BUDGETS = (0.5, 1.0)
HEAD = (
    "| data | n | μ | relation | central | 20 sites, f = 4 | quotient | combined | rounds | "
    "bytes down, up per site and round | processor time of a site with the server's share |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)
Sets = dict[str, tuple[cdp.Manifold, Callable[[], np.ndarray]]]


def directions() -> np.ndarray:
    rng = np.random.default_rng(0)
    return cdp.Sphere(2).project([0.0, 0.0, 1.0] + 0.1 * rng.normal(size=(1000, 3)))


SETS: Sets = {
    "directions, S², spread .14": (cdp.Sphere(2), directions),
    "DTI small_64D, SPD(3)": (cdp.SPD(3), lambda: tensors("small_64D")[0]),
    "EMG, SPD(8)": (cdp.SPD(8), lambda: gestures()[0]),
    "connectomes, SPD(28)": (
        cdp.SPD(28),
        lambda: spd("connectomes/fnc_correlation_28x28.npz", "corr", 1.0, 9.0)[0],
    ),
}


def errors(
    release: Callable[[int], np.ndarray | None], space: cdp.Manifold, exact: np.ndarray, count: int
) -> tuple[float, float]:
    """Mean distance of releases from the mean, and its own deviation; NaN if most find none."""
    found = [own for own in map(release, range(count)) if own is not None]
    if len(found) < 0.5 * count:
        return np.nan, np.nan
    dist = np.array([space.dist(own, exact) for own in found])
    return float(dist.mean()), float(dist.std() / np.sqrt(len(dist)))


def line(name: str, records: np.ndarray, guarantee: cdp.GDP, count: int) -> str:
    """One guarantee's row."""
    space, parts = SETS[name][0], np.array_split(records, SITES)
    exact = cdp.nonprivate.frechet_mean(records, space).value
    reach = float(np.quantile(space.dist(exact, records), 0.99))
    ball = cdp.Ball(space, exact, min(reach, 0.98 * space.max_ball_radius))
    n = len(records) if guarantee.neighbours == "replace" else None
    roster = [f"site {number}" for number in range(SITES)]
    start = f"| {name} | {len(records)} | {guarantee.mu:g} | {guarantee.neighbours} | "
    try:
        study = Agreement(space, guarantee, roster, DROPOUTS, n=n)
    except ExistenceError:
        return start + "refused |"
    asked: list[tuple[int, int]] = []

    def watch(plan: bytes, answers: dict[str, bytes]) -> None:
        asked.append((len(plan), max(map(len, answers.values()))))

    def central(number: int) -> np.ndarray | None:
        own = cdp.frechet_mean(records, space, guarantee)
        return own.value if own.found else None

    def of_sites(number: int) -> np.ndarray | None:
        own = simulate(parts, study, watch=watch)
        return own.value if own.found else None

    def combined(number: int) -> np.ndarray | None:
        own = [cdp.frechet_mean(part, ball, guarantee, coverage=False) for part in parts]
        return cdp.combine(own).value

    before = time.process_time()
    sites, off = errors(of_sites, space, exact, count)
    spent = (time.process_time() - before) / (count * SITES)
    whole, deviation = errors(central, space, exact, count)
    apart = np.nan if n is None else errors(combined, space, exact, count)[0]
    quotient = sites / whole
    error = quotient * np.hypot(off / sites, deviation / whole)
    shown = "–" if np.isnan(quotient) else f"{quotient:.2f} ± {error:.2f}"
    first, second, last = ("–" if np.isnan(x) else f"{x:.3g}" for x in (whole, sites, apart))
    told = f"{first} | {second} | {shown} | {last}"
    down, up = np.mean(asked, axis=0)
    rounds = len(asked) / count
    return f"{start}{told} | {rounds:.1f} | {down:.0f}, {up:.0f} | {1e3 * spent:.1f} ms |"


def variance(space: cdp.Manifold, records: np.ndarray, count: int) -> str:
    """Variance at 20 sites beside the exact one, and what it costs the mean."""
    exact = cdp.nonprivate.frechet_mean(records, space).value
    parts, roster = np.array_split(records, SITES), [f"site {j}" for j in range(SITES)]
    guarantee = cdp.GDP(1.0, neighbours="add-remove")
    plain, own = (
        Agreement(space, guarantee, roster, DROPOUTS, variance=part) for part in (0.0, 0.1)
    )
    missed = [
        np.mean([space.dist(simulate(parts, each, seed=s).value, exact) for s in range(count)])
        for each in (plain, own)
    ]
    found = [simulate(parts, own, seed=seed) for seed in range(count)]
    clipped = [
        np.mean(np.minimum(space.dist(each.value, records), each.clip_level) ** 2) for each in found
    ]
    apart = np.array([each.variance for each in found]) - clipped
    told = np.mean([each.variance_error for each in found])
    return (
        f"| {space} | variance {np.mean(clipped):.3g}, root mean square error "
        f"{np.sqrt(np.mean(apart**2)):.2g}, printed {told:.2g} | mean's error "
        f"{missed[1]:.3g} for {missed[0]:.3g} |"
    )


#: Centres of clusters before they are projected, and their spreads.
LIKE = [[0.35, 0, 1], [-0.35, 0.1, 1], [0, -0.5, 1.0]], (0.06, 0.06, 0.06)
UNLIKE = [[0.1, 0.4, 1], [-0.1, 0.4, 1], [0, -0.7, 1.0]], (0.02, 0.02, 0.12)


def clusters(name: str, places: list[list[float]], spreads: Sequence[float], count: int) -> str:
    """Mean error of centres at 1 and 20 sites, and of `k_means` on a public ball."""
    space, rng = cdp.Sphere(2), np.random.default_rng(7)
    about = space.project(places)
    each = [
        space.project(center + spread * rng.normal(size=(size, 3)))
        for center, size, spread in zip(about, (800, 500, 700), spreads, strict=True)
    ]
    records = np.concatenate(each)[rng.permutation(2000)]
    for _ in range(20):
        own = space.pairwise_dist(records, about).argmin(axis=1)
        means = [cdp.nonprivate.frechet_mean(records[own == j], space).value for j in range(3)]
        about = np.array(means)
    guarantee = cdp.GDP(1.0, neighbours="add-remove")

    def error(centers: Callable[[int], np.ndarray]) -> float:
        found = [space.pairwise_dist(about, centers(s)).min(axis=1).mean() for s in range(count)]
        return float(np.mean(found))

    def of_sites(number: int, dropouts: int) -> float:
        roster = [f"site {j}" for j in range(number)]
        study = Agreement(space, guarantee, roster, dropouts, clusters=3)
        parts = np.array_split(records, number)
        return error(lambda seed: simulate(parts, study, seed=seed).centers)

    ball = cdp.Ball(space, [0, 0, 1.0], 0.8)
    public = error(lambda s: cdp.k_means(records, 3, ball, guarantee, n_guess=2000, seed=s).value)
    return (
        f"| {space}, {name} | centres' error: one site {of_sites(1, 0):.2g}, {SITES} sites "
        f"{of_sites(SITES, DROPOUTS):.2g}, k_means on a public ball {public:.2g} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="part of a data set's name")
    parser.add_argument("--count", type=int, default=60, help="releases of each kind")
    parser.add_argument("--about", action="store_true", help="what is asked for about the mean")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if arguments.about:
        tensor = cdp.datasets.load_diffusion_tensors().records
        for space, records in ((cdp.SPD(3), tensor), (cdp.Sphere(2), directions())):
            print(variance(space, records, arguments.count), flush=True)
        print(clusters("like", *LIKE, arguments.count), flush=True)
        print(clusters("unlike", *UNLIKE, arguments.count), flush=True)
        return
    print(HEAD, flush=True)
    for name in SETS:
        if arguments.only in name:
            records = SETS[name][1]()
            records = records[np.random.default_rng(1).permutation(len(records))]
            for mu in BUDGETS:
                for guarantee in (cdp.GDP(mu, neighbours="add-remove"), cdp.GDP(mu)):
                    print(line(name, records, guarantee, arguments.count), flush=True)


if __name__ == "__main__":
    main()
