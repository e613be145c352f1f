"""Guarantees for adding or removing a record: nothing that comes back shows how many there are."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
import curvedp.statistics.call
from curvedp.errors import (
    BudgetError,
    ConversionError,
    CoverageWarning,
    ExistenceError,
    NoiseWarning,
)
from curvedp.privacy.base import with_relation
from curvedp.privacy.record_count import RecordCount
from curvedp.statistics.call import Call
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.statistic import Statistic
from curvedp.statistics.unknown_n import _with_designs
from curvedp.statistics.with_counts import UNCOUNTED
from unit_twin import outcome
from unknown_n_cases import (
    ADD,
    BALL,
    BUDGETS,
    DOUBTING,
    FROM_NOISE,
    GDP,
    INFERS,
    SERVED,
    counts_of,
    plan_for,
    rows,
    served,
    serves,
)


@pytest.fixture
def count_is(monkeypatch) -> Callable[[int], None]:
    """Sets the released count, whatever the records are."""

    def fix(value: int) -> None:
        monkeypatch.setattr(CountPlan, "draw", lambda self, n, stream: np.full(len(n), value))

    return fix


# ------------------------------------------------------------------------------------ releases


@served
@pytest.mark.parametrize("guarantee", BUDGETS, ids=str)
@pytest.mark.parametrize("n", [0, 1, 300])
def test_a_release_has_the_whole_guarantee_and_the_number_that_the_count_says(name, guarantee, n):
    if not serves(name, guarantee):
        with pytest.raises(TypeError, match="aussian"):
            SERVED[name](rows(n), BALL, guarantee, n_guess=200)
        return
    found = SERVED[name](rows(n), BALL, guarantee, n_guess=200)
    plan, counts = plan_for(name, guarantee, 200), counts_of(found)
    assert found.guarantee == guarantee
    assert found.count.guarantee == plan.share
    assert found.count.replacing == (plan.rest if len(counts) == 1 else guarantee.to_replace())
    assert found.count.standard_error == plan.standard_error
    assert abs(sum(counts) - n) < 60 * plan.standard_error * len(counts)
    wished = sum(map(plan.target, counts))
    assert found.n == wished or (found.n > wished and found.n <= 4)
    assert getattr(found, "uncounted", UNCOUNTED) == UNCOUNTED
    for part in found.parts:
        assert part.guarantee == guarantee
        assert part.count == found.count
        assert part.n == found.n
    assert type(found).from_json(found.to_json()).to_json() == found.to_json()
    told = " ".join(found.report().split())
    assert "the number of records is protected" in told.lower()
    assert f"{', '.join(map(str, counts))} released (standard deviation" in told


def test_the_mean_is_that_of_the_records():
    guarantee = cdp.GDP(50.0, neighbours=ADD)
    found = cdp.frechet_mean(rows(300), BALL, guarantee, n_guess=300)
    assert 280 <= found.n <= 310  # 298.1, with a deviation of .5
    exact = cdp.nonprivate.frechet_mean(rows(300), BALL.manifold).value
    assert BALL.manifold.dist(found.value, exact) < 0.05
    far = cdp.frechet_mean(rows(3), BALL, guarantee, n_guess=300)
    assert far.n <= 6


def test_products_and_units_are_served():
    ball = cdp.ProductBall(cdp.Ball("euclidean:1", [0.0], 1.0), BALL)
    records = np.concatenate([np.zeros((50, 1)), rows(50)], axis=1)
    found = cdp.frechet_mean(records, ball, GDP, n_guess=50)
    assert found.guarantee == GDP
    assert found.count is not None
    persons = [f"p{k // 5}" for k in range(300)]
    for name in ("mean", "variance", "k-means", "density"):
        found = SERVED[name](rows(300), BALL, GDP, n_guess=60, units=persons)
        assert abs(found.count.value - 60) < 60
        assert found.n <= 120
        assert "add or remove all records of one unit; the number of units is protected" in (
            " ".join(found.report().split())
        )
        none = SERVED[name](rows(0), BALL, GDP, n_guess=60, units=[])
        assert none.count.value < 60


def test_a_person_with_several_records_is_counted_with_more_noise():
    one = cdp.frechet_mean(rows(300), BALL, GDP, n_guess=300)
    many = cdp.frechet_mean(rows(300), BALL, GDP, n_guess=300, records_per_unit=5)
    assert many.count.standard_error > 2.5 * one.count.standard_error
    assert many.sensitivity > 4 * one.sensitivity
    assert many.records_per_unit == 5


def test_a_seed_voids_the_guarantee():
    first, second = (cdp.frechet_mean(rows(300), BALL, GDP, n_guess=300, seed=4) for _ in range(2))
    assert first == second
    assert isinstance(first.guarantee, cdp.Unproved)
    assert first.guarantee.claimed == GDP
    other = cdp.frechet_mean(rows(300), BALL, GDP, n_guess=300, seed=5)
    assert (other.value != first.value).any()


# ------------------------------------------------------------------- one test for each place


@served
def test_nothing_that_comes_back_tells_the_number(name, count_is, tmp_path):
    """Report, JSON, warnings, printed progress and log lines, for one released count."""
    count_is(30)

    def of(n: int, own: Path) -> list[Any]:
        def run() -> Any:
            ledger = cdp.Ledger(cdp.GDP(9.0, neighbours=ADD))
            how = {"n_guess": 25, "ledger": ledger, "progress": True}
            found = SERVED[name](rows(n), BALL, GDP, **how)
            texts = [found.report(), found._repr_html_(), ledger.report()]
            texts += [found.document()] if hasattr(found, "document") else []
            lines = [" ".join(text.split()) for text in texts]  # which end where numbers do
            joined = [re.sub(FROM_NOISE, "", line) for line in lines]
            if name in DOUBTING:
                return [found.n, joined[2], type(found), str(found.statement.protected)]
            return [found.n, repr(found), *joined, found, found.statement]

        drawn = ("sensitivity", "scale", "solver_tolerance", "ball_center", "ball_radius")
        return outcome(run, own, hidden=drawn)

    first, *others = (of(n, tmp_path) for n in (30, 0, 1, 29, 31, 400))
    assert first[0][0] != "Error"
    assert not str(first[0][0]).endswith("Error"), first
    for other in others:
        assert other == first


def test_control_with_a_public_number_everything_tells_it(tmp_path):
    def of(n: int) -> list[Any]:
        return outcome(lambda: cdp.frechet_mean(rows(n), BALL, cdp.GDP(3.0)), tmp_path)

    assert of(30) != of(31)


@served
def test_noise_and_its_plan_follow_from_the_count(name, count_is):
    """Sensitivity, tolerance of the solver and scale are those of m records."""
    count_is(30)
    how = {"n_guess": 25, "seed": 1}
    many, none = (SERVED[name](rows(n), BALL, GDP, **how) for n in (400, 0))
    if name in ("mean", "tangent Gaussian", "kng", "density"):
        for field in ("sensitivity", "solver_tolerance", "scale", "n"):
            assert getattr(many, field) == getattr(none, field), field
    if name in ("mean", "tangent Gaussian"):
        usual = SERVED[name](rows(many.n), BALL, many.count.replacing, seed=1, coverage=False)
        assert many.scale == usual.scale
    used = plan_for(name, GDP, 25).target(30) * INFERS.get(name, 1)
    assert many.n == none.n == used


EMPTY = {
    "list": list,
    "tuple": tuple,
    "array": lambda: np.empty((0, 3)),
    "line": lambda: np.empty(0),
    "integers": lambda: np.empty((0, 3), dtype=int),
    "objects": lambda: np.empty((0, 3), dtype=object),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_no_records_are_records(kind):
    found = cdp.frechet_mean(EMPTY[kind](), BALL, GDP, n_guess=30)
    assert found.count.value < 60
    with pytest.raises((ValueError, TypeError), match="records"):
        cdp.frechet_mean(EMPTY[kind](), BALL, cdp.GDP(3.0))


def test_no_rows_of_a_table_are_records():
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(rows(4), columns=["a", "b", "c"])
    for empty in (frame[:0], pd.DataFrame([]), pa.table(frame)[:0]):
        assert cdp.frechet_mean(empty, BALL, GDP, n_guess=30).count.value < 60


@pytest.mark.parametrize("shape", [(5,), (4, 4)])
def test_records_of_another_shape_are_refused_however_many_there_are(shape):
    ledger = cdp.Ledger(cdp.GDP(9.0, neighbours=ADD))
    for n in (0, 1, 7):
        with pytest.raises(ValueError, match="must have shape"):
            cdp.frechet_mean(np.zeros((n, *shape)), BALL, GDP, n_guess=30, ledger=ledger)
    assert ledger.spent is None


@served
@pytest.mark.parametrize("count", [-(10**9), -1, 0, 1, 2, 3, 4, 7, 25, 3000])
def test_no_count_leads_to_an_error(name, count, count_is):
    count_is(count)
    for guarantee in BUDGETS[:2]:
        if serves(name, guarantee):
            found = SERVED[name](rows(5), BALL, guarantee, n_guess=25)
            assert found.n >= 1
            assert set(counts_of(found)) == {count}


def test_the_least_number_is_that_from_which_on_noise_exists(count_is):
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 1.0)
    whole, records = cdp.PureDP(1.0, neighbours=ADD), np.tile(ball.center, (5, 1))
    count_is(0)
    found = cdp.frechet_mean(records, ball, whole, n_guess=300)
    least = found.n
    assert least > 1
    own = found.count.replacing
    assert cdp.frechet_mean(np.tile(ball.center, (least, 1)), ball, own, coverage=False)
    with pytest.raises(ExistenceError):
        cdp.frechet_mean(np.tile(ball.center, (least - 1, 1)), ball, own, coverage=False)


def test_what_does_not_exist_is_refused_before_anything_is_spent(count_is):
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 1.0)
    ledger = cdp.Ledger(cdp.PureDP(1.0, neighbours=ADD))
    records = np.tile(ball.center, (500, 1))
    with pytest.raises(ExistenceError):
        cdp.frechet_mean(records, ball, cdp.PureDP(1.0, neighbours=ADD), n_guess=3, ledger=ledger)
    with pytest.raises(ExistenceError, match="too small a budget to count"):
        cdp.frechet_mean(
            records, ball, cdp.PureDP(0.01, neighbours=ADD), n_guess=100, ledger=ledger
        )
    with pytest.raises(ExistenceError, match="epsilon 0"):
        cdp.frechet_mean(records, ball, cdp.ApproxDP(0.0, 1e-6, neighbours=ADD), n_guess=100)
    assert ledger.spent is None


def test_noise_too_fine_for_double_precision_takes_fewer_records():
    call = Call(statistic=cdp.Mean(), balls=(BALL,), guarantee=cdp.GDP(50.0), skip_small=True)
    with pytest.raises(ExistenceError, match="too fine"):
        call.statistic.design(call, BALL, 10**12)
    sizes, (designs, choice) = _with_designs(
        call, np.array([[10**12], [300]]), np.ones((1, 1), dtype=int)
    )
    assert 10**6 < sizes[0, 0] < 10**12
    assert sizes[1, 0] == 300
    assert all(designs[number] is not None for number in choice)


@pytest.mark.parametrize("relation", ["replace", ADD])
def test_all_is_paid_before_the_count(relation, monkeypatch):
    budget = with_relation(cdp.GDP(5.0), relation)
    ledger = cdp.Ledger(budget)
    mean = cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9, ledger=ledger)
    expected = GDP if relation == ADD else mean.count.replacing
    assert ledger.spent == with_relation(expected, relation)
    assert [entry.label for entry in ledger.entries] == ["Fréchet mean"]
    assert mean.provenance.payment.guarantee == expected

    def fail(self: Any, n: Any, stream: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(CountPlan, "draw", fail)
    other = cdp.Ledger(budget)
    with pytest.raises(KeyboardInterrupt):
        cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9, ledger=other)
    assert other.spent == ledger.spent
    short = cdp.Ledger(with_relation(cdp.GDP(1.0), relation))
    with pytest.raises(BudgetError):
        cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9, ledger=short)
    assert short.spent is None


def test_memory_is_asked_for_by_the_guess_alone(monkeypatch):
    asked: list[float] = []
    monkeypatch.setattr(curvedp.statistics.call, "ask_for_memory", asked.append)
    for n in (0, 1, 400):
        cdp.frechet_mean(rows(n), BALL, GDP, n_guess=50)
    assert len(asked) == 3
    assert len(set(asked)) == 1

    def refuse(size: float) -> None:
        raise MemoryError

    monkeypatch.setattr(curvedp.statistics.call, "ask_for_memory", refuse)
    ledger = cdp.Ledger(GDP)
    with pytest.raises(MemoryError):
        cdp.frechet_mean(rows(1), BALL, GDP, n_guess=50, ledger=ledger)
    assert ledger.spent is None


def test_warnings_follow_from_the_guess_alone():
    small = cdp.GDP(0.25, neighbours=ADD)
    for n in (0, 1, 400):
        with pytest.warns(NoiseWarning, match="Fréchet mean is up to"):
            cdp.frechet_mean(rows(n), BALL, small, n_guess=10)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cdp.frechet_mean(rows(n), BALL, GDP, n_guess=300)


def test_a_warning_made_an_error_comes_before_anything_is_spent():
    ledger = cdp.Ledger(cdp.GDP(3.0, neighbours=ADD))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NoiseWarning):
            cdp.frechet_mean(
                rows(9), BALL, cdp.GDP(0.25, neighbours=ADD), n_guess=10, ledger=ledger
            )
    assert ledger.spent is None


@pytest.mark.parametrize("name", ["conformal", "density"])
def test_stages_are_told_without_numbers(name, count_is, caplog):
    count_is(30)
    told = []
    for n in (0, 400):
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="curvedp"):
            SERVED[name](rows(n), BALL, GDP, n_guess=25)
        told.append([record.getMessage() for record in caplog.records])
    assert told[0]
    assert told[0] == told[1]


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "options",
    [
        {"groups_per_unit": 2, "units": list("aabbccdde")},
        {"secret": cdp.NoiseSecret(bytes(32))},
        {"timing": "steady"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_that_show_the_number_are_refused(options):
    ledger = cdp.Ledger(GDP)
    with pytest.raises(ValueError, match="is not served under neighbours='add-remove'"):
        cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9, ledger=ledger, **options)
    assert ledger.spent is None


def test_base_points_and_lists_of_balls_are_refused():
    for mean in (BALL.center, cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9)):
        with pytest.raises(ValueError, match="a given base point is not served"):
            cdp.log_covariance(rows(9), BALL, GDP, n_guess=9, mean=mean)
    with pytest.raises(ValueError, match="a list of balls is not served"):
        cdp.frechet_mean(rows(9), [BALL], GDP, n_guess=9)


def test_a_guess_is_needed_and_belongs_to_this_relation_alone():
    with pytest.raises(TypeError, match="n_guess is needed"):
        cdp.frechet_mean(rows(9), BALL, GDP)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="n_guess"):
            cdp.frechet_mean(rows(9), BALL, GDP, n_guess=wrong)
    with pytest.raises(ValueError, match="n_guess belongs to"):
        cdp.frechet_mean(rows(9), BALL, cdp.GDP(1.0), n_guess=9)


def test_all_statistics_are_served_but_these():
    """A new one is served, or listed here with a reason."""
    waiting, seen = list(Statistic.__subclasses__()), set[type]()
    while waiting:
        kind = waiting.pop()
        seen.add(kind)
        waiting += kind.__subclasses__()
    others = {kind.__name__ for kind in seen if kind.__module__.startswith("curvedp")}
    others -= {kind.__name__ for kind in seen if kind.takes_unknown_n}
    assert (
        others
        == {
            *("Calibrated", "EachGroup", "Moment", "PermutationTest", "_MatrixMoment"),  # bases
            *("DistanceMoments", "_MeanDistance", "_VariancesAlong"),  # parts of others
            "LocatedMean",  # counts by itself, without a ball
            *("Embedding", "PrivateQuery"),  # of a collection, whose owner knows its size
        }
        & others
    )
    assert "LocatedMean" in others


def test_what_is_not_served_is_refused_before_anything_is_spent():
    ledger = cdp.Ledger(GDP)
    flat = cdp.Ball("euclidean:3", [0.0] * 3, 1.0)
    mail = cdp.PrivateMail(n_components=1, guarantee=GDP, ball=flat, alpha=0.0, ledger=ledger)
    for call, reason in (
        (lambda: mail.fit(rows(40)), "its shape shows how many"),
        (lambda: mail.embed_query(rows(1), rows(40)), "that it was asked is seen"),
        (lambda: mail.embed_query(rows(1), rows(40), method="noise"), "that it was asked is seen"),
        (lambda: mail.embed_queries(rows(3), rows(40)), "that it was asked is seen"),
        (lambda: cdp.mail.Client(mail, rows(40), method="noise"), "that it was asked is seen"),
    ):
        with pytest.raises(ConversionError, match=reason):
            call()
    for call in (
        lambda: cdp.k_sample_test(rows(9), [0, 1, 2] * 3, BALL, GDP, n_guess=9),
        lambda: cdp.release(
            cdp.TwoSampleTest(), rows(9), BALL, GDP, labels=[0] * 9, n_guess=9, ledger=ledger
        ),
        lambda: cdp.learning.PrivateMDM(BALL, GDP, n_guess=9, ledger=ledger).fit(rows(9), [0] * 9),
        lambda: cdp.learning.TangentLogisticRegression(BALL, GDP, n_guess=9, ledger=ledger).fit(
            rows(9), [0] * 9
        ),
    ):
        with pytest.raises(ValueError, match="which labels occur would tell who is there: give"):
            call()
    assert ledger.spent is None


# ------------------------------------------------------------------------------------ coverage


def test_records_outside_the_ball_are_counted_among_those_that_are_used():
    """A third is outside, a tenth no point; copies of the centre count as inside."""
    records = np.concatenate([rows(400)] * 5)
    records[::3] = -BALL.center
    records[::10] = np.nan
    outside = np.count_nonzero((records @ BALL.center) < 0)
    whole = cdp.GDP(6.0, neighbours=ADD)
    with pytest.warns(CoverageWarning):
        found = cdp.frechet_mean(records, BALL, whole, n_guess=2000, coverage=True)
    assert found.coverage.n == found.n
    assert found.coverage.guarantee == found.guarantee == whole
    assert abs(found.coverage.outside - outside * found.n / 2000) < 80
    assert abs(found.coverage.no_point - 0.1 * found.n) < 80
    assert found.uncounted is None
    assert type(found).from_json(found.to_json()) == found
    labels = np.arange(2000) % 2
    with pytest.warns(CoverageWarning):
        both = cdp.frechet_mean(
            records, BALL, whole, n_guess=1000, coverage=True, groups=labels, keys=[0, 1, 2]
        )
    assert both.coverage.n == both.n.sum()
    assert abs(both.coverage.outside - outside * both.n.sum() / 2000) < 80
    assert "all groups have one count" in both[0].uncounted


def test_a_count_of_few_records_is_refused_by_the_guess_and_left_out_by_the_count(count_is):
    ledger = cdp.Ledger(GDP)
    with pytest.raises(ExistenceError, match="leave coverage out"):
        cdp.frechet_mean(rows(300), BALL, GDP, n_guess=5, coverage=True, ledger=ledger)
    with pytest.raises(ValueError, match="leave coverage out"):
        SERVED["quantile"](rows(300), BALL, GDP, n_guess=300, coverage=True, ledger=ledger)
    assert ledger.spent is None
    count_is(7)
    for n in (0, 7, 300):
        found = cdp.frechet_mean(rows(n), BALL, GDP, n_guess=300, coverage=True)
        assert found.coverage is None
        assert "too small for mu" in found.uncounted
    secret = cdp.ApproxDP(6.0, 1e-9, neighbours=ADD)
    none = cdp.frechet_mean(rows(1), BALL, secret, n_guess=300, coverage=True, groups=["a"])
    assert len(none) == 0
    assert none.coverage is None


# ------------------------------------------------------------------------------- stored counts


def test_a_damaged_count_is_refused():
    found = cdp.frechet_mean(rows(9), BALL, GDP, n_guess=9)
    text = json.loads(found.to_json())
    for name, wrong in (
        ("value", 1.5),
        ("value", "9"),
        ("standard_error", 0.0),
        ("standard_error", float("inf")),
        ("guarantee", None),
        ("replacing", {"kind": "GDP"}),
    ):
        own = json.loads(json.dumps(text))
        own["count"][name] = wrong
        with pytest.raises(ValueError, match="not a release"):
            cdp.Release.from_json(json.dumps(own))
    with pytest.raises(TypeError, match="count must be"):
        type(found)(**{**vars(found), "count": 9})
    assert RecordCount.from_dict(text["count"]) == found.count
