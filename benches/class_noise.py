"""Accuracies with and without noise, where classifiers doubt their classes and where they do not.

    CURVEDP_DATA=... python benches/class_noise.py [--repeats 5]

Records are those of real sets with public balls (see adaptive_sets.py), 30 % held out at random.
Without noise classes have the exact means of records projected on the ball. `doubted` is the share
of the releases that warn, for class means the share of the classes that a warning names: those
whose noise is larger than the distance of another class's mean.
"""

from __future__ import annotations

import argparse
import gzip
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from adaptive_sets import digits, shapes
from curvedp.errors import NoiseWarning
from curvedp.learning import PrivateMDM, TangentLogisticRegression
from learning import PlainMDM, PlainRegression, gestures
from real_data import DATA, images

BUDGETS = (cdp.GDP(0.1), cdp.GDP(0.3), cdp.GDP(1.0), cdp.GDP(4.0))
SIZES = (300, 1000, 3000)
Labelled = tuple[cdp.Ball, np.ndarray, np.ndarray]


def labels(file: str, name: str) -> np.ndarray:
    with np.load(DATA / file) as stored:
        return stored[name]


def muscles() -> Labelled:
    return gestures(Path(os.environ["CURVEDP_DATA"]))


def written() -> Labelled:
    with gzip.open(DATA / "digits/digits.csv.gz") as file:
        known = np.genfromtxt(file, delimiter=",")[:, 64].astype(int)
    rows, ball = digits()
    return ball, rows, known


def leaves() -> Labelled:
    rows, ball = shapes("landmarks/passiflora.npz", 0.7)
    return ball, rows, labels("landmarks/passiflora.npz", "cluster")


def clothes() -> Labelled:
    rows, ball = images("fashion_mnist/fashion_mnist_5000.npz", "images", 0.02)
    return ball, rows, labels("fashion_mnist/fashion_mnist_5000.npz", "label")


def doubted(model: Any) -> float:
    """Share of the classes that a fit's warnings name, or 1 if the coefficients are doubted."""
    if isinstance(model, TangentLogisticRegression):
        return float(bool(model.release_.doubts))
    named = [int(doubt.split(" of ")[2].split()[-1]) for doubt in model.doubts_]
    return sum(named) / len(model.classes_)


def measured(
    data: Labelled, n: int, pair: Callable[[cdp.Ball], tuple[Any, Any]], repeats: int
) -> np.ndarray:
    """Mean accuracy with noise and without, and how much is doubted."""
    ball, records, known = data
    found = []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(records))
        cut = int(0.7 * len(records))
        train, test = order[: min(n, cut)], order[cut:]
        noisy, plain = pair(ball)
        noisy.fit(records[train], known[train])
        plain.fit(ball.project(records[train]), known[train])
        scores = [model.score(records[test], known[test]) for model in (noisy, plain)]
        found.append([*scores, doubted(noisy)])
    return np.mean(found, axis=0)


def pairs(budget: cdp.GDP) -> Iterator[tuple[str, Callable[[cdp.Ball], tuple[Any, Any]]]]:
    """Each classifier with noise, and the same without."""
    for adaptive in (True, False):
        how = {"adaptive": adaptive, "coverage": False}
        yield (
            f"means, adaptive={adaptive}",
            lambda ball: (PrivateMDM(ball, budget, **how), PlainMDM(ball, None)),  # noqa: B023
        )
    yield (
        "logistic",
        lambda ball: (
            TangentLogisticRegression(ball, budget, coverage=False),
            PlainRegression(ball, None),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    print("| records | n | μ | classifier | with noise | without | lost | doubted |")
    print("|---|---|---|---|---|---|---|---|")
    for load in (muscles, written, leaves, clothes):
        data = load()
        for n in (size for size in SIZES if size < 1.3 * len(data[1])):
            for budget in BUDGETS:
                for name, pair in pairs(budget):
                    noisy, plain, share = measured(data, n, pair, given.repeats)
                    print(
                        f"| {load.__name__} | {n} | {budget.mu:g} | {name} | {noisy:.3f} | "
                        f"{plain:.3f} | {plain - noisy:.3f} | {share:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
