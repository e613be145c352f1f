"""Dialects of csv files: read as they are said to be, or refused before anything is charged."""

import numpy as np
import pytest

import curvedp as cdp
from command_line import assert_fails, mean, run
from csv_cases import READ, REFUSED, directions, write
from curvedp.cli import tables
from curvedp.cli.csv_files import Dialect, FileError
from curvedp.manifolds import Euclidean, Sphere

SPHERE = ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", 0.7]


def release(tmp_path, data, *options, command="mean", space=SPHERE):
    """A release that costs everything, and what was spent."""
    out, book = tmp_path / "out.json", tmp_path / "study.ledger"
    budget = ["--mu", 200, "--ledger", book, "--ledger-budget", "mu=200", "--out", out]
    result = run(command, data, *space, *budget, *options)
    return result, out, book


@pytest.mark.parametrize("kind", READ)
def test_a_dialect_that_is_said_is_read(kind, tmp_path):
    how, options = READ[kind]
    write(tmp_path / "in.csv", **how)
    out = tmp_path / "out.json"
    asked = [*SPHERE, "--mu", 200, "--seed", 1, "--out", out]
    result = run("mean", tmp_path / "in.csv", *asked, *options)
    assert result.exit_code == 0, result.output
    found = cdp.Release.from_json(out.read_text())
    ball = cdp.Ball(Sphere(2), [0.0, 0.0, 1.0], 0.7)
    same = cdp.frechet_mean(directions(), ball, cdp.GDP(200.0), seed=1)
    np.testing.assert_array_equal(found.value, same.value)


UNNAMED = ["UTF-16", "UTF-16, little end first", "UTF-32", "semicolons", "tabs", "bars", "spaces"]
UNNAMED += ["semicolons, decimal commas", "quoted decimal commas", "decimal commas"]
UNNAMED += ["a comma at the end", "units"]
CASES = [(kind, True) for kind in REFUSED] + [(kind, False) for kind in UNNAMED]


@pytest.mark.parametrize(("kind", "header"), CASES)
def test_another_dialect_is_refused_before_anything_is_charged(kind, header, tmp_path):
    how, options, word = REFUSED[kind]
    if not header:
        how, options = how | {"names": None}, [*options, "--no-header"]
        word = "cells, but a point" if "first record" in word or kind == "spaces" else word
    data = write(tmp_path / "in.csv", **how)
    result, out, book = release(tmp_path, data, *options)
    assert_fails(result, 5, "in.csv", word)
    assert not out.exists()
    assert not book.exists()


@pytest.mark.parametrize("cell", ["34,5", '"34,5"', "34 years", "1_05", "1.000,5", "$3"])
def test_ages_that_are_not_read_are_refused(cell, tmp_path):
    (tmp_path / "in.csv").write_text("age\n" + f"{cell}\n" * 50)
    ends = ["--q", 0.5, "--low", 0, "--high", 120]
    result, out, book = release(tmp_path, tmp_path / "in.csv", *ends, command="quantile", space=[])
    assert_fails(result, 5, "in.csv", "first record")
    assert cell.strip('"') not in result.output
    assert not out.exists()
    assert not book.exists()


@pytest.mark.parametrize("first", ["", "NA", "unknown", "-"])
def test_a_first_record_may_be_missing(first, tmp_path):
    (tmp_path / "in.csv").write_text(f"age\n{first}\n34\n")
    np.testing.assert_array_equal(tables.read_table(tmp_path / "in.csv"), [[np.nan], [34]])


def test_later_records_count_as_missing_in_every_form(tmp_path):
    later = ["1;2", "1,2,3", '"1,2', "a,1", "1_0,1", "\t", "\x00,1", "1", "ö,1"]
    text = "x,y\n5,6\n" + "\n".join(later) + "\n7,8\n"
    (tmp_path / "in.csv").write_bytes(text.encode("latin-1"))
    found = tables.read_table(tmp_path / "in.csv")
    assert len(found) == len(later) + 2
    np.testing.assert_array_equal(found[[0, -1]], [[5, 6], [7, 8]])
    assert np.isnan(found[1:-1]).any(axis=1).all()
    (tmp_path / "in.csv").write_bytes(text.partition("\n")[2].encode("latin-1"))
    found = tables.read_table(tmp_path / "in.csv", Euclidean(2), dialect=Dialect(header=False))
    assert len(found) == len(later) + 2
    np.testing.assert_array_equal(found[[0, -1]], [[5, 6], [7, 8]])


def test_quoted_commas_stand_in_one_cell_in_names_and_lines(tmp_path):
    lines = ['"name, first",person,x', '"Smith, J",p1,1', "Jones,p2,2", '"Paris, FR", "p1", "3"']
    path = tmp_path / "in.csv"
    path.write_text("\n".join(lines) + "\n")
    np.testing.assert_array_equal(tables.read_table(path, columns=["x"]), [[1], [2], [3]])
    assert tables.read_labels(path, "person") == ["p1", "p2", "p1"]
    assert tables.read_labels(path, "name, first") == ["Smith, J", "Jones", "Paris, FR"]


def test_labels_that_cannot_be_decoded_stay_different(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes("person,x\nMüller,1\nMöller,2\nMüller,3\n".encode("latin-1"))
    first, second, third = tables.read_labels(path, "person")
    assert first == third != second


def test_a_first_record_is_not_printed_as_names(tmp_path):
    data = write(tmp_path / "in.csv", names=None)
    result, _, book = release(tmp_path, data, "--columns", "x,y,z")
    assert_fails(result, 5, "--no-header")
    assert not any(f"{own:.6f}" in result.output for own in directions()[0])
    (tmp_path / "mixed.csv").write_text("0.280991,y,z\n1,2,3\n")
    result, _, book = release(tmp_path, tmp_path / "mixed.csv", "--columns", "x,y,z")
    assert_fails(result, 2, "no column 'x'", "a record may be among them")
    assert "0.28" not in result.output
    assert not book.exists()
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_csv(data)
    how = {"points": ["x", "y", "z"], "by": "k", "public_keys": True}
    ball = cdp.Ball(Sphere(2), [0.0, 0.0, 1.0], 0.7)
    with pytest.raises(ValueError, match="no column 'k'") as told:
        cdp.batch.release(cdp.Mean(), frame, ball=ball, guarantee=cdp.GDP(1.0), **how)
    assert not any(name in str(told.value) for name in frame.columns)


def test_two_columns_of_one_name_are_not_chosen(tmp_path):
    data = write(tmp_path / "in.csv", names="x,x,z")
    assert_fails(release(tmp_path, data, "--columns", "x,z")[0], 2, "2 columns 'x'")


def test_what_is_said_of_csv_files_is_not_ignored_for_others(tmp_path):
    np.save(tmp_path / "in.npy", directions())
    said = (["--delimiter", ";"], ["--decimal", ","], ["--encoding", "latin-1"], ["--no-header"])
    for option in said:
        result, _, book = release(tmp_path, tmp_path / "in.npy", *option)
        assert_fails(result, 5, "only a csv file")
        assert not book.exists()
    data = write(tmp_path / "in.csv")
    assert_fails(release(tmp_path, data, "--encoding", "klingon")[0], 2, "--encoding klingon")
    assert_fails(release(tmp_path, data, "--encoding", "rot13")[0], 2, "--encoding rot13")
    with pytest.raises(FileError, match="not encoded as utf-16"):
        tables.read_table(data, dialect=Dialect(encoding="utf-16"))


def test_control_a_file_that_is_read_is_charged(tmp_path):
    result, out, book = release(tmp_path, write(tmp_path / "in.csv"))
    assert result.exit_code == 0, result.output
    assert out.exists()
    assert cdp.Ledger.open(book).spent == cdp.GDP(200.0)


EARTH_BALL = ["--manifold", "sphere:2", "--center", "8,50", "--radius", "0.5"]


@pytest.mark.parametrize(
    ("first", "code", "words"),
    [
        ("lat,lon,age\n50,8,71", 2, "--columns lon,lat"),
        ("lat,lon,hospital\n50,8,Hosp07", 2, "--columns lon,lat"),
        ("a,b,hospital\n50,8,Hosp07", 5, "cell 3 holds a name or a code, no number"),
        ("a,b,hospital\n50,8,Ulm", 5, "cell 3 holds a name or a code, no number"),
        ("a,b,c\n50,8,7.5 km", 5, "say --decimal ,"),
    ],
)
def test_columns_that_are_no_points_are_refused_and_led_to_those_that_are(
    tmp_path, first, code, words
):
    (tmp_path / "d.csv").write_text(first + "\n" + "50,8,1\n" * 300)
    result = mean(tmp_path / "d.csv", tmp_path / "out.json", options=EARTH_BALL, budget=("--mu", 1))
    assert_fails(result, code, words)
    assert not (tmp_path / "out.json").exists()


def test_columns_without_names_are_chosen_by_their_numbers(tmp_path):
    rows = "50,8,71\n" * 299 + "50\n"  # the last one counts as missing
    (tmp_path / "d.csv").write_text(rows)
    (tmp_path / "named.csv").write_text("lat,lon,age\n" + rows)
    found = []
    for name, how in (
        ("d.csv", ["--no-header", "--columns", "2,1"]),
        ("named.csv", ["--columns", "lat,lon"]),
    ):
        how = [*how, "--seed", 5]
        out = tmp_path / f"{name}.json"
        done = mean(tmp_path / name, out, *how, options=EARTH_BALL, budget=("--mu", 1))
        assert done.exit_code == 0, done.output
        found.append(cdp.Release.from_json(out.read_text()))
    assert np.array_equal(found[0].value, found[1].value)
    assert found[0].coverage.noisy == found[1].coverage.noisy
    for wrong, words in (("4,1", "first line has 3 cells"), ("0,1", "from 1 on")):
        result = mean(
            tmp_path / "d.csv",
            tmp_path / "none.json",
            "--no-header",
            "--columns",
            wrong,
            options=EARTH_BALL,
            budget=("--mu", 1),
        )
        assert_fails(result, 2 if wrong == "0,1" else 5, words)
