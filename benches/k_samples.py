"""Level and power of the test of k means beside a Wald test of released means.

    python benches/k_samples.py [--quick] [--jobs 2] [--budgets 10 --times 400]

The Wald test has the same budget, three quarters of it for the means, and is told the true
covariances, which no release has: `compare_means` is below it. Cells are a fixed grid on which
nothing was chosen; `--budgets` asks at others for levels alone, and those of a cell where the test
is careful. Records are in the chart at the ball's centre, cut to the ball of radius 1. On curved
spaces two samples of unequal sizes and spreads have one Fréchet mean, at the centre or off.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy.special

import curvedp as cdp
from curvedp.statistics.k_samples import KSampleDesign
from curvedp.statistics.null_law import p_value_of

LAWS = ("normal", "skewed", "t3", "contaminated")
#: Sizes, and root mean square distances from the mean in radii.
SHAPES = (
    ((20, 200), (0.35, 0.1)),
    ((200, 20), (0.35, 0.1)),
    ((1000, 100), (0.1, 0.3)),
    ((50, 150, 500), (0.4, 0.2, 0.1)),
    ((100, 100, 100, 300, 300), (0.1, 0.2, 0.3, 0.3, 0.1)),
)
BUDGETS = (0.3, 1.0, 3.0)
#: Where F is far below its noise: few wide records in many directions, at large budgets.
CAREFUL = ("even", 20, (1000, 20), (0.02, 0.6))
DIMS = (2, 6, 36, 406)
#: Tests of a level, of a power, and of pairs on curved spaces.
TIMES, POWER_TIMES, CURVED_TIMES = 1600, 200, 800
#: Draws of the noise for the same records, where these take long.
NOISES = 8
#: Balls, and distances of the common mean from their centres.
CURVED = (("sphere:2", [0.0, 0.0, 1.0], 1.2, (0.0, 0.5)), ("spd:3", "identity", 2.0, (0.0, 0.75)))
#: Law, dim, sizes, spreads, mu and shift of the first mean.
SHIFTS = (
    ("normal", 2, (60, 60), (0.35, 0.35), 1.0, 0.18),
    ("normal", 2, (400, 400), (0.3, 0.3), 1.0, 0.06),
    ("skewed", 6, (60, 300), (0.3, 0.15), 1.0, 0.16),
    ("t3", 6, (150, 150, 150), (0.2, 0.2, 0.2), 1.0, 0.08),
    ("normal", 36, (80, 80), (0.4, 0.4), 1.0, 0.15),
    ("contaminated", 36, (1000, 300), (0.2, 0.3), 0.3, 0.08),
    ("normal", 406, (43, 43), (0.6, 0.6), 1.0, 0.35),
    ("normal", 406, (200, 200), (0.5, 0.5), 1.0, 0.15),
)


def drawn(law: str, n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Records of mean 0 and mean square 1, with a decaying spectrum but for "even" ones."""
    skewed = law == "skewed"
    rows = rng.exponential(size=(n, dim)) - 1 if skewed else rng.standard_normal((n, dim))
    if law == "t3":
        rows /= np.sqrt(rng.chisquare(3, (n, 1)))
    if law == "contaminated":
        rows *= np.where(rng.random((n, 1)) < 0.05, 4.0, 1.0) / np.sqrt(1.75)
    deviations = 1 / np.sqrt(np.ones(dim) if law == "even" else np.arange(1, dim + 1))
    return rows * deviations / np.linalg.norm(deviations)


def wald(parts: list[np.ndarray], truth: list[np.ndarray], mu: float, rng) -> float:
    """p-value of means with isotropic noise and known covariances."""
    means, weights = [], []
    for own, covariance in zip(parts, truth, strict=True):
        scale = 2 / len(own) / (mu * np.sqrt(0.75))
        means.append(own.mean(axis=0) + scale * rng.standard_normal(own.shape[1]))
        weights.append(np.linalg.inv(covariance / len(own) + scale**2 * np.eye(own.shape[1])))
    middle = np.linalg.solve(sum(weights), sum(w @ m for w, m in zip(weights, means, strict=True)))
    square = sum((m - middle) @ w @ (m - middle) for w, m in zip(weights, means, strict=True))
    return float(scipy.special.chdtrc(len(middle) * (len(parts) - 1), square))


def rejected(cell: tuple, times: int, seed: int) -> tuple[float, float]:
    """Shares of the test of k means and of the Wald test."""
    law, dim, sizes, spreads, mu, shift = cell
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    design = KSampleDesign.of(ball, cdp.GDP(mu), sizes, 1)
    scale, numbers = design.mechanism.scale, np.repeat(np.arange(len(sizes)), sizes)
    rng, found = np.random.default_rng(seed), np.zeros(2)
    truth = []
    if shift:
        for spread in spreads:
            many = spread * drawn(law, 20_000, dim, rng)
            many /= np.maximum(np.linalg.norm(many, axis=1, keepdims=True), 1.0)
            truth.append(np.atleast_2d(np.cov(many.T)))
    for _ in range(times):
        parts = [s * drawn(law, n, dim, rng) for n, s in zip(sizes, spreads, strict=True)]
        direction = rng.standard_normal(dim)
        parts[0] += shift * direction / np.linalg.norm(direction)
        coords = np.concatenate(parts)
        coords /= np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), 1.0)
        if shift:
            own = np.split(coords, np.cumsum(sizes)[:-1])
            found[1] += wald(own, truth, mu, rng) <= 0.05
        value = design.values(coords, numbers)
        value += scale * rng.standard_normal(len(value))
        found[0] += p_value_of(value, sizes, scale, dim) <= 0.05
    return found[0] / times, found[1] / times


def rejected_at(task: tuple[tuple, int, int]) -> tuple[float, float]:
    """`rejected`, of one argument."""
    return rejected(*task)


def levels_at(task: tuple[tuple, tuple[float, ...], int, int]) -> np.ndarray:
    """Shares rejected at each budget and their standard errors, where the means are equal."""
    (law, dim, sizes, spreads), budgets, times, seed = task
    ball = cdp.Ball(cdp.Euclidean(dim), np.zeros(dim), 1.0)
    designs = [KSampleDesign.of(ball, cdp.GDP(mu), sizes, 1) for mu in budgets]
    noises = NOISES if dim == max(DIMS) else 1
    rng, numbers = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    found = np.zeros((max(1, times // noises), len(budgets)))
    for own in found:
        parts = [s * drawn(law, n, dim, rng) for n, s in zip(sizes, spreads, strict=True)]
        coords = np.concatenate(parts)
        coords /= np.maximum(np.linalg.norm(coords, axis=1, keepdims=True), 1.0)
        value = designs[0].values(coords, numbers)
        for noise in rng.standard_normal((noises, 3)):
            for g, design in enumerate(designs):
                scale = design.mechanism.scale
                own[g] += p_value_of(value + scale * noise, sizes, scale, dim) <= 0.05
    found /= noises
    return np.array([found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))])


def rejected_on_curved(task: tuple[tuple, float, int]) -> float:
    """Share of pairs, 40 of deviation .3 in each direction and 400 of .05, at the level .05."""
    (spec, center, radius, _), off, times = task
    ball, rng, found = cdp.Ball(spec, center, radius), np.random.default_rng(9), 0
    space = ball.manifold
    labels = np.repeat([0, 1], [40, 400])
    spread = np.where(labels == 0, 0.3, 0.05)[:, None]
    moved = space.coords_to_tangent(off * np.eye(space.dim)[0], ball.center)
    mean = np.broadcast_to(space.exp(moved, ball.center), (440, *space.point_shape))
    for _ in range(times):
        steps = spread * rng.standard_normal((440, space.dim))
        records = space.exp(space.coords_to_tangent(steps, mean), mean)
        test = cdp.k_sample_test(records, labels, ball, cdp.GDP(5.0), coverage=False)
        found += test.rejects
    return found / times


def cells_of_levels() -> list[tuple]:
    """Laws, dimensions, sizes and spreads whose level is measured."""
    return [
        (law, int(dim), sizes, spreads)
        for number, (sizes, spreads) in enumerate(SHAPES)
        for law, dim in zip(LAWS, np.roll(DIMS, number), strict=True)
    ]


def levels(times: int, workers: ProcessPoolExecutor, budgets: tuple[float, ...]) -> None:
    """Prints the table of levels, and a line about it."""
    cells = [*cells_of_levels(), *([CAREFUL] if budgets != BUDGETS else [])]
    found = workers.map(levels_at, [(cell, budgets, times, 7) for cell in cells])
    asked = " | ".join(f"{mu:g}" for mu in budgets)
    print(f"| law | d | sizes | spreads | rejected at mu = {asked} |")
    print("|---|---|---|---|" + "---|" * len(budgets))
    shares, errors = [], []
    for (law, dim, sizes, spreads), (own, error) in zip(cells, found, strict=True):
        shares.append(own)
        errors.append(error)
        told = " | ".join(f"{share:.3f}" for share in own)
        print(f"| {law} | {dim} | {sizes} | {spreads} | {told} |", flush=True)
    every = np.array(shares)
    inside = int(np.sum((every >= 0.03) & (every <= 0.07)))
    means = ", ".join(f"{mean:.3f}" for mean in every.mean(axis=0))
    print(f"\n{inside} of {every.size} from .03 to .07, {every.min():.3f} to {every.max():.3f}")
    print(f"means at the budgets {means}; largest standard error {np.max(errors):.4f}")


def main() -> None:
    """Prints the tables of docs/proofs/k-samples.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--budgets", type=float, nargs="+")
    parser.add_argument("--times", type=int, default=TIMES)
    options = parser.parse_args()
    cut = 20 if options.quick else 10**9
    counts = [min(cut, own) for own in (options.times, POWER_TIMES, CURVED_TIMES)]
    with ProcessPoolExecutor(options.jobs) as workers:
        levels(counts[0], workers, tuple(options.budgets or BUDGETS))
        if options.budgets:
            return
        print("\n| law | d | sizes | spreads | mu | shift | power | Wald, covariances known |")
        print("|---|---|---|---|---|---|---|---|")
        powers = workers.map(rejected_at, [(cell, counts[1], 8) for cell in SHIFTS])
        for cell, (ours, theirs) in zip(SHIFTS, powers, strict=True):
            print(f"| {' | '.join(map(str, cell))} | {ours:.2f} | {theirs:.2f} |", flush=True)
        print("\n| space | mean from the centre | rejected |")
        print("|---|---|---|")
        curved = [(own, off, counts[2]) for own in CURVED for off in own[-1]]
        for ((spec, *_), off, _), share in zip(
            curved, workers.map(rejected_on_curved, curved), strict=True
        ):
            print(f"| {spec} | {off:g} | {share:.3f} |", flush=True)


if __name__ == "__main__":
    main()
