"""The real data of Jiang et al., section 6, or what stands in for them.

Neither OCTMNIST nor the occupational judgements are at hand. Chest X-rays of PneumoniaMNIST take
the place of the first, with the same 5 x 5 descriptors; what single women and men spend on three
kinds of goods (Hothorn and Everitt, HSAUR) that of the second, as directions with the square roots
of their shares for coordinates. Balls are public: the images' comes from the validation set, taken
as public here, that of the directions is the one about equal shares.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.plotting import RegionDisplay
from curvedp.plotting.figures import new_figure

IMAGE_BUDGETS = (0.1, 1.0, 2.0)
DIRECTION_BUDGETS = (1.0, 2.0)
GOODS = ("housing", "food", "service")


def image_table(folder: Path, out: Path | None) -> list[str]:
    """Table 5 for both classes of PneumoniaMNIST, and the picture of Figure 4."""
    try:
        from curvedp.descriptors import image_covariance
    except ImportError:
        return ["curvedp.descriptors is not installed: skipped"]
    with np.load(folder / "pneumoniamnist" / "pneumoniamnist_val_test.npz") as data:
        images = {part: data[f"{part}_images"] for part in ("val", "test")}
        labels = {part: data[f"{part}_labels"].ravel() for part in ("val", "test")}
    matrices = {part: image_covariance(x, features="texture") for part, x in images.items()}
    space = cdp.SPD(5)
    center = cdp.nonprivate.frechet_mean(matrices["val"], space).value
    radius = float(np.quantile(space.dist(matrices["val"], center), 0.95))
    ball = cdp.Ball(space, center, radius)
    lines = [
        f"Ball: mean of the validation images, radius {radius:.2f} (holds 95 % of them).",
        "λ, rad and vol belong to n Γ. The paper has 109,309 images in four classes: less noise",
        "beside the spread.",
        "",
        "| class | n | mu | λ1 | λ2 | λ3 | ratio | rad | vol | dist |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    regions: dict[int, list[cdp.ConfidenceRegion]] = {}
    for label in (0, 1):
        records = ball.project(matrices["test"][labels["test"] == label])
        n = len(records)
        exact = cdp.nonprivate.confidence_region(records, space)
        regions[label] = [exact]
        for k, mu in enumerate((*IMAGE_BUDGETS, math.inf)):
            region = exact
            if math.isfinite(mu):
                region = cdp.confidence_region(records, ball, cdp.GDP(mu), seed=10 * label + k)
                regions[label].append(region)
            gamma = n * region.in_chart(center)[1]
            values = np.linalg.eigvalsh(gamma)[::-1]
            dist = float(space.dist(region.estimate, exact.estimate))
            name = f"{mu:g}" if math.isfinite(mu) else "without privacy"
            lines.append(
                f"| {label} | {n} | {name} | "
                + " | ".join(f"{v:.3g}" for v in values[:3])
                + f" | {values[:3].sum() / values.sum():.3f} | {math.sqrt(values.sum()):.3g}"
                + f" | {math.sqrt(float(np.prod(values))):.2e} | {dist:.3g} |"
            )
    if out is not None:
        figure = new_figure(10.5, 9.5)
        for label, group in regions.items():
            for k, row in ((1, 0), (2, 1)):
                ax = figure.add_subplot(2, 2, 2 * row + label + 1, projection="3d")
                RegionDisplay([group[0], group[k]], base_point=center).plot(ax)
                ax.set_title(f"class {label}", fontsize=10)
        figure.savefig(out / "figure-4.png", dpi=110)
    return lines


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
