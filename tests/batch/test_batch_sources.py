"""Places of records: folders, patterns, lists, data sets, file systems, frames."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import release
from curvedp.batch import ordered
from curvedp.batch.files import find_files
from curvedp.batch.parquet import Source
from curvedp.errors import BatchError

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def data():
    return cases.table(120)


@pytest.fixture
def expected(data, secret):
    return cases.by_key(release(data, secret=secret).table)


@pytest.fixture
def folder(tmp_path, data):
    """The records in a folder for each site, some of them in several files."""
    root = tmp_path / "records"
    for number, start in enumerate(range(0, len(data), 700)):
        part = data.slice(start, 700)
        for site in set(part["site"].to_pylist()):
            same = pc.is_null(part["site"]) if site is None else pc.equal(part["site"], site)
            own = part.filter(same).drop_columns("site")
            place = root / f"site={'__HIVE_DEFAULT_PARTITION__' if site is None else site}"
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(own, place / f"part-{number:03d}.parquet", row_group_size=90)
    (root / "_SUCCESS").touch()
    (root / ".hidden.parquet").write_text("no Parquet")
    return root


def run(source, tmp_path, **changes):
    out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}.parquet"
    return cases.by_key(release(source, out=out, chunk_rows=300, **changes).table)


@pytest.mark.parametrize(
    "kind", ["folder", "text", "pattern", "all parts", "list", "data set", "memory", "file URI"]
)
def test_any_place_gives_the_releases_of_the_table(kind, folder, tmp_path, secret, expected):
    source = {
        "folder": folder,
        "text": str(folder),
        "pattern": f"{folder}/site=*/part-*.parquet",
        "all parts": f"{folder}/**/*.parquet",
        "list": sorted(folder.rglob("part-*.parquet")),
        "data set": None,
        "memory": "memory://records",
        "file URI": folder.as_uri(),
    }[kind]
    if kind == "data set":
        source = ds.dataset(folder, format="parquet", partitioning="hive")
    if kind == "memory":
        memory = fsspec.filesystem("memory")
        memory.store.clear()
        memory.put(str(folder), "/records", recursive=True)
    assert run(source, tmp_path, secret=secret) == expected


@pytest.mark.parametrize("how", [{"statistic": cdp.Variance()}, {"units": "age"}])
def test_statistics_and_persons_of_folders(folder, data, tmp_path, secret, monkeypatch, how):
    monkeypatch.setattr(ordered, "_SCAN_ROWS", 101)
    found = run(folder, tmp_path, secret=secret, **how)
    assert found == cases.by_key(release(data, secret=secret, **how).table)


def test_one_mean_of_a_folder_is_that_of_its_records(folder, data, monkeypatch):
    how = {"points": "direction", "ball": cases.ball(), "guarantee": cdp.GDP(1e4)}
    found = cdp.batch.release(cdp.Mean(), folder, **how, chunk_rows=2048)
    rows = np.array(data["direction"].to_pylist())
    exact = cdp.nonprivate.frechet_mean(cases.ball().project(rows), cdp.Sphere(2)).value
    np.testing.assert_allclose(found.value, exact, atol=1e-4)
    assert found.n == len(data)


def test_rows_of_many_files_are_read_from_anywhere(folder):
    source = Source(str(folder), ["site", "direction", "age"])
    whole = source.read(0, source.rows)
    assert whole.num_rows == source.rows
    for start, stop in [(0, 1), (689, 701), (5, source.rows), (source.rows - 1, source.rows)]:
        assert source.read(start, stop).equals(whole.slice(start, stop - start))
    parts = list(source.batches(["site"], 64))
    assert pa.concat_tables(parts).equals(whole.select(["site"]))


@pytest.mark.parametrize("kind", ["lazy", "data frame", "scan"])
def test_frames_of_polars(kind, folder, data, secret, expected):
    frame = pl.from_arrow(data)
    source = {
        "lazy": frame.lazy(),
        "data frame": frame,
        "scan": kind == "scan"
        and pl.scan_parquet(f"{folder}/**/part-*.parquet", hive_partitioning=True),
    }[kind]
    assert cases.by_key(release(source, secret=secret).table) == expected


def test_files_of_other_types_are_refused_or_widened(folder, tmp_path, secret, expected):
    last = sorted(folder.rglob("part-*.parquet"))[-1]
    table = pq.read_table(last, partitioning=None)
    at = table.column_names.index("scanner")
    narrow = table.set_column(at, "scanner", table["scanner"].cast(pa.int16()))
    pq.write_table(narrow, last)
    assert run(folder, tmp_path, secret=secret) == expected
    pq.write_table(table.set_column(at, "scanner", table["scanner"].cast(pa.float64())), last)
    with pytest.raises(BatchError, match="column 'scanner' holds double"):
        run(folder, tmp_path)
    pq.write_table(table.drop_columns("scanner"), last)
    with pytest.raises(BatchError, match="no column 'scanner'"):
        run(folder, tmp_path)


def test_places_without_files_are_refused(tmp_path, folder):
    ledger = cdp.Ledger(cdp.PureDP(5.0))
    (tmp_path / "empty").mkdir()
    cases_of = {
        str(tmp_path / "nowhere"): "no such file",
        str(tmp_path / "empty"): "no Parquet file",
        f"{folder}/site=x*/*.parquet": "no Parquet file",
        "nothing://bucket/x": "cannot be opened",
        "memory://nowhere": "no such file",
    }
    for source, message in cases_of.items():
        with pytest.raises(BatchError, match=message):
            release(source, out=tmp_path / "out.parquet", ledger=ledger)
    with pytest.raises(TypeError, match="the place of Parquet files"):
        release(3, ledger=ledger)
    assert ledger.spent is None


SECRET_PLACES = (
    "simplecache::memory://KEY:SECRET@nowhere/in.parquet?sig=SECRET",
    "nothing::s3://KEY:SEC/RET@bucket/in.parquet",
    "nothing://KEY:SECRET@bucket/in.parquet?sig=SECRET",
    "memory://nowhere/in.parquet?sig=SECRET",
)


@pytest.mark.parametrize("place", SECRET_PLACES)
def test_no_message_tells_the_keys_of_a_place(tmp_path, place, caplog):
    with pytest.raises(BatchError) as told, caplog.at_level("INFO"):
        release(place, out=tmp_path / "out.parquet")
    for secret in ("SECRET", "SEC/", "RET@", "KEY"):
        assert secret not in str(told.value) + caplog.text


def test_no_message_tells_the_options_of_a_file_in_a_store(tmp_path):
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.put(str(cases.write(tmp_path / "in.parquet", cases.table(20))), "/good.parquet?SECRET")
    with memory.open("/bad.parquet?SECRET", "wb") as file:
        file.write(b"no Parquet file")
    places = [f"memory://{name}.parquet?SECRET" for name in ("good", "bad")]
    for source in (places[1], places):
        with pytest.raises(BatchError) as told:
            release(source, out=tmp_path / "out.parquet")
        assert "SECRET" not in str(told.value)
        assert "parquet" in str(told.value)


def test_a_new_file_in_the_folder_is_noticed(folder, tmp_path, secret, monkeypatch, expected):
    how = {"secret": secret, "chunk_rows": 300}
    cases.interrupted(tmp_path, folder, monkeypatch, **how)
    new = folder / "site=zz" / "a.parquet"
    new.parent.mkdir()
    pq.write_table(pq.read_table(next(iter(folder.rglob("part-*.parquet")))), new)
    with pytest.raises(BatchError, match="another fingerprint"):
        cases.run(tmp_path, folder, resume=True, **how)
    new.unlink()
    cases.run(tmp_path, folder, resume=True, **how)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected


def test_the_order_of_files_is_that_of_their_paths(folder):
    paths = [file.path for file in find_files(str(folder))]
    assert paths == sorted(paths)
    backwards = [str(path) for path in reversed(paths)]
    assert [file.path for file in find_files(backwards)] == backwards


def test_many_files_need_few_open_ones(tmp_path, secret):
    resource = pytest.importorskip("resource")
    root, data = tmp_path / "records", cases.table(60)
    root.mkdir()
    for number, start in enumerate(range(0, len(data), 4)):
        pq.write_table(data.slice(start, 4), root / f"{number:05d}.parquet")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
    try:
        assert len(list(root.iterdir())) > 302
        found = run(root, tmp_path, secret=secret)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found == cases.by_key(release(data, secret=secret).table)


def test_a_file_counts_once(folder, tmp_path):
    first = next(iter(sorted(folder.rglob("part-*.parquet"))))
    link = tmp_path / "link.parquet"
    link.symlink_to(first)
    ledger = cdp.Ledger(cdp.PureDP(5.0))
    for source in ([first, first], [folder, first], [first, link]):
        with pytest.raises(BatchError, match="comes twice"):
            release(source, out=tmp_path / "out.parquet", ledger=ledger)
    assert ledger.spent is None


def test_a_list_of_one_has_its_folders_keys(folder):
    last = sorted(folder.rglob("part-*.parquet"))[-1]
    source = Source([str(last)], ["site", "direction"])
    assert set(source.read(0, source.rows)["site"].to_pylist()) == {last.parent.name.split("=")[1]}


@pytest.mark.parametrize("place", ["out.parquet", "out", "deep/out.parquet"])
def test_a_result_does_not_stand_among_the_records(folder, place):
    ledger = cdp.Ledger(cdp.PureDP(5.0))
    (folder / "deep").mkdir()
    for source in (folder, f"{folder}/**/*.parquet"):
        with pytest.raises(BatchError, match="among the records"):
            release(source, out=folder / place, ledger=ledger)
    assert ledger.spent is None


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path, data, secret, expected):
    source = cases.write(tmp_path / "records[1].parquet", data)
    assert run(source, tmp_path, secret=secret) == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_have_the_same_noise_in_tables_and_files(tmp_path, secret, unit):
    data = cases.table(40)
    at = np.arange(len(data)) // 30
    data = data.append_column(
        "at", pa.array(at * 86400, pa.timestamp("s")).cast(pa.timestamp(unit))
    )
    how = {"by": "at", "secret": secret, "skip_small": True}
    file = cases.write(tmp_path / "in.parquet", data)
    found = release(file, out=tmp_path / "out.parquet", **how).table
    assert found["value"].to_pylist() == release(data, **how).table["value"].to_pylist()


class InBytes:
    """A path that is known in bytes, as `os.scandir` of a folder in bytes has them."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return os.fsencode(self.path)


def test_paths_in_bytes_are_those_in_text(data, expected, secret, tmp_path):
    source, stored = cases.write(tmp_path / "in.parquet", data), tmp_path / "stored.secret"
    cdp.NoiseSecret.create(InBytes(stored))
    assert cdp.NoiseSecret.load(InBytes(stored))
    ledger = cdp.Ledger(cdp.PureDP(1.0), path=InBytes(tmp_path / "own.ledger"))
    how = {"secret": InBytes(secret), "ledger": ledger, "chunk_rows": 300}
    for number, own in enumerate((InBytes(source), [InBytes(source)])):
        out = tmp_path / f"{number}.parquet"
        found = release(own, out=InBytes(out), **(how | {"ledger": None} if number else how))
        assert found.path == out
        assert cases.by_key(cdp.batch.BatchReleases.open(InBytes(out)).table) == expected
    assert release(InBytes(source), out=InBytes(tmp_path / "0.parquet"), resume=True, **how).path
    with cdp.Ledger.open(tmp_path / "own.ledger") as ledger:
        assert len(ledger.entries) == 1


@pytest.mark.parametrize("place", ["records.npy", "*.npy", "records.csv"])
def test_files_of_other_kinds_are_led_on(place, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    np.save(folder / "records.npy", np.zeros((9, 3)))
    (folder / "records.csv").write_text("x,y\n1,2\n")
    with pytest.raises(BatchError, match=r"A batch reads Parquet: .*to_parquet.*frechet_mean") as e:
        release(folder / place, out=tmp_path / "out.parquet")
    assert "1,2" not in str(e.value)
