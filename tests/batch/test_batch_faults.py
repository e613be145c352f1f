"""Batches that are refused, cut off or killed: nothing lost, nothing paid or drawn twice."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
import time
from concurrent.futures import CancelledError
from functools import partial

import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import Stop, interrupted, left_over, release, run
from curvedp.batch import build, output, worker
from curvedp.batch import job as jobs
from curvedp.batch.opening import open_job
from curvedp.batch.parquet import Source
from curvedp.batch.run import Threads
from curvedp.batch.storage import locked
from curvedp.errors import BatchError, BudgetError, SecretError


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_an_interrupted_batch_goes_on_where_it_stopped_and_pays_once(
    tmp_path, secret, monkeypatch, ordered
):
    data = cases.table(ordered=ordered)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    common = {"secret": secret, "ledger": ledger, "chunk_rows": 500}
    interrupted(tmp_path, source, monkeypatch, **common)
    [folder] = (tmp_path / "out.parquet.job").glob("parts-*")
    parts = sorted(folder.glob("*.arrow"))
    assert len(parts) == 2
    stored = [part.stat().st_mtime_ns for part in parts]
    with pytest.raises(BatchError, match="interrupted: resume it"):
        run(tmp_path, source, **common)
    seen = []

    def progress(done, groups):
        seen.append((done, groups))
        if folder.exists():
            assert [part.stat().st_mtime_ns for part in parts] == stored

    run(tmp_path, source, **common, resume=True, progress=progress)
    assert seen[0][0] > 0
    assert seen[-1] == (200, 200)
    assert [entry.guarantee for entry in ledger.entries] == [cdp.PureDP(1.0)]
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(release(data, secret=secret).table)
    again = run(tmp_path, source, **common, resume=True)  # finished: nothing to do
    assert again["groups"] == 200
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(
    ("step", "error", "reason"),
    [
        ("before the part", OSError(errno.ENOSPC, "details"), "No space left on device"),
        ("after the part", MemoryError("details"), "MemoryError"),
    ],
)
def test_a_failure_while_a_chunk_is_stored_ends_the_batch_and_is_mended(
    tmp_path, secret, monkeypatch, step, error, reason
):
    data = cases.table()
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    common = {"secret": secret, "ledger": ledger, "chunk_rows": 300}
    store = jobs.Job.store

    def full(job, number, *released):
        if number == 3:
            if step == "after the part":
                store(job, number, *released)
            raise error
        return store(job, number, *released)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "store", full)
        with pytest.raises(BatchError, match=rf"\({reason}\): mend that and resume"):
            run(tmp_path, source, **common)
    folder = tmp_path / "out.parquet.job"
    assert not (folder / "result").exists()
    (folder / ".result").write_text("of a process that was killed")
    seen = []
    run(tmp_path, source, **common, resume=True, progress=lambda *state: seen.append(state))
    assert 0 < seen[0][0] < 200
    assert seen[-1] == (200, 200)
    assert len(ledger.entries) == 1
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(release(data, secret=secret).table)
    assert left_over(tmp_path) == []


def test_partitions_without_a_group_do_not_keep_a_batch_from_its_end(tmp_path, secret, monkeypatch):
    """They are stored like others, and read again by whoever resumes."""
    data = cases.table(4, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    common = {"secret": secret, "chunk_rows": 2, "skip_small": True}
    interrupted(tmp_path, source, monkeypatch, after=len(data) // 4, **common)
    told = run(tmp_path, source, **common, resume=True)
    result = pq.read_table(tmp_path / "out.parquet")
    assert told["groups"] == len(result) == 4
    expected = release(data, skip_small=True, secret=secret).table
    assert cases.by_key(result) == cases.by_key(expected)


@pytest.mark.parametrize("number", [0, 2, 7])
def test_a_chunk_that_cannot_be_read_ends_the_batch_and_is_mended(
    tmp_path, secret, monkeypatch, number
):
    data = cases.table()
    source = cases.write(tmp_path / "in.parquet", data)
    common = {"secret": secret, "chunk_rows": 300}
    read = jobs.Job.read

    def broken(job, own):
        if own == number:
            raise Stop
        return read(job, own)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "read", broken)
        with pytest.raises(Stop):
            run(tmp_path, source, **common)
    run(tmp_path, source, **common, resume=True)
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(release(data, secret=secret).table)


@pytest.fixture
def damaged(tmp_path):
    """A file whose points cannot be decoded from the middle on."""
    source = tmp_path / "in.parquet"
    pages = {"use_dictionary": False, "data_page_size": 512, "write_batch_size": 64}
    pq.write_table(cases.table(), source, **pages)
    footer = pq.read_metadata(source).row_group(0)
    columns = [footer.column(i) for i in range(footer.num_columns)]
    [points] = [own for own in columns if own.path_in_schema.startswith("direction")]
    half, content = points.total_compressed_size // 2, bytearray(source.read_bytes())
    start = points.data_page_offset + half
    content[start : start + half] = b"\xff" * half
    source.write_bytes(content)
    return source


def test_damage_in_the_first_chunk_is_found_before_anything_is_paid(tmp_path, damaged):
    ledger = cdp.Ledger(cdp.PureDP(2.0))
    with pytest.raises(BatchError, match="damaged"):
        run(tmp_path, damaged, ledger=ledger)
    assert not ledger.entries
    assert left_over(tmp_path) == []


def test_a_page_that_is_not_what_was_written_is_found(tmp_path):
    """Without a checksum its bytes would be read as other records."""
    source, plain = tmp_path / "in.parquet", {"compression": "none", "use_dictionary": False}
    pq.write_table(cases.table(20), source, **plain, write_page_checksum=True)
    footer = pq.read_metadata(source).row_group(0)
    columns = [footer.column(i) for i in range(footer.num_columns)]
    [points] = [own for own in columns if own.path_in_schema.startswith("direction")]
    content = bytearray(source.read_bytes())
    content[points.data_page_offset + points.total_compressed_size // 2] ^= 1
    source.write_bytes(content)
    ledger = cdp.Ledger(cdp.PureDP(2.0))
    with pytest.raises(BatchError, match="damaged"):
        run(tmp_path, source, ledger=ledger)
    assert not ledger.entries


def test_what_could_not_be_read_ahead_is_not_left_out(damaged):
    source = Source(str(damaged), ["direction"])
    assert len(source.first()) == 1
    for _ in range(2):
        with pytest.raises(BatchError, match="damaged"):
            source.read_ahead(source.rows)
        with pytest.raises(BatchError, match="damaged"):
            source.read(0, source.rows)


def test_progress_never_falls_and_may_end_the_batch(tmp_path, secret):
    data = cases.table()
    source = cases.write(tmp_path / "in.parquet", data)
    common = {"secret": secret, "chunk_rows": 300}
    seen, rest = [], []

    def progress(done, groups):
        seen.append(done)
        if len(seen) == 5:
            raise Stop

    with pytest.raises(Stop):
        run(tmp_path, source, **common, progress=progress)
    run(tmp_path, source, **common, resume=True, progress=lambda done, groups: rest.append(done))
    assert seen[0] == 0
    assert 0 < rest[0] < rest[-1] == 200
    assert seen == sorted(seen)
    assert rest == sorted(rest)
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(release(data, secret=secret).table)


def test_a_chunk_under_way_ends_at_its_next_report_when_another_fails(
    tmp_path, secret, monkeypatch
):
    source = cases.write(tmp_path / "in.parquet", cases.table())
    release, begun, ended = jobs.Job.release, threading.Event(), []

    def endless(job, chunk, progress):
        if chunk.keys.column("site")[0].as_py() == "site0000":  # the first chunk
            assert begun.wait(60)
            raise Stop
        if begun.is_set():
            return release(job, chunk, progress)
        begun.set()
        try:
            while True:
                progress(1, 1)
                time.sleep(0.01)
        except CancelledError:
            ended.append(chunk)
            raise

    before = cdp.num_threads()
    cdp.set_num_threads(2)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(jobs.Job, "release", endless)
            with pytest.raises(Stop):
                run(tmp_path, source, secret=secret, chunk_rows=700)
    finally:
        cdp.set_num_threads(before)
    assert ended


@pytest.mark.parametrize("step", ["manifest", "result", "removal", "half removal"])
def test_an_interruption_at_the_very_end_is_mended(tmp_path, secret, monkeypatch, step):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    publish, rmtree = output.publish, shutil.rmtree

    def stop_publishing(draft, target):
        publish(draft, target)
        if (step == "manifest") == (draft.name == "manifest.json"):
            raise Stop

    def stop_removing(folder, **how):
        if step == "half removal":
            (folder / "job.json").unlink()
        raise Stop

    with monkeypatch.context() as patch:
        if step in ("manifest", "result"):
            patch.setattr(output, "publish", stop_publishing)
        else:
            patch.setattr(shutil, "rmtree", stop_removing)
        with pytest.raises(Stop):
            run(tmp_path, source, ledger=ledger, secret=secret)
    assert rmtree is shutil.rmtree
    told = run(tmp_path, source, ledger=ledger, secret=secret, resume=True)
    assert told["provenance"]["payment"]["number"] == 1
    assert told == json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert len(ledger.entries) == 1
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(release(cases.table(20), secret=secret).table)
    assert left_over(tmp_path) == []


def test_a_chunk_of_an_earlier_job_in_the_same_place_is_not_taken_for_one_of_this(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    parameters = cases.check_parameters()

    def begin():
        return open_job(
            str(source),
            tmp_path / "out.parquet",
            parameters,
            chunk_rows=50,
            secret=None,
            ledger=None,
            resume=False,
        )

    first = begin()
    first.remove()
    second = begin()
    second.prepare(partial(Threads().each, second), reads_here=True)
    with pytest.raises(BatchError, match="another batch by now"):
        worker.work(str(first.folder), first.identity, "once", "release", 0)
    with pytest.raises(SecretError, match="not the secret"):
        first.store(0, (chunk := second.read(0)).keys, *second.release(chunk))
    assert second.pending() == list(range(second.layout.chunks))
    assert worker.work(str(second.folder), second.identity, "once", "release", 0) > 0
    assert 0 not in second.pending()


def test_a_batch_is_resumed_only_as_it_was_begun(tmp_path, secret, monkeypatch):
    source = cases.write(tmp_path / "in.parquet", cases.table())
    interrupted(tmp_path, source, monkeypatch, secret=secret, chunk_rows=500)
    for changes, word in (
        ({"guarantee": cdp.PureDP(2.0), "secret": secret}, "parameters"),
        ({"secret": None}, "secret"),
        ({"by": "site", "secret": secret}, "parameters"),
    ):
        with pytest.raises(BatchError, match=f"another {word}"):
            run(tmp_path, source, resume=True, **changes)
    cases.write(source, cases.table(seed=1))
    with pytest.raises(BatchError, match="another fingerprint"):
        run(tmp_path, source, resume=True, secret=secret)


def _overwritten_in(monkeypatch, owner, name, path, content):
    """Somebody writes another delivery over a file whenever a method begins."""
    method = getattr(owner, name)

    def disturbed(*arguments, **how):
        with path.open("r+b") as file:
            file.write(content)
        return method(*arguments, **how)

    monkeypatch.setattr(owner, name, disturbed)


@pytest.mark.parametrize("place", ["reading", "counting", "dealing"])
def test_two_inputs_are_never_mixed_in_a_result(tmp_path, secret, monkeypatch, place):
    """A file that is overwritten meanwhile, and put back with its time as the error asks for."""
    mine, other = (cases.table(seed=0, ordered=place != "dealing") for _ in range(2))
    other = other.set_column(2, "direction", mine["direction"].combine_chunks()[::-1])
    source, second = tmp_path / "in.parquet", tmp_path / "other.parquet"
    for path, data in ((source, mine), (second, other)):
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        pq.write_table(data, path, row_group_size=700, **plain)
    content, times = source.read_bytes(), source.stat()
    assert len(content) == second.stat().st_size
    common = {"secret": secret, "chunk_rows": 500}
    if place == "reading":  # else read ahead in one piece
        interrupted(tmp_path, source, monkeypatch, **common)
    owner, name = {
        "reading": (jobs.Job, "read"),
        "counting": (jobs.Division, "run"),
        "dealing": (jobs.Division, "run"),
    }[place]
    with monkeypatch.context() as patch:
        _overwritten_in(patch, owner, name, source, second.read_bytes())
        with pytest.raises(BatchError, match="has changed since the batch began"):
            run(tmp_path, source, **common, resume=True)
    source.write_bytes(content)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    run(tmp_path, source, **common, resume=True)
    found = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert found == cases.by_key(release(mine, secret=secret).table)
    assert found != cases.by_key(release(other, secret=secret).table)


@pytest.mark.parametrize("differing", ["version", "core"])
def test_another_library_does_not_go_on_with_a_batch(tmp_path, secret, monkeypatch, differing):
    source = cases.write(tmp_path / "in.parquet", cases.table())
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    common = {"secret": secret, "chunk_rows": 500, "ledger": ledger}
    interrupted(tmp_path, source, monkeypatch, **common)
    job = jobs.Job.load(tmp_path / "out.parquet.job")
    with monkeypatch.context() as patch:
        if differing == "version":
            patch.setattr(cdp, "__version__", "0.0.9", raising=False)
        else:
            patch.setattr(build, "_core_digest", lambda: "5a" * 32)
        with pytest.raises(BatchError, match=r"began with curvedp .* and here is curvedp"):
            run(tmp_path, source, resume=True, **common)
        with pytest.raises(BatchError, match=r"began with curvedp .* and here is curvedp"):
            worker.work(str(job.folder), job.identity, "once", "release", 0)
    run(tmp_path, source, resume=True, **common)
    assert len(ledger.entries) == 1


def test_a_refused_budget_leaves_nothing_released(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    with pytest.raises(BudgetError):
        run(tmp_path, source, ledger=cdp.Ledger(cdp.PureDP(0.5)))
    assert left_over(tmp_path) == []
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    run(tmp_path, source, ledger=ledger)
    assert ledger.spent == cdp.PureDP(1.0)


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
@pytest.mark.parametrize("kind", ["long", "link"])
def test_a_lock_that_cannot_be_made_is_an_error(tmp_path, kind):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    out, ledger = "a" * 251 if kind == "long" else "out.parquet", cdp.Ledger(cdp.PureDP(1.0))
    (tmp_path / ".out.parquet.lock").symlink_to(source)
    with pytest.raises(BatchError, match=r"lock: cannot be made \((File name|Too many)"):
        run(tmp_path, source, out=out, ledger=ledger)
    assert ledger.spent is None


def test_two_processes_do_not_work_on_one_batch(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    with locked(tmp_path / "out.parquet"), pytest.raises(BatchError, match="another"):
        run(tmp_path, source, resume=True)
    run(tmp_path, source, resume=True)


def test_no_file_is_synchronised_through_a_handle_that_only_reads(tmp_path, monkeypatch):
    """Windows refuses that, and with it every batch of files."""
    fcntl = pytest.importorskip("fcntl")
    real, synchronised = os.fsync, []

    def refusing(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        if not is_folder and fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        synchronised.append(is_folder)
        real(handle)

    monkeypatch.setattr(os, "fsync", refusing)
    source = cases.write(tmp_path / "in.parquet", cases.table(60, ordered=False))
    cdp.NoiseSecret.create(tmp_path / "secret")
    for out in ("out.parquet", "folder"):
        run(tmp_path, source, out=out, secret=tmp_path / "secret")
    assert synchronised.count(False) > 10
    with (tmp_path / "secret").open("rb") as file, pytest.raises(OSError, match="descriptor"):
        os.fsync(file.fileno())  # the control
