"""What an input says is honoured or refused before the ledger is asked, never silently dropped."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
from batch_cases import ball
from curvedp.batch.files import is_files
from curvedp.errors import BatchError

KEY = ds.field("k")
REFUSED = "refused"


def records(seed=0):
    """Records of six groups of different sizes, in no order."""
    generator = np.random.default_rng(seed)
    key = generator.permutation(np.repeat(np.arange(6), [40, 31, 25, 50, 17, 29]))
    rows = np.round(generator.normal([0.5, 0.8, 1.0], 0.2, (len(key), 3)), 9)
    return pa.table({"k": key, "p": list(rows), "age": np.arange(len(key))})


def released(source, tmp_path, ledger, *, by="k", **changes):
    """Numbers of records and values by key; or, with nothing spent, why the input was refused."""
    asked = {"by": by, "points": "p", "ball": ball(), "guarantee": cdp.GDP(1.0)} | changes
    out = tmp_path / "result.parquet"
    secret = tmp_path / f"secret{len(list(tmp_path.glob('secret*')))}"  # the same, but not yet used
    secret.write_bytes(b"curvedp noise secret, never publish: " + b"5a" * 32)
    secret.chmod(0o600)
    place = {"out": out} if is_files(source) else {}
    try:
        found = cdp.batch.release(
            cdp.Mean(), source, public_keys=True, ledger=ledger, secret=secret, **asked, **place
        ).table
    except (BatchError, TypeError) as error:
        assert ledger.spent is None
        assert not out.exists()
        assert not out.with_name(out.name + ".job").exists()
        return REFUSED, str(error)
    columns = [found[name].to_pylist() for name in (by, "n", "value")]
    return {key: (n, tuple(value)) for key, n, value in zip(*columns, strict=True)}


@pytest.fixture
def ledger():
    return cdp.Ledger(cdp.GDP(1.0))


# ------------------------------------------------------------------ containers and selections


def _chosen(table, keep):
    return table if keep is None else table.filter(keep)


#: Ways to hand over the records for which an expression is true, all of them if it is None.
CONTAINERS = {
    "table": lambda table, path, keep: _chosen(table, keep),
    "table in pieces": lambda table, path, keep: pa.concat_tables(
        [_chosen(table.slice(0, 50), keep), _chosen(table.slice(50), keep)]
    ),
    "record batch": lambda table, path, keep: pa.RecordBatch.from_pylist(
        _chosen(table, keep).to_pylist(), schema=table.schema
    ),
    "reader": lambda table, path, keep: _chosen(table, keep).to_reader(max_chunksize=37),
    "reader of a data set": lambda table, path, keep: (
        ds.dataset(path).scanner(filter=keep).to_reader()
    ),
    "polars": lambda table, path, keep: pl.from_arrow(_chosen(table, keep)),
    "lazy": lambda table, path, keep: (
        pl.from_arrow(table).lazy().filter(pl.lit(True) if keep is None else _polars(keep))
    ),
    "lazy file": lambda table, path, keep: pl.scan_parquet(path).filter(
        pl.lit(True) if keep is None else _polars(keep)
    ),
    "pandas": lambda table, path, keep: _chosen(table, keep).to_pandas(),
    "pandas with an index": lambda table, path, keep: (
        _chosen(table, keep).to_pandas().set_index("k")
    ),
    "pandas with two indices": lambda table, path, keep: (
        _chosen(table, keep).to_pandas().set_index(["age", "k"])
    ),
    "data set": lambda table, path, keep: (
        ds.dataset(path) if keep is None else ds.dataset(path).filter(keep)
    ),
    "data set, filtered twice": lambda table, path, keep: (
        ds.dataset(path).filter(KEY >= 0).filter(KEY >= 0 if keep is None else keep)
    ),
    "scanner": lambda table, path, keep: ds.dataset(path).scanner(filter=keep),
    "fragment": lambda table, path, keep: next(ds.dataset(path).get_fragments(filter=keep)),
    "data set in memory": lambda table, path, keep: ds.dataset(_chosen(table, keep)),
    "union": lambda table, path, keep: ds.dataset([ds.dataset(path)]),
    "array of structs": lambda table, path, keep: pa.chunked_array(
        [pa.array(_chosen(table, keep).to_pylist(), pa.struct(table.schema))]
    ),
    "series of structs": lambda table, path, keep: pl.from_arrow(_chosen(table, keep)).to_struct(
        "s"
    ),
    "dictionary": lambda table, path, keep: _chosen(table, keep).to_pydict(),
    "batches": lambda table, path, keep: _chosen(table, keep).to_batches(),
    "iterator of batches": lambda table, path, keep: iter(_chosen(table, keep).to_batches()),
    "Parquet data set": lambda table, path, keep: pq.ParquetDataset(path, filters=keep),
    "groups of pandas": lambda table, path, keep: _chosen(table, keep).to_pandas().groupby("k"),
}
#: Ways to hand over all records.
WHOLE = {
    "path": lambda path: path,
    "paths": lambda path: [path],
    "folder": lambda path: path.parent,
    "iterator of paths": lambda path: iter([path]),
    "set of paths": lambda path: {path},
    "array of paths": lambda path: np.array([str(path)]),
    "Parquet file": lambda path: pq.ParquetFile(path),
}
#: Those that must be read.
READ = [*list(CONTAINERS)[: list(CONTAINERS).index("data set")], "path", "paths", "folder"]
SELECTIONS = {
    "all": None,
    "a key": KEY == 3,
    "some keys": KEY < 2,
    "not a person": ds.field("age") != 77,
    "nobody": KEY > 10,
}


def _polars(keep):
    """The same expression for polars."""
    return {
        str(KEY == 3): pl.col("k") == 3,
        str(KEY < 2): pl.col("k") < 2,
        str(ds.field("age") != 77): pl.col("age") != 77,
        str(KEY > 10): pl.col("k") > 10,
    }[str(keep)]


CASES = [(name, selection) for name in CONTAINERS for selection in SELECTIONS]
CASES += [(name, "all") for name in WHOLE]


@pytest.mark.parametrize(("container", "selection"), CASES)
def test_a_selection_is_honoured_or_refused(container, selection, tmp_path, ledger):
    table, keep = records(), SELECTIONS[selection]
    path = tmp_path / "in" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(table, path, row_group_size=20)
    chosen = _chosen(table, keep)
    if container in WHOLE:
        source = WHOLE[container](path)
    else:
        source = CONTAINERS[container](table, path, keep)
    found = released(source, tmp_path, ledger)
    must_be_read = container in READ or (container, selection) == ("data set", "all")
    if isinstance(found, tuple):
        assert not must_be_read or selection == "nobody", found
        return
    assert found == released(chosen, tmp_path, cdp.Ledger(cdp.GDP(1.0)))
    keys = chosen["k"].to_pylist()
    assert {key: n for key, (n, _) in found.items()} == {key: keys.count(key) for key in set(keys)}
    assert ledger.spent == cdp.GDP(1.0)


# ------------------------------------------------------------------ data sets of pyarrow


@pytest.fixture
def sites(tmp_path):
    """A folder with a file for each of three sites, whose names look like numbers."""
    for number, site in enumerate(["007", "7", "07"]):
        place = tmp_path / "sites" / f"site={site}"
        place.mkdir(parents=True)
        own = records(number).drop_columns("age")
        pq.write_table(own, place / "a.parquet", row_group_size=50)
    return tmp_path / "sites"


def _hive(schema):
    return ds.partitioning(schema, flavor="hive")


def _first(folder):
    return str(folder / "site=007" / "a.parquet")


def _of_paths(folder, **how):
    """A data set of one file, with what `how` says of it."""
    given = {"schema": pq.read_schema(_first(folder)), "format": ds.ParquetFileFormat()} | how
    local = pa.fs.LocalFileSystem()
    return ds.FileSystemDataset.from_paths([_first(folder)], filesystem=local, **given)


def _some_row_groups(folder):
    whole = ds.dataset(_first(folder))
    part = next(whole.get_fragments()).subset(row_group_ids=[0, 2])
    return ds.FileSystemDataset([part], whole.schema, whole.format, whole.filesystem)


UNREAD = {
    "a filter": ("filter", lambda folder: ds.dataset(folder, partitioning="hive").filter(KEY == 1)),
    "a filter on a folder's column": (
        "filter",
        lambda folder: ds.dataset(folder, partitioning="hive").filter(ds.field("site") == 7),
    ),
    "a partitioning as texts": (
        "partitioning",
        lambda folder: ds.dataset(
            folder, partitioning=_hive(pa.schema([("site", pa.string())])), format="parquet"
        ),
    ),
    "folders without names": (
        "partitioning",
        lambda folder: ds.dataset(folder, partitioning=["site"], format="parquet"),
    ),
    "a dictionary": (
        "partitioning",
        lambda folder: ds.dataset(
            folder, partitioning=ds.HivePartitioning.discover(infer_dictionary=True)
        ),
    ),
    "no partitioning": ("partitioning", lambda folder: ds.dataset(folder)),
    "another type": (
        "schema",
        lambda folder: ds.dataset(
            _first(folder),
            schema=pa.schema([("k", pa.string()), ("p", pa.list_(pa.float64()))]),
        ),
    ),
    "fewer columns": (
        "schema",
        lambda folder: ds.dataset(
            _first(folder), schema=pa.schema([("p", pa.list_(pa.float32()))])
        ),
    ),
    "some row groups": ("row groups", _some_row_groups),
    "dictionaries": (
        "options",
        lambda folder: ds.dataset(
            folder, partitioning="hive", format=ds.ParquetFileFormat(dictionary_columns=["k"])
        ),
    ),
    "another unit of times": (
        "options",
        lambda folder: ds.dataset(
            folder,
            partitioning="hive",
            format=ds.ParquetFileFormat(coerce_int96_timestamp_unit="ms"),
        ),
    ),
    "a claim": ("partitioning", lambda folder: _of_paths(folder, partitions=[KEY < 2])),
    "a claim on all": ("partitioning", lambda folder: _of_paths(folder, root_partition=KEY < 2)),
    "another format": ("another format", lambda folder: _csv(folder)),
    "no file": (
        "no file",
        lambda folder: ds.FileSystemDataset.from_paths(
            [],
            schema=pq.read_schema(_first(folder)),
            format=ds.ParquetFileFormat(),
            filesystem=pa.fs.LocalFileSystem(),
        ),
    ),
}


def _csv(folder):
    (folder / "a.csv").write_text("k,x\n1,2\n")
    return ds.dataset(folder / "a.csv", format="csv")


@pytest.mark.parametrize("case", UNREAD)
@pytest.mark.parametrize("by", ["k", "site"])
def test_what_a_data_set_says_beside_its_files_is_refused(case, by, sites, tmp_path, ledger):
    word, build = UNREAD[case]
    found = released(build(sites), tmp_path, ledger, by=by)
    assert found[0] == REFUSED
    assert word in found[1]
    assert "would not be honoured" in found[1]


@pytest.mark.parametrize("case", ["a filter", "some row groups"])
def test_one_mean_of_such_a_data_set_is_refused(case, sites, ledger):
    how = {"points": "p", "ball": ball(), "guarantee": cdp.GDP(1.0), "ledger": ledger}
    for statistic in (cdp.Mean(), cdp.Variance()):
        with pytest.raises(BatchError, match="would not be honoured"):
            cdp.batch.release(statistic, UNREAD[case][1](sites), **how)
    assert ledger.spent is None


def test_a_finished_result_is_not_resumed_for_a_filtered_data_set(sites, tmp_path):
    how = {"by": "k", "points": "p", "ball": ball(), "guarantee": cdp.GDP(1.0)}
    how |= {"public_keys": True, "out": tmp_path / "out.parquet", "resume": True}
    whole = ds.dataset(sites, partitioning="hive")
    cdp.batch.release(cdp.Mean(), whole, **how)
    cdp.batch.release(cdp.Mean(), whole, **how)
    with pytest.raises(BatchError, match="a filter"):
        cdp.batch.release(cdp.Mean(), whole.filter(KEY == 1), **how)


@pytest.mark.parametrize(
    "build",
    [
        lambda folder: ds.dataset(folder, partitioning="hive"),
        lambda folder: ds.dataset(sorted(folder.rglob("*.parquet")), partitioning="hive"),
        lambda folder: ds.dataset(folder, partitioning=_hive(pa.schema([("site", pa.int32())]))),
        lambda folder: ds.dataset(folder, partitioning="hive", schema=_whole_schema(folder)),
        lambda folder: ds.dataset(folder, partitioning="hive").replace_schema(
            _whole_schema(folder)
        ),
    ],
    ids=["folder", "paths", "the same types", "the same schema", "replaced by the same"],
)
def test_a_data_set_that_equals_its_files_is_read(build, sites, tmp_path, ledger):
    found = released(build(sites), tmp_path, ledger)
    (tmp_path / "result.parquet").unlink()
    (tmp_path / "result.parquet.manifest.json").unlink()
    assert found == released(sites, tmp_path, cdp.Ledger(cdp.GDP(1.0)))


def _whole_schema(folder):
    return ds.dataset(folder, partitioning="hive").schema


# ------------------------------------------------------------------ folders


@pytest.fixture
def folder(tmp_path):
    """A folder with one file."""
    found = tmp_path / "records"
    found.mkdir()
    pq.write_table(records(), found / "a.parquet")
    return found


@pytest.mark.parametrize("name", ["B.Parquet", "B.PARQUET", "deep/b.PQ", "_deep=1/b.parquet"])
def test_files_of_a_folder_count_whatever_the_case_of_their_ending(name, folder, tmp_path, ledger):
    (folder / name).parent.mkdir(exist_ok=True)
    pq.write_table(records(1), folder / name)
    found = released(folder, tmp_path, ledger)
    assert sum(n for n, _ in found.values()) == 2 * len(records())


def _link(target):
    return lambda path: path.symlink_to(target)


LEFT_OUT = {
    "compressed": ("b.parquet.gz", lambda path: path.write_bytes(b"x"), "b.parquet.gz"),
    "no ending": ("part-0", lambda path: path.write_bytes(b"x"), "part-0"),
    "notes": ("deep/notes.txt", lambda path: path.write_text("x"), "notes.txt"),
    "a link to nothing": ("b.parquet", _link("nowhere.parquet"), "a link that leads nowhere"),
    "a folder that is not there": ("deep", _link("/nowhere/at/all"), "a link that leads nowhere"),
    "a queue": ("b.parquet", os.mkfifo if hasattr(os, "mkfifo") else None, "neither a file"),
    "Delta": ("_delta_log", lambda path: path.mkdir(), "a Delta table"),
    "Hudi": (".hoodie", lambda path: path.mkdir(), "a Hudi table"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_a_folder_of_which_something_would_be_left_out_is_refused(kind, folder, tmp_path, ledger):
    name, make, word = LEFT_OUT[kind]
    if make is None:
        pytest.skip("no named queues")
    (folder / name).parent.mkdir(exist_ok=True)
    make(folder / name)
    for source in (folder, [folder], folder.as_uri()):
        found = released(source, tmp_path, ledger)
        assert found[0] == REFUSED
        assert word in found[1]


@pytest.mark.parametrize("source", ["*.parquet", "**/*.parquet", "a.parquet"])
def test_a_pattern_says_which_files_count(source, folder, tmp_path, ledger):
    (folder / "notes.txt").write_text("x")
    (folder / "missing").symlink_to("nowhere")
    (folder.parent / "_delta_log").mkdir()
    found = released(f"{folder}/{source}", tmp_path, ledger)
    assert sum(n for n, _ in found.values()) == len(records())


def test_a_pattern_does_not_read_what_the_log_of_a_table_may_have_dropped(tmp_path, ledger):
    for log in ("delta/_delta_log/0.json", "ice/metadata/v1.metadata.json"):
        place = tmp_path / log
        place.parent.mkdir(parents=True)
        place.write_text("{}")
        root = tmp_path / log.split("/")[0]
        pq.write_table(records(), root / "a.parquet")
        found = released(f"{root}/**/*.parquet", tmp_path, ledger)
        assert found[0] == REFUSED
        assert "whose log says which files count" in found[1]


def test_hidden_files_are_no_records(folder, tmp_path, ledger):
    for name in ("_SUCCESS", ".a.crc", "_metadata", "_temporary/b.parquet", ".old/b.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")
    found = released(folder, tmp_path, ledger)
    assert sum(n for n, _ in found.values()) == len(records())


def test_a_file_under_two_names_is_refused(folder, tmp_path, ledger):
    os.link(folder / "a.parquet", folder / "b.parquet")
    other = tmp_path / "c.parquet"
    os.link(folder / "a.parquet", other)
    for source in (folder, [folder / "a.parquet", other], f"{folder}/*.parquet"):
        found = released(source, tmp_path, ledger)
        assert found[0] == REFUSED
        assert "comes twice" in found[1]
    (folder / "b.parquet").unlink()
    assert released(folder, tmp_path, ledger)[0] != REFUSED


def test_labels_under_a_mask_are_missing():
    labels = np.ma.array(["a", "b"] * 20, mask=np.arange(40) < 10)
    rows = np.tile([0.0, 0.1, 1.0], (40, 1))
    found = cdp.frechet_mean(rows, ball(), cdp.GDP(1.0), groups=labels)
    counts = dict(zip(found.labels, found.n.tolist(), strict=True))
    assert counts == {None: 10, "a": 15, "b": 15}
    numbers = np.ma.array([3, 4] * 20, mask=np.arange(40) < 10)
    found = cdp.frechet_mean(rows, ball(), cdp.GDP(1.0), groups=numbers)
    assert dict(zip(found.labels, found.n.tolist(), strict=True)) == {None: 10, 3: 15, 4: 15}
    with pytest.raises(ValueError, match="must name each record's person"):
        cdp.frechet_mean(rows, ball(), cdp.GDP(1.0), units=labels)
