"""A private query among public anchors: cells, randomised response, retrieval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

import curvedp as cdp
from curvedp import _core
from curvedp.errors import ExistenceError
from curvedp.mail import PrivateMail, PrivateQuery, align, retrieval_score
from curvedp.mail.cells import (
    choose_n_cells,
    predict_class,
    randomised_response,
    sufficient,
)
from mail_cases import blobs


def mail(epsilon=4.0, **parameters):
    return PrivateMail(3, guarantee=cdp.PureDP(epsilon), **parameters)


@pytest.mark.parametrize(("count", "epsilon"), [(2, 0.5), (4, 1.0), (10, 3.0), (50, 2.0)])
def test_randomised_response_has_its_probabilities(count, epsilon):
    stream = _core.Stream.from_key(bytes(32), count)
    told = [randomised_response(1, count, epsilon, stream) for _ in range(40_000)]
    frequencies = np.bincount(told, minlength=count)
    odds = np.where(np.arange(count) == 1, np.exp(epsilon), 1.0)
    expected = 40_000 * odds / odds.sum()
    assert scipy.stats.chisquare(frequencies, expected).pvalue > 1e-6
    # negative control: odds that are off by a tenth of epsilon are seen
    wrong = np.where(np.arange(count) == 1, np.exp(1.1 * epsilon), 1.0)
    if epsilon >= 1:
        assert scipy.stats.chisquare(frequencies, 40_000 * wrong / wrong.sum()).pvalue < 1e-6


@pytest.mark.parametrize("epsilon", [1e-15, 1e-10, 1e-6, 1e-3, 1.0, 20.0, 40.0, 600.0])
def test_the_odds_of_the_true_cell_never_exceed_the_budget(epsilon, monkeypatch):
    """The odds are e^(1/scale), drawn exactly: in rational numbers."""
    scales = []

    def note(log_weights, lengths, scale, stream, out):
        scales.append(scale)
        assert not log_weights.any()
        assert lengths.tolist() == [1.0, 1.0, 0.0]

    monkeypatch.setattr("curvedp.mail.cells._core.choose", note)
    randomised_response(2, 3, epsilon, None)
    assert Fraction(scales[0]) * Fraction(epsilon) >= 1
    assert Fraction(scales[0]) * Fraction(epsilon) <= 1 + Fraction(1, 2**38)


def test_sufficient_epsilons_imply_what_was_asked_for():
    for wanted in (cdp.GDP(1e-12), cdp.GDP(1e-8), cdp.GDP(0.1), cdp.GDP(2.0), cdp.GDP(9.0)):
        assert cdp.PureDP(sufficient(wanted)).to_gdp().mu <= wanted.mu
        assert cdp.PureDP(1.001 * sufficient(wanted)).to_gdp().mu > wanted.mu
    for rho in (0.01, 3.0):
        assert cdp.PureDP(sufficient(cdp.ZCDP(rho))).to_zcdp().rho <= rho
    assert sufficient(cdp.ApproxDP(1.5, 1e-6)) == 1.5
    with pytest.raises(ValueError, match="above 0"):
        sufficient(cdp.ApproxDP(0.0, 1e-6))
    with pytest.raises(TypeError):
        sufficient(cdp.Unproved(cdp.GDP(1.0), "test"))


def test_the_number_of_cells_depends_on_public_values_and_grows_with_the_budget():
    _, labels = blobs()
    labelled = [choose_n_cells(e, 200, labels) for e in (0.1, 3.0, 8.0)]
    plain = [choose_n_cells(e, 200, None) for e in (0.1, 3.0, 8.0)]
    assert labelled == sorted(labelled)
    assert plain == sorted(plain)
    assert labelled[0] == 4
    assert plain[0] == 4
    assert labelled[-1] > 4
    assert max(labelled + plain) <= 25


def test_at_a_large_budget_the_value_represents_the_query():
    rows, labels = blobs()
    found = mail(30.0).embed_query(rows[0], rows[1:], labels[1:])
    gaps = np.linalg.norm(found.anchors - found.value, axis=1)
    nearest = labels[1:][np.argsort(gaps)[:8]]
    assert np.all(nearest == labels[0])
    assert found.anchors.shape == (199, 3)
    assert "randomised response" in found.report()


def test_the_query_is_not_among_the_anchors_it_is_released_with():
    """Embedded anchors and cells are the same whatever the query is."""
    rows, labels = blobs()
    estimator = mail(2.0, seed=1)
    first = estimator.embed_query(rows[0], rows[1:], labels[1:])
    second = estimator.embed_query(-rows[0], rows[1:], labels[1:])
    assert np.array_equal(first.anchors, second.anchors)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("n_cells", [2, 7, 20])
def test_cells_divide_the_space(labelled, n_cells):
    rows, labels = blobs()
    anchors = mail().anchors(rows, labels if labelled else None)
    cells = anchors.cells(n_cells)
    found = cells.find(blobs(seed=9)[0])
    assert found.min() >= 0
    assert found.max() < cells.count
    assert len(np.unique(found)) > 1
    assert cells.values.shape == (cells.count, 3)
    assert cells.count >= min(n_cells, 4)
    assert cells.count <= max(n_cells, 4)
    if labelled:
        queries, truth = blobs(seed=9)
        predicted = predict_class(queries, anchors.rows, anchors.codes)
        assert np.array_equal(cells.classes[found], predicted)
        assert np.mean(predicted == truth) > 0.97


def test_anchors_of_one_class_still_have_two_cells():
    rows, _ = blobs()
    found = mail().embed_query(rows[0], rows[1:], np.zeros(199))
    assert np.all(np.isfinite(found.value))


# ------------------------------------------------------------------ many queries in one call


def released(queries, who, method="cell", **changed):
    """Of the same anchors, by a secret."""
    rows, labels = blobs()
    statistic = PrivateQuery(anchors=mail().anchors(rows, labels), method=method)
    own = {"statistic": statistic, "guarantee": cdp.GDP(0.5)}
    own |= {"secret": cdp.NoiseSecret(bytes(range(32)))} | changed
    ball = own["statistic"].anchors.ball
    return cdp.release(records=queries, ball=ball, groups=who, **own)


@pytest.mark.parametrize("method", ["cell", "subset", "noise"])
def test_a_query_among_many_is_released_as_it_is_alone(method):
    queries, who = blobs(n=30, seed=5)[0], [f"client {j}" for j in range(30)]
    found = released(queries, who, method)
    assert found.value.shape == ((30, 3, 3) if method == "subset" else (30, 3))
    assert found.total == cdp.GDP(0.5)
    for j in (0, 7, 29):
        alone = released(queries[j : j + 1], who[j : j + 1], method)
        assert alone[who[j]].to_json() == found[who[j]].to_json()
    again = released(queries, who, method)
    np.testing.assert_array_equal(again.value, found.value)


def test_noise_of_a_secret_is_another_for_whatever_changes():
    queries, who = blobs(n=30, seed=5)[0], [f"client {j}" for j in range(30)]
    rows, labels = blobs()
    own = released(queries, who, "noise").value - _places(queries, mail().anchors(rows, labels))
    moved = 0.999 * queries
    turned, wide = mail().anchors(rows, 3 - labels), mail(bandwidth=1.5).anchors(rows, labels)
    for records, anchors, changed in (
        (moved, None, {}),
        (queries, turned, {}),
        (queries, wide, {}),
        (queries, None, {"guarantee": cdp.GDP(0.5001)}),
    ):
        if anchors is not None:
            changed = {"statistic": PrivateQuery(anchors=anchors, method="noise")}
        found = released(records, who, "noise", **changed).value
        noise = found - _places(records, anchors or mail().anchors(rows, labels))
        # the same draws would agree up to rounding to a grid far finer than the noise
        assert np.median(np.abs(noise - own)) > 0.1 * np.median(np.abs(own))


def _places(queries, anchors):
    return anchors.place(anchors.ball.enter(queries))


def test_an_estimator_releases_many_queries_for_one_price_each():
    rows, labels = blobs()
    queries, ledger = blobs(n=5, seed=5)[0], cdp.Ledger(cdp.PureDP(12.0))
    estimator = mail(ledger=ledger)
    public = estimator.anchors(rows, labels)
    found = estimator.embed_queries(queries, public)
    assert found.value.shape == (5, 3)
    assert list(found.labels) == [0, 1, 2, 3, 4]
    assert ledger.spent == cdp.PureDP(4.0)
    estimator.embed_queries(queries, public, groups=list("abcde"), groups_per_unit=2)
    assert ledger.spent == cdp.PureDP(12.0)
    with pytest.raises(cdp.BudgetError):
        estimator.embed_queries(queries, public)
    # all or none: what was refused left nothing behind
    assert ledger.spent == cdp.PureDP(12.0)
    # one query of each of two persons, from three rows
    by_name = mail().embed_queries(queries[:3], public, groups=[0, 0, 1], units=["x", "x", "y"])
    assert by_name.n.tolist() == [1, 1]


def test_a_group_of_several_queries_is_refused_before_it_is_paid_or_skipped():
    queries, ledger = blobs(n=5, seed=5)[0], cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(ExistenceError, match="a query is one record"):
        released(queries, list("aabcd"), ledger=ledger)
    assert not ledger.entries
    found = released(queries, list("aabcd"), skip_small=True)
    assert found.released.tolist() == [False, True, True, True]
    other = cdp.Ball("euclidean:6", np.zeros(6), 2.0)
    statistic = PrivateQuery(anchors=mail().anchors(*blobs()))
    with pytest.raises(ValueError, match="anchors' own ball"):
        cdp.release(statistic, queries[:1], other, cdp.GDP(1.0), ledger=ledger)
    with pytest.raises(TypeError, match="what PrivateMail"):
        PrivateQuery(anchors=blobs()[0])
    with pytest.raises(ValueError, match="do not hold the anchors"):
        PrivateQuery.from_options(statistic.options())
    assert not ledger.entries


@pytest.mark.parametrize("method", ["cell", "subset", "noise"])
def test_a_query_is_told_as_that_of_an_owner_who_trusts_nobody(method):
    """Alone and in a batch."""
    public = mail().anchors(*blobs())
    queries = blobs(n=2, seed=5)[0]
    alone = mail().embed_query(queries[0], public, method=method)
    many = mail().embed_queries(queries, public, method=method)
    for told in (alone.release, many[0]):
        assert told.is_local
        assert "any other record in its place" in told.report()
        assert "the method tells them" in " ".join(told.report().split())


def test_many_queries_are_no_single_one():
    queries, public = blobs(n=5, seed=5)[0], mail().anchors(*blobs())
    with pytest.raises(ValueError, match="embed_queries for many"):
        mail().embed_query(queries, public)
    assert mail().embed_query(queries[:1], public).value.shape == (3,)
    for wrong in (1.0, queries[0, :4], queries[:, :4]):
        with pytest.raises(ValueError, match=r"6 entries|embed_queries"):
            mail().embed_query(wrong, public)
    with pytest.raises(ValueError, match="6 entries"):
        mail().embed_queries(queries[:, :4], public)


@pytest.mark.parametrize("method", ["cell", "subset"])
def test_queries_of_a_table_are_those_of_arrays(method):
    pa = pytest.importorskip("pyarrow")
    batch = pytest.importorskip("curvedp.batch")
    queries, who = blobs(n=6, seed=5)[0], list("abcdef")
    statistic = PrivateQuery(anchors=mail().anchors(*blobs()), method=method)
    table = pa.table({"who": who, "features": list(queries)})
    found = batch.release(
        *(statistic, table),
        by="who",
        points="features",
        ball=statistic.anchors.ball,
        guarantee=cdp.GDP(0.5),
        public_keys=True,
        secret=cdp.NoiseSecret(bytes(range(32))),
    ).table
    plain = released(queries, [f"1:{name}" for name in who], method)
    for name, value in zip(found["who"].to_pylist(), found["value"].to_pylist(), strict=True):
        np.testing.assert_array_equal(value, plain[f"1:{name}"].value.reshape(-1))


# ------------------------------------------------------------------ alignment and scores


def test_alignment_recovers_a_similarity():
    rng = np.random.default_rng(0)
    for reflection in (True, False):
        rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        if not reflection and np.linalg.det(rotation) < 0:
            rotation[0] *= -1
        points = rng.standard_normal((30, 4))
        target = 2.5 * points @ rotation.T + rng.standard_normal(4)
        found = align(points, target, reflection=reflection)
        assert np.allclose(found.rotation, rotation)
        assert found.scale == pytest.approx(2.5)
        assert np.allclose(found(points), target)
    assert align(points, target, scaling=False).scale == 1.0


def test_alignment_without_reflections_is_the_best_rotation():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((20, 2)), rng.standard_normal((20, 2))
    y[:, 0] = -x[:, 0] + 0.1 * y[:, 0]
    y[:, 1] = x[:, 1] + 0.1 * y[:, 1]
    found = align(x, y, reflection=False)
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)
    best = np.sum((found(x) - y) ** 2)
    for angle in np.linspace(0, 2 * np.pi, 200):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        moved = x @ turn.T
        scale = max(0.0, np.sum((moved - moved.mean(0)) * y) / np.sum((x - x.mean(0)) ** 2))
        other = scale * (moved - moved.mean(0)) + y.mean(0)
        assert np.sum((other - y) ** 2) >= best - 1e-9
    assert np.sum((align(x, y)(x) - y) ** 2) < best
    with pytest.raises(ValueError, match="shape"):
        align(x, y[:-1])


def test_scores_count_matches_of_the_querys_class():
    score = retrieval_score([[1, 2, 2], [3, 3, 1]], [2, 3], ks=(1, 2, 3))
    assert score.recall == {1: 0.5, 2: 1.0, 3: 1.0}
    assert score.precision == {1: 0.5, 2: 0.75, 3: pytest.approx(2 / 3)}
    with pytest.raises(ValueError, match="match_labels"):
        retrieval_score([1, 2], [1, 2])


def test_records_of_one_person_are_several_queries():
    """As one unit's records they would be paid once, though each lies in a group of its own."""
    queries = blobs(n=2, seed=5)[0]
    with cdp.Ledger(cdp.PureDP(10.0)) as ledger:
        with pytest.raises(ValueError, match="groups_per_unit"):
            released(queries, ["a", "b"], ledger=ledger, records_per_unit=2)
        assert ledger.spent is None
    rows, labels = blobs()
    own = mail(records_per_unit=2).embed_queries(queries, rows, labels)
    assert own[0].records_per_unit == 1
    twice = mail().embed_queries(queries, rows, labels, groups_per_unit=2)
    assert twice.total.epsilon == 2 * own.total.epsilon


def test_equal_anchors_are_refused_before_paying():
    with cdp.Ledger(cdp.PureDP(10.0)) as ledger:
        for method in ("cell", "subset"):
            with pytest.raises(ValueError, match="one cell"):
                mail(ledger=ledger).embed_query(np.ones(3), np.ones((30, 3)), method=method)
        assert ledger.spent is None
