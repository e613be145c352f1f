"""Five gestures from eight electrodes: what privacy costs at mu = 1 (docs/learning.md)."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp

pytest.importorskip("sklearn", minversion="1.6")

from curvedp.learning import PrivateMDM, TangentLogisticRegression, TangentPCA
from curvedp.statistics.logistic import chart_coords, descend, features_of, mean_gradient

SPLITS = 8


@pytest.fixture(scope="module")
def gestures(data_dir):
    """The ball of the public session, and the private records with their labels."""
    stored = np.load(data_dir / "emg_covariances" / "emg_cov_8x8.npz", allow_pickle=True)
    records, labels = stored["cov"].astype(np.float64), stored["gesture"].astype(str)
    public = stored["session"].astype(str) == "mg_s1"
    manifold = cdp.SPD(8)
    center = cdp.nonprivate.frechet_mean(records[public], manifold).value
    radius = float(np.quantile(manifold.dist(records[public], center), 0.9))
    return cdp.Ball(manifold, center, radius), records[~public], labels[~public]


def splits(records, labels):
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(records))
        train, test = np.split(order, [int(0.7 * len(order))])
        yield records[train], labels[train], records[test], labels[test]


@pytest.mark.slow
def test_class_means_lose_at_most_2_percent_of_the_records(gestures):
    ball, *data = gestures
    private, plain = [], []
    for train, known, test, wanted in splits(*data):
        model = PrivateMDM(ball, cdp.GDP(1.0)).fit(train, known)
        private.append(model.score(test, wanted))
        means = [
            cdp.nonprivate.frechet_mean(train[known == label], ball.manifold).value
            for label in model.classes_
        ]
        nearest = ball.manifold.pairwise_dist(test, np.array(means)).argmin(axis=1)
        plain.append(np.mean(model.classes_[nearest] == wanted))
    assert np.mean(private) > np.mean(plain) - 0.02


@pytest.mark.slow
def test_logistic_regression_loses_at_most_3_percent_of_the_records(gestures):
    ball, *data = gestures
    private, plain = [], []
    for train, known, test, wanted in splits(*data):
        model = TangentLogisticRegression(ball, cdp.GDP(1.0)).fit(train, known)
        private.append(model.score(test, wanted))
        codes = np.searchsorted(model.classes_, known)
        ends = np.arange(len(train) + 1)
        weights = descend(
            mean_gradient(ball, train, codes, ends),
            (len(model.classes_), ball.manifold.dim + 1),
            model.n_steps,
        )
        scale, constant = features_of(ball)
        scores = scale * chart_coords(ball, test) @ weights[:, :-1].T + constant * weights[:, -1]
        best = scores.argmax(axis=1)
        plain.append(np.mean(model.classes_[best] == wanted))
    assert np.mean(private) > np.mean(plain) - 0.03
    assert np.mean(plain) > 0.9


def test_three_components_explain_almost_as_much(gestures):
    ball, records, _ = gestures
    inside, lost = ball.project(records), []
    for _ in range(SPLITS):
        model = TangentPCA(ball, cdp.GDP(1.0), 3).fit(records)
        mean, manifold = model.mean_, ball.manifold
        logs = manifold.tangent_to_coords(manifold.log(inside, mean), mean)
        moment = logs.T @ logs / len(logs)
        kept = np.trace(model.components_ @ moment @ model.components_.T)
        lost.append((np.linalg.eigvalsh(moment)[-3:].sum() - kept) / np.trace(moment))
    assert np.mean(lost) < 0.02
