"""Batches of adaptive means and confidence regions: in memory, from file to file, interrupted, on
the command line."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import left_over
from command_line import assert_fails
from command_line import run as command
from curvedp.batch import job as jobs
from curvedp.errors import BatchError

CLAIM = cdp.GDP(6.0)
STATISTICS = {
    "adaptive": ("adaptive_means", {"schedule": (0.3, 0.2, 0.5), "quantile": 0.8}),
    "region": ("confidence_regions", {"level": 0.9, "max_dist": 0.7, "weights": (0.6, 0.3, 0.1)}),
}


@pytest.fixture(params=sorted(STATISTICS))
def statistic(request):
    """The word that selects the statistic."""
    return request.param


@pytest.fixture
def secret(tmp_path):
    cdp.NoiseSecret.create(tmp_path / "secret")
    return tmp_path / "secret"


def arguments(statistic, **changes):
    own = {"guarantee": CLAIM, "pass_over": statistic == "region"}
    return cases.arguments() | own | STATISTICS[statistic][1] | changes


def of_file(tmp_path, statistic, source, out="out.parquet", **changes):
    call = getattr(cdp.batch, STATISTICS[statistic][0] + "_of_file")
    return call(source, tmp_path / out, **arguments(statistic, **changes))


def in_memory(statistic, data, secret, **changes):
    call = getattr(cdp.batch, STATISTICS[statistic][0])
    loaded = cdp.NoiseSecret.load(secret)
    return call(data, secret=loaded, **arguments(statistic, **changes))


def test_every_group_gets_the_release_of_its_records(statistic, secret):
    data = cases.table(30)
    rows = np.array(data["direction"].to_pylist())
    ends = np.concatenate(([0], np.cumsum(cases.sizes(30))))
    found = in_memory(statistic, data, secret).table
    keys = zip(found["site"].to_pylist(), found["scanner"].to_pylist(), strict=True)
    names = [f"{'-' if site is None else f'{len(site)}:{site}'},1:{at}" for site, at in keys]
    function, options = STATISTICS[statistic]
    expected = getattr(cdp, function)(
        rows,
        ends,
        cases.ball(),
        CLAIM,
        secret=cdp.NoiseSecret.load(secret),
        names=names,
        pass_over=True,
        **options,
    )
    released = np.flatnonzero(expected.released)
    assert found["n"].to_pylist() == expected.n.tolist()
    for name, own in expected.columns().items():
        column = found[name].to_pylist()
        for g in range(30):
            if g in released:
                assert column[g] == np.reshape(own[g], -1 if own.ndim > 1 else ()).tolist(), name
            else:
                assert column[g] is None


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_the_result_is_that_in_memory_for_every_chunk_size(tmp_path, secret, statistic, ordered):
    data = cases.table(60, ordered=ordered)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = in_memory(statistic, data, secret)
    rows = {}
    for chunk_rows in (50, 10**6):
        out = f"out{chunk_rows}.parquet"
        told = of_file(tmp_path, statistic, source, out, secret=secret, chunk_rows=chunk_rows)
        found = pq.read_table(tmp_path / out)
        assert cases.by_key(found) == cases.by_key(expected.table)
        rows[chunk_rows] = found
        assert told == json.loads((tmp_path / f"{out}.manifest.json").read_text())
        for name in ("statistic", "mechanism", "options", "composition", "value_shape"):
            assert told[name] == json.loads(expected.manifest_json())[name]
    assert rows[50].equals(rows[10**6])
    assert told["guarantee_of_all"] == CLAIM.to_dict()
    assert left_over(tmp_path) == []


def test_an_interrupted_batch_goes_on_and_pays_once(tmp_path, secret, statistic, monkeypatch):
    data = cases.table(60)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(CLAIM, path=tmp_path / "ledger")
    common = {"secret": secret, "ledger": ledger, "chunk_rows": 300}
    release, done = jobs.Job.release, []

    def few(job, chunk, progress=None):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(chunk)
        return release(job, chunk, progress)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "release", few)
        with pytest.raises(KeyboardInterrupt):
            of_file(tmp_path, statistic, source, **common)
    other = {"adaptive": {"quantile": 0.6}, "region": {"level": 0.8}}[statistic]
    with pytest.raises(BatchError, match="another parameters"):
        of_file(tmp_path, statistic, source, **common, resume=True, **other)
    of_file(tmp_path, statistic, source, **common, resume=True)
    assert [entry.guarantee for entry in ledger.entries] == [CLAIM]
    result = pq.read_table(tmp_path / "out.parquet")
    assert cases.by_key(result) == cases.by_key(in_memory(statistic, data, secret).table)


def test_the_command_releases_them(tmp_path, statistic):
    source = cases.write(tmp_path / "in.parquet", cases.table(30))
    center = ",".join(map(repr, cases.ball().center.tolist()))
    asked = ["batch", source, "--by", "site,scanner", "--points", "direction", "--public-keys"]
    asked += ["--manifold", "sphere:2", "--center", center, "--radius", "0.5", "--mu", "6"]
    own = {
        "adaptive": ["--schedule", "0.3,0.2,0.5", "--quantile", "0.8"],
        "region": ["--level", "0.9", "--weights", "0.6,0.3,0.1", "--pass-over"],
    }[statistic]
    asked += ["--statistic", statistic, "--out", tmp_path / "out.parquet"]
    result = command(*asked, *own, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Nothing was spent" in result.stdout
    result = command(*asked, *own)
    assert result.exit_code == 0, result.output
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 30
    assert {"adaptive": "radius", "region": "covariance"}[statistic] in table.column_names
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    name, value = {"adaptive": ("quantile", 0.8), "region": ("weights", [0.6, 0.3, 0.1])}[statistic]
    assert told["options"][name] == value
    wrong = {"adaptive": "--level", "region": "--quantile"}[statistic]
    assert_fails(command(*asked, *own, wrong, "0.5"), 2, f"{wrong} is not an option of the")


def test_weights_are_numbers(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(5))
    asked = ["batch", source, "--by", "site", "--points", "direction", "--public-keys"]
    asked += ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", "0.5", "--mu", "1"]
    asked += ["--statistic", "variance", "--out", tmp_path / "out.parquet", "--weights"]
    assert_fails(command(*asked, "a,b"), 2, "--weights takes numbers")
    assert_fails(command(*asked, "1,2,3"), 2, "two positive numbers")
    result = command(*asked, "0.5,0.5")
    assert result.exit_code == 0, result.output


def test_columns_of_a_region_are_reserved(statistic):
    data = pa.table({"quantile": [1, 1], "direction": [[0.0, 0.0, 1.0]] * 2})
    with pytest.raises(BatchError, match="rename the key"):
        getattr(cdp.batch, STATISTICS[statistic][0])(data, **arguments(statistic, by="quantile"))
