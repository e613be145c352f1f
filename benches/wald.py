"""Level of Wald tests of one slope given the other covariate, on laws that nothing was tuned on.

    python benches/wald.py --jobs 2

The last slope is 0: given the other covariate, or of one covariate alone for few records. Prints
how often it is found at the level .05, among the releases that give a p-value; then how often a
slope that is not 0 is found, beside White's test without privacy; then the power of a slope's Wald
test beside that of tests of no trend and of equal means. `--part ranges`: the level for one normal
covariate whose range is too wide. `--part bands`: how often bands hold two deviations from its mean
there.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy.special

import curvedp as cdp

SPACES = {
    "euclidean:2": ([0.0, 0.0], 1.0),
    "sphere:3": ([0.0, 0.0, 0.0, 1.0], 0.8),
    "spd:2": ("identity", 1.2),
}
#: Second covariate, residuals, n, mu.
LAWS = (
    ("copy", "t3", 3000, 1.0),
    ("copy", "skewed", 8000, 1.0),
    ("rare", "growing", 3000, 2.0),
    ("rare", "skewed", 8000, 2.0),
    ("ends", "growing", 2000, 1.0),
    ("alone", "skewed", 200, 3.0),
    ("alone", "t3", 1000, 0.3),
    ("dummy", "growing", 200, 3.0),
    ("dummy", "skewed", 500, 1.0),
)
#: Records, correlation of the covariates, deviation of residuals and slope, on a line.
POWER = (10_000, 0.9, 0.06, 0.019)
#: Space, records, slope and covariate, where the power of tests is compared.
BESIDE = tuple(
    (spec, n, slope, along)
    for along in ("even", "1:1")
    for spec, n, slope in (("sphere:2", 500, 0.05), ("sphere:2", 2000, 0.02), ("spd:3", 1000, 0.06))
)
#: Space, ball and deviation of residuals where ranges are too wide; then records, and releases for
#: each one asked for; the range over four deviations of the covariate; its mean off the middle.
WIDE = {
    "euclidean:2": ([0.0, 0.0], 1.0, 0.1),
    "sphere:2": ([0.0, 0.0, 1.0], 0.8, 0.1),
    "euclidean:20": ([0.0] * 20, 0.4, 0.0144),
}
RANGES = tuple(
    itertools.product(WIDE, ((1000, 0.4), (2000, 1.0), (10_000, 0.2)), (2, 4, 8), (0, 0.25))
)
#: Records, range over four deviations and levels at which bands are looked at.
BANDS = (2000, 4, (0.95, 0.8))
BALLS = {"sphere:2": ([0.0, 0.0, 1.0], 0.8), "spd:3": ("identity", 1.5)}


def covariates(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """A skewed covariate beside a noisy copy, a dummy that depends on it, or one at both ends.

    An even covariate or a dummy of a tenth alone.
    """
    if kind == "alone":
        return rng.uniform(0, 1, (n, 1))
    if kind == "dummy":
        return (rng.random((n, 1)) < 0.1).astype(float)
    first = rng.beta(2, 5, n)
    if kind == "copy":
        second = 0.8 * first + 0.2 * rng.beta(2, 2, n)
    elif kind == "rare":
        second = (rng.random(n) < 0.06 + 0.1 * first).astype(float)
    else:
        second = rng.beta(0.6, 0.6, n)
    return np.stack([first, second], axis=1)


def residuals(kind: str, x: np.ndarray, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Heavy tails, skewed in one direction, or growing with the last covariate."""
    n = len(x)
    if kind == "t3":
        return 0.04 * rng.standard_t(3, (n, dim))
    if kind == "growing":
        return 0.03 * (1 + 5 * x[:, -1:]) * rng.standard_normal((n, dim))
    skewed = 0.08 * (rng.exponential(size=(n, 1)) - 1)
    return np.hstack([skewed, 0.03 * rng.standard_normal((n, dim - 1))])


def p_values(task: tuple[str, tuple[str, str, int, float], int]) -> np.ndarray:
    """P-values of a slope of 0, NaN where a release gives none."""
    spec, (along, spread, n, mu), repetitions = task
    warnings.simplefilter("ignore")
    cdp.set_num_threads(1)
    ball, rng = cdp.Ball(spec, *SPACES[spec]), np.random.default_rng([20261126, n])
    space, found = ball.manifold, []
    for _ in range(repetitions):
        x = covariates(along, n, rng)
        count = x.shape[1]
        slope = (count - 1) * np.eye(space.dim)[0] / 2
        moves = space.coords_to_tangent((x[:, :1] - 0.3) * slope, ball.center)
        means = space.exp(moves, ball.center)
        errors = space.coords_to_tangent(residuals(spread, x, space.dim, rng), means)
        y = ball.project(space.exp(errors, means))
        made = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu), x_range=[(0, 1)] * count)
        found.append(made.wald_test([count - 1]).p_value)
    return np.array(found)


def in_wide_ranges(task: tuple[str, int, int, float, int]) -> np.ndarray:
    """P-values at mu = 1 of a slope of 0 in a range so many times too wide, NaN where none.

    And whether bands of each level hold two deviations below the covariate's mean and above.
    """
    spec, n, wide, off, repetitions = task
    warnings.simplefilter("ignore")
    cdp.set_num_threads(1)
    *ball, deviation = WIDE[spec]
    ball, rng = cdp.Ball(spec, *ball), np.random.default_rng([20261128, n, wide, int(100 * off)])
    space, found = ball.manifold, []
    for _ in range(repetitions):
        x = np.clip(0.5 + off + 0.25 / wide * rng.standard_normal(n), 0.0, 1.0)
        moves = space.coords_to_tangent(
            deviation * rng.standard_normal((n, space.dim)), ball.center
        )
        y = ball.project(space.exp(moves, ball.center))
        made = cdp.geodesic_regression(x, y, ball, cdp.GDP(1.0), x_range=(0, 1), coverage=False)
        own, ends = [made.wald_test([0]).p_value], 0.5 + off + 0.5 / wide * np.array([-1, 1])
        away = space.dist(made.predict(ends), np.broadcast_to(ball.center, made.value.shape))
        for level in BANDS[-1]:
            band = made.band(ends, level)
            own.append(np.mean(np.where(np.isnan(band), np.nan, away <= band)))
        found.append(own)
    return np.array(found)


def print_bands(repetitions: int, jobs: int) -> None:
    """The table of bands in ranges that are too wide."""
    n, wide, levels = BANDS
    cells = [(spec, n, wide, off, repetitions) for spec in WIDE for off in (0, 0.25)]
    told = " | ".join(f"bands of {level:g} hold" for level in levels)
    print(f"| space | n | times too wide | off its middle | with a band | {told} |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(jobs) as workers:
        for cell, found in zip(cells, workers.map(in_wide_ranges, cells), strict=True):
            own = found[~np.isnan(found[:, 1:]).any(axis=1), 1:]
            shares = " | ".join(f"{share:.3f}" for share in own.mean(axis=0)) if len(own) else "–"
            print(f"| {' | '.join(map(str, cell[:-1]))} | {len(own)} | {shares} |", flush=True)


def print_wide_ranges(repetitions: int, jobs: int) -> None:
    """The table of levels in ranges that are too wide."""
    cells = [
        (spec, n, wide, off, max(int(share * repetitions), 1))
        for spec, (n, share), wide, off in RANGES
    ]
    print(
        "| space | n | times too wide | off its middle | with a p-value | below .05 | below .01 |"
    )
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(jobs) as workers:
        for cell, found in zip(cells, workers.map(in_wide_ranges, cells), strict=True):
            print(f"| {' | '.join(map(str, cell[:-1]))} | {shares_of(found[:, 0])} |", flush=True)


def shares_of(p: np.ndarray) -> str:
    """How many p-values there are, and which shares of these are below .05 and .01."""
    given = p[~np.isnan(p)]
    shares = [f"{np.mean(given < level):.3f}" if given.size else "–" for level in (0.05, 0.01)]
    return f"{len(given)} of {len(p)} | {' | '.join(shares)}"


def power(mu: float, repetitions: int) -> tuple[float, float, float]:
    """Shares at the level .05: of releases, of those that give a p-value, and without privacy."""
    n, correlation, deviation, slope = POWER
    ball, rng = cdp.Ball("euclidean:1", [0.0], 1.0), np.random.default_rng(20261127)
    found, theirs = [], []
    for _ in range(repetitions):
        z = rng.standard_normal((n, 2))
        z[:, 1] = correlation * z[:, 0] + np.sqrt(1 - correlation**2) * z[:, 1]
        x = scipy.special.ndtr(z)
        y = (x - 0.5) @ [0.8, slope] + deviation * rng.standard_normal(n)
        made = cdp.geodesic_regression(
            x, y[:, None], ball, cdp.GDP(mu), x_range=[(0, 1)] * 2, coverage=False
        )
        found.append(made.wald_test([1]).p_value)
        design = np.column_stack([np.ones(n), x])
        inverse = np.linalg.inv(design.T @ design)
        fit = inverse @ design.T @ y
        own = (design * (y - design @ fit)[:, None]) @ inverse[2]
        theirs.append(scipy.special.chdtrc(1, fit[2] ** 2 / np.sum(own**2)))
    p = np.array(found)
    given = p[~np.isnan(p)]
    return (
        float(np.mean(p < 0.05)),
        float(np.mean(given < 0.05)),
        float(np.mean(np.array(theirs) < 0.05)),
    )


def beside_tests(cell: tuple[str, int, float, str], times: int, rng) -> list[float]:
    """Shares found at mu = 1: of a slope's Wald test, and of tests of a trend and equal means.

    Residuals have the deviation .1 in each direction; the last two need two groups.
    """
    spec, n, slope, along = cell
    ball, mu, found = cdp.Ball(spec, *BALLS[spec]), cdp.GDP(1.0), np.zeros(4)
    space = ball.manifold
    for _ in range(times):
        x = rng.uniform(0, 1, n) if along == "even" else (rng.random(n) < 0.5).astype(float)
        moves = slope * (x - 0.5)[:, None] * np.eye(space.dim)[0]
        means = space.exp(space.coords_to_tangent(moves, ball.center), ball.center)
        errors = space.coords_to_tangent(0.1 * rng.standard_normal((n, space.dim)), means)
        y = ball.project(space.exp(errors, means))
        made = cdp.geodesic_regression(x, y, ball, mu, x_range=(0, 1), coverage=False)
        found[0] += made.wald_test([0]).p_value < 0.05
        found[1] += cdp.trend_test(x, y, ball, mu, x_range=(0, 1)).rejects
        if along == "1:1":
            labels = x.astype(int)
            found[2] += cdp.k_sample_test(y, labels, ball, mu, coverage=False).rejects
            found[3] += cdp.two_sample_test(y[labels == 0], y[labels == 1], ball, mu).rejects
    return list(found / times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", choices=("laws", "ranges", "bands"), default="laws")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "bands":
        print_bands(options.repetitions, options.jobs)
        return
    if options.part == "ranges":
        print_wide_ranges(options.repetitions, options.jobs)
        return
    cells = [(spec, law, options.repetitions) for spec, law in itertools.product(SPACES, LAWS)]
    print("| space | last covariate | residuals | n | μ | with a p-value | below .05 | below .01 |")
    print("|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.jobs) as workers:
        for (spec, law, _), found in zip(cells, workers.map(p_values, cells), strict=True):
            told = shares_of(found)
            print(f"| {spec} | {law[0]} | {law[1]} | {law[2]} | {law[3]:g} | {told} |", flush=True)
    for mu in (1.0, 3.0):
        every, given, theirs = power(mu, max(options.repetitions // 4, 1))
        print(
            f"\nmu = {mu:g}: {every:.2f}, {given:.2f} of those with a p-value, {theirs:.2f} without"
        )
    print("\n| space | n | slope | x | slope's Wald test | trend | k means | two samples |")
    print("|---|---|---|---|---|---|---|---|")
    cdp.set_num_threads(1)
    rng = np.random.default_rng(77)
    for cell in BESIDE:
        shares = beside_tests(cell, max(3 * options.repetitions // 8, 1), rng)
        told = [f"{share:.2f}" for share in shares[: 2 if cell[-1] == "even" else 4]]
        told += ["–"] * (4 - len(told))
        print(f"| {' | '.join(map(str, cell))} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
