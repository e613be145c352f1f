"""scikit-learn's own checks of estimators, on Euclidean balls."""

from __future__ import annotations

import inspect
import traceback
import unittest

import numpy as np
import pytest

import curvedp as cdp

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from curvedp.learning import (
    FrechetMean,
    GeodesicRegression,
    PrivateKMeans,
    PrivateMDM,
    TangentLogisticRegression,
    TangentPCA,
)

BALL = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=20.0)
ENOUGH = cdp.GDP(1e4)


def ball_of_rows(self, X):
    """A ball for rows of any width: scikit-learn's checks pass many widths to one estimator."""
    width = max(1, np.asarray(X).shape[-1]) if np.asarray(X).ndim > 1 else 1
    return cdp.Ball(cdp.Euclidean(width), np.zeros(width), self.ball.radius)


class RowsMean(FrechetMean):
    _ball_of = ball_of_rows


class RowsMDM(PrivateMDM):
    _ball_of = ball_of_rows


class RowsPCA(TangentPCA):
    _ball_of = ball_of_rows


class RowsKMeans(PrivateKMeans):
    _ball_of = ball_of_rows


class RowsRegression(TangentLogisticRegression):
    _ball_of = ball_of_rows


#: Checks that are not met, and why.
EXCLUDED = {
    "check_complex_data": "the library refuses a dtype with TypeError, the check wants ValueError",
    "check_dtype_object": "an array of objects is refused whole: entry by entry would tell values",
    "check_estimators_empty_data_messages": "the refusal names the shape of the manifold's points",
    "check_fit2d_predict1d": "the refusal names the shape of the manifold's points",
    "check_n_features_in_after_fitting": "records have several forms; a wrong width is refused "
    "with the shape of the manifold's points",
}


@parametrize_with_checks(
    [
        RowsMean(BALL, ENOUGH, seed=0),
        RowsMean(BALL, ENOUGH, adaptive=True, seed=0),
        RowsMDM(BALL, ENOUGH, adaptive=False, seed=0),
        RowsMDM(BALL, ENOUGH, seed=0),
        RowsRegression(BALL, ENOUGH, seed=0),
        RowsPCA(BALL, ENOUGH, seed=0),
        RowsKMeans(3, ball=BALL, guarantee=ENOUGH, seed=0),
    ],
    expected_failed_checks=lambda estimator: EXCLUDED,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    try:
        check(estimator)
    except unittest.SkipTest:
        raise
    except Exception:  # pytest's own account reads scikit-learn's long file for each
        pytest.fail(traceback.format_exc(), pytrace=False)


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_scikit_learn_finds_nothing_wrong_with_a_regression(check):
    """Checks that fit are for one number of each record, not for points that follow covariates."""
    model = GeodesicRegression(BALL, ENOUGH, x_range=(0.0, 1.0), seed=0)
    getattr(estimator_checks, check)("GeodesicRegression", model)


def test_every_excluded_check_exists():
    names = {name for name, _ in inspect.getmembers(estimator_checks, inspect.isfunction)}
    assert set(EXCLUDED) <= names
