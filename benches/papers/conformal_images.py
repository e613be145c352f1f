"""He et al., figures 7 and 8: covariance descriptors of images (equation 46), one class at a time.

    python benches/papers/conformal_images.py --data FOLDER --out figures
    python benches/papers/conformal_images.py --data FOLDER --only 8,8-log --out figures

The paper's baseline has the log-Euclidean metric, in which covariance matrices are a flat space;
its text says no metric. Parts "7", "8" and "8-fewer" have the affine-invariant one, "7-log" and
"8-log" the log-Euclidean one. "8-fewer" and the last two have four budgets and the published
conformal mean, by chains of 3,000 steps along lines: with the affine-invariant metric its density
of 7,000 images takes a minute. Curves, cells and ``--curves`` are those of `conformal.py`.
"""

from __future__ import annotations

import argparse
import copy
import lzma
import os
import warnings
from pathlib import Path

import numpy as np
from conformal_cells import (
    PLAIN,
    READINGS,
    Cell,
    Figure,
    closed_form,
    errors,
    heading,
    mean_error,
    row,
    seeds_of,
)

import curvedp as cdp
from curvedp import published
from curvedp.errors import NoiseWarning
from curvedp.mechanisms import RiemannianLaplace
from curvedp.published.call import Call
from curvedp.published.conformal import WHY, ConformalPlan, RecordsGraph
from curvedp.published.density import default_bandwidth

IMAGE_RADIUS = 4.0
#: Budgets of figures 7 and 8, and those of tables and chains.
EPSILONS = [round(0.1 * i, 1) for i in range(1, 21)]
SHOWN_EPSILONS = [0.1, 0.5, 1.0, 2.0]
#: Images of the figure whose affine-invariant chains are drawn.
FEWER = 2000
#: Steps of a chain, and chains of a cell.
STEPS, CHAINS = 3000, 5
#: Images of a class in the paper.
PAPER_N = {"CIFAR-10": 6000, "Fashion-MNIST": 7000}
FEATURES = ["x", "y", "intensity", "abs_dx", "abs_dy", "abs_dxx", "abs_dyy"]
FEATURES += ["gradient_norm", "orientation"]


class Images:
    """Covariance descriptors of a labelled set of images, and a public ball for each class."""

    def __init__(self, name: str, images: np.ndarray, labels: np.ndarray) -> None:
        self.name, self.labels = name, labels
        self.records = cdp.descriptors.image_covariance(images, features=FEATURES, ridge=1e-4)
        self.space: cdp.Manifold = cdp.SPD(self.records.shape[-1])

    def flat(self) -> Images:
        """The same under the log-Euclidean metric, which is flat, in Euclidean coordinates."""
        space = cdp.SPD(self.records.shape[-1], metric="log-euclidean")
        coords = space.tangent_to_coords(space.log(self.records, space.origin), space.origin)
        same = copy.copy(self)
        same.records, same.space = coords, cdp.Euclidean(space.dim)
        return same

    def first(self, count: int) -> Images:
        """The same with so many images of a class at most."""
        of_class = [np.flatnonzero(self.labels == k)[:count] for k in np.unique(self.labels)]
        chosen, same = np.concatenate(of_class), copy.copy(self)
        same.records, same.labels = self.records[chosen], self.labels[chosen]
        return same

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


class Chains:
    """Published conformal means of one class of images: the density without noise is found once."""

    def __init__(self, images: Images, count: int) -> None:
        self.name, self.count = images.name, min(count, CHAINS)
        self.records, self.ball = images.of(0), images.ball(0)
        self.graph = RecordsGraph.of(self.records, self.ball, default_bandwidth(self.ball))
        #: the largest |log √φ| that equation 16 allows for the densities drawn
        self.largest_sigma = 0.0

    def draw(self, epsilon: float, name: str, noise: str, distance: str) -> np.ndarray:
        """Distances of releases to the mean; raises where the mechanism is refused."""
        dist = []
        for seed in seeds_of(f"{self.name} class 0 {epsilon:g} {name}", self.count):
            call = Call.check(self.records, self.ball, cdp.PureDP(epsilon), why=WHY, seed=seed)
            plan = ConformalPlan.make(call, noise=noise, distance=distance, chain_length=STEPS)
            release = plan.release(self.graph)
            density = release.parts[0].value
            largest = float(np.abs(density - density.mean()).max()) / plan.upsilon
            self.largest_sigma = max(self.largest_sigma, largest)
            dist.append(float(self.ball.manifold.dist(release.value, self.graph.mean)))
        return np.array(dist)

    def cell(self, epsilon: float) -> Cell:
        """Both readings of the noise, along lines.

        The closed form is that of φ = 1: Laplace noise for a quarter of the budget. Without it
        there is no law, or one so wide that chains do not reach it: no cell then.
        """
        try:
            delta = published.sensitivity.frechet_mean(self.ball, len(self.records))
            noise = RiemannianLaplace(self.ball, delta, cdp.PureDP(epsilon / 4))
        except cdp.ExistenceError:
            return {}
        names = {f"conformal, published, {one}": reading for one, reading in READINGS.items()}
        return {
            name: mean_error(self.draw(epsilon, name, reading, "line"), noise.expected_error)
            for name, reading in names.items()
        }

    def remarks(self) -> str:
        """What the factor and the nearest record do to these releases."""
        nearest = float(self.ball.manifold.dist(self.records, self.graph.mean).min())
        graph = self.draw(2.0, "graph", "pointwise", "graph").mean()
        return (
            f"|log √φ| of the published means shown is {self.largest_sigma:.1g} at most. Along the "
            f"graph that at ε = 2 is {graph:.3g} away, and the record nearest to the mean "
            f"{nearest:.3g}."
        )


def image_curves(
    settings: argparse.Namespace, figure: Figure, images: Images, budgets: list[float]
) -> None:
    """Class 0 at some budgets, with chains if they are few."""
    records, ball = images.of(0), images.ball(0)
    outside = 1 - ball.contains(records).mean()
    curves = {name: way for name, way in PLAIN.items() if name in figure.curves}
    chains = Chains(images, settings.repetitions) if budgets == SHOWN_EPSILONS else None
    for epsilon in budgets:
        cell = f"{images.name} class 0"
        found = errors(records, ball, epsilon, settings.repetitions, cell, curves)
        if chains is not None:
            found |= chains.cell(epsilon)
        figure.add(epsilon, found)
    figure.write()
    print(
        f"\nClass 0, {len(records)} images ({PAPER_N[images.name]} in the paper); a ball of radius "
        f"{IMAGE_RADIUS:g} about another class's mean, the {outside:.1%} of the images outside "
        f"projected (the paper's holds all). {settings.repetitions} releases a point"
        + (f", {chains.count} of published conformal means. {chains.remarks()}" if chains else ".")
    )


def figure_7(settings: argparse.Namespace) -> None:
    """Descriptors of one CIFAR-10 class."""
    images = cifar(settings.data)
    name = f"7: CIFAR-10: SPD({images.records.shape[-1]}), n = {len(images.of(0))}"
    figure = Figure(name, "epsilon", settings.out, settings.curves)
    image_curves(settings, figure, images, EPSILONS)


def figure_8(settings: argparse.Namespace) -> None:
    """Descriptors of one Fashion-MNIST class."""
    images = fashion(settings.data, settings.images)
    name = f"8: Fashion-MNIST: SPD({images.records.shape[-1]}), n = {len(images.of(0))}"
    figure = Figure(name, "epsilon", settings.out, settings.curves)
    image_curves(settings, figure, images, EPSILONS)


def fewer(settings: argparse.Namespace) -> None:
    """2,000 images of a Fashion-MNIST class, with published conformal means."""
    images = fashion(settings.data, settings.images).first(FEWER)
    name = f"8-fewer: Fashion-MNIST: SPD({images.records.shape[-1]}), n = {len(images.of(0))}"
    figure = Figure(name, "epsilon", settings.out, settings.curves)
    image_curves(settings, figure, images, SHOWN_EPSILONS)


def log_euclidean(settings: argparse.Namespace, number: str, images: Images) -> None:
    """The figure of that number under the log-Euclidean metric."""
    name = f"{number}-log: {images.name}: SPD({images.records.shape[-1]}), log-Euclidean"
    figure = Figure(name, "epsilon", settings.out, settings.curves)
    image_curves(settings, figure, images.flat(), SHOWN_EPSILONS)


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
    "7": figure_7,
    "7-log": lambda settings: log_euclidean(settings, "7", cifar(settings.data)),
    "8": figure_8,
    "8-fewer": fewer,
    "8-log": lambda settings: log_euclidean(settings, "8", fashion(settings.data, settings.images)),
    "classes": classes,
}


def main() -> None:
    """Compute, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--images", type=int, help="of a Fashion-MNIST class instead of all")
    parser.add_argument("--out", type=Path, help="folder for CSV and PNG files")
    parser.add_argument("--curves", default="", help="part of the names of the curves to draw")
    parser.add_argument("--data", type=Path, default=os.environ.get("CURVEDP_DATA"))
    settings = parser.parse_args()
    if settings.data is None:
        parser.error("a data folder is needed: --data or CURVEDP_DATA")
    # the figures are about budgets at which noise outweighs the ball, too
    warnings.simplefilter("ignore", NoiseWarning)
    for name in settings.only.split(","):
        PARTS[name](settings)


if __name__ == "__main__":
    main()
