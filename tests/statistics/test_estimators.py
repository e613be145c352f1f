"""Estimators in scikit-learn's hands: no copy of a ledger, none lost, every fit paid for."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp.statistics.call import CallOptions

pytest.importorskip("sklearn", minversion="1.6")

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
LINE = cdp.Ball("euclidean:1", center=[0.0], radius=2.0)


def directions(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return BALL.project(BALL.manifold.project(BALL.center + 0.1 * rng.standard_normal((n, 3))))


def line(n=60):
    x = np.linspace(0.0, 1.0, n)
    return x[:, None], 2 * x[:, None] - 1


def embedding(ledger, mu):
    return cdp.PrivateMail(2, guarantee=cdp.GDP(mu), ledger=ledger)


def regression(ledger, mu):
    return cdp.GeodesicRegression(
        LINE, cdp.GDP(mu), x_range=(0.0, 1.0), tau=0.5, v_max=3.0, ledger=ledger
    )


def labelled_rows():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 30)
    return np.eye(3)[labels] + 0.1 * rng.standard_normal((60, 3)), labels


#: Estimator from a ledger and mu, and data to fit it to.
ESTIMATORS = {
    "FrechetMean": (
        lambda ledger, mu: cdp.FrechetMean(BALL, cdp.GDP(mu), ledger=ledger),
        lambda: (directions(), None),
    ),
    "GeodesicRegression": (regression, line),
    "PrivateMail": (embedding, labelled_rows),
}
each = pytest.mark.parametrize(("build", "data"), ESTIMATORS.values(), ids=ESTIMATORS)


@each
def test_a_clone_spends_from_the_same_ledger(build, data):
    base = pytest.importorskip("sklearn.base")
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        estimator = build(ledger, 0.6)
        twin = base.clone(estimator)
        assert twin is not estimator
        assert twin.ledger is ledger
        assert not hasattr(twin.fit(*data()), "no such attribute")
        assert not hasattr(estimator, "release_")
        estimator.fit(*data())
        assert ledger.spent.mu == pytest.approx(0.6 * np.sqrt(2))
        with pytest.raises(cdp.BudgetError):
            base.clone(twin).fit(*data())
        assert len(ledger.entries) == 2


@each
def test_an_ordinary_copy_of_a_ledger_in_memory_is_refused(build, data):
    estimator = build(cdp.Ledger(cdp.GDP(1.0)), 0.6)
    with pytest.raises(RuntimeError, match="spend its budget twice"):
        copy.deepcopy(estimator)
    with pytest.raises(RuntimeError, match="spend its budget twice"):
        pickle.dumps(estimator)


@each
def test_a_ledger_in_a_file_survives_a_process_boundary(build, data, tmp_path):
    path = tmp_path / "ledger.sqlite"
    estimator = build(cdp.Ledger(cdp.GDP(1.0), path=path), 0.6)
    twin = pickle.loads(pickle.dumps(estimator))
    twin.fit(*data())
    estimator.fit(*data())
    with pytest.raises(cdp.BudgetError):
        twin.fit(*data())
    assert estimator.ledger.spent.mu == pytest.approx(0.6 * np.sqrt(2))


@each
def test_a_fitted_estimator_can_be_stored(build, data):
    estimator = build(None, 0.6).fit(*data())
    twin = pickle.loads(pickle.dumps(estimator))
    assert twin.release_ == estimator.release_


@each
def test_parameters_are_those_of_the_constructor(build, data):
    estimator = build(None, 0.6)
    parameters = estimator.get_params(deep=False)
    assert set(parameters) == set(inspect.signature(type(estimator)).parameters)
    assert estimator.set_params(guarantee=cdp.GDP(0.1)).guarantee == cdp.GDP(0.1)
    assert repr(estimator).startswith(type(estimator).__name__ + "(")


def test_estimators_take_what_the_functions_take():
    of_data = {"groups", "groups_per_unit", "keys", "skip_small", "units", "n_guess"}

    def options(function, *own):
        names = set(inspect.signature(function).parameters)
        if "call" in names:
            names = names - {"call"} | set(CallOptions.__annotations__)
        return names - {"records", "x", "y", *own} - of_data

    assert options(cdp.FrechetMean, "adaptive", "conformal") == options(cdp.frechet_mean)
    assert options(cdp.GeodesicRegression) == options(cdp.geodesic_regression)


def test_a_pipeline_fits_transforms_and_spends_once():
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        steps = pipeline.make_pipeline(
            preprocessing.FunctionTransformer(BALL.manifold.project),
            cdp.FrechetMean(BALL, cdp.GDP(1.0), ledger=ledger),
        )
        coords = steps.fit_transform(3.0 * directions())
        assert coords.shape == (60, 2)
        assert ledger.spent == cdp.GDP(1.0)
        assert steps[-1].release_.guarantee == cdp.GDP(1.0)
        np.testing.assert_allclose(steps.transform(3.0 * directions()), coords)
        with pytest.raises(cdp.BudgetError):
            steps.fit(directions())


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("FrechetMean", {"adaptive": [False, True]}),
        ("GeodesicRegression", {"tau": [0.2, 0.4]}),
    ],
)
def test_a_search_pays_for_every_fit(name, grid):
    selection = pytest.importorskip("sklearn.model_selection")
    build, data = ESTIMATORS[name]
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        search = selection.GridSearchCV(build(ledger, 0.3), grid, cv=2, error_score="raise")
        search.fit(*data())
        # two candidates, two folds, one refit
        assert len(ledger.entries) == 5
        assert ledger.spent.mu == pytest.approx(0.3 * np.sqrt(5))
        assert search.best_estimator_.ledger is ledger
        with pytest.raises(cdp.BudgetError):
            selection.GridSearchCV(build(ledger, 0.9), grid, cv=2, error_score="raise").fit(*data())


def test_a_search_over_a_pipeline_reaches_the_parameters():
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline = pytest.importorskip("sklearn.pipeline")
    search = selection.GridSearchCV(
        pipeline.make_pipeline(cdp.FrechetMean(BALL, cdp.GDP(5.0))),
        {"frechetmean__guarantee": [cdp.GDP(0.5), cdp.GDP(5.0)]},
        cv=2,
    )
    search.fit(directions())
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_scikit_learn_reads_what_the_estimators_are():
    base = pytest.importorskip("sklearn.base")
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils import get_tags as tags

    mean, line_model, mail = (build(None, 1.0) for build, _ in ESTIMATORS.values())
    assert base.is_regressor(line_model)
    assert not base.is_regressor(mean)
    assert [tags(e).target_tags.required for e in (mean, line_model, mail)] == [False, True, True]
    assert [tags(e).transformer_tags is None for e in (mean, line_model, mail)] == [
        False,
        True,
        False,
    ]


# ------------------------------------------------------------------ the mean itself


def test_the_estimate_is_the_release():
    records = directions(500)
    model = cdp.FrechetMean(BALL, cdp.PureDP(1.0), seed=3).fit(records)
    expected = cdp.frechet_mean(records, BALL, cdp.PureDP(1.0), seed=3)
    assert model.release_ == expected
    np.testing.assert_array_equal(model.estimate_, expected.value)
    adaptive = cdp.FrechetMean(BALL, cdp.GDP(1.0), adaptive=True, seed=3).fit(records)
    assert adaptive.release_ == cdp.adaptive_mean(records, BALL, cdp.GDP(1.0), seed=3)


def test_transform_is_inverse_to_its_inverse_and_scores_fall_with_distance():
    records = directions(200)
    model = cdp.FrechetMean(BALL, cdp.GDP(5.0)).fit(records)
    coords = model.transform(records)
    assert coords.shape == (200, 2)
    np.testing.assert_allclose(model.inverse_transform(coords), records, atol=1e-9)
    square = np.mean(BALL.manifold.dist(records, model.estimate_) ** 2)
    assert model.score(records) == pytest.approx(-square)
    assert np.mean(np.sum(coords**2, axis=1)) == pytest.approx(square)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e308, 0.0])
def test_no_record_raises_in_any_method(bad):
    records = directions()
    records[5] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cdp.FrechetMean(BALL, cdp.GDP(1.0)).fit(records)
        assert np.all(np.isfinite(model.transform(records)))
        assert np.isfinite(model.score(records))


def test_wrong_calls_say_what_to_do():
    with pytest.raises(ValueError, match="not fitted"):
        cdp.FrechetMean(BALL, cdp.GDP(1.0)).transform(directions())
    with pytest.raises(ValueError, match="Invalid parameter"):
        cdp.FrechetMean(BALL, cdp.GDP(1.0)).set_params(radius=1.0)
