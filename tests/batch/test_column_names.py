"""Columns whose names say what they hold are read so, in whatever order they come."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
from command_line import assert_fails, run
from curvedp.batch import release
from curvedp.manifolds.reading import Reading


def in_reading_order(names, space):
    places, _ = Reading().of_columns(names, space.written)
    return tuple(names[place] for place in places)


UPPER = ("xx", "xy", "xz", "yy", "yz", "zz")


@pytest.mark.parametrize("prefix", ["", "D", "dti_", "x_", "xx"])
@pytest.mark.parametrize("order", [(0, 3, 5, 1, 2, 4), (0, 1, 3, 2, 4, 5), (5, 4, 3, 2, 1, 0)])
def test_entries_of_tensors_are_found_under_every_prefix(prefix, order):
    names = [prefix + UPPER[k] for k in order]
    wanted = tuple(prefix + name for name in UPPER)
    assert in_reading_order(names, cdp.SPD(3)) == wanted
    upper = [name.upper() for name in names]
    assert in_reading_order(upper, cdp.SPD(3)) == tuple(name.upper() for name in wanted)


@pytest.mark.parametrize("names", list(itertools.permutations(["q_w", "q_x", "q_y", "q_z"])))
def test_quaternions_are_read_with_the_scalar_last(names):
    assert in_reading_order(names, cdp.Rotations()) == ("q_x", "q_y", "q_z", "q_w")


@pytest.mark.parametrize(
    ("names", "space"),
    [
        (("a", "b", "c"), cdp.Sphere(2)),
        (("x1", "x2", "x3"), cdp.SPD(2)),
        (("tensor",), cdp.SPD(3)),
        (("y", "x"), cdp.Euclidean(2)),
        (("10", "11", "12"), cdp.SPD(2)),
        (tuple(map(str, range(10, 19))), cdp.SPD(3)),
        (("y", "x", "w", "z"), cdp.Sphere(3)),
        (("e12", "e13", "e23"), cdp.Correlation(3)),
    ],
)
def test_other_names_and_spaces_stay_as_they_come(names, space):
    assert in_reading_order(names, space) == names


@pytest.mark.parametrize(
    ("names", "space", "message"),
    [
        (("lat", "b"), cdp.Sphere(2), "'lat' is number 1 of a point.*read as lon, lat"),
        (("lat", "latitude"), cdp.Projective(2), "'lat' is number 1"),
        (("w", "i", "j", "k"), cdp.Rotations(), "'w' is number 1.*number 4.*read as x, y, z, w"),
        (("xx", "yy", "other"), cdp.SPD(2), "'yy' is number 2.*number 3"),
    ],
)
def test_names_that_contradict_the_order_are_refused(names, space, message):
    with pytest.raises(ValueError, match=message):
        in_reading_order(names, space)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    lon, lat = rng.normal(13.0, 3.0, 400), rng.normal(52.0, 2.0, 400)
    return pa.table({"site": np.repeat([0, 1], 200), "lat": lat, "lon": lon})


BALL = cdp.Ball("sphere:2", [13.0, 52.0], 0.4)


def means_of(released):
    return np.stack(released.table["value"].to_pylist())


def test_batches_read_names_from_tables_and_files(table, tmp_path):
    pq.write_table(table, tmp_path / "places.parquet")
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    common = {
        "by": "site",
        "ball": BALL,
        "guarantee": cdp.GDP(1.0),
        "coverage": False,
        "public_keys": True,
    }
    named, ordered = (
        means_of(release(cdp.Mean(), table, points=points, secret=secret, **common))
        for points in (["lat", "lon"], ["lon", "lat"])
    )
    np.testing.assert_array_equal(named, ordered)
    of_file = release(
        *(cdp.Mean(), tmp_path / "places.parquet"), points=["lat", "lon"], **common,
        out=tmp_path / "out.parquet",
    )  # fmt: skip
    whole = release(
        *(cdp.Mean(), table), by=None, points=["lat", "lon"], ball=BALL, guarantee=cdp.GDP(1.0)
    )
    # noise of .003 radians, or .2 degrees
    for value in (named, means_of(of_file), whole.value):
        assert abs(cdp.Sphere(2).to_lonlat(value) - [13.0, 52.0]).max() < 4.0
    refused = table.rename_columns(["site", "lat", "other"])
    with pytest.raises(ValueError, match="'lat' is number 1"):
        release(cdp.Mean(), refused, points=["lat", "other"], **common)


def test_protected_batches_read_names(table):
    ball, whole = BALL, cdp.GDP(2.0, neighbours="add-remove")
    own = release(
        *(cdp.Mean(), table), by="site", keys=[0, 1], points=["lat", "lon"], ball=ball,
        guarantee=whole, n_guess=200,
    )  # fmt: skip
    assert abs(cdp.Sphere(2).to_lonlat(means_of(own)) - [13.0, 52.0]).max() < 3.0


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_line_reads_names(table, tmp_path, suffix):
    path, out = tmp_path / f"places.{suffix}", tmp_path / "mean.json"
    points = table.drop_columns(["site"])
    if suffix == "csv":
        rows = np.column_stack([points["lat"], points["lon"]])
        np.savetxt(path, rows, "%.17g", ",", header="lat,lon", comments="")
    else:
        pq.write_table(points, path)
    options = ["--manifold", "sphere:2", "--radius", "0.4", "--mu", "5", "--center", "13,52"]
    done = run("mean", path, *options, "--out", out)
    assert done.exit_code == 0, done.output
    value = cdp.Release.from_json(out.read_text()).value
    assert abs(cdp.Sphere(2).to_lonlat(value) - [13.0, 52.0]).max() < 1.0
    refused = tmp_path / "refused.csv"
    refused.write_text("lat,other\n52,13\n")
    failed = run("mean", refused, *options, "--out", tmp_path / "none.json")
    assert_fails(failed, 2, "'lat' is number 1")
