"""Noise secrets of batches, and who can read what a batch writes."""

from __future__ import annotations

import contextlib
import os
import stat

import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
from batch_cases import left_over, run
from curvedp.batch import job as jobs
from curvedp.errors import SecretError


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
    names = {name for name, _ in seen}
    assert {"secret", "job.json"} <= names
    assert {".keys", ".points", ".hashes"} <= {os.path.splitext(name)[1] for name in names}
    assert all(mode & 0o077 == 0 for _, mode in seen)
    assert left_over(tmp_path) == []


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
