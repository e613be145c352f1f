"""Anchors in any number: landmarks are embedded together, the others among these."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mail import PrivateMail, nearest, retrieval_score
from curvedp.mail import anchors as mail_anchors
from curvedp.mail import landmarks as mail_landmarks
from curvedp.mail.cells import even_sample, leave_one_out, predict_class
from mail_cases import blobs
from reference import mail as twin


@pytest.fixture
def few_landmarks(monkeypatch):
    monkeypatch.setattr(mail_anchors, "LANDMARKS", 60)
    monkeypatch.setattr(mail_landmarks, "_BLOCK", 32)


def mail(**parameters):
    own = {
        "n_components": 3,
        "guarantee": cdp.PureDP(4.0),
        "bandwidth": 0.4,
        "private_iterations": 2,
    }
    return PrivateMail(**(own | parameters))


@pytest.mark.usefixtures("few_landmarks")
@pytest.mark.parametrize("form", ["normalised", "published"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, -1.0])
def test_a_row_among_landmarks_is_iterated_as_one_of_them(form, alpha):
    """With the sums of an iteration over the landmarks, one row after the other."""
    rows, labels = blobs()
    public = mail(form=form, alpha=alpha, label_bandwidth=0.7).anchors(rows, labels)
    chosen = even_sample(200, 60)
    together = mail(form=form, alpha=alpha, label_bandwidth=0.7).anchors(
        rows[chosen], labels[chosen]
    )
    np.testing.assert_array_equal(public.embedding[chosen], together.embedding)
    inner, own = rows[chosen], labels[chosen]
    mean = inner.mean(axis=0)
    vectors = np.linalg.eigh((inner - mean).T @ (inner - mean))[1]
    axes = vectors[:, ::-1][:, :3]
    w_x = twin.gaussian_kernel(inner, 0.4)
    w_y = twin.label_kernel(own, 0.7)
    steps = [(inner - mean) @ axes]
    for _ in range(4):
        steps.append(twin.iterate(steps[-1], w_x, w_y, alpha, form))
    for i in np.setdiff1d(np.arange(200), chosen)[:40]:
        z = (rows[i] - mean) @ axes
        w = np.exp(-np.sum((inner - rows[i]) ** 2, axis=1) / (2 * 0.4**2))
        v = np.where(own == labels[i], 1.0, np.exp(-1 / 0.7**2))
        d_x, d_y = w.sum(), v.sum()
        for step in steps[:-1]:
            pushed = (d_y * z - v @ step) / (d_x if form == "published" else d_y)
            z = z + 0.5 * (alpha * pushed - (z - w @ step / d_x))
        np.testing.assert_allclose(public.embedding[i], z, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("few_landmarks")
def test_parts_of_an_embedding_are_those_of_the_whole():
    public = mail().anchors(*blobs())
    for places in (np.array([0]), np.array([3, 4, 100, 199]), np.arange(50, 130)):
        np.testing.assert_allclose(public.embed(places), public.embedding[places], rtol=1e-12)


@pytest.mark.usefixtures("few_landmarks")
@pytest.mark.parametrize("method", ["cell", "subset", "noise"])
@pytest.mark.parametrize("labelled", [True, False])
def test_no_more_than_the_landmarks_are_iterated_together(method, labelled, monkeypatch):
    seen, whole = [], mail_landmarks.Laplacians

    def note(rows, *args, **options):
        seen.append(len(rows))
        return whole(rows, *args, **options)

    monkeypatch.setattr(mail_landmarks, "Laplacians", note)
    rows, labels = blobs()
    public = mail().anchors(rows[1:], labels[1:] if labelled else None)
    mail().embed_query(rows[0], public, method=method)
    assert seen == [60]
    assert "embedding" not in vars(public), "all anchors were embedded for one query"


@pytest.mark.usefixtures("few_landmarks")
def test_noise_on_a_place_is_calibrated_to_the_landmarks():
    rows, labels = blobs()
    public = mail().anchors(rows, labels)
    found = mail(guarantee=cdp.GDP(2.0)).embed_query(rows[0], public, method="noise").release
    inner = public.landmarks.embedding
    spread = np.linalg.norm(inner[:, None] - inner[None, :], axis=2).max()
    wanted = cdp.sensitivity.mail_query(bandwidth=0.4, diameter=spread)
    assert found.sensitivity == pytest.approx(wanted)
    # no query's place lies outside what the landmarks span
    places = public.transform(100 * np.random.default_rng(1).standard_normal((500, 6)))
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2).max()
    assert apart <= wanted


def test_queries_among_ten_thousand_anchors_find_their_class():
    rows, labels = blobs(10_000, 12, 10, seed=1)
    queries, wanted = blobs(300, 12, 10, seed=2)
    public = mail(guarantee=cdp.PureDP(12.0), n_components=9).anchors(rows, labels)
    assert public.accuracy > 0.97
    found = mail(guarantee=cdp.PureDP(12.0)).embed_queries(queries, public, n_cells=10)
    matches = labels[nearest(found.value, public.embedding, 8)]
    assert retrieval_score(matches, wanted).precision[8] > 0.9


def test_further_public_rows_stand_where_the_noise_would_be_added():
    rows, labels = blobs()
    public = mail(alpha=0.0).anchors(rows)
    queries, own = blobs(100, seed=4)
    places = public.transform(queries)
    near = labels[nearest(places, public.embedding, 8)]
    assert retrieval_score(near, own).precision[8] > 0.9
    exact = mail(guarantee=cdp.GDP(1e9)).embed_query(queries[0], public, method="noise")
    np.testing.assert_allclose(places[0], exact.value, atol=1e-6)
    with pytest.raises(ValueError, match="6 entries"):
        public.transform(queries[:, :4])


def test_the_accuracy_is_that_of_the_others():
    rows, labels = blobs(120)
    rng = np.random.default_rng(0)
    mixed = np.where(rng.random(120) < 0.3, rng.integers(0, 4, 120), labels)
    public = mail().anchors(rows, mixed)
    expected = np.mean(
        [
            predict_class(rows[[i]], np.delete(rows, i, 0), np.delete(mixed, i))[0] == mixed[i]
            for i in range(120)
        ]
    )
    assert public.accuracy == expected
    assert 0.5 < expected < 0.95
    assert mail().anchors(rows).accuracy is None
    # control: a row's own vote would make this larger
    assert np.mean(predict_class(public.rows, public.rows, public.codes) == public.codes) > expected
    assert len(leave_one_out(np.arange(3), public.rows, public.codes)) == 3


@pytest.mark.parametrize(("n", "most"), [(3, 5), (5, 5), (17, 5), (1001, 100)])
def test_samples_are_even(n, most):
    found = even_sample(n, most)
    assert len(found) == min(n, most)
    steps = np.diff(np.concatenate([found, [n]]))
    assert found[0] == 0
    assert steps.max() - steps.min() <= 1
