"""Labels and offsets of groups: read as they were meant, or refused before anything is spent."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp


class Unclear:
    """Labels that differ and are written alike."""

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return "Unclear"

    def __eq__(self, other):
        return self.number == other.number

    def __hash__(self):
        return self.number


@pytest.fixture
def data():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5)
    return ball, ball.project(cdp.Sphere(2).random_point(60, rng=3))


def secret():
    return cdp.NoiseSecret(bytes(range(32)))


def test_labels_that_a_secret_cannot_tell_apart_are_refused_before_anything_is_spent(data):
    ball, records = data
    labels = [Unclear(number % 2) for number in range(60)]
    ledger = cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(TypeError, match="written differently"):
        cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=labels, ledger=ledger, secret=secret())
    assert ledger.spent is None
    releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=labels, ledger=ledger)
    assert [release.n for release in releases] == [30, 30]


def test_every_text_is_a_label(data):
    ball, records = data
    texts = ["\ud800", "", "\0", "long " * 10_000, "ø", "o\u0338"]
    labels = np.repeat(np.array(texts, dtype=object), 10)
    how = {"groups": labels, "secret": secret()}
    releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), **how)
    assert list(releases.labels) == texts
    assert len(np.unique(releases.value, axis=0)) == 6
