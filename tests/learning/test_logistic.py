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
from curvedp._labels import codes_among
from curvedp.audit import audit_release_function

pytest.importorskip("sklearn", minversion="1.6")

from chance import CONFIDENCE
from curvedp.learning import TangentLogisticRegression
from curvedp.statistics.logistic import (
    LONGEST,
    chart_coords,
    descend,
    features_of,
    gradient_noise,
)
from reference import logistic as twin

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


def mean_gradient(coords, codes, weights, ends=None, features=None):
    """The kernel, for one record in each unit if `ends` are not given."""
    ends = np.arange(len(coords) + 1) if ends is None else np.asarray(ends)
    features = features_of(BALL) if features is None else features
    codes = np.asarray(codes, dtype=np.int64)
    return _core.logistic_gradient(coords, codes, ends, weights, features, LONGEST)


def gradients(coords, codes, weights, features=None):
    """The gradient of each record, computed without the others."""
    return np.stack(
        [
            mean_gradient(coords[i : i + 1], codes[i : i + 1], weights, None, features)
            for i in range(len(coords))
        ]
    )


def change(coords, codes, weights):
    """Length by which the sum of gradients moves when record 0 is replaced by record 1."""
    found = gradients(coords, codes, weights)
    return float(np.linalg.norm(found[0] - found[1]))


def worst_case():
    """Two nearby records, sharply told apart, each with the label of the other."""
    coords = np.array([[1e-3, 0.0, 0.0], [-1e-3, 0.0, 0.0]])
    coords[:, 1] = math.sqrt(1.5**2 - 1e-6)
    weights = np.zeros((2, 4))
    weights[:, 0] = [1e6, -1e6]
    return coords, [1, 0], weights


def test_the_bound_on_replacing_a_record_is_attained():
    assert change(*worst_case()) == pytest.approx(2 * LONGEST, rel=1e-5)


def test_a_bound_5_percent_smaller_is_violated():
    assert change(*worst_case()) > 0.95 * 2 * LONGEST


@given(st.integers(0, 2**32 - 1), st.floats(-3.0, 8.0))
def test_no_pair_of_records_moves_the_gradient_further(seed, power):
    rng = np.random.default_rng(seed)
    coords = rng.standard_normal((2, 3))
    coords *= BALL.radius / np.linalg.norm(coords, axis=1, keepdims=True)
    weights = 10.0**power * rng.standard_normal((3, 4))
    assert change(coords, rng.integers(-1, 3, 2), weights) <= 2 * LONGEST * (1 + 1e-12)


def test_features_are_no_longer_than_1():
    records, _ = problem()
    far = np.concatenate([records, 1e6 * records, 1e-6 * records])
    scale, constant = features_of(BALL)
    lengths = np.hypot(scale * np.linalg.norm(chart_coords(BALL, far), axis=1), constant)
    assert 1 - 1e-9 <= lengths.max() <= 1 + 1e-9


def test_the_noise_is_that_of_the_share_and_counts_rounding_twice():
    (share, *_) = cdp.GDP(1.0).split([1.0] * 60)
    noise = gradient_noise(12, 500, 3, share)
    assert noise.sensitivity == 2 * LONGEST * 3 / 500
    assert noise.scale >= (noise.sensitivity + 2 * noise.rounding) / share.mu
    assert noise.scale == pytest.approx(2 * LONGEST * 3 / 500 * math.sqrt(60), rel=1e-6)
    release = model(1.0, coverage=False).fit(*problem(500)).release_
    assert release.scale == pytest.approx(2 * LONGEST / 500 * math.sqrt(60), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_whatever_a_gradient_is_it_counts_at_most_its_length(bad):
    coords, codes, weights = np.full((100, 6), 0.1), np.arange(100) % 3, np.eye(3, 7)
    clean = mean_gradient(coords, codes, weights)
    coords[7] = bad
    moved = np.linalg.norm(mean_gradient(coords, codes, weights) - clean)
    assert 0 < moved <= 2 * LONGEST / 100


def test_a_unit_moves_the_gradient_no_further_than_a_record():
    coords, codes, weights = worst_case()
    of_units = [
        mean_gradient(np.repeat(coords[[i]], count, axis=0), [codes[i]] * count, weights, ends)
        for i, count, ends in ((0, 30, [0, 30]), (1, 2, [0, 2]))
    ]
    assert np.linalg.norm(of_units[0] - of_units[1]) == pytest.approx(2 * LONGEST, rel=1e-5)
    assert max(np.linalg.norm(found) for found in of_units) <= LONGEST * (1 + 1e-12)


@pytest.mark.parametrize(("dim", "classes"), [(1, 1), (3, 2), (7, 5), (36, 5), (120, 3)])
def test_the_kernel_agrees_with_its_twin(dim, classes):
    rng = np.random.default_rng(dim)
    coords, codes = rng.standard_normal((300, dim)), rng.integers(-1, classes, 300)
    weights = 3.0 * rng.standard_normal((classes, dim + 1))
    for ends in (np.arange(301), np.array([0, 1, 40, 42, 300])):
        given = (coords, codes, ends, weights, (0.4, 0.3))
        for longest in (LONGEST, 0.2):
            found = _core.logistic_gradient(*given, longest)
            np.testing.assert_allclose(found, twin.mean_gradient(*given, longest), atol=1e-14)


def test_what_does_not_fit_is_refused():
    coords, codes, weights = np.ones((3, 2)), np.zeros(3, dtype=np.int64), np.ones((2, 3))
    for wrong in (
        {"codes": codes[:2]},
        {"weights": np.ones((2, 4))},
        {"ends": np.array([0, 2])},
        {"ends": np.array([0, 3, 3])},
    ):
        given = {"coords": coords, "codes": codes, "ends": np.arange(4), "weights": weights}
        with pytest.raises(ValueError, match=r"match|expected|must begin"):
            _core.logistic_gradient(*(given | wrong).values(), (1.0, 1.0), 1.0)


# ------------------------------------------------------------------ other persons' records


def undecided_records(n, weights, seed):
    """Records whose two largest scores are equal up to rounding, so that its last bit decides."""
    rng = np.random.default_rng(seed)
    across = weights[0] - weights[1]
    rows = rng.standard_normal((n, weights.shape[1]))
    rows -= np.outer(rows @ across, across) / (across @ across)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_matrix_products(features, codes, weights):
    """Gradients by way of one matrix product of all records."""
    with np.errstate(all="ignore"):
        scores = features @ weights.T
        residual = np.exp(scores - scores.max(axis=1, keepdims=True))
        residual /= residual.sum(axis=1, keepdims=True)
    residual[np.arange(len(codes)), codes] -= 1.0
    return residual[:, :, None] * features[:, None, :]


@pytest.mark.parametrize("size", [1e3, 1e9, 1e17])
def test_gradients_of_others_keep_their_bits_when_a_unit_has_more_records(size):
    """The matrix products of a library take another way for more rows; the kernel does not.

    Units of equal records: unit 0 has one more or three hundred more, all of no class, so that what
    it adds is 0, and the mean has to keep every bit.
    """
    rng = np.random.default_rng(0)
    weights = size * rng.standard_normal((5, 37))
    weights[2:] -= 10 * size
    rows = undecided_records(200, weights, seed=1)
    coords, codes = np.ascontiguousarray(rows[:, :-1]), np.zeros(200, dtype=np.int64)
    means = []
    for more in (1, 2, 17, 300):
        own = 0.1 * rng.standard_normal((more, 36))
        ends = np.concatenate([[0], more + np.arange(201)])
        labels = np.concatenate([np.full(more, -1), codes])
        together = np.ascontiguousarray(np.concatenate([own, coords]))
        means.append(mean_gradient(together, labels, weights, ends, (1.0, 0.447)))
    assert np.linalg.norm(means[0]) > 1e-3
    assert all(np.array_equal(mean, means[0]) for mean in means)


def test_a_matrix_product_of_all_records_does_not_keep_them():
    """Control, on at least one of the sizes."""
    changed = []
    for size in (1e3, 1e9, 1e17):
        rng = np.random.default_rng(0)
        weights = size * rng.standard_normal((5, 37))
        weights[2:] -= 10 * size
        rows = undecided_records(200, weights, seed=1)
        more = np.concatenate([rows, rng.standard_normal((300, 37))])
        codes = np.zeros(500, dtype=np.int64)
        alone = by_matrix_products(rows, codes[:200], weights)
        changed.append(not np.array_equal(alone, by_matrix_products(more, codes, weights)[:200]))
    if not any(changed):
        pytest.skip("this library's matrix products keep the bits of rows")


def test_a_place_among_others_changes_no_bit_of_a_gradient():
    """The others have no class and add nothing; there are so many that threads share the work."""
    rng = np.random.default_rng(4)
    weights = 1e6 * rng.standard_normal((4, 12))
    coords = rng.standard_normal((5000, 11))
    records = [0, 1, 7, 127, 128, 1023, 1024, 4999]
    for record in records:
        codes = np.full(5000, -1)
        codes[record] = 2
        alone = mean_gradient(coords[[record]], [2], weights)
        among = mean_gradient(coords, codes, weights)
        np.testing.assert_array_equal(among, alone / 5000)


@pytest.mark.parametrize("how", ["raise", "warn"])
def test_no_record_decides_what_numpy_is_told_of_underflow(how):
    """A record whose coordinates are below the normal numbers is one as any other."""
    line = cdp.Ball("euclidean:3", center=np.zeros(3), radius=1e3)
    records = np.full((60, 3), 5.0)
    records[7] = 5e-324
    with cdp.Ledger(cdp.GDP(1.0)) as ledger, np.errstate(all=how), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fitted = TangentLogisticRegression(line, cdp.GDP(1.0), classes=[0, 1], ledger=ledger)
        fitted.fit(records, np.arange(60) % 2)
    assert np.all(np.isfinite(fitted.coef_))


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
    coords, codes, weights = worst_case()
    rows = np.column_stack([coords, codes])

    def release(data):
        found = mean_gradient(np.ascontiguousarray(data[:, :-1]), data[:, -1], weights)
        noise = noise_of(weights.size, len(data), 1, claimed)
        return noise.add(found, _core.Stream.from_os())

    found = gradients(coords, codes, weights)
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


@pytest.mark.parametrize(("claimed", "power"), [(cdp.GDP(1.0), 0.25), (cdp.PureDP(4.0), 0.3)])
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

    monkeypatch.setattr("curvedp.statistics.logistic.gradient_noise", less)
    assert not fit_audit(cdp.GDP(2.0), 1000).passed


# ------------------------------------------------------------------ what it fits


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(1)
    coords, codes = rng.standard_normal((20, 3)), rng.integers(0, 3, 20)
    features = np.column_stack([0.2 * coords, np.full(20, 0.3)])
    weights = rng.standard_normal((3, 4))

    def loss(entries):
        scores = features @ entries.reshape(3, 4).T
        return np.mean(np.logaddexp.reduce(scores, axis=1) - scores[np.arange(20), codes])

    flat, step = weights.ravel(), 1e-6
    numeric = [
        (loss(flat + step * unit) - loss(flat - step * unit)) / (2 * step) for unit in np.eye(12)
    ]
    found = mean_gradient(coords, codes, weights, None, (0.2, 0.3))
    np.testing.assert_allclose(found.ravel(), numeric, atol=1e-8)


def test_many_steps_without_noise_reach_the_optimum():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 400)
    coords = np.eye(3)[codes] * 0.2 + 0.3 * rng.standard_normal((400, 3))
    coords /= np.maximum(1.0, 1.1 * np.linalg.norm(coords, axis=1, keepdims=True))
    features = np.hstack([coords, np.full((400, 1), 0.4)])
    found = descend(
        lambda weights: mean_gradient(coords, codes, weights, None, (1.0, 0.4)), (3, 4), 6_000
    )
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
    assert one.release_.doubts == ()


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
    found = gradients(np.ones((11, 3)) / 2, codes, np.zeros((3, 4)))
    assert np.all(found[10] == 0)
    assert np.all(np.linalg.norm(found[:10], axis=(1, 2)) > 0)


@pytest.mark.parametrize("wrong", [{"classes": []}, {"n_steps": 0}, {"records_per_unit": 0}])
def test_wrong_parameters_are_refused_before_anything_is_spent(wrong):
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        with pytest.raises(ValueError, match="must be at least 1"):
            model(ledger=ledger, **wrong).fit(*problem())
        assert ledger.spent is None
