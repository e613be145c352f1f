"""What geodesic regression says of its accuracy, on a fixed grid of data.

    python benches/regression_grid.py --write docs/measured/regression-grid.md

Six spaces, five laws of the covariate, five laws of residuals, three budgets, default settings; 200
and 1,000 records, and of fewer laws 10,000 and 100,000. Asked of each cell: do 95 % bands hold the
population's least-squares geodesic, does the printed error agree with the distance from the fit
without privacy, and does that distance fall with the number of records. What looks wrong in a cell
is measured again, with 400 repetitions on other data.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import math
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning

AT = np.array([0.0, 0.5, 1.0])
COVARIATES = ("uniform", "skewed", "1:1", "1:9", "1:19")
RESIDUALS = ("normal", "skewed", "t3", "10 % wild", "spread")
BUDGETS, ONE = (0.3, 1.0, 3.0), cdp.GDP(1.0)
#: Repetitions of the hard cells, and of the distances by number of records.
OFTEN_TIMES, SIZES = 400, {1000: 24, 10_000: 12, 100_000: 4}
#: Repetitions of cells that look wrong, by number of records, and the first seed of their data.
AGAIN, FRESH = {200: OFTEN_TIMES, 1000: OFTEN_TIMES, 10_000: OFTEN_TIMES, 100_000: 24}, 10_000
#: Repetitions of rows farther from the fit than two means, and the first seed of their data.
SECOND_TIMES, SECOND = 60, 1000
#: Coverage asked for, and how far a printed error may be off.
COVERED, OFF = 0.93, 1.5
#: Records of the population whose geodesic bands are to hold, at least, and over those of a sample.
POPULATION, TIMES = 100_000, 10
#: Laws for many records, and cells that are measured more often: number of the space, laws, number
#: of records and budget.
FEW_LAWS = list(itertools.product(("uniform", "skewed", "1:9"), ("normal", "skewed", "10 % wild")))
FEWEST_LAWS = [("uniform", "normal"), ("1:9", "normal"), ("skewed", "10 % wild")]
OFTEN = [
    *itertools.product(
        (0, 1, 2),
        (("uniform", "10 % wild"), ("1:1", "10 % wild"), ("1:1", "skewed")),
        ((200, 1.0), (1000, 0.3)),
    ),
    *itertools.product(
        (3,), (("skewed", "normal"), ("1:9", "normal"), ("1:1", "10 % wild")), ((1000, 1.0),)
    ),
]


@dataclass(frozen=True)
class Space:
    """A ball with a trend of some length and residuals of some spread."""

    name: str
    ball: cdp.Ball
    trend: float
    spread: float = 0.06


def spaces() -> list[Space]:
    outline = cdp.KendallPlanar(6).origin
    pole = [1.0, 0.0, 0.0, 0.0]
    return [
        Space("S²", cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.8), 0.8),
        Space("SPD(3)", cdp.Ball("spd:3", "identity", 1.5), 1.0),
        Space("H³, half-length .5", cdp.Ball("hyperboloid:3", pole, 1.0), 1.0),
        Space("H³, half-length 3", cdp.Ball("hyperboloid:3", pole, 3.4), 6.0),
        Space("S¹⁰", cdp.Ball("sphere:10", np.eye(11)[0], 0.7), 0.8),
        Space("shapes of 6 landmarks", cdp.Ball(cdp.KendallPlanar(6), outline, 0.35), 0.5, 0.03),
    ]


def covariates(law: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if law == "uniform":
        return rng.uniform(0.0, 1.0, n)
    if law == "skewed":
        return np.minimum(rng.lognormal(-2.0, 0.8, n), 1.0)
    rare, all_parts = 1.0, sum(map(float, law.split(":")))
    return (rng.random(n) < rare / all_parts).astype(float)


def residuals(law: str, x: np.ndarray, dim: int, s: float, rng: np.random.Generator) -> np.ndarray:
    found = s * rng.standard_normal((len(x), dim))
    if law == "skewed":
        found[:, 0] = 2 * s * (rng.exponential(size=len(x)) - 1)
    if law == "t3":
        found /= np.sqrt(rng.chisquare(3, (len(x), 1)) / 3)
    if law == "10 % wild":
        found[rng.random(len(x)) < 0.1, 0] += 8 * s
    if law == "spread":
        found *= 1 + 2 * x[:, None]
    return found


def drawn(space: Space, laws: tuple[str, str], n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariates in [0, 1] and records in the ball."""
    rng, manifold = np.random.default_rng([seed, n]), space.ball.manifold
    x = covariates(laws[0], n, rng)
    velocity = np.zeros(manifold.dim)
    velocity[0] = space.trend
    tangent = manifold.coords_to_tangent(velocity, space.ball.center)
    along = (x - 0.5).reshape(-1, *[1] * tangent.ndim) * tangent
    means = manifold.exp(along, space.ball.center)
    steps = residuals(laws[1], x, manifold.dim, space.spread, rng)
    return x, space.ball.project(manifold.exp(manifold.coords_to_tangent(steps, means), means))


def fitted(space: Space, x: np.ndarray, y: np.ndarray) -> cdp.nonprivate.GeodesicFit:
    return cdp.nonprivate.geodesic_regression(x, y, space.ball.manifold, x_range=(0.0, 1.0))


@dataclass(frozen=True)
class Cell:
    """Releases of one cell of the grid.

    Attributes
    ----------
    errors : ndarray, shape (repetitions,)
        Root mean square distance of predictions from the fit's, over the records.
    printed : ndarray, shape (repetitions,)
        Expected errors; NaN where steps may not have arrived.
    covered : ndarray, shape (repetitions, 3)
        1 where the band at `AT` holds the population's geodesic, NaN where there is none.
    """

    errors: np.ndarray
    printed: np.ndarray
    covered: np.ndarray

    @property
    def ratio(self) -> float:
        """Error over printed error, root mean square, where one is printed."""
        known = np.isfinite(self.printed)
        if not known.any():
            return np.nan
        return float(np.sqrt(np.mean(self.errors[known] ** 2) / np.mean(self.printed[known] ** 2)))

    def coverage(self) -> tuple[float, float]:
        """Share of given bands that hold, and its standard error over releases; NaN without."""
        given = self.covered[np.isfinite(self.covered).any(axis=1)]
        if not given.size:
            return math.nan, math.nan
        wrong, count = np.nansum(given == 0, axis=1), np.isfinite(given).sum(axis=1)
        missed = wrong.sum() / count.sum()
        deviations = wrong - missed * count
        error = math.sqrt(float(np.sum(deviations**2))) / float(count.sum())
        return 1.0 - float(missed), error

    @property
    def looks_wrong(self) -> bool:
        """True if bands given cover too rarely, or the printed error is far from the error."""
        return self.coverage()[0] < COVERED or abs(math.log(self.ratio)) > math.log(OFF)

    def text(self) -> str:
        """Coverage of bands, share of releases with an expected error, and `ratio`."""
        share = np.isfinite(self.printed).mean()
        if not share:
            return "–"
        held = self.covered[np.isfinite(self.covered)]
        bands = f"{held.mean():.2f}" if held.size else "no band"
        return f"{bands}, {share:.2f}, {self.ratio:.2f}"


@functools.lru_cache(maxsize=1)
def truth_at(space: Space, laws: tuple[str, str], n: int) -> np.ndarray:
    """Points at `AT` of the geodesic of a population of n."""
    return fitted(space, *drawn(space, laws, n, 1 << 20)).predict(AT)


def measured(
    space: Space,
    laws: tuple[str, str],
    n: int,
    budgets: Sequence[float],
    repetitions: int,
    first: int,
) -> list[Cell]:
    truth, manifold = truth_at(space, laws, max(POPULATION, TIMES * n)), space.ball.manifold
    shape = (len(budgets), repetitions)
    errors, printed, covered = np.empty(shape), np.empty(shape), np.empty((*shape, len(AT)))
    for seed in range(repetitions):
        x, y = drawn(space, laws, n, first + seed)
        fit = fitted(space, x, y).predict(x)
        for row, mu in enumerate(budgets):
            made = cdp.geodesic_regression(
                x, y, space.ball, cdp.GDP(mu), x_range=(0.0, 1.0), coverage=False
            )
            gaps = manifold.dist(made.predict(x), fit)
            errors[row, seed] = np.sqrt(np.mean(gaps**2))
            printed[row, seed] = np.nan if made.expected_error is None else made.expected_error
            band = made.band(AT)
            inside = manifold.dist(made.predict(AT), truth) <= band
            covered[row, seed] = np.where(np.isnan(band), np.nan, inside)
    return [Cell(*found) for found in zip(errors, printed, covered, strict=True)]


_FIELDS = ("errors", "printed", "covered")
Key = tuple[str, str, str, int, float]
Task = tuple[int, tuple[str, str], int, Sequence[float], int, int]


def measured_at(task: Task) -> dict[Key, Cell]:
    """Cells of the space of this number."""
    number, laws, n, budgets, repetitions, first = task
    warnings.simplefilter("ignore", NoiseWarning)
    cdp.set_num_threads(1)
    space = spaces()[number]
    found = measured(space, laws, n, budgets, repetitions, first)
    return {(space.name, *laws, n, mu): own for mu, own in zip(budgets, found, strict=True)}


def table(names: list[str], cells: dict[Key, Cell]) -> list[str]:
    """The cells of each space and law of the covariate, over the laws of residuals."""
    columns = sorted({key[-2:] for key in cells})
    lines = [
        "## Spaces and covariates\n",
        "| space | x | " + " | ".join(f"{n}, μ {mu:g}" for n, mu in columns) + " |",
        "|---|---|" + "---|" * len(columns),
    ]
    for name, along in itertools.product(names, COVARIATES):
        of_laws = [
            [c for law in RESIDUALS if (c := cells.get((name, along, law, *column)))]
            for column in columns
        ]
        texts = [worst([cell.text() for cell in own]) for own in of_laws]
        lines.append(f"| {name} | {along} | " + " | ".join(texts) + " |")
    return [*lines, ""]


def worst(texts: list[str]) -> str:
    """The least coverage, the mean share and the largest ratio of cells."""
    if not texts:
        return ""
    told = [text.split(", ") for text in texts if text != "–"]
    if not told:
        return "–"
    bands = [float(own[0]) for own in told if own[0] != "no band"]
    least = f"{min(bands):.2f}" if bands else "no band"
    share = sum(float(own[1]) for own in told) / len(texts)
    return f"{least}, {share:.2f}, {max(float(own[2]) for own in told):.2f}"


def lines_met(cells: dict[Key, Cell]) -> list[str]:
    """Shares of all cells in which bands and printed errors keep what they promise."""
    own = [cell for cell in cells.values() if np.isfinite(cell.printed).any()]
    given = np.array([cell.coverage() for cell in own if math.isfinite(cell.coverage()[0])])
    missed = np.array([np.mean(cell.covered == 0) for cell in cells.values()])
    ratios = np.array([cell.ratio for cell in own])
    surely = int(np.sum(given[:, 0] + 2 * given[:, 1] < COVERED))
    return [
        f"Of {len(cells)} cells {np.mean(missed <= 0.07):.3f} have at most .07 of the bands that "
        "were asked for given and missing: the others hold, or the release says that it has not "
        f"arrived. Where bands are given, they hold in at least {COVERED:g} in "
        f"{np.mean(given[:, 0] >= COVERED):.3f} of {len(given)} cells, and in {surely} in fewer by "
        f"more than two standard errors. The error is at most {OFF:g} times the printed one in "
        f"{np.mean(ratios <= OFF):.3f} of {len(ratios)}, and at least 1/{OFF:g} of it in "
        f"{np.mean(ratios >= 1 / OFF):.3f}.\n"
    ]


_OF_CELLS = (
    "| space | x | residuals | n, μ | prints an error | bands that cover | error over printed "
    "error | bands that miss |",
    "|---|---|---|---|---|---|---|---|",
)


def rows_of(cells: dict[Key, Cell]) -> list[str]:
    """One row for each cell."""
    rows = []
    for (name, along, residual, n, mu), cell in cells.items():
        known, (held, error) = np.isfinite(cell.printed), cell.coverage()
        texts = [f"{name} | {along} | {residual} | {n}, {mu:g} | {known.mean():.3f}"]
        told = f"{held:.3f} ({1000 * error:.0f})" if math.isfinite(held) else "–"
        texts.append(f"{told} | {cell.ratio:.2f}" if known.any() else "– | –")
        texts.append(f"{np.sum(cell.covered == 0) / cell.covered.size:.3f}")
        rows.append("| " + " | ".join(texts) + " |")
    return rows


def often(cells: dict[Key, Cell], repetitions: int) -> list[str]:
    """The cells in which bands are hardest to keep."""
    return [
        f"## Hard cells, {repetitions} repetitions\n",
        "Standard errors in units of the last digit, of repetitions; those of shares at x = 0, ½ "
        "and 1 together. The last column: of all bands that were asked for.\n",
        *_OF_CELLS,
        *rows_of(cells),
        "",
    ]


def again(cells: dict[Key, Cell], looked: int) -> list[str]:
    """Cells that looked wrong, as they are on other data; those that look so again as rows."""
    most = max(AGAIN)
    times = f"{AGAIN[min(AGAIN)]}, {AGAIN[most]} with {most:,} records"
    still = {key: cell for key, cell in cells.items() if cell.looks_wrong}
    return [
        "## Cells that looked wrong\n",
        f"{len(cells)} of {looked} cells: bands given held in less than {COVERED:g}, or the error "
        f"was off by more than {OFF:g}. On other data, with more repetitions ({times}), the rest "
        "look right. All tables hold the second figures.\n",
        *_OF_CELLS,
        *rows_of(still),
        "",
    ]


def summary(cells: dict[Key, Cell]) -> list[str]:
    """By number of records and budget: bands, ratios, and who says that it has not arrived."""
    lines = [
        "| n | μ | cells | releases with an error | bands that cover | bands that miss, of all "
        "asked for | cells where more than .07 miss | median ratio | cells above 1.5 or below "
        ".67 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n, mu in sorted({key[-2:] for key in cells}):
        own = [cell for key, cell in cells.items() if key[-2:] == (n, mu)]
        arrived = np.mean([np.isfinite(cell.printed).mean() for cell in own])
        texts = [str(n), f"{mu:g}", str(len(own)), f"{arrived:.2f}"]
        every = Cell(*(np.concatenate([getattr(c, f) for c in own]) for f in _FIELDS))
        missed = [np.mean(cell.covered == 0) for cell in own]
        held, error = every.coverage()
        count = int(np.isfinite(every.covered).sum())
        texts.append(f"{held:.3f} ({1000 * error:.0f}) of {count}" if count else "–")
        texts += [f"{np.mean(missed):.3f}", str(sum(share > 0.07 for share in missed))]
        ratios = np.array([cell.ratio for cell in own if np.isfinite(cell.ratio)])
        if ratios.size:
            beyond = int(np.sum((ratios > 1.5) | (ratios < 1 / 1.5)))
            texts += [f"{np.median(ratios):.2f}", f"{beyond} of {ratios.size}"]
        else:
            texts += ["–", "–"]
        lines.append("| " + " | ".join(texts) + " |")
    return lines


Sized = tuple[int, tuple[str, str], int]


def squares_at(task: Sized, seeds: range) -> tuple[np.ndarray, bool]:
    """Mean square distances from the fit, and of one private mean a group, of each data set.

    At mu = 1, shape (len(seeds), 2); NaN for the means where x has more than two values. True if no
    release has doubts.
    """
    warnings.simplefilter("ignore", NoiseWarning)
    cdp.set_num_threads(1)
    (number, laws, n), squares, has_arrived = task, [], True
    space = spaces()[number]
    ball, manifold = space.ball, space.ball.manifold
    for seed in seeds:
        x, y = drawn(space, laws, n, seed)
        made = cdp.geodesic_regression(x, y, ball, ONE, x_range=(0.0, 1.0), coverage=False)
        has_arrived &= made.arrived
        of_means = math.nan
        if ":" in laws[0]:
            means = cdp.frechet_mean(y, ball, ONE, groups=x.astype(int), coverage=False)
            of_means = 0.0
            for label, mean in means.items():
                own = y[x == label]
                exact = cdp.nonprivate.frechet_mean(own, manifold).value
                of_means += len(own) / n * manifold.dist(mean.value, exact) ** 2
        gaps = manifold.dist(made.predict(x), fitted(space, x, y).predict(x))
        squares.append([np.mean(gaps**2), of_means])
    return np.array(squares), bool(has_arrived)


def errors_at(task: Sized) -> tuple[float, float, bool]:
    """Root mean squares of `squares_at`, and whether no release has doubts."""
    squares, has_arrived = squares_at(task, range(SIZES[task[2]]))
    own, theirs = np.sqrt(squares.mean(axis=0))
    return float(own), float(theirs), has_arrived


def worse_than_means(task: Sized) -> str:
    """A row that was farther from its fit than two means, on other data sets: text."""
    squares, _ = squares_at(task, range(SECOND, SECOND + SECOND_TIMES))
    ratio = math.sqrt(np.divide(*squares.mean(axis=0)))
    own, theirs = (squares / squares.mean(axis=0)).T
    error = ratio / 2 * float(np.std(own - theirs, ddof=1)) / math.sqrt(SECOND_TIMES)
    number, laws, n = task
    told = f"{spaces()[number].name}, {laws[0]}, {laws[1]}, n = {n}: {ratio:.2f} ({error:.2f})"
    print(told, flush=True)
    return told


def by_size(found: dict[Sized, tuple[float, float, bool]]) -> list[str]:
    """Distance from the fit by number of records, and beside two private means."""
    times = ", ".join(f"{SIZES[n]} for n = {n}" for n in SIZES)
    rows, falling, against = [], [], []
    for i, laws in dict.fromkeys(task[:2] for task in found):
        own = [found[i, laws, n] for n in SIZES]
        texts = [
            f"{error:.2g}" + ("" if is_seen else "*") + (f" ({other:.2g})" if other > 0 else "")
            for error, other, is_seen in own
        ]
        rows.append(f"| {spaces()[i].name} | {laws[0]} | {laws[1]} | " + " | ".join(texts) + " |")
        falling.append(own[1][0] / own[-1][0])
        against += [error / other for error, other, is_seen in own if other > 0 and is_seen]
    farther = [
        worse_than_means(task)
        for task, (error, other, is_seen) in found.items()
        if is_seen and error > other > 0
    ]
    return [
        "## Distance from the fit by number of records, μ = 1\n",
        f"Root mean square; in brackets that of one private mean a group at the same μ from those "
        f"of the groups, where x has two values; * where a release says that it may not have "
        f"arrived. Repetitions: {times}. From n = 10,000 to 100,000 the distance falls by "
        f"{min(falling):.1f} to {max(falling):.1f} times, by at least √10 in "
        f"{np.mean(np.array(falling) >= math.sqrt(10)):.2f} of the rows. Where all releases have "
        f"arrived it is {min(against):.2f} to {max(against):.2f} times that of two means, in the "
        f"median {np.median(against):.2f}. Rows above 1 on {SECOND_TIMES} other data sets, in "
        f"brackets standard errors: {'; '.join(farther) or 'none'}.\n",
        "| space | x | residuals | " + " | ".join(map(str, SIZES)) + " |",
        "|---|---|---|" + "---|" * len(SIZES),
        *rows,
        "",
    ]


def shipped(repetitions: int) -> list[str]:
    """Distances from the fit of a file's groups at x = 0 and 1, and of two private means."""
    with open(cdp.datasets.example_file("tensors_by_scan.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ("xx", "xy", "xz", "yy", "yz", "zz")
    ball, mu = cdp.Ball("spd:3", "identity", 2.0), 2.0
    space, x = ball.manifold, np.array([row["scan"] == "small_25" for row in rows], dtype=float)
    y = ball.project(space.as_points([[float(row[name]) for name in names] for row in rows]))
    fit = cdp.nonprivate.geodesic_regression(x, y, space, x_range=(0.0, 1.0)).predict([0.0, 1.0])
    squares = np.zeros((2, 2))
    for _ in range(repetitions):
        made = cdp.geodesic_regression(x, y, ball, cdp.GDP(mu), x_range=(0.0, 1.0), coverage=False)
        squares[0] += space.dist(made.predict([0.0, 1.0]), fit) ** 2
        means = cdp.frechet_mean(y, ball, cdp.GDP(mu), groups=x.astype(int), coverage=False)
        squares[1] += [space.dist(means[g].value, fit[g]) ** 2 for g in (0, 1)]
    found = np.sqrt(squares / repetitions)
    parts = np.array([np.mean(x == 0.0), np.mean(x == 1.0)])
    lines = [
        f"## Tensors by scan, {int(x.sum())} of {len(x)} records at x = 1, μ = {mu:g}\n",
        f"Root mean square distance from the fit, {repetitions} repetitions.\n",
        "| | x = 0 | x = 1 | over the records |",
        "|---|---|---|---|",
    ]
    for name, own in zip(("regression", "one private mean a group"), found, strict=True):
        whole = math.sqrt(parts @ own**2)
        lines.append(f"| {name} | {own[0]:.4f} | {own[1]:.4f} | {whole:.4f} |")
    print("\n".join(lines), flush=True)
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=48)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--part", choices=("hard", "shipped", "sizes"), help="these tables alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    cdp.set_num_threads(1)
    count = options.repetitions
    if options.part == "shipped":
        shipped(4 * count)
        return
    names, all_laws = [space.name for space in spaces()], itertools.product(COVARIATES, RESIDUALS)
    places = list(itertools.product(range(len(names)), all_laws))
    tasks = [(*place, n, BUDGETS, count, 0) for place in places for n in (200, 1000)]
    tasks += [
        (i, own, 10_000, BUDGETS, max(count // 6, 2), 0)
        for own in FEW_LAWS
        for i, _ in enumerate(names)
    ]
    tasks += [
        (i, own, 100_000, (0.3, 3.0), max(count // 16, 2), 0)
        for own in FEWEST_LAWS
        for i, _ in enumerate(names)
    ]
    hard = [(i, laws, n, (mu,), OFTEN_TIMES, 0) for i, laws, (n, mu) in OFTEN]
    few_residuals = ("normal", "skewed", "10 % wild")
    sized = list(itertools.product((0, 1), itertools.product(COVARIATES, few_residuals), SIZES))
    if options.part == "sizes":
        with ProcessPoolExecutor(options.jobs) as workers:
            found_at = dict(zip(sized, workers.map(errors_at, sized), strict=True))
        print("\n".join(by_size(found_at)))
        return
    cells: dict[Key, Cell] = {}
    of_hard: dict[Key, Cell] = {}
    with ProcessPoolExecutor(options.jobs) as workers:
        for found in workers.map(measured_at, hard):
            of_hard |= found
            print(*(f"{key}: {cell.text()}" for key, cell in found.items()), flush=True)
        if options.part == "hard":
            print("\n".join(often(of_hard, OFTEN_TIMES)))
            return
        # those of one population go to one process
        for found in workers.map(measured_at, tasks, chunksize=2):
            cells |= found
            print(*(f"{key}: {cell.text()}" for key, cell in found.items()), flush=True)
        wrong = [
            (names.index(name), (along, residual), n, (mu,), AGAIN[n], FRESH)
            for (name, along, residual, n, mu), cell in cells.items()
            if cell.looks_wrong
        ]
        second: dict[Key, Cell] = {}
        for found in workers.map(measured_at, wrong):
            second |= found
            print(*(f"again {key}: {cell.text()}" for key, cell in found.items()), flush=True)
        cells |= second
        sizes = by_size(dict(zip(sized, workers.map(errors_at, sized), strict=True)))
        print("\n".join(sizes), flush=True)
    deviation = math.sqrt(0.95 * 0.05 / count)
    page = [
        "# Measured: regression on a grid\n",
        "Default settings: `python benches/regression_grid.py`. Nothing was tuned on the grid but "
        "the margins of two doubts, about rare groups and long geodesics, on nine of its cells. "
        "x in [0, 1]: uniform, lognormal (−2, .8), two groups of sizes 1:1, 1:9, 1:19. Residuals "
        "of deviation .06 (shapes .03) in each direction: normal, exponential in one, Student t₃, "
        "a tenth moved by 8 deviations, spread growing from 1 to 3 times with x. "
        f"{count} repetitions a cell, {max(count // 6, 2)} with 10,000 records and "
        f"{max(count // 16, 2)} with 100,000.\n",
        "Cells: over the laws of residuals, the least share of 95 % bands at x = 0, ½ and 1 that "
        "hold the population's least-squares geodesic, the share of releases that print an error, "
        "and the largest root mean square distance of predictions from the fit without privacy "
        "over the printed one; – where every release says that its steps may not have arrived. "
        "Every cell is printed by the command. A share of .95 has a standard error of "
        f"{deviation / math.sqrt(len(AT)):.3f} if bands at different x were independent, of "
        f"{deviation:.3f} if they were the same, where all releases have bands. Where few releases "
        "have one, those that are wrong without saying so weigh more: the summary and the hard "
        "cells say which share of all bands that were asked for is given and misses, .05 at most "
        "if all is right. In brackets: standard errors over releases, in units of the last "
        "digit.\n",
        *summary(cells),
        "",
        *lines_met(cells),
        *often(of_hard, OFTEN_TIMES),
        *again(second, len(cells)),
        *table(names, cells),
        *sizes,
        *shipped(4 * count),
    ]
    if options.write:
        options.write.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
