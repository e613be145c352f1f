"""Commands that came with a new user's stumbles: what they print and refuse."""

import json
import subprocess

import numpy as np
import pytest

import curvedp as cdp
from command_line import SPD_OPTIONS, assert_fails, make_tensors, run, save

BUDGET = ["--mu", 1]


@pytest.fixture
def tensors(tmp_path):
    return save(tmp_path, "a.npy", make_tensors())


def released(command, *arguments, out):
    result = run(command, *arguments, "--out", out, "--seed", 7)
    assert result.exit_code == 0, result.output
    return cdp.Release.from_json(out.read_text())


@pytest.mark.parametrize(
    ("command", "function"),
    [
        ("adaptive-mean", cdp.adaptive_mean),
        ("conformal-mean", cdp.conformal_mean),
        ("median", cdp.geometric_median),
    ],
)
def test_means_are_the_librarys(tmp_path, tensors, command, function):
    found = released(command, tensors, *SPD_OPTIONS, *BUDGET, out=tmp_path / "out.json")
    ball = cdp.Ball(cdp.SPD(3), np.eye(3), 1.5)
    np.testing.assert_array_equal(
        found.value, function(make_tensors(), ball, cdp.GDP(mu=1.0), seed=7).value
    )


def test_quantile_of_a_column(tmp_path):
    ages = np.random.default_rng(0).uniform(20, 80, 300).round(1)
    data = tmp_path / "a.csv"
    np.savetxt(data, ages, header="age", comments="", fmt="%.1f")
    ends = ["--q", 0.5, "--low", 0, "--high", 120]
    options = ["--columns", "age", *ends, *BUDGET]
    found = released("quantile", data, *options, out=tmp_path / "out.json")
    same = cdp.quantile(ages, 0.5, low=0.0, high=120.0, guarantee=cdp.GDP(mu=1.0), seed=7)
    assert float(found.value) == float(same.value)
    assert abs(float(found.value) - np.median(ages)) < 10


def test_two_files_are_tested(tmp_path, tensors):
    other = save(tmp_path, "b.npy", 1.3 * make_tensors())
    options = [*SPD_OPTIONS, *BUDGET]
    found = released("test", tensors, other, *options, out=tmp_path / "out.json")
    ball = cdp.Ball(cdp.SPD(3), np.eye(3), 1.5)
    same = cdp.two_sample_test(make_tensors(), 1.3 * make_tensors(), ball, cdp.GDP(mu=1.0), seed=7)
    assert found == same


def test_means_of_samples_are_tested(tmp_path):
    rng = np.random.default_rng(0)
    points = 0.2 * rng.standard_normal((90, 2))
    arm = np.tile(["a", "b", "c"], 30)
    data = tmp_path / "a.csv"
    lines = [f"{x!r},{y!r},{name}" for (x, y), name in zip(points.tolist(), arm, strict=True)]
    data.write_text("\n".join(["x,y,arm", *lines]) + "\n")
    plane = ("--manifold", "euclidean:2", "--center", "0,0", "--radius", 1)
    options = [*plane, "--columns", "x,y", "--labels", "arm", *BUDGET]
    found = released("means", data, *options, out=tmp_path / "out.json")
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    same = cdp.k_sample_test(points, arm, ball, cdp.GDP(mu=1.0), seed=7)
    assert found == same
    assert found.p_value == same.p_value


def test_regions_are_compared_and_shown(tmp_path, tensors):
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    for path in paths:
        result = run("region", tensors, *SPD_OPTIONS, "--mu", 5, "--out", path, "--seed", 3)
        assert result.exit_code == 0, result.output
    result = run("compare", *paths)
    regions = [cdp.ConfidenceRegion.from_json(path.read_text()) for path in paths]
    assert result.stdout == cdp.compare_means(*regions).report()
    assert "may be equal" in result.stdout
    shown = run("show", paths[0])
    assert shown.stdout.rstrip() == regions[0].report().rstrip()
    released("mean", tensors, *SPD_OPTIONS, *BUDGET, out=tmp_path / "m.json")
    assert "Fréchet mean" in run("show", tmp_path / "m.json").stdout
    assert_fails(run("compare", paths[0], tmp_path / "m.json"), 2, "holds no region")
    assert_fails(run("show", tensors), 5, "a.npy")
    assert_fails(run("show", tmp_path / "none.json"), 5, "cannot be read")


def test_a_ledger_has_the_names_of_its_data_and_unit(tmp_path, tensors):
    book, options = tmp_path / "study.ledger", [tensors, *SPD_OPTIONS, "--epsilon", 0.5]
    names = ["--ledger-data", "visits 2026", "--ledger-unit", "patient"]
    first = ["--ledger", book, "--ledger-budget", "epsilon=2", *names]
    made = run("mean", *options, *first, "--out", tmp_path / "a.json")
    assert made.exit_code == 0, made.output
    for text in (made.stdout, run("show", tmp_path / "a.json").stdout):
        said = " ".join(text.split())
        assert "made from visits 2026 by curvedp" in said
        assert "the record of one patient" in said
    for number, again in enumerate(([], names)):  # they stay, and may be said again
        out = tmp_path / f"b{number}.json"
        assert run("mean", *options, "--ledger", book, *again, "--out", out).exit_code == 0
        assert "visits 2026" in out.read_text()
    shown = run("ledger", book).stdout
    assert "visits 2026" in shown
    assert "patient" in shown
    other = [*options, "--ledger", book, "--ledger-unit", "visit", "--out", tmp_path / "c.json"]
    assert_fails(run("mean", *other), 5, "unit='patient'")
    alone = [*options, "--ledger-data", "visits", "--out", tmp_path / "c.json"]
    assert_fails(run("mean", *alone), 2, "--ledger-data goes with --ledger")
    line = [*options, *first[:4], "--ledger-data", "a\nb", "--out", tmp_path / "c.json"]
    assert_fails(run("mean", *line), 2, "--ledger-data must be a plain text")


def test_a_ledger_is_shown_and_keeps_its_budget(tmp_path, tensors):
    book = tmp_path / "study.ledger"
    options = [tensors, *SPD_OPTIONS, "--epsilon", 0.5, "--ledger", book]
    new = run("mean", *options, "--out", tmp_path / "a.json")
    assert_fails(new, 2, "say its budget with --ledger-budget")
    assert not book.exists()
    first = [*options, "--ledger-budget", "epsilon=1", "--out", tmp_path / "a.json"]
    assert run("mean", *first).exit_code == 0
    assert run("mean", *options, "--out", tmp_path / "b.json").exit_code == 0
    assert_fails(run("mean", *options, "--out", tmp_path / "c.json"), 3, "budget")
    shown = run("ledger", book).stdout
    assert shown == cdp.Ledger.open(book).report()
    assert "remaining:  nothing" in shown
    assert shown.count("PureDP(epsilon=0.5)  Fréchet mean") == 2
    assert_fails(run("ledger", tmp_path / "none"), 5, "no such file")


def test_plans_are_json_too():
    options = ["--manifold", "spd:3", "--radius", 2, "--epsilon", 1, "--n", 500]
    told = json.loads(run("plan", *options, "--json").stdout)
    ball = cdp.Ball("spd:3", "identity", 2.0)
    plan = cdp.plan("frechet_mean", ball, cdp.PureDP(1.0), n=500)
    assert told["high"] == plan.high
    assert cdp.PureDP(1.0).to_dict() == told["guarantee"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(shell, tmp_path):
    script = run("completion", shell).stdout
    assert "_CURVEDP_COMPLETE" in script
    if shell == "bash":
        path = tmp_path / "c.sh"
        path.write_text(script)
        subprocess.run(["bash", "-n", path], check=True, timeout=60)


def test_the_demo_writes_what_the_examples_read(tmp_path):
    assert run("demo", "--data", tmp_path).exit_code == 0
    spd = ["--manifold", "spd:3", "--center", "identity", "--radius", 2]
    mean = released("mean", tmp_path / "tensors.csv", *spd, *BUDGET, out=tmp_path / "m.json")
    assert mean.n == len(cdp.datasets.load_diffusion_tensors().records)
    ball = ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", 0.7, "--columns", "x,y,z"]
    line = ["--covariate", "age", "--x-range", 20, 80, "--mu", 0.5]
    data = tmp_path / "directions.csv"
    assert released("regression", data, *ball, *line, out=tmp_path / "g.json").n == 400
    assert_fails(run("demo", "--data", tmp_path), 5, "exists")


def test_wrong_columns_are_a_wrong_parameter(tmp_path, tensors):
    out = ["--out", tmp_path / "out.json"]
    sphere = ["--manifold", "sphere:3", "--center", "0,0,0,1", "--radius", 0.5]
    assert_fails(run("mean", tensors, *sphere, *BUDGET, *out), 2, "a point of sphere:3 has 4")
    assert run("demo", "--data", tmp_path).exit_code == 0
    data = tmp_path / "directions.csv"
    ball = ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", 0.5]
    names = ["--columns", "x,y,w"]
    assert_fails(run("mean", data, *ball, *names, *BUDGET, *out), 2, "no column 'w'")
    assert not (tmp_path / "out.json").exists()


def test_every_command_has_help_with_an_example():
    from curvedp.cli.app import app

    without = {"batch", "demo", "completion"}
    for name, command in app.commands.items():
        assert name in without or "Example: curvedp" in (command.epilog or ""), name


def test_a_command_counts_the_records_inside_the_ball(tmp_path, tensors):
    out = tmp_path / "out.json"
    found = released("mean", tensors, *SPD_OPTIONS, *BUDGET, "--coverage", out=out)
    assert found.coverage.n == found.n
    assert "points inside the ball" in " ".join(found.report().split())
