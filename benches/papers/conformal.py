"""He et al., "Density-aware noise mechanisms ... via conformal transformation": figures 2 to 8.

    python benches/papers/conformal.py --out figures
    python benches/papers/conformal.py --only 2,5 --repetitions 10

Prints one Markdown table for each figure and, with ``--out``, writes it as CSV and PNG: mean error
and standard deviation over the repetitions. Errors are distances to the Fréchet mean of the
projected records. Every curve spends the same total budget. Records are von Mises-Fisher with
kappa = 1/std^2 on a ball of radius 0.7 whose centre is 0.3 r away from their mean; figures 7 and 8
are covariance descriptors of images (equation 46), one class at a
time, and need the data folder.

Published and proved calibration stand beside each other. The proved conformal mean has a public
mesh up to dimension 10; beyond that no public mesh is fine enough, and there is no curve.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.conformal import default_laplacian
from curvedp.datasets import von_mises_fisher

RADIUS = 0.7
DELTA = 1e-9
LARGEST_MESH_DIM = 10
FEATURES = ["x", "y", "intensity", "abs_dx", "abs_dy", "abs_dxx", "abs_dyy"]
FEATURES += ["gradient_norm", "orientation"]

Release = Callable[[np.ndarray, cdp.Ball, float], cdp.Release]


def _tangent(mean: Callable[..., cdp.Release]) -> Release:
    return lambda x, ball, epsilon: mean(
        x, ball, cdp.ApproxDP(epsilon, DELTA), mechanism="tangent-gaussian"
    )


def _laplace(mean: Callable[..., cdp.Release]) -> Release:
    return lambda x, ball, epsilon: mean(x, ball, cdp.PureDP(epsilon))


def _conformal_proved(x: np.ndarray, ball: cdp.Ball, epsilon: float) -> cdp.Release:
    if ball.manifold.dim > LARGEST_MESH_DIM:
        raise cdp.ExistenceError("no public mesh is fine enough")
    return cdp.conformal_mean(x, ball, cdp.PureDP(epsilon), mesh=default_laplacian(ball))


CURVES: dict[str, Release] = {
    "Laplace, published": _laplace(cdp.published.frechet_mean),
    "Laplace, proved": _laplace(cdp.frechet_mean),
    "tangent Gaussian, published": _tangent(cdp.published.frechet_mean),
    "tangent Gaussian, proved": _tangent(cdp.frechet_mean),
    "conformal, published": lambda x, ball, epsilon: cdp.published.conformal_mean(
        x, ball, cdp.PureDP(epsilon)
    ),
    "conformal, proved": _conformal_proved,
    "adaptive": lambda x, ball, epsilon: cdp.adaptive_mean(x, ball, cdp.PureDP(epsilon)),
}


def errors(
    records: np.ndarray, ball: cdp.Ball, epsilon: float, repetitions: int
) -> dict[str, tuple[float, float]]:
    """Mean error and its standard deviation for every curve that exists."""
    exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
    found = {}
    for name, release in CURVES.items():
        try:
            drawn = [release(records, ball, epsilon).value for _ in range(repetitions)]
        except (cdp.ExistenceError, ValueError):
            continue
        dist = ball.manifold.dist(exact, np.array(drawn))
        found[name] = (float(dist.mean()), float(dist.std()))
    return found


def sphere(dim: int, std: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, cdp.Ball]:
    """Records in R^dim as the paper counts dimensions, and their public ball."""
    mean = np.eye(dim)[-1]
    center = np.cos(0.3 * RADIUS) * mean + np.sin(0.3 * RADIUS) * np.eye(dim)[0]
    records = von_mises_fisher(n, mean, 1 / std**2, rng=rng)
    return records, cdp.Ball(cdp.Sphere(dim - 1), center, RADIUS)


class Figure:
    """Rows of one figure, printed as they come and written at the end."""

    def __init__(self, name: str, axis: str, out: Path | None) -> None:
        self.name, self.axis, self.out = name, axis, out
        self.rows: list[tuple[float, dict[str, tuple[float, float]]]] = []
        print(f"\nfigure {name}\n\n| {axis} | " + " | ".join(CURVES) + " |")
        print("|---|" + "---|" * len(CURVES))

    def add(self, x: float, found: dict[str, tuple[float, float]]) -> None:
        self.rows.append((x, found))
        cells = [
            f"{found[name][0]:.2g} ± {found[name][1]:.1g}" if name in found else "-"
            for name in CURVES
        ]
        print(f"| {x:g} | " + " | ".join(cells) + " |", flush=True)

    def write(self) -> None:
        if self.out is None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        stem = self.out / f"conformal-figure-{self.name.split(':')[0].replace(' ', '-')}"
        with stem.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([self.axis, "curve", "mean error", "standard deviation"])
            for x, found in self.rows:
                writer.writerows([x, name, *values] for name, values in found.items())
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        figure, ax = plt.subplots(figsize=(8, 4.2))
        for i, name in enumerate(CURVES):
            points = [(x, *found[name]) for x, found in self.rows if name in found]
            if not points:
                continue
            x, mean, std = np.array(points).T
            style = {"color": f"C{i // 2}", "linestyle": "--" if "published" in name else "-"}
            ax.plot(x, mean, label=name, **style)
            ax.fill_between(
                x, np.maximum(mean - std, 1e-6), mean + std, color=f"C{i // 2}", alpha=0.1
            )
        ax.set(xscale="log", yscale="log", xlabel=self.axis, ylabel="distance to the mean")
        ax.set_title(f"figure {self.name}", fontsize=10)
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.tight_layout()
        figure.savefig(stem.with_suffix(".png"), dpi=130)
        plt.close(figure)


def figure_2(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Error against the dimension."""
    for part, std in (("a", 0.1), ("b", 10.0)):
        figure = Figure(f"2{part}: std {std:g}, n = 500, ε = 0.3", "dimension", settings.out)
        for dim in (3, 5, 10, 30, 100, 300, 1000):
            figure.add(dim, errors(*sphere(dim, std, 500, rng), 0.3, settings.repetitions))
        figure.write()


def figure_3(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Error against the number of records."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 10.0)):
        figure = Figure(f"3{part}: dim {dim}, std {std:g}, ε = 0.3", "records", settings.out)
        for n in (100, 200, 500, 1000, 2000, 5000):
            figure.add(n, errors(*sphere(dim, std, n, rng), 0.3, settings.repetitions))
        figure.write()


def figure_4(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Error against the spread."""
    for part, dim, n in (("a", 3, 1000), ("b", 10, 500)):
        figure = Figure(f"4{part}: dim {dim}, n = {n}, ε = 0.3", "std", settings.out)
        for std in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
            figure.add(std, errors(*sphere(dim, std, n, rng), 0.3, settings.repetitions))
        figure.write()


def figure_5(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Error against the budget."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 5.0)):
        figure = Figure(f"5{part}: dim {dim}, std {std:g}, n = 500", "epsilon", settings.out)
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
            figure.add(epsilon, errors(*sphere(dim, std, 500, rng), epsilon, settings.repetitions))
        figure.write()


def figure_6(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Places of 400 releases of the conformal mean, std 0.1 and 5, epsilon 0.1 and 1."""
    found = {}
    for std in (0.1, 5.0):
        for epsilon in (0.1, 1.0):
            records, ball = sphere(3, std, 500, rng)
            exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
            points = np.array([_conformal_proved(records, ball, epsilon).value for _ in range(400)])
            found[std, epsilon] = ball, points, ball.manifold.dist(exact, points)
    print("\nfigure 6\n\n| std | epsilon | median distance | 90 % |\n|---|---|---|---|")
    for (std, epsilon), (_, _, dist) in found.items():
        cells = f"{np.median(dist):.2g} | {np.quantile(dist, 0.9):.2g}"
        print(f"| {std:g} | {epsilon:g} | {cells} |", flush=True)
    if settings.out is None:
        return
    settings.out.mkdir(parents=True, exist_ok=True)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from curvedp.plotting.orthographic import Orthographic

    figure, axes = plt.subplots(2, 2, figsize=(8, 7.5))
    for ax, ((std, epsilon), (ball, points, dist)) in zip(axes.flat, found.items(), strict=True):
        view = Orthographic(ball.center)
        view.draw_globe(ax, view.extent(points))
        flat = view.project(points)
        drawn = ax.scatter(*flat.T, c=dist, s=6, cmap="viridis", vmin=0, vmax=0.7, zorder=3)
        ax.set_title(f"std {std:g}, ε = {epsilon:g}", fontsize=9)
    figure.colorbar(drawn, ax=axes, label="distance to the mean", shrink=0.7)
    figure.savefig(settings.out / "conformal-figure-6.png", dpi=130)
    plt.close(figure)


def _images(settings: argparse.Namespace, name: str) -> tuple[np.ndarray, np.ndarray]:
    stored = np.load(settings.data / name)
    images = next(stored[key] for key in stored if stored[key].ndim >= 3)
    labels = next(stored[key] for key in stored if stored[key].ndim == 1)
    return images, labels


def _descriptors(settings: argparse.Namespace, title: str, name: str) -> None:
    if settings.data is None:
        print(f"\nfigure {title}: no data folder")
        return
    images, labels = _images(settings, name)
    records = cdp.descriptors.image_covariance(images, features=FEATURES, ridge=1e-4)
    m = records.shape[-1]
    # a public centre: the mean descriptor of another class, whose images count as public
    public = records[labels == labels.max()]
    center = cdp.nonprivate.frechet_mean(public, cdp.SPD(m)).value
    ball = cdp.Ball(cdp.SPD(m), center, 4.0)
    chosen = records[labels == labels.min()]
    figure = Figure(f"{title}: SPD({m}), n = {len(chosen)}", "epsilon", settings.out)
    for epsilon in (0.1, 0.5, 1.0, 2.0, 10.0):
        figure.add(epsilon, errors(chosen, ball, epsilon, settings.repetitions))
    figure.write()


def figure_7(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Descriptors of one CIFAR-10 class."""
    _descriptors(settings, "7: CIFAR-10", "cifar10/cifar10_2000.npz")


def figure_8(settings: argparse.Namespace, rng: np.random.Generator) -> None:
    """Descriptors of one Fashion-MNIST class."""
    _descriptors(settings, "8: Fashion-MNIST", "fashion_mnist/fashion_mnist_5000.npz")


FIGURES = [figure_2, figure_3, figure_4, figure_5, figure_6, figure_7, figure_8]


def main() -> None:
    """Compute, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--only", default="2,3,4,5,6,7,8")
    parser.add_argument("--out", type=Path, help="folder for CSV and PNG files")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ["CURVEDP_DATA"]) if "CURVEDP_DATA" in os.environ else None,
    )
    settings = parser.parse_args()
    for figure in FIGURES:
        if figure.__name__[-1] in settings.only.split(","):
            figure(settings, np.random.default_rng(1))


if __name__ == "__main__":
    main()
