"""Private logistic regression: sensitivity, labels, hostile records."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp import _core
from curvedp.audit import audit_release_function

pytest.importorskip("sklearn", minversion="1.6")

from chance import CONFIDENCE
from curvedp.learning import TangentLogisticRegression
from curvedp.learning.logistic import (
    LONGEST,
    codes_among,
    descend,
    gradient_noise,
    gradients,
    means_of_units,
)

BALL = cdp.Ball("spd:2", center="identity", radius=1.5)
LABELS = ["left", "middle", "right"]


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    manifold = BALL.manifold
    coords = np.eye(3)[codes] * 0.8 - 0.3 + 0.1 * rng.standard_normal((n, 3))
    records = manifold.exp(manifold.coords_to_tangent(coords, BALL.center), BALL.center)
    return records, np.array(LABELS)[codes]


def model(mu=5.0, **options):
    return TangentLogisticRegression(BALL, cdp.GDP(mu), **options)


# ------------------------------------------------------------------ sensitivity


def change(features, codes, weights):
    """Length by which the sum of gradients moves when record 0 is replaced by record 1."""
    found = gradients(features, np.asarray(codes), weights)
    return float(np.linalg.norm(found[0] - found[1]))


def worst_case():
    """Two nearby records, sharply told apart, each with the label of the other."""
    inside = model()
    inside._domain = BALL
    coords = np.array([[1e-3, 0.0, 0.0], [-1e-3, 0.0, 0.0]])
    coords[:, 1] = math.sqrt(1.5**2 - 1e-6)
    manifold = BALL.manifold
    points = manifold.exp(manifold.coords_to_tangent(coords, BALL.center), BALL.center)
    weights = np.zeros((2, 4))
    weights[:, 0] = [1e6, -1e6]
    return inside._features(points), [1, 0], weights


def test_the_bound_on_replacing_a_record_is_attained():
    assert change(*worst_case()) == pytest.approx(2 * LONGEST, rel=1e-5)


def test_a_bound_5_percent_smaller_is_violated():
    assert change(*worst_case()) > 0.95 * 2 * LONGEST


@given(st.integers(0, 2**32 - 1), st.floats(-3.0, 8.0))
def test_no_pair_of_records_moves_the_gradient_further(seed, power):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((2, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    weights = 10.0**power * rng.standard_normal((3, 4))
    assert change(features, rng.integers(-1, 3, 2), weights) <= 2 * LONGEST * (1 + 1e-12)


def test_features_are_no_longer_than_1():
    records, _ = problem()
    inside = model()
    inside._domain = BALL
    far = BALL.project(np.concatenate([records, 1e6 * records, 1e-6 * records]))
    assert np.linalg.norm(inside._features(far), axis=1).max() <= 1 + 1e-9


def test_the_noise_is_that_of_the_share_and_counts_rounding_twice():
    (share, *_) = cdp.GDP(1.0).split([1.0] * 60)
    noise = gradient_noise(12, 500, 3, share)
    assert noise.sensitivity == 2 * LONGEST * 3 / 500
    assert noise.scale >= (noise.sensitivity + 2 * noise.rounding) / share.mu
    assert noise.scale == pytest.approx(2 * LONGEST * 3 / 500 * math.sqrt(60), rel=1e-6)
    release = model(1.0).fit(*problem(500)).release_
    assert release.scale == pytest.approx(2 * LONGEST / 500 * math.sqrt(60), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_whatever_a_gradient_is_it_counts_at_most_its_length(bad):
    rows = np.full((100, 6), 0.1)
    clean = _core.clipped_mean(rows, LONGEST)
    rows[7] = bad
    moved = np.linalg.norm(_core.clipped_mean(rows, LONGEST) - clean)
    assert moved <= 2 * LONGEST / 100


def test_a_unit_moves_the_gradient_no_further_than_a_record():
    features, codes, weights = worst_case()
    own = gradients(np.repeat(features, [30, 2], axis=0), np.repeat(codes, [30, 2]), weights)
    of_units = means_of_units(own, np.array([0, 30, 32]))
    assert np.linalg.norm(of_units[0] - of_units[1]) == pytest.approx(2 * LONGEST, rel=1e-5)
    assert np.linalg.norm(of_units, axis=1).max() <= LONGEST * (1 + 1e-12)
    # the sum over records, which a unit must not count with
    assert np.linalg.norm(own[:30].sum(axis=0)) > 20 * LONGEST


def test_a_fit_by_units_protects_them_with_the_noise_of_one_record_each():
    records, labels = problem(1200)
    persons = np.arange(1200) % 300
    named = model(seed=2).fit(records, labels, units=persons)
    assert named.release_.n == 300
    assert named.release_.assumptions == {"units-by-name", "public-classes", "seeded"}
    unnamed = model(seed=2, records_per_unit=4).fit(records, labels)
    assert named.release_.scale == pytest.approx(unnamed.release_.scale, rel=1e-9)
    in_order = np.argsort(persons, kind="stable")
    again = model(seed=2).fit(records[in_order], labels[in_order], units=persons[in_order])
    np.testing.assert_allclose(named.coef_, again.coef_, atol=1e-9)
    assert named.score(records, labels) > 0.8
    alone = model(seed=2).fit(records, labels, units=np.arange(1200))
    np.testing.assert_allclose(alone.coef_, model(seed=2).fit(records, labels).coef_, atol=1e-9)
    with pytest.raises(ValueError, match="one label for each"):
        model().fit(records, labels, units=persons[:7])


# ------------------------------------------------------------------ audits


def step_audit(claimed, noise_of, count):
    """Audit of one step at the worst weights, where one record takes the place of the other."""
    features, codes, weights = worst_case()
    rows = np.column_stack([features, codes])

    def release(data):
        found = gradients(data[:, :-1], data[:, -1].astype(np.int64), weights)
        noise = noise_of(weights.size, len(data), 1, claimed)
        return noise.add(_core.clipped_mean(found, LONGEST), _core.Stream.from_os())

    found = gradients(features, np.asarray(codes), weights)
    power = 1 if isinstance(claimed, cdp.PureDP) else 2  # of the distance in the log density

    def distance(value, mean):
        return float(np.linalg.norm(value - mean)) ** power

    return audit_release_function(
        release,
        rows[[0, 0]],
        rows[[0, 1]],
        lambda value: distance(value, found.mean(axis=0)) - distance(value, found[0]),
        n_releases=count,
        claimed=claimed,
        confidence=CONFIDENCE,
    )


@pytest.mark.parametrize(("claimed", "power"), [(cdp.GDP(1.0), 0.25), (cdp.PureDP(4.0), 0.4)])
def test_a_step_keeps_its_guarantee(claimed, power):
    result = step_audit(claimed, gradient_noise, 3000)
    assert result.passed, result
    assert result.lower_bound > power, "an audit without power proves nothing"


def test_half_the_noise_is_found_out():
    def half(size, n, moved, share):
        return gradient_noise(size, 2 * n, moved, share)

    assert not step_audit(cdp.GDP(1.0), half, 2500).passed


def fit_audit(claimed, count):
    """Audit of the whole fit: a record at the edge of a line, and its label, change."""
    line = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    data = np.array([[1.0, 1.0], [-1.0, 0.0]])
    other = np.array([[1.0, 0.0], [-1.0, 0.0]])
    model = TangentLogisticRegression(line, claimed, classes=[0, 1], n_steps=2)
    return audit_release_function(
        lambda rows: model.fit(rows[:, :1], rows[:, 1]).release_,
        data,
        other,
        lambda value: float(value[1].sum() - value[0].sum()),
        n_releases=count,
        claimed=claimed,
        confidence=CONFIDENCE,
    )


def test_the_fit_keeps_its_guarantee():
    result = fit_audit(cdp.GDP(6.0), 1000)
    assert result.passed, result
    assert result.lower_bound > 0.5, "an audit without power proves nothing"


def test_a_fit_with_a_sixth_of_the_noise_is_found_out(monkeypatch):
    def less(size, n, moved, share):
        return gradient_noise(size, 6 * n, moved, share)

    monkeypatch.setattr("curvedp.learning.logistic.gradient_noise", less)
    assert not fit_audit(cdp.GDP(2.0), 1000).passed


# ------------------------------------------------------------------ what it fits


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(1)
    features, codes = rng.standard_normal((20, 4)), rng.integers(0, 3, 20)
    weights = rng.standard_normal((3, 4))

    def loss(entries):
        scores = features @ entries.reshape(3, 4).T
        return np.mean(np.logaddexp.reduce(scores, axis=1) - scores[np.arange(20), codes])

    flat, step = weights.ravel(), 1e-6
    numeric = [
        (loss(flat + step * unit) - loss(flat - step * unit)) / (2 * step) for unit in np.eye(12)
    ]
    np.testing.assert_allclose(gradients(features, codes, weights).mean(0), numeric, atol=1e-8)


def test_many_steps_without_noise_reach_the_optimum():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 400)
    features = np.eye(3)[codes] * 0.2 + 0.3 * rng.standard_normal((400, 3))
    features = np.hstack([features, np.full((400, 1), 0.4)])
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    found = descend(features, codes, 3, 6_000, lambda rows: rows.mean(axis=0))
    exact = linear_model.LogisticRegression(C=1e8, fit_intercept=False, max_iter=10_000, tol=1e-10)
    exact.fit(features, codes)
    np.testing.assert_allclose(found - found.mean(0), exact.coef_ - exact.coef_.mean(0), atol=0.02)


def test_classes_are_told_apart_at_a_usual_budget():
    assert model(2.0, classes=LABELS).fit(*problem(2000)).score(*problem(500, seed=1)) > 0.95


@pytest.mark.parametrize(
    "guarantee", [cdp.PureDP(200.0), cdp.ApproxDP(8.0, 1e-6), cdp.ZCDP(4.0), cdp.GDP(3.0)]
)
def test_every_kind_of_guarantee_is_served(guarantee):
    fitted = TangentLogisticRegression(BALL, guarantee).fit(*problem(2000))
    assert fitted.release_.guarantee == guarantee
    assert fitted.score(*problem()) > 0.8


def test_two_classes_and_one():
    records, labels = problem()
    two = labels != "middle"
    assert model(9.0).fit(records[two], labels[two]).coef_.shape == (2, 3)
    one = model().fit(records, ["all"] * len(records))
    assert set(one.predict(records)) == {"all"}


# ------------------------------------------------------------------ private labels


@pytest.mark.parametrize(
    "odd", [None, np.nan, "unknown", 10**400, float("inf"), ["nested"], {"a": 1}, ()]
)
def test_no_label_raises_where_classes_are_given(odd):
    records, labels = problem()
    given_labels = labels.tolist()
    given_labels[5] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(classes=LABELS).fit(records, given_labels)
    assert fitted.classes_.tolist() == LABELS
    assert np.all(np.isfinite(fitted.coef_))


def test_labels_of_every_form_mean_the_same():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    classes = np.array([1, 2, 3])
    forms = [
        [3, 1, 7],
        (3, 1, 7),
        np.array([3, 1, 7]),
        np.array([[3.0], [1.0], [7.0]]),
        pandas.Series([3, 1, 7]),
        arrow.array([3, 1, 7]),
        [3, True, None],
    ]
    for form in forms:
        assert codes_among(classes, form, 3).tolist() == [2, 0, -1]
    with pytest.raises(ValueError, match="one label for each"):
        codes_among(classes, [1, 2], 3)
    with pytest.raises(ValueError, match="one label for each"):
        codes_among(classes, np.ones((3, 2)), 3)


def test_classes_that_do_not_occur_are_kept():
    records, labels = problem()
    fitted = model(classes=[*LABELS, "never"]).fit(records, labels)
    assert fitted.predict_proba(records).shape == (300, 4)
    assert fitted.coef_.shape == (4, 3)


def test_classes_from_the_labels_are_an_assumption():
    records, labels = problem()
    assert model().fit(records, labels).release_.assumptions == {"public-classes"}
    assert model(classes=LABELS).fit(records, labels).release_.assumptions == frozenset()
    assert "which labels" in model().fit(records, labels).release_.report()
    seeded = model(seed=1).fit(records, labels).release_
    assert seeded.assumptions == {"public-classes", "seeded"}
    assert isinstance(seeded.guarantee, cdp.Unproved)


def test_a_record_without_a_class_moves_nothing():
    _, labels = problem()
    codes = codes_among(np.array(LABELS), [*labels[:10], "other"], 11)
    features = np.ones((11, 4)) / 2
    found = gradients(features, codes, np.zeros((3, 4)))
    assert np.all(found[10] == 0)
    assert np.all(np.linalg.norm(found[:10], axis=1) > 0)


@pytest.mark.parametrize("wrong", [{"classes": []}, {"n_steps": 0}, {"records_per_unit": 0}])
def test_wrong_parameters_are_refused_before_anything_is_spent(wrong):
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        with pytest.raises(ValueError, match="must be at least 1"):
            model(ledger=ledger, **wrong).fit(*problem())
        assert ledger.spent is None
