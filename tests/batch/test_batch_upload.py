"""Results that go to an object store: complete or not there, and paid for once."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import release
from curvedp.batch import output
from curvedp.batch import upload as uploads
from curvedp.errors import BatchError

fsspec = pytest.importorskip("fsspec")


def empty(memory):
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


@pytest.fixture
def store():
    memory = fsspec.filesystem("memory")
    empty(memory)
    return memory


@pytest.fixture
def source(tmp_path):
    return cases.write(tmp_path / "in.parquet", cases.table())


def put(tmp_path, source, out, **changes):
    return release(source, out=out, stage=tmp_path / "stage", chunk_rows=700, **changes)


@pytest.fixture(autouse=True)
def stage(tmp_path):
    (tmp_path / "stage").mkdir()
    return tmp_path / "stage"


@pytest.mark.parametrize("out", ["memory://bucket/site/out.parquet", "memory://bucket/out"])
def test_the_result_at_a_uri_is_the_local_one(tmp_path, source, secret, store, out, monkeypatch):
    monkeypatch.setattr(output, "_GROUPS", 64)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    found = put(tmp_path, source, out, secret=secret, ledger=ledger)
    assert len(ledger.entries) == 1
    local = {
        path.relative_to(tmp_path / "stage").as_posix(): path.read_bytes()
        for path in (tmp_path / "stage").rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    above = "/bucket/site/" if "site" in out else "/bucket/"
    there = {name.removeprefix(above): store.cat(name) for name in store.find("/bucket")}
    assert there == local
    assert len(there) == (2 if out.endswith(".parquet") else 5)
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    assert cases.by_key(found.table) == expected
    again = put(tmp_path, source, out, secret=secret, ledger=ledger, resume=True)
    assert again.manifest == found.manifest
    assert len(ledger.entries) == 1
    with pytest.raises(BatchError, match="exists"):
        put(tmp_path, source, out, secret=secret, ledger=ledger)
    assert len(ledger.entries) == 1


class _Failing:
    """A file system whose n-th operation of writing fails, for good."""

    def __init__(self, inner, log, fails_at):
        self._inner, self._log, self._fails_at = inner, log, fails_at
        self.type_name = inner.type_name

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def _count(self, what):
        self._log.append(what)
        if len(self._log) > self._fails_at:
            raise OSError(28, "secret words of a record")

    def open_output_stream(self, path):
        self._count("open")
        stream, count = self._inner.open_output_stream(path), self._count

        class Stream:
            def write(self, data):
                count("write")
                return stream.write(data)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                stream.close()

        return Stream()


def _refusal(*call, **how):
    try:
        put(*call, **how)
    except BatchError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_copy_that_fails_anywhere_is_taken_up_again(
    tmp_path, source, secret, store, monkeypatch, name
):
    monkeypatch.setattr(output, "_GROUPS", 64)
    uri, opened = f"memory://bucket/{name}", uploads.filesystem_of
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    for fails_at in range(50):
        log, ledger = [], cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / f"{fails_at}.ledger")

        def failing(place, log=log, fails_at=fails_at):
            inner, path = opened(place)
            return _Failing(inner, log, fails_at), path

        with monkeypatch.context() as patch:
            patch.setattr(uploads, "filesystem_of", failing)
            message = _refusal(tmp_path, source, uri, secret=secret, ledger=ledger)
        if not message:
            break
        assert str(tmp_path / "stage" / name) in message
        assert "secret words" not in message
        assert len(ledger.entries) == 1
        manifest = f"{name}.manifest.json" if "." in name else f"{name}/_manifest.json"
        written = store.exists(f"/bucket/{manifest}") and store.cat(f"/bucket/{manifest}")
        assert written != (tmp_path / "stage" / manifest).read_bytes()
        found = put(tmp_path, source, uri, secret=secret, ledger=ledger, resume=True)
        assert len(ledger.entries) == 1
        assert cases.by_key(found.table) == expected
        copy = tmp_path / "copy"
        store.get("/bucket", str(copy), recursive=True)
        assert cases.by_key(pq.read_table(copy / name)) == expected
        for left in (copy, tmp_path / "stage"):
            shutil.rmtree(left)
        (tmp_path / "stage").mkdir()
        empty(store)
    assert fails_at == len(log) >= 4


def test_places_that_are_taken_are_refused_before_the_ledger(tmp_path, source, store):
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    store.pipe("/bucket/out.parquet", b"precious")
    store.pipe("/bucket/two.parquet.manifest.json", b"precious")
    for out in ("memory://bucket/out.parquet", "memory://bucket/two.parquet"):
        with pytest.raises(BatchError, match="exists"):
            put(tmp_path, source, out, ledger=ledger)
    with pytest.raises(BatchError, match="exists"):  # somebody else's, finished
        put(tmp_path, source, "memory://bucket/two.parquet", ledger=ledger, resume=True)
    assert ledger.spent is None
    assert store.cat("/bucket/two.parquet.manifest.json") == b"precious"
    assert not list((tmp_path / "stage").iterdir())


def test_a_place_that_is_taken_meanwhile_is_not_overwritten(tmp_path, source, store):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "l.ledger")

    def taken(done, groups):
        store.pipe("/bucket/out.parquet.manifest.json", b"precious")

    with pytest.raises(BatchError, match="exists"):
        put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger, progress=taken)
    assert store.cat("/bucket/out.parquet.manifest.json") == b"precious"
    assert not store.exists("/bucket/out.parquet")
    store.rm("/bucket/out.parquet.manifest.json")
    put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger, resume=True)
    assert store.exists("/bucket/out.parquet")
    assert len(ledger.entries) == 1


def test_stage_goes_with_a_uri_alone(tmp_path, source, store):
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(TypeError, match="needs stage"):
        release(source, out="memory://bucket/out.parquet", ledger=ledger)
    with pytest.raises(TypeError, match="stage is for results that go to a URI"):
        put(tmp_path, source, tmp_path / "out.parquet", ledger=ledger)
    with pytest.raises(TypeError, match="out, on and resume are for files"):
        release(cases.table(), stage=tmp_path, ledger=ledger)
    with pytest.raises(BatchError, match="cannot be opened"):
        put(tmp_path, source, "nothing://bucket/out.parquet", ledger=ledger)
    store.put(str(source), "/records/in.parquet")
    with pytest.raises(BatchError, match="among the records"):
        put(tmp_path, "memory://records", "memory://records/out.parquet", ledger=ledger)
    assert ledger.spent is None


def test_an_interrupted_job_goes_on_to_its_uri(tmp_path, source, secret, store, monkeypatch):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "l.ledger")

    def stop(done, groups):
        raise cases.Stop

    how = {"secret": secret, "ledger": ledger}
    with pytest.raises(cases.Stop):
        put(tmp_path, source, "memory://bucket/out.parquet", progress=stop, **how)
    assert store.find("/bucket") == []
    found = put(tmp_path, source, "memory://bucket/out.parquet", resume=True, **how)
    expected = cases.by_key(release(cases.table(), secret=secret).table)
    assert cases.by_key(found.table) == expected
    assert len(ledger.entries) == 1
