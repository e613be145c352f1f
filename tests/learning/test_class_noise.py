"""Classifiers say where their noise is larger than what they tell their classes apart by."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

import curvedp as cdp

pytest.importorskip("sklearn", minversion="1.6")

from curvedp.errors import NoiseWarning
from curvedp.learning import PrivateMDM, TangentLogisticRegression
from curvedp.statistics.logistic import _doubts, descend, noise_gain

BALL = cdp.Ball("spd:2", center="identity", radius=1.5)


def classes_at(places, n=100):
    """n records of each class at one point, by its first coordinate about the ball's centre."""
    manifold = BALL.manifold
    coords = np.zeros((len(places) * n, 3))
    coords[:, 0] = np.repeat(places, n)
    records = manifold.exp(manifold.coords_to_tangent(coords, BALL.center), BALL.center)
    return records, np.repeat([f"class {i}" for i in range(len(places))], n)


def warned(model, data):
    """The fitted model, and the texts of its warnings of released noise."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(*data)
    texts = [str(one.message) for one in found if issubclass(one.category, NoiseWarning)]
    return model, [text for text in texts if "separated" in text]


def first_doubted(draw):
    """The first of at most 14 draws that has a doubt, and which it was.

    Noise alone has one in .8 of releases or more, so that none of 14 has one in 2e-10.
    """
    for number in range(1, 15):
        drawn, doubts = draw()
        if doubts:
            return drawn, number
    raise AssertionError("no release has a doubt")


# ------------------------------------------------------------------ means


@pytest.mark.parametrize("adaptive", [True, False])
def test_means_within_their_noise_are_named_and_others_are_not(adaptive):
    data = classes_at([-1.2, -1.19, 1.2])
    model, texts = warned(PrivateMDM(BALL, cdp.GDP(1.0), adaptive=adaptive, seed=1), data)
    assert len(texts) == len(model.doubts_) == 1
    assert "2 of 3 classes (class 0, class 1)" in texts[0]
    assert "larger budget" in texts[0]
    assert model.doubts_[0] in " ".join(model.report().split())


def test_means_far_beyond_their_noise_are_not_doubted():
    model, texts = warned(PrivateMDM(BALL, cdp.GDP(5.0)), classes_at([-1.2, 0.0, 1.2]))
    assert texts == []
    assert model.doubts_ == ()
    assert "separated" not in model.report()


def test_equal_classes_are_usually_doubted_and_distant_ones_never():
    alike, apart = classes_at([0.1, 0.1]), classes_at([-1.0, 1.0])
    doubted = [
        [bool(warned(PrivateMDM(BALL, cdp.GDP(2.0), adaptive=False), data)[1]) for _ in range(40)]
        for data in (alike, apart)
    ]
    assert sum(doubted[0]) >= 10  # .83 of them
    assert sum(doubted[1]) == 0


def test_released_numbers_alone_decide():
    seen = set()
    for seed in range(12):
        data = classes_at([-0.2, 0.2, 0.3])
        model = PrivateMDM(BALL, cdp.GDP(0.9), adaptive=False, seed=seed).fit(*data)
        errors = [release.expected_error for release in model.releases_.values()]
        noise = np.hypot.outer(errors, errors)
        apart = BALL.manifold.pairwise_dist(model.means_, model.means_) + 1e9 * np.eye(3)
        close = (apart < np.sqrt(2) * noise).any(axis=1)
        named = ", ".join(model.classes_[close])
        assert model.doubts_ == () if not close.any() else f"({named})" in model.doubts_[0]
        seen.add(int(close.sum()))
    assert len(seen) > 1


def test_one_class_has_no_other_to_be_told_from():
    assert PrivateMDM(BALL, cdp.GDP(0.1)).fit(*classes_at([0.0])).doubts_ == ()


@pytest.mark.parametrize("kind", [PrivateMDM, TangentLogisticRegression])
def test_a_warning_made_an_error_does_not_lose_the_fit(kind):
    with warnings.catch_warnings(), cdp.Ledger(cdp.GDP(1.0)) as ledger:
        warnings.filterwarnings("error", ".*separated.*", NoiseWarning)

        def draw():
            model = kind(BALL, cdp.GDP(0.1), ledger=ledger).fit(*classes_at([0.0, 0.0]))
            text = " ".join(model.report().split())
            return text, "separated" in text

        _text, number = first_doubted(draw)
        assert len(ledger.entries) == number


# ------------------------------------------------------------------ coefficients


@pytest.mark.parametrize("n_steps", [1, 2, 5, 60])
def test_the_noise_of_coefficients_is_that_of_the_steps_on_a_flat_loss(n_steps):
    impulses = iter(np.eye(n_steps)[:, None])
    moved = descend(lambda _: next(impulses), (1, n_steps), n_steps)
    assert noise_gain(n_steps) == pytest.approx(np.linalg.norm(moved), rel=1e-12)


@pytest.mark.parametrize("budget", [cdp.GDP(0.05), cdp.PureDP(0.1)])
def test_coefficients_of_noise_are_doubted(budget):
    def draw():
        found = warned(TangentLogisticRegression(BALL, budget), classes_at([-1.0, 1.0]))
        return found, found[1]

    (model, texts), _number = first_doubted(draw)
    assert len(texts) == len(model.release_.doubts) == 1
    assert "larger budget" in texts[0]
    assert model.release_.doubts[0] in " ".join(model.report().split())
    stored = cdp.Release.from_json(model.release_.to_json())
    assert stored.doubts == model.release_.doubts


@pytest.mark.parametrize("length", [0.1, 1.0, 1.3, 1.41])
def test_what_a_doubt_calls_larger_is_larger(length):
    coef = np.array([[1.0, 0.0], [-1.0, 0.0]]) / np.sqrt(2.0)  # of length 1 about its mean
    (doubt,) = _doubts(length * coef, 1.0 / np.sqrt(2.0))  # beside noise of length 1
    noise, learned, found = map(float, re.findall(r"\d+\.?\d*(?:e-?\d+)?", doubt))
    assert (noise, found) == (1.0, length)
    assert learned < noise
    assert learned == pytest.approx(math.sqrt(max(length**2 - 1.0, 0.0)), rel=1e-2)
    assert _doubts(1.42 * coef, 1.0 / np.sqrt(2.0)) == ()


@pytest.mark.parametrize("budget", [cdp.GDP(3.0), cdp.PureDP(300.0)])
def test_coefficients_that_learned_more_are_not(budget):
    data = classes_at([-1.0, 1.0], n=1000)
    model, texts = warned(TangentLogisticRegression(BALL, budget), data)
    assert texts == []
    assert model.release_.doubts == ()


def test_groups_are_counted_in_one_warning():
    (few, few_labels), (many, many_labels) = classes_at([-1, 1], 10), classes_at([-1, 1], 3000)
    records, labels = np.concatenate([few, many]), np.concatenate([few_labels, many_labels])
    options = {"classes": ["class 0", "class 1"], "groups": np.repeat(["few", "many"], [20, 6000])}

    def draw():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = cdp.tangent_logistic(records, labels, BALL, cdp.GDP(1.0), **options)
        assert not found["many"].doubts
        return [str(own.message) for own in told], found["few"].doubts

    texts, _number = first_doubted(draw)
    assert sum("(1 of 2 groups)" in text for text in texts) == 1


def test_no_budget_is_too_small_for_a_doubt():
    def draw():
        model, texts = warned(
            TangentLogisticRegression(BALL, cdp.GDP(1e-90)), classes_at([-1.0, 1.0], n=2)
        )
        assert len(texts) == len(model.release_.doubts) <= 1
        return model, texts

    first_doubted(draw)


# ------------------------------------------------------------------ gestures


@pytest.mark.parametrize("kind", [PrivateMDM, TangentLogisticRegression])
def test_gestures_are_doubted_where_privacy_costs_a_tenth(kind, data_dir):
    """Of 300 records at mu = .3, not of 2610 at 1: .3 and .02 of the accuracy (docs/learning)."""
    with np.load(data_dir / "emg_covariances" / "emg_cov_8x8.npz", allow_pickle=True) as stored:
        records, labels = stored["cov"].astype(np.float64), stored["gesture"].astype(str)
        public = stored["session"].astype(str) == "mg_s1"
    center = cdp.nonprivate.frechet_mean(records[public], cdp.SPD(8)).value
    ball = cdp.Ball(cdp.SPD(8), center, 5.0)
    records, labels = records[~public], labels[~public]
    few = np.random.default_rng(0).permutation(len(records))[:300]
    assert warned(kind(ball, cdp.GDP(0.3)), (records[few], labels[few]))[1]
    assert not warned(kind(ball, cdp.GDP(1.0)), (records, labels))[1]
