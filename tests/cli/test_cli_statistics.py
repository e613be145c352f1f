"""Variance, region and regression on the command line: what the library releases, in a file."""

import numpy as np
import pytest

import curvedp as cdp
from command_line import SPD_OPTIONS, assert_fails, make_tensors, run, save

BALL = cdp.Ball(cdp.SPD(3), np.eye(3), 1.5)
SPHERE_OPTIONS = ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", "0.7"]
COVARIATE = ["--covariate", "age", "--x-range", 20, 80, "--tau", 0.3, "--v-max", 1.5]


@pytest.fixture
def tensors(tmp_path):
    return save(tmp_path, "a.npy", make_tensors())


def seeded(command, data, out, *arguments):
    result = run(command, data, *SPD_OPTIONS, "--out", out, "--seed", 7, *arguments)
    assert result.exit_code == 0, result.output
    return result, out.read_text()


def directions_by_age(n=100):
    """Directions that turn with age, in the units of the command line."""
    rng = np.random.default_rng(3)
    age = rng.uniform(20, 80, n)
    turn = (age - 50) / 100
    points = np.stack([np.sin(turn), 0.03 * rng.standard_normal(n), np.cos(turn)], axis=1)
    return age, points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.fixture
def ages(tmp_path):
    """The same table as csv, parquet and npz, with the arguments that read it."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    age, points = directions_by_age()
    table = np.column_stack([points[:, :2], age, points[:, 2]])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header="x,y,age,z", comments="")
    columns = {"x": points[:, 0], "y": points[:, 1], "z": points[:, 2], "age": age}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", points=points, age=age)
    return {
        tmp_path / "a.csv": ["--columns", "x,y,z"],
        tmp_path / "a.parquet": ["--columns", "x,y,z"],
        tmp_path / "a.npz": ["--key", "points"],
    }


def test_variance_is_the_librarys(tmp_path, tensors):
    result, text = seeded("variance", tensors, tmp_path / "out.json", "--epsilon", 1)
    expected = cdp.frechet_variance(make_tensors(), BALL, cdp.PureDP(1.0), seed=7)
    stored = cdp.Release.from_json(text)
    np.testing.assert_allclose(stored.value, expected.value, rtol=1e-12)
    assert "Fréchet variance" in result.stdout


def test_variance_at_a_level_is_an_interval(tmp_path, tensors):
    _, text = seeded("variance", tensors, tmp_path / "out.json", "--mu", 1, "--level", 0.9)
    expected = cdp.variance_interval(make_tensors(), BALL, cdp.GDP(1.0), level=0.9, seed=7)
    stored = cdp.VarianceInterval.from_json(text)
    assert stored.level == 0.9
    assert stored.report() == expected.report()


def test_region_is_the_librarys(tmp_path, tensors):
    result, text = seeded("region", tensors, tmp_path / "out.json", "--mu", 1)
    expected = cdp.confidence_region(make_tensors(), BALL, cdp.GDP(1.0), seed=7)
    stored = cdp.ConfidenceRegion.from_json(text)
    assert stored.level == 0.95
    assert stored.report() == expected.report()
    assert stored.report().split() == result.stdout.rsplit("Written to", 1)[0].split()


def test_regression_is_the_librarys_from_every_format(tmp_path, ages):
    age, points = directions_by_age()
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    expected = cdp.geodesic_regression(
        age, points, ball, cdp.PureDP(0.2), x_range=(20, 80), tau=0.3, v_max=1.5, seed=7
    )
    for data, where in ages.items():
        out = tmp_path / f"{data.suffix[1:]}.json"
        arguments = [*SPHERE_OPTIONS, *COVARIATE, *where, "--epsilon", 0.2, "--seed", 7]
        result = run("regression", data, *arguments, "--out", out)
        assert result.exit_code == 0, result.output
        stored = cdp.GeodesicRelease.from_json(out.read_text())
        np.testing.assert_allclose(stored.value, expected.value, rtol=1e-9, atol=1e-12)
        assert stored.x_range == (20.0, 80.0)


def test_regression_needs_no_clipping_length(tmp_path, ages):
    age, points = directions_by_age()
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    expected = cdp.geodesic_regression(age, points, ball, cdp.GDP(1.0), x_range=(0, 120), seed=7)
    data, where = next(iter(ages.items()))
    out = tmp_path / "out.json"
    arguments = [*SPHERE_OPTIONS, "--covariate", "age", "--x-range", 0, 120, *where]
    result = run("regression", data, *arguments, "--mu", 1, "--seed", 7, "--out", out)
    assert result.exit_code == 0, result.output
    stored = cdp.GeodesicRelease.from_json(out.read_text())
    np.testing.assert_allclose(stored.value, expected.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(stored.band([30.0, 70.0]), expected.band([30.0, 70.0]), rtol=1e-6)
    assert " ".join(stored.summary().split()) in " ".join(result.stdout.split())
    shown = run("show", out).stdout
    assert shown.rstrip().endswith(stored.summary().rstrip())


def test_regression_may_be_robust(tmp_path, ages):
    age, points = directions_by_age()
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    robust, plain = (
        cdp.geodesic_regression(
            age, points, ball, cdp.GDP(1.0), x_range=(0, 120), robust=robust, seed=7
        )
        for robust in (True, False)
    )
    data, where = next(iter(ages.items()))
    out = tmp_path / "out.json"
    arguments = [*SPHERE_OPTIONS, "--covariate", "age", "--x-range", 0, 120, *where]
    result = run("regression", data, *arguments, "--mu", 1, "--seed", 7, "--robust", "--out", out)
    assert result.exit_code == 0, result.output
    stored = cdp.GeodesicRelease.from_json(out.read_text())
    np.testing.assert_allclose(stored.value, robust.value, rtol=1e-9, atol=1e-12)
    assert np.abs(stored.value - plain.value).max() > 1e-6


def test_regression_says_that_a_robust_one_finds_its_length(tmp_path, ages):
    data, where = next(iter(ages.items()))
    arguments = [*SPHERE_OPTIONS, *COVARIATE, *where, "--robust", "--mu", 1]
    assert_fails(run("regression", data, *arguments, "--out", tmp_path / "a.json"), 2, "tau")


@pytest.mark.parametrize("command", ["mean", "variance"])
def test_persons_are_known_by_name_in_every_format(tmp_path, ages, command):
    _, points = directions_by_age()
    persons = [f"p{number // 3}" for number in range(100)]
    _add_column(tmp_path, persons)
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    statistic = {"mean": cdp.frechet_mean, "variance": cdp.frechet_variance}[command]
    expected = statistic(points, ball, cdp.GDP(1.0), units=persons, seed=7)
    for data, where in ages.items():
        out = tmp_path / f"{data.suffix[1:]}.json"
        arguments = [*SPHERE_OPTIONS, *where, "--units", "person", "--mu", 1, "--seed", 7]
        result = run(command, data, *arguments, "--out", out)
        assert result.exit_code == 0, result.output
        stored = cdp.Release.from_json(out.read_text())
        np.testing.assert_allclose(stored.value, expected.value, rtol=1e-9, atol=1e-12)
        assert stored.n == 34
        assert "100" not in result.stderr, "the number of records is not public"
    csv = tmp_path / "a.csv"
    arguments = [*SPHERE_OPTIONS, "--units", "person", "--mu", 1, "--out", tmp_path / "out.json"]
    assert_fails(run(command, csv, *arguments), 2, "--columns")
    arguments += ["--columns", "x,y,z"]
    assert_fails(run(command, csv, *arguments, "--records-per-unit", 2), 2, "not both")
    short = csv.read_text().splitlines()[:-1]
    csv.write_text("\n".join([*short, "0,0.1"]) + "\n")
    assert run(command, csv, *arguments).exit_code == 0, "a line that is too short is a person"
    arguments[arguments.index("--out") + 1] = tmp_path / "other.json"
    csv.write_text("\n".join(short).replace(",p7\n", ",\n") + "\n")
    assert_fails(run(command, csv, *arguments), 2, "units must name each record's person")


def _add_column(folder, persons):
    """Adds the names of persons to the files of `ages`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    head, *rows = (folder / "a.csv").read_text().splitlines()
    lines = [f"{row},{person}" for row, person in zip(rows, persons, strict=True)]
    (folder / "a.csv").write_text("\n".join([f"{head},person", *lines]) + "\n")
    table = pq.read_table(folder / "a.parquet")
    pq.write_table(table.append_column("person", pa.array(persons)), folder / "a.parquet")
    with np.load(folder / "a.npz") as arrays:
        np.savez(folder / "a.npz", person=np.array(persons), **arrays)


def test_empty_cells_are_not_mentioned(tmp_path):
    lines = ["x,y,z,age"] + ["0,0,1,50"] * 200
    outputs = set()
    for k, last in enumerate(["0,0,1,50", "0,0,1,", "0,0,1,none", ",,,50"]):
        data, out = tmp_path / "a.csv", tmp_path / f"{k}.json"
        data.write_text("\n".join([*lines, last]) + "\n")
        arguments = [*SPHERE_OPTIONS, *COVARIATE, "--columns", "x,y,z", "--mu", 1, "--seed", 1]
        result = run("regression", data, *arguments, "--no-coverage", "--out", out)
        assert result.exit_code == 0, result.output
        outputs.add(result.output.replace(out.name, "out") + out.read_text())
    assert len(outputs) == 1, "a missing covariate counts as the middle, a missing point as centre"


def test_a_ledger_is_spent_from_and_refuses(tmp_path, tensors):
    ledger = ["--ledger", tmp_path / "ledger.json", "--ledger-budget", "mu=1"]
    arguments = [*SPD_OPTIONS, "--mu", 0.8, *ledger]
    first = run("region", tensors, *arguments, "--out", tmp_path / "1.json")
    assert first.exit_code == 0, first.output
    second = run("variance", tensors, *arguments, "--out", tmp_path / "2.json")
    assert_fails(second, 3, "the budget")
    assert not (tmp_path / "2.json").exists()


@pytest.mark.parametrize(
    ("command", "arguments", "code", "words"),
    [
        ("region", ["--epsilon", 1], 2, ["needs Gaussian noise"]),
        ("variance", ["--epsilon", 1, "--level", 0.9], 2, ["needs Gaussian noise"]),
        ("region", ["--mu", 1, "--level", 2], 2, ["level"]),
        ("region", [], 2, ["one budget"]),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path, tensors, command, arguments, code, words):
    out = tmp_path / "out.json"
    assert_fails(run(command, tensors, *SPD_OPTIONS, *arguments, "--out", out), code, *words)
    assert not out.exists()


def test_a_covariate_of_words_is_told_of(tmp_path, ages):
    """The type of a Parquet column is public; the cells of a csv file are not, so noise tells."""
    _add_column(tmp_path, ["F", "M"] * 50)
    where = ["--columns", "x,y,z", "--covariate", "person", "--x-range", 0, 1, "--mu", 5]
    ledger = tmp_path / "book.ledger"
    paid = ["--ledger", ledger, "--ledger-budget", "mu=9"]
    asked = [*SPHERE_OPTIONS, *where, *paid, "--coverage"]
    typed = run("regression", tmp_path / "a.parquet", *asked, "--out", tmp_path / "a.json")
    assert_fails(typed, 5, "not real numbers")
    assert not ledger.exists() or cdp.Ledger.open(ledger).spent is None
    with pytest.warns(cdp.errors.CoverageWarning, match="texts .code two categories as 0 and 1"):
        run("regression", tmp_path / "a.csv", *asked, "--out", tmp_path / "b.json")


def test_a_covariate_that_cannot_be_read_is_named(tmp_path, ages):
    csv, parquet, npz = ages
    out = tmp_path / "out.json"
    np.save(tmp_path / "a.npy", np.zeros((5, 3)))
    np.savez(tmp_path / "short.npz", points=np.zeros((5, 3)), age=np.zeros(4))
    for data, arguments, code, words in (
        (csv, [], 2, ["--columns"]),
        (csv, ["--columns", "x,y,z", "--covariate", "size"], 2, ["no column 'size'"]),
        (parquet, ["--columns", "x"], 2, ["1 numbers per record"]),
        (npz, ["--key", "points", "--covariate", "points"], 5, ["one number"]),
        (tmp_path / "a.npy", [], 5, ["csv, parquet or npz"]),
        (tmp_path / "short.npz", ["--key", "points"], 5, ["4 covariates for 5 records"]),
    ):
        covariate = COVARIATE[2:] if "--covariate" in arguments else COVARIATE
        given = [*SPHERE_OPTIONS, *covariate, *arguments, "--mu", 1, "--out", out]
        assert_fails(run("regression", data, *given), code, *words)
        assert not out.exists()


def test_options_and_names_that_are_not_there_lead_on(tmp_path, tensors):
    out = ["--epsilon", 1, "--out", tmp_path / "out.json"]
    assert_fails(run("mean", tensors, *SPD_OPTIONS, *out, "--by", "region"), 2, "curvedp batch")
    named = ["--manifold", "spd:3", "--center", "dti", "--radius", 2]
    assert_fails(run("mean", tensors, *named, *out), 5, "0.7*identity")


def test_several_covariates_are_refused_and_not_the_last_one_taken(tmp_path, ages):
    data, where = next(iter(ages.items()))
    twice = [*COVARIATE, "--covariate", "age"]
    result = run("regression", data, *SPHERE_OPTIONS, *where, *twice, "--mu", 1, "--out", "-")
    assert_fails(result, 2, "--covariate is given twice")
    assert "x of shape (n, q)" in result.stderr
    ranges = [*COVARIATE, "--x-range=0", "1", "--mu", 1, "--out", "-"]
    result = run("regression", data, *SPHERE_OPTIONS, *where, *ranges)
    assert_fails(result, 2, "--x-range is given twice")
