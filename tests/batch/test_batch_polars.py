"""Folders as polars writes them, with and without their keys in the files, of every statistic."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from curvedp.errors import BatchError
from statistic_list import STATISTICS

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
#: Names that a path cannot hold as they are, and a missing one.
SITES = ("north", "a b/c", "50%", "x=y", "é ü", "a:b?c*d", "%41", "_hidden", None)
EACH = 40


def frame(sites=SITES):
    """Records by site and year; the same rows whatever their order."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.array(sites, dtype=object), EACH)
    rows = BALL.manifold.project(BALL.center + 0.1 * rng.standard_normal((len(site), 3)))
    return pl.DataFrame(
        {
            "site": pl.Series(site.tolist(), dtype=pl.String),
            "year": 2024 + np.arange(len(site)) % 2,
            "age": rng.random(len(site)),
            "arm": np.arange(len(site)) % 2,
            "point": rows.tolist(),
        }
    )


def write(place, data, keys, in_files):
    """A folder for each key, as polars writes it."""
    place.mkdir()
    split = pl.PartitionBy(place, key=list(keys), include_key=in_files)
    data.lazy().sink_parquet(split, mkdir=True)
    return place


def release(source, secret=None, statistic=None, **how):
    common = {"points": "point", "ball": BALL, "guarantee": cdp.GDP(3.0), "public_keys": True}
    return cdp.batch.release(statistic or cdp.Mean(), source, secret=secret, **common | how)


def by_key(table, keys):
    """Everything that was released, by group."""
    rows = [{name: own for name, own in row.items()} for row in table.to_pylist()]
    return {tuple(str(row.pop(key)) for key in keys): row for row in rows}


@pytest.mark.parametrize("in_files", [True, False], ids=["keys in files", "keys in names alone"])
@pytest.mark.parametrize("keys", [("site",), ("site", "year")], ids="-".join)
def test_a_folder_gives_the_releases_of_its_frame(tmp_path, secret, keys, in_files):
    data = frame()
    source = write(tmp_path / "records", data, keys, in_files)
    out = tmp_path / "out.parquet"
    found = release(source, secret, by=keys, out=out)
    expected = release(data.sort(keys, maintain_order=True), by=keys)
    table = by_key(found.table, keys)
    assert set(table) == set(by_key(expected.table, keys))
    for key, row in by_key(expected.table, keys).items():
        for name in ("n", "scale", "expected_error"):
            assert table[key][name] == row[name], (key, name)
    again = release(source, secret, by=keys, out=tmp_path / "again.parquet")
    assert again.table == found.table


@pytest.mark.parametrize("own", STATISTICS, ids=repr)
def test_every_statistic_of_a_folder_is_that_of_its_table(tmp_path, secret, own):
    if own.statistic.beside_width > 1:
        pytest.skip("a table has one column of covariates")
    data = frame(("a b/c", "north"))
    source = write(tmp_path / "records", data, ["site"], True)
    how = {"by": "site", "statistic": own.statistic, "guarantee": own.guarantee}
    how["coverage"] = False  # drawn from sums of all groups, not from each group's own
    how["ball"] = BALL.manifold if own.name == "located" else BALL
    if own.statistic.beside is not None:
        how[own.statistic.beside] = "arm" if own.statistic.beside == "labels" else "age"
    out = tmp_path / "out.parquet"
    if own.statistic.has_parts:
        with pytest.raises(TypeError, match="give it a table in memory"):
            release(source, secret, out=out, **how)
        return
    found = release(source, secret, out=out, **how).table
    table = release(data, cdp.NoiseSecret.load(cases.unused(secret)), **how).table
    assert by_key(found, ["site"]) == by_key(table, ["site"])


def test_what_files_hold_counts_and_not_how_their_folders_spell_it(tmp_path, secret):
    """Texts that look like numbers: as names alone they would become one group."""
    data = frame(("007", "7", "07"))
    with pytest.raises(BatchError, match=r"site=0?0?7 and site=0?0?7, which would be one group"):
        release(
            write(tmp_path / "names", data, ["site"], False),
            secret,
            by="site",
            out=tmp_path / "a.parquet",
        )
    source = write(tmp_path / "files", data, ["site"], True)
    found = release(source, secret, by="site", out=tmp_path / "b.parquet")
    assert sorted(found.table["site"].to_pylist()) == ["007", "07", "7"]


def test_a_file_without_the_column_of_the_others_is_refused(tmp_path, secret):
    source = write(tmp_path / "records", frame(("a", "b")), ["site"], True)
    last = sorted(source.rglob("*.parquet"))[-1]
    table = pq.ParquetFile(last).read()
    pq.write_table(table.drop_columns("point"), last)
    with pytest.raises(BatchError, match="no column 'point'"):
        release(source, secret, by="site", out=tmp_path / "out.parquet")
