"""Batches of variances: in memory, from file to file, interrupted and resumed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import left_over
from curvedp.batch import job as jobs
from curvedp.errors import BatchError, BudgetError

OPTIONS = {"max_dist": 0.7, "weights": (0.4, 0.6)}


@pytest.fixture
def secret(tmp_path):
    cdp.NoiseSecret.create(tmp_path / "secret")
    return tmp_path / "secret"


def run(tmp_path, source, out="out.parquet", **changes):
    arguments = cases.arguments() | OPTIONS | changes
    return cdp.batch.frechet_variances_of_file(source, tmp_path / out, **arguments)


def in_memory(data, secret, **changes):
    loaded = cdp.NoiseSecret.load(secret)
    arguments = cases.arguments() | OPTIONS | changes
    return cdp.batch.frechet_variances(data, secret=loaded, **arguments)


def test_every_group_gets_the_release_of_its_records(secret):
    data = cases.table(30)
    rows = np.array(data["direction"].to_pylist())
    ends = np.concatenate(([0], np.cumsum(cases.sizes(30))))
    found = in_memory(data, secret).table
    names = [
        f"{'-' if site is None else f'{len(site)}:{site}'},1:{scanner}"
        for site, scanner in zip(
            found["site"].to_pylist(), found["scanner"].to_pylist(), strict=True
        )
    ]
    loaded = cdp.NoiseSecret.load(secret)
    expected = cdp.frechet_variances(
        rows, ends, cases.ball(), cases.GUARANTEE, secret=loaded, names=names, **OPTIONS
    )
    [mean] = expected.parts
    assert found["value"].to_pylist() == expected.value.tolist()
    assert found["mean"].to_pylist() == mean.value.tolist()
    assert found["mean_scale"].to_pylist() == mean.scale.tolist()
    for name in ("sensitivity", "scale", "expected_error", "n"):
        assert found[name].to_pylist() == getattr(expected, name).tolist()


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_the_result_is_that_in_memory_for_every_chunk_size(tmp_path, secret, ordered):
    data = cases.table(ordered=ordered)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = in_memory(data, secret)
    for chunk_rows in (50, 10**6):
        out = f"out{chunk_rows}.parquet"
        told = run(tmp_path, source, out, secret=secret, chunk_rows=chunk_rows)
        found = pq.read_table(tmp_path / out)
        assert cases.by_key(found) == cases.by_key(expected.table)
        assert told == json.loads((tmp_path / f"{out}.manifest.json").read_text())
        for name in ("statistic", "mechanism", "options", "composition", "value_shape"):
            assert told[name] == json.loads(expected.manifest_json())[name]
    assert told["statistic"] == "Fréchet variance"
    assert told["options"] == {"max_dist": 0.7, "weights": [0.4, 0.6]}
    assert left_over(tmp_path) == []


def test_an_interrupted_batch_goes_on_and_pays_once(tmp_path, secret, monkeypatch):
    data = cases.table()
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    common = {"secret": secret, "ledger": ledger, "chunk_rows": 500}
    release, done = jobs.Job.release, []

    def few(job, chunk, progress=None):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(chunk)
        return release(job, chunk, progress)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "release", few)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, source, **common)
    with pytest.raises(BatchError, match="another parameters"):
        run(tmp_path, source, **common, resume=True, max_dist=0.5)
    with pytest.raises(BatchError, match="another parameters"):
        cdp.batch.frechet_means_of_file(
            source, tmp_path / "out.parquet", **cases.arguments(), secret=secret, resume=True
        )
    run(tmp_path, source, **common, resume=True)
    assert [entry.guarantee for entry in ledger.entries] == [cdp.PureDP(1.0)]
    assert "Fréchet variance of 200 groups" in ledger.entries[0].label
    result = pq.read_table(tmp_path / "out.parquet")
    assert cases.by_key(result) == cases.by_key(in_memory(data, secret).table)


def test_a_refused_batch_releases_nothing(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    ledger = cdp.Ledger(cdp.PureDP(0.5))
    with pytest.raises(BudgetError):
        run(tmp_path, source, ledger=ledger)
    with pytest.raises(BatchError, match="compose in parallel only if"):
        run(tmp_path, source, public_keys=False)
    with pytest.raises(ValueError, match="max_dist"):
        run(tmp_path, source, max_dist=-1.0)
    assert ledger.spent is None
    assert left_over(tmp_path) == []
    assert not (tmp_path / "out.parquet").exists()
