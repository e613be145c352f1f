"""The command line does what it says, and says in one line what is wrong."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import curvedp
from curvedp.cli.app import app

TENSOR = np.array([[1.2, 0.1, 0.0], [0.1, 0.9, -0.2], [0.0, -0.2, 0.7]])
SPD_OPTIONS = ["--manifold", "spd:3", "--center", "identity", "--radius", "1.5"]


@pytest.fixture
def tensors():
    noise = np.random.default_rng(1).normal(scale=0.05, size=(300, 3, 3))
    return TENSOR + noise + noise.swapaxes(1, 2)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def mean(data, out, *arguments, options=SPD_OPTIONS, budget=("--epsilon", "1")):
    return run("mean", data, *options, *budget, "--out", out, *arguments)


def assert_fails(result, code, *words):
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert word in last


def save(folder, name, array):
    """Write an array of tensors in the format that the name's ending asks for."""
    path = folder / name
    upper = array[:, *np.triu_indices(3)]
    if name.endswith(".npy"):
        np.save(path, array)
    elif name.endswith(".npz"):
        np.savez(path, tensors=array, other=np.zeros(2))
    elif name.endswith("upper.csv"):
        np.savetxt(path, upper, delimiter=",", header="xx,xy,xz,yy,yz,zz", comments="")
    elif name.endswith(".csv"):
        np.savetxt(path, array.reshape(-1, 9), delimiter=",")
    else:
        write_parquet(path, array, lists="lists" in name)
    return path


def write_parquet(path, array, *, lists):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    flat = array.reshape(len(array), -1)
    if lists:
        values = pa.array(flat.ravel())
        columns = {"tensor": pa.FixedSizeListArray.from_arrays(values, flat.shape[1])}
    else:
        columns = {f"x{k}": flat[:, k] for k in range(flat.shape[1])}
    pq.write_table(pa.table(columns), path)


# ---- mean


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("a.npy", []),
        ("a.npz", ["--key", "tensors"]),
        ("upper.csv", []),
        ("upper.csv", ["--columns", "xx,xy,xz,yy,yz,zz"]),
        ("full.csv", ["--no-header"]),
        ("columns.parquet", []),
        ("lists.parquet", ["--columns", "tensor"]),
    ],
)
def test_the_same_records_give_the_same_seeded_release_from_every_format(
    tmp_path, tensors, name, arguments
):
    data = save(tmp_path, name, tensors)
    out = tmp_path / "release.json"
    result = mean(data, out, "--seed", 7, *arguments)
    assert result.exit_code == 0, result.output
    ball = curvedp.Ball(curvedp.SPD(3), np.eye(3), 1.5)
    expected = curvedp.frechet_mean(tensors, ball, curvedp.PureDP(1.0), seed=7)
    stored = curvedp.Release.from_json(out.read_text())
    np.testing.assert_allclose(stored.value, expected.value, rtol=1e-12)
    assert stored.n == 300


def test_written_release_carries_guarantee_and_ball(tmp_path, tensors):
    out = tmp_path / "release.json"
    result = mean(save(tmp_path, "a.npy", tensors), out, "--records-per-unit", 3)
    assert result.exit_code == 0, result.output
    release = curvedp.Release.from_json(out.read_text())
    assert release.guarantee == curvedp.PureDP(1.0)
    assert (release.n, release.records_per_unit, release.ball_radius) == (300, 3, 1.5)
    np.testing.assert_array_equal(release.ball_center, np.eye(3))
    assert release.report().split() == result.stdout.rsplit("Written to", 1)[0].split()


def test_two_unseeded_releases_differ(tmp_path, tensors):
    data = save(tmp_path, "a.npy", tensors)
    values = []
    for name in ("one.json", "two.json"):
        assert mean(data, tmp_path / name).exit_code == 0
        values.append(curvedp.Release.from_json((tmp_path / name).read_text()).value)
    assert not np.array_equal(*values)


@pytest.mark.parametrize(
    ("budget", "guarantee"),
    [
        (["--epsilon", 2], curvedp.PureDP(2.0)),
        (["--epsilon", 2, "--delta", "1e-6"], curvedp.ApproxDP(2.0, 1e-6)),
        (["--rho", 0.5], curvedp.ZCDP(0.5)),
        (["--mu", 1], curvedp.GDP(1.0)),
    ],
)
def test_each_budget_gives_its_guarantee(tmp_path, tensors, budget, guarantee):
    out = tmp_path / "release.json"
    result = mean(save(tmp_path, "a.npy", tensors), out, budget=budget)
    assert result.exit_code == 0, result.output
    assert curvedp.Release.from_json(out.read_text()).guarantee == guarantee


def test_directions_of_any_length_are_accepted(tmp_path):
    data, out = tmp_path / "directions.csv", tmp_path / "release.json"
    data.write_text("x,y,z\n" + "0.6,0,1.0\n-0.5,0,1\n0,7,9\n" * 200)
    options = ["--manifold", "sphere:2", "--center", "0,0,2", "--radius", "1"]
    result = mean(data, out, options=options, budget=["--epsilon", "50"])
    assert result.exit_code == 0, result.output
    directions = np.array([[0.6, 0, 1.0], [-0.5, 0, 1], [0, 7, 9]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sphere = curvedp.Sphere(2)
    exact = curvedp.nonprivate.frechet_mean(directions, sphere).value
    released = curvedp.Release.from_json(out.read_text()).value
    assert float(sphere.dist(released, exact)) < 0.02


def test_landmarks_of_any_position_and_size_are_accepted(tmp_path):
    square = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])
    shapes = square * np.linspace(1, 9, 500)[:, None, None] + np.arange(500.0)[:, None, None]
    np.save(tmp_path / "shapes.npy", shapes.reshape(500, 8))
    np.save(tmp_path / "center.npy", square)
    out = tmp_path / "release.json"
    options = ["--manifold", "kendall:4", "--center", tmp_path / "center.npy", "--radius", "0.5"]
    result = mean(tmp_path / "shapes.npy", out, options=options, budget=["--epsilon", "50"])
    assert result.exit_code == 0, result.output
    kendall = curvedp.KendallPlanar(4)
    released = curvedp.Release.from_json(out.read_text()).value
    assert float(kendall.dist(released, kendall.project(square))) < 0.02


def test_a_release_can_be_the_next_centre(tmp_path, tensors):
    data = save(tmp_path, "a.npy", tensors)
    assert mean(data, tmp_path / "first.json").exit_code == 0
    options = [*SPD_OPTIONS[:2], "--center", tmp_path / "first.json", "--radius", "0.5"]
    result = mean(data, tmp_path / "second.json", options=options)
    assert result.exit_code == 0, result.output
    first, second = (
        curvedp.Release.from_json((tmp_path / name).read_text())
        for name in ("first.json", "second.json")
    )
    np.testing.assert_array_equal(second.ball_center, first.value)


def test_dash_prints_the_release_alone_on_standard_output(tmp_path, tensors):
    result = mean(save(tmp_path, "a.npy", tensors), "-")
    assert result.exit_code == 0, result.output
    assert curvedp.Release.from_json(result.stdout).n == 300
    assert "schema_version" in json.loads(result.stdout)


def test_cells_that_are_not_numbers_count_as_the_centre_and_are_not_mentioned(tmp_path, tensors):
    clean = save(tmp_path, "upper.csv", np.concatenate([tensors, np.eye(3)[None]]))
    spoilt = tmp_path / "spoilt.csv"
    lines = clean.read_text().splitlines()
    spoilt.write_text("\n".join([*lines[:-1], '1,secret,,0,"0",1e999']) + "\n")
    results = [mean(path, tmp_path / f"{path.stem}.json", "--seed", 3) for path in (clean, spoilt)]
    assert [result.exit_code for result in results] == [0, 0]
    values = [
        curvedp.Release.from_json((tmp_path / name).read_text()).value
        for name in ("upper.json", "spoilt.json")
    ]
    np.testing.assert_array_equal(*values)
    assert results[0].output.replace("upper", "spoilt") == results[1].output


# ---- what goes wrong


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        ([], "--epsilon"),
        (["--epsilon", 1, "--mu", 1], "one budget"),
        (["--delta", 1e-6, "--mu", 1], "--delta goes with --epsilon"),
        (["--epsilon", 0], "epsilon"),
        (["--epsilon", -1], "epsilon"),
        (["--epsilon", "nan"], "epsilon"),
        (["--mu", -1], "mu"),
    ],
)
def test_a_wrong_budget_is_a_parameter_error(tmp_path, tensors, budget, word):
    out = tmp_path / "release.json"
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out, budget=budget), 2, word)
    assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--manifold", "torus:2", "--center", "0,0", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "identity", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "origin", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", "1.6"],
        ["--manifold", "sphere:2", "--center", "0,0,0", "--radius", "1"],
        ["--manifold", "spd:3", "--center", "-1*identity", "--radius", "1"],
        ["--manifold", "spd:3", "--center", "identity", "--radius", "0"],
        ["--manifold", "spd:3", "--center", "identity", "--radius", "nan"],
    ],
)
def test_a_wrong_ball_is_a_parameter_error(tmp_path, tensors, options):
    result = mean(save(tmp_path, "a.npy", tensors), tmp_path / "release.json", options=options)
    assert_fails(result, 2)


def test_missing_options_are_named(tmp_path):
    result = run("mean", tmp_path / "a.npy")
    assert result.exit_code == 2
    assert "--radius" in result.output or "--manifold" in result.output


def test_a_release_that_does_not_exist_says_what_would(tmp_path, tensors):
    out = tmp_path / "release.json"
    result = mean(save(tmp_path, "a.npy", tensors), out, budget=["--epsilon", "1e-4"])
    assert_fails(result, 4, "epsilon", "n of at least")
    assert not out.exists()


def damaged_files(folder):
    (folder / "empty.csv").write_text("")
    (folder / "names.csv").write_text("a,b,c,d,e,f,g,h,i\n")
    (folder / "ragged.csv").write_text("a,b,c,d,e,f,g,h,i\n1,0,0,0,1,0,0,0,1\n1,0\n")
    (folder / "short.csv").write_text("a,b\n1,2\n")
    for ending in ("npy", "npz", "parquet"):
        (folder / f"noise.{ending}").write_bytes(b"PK\x03\x04 not what it seems")
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "text.npy", np.array([["a"] * 9]))
    np.save(folder / "complex.npy", np.ones((2, 9), dtype=complex))
    np.save(folder / "scalar.npy", np.array(1.0))
    np.save(folder / "shape.npy", np.zeros((5, 3, 2)))
    np.savez(folder / "several.npz", a=np.zeros(1), b=np.zeros(1))
    (folder / "notes.txt").write_text("1,2,3")
    (folder / "folder.npy").mkdir()


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("absent.npy", [], ["no such file"]),
        ("folder.npy", [], ["no such file"]),
        ("notes.txt", [], [".parquet"]),
        ("empty.csv", [], ["empty"]),
        ("names.csv", [], ["no record below the line of names"]),
        ("ragged.csv", [], ["record 2 has 2 cells instead of 9"]),
        ("short.csv", [], ["2 numbers per record", "9, or 6 for the upper triangle"]),
        ("short.csv", ["--columns", "b,c"], ["no column 'c'", "there are: a, b"]),
        ("short.csv", ["--no-header", "--columns", "b"], ["only when the first line names them"]),
        ("short.csv", ["--key", "a"], ["npz file only"]),
        ("noise.npy", [], ["not a readable .npy"]),
        ("noise.npz", [], ["not a readable .npz"]),
        ("noise.parquet", [], ["not a readable parquet"]),
        ("objects.npy", [], ["not a readable .npy"]),
        ("text.npy", [], ["not real numbers"]),
        ("complex.npy", [], ["not real numbers"]),
        ("scalar.npy", [], ["single number"]),
        ("shape.npy", [], ["records of shape (3, 2)", "9 numbers"]),
        ("shape.npy", ["--columns", "a"], ["csv and parquet files only"]),
        ("several.npz", [], ["several members", "a, b"]),
        ("several.npz", ["--key", "c"], ["no member 'c'"]),
    ],
)
def test_an_unreadable_file_is_named_with_the_reason(tmp_path, name, arguments, words):
    damaged_files(tmp_path)
    out = tmp_path / "release.json"
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    assert_fails(mean(tmp_path / name, out, *arguments), 5, name, *words)
    assert not out.exists()


def test_an_existing_release_is_never_overwritten(tmp_path, tensors):
    out = tmp_path / "release.json"
    out.write_text("paid for")
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out), 5, "exists")
    assert out.read_text() == "paid for"


def test_a_place_that_cannot_be_written_is_refused(tmp_path, tensors):
    out = tmp_path / "nowhere" / "release.json"
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out), 5, "cannot be written")


# ---- plan


def test_plan_tells_the_error_and_the_number_that_reaches_it():
    options = ["--manifold", "spd:3", "--radius", 1.5, "--epsilon", 1]
    ball = curvedp.Ball(curvedp.SPD(3), np.eye(3), 1.5)
    guarantee = curvedp.PureDP(1.0)
    forward = run("plan", *options, "--n", 500)
    assert forward.exit_code == 0, forward.output
    assert f"{curvedp.expected_error(ball, 500, guarantee):.4g}" in forward.output
    backward = run("plan", *options, "--error", 0.02)
    assert backward.exit_code == 0, backward.output
    needed = int(backward.output.split("records")[1].split()[0])
    assert curvedp.expected_error(ball, needed, guarantee) <= 0.02
    assert curvedp.expected_error(ball, needed - 1, guarantee) > 0.02


def test_plan_does_not_depend_on_the_centre():
    options = ["plan", "--manifold", "sphere:2", "--radius", 1, "--mu", 1, "--n", 100]
    assert run(*options).output == run(*options, "--center", "1,0,0").output


@pytest.mark.parametrize("question", [[], ["--n", 5, "--error", 0.1]])
def test_plan_answers_one_question(question):
    options = ["--manifold", "sphere:2", "--radius", 1, "--epsilon", 1]
    assert_fails(run("plan", *options, *question), 2, "--n", "--error")


@pytest.mark.parametrize("error", ["0", "-1", "nan"])
def test_plan_refuses_an_impossible_error(error):
    options = ["--manifold", "sphere:2", "--radius", 1, "--epsilon", 1]
    assert_fails(run("plan", *options, "--error", error), 2)


def test_plan_says_when_no_such_release_exists():
    options = ["--manifold", "spd:3", "--radius", 1.5, "--epsilon", 0.001, "--n", 10]
    assert_fails(run("plan", *options), 4, "epsilon")


# ---- demo and the installed command


def subprocess_environment():
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def test_demo_runs_as_a_command_without_a_screen(tmp_path):
    pytest.importorskip("matplotlib")
    result = subprocess.run(
        [sys.executable, "-m", "curvedp", "demo"],
        cwd=tmp_path,
        env=subprocess_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "shown for the demo only, not private" in result.stdout
    assert (tmp_path / "curvedp-demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_writes_where_it_is_told(tmp_path):
    pytest.importorskip("matplotlib")
    result = run("demo", "--out", tmp_path / "picture.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    for epsilon in ("0.1", "0.3", "1"):
        assert f" {epsilon} " in result.output


def test_demo_refuses_a_place_it_cannot_write(tmp_path):
    assert_fails(run("demo", "--out", tmp_path / "no" / "p.png"), 5, "cannot be written")


def test_demo_without_matplotlib_names_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "--out", tmp_path / "p.png")
    assert_fails(result, 2, "pip install 'curvedp[demo]'")


def test_command_without_its_extra_names_the_install_command():
    code = "import sys; sys.modules['click'] = None\nfrom curvedp.cli import main\nmain()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 2
    assert result.stderr == (
        "Error: the curvedp command needs click and rich: pip install 'curvedp[cli]'\n"
    )


def test_help_lists_commands_and_exit_codes():
    result = run("--help")
    assert result.exit_code == 0
    for word in ("demo", "mean", "plan", "3 the budget is spent"):
        assert word in " ".join(result.output.split())
