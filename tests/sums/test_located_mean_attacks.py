"""Attacks on means without a ball: what is released beside the sums, and what costs a budget."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp._core import Stream
from curvedp.checked_domain import WholeSpace
from curvedp.errors import CoverageWarning
from curvedp.manifolds import as_manifold
from curvedp.statistics.public_time import KINDS, slow_records
from curvedp.statistics.releases import Releases
from curvedp.sums.filter import Filter
from curvedp.sums.noise import answered
from sums.test_located_mean import SPACES
from sums.test_search_replay import Listener

SPHERE = cdp.Sphere(2)
PROTECTED = cdp.GDP(1.0, neighbours="add-remove")
NORTH = np.array([0.0, 0.0, 1.0])


def _north(n: int) -> np.ndarray:
    return np.tile(NORTH, (n, 1))


# ------------------------------------------------------------------ protected numbers of records


def _by_group(sizes: tuple[int, ...], guarantee: cdp.privacy.Guarantee) -> Releases[Any]:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    given = {} if guarantee.neighbours == "replace" else {"keys": np.arange(len(sizes))}
    return cdp.frechet_mean(_north(sum(sizes)), SPHERE, guarantee, groups=labels, **given)


def _laws(releases: Releases[Any]) -> tuple[list[int], int]:
    again = pickle.loads(pickle.dumps(releases))
    assert again.law_of.tolist() == releases.law_of.tolist()
    return releases.law_of.tolist(), len(releases.laws)


@pytest.mark.parametrize("sizes", [(40, 40), (40, 41), (41, 40), (0, 7)])
def test_protected_sizes_of_groups_are_neither_ranked_nor_compared(sizes: tuple[int, int]) -> None:
    assert _laws(_by_group(sizes, PROTECTED)) == ([0, 0], 1)


def test_public_sizes_of_groups_are_told_apart() -> None:
    assert _laws(_by_group((121, 120), cdp.GDP(1.0))) == ([1, 0], 2)


@pytest.mark.parametrize(
    ("records", "given"),
    [
        (np.zeros((61, 4)), {}),
        (np.zeros((61, 2, 3)), {}),
        (np.zeros(61), {}),
        (_north(61), {"units": np.arange(59)}),
        (_north(61), {"groups": np.arange(59), "keys": [0]}),
        (_north(61), {"groups": np.zeros((61, 2), dtype=int), "keys": [0]}),
    ],
)
def test_no_error_names_a_protected_number_of_records(
    records: np.ndarray, given: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="must have") as caught:
        cdp.frechet_mean(records, SPHERE, PROTECTED, **given)
    assert "61" not in str(caught.value)
    assert "59" not in str(caught.value)


@pytest.mark.parametrize("label", [None, 1.5, math.nan, [1], {}, object()])
def test_no_label_of_a_record_raises_where_groups_are_protected(label: object) -> None:
    labels = np.array([0] * 300, dtype=object)
    labels[7] = label
    releases = cdp.frechet_mean(_north(300), SPHERE, PROTECTED, groups=labels, keys=[0, 1])
    assert releases[0].n_points == pytest.approx(299, abs=8.0 * releases[0].n_points_error)
    assert not releases[1].found


@pytest.mark.parametrize("kind", ["objects", "times", "text"])
def test_records_without_a_person_are_left_out_where_persons_are_protected(kind: str) -> None:
    persons = np.arange(600) // 2
    labels: Any = {
        "objects": persons.astype(object),
        "times": persons.astype("datetime64[D]"),
        "text": np.array([f"p{own}" for own in persons], dtype=object),
    }[kind]
    for odd in (None, math.nan, [1, 2], {}) if kind != "times" else (np.datetime64("NaT"),):
        labels[8], labels[9], labels[11] = odd, odd, odd
        release = cdp.frechet_mean(_north(600), SPHERE, PROTECTED, units=labels)
        assert release.n_points == pytest.approx(299, abs=8.0 * release.n_points_error)
        with pytest.raises((TypeError, ValueError), match="units"):
            cdp.frechet_mean(_north(600), SPHERE, cdp.GDP(1.0), units=labels)
    labels[:] = odd
    assert not cdp.frechet_mean(_north(600), SPHERE, PROTECTED, units=labels).found


def test_records_without_a_person_leave_the_others_where_they_were() -> None:
    rng = np.random.default_rng(0)
    records = SPHERE.project(NORTH + 0.1 * rng.normal(size=(600, 3)))
    keep = rng.random(600) < 0.8
    persons = np.where(keep, rng.integers(0, 250, 600), -1).astype(object)
    persons[~keep] = None
    groups, given = rng.integers(0, 3, 600), {"keys": [0, 1], "groups_per_unit": 2, "seed": 0}
    whole, part = (
        cdp.frechet_mean(
            records[own],
            SPHERE,
            cdp.GDP(3.0, neighbours="add-remove"),
            units=persons[own],
            groups=groups[own],
            **given,
        )
        for own in (np.ones(600, dtype=bool), keep)
    )
    assert np.array_equal(whole.value, part.value, equal_nan=True)
    assert whole[0].found


@pytest.mark.parametrize(("most", "counts"), [(1, (250, 50, 50)), (2, (250, 250, 150))])
def test_persons_in_more_groups_than_was_said_count_in_the_first_ones(
    most: int, counts: tuple[int, ...]
) -> None:
    """Persons are in the groups 0 and 1, 0 and 2, 1 and 2, and some in all: two records in each."""
    of_kind = {(0, 1): 100, (0, 2): 50, (1, 2): 50, (0, 1, 2): 100, (2,): 50}
    persons, groups = [], []
    for own, times in of_kind.items():
        for _ in range(times):
            person = persons[-1] + 1 if persons else 0
            for group in own:
                persons += [person, person]
                groups += [group, group]
    order = np.random.default_rng(0).permutation(len(persons))
    releases = cdp.frechet_mean(
        _north(len(persons)),
        SPHERE,
        cdp.GDP(9.0, neighbours="add-remove"),
        units=np.array(persons)[order],
        groups=np.array(groups)[order],
        keys=[0, 1, 2],
        groups_per_unit=most,
    )
    for release, count in zip(releases, counts, strict=True):
        assert release.n_points == pytest.approx(count, abs=8.0 * release.n_points_error)


def test_no_records_at_all_may_come_as_an_empty_list() -> None:
    release = cdp.frechet_mean([], cdp.SPD(2), PROTECTED)
    assert not release.found
    with pytest.raises(ValueError, match="shape"):
        cdp.frechet_mean([], SPHERE, cdp.GDP(1.0))


def test_groups_that_are_skipped_keep_their_public_number_of_records() -> None:
    releases = cdp.frechet_mean(
        _north(150), SPHERE, cdp.GDP(1.0), groups=np.repeat([0, 1], [130, 20]), skip_small=True
    )
    assert releases.released.tolist() == [True, False]
    assert releases.n.tolist() == [130, 20]


# ------------------------------------------------------------------ a ball, and n protected


@pytest.mark.parametrize("label", [None, math.nan, [1], {}])
def test_no_name_of_a_person_raises_on_a_ball_either(label: object) -> None:
    ball = cdp.Ball(SPHERE, center=NORTH, radius=1.0)
    persons = np.arange(600).astype(object)
    persons[7] = label
    release = cdp.frechet_mean(_north(600), ball, PROTECTED, units=persons, n_guess=600)
    assert release.value.shape == (3,)
    persons[:] = [label] * 600
    cdp.frechet_mean(_north(600), ball, PROTECTED, units=persons, n_guess=600)


@pytest.mark.parametrize(
    "given", [{"groups": np.zeros(9, int)}, {"groups": [0] * 9}, {"keys": np.arange(2)}]
)
def test_groups_on_a_ball_need_public_keys_as_without_one(given: dict[str, Any]) -> None:
    ball = cdp.Ball(SPHERE, center=NORTH, radius=1.0)
    missing = "groups" if "keys" in given else "keys"
    with pytest.raises(ValueError, match=f"give {missing}, the"):
        cdp.frechet_mean(_north(9), ball, PROTECTED, n_guess=9, **given)


# ------------------------------------------------------------------ private keys

HIDDEN = cdp.ApproxDP(8.0, 1e-6, neighbours="add-remove")


def _hidden(labels: Any, **how: Any) -> Releases[Any]:
    space = how.pop("space", SPHERE)
    return cdp.frechet_mean(_north(len(labels)), space, HIDDEN, groups=labels, **how)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_record_and_few_records_with_private_keys_look_alike(n: int) -> None:
    releases = _hidden(["a", "b", "c"][:n])
    assert len(releases) == 0
    assert (len(releases.laws), releases.n.shape, releases.value.shape) == (1, (0,), (0, 3))
    assert releases.laws == _hidden(["a"] * 300).laws
    assert releases.to_arrow().num_rows == 0


@pytest.mark.parametrize("balls", [2, 3])
def test_manifolds_in_a_list_do_not_count_private_keys(balls: int) -> None:
    for keys in (2, 3):
        with pytest.raises(ValueError, match="how many groups there are is protected"):
            _hidden(np.arange(300) % keys, space=[SPHERE] * balls)


@pytest.mark.parametrize("label", [None, 1.5, math.nan, [1], {}, object(), ("a",), b"a", True])
def test_no_label_of_a_record_raises_where_keys_are_private(label: object) -> None:
    labels = np.array(["a"] * 300 + [1] * 300, dtype=object)
    assert _hidden(labels).labels == [1, "a"]
    labels[7] = label
    assert _hidden(labels).labels == [1, "a"]


@pytest.mark.parametrize(
    ("label", "alike"),
    [(True, 1), (Decimal("1.0"), Decimal("1")), (Fraction(2), 2), (np.str_("a"), "a")],
)
def test_a_record_does_not_say_how_the_group_of_others_is_written(
    label: object, alike: object
) -> None:
    labels = np.array([label] * 301, dtype=object)
    before = _hidden(labels)
    labels[300] = alike
    assert label == alike
    assert list(map(repr, before.labels)) == list(map(repr, _hidden(labels).labels))


@pytest.mark.parametrize("groups", [[0, 150, 300], [0, 150, 299], [0, 150, 150, 300]])
def test_private_keys_are_no_offsets(groups: list[int]) -> None:
    with pytest.raises(ValueError, match=r"groups must have one label for each record$"):
        cdp.frechet_mean(_north(300), SPHERE, HIDDEN, groups=groups)


def test_private_keys_are_no_floats() -> None:
    for groups in (np.zeros(300), pytest.importorskip("pandas").Series([1.0, None] * 150)):
        with pytest.raises(TypeError, match="got float64"):
            _hidden(groups)


def test_private_keys_of_every_kind_are_shown() -> None:
    days = np.repeat(np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"), 300)
    for groups in (days, days.astype(object), days.astype(str), days.astype(int)):
        assert len(_hidden(groups)) == 2


# ------------------------------------------------------------------ steady times


@pytest.mark.parametrize("spec", SPACES)
def test_searches_are_rehearsed_on_points(spec: str) -> None:
    space = as_manifold(spec)
    for kind in KINDS:
        records = slow_records(
            kind, (WholeSpace(space),), np.array([0, 40]), (40, *space.point_shape)
        )
        assert space.belongs(records).all()


@pytest.mark.parametrize("spec", SPACES)
def test_no_search_takes_many_more_sums_than_its_rehearsals(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that steady answers come after one period, whatever the records are."""
    space, listener = as_manifold(spec), Listener(monkeypatch)
    records = np.array(space.random_point(400, rng=1))
    for own in (records, np.tile(records[:1], (400,) + (1,) * (records.ndim - 1))):
        listener.during(
            lambda: cdp.frechet_mean(own, space, cdp.GDP(1.0), timing="steady")  # noqa: B023
        )
        *rehearsed, taken = map(len, listener.heard)
        assert len(rehearsed) == len(KINDS)
        assert taken <= 2.0 * max(rehearsed)  # a period lasts four times the longest


def test_a_rehearsal_says_nothing_of_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_points(kind: Any, balls: Any, offsets: Any, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, np.nan)

    monkeypatch.setattr("curvedp.statistics.paid.slow_records", no_points)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cdp.frechet_mean(_north(300), SPHERE, cdp.GDP(1.0), timing="steady", seed=0)
    assert not [own for own in caught if issubclass(own.category, CoverageWarning)]
    with pytest.warns(CoverageWarning, match="of 300 records are no points"):
        cdp.frechet_mean(0.0 * _north(300), SPHERE, cdp.GDP(1.0), timing="steady", seed=0)


# ------------------------------------------------------------------ what is charged


@pytest.mark.parametrize("mu", np.linspace(0.5, 0.9, 17).tolist())
def test_what_factors_of_a_product_spent_is_not_rounded_down(mu: float) -> None:
    product = cdp.Product(SPHERE, SPHERE, SPHERE)
    none = np.full((10, product.point_size), np.nan)
    guarantee = cdp.GDP(mu, neighbours="add-remove")
    release = cdp.frechet_mean(none, product, guarantee, seed=0)
    assert release.reason == "the records have no common direction, or are too few to show one"
    share = guarantee.split([1.0, 1.0, 1.0])[0].mu
    spent = Filter(share).take(0.3 * share)
    assert Fraction(release.spent) ** 2 >= 3 * Fraction(spent) ** 2
    assert release.spent == pytest.approx(math.sqrt(3.0) * spent, rel=1e-15)


@pytest.mark.parametrize("mu", [1e-300, 1e-20, 1e-10, 1e10, 1e300])
def test_budgets_at_the_ends_of_doubles_are_refused_before_they_cost(mu: float) -> None:
    ledger = cdp.Ledger(cdp.GDP(1e301, neighbours="add-remove"))
    with pytest.raises(ValueError, match="between 1e-09 and 1e"):
        cdp.frechet_mean(_north(9), SPHERE, cdp.GDP(mu, neighbours="add-remove"), ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize("mu", [1e-9, 1e9])
@pytest.mark.parametrize("n", [0, 300])
def test_budgets_before_these_ends_are_served(mu: float, n: int) -> None:
    guarantee = cdp.GDP(mu, neighbours="add-remove")
    for space, records in ((SPHERE, _north(n)), (cdp.SPD(2), np.tile(np.eye(2), (n, 1, 1)))):
        assert cdp.frechet_mean(records, space, guarantee).found == (mu > 1.0 and n > 0)


def test_the_least_budget_is_that_of_each_record_of_a_unit() -> None:
    ledger = cdp.Ledger(PROTECTED)
    for records_per_unit, is_served in ((2, True), (3, False)):
        how = {"records_per_unit": records_per_unit, "ledger": ledger}
        mu = cdp.GDP(2e-9, neighbours="add-remove")
        if is_served:
            assert not cdp.frechet_mean(_north(9), SPHERE, mu, **how).found
        else:
            with pytest.raises(ValueError, match="between 3e-09 and 1e"):
                cdp.frechet_mean(_north(9), SPHERE, mu, **how)
    assert [entry.settles for entry in ledger.entries] == [None, 1]


@pytest.mark.parametrize("bits", [30, 50, 60, 63, 66, 74])
def test_noise_of_any_size_leaves_no_trace_of_how_a_sum_was_split(bits: int) -> None:
    """Sums that are close give numbers that are, on a circle of 2^64: also across 0 and 2^52."""
    scale = 2.0**bits
    sums = np.array([-5, 5, 2**52 - 3, 2**52 + 3, -(2**52) - 1, -(2**52) + 1])
    grid = max(1, 2 ** (bits - 23))
    for number in range(40):
        noisy = [
            int(answered(sums[i : i + 1], scale, np.ones(1), Stream.from_key(b"0" * 32, number))[0])
            for i in range(len(sums))
        ]
        for i in (0, 2, 4):
            moved = (noisy[i + 1] - noisy[i]) % 2**64
            assert min(moved, 2**64 - moved) <= grid + 10
    if bits == 63:  # the control: noise that is cut at 2^62 is so often
        cut = np.clip(scale * np.random.default_rng(0).normal(size=40), -(2.0**62), 2.0**62)
        assert (np.abs(cut) == 2.0**62).sum() > 20


def test_a_ledger_that_breaks_while_it_is_searched_does_not_cost_the_release(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger"
    ledger = cdp.Ledger(cdp.GDP(3.0, neighbours="add-remove"), path=path)

    def break_it(done: int, groups: int) -> None:
        path.write_bytes(b"no ledger")

    with pytest.warns(RuntimeWarning, match="keeps the whole charge"):
        releases = cdp.frechet_mean(
            np.full((9, 3), np.nan),
            SPHERE,
            PROTECTED,
            groups=[0] * 9,
            keys=[0],
            ledger=ledger,
            progress=break_it,
        )
    assert releases[0].spent < 1.0
    assert releases.provenance.payment.guarantee == PROTECTED


# ------------------------------------------------------------------ what newcomers read


@pytest.mark.parametrize("given", [2, None, cdp.Sphere])
def test_what_is_no_ball_is_told_that_a_manifold_would_do(given: Any) -> None:
    with pytest.raises(TypeError, match="for a mean without a ball a Manifold, such as"):
        cdp.frechet_mean(_north(300), given, cdp.GDP(1.0))


def test_no_keys_are_refused_by_name() -> None:
    for keys in ([], [[0], [1]]):
        with pytest.raises((TypeError, ValueError), match="keys"):
            cdp.frechet_mean(_north(9), SPHERE, PROTECTED, groups=np.zeros(9, int), keys=keys)


def test_too_few_records_are_told_in_sentences() -> None:
    with pytest.raises(cdp.ExistenceError, match=r"larger budget\. It works with n of at least 90"):
        cdp.frechet_mean(_north(20), SPHERE, cdp.GDP(1.0))


@pytest.mark.parametrize(("spec", "least"), [("sphere:2", 45), ("spd:2", 80)])
def test_a_plan_refuses_numbers_of_records_with_which_no_mean_is_found(
    spec: str, least: int
) -> None:
    space = as_manifold(spec)
    for guarantee, few in ((PROTECTED, least), (cdp.GDP(1.0), 2 * least)):
        assert cdp.plan("frechet_mean", space, guarantee, n=few, spread=0.1).n == few
        with pytest.raises(cdp.ExistenceError, match=f"n of at least {few}"):
            cdp.plan("frechet_mean", space, guarantee, n=few - 1, spread=0.1)
        assert cdp.plan("frechet_mean", space, guarantee, error=1e3, spread=0.1).n == few


def test_no_more_records_than_there_are_are_called_no_points() -> None:
    told = []
    for seed in range(20):
        with pytest.warns(CoverageWarning) as caught:
            cdp.frechet_mean(np.zeros((120, 3)), SPHERE, cdp.GDP(1.0), seed=seed)
        counts = [re.match(r"about (\d+) of", str(own.message)) for own in caught]
        told += [int(count[1]) for count in counts if count]
    assert len(told) >= 10
    assert max(told) == 120


def test_a_clip_level_beyond_all_distances_cuts_nobody_and_costs_nothing() -> None:
    records = SPHERE.project(NORTH + 0.1 * np.random.default_rng(0).normal(size=(400, 3)))
    errors = []
    for clip in (math.pi, 100.0):
        release = cdp.release(cdp.LocatedMean(clip=clip), records, SPHERE, cdp.GDP(2.0), seed=0)
        assert release.clip_level == math.pi
        errors.append(release.expected_error)
    assert errors[1] == pytest.approx(errors[0], rel=0.2)
