"""Inputs of batches that say more than their records: read as they say, or refused by name.

The tests of `batch` run every one; `tests/input_table.py` writes docs/measured/inputs.md.
"""

from __future__ import annotations

import gzip
import os
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

KEY = ds.field("k")


def records(seed=0):
    """Records of six groups of different sizes, in no order."""
    generator = np.random.default_rng(seed)
    key = generator.permutation(np.repeat(np.arange(6), [40, 31, 25, 50, 17, 29]))
    rows = np.round(generator.normal([0.5, 0.8, 1.0], 0.2, (len(key), 3)), 9)
    return pa.table({"k": key, "p": list(rows), "age": np.arange(len(key))})


def chosen(table, keep):
    return table if keep is None else table.filter(keep)


#: Ways to hand over the records for which an expression is true, all of them if it is None.
CONTAINERS = {
    "table": lambda table, path, keep: chosen(table, keep),
    "table in pieces": lambda table, path, keep: pa.concat_tables(
        [chosen(table.slice(0, 50), keep), chosen(table.slice(50), keep)]
    ),
    "record batch": lambda table, path, keep: pa.RecordBatch.from_pylist(
        chosen(table, keep).to_pylist(), schema=table.schema
    ),
    "reader of batches": lambda table, path, keep: chosen(table, keep).to_reader(max_chunksize=37),
    "reader of a data set": lambda table, path, keep: (
        ds.dataset(path).scanner(filter=keep).to_reader()
    ),
    "polars frame": lambda table, path, keep: pl.from_arrow(chosen(table, keep)),
    "lazy frame": lambda table, path, keep: (
        pl.from_arrow(table).lazy().filter(pl.lit(True) if keep is None else polars_of(keep))
    ),
    "lazy frame of a file": lambda table, path, keep: pl.scan_parquet(path).filter(
        pl.lit(True) if keep is None else polars_of(keep)
    ),
    "pandas frame": lambda table, path, keep: chosen(table, keep).to_pandas(),
    "pandas frame with an index": lambda table, path, keep: (
        chosen(table, keep).to_pandas().set_index("k")
    ),
    "pandas frame with two indices": lambda table, path, keep: (
        chosen(table, keep).to_pandas().set_index(["age", "k"])
    ),
    "data set": lambda table, path, keep: (
        ds.dataset(path) if keep is None else ds.dataset(path).filter(keep)
    ),
    "data set, filtered twice": lambda table, path, keep: (
        ds.dataset(path).filter(KEY >= 0).filter(KEY >= 0 if keep is None else keep)
    ),
    "scanner of a data set": lambda table, path, keep: ds.dataset(path).scanner(filter=keep),
    "fragment of a data set": lambda table, path, keep: next(
        ds.dataset(path).get_fragments(filter=keep)
    ),
    "data set in memory": lambda table, path, keep: ds.dataset(chosen(table, keep)),
    "union of data sets": lambda table, path, keep: ds.dataset([ds.dataset(path)]),
    "array of structs": lambda table, path, keep: pa.chunked_array(
        [pa.array(chosen(table, keep).to_pylist(), pa.struct(table.schema))]
    ),
    "series of structs": lambda table, path, keep: pl.from_arrow(chosen(table, keep)).to_struct(
        "s"
    ),
    "dictionary of columns": lambda table, path, keep: chosen(table, keep).to_pydict(),
    "list of batches": lambda table, path, keep: chosen(table, keep).to_batches(),
    "iterator of batches": lambda table, path, keep: iter(chosen(table, keep).to_batches()),
    "`ParquetDataset`": lambda table, path, keep: pq.ParquetDataset(path, filters=keep),
    "groups of pandas": lambda table, path, keep: chosen(table, keep).to_pandas().groupby("k"),
}
#: Ways to hand over all records.
WHOLE = {
    "path": lambda path: path,
    "list of paths": lambda path: [path],
    "folder": lambda path: path.parent,
    "iterator of paths": lambda path: iter([path]),
    "set of paths": lambda path: {path},
    "array of paths": lambda path: np.array([str(path)]),
    "`ParquetFile`": lambda path: pq.ParquetFile(path),
}
#: Those that are read, with whatever they select; all others are refused, but a data set of all.
READ = [*list(CONTAINERS)[: list(CONTAINERS).index("data set")], "path", "list of paths", "folder"]
SELECTIONS = {
    "all": None,
    "a key": KEY == 3,
    "some keys": KEY < 2,
    "not a person": ds.field("age") != 77,
    "nobody": KEY > 10,
}


def polars_of(keep):
    """The same expression for polars."""
    return {
        str(KEY == 3): pl.col("k") == 3,
        str(KEY < 2): pl.col("k") < 2,
        str(ds.field("age") != 77): pl.col("age") != 77,
        str(KEY > 10): pl.col("k") > 10,
    }[str(keep)]


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
    "columns of its folders as dictionaries": (
        "partitioning",
        lambda folder: ds.dataset(
            folder, partitioning=ds.HivePartitioning.discover(infer_dictionary=True)
        ),
    ),
    "no partitioning": ("partitioning", lambda folder: ds.dataset(folder)),
    "a column of another type": (
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
    "columns of its files as dictionaries": (
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
    "a claim about its files": (
        "partitioning",
        lambda folder: _of_paths(folder, partitions=[KEY < 2]),
    ),
    "a claim about all": ("partitioning", lambda folder: _of_paths(folder, root_partition=KEY < 2)),
    "files of another format": ("another format", lambda folder: _csv(folder)),
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


def _whole_schema(folder):
    return ds.dataset(folder, partitioning="hive").schema


#: Data sets that say what their files say.
SAME = {
    "of a folder": lambda folder: ds.dataset(folder, partitioning="hive"),
    "of paths": lambda folder: ds.dataset(sorted(folder.rglob("*.parquet")), partitioning="hive"),
    "with the types of its folders": lambda folder: ds.dataset(
        folder, partitioning=_hive(pa.schema([("site", pa.int32())]))
    ),
    "with its schema": lambda folder: ds.dataset(
        folder, partitioning="hive", schema=_whole_schema(folder)
    ),
    "with its schema put in its place": lambda folder: ds.dataset(
        folder, partitioning="hive"
    ).replace_schema(_whole_schema(folder)),
}

#: Names of files in a folder that count.
COUNTED = (
    "B.Parquet",
    "B.PARQUET",
    "deep/b.PQ",
    "_deep=1/b.parquet",
    "deep.parquet/b.parquet",
    "deep/deeper/b.parquet",
)
#: Names of files in a folder that do not count, by the custom of all that write such folders.
HIDDEN = ("_SUCCESS", "_metadata", ".a.crc", "_b.parquet", ".b.parquet", "_temporary/b.parquet")


def _link(target):
    return lambda path: path.symlink_to(target)


LEFT_OUT = {
    "a compressed file": ("b.parquet.gz", lambda path: path.write_bytes(b"x"), "b.parquet.gz"),
    "a file without an ending": ("part-0", lambda path: path.write_bytes(b"x"), "part-0"),
    "a file that is not yet written": (
        "b.parquet.tmp",
        lambda path: path.write_bytes(b"x"),
        "b.parquet.tmp",
    ),
    "a file of no bytes": ("b.parquet", lambda path: path.write_bytes(b""), "not a readable"),
    "a csv file of another name": (
        "b.parquet",
        lambda path: path.write_text("k,p\n1,2\n"),
        "not a readable",
    ),
    "a compressed file of another name": (
        "b.parquet",
        lambda path: path.write_bytes(gzip.compress((path.parent / "a.parquet").read_bytes())),
        "not a readable",
    ),
    "a file that was cut off": (
        "b.parquet",
        lambda path: path.write_bytes((path.parent / "a.parquet").read_bytes()[:-20]),
        "not a readable",
    ),
    "other names of columns": (
        "b.parquet",
        lambda path: pq.write_table(records().rename_columns(["K", "p", "age"]), path),
        "no column 'k'",
    ),
    "a link to itself": ("deep", _link("."), "neither a file"),
    "notes": ("deep/notes.txt", lambda path: path.write_text("x"), "notes.txt"),
    "a link to nothing": ("b.parquet", _link("nowhere.parquet"), "a link that leads nowhere"),
    "a link to a folder that is not there": (
        "deep",
        _link("/nowhere/at/all"),
        "a link that leads nowhere",
    ),
    "a named queue": ("b.parquet", os.mkfifo if hasattr(os, "mkfifo") else None, "neither a file"),
    "the log of a Delta table": ("_delta_log", lambda path: path.mkdir(), "a Delta table"),
    "the log of a Hudi table": (".hoodie", lambda path: path.mkdir(), "a Hudi table"),
}


def _second_name(make):
    """A folder, given its one file a second name."""

    def places(folder):
        make(folder / "a.parquet", folder / "b.parquet")
        return [folder, f"{folder}/*.parquet", [folder / "a.parquet", folder / "b.parquet"]]

    return places


#: Places in which one file of a folder comes twice.
TWICE = {
    "a hard link beside it": _second_name(os.link),
    "a link beside it": _second_name(lambda path, other: other.symlink_to(path)),
    "twice in a list": lambda folder: [[folder / "a.parquet"] * 2],
    "in two spellings": lambda folder: [
        [folder / "a.parquet", folder / ".." / folder.name / "a.parquet"],
        [folder / "a.parquet", (folder / "a.parquet").as_uri()],
    ],
    "in a folder and by its path": lambda folder: [[folder, folder / "a.parquet"]],
}


def _decimals(numbers):
    return pa.array([Decimal(f"{own:.6f}") for own in numbers])


class Unit(pa.ExtensionType):
    """Numbers with a unit, a type that no library knows."""

    def __init__(self, storage):
        super().__init__(storage, "somebody.unit")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


def _with_unit(array):
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return pa.ExtensionArray.from_storage(Unit(array.type), array)


def _lists(numbers, kind=None):
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers, kind), 3)


def _points(table):
    return np.array(table["p"].to_pylist()).ravel()


def _holed(table):
    numbers = _points(table)
    numbers[::50] = np.nan
    return _lists(pa.array(numbers, from_pandas=True))


def _dictionary(table):
    """Keys of a dictionary of which one is missing."""
    keys = table["k"].to_numpy()
    return pa.DictionaryArray.from_arrays(
        pa.array(keys, mask=keys == 2), pa.array([f"site {number}" for number in range(6)])
    )


def _permuted(table):
    kind = pa.fixed_shape_tensor(pa.float64(), [3, 1], permutation=[1, 0])
    return pa.ExtensionArray.from_storage(kind, _lists(_points(table)))


_COLUMN = "not real numbers"
_KEY = "keys are integers, booleans, strings, dates or timestamps"
#: Columns of another kind: which, what it becomes, and the word with which it is refused, if it is.
COLUMNS = {
    "keys of a dictionary, one missing": ("k", _dictionary, None),
    "keys of times": ("k", lambda table: table["k"].cast(pa.timestamp("us")), None),
    "keys of decimals": ("k", lambda table: _decimals(table["k"].to_numpy()), _KEY),
    "keys of numbers with a fraction": ("k", lambda table: table["k"].cast(pa.float64()), _KEY),
    "keys of durations": ("k", lambda table: table["k"].cast(pa.duration("s")), _KEY),
    "keys of a type of its own": ("k", lambda table: _with_unit(table["k"]), "somebody.unit"),
    "points with missing numbers": ("p", _holed, None),
    "points of whole numbers": (
        "p",
        lambda table: _lists((_points(table) * 1000).astype(int)),
        None,
    ),
    "points of decimals": ("p", lambda table: _lists(_decimals(_points(table))), _COLUMN),
    "points of texts": ("p", lambda table: _lists([str(v) for v in _points(table)]), _COLUMN),
    "points of truth values": ("p", lambda table: _lists(_points(table) > 0.5), _COLUMN),
    "points of times": (
        "p",
        lambda table: _lists((_points(table) * 1000).astype(int), pa.timestamp("ms")),
        _COLUMN,
    ),
    "points of a type of its own": (
        "p",
        lambda table: _with_unit(_lists(_points(table))),
        "somebody.unit",
    ),
    "points as transposed tensors": ("p", _permuted, "row-major"),
    "covariates of times": ("age", lambda table: table["age"].cast(pa.timestamp("ms")), _COLUMN),
    "covariates of dates": (
        "age",
        lambda table: table["age"].cast(pa.int32()).cast(pa.date32()),
        _COLUMN,
    ),
    "covariates of decimals": ("age", lambda table: _decimals(table["age"].to_numpy()), _COLUMN),
    "covariates of texts": ("age", lambda table: table["age"].cast(pa.string()), _COLUMN),
    "covariates of a type of its own": (
        "age",
        lambda table: _with_unit(table["age"]),
        "somebody.unit",
    ),
}
#: Names of columns besides: a name that is there twice, and what is said of it.
NAMES = {
    "the key twice": (["k", "p", "k"], "2 columns 'k'"),
    "the points twice": (["k", "p", "p"], "2 columns 'p'"),
    "another twice": (["k", "p", "age", "age"], None),
    "the key in capitals": (["K", "p", "age"], "no column 'k'"),
    "the key in capitals besides": (["k", "p", "K"], None),
    "the key with a space": ([" k", "p", "age"], "no column 'k'"),
}
