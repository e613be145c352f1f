"""What the estimators of curvedp.learning share: budgets, copies, searches, hostile records."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, ConversionError, LedgerError, SecretError

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from curvedp.learning import (
    FrechetMean,
    GeodesicRegression,
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)

BALL = cdp.Ball("spd:2", center="identity", radius=1.5)
KINDS = [FrechetMean, PrivateKMeans, PrivateMDM, TangentLogisticRegression, TangentPCA]
each = pytest.mark.parametrize("kind", KINDS)
transformers = pytest.mark.parametrize("kind", [FrechetMean, PrivateKMeans, PrivateMDM, TangentPCA])
classifiers = pytest.mark.parametrize("kind", [PrivateMDM, TangentLogisticRegression])


def made(kind, ball, guarantee, **options):
    if kind is PrivateKMeans:
        return PrivateKMeans(3, ball=ball, guarantee=guarantee, **options)
    return kind(ball, guarantee, **options)


def applied(model, records):
    """What a fitted model says of records."""
    return (model.predict_proba if hasattr(model, "predict_proba") else model.transform)(records)


def points(coords, ball=BALL):
    manifold = ball.manifold
    return manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)


def gestures(n=300, seed=0, spread=0.15):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    coords = 0.8 * np.eye(3)[codes] - 0.3 + spread * rng.standard_normal((n, 3))
    return points(coords), np.array(["left", "middle", "right"])[codes]


def releases_of(model):
    found = model.releases_ if hasattr(model, "releases_") else {"all": model.release_}
    return list(found.values())


def public_part(model):
    """All that a fitted model holds of the records."""
    return [release.value for release in releases_of(model)]


# ------------------------------------------------------------------ budgets


@each
def test_a_fit_is_charged_once_and_every_further_one_again(kind):
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        model = made(kind, BALL, cdp.GDP(0.6), ledger=ledger)
        model.fit(*gestures())
        assert len(ledger.entries) == 1
        assert ledger.spent == cdp.GDP(0.6)
        clone(model).fit(*gestures())
        assert ledger.spent.mu == pytest.approx(0.6 * math.sqrt(2))
        before = public_part(model)
        with pytest.raises(cdp.BudgetError):
            model.fit(*gestures())
        assert len(ledger.entries) == 2
        np.testing.assert_array_equal(public_part(model)[0], before[0])


@each
def test_releases_carry_the_guarantee(kind):
    model = made(kind, BALL, cdp.GDP(0.7)).fit(*gestures())
    assert {release.guarantee for release in releases_of(model)} == {cdp.GDP(0.7)}


@each
def test_a_fit_reports_what_it_released(kind):
    model = made(kind, BALL, cdp.GDP(0.7)).fit(*gestures())
    assert "0.7" in model.report()
    assert model.report().startswith("Release")
    assert all(line in model.report() for line in model.statement.lines())
    with pytest.raises(NotFittedError):
        made(kind, BALL, cdp.GDP(0.7)).report()


def test_a_report_of_means_has_a_line_for_each_class():
    report = PrivateMDM(BALL, cdp.GDP(0.7)).fit(*gestures()).report()
    assert all(f"\n{label} " in report for label in ("left", "middle", "right"))


def test_a_person_in_several_classes_is_paid_for():
    with cdp.Ledger(cdp.GDP(2.0)) as ledger:
        model = PrivateMDM(BALL, cdp.GDP(0.5), classes_per_unit=3, ledger=ledger)
        model.fit(*gestures())
        assert ledger.spent.mu == pytest.approx(0.5 * math.sqrt(3))
        assert model.guarantee_.mu == pytest.approx(0.5 * math.sqrt(3))
    records, labels = gestures()
    persons = np.arange(len(labels)) // 10
    with pytest.raises(ValueError, match="classes_per_unit"):
        PrivateMDM(BALL, cdp.GDP(0.5)).fit(records, labels, units=persons)
    named = PrivateMDM(BALL, cdp.GDP(0.5), classes_per_unit=3, adaptive=False)
    release = named.fit(records, labels, units=persons).releases_["left"]
    assert release.n == 30
    assert "units-by-name" in release.assumptions


@each
def test_more_records_of_a_person_need_more_noise(kind):
    """Exactly twice as much about one mean; each fit has another: medians of five."""
    scales = [
        np.median(
            [
                releases_of(made(kind, BALL, cdp.GDP(1.0), records_per_unit=k).fit(*gestures()))[
                    0
                ].sensitivity
                for _ in range(5)
            ]
        )
        for k in (1, 2)
    ]
    assert scales[1] > 1.5 * scales[0]


@each
def test_a_seed_reproduces_and_promises_nothing(kind):
    one, two, other = (made(kind, BALL, cdp.GDP(1.0), seed=k).fit(*gestures()) for k in (3, 3, 4))
    for a, b, c in zip(public_part(one), public_part(two), public_part(other), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
    assert all(isinstance(release.guarantee, cdp.Unproved) for release in releases_of(one))
    with cdp.Ledger(cdp.GDP(5.0)) as ledger, pytest.raises(ConversionError):
        made(kind, BALL, cdp.GDP(1.0), seed=3, ledger=ledger).fit(*gestures())


# ------------------------------------------------------------------ hostile records


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308, 0.0])
def test_a_record_that_is_no_point_counts_as_the_centre(kind, bad):
    records, labels = gestures()
    hostile, centred = records.copy(), records.copy()
    hostile[5] = bad
    centred[5] = BALL.project(hostile[5])
    if not np.isfinite(bad) or bad == 0.0:
        np.testing.assert_array_equal(centred[5], BALL.center)
    # the stages of an adaptive mean have centres of their own
    options = {"seed": 0, "adaptive": False} if kind is PrivateMDM else {"seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = made(kind, BALL, cdp.GDP(2.0), **options).fit(hostile, labels)
        found = applied(model, hostile)
    assert np.all(np.isfinite(found))
    twin = made(kind, BALL, cdp.GDP(2.0), **options).fit(centred, labels)
    for a, b in zip(public_part(model), public_part(twin), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 0.0])
def test_no_record_raises_in_adaptive_means(bad):
    records, labels = gestures()
    records[5] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateMDM(BALL, cdp.GDP(2.0)).fit(records, labels)
        assert np.all(np.isfinite(model.transform(records)))


@each
def test_records_come_in_all_forms(kind):
    records, labels = gestures()
    upper = np.triu_indices(2)
    whole = made(kind, BALL, cdp.GDP(2.0), seed=0).fit(records, labels)
    for form in (records.reshape(-1, 4), records[:, *upper], records.tolist()):
        other = made(kind, BALL, cdp.GDP(2.0), seed=0).fit(form, labels)
        np.testing.assert_array_equal(public_part(other)[0], public_part(whole)[0])


# ------------------------------------------------------------------ scikit-learn's conventions


@each
def test_nothing_works_before_fit(kind):
    model = made(kind, BALL, cdp.GDP(1.0))
    for name in ("transform", "predict", "predict_proba", "inverse_transform"):
        if hasattr(model, name):
            with pytest.raises(NotFittedError):
                getattr(model, name)(gestures()[0])


@each
def test_parts_of_ball_and_guarantee_are_parameters(kind):
    model = made(kind, BALL, cdp.GDP(1.0))
    assert model.get_params()["ball__radius"] == 1.5
    assert model.get_params()["guarantee__mu"] == 1.0
    assert "ball__radius" not in model.get_params(deep=False)
    model.set_params(ball__radius=0.5, guarantee__mu=2.0, seed=1)
    assert (model.ball.radius, model.guarantee, model.seed) == (0.5, cdp.GDP(2.0), 1)
    assert model.ball.manifold == BALL.manifold
    assert BALL.radius == 1.5
    model.set_params(guarantee=cdp.ApproxDP(1.0, 1e-6), guarantee__epsilon=2.0)
    assert model.guarantee == cdp.ApproxDP(2.0, 1e-6)
    for wrong in ({"guarantee__mu": 1.0}, {"ball__size": 1.0}, {"radius": 1.0}):
        with pytest.raises(ValueError, match="Invalid parameter"):
            model.set_params(**wrong)


@classifiers
def test_a_search_over_budget_and_radius_pays_for_every_fit(kind):
    with cdp.Ledger(cdp.GDP(20.0)) as ledger:
        grid = {"guarantee__mu": [0.5, 2.0], "ball__radius": [1.0, 1.5]}
        search = GridSearchCV(
            made(kind, BALL, cdp.GDP(1.0), ledger=ledger), grid, cv=KFold(3), error_score="raise"
        )
        search.fit(*gestures())
        # four candidates, three folds, one refit
        assert len(ledger.entries) == 13
        assert search.best_estimator_.ledger is ledger
        assert search.best_estimator_.guarantee.mu == search.best_params_["guarantee__mu"]


@classifiers
def test_folds_each_cost_the_guarantee(kind):
    with cdp.Ledger(cdp.GDP(10.0)) as ledger:
        scores = cross_val_score(
            made(kind, BALL, cdp.GDP(2.0), ledger=ledger), *gestures(), cv=KFold(4)
        )
        assert ledger.spent.mu == pytest.approx(2.0 * math.sqrt(4))
    assert scores.mean() > 0.8


def test_pipelines_work_from_records_to_labels():
    square = FunctionTransformer(lambda X: X)
    records, labels = gestures()
    line = make_pipeline(square, PrivateMDM(BALL, cdp.GDP(2.0)))
    assert line.fit(records, labels).score(records, labels) > 0.9
    assert line.set_params(privatemdm__guarantee__mu=1.0)[-1].guarantee == cdp.GDP(1.0)
    from sklearn.linear_model import LogisticRegression

    both = make_pipeline(TangentPCA(BALL, cdp.GDP(2.0), 2), LogisticRegression())
    assert both.fit(records, labels).predict(records).shape == (300,)


@transformers
def test_columns_have_names(kind):
    pandas = pytest.importorskip("pandas")
    records, labels = gestures()
    model = made(kind, BALL, cdp.GDP(1.0)).set_output(transform="pandas")
    table = model.fit(records, labels).transform(records)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == [f"{kind.__name__.lower()}{k}" for k in range(3)]
    if hasattr(model, "predict"):
        assert model.predict(records).shape == (300,)


@each
def test_tables_keep_the_names_of_their_columns(kind):
    pandas = pytest.importorskip("pandas")
    records, labels = gestures()
    table = pandas.DataFrame(records.reshape(-1, 4), columns=list("abcd"))
    model = made(kind, BALL, cdp.GDP(1.0)).fit(table, labels)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names should match"):
        applied(model, table[list("dcba")])


@each
def test_tags_say_matrices_missing_values_and_noise(kind):
    from sklearn.utils import get_tags

    tags = get_tags(made(kind, BALL, cdp.GDP(1.0)))
    assert tags.input_tags.three_d_array
    assert tags.input_tags.allow_nan
    assert tags.non_deterministic
    types = {TangentPCA: None, FrechetMean: None, PrivateKMeans: "clusterer"}
    assert tags.estimator_type == types.get(kind, "classifier")
    flat = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    assert not get_tags(made(kind, flat, cdp.GDP(1.0), seed=0)).input_tags.three_d_array


@each
def test_a_fitted_model_can_be_stored_and_shown(kind):
    model = made(kind, BALL, cdp.GDP(1.0)).fit(*gestures())
    twin = pickle.loads(pickle.dumps(model))
    for a, b in zip(public_part(model), public_part(twin), strict=True):
        np.testing.assert_array_equal(a, b)
    assert kind.__name__ in model._repr_html_()
    assert repr(model).startswith(kind.__name__)


@each
def test_a_stored_model_keeps_its_account_closed_and_names_no_place(kind, tmp_path):
    records, labels = gestures()
    on_disk = cdp.Ledger(cdp.GDP(3.0), path=tmp_path / "study", unit="person")
    for ledger in (on_disk, cdp.Ledger(cdp.GDP(3.0))):
        model = made(kind, BALL, cdp.GDP(1.0), ledger=ledger).fit(records, labels)
        stored = pickle.dumps(model)
        assert str(tmp_path).encode() not in stored
        for twin in (pickle.loads(stored), copy.deepcopy(model), pickle.loads(stored)):
            twin = pickle.loads(pickle.dumps(twin))
            np.testing.assert_array_equal(applied(twin, records), applied(model, records))
            assert (twin.ledger.spent, twin.ledger.unit) == (ledger.spent, ledger.unit)
            for again in (twin, clone(twin)):
                with pytest.raises(LedgerError, match="set_params"):
                    again.fit(records, labels)
        assert ledger.spent == cdp.GDP(1.0)
        twin.set_params(ledger=ledger).fit(records, labels)
        assert ledger.spent.mu == pytest.approx(math.sqrt(2.0))
        with contextlib.suppress(LedgerError):  # control: not fitted, it shares the account
            assert pickle.loads(pickle.dumps(clone(model))).ledger.path == ledger.path
            assert ledger is on_disk


@each
def test_a_search_beyond_its_budget_is_told_what_each_fit_may_take(kind):
    records, labels = gestures()
    candidates = {"ball__radius": [1.0, 1.5]}
    for split in (False, True):
        own = cdp.GDP(1.0).split([1] * (2 * 3 + 1))[0] if split else cdp.GDP(0.5)
        with cdp.Ledger(cdp.GDP(1.0)) as ledger, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = made(kind, BALL, own, ledger=ledger)
            search = GridSearchCV(model, candidates, cv=KFold(3), scoring=lambda *_: 0.0)
            if split:
                search.fit(records, labels)
            else:
                with pytest.raises(BudgetError):
                    search.fit(records, labels)
        texts = " ".join(str(one.message) for one in told if "Failed" in one.category.__name__)
        assert ("budget.split([1] * (k * m + 1))[0]" in texts) == (not split)


@each
def test_a_fit_says_what_it_promises_and_that_no_search_is_covered(kind):
    model = made(kind, BALL, cdp.GDP(1.0))
    assert not hasattr(model, "guarantee_")
    model.fit(*gestures())
    assert model.guarantee_ == cdp.GDP(1.0)
    assert f"{kind.__name__} (" in model.document().splitlines()[0]
    assert model.statement.assuming.endswith("its choice has no guarantee.")
    for text in (model.report(), model.document(), str(model.statement)):
        assert "Where a search chose parameters by scores" in " ".join(text.split())
    alone = releases_of(model)[0].report()  # control: only of estimators
    assert "a search" not in " ".join(alone.split())


def test_a_changed_parameter_does_not_change_a_fitted_model():
    records, labels = gestures()
    model = PrivateMDM(BALL, cdp.GDP(1.0)).fit(records, labels)
    before = model.transform(records)
    np.testing.assert_array_equal(model.set_params(ball__radius=0.1).transform(records), before)


def test_without_scikit_learn_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import curvedp\n"
        "try:\n    import curvedp.learning\n"
        "except curvedp.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'curvedp[sklearn]'" in done.stdout


# ------------------------------------------------------------------ class means


def test_with_a_huge_budget_it_is_the_classifier_of_pyriemann():
    classification = pytest.importorskip("pyriemann.classification")
    records, labels = gestures(spread=0.4)
    wide = cdp.Ball("spd:2", center="identity", radius=6.0)
    model = PrivateMDM(wide, cdp.GDP(1e5), adaptive=False).fit(records, labels)
    plain = classification.MDM(metric="riemann").fit(records, labels)
    further, _ = gestures(seed=1, spread=0.4)
    np.testing.assert_allclose(model.means_, plain.covmeans_, atol=1e-5)
    np.testing.assert_allclose(model.transform(further), plain.transform(further), atol=1e-5)
    np.testing.assert_allclose(
        model.predict_proba(further), plain.predict_proba(further), atol=1e-5
    )
    assert model.predict(further).tolist() == plain.predict(further).tolist()


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("classes", [["b", "a", "c"], [2, 0, 1], [True, False], [1.0, -1.0]])
def test_means_stand_in_the_order_of_the_labels(adaptive, classes):
    number = np.arange(300) % len(classes)
    coords = np.zeros((300, 3))
    coords[:, 0] = 0.6 * number
    model = PrivateMDM(BALL, cdp.GDP(50.0), adaptive=adaptive)
    model.fit(points(coords), np.array(classes)[number])
    assert model.classes_.tolist() == sorted(classes)
    for place, label in enumerate(model.classes_.tolist()):
        np.testing.assert_array_equal(model.means_[place], model.releases_[label].value)
        exact = points(np.array([[0.6 * classes.index(label), 0.0, 0.0]]))[0]
        assert BALL.manifold.dist(model.means_[place], exact) < 0.1


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_means_are_those_of_the_functions(adaptive):
    records, labels = gestures()
    model = PrivateMDM(BALL, cdp.GDP(1.0), adaptive=adaptive, seed=5).fit(records, labels)
    release = cdp.adaptive_mean if adaptive else cdp.frechet_mean
    expected = release(records, BALL, cdp.GDP(1.0), groups=labels, seed=5)
    for label in ("left", "middle", "right"):
        np.testing.assert_array_equal(model.releases_[label].value, expected[label].value)


# ------------------------------------------------------------------ principal components


def ellipse(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return points(rng.standard_normal((n, 3)) * [0.4, 0.2, 0.05] + [0.1, 0.0, 0.0])


def test_components_are_those_without_noise_at_a_large_budget():
    records = ellipse()
    model = TangentPCA(BALL, cdp.GDP(1e4)).fit(records)
    mean, manifold = model.mean_, BALL.manifold
    logs = manifold.tangent_to_coords(manifold.log(BALL.project(records), mean), mean)
    values, vectors = np.linalg.eigh(logs.T @ logs / len(logs))
    np.testing.assert_allclose(model.explained_variance_, values[::-1], atol=1e-4)
    np.testing.assert_allclose(np.abs(model.components_ @ vectors[:, ::-1]), np.eye(3), atol=1e-2)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0)
    assert np.all(model.components_[range(3), np.abs(model.components_).argmax(1)] > 0)
    square = np.mean(model.transform(records) ** 2, axis=0)
    np.testing.assert_allclose(square, model.explained_variance_, atol=1e-4)


def test_all_components_give_the_records_back_and_fewer_the_nearest():
    records = ellipse(200)
    model = TangentPCA(BALL, cdp.GDP(100.0)).fit(records)
    back = model.inverse_transform(model.transform(records))
    np.testing.assert_allclose(back, BALL.project(records), atol=1e-9)
    few = TangentPCA(BALL, cdp.GDP(100.0), 2, seed=1).fit(records)
    coords = few.transform(records)
    np.testing.assert_allclose(few.transform(few.inverse_transform(coords)), coords, atol=1e-5)


def test_the_budget_is_split_as_the_covariance_splits_it():
    model = TangentPCA(BALL, cdp.GDP(1.0), weights=(0.1, 0.9), seed=2).fit(ellipse())
    expected = cdp.log_covariance(ellipse(), BALL, cdp.GDP(1.0), weights=(0.1, 0.9), seed=2)
    assert model.release_ == expected
    np.testing.assert_array_equal(model.mean_, expected.parts[0].value)


def test_variances_of_noise_alone_are_not_negative():
    with pytest.warns(cdp.errors.NoiseWarning):
        model = TangentPCA(BALL, cdp.GDP(0.01)).fit(ellipse(20))
    assert np.all(model.explained_variance_ >= 0)
    assert np.all(np.isfinite(model.explained_variance_ratio_))


@pytest.mark.parametrize("wrong", [0, 4, -1])
def test_the_number_of_components_is_at_most_the_dimension(wrong):
    with (
        cdp.Ledger(cdp.GDP(1.0)) as ledger,
        pytest.raises(ValueError, match="n_components must be at"),
    ):
        TangentPCA(BALL, cdp.GDP(1.0), wrong, ledger=ledger).fit(ellipse())
    assert ledger.spent is None


@each
def test_a_refused_fit_leaves_the_fitted_model_as_it_was(kind):
    records, labels = gestures(60)
    with cdp.Ledger(cdp.GDP(3.0)) as ledger:
        model = made(kind, BALL, cdp.GDP(3.0), ledger=ledger).fit(records, labels)
        before = applied(model, records)
        model.set_params(ball=cdp.Ball("euclidean:3", center=np.zeros(3), radius=0.1))
        with pytest.raises(BudgetError):
            model.fit(np.zeros((60, 3)), labels)
        fresh = made(kind, BALL, cdp.GDP(3.0), ledger=ledger)
        with pytest.raises(BudgetError):
            fresh.fit(records, labels)
    np.testing.assert_array_equal(applied(model, records), before)
    assert model.n_features_in_ == 4
    with pytest.raises(NotFittedError):
        applied(fresh, records)
    assert not hasattr(fresh, "n_features_in_")


# ------------------------------------------------------------------ secrets


@each
def test_a_secret_gives_a_release_again_and_serves_its_records_alone(kind, tmp_path):
    records, labels = gestures()
    cdp.NoiseSecret.create(tmp_path / "secret")
    secret = cdp.NoiseSecret.load(tmp_path / "secret")
    model = made(kind, BALL, cdp.GDP(1.0), secret=secret).fit(records, labels)
    twin = clone(model)
    assert twin.secret is secret
    for a, b in zip(public_part(model), public_part(twin.fit(records, labels)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert {release.guarantee for release in releases_of(model)} == {cdp.GDP(1.0)}
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        twin.set_params(ledger=ledger)
        with pytest.raises(SecretError, match="served other data"):
            twin.fit(records[:-1], labels[:-1])
        assert ledger.spent is None
    other = made(kind, BALL, cdp.GDP(1.0), secret=cdp.NoiseSecret(bytes(32)))
    changed = public_part(other.fit(records, labels))
    assert not any(map(np.array_equal, changed, public_part(model)))


@each
def test_a_secret_is_not_stored_shown_or_used_for_folds(kind):
    records, labels = gestures()
    secret = cdp.NoiseSecret(bytes(range(32)))
    model = made(kind, BALL, cdp.GDP(1.0), secret=secret).fit(records, labels)
    with pytest.raises(SecretError, match="not copied"):
        pickle.dumps(model)
    for shown in (repr(model), model._repr_html_()):
        assert bytes(range(32)).hex() not in shown
        assert "NoiseSecret" in shown
    if hasattr(model, "score") and kind is not TangentPCA:
        with pytest.raises(SecretError):
            cross_val_score(model, records, labels, cv=KFold(3), error_score="raise")
    pickle.dumps(model.set_params(secret=None))


# ------------------------------------------------------------------ means and regressions


def test_an_estimator_of_covariates_knows_their_number():
    line = cdp.Ball("euclidean:1", center=[0.0], radius=2.0)
    x = np.linspace(0.0, 1.0, 60)
    one = GeodesicRegression(line, cdp.GDP(5.0), x_range=(0.0, 1.0))
    for X in (x, x[:, None], x.tolist()):
        assert one.fit(X, x[:, None]).n_features_in_ == 1
        assert one.predict(X[:4]).shape == (4, 1)
    ranges = ((0.0, 1.0), (0.0, 1.0))
    two = GeodesicRegression(line, cdp.GDP(5.0), x_range=ranges)
    two.fit(np.column_stack([x, x**2]), x[:, None])
    assert two.n_features_in_ == 2
    with pytest.raises(ValueError, match="expecting 2 features"):
        two.predict(np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, q\)"):
        one.predict(0.5)
    with pytest.raises(NotFittedError):
        clone(one).predict(x)


def test_conformal_means_are_those_of_the_function():
    records, guarantee = gestures()[0], cdp.PureDP(2.0)
    model = FrechetMean(BALL, guarantee, conformal=True, seed=4).fit(records)
    release = cdp.conformal_mean(records, BALL, guarantee, seed=4)
    np.testing.assert_array_equal(model.estimate_, release.value)
    assert clone(model).conformal
    for wrong in ({"adaptive": True}, {"mechanism": "tangent-gaussian"}):
        with pytest.raises(ValueError, match="mechanism of its own"):
            FrechetMean(BALL, guarantee, conformal=True, **wrong).fit(records)


def test_a_mean_of_a_product_of_manifolds_is_served_and_others_are_refused():
    pair = cdp.ProductBall(BALL, cdp.Ball("euclidean:1", [0.0], 1.0))
    records = pair.manifold.join([gestures()[0], np.zeros((300, 1))])
    mean = FrechetMean(pair, cdp.GDP(2.0)).fit(records)
    coords = mean.transform(records)
    assert coords.shape == (300, 4)
    np.testing.assert_allclose(mean.inverse_transform(coords), records, atol=1e-9)
    assert "ball__radius" not in mean.get_params()
    with pytest.raises(TypeError, match="product"):
        PrivateKMeans(3, ball=pair, guarantee=cdp.GDP(2.0)).fit(records)


def test_names_that_need_scikit_learn_say_so_and_a_star_import_does_without():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from curvedp import *\n"
        "import curvedp\n"
        "for name in ('FrechetMean', 'GeodesicRegression'):\n"
        "    assert name in dir(curvedp)\n"
        "    try:\n        getattr(curvedp, name)\n"
        "    except curvedp.MissingExtraError as error:\n        print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'curvedp[sklearn]'") == 2
