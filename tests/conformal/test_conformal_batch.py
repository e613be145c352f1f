"""Densities and conformal means of tables and files: as those of arrays, or refused in time."""

from __future__ import annotations

import numpy as np
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import left_over
from curvedp.conformal import ConformalMean, Density, ball_mesh, conformal_mean, density

pa = pytest.importorskip("pyarrow")
NODES = ball_mesh(cases.ball(), 40)


def table():
    whole = cases.table(3)
    return whole.set_column(0, "site", [[str(name) for name in whole["scanner"].to_pylist()]])


@pytest.mark.parametrize(
    ("statistic", "call", "how"),
    [
        (Density(mesh=NODES), density, {"mesh": NODES}),
        (ConformalMean(mesh=NODES, split=0.3), conformal_mean, {"mesh": NODES, "split": 0.3}),
    ],
    ids=["density", "mean"],
)
def test_a_table_gets_what_arrays_get_and_a_file_is_refused(tmp_path, statistic, call, how):
    data, seed = table(), bytes(range(32))
    common = {"by": "site", "points": "direction", "ball": cases.ball(), "public_keys": True}
    asked = common | {"guarantee": cdp.PureDP(1.0)}
    found = curvedp.batch.release(statistic, data, secret=cdp.NoiseSecret(seed), **asked).table
    site = [f"1:{name}" for name in data["site"].to_pylist()]
    rows = np.array(data["direction"].to_pylist())
    plain = call(
        rows, cases.ball(), cdp.PureDP(1.0), groups=site, secret=cdp.NoiseSecret(seed), **how
    )
    values = {
        name: own for name, own in zip(found["site"].to_pylist(), found["value"], strict=True)
    }
    for label, value in zip(plain.labels, plain.value, strict=True):
        np.testing.assert_array_equal(values[label[2:]].as_py(), value)
    source, out = cases.write(tmp_path / "in.parquet", data), tmp_path / "out.parquet"
    ledger = cdp.Ledger(cdp.PureDP(5.0))
    with pytest.raises(ValueError, match="40 public nodes, which stored parameters do not hold"):
        curvedp.batch.release(statistic, source, out=out, ledger=ledger, **asked)
    assert not ledger.entries
    assert left_over(tmp_path) == []
    assert not out.exists()


def test_a_file_is_released_on_the_default_nodes(tmp_path):
    data = table()
    source, out = cases.write(tmp_path / "in.parquet", data), tmp_path / "out.parquet"
    found = curvedp.batch.release(
        Density(heat_time=0.0),
        source,
        out=out,
        by="site",
        points="direction",
        ball=cases.ball(),
        guarantee=cdp.PureDP(1e3),
        public_keys=True,
    ).table
    volumes = ball_mesh(cases.ball(), 5000).volumes
    for n, value in zip(found["n"].to_pylist(), found["value"].to_pylist(), strict=True):
        assert np.round(np.array(value) * volumes * n).sum() == n
