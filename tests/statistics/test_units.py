"""Persons known by name: the mean of a person's records counts as one record, everywhere."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import curvedp as cdp
from curvedp.errors import NoiseWarning
from group_cases import same_bits
from manifold_list import SMALL
from statistic_list import STATISTICS

BALL = cdp.Ball("sphere:2", center=[0.0, 0.6, 0.8], radius=0.5)
KEEP = ("value", "sensitivity", "scale", "n")


def directions(n: int, seed: int = 0) -> np.ndarray:
    return BALL.project(cdp.Sphere(2).random_point(n, rng=seed))


def drawn(entry, records, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        return entry.call(records, BALL, entry.guarantee, **how)


@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_units_of_one_record_change_no_bit(entry):
    if "tau" in getattr(entry.statistic, "options", dict)() and entry.statistic.tau is not None:
        pytest.skip("units take another sampler")
    records = directions(120)
    plain = drawn(entry, records, groups=[0, 50, 120], seed=3)
    named = drawn(entry, records, groups=[0, 50, 120], seed=3, units=np.arange(120))
    for name in KEEP:
        assert same_bits(getattr(plain, name), getattr(named, name))
    assert "units-by-name" in named.assumptions
    assert "units-by-name" not in plain.assumptions


@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_how_many_records_a_person_has_changes_nothing_but_drawn_values(entry):
    records = directions(300)
    few = np.repeat(np.arange(50), 4)
    many = np.concatenate([few, np.full(100, 49)])  # the last person has 104
    one = drawn(entry, records[:200], units=few)
    two = drawn(entry, records, units=many)
    assert one.n == two.n == 50
    assert one.guarantee == two.guarantee
    for left, right in zip(one.parts, two.parts, strict=False):
        assert left.n == right.n == 50
        assert "units-by-name" in left.assumptions
    with pytest.raises(ValueError, match="not both"):
        drawn(entry, records, units=many, records_per_unit=2)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_person_counts_as_the_mean_of_the_persons_records(case):
    manifold = case.manifold
    ball = cdp.Ball(manifold, manifold.random_point(rng=1), 0.3)
    rng = np.random.default_rng(2)
    coords = 0.1 * rng.standard_normal((60, manifold.dim))
    records = manifold.exp(manifold.coords_to_tangent(coords, ball.center), ball.center)
    who = rng.permutation(np.repeat(np.arange(12), 5))
    named = cdp.frechet_mean(records, ball, cdp.GDP(50.0), units=who)
    means = [cdp.nonprivate.frechet_mean(records[who == own], manifold).value for own in range(12)]
    exact = cdp.nonprivate.frechet_mean(np.array(means), manifold).value
    assert named.n == 12
    assert manifold.dist(named.value, exact) < 20 * named.scale * math.sqrt(manifold.dim)


@pytest.mark.parametrize("count", [1, 3, 400])
def test_all_records_of_a_person_move_the_mean_by_one_share(count):
    """Whatever they are; as records of their own they would move it by far more."""
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    rest = np.zeros((9, 2))
    moved = []
    for last in ([1.0, 0.0], [-1.0, 0.0]):
        records = np.concatenate([rest, np.tile(last, (count, 1))])
        units = np.concatenate([np.arange(9), np.full(count, 9)])
        found = cdp.frechet_mean(records, ball, cdp.GDP(1e5), units=units)
        moved.append(found.value)
        assert found.sensitivity == pytest.approx(2 / 10)
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(2 / 10, abs=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 0.0])
def test_no_value_of_a_persons_record_raises_or_warns(bad):
    records = directions(40)
    records[3] = bad
    records[5] = -BALL.center  # the antipode
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cdp.frechet_mean(records, BALL, cdp.GDP(1.0), units=np.arange(40) // 4)
    assert np.isfinite(found.value).all()


def test_a_ball_without_a_certified_mean_of_a_person_still_gives_one():
    """Where double precision certifies no mean, the mean is taken in the chart."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=1.5)
    angle = np.linspace(0.0, 2 * np.pi, 40, endpoint=False)
    records = np.column_stack([0.99 * np.cos(angle), 0.99 * np.sin(angle), np.full(40, 0.141)])
    found = cdp.frechet_mean(records, ball, cdp.GDP(1.0), units=np.arange(40) // 20)
    assert np.isfinite(found.value).all()
    assert found.n == 2


def test_persons_of_groups_with_balls_of_their_own():
    balls = [BALL, cdp.Ball("sphere:2", center=[1.0, 0.0, 0.0], radius=0.4)]
    records, groups = directions(80), np.repeat(["a", "b"], 40)
    units = np.tile(np.arange(10), 8)
    how = {"groups": groups, "units": units, "groups_per_unit": 2}
    found = cdp.frechet_mean(records, balls, cdp.GDP(1.0), **how)
    assert found.n.tolist() == [10, 10]
    assert cdp.compose(found.guarantee, found.guarantee) == found.total
    with pytest.raises(
        ValueError, match=r"groups_per_unit=1: say groups_per_unit=.* \(--groups-per-unit"
    ):
        cdp.frechet_mean(records, balls, cdp.GDP(1.0), groups=groups, units=units)
    secret = cdp.NoiseSecret(bytes(range(32)))
    twice = [
        cdp.frechet_variance(records, BALL, cdp.GDP(1.0), secret=secret, **how).value
        for _ in range(2)
    ]
    assert same_bits(*twice)


def test_nothing_is_computed_before_the_ledger_agrees(monkeypatch):
    records = directions(40)
    with cdp.Ledger(cdp.GDP(0.5)) as ledger:
        monkeypatch.setattr("curvedp.statistics.paid.one_record_each", None)
        with pytest.raises(cdp.BudgetError):
            cdp.frechet_mean(records, BALL, cdp.GDP(1.0), units=np.arange(40) // 4, ledger=ledger)


def test_an_estimator_is_fitted_by_person():
    records = directions(40)
    model = cdp.FrechetMean(BALL, cdp.GDP(1.0)).fit(records, units=np.arange(40) // 4)
    assert model.release_.n == 10


def test_labels_that_could_be_offsets_are_labels_beside_units():
    """Whether they could depends on how many records persons have."""
    records = directions(5)
    for groups, units in (([0, 1, 2, 4], [0, 1, 2, 3]), ([0, 1, 2, 4, 4], [0, 1, 2, 3, 3])):
        found = cdp.frechet_mean(
            records[: len(groups)], BALL, cdp.GDP(1.0), groups=groups, units=units
        )
        assert found.n.tolist() == [1, 1, 1, 1]


def test_values_of_a_person_count_in_a_quantile_as_they_do_alone():
    """Missing ones as the low end, those beyond the interval as its ends."""
    values = np.concatenate([[np.nan, np.nan, np.inf, np.inf], np.full(40, 5.0)])
    units = np.concatenate([[0, 0, 1, 1], np.arange(2, 42)])
    single = np.concatenate([[np.nan, np.inf], np.full(40, 5.0)])
    how = {"low": 0.0, "high": 10.0, "guarantee": cdp.GDP(1.0), "seed": 2}
    persons = cdp.quantile(values, 0.5, units=units, **how)
    assert same_bits(persons.value, cdp.quantile(single, 0.5, **how).value)
