"""Labels and offsets of groups: read as they were meant, or refused before anything is spent."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
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
    assert list(releases.labels) == sorted(texts)
    assert len(np.unique(releases.value, axis=0)) == 6


@pytest.mark.parametrize("groups", [[0, 2], [0, 1, 3], [0, 2, 3, 4]])
def test_what_can_be_read_in_two_ways_is_refused(data, groups):
    ball, records = data
    with pytest.raises(ValueError, match=r"as labels of . records and as offsets"):
        cdp.frechet_mean(records[: len(groups)], ball, cdp.GDP(1.0), groups=groups)
    texts = list(map(str, groups))
    releases = cdp.frechet_mean(records[: len(groups)], ball, cdp.GDP(1.0), groups=texts)
    assert releases.n.tolist() == [1] * len(groups)


def test_offsets_and_labels_are_integers_of_python_or_numpy(data):
    ball, records = data
    sizes = np.array([10, 20, 30])
    offsets = [0, *np.cumsum(sizes)]
    releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=offsets)
    assert releases.n.tolist() == [10, 20, 30]
    labels = np.repeat([7, 3, 5], sizes)
    kinds = [labels, list(labels), labels.tolist(), labels.astype(np.uint8), pa.array(labels)]
    values = [
        cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=kind, secret=secret()).value
        for kind in kinds
    ]
    assert all(np.array_equal(values[0], value) for value in values[1:])


def test_integers_may_be_missing_where_the_column_says_so(data):
    ball, records = data
    labels = [None] * 10 + [2**60 + 1] * 20 + [2**60 + 2] * 30
    series = pa.array(labels).to_pandas(integer_object_nulls=True).astype("Int64")
    for kind in (labels, pa.array(labels), pa.chunked_array([labels]), series):
        releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=kind)
        assert releases.labels == [2**60 + 1, 2**60 + 2, None]
        assert releases.n.tolist() == [20, 30, 10]


@pytest.mark.parametrize(
    ("labels", "column"),
    [
        ([1, "1", None], ["1", "'1'", None]),
        (["a", b"a", None], ["'a'", "b'a'", None]),
        ([True, 2, "x"], ["True", "2", "'x'"]),
        ([-(2**70), 2**70, None], [str(-(2**70)), str(2**70), None]),
        ([frozenset(), frozenset([1]), None], ["frozenset()", "frozenset({1})", None]),
        (["", "ä", None], ["", "ä", None]),
    ],
)
def test_labels_that_differ_differ_in_the_table(data, labels, column):
    ball, records = data
    groups = [label for label in labels for _ in range(20)]
    releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=groups)
    assert releases.labels == labels
    assert releases.to_arrow()["group"].to_pylist() == column


def test_days_and_texts_of_numpy_are_labels(data):
    ball, records = data
    days = np.array(["NaT", "2026-01-02", "2026-01-01"], dtype="datetime64[D]")
    for labels in (np.repeat(days, 20), list(np.repeat(days, 20))):
        releases = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=labels)
        assert releases.labels == [days[2], days[1], None]
        assert releases[None].n == releases[days[2]].n == 20
        column = releases.to_arrow()["group"].to_pylist()
        assert column == [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]
    texts = np.array(["b", "a"], dtype=np.dtypes.StringDType()).repeat(30)
    assert cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=texts).labels == ["a", "b"]
    with pytest.raises(TypeError, match="exact equality"):
        cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=[1j] * 60)
