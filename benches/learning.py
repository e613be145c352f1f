"""Private classifiers, tangent components and clusters, beside the same without noise.

    CURVEDP_DATA=... python benches/learning.py [--repeats 20] [mdm] [grouped] [logistic] [pca]
        [kmeans]

Covariances of eight electrodes, five gestures (emg_covariances). The first session is public and
gives the ball, its Fréchet mean and the distance that 90 % of it keep; the others are private.
Accuracies are those of the 30 % held out, means over splits, each with noise of its own; `grouped`
holds whole sessions and whole recordings out, standard errors are those of the noise. Clusters
also of a week's earthquakes (sphere/earthquakes_week2018.csv). The tables of docs/learning.md are
this script's output.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.learning import (
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)
from curvedp.statistics import cells, logistic

GUARANTEES = (cdp.GDP(0.25), cdp.GDP(0.5), cdp.GDP(1.0), cdp.GDP(2.0), cdp.PureDP(1.0))
PARTS = ("mdm", "grouped", "logistic", "pca", "kmeans")
COUNTS = (1, 3, 5)
#: For clusters, and numbers of clusters of each data set.
SPENT = (cdp.GDP(0.1), cdp.GDP(0.3), cdp.GDP(1.0), cdp.GDP(3.0), cdp.PureDP(1.0), cdp.PureDP(5.0))
QUAKES, GESTURES = (5, 8), (5,)


def gestures(folder: Path) -> tuple[cdp.Ball, np.ndarray, np.ndarray]:
    """The public ball, private covariances and their gestures."""
    stored = np.load(folder / "emg_covariances" / "emg_cov_8x8.npz", allow_pickle=True)
    records, labels = stored["cov"].astype(np.float64), stored["gesture"].astype(str)
    public = stored["session"].astype(str) == "mg_s1"
    manifold = cdp.SPD(8)
    center = cdp.nonprivate.frechet_mean(records[public], manifold).value
    radius = np.quantile(manifold.dist(records[public], center), 0.9)
    return cdp.Ball(manifold, center, float(radius)), records[~public], labels[~public]


def whole_splits(folder: Path) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Splits of the private records that leave whole sessions, or whole recordings, out."""
    from sklearn.model_selection import GroupShuffleSplit, LeaveOneGroupOut

    stored = np.load(folder / "emg_covariances" / "emg_cov_8x8.npz", allow_pickle=True)
    session, segment = stored["session"].astype(str), stored["segment"]
    private = session != "mg_s1"
    rows = np.zeros(int(private.sum()))
    recordings = GroupShuffleSplit(10, test_size=0.3, random_state=1)
    return {
        "one session": list(LeaveOneGroupOut().split(rows, rows, session[private])),
        "30 % of recordings": list(recordings.split(rows, rows, segment[private])),
    }


def earthquakes(folder: Path) -> tuple[cdp.Ball, np.ndarray]:
    """Epicentres as unit vectors, and a ball about the Pacific and its coasts."""
    with (folder / "sphere" / "earthquakes_week2018.csv").open() as table:
        found = [[float(row["lon"]), float(row["lat"])] for row in csv.DictReader(table)]
    ball = cdp.Ball(cdp.Sphere(2), directions(np.array([-150.0, 40.0])), 1.5)
    return ball, directions(np.array(found))


def directions(degrees: np.ndarray) -> np.ndarray:
    """Unit vectors of longitude and latitude."""
    lon, lat = np.moveaxis(np.radians(degrees), -1, 0)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def held_out(
    make: Callable[[], Any], records: np.ndarray, labels: np.ndarray, repeats: int
) -> tuple[float, float]:
    """Mean accuracy on 30 % held out, and its standard error."""
    hits = []
    for split in range(repeats):
        order = np.random.default_rng(split).permutation(len(records))
        cut = int(0.7 * len(records))
        train, test = order[:cut], order[cut:]
        hits.append(make().fit(records[train], labels[train]).score(records[test], labels[test]))
    return float(np.mean(hits)), float(np.std(hits, ddof=1) / np.sqrt(repeats))


def held_out_whole(
    make: Callable[[], Any],
    records: np.ndarray,
    labels: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
    repeats: int,
) -> tuple[float, float]:
    """Mean accuracy over the same splits again and again, and its standard error by the noise."""
    hits = [
        np.mean(
            [
                make().fit(records[train], labels[train]).score(records[test], labels[test])
                for train, test in splits
            ]
        )
        for _ in range(repeats)
    ]
    return float(np.mean(hits)), float(np.std(hits, ddof=1) / np.sqrt(repeats))


class PlainMDM(PrivateMDM):
    """The same classifier with the exact means of records, not projected."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PlainMDM:
        self._domain, self.classes_ = self.ball, np.unique(y)
        self.n_features_in_ = X[0].size
        found = [
            cdp.nonprivate.frechet_mean(X[y == label], self.ball.manifold)
            for label in self.classes_
        ]
        self.means_ = np.stack([mean.value for mean in found])
        return self


class PlainRegression(TangentLogisticRegression):
    """The same steps without noise."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PlainRegression:
        self._domain, self.n_features_in_ = self.ball, X[0].size
        self.classes_, codes = np.unique(y, return_inverse=True)
        shape = (len(self.classes_), self.ball.manifold.dim + 1)
        mean = logistic.mean_gradient(self.ball, X, codes, np.arange(len(X) + 1))
        weights = logistic.descend(mean, shape, self.n_steps)
        scale, constant = logistic.features_of(self.ball)
        self.coef_, self.intercept_ = scale * weights[:, :-1], constant * weights[:, -1]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        scores = logistic.chart_coords(self.ball, X) @ self.coef_.T + self.intercept_
        return self.classes_[scores.argmax(axis=1)]


def explained(ball: cdp.Ball, records: np.ndarray, model: TangentPCA, plain: bool) -> list[float]:
    """Share of the second moment about the model's mean along its first components."""
    manifold, mean = ball.manifold, model.mean_
    logs = manifold.tangent_to_coords(manifold.log(ball.project(records), mean), mean)
    moment = logs.T @ logs / len(logs)
    rows = np.linalg.eigh(moment)[1].T[::-1] if plain else model.components_
    return [float(np.trace(rows[:k] @ moment @ rows[:k].T) / np.trace(moment)) for k in COUNTS]


def plain_inertia(ball: cdp.Ball, records: np.ndarray, clusters: int) -> float:
    """Mean squared distance from centres without noise: the best of six k-means++ starts."""
    rows = ball.enter(records)
    alone = cells.Cells(np.ones(len(rows)), np.zeros((len(rows), ball.manifold.dim)), 0.0)
    centers = cells.seeds(ball, rows, np.ones(len(rows)), alone, clusters)
    lengths = np.full(clusters, 2 * ball.radius)
    for _ in range(40):
        found = cells.table(ball, cells.Rows(rows), centers, lengths)
        share = np.maximum(found[:, -1:], 0.5 / len(rows))
        centers = cells.stepped(ball, centers, found[:, :-1] / share * lengths[:, None])
    return float((cells.distances(ball, rows, centers).min(axis=1) ** 2).mean())


def blind_centers(ball: cdp.Ball, clusters: int, seed: int) -> np.ndarray:
    """Random points of the ball, chosen without the records."""
    manifold, rng = ball.manifold, np.random.default_rng(seed)
    coords = rng.standard_normal((clusters, manifold.dim))
    lengths = ball.radius * rng.uniform(size=clusters) ** (1 / manifold.dim)
    coords *= (lengths / np.linalg.norm(coords, axis=1))[:, None]
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


def tell_inertias(name: str, ball: cdp.Ball, records: np.ndarray, clusters: int, n: int) -> None:
    """Mean squared distances of records, projected, from released centres, and standard errors."""
    print(f"{name}, {len(records)} records, K={clusters}")
    single = (ball.manifold.dist(ball.project(records), ball.center) ** 2).mean()
    print(f"  from the ball's centre {single:.4f}")
    print(f"  without noise {plain_inertia(ball, records, clusters):.4f}", flush=True)
    for guarantee in SPENT:
        for starts in ("released cells", "random points"):
            found = []
            for seed in range(n):
                init = blind_centers(ball, clusters, seed) if starts == "random points" else None
                model = PrivateKMeans(
                    clusters, ball=ball, guarantee=guarantee, init=init, coverage=False
                )
                found.append(model.fit(records).inertia_ / len(records))
            error = np.std(found, ddof=1) / np.sqrt(n)
            print(f"  {guarantee} {starts}: {np.mean(found):.4f} +- {error:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {PARTS}; by default all")
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    given.parts = given.parts or PARTS
    ball, records, labels = gestures(Path(os.environ["CURVEDP_DATA"]))
    print(f"{len(records)} private records, radius {ball.radius:.2f}")

    def told(name: str, make: Callable[[], Any]) -> None:
        mean, error = held_out(make, records, labels, given.repeats)
        print(f"{name:50s} {mean:.3f} +- {error:.3f}", flush=True)

    if "mdm" in given.parts:
        told("MDM without noise", lambda: PlainMDM(ball, None))
        for guarantee in GUARANTEES:
            for adaptive in (True, False):
                told(
                    f"MDM {guarantee} adaptive={adaptive}",
                    lambda: PrivateMDM(ball, guarantee, adaptive=adaptive, coverage=False),  # noqa: B023
                )
    if "grouped" in given.parts:
        for name, splits in whole_splits(Path(os.environ["CURVEDP_DATA"])).items():
            for guarantee in (None, cdp.GDP(0.3), cdp.GDP(1.0)):
                for adaptive in (True, False) if guarantee else (False,):
                    kind = PrivateMDM if guarantee else PlainMDM
                    mean, error = held_out_whole(
                        lambda: kind(ball, guarantee, adaptive=adaptive),  # noqa: B023
                        records,
                        labels,
                        splits,
                        max(given.repeats // 2, 2) if guarantee else 2,
                    )
                    print(
                        f"MDM, {name} out, {guarantee} adaptive={adaptive}: "
                        f"{mean:.3f} +- {error:.3f}",
                        flush=True,
                    )
    if "logistic" in given.parts:
        for steps in (30, 60, 120):
            told(
                f"logistic, {steps} steps without noise",
                lambda: PlainRegression(ball, None, n_steps=steps),  # noqa: B023
            )
            for guarantee in (*GUARANTEES[:-1], cdp.PureDP(5.0)):
                told(
                    f"logistic, {steps} steps {guarantee}",
                    lambda: TangentLogisticRegression(ball, guarantee, n_steps=steps),  # noqa: B023
                )
    if "kmeans" in given.parts:
        world, quakes = earthquakes(Path(os.environ["CURVEDP_DATA"]))
        for clusters in QUAKES:
            tell_inertias("earthquakes", world, quakes, clusters, given.repeats)
        for clusters in GESTURES:
            tell_inertias("gestures", ball, records, clusters, given.repeats)
    if "pca" in given.parts:
        for guarantee in GUARANTEES:
            for share in (0.05, 0.1, 0.25, 0.5):
                found, exact = [], []
                for _ in range(given.repeats):
                    model = TangentPCA(ball, guarantee, 5, weights=(share, 1 - share)).fit(records)
                    found.append(explained(ball, records, model, plain=False))
                    exact.append(explained(ball, records, model, plain=True))
                shown = " ".join(
                    f"{a:.3f}/{b:.3f}"
                    for a, b in zip(np.mean(found, axis=0), np.mean(exact, axis=0), strict=True)
                )
                print(f"pca {guarantee} share of the mean {share}: {shown}", flush=True)


if __name__ == "__main__":
    main()
