"""He et al., "Density-aware noise mechanisms ... via conformal transformation": figures 2 to 8.

    python benches/papers/conformal.py --out figures
    python benches/papers/conformal.py --only 2,5,means --repetitions 10

Prints Markdown and, with ``--out``, writes each figure as CSV and PNG: mean error, its standard
error and the number of releases, for the proved Laplace and tangent Gaussian the closed form beside
it (`curvedp.expected_error`: for a mean half-way between the ball's centre and its edge).
Errors are distances to the Fréchet mean of the projected records. Every curve spends the same total
budget. Records are von Mises-Fisher with kappa = 1/std^2 on a ball of radius 0.7 whose centre is
0.3 r away from their mean; figures 7 and 8 are covariance descriptors of images (equation 46), one
class at a time, and need the data folder. Seeds follow from the cell: the same cell has the same
number in every figure.

Published and proved calibration stand beside each other, conformal means up to dimension 10: beyond
no public mesh is fine enough, and the published factor, at the kernel's bandwidth of 0.5, leaves
+-300 and is clipped there, so that a curve would show the clip.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import os
import warnings
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import curvedp as cdp
from curvedp.conformal import default_laplacian
from curvedp.datasets import von_mises_fisher
from curvedp.errors import NoiseWarning

RADIUS = 0.7
IMAGE_RADIUS = 4.0
DELTA = 1e-9
LARGEST_DIM = 10
#: Budgets of figures 7 and 8, and those of the table of closed forms.
EPSILONS = [round(0.1 * i, 1) for i in range(1, 21)]
SHOWN_EPSILONS = [0.1, 0.5, 1.0, 2.0]
#: Images of a class in the paper.
PAPER_N = {"CIFAR-10": 6000, "Fashion-MNIST": 7000}
FEATURES = ["x", "y", "intensity", "abs_dx", "abs_dy", "abs_dxx", "abs_dyy"]
FEATURES += ["gradient_norm", "orientation"]

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


def _conformal(published: bool = False, **settings: float) -> Release:
    """The conformal mean where it can be drawn; the proved one on its default mesh."""

    def release(x: np.ndarray, ball: cdp.Ball, epsilon: float, seed: int) -> cdp.Release:
        budget = cdp.PureDP(epsilon)
        if ball.manifold.dim > LARGEST_DIM:
            raise cdp.ExistenceError("no mesh is fine enough, and the published factor is clipped")
        if published:
            return cdp.published.conformal_mean(x, ball, budget, seed=seed, **settings)
        mesh = default_laplacian(ball)
        return cdp.conformal_mean(x, ball, budget, mesh=mesh, seed=seed, coverage=False, **settings)

    return release


CURVES: dict[str, Release] = {
    "Laplace, published": _laplace(cdp.published.frechet_mean),
    "Laplace, proved": _laplace(partial(cdp.frechet_mean, coverage=False)),
    "tangent Gaussian, published": _tangent(cdp.published.frechet_mean),
    "tangent Gaussian, proved": _tangent(partial(cdp.frechet_mean, coverage=False)),
    "conformal, published": _conformal(published=True),
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
    "conformal, published, υ = 100": _conformal(published=True, upsilon=100.0),
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
    """Errors of every curve that exists; beyond S^2 a tenth, at least two, of conformal means."""
    exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
    found = {}
    for name, release in curves.items():
        costly = name.startswith("conformal") and ball.manifold.dim > 2
        count = max(2, repetitions // 10) if costly else repetitions
        key = zlib.crc32(f"{cell} {len(records)} {epsilon:g} {name}".encode())
        seeds = np.random.default_rng(key).integers(2**62, size=count)
        try:
            drawn = [release(records, ball, epsilon, int(seed)) for seed in seeds]
        except (cdp.ExistenceError, ValueError):
            continue
        dist = ball.manifold.dist(exact, np.array([one.value for one in drawn]))
        spread = dist.std(ddof=1) / np.sqrt(count)
        closed = closed_form(name, ball, len(records), epsilon)
        found[name] = Error(float(dist.mean()), float(spread), count, closed)
    return found


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
    """Rows of one figure, printed as they come and written at the end."""

    def __init__(self, name: str, axis: str, out: Path | None) -> None:
        self.name, self.axis, self.out = name, axis, out
        self.rows: list[tuple[float, Cell]] = []
        print(f"\nfigure {name}")
        heading(axis, CURVES)

    def add(self, x: float, found: Cell) -> None:
        self.rows.append((x, found))
        row(f"{x:g}", found, CURVES)

    def write(self) -> None:
        gap, cells = self.largest_gap()
        if cells:
            print(
                f"\nProved Laplace and tangent Gaussian, where the closed form is below a quarter "
                f"of the radius: the mean error is at most {gap:.1f} standard errors from it "
                f"({cells} cells).\n"
            )
        if self.out is None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        stem = self.out / f"conformal-figure-{self.name.split(':')[0].replace(' ', '-')}"
        with stem.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([self.axis, "curve", *(f.replace("_", " ") for f in Error._fields)])
            for x, found in self.rows:
                writer.writerows([x, name, *map(_short, one)] for name, one in found.items())
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        figure, ax = plt.subplots(figsize=(8, 4.2))
        for i, name in enumerate(CURVES):
            points = [(x, *found[name][:2]) for x, found in self.rows if name in found]
            if not points:
                continue
            x, mean, spread = np.array(points).T
            line = "--" if "published" in name else ":" if "δ" in name else "-"
            ax.plot(x, mean, label=name, color=f"C{i // 2}", linestyle=line)
            low, high = np.maximum(mean - 2 * spread, 1e-6), mean + 2 * spread
            ax.fill_between(x, low, high, color=f"C{i // 2}", alpha=0.15)
        ax.set(xscale="log", yscale="log", xlabel=self.axis, ylabel="distance to the mean")
        ax.set_title(f"figure {self.name}", fontsize=10)
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.tight_layout()
        figure.savefig(stem.with_suffix(".png"), dpi=130)
        plt.close(figure)

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


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def figure_2(settings: argparse.Namespace) -> None:
    """Error against the dimension."""
    for part, std in (("a", 0.1), ("b", 10.0)):
        figure = Figure(f"2{part}: std {std:g}, n = 500, ε = 0.3", "dimension", settings.out)
        for dim in (3, 5, 10, 30, 100, 300, 1000):
            figure.add(dim, on_sphere(dim, std, 500, 0.3, settings.repetitions))
        figure.write()


def figure_3(settings: argparse.Namespace) -> None:
    """Error against the number of records."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 10.0)):
        figure = Figure(f"3{part}: dim {dim}, std {std:g}, ε = 0.3", "records", settings.out)
        for n in (100, 200, 500, 1000, 2000, 5000):
            figure.add(n, on_sphere(dim, std, n, 0.3, settings.repetitions))
        figure.write()


def figure_4(settings: argparse.Namespace) -> None:
    """Error against the spread."""
    for part, dim, n in (("a", 3, 1000), ("b", 10, 500)):
        figure = Figure(f"4{part}: dim {dim}, n = {n}, ε = 0.3", "std", settings.out)
        for std in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
            figure.add(std, on_sphere(dim, std, n, 0.3, settings.repetitions))
        figure.write()


def figure_5(settings: argparse.Namespace) -> None:
    """Error against the budget."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 5.0)):
        figure = Figure(f"5{part}: dim {dim}, std {std:g}, n = 500", "epsilon", settings.out)
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
            figure.add(epsilon, on_sphere(dim, std, 500, epsilon, settings.repetitions))
        figure.write()


def means(settings: argparse.Namespace) -> None:
    """Other parameters and laws: S^2, n = 500, epsilon = 0.3, std 0.1 being a cell of figure 2."""
    print("\nS², n = 500, ε = 0.3: von Mises-Fisher with std, or a ring of radius 0.4")
    heading("records", VARIANTS)
    for std in (0.3, 0.1, 0.03):
        row(f"std {std:g}", on_sphere(3, std, 500, 0.3, settings.repetitions, VARIANTS), VARIANTS)
    _, ball, _ = sphere(3, 0.1, 500)
    rng = np.random.default_rng(1)
    angle, t = rng.uniform(0, 2 * np.pi, 500), 0.4 + 0.03 * rng.standard_normal(500)
    ring = np.stack([np.sin(t) * np.cos(angle), np.sin(t) * np.sin(angle), np.cos(t)], axis=1)
    row("ring", errors(ring, ball, 0.3, settings.repetitions, "ring", VARIANTS), VARIANTS)
    print(
        "\nThe density of the published conformal mean has noise of scale 2/(ε V) at each record, "
        "V the volume of the ball, here and in the figures; the paper's section III-A5 can also be "
        "read as 2/(nε), which is less."
    )


def figure_6(settings: argparse.Namespace) -> None:
    """Places of 400 releases of the conformal mean, std 0.1 and 5, epsilon 0.1 and 1."""
    found = {}
    for kind in ("proved", "published"):
        for std in (0.1, 5.0):
            for epsilon in (0.1, 1.0):
                records, ball, _ = sphere(3, std, 500)
                exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
                release = CURVES[f"conformal, {kind}"]
                points = np.array([release(records, ball, epsilon, i).value for i in range(400)])
                found[kind, std, epsilon] = ball, points, ball.manifold.dist(exact, points)
    print("\nfigure 6\n\n| calibration | std | epsilon | median distance | 90 % |")
    print("|---|---|---|---|---|")
    for (kind, std, epsilon), (_, _, dist) in found.items():
        cells = f"{np.median(dist):.2g} | {np.quantile(dist, 0.9):.2g}"
        print(f"| {kind} | {std:g} | {epsilon:g} | {cells} |", flush=True)
    print("\nThe picture leaves out releases further than π/2 from the ball's centre.")
    if settings.out is None:
        return
    settings.out.mkdir(parents=True, exist_ok=True)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from curvedp.plotting.orthographic import Orthographic

    figure, axes = plt.subplots(2, 4, figsize=(13, 6.4))
    for ax, ((kind, std, epsilon), (ball, points, dist)) in zip(
        axes.flat, found.items(), strict=True
    ):
        view = Orthographic(ball.center)
        near = points @ ball.center > 0
        view.draw_globe(ax, view.extent(points[near]))
        style = {"s": 6, "cmap": "viridis", "vmin": 0, "vmax": 0.7, "zorder": 3}
        drawn = ax.scatter(*view.project(points[near]).T, c=dist[near], **style)
        ax.set_title(f"{kind}, std {std:g}, ε = {epsilon:g}", fontsize=9)
    figure.colorbar(drawn, ax=axes, label="distance to the mean", shrink=0.7)
    figure.savefig(settings.out / "conformal-figure-6.png", dpi=130)
    plt.close(figure)


class Images:
    """Covariance descriptors of a labelled set of images, and a public ball for each class."""

    def __init__(self, name: str, images: np.ndarray, labels: np.ndarray) -> None:
        self.name, self.labels = name, labels
        self.records = cdp.descriptors.image_covariance(images, features=FEATURES, ridge=1e-4)
        self.space = cdp.SPD(self.records.shape[-1])

    def of(self, label: int) -> np.ndarray:
        return self.records[self.labels == label]

    def ball(self, label: int) -> cdp.Ball:
        """About the mean of the class before it, whose images count as public."""
        public = self.of((label - 1) % 10)
        center = cdp.nonprivate.frechet_mean(public, self.space).value
        return cdp.Ball(self.space, center, IMAGE_RADIUS)


def cifar(data: Path) -> Images:
    """The 2,000 images of the data folder, 200 of each class."""
    stored = np.load(data / "cifar10" / "cifar10_2000.npz")
    images = next(stored[key] for key in stored if stored[key].ndim >= 3)
    return Images("CIFAR-10", images, next(stored[key] for key in stored if stored[key].ndim == 1))


def fashion(data: Path, each: int | None) -> Images:
    """All 70,000 images, 7,000 of each class, or `each` of a class."""
    folder = data / "fashion_mnist"
    with lzma.open(folder / "fashion_mnist_70000_images.npy.xz") as file:
        images = np.load(file)
    labels = np.load(folder / "fashion_mnist_70000_meta.npz")["label"]
    if each is not None:
        chosen = np.concatenate([np.flatnonzero(labels == k)[:each] for k in range(10)])
        images, labels = images[chosen], labels[chosen]
    return Images("Fashion-MNIST", images, labels)


def image_curves(settings: argparse.Namespace, figure: Figure, images: Images) -> None:
    """Class 0 at the budgets of the paper."""
    records, ball = images.of(0), images.ball(0)
    outside = 1 - ball.contains(records).mean()
    for epsilon in EPSILONS:
        cell = f"{images.name} class 0"
        figure.add(epsilon, errors(records, ball, epsilon, settings.repetitions, cell, PLAIN))
    figure.write()
    print(
        f"\nClass 0, {len(records)} images ({PAPER_N[images.name]} in the paper); a ball of radius "
        f"{IMAGE_RADIUS:g} about another class's mean, the {outside:.1%} of the images "
        f"outside projected (the paper's holds all). {settings.repetitions} releases a point. Not "
        "shown: the published conformal mean, whose factor leaves the range that doubles can hold "
        "at the bandwidth of 0.5 that figures 2 to 6 have.\n"
    )


def figure_7(settings: argparse.Namespace) -> None:
    """Descriptors of one CIFAR-10 class."""
    images = cifar(settings.data)
    name = f"7: CIFAR-10: SPD({images.space.m}), n = {len(images.of(0))}"
    image_curves(settings, Figure(name, "epsilon", settings.out), images)


def figure_8(settings: argparse.Namespace) -> None:
    """Descriptors of one Fashion-MNIST class."""
    images = fashion(settings.data, settings.images)
    name = f"8: Fashion-MNIST: SPD({images.space.m}), n = {len(images.of(0))}"
    image_curves(settings, Figure(name, "epsilon", settings.out), images)


def classes(settings: argparse.Namespace) -> None:
    """Figures 7 and 8: closed forms at the paper's numbers, all classes, numbers of images."""
    sets = [cifar(settings.data), fashion(settings.data, settings.images)]
    closed_forms(sets)
    for images in sets:
        n = len(images.of(0))
        print(f"\n{images.name}, n = {n}, ε = 1, each class in a ball about the one before it")
        heading("class", PLAIN)
        for label in range(10):
            cell = f"{images.name} class {label}"
            arguments = (images.of(label), images.ball(label), 1.0, settings.repetitions, cell)
            row(str(label), errors(*arguments, PLAIN), PLAIN)
    images = sets[1]
    records, ball = images.of(0), images.ball(0)
    print(f"\n{images.name}, class 0, ε = 1: fewer images than in figure 8")
    heading("n", PLAIN)
    for n in sorted({min(n, len(records)) for n in (500, 1000, 2000, 4000)}):
        cell = f"{images.name} class 0"
        found = errors(records[:n], ball, 1.0, settings.repetitions, cell, PLAIN)
        row(str(n), found, PLAIN)


def closed_forms(sets: list[Images]) -> None:
    """Expected errors of the proved mechanisms at the paper's numbers: no images needed."""
    print("\nClosed form at the paper's n, proved, the mean half-way to the edge of the ball\n")
    print("| set | n | mean | " + " | ".join(f"ε = {e:g}" for e in SHOWN_EPSILONS) + " |")
    print("|---|---|---|" + "---|" * len(SHOWN_EPSILONS))
    for images in sets:
        n, ball = PAPER_N[images.name], images.ball(0)
        for name in ("Laplace, proved", "tangent Gaussian, proved"):
            cells = [f"{closed_form(name, ball, n, e):.3g}" for e in SHOWN_EPSILONS]
            print(f"| {images.name} | {n} | {name} | " + " | ".join(cells) + " |")


PARTS = {
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "means": means,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "classes": classes,
}
NEED_IMAGES = ("7", "8", "classes")


def main() -> None:
    """Compute, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--images", type=int, help="of a Fashion-MNIST class instead of all")
    parser.add_argument("--out", type=Path, help="folder for CSV and PNG files")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ["CURVEDP_DATA"]) if "CURVEDP_DATA" in os.environ else None,
    )
    settings = parser.parse_args()
    # the figures are about budgets at which noise outweighs the ball, too
    warnings.simplefilter("ignore", NoiseWarning)
    for name in settings.only.split(","):
        if name in NEED_IMAGES and settings.data is None:
            print(f"\n{name}: no data folder")
        else:
            PARTS[name](settings)


if __name__ == "__main__":
    main()
