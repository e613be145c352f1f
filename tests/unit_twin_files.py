"""Batches and commands of the command line for `unit_twin`: what they return, print and write."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import curvedp as cdp
import curvedp.batch
from command_line import run
from unit_twin import BALL, Data, words_of
from unit_twin_calls import GDP, add


def _table(data: Data) -> Any:
    """The same data as a table of pandas, with lists in its cells."""
    rows = data.rows if isinstance(data.rows, pd.Series) else list(np.asarray(data.rows))
    return pd.DataFrame(
        {"at": pd.Series(list(rows)), "site": data.site, "person": data.persons, "x": data.x}
    )


def _batch(source: Any, folder: Path, **how: Any) -> Any:
    secret = folder / "secret"
    if not secret.exists():
        cdp.NoiseSecret.create(secret)
    common = {"points": "at", "ball": BALL, "guarantee": GDP, "by": "site", "public_keys": True}
    found = curvedp.batch.release(cdp.Mean(), source, secret=secret, **common, **how)
    return found.table, found.manifest


PERSONS_BY_NAME = {"units": "person", "groups_per_unit": 2}


def _source(folder: Path, name: str) -> Path:
    """The place of a private file, which is not looked at."""
    place = folder.with_name(f"{folder.name}-in")
    place.mkdir()
    return place / name


def _parquet(data: Data, folder: Path) -> Path:
    rows = np.asarray(data.rows)
    numbers = {"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "x": data.x}
    path = _source(folder, "in.parquet")
    lists = pa.array(rows.tolist(), pa.list_(pa.float64()))
    whole = {"at": lists, "site": data.site, "person": data.persons, **numbers}
    pq.write_table(pa.table(whole), path, row_group_size=5)
    return path


def _batch_of_file(data: Data, folder: Path) -> Any:
    return _batch(_parquet(data, folder), folder, out=folder / "out.parquet", **PERSONS_BY_NAME)


_BATCH = "batch.release.release"
add("batch", lambda data, at: _batch(_table(data), at), _BATCH, kinds=("array", "cells"))
add(
    "batch of persons",
    lambda data, at: _batch(_table(data), at, **PERSONS_BY_NAME),
    _BATCH,
    by_unit=True,
    kinds=("array", "cells"),
)
add("batch of a file", _batch_of_file, _BATCH, by_unit=True, kinds=("array",))


def _csv(data: Data, folder: Path) -> Path:
    cells = zip(np.asarray(data.rows).tolist(), data.x, data.site, data.persons, strict=True)
    lines = [f"{','.join(map(str, row))},{x},{site},{own}" for row, x, site, own in cells]
    path = _source(folder, "in.csv")
    path.write_text("\n".join(["a,b,c,x,site,person", *lines]))
    return path


def _command(
    command: str,
    options: tuple[Any, ...],
    stored: Callable[[Data, Path], Path] = _csv,
    out: str = "out.json",
) -> Callable[[Data, Path], Any]:
    """A command on a file: its exit code and what it prints."""

    def call(data: Data, folder: Path) -> Any:
        path = stored(data, folder)
        given = [path if own == "IN" else own for own in options]
        book = ["--ledger", folder / "a.ledger", "--ledger-budget", "mu=99"]
        result = run(command, *given, *book, "--out", folder / out)
        report = words_of(result.stdout.replace(str(folder), ""), with_numbers=False)
        # a report of a stored batch names its file, in lines that end anywhere
        report = re.sub(rf"file: /.*?/{folder.name}/", "file: /", report)
        if command in TELLS_OUTCOMES:
            report = ""
        return result.exit_code, report, words_of(result.stderr.replace(str(folder), ""))

    return call


#: Commands whose reports say in words what was released: where the noise led out of the range,
#: whether a test rejects, whether steps arrived, which balls were taken; or whose lines
#: break by how many digits the error at the released point has.
TELLS_OUTCOMES = (
    *("adaptive-mean", "conformal-mean", "variance", "region"),
    *("regression", "trend", "test", "means"),
)
_SPHERE = ("--manifold", "sphere:2", "--center", "0,0.6,0.8", "--radius", 0.7, "--mu", 8)
_POINTS = ("IN", *_SPHERE, "--columns", "a,b,c")
_AGE = ("--covariate", "x", "--x-range", 0, 1)
_COLUMN = ("IN", "--columns", "x", "--q", 0.5, "--low", 0, "--high", 1, "--mu", 8)
#: Commands that take records, and their options.
COMMANDS = {
    "mean": _POINTS,
    "adaptive-mean": _POINTS,
    "conformal-mean": _POINTS,
    "median": _POINTS,
    "variance": _POINTS,
    "region": _POINTS,
    "quantile": _COLUMN,
    "regression": (*_POINTS, *_AGE),
    "trend": (*_POINTS, *_AGE),
    "test": ("IN", *_POINTS),
    "means": (*_POINTS, "--labels", "site"),
}
_BATCHED = ("IN", "--by", "site", "--points", "a,b,c", *_SPHERE, "--public-keys")
PERSONS = ("--units", "person")
for _name, _options in COMMANDS.items():
    _how = {"kinds": ("array", "frame"), "scales_are_drawn": _name not in ("mean", "quantile")}
    add(f"curvedp {_name}", _command(_name, _options), **_how)
    if _name not in ("test", "means"):
        of_persons = _command(_name, (*_options, *PERSONS))
        add(f"curvedp {_name} of persons", of_persons, by_unit=True, **_how)


def _batch_command(data: Data, folder: Path) -> Any:
    options = ("--groups-per-unit", 2, "--log", folder / "run.log")
    call = _command("batch", (*_BATCHED, *PERSONS, *options), _parquet, "out.parquet")
    return call(data, folder)


add("curvedp batch of persons", _batch_command, by_unit=True, kinds=("array",))
