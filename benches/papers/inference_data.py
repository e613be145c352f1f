"""The real data of Jiang et al., section 6, or what stands in for them.

Neither OCTMNIST nor the occupational judgements are at hand. The 70,000 images of Fashion-MNIST
take the place of the first, in four kinds of clothing for the four diagnoses, with descriptors of
the same size, 5 x 5; what single women and men spend on three kinds of goods (Hothorn and Everitt,
HSAUR) that of the second, as directions with the square roots of their shares for coordinates.
Balls are public: the images' comes from 10,000 of them, taken as public here, that of the
directions is the one about equal shares.
"""

from __future__ import annotations

import csv
import functools
import lzma
import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import curvedp as cdp
from curvedp.plotting import RegionDisplay
from curvedp.plotting.figures import new_figure

IMAGE_BUDGETS = (0.1, 1.0, 2.0)
#: Images that the ball comes from, and the labels of four classes of the others.
PUBLIC = 10_000
CLOTHES = {"tops": (0, 2, 4, 6), "trousers, dresses": (1, 3), "shoes": (5, 7, 9), "bags": (8,)}
#: Regions in the picture.
SHOWN = ("without privacy", "proved")
DIRECTION_BUDGETS = (1.0, 2.0)
GOODS = ("housing", "food", "service")


def clothing(folder: Path) -> tuple[cdp.Ball, dict[str, np.ndarray]]:
    """Descriptors of 60,000 images in four classes, in the ball that the other 10,000 give."""
    from curvedp.descriptors import image_covariance

    folder = folder / "fashion_mnist"
    with lzma.open(folder / "fashion_mnist_70000_images.npy.xz") as file:
        images = np.load(file)
    labels = np.load(folder / "fashion_mnist_70000_meta.npz")["label"]
    order = np.random.default_rng(0).permutation(len(labels))
    matrices, labels = image_covariance(images[order], features="texture"), labels[order]
    space, public = cdp.SPD(5), matrices[:PUBLIC]
    center = cdp.nonprivate.frechet_mean(public, space).value
    ball = cdp.Ball(space, center, float(np.quantile(space.dist(public, center), 0.95)))
    private, kinds = matrices[PUBLIC:], labels[PUBLIC:]
    return ball, {
        name: ball.project(private[np.isin(kinds, group)]) for name, group in CLOTHES.items()
    }


def image_table(folder: Path, out: Path | None) -> list[str]:
    """Table 5 for four classes, and the picture of Figure 4."""
    try:
        ball, classes = clothing(folder)
    except ImportError:
        return ["curvedp.descriptors is not installed: skipped"]
    lines = [
        "70,000 images of Fashion-MNIST stand in for the paper's 109,309 of OCTMNIST. Ball: mean "
        f"of {PUBLIC:,} of them, taken as public, radius {ball.radius:.2f} (holds 95 % of them). "
        "λ, rad and vol belong to n Γ; one release each.",
        "",
        "| class | n | mu | | λ1 | λ2 | λ3 | ratio | rad | vol | dist |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    calibrations = {
        "proved": cdp.confidence_region,
        "published, R = 2r": cdp.published.confidence_region,
        "published, R = r": functools.partial(
            cdp.published.confidence_region, max_dist=ball.radius
        ),
    }
    shown: dict[str, list[cdp.ConfidenceRegion]] = {}
    for seed, (label, records) in enumerate(classes.items()):
        exact = cdp.nonprivate.confidence_region(records, ball.manifold)
        rows = {("", "without privacy"): exact}
        for k, mu in enumerate(IMAGE_BUDGETS):
            for name, region in calibrations.items():
                drawn = region(records, ball, cdp.GDP(mu), seed=10 * seed + k)
                rows[f"{mu:g}", name] = drawn
        shown[label] = [region for (_, name), region in rows.items() if name in SHOWN]
        for (mu, name), region in rows.items():
            cells = _descriptor_cells(region, exact, ball.center)
            lines.append(f"| {label} | {len(records)} | {mu} | {name} | {cells} |")
    if out is not None:
        region_figure(shown, ball).savefig(out / "figure-4.png", dpi=110)
    return lines


def _descriptor_cells(
    region: cdp.ConfidenceRegion, exact: cdp.ConfidenceRegion, center: np.ndarray
) -> str:
    """The columns of Table 5: of n Gamma in the chart about the centre."""
    values = np.linalg.eigvalsh(region.n * region.in_chart(center)[1])[::-1]
    dist = float(cdp.SPD(5).dist(region.estimate, exact.estimate))
    return (
        " | ".join(f"{v:.3g}" for v in values[:3])
        + f" | {values[:3].sum() / values.sum():.3f} | {math.sqrt(values.sum()):.3g}"
        + f" | {math.sqrt(float(np.prod(values))):.2e} | {dist:.3g}"
    )


def region_figure(shown: dict[str, list[cdp.ConfidenceRegion]], ball: cdp.Ball) -> Figure:
    """Figure 4: the proved regions at the two smaller budgets, beside those without privacy."""
    figure = new_figure(4.2 * len(shown), 8.4)
    for column, (label, regions) in enumerate(shown.items()):
        for row, mu in enumerate(IMAGE_BUDGETS[:2]):
            ax = figure.add_subplot(2, len(shown), row * len(shown) + column + 1, projection="3d")
            pair, names = [regions[0], regions[1 + row]], ["without privacy", f"μ = {mu:g}"]
            RegionDisplay(pair, names=names, base_point=ball.center).plot(ax)
            ax.set_title(label, fontsize=10)
    return figure


def spending(folder: Path) -> dict[str, np.ndarray]:
    """Directions on S^2 of women and men: square roots of the shares of three kinds of goods."""
    with (folder / "sphere" / "household_expenditure.csv").open() as file:
        rows = list(csv.DictReader(file))
    amounts = np.array([[float(row[name]) for name in GOODS] for row in rows])
    directions = np.sqrt(amounts / amounts.sum(axis=1, keepdims=True))
    gender = np.array([row["gender"] for row in rows])
    return {name: directions[gender == name] for name in ("female", "male")}


def direction_table(folder: Path, out: Path | None) -> list[str]:
    """Regions of both groups and their comparison: the question of Figure 5."""
    ball = cdp.Ball("sphere:2", np.full(3, 3**-0.5), np.pi / 5)
    groups = spending(folder)
    exact = [cdp.nonprivate.confidence_region(ball.project(x), "sphere:2") for x in groups.values()]
    outcome = cdp.compare_means(*exact)
    lines = [
        "Ball: about equal shares, radius π/5. n = 20 women and 20 men.",
        "",
        "| mu | half-axes, women | half-axes, men | distance of the means | p-value | overlap |",
        "|---|---|---|---|---|---|",
        _direction_line("without privacy", exact, outcome),
    ]
    panels = {"without privacy": exact}
    for mu in DIRECTION_BUDGETS:
        regions = [
            cdp.confidence_region(x, ball, cdp.GDP(mu), seed=k)
            for k, x in enumerate(groups.values())
        ]
        lines.append(_direction_line(f"{mu:g}", regions, cdp.compare_means(*regions)))
        panels[f"μ = {mu:g}"] = regions
    if out is not None:
        figure = new_figure(12.6, 4.4)
        for k, (title, regions) in enumerate(panels.items()):
            ax = figure.add_subplot(1, len(panels), k + 1)
            shown = regions if k == 0 else [*exact, *regions]
            names = [f"{name}, without privacy" for name in groups]
            names += [] if k == 0 else [f"{name}, {title}" for name in groups]
            RegionDisplay(
                shown,
                names=names,
                base_point=ball.center,
                points=np.concatenate(list(groups.values())),
            ).plot(ax, view="sphere")
            ax.set_title(title, fontsize=10)
        figure.savefig(out / "figure-5.png", dpi=110)
    return lines


def _direction_line(
    name: str, regions: list[cdp.ConfidenceRegion], outcome: cdp.MeanComparison
) -> str:
    axes = " | ".join(" x ".join(f"{r:.3f}" for r in region.axes()[0]) for region in regions)
    overlap = "yes" if outcome.regions_overlap else "no"
    return f"| {name} | {axes} | {outcome.dist:.3f} | {outcome.p_value:.2g} | {overlap} |"
