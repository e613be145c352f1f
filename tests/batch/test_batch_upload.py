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


def put(tmp_path, source, out, stage="stage", **changes):
    return release(source, out=out, stage=tmp_path / stage, chunk_rows=700, **changes)


def own(tmp_path, uri):
    """The folder of a URI in the stage."""
    return uploads.place_of(uri, tmp_path / "stage")[0].parent


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
        path.relative_to(own(tmp_path, out)).as_posix(): path.read_bytes()
        for path in own(tmp_path, out).rglob("*")
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


@pytest.mark.parametrize("out", ["memory://bucket/site/out.parquet", "memory://bucket/out"])
@pytest.mark.parametrize("loss", ["a file", "bytes"])
def test_what_was_lost_at_a_uri_is_copied_again(tmp_path, source, store, out, loss):
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    put(tmp_path, source, out, ledger=ledger)
    whole = {name: store.cat(name) for name in store.find("/bucket")}
    [part] = [name for name in whole if name.endswith(".parquet")]
    if loss == "a file":
        store.rm(part)
    else:
        store.pipe(part, whole[part][:1000])
    put(tmp_path, source, out, ledger=ledger, resume=True)
    assert {name: store.cat(name) for name in store.find("/bucket")} == whole
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
        assert str(own(tmp_path, uri) / name) in message
        assert "secret words" not in message
        assert len(ledger.entries) == 1
        manifest = f"{name}.manifest.json" if "." in name else f"{name}/_manifest.json"
        written = store.exists(f"/bucket/{manifest}") and store.cat(f"/bucket/{manifest}")
        assert written != (own(tmp_path, uri) / manifest).read_bytes()
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
    left = [path for path in (tmp_path / "stage").rglob("*") if not path.is_dir()]
    assert [path for path in left if not path.name.endswith(".lock")] == []


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


def test_results_of_one_name_do_not_take_each_others_place(tmp_path, secret, store):
    """A finished result of the same name used to be published under the second URI."""
    found = []
    for number, day in enumerate(("monday", "tuesday")):
        source = cases.write(tmp_path / f"{day}.parquet", cases.table(30 + 10 * number))
        own = cases.unused(secret)
        put(tmp_path, source, f"memory://bucket/{day}/out.parquet", secret=own, resume=True)
        found.append(store.cat(f"/bucket/{day}/out.parquet"))
    assert found[0] != found[1]


@pytest.mark.parametrize("resume", [True, False])
def test_somebody_elses_object_is_kept(tmp_path, source, store, resume):
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    store.pipe("/bucket/out.parquet", b"precious")
    store.pipe("/bucket/folder/part-000000.parquet", b"precious")
    for name in ("out.parquet", "folder"):
        with pytest.raises(BatchError, match="exists"):
            put(tmp_path, source, f"memory://bucket/{name}", ledger=ledger, resume=resume)
    before = source.read_bytes()
    with pytest.raises(BatchError, match="among the records"):
        put(tmp_path, source, source.as_uri(), ledger=ledger, resume=resume)
    assert ledger.spent is None
    assert source.read_bytes() == before


def test_data_that_appear_meanwhile_are_kept(tmp_path, source, store):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "l.ledger")

    def taken(done, groups):
        store.pipe("/bucket/out.parquet", b"precious")

    with pytest.raises(BatchError, match="exists"):
        put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger, progress=taken)
    assert store.cat("/bucket/out.parquet") == b"precious"
    store.rm("/bucket/out.parquet")
    put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger, resume=True)
    assert len(ledger.entries) == 1


def test_another_stage_does_not_pay_for_a_place_that_is_begun(tmp_path, source, store):
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=tmp_path / "l.ledger")
    put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger)
    store.rm("/bucket/out.parquet.manifest.json")  # as if the copy had failed there
    (tmp_path / "other").mkdir()
    with pytest.raises(BatchError, match="exists"):
        put(tmp_path, source, "memory://bucket/out.parquet", "other", ledger=ledger, resume=True)
    assert len(ledger.entries) == 1
    put(tmp_path, source, "memory://bucket/out.parquet", ledger=ledger, resume=True)
    assert store.exists("/bucket/out.parquet.manifest.json")
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("spelling", ["plain, file", "file, plain", "dots", "memory"])
def test_a_result_does_not_stand_among_the_records_however_it_is_spelled(
    tmp_path, source, store, spelling
):
    folder = tmp_path / "records"
    folder.mkdir()
    source.rename(folder / "in.parquet")
    store.put(str(folder / "in.parquet"), "/records/in.parquet")
    inside = folder / "out.parquet"
    records, out = {
        "plain, file": (folder, inside.as_uri()),
        "file, plain": (folder.as_uri(), inside),
        "dots": (folder, tmp_path / "x" / ".." / "records" / "out.parquet"),
        "memory": ("memory://records", "memory://records/../records/out.parquet"),
    }[spelling]
    how = {"stage": tmp_path / "stage"} if "://" in str(out) else {}
    with pytest.raises(BatchError, match="among the records"):
        release(records, out=out, **how)


@pytest.mark.parametrize("error", [OSError, RuntimeError])
@pytest.mark.parametrize("after", [0, 3])
def test_errors_of_a_store_say_neither_keys_nor_values(
    tmp_path, source, store, monkeypatch, caplog, error, after
):
    calls, opened = [], uploads.filesystem_of

    def failing(place):
        inner, path = opened(place)

        class Store(_Failing):
            def get_file_info(self, path):
                calls.append(path)
                if len(calls) > after:
                    raise error("KEY SECRET of a record")
                return inner.get_file_info(path)

        return Store(inner, [], 99), path

    monkeypatch.setattr(uploads, "filesystem_of", failing)
    with pytest.raises(BatchError) as told, caplog.at_level("INFO", "curvedp.batch"):
        put(tmp_path, source, "memory://KEY:SECRET@bucket/out.parquet?key=SECRET")
    assert "SECRET" not in str(told.value) + caplog.text
    assert error.__name__ in str(told.value)
    assert ("the result stands in" in str(told.value)) == (after > 0)
