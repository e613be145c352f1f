"""Batches from Arrow tables."""

from __future__ import annotations

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import release
from curvedp.batch.columns import RecordColumns, as_table
from curvedp.batch.keys import group_names, key_columns, runs
from curvedp.errors import BatchError, ExistenceError


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas", "chunked", "stream", "shuffled"])
def test_any_arrow_table_in_any_order_gives_the_same_releases(kind, secret):
    data = cases.table(60)
    expected = release(data, secret=secret).table
    given = data
    if kind == "polars":
        given = pl.from_arrow(data)
    elif kind == "pandas":
        given = pd.DataFrame(
            {
                "site": data["site"].to_pandas(),
                "scanner": data["scanner"].to_pandas(),
                "direction": data["direction"].to_pylist(),
            }
        )
    elif kind == "chunked":
        given = pa.Table.from_batches(data.to_batches(max_chunksize=17))
    elif kind == "stream":
        given = pa.RecordBatchReader.from_batches(data.schema, data.to_batches(max_chunksize=100))
    elif kind == "shuffled":
        # groups in another order, the records of each in the same one
        group = np.array(data["scanner"]) * 7 % 10
        given = data.take(pa.array(np.argsort(group, kind="stable")))
    result = release(given, secret=secret).table
    assert result["value"].to_pylist() == expected["value"].to_pylist()
    assert result["site"].to_pylist() == expected["site"].to_pylist()


def test_points_may_stand_in_lists_tensors_columns_or_triangles():
    space = cdp.SPD(2)
    points = space.random_point(20, rng=0)
    flat = points.reshape(20, 4)
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(points)
    data = pa.table(
        {
            "tensor": tensor,
            "fixed": pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), 4),
            "list": pa.array(flat.tolist()),
            "rows": pa.array(points.tolist()),
            "large": pa.array(points.tolist(), pa.large_list(pa.large_list(pa.float64()))),
            "rows of two": pa.array(points.tolist(), pa.list_(pa.list_(pa.float64(), 2))),
            "matrices": pa.array(points.tolist(), pa.list_(pa.list_(pa.float64(), 2), 2)),
            "triangle": pa.array(points[:, [0, 0, 1], [0, 1, 1]].tolist()),
            "float32": pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel().astype("f4")), 4),
            **{name: column for name, column in zip("abcd", flat.T.copy(), strict=True)},
        }
    )
    lists = ["list", "rows", "large", "rows of two", "matrices", "triangle"]
    for columns in (["tensor"], ["fixed"], *([name] for name in lists), list("abcd")):
        assert RecordColumns(tuple(columns), space).read(data).tobytes() == flat.tobytes()
        part = RecordColumns(tuple(columns), space).read(data.slice(3, 5))
        assert part.tobytes() == flat[3:8].tobytes()
    assert RecordColumns(("float32",), space).read(data).tolist() == flat.astype("f4").tolist()


def test_missing_points_and_numbers_are_nan():
    space = cdp.Euclidean(2)
    lists = pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float64()))
    fixed = pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float64(), 2))
    columns = {"x": pa.array([1.0, None, 3.0]), "y": pa.array([2.0, None, None])}
    data = pa.table({"lists": lists, "fixed": fixed, **columns})
    for names in (["lists"], ["fixed"], ["x", "y"]):
        found = RecordColumns(tuple(names), space).read(data)
        assert np.array_equal(found, [[1, 2], [np.nan] * 2, [3, np.nan]], equal_nan=True)


@pytest.mark.parametrize("outer", [-1, 2])
@pytest.mark.parametrize("inner", [-1, 2])
def test_missing_rows_of_a_matrix_are_a_missing_record(outer, inner):
    whole = [[1.0, 0.5], [0.5, 2.0]]
    ragged = [[1.0], [2.0, 3.0, 4.0, 5.0]] if inner == outer == -1 else None
    given = [whole, None, [[1.0, 2.0], None], ragged, whole]
    column = pa.array(given, pa.list_(pa.list_(pa.float64(), inner), outer))
    for part, kept in ((column, [0, 4]), (column.slice(1), [3]), (column.slice(2, 3), [2])):
        found = RecordColumns(("p",), cdp.SPD(2)).read(pa.table({"p": part}))
        assert np.array_equal(found[kept], [[1.0, 0.5, 0.5, 2.0]] * len(kept))
        assert np.isnan(np.delete(found, kept, axis=0)).all()


def test_a_frame_holds_matrices_and_no_cell_of_it_speaks():
    space = cdp.SPD(2)
    points = space.random_point(6, rng=0)
    hostile = [None, "a secret", [[1.0], [2.0, 3.0]], np.array(["x"] * 4), {"a": 1}, [10**400] * 4]
    for cells in (list(points), points.tolist(), [*points, *hostile]):
        frame = pd.DataFrame({"id": range(len(cells))})
        frame["p"] = pd.Series(cells, dtype=object)
        before = frame.copy()
        found = RecordColumns(("p",), space).read(as_table(frame))
        assert np.array_equal(found[:6], points.reshape(6, 4))
        assert not np.isfinite(found[6:]).any()
        pd.testing.assert_frame_equal(frame, before)
    for cell in ("a secret", 10**400, {"a": 1}, b"x", object(), 1j, None):
        mixed = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([3.0, cell], dtype=object)})
        found = RecordColumns(("a", "b"), cdp.Euclidean(2)).read(as_table(mixed))
        assert np.array_equal(found[:, 0], [1.0, 2.0])
        assert found[0, 1] == 3.0
        assert not np.isfinite(found[1, 1])


def test_missing_points_count_as_the_centre_and_raise_nothing():
    data = cases.table(5)
    nulls = pa.array([None] * len(data), pa.list_(pa.float64(), 3))
    data = data.set_column(2, "direction", nulls)
    wide = cdp.PureDP(3e6)
    releases = release(data, guarantee=wide).table
    values = np.array(releases["value"].to_pylist())
    assert np.allclose(values, cases.ball().center, atol=1e-6)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 8), 4), "4 numbers .*sphere:2 has 3"),
        (pa.array([1.0, 2.0]), "1 numbers for each record"),
        (pa.array(["a", "b"]), "holds string, not real numbers"),
        (pa.array([["a"] * 3, ["b"] * 3]), "holds string, not real numbers"),
        (pa.FixedShapeTensorArray.from_numpy_ndarray(np.ones((2, 3, 1))), "tensors of shape"),
    ],
)
def test_points_of_another_shape_or_type_are_refused(column, message):
    with pytest.raises(BatchError, match=message):
        RecordColumns(("p",), cdp.Sphere(2)).read(pa.table({"p": column}))


def test_a_batch_is_refused_without_public_keys():
    for value in (False, None, 1, "yes"):
        with pytest.raises(BatchError, match="compose in parallel only if"):
            release(cases.table(3), public_keys=value)
    asked = cases.arguments()
    del asked["public_keys"]
    with pytest.raises(BatchError, match="compose in parallel only if"):
        cdp.batch.release(cdp.Mean(), cases.table(3), **asked)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "place"}, "no column 'place'"),
        ({"points": "x"}, "no column 'x'"),
        ({"by": ["site", "site"]}, "names a column twice"),
        ({"by": "direction"}, "at once"),
        ({"points": ["direction", "age"]}, "4 numbers for each record"),
    ],
)
def test_wrong_columns_are_refused(changes, message):
    with pytest.raises(BatchError, match=message):
        release(cases.table(3), **changes)


def test_wrong_tables_are_refused():
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        release([1, 2])
    with pytest.raises(BatchError, match="no record"):
        release(cases.table(3).slice(0, 0))
    doubled = cases.table(3).append_column("site", pa.array(["a"] * len(cases.table(3))))
    with pytest.raises(BatchError, match="2 columns 'site'"):
        release(doubled)
    renamed = cases.table(3).rename_columns(["n", "scanner", "direction", "age", "arm"])
    with pytest.raises(BatchError, match="rename the key"):
        release(renamed, by="n")
    floats = cases.table(3).set_column(0, "site", pa.array(np.zeros(len(cases.table(3)))))
    with pytest.raises(BatchError, match="keys are integers"):
        release(floats)


# ------------------------------------------------------------------------------------ group keys


def names_of(keys):
    data, ends = group_names(keys)
    return [data[a:b].tobytes().decode() for a, b in itertools.pairwise(ends)]


def test_different_keys_have_different_names():
    keys = pa.table(
        {
            "a": ["x", "x,1:y", "x", None, "-", "", None, "1:x"],
            "b": ["y", "z", "1:y,z", None, None, "-", "", "y"],
        }
    )
    names = names_of(keys)
    assert len(set(names)) == 8
    assert names[0] == "1:x,1:y"
    assert names[3] == "-,-"
    assert names[6] == "-,0:"


def test_names_are_those_of_the_keys_in_every_type():
    day = datetime.date(2026, 11, 20)
    keys = pa.table(
        {
            "i": pa.array([-5], pa.int8()),
            "b": [True],
            "d": [day],
            "t": pa.array([datetime.datetime(2026, 11, 20, 1)], pa.timestamp("us")),
            "s": pa.array(["ü"]).dictionary_encode(),
            "z": pa.array([b"\x00\xff"], pa.binary()),
        }
    )
    ready = key_columns(keys, keys.column_names)
    data, ends = group_names(ready)
    expected = b"2:-5,4:true,10:2026-11-20,26:2026-11-20 01:00:00.000000,2:\xc3\xbc,2:\x00\xff"
    assert data.tobytes() == expected
    assert ends.tolist() == [0, len(expected)]


def test_days_in_milliseconds_are_one_key_and_have_one_name():
    """Arrow does not check that they are whole: two keys of one name would share their noise."""
    day = 86_400_000
    numbers = np.array([0, 1, day - 1, day, -1, -day], dtype=np.int64)
    days = pa.Array.from_buffers(pa.date64(), 6, [None, pa.py_buffer(numbers)])
    keys, n = runs(key_columns(pa.table({"day": days}), ["day"]))
    assert n.tolist() == [3, 1, 2]
    assert len(set(names_of(keys))) == 3


def test_names_of_instants_do_not_depend_on_a_time_zone():
    """In Kolkata 8 seconds of 1854 came twice, at offsets that are written alike."""
    seconds = np.arange(-3645237268, -3645237148)
    zones = [None, "UTC", "Asia/Kolkata", "Europe/Nowhere"]
    keys = [pa.table({"at": pa.array(seconds, pa.timestamp("s", tz=zone))}) for zone in zones]
    names = [names_of(key_columns(own, ["at"])) for own in keys]
    assert len(set(names[0])) == len(seconds)
    assert all(own == names[0] for own in names)


@pytest.mark.parametrize("seed", range(20))
def test_groups_begin_where_a_key_changes(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 60))
    a = generator.integers(0, 2, n)
    b = [None if x == 2 else "uv"[x] for x in generator.integers(0, 3, n)]
    keys = pa.table({"a": a, "b": pa.array(b, pa.string())})
    chunks = pa.concat_tables(
        [keys.slice(start, 7) for start in range(0, n, 7)] + [keys.slice(0, 0)]
    )
    rows = list(zip(a.tolist(), b, strict=True))
    begins = [0] + [i for i in range(1, n) if rows[i] != rows[i - 1]]
    for table in (keys, chunks):
        firsts, sizes = runs(table)
        assert sizes.tolist() == np.diff([*begins, n]).tolist()
        assert firsts.equals(keys.take(begins))


def test_no_two_chunks_of_a_table_share_noise(in_pieces):
    count = 200
    rows = np.tile(cases.ball().center, (10 * count, 1))
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)
    data = pa.table({"site": np.repeat(np.arange(count), 10), "direction": column})
    found = release(in_pieces(data), by="site")
    assert found.table.column("value").num_chunks == count // 5
    values = np.array(found.table["value"].to_pylist())
    assert len(np.unique(values, axis=0)) == count


def test_instants_of_an_hour_that_comes_twice_stay_apart_where_pieces_meet():
    site = pa.array(1792886400 + np.repeat([1800, 5400], 3), pa.timestamp("s", tz="Europe/Berlin"))
    assert site[2].as_py() == site[3].as_py()
    data = pa.table({"site": site, "direction": list(cdp.Sphere(2).random_point(6, rng=0))})
    pieces = pa.concat_tables([data.slice(0, 3), data.slice(3)])
    assert runs(key_columns(pieces, ["site"]))[1].tolist() == [3, 3]


def test_a_column_that_is_there_twice_is_refused():
    data = cases.table(3)
    twice = data.append_column("direction", data["direction"])
    with pytest.raises(BatchError, match="2 columns 'direction'"):
        release(twice)


@pytest.mark.parametrize("bad", [[], None, [1.0], [1.0, 91.0], [1.0] * 4, [None] * 3])
def test_lists_of_other_lengths_count_as_the_centre(in_pieces, secret, bad, tmp_path):
    """In tables and files alike, wherever the list stands."""
    center = cases.ball().center.tolist()
    rows = cases.table(50)["direction"].to_pylist()
    found = []
    for own in (bad, center):
        lists = pa.array([*rows[:120], own, *rows[120:500], own], pa.list_(pa.float64()))
        data = pa.table({"site": np.arange(len(lists)) // 10, "direction": lists})
        file = cases.write(tmp_path / "in.parquet", data)
        with_file = release(
            file, by="site", skip_small=True, out=tmp_path / f"{len(found)}.parquet", chunk_rows=50
        )
        assert len(with_file.table) == 51
        asked = {"by": "site", "secret": secret, "skip_small": True}
        found += [RecordColumns(("direction",), cdp.Sphere(2)).read(in_pieces(data))]
        assert release(in_pieces(data), **asked).table.equals(release(data, **asked).table)
    spoilt, whole = found
    projected = [cases.ball().project(np.nan_to_num(rows, nan=0.0)) for rows in found]
    np.testing.assert_array_equal(*projected)
    assert np.isnan(spoilt[[120, -1]]).all()
    assert np.isfinite(whole).all()


def test_columns_without_a_type_hold_missing_points():
    """As polars and pandas make them where every value is missing."""
    rows = RecordColumns(("p",), cdp.Sphere(2)).read(pa.table({"p": pa.nulls(4)}))
    assert rows.shape == (4, 3)
    assert np.isnan(rows).all()
    columns = RecordColumns(("x", "y", "z"), cdp.Sphere(2))
    mixed = pa.table({"x": pa.nulls(2), "y": [0.0, 0.6], "z": [1, 0]})
    np.testing.assert_array_equal(columns.read(mixed), [[np.nan, 0.0, 1.0], [np.nan, 0.6, 0.0]])


def test_slices_of_lists_are_read_where_they_begin():
    lists = pa.array([[9.0] * 3, [1.0, 2.0, 3.0], [7.0], [4.0, 5.0, 6.0]], pa.list_(pa.float32()))
    rows = RecordColumns(("p",), cdp.Sphere(2)).read(pa.table({"p": lists.slice(1)}))
    np.testing.assert_array_equal(rows, [[1.0, 2.0, 3.0], [np.nan] * 3, [4.0, 5.0, 6.0]])


# ----------------------------------------------------------------------------------- composition


def test_the_manifest_says_what_all_releases_promise_and_holds_no_secret(secret):
    ledger = cdp.Ledger(cdp.PureDP(5.0))
    releases = release(
        cases.table(40),
        records_per_unit=2,
        groups_per_unit=3,
        secret=secret,
        ledger=ledger,
    )
    told = json.loads(releases.manifest_json())
    assert told["guarantee_of_each_group"] == cases.GUARANTEE.to_dict()
    assert told["guarantee_of_all"] == cdp.PureDP(3.0).to_dict()
    assert ledger.spent == cdp.PureDP(3.0)
    assert told["groups"] == 40
    assert told["records"] == int(cases.sizes(40).sum())
    assert "at most 2 records to each of at most 3 groups" in told["composition"]
    assert "declared public" in told["composition"]
    text = cdp.NoiseSecret.load(secret)._secret.hex()
    assert text not in releases.manifest_json() + repr(releases)
    assert text in secret.read_text()


def test_small_groups_are_refused_before_the_ledger_or_skipped():
    space = cdp.SPD(3)
    counts = [1, 400, 2]
    rows = np.tile(np.eye(3).ravel(), (sum(counts), 1))
    data = pa.table({"g": np.repeat([0, 1, 2], counts), "p": list(rows)})
    ball = cdp.Ball(space, center="identity", radius=1.5)
    common = {"by": "g", "points": "p", "ball": ball, "guarantee": cdp.PureDP(1.0)}
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(ExistenceError):
        release(data, ledger=ledger, **common)
    assert ledger.spent is None
    releases = release(data, skip_small=True, **common)
    assert [value is None for value in releases.table["value"].to_pylist()] == [True, False, True]
    assert releases.table["scale"].null_count == 2
    assert releases.table["guarantee"].to_pylist() == [None, "PureDP(epsilon=1)", None]
    assert releases.manifest["groups_skipped"] == 2
