"""The ledger: what it accepts, what it costs, how it rounds, and its file."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sqlite3
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curvedp.errors import BudgetError, ConversionError, LedgerError
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved, compose
from curvedp.privacy.ledger import Ledger

ALLOWANCE = Fraction(1, 2**50)


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "budget.ledger"


# What is accepted and what it costs


def test_a_spend_moves_spent_and_remaining(place):
    ledger = Ledger(PureDP(1.0), path=place)
    assert ledger.spent is None
    assert ledger.remaining == PureDP(1.0)
    ledger.spend(PureDP(0.25), "first")
    ledger.spend(PureDP(0.5), "second")
    assert ledger.spent == PureDP(0.75)
    assert ledger.remaining == PureDP(0.25)
    ledger.spend(ledger.remaining)
    assert ledger.spent == PureDP(1.0)
    assert ledger.remaining is None


def test_refusal_charges_nothing_and_says_what_is_left(place):
    ledger = Ledger(PureDP(1.0), path=place)
    ledger.spend(PureDP(0.75))
    with pytest.raises(BudgetError) as caught:
        ledger.spend(PureDP(0.5))
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.budget, error.spent) == (PureDP(1.0), PureDP(0.75))
    assert (error.requested, error.remaining) == (PureDP(0.5), PureDP(0.25))
    assert "spent PureDP(epsilon=0.75), remaining PureDP(epsilon=0.25)" in str(error)
    assert ledger.spent == PureDP(0.75)
    assert len(ledger.entries) == 1
    ledger.spend(PureDP(0.25))


@pytest.mark.parametrize(
    ("budget", "spends", "spent"),
    [
        (ApproxDP(1.0, 2.0**-10), [PureDP(0.5)], PureDP(0.5)),
        (
            ApproxDP(1.0, 2.0**-10),
            [PureDP(0.5), ApproxDP(0.25, 2.0**-12)],
            ApproxDP(0.75, 2.0**-12),
        ),
        (ZCDP(1.0), [ZCDP(0.25), GDP(0.5), PureDP(0.5)], ZCDP(0.5)),
        (GDP(10.0), [GDP(3.0), GDP(4.0)], GDP(5.0)),
    ],
)
def test_accepted_kinds_are_charged_exactly(budget, spends, spent, place):
    ledger = Ledger(budget, path=place)
    for guarantee in spends:
        ledger.spend(guarantee)
    assert ledger.spent == spent


def test_pure_spends_in_a_gdp_budget_are_charged_as_gdp(place):
    ledger = Ledger(GDP(2.0), path=place)
    ledger.spend(PureDP(1.0))
    ledger.spend(GDP(0.5))
    assert ledger.spent.mu == pytest.approx(compose(PureDP(1.0).to_gdp(), GDP(0.5)).mu, rel=1e-15)


@pytest.mark.parametrize(
    ("budget", "guarantee"),
    [
        (PureDP(9.0), ApproxDP(0.1, 1e-9)),
        (PureDP(9.0), ZCDP(0.1)),
        (PureDP(9.0), GDP(0.1)),
        (ApproxDP(9.0, 0.1), ZCDP(0.1)),
        (ApproxDP(9.0, 0.1), GDP(0.1)),
        (ZCDP(9.0), ApproxDP(0.1, 1e-9)),
        (GDP(9.0), ApproxDP(0.1, 1e-9)),
        (GDP(9.0), ZCDP(0.1)),
        *[
            (budget, Unproved(PureDP(0.1), "no proof"))
            for budget in (PureDP(9.0), ApproxDP(9.0, 0.1), ZCDP(9.0), GDP(9.0))
        ],
    ],
)
def test_kinds_that_do_not_imply_the_budget_are_refused(budget, guarantee):
    ledger = Ledger(budget)
    with pytest.raises(ConversionError):
        ledger.spend(guarantee)
    assert ledger.entries == ()


def test_a_budget_must_be_a_proved_kind():
    for wrong in (Unproved(PureDP(1.0), "no proof"), 1.0, None):
        with pytest.raises(TypeError, match="budget must be"):
            Ledger(wrong)
    with pytest.raises(TypeError, match="spends guarantees"):
        Ledger(PureDP(1.0)).spend(0.5)
    with pytest.raises(TypeError, match="label must be a string"):
        Ledger(PureDP(1.0)).spend(PureDP(0.5), 3)


def test_a_spend_beyond_float_range_is_over_budget():
    for budget in (ZCDP(1.0), GDP(1.0)):
        with pytest.raises(BudgetError):
            Ledger(budget).spend(PureDP(1e300))
    ledger = Ledger(ZCDP(1.0))
    ledger.spend(PureDP(1e-200))
    assert 0.0 < ledger.spent.rho < 1e-300


def test_delta_alone_can_exhaust_an_approximate_budget():
    ledger = Ledger(ApproxDP(1.0, 1e-6))
    ledger.spend(ApproxDP(0.25, 1e-6))
    assert ledger.remaining == PureDP(0.75)
    with pytest.raises(BudgetError):
        ledger.spend(ApproxDP(0.1, 1e-12))
    ledger.spend(PureDP(0.75))
    assert ledger.remaining is None


# Rounding


@settings(max_examples=80, deadline=None)
@given(st.floats(1e-6, 1e3), st.integers(1, 400), st.integers(0, 5))
def test_equal_shares_fit_and_one_more_does_not(value, k, which):
    budget, share = [
        (PureDP(value), lambda: PureDP(value / k)),
        (ApproxDP(value, 1e-3), lambda: ApproxDP(value / k, 1e-3 / k)),
        (ZCDP(value), lambda: ZCDP(value / k)),
        (GDP(value), lambda: GDP(value / math.sqrt(k))),
        (ZCDP(value), lambda: GDP(math.sqrt(2 * value / k))),
        (ZCDP(value), lambda: PureDP(math.sqrt(2 * value / k))),
    ][which]
    ledger = Ledger(budget)
    for _ in range(k):
        ledger.spend(share())
    assert ledger.remaining is None or max(ledger.remaining.additive()) < 1e-12 * value
    with pytest.raises(BudgetError):
        ledger.spend(share())
    assert len(ledger.entries) == k


@settings(max_examples=100, deadline=None)
@given(
    st.floats(1e-3, 10.0),
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30),
    st.integers(0, 3),
)
def test_the_exact_total_never_passes_the_budget_beyond_the_allowance(value, parts, which):
    kind = (PureDP, ZCDP, GDP, lambda epsilon: ApproxDP(epsilon, 1e-6))[which]
    ledger = Ledger(kind(value))
    for part in parts:
        with suppress(BudgetError):
            ledger.spend(kind(part))
    if ledger.entries:
        assert ledger.spent.additive()[0] <= kind(value).additive()[0]
    total = sum(entry.guarantee.additive()[0] for entry in ledger.entries)
    assert total <= kind(value).additive()[0] * (1 + ALLOWANCE)


@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP])
def test_the_smallest_excess_over_the_allowance_is_refused(kind):
    with pytest.raises(BudgetError):
        Ledger(kind(1.0)).spend(kind(1.0 + 2.0**-49))
    ledger = Ledger(kind(1.0))
    ledger.spend(kind(1.0))
    for tiny in (1e-7, 1e-3):
        with pytest.raises(BudgetError):
            ledger.spend(kind(tiny))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.01, 0.3), min_size=1, max_size=8), st.integers(0, 2))
def test_what_remains_can_always_be_spent(parts, which):
    kind = (PureDP, ZCDP, GDP)[which]
    ledger = Ledger(kind(3.0))
    for part in parts:
        ledger.spend(kind(part))
    ledger.spend(ledger.remaining)
    assert ledger.remaining is None or float(ledger.remaining.additive()[0]) < 1e-14


# Entries and lifetime


def test_entries_keep_label_time_and_guarantee(place):
    before = datetime.now(UTC)
    ledger = Ledger(ZCDP(1.0), path=place)
    returned = ledger.spend(GDP(1 / 3), "mean, Füße; visit 'two'")
    (entry,) = ledger.entries
    assert entry == returned
    assert (entry.label, entry.guarantee) == ("mean, Füße; visit 'two'", GDP(1 / 3))
    assert before <= entry.time <= datetime.now(UTC) + timedelta(seconds=1)


def test_a_spend_is_never_rolled_back(place):
    ledger = Ledger(PureDP(1.0), path=place)

    def release_that_fails():
        with ledger as entered:
            entered.spend(PureDP(0.75))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_that_fails()
    assert ledger.spent == PureDP(0.75)
    with pytest.raises(LedgerError, match="closed"):
        ledger.spend(PureDP(0.1))
    if place is not None:
        assert Ledger(PureDP(1.0), path=place).spent == PureDP(0.75)


def test_a_ledger_in_memory_is_not_copied():
    ledger = Ledger(PureDP(1.0))
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(LedgerError, match="twice"):
            duplicate(ledger)


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.3), GDP(0.7)])
def test_a_closed_copy_knows_what_was_spent_and_spends_nothing(budget, tmp_path):
    for place in (None, tmp_path / "study"):
        ledger = Ledger(budget, path=place, data="records", unit="person")
        assert ledger.closed_copy().spent is None
        for share in budget.split([1.0] * 7):
            ledger.spend(share)
            for twin in (ledger.closed_copy(), pickle.loads(pickle.dumps(ledger.closed_copy()))):
                assert (twin.spent, twin.budget, twin.path) == (ledger.spent, budget, None)
                assert (twin.data, twin.unit) == ("records", "person")
                with pytest.raises(LedgerError, match="closed for good"):
                    twin.spend(share)
        assert ledger.remaining is None
    with pytest.raises(LedgerError, match="best_estimator_"):  # control: open, it is not copied
        pickle.dumps(Ledger(budget))


def test_copies_of_a_file_ledger_share_the_account(tmp_path):
    ledger = Ledger(PureDP(1.0), path=tmp_path / "shared")
    twin = pickle.loads(pickle.dumps(ledger))
    twin.spend(PureDP(0.75))
    assert ledger.spent == PureDP(0.75)
    with pytest.raises(BudgetError):
        ledger.spend(PureDP(0.5))


def test_repr_names_the_budget_its_relation_and_its_place(tmp_path):
    assert "PureDP(epsilon=1.0); neighbouring: replace one record" in repr(Ledger(PureDP(1.0)))
    assert "in memory" in repr(Ledger(PureDP(1.0)))
    assert "shared" in repr(Ledger(PureDP(1.0), path=tmp_path / "shared"))


# The file


def test_a_file_keeps_the_account_between_sessions(tmp_path):
    path = tmp_path / "odd name?#%20.ledger"
    Ledger(GDP(1.0), path=path).spend(GDP(0.6), "a")
    again = Ledger(GDP(1.0), path=str(path))
    assert again.spent == GDP(0.6)
    again.spend(GDP(0.8), "b")
    assert [entry.label for entry in Ledger(GDP(1.0), path=path).entries] == ["a", "b"]
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_the_file_is_readable_by_its_owner_only(tmp_path):
    old = os.umask(0)
    try:
        Ledger(PureDP(1.0), path=tmp_path / "private").spend(PureDP(0.5))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


@pytest.mark.parametrize("other", [PureDP(2.0), PureDP(math.nextafter(1.0, 2.0)), ZCDP(1.0)])
def test_a_file_of_another_budget_is_refused(tmp_path, other):
    Ledger(PureDP(1.0), path=tmp_path / "one").spend(PureDP(0.5))
    with pytest.raises(LedgerError, match="budget PureDP"):
        Ledger(other, path=tmp_path / "one")
    assert Ledger(PureDP(1.0), path=tmp_path / "one").spent == PureDP(0.5)


def test_files_that_are_no_ledger_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "text"
    text.write_bytes(b"not a ledger at all, but long enough to look like a file" * 20)
    empty = tmp_path / "empty"
    empty.touch()
    foreign = tmp_path / "foreign"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE account (budget TEXT)")
    connection.commit()
    connection.close()
    for path in (text, empty, foreign, tmp_path):
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(LedgerError):
            Ledger(PureDP(1.0), path=path)
        assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_deleted_file_is_not_started_afresh(tmp_path):
    ledger = Ledger(PureDP(1.0), path=tmp_path / "gone")
    ledger.spend(PureDP(0.9))
    (tmp_path / "gone").unlink()
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.spend(PureDP(0.5))
    assert not (tmp_path / "gone").exists()


def test_a_file_follows_the_ledger_when_the_working_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(PureDP(1.0), path="relative")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.spend(PureDP(0.5))
    assert Ledger(PureDP(1.0), path=tmp_path / "relative").spent == PureDP(0.5)
