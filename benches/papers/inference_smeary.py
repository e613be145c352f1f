"""Smeary means (Eltzner and Huckemann 2019; Jiang et al., supplement S.3): what privacy does there.

    python benches/papers/inference_smeary.py --out figures

Records on S^3: the pole with probability 0.4, else uniform on the opposite half of the sphere. The
Fréchet function has its only minimum at the pole, where its Hessian is 0, so the sample mean comes
closer at the rate n^(-1/6). A public ball has a radius r below π/2, and for records in it the
Hessian at the mean is at least r cot r: of the projected records no mean is smeary.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from scipy.stats import qmc

import curvedp as cdp

SPACE = cdp.Sphere(3)
POLE = np.array([0.0, 0.0, 0.0, 1.0])
RADIUS = 1.5
MU = 1.0
SIZES = (100, 1_000, 10_000, 100_000)
#: Angles between the pole and the public centre.
OFFSETS = (0.0, 0.5)
SHARE_AT_POLE = 0.4


def smeary(n: int, rng: np.random.Generator) -> np.ndarray:
    """n records of the smeary law."""
    records = rng.standard_normal((n, 4))
    records /= np.linalg.norm(records, axis=1, keepdims=True)
    records[:, 3] = -np.abs(records[:, 3])
    records[rng.random(n) < SHARE_AT_POLE] = POLE
    return records


def ball(offset: float) -> cdp.Ball:
    return cdp.Ball(SPACE, [math.sin(offset), 0.0, 0.0, math.cos(offset)], RADIUS)


def target(offset: float) -> np.ndarray:
    """The mean of the projected law, by 2^18 Sobol' points of the half sphere; or the pole."""
    if offset == 0:
        return POLE
    square, first, second = qmc.Sobol(3, scramble=False).random_base2(18).T
    across, along = np.sqrt(square), np.sqrt(1 - square)
    turns = 2 * np.pi * first, 2 * np.pi * second
    half = [across * np.cos(turns[0]), across * np.sin(turns[0]), along * np.cos(turns[1])]
    records = np.column_stack([*half, -np.abs(along * np.sin(turns[1]))])
    weights = np.full(len(records) + 1, (1 - SHARE_AT_POLE) / len(records))
    weights[-1] = SHARE_AT_POLE
    projected = ball(offset).project(np.vstack([records, POLE]))
    return cdp.nonprivate.frechet_mean(projected, SPACE, weights).value


def least_eigenvalue(offset: float, n: int = 200_000) -> float:
    """Of the Hessian at the mean of projected records: at least r cot r."""
    records = ball(offset).project(smeary(n, np.random.default_rng(1)))
    mean = cdp.nonprivate.frechet_mean(records, SPACE).value
    logs = SPACE.tangent_to_coords(SPACE.log(records, mean), mean)
    length = np.linalg.norm(logs, axis=1)
    flat = length < 1e-9
    unit = logs / np.where(flat, 1.0, length)[:, None]
    across = np.where(flat, 1.0, length / np.tan(np.where(flat, 1.0, length)))
    outer = np.einsum("i,ij,ik->jk", (1 - across) / n, unit, unit)
    return float(np.linalg.eigvalsh(across.mean() * np.eye(3) + outer)[0])


def measured(n: int, count: int, targets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square errors and coverage: without privacy, then one for each offset."""
    rng = np.random.default_rng(n)
    found = np.empty((1 + len(OFFSETS), 2, count))
    for i in range(count):
        records = smeary(n, rng)
        regions = [(cdp.nonprivate.confidence_region(records, SPACE), POLE)]
        for offset, aim in zip(OFFSETS, targets, strict=True):
            seed = int(rng.integers(2**62))
            private = cdp.confidence_region(records, ball(offset), cdp.GDP(MU), seed=seed)
            regions.append((private, aim))
        for j, (region, aim) in enumerate(regions):
            found[j, :, i] = SPACE.dist(region.estimate, aim), region.contains(aim)
    return np.sqrt((found[:, 0] ** 2).mean(axis=1)), found[:, 1].mean(axis=1)


def refusal() -> str:
    """What the library says to a ball that no projection would need."""
    try:
        cdp.Ball(SPACE, POLE, math.pi)
    except ValueError as error:
        return str(error)
    raise AssertionError("a ball of radius π was accepted")


def draw(errors: np.ndarray, out: Path) -> None:
    """Errors against n, with both rates."""
    from curvedp.plotting.figures import new_figure

    figure = new_figure(6.4, 4.2)
    ax = figure.add_subplot()
    names = ["sample mean", *(f"private, centre {offset:g} from the pole" for offset in OFFSETS)]
    for name, curve in zip(names, errors.T, strict=True):
        ax.plot(SIZES, curve, marker="o", label=name)
    n = np.array(SIZES)
    for power, start in ((1 / 6, errors[0, 0]), (1 / 2, errors[1, 1] * (n[1] / n[0]) ** 0.5)):
        guide = start * (n / n[0]) ** -power
        ax.plot(n, guide, color="0.6", linestyle=":", label=f"$n^{{-1/{round(1 / power)}}}$")
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="root mean square error")
    ax.legend(fontsize=8, frameon=False)
    figure.savefig(out / "smeary.png", dpi=120)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    cdp.set_num_threads(1)
    targets = [target(offset) for offset in OFFSETS]
    print(
        f"The smeary law on S³ (Hessian 0 at the mean, rate n^(-1/6)); private at μ = {MU:g} in a "
        f"ball of radius {RADIUS:g} about the pole, or about a point {OFFSETS[1]:g} from it. There "
        "the aim is the mean of the projected law, "
        f"{SPACE.dist(targets[1], POLE):.3f} from the pole. Without a ball: `{refusal()}`.\n"
    )
    eigenvalues = ", ".join(f"{least_eigenvalue(offset):.3f}" for offset in OFFSETS)
    print(
        f"Least eigenvalue of the Hessian at the mean of the projected law, for both balls: "
        f"{eigenvalues}; r cot r is {RADIUS / math.tan(RADIUS):.3f}. Root mean square errors and "
        f"coverage of 95 % regions over {settings.repetitions} data sets:\n"
    )
    balls = ("private", f"private, centre {OFFSETS[1]:g} away")
    columns = [f"{what}, {who}" for who in ("sample mean", *balls) for what in ("error", "covers")]
    print("| n | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    errors = []
    for n in SIZES:
        error, covers = measured(n, settings.repetitions, targets)
        errors.append(error)
        cells = [f"{e:.3g} | {c:.3f}" for e, c in zip(error, covers, strict=True)]
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)
    if settings.out is not None:
        settings.out.mkdir(parents=True, exist_ok=True)
        draw(np.array(errors), settings.out)


if __name__ == "__main__":
    main()
