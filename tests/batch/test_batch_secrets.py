"""Noise secrets of batches, and who can read what a batch writes."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
from batch_cases import left_over, release, run
from curvedp.batch import job as jobs
from curvedp.batch.folder import receipt_of
from curvedp.errors import SecretError


def test_by_default_the_secret_is_made_for_the_batch_and_deleted(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    told = run(tmp_path, source, "a.parquet")
    run(tmp_path, source, "b.parquet")
    a, b = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert all(x != y for x, y in zip(a["value"].to_pylist(), b["value"].to_pylist(), strict=True))
    assert "deleted" in told["noise"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".a.parquet.receipt",
        ".b.parquet.receipt",
        "a.parquet",
        "a.parquet.manifest.json",
        "b.parquet",
        "b.parquet.manifest.json",
        "in.parquet",
    ]


@pytest.mark.parametrize("out", ["out.parquet", "out"])
def test_records_on_disk_are_readable_by_their_owner_alone_and_deleted(tmp_path, monkeypatch, out):
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
        run(tmp_path, source, out, chunk_rows=500)
    finally:
        os.umask(old)
    names = {name for name, _ in seen}
    assert {"secret", "job.json"} <= names
    assert {".rows", ".index"} <= {os.path.splitext(name)[1] for name in names}
    closed = [mode & 0o077 == 0 for name, mode in seen if name != ".result"]
    assert all(closed)  # the folder too: nobody else reaches the releases in it
    assert left_over(tmp_path) == []
    receipt = receipt_of(tmp_path / out)
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
    published = {path for path in tmp_path.rglob("*") if path not in (source, receipt)}
    assert len(published) == 2 + (out == "out")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in published if path.is_file()}
    assert modes == {0o666}  # as of any new file
    assert out != "out" or stat.S_IMODE((tmp_path / out).stat().st_mode) == 0o777


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


# ------------------------------------------------------------------ one secret, one data set


def changed(data):
    """The same records but for one."""
    points = np.array(data["direction"].to_pylist())
    points[5] = [1.0, 0.0, 0.0]
    column = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 3)
    return data.set_column(data.column_names.index("direction"), "direction", column)


def differing(one, other):
    """How many groups have another value."""
    values = [np.array(own["value"].to_pylist()) for own in (one, other)]
    return int((values[0] != values[1]).any(axis=1).sum())


REUSED = "has served other data"


def test_a_secret_of_a_file_is_refused_for_changed_records(tmp_path, secret):
    data, ledger = cases.table(20), cdp.Ledger(cdp.GDP(10.0))
    first = cases.write(tmp_path / "a.parquet", data)
    second = cases.write(tmp_path / "b.parquet", changed(data))
    run(tmp_path, first, "a.out.parquet", secret=secret, ledger=ledger)
    entries = ledger.entries
    for name in ("b.out.parquet", "c.out.parquet"):
        with pytest.raises(SecretError, match=REUSED):
            run(tmp_path, second, name, secret=secret, ledger=ledger, resume=name[0] == "c")
        assert not (tmp_path / name).exists()
    assert ledger.entries == entries
    assert left_over(tmp_path) == []
    again = run(tmp_path, first, "again.parquet", secret=secret, ledger=ledger)
    assert again["groups"] == 20
    assert pq.read_table(tmp_path / "again.parquet").equals(
        pq.read_table(tmp_path / "a.out.parquet")
    )


def test_control_without_its_memory_a_secret_would_publish_which_groups_changed(tmp_path, secret):
    data = cases.table(20)
    found = []
    for number, own in enumerate((data, changed(data))):
        source = cases.write(tmp_path / f"{number}.parquet", own)
        run(tmp_path, source, f"{number}.out.parquet", secret=cases.unused(secret))
        found.append(pq.read_table(tmp_path / f"{number}.out.parquet"))
    assert differing(*found) == 1
    with_others = release(changed(data), secret=None).table
    assert differing(found[0], with_others) == 20


@pytest.mark.parametrize("form", ["file", "bytes"])
def test_a_secret_is_refused_for_changed_tables_and_arrays(tmp_path, secret, form):
    data = cases.table(20)
    own = cdp.NoiseSecret.load(secret) if form == "file" else cdp.NoiseSecret(b"5" * 32)
    how = cases.arguments(secret=own)
    ledger = cdp.Ledger(cdp.PureDP(3.0))
    found = cdp.batch.release(cdp.Mean(), data, ledger=ledger, **how).table
    assert cdp.batch.release(cdp.Mean(), data, **how).table.equals(found)
    cdp.batch.release(cdp.Variance(), data, **how)  # other parameters have noise of their own
    with pytest.raises(SecretError, match=REUSED):
        cdp.batch.release(cdp.Mean(), changed(data), ledger=ledger, **how)
    rows = np.array(data["direction"].to_pylist())
    arrays = {"groups": [0, 40, len(rows)], "ledger": ledger}
    if form == "file":
        own = cdp.NoiseSecret.load(cases.unused(secret))
    else:
        own = cdp.NoiseSecret(b"5" * 32)  # the same bytes anew are another object
    cdp.frechet_mean(rows, cases.ball(), cdp.PureDP(1.0), secret=own, **arrays)
    moved = rows.copy()
    moved[-1] += 1e-15
    with pytest.raises(SecretError, match=REUSED):
        cdp.frechet_mean(moved, cases.ball(), cdp.PureDP(1.0), secret=own, **arrays)
    assert ledger.spent == cdp.PureDP(2.0)


@pytest.mark.parametrize("what", ["covariate", "unit"])
def test_covariates_and_persons_are_data(what):
    rows = np.tile([0.6, 0.8, 1.0], (60, 1))
    x, person = np.linspace(0.0, 1.0, 60), np.arange(60) // 2
    secret = cdp.NoiseSecret(b"5" * 32)

    def run_with(x, person):
        if what == "unit":
            cdp.frechet_mean(rows, cases.ball(), cdp.GDP(1.0), units=person, secret=secret)
        else:
            how = {"x_range": (0.0, 1.0), "tau": 0.2, "v_max": 0.5, "sampler": "whitened"}
            how |= {"groups": [0, 60], "secret": secret}
            cdp.geodesic_regression(x, rows, cases.ball(), cdp.GDP(1.0), **how)

    run_with(x, person)
    run_with(x, person)
    with pytest.raises(SecretError, match=REUSED):
        run_with(np.append(x[:-1], 0.9), np.append(person[:-1], 99))


def test_the_memory_of_a_secret_says_nothing_without_it(tmp_path, secret):
    data, marks = cases.table(10), []
    for own in (secret, tmp_path / "other"):
        if not own.exists():
            cdp.NoiseSecret.create(own)
        cdp.batch.release(cdp.Mean(), data, **cases.arguments(secret=own))
        _, mark = own.read_bytes().splitlines()
        assert re.fullmatch(rb"serves [0-9a-f]{64}", mark)
        assert stat.S_IMODE(own.stat().st_mode) == 0o600
        marks.append(mark)
    assert marks[0] != marks[1]


@pytest.mark.parametrize(
    ("rest", "is_used"),
    [
        (b"", True),
        (b"\n", True),
        (b"\nserv", True),
        (b"\nserves 12ab", True),
        (b"\nserves 12ab\n", False),
        (b"\nother", False),
        (b"\nserves " + b"0" * 64 + b"\n\n", False),
    ],
)
def test_a_line_that_was_cut_off_is_written_again_and_damage_is_refused(
    tmp_path, secret, rest, is_used
):
    """Nothing was drawn before the line was whole."""
    head = secret.read_bytes().splitlines()[0]
    secret.write_bytes(head + rest)
    how = cases.arguments(secret=secret)
    if is_used:
        cdp.batch.release(cdp.Mean(), cases.table(10), **how)
        assert secret.read_bytes().startswith(head + b"\nserves ")
        assert len(secret.read_bytes().splitlines()) == 2
    else:
        with pytest.raises(SecretError, match="damaged"):
            cdp.batch.release(cdp.Mean(), cases.table(10), **how)


def test_a_secret_that_was_exchanged_or_removed_is_refused(tmp_path, secret):
    rows = np.tile([0.6, 0.8, 1.0], (60, 1))
    own = cdp.NoiseSecret.load(secret)
    secret.unlink()
    with pytest.raises(SecretError, match="cannot be read"):
        cdp.frechet_mean(rows, cases.ball(), cdp.GDP(1.0), secret=own)
    cdp.NoiseSecret.create(secret)
    with pytest.raises(SecretError, match="another secret"):
        cdp.frechet_mean(rows, cases.ball(), cdp.GDP(1.0), secret=own)


@pytest.mark.parametrize("form", ["file", "bytes"])
def test_of_data_that_come_at_once_one_is_served(secret, form):
    workers = 8
    for _ in range(5):
        place = cases.unused(secret)
        shared, start = cdp.NoiseSecret(b"5" * 32), threading.Barrier(workers)

        def bind(number, place=place, shared=shared, start=start):
            own = cdp.NoiseSecret.load(place) if form == "file" else shared
            start.wait()
            try:
                own._bind(str(number))
            except SecretError:
                return 0
            return 1

        with ThreadPoolExecutor(workers) as pool:
            assert sum(pool.map(bind, range(workers))) == 1
