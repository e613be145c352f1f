"""Means without a ball beside means on balls, over twelve real data sets.

    CURVEDP_DATA=/path/to/data python benches/no_ball.py --write docs/measured/no-ball.md
    python benches/no_ball.py --printed     # how often the printed error is far too large

No number of the search was chosen on these sets. Errors are about the Fréchet mean of the records
that were drawn; the best ball is about that mean and holds 99 % of the records, the guessed one is
what a user would name from the units alone.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import curvedp as cdp
from adaptive_sets import OTHERS, TUNED
from curvedp.errors import ExistenceError
from no_ball_far import lines as far_lines
from real_data import BUDGETS, Data

NAMES = (
    *("comets", "wind", "quakes", "quakes, California", "rats", "leaves", "connectomes, SPD(28)"),
    *("fashion, SPD(5)", "X-rays, SPD(5)", "digits, S⁶³", "airports, S²", "mouse vertebrae"),
)
SIZES = (100, 300, 1000, 3000)
HEAD = (
    "| data | n | μ | add/remove | printed | median | > 3 | replace | printed | median | > 3 "
    "| best ball | guessed ball |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)
#: From this share of releases that found a mean on, their errors are shown.
_MOST = 0.5
#: So many times the releases up to that dimension: lengths of noise vary more where it is small.
_MORE, _SMALL = 4, 3


def minimum(records: np.ndarray, space: cdp.Manifold) -> np.ndarray:
    """The Fréchet mean: the least of descents from several records where there may be several."""
    found = [cdp.nonprivate.frechet_mean(records, space).value]
    if space.dim <= 2:
        for start in records[:12]:
            point = start
            for _ in range(200):
                point = space.exp(0.9 * space.log(records, point).mean(axis=0), point)
            found.append(point)
    energies = [np.mean(space.dist(point, records) ** 2) for point in found]
    return found[int(np.argmin(energies))]


def without_ball(
    records: np.ndarray, space: cdp.Manifold, guarantee: cdp.GDP, exact: np.ndarray, count: int
) -> tuple[float, float, float, float]:
    """Mean error, mean and median printed error, and the share of the printed ones above three
    times the mean error, of `count` releases; NaN where most find nothing."""
    groups, private = np.repeat(np.arange(count), len(records)), guarantee.neighbours != "replace"
    try:
        means = cdp.frechet_mean(
            np.concatenate([records] * count),
            space,
            guarantee,
            groups=groups,
            keys=np.arange(count) if private else None,
        )
    except ExistenceError:
        return (np.nan,) * 4
    found = [mean for mean in means if mean.found]
    if len(found) < _MOST * count:
        return (np.nan,) * 4
    error = float(np.mean([space.dist(mean.value, exact) for mean in found]))
    printed = np.array([mean.expected_error for mean in found])
    large = float(np.mean(printed > 3.0 * error))
    return error, float(np.mean(printed)), float(np.median(printed)), large


def on_ball(
    records: np.ndarray, ball: cdp.Ball, guarantee: cdp.GDP, exact: np.ndarray, count: int
) -> float:
    """Mean error of `count` means on a ball, none of it spent on a count of records."""
    found = [cdp.frechet_mean(records, ball, guarantee, coverage=False).value for _ in range(count)]
    return float(np.mean(ball.manifold.dist(np.array(found), exact)))


def lines_of(data: Data, count: int) -> Iterator[tuple[tuple[str, int, float], list[float]]]:
    records, guessed = data.load()
    space, rng = guessed.manifold, np.random.default_rng(0)
    count *= _MORE if space.dim <= _SMALL else 1
    sizes = sorted({min(n, len(records)) for n in SIZES})
    for n in sizes:
        own = records[rng.permutation(len(records))[:n]]
        exact = minimum(own, space)
        reach = float(np.quantile(space.dist(exact, own), 0.99))
        best = cdp.Ball(space, exact, min(reach, 0.98 * space.max_ball_radius))
        for mu in BUDGETS:
            add = cdp.GDP(mu, neighbours="add-remove")
            yield (
                (data.name, n, mu),
                [
                    *without_ball(own, space, add, exact, count),
                    *without_ball(own, space, cdp.GDP(mu), exact, count),
                    on_ball(own, best, cdp.GDP(mu), exact, count),
                    on_ball(own, guessed, cdp.GDP(mu), exact, count),
                ],
            )


def summary(rows: list[tuple[tuple[str, int, float], list[float]]]) -> Iterator[str]:
    """Ratios of errors by n mu."""
    yield "| n μ | relation | cells | found | error/best ball: geometric mean | worst "
    yield "| true/printed: median | least | largest | outside [½, 2] | true/median printed: "
    yield "median | least | largest | outside | > 3 |\n|---|---|---|---|---|---|---|"
    yield "---|---|---|---|---|---|---|---|---|"
    for low, high in ((30, 60), (60, 150), (150, 400), (400, np.inf)):
        cells = [numbers for (_, n, mu), numbers in rows if low <= n * mu < high]
        for name, at in (("add/remove", 0), ("replace", 4)):
            kept = np.array([own for own in cells if np.isfinite(own[at])])
            if not len(kept):
                yield f"| {low} to {high} | {name} | {len(cells)} | 0 {'| ' * 11}|"
                continue
            ratio, told = kept[:, at] / kept[:, 8], kept[:, at, None] / kept[:, at + 1 : at + 3]
            printed = (
                f"| {np.median(own):.2f} | {own.min():.2f} | {own.max():.2f} "
                f"| {int(((own < 0.5) | (own > 2.0)).sum())} "
                for own in told.T
            )
            yield (
                f"| {low} to {high:g} | {name} | {len(cells)} | {len(kept)} "
                f"| {np.exp(np.log(ratio).mean()):.2f} | {ratio.max():.2f} "
                f"{''.join(printed)}| {kept[:, at + 3].mean():.3f} |"
            )


#: One space of each kind, and the spread of normal records about a random point of it.
KINDS = {
    "euclidean:3": 2.0,
    "sphere:2": 0.4,
    "sphere:6": 0.4,
    "rotations:3": 0.4,
    "projective:2": 0.3,
    "kendall:7": 0.2,
    "grassmann:5:2": 0.3,
    "so:4": 0.4,
    "unitary:2": 0.4,
    "torus:2": 0.4,
    "hyperboloid:3": 1.0,
    "correlation:4": 0.5,
    "spd:3": 1.0,
    "spd:3:log-euclidean": 1.0,
    "spd:3:log-cholesky": 1.0,
    "hpd:2": 1.0,
}
OF_KINDS = (
    "| space | n = 300: add/remove | replace | n = 1000: add/remove | replace |\n"
    "|---|---|---|---|---|"
)


def kinds(count: int) -> Iterator[str]:
    """Errors over those of a mean on the best ball, and over printed ones, at mu = 1."""
    for spec, spread in KINDS.items():
        space, cells = cdp.as_manifold(spec), []
        for n in (300, 1000):
            rng = np.random.default_rng(n)
            center = space.random_point(rng=rng)
            coords = rng.standard_normal((n, space.dim)) * spread / np.sqrt(space.dim)
            own = space.exp(space.coords_to_tangent(coords, center), center)
            exact = minimum(own, space)
            reach = float(np.quantile(space.dist(exact, own), 0.99))
            best = cdp.Ball(space, exact, min(reach, 0.98 * space.max_ball_radius))
            least = on_ball(own, best, cdp.GDP(1.0), exact, count)
            for guarantee in (cdp.GDP(1.0, neighbours="add-remove"), cdp.GDP(1.0)):
                error, _, printed, _ = without_ball(own, space, guarantee, exact, count)
                cells.append(f"{error / least:.2f} ({error / printed:.2f})")
        yield f"| {spec} | {' | '.join(cells)} |"


def printed_too_large(count: int) -> Iterator[str]:
    """Shares of printed errors on normal records above three times the mean error, mu = 1."""
    for spec in ("euclidean:3", "spd:3", "sphere:2"):
        space, cells = cdp.as_manifold(spec), []
        for n in (300, 1000):
            coords = np.random.default_rng(n).standard_normal((n, space.dim)) * KINDS[spec] / 2
            own = space.exp(space.coords_to_tangent(coords, space.origin), space.origin)
            exact = minimum(own, space)
            for guarantee in (cdp.GDP(1.0, neighbours="add-remove"), cdp.GDP(1.0)):
                cells.append(f"{without_ball(own, space, guarantee, exact, count)[3]:.3f}")
        yield f"| {spec} | {' | '.join(cells)} |"


OF_UNITS = (
    "| matrices, n | relation | all × 1e-25 | all × 1e12 | channels × 1e-3 to 1e3 "
    "| one channel × 1e-6 | both |\n"
    "|---|---|---|---|---|---|---|"
)


def units(count: int) -> Iterator[str]:
    """Errors on SPD matrices in other units over those in their own, at mu = 1."""
    for order, spread, n in ((3, 1.0, 600), (5, 1.5, 1500)):
        space, rng = cdp.SPD(order), np.random.default_rng(order)
        center = space.random_point(rng=rng)
        coords = rng.standard_normal((n, space.dim)) * spread / np.sqrt(space.dim)
        own = space.exp(space.coords_to_tangent(coords, center), center)
        every = 10.0 ** rng.uniform(-3.0, 3.0, order)
        one = np.where(np.arange(order) == 0, 1e-6, 1.0)
        scales = (1e-25**0.5, 1e12**0.5, every, one, 1e5 * every)
        for guarantee in (cdp.GDP(1.0, neighbours="add-remove"), cdp.GDP(1.0)):
            errors = []
            for scale in (1.0, *scales):
                channels = np.broadcast_to(scale, order)
                records = own * channels[:, None] * channels
                exact = cdp.nonprivate.frechet_mean(records, space).value
                errors.append(without_ball(records, space, guarantee, exact, count)[0])
            told = " | ".join(f"{error / errors[0]:.2f}" for error in errors[1:])
            yield f"| SPD({order}), {n} | {guarantee.neighbours} | {told} |"


PAGE = """# Means without a ball on real data

Generated by `benches/no_ball.py`, which says how and prints every cell: mean distances from the
Fréchet mean of the records over {count} releases ({more} in up to three dimensions, where lengths
of noise vary more) of one set of records each, n = 100, 300, 1,000 and 3,000 or as many as there
are, μ = .3, 1 and 3. Not found are cells in which the release is refused, or finds no mean in more
than half of the runs. "Best ball" is one `frechet_mean` on a ball about the exact mean that holds
99 % of the records, which nobody knows; "guessed ball" one on a ball that a user would name from
the units. Both promise what "replace" does. "True" is the mean error of a cell, "printed" the mean
printed one, to which a single release may add much, where noise of counts looks like records far
out: "> 3" is the share of releases that print more than three times the mean error. So the median
printed error stands beside the mean.

{summary}

Normal records on each kind of space, μ = 1: error over that on the best ball, in brackets over the
median printed error.

{kinds}

Matrices in other units, μ = 1, {units_count} releases each: error over that in units in which all
channels are alike.

{units}

Records far out (`benches/no_ball_far.py`): normal and skewed ones, and such of which a share lies
at so many spreads in one direction, on seven spaces, n = 500 and 2,000, {far_count} releases each;
medians of the error over `expected_error`, over `most_error`, and over `error_within(d)`, d the
largest distance of a record. 300 spreads are beyond the reach of `most_error`, 32 clip levels.

{far}

Each set: in how many cells a mean was found, the least and the largest of its errors over those on
the best ball, and over printed ones, by their mean and by their median.

{table}

The range that `plan` prints follows from clip levels of normal, exponential and t₃ distances on
eight spaces, n = 300 to 10,000, μ = .3 to 3: the noise was 1.4 to 11.6 times that of a clip level
of one spread, for normal ones 1.8 to 3.8 times.
"""
OF_SETS = (
    "| data | cells | add/remove: found | error/best ball | true/printed | true/median printed "
    "| replace: found | error/best ball | true/printed | true/median printed | guessed/best ball "
    "|\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def of_sets(rows: list[tuple[tuple[str, int, float], list[float]]]) -> Iterator[str]:
    """One line for each data set."""
    for name in dict.fromkeys(key[0] for key, _ in rows):
        numbers = np.array([own for key, own in rows if key[0] == name])
        cells = [str(len(numbers))]
        for at in (0, 4):
            kept = numbers[np.isfinite(numbers[:, at])]
            cells.append(str(len(kept)))
            cells += [_range(kept[:, at] / kept[:, other]) for other in (8, at + 1, at + 2)]
        yield f"| {name} | {' | '.join(cells)} | {_range(numbers[:, 9] / numbers[:, 8])} |"


def _range(ratios: np.ndarray) -> str:
    return f"{ratios.min():.2f} to {ratios.max():.2f}" if len(ratios) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="part of a data set's name")
    parser.add_argument("--count", type=int, default=16, help="releases of each kind")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--printed", action="store_true", help="printed errors alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if arguments.printed:
        print("\n".join([OF_KINDS, *printed_too_large(400)]))
        return
    sets = {data.name: data for data in (*TUNED, *OTHERS)}
    rows = []
    print(HEAD)
    for name in NAMES:
        if arguments.only is not None and arguments.only not in name:
            continue
        for (_, n, mu), numbers in lines_of(sets[name], arguments.count):
            told = " | ".join("–" if np.isnan(x) else f"{x:.3g}" for x in numbers)
            rows.append(((name, n, mu), numbers))
            print(f"| {name} | {n} | {mu:g} | {told} |", flush=True)
    of_kinds = [OF_KINDS, *kinds(arguments.count)]
    print("\n".join(of_kinds))
    of_units = [OF_UNITS, *units(2 * arguments.count)]
    print("\n".join(of_units))
    far = list(far_lines(2 * arguments.count))
    print("\n".join(far))
    found = list(summary(rows))
    found[:4] = ["".join(found[:4])]
    print("\n".join(found))
    if arguments.write is not None:
        page = PAGE.format(
            count=arguments.count,
            more=_MORE * arguments.count,
            summary="\n".join(found),
            kinds="\n".join(of_kinds),
            units_count=2 * arguments.count,
            units="\n".join(of_units),
            far_count=2 * arguments.count,
            far="\n".join(far),
            table="\n".join([OF_SETS, *of_sets(rows)]),
        )
        arguments.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
