"""Numbers of records in other orders and units are read as what they are, by word or by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from scipy.spatial.transform import Rotation

import curvedp as cdp
from command_line import assert_fails, run
from curvedp.batch import release
from curvedp.manifolds.reading import ORDERS, Reading
from wrong_formats import WRONG

SPD, TURNS, EARTH, CLOCK = cdp.SPD(3), cdp.Rotations(), cdp.Sphere(2), cdp.Torus(1)
SHAPES = cdp.KendallPlanar(3)
AXES = "xyz"


def tensors(count=20):
    parts = np.random.default_rng(0).standard_normal((count, 3, 3))
    return parts @ parts.swapaxes(1, 2) + 0.1 * np.eye(3)


def written(matrices, order):
    """The six numbers as a program writes them: dtifit, lower_triangular, dwi2tensor."""
    return np.stack([matrices[..., *map(AXES.index, entry)] for entry in ORDERS[order]], axis=-1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["array", "list", "cells", "volume"])
def test_tensors_are_read_in_every_order(order, kind):
    rows = written(tensors(24), order)
    mask = np.arange(24).reshape(2, 3, 4) % 3 == 0
    found = {
        "array": lambda: SPD.as_points(rows, order=order),
        "list": lambda: SPD.as_points(rows.tolist(), order=order),
        "cells": lambda: SPD.as_points(pd.Series(list(rows)), order=order),
        "volume": lambda: SPD.as_points(rows.reshape(2, 3, 4, 6), order=order, mask=mask),
    }[kind]()
    wanted = tensors(24)[mask.ravel()] if kind == "volume" else tensors(24)
    np.testing.assert_array_equal(found, wanted)


def lower(matrices, *, first, scale=1.0):
    """Lower triangles row by row, as nilearn's sym_matrix_to_vec takes them."""
    rows, columns = np.tril_indices(matrices.shape[-1], first)
    return matrices[:, rows, columns] / np.where(rows == columns, scale, 1.0)


@pytest.mark.parametrize(("order", "scale"), [("lower", 1.0), ("nilearn", np.sqrt(2.0))])
@pytest.mark.parametrize("kind", ["array", "cells", "frame"])
def test_lower_triangles_are_read_as_such(order, scale, kind):
    parts = np.random.default_rng(5).standard_normal((30, 5, 8))
    whole = parts @ parts.swapaxes(1, 2) + 0.1 * np.eye(5)
    size = np.sqrt(np.diagonal(whole, axis1=1, axis2=2))
    correlations = whole / size[:, None] / size[..., None]
    make = {"array": np.array, "cells": lambda own: pd.Series(list(own)), "frame": pd.DataFrame}
    for space, first, matrices in (
        (cdp.SPD(5), 0, whole),
        (cdp.Correlation(5), 0, correlations),
        (cdp.Correlation(5), 0, whole),
        (cdp.Correlation(5), -1, correlations),
    ):
        rows = make[kind](lower(matrices, first=first, scale=scale))
        found = space.as_points(rows, order=order.upper())
        wanted = correlations if space == cdp.Correlation(5) else whole
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    upper = cdp.Correlation(5).as_points(lower(correlations, first=-1))
    assert np.nanmax(abs(upper - correlations)) > 0.1, "control: as they come, they are others"


@pytest.mark.parametrize("order", ["lower", "nilearn"])
def test_files_and_batches_read_lower_triangles(order, tmp_path):
    import pyarrow.parquet as pq

    near = np.eye(3) + 0.01 * tensors(400)
    rows = lower(near, first=0, scale=np.sqrt(2.0) if order == "nilearn" else 1.0)
    exact = cdp.nonprivate.frechet_mean(near, "spd:3").value
    names = ["c11", "c21", "c22", "c31", "c32", "c33"]  # which say the same of their places
    table = pa.table({name: rows[:, k] for k, name in enumerate(names)})
    pq.write_table(table, tmp_path / "t.parquet")
    np.savetxt(tmp_path / "t.csv", rows, "%.17g", ",", header=",".join(names), comments="")
    for path in ("t.parquet", "t.csv"):
        call = ["mean", tmp_path / path, "--manifold", "spd:3", "--center", "identity"]
        how = ["--radius", "3", "--mu", "4", "--order", order.title(), "--out", "-"]
        done = run(*call, *how)
        assert done.exit_code == 0, done.output
        assert cdp.SPD(3).dist(cdp.Release.from_json(done.stdout).value, exact) < 0.2
    for own in (table, pa.table({"t": pa.array(list(rows))})):
        found = release(cdp.Mean(), own, points=own.column_names, order=order, **COMMON)
        assert cdp.SPD(3).dist(found.value, exact) < 0.3


def test_connectomes_of_another_length_are_led_to_the_order():
    with pytest.raises(ValueError, match='order="nilearn"'):
        cdp.frechet_mean(np.zeros((300, 210)), cdp.Correlation(20), cdp.GDP(1.0))
    with pytest.raises(ValueError, match="records of 190 or 210 numbers, and records have 6"):
        cdp.Correlation(20).as_points(np.zeros((4, 6)), order="nilearn")


def test_orders_differ():
    """Control: each order read as another is another tensor."""
    for one in ORDERS:
        for other in ORDERS:
            found = SPD.as_points(written(tensors(), one), order=other)
            assert np.array_equal(found, tensors()) == (one == other)


def test_the_wrong_formats_are_right_with_their_words():
    rng = np.random.default_rng(1)
    words = {
        "dipy's order": {"order": "dipy"},
        "MRtrix's order": {"order": "mrtrix"},
        "radians": {"angle_units": "radians"},
        "scalar first": {"scalar_first": True},
    }
    for wrong in WRONG:
        if own := words.get(wrong.name):
            points = wrong.ball.manifold.as_points(wrong.records(rng, 500), **own)
            assert wrong.ball.contains(points).mean() > 0.6, wrong


def test_quaternions_and_angles():
    turns = Rotation.random(30, rng=2)
    found = TURNS.as_points(turns.as_quat(scalar_first=True), scalar_first=True)
    np.testing.assert_allclose(found, turns.as_matrix(), atol=1e-12)
    hours = np.random.default_rng(3).uniform(-30.0, 30.0, 50)
    for shape in ((50,), (50, 1)):
        found = CLOCK.as_points(hours.reshape(shape), angle_units="hours")
        np.testing.assert_allclose(np.exp(1j * found[:, 0]), np.exp(1j * hours * np.pi / 12))
    lonlat = np.column_stack([hours * 5, hours * 2])
    for space in (EARTH, cdp.Projective(2)):
        radians = space.as_points(np.radians(lonlat), angle_units="radians")
        np.testing.assert_allclose(radians, space.as_points(lonlat), atol=1e-12)
        same = space.as_points(lonlat, angle_units="degrees")
        np.testing.assert_array_equal(same, space.as_points(lonlat))


NAMED = [
    (EARTH, ["lat", "lon"], [[50.0, 8.0]], [[8.0, 50.0]]),
    (EARTH, ["lat_rad", "lon_rad"], np.radians([[50.0, 8.0]]), [[8.0, 50.0]]),
    (EARTH, ["Longitude (deg)", "Latitude (deg)"], [[8.0, 50.0]], [[8.0, 50.0]]),
    (TURNS, ["qw", "qx", "qy", "qz"], [[1.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 1.0]]),
    (TURNS, ["q0", "q1", "q2", "q3"], [[1.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 1.0]]),
    (TURNS, ["imu_q3", "imu_q2", "imu_q1", "imu_q0"], [[3.0, 2.0, 1.0, 4.0]], [[1.0, 2, 3, 4]]),
    (SHAPES, ["X1", "X2", "X3", "Y1", "Y2", "Y3"], [[1, 2, 4, 5, 7, 6]], [[1, 5, 2, 7, 4, 6]]),
    (
        SHAPES,
        ["3.Y", "1.X", "1.Y", "2.X", "2.Y", "3.X"],
        [[6, 1, 5, 2, 7, 4]],
        [[1, 5, 2, 7, 4, 6]],
    ),
    (
        SHAPES,
        ["lm_y_0", "lm_y_1", "lm_y_12", "lm_x_0", "lm_x_1", "lm_x_12"],
        [[5, 7, 6, 1, 2, 4]],
        [[1, 5, 2, 7, 4, 6]],
    ),
    (SHAPES, ["a", "b", "c", "d", "e", "f"], [[1, 5, 2, 7, 4, 6]], [[1, 5, 2, 7, 4, 6]]),
    (SPD, ["Dxx", "Dyy", "Dzz", "Dxy", "Dxz", "Dyz"], [range(1, 7)], [[1, 4, 5, 2, 6, 3]]),
    (EARTH, ["dec", "ra"], [[50.0, 8.0]], [[8.0, 50.0]]),
    (EARTH, ["Inc", "Dec"], [[50.0, 8.0]], [[8.0, 50.0]]),
    (EARTH, ["plunge_rad", "trend_rad"], np.radians([[50.0, 8.0]]), [[8.0, 50.0]]),
    (EARTH, ["Y", "X"], [[50.0, 8.0]], [[8.0, 50.0]]),
    (CLOCK, ["bedtime_hours"], [[6.0]], [[np.pi / 2]]),
    (cdp.Torus(2), ["phi_deg", "psi_deg"], [[90.0, 45.0]], [[np.pi / 2, np.pi / 4]]),
]


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
@pytest.mark.parametrize(("space", "names", "rows", "plain"), NAMED)
def test_frames_are_read_by_name(frame, space, names, rows, plain):
    rows = np.asarray(rows, dtype=float)
    table = frame(dict(zip(names, rows.T, strict=True)))
    wanted = space._whole(plain, "points")
    np.testing.assert_allclose(space._whole(table, "points"), wanted, atol=1e-12)
    np.testing.assert_allclose(space.read_records(table), wanted, atol=1e-12)


def test_a_mean_of_a_frame_in_latitude_and_longitude():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"lat": rng.normal(52.0, 1.0, 300), "lon": rng.normal(13.0, 1.0, 300)})
    ball = cdp.Ball.from_units("earth", "km", center=[13.0, 52.0], radius=800)
    found = cdp.frechet_mean(table, ball, cdp.GDP(4.0))
    assert abs(EARTH.to_lonlat(found.value) - [13.0, 52.0]).max() < 0.6


@pytest.mark.parametrize(
    ("space", "names", "said", "message"),
    [
        (SPD, ["xx", "xy", "xz", "yy", "yz", "zz"], {"order": "mrtrix"}, "not written as order"),
        (TURNS, ["w", "x", "y", "z"], {"scalar_first": False}, "not written as scalar_first=False"),
        (TURNS, ["i", "j", "k", "w"], {"scalar_first": True}, "'w' is number 3"),
        (EARTH, ["lat_deg", "lon_deg"], {"angle_units": "radians"}, "say degrees"),
        (EARTH, ["lat_deg", "lon_rad"], {}, "several units"),
        (CLOCK, ["hours"], {"angle_units": "degrees"}, "say hours"),
        (EARTH, ["ra_hours", "dec_hours"], {}, "in degrees or radians, not in hours"),
    ],
)
def test_names_that_contradict_what_is_said_are_refused(space, names, said, message):
    with pytest.raises(ValueError, match=message):
        Reading(**said).of_columns(names, space.written)
    table = pd.DataFrame(np.ones((3, len(names))), columns=names)
    with pytest.raises(ValueError, match=message):
        space.as_points(table, **said)


@pytest.mark.parametrize(
    ("space", "names", "message"),
    [
        (EARTH, ["lat", "lon", "age"], r"table\[\['lon', 'lat'\]\]"),
        (
            SHAPES,
            ["id", "x1", "x2", "x3", "y1", "y2", "y3"],
            r"table\[\['x1', 'y1', 'x2', 'y2', 'x3', 'y3'\]\]",
        ),
        (SHAPES, ["x1", "x2", "x3", "y1", "y2", "y4"], "not x and y of each of 3 landmarks"),
        (EARTH, ["site_lat", "age", "site_lon"], r"--columns site_lon,site_lat"),
        (EARTH, ["dec", "ra", "mag"], r"table\[\['ra', 'dec'\]\]"),
        (EARTH, ["x", "y", "z", "mass"], r"table\[\['x', 'y', 'z'\]\]"),
        (EARTH, ["latitude", "a", "b"], "'latitude' belongs by its name"),
        (EARTH, ["theta", "phi"], "'theta' is by its name no longitude"),
        (EARTH, ["lon", "colat"], "'colat' is by its name no longitude"),
        (EARTH, ["x", "y", "ward"], r"table\[\['x', 'y'\]\]"),
        (EARTH, ["x", "y", "z", "ward"], r"table\[\['x', 'y', 'z'\]\]"),
        (EARTH, ["x", "z"], "'z' belongs by its name"),
        (EARTH, ["incl", "other"], "'incl' is number 1 of a point, and by its name number 2"),
        (EARTH, ["other", "ra"], "'ra' is number 2 of a point, and by its name number 1"),
        (cdp.SPD(2), ["c11", "c12", "c22", "age"], r"table\[\['c11', 'c12', 'c22'\]\]"),
        (TURNS, ["xx", "y", "z", "w"], "'xx' belongs by its name"),
        (CLOCK, ["hour", "ward"], r"table\[\['hour'\]\]"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
def test_names_of_points_beside_others_are_refused_before_anything_is_paid(
    frame, space, names, message
):
    """Three columns are otherwise a vector, and four a matrix, whatever they hold."""
    table = frame(dict.fromkeys(names, np.ones(300)))
    ledger = cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(ValueError, match=message):
        cdp.frechet_mean(table, space, cdp.GDP(1.0), ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize(
    "names", [["a", "b"], ["lon", "b"], ["x", "y"], ["0", "1"], ["11", "12", "13"]]
)
def test_names_that_say_nothing_else_stay_as_they_come(names):
    table = pd.DataFrame(dict(zip(names, [[8.0], [50.0], [1.0]], strict=False)))
    np.testing.assert_array_equal(EARTH.as_points(table), EARTH.as_points(table.to_numpy()))


TYPED = [
    (pd.Series(["Ulm", "Jena"], dtype="str"), "got text in column 'c'"),
    (pd.Series(["Ulm", "Jena"], dtype="category"), "got text in column 'c'"),
    (pd.to_datetime(pd.Series(["2024-01-01", "2024-01-02"])), "hours of the day of times t are"),
    (pd.Series(["Ulm", "Jena"], dtype="string[pyarrow]"), "got text in column 'c'"),
    (pd.Series(pa.array(["a", "b"]).dictionary_encode().to_pandas()), "got text in column 'c'"),
    (pd.Series(pd.period_range("2024", periods=2)), "hours of the day of times t are"),
    (polars.Series(["Ulm", "Jena"]), "got text in column 'c'"),
    (polars.Series(["a", "b"], dtype=polars.Categorical), "got text in column 'c'"),
]


@pytest.mark.parametrize(("column", "message"), TYPED)
def test_columns_of_text_or_time_are_refused_before_anything_is_paid(column, message):
    """The type of a column is public; cells of one without a type are read one by one."""
    frame = type(column.to_frame())
    table = frame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": column})
    ledger = cdp.Ledger(cdp.GDP(1.0))
    for records in (table, table[["c", "a", "b"]]):
        with pytest.raises(TypeError, match=message):
            cdp.frechet_mean(records, EARTH, cdp.GDP(1.0), ledger=ledger)
    with pytest.raises(TypeError, match=message.replace(" in column 'c'", "")):
        CLOCK.as_points(column)
    assert not ledger.entries
    numbers = pd.DataFrame(
        {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": pd.Series(["1", "x"], dtype=object)}
    )
    assert np.isnan(EARTH.as_points(numbers)).all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize(
    ("space", "said", "message"),
    [
        (cdp.SPD(2), {"order": "fsl"}, "six numbers of spd:3"),
        (EARTH, {"scalar_first": True}, "quaternions on rotations:3"),
        (SPD, {"angle_units": "degrees"}, "angle_units is of longitude"),
        (cdp.Sphere(3), {"angle_units": "radians"}, "angle_units is of longitude"),
        (SPD, {"order": "ants"}, "order must be one of"),
        (SPD, {"order": 3}, "order must be one of"),
        (EARTH, {"order": "lower"}, "triangle of an SPD or correlation matrix"),
        (cdp.Correlation(4), {"order": "dipy"}, "six numbers of spd:3"),
        (CLOCK, {"angle_units": "turns"}, "angle_units must be one of"),
        (cdp.Product("sphere:2", "torus:1"), {"angle_units": "degrees"}, "not of sphere:2 x"),
    ],
)
def test_words_that_say_nothing_of_a_space_are_refused(space, said, message):
    with pytest.raises(ValueError, match=message):
        space.as_points(space.origin, **said)


@pytest.mark.parametrize("said", [np.array([1, 0]), "first", 1])
def test_scalar_first_is_true_or_false(said):
    with pytest.raises(TypeError, match="scalar_first must be True or False"):
        TURNS.as_points(TURNS.origin, scalar_first=said)


def test_numbers_of_another_form_than_is_said_are_refused_without_their_count():
    with pytest.raises(ValueError, match="records of 6 numbers") as refused:
        SPD.as_points(tensors(987), order="dipy")
    assert "987" not in str(refused.value)
    with pytest.raises(ValueError, match="two numbers"):
        EARTH.as_points(np.ones((5, 3)), angle_units="radians")
    cells = pd.Series([np.ones(6), np.eye(3), None], dtype=object)  # a cell is a record
    found = SPD.as_points(cells, order="dipy")
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones((3, 4), bool), ValueError, "leading axes"),
        (np.zeros((2, 3, 4), bool), ValueError, "False everywhere"),
        (np.full((2, 3, 4), 0.5), TypeError, "of bool"),
        (True, ValueError, "leading axes"),
    ],
)
def test_masks_that_are_none_are_refused(mask, error, message):
    with pytest.raises(error, match=message):
        SPD.as_points(tensors(24).reshape(2, 3, 4, 3, 3), mask=mask)


def test_volumes_without_a_mask_are_told_of_it():
    ball = cdp.Ball("spd:3", center="identity", radius=2.0)
    with pytest.raises(ValueError, match=r"as_points\(volume, mask=mask\)"):
        cdp.frechet_mean(tensors(24).reshape(2, 3, 4, 3, 3), ball, cdp.GDP(1.0))


# -------------------------------------------------------------------- files and batches

BALL = cdp.Ball("spd:3", center="identity", radius=3.0)
COMMON = {"ball": BALL, "guarantee": cdp.GDP(1.0), "coverage": False}


def lists(rows):
    return pa.table({"tensor": list(rows), "site": np.arange(len(rows)) % 2})


def as_columns(rows):
    return pa.table({f"v{k}": rows[:, k] for k in range(6)} | {"site": np.arange(len(rows)) % 2})


@pytest.mark.parametrize("make", [lists, as_columns])
@pytest.mark.parametrize("order", ["dipy", "mrtrix"])
def test_batches_read_what_is_said(make, order, tmp_path):
    found = []
    for own, said in (("fsl", None), (order, order)):
        table = make(written(tensors(40), own))
        secret = cdp.NoiseSecret(bytes(32))
        points = [name for name in table.column_names if name != "site"]
        whole = {"points": points, "order": said, "by": "site", "public_keys": True, **COMMON}
        found.append(release(cdp.Mean(), table, secret=secret, **whole).table)
    assert found[0].equals(found[1])


def test_a_secret_serves_one_reading_of_a_file(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(lists(written(tensors(40), "fsl")), tmp_path / "t.parquet")
    secret = tmp_path / "secret"
    cdp.NoiseSecret.create(secret)
    common = {"points": "tensor", "by": "site", "public_keys": True, "secret": secret, **COMMON}
    for out, order, refused in (("a", "dipy", False), ("b", "dipy", False), ("c", None, True)):
        call = (cdp.Mean(), tmp_path / "t.parquet")
        options = {"out": tmp_path / f"{out}.parquet", "order": order, **common}
        if refused:
            with pytest.raises(cdp.errors.SecretError, match="has served other data"):
                release(*call, **options)
        else:
            release(*call, **options)


def test_the_mean_of_a_file_and_protected_rows_read_what_is_said(tmp_path):
    import pyarrow.parquet as pq

    near = written(np.eye(3) + 0.01 * tensors(400), "mrtrix")
    pq.write_table(lists(near), tmp_path / "t.parquet")
    exact = cdp.nonprivate.frechet_mean(np.eye(3) + 0.01 * tensors(400), "spd:3").value
    for guarantee, n_guess in ((cdp.GDP(4.0), None), (cdp.GDP(8.0, neighbours="add-remove"), 400)):
        options = COMMON | {"guarantee": guarantee, "n_guess": n_guess, "points": "tensor"}
        found = release(cdp.Mean(), tmp_path / "t.parquet", order="mrtrix", **options)
        assert cdp.SPD(3).dist(found.value, exact) < 0.2  # noise of .01


@pytest.mark.parametrize("suffix", ["npy", "csv", "parquet"])
def test_the_command_line_reads_what_is_said(suffix, tmp_path):
    import pyarrow.parquet as pq

    rows = written(np.eye(3) + 0.01 * tensors(400), "mrtrix")
    path = tmp_path / f"tensors.{suffix}"
    if suffix == "npy":
        np.save(path, rows.reshape(4, 10, 10, 6))
        np.save(tmp_path / "mask.npy", np.ones((4, 10, 10), np.uint8))
    elif suffix == "csv":
        np.savetxt(path, rows, "%.17g", ",")
    else:
        pq.write_table(as_columns(rows).drop_columns("site"), path)
    ball = ["--manifold", "spd:3", "--center", "identity", "--radius", "3", "--mu", "4"]
    own = {"npy": ["--mask", tmp_path / "mask.npy"], "csv": ["--no-header"], "parquet": []}[suffix]
    done = run("mean", path, *ball, *own, "--order", "mrtrix", "--out", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    value = cdp.Release.from_json((tmp_path / "out.json").read_text()).value
    exact = cdp.nonprivate.frechet_mean(np.eye(3) + 0.01 * tensors(400), "spd:3").value
    assert cdp.SPD(3).dist(value, exact) < 0.2
    wrong = ["--scalar-first", "--out", tmp_path / "none.json"]
    assert_fails(run("mean", path, *ball, *own, *wrong), 2, "scalar_first is of quaternions")


@pytest.mark.parametrize(
    ("spec", "width", "units"),
    [("sphere:2", 2, "radians"), ("torus:1", 1, "hours"), ("torus:2", 2, "degrees")],
)
def test_no_number_warns_or_raises_where_angles_are_converted(spec, width, units):
    """Control: NumPy's own conversion does."""
    nasty = np.resize([1e308, -1e308, np.inf, np.nan, 5e-324, -0.0, 1.0], (14, width))
    with np.errstate(all="raise"):
        points = cdp.as_manifold(spec).as_points(nasty, angle_units=units)
        assert len(points) == 14
        with pytest.raises(FloatingPointError):
            np.degrees(nasty)


def test_no_number_warns_or_raises_where_a_diagonal_is_scaled():
    """Control: the product by itself does."""
    nasty = np.resize([1.7e308, -1.7e308, np.inf, np.nan, 5e-324, -0.0, 1.0], (14, 6))
    with np.errstate(all="raise"):
        for space in (SPD, cdp.Correlation(3)):
            assert space.as_points(nasty, order="nilearn").shape == (14, 3, 3)
        with pytest.raises(FloatingPointError):
            _ = nasty * np.sqrt(2.0)


def test_rotations_of_scipy_say_themselves_which_number_is_the_scalar():
    turns = Rotation.from_rotvec([[0.1, 0.2, 0.3]])
    assert np.allclose(TURNS.as_points(turns), turns.as_matrix(), atol=1e-15)
    for first in (True, False):
        with pytest.raises(ValueError, match="leave scalar_first out"):
            TURNS.as_points(turns, scalar_first=first)


@pytest.mark.parametrize("series", [pd.Series, polars.Series])
def test_one_column_is_read_by_its_name_as_in_a_table(series):
    hours = np.array([8.0, 9.0, 10.0])
    named = (
        pd.Series(hours, name="time_hours") if series is pd.Series else series("time_hours", hours)
    )
    assert np.array_equal(CLOCK.as_points(named), CLOCK.as_points(hours, angle_units="hours"))
    with pytest.raises(ValueError, match="hours"):
        CLOCK.as_points(named, angle_units="degrees")
    assert np.array_equal(CLOCK.as_points(pd.Series(hours)), CLOCK.as_points(hours))


def test_axes_given_as_angles_are_led_to_what_reads_them():
    axes, angles = cdp.Projective(1), np.linspace(0.0, 3.0, 40)
    for refused in (
        lambda: cdp.frechet_mean(angles, axes, cdp.GDP(1.0)),
        lambda: cdp.frechet_mean(angles[:, None], axes, cdp.GDP(1.0)),
        lambda: axes.as_points(angles, angle_units="degrees"),
    ):
        with pytest.raises(ValueError, match=r"directions\.mean_direction\(angles, 'projective:1'"):
            refused()
    with pytest.raises(ValueError, match="must have shape") as other:
        cdp.frechet_mean(np.ones((40, 5)), axes, cdp.GDP(1.0))
    assert "given as angles" not in str(other.value)


@pytest.mark.parametrize(
    ("space", "shape", "way"),
    [
        (cdp.Correlation(20), (30, 150, 20), r"time_series_covariance.*\(n, channels, samples\)"),
        (cdp.SPD(20), (30, 20, 150), "time_series_covariance"),
        (SPD, (5, 10, 4, 2), None),
    ],
)
def test_time_series_are_led_to_their_covariances(space, shape, way):
    with pytest.raises(ValueError, match="must have shape") as refused:
        cdp.frechet_mean(np.zeros(shape), space, cdp.GDP(1.0))
    if way is None:
        assert "time_series" not in str(refused.value)
    else:
        assert refused.match(way)


def test_a_mask_of_several_volumes_is_led_on():
    volumes, mask = tensors(48).reshape(2, 2, 3, 4, 3, 3), np.ones((2, 3, 4), bool)
    with pytest.raises(ValueError, match=r"records\[:, mask\]"):
        SPD.as_points(volumes, mask=mask)
    assert SPD.as_points(volumes[:, mask]).shape == (2, 24, 3, 3)
