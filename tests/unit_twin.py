"""Twins of a call: the same with all records of one unit replaced, and everything that comes back.

Two calls of twins may differ in drawn numbers alone. What comes back is told by `outcome`: types,
labels and their order, integers, texts, shapes, public floats, warnings, exceptions, words printed
and logged, files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.errors import CoverageWarning

PERSONS = 12
#: The person whose records are replaced.
MOVED = 5
#: Numbers that the noise may make infinite, or unknown.
DRAWN = (
    *("dof", "expected_error", "deviation", "doubts", "named"),
    *("unreadable", "elsewhere"),  # groups, by noisy counts
    *("blocks", "rounds"),  # sums of a search, which ends by what they say
    *("doubts_", "_report"),  # words about them
)
#: Floats that a release tells before it is drawn.
PUBLIC = ("ball_center", "ball_radius", "sensitivity", "solver_tolerance", "scale", "level")

CENTER = np.array([0.0, 0.6, 0.8])
BALL = cdp.Ball("sphere:2", CENTER, 0.7)


class Evil:
    """A label that answers nothing."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("a secret")


class EvilHash(Evil):
    """A label whose hash is that of 0."""

    def __hash__(self) -> int:
        return 0


#: Numbers of records in place of usual ones, and one that is none.
HOSTILE_NUMBERS = (np.nan, np.inf, -np.inf, 1e-320, 1e308, -0.0, 5e-324, 0.0)
HOSTILE_CELLS = (None, "a secret", np.nan, 1e-320, 10**400, object(), True, "0.5")
HOSTILE_LABELS = (None, np.nan, "unknown", 10**400, Evil(), EvilHash(), ["a"], np.ma.masked)


@dataclass(frozen=True)
class Data:
    """Records in one kind of container, one row each.

    Attributes
    ----------
    rows : container, shape (n, 3)
    x : container, shape (n,)
        Private numbers, such as covariates.
    y : list
        Private labels.
    site, persons : list
        Public labels of groups, and of persons.
    """

    rows: Any
    x: Any
    y: list[Any]
    site: list[str]
    persons: list[str]


def _rows_of(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = CENTER + 0.2 * rng.standard_normal((count, 3))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _frame(rows: list[list[Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=["a", "b", "c"])


def _series(rows: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(rows, dtype=object if isinstance(rows[0], list) else None)


def _masked(rows: Any) -> Any:
    """A masked array; a number beyond 1e300 is hidden."""
    numbers = np.array(rows, dtype=float)
    return np.ma.array(numbers, mask=numbers >= 1e300)


#: Containers of rows, of single numbers, and what the replaced records hold.
CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[Any, ...]]] = {
    "array": (np.array, np.array, HOSTILE_NUMBERS),
    "float32": (
        lambda rows: np.array(rows, dtype=np.float32),
        lambda rows: np.array(rows, dtype=np.float32),
        (np.nan, np.inf, 1e-42, 3e38, -0.0),
    ),
    "list": (list, list, (None, np.nan, 10**400, 1e-320, np.ma.masked)),
    "masked": (_masked, _masked, (1e308, np.nan, 1e-320, np.inf)),
    "frame": (_frame, _series, HOSTILE_CELLS),
    "cells": (_series, _series, HOSTILE_CELLS),
}


def tame(kind: str) -> Data:
    """Two records of each person, one at each site, in the order of persons."""
    table, numbers, _ = CONTAINERS[kind]
    rows = _rows_of(2 * PERSONS, 0)
    places = range(2 * PERSONS)
    return Data(
        rows=table(rows.tolist()),
        x=numbers([k / (2 * PERSONS) for k in places]),
        y=[k % 3 for k in places],
        site=["south" if k % 2 == 0 else "north" for k in places],
        persons=[f"p{k // 2:02d}" for k in places],
    )


def twin(kind: str, *, as_many: bool = False) -> Data:
    """The same with other records of person `MOVED`: hostile ones, in other places.

    As many as before where the number of records is public; otherwise the first five and the last
    of all.
    """
    table, numbers, odd = CONTAINERS[kind]
    old = tame("array")
    rows, own = old.rows.tolist(), f"p{MOVED:02d}"
    whole = list(zip(rows, old.x.tolist(), old.y, old.site, old.persons, strict=True))
    kept = [row for row in whole if row[-1] != own]
    count = 2 if as_many else 6
    new = []
    for k in range(count):
        point = list(_rows_of(1, 7 + k)[0].tolist())
        point[k % 3] = odd[(k - 1) % len(odd)]
        if k == 0:  # whose logarithm at the centre underflows
            point = [1e-42 if kind == "float32" else 1e-320, *CENTER[1:].tolist()]
        if k == 1:
            point = [odd[place % len(odd)] for place in (0, 3, 4)]
        site = "north" if k % 2 == 0 else "south"
        new.append((point, odd[(k + 1) % len(odd)], HOSTILE_LABELS[k % 8], site, own))
    start = 2 * MOVED
    inside, around = kept[:start] + new + kept[start:], new[:-1] + kept + new[-1:]
    changed = inside if as_many else around
    rows, x, y, site, persons = map(list, zip(*changed, strict=True))
    if kind == "cells":  # cells that are no lists at all
        rows[2 * MOVED if as_many else 1] = "a secret"
    return Data(table(rows), numbers(x), y, site, persons)


# ---------------------------------------------------------------------------------- outcomes


def told(value: Any, public: Sequence[str] = PUBLIC, name: str = "") -> Any:
    """All of a result that is not drawn, as plain values; `public` are the names of floats that are
    not."""
    if name in DRAWN:
        return "drawn"
    if isinstance(value, (float, np.floating, complex)):
        shown = repr(float(value.real)) if name in public else "float"
        return shown if np.isfinite(value) else "not finite"
    if value is None or isinstance(value, (str, bool, int, bytes, np.integer, np.bool_, type)):
        return "drawn" if isinstance(value, (bool, np.bool_)) else words_of(repr(value))
    if isinstance(value, Path):
        return value.name
    if isinstance(value, cdp.privacy.Guarantee):
        return repr(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple, range)):
        return [told(entry, public, name) for entry in value]
    if isinstance(value, Mapping):
        return [(repr(key), told(entry, public, str(key))) for key, entry in value.items()]
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            numbers = value.tolist() if name in public else None
            return ("array", value.shape, str(value.dtype), numbers, bool(np.isnan(value).any()))
        return ("array", value.shape, str(value.dtype), repr(value.tolist()))
    if hasattr(value, "to_pylist") and hasattr(value, "schema"):
        columns = {column: value[column].to_pylist() for column in value.column_names}
        return (str(value.schema), told(columns, public))
    if not type(value).__module__.startswith("curvedp") or isinstance(value, cdp.Ledger):
        return type(value).__qualname__
    state = value.__getstate__() if hasattr(value, "__sklearn_tags__") else _state(value)
    return (type(value).__qualname__, told(state, public))


def _state(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        own = dataclasses.fields(value)
        return {
            field.name: getattr(value, field.name) for field in own if hasattr(value, field.name)
        }
    return dict(getattr(value, "__dict__", {}))


#: Times, drawn names, percents of counts, and numbers with a fraction.
_DRAWN = (
    r"\d+ %|\d+-\d+-\d+[ T]\d+:\d+:\d+(,\d+)?|[0-9a-f]{32,}|-?\d+\.\d*(e[-+]?\d+)?|-?\d+e[-+]?\d+"
)


def words_of(text: str, *, with_numbers: bool = True) -> str:
    """A text without what is drawn, `with_numbers` that are whole or without them."""
    text = re.sub(r"curvedp: (\d+) of (?!\1 )\d+ groups\s+", "", text)  # told by the clock
    text = re.sub(r"WARNING: (only )?about [^:]*:[^.:]*(rank|radius)\s+", "", text)
    text = re.sub(r"^(bias|advice): .*\n(\s+.*\n)*", "", text, flags=re.M)  # by released numbers
    text = re.sub(_DRAWN if with_numbers else f"{_DRAWN}|-?\\d+", "#", re.sub(r"\s+", " ", text))
    return re.sub(r"errors?#to#", "error#", re.sub(r" ?# ?%? ?", "#", text))


def _files(folder: Path, public: Sequence[str]) -> list[Any]:
    """Names of files, and what those of text or tables hold."""
    found: list[Any] = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            found.append((name, told(json.loads(path.read_text()), public)))
        elif path.suffix == ".ledger":
            with cdp.Ledger.open(path) as book:
                found.append((name, words_of(book.report())))
        elif path.suffix == ".log":
            found.append((name, words_of(path.read_text().replace(str(folder), ""))))
        elif path.suffix == ".parquet":
            import pyarrow.parquet as pq

            groups = pq.ParquetFile(path).metadata.num_row_groups
            found.append((name, groups, told(pq.read_table(path), public)))
        else:
            found.append(name)
    return found


#: In warnings that follow from drawn numbers, as those of a coverage do.
_OF_RELEASED = ("separated less well", "noise hides how far", "no mean was found")


class _Heard(logging.Handler):
    def __init__(self, folder: Path) -> None:
        super().__init__(0)
        self.folder, self.lines = str(folder), list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        line = f"{record.name} {record.levelname} {record.getMessage()}"
        self.lines.append(words_of(line.replace(self.folder, "")))


def outcome(call: Callable[[], Any], folder: Path, hidden: Sequence[str] = ()) -> list[Any]:
    """Everything that a call brings, apart from drawn numbers, under `np.errstate(all="raise")`.

    `folder` holds the files that it writes; `hidden` are names of floats that are drawn.
    """
    public = [name for name in PUBLIC if name not in hidden]
    heard, out, err = _Heard(folder), io.StringIO(), io.StringIO()
    root, caught = logging.getLogger("curvedp"), contextlib.ExitStack()
    level = root.level
    with caught:
        caught.callback(root.setLevel, level)
        caught.callback(root.removeHandler, heard)
        root.addHandler(heard)
        root.setLevel(1)
        noted = caught.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        caught.enter_context(contextlib.redirect_stdout(out))
        caught.enter_context(contextlib.redirect_stderr(err))
        caught.enter_context(np.errstate(all="raise"))
        try:
            found = told(call(), public)
        except Exception as error:
            found = (type(error).__qualname__, str(error))
    warned = [
        (own.category.__name__, str(own.message), Path(own.filename).name)
        for own in noted
        if own.category is not CoverageWarning
        and not any(words in str(own.message) for words in _OF_RELEASED)
    ]
    words = [words_of(stream.getvalue()) for stream in (out, err)]
    return [found, warned, words, heard.lines, _files(folder, public)]


# ------------------------------------------------------------------------------ public names

#: Parameters that hold records, or numbers of private ones.
TAKES_RECORDS = {
    *("records", "records_a", "records_b", "rows", "values", "points", "point", "X", "x", "y"),
    *("images", "signals", "landmarks", "curves", "source", "query", "queries", "database"),
    *("tangent_vec", "vector", "start", "f", "h", "z", "density", "true_value", "data"),
}


def public_functions() -> Iterator[tuple[str, Any]]:
    """Public functions and methods that take records, by the place of their definition."""
    submodules = (*cdp._SUBMODULES, *cdp._OF_EXTRAS)  # type: ignore[attr-defined]
    seen = set()
    for module in (cdp, *(import_module(f"curvedp.{name}") for name in submodules)):
        for name in module.__all__:
            for function in _functions_of(getattr(module, name)):
                if not function.__module__.startswith("curvedp"):
                    continue
                place = f"{function.__module__}.{function.__qualname__}".removeprefix("curvedp.")
                parameters = set(inspect.signature(function).parameters)
                if place not in seen and parameters & TAKES_RECORDS:
                    seen.add(place)
                    yield place, function


def _functions_of(thing: Any) -> list[Any]:
    if not inspect.isclass(thing):
        return [thing] if inspect.isroutine(thing) else []
    members = inspect.getmembers(thing, inspect.isroutine)
    named = [own for name, own in members if name in ("__call__", "__init__") or name[0] != "_"]
    return [
        own
        for own in named
        if hasattr(own, "__qualname__")
        and hasattr(own, "__module__")
        and own.__module__ is not None
    ]
