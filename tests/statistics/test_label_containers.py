"""Labels of persons, groups and classes in every container: a missing label is missing.

The containers of tests/geometry/test_record_containers.py, run over labels.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp._labels import as_labels, codes_among, exact_codes, label_codes, ordered_codes

BALL = cdp.Ball("euclidean:1", [0.0], 1.0)
NAMES = ["b", "a", "b", "c", "a", "c"]
NUMBERS = [7, 3, 7, 2**60 + 1, 3, 2**60 + 1]
#: Whether each of six labels is missing.
GONE = np.array([False, False, True, False, False, False])


def masked(labels: list[Any]) -> Any:
    return np.ma.array(np.array(labels), mask=GONE)


def holed(labels: list[Any], hole: Any = None) -> list[Any]:
    return [hole if gone else label for label, gone in zip(labels, GONE, strict=True)]


def series(labels: list[Any], **how: Any) -> Any:
    return pytest.importorskip("pandas").Series(labels, **how)


def arrow(labels: list[Any]) -> Any:
    return pytest.importorskip("pyarrow").array(labels)


def chunked(parts: list[list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").chunked_array(parts)


def polars(labels: list[Any]) -> Any:
    return pytest.importorskip("polars").Series(labels)


WHOLE = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda labels: np.array(labels, dtype=object),
    "unmasked": lambda labels: np.ma.array(np.array(labels)),
    "series": series,
    "category": lambda labels: series(labels, dtype="category"),
    "arrow": arrow,
    "dictionary": lambda labels: arrow(labels).dictionary_encode(),
    "chunked": lambda labels: pytest.importorskip("pyarrow").chunked_array(
        [labels[:2], labels[2:]]
    ),
    "polars": polars,
    "records of a list": lambda labels: list(np.array(labels)),
}
MISSING = {
    "masked": masked,
    "list of masked": lambda labels: list(masked(labels)),
    "list with masked": lambda labels: holed(labels, np.ma.masked),
    "masked objects": lambda labels: np.ma.array(np.array(labels, dtype=object), mask=GONE),
    "None": holed,
    "NaN": lambda labels: holed(labels, float("nan")),
    "NaT": lambda labels: holed(labels, np.datetime64("NaT")),
    "objects": lambda labels: np.array(holed(labels), dtype=object),
    "series": lambda labels: series(holed(labels), dtype=object),
    "Int64 or string": lambda labels: series(
        holed(labels), dtype="Int64" if isinstance(labels[0], int) else "string"
    ),
    "category": lambda labels: series(holed(labels), dtype=object).astype("category"),
    "arrow": lambda labels: arrow(holed(labels)),
    "dictionary": lambda labels: arrow(holed(labels)).dictionary_encode(),
    "polars": lambda labels: polars(holed(labels)),
    "parts": lambda labels: [("site", label) for label in holed(labels)],
}
KINDS = pytest.mark.parametrize("labels", [NAMES, NUMBERS], ids=["texts", "numbers"])


def mean(**how: Any) -> Any:
    return cdp.frechet_mean(np.zeros((6, 1)), BALL, cdp.GDP(5.0), **how)


@KINDS
@pytest.mark.parametrize("kind", WHOLE)
def test_labels_mean_the_same_in_every_container(kind: str, labels: list[Any]) -> None:
    given = WHOLE[kind](labels)
    assert mean(units=given).n == 3
    groups = mean(groups=given)
    assert list(groups.labels) == sorted(set(labels))
    assert groups.n.tolist() == [2, 2, 2]
    codes = label_codes(given, 6)
    assert codes[0] == codes[2] != codes[1] == codes[4] != codes[3] == codes[5]
    assert codes_among(np.array(["b", "c"]), WHOLE[kind](NAMES), 6).tolist() == [0, -1, 0, 1, -1, 1]


@KINDS
@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_name_of_a_person_is_refused_before_anything_is_spent(
    kind: str, labels: list[Any]
) -> None:
    ledger = cdp.Ledger(cdp.GDP(9.0))
    with pytest.raises(ValueError, match="units must name each record's person"):
        mean(units=MISSING[kind](labels), ledger=ledger)
    assert ledger.spent is None


@KINDS
@pytest.mark.parametrize("kind", [kind for kind in MISSING if kind != "parts"])
def test_a_missing_label_is_a_group_and_a_class_of_its_own(kind: str, labels: list[Any]) -> None:
    given = MISSING[kind](labels)
    groups = mean(groups=given)
    assert list(groups.labels) == [*sorted(set(labels)), None]
    assert sorted(groups.n.tolist()) == [1, 1, 2, 2]
    codes = label_codes(given, 6)
    assert len(set(codes.tolist())) == 4
    assert np.count_nonzero(codes == codes[2]) == 1
    classes = np.array(sorted(set(labels)))
    assert codes_among(classes, given, 6)[2] == -1
    assert (np.delete(codes_among(classes, given, 6), 2) >= 0).all()


def test_a_hidden_name_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its mask, records of one person count as records of nine others: ratio 5.5."""
    n = 10
    hidden = np.ma.array([*range(n), *range(1, n)], mask=[0] * n + [1] * (n - 1))
    records = np.zeros((2 * n - 1, 1))
    with pytest.raises(ValueError, match="units must name"):
        cdp.frechet_mean(records, BALL, cdp.GDP(1.0), units=hidden)
    with monkeypatch.context() as damaged:  # the control: a reader that loses the mask
        reader = "curvedp.statistics.grouping.as_labels"
        damaged.setattr(reader, lambda labels, name: np.asarray(labels))
        values = []
        for end in (-1.0, 1.0):
            records[[0, *range(n, 2 * n - 1)]] = end
            found = cdp.frechet_mean(records, BALL, cdp.GDP(1e6), units=hidden, seed=0)
            values.append(found.value[0])
        assert values[1] - values[0] > 5 * found.sensitivity


@pytest.mark.parametrize("kind", ["masked", "None", "NaN", "series", "list with masked"])
def test_public_classes_are_not_missing(kind: str) -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    from curvedp.learning import PrivateMDM, TangentLogisticRegression

    y = MISSING[kind](NAMES)
    for model in (
        PrivateMDM(BALL, cdp.GDP(5.0)),
        TangentLogisticRegression(BALL, cdp.GDP(5.0), n_steps=2),
    ):
        with pytest.raises(ValueError, match="no missing label"):
            model.fit(np.zeros((6, 1)), y)
    private = TangentLogisticRegression(BALL, cdp.GDP(5.0), classes=["a", "b", "c"], n_steps=2)
    assert private.fit(np.zeros((6, 1)), y).release_.n == 6
    with pytest.raises(ValueError, match="classes must hold no missing label"):
        TangentLogisticRegression(BALL, cdp.GDP(5.0), classes=y).fit(np.zeros((6, 1)), NAMES)


def test_times_keep_their_values_under_a_mask() -> None:
    days = np.array(["2026-01-02", "2026-01-01", "2026-01-02"], dtype="M8[ns]")
    hidden = np.ma.array(days, mask=[0, 0, 1])
    labels, codes = exact_codes(as_labels(hidden, "groups"), "groups")
    assert labels == [days[1], days[0], None]
    assert codes.tolist() == [1, 0, 2]
    spans = [np.timedelta64(1, "D"), datetime.timedelta(1), np.timedelta64(24, "h")]
    assert label_codes(spans, 3).tolist() == [0, 0, 0]
    assert exact_codes(as_labels(spans, "units"), "units")[1].tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------- order


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", None, "c"],
        [3, True, None, 2**70, -1],
        [1, "1", b"1", None, (1, "a"), (1, None), frozenset([1, 2])],
        [frozenset([1]), frozenset([2]), frozenset([1, 2]), frozenset()],
        [datetime.date(2026, 1, 10), datetime.date(2026, 1, 2), "x"],
        [decimal.Decimal("1.0"), 2, decimal.Decimal("1.00"), 1, True],
    ],
)
def test_the_order_of_labels_follows_from_which_ones_occur(labels: list[Any]) -> None:
    rng, seen = np.random.default_rng(1), set()
    for _ in range(40):
        order = rng.permutation(len(labels))
        given = [labels[place] for place in order]
        found, codes = ordered_codes(as_labels(given, "groups"), "groups")
        seen.add(repr(found))
        assert [found[code] for code in codes] == given
    assert len(seen) == 1


def test_rows_of_one_person_do_not_order_the_groups() -> None:
    """With the order of first appearance they did: the first group was that of A's first row."""
    how = {"units": ["A", "B", "B", "A"], "groups_per_unit": 2}
    records = np.zeros((4, 1))
    for groups in (["south", "north", "south", "north"], ["north", "north", "south", "south"]):
        found = cdp.frechet_mean(records, BALL, cdp.GDP(5.0), groups=groups, **how)
        assert list(found.labels) == ["north", "south"]


# ---------------------------------------------------------------------------- hostile labels


class Evil:
    """Equal to all, or an error: with the hash of 0 and of the empty text."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return bool(self.answer)


class Unhashable:
    def __hash__(self) -> int:
        raise ValueError("a secret")


@pytest.mark.parametrize("evil", [Evil(RuntimeError("a secret")), Evil(True), Unhashable()])
def test_no_private_label_raises_or_decides_about_others(evil: Any) -> None:
    others = [0, "", 1, 0, "", False]
    expected = label_codes(others, 6)
    for place in (0, 3, 6):
        labels = [*others[:place], evil, *others[place:]]
        codes = label_codes(labels, 7)
        kept = np.delete(codes, place)
        assert np.array_equal(kept[:, None] == kept, expected[:, None] == expected)
        found = codes_among(np.array([0, 1]), labels, 7)
        assert np.delete(found, place).tolist() == [0, -1, 1, 0, -1, 0]


@pytest.mark.parametrize("evil", [Evil(RuntimeError("a secret")), Unhashable()])
def test_public_labels_that_do_not_compare_are_refused_without_their_words(evil: Any) -> None:
    with pytest.raises(TypeError, match="labels of units must") as error:
        mean(units=[0, evil, 1, 2, 3, 4])
    assert "secret" not in str(error.value)
