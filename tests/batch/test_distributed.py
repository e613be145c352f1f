"""The batch's jobs on a real Dask cluster of processes: the same bits, also when a worker dies."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import write_points
from curvedp.batch import job as jobs
from curvedp.batch import worker
from curvedp.errors import BatchError

distributed = pytest.importorskip("distributed")
import cloudpickle  # noqa: E402
import dask  # noqa: E402

from curvedp.batch import cluster as clusters  # noqa: E402

# workers cannot import the tests
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    """Two worker processes on this machine."""
    settings = {"distributed.worker.daemon": True, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("word", cases.STATISTICS)
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_a_cluster_releases_what_this_process_would(client, tmp_path, secret, ordered, word):
    source = cases.write(tmp_path / "in.parquet", cases.table(60, ordered=ordered))
    common = cases.asked(word) | {"secret": secret}
    local = cases.release(source, **common, out=tmp_path / "local.parquet")
    ledger = cdp.Ledger(common["guarantee"])
    seen = []
    remote = cases.release(
        source,
        **common,
        out=tmp_path / "remote.parquet",
        on=client,
        chunk_rows=300,
        ledger=ledger,
        progress=lambda *state: seen.append(state),
    )
    assert remote.table.equals(local.table)
    differing = ("statement", "provenance", "result_sha256", "job")
    own = {name: remote.manifest[name] for name in differing}
    assert remote.manifest == local.manifest | own
    assert ledger.spent == common["guarantee"]
    assert seen[-1] == (60, 60)


def set_version(version):
    """On a worker: another version of the library; returns that before."""
    before, cdp.__version__ = cdp.__version__, version
    return before


def test_a_worker_with_another_library_releases_nothing(client, tmp_path, secret):
    source = cases.write(tmp_path / "in.parquet", cases.table(60))
    ledger = cdp.Ledger(cases.GUARANTEE)
    common = {"secret": secret, "ledger": ledger, "chunk_rows": 50}
    own = next(iter(client.scheduler_info()["workers"]))
    before = client.run(set_version, "0.0.9", workers=[own])[own]
    try:
        with pytest.raises(BatchError, match=r"began with curvedp .* here is curvedp 0\.0\.9"):
            cases.release(source, **common, out=tmp_path / "out.parquet", on=client)
        points = write_points(tmp_path / "points.parquet", cdp.Sphere(2).random_point(9000, rng=0))
        book = cdp.Ledger(cases.GUARANTEE)
        how = {"points": "point", "ball": cases.ball(), "guarantee": cases.GUARANTEE}
        how |= {"ledger": book, "on": client, "chunk_rows": 1024}
        with pytest.raises(BatchError, match=r"began with curvedp .* here is curvedp 0\.0\.9"):
            cdp.batch.release(cdp.Mean(), points, **how)
        assert book.spent is None
    finally:
        client.run(set_version, before, workers=[own])
    cases.release(source, **common, out=tmp_path / "out.parquet", on=client, resume=True)
    assert len(ledger.entries) == 1


def hold_first_chunk(folder):
    """On a worker: the first chunk of all is begun, notes the process, and never ends."""
    release = jobs.Job.release

    def held(job, chunk, progress=None):
        try:
            with (folder / "held").open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return release(job, chunk, progress)
        time.sleep(300)
        raise RuntimeError("the process was to be killed")

    jobs.Job.release, jobs.Job.kept = held, release


def let_go():
    """On a worker: undoes `hold_first_chunk`; a worker that was replaced has nothing to undo."""
    jobs.Job.release = jobs.Job.__dict__.get("kept", jobs.Job.release)


def kill_holder(folder, killed):
    """Kills the process that holds a chunk, once it does."""
    noted = folder / "held"
    while not (noted.exists() and noted.read_text()):
        time.sleep(0.01)
    killed.append(int(noted.read_text()))
    os.kill(killed[0], signal.SIGKILL)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_worker_killed_while_it_releases_a_chunk_changes_nothing(client, tmp_path, secret):
    data = cases.table(500)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    workers = set(client.run(os.getpid).values())
    client.run(hold_first_chunk, tmp_path)
    killed = []
    killer = threading.Thread(target=kill_holder, args=(tmp_path, killed))
    killer.start()
    try:
        remote = cases.release(
            source,
            out=tmp_path / "remote.parquet",
            on=client,
            secret=secret,
            chunk_rows=300,
            ledger=ledger,
        )
    finally:
        client.run(let_go)
        killer.join(timeout=60)
    # the chunk was begun by a worker that did not live to end it: the run cannot have ended first
    assert set(killed) < workers
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()
    expected = cases.release(data, secret=secret)
    assert cases.by_key(remote.table) == cases.by_key(expected.table)
    assert [entry.guarantee for entry in ledger.entries] == [cdp.PureDP(1.0)]


def test_neither_secret_nor_records_are_in_the_tasks(client, tmp_path, secret, monkeypatch):
    source = cases.write(tmp_path / "in.parquet", cases.table(50))
    sent = []
    real = client.map

    def record(function, *lists, **options):
        sent.append((function, lists))
        return real(function, *lists, **options)

    monkeypatch.setattr(client, "map", record)
    cases.release(source, out=tmp_path / "out.parquet", on=client, secret=secret)
    assert [lists[3][0] for _, lists in sent] == ["scan", "release"]
    for function, (folders, identities, turns, _, numbers) in sent:
        assert function.__module__ == "curvedp.batch.worker"
        assert set(folders) == {str(tmp_path / "out.parquet.job")}
        assert len(set(identities)) == len(set(turns)) == 1
        assert all(isinstance(number, int) for number in numbers)


def test_the_mean_of_all_records_is_the_local_one(client, tmp_path, same_noise):
    points = cdp.Sphere(2).random_point(20_000, rng=0)
    path = write_points(tmp_path / "in.parquet", points)
    expected = cdp.frechet_mean(points, cases.ball(), cases.GUARANTEE)
    for chunk_rows in (1000, 7000):
        found = cases.release(path, by=None, points="point", on=client, chunk_rows=chunk_rows)
        assert found == expected
    with pytest.raises(TypeError, match="groups every statistic"):
        cases.release(path, statistic=cdp.Variance(), by=None, points="point", on=client)


@pytest.mark.parametrize("by", ["site", None])
def test_a_client_is_required_before_anything_is_spent(tmp_path, by):
    source = cases.write(tmp_path / "in.parquet", cases.table(5))
    out = {} if by is None else {"out": tmp_path / "out.parquet"}
    ledger = cdp.Ledger(cases.GUARANTEE)
    with pytest.raises(TypeError, match=r"must be a dask\.distributed\.Client"):
        cases.release(source, by=by, **out, on="tcp://x", ledger=ledger)
    assert ledger.spent is None


def test_the_engine_is_imported_only_when_asked_for():
    code = (
        "import sys, curvedp, curvedp.batch; "
        "loaded = [name for name in ('dask', 'distributed', 'click') if name in sys.modules]; "
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    code = "import sys, curvedp; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize(
    ("hidden", "module", "extra"),
    [("pyarrow", "batch", "batch"), ("distributed", "batch.cluster", "distributed")],
)
def test_a_missing_extra_is_named(hidden, module, extra):
    code = (
        f"import sys; sys.modules[{hidden!r}] = None\n"
        "import curvedp\n"
        "try:\n"
        f"    import curvedp.{module}\n"
        "except curvedp.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True
    )
    assert f"pip install 'curvedp[{extra}]'" in done.stdout


def slow_chunks():
    """On a worker: every chunk takes a while."""
    release = jobs.Job.release

    def slowly(job, chunk, progress=None):
        time.sleep(0.2)
        return release(job, chunk, progress)

    jobs.Job.release = slowly


def test_a_restarted_cluster_goes_on_with_what_is_left(tmp_path, secret):
    data = cases.table(300)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as own,
    ):
        own.run(slow_chunks)
        restarted = []

        def restart(done, groups):
            if done > 30 and not restarted:
                restarted.append(done)
                own.restart()

        remote = cases.release(
            source,
            out=tmp_path / "remote.parquet",
            on=own,
            secret=secret,
            chunk_rows=300,
            ledger=ledger,
            progress=restart,
        )
    assert restarted
    expected = cases.release(data, secret=secret)
    assert cases.by_key(remote.table) == cases.by_key(expected.table)
    assert len(ledger.entries) == 1


def test_a_worker_without_the_folder_says_so(tmp_path):
    with pytest.raises(BatchError, match="not there on a worker"):
        worker.work(str(tmp_path / "nowhere"), "0", "once", "release", 0)


def test_the_log_of_a_failed_task_shows_no_number_of_the_records():
    """Dask logs the arguments of tasks that fail; control: those that carry no record."""
    base = np.array([0.123456789, -0.25])
    asked = []

    class Workers:
        def scatter(self, points, hash):
            return points

        def map(self, task, *lists, **options):
            asked.append((lists, {name: options[name] for name in options if name != "pure"}))
            found = [task(*own, **asked[-1][1]) for own in zip(*lists, strict=True)]
            return found

        def gather(self, found):
            return found

    class Points:
        source = type("Source", (), {"rows": 2048})

        def sums_of_range(self, start, stop, point):
            return point.copy(), (start, stop)

    found = clusters.sums_on(Workers(), Points(), 1024, base)
    assert [(own.tolist(), rows) for own, rows in found] == [
        (base.tolist(), (0, 1024)),
        (base.tolist(), (1024, 2048)),
    ]
    told = repr(asked)
    assert "1024" in told
    assert not any(digits in told for digits in (".12345", ".25"))


def test_the_dashboard_of_new_processes_is_for_this_machine_alone(monkeypatch, tmp_path):
    asked = []

    class Process(contextlib.nullcontext):
        def __init__(self, *_, **options):
            super().__init__(self)
            asked.append(options)

    engine = types.SimpleNamespace(LocalCluster=Process, Client=Process)
    monkeypatch.setattr(clusters, "_engine", engine)
    with dask.config.set({"temporary-directory": str(tmp_path)}), clusters.cluster_of(2, None):
        assert asked[0]["dashboard_address"].startswith("127.0.0.1:")
        assert Path(asked[0]["local_directory"]).parent == tmp_path


@pytest.mark.skipif(os.name != "posix", reason="owners and modes")
def test_workers_spill_where_nobody_else_has_a_place(tmp_path):
    """Whatever is there before them: control, the folder that Dask itself takes."""

    def taken():
        with dask.config.set({"temporary-directory": str(tmp_path)}):
            folder = Path(clusters._scratch())
        found = folder.lstat()
        assert folder.parent == tmp_path
        assert stat.S_ISDIR(found.st_mode)
        assert (found.st_uid, found.st_mode & 0o777) == (os.getuid(), 0o700)
        return folder

    usual = tmp_path / f"curvedp-{os.getuid()}"
    old = os.umask(0)  # folders that are made without a mode are then everybody's
    try:
        assert [taken(), taken()] == [usual, usual]
        usual.chmod(0o770)
        assert taken() != usual
        usual.rmdir()
        usual.symlink_to(tmp_path)
        assert taken() != usual
        usual.unlink()
        usual.touch()
        assert taken() != usual
        planted = distributed.diskutils.WorkSpace(str(tmp_path / "dask-scratch-space"))
        assert Path(planted.base_dir).stat().st_mode & 0o777 == 0o777
    finally:
        os.umask(old)
