"""What is shown of a mean without a ball is a function of noisy sums and public numbers alone.

A release is made once, and its noisy sums are kept. Then it is made of other records, as many as
the relation makes public, with these sums in the place of theirs: every request, field, text,
table, warning and charge must be the same, to the last bit. So nothing else of the records shows.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import pickle
import struct
import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
import curvedp.batch
from curvedp.manifolds import Manifold, as_manifold
from curvedp.statistics.located_mean import LocatedMean
from curvedp.sums.search import Search
from sums.test_located_mean import SPACES, _records

pa = pytest.importorskip("pyarrow")

#: A request and the noisy sum that answered it.
Answered = tuple[Any, np.ndarray]
Transcript = list[Answered]

BUDGET = cdp.GDP(1000.0)
RELATIONS = {"replace": cdp.GDP(2.0), "add-remove": cdp.GDP(2.0, neighbours="add-remove")}


class Listener:
    """Keeps what every search asks for and is told; tells it something else, if it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.heard: list[Transcript] = []
        self.told: list[Transcript] = []
        run, listener = Search.run, self

        def listened(search: Search) -> Generator[Any, Any, Any]:
            return listener._follow(run(search))

        monkeypatch.setattr(Search, "run", listened)

    def _follow(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        told = self.told[len(self.heard)] if self.told else None
        own: Transcript = []
        self.heard.append(own)
        request = next(steps)
        while True:
            noisy = yield request
            if told is not None:
                asked, noisy = told[len(own)]
                assert bits(request) == bits(asked)
            own.append((request, np.array(noisy)))
            try:
                request = steps.send(np.array(noisy))
            except StopIteration as end:
                assert told is None or len(own) == len(told)
                return end.value

    def during(self, work: Callable[[], Any], told: list[Transcript] | None = None) -> Any:
        """What `work` returns; `heard` are its searches."""
        self.heard, self.told = [], told or []
        return work()


def bits(value: Any) -> Any:
    """A value with all that hangs on it, in numbers and texts that are equal if all bits are."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return [bits(own) for own in value.ravel()]
        return value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return bits(np.asarray(value))
    if isinstance(value, dict):
        return [(bits(key), bits(own)) for key, own in value.items()]
    if isinstance(value, list | tuple):
        return [bits(own) for own in value]
    if isinstance(value, Manifold):
        return value.spec
    if dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        return type(value).__name__, bits(vars(value))
    return type(value).__name__ if " at 0x" in repr(value) else repr(value)  # compiled code's


def shown(release: Any, ledger: cdp.Ledger) -> dict[str, Any]:
    """All that a user gets to see."""
    table = release.to_arrow() if hasattr(release, "to_arrow") else getattr(release, "table", None)
    own: dict[str, Any] = {
        "fields": bits(release),
        "pickle": bits(pickle.loads(pickle.dumps(release))),
        "texts": [repr(release), str(release), release.report(), release._repr_html_()],
        "json": release.to_json() if hasattr(release, "to_json") else None,
        "ball": bits(getattr(release, "ball", None)),
        "table": None if table is None else (str(table.schema), bits(table.to_pydict())),
        "ledger": [str(entry.guarantee) for entry in ledger.entries] + [str(ledger.spent)],
    }
    if hasattr(release, "keys"):
        own |= {f"group {number}": shown(group, ledger) for number, group in enumerate(release)}
    return own


def _released(call: Callable[[cdp.Ledger], Any], budget: cdp.privacy.Guarantee) -> dict[str, Any]:
    ledger = cdp.Ledger(budget)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = call(ledger)
    return shown(release, ledger) | {"warnings": [str(own.message) for own in caught]}


def assert_replayed(
    listener: Listener,
    one: Callable[[cdp.Ledger], Any],
    other: Callable[[cdp.Ledger], Any],
    searches: list[int] | None = None,
    budget: cdp.privacy.Guarantee = BUDGET,
) -> list[Transcript]:
    """`other` shows what `one` does, if it hears the same; its searches hear those of `one`.

    `searches` says which of them each search of `other` hears: the same one, without it.
    """
    first = listener.during(lambda: _released(one, budget))
    heard = listener.heard
    assert heard
    assert all(heard)
    order = range(len(heard)) if searches is None else searches
    second = listener.during(lambda: _released(other, budget), [heard[number] for number in order])
    assert len(listener.heard) == len(order)
    for name, value in first.items():
        assert value == second[name], name
    return heard


def _others(spec: str, n: int) -> np.ndarray:
    """Records elsewhere, of which a third are no points."""
    records = np.array(_records(spec, max(n, 1), seed=77)[0][:n])
    records[::3] = np.nan
    return records


def _as_many(n: int, relation: str) -> int:
    """Records of the other data set."""
    return n if relation == "replace" else 7


def _calls(records: Any, space: Manifold, whole: Any, **how: Any) -> list[Callable[[Any], Any]]:
    """Releases of the mean of each of the data sets."""
    return [
        functools.partial(
            lambda own, ledger: cdp.frechet_mean(own, space, whole, ledger=ledger, **how), own
        )
        for own in records
    ]


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    return Listener(monkeypatch)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("spec", SPACES)
def test_a_release_is_a_function_of_its_sums(spec: str, relation: str, listener: Listener) -> None:
    space, whole = as_manifold(spec), RELATIONS[relation]
    records, _ = _records(spec, 700, seed=1)
    assert_replayed(
        listener, *_calls((records, _others(spec, _as_many(700, relation))), space, whole)
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("spec", SPACES)
def test_so_it_is_where_no_mean_stands_out(spec: str, relation: str, listener: Listener) -> None:
    space, whole = as_manifold(spec), dataclasses.replace(RELATIONS[relation], mu=9.0)
    records, _ = _records(spec, 90, seed=2)
    records[::2] = space.random_point(45, rng=3)
    assert_replayed(
        listener, *_calls((records, _others(spec, _as_many(90, relation))), space, whole)
    )


@pytest.mark.parametrize("guarantee", [cdp.ZCDP(2.0), cdp.ApproxDP(6.0, 1e-6)], ids=repr)
def test_so_it_is_for_other_guarantees(
    guarantee: cdp.privacy.Guarantee, listener: Listener
) -> None:
    records, _ = _records("hyperboloid:3", 500)
    space = as_manifold("hyperboloid:3")
    budget = guarantee if isinstance(guarantee, cdp.ApproxDP) else cdp.ZCDP(1000.0)
    assert_replayed(
        listener, *_calls((records, _others("hyperboloid:3", 500)), space, guarantee), budget=budget
    )


def test_so_it_is_for_products_and_public_clip_levels(listener: Listener) -> None:
    space = cdp.Product("sphere:2", "spd:3")
    both = [
        space.join((make("sphere:2", 600), make("spd:3", 600)))
        for make in (lambda spec, n: _records(spec, n)[0], _others)
    ]
    heard = assert_replayed(
        listener,
        *(
            lambda ledger, own=own: cdp.release(
                LocatedMean(clip=0.8, channels="common"), own, space, cdp.GDP(3.0), ledger=ledger
            )
            for own in both
        ),
    )
    assert len(heard) == 2


@pytest.mark.parametrize("relation", RELATIONS)
def test_so_it_is_for_persons(relation: str, listener: Listener) -> None:
    """Under replace as many persons, of whatever many records."""
    records, _ = _records("rotations:3", 900)
    persons = np.arange(900) // 3
    other = np.concatenate([np.arange(300), np.zeros(55, int)])
    if relation == "add-remove":
        other = other[:80]
    assert_replayed(
        listener,
        *(
            lambda ledger, rows=rows, units=units: cdp.frechet_mean(
                rows, as_manifold("rotations:3"), RELATIONS[relation], units=units, ledger=ledger
            )
            for rows, units in ((records, persons), (_others("rotations:3", len(other)), other))
        ),
    )


def test_so_it_is_for_persons_of_so_many_records(listener: Listener) -> None:
    both = _records("sphere:2", 2000)[0], _others("sphere:2", 11)
    whole = RELATIONS["add-remove"]
    assert_replayed(listener, *_calls(both, cdp.Sphere(2), whole, records_per_unit=2))


def test_so_it_is_for_groups_of_public_sizes(listener: Listener) -> None:
    labels = np.repeat(["a", "b", "c"], [400, 300, 200])
    mixed = np.concatenate([_records("sphere:2", 700)[0], cdp.Sphere(2).random_point(200, rng=1)])
    both = mixed, _others("sphere:2", 900)
    assert_replayed(listener, *_calls(both, cdp.Sphere(2), RELATIONS["replace"], groups=labels))


def test_so_it_is_for_groups_of_public_keys(listener: Listener) -> None:
    """Of as many records as there are, in groups of which one may have none; of some persons."""
    records, _ = _records("sphere:2", 900)
    one = (records, np.repeat(["a", "b", "unasked"], [400, 300, 200]), np.arange(900) // 2)
    other = (_others("sphere:2", 31), np.repeat(["a", "elsewhere"], [20, 11]), np.arange(31))
    assert_replayed(
        listener,
        *(
            lambda ledger, own=own: cdp.frechet_mean(
                own[0],
                cdp.Sphere(2),
                RELATIONS["add-remove"],
                groups=own[1],
                units=own[2],
                keys=["b", "a", "none"],
                groups_per_unit=2,
                ledger=ledger,
            )
            for own in (one, other)
        ),
    )


def test_so_it_is_for_groups_of_secret_keys(listener: Listener) -> None:
    """Groups that are not shown may be others, and fewer."""
    guarantee = cdp.ApproxDP(8.0, 1e-9, neighbours="add-remove")
    sizes = ({"a": 500, "b": 400, "c": 1, "d": 2}, {"0": 2, "a": 40, "b": 30})

    def released(own: dict[str, int], make: Callable[[str, int], np.ndarray]) -> Any:
        n = sum(own.values())
        labels = np.repeat(list(own), list(own.values()))
        return lambda ledger: cdp.frechet_mean(
            make("sphere:2", n), cdp.Sphere(2), guarantee, groups=labels, ledger=ledger
        )

    heard = assert_replayed(
        listener,
        released(sizes[0], lambda spec, n: _records(spec, n)[0]),
        released(sizes[1], _others),
        searches=[2, 0, 1],  # 0 hears what c heard
        budget=guarantee.to_replace(),
    )
    assert [len(own) > 1 for own in heard] == [True, True, False, False]


def test_so_it_is_for_tables(listener: Listener) -> None:
    def table(rows: np.ndarray) -> Any:
        points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)
        return pa.table({"site": np.repeat([3, 5], [350, 250]), "x": points})

    assert_replayed(
        listener,
        *(
            lambda ledger, rows=rows: curvedp.batch.release(
                LocatedMean(),
                table(rows),
                points="x",
                ball=curvedp.checked_domain.WholeSpace(cdp.Sphere(2)),
                guarantee=RELATIONS["replace"],
                by="site",
                public_keys=True,
                ledger=ledger,
            )
            for rows in (_records("sphere:2", 600)[0], _others("sphere:2", 600))
        ),
    )


# ------------------------------------------------------------------ controls

LEAKS = ("value", "expected_error", "spent", "spread", "noise", "level", "n_points")


@pytest.mark.parametrize("field", LEAKS)
def test_one_bit_of_one_number_is_found(
    field: str, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last bit of one field says whether the first record is a point."""
    release_group = LocatedMean.release_group

    def leaking(self: LocatedMean, group: Any) -> Any:
        own = release_group(self, group)
        if np.isnan(group.records).any():
            moved = np.nextafter(getattr(own, field), math.inf)
            own = dataclasses.replace(own, **{field: moved if field == "value" else float(moved)})
        return own

    monkeypatch.setattr(LocatedMean, "release_group", leaking)
    both = _records("sphere:2", 600)[0], _others("sphere:2", 600)
    with pytest.raises(AssertionError, match="fields"):
        assert_replayed(listener, *_calls(both, cdp.Sphere(2), RELATIONS["replace"]))


def test_a_request_that_depends_on_records_is_found(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = LocatedMean._find

    def leaking(self: LocatedMean, group: Any, *rest: Any) -> Any:
        own = dataclasses.replace(self, clip=1.0 if np.isnan(group.records).any() else 1.5)
        return find(own, group, *rest)

    monkeypatch.setattr(LocatedMean, "_find", leaking)
    both = _records("sphere:2", 600)[0], _others("sphere:2", 600)
    with pytest.raises(AssertionError):
        assert_replayed(listener, *_calls(both, cdp.Sphere(2), RELATIONS["replace"]))
