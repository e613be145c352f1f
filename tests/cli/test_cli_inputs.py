"""Records and centres are read the same from every format, and never by what a record holds."""

import numpy as np
import pytest

from curvedp.cli import tables
from curvedp.cli.parameters import parse_ball, parse_guarantee
from curvedp.manifolds import as_manifold

MATRIX = np.array([[1.2, 0.1, 0.0], [0.1, 0.9, -0.2], [0.0, -0.2, 0.7]])


def test_missing_values_of_a_parquet_file_become_nan(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    fixed = pa.array([[1.0, 2.0], None, [3.0, None]], type=pa.list_(pa.float64(), 2))
    whole = pa.array([1, None, 3], type=pa.int32())
    path = tmp_path / "t.parquet"
    try:
        pq.write_table(pa.table({"fixed": fixed, "int": whole}), path)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow writes no missing list of fixed size")
    nan = np.nan
    expected = [[1, 2, 1], [nan, nan, nan], [3, nan, 3]]
    np.testing.assert_array_equal(tables.read_table(path), expected)


def test_text_of_a_parquet_file_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"b": ["x", "y"]}), path)
    with pytest.raises(tables.FileError, match="string, not real numbers"):
        tables.read_table(path, columns=["b"])


def test_an_open_quote_stays_within_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n5,6\n"1,2\n3,4\n')
    nan = np.nan
    np.testing.assert_array_equal(tables.read_table(path), [[5, 6], [nan, nan], [3, 4]])


def test_an_empty_line_is_a_missing_value_in_a_table_of_one_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n\n3\n")
    np.testing.assert_array_equal(tables.read_table(path), [[1], [np.nan], [3]])


@pytest.mark.parametrize(
    ("manifold", "center", "expected"),
    [
        ("spd:2", "identity", np.eye(2)),
        ("spd:2", "0.7*identity", 0.7 * np.eye(2)),
        ("spd:2", "2,1,3", [[2, 1], [1, 3]]),
        ("spd:2", "2,1,1,3", [[2, 1], [1, 3]]),
        ("sphere:2", "0,3,4", [0, 0.6, 0.8]),
        ("euclidean:2", "origin", [0, 0]),
        ("hyperboloid:2", "origin", [1, 0, 0]),
    ],
)
def test_a_centre_is_a_name_or_numbers(manifold, center, expected):
    ball = parse_ball(manifold, center, 0.5)
    np.testing.assert_allclose(ball.center, expected, atol=1e-15)


def test_the_reference_shape_is_a_regular_polygon():
    center = as_manifold("kendall:5").origin
    gaps = np.linalg.norm(np.diff(center, axis=0, append=center[:1]), axis=1)
    np.testing.assert_allclose(gaps, gaps[0])


def test_a_ball_has_both_a_centre_and_a_radius():
    assert repr(parse_ball("sphere:2", None, None)) == "WholeSpace('sphere:2')"
    for one in (("0,0,1", None), (None, 0.5)):
        with pytest.raises(ValueError, match="both --center and --radius"):
            parse_ball("sphere:2", *one)


@pytest.mark.parametrize("name", ["c.csv", "c.npy"])
def test_a_centre_file_may_hold_the_matrix_or_one_row(tmp_path, name):
    path = tmp_path / name
    for array in (MATRIX, MATRIX.reshape(1, 9), MATRIX[np.triu_indices(3)][None]):
        np.save(path, array) if name == "c.npy" else np.savetxt(path, array, delimiter=",")
        np.testing.assert_allclose(parse_ball("spd:3", str(path), 1.0).center, MATRIX)


@pytest.mark.parametrize(
    ("text", "content"),
    [("x.json", "{}"), ("x.json", "not json"), ("x.txt", "1"), ("x.csv", "1,0\n0,1\n1,1\n")],
)
def test_a_bad_centre_file_is_refused(tmp_path, text, content):
    path = tmp_path / text
    path.write_text(content)
    with pytest.raises((tables.FileError, ValueError), match=r"--center|x\.csv"):
        parse_ball("spd:3", str(path), 1.0)
    with pytest.raises(tables.FileError, match="neither a known name"):
        parse_ball("spd:3", str(tmp_path / "absent.csv"), 1.0)


def test_no_budget_is_no_guarantee():
    with pytest.raises(ValueError, match="one budget"):
        parse_guarantee(None, None, None, None)


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_no_record_of_an_array_file_warns_while_it_is_widened(tmp_path, name):
    """Warnings are errors in this suite: a float32 signalling NaN and what float64 cannot hold."""
    save = np.save if name.endswith("npy") else np.savez
    narrow = np.array([[0x7FA00000, 0]], dtype=np.uint32).view(np.float32)
    save(tmp_path / name, narrow)
    np.testing.assert_array_equal(tables.read_table(tmp_path / name), [[np.nan, 0]])
    save(tmp_path / name, np.array([[np.longdouble("1e4000"), 0]]))
    np.testing.assert_array_equal(tables.read_table(tmp_path / name), [[np.inf, 0]])
