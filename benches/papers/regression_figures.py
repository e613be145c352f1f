"""Kulkarni and Soto 2025: figures 1, 2, 3 and 5 to 10, as CSV and PNG.

    python benches/papers/regression_figures.py --out figures
    python benches/papers/regression_figures.py --out figures --only 1,9 --pairs 20

Solid lines are draws of the published mechanism, which carry no guarantee; dashed ones those of
this library's default at the same total epsilon; dotted lines the non-private fit. Figures 2 and 3
use the corpora callosa of `corpus_callosum_adhd200` in the folder that CURVEDP_DATA names, of
people of 7 to 22 years, in place of ADNI's (50 to 90 years), which are not public.
"""

from __future__ import annotations

import argparse
import csv
import os
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

import curvedp as cdp
from regression import Problem, as_in_the_paper, gdp_of_bounded_range, shift_ratios, spd, sphere

TOTAL = 2.02
SHARES = np.linspace(0.02, 2.0, 10)
TOTALS = np.linspace(0.2, 2.0, 10)
SIZES = (20, 50, 100)
CHAIN = 2000
#: Of the shapes of figure 3, in years.
AGES = [8, 11, 14, 17, 20]
LINES = {"published, no guarantee": "-", "proved": "--", "without privacy": ":"}


@dataclass(frozen=True)
class Run:
    """Size of the experiments, and the folder for their output.

    Attributes
    ----------
    pairs : int
        Private (footpoint, velocity) for each budget. The paper has 100, ten velocities for each
        of ten footpoints; here every one has a footpoint of its own.
    shape_pairs : int
        The same for figure 2, whose chains take half a second each.
    out : Path
    """

    pairs: int
    shape_pairs: int
    out: Path

    def write(self, name: str, header: list[str], rows: list[list[float | str]]) -> None:
        with (self.out / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])

    def say_pairs(self, name: str, pairs: int) -> None:
        print(f"{name}: {pairs} pairs for each budget (100 in the paper)\n", flush=True)

    def save(self, name: str, figure: plt.Figure) -> None:
        if figure.get_layout_engine() is None:
            figure.tight_layout()
        figure.savefig(self.out / f"{name}.png", dpi=120)
        plt.close(figure)


def with_largest_residual(one: Problem) -> tuple[Problem, cdp.GeodesicFit]:
    """The problem with tau as the paper has it, the largest residual of the data; and the fit."""
    space = one.ball.manifold
    fit = cdp.nonprivate.geodesic_regression(one.x, one.y, space, x_range=one.x_range)
    return replace(one, tau=float(space.dist(fit.predict(one.x), one.y).max())), fit


def log_energy(one: Problem, guarantee: cdp.PureDP, pairs: int, **changes: object) -> float:
    """ln of the mean squared distance of records from the predictions for them, over `pairs`."""
    found = []
    for _ in range(pairs):
        predicted = one.release(guarantee, **changes).predict(one.x)
        found.append(np.mean(one.ball.manifold.dist(predicted, one.y) ** 2))
    return float(np.log(np.mean(found)))


def curves(run: Run, name: str, cases: list[tuple[str, Problem]], pairs: int) -> None:
    """Energies over unequal splits of 2.02 and over equal ones of smaller totals."""
    rows: list[list[float | str]] = []
    for label, one in cases:
        as_published, fit = with_largest_residual(one)
        published = {"published": True, "chain_length": CHAIN}
        floor = float(np.log(2 * fit.loss))
        for total in TOTALS:
            budget = cdp.PureDP(total)
            equal = log_energy(as_published, budget, pairs, **published)
            rows.append([label, "equal", total, equal, log_energy(one, budget, pairs), floor])
        for p in SHARES:
            shares = {"weights": (p, TOTAL - p), **published}
            unequal = log_energy(as_published, cdp.PureDP(TOTAL), pairs, **shares)
            rows.append([label, "unequal", p, unequal, "", floor])
    run.write(name, ["case", "split", "epsilon", "published", "proved", "fit"], rows)
    run.save(name, drawn_curves(rows))


def drawn_curves(rows: list[list[float | str]]) -> plt.Figure:
    """The rows of `curves`: unequal splits above, equal ones below."""
    figure, axes = plt.subplots(2, 1, figsize=(7.6, 7))
    for axis, split, text in zip(
        axes,
        ("unequal", "equal"),
        ("epsilon of the footpoint, of 2.02", "total epsilon, equal split"),
        strict=True,
    ):
        for k, label in enumerate(dict.fromkeys(row[0] for row in rows)):
            mine = [row[2:] for row in rows if row[:2] == [label, split]]
            epsilon, published, proved, floor = zip(*mine, strict=True)
            axis.plot(epsilon, published, color=f"C{k}", label=label)
            if split == "equal":
                axis.plot(epsilon, proved, color=f"C{k}", linestyle="--")
            axis.axhline(floor[0], color=f"C{k}", linestyle=":")
        handles = axis.get_legend_handles_labels()[0]
        lines = [Line2D([], [], color="0.3", linestyle=s, label=t) for t, s in LINES.items()]
        handles += lines if split == "equal" else lines[::2]
        axis.set(xlabel=text, ylabel="ln mean squared residual")
        axis.legend(
            handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False
        )
    return figure


def figure_1(run: Run) -> None:
    run.say_pairs("figure-1", run.pairs)
    cases = [(f"n = {n}", as_in_the_paper(sphere(), n, 0.001, 1)) for n in SIZES]
    curves(run, "figure-1", cases, run.pairs)


def callosa(count: int | None = None) -> tuple[Problem, cdp.GeodesicFit]:
    """Corpora callosa by age, of all people or of some; with the fit."""
    folder = Path(os.environ["CURVEDP_DATA"]) / "corpus_callosum_adhd200"
    people = np.load(folder / "cc_landmarks.npz")
    chosen = slice(None)
    if count is not None:
        chosen = np.random.default_rng(1).choice(len(people["age"]), count, replace=False)
    landmarks, x = people["landmarks"][chosen], people["age"][chosen]
    space = cdp.KendallPlanar(landmarks.shape[1])
    y = space.project(landmarks)
    limits = (float(np.floor(x.min())), float(np.ceil(x.max())))
    center = cdp.nonprivate.frechet_mean(y, space).value
    fit = cdp.nonprivate.geodesic_regression(x, y, space, x_range=limits)
    return Problem(cdp.Ball(space, center, 0.15), x, y, fit.predict, 0.06, 0.1, limits), fit


def figure_2(run: Run) -> None:
    run.say_pairs("figure-2", run.shape_pairs)
    curves(run, "figure-2", [("n = 100", callosa(100)[0])], run.shape_pairs)


def figure_3(run: Run) -> None:
    """Shapes at five ages, at the paper's budgets 0.3 and 0.3; this library's at the same total."""
    from curvedp.plotting import GeodesicDisplay

    one, fit = callosa()
    as_published, _ = with_largest_residual(one)
    space, n, total = one.ball.manifold, len(one.x), 0.6
    releases = {
        "published, ε = 0.3 + 0.3, no guarantee": as_published.release(
            cdp.PureDP(total), published=True, chain_length=CHAIN, seed=1
        ),
        "proved, ε = 0.6": one.release(cdp.PureDP(total), seed=1),
        f"proved, μ = {gdp_of_bounded_range(total).mu:.2g}": one.release(
            gdp_of_bounded_range(total), seed=1
        ),
    }
    length = float(space.norm(fit.velocity, fit.footpoint)) * (AGES[-1] - AGES[0])
    length /= one.x_range[1] - one.x_range[0]
    print(
        f"Figure 3: {n} people of {one.x.min():.0f} to {one.x.max():.0f} years (the paper's have "
        "Alzheimer's disease, ages 60 to 80). Distance of one release's shape from that of the fit "
        f"without privacy, which moves by {length:.3g} from {AGES[0]} to {AGES[-1]} years.\n"
    )
    print("| | " + " | ".join(f"age {age}" for age in AGES) + " |\n|---|" + "---|" * len(AGES))
    for name, release in releases.items():
        dist = space.dist(release.predict(AGES), fit.predict(AGES))
        print(f"| {name} | " + " | ".join(f"{d:.3g}" for d in dist) + " |")
    figure, axes = plt.subplots(len(releases), 1, figsize=(9, 6.6))
    for axis, (name, release) in zip(axes, releases.items(), strict=True):
        names = ["without privacy", name]
        GeodesicDisplay([fit, release], names=names).plot(axis, x=AGES)
    run.save("figure-3", figure)


def figure_5(run: Run) -> None:
    figure = plt.figure(figsize=(9.5, 4.5), layout="constrained")
    rows: list[list[float | str]] = []
    for i, variance in enumerate((0.01, 0.1)):
        one, fit = with_largest_residual(as_in_the_paper(sphere(), 50, variance, 1))
        axis = figure.add_subplot(1, 2, i + 1, projection="3d", title=f"variance {variance:g}")
        axis.set_box_aspect((1, 1, 1), zoom=0.9)
        axis.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
        for spatial in (axis.xaxis, axis.yaxis, axis.zaxis):
            spatial.set_ticks([-1, 0, 1])
        axis.scatter(*one.y.T, s=4, color="tab:blue")
        axis.plot(*fit.predict(np.linspace(-0.5, 0.5, 50)).T, color="black")
        for epsilon in TOTALS[::-1]:
            release = one.release(cdp.PureDP(epsilon), published=True, chain_length=CHAIN)
            path = release.predict(np.linspace(-0.5, 0.5, 2000))
            axis.plot(*path.T, color=plt.cm.plasma(epsilon / 2.2))
            rows.append([variance, epsilon, *path[0], *path[-1]])
    run.write("figure-5", ["variance", "epsilon", "x0", "y0", "z0", "x1", "y1", "z1"], rows)
    colours = plt.cm.ScalarMappable(plt.Normalize(0, 2.2), "plasma")
    figure.colorbar(colours, ax=figure.axes, label="ε", shrink=0.6, pad=0.08)
    run.save("figure-5", figure)


def half_extent(y: np.ndarray) -> float:
    """Half the largest distance of two records on the sphere: less than the radius of a ball."""
    return float(0.5 * np.arccos(np.clip((y @ y.T).min(), -1.0, 1.0)))


def assumption_3_2(problems: dict[float, Problem], draws: int = 20_000) -> str:
    """Whether records on the sphere lie in a ball of radius pi/8, as the paper assumes."""
    rng, least = np.random.default_rng(0), np.inf
    for _ in range(draws):
        y = np.array([0.0, 0.0, 1.0]) + np.sqrt(0.1) * rng.standard_normal((50, 3))
        least = min(least, half_extent(y / np.linalg.norm(y, axis=1, keepdims=True)))
    return (
        "Assumption 3.2 asks that the records on the sphere lie in a ball of radius π/8 = 0.393. "
        "Half the largest distance of two records, with noise of variance "
        + ", ".join(f"{variance:g}" for variance in problems)
        + ": "
        + ", ".join(f"{half_extent(one.y):.3f}" for one in problems.values())
        + f"; of 50 records with noise of variance 0.1 about one point {least:.3f} or more in "
        f"{draws:,} draws. The ball here has the radius π/4; outside it lay "
        + ", ".join(str(one.outside) for one in problems.values())
        + " of 50 records, which are projected (the paper projects none).\n"
    )


def figure_6(run: Run) -> None:
    problems = {d: as_in_the_paper(sphere(), 50, d, 1) for d in (0.001, 0.01, 0.1)}
    print(assumption_3_2(problems), flush=True)
    run.say_pairs("figure-6", run.pairs)
    curves(run, "figure-6", [(f"variance {d:g}", one) for d, one in problems.items()], run.pairs)


def figure_7(run: Run) -> None:
    run.say_pairs("figure-7", run.pairs)
    cases = [(f"n = {n}", as_in_the_paper(spd(), n, 0.01**2, 1)) for n in SIZES]
    curves(run, "figure-7", cases, run.pairs)


def figure_8(run: Run) -> None:
    from curvedp.plotting import GeodesicDisplay

    one, fit = with_largest_residual(as_in_the_paper(spd(), 100, 0.01**2, 1))
    release = one.release(cdp.PureDP(0.4), published=True, chain_length=CHAIN)
    at = np.linspace(-0.5, 0.5, 5)
    rows = [[x, *fit.predict(x).ravel(), *release.predict(x).ravel()] for x in at]
    columns = [f"{who}{i}{j}" for who in ("fit", "private") for i in "01" for j in "01"]
    run.write("figure-8", ["x", *columns], rows)
    run.save("figure-8", GeodesicDisplay.from_geodesics([fit, release], x=list(at)).figure_)


def ratios(run: Run, name: str, ball: cdp.Ball, variance: float) -> None:
    """Box plots of bound over shift, 20 pairs of adjacent data sets for each n."""
    found = {n: np.array([shift_ratios(ball, n, variance, i) for i in range(20)]) for n in SIZES}
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    for j, (axis, title) in enumerate(zip(axes, ("footpoint", "velocity"), strict=True)):
        axis.boxplot([found[n][:, j] for n in SIZES], tick_labels=[str(n) for n in SIZES])
        axis.set(title=title, xlabel="n", ylabel="bound / shift", yscale="log")
    rows = [[n, p, v] for n in SIZES for p, v in found[n]]
    print(f"{name}: bound over shift, least and median of 20 pairs\n", flush=True)
    for n in SIZES:
        least, middle = found[n].min(axis=0), np.median(found[n], axis=0)
        print(
            f"- n = {n}: footpoint {least[0]:.2f} and {middle[0]:.2f}, velocity {least[1]:.2f} and "
            f"{middle[1]:.2f}"
        )
    print(flush=True)
    run.write(name, ["n", "footpoint", "velocity"], rows)
    run.save(name, figure)


def figure_9(run: Run) -> None:
    ratios(run, "figure-9", sphere(), 0.001)


def figure_10(run: Run) -> None:
    ratios(run, "figure-10", spd(), 0.01**2)


FIGURES = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "9": figure_9,
    "10": figure_10,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--shape-pairs", type=int, default=100)
    parser.add_argument("--only", default=",".join(FIGURES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    run = Run(arguments.pairs, arguments.shape_pairs, arguments.out)
    plt.switch_backend("Agg")
    for number in arguments.only.split(","):
        FIGURES[number](run)


if __name__ == "__main__":
    main()
