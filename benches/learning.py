"""Private classifiers, tangent components and clusters, beside the same without noise.

    CURVEDP_DATA=... python benches/learning.py [--repeats 20] [--splits sessions,people]
        [mdm] [logistic] [pca] [kmeans] [regression]

Covariances of eight electrodes, five gestures (emg_covariances). The first session is public and
gives the ball, its Fréchet mean and the distance that 90 % of it keep; the other three are private.
All scores are those of records held out: 30 % of the windows, 30 % of the recordings, one session,
or one of the two people; means over the same splits (ten, ten, three, two) in each repetition, with
fresh noise, and standard errors of the noise. Clusters also of a week's earthquakes
(sphere/earthquakes_week2018.csv) with a day held out, regressions of the skulls of rats
(landmarks/rats.npz) with a fifth of the rats held out. The tables of docs/measured/learning.md are
this script's output.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.learning import (
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)
from curvedp.statistics import cells, logistic

GUARANTEES = (cdp.GDP(0.25), cdp.GDP(0.5), cdp.GDP(1.0), cdp.GDP(2.0), cdp.PureDP(1.0))
PARTS = ("mdm", "logistic", "pca", "kmeans", "regression")
KINDS = "windows,recordings,sessions,people"
COUNTS = (1, 3, 5)
#: Numbers of records to fit and to score, by what is held out.
Splits = dict[str, list[tuple[np.ndarray, np.ndarray]]]
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


def gesture_splits(folder: Path) -> Splits:
    """Splits of the private records that leave windows, recordings, sessions or people out."""
    from sklearn.model_selection import GroupShuffleSplit, LeaveOneGroupOut, ShuffleSplit

    stored = np.load(folder / "emg_covariances" / "emg_cov_8x8.npz", allow_pickle=True)
    session, segment = stored["session"].astype(str), stored["segment"]
    private = session != "mg_s1"
    session, segment = session[private], segment[private]
    rows, one = np.zeros(len(session)), LeaveOneGroupOut()
    recordings = GroupShuffleSplit(10, test_size=0.3, random_state=1)
    return {
        "windows": list(ShuffleSplit(10, test_size=0.3, random_state=1).split(rows)),
        "recordings": list(recordings.split(rows, rows, segment)),
        "sessions": list(one.split(rows, rows, session)),
        "people": list(one.split(rows, rows, [name[:2] for name in session])),
    }


def earthquakes(folder: Path) -> tuple[cdp.Ball, np.ndarray, Splits]:
    """Epicentres as unit vectors, a ball about the Pacific and its coasts, one day held out."""
    from sklearn.model_selection import LeaveOneGroupOut

    with (folder / "sphere" / "earthquakes_week2018.csv").open() as table:
        rows = list(csv.DictReader(table))
    found = directions(np.array([[float(row["lon"]), float(row["lat"])] for row in rows]))
    times = np.array([int(row["time_ms"]) for row in rows])
    day = (times.max() - times) // 86_400_000
    ball = cdp.Ball(cdp.Sphere(2), directions(np.array([-150.0, 40.0])), 1.5)
    return ball, found, {"days": list(LeaveOneGroupOut().split(found, found, day))}


def rats(folder: Path) -> tuple[cdp.Ball, np.ndarray, np.ndarray, Splits]:
    """Ball about a shape of a rat that is left out, log ages, shapes, a fifth of rats held out."""
    from sklearn.model_selection import GroupKFold

    stored = np.load(folder / "landmarks" / "rats.npz")
    space, rat = cdp.KendallPlanar(8), stored["rat"]
    shapes, ages = space.as_points(stored["landmarks"]), np.log(stored["age_days"])
    private = rat != rat[0]
    folds = list(GroupKFold(5).split(ages[private], groups=rat[private]))
    return cdp.Ball(space, shapes[0], 0.3), ages[private], shapes[private], {"rats": folds}


def directions(degrees: np.ndarray) -> np.ndarray:
    """Unit vectors of longitude and latitude."""
    lon, lat = np.moveaxis(np.radians(degrees), -1, 0)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def tell(
    name: str,
    score: Callable[[np.ndarray, np.ndarray], float | list[float]],
    splits: Splits,
    repeats: int,
) -> None:
    """Prints mean scores over the splits of each kind, with standard errors over repetitions.

    `score` fits the records with the first numbers and scores those with the second.
    """
    told = []
    for kind, pairs in splits.items():
        found = [np.mean([score(*pair) for pair in pairs], axis=0) for _ in range(repeats)]
        mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(repeats)
        shown = zip(np.atleast_1d(mean), np.atleast_1d(error), strict=True)
        told.append(f"{kind} " + ", ".join(f"{a:.4f} ({b:.4f})" for a, b in shown))
    print(f"{name}: " + "; ".join(told), flush=True)


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


def tell_components(ball: cdp.Ball, records: np.ndarray, splits: Splits, repeats: int) -> None:
    """Share of the second moment of records held out, about the released mean, by components."""
    manifold = ball.manifold

    def told(name: str, guarantee: cdp.Guarantee, share: float, plain: bool) -> None:
        def explained(train: np.ndarray, test: np.ndarray) -> list[float]:
            model = TangentPCA(
                ball,
                guarantee,
                5,
                weights=(share, 1 - share),
                mechanism="moment",
                coverage=False,
            )
            model.fit(records[train])

            def moment(rows: np.ndarray) -> np.ndarray:
                logs = manifold.log(ball.project(rows), model.mean_)
                coords = manifold.tangent_to_coords(logs, model.mean_)
                return coords.T @ coords / len(coords)

            exact = np.linalg.eigh(moment(records[train]))[1].T[::-1]
            rows, held = exact if plain else model.components_, moment(records[test])
            return [float(np.trace(rows[:k] @ held @ rows[:k].T) / np.trace(held)) for k in COUNTS]

        tell(f"components, {name}", explained, splits, repeats)

    told("without noise about a mean at GDP(2.0)", cdp.GDP(2.0), 0.1, plain=True)
    for guarantee, share in itertools.product(GUARANTEES, (0.1, 0.25, 0.5)):
        told(f"{guarantee}, share of the mean {share}", guarantee, share, plain=False)


def plain_centers(ball: cdp.Ball, records: np.ndarray, clusters: int) -> np.ndarray:
    """Centres without noise: the best of six k-means++ starts."""
    rows = ball.enter(records)
    alone = cells.Cells(np.ones(len(rows)), np.zeros((len(rows), ball.manifold.dim)), 0.0)
    centers = cells.seeds(ball, rows, np.ones(len(rows)), alone, clusters)
    lengths = np.full(clusters, 2 * ball.radius)
    for _ in range(40):
        found = cells.table(ball, cells.Rows(rows), centers, lengths)
        share = np.maximum(found[:, -1:], 0.5 / len(rows))
        centers = cells.stepped(ball, centers, found[:, :-1] / share * lengths[:, None])
    return ball.leave(centers)


def blind_centers(ball: cdp.Ball, clusters: int, seed: int) -> np.ndarray:
    """Random points of the ball, chosen without the records."""
    manifold, rng = ball.manifold, np.random.default_rng(seed)
    coords = rng.standard_normal((clusters, manifold.dim))
    lengths = ball.radius * rng.uniform(size=clusters) ** (1 / manifold.dim)
    coords *= (lengths / np.linalg.norm(coords, axis=1))[:, None]
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


def tell_inertias(
    name: str, ball: cdp.Ball, records: np.ndarray, clusters: int, splits: Splits, repeats: int
) -> None:
    """Mean squared distances of records held out, projected, from the nearest centre."""
    points = ball.project(records)

    def told(what: str, centers: Callable[[np.ndarray], np.ndarray], n: int) -> None:
        def inertia(train: np.ndarray, test: np.ndarray) -> float:
            away = ball.manifold.pairwise_dist(points[test], centers(records[train]))
            return float((away.min(axis=1) ** 2).mean())

        tell(f"{name}, K={clusters}, {what}", inertia, splits, n)

    seeds = itertools.count()

    def private(guarantee: cdp.Guarantee, blind: bool) -> Callable[[np.ndarray], np.ndarray]:
        def centers(rows: np.ndarray) -> np.ndarray:
            init = blind_centers(ball, clusters, next(seeds)) if blind else None
            how = {"ball": ball, "guarantee": guarantee, "init": init, "coverage": False}
            return PrivateKMeans(clusters, **how).fit(rows).cluster_centers_

        return centers

    told("the ball's centre", lambda _: ball.center[None], 2)
    told("without noise", lambda rows: plain_centers(ball, rows, clusters), 2)
    for guarantee in SPENT:
        told(f"{guarantee}", private(guarantee, blind=False), repeats)
        if isinstance(guarantee, cdp.GDP):
            told(f"{guarantee}, random first centres", private(guarantee, blind=True), repeats)


def tell_regressions(folder: Path, repeats: int) -> None:
    """Share of the variance of rats held out that growth curves explain."""
    ball, ages, shapes, splits = rats(folder)

    def told(name: str, fit: Callable[[np.ndarray, np.ndarray], Any], n: int) -> None:
        def explained(train: np.ndarray, test: np.ndarray) -> float:
            predicted = fit(ages[train], shapes[train]).predict(ages[test])
            residual = (ball.manifold.dist(predicted, shapes[test]) ** 2).mean()
            return 1 - residual / cdp.nonprivate.frechet_variance(shapes[test], ball.manifold)

        tell(f"regression, {name}", explained, splits, n)

    space, span = ball.manifold, (np.log(7.0), np.log(150.0))
    told("without noise", lambda x, y: cdp.nonprivate.geodesic_regression(x, y, space), 2)
    for mu in (1.0, 2.0, 4.0, 8.0):
        for robust in (False, True):
            model = cdp.GeodesicRegression(
                ball, cdp.GDP(mu), x_range=span, robust=robust, coverage=False
            )
            told(f"GDP({mu}) robust={robust}", model.fit, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {PARTS}; by default all")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--splits", default=KINDS, help=f"of gestures, by default {KINDS}")
    given = parser.parse_args()
    warnings.simplefilter("ignore", NoiseWarning)
    parts, repeats, folder = given.parts or PARTS, given.repeats, Path(os.environ["CURVEDP_DATA"])
    ball, records, labels = gestures(folder)
    splits = {kind: gesture_splits(folder)[kind] for kind in given.splits.split(",")}
    print(f"{len(records)} private records, radius {ball.radius:.2f}")

    def accuracy(name: str, make: Callable[[], Any], n: int = repeats) -> None:
        def score(train: np.ndarray, test: np.ndarray) -> float:
            model = make().fit(records[train], labels[train])
            return float(model.score(records[test], labels[test]))

        tell(name, score, splits, n)

    if "mdm" in parts:
        accuracy("MDM without noise", lambda: PlainMDM(ball, None), 2)
        for guarantee, adaptive in itertools.product(GUARANTEES, (True, False)):
            how = {"adaptive": adaptive, "coverage": False}
            accuracy(
                f"MDM {guarantee} adaptive={adaptive}",
                lambda: PrivateMDM(ball, guarantee, **how),  # noqa: B023
            )
    if "logistic" in parts:
        for steps in (15, 30, 60, 120):
            how = {"n_steps": steps, "coverage": False}
            accuracy(
                f"logistic, {steps} steps without noise",
                lambda: PlainRegression(ball, None, **how),  # noqa: B023
                2,
            )
            for guarantee in (*GUARANTEES[:-1], cdp.PureDP(5.0)):
                accuracy(
                    f"logistic, {steps} steps {guarantee}",
                    lambda: TangentLogisticRegression(ball, guarantee, **how),  # noqa: B023
                )
    if "kmeans" in parts:
        world, quakes, days = earthquakes(folder)
        for clusters in QUAKES:
            tell_inertias("earthquakes", world, quakes, clusters, days, repeats)
        for clusters in GESTURES:
            tell_inertias("gestures", ball, records, clusters, splits, repeats)
    if "pca" in parts:
        tell_components(ball, records, splits, repeats)
    if "regression" in parts:
        tell_regressions(folder, repeats)


if __name__ == "__main__":
    main()
