"""Cells and figures of He et al.: mean errors of every curve, as Markdown, CSV and PNG.

What `conformal.py` and `conformal_images.py` share.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import curvedp as cdp
from curvedp.conformal import default_laplacian
from curvedp.datasets import von_mises_fisher
from curvedp.published.call import Call
from curvedp.published.conformal import WHY, ConformalPlan, RecordsGraph

RADIUS = 0.7
DELTA = 1e-9
LARGEST_DIM = 10
#: Keywords of the two readings of the noise on the published density.
READINGS = {"2/(εV)": "measure", "2/(nε)": "pointwise"}

Release = Callable[[np.ndarray, cdp.Ball, float, int], cdp.Release]


class Error(NamedTuple):
    """Mean error of some releases, its standard error, how many, and the closed form or None."""

    mean: float
    standard_error: float
    repetitions: int
    closed_form: float | None


Cell = dict[str, Error]


def _tangent(mean: Callable[..., cdp.Release]) -> Release:
    return lambda x, ball, epsilon, seed: mean(
        x, ball, cdp.ApproxDP(epsilon, DELTA), mechanism="tangent-gaussian", seed=seed
    )


def _laplace(mean: Callable[..., cdp.Release]) -> Release:
    return lambda x, ball, epsilon, seed: mean(x, ball, cdp.PureDP(epsilon), seed=seed)


def _conformal(**settings: Any) -> Release:
    """The proved conformal mean on its default mesh, where that can be drawn."""

    def release(x: np.ndarray, ball: cdp.Ball, epsilon: float, seed: int) -> cdp.Release:
        if ball.manifold.dim > LARGEST_DIM:
            raise cdp.ExistenceError("not drawn: neighbours of 5,000 nodes take too long")
        how = {"mesh": default_laplacian(ball), "coverage": False, **settings}
        return cdp.conformal_mean(x, ball, cdp.PureDP(epsilon), seed=seed, **how)

    return release


class Published:
    """The published conformal mean; what has no noise is found once for records in a row."""

    _last: tuple[np.ndarray, cdp.Ball, RecordsGraph] | None = None

    def __init__(self, noise: str, **settings: Any) -> None:
        self.settings = {"noise": noise, **settings}

    def __call__(self, x: np.ndarray, ball: cdp.Ball, epsilon: float, seed: int) -> cdp.Release:
        call = Call.check(x, ball, cdp.PureDP(epsilon), why=WHY, seed=seed)
        plan = ConformalPlan.make(call, **self.settings)
        last = Published._last
        if last is None or last[0] is not x or last[1] is not ball:
            last = Published._last = x, ball, RecordsGraph.of(call.data, ball, plan.noise.bandwidth)
        return plan.release(last[2])


CURVES: dict[str, Release] = {
    "Laplace, published": _laplace(cdp.published.frechet_mean),
    "Laplace, proved": _laplace(partial(cdp.frechet_mean, coverage=False)),
    "tangent Gaussian, published": _tangent(cdp.published.frechet_mean),
    "tangent Gaussian, proved": _tangent(partial(cdp.frechet_mean, coverage=False)),
    **{f"conformal, published, {name}": Published(noise) for name, noise in READINGS.items()},
    "conformal, proved": _conformal(),
    "adaptive": _laplace(partial(cdp.adaptive_mean, coverage=False)),
    "adaptive, δ = 1e-9": lambda x, ball, epsilon, seed: cdp.adaptive_mean(
        x, ball, cdp.ApproxDP(epsilon, DELTA), seed=seed, coverage=False
    ),
}
#: The same with other parameters: part "means".
VARIANTS: dict[str, Release] = {
    **CURVES,
    "conformal, proved, υ = 10": _conformal(upsilon=10.0),
    "conformal, proved, υ = 1000": _conformal(upsilon=1000.0),
    "conformal, proved, υ = 10, split = 0.2": _conformal(upsilon=10.0, split=0.2),
    **{
        f"conformal, published, {name}, {way}": Published(noise, **settings)
        for name, noise in READINGS.items()
        for way, settings in {"υ = 100": {"upsilon": 100.0}, "graph": {"distance": "graph"}}.items()
    },
}
PLAIN = {name: way for name, way in CURVES.items() if "conformal" not in name}


def errors(
    records: np.ndarray,
    ball: cdp.Ball,
    epsilon: float,
    repetitions: int,
    cell: str,
    curves: dict[str, Release] = CURVES,
) -> Cell:
    """Errors of every curve that exists.

    Of published conformal means a quarter of the repetitions, beyond S^2 of all conformal means a
    tenth, at least two.
    """
    exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
    found = {}
    for name, release in curves.items():
        part = 1
        if name.startswith("conformal"):
            part = 10 if ball.manifold.dim > 2 else 4 if "published" in name else 1
        count = repetitions if part == 1 else max(2, repetitions // part)
        seeds = seeds_of(f"{cell} {len(records)} {epsilon:g} {name}", count)
        try:
            drawn = [release(records, ball, epsilon, seed) for seed in seeds]
        except (cdp.ExistenceError, ValueError):
            continue
        dist = ball.manifold.dist(exact, np.array([one.value for one in drawn]))
        found[name] = mean_error(dist, closed_form(name, ball, len(records), epsilon))
    return found


def seeds_of(cell: str, count: int) -> list[int]:
    """Seeds that follow from the name of a cell."""
    key = zlib.crc32(cell.encode())
    return [int(seed) for seed in np.random.default_rng(key).integers(2**62, size=count)]


def mean_error(dist: np.ndarray, closed: float | None) -> Error:
    """The error of some releases at these distances."""
    spread = dist.std(ddof=1) / np.sqrt(len(dist))
    return Error(float(dist.mean()), float(spread), len(dist), closed)


def closed_form(name: str, ball: cdp.Ball, n: int, epsilon: float) -> float | None:
    """Expected error of a curve that has one, from public numbers alone."""
    if name == "Laplace, proved":
        return cdp.expected_error(ball, n, cdp.PureDP(epsilon), coverage=False)
    if name == "tangent Gaussian, proved":
        budget = cdp.ApproxDP(epsilon, DELTA)
        return cdp.expected_error(ball, n, budget, mechanism="tangent-gaussian", coverage=False)
    return None


def sphere(dim: int, std: float, n: int) -> tuple[np.ndarray, cdp.Ball, str]:
    """Records in R^dim as the paper counts dimensions, their public ball, and a name for both."""
    mean = np.eye(dim)[-1]
    center = np.cos(0.3 * RADIUS) * mean + np.sin(0.3 * RADIUS) * np.eye(dim)[0]
    cell = f"sphere {dim} {std:g}"
    rng = np.random.default_rng(zlib.crc32(f"{cell} {n}".encode()))
    records = von_mises_fisher(n, mean, 1 / std**2, rng=rng)
    return records, cdp.Ball(cdp.Sphere(dim - 1), center, RADIUS), cell


def on_sphere(
    dim: int, std: float, n: int, epsilon: float, repetitions: int, curves=CURVES
) -> Cell:
    """The cell of figures 2 to 5."""
    records, ball, cell = sphere(dim, std, n)
    return errors(records, ball, epsilon, repetitions, cell, curves)


def heading(axis: str, names: Iterable[str]) -> None:
    names = list(names)
    print(f"\n| {axis} | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))


def row(name: str, found: Cell, names: Iterable[str]) -> None:
    cells = [
        f"{found[one].mean:.3g} ± {found[one].standard_error:.1g}" if one in found else "-"
        for one in names
    ]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


class Figure:
    """Rows of one figure, printed as they come and written at the end.

    ``only`` is part of the names of the curves that are drawn; the others are taken from the CSV
    file that is there.
    """

    def __init__(self, name: str, axis: str, out: Path | None, only: str = "") -> None:
        self.name, self.axis, self.out = name, axis, out
        self.curves = {one: way for one, way in CURVES.items() if only in one}
        self.rows: list[tuple[float, Cell]] = []
        print(f"\nfigure {name}")
        heading(axis, self.curves)

    @property
    def stem(self) -> Path | None:
        """Path of its files without their endings."""
        stem = f"conformal-figure-{self.name.split(':')[0].replace(' ', '-')}"
        return None if self.out is None else self.out / stem

    def add(self, x: float, found: Cell) -> None:
        self.rows.append((x, found))
        row(f"{x:g}", found, self.curves)

    def write(self) -> None:
        if self.stem is not None and len(self.curves) < len(CURVES):
            stored = read_cells(self.stem.with_suffix(".csv"))
            for i, (x, found) in enumerate(self.rows):
                kept = {name: one for name, one in stored[x].items() if name not in self.curves}
                self.rows[i] = (
                    x,
                    {name: (kept | found)[name] for name in CURVES if name in kept | found},
                )
        for line in self.remarks():
            print(f"\n{line}")
        if self.stem is None:
            return
        self.stem.parent.mkdir(parents=True, exist_ok=True)
        with self.stem.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([self.axis, "curve", *(f.replace("_", " ") for f in Error._fields)])
            for x, found in self.rows:
                writer.writerows([x, name, *map(_short, one)] for name, one in found.items())
        self.draw(self.stem.with_suffix(".png"))

    def draw(self, path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        figure, ax = plt.subplots(figsize=(8, 4.2))
        families = list(dict.fromkeys(name.partition(",")[0] for name in CURVES))
        for name in CURVES:
            points = [(x, *found[name][:2]) for x, found in self.rows if name in found]
            if not points:
                continue
            x, mean, spread = np.array(points).T
            line = "--" if "published" in name else ":" if "δ" in name else "-"
            if "2/(nε)" in name:
                line = "-."
            style = {"color": f"C{families.index(name.partition(',')[0])}"}
            ax.plot(x, mean, label=name, linestyle=line, **style)
            low, high = np.maximum(mean - 2 * spread, 1e-6), mean + 2 * spread
            ax.fill_between(x, low, high, alpha=0.15, **style)
        ax.set(xscale="log", yscale="log", xlabel=self.axis, ylabel="distance to the mean")
        ax.set_title(f"figure {self.name}", fontsize=10)
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.tight_layout()
        figure.savefig(path, dpi=130)
        plt.close(figure)

    def remarks(self) -> list[str]:
        """What the cells come to, in sentences."""
        lines = []
        gap, cells = self.largest_gap()
        if cells:
            lines.append(
                f"Proved Laplace and tangent Gaussian, where the closed form is below a quarter "
                f"of the radius: the mean error is at most {gap:.1f} standard errors from it "
                f"({cells} cells)."
            )
        told = []
        for name in CURVES:
            if name.startswith("conformal"):
                ratios = self.ratios(name, f"Laplace, {name.split(', ')[1]}")
                if ratios:
                    low, high = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
                    told.append(
                        f"{name.removeprefix('conformal, ')} {low}"
                        f"{f' to {high}' if high != low else ''} (cells: {len(ratios)})"
                    )
        if told:
            lines.append(
                "Conformal means over Laplace noise of the same calibration, where that errs by "
                f"less than a quarter of the radius: {'; '.join(told)}."
            )
        return lines

    def ratios(self, name: str, like: str) -> list[float]:
        """Error of a curve over that of another, where that is small beside the ball."""
        radius = 4.0 if "SPD" in self.name else RADIUS
        return [
            cell[name].mean / cell[like].mean
            for _, cell in self.rows
            if name in cell and like in cell and cell[like].mean < radius / 4
        ]

    def largest_gap(self) -> tuple[float, int]:
        """Largest distance from a closed form in standard errors, on spheres; among how many."""
        found = [
            abs(one.mean - one.closed_form) / one.standard_error
            for _, cell in self.rows
            for name, one in cell.items()
            if one.closed_form is not None
            and one.closed_form < RADIUS / 4
            and "SPD" not in self.name
        ]
        return max(found, default=0.0), len(found)


def read_cells(path: Path) -> dict[float, Cell]:
    """The cells of a figure's CSV file."""
    cells: dict[float, Cell] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for x, name, mean, spread, count, closed in list(csv.reader(file))[1:]:
            one = Error(float(mean), float(spread), int(count), float(closed) if closed else None)
            cells.setdefault(float(x), {})[name] = one
    return cells


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
