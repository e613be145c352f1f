"""Batches from Parquet to Parquet: chunks, order of keys, faults, resumption."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from curvedp.batch import job as jobs
from curvedp.batch import layout as layouts
from curvedp.batch.parameters import BatchParameters
from curvedp.batch.storage import locked
from curvedp.errors import BatchError, BudgetError, ExistenceError, SecretError


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    cdp.NoiseSecret.create(path)
    return path


def run(tmp_path, source, out="out.parquet", **changes):
    return cdp.batch.frechet_means_of_file(source, tmp_path / out, **(cases.arguments() | changes))


def in_memory(data, secret):
    loaded = cdp.NoiseSecret.load(secret)
    return cdp.batch.frechet_means(data, **cases.arguments(), secret=loaded)


def left_over(folder):
    """What a finished batch must not leave behind."""
    return [path.name for path in folder.iterdir() if ".job" in path.name or ".tmp" in path.name]


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_the_result_is_that_in_memory_for_every_chunk_size(tmp_path, secret, ordered):
    data = cases.table(ordered=ordered)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = in_memory(data, secret)
    results = []
    for chunk_rows in (1, 50, 1024, 10**6):
        out = f"out{chunk_rows}.parquet"
        told = run(tmp_path, source, out, secret=secret, chunk_rows=chunk_rows)
        results.append(pq.read_table(tmp_path / out))
        assert cases.by_key(results[-1]) == cases.by_key(expected.table)
        assert told["composition"] == expected.manifest["composition"]
        assert told["records"] == len(data)
        assert told == json.loads((tmp_path / f"{out}.manifest.json").read_text())
    assert all(result.equals(results[0]) for result in results)
    if ordered:
        assert results[0].drop_columns("guarantee").equals(expected.table.drop_columns("guarantee"))
    assert left_over(tmp_path) == []


def test_by_default_the_secret_is_made_for_the_batch_and_deleted(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    told = run(tmp_path, source, "a.parquet")
    run(tmp_path, source, "b.parquet")
    a, b = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert all(x != y for x, y in zip(a["value"].to_pylist(), b["value"].to_pylist(), strict=True))
    assert "deleted" in told["noise"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.parquet",
        "a.parquet.manifest.json",
        "b.parquet",
        "b.parquet.manifest.json",
        "in.parquet",
    ]


def test_records_on_disk_are_readable_by_their_owner_alone_and_deleted(tmp_path, monkeypatch):
    source = cases.write(tmp_path / "in.parquet", cases.table(ordered=False))
    seen = []

    def look(job, number):
        for path in [job.folder, *job.folder.rglob("*")]:
            # A part being written loses its name while another worker looks.
            with contextlib.suppress(FileNotFoundError):
                seen.append((path.name, stat.S_IMODE(path.stat().st_mode)))
        return read(job, number)

    read = jobs.Job.read
    monkeypatch.setattr(jobs.Job, "read", look)
    old = os.umask(0o000)
    try:
        run(tmp_path, source, chunk_rows=500)
    finally:
        os.umask(old)
    assert {"secret", "0000.points", "0000.keys", "job.json"} <= {name for name, _ in seen}
    assert all(mode & 0o077 == 0 for _, mode in seen)
    assert left_over(tmp_path) == []


def test_keys_with_one_hash_are_kept_apart(tmp_path, secret, monkeypatch):
    data = cases.table(60, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = cases.by_key(in_memory(data, secret).table)
    hashes = layouts.hashes_of
    few = np.uint64(3 << 62)
    monkeypatch.setattr(layouts, "hashes_of", lambda keys: hashes(keys) & few)
    run(tmp_path, source, secret=secret, chunk_rows=300)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize(
    "keys",
    [
        pa.array(np.arange(60) // 7 % 2 == 0),
        pa.array(np.arange(60) // 7, pa.uint8()),
        pa.array([None if i < 7 else -i for i in range(60)], pa.int64()),
        pa.array([f"ü,1:{i // 7}" for i in range(60)]).dictionary_encode(),
        pa.array(np.arange(60) // 7 * 10**6, pa.timestamp("us", tz="UTC")),
        pa.array(np.arange(60, dtype=np.int32) // 7, pa.date32()),
        pa.array([bytes([i // 7, 0]) for i in range(60)], pa.binary(2)),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_of_every_type_make_the_same_groups_as_in_memory(tmp_path, secret, keys, shuffled):
    rows = cdp.Sphere(2).random_point(60, rng=0)
    data = pa.table({"site": keys, "direction": list(rows)})
    if shuffled:
        data = data.take(pa.array(np.random.default_rng(0).permutation(60)))
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=11)
    run(tmp_path, source, by="site", secret=secret, chunk_rows=13)
    loaded = cdp.NoiseSecret.load(secret)
    expected = cdp.batch.frechet_means(data, **cases.arguments(by="site"), secret=loaded).table

    def values(table):
        pairs = zip(table["site"].to_pylist(), table["value"].to_pylist(), strict=True)
        return dict(pairs)

    result = pq.read_table(tmp_path / "out.parquet")
    assert values(result) == values(expected)
    assert len(values(expected)) == result.num_rows == len(set(data["site"].to_pylist()))


def test_one_large_group_is_not_cut(tmp_path, secret):
    rows = np.tile(cases.ball().center, (5000, 1))
    group = np.repeat([0, 1, 2], [10, 4000, 990])
    data = pa.table({"site": group, "scanner": group, "direction": list(rows)})
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=100)
    run(tmp_path, source, secret=secret, chunk_rows=64)
    result = pq.read_table(tmp_path / "out.parquet")
    assert result["n"].to_pylist() == [10, 4000, 990]
    assert cases.by_key(result) == cases.by_key(in_memory(data, secret).table)


@pytest.mark.parametrize(
    "count", [100_000, pytest.param(10_000_000, marks=pytest.mark.slow)], ids=str
)
def test_as_many_groups_as_records(tmp_path, count):
    rows = np.tile(cases.ball().center, (count, 1))
    data = pa.table(
        {
            "g": np.arange(count),
            "p": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3),
        }
    )
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=30_000)
    told = run(tmp_path, source, by="g", points="p", guarantee=cdp.GDP(1.0), chunk_rows=1 << 19)
    assert told["groups"] == count
    result = pq.read_table(tmp_path / "out.parquet")
    assert np.array_equal(result["g"].to_numpy(), np.arange(count))
    values = result["value"].combine_chunks().values.to_numpy().reshape(-1, 3)
    assert len(np.unique(values, axis=0)) > 0.999 * count


# ------------------------------------------------------------------------------- bad files


def test_unreadable_files_are_refused_with_nothing_left_behind(tmp_path):
    good = cases.write(tmp_path / "in.parquet", cases.table(20)).read_bytes()
    bad = {
        "missing": None,
        "empty": b"",
        "text": b"site,scanner\n" * 100,
        "cut": good[: len(good) // 2],
        "footer": good[:-200] + b"\x00" * 192 + good[-8:],
    }
    for name, content in bad.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(BatchError, match=r"no such file|not a readable Parquet"):
            run(tmp_path, tmp_path / name)
        assert left_over(tmp_path) == []


def test_a_damaged_page_is_an_error_that_quotes_nothing(tmp_path):
    path = cases.write(tmp_path / "in.parquet", cases.table(200))
    content = bytearray(path.read_bytes())
    for at in range(300, len(content) // 2, 97):
        content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BatchError) as caught:
        run(tmp_path, path)
    assert "damaged" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "place"}, "no column 'place'"),
        ({"points": "x"}, "no column 'x'"),
        ({"points": "age"}, "1 numbers for each record"),
        ({"by": "weight"}, "keys are integers"),
        ({"public_keys": False}, "compose in parallel only if"),
    ],
)
def test_wrong_columns_are_refused_before_anything_is_spent(tmp_path, changes, message):
    data = cases.table(20)
    data = data.append_column("weight", pa.array(np.ones(len(data))))
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(BatchError, match=message):
        run(tmp_path, source, ledger=ledger, **changes)
    assert ledger.spent is None
    assert not (tmp_path / "out.parquet").exists()


def test_points_of_mixed_shapes_are_refused(tmp_path):
    data = pa.table({"site": [1, 1], "scanner": [1, 2], "direction": [[0.0, 0.0, 1.0], [1.0]]})
    with pytest.raises(BatchError, match="different lengths"):
        run(tmp_path, cases.write(tmp_path / "in.parquet", data))


def test_a_file_without_records_is_refused(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20).slice(0, 0))
    with pytest.raises(BatchError, match="no record"):
        run(tmp_path, source)


def test_small_groups_are_refused_before_anything_is_spent(tmp_path):
    for ordered in (True, False):
        ledger = cdp.Ledger(cdp.PureDP(1.0))
        rows = np.tile(np.eye(3).ravel(), (401, 1))
        group = np.repeat([0, 1], [1, 400])
        data = pa.table({"g": group, "p": list(rows)})
        if not ordered:
            data = data.take(pa.array(np.arange(401)[::-1]))
        source = cases.write(tmp_path / "in.parquet", data)
        ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
        with pytest.raises(ExistenceError):
            run(tmp_path, source, by="g", points="p", ball=ball, ledger=ledger)
        assert ledger.spent is None
        out = f"out{ordered}.parquet"
        assert left_over(tmp_path) == []
        told = run(tmp_path, source, out, by="g", points="p", ball=ball, pass_over=True)
        assert told["groups_passed_over"] == 1


def test_existing_results_are_not_overwritten(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    (tmp_path / "out.parquet").write_text("precious")
    with pytest.raises(BatchError, match="not overwritten"):
        run(tmp_path, source)
    with pytest.raises(BatchError, match="not overwritten"):
        run(tmp_path, source, resume=True)
    assert (tmp_path / "out.parquet").read_text() == "precious"
    (tmp_path / "b.parquet.manifest.json").write_text("precious")
    with pytest.raises(BatchError, match=r"manifest\.json exists"):
        run(tmp_path, source, "b.parquet")
    assert left_over(tmp_path) == []


# --------------------------------------------------------------------- interruption


class Stop(Exception):
    """An interruption."""


def interrupted(tmp_path, source, monkeypatch, after=2, **changes):
    """A batch that is cut off after some chunks."""
    release, done = jobs.Job.release, []

    def few(job, number, chunk, progress=None):
        if len(done) == after:
            raise Stop
        done.append(number)
        return release(job, number, chunk, progress)

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "release", few)
        with pytest.raises(Stop):
            run(tmp_path, source, **changes)


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
    parts = sorted(folder.iterdir())
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
    assert result == cases.by_key(in_memory(data, secret).table)
    again = run(tmp_path, source, **common, resume=True)  # finished: nothing to do
    assert again["groups"] == 200
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("step", ["manifest", "result", "removal", "half removal"])
def test_an_interruption_at_the_very_end_is_mended(tmp_path, secret, monkeypatch, step):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    publish, remove = jobs.publish, jobs.Job.remove

    def stop_publishing(draft, target):
        publish(draft, target)
        if (step == "manifest") == (draft.name == "manifest.json"):
            raise Stop

    def stop_removing(job):
        if step == "half removal":
            (job.folder / "secret").unlink(missing_ok=True)
            (job.folder / "job.json").unlink()
        raise Stop

    with monkeypatch.context() as patch:
        if step in ("manifest", "result"):
            patch.setattr(jobs, "publish", stop_publishing)
        else:
            patch.setattr(jobs.Job, "remove", stop_removing)
        with pytest.raises(Stop):
            run(tmp_path, source, ledger=ledger, secret=secret)
    assert remove is jobs.Job.remove
    told = run(tmp_path, source, ledger=ledger, secret=secret, resume=True)
    assert told["ledger"].startswith("PureDP(epsilon=1) was charged")
    assert told == json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert len(ledger.entries) == 1
    result = cases.by_key(pq.read_table(tmp_path / "out.parquet"))
    assert result == cases.by_key(in_memory(cases.table(20), secret).table)
    assert left_over(tmp_path) == []


def test_a_chunk_of_an_earlier_job_in_the_same_place_is_not_taken_for_one_of_this(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    parameters = BatchParameters.check(
        **cases.arguments(by=("site", "scanner"), points=("direction",)),
        records_per_unit=1,
        groups_per_unit=1,
        mechanism=None,
        pass_over=False,
        normalise=False,
    )
    first, second = (
        jobs.open_job(
            source, tmp_path / "out.parquet", parameters, chunk_rows=50, secret=None, resume=False
        )
        for _ in range(2)
        if not (tmp_path / "out.parquet.job" / "job.json").unlink(missing_ok=True)
    )
    second.prepare()
    with pytest.raises(BatchError, match="another batch by now"):
        jobs.release_chunk(str(first.folder), first.identity, 0)
    with pytest.raises(FileNotFoundError):
        first.release(0, second.read(0))
    assert second.pending() == list(range(second.layout.chunks))
    assert jobs.release_chunk(str(second.folder), second.identity, 0) > 0
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


def test_a_refused_budget_leaves_nothing_released(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    with pytest.raises(BudgetError):
        run(tmp_path, source, ledger=cdp.Ledger(cdp.PureDP(0.5)))
    assert left_over(tmp_path) == []
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    run(tmp_path, source, ledger=ledger)
    assert ledger.spent == cdp.PureDP(1.0)


def test_two_processes_do_not_work_on_one_batch(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    with locked(tmp_path / "out.parquet.job"), pytest.raises(BatchError, match="another"):
        run(tmp_path, source, resume=True)
    run(tmp_path, source, resume=True)


WORKER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import batch_cases as cases
import curvedp as cdp
import curvedp.batch
folder = Path(sys.argv[1])
ledger = cdp.Ledger(cdp.PureDP(1.0), path=folder / "ledger")
print("begin", flush=True)
cdp.batch.frechet_means_of_file(
    folder / "in.parquet", folder / "out.parquet", **cases.arguments(),
    secret=folder / "secret", ledger=ledger, chunk_rows=200, resume=True,
)
print("end", flush=True)
"""


def kill_and_resume(folder, source_data, kills, generator):
    """Runs a batch that is killed again and again; returns how often it was in the middle."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    script = WORKER.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", script, str(folder)]
    longest = 0.6
    cut = 0
    for _ in range(kills):
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begin\n"
        time.sleep(generator.uniform(0.0, longest))
        child.send_signal(signal.SIGKILL)
        finished = "end" in child.communicate(timeout=120)[0]
        if finished:
            for name in ("out.parquet", "out.parquet.manifest.json", "ledger"):
                (folder / name).unlink()
            longest = max(0.02, 0.7 * longest)
        else:
            cut += 1
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=folder / "ledger")
    assert [entry.guarantee for entry in ledger.entries] == [cdp.PureDP(1.0)]
    assert left_over(folder) == []
    result = cases.by_key(pq.read_table(folder / "out.parquet"))
    assert result == cases.by_key(in_memory(source_data, folder / "secret").table)
    return cut


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_batch_killed_at_random_points_ends_as_if_it_had_not_been(tmp_path, secret):
    data = cases.table(400, ordered=False)
    cases.write(tmp_path / "in.parquet", data)
    kill_and_resume(tmp_path, data, 2, random.Random(0))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_a_batch_killed_fifty_times_ends_as_if_it_had_not_been(tmp_path, secret, ordered):
    data = cases.table(3000, ordered=ordered)
    cases.write(tmp_path / "in.parquet", data)
    cut = kill_and_resume(tmp_path, data, 50, random.Random(int(ordered)))
    assert cut >= 20, "too few kills hit the work: the table must be larger"


# ------------------------------------------------------------------------------ the secret


def test_secrets_are_private_files_that_are_never_shown_or_copied(tmp_path, secret):
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    loaded = cdp.NoiseSecret.load(secret)
    assert loaded._secret.hex() not in repr(loaded) + str(loaded)
    with pytest.raises(SecretError, match="not copied"):
        __import__("pickle").dumps(loaded)
    with pytest.raises(SecretError, match="never overwritten"):
        cdp.NoiseSecret.create(secret)
    assert cdp.NoiseSecret.load(secret)._secret == loaded._secret
    assert cdp.NoiseSecret.create(tmp_path / "other")._secret != loaded._secret


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "cannot be read"),
        (b"", 0o600, "holds no noise secret"),
        (b"curvedp noise secret, never publish: abcd\n", 0o600, "has 32 bytes"),
        (b"curvedp noise secret, never publish: " + b"zz" * 32, 0o600, "holds no noise secret"),
        (b"\xff" * 80, 0o600, "holds no noise secret"),
        ("good", 0o640, "open to others"),
        ("good", 0o604, "open to others"),
    ],
)
def test_unusable_secrets_are_refused(tmp_path, secret, content, mode, message):
    path = tmp_path / "other"
    if content is not None:
        path.write_bytes(secret.read_bytes() if content == "good" else content)
        path.chmod(mode)
    with pytest.raises(SecretError, match=message):
        cdp.NoiseSecret.load(path)


MEMORY = """
import resource, sys
import numpy as np
import curvedp as cdp
import curvedp.batch
cdp.batch.frechet_means_of_file(
    sys.argv[1], sys.argv[1] + ".out", by="g", points="p",
    ball=cdp.Ball(cdp.SPD(3), center="identity", radius=1.5),
    guarantee=cdp.GDP(1.0), public_keys=True, chunk_rows=50_000,
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts kilobytes of memory")
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_memory_does_not_grow_with_the_file(tmp_path, ordered):
    """Four times the records, 170 MB more of them, in at most 60 MB more memory."""
    peaks = []
    for parts in (16, 64):
        points = np.tile(np.eye(3).ravel(), (50_000, 1))
        points += 1e-3 * np.random.default_rng(0).random(50_000)[:, None] * np.eye(3).ravel()
        column = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 9)
        path = tmp_path / f"in{parts}.parquet"
        schema = pa.schema({"g": pa.int64(), "p": column.type})
        with pq.ParquetWriter(path, schema) as writer:
            for part in range(parts):
                group = np.arange(50_000) // 100 + 500 * (part if ordered else parts - part)
                writer.write_table(pa.table({"g": group, "p": column}, schema))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=500,
        )
        peaks.append(int(done.stdout) / 1e3)
    assert peaks[1] - peaks[0] < 60, peaks
