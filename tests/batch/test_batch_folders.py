"""The folder of a job: whose it is, what damage does to it, what survives a full disk."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import Stop, interrupted, left_over, release, run
from curvedp.batch import folder as folders
from curvedp.batch import job as jobs
from curvedp.batch import output, storage, worker
from curvedp.batch.parquet import Source
from curvedp.errors import BatchError, BudgetError, LedgerError, SecretError

posix = pytest.mark.skipif(os.name == "nt", reason="modes and signals of POSIX")


@pytest.fixture
def source(tmp_path):
    return cases.write(tmp_path / "in.parquet", cases.table())


STOPS, ORDERS = ("kill", "full", "size", "moment"), ("ordered", "shuffled")
#: Every pair of these at every eleventh point (every fifth moment); all of them at every point take
#: some minutes.
PAIRS = [
    ("kill", "ordered", "given", "file"),
    ("kill", "shuffled", "own", "folder"),
    ("full", "ordered", "own", "folder"),
    ("full", "shuffled", "given", "file"),
    ("size", "ordered", "given", "folder"),
    ("size", "shuffled", "own", "file"),
    ("moment", "ordered", "own", "file"),
    ("moment", "shuffled", "given", "folder"),
]
ALL = itertools.product(STOPS, ORDERS, ("given", "own"), ("file", "folder"))


@posix
@pytest.mark.parametrize(
    ("how", "order", "secret", "result", "step"),
    [
        *((*pair, 5 if pair[0] == "moment" else 11) for pair in PAIRS),
        *(pytest.param(*a, 1, marks=pytest.mark.slow) for a in ALL),
    ],
)
def test_a_batch_stopped_anywhere_is_resumed_and_paid_once(
    tmp_path, how, order, secret, result, step
):
    tests = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, sys.path)]),
    }
    command = [sys.executable, tests / "job_faults.py", tmp_path, how, order, secret, result]
    command.append(str(step))
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    told = json.loads(found.stdout)
    assert told["points"] > 50 or told["kills"] > 10
    assert told["bad"] == []


@posix
@pytest.mark.true_entropy
def test_a_removal_that_was_killed_leaves_nothing_to_the_next_batch(tmp_path, source):
    """Such a folder gave its groups and its manifest to another batch, paid with GDP(2)."""
    out = tmp_path / "out.parquet"
    child = os.fork()
    if child == 0:
        shutil.rmtree = lambda path, **_: ".job." in path.name and os.kill(os.getpid(), SIGKILL)
        release(source, out=out, guarantee=cdp.GDP(0.5))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -SIGKILL
    out.unlink()
    (tmp_path / "out.parquet.manifest.json").unlink()
    other = cases.write(tmp_path / "other.parquet", cases.table(30, seed=1))
    ledger = cdp.Ledger(cdp.GDP(5.0), path=tmp_path / "ledger")
    found = release(other, out=out, guarantee=cdp.GDP(2.0), ledger=ledger)
    assert found.manifest["guarantee_of_all"] == cdp.GDP(2.0).to_dict()
    assert found.manifest["groups"] == len(found.table) == 30
    assert ledger.spent == cdp.GDP(2.0)
    assert left_over(tmp_path) == []
    assert list(tmp_path.glob(".*")) == [folders.receipt_of(out)]


@posix
@pytest.mark.parametrize(
    "kind", ["empty", "a job's leavings", "a link", "a file", "open", "foreign"]
)
def test_a_folder_that_is_no_job_of_the_user_is_refused(tmp_path, source, monkeypatch, kind):
    folder, ledger = tmp_path / "out.parquet.job", cdp.Ledger(cdp.PureDP(5.0))
    if kind == "empty":
        folder.mkdir(mode=0o700)
    elif kind == "a file":
        folder.write_text("precious")
    else:
        interrupted(tmp_path, source, monkeypatch, chunk_rows=500)
        if kind == "a job's leavings":
            (folder / "job.json").unlink()
        elif kind == "a link":
            folder.rename(tmp_path / "elsewhere")
            folder.symlink_to(tmp_path / "elsewhere")
        elif kind == "open":
            folder.chmod(0o777)
        else:
            monkeypatch.setattr(folders.os, "geteuid", lambda: 12345)
    before = sorted(tmp_path.rglob("*"))
    for resume in (False, True):
        with pytest.raises(BatchError, match="move it away"):
            run(tmp_path, source, ledger=ledger, resume=resume)
    assert sorted(tmp_path.rglob("*")) == before
    assert ledger.spent is None


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["job.json", "chunks/000002.groups", "parts-*/000000.arrow"])
@pytest.mark.parametrize("damage", ["flip first", "flip last", "cut", "lost", "other job's"])
def test_damage_to_a_job_is_an_error_that_says_so(
    tmp_path, source, secret, monkeypatch, name, damage
):
    ledger = cdp.Ledger(cdp.PureDP(5.0), path=tmp_path / "ledger")
    how = {"secret": secret, "ledger": ledger, "chunk_rows": 500}
    interrupted(tmp_path, source, monkeypatch, **how)
    [path] = (tmp_path / "out.parquet.job").glob(name)
    if damage == "flip first":
        flip(path, 3)
    elif damage == "flip last":
        flip(path, -1)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "other job's":
        interrupted(tmp_path, source, monkeypatch, **how, out="second.parquet")
        [own] = (tmp_path / "second.parquet.job").glob(name)
        path.write_bytes(own.read_bytes())
    else:
        path.unlink()
    spent = ledger.spent
    if name == "job.json":
        with pytest.raises(BatchError, match="begin anew, which is a new spend"):
            run(tmp_path, source, **how, resume=True)
        assert ledger.spent == spent
        return
    if damage != "lost" or name.startswith("chunks"):
        with pytest.raises(BatchError, match=f"remove {path.parent} and resume"):
            run(tmp_path, source, **how, resume=True)
        shutil.rmtree(path.parent)
    run(tmp_path, source, **how, resume=True)  # found or drawn again, the same
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected
    assert ledger.spent == spent


def test_another_secret_is_noticed(tmp_path, source, secret, monkeypatch):
    interrupted(tmp_path, source, monkeypatch, secret=secret, chunk_rows=500)
    secret.unlink()
    cdp.NoiseSecret.create(secret)
    with pytest.raises(SecretError, match="is not the secret with which the batch began"):
        run(tmp_path, source, secret=secret, resume=True)
    interrupted(tmp_path, source, monkeypatch, out="own.parquet", chunk_rows=500)
    own = tmp_path / "own.parquet.job" / "secret"
    own.unlink()
    with pytest.raises(SecretError, match="cannot be read"):
        run(tmp_path, source, out="own.parquet", resume=True)
    cdp.NoiseSecret.create(own)
    with pytest.raises(SecretError, match="is not the secret"):
        run(tmp_path, source, out="own.parquet", resume=True)


def test_a_file_rewritten_in_its_size_and_time_is_noticed(tmp_path, secret, monkeypatch):
    """Without statistics and compression the footers of the two are equal."""
    plain = {"write_statistics": False, "compression": "none", "use_dictionary": False}
    source = tmp_path / "in.parquet"
    pq.write_table(cases.table(300), source, **plain)
    interrupted(tmp_path, source, monkeypatch, secret=secret, chunk_rows=200)
    before = source.stat()
    table = cases.table(300)
    pq.write_table(table.set_column(3, "age", pa.array(range(1, len(table) + 1))), source, **plain)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    with pytest.raises(BatchError, match="another fingerprint"):
        run(tmp_path, source, secret=secret, resume=True)


def test_a_job_goes_on_with_its_own_ledger_alone(tmp_path, source, monkeypatch):
    ledger = cdp.Ledger(cdp.PureDP(1.5), path=tmp_path / "ledger")
    interrupted(tmp_path, source, monkeypatch, ledger=ledger, chunk_rows=500)
    for other in (
        None,
        cdp.Ledger(cdp.PureDP(1.5)),
        cdp.Ledger(cdp.PureDP(1.5), path=tmp_path / "b"),
    ):
        with pytest.raises(BatchError, match="another ledger"):
            run(tmp_path, source, ledger=other, resume=True)
    told = run(tmp_path, source, ledger=ledger, resume=True)
    assert told["provenance"]["payment"]["guarantee"] == cdp.PureDP(1.0).to_dict()
    assert len(ledger.entries) == 1


def test_a_spend_that_may_have_happened_keeps_the_job(tmp_path, source, monkeypatch):
    ledger = cdp.Ledger(cdp.PureDP(1.5), path=tmp_path / "ledger")
    spend = cdp.Ledger.spend

    def lost(self, guarantee, label=""):
        spend(self, guarantee, label)
        raise LedgerError("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(cdp.Ledger, "spend", lost)
        with pytest.raises(LedgerError, match="lost"):
            run(tmp_path, source, ledger=ledger)
    run(tmp_path, source, ledger=ledger, resume=True)
    assert len(ledger.entries) == 1
    with pytest.raises(BudgetError):
        run(tmp_path, source, out="b.parquet", ledger=ledger)
    assert left_over(tmp_path) == []


def test_a_manifest_that_is_none_is_an_error(tmp_path, source):
    run(tmp_path, source)
    (tmp_path / "out.parquet.manifest.json").write_text("[1, 2")
    with pytest.raises(BatchError, match="not readable as the manifest"):
        run(tmp_path, source, resume=True)


@posix
def test_names_with_stars_are_swept_alone(tmp_path, source):
    """What a killed process left of `a*.job` says nothing of `ab.job`."""
    kept = tmp_path / ".outb.parquet.job.0123456789abcdef"
    left = tmp_path / ".out*.parquet.job.0123456789abcdef"
    kept.mkdir(mode=0o700)
    left.mkdir(mode=0o700)
    run(tmp_path, source, out="out*.parquet")
    assert kept.is_dir()
    assert not left.exists()


def stopped_at_publish(tmp_path, source, monkeypatch, **how):
    """A batch that is cut off when its result is written."""

    def stop(self, told):
        raise Stop

    with monkeypatch.context() as patch:
        for kind in (output._FileOutput, output._FolderOutput):
            patch.setattr(kind, "publish", stop)
        with pytest.raises(Stop):
            run(tmp_path, source, **how)


@pytest.mark.parametrize("out", ["out.parquet", "out"])
@pytest.mark.parametrize("damage", ["flip", "lost"])
def test_a_damaged_result_is_written_anew(tmp_path, secret, monkeypatch, out, damage):
    monkeypatch.setattr(output, "_GROUPS", 30)
    source = cases.write(tmp_path / "in.parquet", cases.table(100))
    stopped_at_publish(tmp_path, source, monkeypatch, out=out, secret=secret)
    path = tmp_path / f"{out}.job" / "result"
    path = path if path.is_file() else path / "part-000001.parquet"
    flip(path, 200) if damage == "flip" else path.unlink()
    run(tmp_path, source, out=out, secret=secret, resume=True)
    expected = cases.by_key(release(cases.table(100), secret=secret).table)
    assert cases.by_key(pq.read_table(tmp_path / out)) == expected


@pytest.mark.parametrize("ending", [".rows", ".index"])
@pytest.mark.parametrize("damage", ["flip", "cut", "lost"])
def test_damaged_partitions_are_noticed_and_made_anew(
    tmp_path, secret, monkeypatch, ending, damage
):
    data = cases.table(100, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    how = {"secret": secret, "chunk_rows": 300, "ledger": cdp.Ledger(cdp.PureDP(1.0))}
    interrupted(tmp_path, source, monkeypatch, after=0, **how)
    chunks = tmp_path / "out.parquet.job" / "chunks"
    path = max(chunks.glob(f"*{ending}"), key=lambda own: own.stat().st_size)
    if damage == "flip":
        flip(path, path.stat().st_size // 2)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        path.unlink()
    with pytest.raises(BatchError, match="is damaged: remove it and resume"):
        run(tmp_path, source, **how, resume=True)
    shutil.rmtree(chunks)
    run(tmp_path, source, **how, resume=True)
    expected = cases.by_key(release(data, secret=secret).table)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected
    assert len(how["ledger"].entries) == 1


def test_a_source_that_changes_meanwhile_is_noticed(tmp_path, secret, monkeypatch):
    source = tmp_path / "records"
    source.mkdir()
    cases.write(source / "b.parquet", cases.table(60))
    how = {"secret": secret, "chunk_rows": 300}
    interrupted(tmp_path, source, monkeypatch, **how)
    job = jobs.Job.load(tmp_path / "out.parquet.job")
    where = (str(job.folder), job.identity)
    last, times = len(job.layout.stretches) - 2, (source / "b.parquet").stat()
    same = (source / "b.parquet").read_bytes()
    (source / "b.parquet").write_bytes(same)
    os.utime(source / "b.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(BatchError, match="has changed since"):
        job.read(job.pending()[0])  # though size and time are the same
    with pytest.raises(BatchError, match="has changed since"):
        worker.work(*where, "once", "release", last)
    job.note_source(job.folder, Source(str(source), job.source.columns))  # as a new run does
    job = jobs.Job.load(job.folder)
    cases.write(source / "a.parquet", cases.table(5, seed=2))
    for number in job.pending():  # a file beside that which is read
        chunk = job.read(number)
        job.store(number, chunk.keys, *job.release(chunk))
    with pytest.raises(BatchError, match="has changed since"):
        job.finish()


def test_another_ledger_in_memory_does_not_pay_again(tmp_path, source, monkeypatch):
    first, second = (cdp.Ledger(cdp.PureDP(1.5)) for _ in range(2))
    interrupted(tmp_path, source, monkeypatch, ledger=first, chunk_rows=500)
    with pytest.raises(BatchError, match="another ledger"):
        run(tmp_path, source, ledger=second, resume=True)
    run(tmp_path, source, ledger=first, resume=True)
    assert (len(first.entries), second.spent) == (1, None)


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_took_the_place_meanwhile_is_kept(tmp_path, source, secret, monkeypatch, links):
    """Between the manifest and the result: neither file is lost, and what was paid for is kept."""
    out, publish = tmp_path / "out.parquet", output.publish

    def taken(draft, target):
        if target == out:
            out.write_text("precious")
        publish(draft, target)

    def refused(*_, **__):
        raise PermissionError(1, "no hard links here")

    with monkeypatch.context() as patch:
        patch.setattr(output, "publish", taken)
        if not links:
            patch.setattr(storage.os, "link", refused)
        with pytest.raises(BatchError, match="appeared meanwhile"):
            run(tmp_path, source, secret=secret)
    with pytest.raises(BatchError, match="appeared meanwhile"):
        run(tmp_path, source, secret=secret, resume=True)
    assert out.read_text() == "precious"
    out.unlink()
    run(tmp_path, source, secret=secret, resume=True)
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    assert cases.by_key(pq.read_table(out)) == expected


@posix
def test_without_hard_links_results_are_copied(tmp_path, source, secret, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(storage.os, "link", refused)
    told = run(tmp_path, source, secret=secret)
    assert told == json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected
    assert left_over(tmp_path) == []


def test_folders_of_others_are_not_swept(tmp_path, source):
    mine = tmp_path / ".out.parquet.job.mine"
    mine.mkdir(mode=0o700)
    run(tmp_path, source)
    assert mine.is_dir()
