"""A finished result is resumed for what it was made of alone, and if it is what was written."""

from __future__ import annotations

import json
import os

import pytest

import batch_cases as cases
import curvedp as cdp
from batch_cases import run
from curvedp.batch.folder import receipt_of
from curvedp.batch.output import output_of
from curvedp.errors import BatchError, SecretError


@pytest.fixture
def source(tmp_path):
    return cases.write(tmp_path / "in.parquet", cases.table(20))


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_finished_result_answers_for_what_it_was_made_of_alone(tmp_path, secret, name):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "ledger")
    common = {"secret": secret, "ledger": ledger, "out": name}
    told = run(tmp_path, source, **common)
    other = cases.write(tmp_path / "other.parquet", cases.table(20, seed=1))
    cdp.NoiseSecret.create(tmp_path / "second")
    for changes, word in (
        ({"guarantee": cdp.PureDP(5.0)}, "another parameters"),
        ({"source": other}, "another source and fingerprint"),
        ({"secret": tmp_path / "second"}, "another secret"),
        ({"secret": None}, "another secret"),
        ({"ledger": None}, "another ledger"),
        ({"ledger": cdp.Ledger(cdp.PureDP(1.0))}, "another ledger"),
    ):
        asked = {"source": source, **common, **changes}
        with pytest.raises(BatchError, match=f"finished result of a batch with {word}"):
            run(tmp_path, asked.pop("source"), **asked, resume=True)
    content, times = source.read_bytes(), source.stat()
    cases.write(source, cases.table(20, seed=1))
    with pytest.raises(BatchError, match="with another fingerprint"):
        run(tmp_path, source, **common, resume=True)
    source.unlink()
    with pytest.raises(BatchError, match="no such file"):
        run(tmp_path, source, **common, resume=True)
    source.write_bytes(content)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    key = secret.read_bytes()
    secret.write_bytes((tmp_path / "second").read_bytes())
    with pytest.raises(SecretError, match="not the secret"):
        run(tmp_path, source, **common, resume=True)
    secret.write_bytes(key)
    assert run(tmp_path, source, **common, resume=True) == told
    assert len(ledger.entries) == 1


def test_a_result_without_a_ledger_is_not_taken_for_one_that_it_paid(tmp_path, source):
    run(tmp_path, source)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(BatchError, match="another ledger, or none"):
        run(tmp_path, source, ledger=ledger, resume=True)
    run(tmp_path, source, resume=True)


@pytest.mark.parametrize("name", ["out.parquet", "out"])
@pytest.mark.parametrize("loss", ["a part", "bytes", "the manifest's job", "the receipt"])
def test_a_finished_result_that_is_damaged_is_not_taken_for_whole(tmp_path, source, name, loss):
    run(tmp_path, source, out=name)
    out = tmp_path / name
    part = out if out.is_file() else out / "part-000000.parquet"
    manifest = output_of(out, out, "").manifest
    word = "no longer what the batch wrote"
    if loss == "a part":
        if out.is_file():
            part, word = manifest, "exists: releases"  # and nothing is begun in its place
        part.unlink()
    elif loss == "bytes":
        part.write_bytes(part.read_bytes()[:1000])
    elif loss == "the receipt":
        receipt_of(out).unlink()
        word = "receipt is missing"
    else:
        told = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(told | {"job": "5a" * 16}))
    with pytest.raises(BatchError, match=word):
        run(tmp_path, source, out=name, resume=True)


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_the_receipt_of_a_result_is_the_users_own(tmp_path, source):
    run(tmp_path, source)
    receipt = receipt_of(tmp_path / "out.parquet")
    assert receipt.stat().st_mode & 0o777 == 0o600
    held = receipt.read_text()
    assert '"sizes"' not in held  # what divides records among chunks may be protected
    assert '"bounds"' not in held
    receipt.chmod(0o644)
    with pytest.raises(BatchError, match="open to others"):
        run(tmp_path, source, resume=True)
