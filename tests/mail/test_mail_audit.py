"""PrivateMail's releases keep what they claim; broken variants are found out."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp.audit import audit_samples
from curvedp.mail import PrivateMail, PrivateQuery
from curvedp.mail import noise as mail_noise
from mail_cases import along, audit, estimator


def releases(**parameters):
    def release(data):
        mail = estimator(**parameters)
        mail.fit(data[:, 1:], data[:, 0])
        return mail.release_

    return release


def test_the_embedding_keeps_its_guarantee():
    result = audit(releases(), cdp.GDP(2.0), 1200)
    assert result.passed, result
    assert result.lower_bound > 0.2, "an audit without power proves nothing"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["normalised", "published"])
@pytest.mark.parametrize("guarantee", [cdp.GDP(1.0), cdp.PureDP(1.0)])
def test_the_embedding_keeps_its_guarantee_at_many_releases(form, guarantee):
    result = audit(releases(form=form, guarantee=guarantee), guarantee, 10_000, along(form))
    assert result.passed, result


def test_half_the_noise_is_found_out(monkeypatch):
    honest = mail_noise.noisy_embedding

    def half(group, exact_value, guarantee, *, sensitivity, **fields):
        return honest(group, exact_value, guarantee, sensitivity=sensitivity / 2, **fields)

    monkeypatch.setattr("curvedp.mail.embedding.noisy_embedding", half)
    assert not audit(releases(), cdp.GDP(2.0), 2000).passed


def test_a_variance_in_the_place_of_a_deviation_is_found_out(monkeypatch):
    """The authors' code squares the deviation Delta/mu, which is below 1 at their sigma_q."""
    honest = mail_noise.noisy_embedding

    def squared(group, exact_value, guarantee, *, sensitivity, **fields):
        deviation = sensitivity / guarantee.mu
        return honest(
            group, exact_value, guarantee, sensitivity=deviation**2 * guarantee.mu, **fields
        )

    monkeypatch.setattr("curvedp.mail.embedding.noisy_embedding", squared)
    assert not audit(releases(), cdp.GDP(2.0), 600).passed


# ------------------------------------------------------------------ one private query


ANCHORS = np.array([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0], [-0.9, 0.1]] * 5)
CLASSES = np.array([0, 0, 1, 1] * 5)


def query_audit(method, claimed, count):
    """Audit of queries, of which all of a record are one call."""
    mail = PrivateMail(1, guarantee=claimed)
    anchors = mail.anchors(ANCHORS, CLASSES)
    direction = anchors.embedding[0, 0] - anchors.embedding[2, 0]

    def scores(query):
        queries = np.tile(query, (count, 1))
        return mail.embed_queries(queries, anchors, method=method).value[:, 0] * direction

    both = scores([1.0, 0.0]), scores([-1.0, 0.0])
    return audit_samples(*both, claimed, confidence=CONFIDENCE)


@pytest.mark.parametrize(
    ("method", "claimed", "power"),
    [
        ("cell", cdp.PureDP(1.0), 0.1),
        ("noise", cdp.GDP(2.0), 0.5),
        ("noise", cdp.PureDP(2.0), 0.4),
    ],
)
def test_the_query_keeps_its_guarantee(method, claimed, power):
    result = query_audit(method, claimed, 2000)
    assert result.passed, result
    assert result.lower_bound > power


def test_a_response_that_lies_too_rarely_is_found_out():
    rng = np.random.default_rng(0)

    def scores(true):
        # the odds of two cells where they are K - 1 of them: e^1.6 in place of e^1
        return np.where(rng.random(6000) < np.exp(1.6) / (np.exp(1.6) + 1), true, -true)

    claimed = cdp.PureDP(1.0)
    assert not audit_samples(scores(1.0), scores(-1.0), claimed, confidence=CONFIDENCE).passed


# ------------------------------------------------------------------ several cells named

CORNERS = np.eye(6)
KINDS = np.arange(6).repeat(5)


def subset_audit(count):
    """Two of six cells named: score 1 if the first query's is and the second's is not."""
    claimed = cdp.PureDP(1.0)
    mail = PrivateMail(5, guarantee=claimed, alpha=0.0)
    anchors = mail.anchors(CORNERS[KINDS], KINDS)
    statistic = PrivateQuery(anchors=anchors, method="subset", subset_size=2)
    response = statistic.response(claimed)

    def scores(query):
        queries = np.tile(query, (count, 1))
        found = mail.embed_queries(queries, anchors, method="subset", subset_size=2)
        named = [response.numbers(value) for value in found.value]
        return np.array([float(0 in cells) - float(1 in cells) for cells in named])

    both = scores(CORNERS[0]), scores(CORNERS[1])
    return audit_samples(*both, claimed, confidence=CONFIDENCE)


def test_a_query_that_names_several_cells_keeps_its_guarantee():
    result = subset_audit(3000)
    assert result.passed, result
    assert result.lower_bound > 0.1  # .48 on average, deviation .05


def test_odds_that_forget_how_many_cells_are_named_are_found_out(monkeypatch):
    """The true cell with odds e^eps : 1, as if there were as many subsets without it as with it."""
    rng = np.random.default_rng(0)

    def forgetful(cell, count, size, epsilon, stream):
        others = rng.permutation(np.delete(np.arange(count), cell))[:size]
        if rng.random() < np.exp(epsilon) / (np.exp(epsilon) + 1):
            others[0] = cell
        return np.sort(others)

    monkeypatch.setattr("curvedp.mail.query.subset_response", forgetful)
    assert not subset_audit(3000).passed
