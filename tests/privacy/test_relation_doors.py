"""No noise is calibrated to a guarantee for adding or removing a record: every door refuses it.

Some statistics of one data set release a count, too (statistics/test_unknown_n.py).
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import curvedp as cdp
import unit_twin
from curvedp import conformal, mechanisms
from curvedp.errors import ConversionError
from curvedp.mail import expected_recall
from curvedp.mail.query import PrivateQuery
from curvedp.opendp import make_frechet_mean
from unit_twin import BALL, CENTER, tame
from unit_twin_calls import CALLS

REFUSAL = (
    "cannot be met: (noise is calibrated to replacing a record|a query is one record|an embedding)"
)
LINE = cdp.Ball("euclidean:1", [0.0], 1.0)
GDP = cdp.GDP(1.0, neighbours="add-remove")
PURE = cdp.PureDP(1.0, neighbours="add-remove")
QUERY = PrivateQuery(
    anchors=cdp.PrivateMail(2, guarantee=cdp.PureDP(5.0)).anchors(
        np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    )
)
TABLE = {"site": ["a", "a", "b"], "point": np.tile(CENTER, (3, 1)).tolist()}
ONE_MEAN = {"by": "site", "points": "point", "ball": BALL, "public_keys": True}


#: Public functions that turn a guarantee into noise, its size or an error, without records.
WITHOUT_RECORDS: dict[str, Callable[[Any], Any]] = {
    "conformal.mean.default_cells": lambda own: conformal.default_cells(500, own),
    "conformal.mechanism.ConformalLaplace.__init__": lambda own: conformal.ConformalLaplace(
        conformal.ball_mesh(BALL, 20), np.zeros(20), ball=BALL, sensitivity=0.1, guarantee=own
    ),
    "mail.query.PrivateQuery.response": lambda own: QUERY.response(own),
    "mail.subset.expected_recall": lambda own: expected_recall(own, 4),
    "mechanisms.base.Mechanism.__init__": lambda own: cdp.TangentGaussian(LINE, 0.1, own),
    "mechanisms.bounded_range.bounded_range_epsilon": mechanisms.bounded_range_epsilon,
    "mechanisms.bounded_range.pure_epsilon": mechanisms.pure_epsilon,
    "mechanisms.choice.choose_mechanism": lambda own: mechanisms.choose_mechanism(BALL, own),
    "mechanisms.choice.ways_to_meet": mechanisms.ways_to_meet,
    "mechanisms.choice.ways_of_one_draw": mechanisms.ways_of_one_draw,
    "mechanisms.grid_quantile.GridQuantile.__init__": lambda own: mechanisms.GridQuantile(
        0.5, low=0.0, high=1.0, guarantee=own
    ),
    "mechanisms.rank_exponential.RankExponential.__init__": lambda own: mechanisms.RankExponential(
        0.5, low=0.0, high=1.0, guarantee=own
    ),
    "opendp.make_frechet_mean": lambda own: make_frechet_mean(BALL, 100, own),
    "planning.planner.plan": lambda own: cdp.plan("frechet_mean", BALL, own, n=100),
    "regression.trend.trend_power": lambda own: cdp.trend_power(
        BALL, 100, own, slope=0.1, spread=0.1
    ),
    "statistics.frechet_mean.expected_error": lambda own: cdp.expected_error(BALL, 100, own),
    "statistics.frechet_mean.required_n": lambda own: cdp.required_n(BALL, 0.1, own),
    "statistics.k_sample_power.k_sample_power": lambda own: cdp.k_sample_power(
        BALL, [100, 100], own, shift=0.1, spread=0.1
    ),
    "statistics.schedule.adaptive_schedule": lambda own: cdp.adaptive_schedule(BALL, 1000, own),
    "statistics.two_samples.two_sample_power": lambda own: cdp.two_sample_power(
        BALL, (100, 100), own, shift=0.1, spread=0.1
    ),
}
#: Public functions that calibrate nothing: places begin or end so.
NO_CALIBRATION = {
    "audit.": "tests of claims about either relation",
    "errors.": "words about budgets",
    "learning.": "parameters, which `fit` checks: it takes records",
    "mail.messages.Request.__init__": "a query that was released",
    "mail.private_mail.PrivateMail.__init__": "parameters, which `fit` checks",
    "privacy.": "guarantees themselves, ledgers, and what was released",
    "planning.plan.Plan.__init__": "what `plan` found",
    "Release.__init__": "what was released",
    "ConfidenceRegion.__init__": "what was released",
    "VarianceInterval.__init__": "what was released",
    "Schedule.__init__": "what `adaptive_schedule` found",
    ".share": "a share of a way, which `ways_to_meet` checks",
    ".shares": "shares of a way, which `ways_to_meet` checks",
}
#: Those that serve the relation, with tests of their own (tests/batch/test_batch_protected.py,
#: tests/sites).
SERVE = {"batch.release.release", "sites.agreement.Agreement.__init__"}
#: Of the calls that take records, those without a guarantee.
NO_GUARANTEE = {
    *("AlignedLandmarks", "ElasticCurves", "fill_landmarks"),
    *("image_covariance", "time_series_covariance"),
    *("geometry", "LogisticRelease", "GeodesicRelease"),
}
#: Those that serve this relation in no way, or whose conversion to "replace" the fixture undoes;
#: all others ask for what they need to serve it.
REFUSED = (
    "published.",
    "PrivateMail",
    "GridQuantile",
    "RankExponential",
    "mean without a ball",
    "mean of",
    "mean, variance and clusters of masked sites",
    "variance of a hidden number of persons",
)
ASKED = (
    "n_guess is needed to add or remove a record|which labels occur would tell who is there"
    '|coverage="each" is not served'
)
KINDS = ("Guarantee", "PureDP", "GDP", "ZCDP", "Way")


def doors() -> Iterator[str]:
    """Places of public functions and methods that take a guarantee."""
    submodules = (*cdp._SUBMODULES, *cdp._OF_EXTRAS)  # type: ignore[attr-defined]
    for module in (cdp, *(import_module(f"curvedp.{name}") for name in submodules)):
        for name in module.__all__:
            for function in unit_twin._functions_of(getattr(module, name)):
                place = f"{function.__module__}.{function.__qualname__}"
                if not place.startswith("curvedp."):
                    continue
                told = {
                    name: str(own.annotation)
                    for name, own in inspect.signature(function).parameters.items()
                }
                if "Call" in told.values():  # a checked call, which no such guarantee passes
                    continue
                if "guarantee" in told or any(kind in " ".join(told.values()) for kind in KINDS):
                    yield place.removeprefix("curvedp.")


def test_every_public_function_that_takes_a_guarantee_is_known() -> None:
    found = set(doors())
    with_records = set(itertools.chain.from_iterable(call.covers for call in CALLS.values()))
    ends = tuple(NO_CALIBRATION)
    rest = {
        place
        for place in found - with_records - set(WITHOUT_RECORDS) - SERVE
        if not (place.startswith(ends) or place.endswith(ends))
    }
    assert not rest
    assert set(WITHOUT_RECORDS) <= found


@pytest.mark.parametrize("place", WITHOUT_RECORDS)
def test_what_takes_no_records_refuses(place: str) -> None:
    refused = 0
    for own in (GDP, PURE):
        with pytest.raises(ConversionError, match=REFUSAL):
            WITHOUT_RECORDS[place](own)
        refused += 1
    assert refused == 2


@pytest.fixture
def every_guarantee_adds_or_removes(monkeypatch) -> None:
    """All guarantees, also those that calls hold, are about adding or removing a record."""
    for kind in (cdp.GDP, cdp.PureDP):
        relation = property(lambda self: "add-remove", lambda self, value: None)
        monkeypatch.setattr(kind, "neighbours", relation)


@pytest.mark.parametrize("name", CALLS)
def test_what_takes_records_refuses_before_anything_is_spent(
    name: str, monkeypatch, tmp_path: Path, every_guarantee_adds_or_removes: None
) -> None:
    def spend(*given: Any, **how: Any) -> None:
        raise AssertionError("a ledger was asked")

    call = CALLS[name]
    monkeypatch.setattr(cdp.Ledger, "spend", spend)
    data = tame(next(iter(call.kinds or unit_twin.CONTAINERS)))
    if name in NO_GUARANTEE:
        call.run(data, tmp_path)
        return
    if name.startswith(REFUSED):
        with pytest.raises(ConversionError, match=REFUSAL):
            call.run(data, tmp_path)
        return
    with pytest.raises((TypeError, ValueError), match=ASKED):
        call.run(data, tmp_path)


@pytest.mark.parametrize("name", ["frechet_mean", "FrechetMean", "PrivateMail"])
def test_the_same_calls_release_what_replaces_a_record(name: str, tmp_path: Path) -> None:
    """Control: it is the relation that is refused."""
    call = CALLS[name]
    assert call.run(tame(next(iter(call.kinds or unit_twin.CONTAINERS))), tmp_path) is not None
