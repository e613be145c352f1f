"""Regions and intervals refuse wrong calls with advice, and budgets before any noise is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import ConversionError
from curvedp.statistics.paid import Paid
from inference_cases import make_ball, spread_records

Call = Callable[..., Any]
CALLS = [cdp.confidence_region, cdp.variance_interval]
each_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)


@pytest.fixture(scope="module")
def ball() -> cdp.Ball:
    return make_ball("sphere:2")


@pytest.fixture(scope="module")
def records(ball: cdp.Ball) -> np.ndarray:
    return spread_records(ball, 60)


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of records that compiled code was given, call by call."""
    seen: list[int] = []
    columns = Paid.columns

    def recording(self: Paid, *arguments: Any) -> Any:
        seen.append(len(self.records))
        return columns(self, *arguments)

    monkeypatch.setattr(Paid, "columns", recording)
    return seen


@each_call
def test_pure_dp_is_refused_with_the_kinds_that_work(
    call: Call, ball: cdp.Ball, records: np.ndarray
) -> None:
    with pytest.raises(TypeError, match="GDP, ZCDP or ApproxDP"):
        call(records, ball, cdp.PureDP(1.0))


@each_call
@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.1, 1.1, np.nan, np.inf, None, "0.9", [0.9]])
def test_levels_lie_between_0_and_1(
    call: Call, ball: cdp.Ball, records: np.ndarray, level: Any
) -> None:
    with pytest.raises((ValueError, TypeError), match="level"):
        call(records, ball, cdp.GDP(1.0), level=level)


@each_call
@pytest.mark.parametrize(
    "weights", [(), (1.0,), (1.0,) * 4, (1.0, 0.0, 0.0), (1.0, -1.0), (1.0, np.nan, 1.0)]
)
def test_wrong_weights_are_refused(
    call: Call, ball: cdp.Ball, records: np.ndarray, weights: Any
) -> None:
    with pytest.raises((ValueError, TypeError), match="weight"):
        call(records, ball, cdp.GDP(1.0), weights=weights)


def test_the_message_on_weights_counts_the_releases() -> None:
    flat, curved = make_ball("euclidean:3"), make_ball("sphere:2")
    with pytest.raises(ValueError, match=r"2 positive numbers.*the mean, the covariance$"):
        cdp.confidence_region(np.zeros((9, 3)), flat, cdp.GDP(1.0), weights=(1.0,) * 3)
    with pytest.raises(ValueError, match=r"3 positive numbers.*Hessian"):
        cdp.confidence_region(np.zeros((9, 3)), curved, cdp.GDP(1.0), weights=(1.0,) * 2)


@pytest.mark.parametrize("spec", ["sphere:2", "spd:3", "euclidean:1"])
def test_too_few_records_are_refused_by_number(spec: str) -> None:
    ball = make_ball(spec)
    least = ball.manifold.dim + 2
    records = spread_records(ball, least)
    with pytest.raises(ValueError, match=f"at least {least} records, got {least - 1}"):
        cdp.confidence_region(records[1:], ball, cdp.GDP(1.0))
    cdp.confidence_region(records, ball, cdp.GDP(1.0))
    with pytest.raises(ValueError, match="at least 2 records, got 1"):
        cdp.variance_interval(records[:1], ball, cdp.GDP(1.0))
    cdp.variance_interval(records[:2], ball, cdp.GDP(1.0))


@each_call
@pytest.mark.parametrize("max_dist", [0, -1.0, np.nan, np.inf, "1", [1.0]])
def test_lengths_to_clip_at_are_positive(
    call: Call, ball: cdp.Ball, records: np.ndarray, max_dist: Any
) -> None:
    with pytest.raises((ValueError, TypeError), match="max_dist"):
        call(records, ball, cdp.GDP(1.0), max_dist=max_dist)


@each_call
def test_shapes_and_guarantees_are_checked(call: Call, ball: cdp.Ball, records: np.ndarray) -> None:
    with pytest.raises(ValueError, match="records"):
        call(records[:, :1], ball, cdp.GDP(1.0))
    with pytest.raises(ValueError, match="records"):
        call(records[0], ball, cdp.GDP(1.0))
    with pytest.raises(TypeError, match="guarantee"):
        call(records, ball, 1.0)
    with pytest.raises(TypeError, match="guarantee"):
        call(records, ball, cdp.Unproved(cdp.GDP(1.0), why="for the test"))
    with pytest.raises((ValueError, TypeError), match="records_per_unit"):
        call(records, ball, cdp.GDP(1.0), records_per_unit=0)
    with pytest.raises(TypeError, match="ball"):
        call(records, "sphere:2", cdp.GDP(1.0))


@each_call
def test_a_ledger_pays_once_for_everything(call: Call, ball: cdp.Ball, records: np.ndarray) -> None:
    with cdp.Ledger(cdp.GDP(1.0)) as ledger:
        result = call(records, ball, cdp.GDP(0.6), ledger=ledger)
        assert result.guarantee == cdp.GDP(0.6)
        assert len(ledger.entries) == 1
        assert ledger.entries[0].guarantee == cdp.GDP(0.6)
        assert "Fréchet" in ledger.entries[0].label


@each_call
def test_a_budget_is_refused_before_a_record_is_read_or_noise_is_drawn(
    call: Call, ball: cdp.Ball, records: np.ndarray, released: list[int]
) -> None:
    with cdp.Ledger(cdp.GDP(0.5)) as ledger:
        with pytest.raises(cdp.BudgetError):
            call(records, ball, cdp.GDP(0.6), ledger=ledger)
        assert released == []
        assert ledger.entries == ()
        call(records, ball, cdp.GDP(0.4), ledger=ledger)
    assert released == [len(records)]


@each_call
def test_no_ledger_pays_for_what_is_unproved(
    call: Call, ball: cdp.Ball, records: np.ndarray, released: list[int]
) -> None:
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        with pytest.raises(ConversionError):
            call(records, ball, cdp.GDP(0.5), ledger=ledger, seed=1)
        assert ledger.entries == ()
    assert released == []


@each_call
@pytest.mark.parametrize(
    "wrong",
    [{"weights": (1.0,)}, {"level": 2.0}, {"max_dist": -1.0}, {"records_per_unit": 0}],
    ids=str,
)
def test_a_wrong_call_costs_nothing(
    call: Call, ball: cdp.Ball, records: np.ndarray, released: list[int], wrong: dict[str, Any]
) -> None:
    with cdp.Ledger(cdp.GDP(5.0)) as ledger:
        with pytest.raises((ValueError, TypeError)):
            call(records, ball, cdp.GDP(0.5), ledger=ledger, **wrong)
        assert ledger.entries == ()
    assert released == []


@each_call
def test_records_that_break_everything_raise_and_warn_nothing(call: Call, ball: cdp.Ball) -> None:
    rng = np.random.default_rng(0)
    for row in ([np.nan] * 3, [np.inf] * 3, [0.0] * 3, [1e308] * 3, list(-ball.center)):
        records = np.where(rng.random((30, 1)) < 0.5, np.array(row), ball.center)
        assert call(records, ball, cdp.GDP(0.5)).guarantee == cdp.GDP(0.5)


@pytest.mark.parametrize("moment", [cdp.fourth_moment, cdp.log_covariance, cdp.mean_hessian])
def test_no_ledger_pays_for_moments_about_a_point_without_a_guarantee(
    moment: Call, ball: cdp.Ball, records: np.ndarray
) -> None:
    seeded = cdp.frechet_mean(records, ball, cdp.GDP(1.0), seed=1)
    groups = [0, 20, len(records)]
    grouped = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=groups, seed=1)
    for how in ({"mean": seeded}, {"mean": grouped, "groups": groups}):
        ledger = cdp.Ledger(cdp.GDP(5.0))
        with pytest.raises(ConversionError):
            moment(records, ball, cdp.GDP(0.5), ledger=ledger, **how)
        assert ledger.entries == ()
        for noise in ({}, {"seed": 2}):
            assert isinstance(
                moment(records, ball, cdp.GDP(0.5), **how, **noise).guarantee, cdp.Unproved
            )
