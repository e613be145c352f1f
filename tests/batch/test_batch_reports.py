"""What a stored batch says of itself: the sentences of releases in memory, and who paid when."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import interrupted, release, run
from curvedp.batch import BatchReleases
from curvedp.batch.results import errors_of
from curvedp.errors import BatchError
from curvedp.privacy import provenance

BALL = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
GROUPS = np.repeat(["a", "b", "c"], [30, 40, 50])
RECORDS = np.random.default_rng(0).uniform(-0.5, 0.5, (120, 2))
PERSONS = np.arange(120) // 2


@pytest.fixture
def source(tmp_path):
    return cases.write(tmp_path / "in.parquet", cases.table())


@pytest.mark.parametrize("name", ["out.parquet", "out"])
@pytest.mark.parametrize("units", [None, "person"])
@pytest.mark.parametrize("statistic", [cdp.Mean(), cdp.Variance(0.4)])
def test_a_stored_batch_says_what_releases_in_memory_say(tmp_path, statistic, units, name):
    table = pa.table({"group": GROUPS, "x": list(RECORDS), "person": PERSONS})
    source, out = tmp_path / "in.parquet", tmp_path / name
    pq.write_table(table, source)
    common = {"guarantee": cdp.GDP(1.0), "coverage": False}
    books = [cdp.Ledger(cdp.GDP(2.0), data="visits", unit="patient") for _ in range(3)]
    asked = {"by": "group", "points": "x", "public_keys": True, "ball": BALL, "units": units}
    asked |= common | {"groups_per_unit": 1 if units is None else 2}
    in_file = cdp.batch.release(statistic, source, **asked, out=out, ledger=books[0])
    in_table = cdp.batch.release(statistic, table, **asked, ledger=books[1])
    same = {"accuracy": in_file.statement.accuracy}  # of a variance it follows from the release
    same = {} if isinstance(statistic, cdp.Mean) else same
    assert in_file.statement == dataclasses.replace(in_table.statement, **same)
    assert in_file.statement.to_dict() == in_file.manifest["statement"]
    assert "one patient" in in_file.statement.protected
    assert "Entry 1 of a ledger in memory" in in_file.statement.cost
    if isinstance(statistic, cdp.Mean):
        labels = {"groups": GROUPS} | ({} if units is None else {"units": PERSONS})
        labels |= {} if units is None else {"groups_per_unit": 2}
        memory = cdp.frechet_mean(RECORDS, BALL, **common, **labels, ledger=books[2])
        assert memory.statement == in_file.statement
    text = in_file.report()
    assert all(line in text for line in in_file.statement.lines())
    assert "made from visits by curvedp" in text
    assert str(len(set(GROUPS))) in text.split("groups:")[1].split("\n")[0]
    again = BatchReleases.open(out)
    assert (again.report(), again.manifest) == (text, in_file.manifest)
    assert again.table.equals(in_file.table)


def test_the_range_of_errors_is_that_of_the_groups_that_were_released(tmp_path):
    counts = [1, 400, 2, 900]
    rows = np.tile(np.eye(3).ravel(), (sum(counts), 1))
    table = pa.table({"group": np.repeat(np.arange(4), counts), "x": list(rows)})
    pq.write_table(table, tmp_path / "in.parquet")
    ball = cdp.Ball("spd:3", "identity", 1.5)
    asked = {"by": "group", "points": "x", "ball": ball, "guarantee": cdp.PureDP(1.0)}
    how = {"public_keys": True, "skip_small": True, "chunk_rows": 1, "coverage": False}
    out = tmp_path / "out.parquet"
    found = cdp.batch.release(cdp.Mean(), tmp_path / "in.parquet", **asked, **how, out=out)
    errors = found.table["expected_error"].drop_null().to_numpy()
    assert (found.manifest["groups_skipped"], len(errors)) == (2, 2)
    least, most = found.manifest["expected_errors"]
    assert (least, most) == (errors.min(), errors.max())
    assert least < most
    assert f"{least:.6g} to {most:.6g}" in found.statement.accuracy
    assert "skipped: too small: 2\n" in found.report()


def test_a_range_leaves_out_what_is_not_known():
    def table(*errors):
        return pa.table({"expected_error": pa.array(errors, pa.float64())})

    assert errors_of(table(None, float("nan"))) is None
    assert errors_of(table(2.0, None, 3.0, float("nan"))) == (2.0, 3.0)
    assert errors_of(table(2.5), (2.0, 3.0)) == (2.0, 3.0)
    assert errors_of(table(None), (2.0, 3.0)) == (2.0, 3.0)
    assert errors_of(table()) is None


def test_a_job_that_is_resumed_keeps_the_day_and_the_entry_that_paid(source, tmp_path, monkeypatch):
    """The control is a job of its own: on another day, by the next entry."""
    path = tmp_path / "study.ledger"
    ledger = cdp.Ledger(cdp.PureDP(5.0), path=path, data="visits", unit="patient")
    monkeypatch.setattr(provenance, "today", lambda: "2026-03-01")
    interrupted(tmp_path, source, monkeypatch, ledger=ledger, chunk_rows=500)
    monkeypatch.setattr(provenance, "today", lambda: "2026-03-02")
    ledger.spend(cdp.PureDP(0.5), label="something between")
    told = run(tmp_path, source, ledger=ledger, resume=True)["provenance"]
    assert (told["day"], told["data"], told["unit"]) == ("2026-03-01", "visits", "patient")
    payment = told["payment"]
    assert (payment["ledger"], payment["number"]) == ("study.ledger", 1)
    assert payment["spent"] == cdp.PureDP(1.0).to_dict()
    assert str(tmp_path) not in json.dumps(told)
    control = release(source, out=tmp_path / "second.parquet", ledger=ledger)
    told = control.manifest["provenance"]
    assert (told["day"], told["payment"]["number"]) == ("2026-03-02", 3)


def test_a_job_begun_without_a_ledger_tells_of_the_one_that_paid_later(
    source, tmp_path, monkeypatch
):
    interrupted(tmp_path, source, monkeypatch, chunk_rows=500)
    ledger = cdp.Ledger(cdp.PureDP(5.0), path=tmp_path / "study.ledger")
    told = run(tmp_path, source, ledger=ledger, resume=True)
    assert told["provenance"]["payment"]["number"] == 1
    assert "Entry 1 of the ledger study.ledger" in told["statement"]["cost"]


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_manifest_of_another_result_is_refused(source, tmp_path, name):
    first, second = tmp_path / name, tmp_path / f"second {name}"
    release(source, out=first)
    release(source, out=second)
    assert BatchReleases.open(first).path == first  # the control
    if name == "out":
        shutil.copy(second / "_manifest.json", first / "_manifest.json")
    else:
        shutil.copy(f"{second}.manifest.json", f"{first}.manifest.json")
    with pytest.raises(BatchError, match="not the manifest of"):
        BatchReleases.open(first)
    with pytest.raises(BatchError, match="not readable as the manifest"):
        BatchReleases.open(tmp_path / "nothing.parquet")
