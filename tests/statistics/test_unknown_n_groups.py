"""Groups where the number of records is protected: public keys, secret keys, units, budgets."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, ExistenceError, NoiseWarning
from curvedp.privacy.base import with_relation
from curvedp.statistics.count_plan import CountPlan
from curvedp.statistics.with_counts import UNCOUNTED
from unit_twin import outcome
from unknown_n_cases import (
    ADD,
    BALL,
    BUDGETS,
    DOUBTING,
    GDP,
    INFERS,
    SERVED,
    counts_of,
    plan_for,
    rows,
    served,
    serves,
)

KEYS = ["north", "empty", "south"]
SECRET = cdp.ApproxDP(6.0, 1e-9, neighbours=ADD)


def labelled(**sizes: int) -> tuple[np.ndarray, list[str]]:
    """Records, and the label of each."""
    labels = [label for label, size in sizes.items() for _ in range(size)]
    return rows(len(labels)), labels


@pytest.fixture
def counts_are(monkeypatch) -> Callable[[int], None]:
    """Sets every released count, whatever the records are."""

    def fix(value: int) -> None:
        monkeypatch.setattr(CountPlan, "draw", lambda self, n, stream: np.full(len(n), value))

    return fix


# --------------------------------------------------------------------------------- public keys


@served
@pytest.mark.parametrize("guarantee", BUDGETS, ids=str)
def test_every_public_key_has_a_release_with_its_own_count(name, guarantee):
    if not serves(name, guarantee):
        return
    records, labels = labelled(south=90, other=50, north=160)
    found = SERVED[name](records, BALL, guarantee, n_guess=100, groups=labels, keys=KEYS)
    plan = plan_for(name, guarantee, 100)
    assert list(found.keys()) == KEYS
    assert found.guarantee == found.total == guarantee
    assert found.uncounted == UNCOUNTED
    for label, n in zip(KEYS, (160, 0, 90), strict=True):
        own = found[label]
        assert own.guarantee == guarantee
        assert getattr(own, "uncounted", UNCOUNTED) == UNCOUNTED
        assert own.count.guarantee == plan.share
        assert own.count.replacing == guarantee.to_replace()
        counts = counts_of(own)
        assert abs(sum(counts) - n) < 60 * plan.standard_error * len(counts)
        assert own.n == max(sum(map(plan.target, counts)), own.n if own.n <= 4 else 0)
        assert type(own).from_json(own.to_json()).to_json() == own.to_json()
        for part in own.parts:
            assert (part.guarantee, part.count, part.n) == (guarantee, own.count, own.n)
    for part in found.parts:
        assert part.guarantee == guarantee
        for own in part:  # an interval rests on one of two, by the number of records
            assert "the number of records is protected" in own.report()
    assert set(found.to_arrow().column("guarantee").to_pylist()) == {str(guarantee)}
    assert "public-keys" in found.assumptions
    assert "public-groups" not in found.assumptions
    told = " ".join(found["north"].report().split()).lower()
    assert "the number of records is protected" in told
    assert "Public, so not protected: which groups there are" in " ".join(found.report().split())


def test_each_group_is_that_of_its_records():
    guarantee = cdp.GDP(60.0, neighbours=ADD)
    space = BALL.manifold
    north, south = rows(150), space.project(rows(150) + np.array([0.4, 0.0, 0.0]))
    both, labels = np.concatenate([north, south]), np.repeat(["n", "s"], 150)
    order = np.random.default_rng(1).permutation(300)
    found = cdp.frechet_mean(
        both[order], BALL, guarantee, n_guess=150, groups=labels[order], keys=["s", "n"]
    )
    for label, own in (("n", north), ("s", south)):
        exact = cdp.nonprivate.frechet_mean(own, space).value
        assert space.dist(found[label].value, exact) < 0.05
    assert (abs(found.n - 150) < 10).all()


def test_each_group_may_have_a_ball_of_its_own():
    """And is padded by the centre of this one."""
    other = cdp.Ball("sphere:2", [0.0, 1.0, 0.0], 0.4)
    guarantee = cdp.GDP(80.0, neighbours=ADD)
    found = cdp.frechet_mean(
        np.empty((0, 3)), [BALL, other], guarantee, n_guess=50, groups=[], keys=["a", "b"]
    )
    for ball, label in ((BALL, "a"), (other, "b")):
        assert ball.manifold.dist(found[label].value, ball.center) < 0.5
        assert (found[label].ball_center == ball.center).all()
    with pytest.raises(ValueError, match="2 balls do not fit 3 groups"):
        cdp.frechet_mean(rows(3), [BALL, other], GDP, n_guess=50, groups=["a"] * 3, keys=KEYS)


@served
def test_nothing_that_comes_back_tells_how_many_there_are(name, counts_are, tmp_path):
    """Reports, tables, JSON, warnings, progress and the ledger, for one released count."""
    counts_are(30)

    def of(**sizes: int) -> list[Any]:
        def run() -> Any:
            ledger = cdp.Ledger(cdp.GDP(9.0, neighbours=ADD))
            records, labels = labelled(**sizes)
            how = {"groups": labels, "keys": KEYS, "progress": True}
            found = SERVED[name](records, BALL, GDP, n_guess=25, ledger=ledger, **how)
            lines = " ".join(found.report().split("group  n ")[0].split())
            told = [] if name in DOUBTING else [lines, found.statement]
            return [found.n.tolist(), repr(found), ledger.report(), *told]

        return outcome(run, tmp_path, hidden=("sensitivity", "scale", "expected_error"))

    first, *others = (
        of(**sizes)
        for sizes in ({"north": 30, "south": 30}, {}, {"other": 90}, {"south": 1}, {"empty": 150})
    )
    assert not str(first[0][0]).endswith("Error"), first
    used = plan_for(name, GDP, 25).target(30) * INFERS.get(name, 1)
    assert first[0][0] == [str(used)] * 3
    for other in others:
        assert other == first


def test_control_with_public_groups_everything_tells_it(tmp_path):
    def of(n: int) -> list[Any]:
        records, labels = labelled(north=n, south=30)
        return outcome(
            lambda: cdp.frechet_mean(records, BALL, cdp.GDP(3.0), groups=labels), tmp_path
        )

    assert of(30) != of(31)


def test_one_coverage_of_all_groups_costs_a_unit_of_several_what_their_counts_cost_it():
    """It says of how many records, which follows from the counts of all groups of the unit."""
    keys, g = list(range(40)), 40
    labels = np.repeat(keys, 150)
    records = rows(400)[np.arange(len(labels)) % 400]
    how = {"n_guess": 150, "groups": labels, "keys": keys, "coverage": True}
    one = cdp.GDP(1.0, neighbours=ADD)
    found = cdp.frechet_mean(records, BALL, one, groups_per_unit=g, **how)
    drawn = found.call.counting
    assert found.coverage.n == found.n.sum()
    spent = math.hypot(drawn.total.mu, math.sqrt(g) * found.counts[0].guarantee.mu)
    assert spent > one.mu
    assert found.coverage.guarantee == found.total
    assert found.coverage.guarantee.mu >= spent
    alone = cdp.frechet_mean(records, BALL, one, **how)
    assert alone.coverage.guarantee == alone.guarantee == one


# --------------------------------------------------------------------------------- secret keys


@served
def test_groups_with_enough_records_are_shown_and_no_others(name):
    if not serves(name, SECRET):
        return
    records, labels = labelled(large=180, xyzzy=2, middle=150, plugh=1)
    ledger = cdp.Ledger(SECRET)
    found = SERVED[name](records, BALL, SECRET, n_guess=150, groups=labels, ledger=ledger)
    assert list(found.keys()) == ["large", "middle"]
    assert found.guarantee == ledger.spent == SECRET
    shown = found.report() + repr(found) + found._repr_html_() + ledger.report()
    shown += "".join(own.report() + own.to_json() for own in found) + str(found.to_arrow())
    for word in ("xyzzy", "plugh", "4 groups"):
        assert word not in shown
    assert "So is which groups there are" in " ".join(found.report().split())
    assert [entry.label for entry in ledger.entries] == [
        f"{found.statistic} of groups with private keys"
    ]


PRODUCT = cdp.ProductBall(BALL, cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0))
#: Those that are served, and what differs from them: a product, several covariates.
SERVED_ALSO: dict[str, Callable[..., Any]] = {
    **SERVED,
    "product": lambda x, _, own, **how: cdp.frechet_mean(
        (x, np.zeros((len(x), 2))), PRODUCT, own, **how
    ),
    "trend of two": lambda x, ball, own, **how: cdp.trend_test(
        np.zeros((len(x), 2)), x, ball, own, x_range=((0.0, 1.0), (0.0, 1.0)), **how
    ),
}


@pytest.mark.parametrize("name", SERVED_ALSO)
@pytest.mark.parametrize("by_name", [False, True], ids=["records", "units"])
@pytest.mark.parametrize("n", [0, 5])
def test_where_no_group_is_shown_nothing_raises(name, n, by_name):
    """It would tell that all are small: after the ledger was charged, too."""
    if not serves(name, SECRET):
        return
    units = {"units": ["u", "v", "u", "w", "x"][:n]} if by_name else {}
    how = {"n_guess": 150, "groups": ["a", "b", "a", "b", "b"][:n], **units}
    ledger = cdp.Ledger(SECRET)
    found = SERVED_ALSO[name](rows(n), BALL, SECRET, ledger=ledger, **how)
    assert len(found) == found.to_arrow().num_rows == 0
    assert ledger.spent == SECRET
    assert found.report()


def test_groups_that_are_not_shown_leave_no_trace(monkeypatch, tmp_path):
    """Whatever they are and however many, beside one that is: only the noise is drawn anew."""
    usual = CountPlan.draw

    def draw(self: CountPlan, n: np.ndarray, stream: Any) -> np.ndarray:
        return np.where(n == 150, 150, np.minimum(usual(self, n, stream), 3))

    monkeypatch.setattr(CountPlan, "draw", draw)

    def of(**others: int) -> list[Any]:
        records, labels = labelled(shown=150, **others)

        def run() -> Any:
            ledger = cdp.Ledger(SECRET)
            how = {"n_guess": 150, "groups": labels, "ledger": ledger}
            found = cdp.frechet_variance(records, BALL, SECRET, **how)
            lines = " ".join(found.report().split("accuracy:")[0].split())
            table = found.to_arrow().drop_columns(
                ["value", "within", "unclipped", "expected_error"]
            )
            told = [str(table.schema.names), table.column("group").to_pylist(), found.n.tolist()]
            return [*told, repr(found), lines, ledger.report(), list(found.keys())]

        return outcome(run, tmp_path)

    first = of()
    assert not str(first[0][0]).endswith("Error"), first
    for others in ({"a": 1}, {"z": 20}, {f"key {k}": 1 for k in range(60)}):
        assert of(**others) == first
    assert of(b=150) != first  # control: another group that is shown


def test_control_without_a_threshold_every_key_is_shown(monkeypatch):
    monkeypatch.setattr(CountPlan, "key_threshold", -(10.0**9))
    records, labels = labelled(large=150, one=1)
    found = cdp.frechet_mean(records, BALL, SECRET, n_guess=150, groups=labels)
    assert list(found.keys()) == ["large", "one"]


@pytest.mark.parametrize("groups", [[], ["a"], ["a", "b"], [None, None]])
def test_few_records_with_secret_keys_look_alike(groups):
    found = cdp.frechet_mean(rows(len(groups)), BALL, SECRET, n_guess=150, groups=groups)
    assert len(found) == 0
    assert found.value.shape == (0, 3)
    assert found.to_arrow().num_rows == 0
    assert "groups:             0" in found.report()


@pytest.mark.parametrize("label", [float("nan"), None, object(), 10**30, "x" * 1000, (1, 2), b"a"])
def test_no_label_of_a_record_raises(label):
    labels = ["a"] * 150 + [label]
    for how in ({}, {"keys": ["a", "b"]}):
        found = cdp.frechet_mean(rows(151), BALL, SECRET, n_guess=150, groups=labels, **how)
        assert found["a"].n > 50  # 10 less than a count with Laplace noise of scale 3.5: 1e-11


def test_what_would_tell_which_groups_there_are_is_refused():
    records, labels = labelled(a=50, b=50)
    ledger = cdp.Ledger(SECRET)
    secret = cdp.NoiseSecret(bytes(32))
    for how in ({"secret": secret}, {"progress": print}, {"timing": "steady"}):
        with pytest.raises(ValueError, match="is not served under neighbours='add-remove'"):
            cdp.frechet_mean(records, BALL, SECRET, n_guess=50, groups=labels, ledger=ledger, **how)
    with pytest.raises(ValueError, match="how many groups there are is protected"):
        cdp.frechet_mean(records, [BALL, BALL], SECRET, n_guess=50, groups=labels, ledger=ledger)
    with pytest.raises(ValueError, match="give keys"):
        cdp.frechet_mean(records, BALL, GDP, n_guess=50, groups=labels)
    with pytest.raises(ValueError, match="give groups"):
        cdp.frechet_mean(records, BALL, GDP, n_guess=50, keys=["a"])
    assert ledger.spent is None


# --------------------------------------------------------------------------------------- units


def test_a_person_counts_once_in_each_group_and_in_no_more_than_was_said():
    """The records of persons in more groups than was said are left out; none raises."""
    persons = np.repeat(np.arange(60), 4)
    labels = np.tile(["a", "b", "c", "c"], 60)
    guarantee = cdp.GDP(30.0, neighbours=ADD)
    for most in (1, 2, 3):
        found = cdp.frechet_mean(
            rows(240),
            BALL,
            guarantee,
            n_guess=60,
            groups=labels,
            keys=["a", "b", "c", "d"],
            units=persons,
            groups_per_unit=most,
        )
        counts = [own.count.value for own in found]
        for number, count in enumerate(counts):
            assert abs(count - (60 if number < most else 0)) < 25
        assert found.total == cdp.privacy.compose(*[guarantee] * most)
        assert "units-by-name" in found.assumptions


def test_a_key_that_only_left_out_records_have_is_none(monkeypatch):
    monkeypatch.setattr(CountPlan, "key_threshold", -(10.0**9))
    persons = [f"p{k}" for k in range(150)] + ["p0"]
    labels = ["a"] * 150 + ["b"]
    found = cdp.frechet_mean(rows(151), BALL, SECRET, n_guess=150, groups=labels, units=persons)
    assert list(found.keys()) == ["a"]


# ------------------------------------------------------------------------------------- budgets


@pytest.mark.parametrize("relation", ["replace", ADD])
@pytest.mark.parametrize("most", [1, 3])
def test_the_ledger_pays_for_all_groups_of_a_unit_before_the_counts(relation, most, monkeypatch):
    """A record that is replaced may change its group: a ledger of that relation pays for two."""
    whole = cdp.privacy.compose(*[GDP] * most)
    price = whole if relation == ADD else whole.to_replace()
    ledger = cdp.Ledger(price)
    records, labels = labelled(north=9)
    how = {"n_guess": 9, "groups": labels, "keys": KEYS, "groups_per_unit": most}
    found = cdp.frechet_mean(records, BALL, GDP, ledger=ledger, **how)
    assert ledger.spent == price
    assert [entry.label for entry in ledger.entries] == ["Fréchet mean of 3 groups"]
    assert found.provenance.payment is not None

    def fail(self: Any, n: Any, stream: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(CountPlan, "draw", fail)
    other = cdp.Ledger(price)
    with pytest.raises(KeyboardInterrupt):
        cdp.frechet_mean(records, BALL, GDP, ledger=other, **how)
    assert other.spent == price
    short = cdp.Ledger(with_relation(cdp.GDP(1.0), relation))
    with pytest.raises(BudgetError):
        cdp.frechet_mean(records, BALL, GDP, ledger=short, **how)
    assert short.spent is None


def test_what_does_not_exist_is_refused_by_the_guess_and_warned_of_by_it():
    ledger = cdp.Ledger(cdp.PureDP(1.0, neighbours=ADD))
    ball = cdp.Ball("hyperboloid:2", [1.0, 0.0, 0.0], 1.0)
    for n in (0, 500):
        how = {"groups": ["a"] * n, "keys": ["a", "b"], "n_guess": 3, "ledger": ledger}
        with pytest.raises(ExistenceError):
            cdp.frechet_mean(
                np.tile(ball.center, (n, 1)), ball, cdp.PureDP(1.0, neighbours=ADD), **how
            )
        with pytest.warns(NoiseWarning, match="of 2 of 2 groups is up to"):
            cdp.frechet_mean(
                rows(min(n, 400)),
                BALL,
                cdp.GDP(0.25, neighbours=ADD),
                n_guess=10,
                groups=["a"] * min(n, 400),
                keys=["a", "b"],
            )
    assert ledger.spent is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cdp.frechet_mean(rows(9), BALL, GDP, n_guess=300, groups=["a"] * 9, keys=["a", "b"])


def test_no_count_leads_to_an_error(counts_are):
    for count in (-(10**9), 0, 1, 10**12):
        counts_are(count)
        records, labels = labelled(north=5, south=9)
        found = (
            cdp.frechet_mean(records, BALL, GDP, n_guess=25, groups=labels, keys=KEYS)
            if count < 10**6
            else None
        )
        if found is not None:
            assert (found.n >= 1).all()


def test_a_seed_voids_the_guarantee_and_repeats_all_groups():
    records, labels = labelled(north=90, south=60)
    how = {"n_guess": 80, "groups": labels, "keys": KEYS, "seed": 4}
    first, second = (cdp.frechet_mean(records, BALL, GDP, **how) for _ in range(2))
    assert (first.value == second.value).all()
    assert first.counts == second.counts
    for own in first:
        assert isinstance(own.guarantee, cdp.Unproved)
        assert own.guarantee.claimed == GDP


def test_stored_counts_are_read_again():
    records, labels = labelled(north=90, south=60)
    found = cdp.frechet_mean(records, BALL, GDP, n_guess=80, groups=labels, keys=KEYS)
    text = json.loads(found["south"].to_json())
    assert text["count"]["value"] == found["south"].count.value
    assert text["count"]["replacing"]["mu"] == 6.0
