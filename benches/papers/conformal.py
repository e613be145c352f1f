"""He et al., "Density-aware noise mechanisms ... via conformal transformation": figures 2 to 6.

    python benches/papers/conformal.py --out figures
    python benches/papers/conformal.py --only 2,5,means --repetitions 10
    python benches/papers/conformal.py --only 2 --out docs/measured --curves "conformal, proved"

Prints Markdown and, with ``--out``, writes each figure as CSV and PNG: mean error, its standard
error and the number of releases, for the proved Laplace and tangent Gaussian the closed form beside
it (`curvedp.expected_error`: for a mean half-way between the ball's centre and its edge).
Errors are distances to the Fréchet mean of the projected records. Every curve spends the same total
budget. Records are von Mises-Fisher with kappa = 1/std^2 on a ball of radius 0.7 whose centre is
0.3 r away from their mean; figures 7 and 8 are those of `conformal_images.py`. Seeds follow from
the cell: the same cell has the same number in every figure, and ``--curves`` draws some curves anew
and takes the others from the files of ``--out``.

Published and proved calibration stand beside each other. The published conformal mean stands with
both readings of the noise on the density, distances along lines and default bandwidth and upsilon;
where its factor could be cut it is refused and missing. The proved one ends at dimension 10: beyond
no public mesh is fine enough.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from conformal_cells import (
    CURVES,
    READINGS,
    VARIANTS,
    Figure,
    Release,
    errors,
    heading,
    on_sphere,
    row,
    sphere,
)

import curvedp as cdp
from curvedp import _core
from curvedp.conformal import factor
from curvedp.errors import NoiseWarning
from curvedp.published.conformal import RecordsGraph
from curvedp.published.density import default_bandwidth


def figure_2(settings: argparse.Namespace) -> None:
    """Error against the dimension."""
    for part, std in (("a", 0.1), ("b", 10.0)):
        figure = Figure(
            f"2{part}: std {std:g}, n = 500, ε = 0.3", "dimension", settings.out, settings.curves
        )
        for dim in (3, 5, 10, 30, 100, 300, 1000):
            figure.add(dim, on_sphere(dim, std, 500, 0.3, settings.repetitions, figure.curves))
        figure.write()


def figure_3(settings: argparse.Namespace) -> None:
    """Error against the number of records."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 10.0)):
        figure = Figure(
            f"3{part}: dim {dim}, std {std:g}, ε = 0.3", "records", settings.out, settings.curves
        )
        for n in (100, 200, 500, 1000, 2000, 5000):
            figure.add(n, on_sphere(dim, std, n, 0.3, settings.repetitions, figure.curves))
        figure.write()


def figure_4(settings: argparse.Namespace) -> None:
    """Error against the spread."""
    for part, dim, n in (("a", 3, 1000), ("b", 10, 500)):
        figure = Figure(
            f"4{part}: dim {dim}, n = {n}, ε = 0.3", "std", settings.out, settings.curves
        )
        for std in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
            figure.add(std, on_sphere(dim, std, n, 0.3, settings.repetitions, figure.curves))
        figure.write()


def figure_5(settings: argparse.Namespace) -> None:
    """Error against the budget."""
    for part, dim, std in (("a", 3, 0.1), ("b", 10, 5.0)):
        figure = Figure(
            f"5{part}: dim {dim}, std {std:g}, n = 500", "epsilon", settings.out, settings.curves
        )
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
            figure.add(
                epsilon, on_sphere(dim, std, 500, epsilon, settings.repetitions, figure.curves)
            )
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
    row("S⁹, std 0.1", on_sphere(10, 0.1, 500, 0.3, settings.repetitions, VARIANTS), VARIANTS)
    print(
        "\nThe density of the published conformal mean has noise of scale 2 B/(ε V) at each "
        "record, V the volume of the ball and B the mass of the kernel (equation 12), or of "
        "2 B/(nε) (section III-A5). Distances are along lines, or along the graph where that is "
        "said. Releases: a quarter of those of the others on S², a tenth of all conformal means "
        "on S⁹."
    )


def figure_6(settings: argparse.Namespace) -> None:
    """Places of 400 releases of the conformal mean, std 0.1 and 5, epsilon 0.1 and 1."""
    found = {}
    for kind in ("proved", "conformal, published, 2/(nε)"):
        for std in (0.1, 5.0):
            for epsilon in (0.1, 1.0):
                records, ball, _ = sphere(3, std, 500)
                exact = cdp.nonprivate.frechet_mean(ball.project(records), ball.manifold).value
                release = CURVES["conformal, proved" if kind == "proved" else kind]
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


def times(settings: argparse.Namespace) -> None:
    """Processor time of one release, S^2, std 0.1, n = 500, epsilon = 0.3, in alternation."""
    records, ball, _ = sphere(3, 0.1, 500)
    names = ("Laplace, published", "Laplace, proved", "conformal, proved")
    ways: dict[str, Release] = {name: CURVES[name] for name in names}
    for distance in ("line", "graph"):
        ways[f"conformal, published, {distance}"] = partial(published, distance)
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for seed in range(settings.repetitions + 1):
        for name, release in ways.items():
            start = time.process_time()
            release(records, ball, 0.3, seed)
            spent[name].append(time.process_time() - start)
    # the first makes the mesh
    medians = {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}
    print("\nProcessor time of one release, medians, on a machine with other work\n")
    print(
        "| release | ms | ms a record | times the Laplace of like calibration |\n|---|---|---|---|"
    )
    for name, seconds in medians.items():
        ratio = seconds / medians[f"Laplace, {name.split(', ')[1]}"]
        print(f"| {name} | {1e3 * seconds:.3g} | {1e3 * seconds / 500:.2g} | {ratio:.3g} |")
    print("\nShare of accepted proposals exp_x(s N(0, I)/(λ√φ)), √φ its median\n")
    print("| s | " + " | ".join(READINGS) + " |\n|---|" + "---|" * len(READINGS))
    for size in (0.5, 1.0, 2.0):
        cells = [f"{accepted(records, ball, noise, size):.2f}" for noise in READINGS.values()]
        print(f"| {size:g} | " + " | ".join(cells) + " |")


def published(
    distance: str, x: np.ndarray, ball: cdp.Ball, epsilon: float, seed: int
) -> cdp.Release:
    """A release with the noise 2/(nε) on the density."""
    how = {"noise": "pointwise", "distance": distance}
    return cdp.published.conformal_mean(x, ball, cdp.PureDP(epsilon), seed=seed, **how)


def accepted(records: np.ndarray, ball: cdp.Ball, noise: str, size: float) -> float:
    """Acceptance of a chain of 20,000 steps of the published conformal mean at epsilon = 0.3."""
    release = cdp.published.conformal_mean(
        records, ball, cdp.PureDP(0.3), noise=noise, seed=0, chain_length=1
    )
    bandwidth = default_bandwidth(ball)
    graph = RecordsGraph.of(records, ball, bandwidth)
    sigma = factor(release.parts[0].value, 1.0, laplacian=graph.operator, method="jacobi").sigma
    chains = cdp.published.metropolis(
        graph.operator.graph,
        sigma,
        graph.mean,
        1 / release.scale,
        starts=graph.mean[None],
        draws=20_000,
        step=size * release.scale / float(np.exp(np.median(sigma))),
        acceptance=None,
        volume_factor=False,
        distance="line",
        stream=_core.Stream.from_key(bytes(32), 0),
    )
    return float(chains.acceptance[0])


PARTS = {
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "means": means,
    "6": figure_6,
    "time": times,
}


def main() -> None:
    """Compute, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, help="folder for CSV and PNG files")
    parser.add_argument("--curves", default="", help="part of the names of the curves to draw")
    settings = parser.parse_args()
    # the figures are about budgets at which noise outweighs the ball, too
    warnings.simplefilter("ignore", NoiseWarning)
    for name in settings.only.split(","):
        PARTS[name](settings)


if __name__ == "__main__":
    main()
