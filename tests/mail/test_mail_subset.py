"""Subset response: its law, the bound that it attains, and what it tells where it is chosen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy

import curvedp as cdp
from chance import FAILURE
from curvedp import _core
from curvedp.mail import PrivateMail, PrivateQuery, expected_recall
from curvedp.mail.cells import choose_n_cells
from curvedp.mail.subset import naming_probability, subset_response
from mail_cases import blobs


def law(cell, count, size, monkeypatch, odds=Fraction(7)):
    """Probabilities of all subsets, exactly, where e^(1/scale) are `odds`."""
    found: dict[tuple[int, ...], Fraction] = {}
    numbers: list[int] = []
    sizes: list[int] = []
    weight = [Fraction(1)]

    def choose(log_weights, lengths, scale, stream, out):
        """The next number of those that are tried, with its probability."""
        assert not np.any(log_weights)
        assert set(lengths.tolist()) <= {0.0, 1.0}
        masses = [odds if length == 0 else Fraction(1) for length in lengths.tolist()]
        number = numbers[len(sizes)] if len(sizes) < len(numbers) else 0
        if len(sizes) == len(numbers):
            numbers.append(0)
        sizes.append(len(masses))
        weight[0] *= masses[number] / sum(masses)
        out[0] = number

    monkeypatch.setattr("curvedp.mail.subset._core.choose", choose)
    while True:
        sizes.clear()
        weight[0] = Fraction(1)
        named = tuple(subset_response(cell, count, size, 1.0, None).tolist())
        found[named] = found.get(named, Fraction(0)) + weight[0]
        # the next numbers: an odometer whose last wheel turns first
        while numbers and numbers[-1] + 1 == sizes[len(numbers) - 1]:
            numbers.pop()
        if not numbers:
            return found
        numbers[-1] += 1


@pytest.mark.parametrize(("count", "size"), [(2, 1), (3, 2), (5, 1), (5, 2), (5, 4)])
def test_its_law_in_rational_numbers(count, size, monkeypatch):
    """Each subset with the true cell is `odds` times as likely as each without, and no other."""
    odds = Fraction(7)
    for cell in range(count):
        found = law(cell, count, size, monkeypatch, odds)
        assert set(found) == set(itertools.combinations(range(count), size))
        least = min(found.values())
        assert sum(found.values()) == 1
        for named, probability in found.items():
            assert probability == (odds * least if cell in named else least)
        named_it = sum(p for named, p in found.items() if cell in named)
        assert named_it == Fraction(size * odds, size * odds + count - size)


@pytest.mark.parametrize("epsilon", [1e-15, 1e-6, 1.0, 40.0, 600.0])
def test_the_odds_never_exceed_the_budget(epsilon, monkeypatch):
    scales = []

    def note(log_weights, lengths, scale, stream, out):
        scales.append((scale, lengths.tolist()))
        out[0] = 0.0

    monkeypatch.setattr("curvedp.mail.subset._core.choose", note)
    subset_response(3, 5, 2, epsilon, None)
    (scale, lengths), *uniform = scales
    assert lengths == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert 1 <= Fraction(scale) * Fraction(epsilon) <= 1 + Fraction(1, 2**38)
    assert [own for _, own in uniform] == [[0.0] * 4, [0.0] * 3]


@pytest.mark.parametrize(("count", "size", "epsilon"), [(5, 2, 1.0), (6, 3, 2.0), (4, 3, 0.5)])
def test_draws_have_the_law(count, size, epsilon):
    stream = _core.Stream.from_key(bytes(32), 10 * count + size)
    subsets = list(itertools.combinations(range(count), size))
    drawn = [tuple(subset_response(1, count, size, epsilon, stream)) for _ in range(20_000)]
    frequencies = [drawn.count(named) for named in subsets]

    def pvalue(odds):
        masses = np.array([odds if 1 in named else 1.0 for named in subsets])
        expected = 20_000 * masses / masses.sum()
        return scipy.stats.chisquare(frequencies, expected).pvalue

    assert pvalue(math.exp(epsilon)) > FAILURE
    # negative control
    assert pvalue(math.exp(epsilon + 0.4)) < FAILURE


@pytest.mark.parametrize(("count", "size"), [(3, 1), (3, 2), (4, 2), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_no_private_list_of_classes_holds_the_true_one_more_often(count, size, epsilon):
    """The best of all releases of lists, found by linear programming."""
    subsets = list(itertools.combinations(range(count), size))
    names = {key: i for i, key in enumerate(itertools.product(range(len(subsets)), range(count)))}
    gain = np.zeros(len(names))
    for (number, truth), i in names.items():
        gain[i] = -(truth in subsets[number]) / count
    ratios = []
    for number in range(len(subsets)):
        for one, other in itertools.permutations(range(count), 2):
            row = np.zeros(len(names))
            row[names[number, one]], row[names[number, other]] = 1.0, -math.exp(epsilon)
            ratios.append(row)
    totals = np.zeros((count, len(names)))
    for (_, truth), i in names.items():
        totals[truth, i] = 1.0
    best = scipy.optimize.linprog(
        gain, np.array(ratios), np.zeros(len(ratios)), totals, np.ones(count)
    )
    bound = expected_recall(cdp.PureDP(epsilon), count, size)
    assert -best.fun == pytest.approx(bound, rel=1e-7)


def test_expected_recall_is_that_of_queries():
    """2,000 queries of ten classes that anchors tell apart: within 7 standard deviations."""
    rows, labels = blobs(1500, 10, 10, seed=3)
    rows = np.eye(10)[labels] + 0.01 * rows
    queries, wanted = np.eye(10)[np.arange(2000) % 10], np.arange(2000) % 10
    for size, epsilon in ((1, 1.0), (4, 1.0), (8, 0.5)):
        mail = PrivateMail(9, alpha=0.0, bandwidth=0.3, guarantee=cdp.PureDP(epsilon))
        public = mail.anchors(rows, labels)
        assert public.accuracy == 1.0
        found = mail.embed_queries(queries, public, method="subset", subset_size=size)
        classes = labels[cdp.mail.nearest(found.value.reshape(-1, 9), public.embedding, 1)]
        named = classes.reshape(2000, size) == wanted[:, None]
        told = expected_recall(cdp.PureDP(epsilon), 10, size)
        assert abs(named.any(axis=1).mean() - told) < 7 * math.sqrt(told * (1 - told) / 2000)
        assert public.cells(10).count == 10


def test_expected_recall_follows_what_it_is_of():
    pure = [expected_recall(cdp.PureDP(2.0), 40, size) for size in (1, 4, 8, 39, 40)]
    assert pure == sorted(pure)
    assert pure[-1] == 1.0
    # a guarantee that pure differential privacy implies
    other = expected_recall(cdp.PureDP(2.0).to_gdp(), 40, 8)
    assert other == pytest.approx(pure[2], rel=1e-9)
    # the cell that is named is another than the query's where the prediction is wrong
    chance, sizes = expected_recall(cdp.PureDP(2.0), 40, 8, accuracy=1 / 40), range(1, 40)
    assert chance == pytest.approx(8 / 40)
    half = [expected_recall(cdp.PureDP(2.0), 40, size, accuracy=0.5) for size in sizes]
    assert half == sorted(half), "as many cells as matches are looked at, by default"
    for wrong in ({"n_classes": 1}, {"n_matches": 41}, {"n_matches": 0}, {"accuracy": 1.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            expected_recall(cdp.PureDP(2.0), **({"n_classes": 40} | wrong))


def test_a_query_names_as_many_cells_as_it_says():
    rows, labels = blobs(400, 20, 20)
    mail = PrivateMail(6, bandwidth=0.3, guarantee=cdp.PureDP(3.0))
    public = mail.anchors(rows[1:], labels[1:])
    found = mail.embed_query(rows[0], public, method="subset")
    assert found.value.shape == (8, 6)
    numbers = found.response.numbers(found.value)
    assert list(numbers) == sorted(set(numbers))
    assert np.array_equal(public.cells(20).values[list(numbers)], found.value)
    probability = naming_probability(3.0, 20, 8)
    assert f"named: 8 of 20 cells, the query's own with probability {probability:.3g}" in (
        found.report()
    )
    assert found.release.mechanism == "subset response of 8 of 20 cells"
    few = mail.embed_query(rows[0], public, method="subset", subset_size=3, n_cells=20)
    assert few.value.shape == (3, 6)
    cell = mail.embed_query(rows[0], public)
    assert f"named: 1 of 20 cells, the query's own with probability {20.09 / 39.09:.2g}" in (
        cell.report()
    )
    assert "named" not in mail.embed_query(rows[0], public, method="noise").report()


def test_the_number_of_cells_suits_a_list():
    _, labels = blobs(400, 20, 20)
    assert choose_n_cells(12.0, 4000, labels, 8) == 20
    assert choose_n_cells(12.0, 4000, labels, 1) > 20
    plain = [choose_n_cells(2.0, 4000, None, named) for named in (1, 2, 8, 64)]
    assert plain == sorted(plain)
    assert all(count > named for count, named in zip(plain, (1, 2, 8, 64), strict=True))
    # what is named by default leaves one cell out at least
    few, own = blobs(200, 6, 4)
    mail = PrivateMail(3, guarantee=cdp.PureDP(3.0))
    assert mail.embed_query(few[0], few[1:], own[1:], method="subset").value.shape == (3, 3)


def test_sizes_that_do_not_fit_are_refused_before_a_payment():
    rows, labels = blobs()
    ledger = cdp.Ledger(cdp.PureDP(10.0))
    mail = PrivateMail(3, guarantee=cdp.PureDP(3.0), ledger=ledger)
    public = mail.anchors(rows, labels)
    for size in (4, 5, 0, -1):
        with pytest.raises(ValueError, match="subset_size"):
            mail.embed_query(rows[0], public, method="subset", subset_size=size)
    with pytest.raises(TypeError, match="subset_size"):
        mail.embed_query(rows[0], public, method="subset", subset_size=1.5)
    with pytest.raises(ValueError, match="leave it out"):
        PrivateQuery(anchors=public, subset_size=2)
    assert not ledger.entries
