"""What a batch logs: a line for each chunk, of public numbers."""

from __future__ import annotations

import json
import logging

import numpy as np
import pyarrow as pa
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import interrupted, run
from command_line import assert_fails
from command_line import run as command
from curvedp.batch.log import JsonLines, Pace


def test_each_chunk_is_a_line_with_rate_and_time_left(tmp_path, caplog, monkeypatch, secret):
    source = cases.write(tmp_path / "in.parquet", cases.table())
    how = {"secret": secret, "chunk_rows": 500, "ledger": cdp.Ledger(cdp.PureDP(1.0))}
    with caplog.at_level(logging.INFO, logger="curvedp.batch"):
        interrupted(tmp_path, source, monkeypatch, **how)
        caplog.clear()
        run(tmp_path, source, resume=True, **how)
    events = [record.event for record in caplog.records]
    chunks = [record.told for record in caplog.records if record.event == "chunk"]
    begin, end = caplog.records[0].told, caplog.records[-1].told
    assert events == ["begin", *["chunk"] * len(chunks), "end"]
    assert len(chunks) == begin["chunks"] - 2
    assert 0 < begin["done"] < chunks[0]["groups_done"]
    assert chunks[-1]["groups_done"] == begin["groups"] == 200
    assert all(told["groups_per_second"] > 0 for told in chunks)
    assert chunks[-1]["seconds_left"] == 0
    assert end["seconds"] >= 0
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["event"] for line in lines] == events


def test_nothing_is_logged_unless_it_is_asked_for(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):  # Python's own; geomstats changes it when imported
        run(tmp_path, cases.write(tmp_path / "in.parquet", cases.table(20)))
    assert caplog.records == []


@pytest.mark.parametrize("fill", [0.0, np.nan, 1e300])
def test_no_line_depends_on_a_record(tmp_path, caplog, fill):
    told = []
    for name, value in (("a", 0.6), ("b", fill)):
        data = cases.table(60)
        rows = np.array(data["direction"].to_pylist())
        rows[7:700] = value
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)
        data = data.set_column(data.column_names.index("direction"), "direction", lists)
        source = cases.write(tmp_path / f"{name}.parquet", data)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="curvedp.batch"):
            run(tmp_path, source, f"{name}.out.parquet", chunk_rows=300)
        timed = {"seconds", "groups_per_second", "seconds_left", "out"}
        told.append(
            [{k: v for k, v in own.told.items() if k not in timed} for own in caplog.records]
        )
    assert told[0] == told[1]


def test_no_line_tells_how_many_records_persons_have(tmp_path, caplog):
    told = []
    for times in (1, 9):
        data = cases.table(60)
        data = data.append_column("person", pa.array(np.arange(len(data))))
        data = pa.concat_tables([data] * times).sort_by(
            [("site", "ascending"), ("scanner", "ascending")]
        )
        source = cases.write(tmp_path / f"{times}.parquet", data)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="curvedp.batch"):
            run(tmp_path, source, f"{times}.out.parquet", chunk_rows=300, units="person")
        told.append([(own.event, own.told["groups"]) for own in caplog.records])
    assert told[0] == told[1] == [("begin", 60), ("end", 60)]


def test_a_pace_without_progress_has_no_end():
    assert Pace(5, 10).told(5)["seconds_left"] is None


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_line_writes_a_log(tmp_path, as_json):
    source, ball = cases.write(tmp_path / "in.parquet", cases.table(60)), cases.ball()
    center = ",".join(map(repr, ball.center.tolist()))
    asked = ["batch", source, "--by", "site,scanner", "--points", "direction", "--public-keys"]
    asked += ["--manifold", "sphere:2", "--center", center, "--radius", ball.radius, "--mu", 6]
    asked += ["--out", tmp_path / "result", "--chunk-rows", 300, "--log", tmp_path / "log"]
    result = command(*asked, *(["--log-json"] if as_json else []))
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "result" / "_manifest.json") in result.output.replace("\n", "")
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) > 4
    if as_json:
        assert [json.loads(line)["event"] for line in lines][:: len(lines) - 1] == ["begin", "end"]
    else:
        assert "groups_done=60" in lines[-2]
    assert not logging.getLogger("curvedp.batch").handlers
    other = [tmp_path / "b" if own == tmp_path / "result" else own for own in asked]
    assert_fails(command(*other[:-2], "--log-json"), 2, "--log")
    assert_fails(command(*other[:-1], tmp_path / "nowhere" / "log"), 5, "cannot be written")
