"""Recipes of docs/learning.md: persons with many epochs, shifted sessions, a number from a matrix.

python session_recipes.py --repeats 12

Simulated signals of eight channels: 20 persons x 100 epochs, two classes.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, cross_val_score

import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.learning import PrivateMDM

M = 8
SPACE = cdp.SPD(M)
BALL = cdp.Ball(SPACE, "identity", 2.0)
HALF = cdp.GDP(1.0).split([1, 1])[0]


def epochs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariances, classes, and persons with mixing matrices of their own."""
    persons, labels = np.repeat(np.arange(20), 100), np.arange(2000) % 2
    common = np.linalg.qr(rng.normal(size=(M, M)))[0]
    mixing = common + 0.3 * rng.normal(size=(20, M, M)) / np.sqrt(M)
    power = np.exp(0.2 * rng.normal(size=(2000, M)))
    power[np.arange(2000), labels] *= 3.0
    sources = rng.normal(size=(2000, M, 250)) * np.sqrt(power)[:, :, None]
    signals = mixing[persons] @ sources
    return signals @ signals.transpose(0, 2, 1) / 250, labels, persons


def of_persons(records: np.ndarray, labels: np.ndarray, persons: np.ndarray) -> list[float]:
    """Accuracies on new persons at GDP(1) of a record, of all of a person by both ways."""
    ways = [
        (PrivateMDM(BALL, cdp.GDP(1.0)), {}),
        (PrivateMDM(BALL, HALF, classes_per_unit=2, records_per_unit=100), {}),
        (PrivateMDM(BALL, HALF, classes_per_unit=2), {"units": persons}),
    ]
    folds = {"groups": persons, "cv": GroupKFold(5)}
    return [
        float(cross_val_score(model, records, labels, params=given, **folds).mean())
        for model, given in ways
    ]


def of_sessions(records: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Accuracies on the last of four sessions: as it is, re-centred privately and exactly."""
    session = np.arange(len(records)) // 2 % 4
    gains = np.exp(0.7 * rng.normal(size=(4, M)))[session]
    records = records * gains[:, :, None] * gains[:, None, :]
    known, wide = session < 3, cdp.Ball(SPACE, "identity", 5.0)
    means = cdp.frechet_mean(records, SPACE, cdp.GDP(1.0), groups=session).value
    exact = [cdp.nonprivate.frechet_mean(records[session == k], SPACE).value for k in range(4)]
    found = []
    for ball, own in ((wide, None), (BALL, means), (BALL, np.array(exact))):
        centred = records
        if own is not None:
            values, vectors = np.linalg.eigh(own)
            roots = (vectors / np.sqrt(values)[:, None]) @ vectors.transpose(0, 2, 1)
            centred = roots[session] @ records @ roots[session]
        model = PrivateMDM(ball, cdp.GDP(1.0)).fit(centred[known], labels[known])
        found.append(model.score(centred[~known], labels[~known]))
    return found


def of_number(records: np.ndarray, persons: np.ndarray, rng: np.random.Generator) -> list[float]:
    """R squared on new persons from three channels and all: least squares, mu = 1 and 2."""
    score = np.log(records[:, 0, 0] / records[:, 1, 1]) + 0.1 * rng.normal(size=len(records))
    train, found = persons < 15, []
    for m in (3, M):
        ball = cdp.Ball(cdp.SPD(m), "identity", 2.0)
        x = coordinates(ball, records[:, :m, :m])
        size = x.shape[1]
        flat = cdp.Ball(f"euclidean:{size + 1}", np.zeros(size + 1), 2.5)
        joint = np.column_stack([x, score])
        found.append(LinearRegression().fit(x[train], score[train]).score(x[~train], score[~train]))
        for mu in (1.0, 2.0):
            moment = cdp.log_covariance(joint[train], flat, cdp.GDP(mu))
            mean, own = moment.base_point, moment.value
            slope = np.linalg.solve(own[:-1, :-1] + 0.02 * np.eye(size), own[:-1, -1])
            found.append(r2_score(score[~train], mean[-1] + (x[~train] - mean[:-1]) @ slope))
    return found


def coordinates(ball: cdp.Ball, records: np.ndarray) -> np.ndarray:
    """Logarithms at the ball's centre, each of its own record."""
    space, center = ball.manifold, ball.center
    return space.tangent_to_coords(space.log(ball.project(records), center), center)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=12)
    rows = []
    for seed in range(parser.parse_args().repeats):
        rng = np.random.default_rng(100 + seed)
        records, labels, persons = epochs(rng)
        own = of_persons(records, labels, persons), of_sessions(records, labels, rng)
        rows.append([*own[0], *own[1], *of_number(records, persons, rng)])
    names = ["a record", "records_per_unit", "units", "not centred", "private", "exact"]
    names += [f"{m}: {way}" for m in (3, M) for way in ("least squares", "mu 1", "mu 2")]
    for name, one in zip(names, np.transpose(rows), strict=True):
        print(f"{name:<18}{np.mean(one):.3f} ± {np.std(one) / np.sqrt(len(one)):.3f}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        main()
