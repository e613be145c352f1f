"""After a charge every way out says what was paid, where it is kept and how to go on."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

import batch_cases as cases
import curvedp as cdp
from batch_cases import Stop
from command_line import make_tensors, mean, run, save
from curvedp.batch import job as jobs
from curvedp.batch import run as runs
from curvedp.cli import app
from curvedp.cli import output as outputs
from curvedp.errors import BatchError

#: What may end a command anywhere, and its exit code.
ERRORS = {
    "full disk": (lambda: OSError(errno.ENOSPC, "No space left on device", "in.parquet"), 5),
    "memory": (lambda: MemoryError("words"), 5),
    "interrupted": (KeyboardInterrupt, 1),
    "a worker": (lambda: RuntimeError("words of a record"), 1),
    "a number": (lambda: OverflowError("words of a record"), 1),
    "a batch's own": (lambda: BatchError("mended so"), 5),
    "any other": (lambda: Stop("words of a record"), 1),
}
#: Steps of a batch after its charge.
STEPS = {
    "reading": (jobs.Job, "read"),
    "drawing": (jobs.Job, "release"),
    "storing": (jobs.Job, "store"),
    "writing": (jobs.Job, "result_draft"),
    "describing": (jobs.Job, "_describe"),
    "removing": (jobs.Job, "remove"),
}


def raising(error):
    def stopped(*_, **__):
        raise error()

    return stopped


def ledger_options(path):
    return ["--ledger", path, "--ledger-budget", "epsilon=1"]


def batch(folder, source, *options):
    space = [
        "--manifold",
        "sphere:2",
        "--center",
        ",".join(map(repr, cases.ball().center.tolist())),
    ]
    asked = ["batch", source, "--by", "site,scanner", "--points", "direction", "--public-keys"]
    asked += [*space, "--radius", 0.5, "--epsilon", 1, "--out", folder / "out put.parquet"]
    return [*asked, *ledger_options(folder / "study.ledger"), *options]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ERRORS)
def test_a_batch_says_where_it_is_kept_and_with_which_command_it_goes_on(
    tmp_path, monkeypatch, step, kind
):
    error, code = ERRORS[kind]
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], raising(error))
        result = run(*batch(tmp_path, source))
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    [line] = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    folder = tmp_path / "out put.parquet.job"
    assert f"paid, kept in {folder}, go on with " in line
    assert "words" not in line
    command = shlex.split(line[line.index("go on with '") + 12 : line.rindex("'")])
    assert command[0] == "curvedp"
    assert command[-1] == "--resume"
    again = run(*command[1:])
    assert again.exit_code == 0, again.output
    assert len(cdp.Ledger.open(tmp_path / "study.ledger").entries) == 1
    assert not folder.exists()


def test_what_fails_before_the_charge_says_nothing_of_one(tmp_path, monkeypatch):
    """Control."""
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    for kind, (error, code) in ERRORS.items():
        with monkeypatch.context() as patch:
            patch.setattr(jobs.Job, "prepare", raising(error))
            result = run(*batch(tmp_path, source, "--resume"))
        assert "paid, kept" not in result.output, kind
        known = kind not in ("interrupted", "a worker", "a number", "any other")
        assert (result.exit_code == code) or not known
        assert cdp.Ledger.open(tmp_path / "study.ledger").spent is None


def test_the_command_that_goes_on_tells_no_keys_of_a_place():
    told = app._with_command(
        f"paid, kept in x, go on with {runs._RESUME}",
        ["batch", "s3://KEY:SECRET@bucket/in.parquet", "--out=s3://KEY@bucket/o?sig=SECRET"],
    )
    assert "KEY" not in told
    assert "SECRET" not in told
    assert "'curvedp batch s3://bucket/in.parquet --out=s3://bucket/o --resume'" in told


def test_the_library_says_so_in_a_note(tmp_path, monkeypatch):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    ledger = cdp.Ledger(cases.GUARANTEE)
    monkeypatch.setattr(jobs.Job, "finish", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as told:
        cases.run(tmp_path, source, ledger=ledger)
    folder = tmp_path / "out.parquet.job"
    assert told.value.__notes__ == [f"paid, kept in {folder}, go on with {runs._RESUME}"]


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("step", ["release", "result"])
def test_a_release_in_memory_says_that_it_was_paid(tmp_path, monkeypatch, kind, step):
    error, code = ERRORS[kind]
    data, out, book = save(tmp_path, "a.npy", make_tensors()), tmp_path / "o.json", tmp_path / "l"
    with monkeypatch.context() as patch:
        patch.setattr(cdp.Mean, step, raising(error))
        result = mean(data, out, *ledger_options(book))
    assert result.exit_code == code, result.output
    assert f"paid from the ledger {book}; nothing was released" in result.stderr
    assert "words" not in result.output
    assert cdp.Ledger.open(book).spent == cdp.PureDP(1.0)
    assert not out.exists()


@pytest.mark.parametrize("kind", ["full disk", "memory", "a batch's own"])
def test_a_release_that_fails_before_the_charge_says_nothing_of_one(tmp_path, monkeypatch, kind):
    error, code = ERRORS[kind]
    monkeypatch.setattr(sys.modules["curvedp.statistics.release"], "sizes_of", raising(error))
    data, book = save(tmp_path, "a.npy", make_tensors()), tmp_path / "l"
    result = mean(data, tmp_path / "o.json", *ledger_options(book))
    assert result.exit_code == code
    assert "paid" not in result.output
    assert cdp.Ledger.open(book).spent is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
def test_a_release_for_standard_output_stands_in_a_file_until_it_is_shown(tmp_path):
    data = save(tmp_path, "a.npy", make_tensors())
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    space = ["--manifold", "spd:3", "--center", "identity", "--radius", "1.5", "--epsilon", "1"]
    book = list(map(str, ledger_options(tmp_path / "l")))
    command = [sys.executable, "-m", "curvedp", "mean", str(data), *space, "--out", "-", *book]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=120
        )
    assert found.returncode == 5, found.stderr
    [kept] = temporary.iterdir()
    assert f"the release is kept in {kept}" in found.stderr
    assert "Traceback" not in found.stderr
    assert cdp.Release.from_json(kept.read_text()).n == 300
    kept.unlink()
    book = list(map(str, ledger_options(tmp_path / "second")))
    found = subprocess.run(
        [*command[:-4], *book], capture_output=True, text=True, env=environment, timeout=120
    )
    assert found.returncode == 0, found.stderr
    assert cdp.Release.from_json(found.stdout).n == 300
    assert not list(temporary.iterdir())


def test_a_release_that_cannot_be_stored_or_shown_is_rescued(tmp_path, monkeypatch):
    data, out = save(tmp_path, "a.npy", make_tensors()), tmp_path / "release.json"
    full = ERRORS["full disk"][0]
    monkeypatch.setattr(outputs.ReleaseFile, "_store", raising(full))
    monkeypatch.setattr(outputs, "_show", raising(full))
    monkeypatch.setattr(outputs.tempfile, "tempdir", str(tmp_path))
    result = mean(data, out)
    assert result.exit_code == 5
    [kept] = tmp_path.glob("curvedp-release-*.json")
    assert f"the release stands in {kept}" in result.stderr
    assert cdp.Release.from_json(kept.read_text()).n == 300


def test_a_report_that_cannot_be_shown_says_where_the_release_is(tmp_path, monkeypatch):
    data, out = save(tmp_path, "a.npy", make_tensors()), tmp_path / "release.json"
    full = ERRORS["full disk"][0]
    monkeypatch.setattr("curvedp.cli.released.report_of", raising(full))
    result = mean(data, out)
    assert result.exit_code == 5
    assert f"the release is kept in {out}" in result.stderr
    assert np.isfinite(cdp.Release.from_json(out.read_text()).value).all()
