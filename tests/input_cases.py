"""Inputs of batches that say more than their records: read as they say, or refused by name.

The tests of `batch` run every one; `tests/input_table.py` writes docs/measured/inputs.md.
"""

from __future__ import annotations

import os

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
COUNTED = ("B.Parquet", "B.PARQUET", "deep/b.PQ", "_deep=1/b.parquet")


def _link(target):
    return lambda path: path.symlink_to(target)


LEFT_OUT = {
    "a compressed file": ("b.parquet.gz", lambda path: path.write_bytes(b"x"), "b.parquet.gz"),
    "a file without an ending": ("part-0", lambda path: path.write_bytes(b"x"), "part-0"),
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
