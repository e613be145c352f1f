"""The command line does what it says, from every format and under every budget."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import curvedp
from command_line import SPD_OPTIONS, assert_fails, make_tensors, mean, run, save


@pytest.fixture
def tensors():
    return make_tensors()


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


def test_the_mechanism_can_be_chosen(tmp_path, tensors):
    out = tmp_path / "release.json"
    options = ["--manifold", "spd:3", "--center", "identity", "--radius", "1.5"]
    chosen = ["--mechanism", "tangent-gaussian"]
    data = save(tmp_path, "a.npy", tensors)
    assert mean(data, out, *chosen, options=options, budget=["--mu", 1]).exit_code == 0
    release = curvedp.Release.from_json(out.read_text())
    assert release.mechanism == curvedp.TangentGaussian.name
    planned = run("plan", *options, "--mu", 1, "--n", 300, *chosen)
    low, high = (float(word) for word in re.findall(r"[\d.]+(?= to | +\()", planned.output))
    assert 0.999 * low <= release.expected_error <= 1.001 * high


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


@pytest.mark.parametrize(
    ("manifold", "center", "good", "spoilt"),
    [
        ("sphere:2", "0,0,1", "0,0,1", ["0,0,0", "nan,0,1", ",,", "inf,0,0", "0,91", "3"]),
        ("kendall:3", "0,0,1,0,0,1", "0,0,1,0,0,1", ["5,5,5,5,5,5", "0,0,0,0,0,0", ",,,,,"]),
        ("spd:2", "identity", "1,0,1", ["0,0,0", "-1,0,-1", "1,2,1", "nan,nan,nan"]),
        ("hyperboloid:1", "origin", "1,0", ["0,0", "-1,0", "5,1"]),
    ],
)
def test_no_record_changes_anything_but_the_release(tmp_path, manifold, center, good, spoilt):
    options = ["--manifold", manifold, "--center", center, "--radius", "0.5"]
    outputs = set()
    for k, last in enumerate([good, *spoilt]):
        data, out = tmp_path / "data.csv", tmp_path / f"{k}.json"
        data.write_text(f"{good}\n" * 200 + f"{last}\n")
        how = ("--no-header", "--no-coverage", "--seed", 5)
        result = mean(data, out, *how, options=options)
        assert result.exit_code == 0, result.output
        outputs.add(result.output.replace(out.name, "out") + out.read_text())
    assert len(outputs) == 1, "a record that is no point counts as the centre"


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


MALFORMED = {
    "none": "1,0,0,1,0,1",
    "a comma in a number": "1,0,0,1,0,0,5",
    "too few": "1,0",
    "empty": ",,,,,",
    "text": "a,b,c,d,e,f",
}


@pytest.mark.parametrize("header", [True, False])
def test_lines_of_another_length_count_as_the_centre_and_are_not_mentioned(
    tmp_path, tensors, header
):
    lines = save(tmp_path, "upper.csv", tensors).read_text().splitlines()[not header :]
    options = ["--seed", 3, *([] if header else ["--no-header"])]
    found = set()
    for name, last in MALFORMED.items():
        path, out = tmp_path / "a.csv", tmp_path / "a.json"
        path.write_text("\n".join([*lines, last, *lines[1:3]]) + "\n")
        result = mean(path, out, *options)
        assert result.exit_code == 0, (name, result.output)
        found.add((curvedp.Release.from_json(out.read_text()).value.tobytes(), result.output))
        out.unlink()
    assert len(found) == 1


@pytest.mark.parametrize("second", ['"1,2,3"', "9" * 200_000, "a,b", "1,0,0,1,0,1", '"1', "a;b"])
def test_of_unnamed_lines_all_but_the_first_are_records_whatever_they_hold(
    tmp_path, tensors, second
):
    lines = save(tmp_path, "upper.csv", tensors).read_text().splitlines()[1:]
    path, out = tmp_path / "a.csv", tmp_path / "a.json"
    path.write_text("\n".join([lines[0], second, *lines[1:50], "", "", *lines[50:]]) + "\n")
    result = mean(path, out, "--seed", 3, "--no-header")
    assert result.exit_code == 0, result.output
    assert curvedp.Release.from_json(out.read_text()).n == 301


@pytest.mark.parametrize("last", [[], None, [1.0], [1.0] * 5, [float("nan")] * 6, [1.0] * 10])
@pytest.mark.parametrize("large", [True, False])
def test_lists_of_another_length_count_as_the_centre(tmp_path, tensors, last, large):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    kind = (pa.large_list if large else pa.list_)(pa.float64())
    values = []
    for own in (last, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]):
        lists = [*tensors[:, *np.triu_indices(3)].tolist(), own, tensors[0].ravel().tolist()]
        pq.write_table(pa.table({"t": pa.array(lists, kind)}), tmp_path / "a.parquet")
        out = tmp_path / f"{len(values)}.json"
        assert mean(tmp_path / "a.parquet", out, "--seed", 3).exit_code == 0
        values.append(curvedp.Release.from_json(out.read_text()).value)
    np.testing.assert_array_equal(*values)


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


PLANNED = {
    "adaptive-mean": ("adaptive_mean", {"spread": 0.2}),
    "conformal-mean": ("conformal_mean", {}),
    "variance": ("frechet_variance", {}),
    "region": ("confidence_region", {"level": 0.9}),
    "regression": ("geodesic_regression", {"tau": 0.2, "v_max": 0.8}),
}


@pytest.mark.parametrize("statistic", PLANNED)
def test_plan_reports_what_python_plans(statistic):
    name, fixed = PLANNED[statistic]
    options = ["--manifold", "sphere:2", "--radius", 0.7, "--mu", 1, "--n", 900]
    for option, value in fixed.items():
        options += ["--" + option.replace("_", "-"), value]
    result = run("plan", "--statistic", statistic, *options)
    assert result.exit_code == 0, result.output
    ball = curvedp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    assert result.output == curvedp.plan(name, ball, curvedp.GDP(1.0), n=900, **fixed).report()


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
    commands = ("demo", "plan", "mean", "variance", "region", "regression", "batch")
    for word in (*commands, "3 the budget is spent"):
        assert word in " ".join(result.output.split())
