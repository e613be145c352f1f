"""Releases from fixed seeds and secrets are those of the file golden_bits.json."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
import golden_bits as golden

EXPECTED = json.loads(golden.FILE.read_text())

#: Far less than a step of any release's grid, far more than the rounding of a point of the grid.
TOLERANCE = 1e-11


def differs(name, found):
    """Reason that a release is not the golden one; empty if it is."""
    expected = np.array(EXPECTED[name])
    if len(found) != len(expected):
        return f"{len(found)} numbers instead of {len(expected)}"
    moved = np.abs(np.array(found) - expected) > TOLERANCE * np.maximum(1.0, np.abs(expected))
    return f"{moved.sum()} of {len(moved)} numbers moved" if moved.any() else ""


NAMES = [f"{case.name}/{statistic}/{guarantee}" for case, statistic, guarantee in golden.KEYS]


@pytest.mark.parametrize("key", golden.KEYS, ids=NAMES)
def test_releases_are_the_golden_ones(key):
    case, statistic, guarantee = key
    name = f"{case.name}/{statistic}/{guarantee}"
    assert not differs(f"{name}/one", golden.of_one(*key))
    if statistic in golden.GROUPS:
        assert not differs(f"{name}/groups", golden.of_groups(*key, secret=False))
        assert not differs(f"{name}/secret", golden.of_groups(*key, secret=True))
        assert not differs(f"{name}/table", golden.of_table(*key))


def test_releases_without_a_manifold_of_their_own_are_the_golden_ones():
    assert not differs("regression", golden.regression())
    assert not differs("quantile", golden.quantile())
    assert not differs("coverage", golden.coverage())


def test_a_grid_step_is_seen():
    """The control: one number moved by one step of the finest grid of these releases."""
    scale = 2 * 0.1 / sum(golden.SIZES) / 300.0  # less than that of any of them
    name = "sphere:2/mean/PureDP/one"
    moved = [EXPECTED[name][0] + scale * 2.0**-20, *EXPECTED[name][1:]]
    assert differs(name, moved)
    assert not differs(name, EXPECTED[name])


def test_every_golden_release_is_looked_at():
    looked_at = {"regression", "quantile", "coverage"}
    for name in NAMES:
        contexts = ["one"]
        if name.split("/")[1] in golden.GROUPS:
            contexts += ["groups", "secret", "table"]
        looked_at |= {f"{name}/{context}" for context in contexts}
    assert looked_at == set(EXPECTED)


@pytest.fixture(scope="module")
def client():
    import distributed

    with distributed.Client(processes=False, dashboard_address=":0", n_workers=1) as found:
        yield found


@pytest.mark.parametrize("statistic", golden.GROUPS)
def test_files_and_clusters_release_what_tables_release(client, tmp_path, statistic):
    for number, case in enumerate(golden.SMALL):
        secret = tmp_path / f"{number}.secret"
        secret.write_bytes(b"curvedp noise secret, never publish: " + golden.SECRET.hex().encode())
        secret.chmod(0o600)
        ball = golden.domain(case)
        source = tmp_path / f"{number}.parquet"
        pq.write_table(golden.table(ball), source, row_group_size=16)
        how = {
            "by": "site",
            "points": "point",
            "ball": ball,
            "guarantee": golden.GUARANTEES["GDP"],
            "public_keys": True,
            "secret": secret,
            "coverage": False,
        }
        local, remote = tmp_path / f"{number}.local", tmp_path / f"{number}.remote"
        own = golden.GROUPS[statistic]
        cdp.batch.release(own, source, out=local, **how)
        cdp.batch.release(own, source, out=remote, on=client, **how)
        expected = f"{case.name}/{statistic}/GDP/table"
        for out in (local, remote):
            assert not differs(expected, golden.drawn(pq.read_table(out)))
