"""``curvedp batch``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
from command_line import assert_fails, run
from curvedp.batch.parameters import statistic_named
from curvedp.cli.batch import _STATISTICS

OPTIONS = ["--by", "site,scanner", "--points", "tensor", "--manifold", "spd:3", "--radius", "1.5"]
BALL = ["--center", "identity", "--mu", "1"]


@pytest.fixture
def source(tmp_path):
    """Groups of 5 to 60 tensors."""
    generator = np.random.default_rng(0)
    sizes = generator.integers(5, 61, 40)
    group = np.repeat(np.arange(40), sizes)
    noise = generator.normal(scale=0.1, size=(len(group), 3, 3))
    tensors = np.eye(3) + noise + noise.swapaxes(1, 2)
    data = pa.table(
        {
            "site": pa.array([f"s{g // 4}" for g in group]),
            "scanner": group % 4,
            "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(tensors),
        }
    )
    pq.write_table(data, tmp_path / "in.parquet", row_group_size=200)
    return tmp_path / "in.parquet"


def batch(source, out, *arguments, keys=("--public-keys",)):
    return run("batch", source, *OPTIONS, *BALL, *keys, "--out", out, *arguments)


def test_a_batch_writes_releases_and_manifest(source, tmp_path):
    out, ledger = tmp_path / "out.parquet", tmp_path / "ledger"
    result = batch(source, out, "--ledger", ledger, "--ledger-budget", "mu=2")
    assert result.exit_code == 0, result.output
    assert "40 releases written to" in result.stdout
    said = " ".join(result.stdout.split())
    assert "Parallel composition over 40 disjoint groups" in said
    table = pq.read_table(out)
    assert table.num_rows == 40
    values = np.array(table["value"].to_pylist()).reshape(-1, 3, 3)
    assert cdp.SPD(3).belongs(values).all()
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert told["guarantee_of_all"] == cdp.GDP(1.0).to_dict()
    assert told["coverage"]["n"] == told["records"]
    assert "of the records were points inside the ball" in said
    assert all(" ".join(text.split()) in said for text in told["statement"].values())
    again = run("show", out)
    assert again.exit_code == 0, again.output
    assert " ".join(again.stdout.split()) in said
    assert cdp.Ledger(cdp.GDP(2.0), path=ledger).spent == cdp.GDP(1.0)


def test_a_batch_tells_the_names_of_its_ledger(source, tmp_path):
    out, ledger = tmp_path / "out.parquet", tmp_path / "ledger"
    names = ("--ledger-data", "scans", "--ledger-unit", "patient")
    how = ("--ledger", ledger, "--ledger-budget", "mu=2", *names)
    assert batch(source, out, *how, "--dry-run").exit_code == 0
    assert not ledger.exists()
    result = batch(source, out, *how)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "made from scans by curvedp" in said
    assert "the record of one patient" in said


def test_a_batch_counts_each_group(source, tmp_path):
    out = tmp_path / "out.parquet"
    result = batch(source, out, "--coverage-each")
    assert result.exit_code == 0, result.output
    assert "one count for each of" in " ".join(result.stdout.split())
    assert "count_error" in pq.read_table(out).column_names
    result = batch(source, tmp_path / "other.parquet", "--coverage-each", "--no-coverage")
    assert result.exit_code == 2
    assert "not several" in result.stderr


def test_a_dry_run_tells_cost_and_error_and_spends_nothing(source, tmp_path):
    out, ledger = tmp_path / "out.parquet", tmp_path / "ledger"
    how = ("--dry-run", "--ledger", ledger, "--ledger-budget", "mu=2")
    assert "coverage         counted" in batch(source, out, *how).stdout
    result = batch(source, out, *how, "--no-coverage")
    assert "not counted: coverage=False" in result.stdout
    assert result.exit_code == 0, result.output
    assert "40 groups by site, scanner" in result.stdout
    for name, unit in (("time", " s to release all"), ("memory", " MB"), ("result", " MB")):
        [line] = [line for line in result.stdout.splitlines() if line.startswith(f"{name} ")]
        assert unit in line
    assert "GDP(mu=1)" in result.stdout
    assert not ledger.exists()
    assert not out.exists()
    smallest = min(
        pq.read_table(source)
        .group_by(["site", "scanner"])
        .aggregate([([], "count_all")])["count_all"]
        .to_pylist()
    )
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    error = cdp.expected_error(ball, smallest, cdp.GDP(1.0), coverage=False)
    assert f"{error:.4g}" in result.stdout
    assert "Nothing was spent" in result.stdout
    with cdp.Ledger(cdp.GDP(2.0), path=ledger) as book:
        book.spend(cdp.GDP(1.0))
    result = batch(source, out, "--dry-run", "--ledger", ledger, "--ledger-budget", "mu=2")
    assert "remaining GDP(mu=1.732" in result.stdout


def test_a_dry_run_counts_files_and_rows(source, tmp_path):
    out = tmp_path / "out.parquet"
    rows = pq.read_metadata(source).num_rows
    assert f"input            1 file, {rows} rows" in batch(source, out, "--dry-run").stdout
    folder = tmp_path / "records"
    for name in ("a.parquet", "deep/B.Parquet", "deep/_SUCCESS"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(source.read_bytes())
    result = batch(folder, out, "--dry-run")
    assert f"input            2 files, {2 * rows} rows" in result.stdout, result.output


def test_persons_are_known_by_name(source, tmp_path):
    table = pq.read_table(source)
    table = table.append_column("person", pa.array(np.arange(len(table)) // 2))
    pq.write_table(table, source)
    out = tmp_path / "out.parquet"
    how = ["--units", "person", "--groups-per-unit", 2]
    planned = batch(source, out, *how, "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert str(len(table)) not in planned.output, "the number of records is not public"
    assert "input            1 file\n" in planned.stdout
    assert "if in all" not in planned.output, "no person counts in more groups than that"
    result = batch(source, out, *how)
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert told["units_by"] == "person"
    assert f"{told['units']} in 40 groups" in planned.stdout
    assert "each counted in every group that it is in" in planned.stdout
    assert told["guarantee_of_all"] == cdp.GDP(2**0.5).to_dict()
    assert "persons" in planned.stdout


#: Options of each statistic, one of them as the manifest has it, and a column of its own.
OWN = {
    "mean": (["--mechanism", "tangent-gaussian"], ("mechanism", "tangent-gaussian"), "scale"),
    "variance": (["--within", 0.2], ("within", 0.2), "unclipped"),
    "adaptive": (
        ["--schedule", "0.3,0.2,0.5", "--quantile", 0.8],
        ("schedule", [0.3, 0.2, 0.5]),
        "radius",
    ),
    "region": (
        ["--level", 0.9, "--weights", "0.6,0.3,0.1"],
        ("weights", [0.6, 0.3, 0.1]),
        "covariance",
    ),
    "interval": (["--level", 0.9], ("level", 0.9), "lower"),
    "fourth-moment": (["--weights", "0.4,0.6"], ("weights", [0.4, 0.6]), "mean"),
    "covariance": (["--max-dist", 0.7], ("max_dist", 0.7), "mean"),
    "components": (["--n-components", 2], ("n_components", 2), "variances"),
    "hessian": (["--max-dist", 0.7], ("max_dist", 0.7), "mean"),
    "located": (["--clip", 2], ("clip", 2.0), "spread"),
    "median": ([], ("tau", None), "sensitivity"),
    "kng": (["--tau", 0.4], ("tau", 0.4), "sensitivity"),
    "regression": (
        ["--covariate", "age", "--x-range", 0, 900, "--tau", 0.3, "--v-max", 0.5],
        ("x_range", [0.0, 900.0]),
        "value",
    ),
    "trend": (
        ["--covariate", "age", "--x-range", 0, 900, "--level", 0.1],
        ("level", 0.1),
        "rejects",
    ),
    "k-means": (["--n-clusters", 2, "--n-rounds", 1], ("n_rounds", 1), "sizes"),
    "logistic": (
        ["--labels", "arm", "--classes", "placebo, drug", "--n-steps", 5],
        ("classes", ["drug", "placebo"]),
        "value",
    ),
}


@pytest.mark.parametrize("word", OWN)
def test_every_statistic_is_planned_and_released_as_by_the_library(tmp_path, word):
    given, (name, value), column = OWN[word]
    data, ball, secret = cases.table(40), cases.ball(), tmp_path / "secret"
    out, source = tmp_path / "out.parquet", cases.write(tmp_path / "in.parquet", data)
    center = ",".join(map(repr, ball.center.tolist()))
    asked = ["batch", source, "--by", "site,scanner", "--points", "direction", "--public-keys"]
    asked += ["--manifold", "sphere:2", "--mu", 6]
    if word == "located":
        ball = ball.manifold
    else:
        asked += ["--center", center, "--radius", ball.radius]
    asked += ["--statistic", word, "--skip-small", "--secret", secret, "--out", out, *given]
    result = run(*asked, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Nothing was spent" in result.stdout
    assert sorted(tmp_path.iterdir()) == [source]
    result = run(*asked)
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert told["options"].get(name) == value
    assert f"{40 - told['groups_skipped']} releases written" in result.stdout
    statistic = statistic_named(word).from_options(told["options"])
    expected = cases.release(
        data,
        statistic=statistic,
        ball=ball,
        guarantee=cdp.GDP(6.0),
        skip_small=True,
        secret=secret,
        **cases.beside(statistic),
    )
    table = pq.read_table(out)
    assert column in table.column_names
    for own in table.column_names:  # as texts, in which NaN is NaN
        assert str(table[own].to_pylist()) == str(expected.table[own].to_pylist())
    wrong = "--tau" if word in ("trend", "region", "interval") else "--level"
    refused = run(*asked, wrong, 0.5)
    assert_fails(refused, 2, f"{wrong} is not an option of the {statistic.title}")


@pytest.mark.parametrize(
    ("column", "given", "wanted", "wrong"),
    [
        (np.arange(24) % 2, "1,0", [0, 1], "no"),
        (np.arange(24) % 2 == 0, "true,false", [False, True], "0,1"),
        (np.arange(24) % 2 / 2, "0.5,0", [0.0, 0.5], "no"),
        (np.array(["0", "1"] * 12), "0,1", ["0", "1"], None),
    ],
    ids=["integers", "truth values", "numbers", "texts"],
)
def test_classes_are_read_as_the_column_has_them(tmp_path, column, given, wanted, wrong):
    points = pa.FixedSizeListArray.from_arrays(pa.array(np.tile([0.1, 0.0], 24)), 2)
    table = pa.table({"site": ["a"] * 24, "point": points, "label": column})
    pq.write_table(table, tmp_path / "in.parquet")
    asked = ["batch", tmp_path / "in.parquet", "--by", "site", "--points", "point", "--public-keys"]
    asked += ["--manifold", "euclidean:2", "--center", "0,0", "--radius", 1, "--mu", 9]
    asked += ["--statistic", "logistic", "--labels", "label", "--out", tmp_path / "out.parquet"]
    if wrong is not None:
        assert_fails(run(*asked, "--classes", wrong), 2, "the labels are")
    assert_fails(run(*asked), 2, "needs --classes")
    at = asked.index("--labels")
    alone = [*asked[:at], *asked[at + 2 :], "--classes", given]
    assert_fails(run(*alone), 2, "give these, too")
    result = run(*asked, "--classes", given)
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert told["options"]["classes"] == wanted
    assert told["labels"] == "label"


def test_the_command_knows_every_statistic():
    assert OWN.keys() | {"quantile"} == set(_STATISTICS)


def test_a_plan_compares_errors_with_what_is_released(source, tmp_path):
    for word, name in (
        ("mean", "radius"),
        ("variance", "radius squared"),
        ("hessian", "unit matrix"),
    ):
        result = batch(source, tmp_path / "out.parquet", "--statistic", word, "--dry-run")
        assert result.exit_code == 0, result.output
        assert name in result.stdout


def test_weights_are_numbers(source, tmp_path):
    asked = [source, tmp_path / "out.parquet", "--statistic", "variance", "--weights"]
    assert_fails(batch(*asked, "a,b"), 2, "'--weights': takes numbers")
    assert_fails(batch(*asked, "1,2,3"), 2, "two positive numbers")


def test_refusals_have_their_exit_codes_and_leave_nothing(source, tmp_path):
    out = tmp_path / "out.parquet"
    assert_fails(batch(source, out, keys=()), 2, "compose in parallel only if", "--public-keys")
    assert_fails(batch(source, out, "--by", "place"), 5, "no column 'place'")
    assert_fails(batch(tmp_path / "none.parquet", out), 5, "no such file")
    assert_fails(batch(source, out, "--ledger", tmp_path / "a", "--ledger-budget", "mu=0.5"), 3)
    out = tmp_path / "b.parquet"
    assert_fails(batch(source, out, "--epsilon", "1"), 2, "one budget")
    assert_fails(batch(source, out, "--workers", 1, "--scheduler", "tcp://x"), 2, "not both")
    pure = ["--epsilon", "1e-4", "--public-keys", "--out", out]
    result = run("batch", source, *OPTIONS, "--center", "identity", *pure)
    assert_fails(result, 4, "too small for this guarantee")
    out.with_name("c.parquet").write_text("precious")
    assert_fails(batch(source, out.with_name("c.parquet")), 5, "not overwritten")


def test_a_secret_is_made_and_kept_and_gives_the_same_releases(source, tmp_path):
    secret = tmp_path / "secret"
    for name in ("a.parquet", "b.parquet"):
        result = batch(source, tmp_path / name, "--secret", secret, "--chunk-rows", 50)
        assert result.exit_code == 0, result.output
        assert cdp.NoiseSecret.load(secret)._secret.hex() not in result.output
    a, b = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert a.equals(b)


def test_a_cluster_of_processes_gives_the_same_releases(source, tmp_path):
    pytest.importorskip("distributed")
    secret = tmp_path / "secret"
    batch(source, tmp_path / "a.parquet", "--secret", secret)
    command = [sys.executable, "-m", "curvedp", "batch", source, *OPTIONS, *BALL, "--public-keys"]
    command += ["--out", tmp_path / "b.parquet", "--secret", secret, "--workers", "2"]
    command += ["--chunk-rows", "100"]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    a, b = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert a.equals(b)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupted_batch_is_resumed(source, tmp_path):
    out = tmp_path / "out.parquet"
    folder = tmp_path / "out.parquet.job"
    command = [sys.executable, "-m", "curvedp", "batch", source, *OPTIONS, *BALL, "--public-keys"]
    command += ["--out", out, "--chunk-rows", 1]
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL) as child:
        try:
            while child.poll() is None and not list(folder.glob("parts-*")):
                pass
            child.send_signal(signal.SIGINT)
            child.wait(timeout=100)
        finally:
            child.kill()
    if not out.exists():
        assert_fails(batch(source, out), 5, "interrupted: resume it")
    result = batch(source, out, "--chunk-rows", 1, "--resume")
    assert result.exit_code == 0, result.output
    assert pq.read_table(out).num_rows == 40
    assert not folder.exists()


# ----------------------------------------------------------------- who is there is protected


def protected(source, out, *arguments):
    """A batch by site alone, of persons that are added or removed."""
    options = [*OPTIONS[2:], "--by", "site", "--center", "identity", "--neighbours", "add-remove"]
    return run("batch", source, *options, "--n-guess", "100", "--out", out, *arguments)


def test_public_keys_are_given_and_secret_ones_are_not(source, tmp_path):
    keys, ledger = tmp_path / "keys.parquet", tmp_path / "ledger"
    pq.write_table(pa.table({"site": ["s3", "s1", "nobody"]}), keys)
    result = protected(
        source,
        tmp_path / "out.parquet",
        *("--mu", "3", "--keys", keys, "--ledger", ledger),
        *("--ledger-budget", "mu=9"),
    )
    assert result.exit_code == 0, result.output
    assert "3 releases written to" in result.stdout
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column("site").to_pylist() == ["nobody", "s1", "s3"]
    assert abs(table.column("count")[0].as_py()) < 60
    secret = protected(source, tmp_path / "more", "--epsilon", "6", "--delta", "1e-9")
    assert secret.exit_code == 0, secret.output
    assert "So is which groups there are" in " ".join(secret.stdout.split())
    manifest = json.loads((tmp_path / "more" / "_manifest.json").read_text())
    assert manifest["records"] is None


def test_what_would_show_groups_is_refused(source, tmp_path):
    out = tmp_path / "out.parquet"
    for extra, said in (
        (("--dry-run",), "--dry-run is not served"),
        (("--log", "-"), "--log is not served"),
        (("--workers", "2"), "--workers is not served"),
        (("--public-keys",), "public_keys is not served"),
        (("--secret", tmp_path / "secret"), "secret is not served"),
        ((), "give keys"),
    ):
        result = protected(source, out, "--mu", "3", *extra)
        assert result.exit_code != 0
        assert said in " ".join(result.output.split())
    assert_fails(batch(source, out, "--n-guess", "9"), 2, "are for --neighbours add-remove")
    assert not out.exists()
