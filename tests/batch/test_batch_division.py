"""Division of a file among many: the same groups wherever row groups end, one look at each file."""

from __future__ import annotations

import collections
import itertools
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from curvedp.batch import layout, sizes
from curvedp.batch.files import File
from curvedp.batch.keys import key_columns, key_hashes, runs
from curvedp.batch.parquet import Source
from curvedp.batch.units import Memberships


def rows(n, seed=0):
    return cdp.Sphere(2).random_point(n, rng=seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("units", [None, "who"])
def test_groups_are_whole_wherever_row_groups_end(tmp_path, secret, seed, units):
    """Groups of one record and of several row groups, and persons in both."""
    generator = np.random.default_rng(seed)
    n = generator.choice([1, 2, 7, 30], size=12)
    key = np.repeat(np.arange(12) // (1 + seed % 2), n)
    data = pa.table(
        {
            "key": key,
            "direction": list(rows(len(key), seed)),
            # persons' records stand together in row groups, or far from each other
            "who": generator.integers(0, 9, len(key)) + 10 * key,
        }
    )
    if seed > 3:
        data = data.take(pa.array(generator.permutation(len(data))))
    size = int(generator.integers(1, 9))
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=size)
    how = {"by": "key", "units": units, "secret": secret, "skip_small": True}
    found = cases.release(source, out=tmp_path / "out.parquet", chunk_rows=3, **how).table
    expected = cases.release(data, **how).table
    mine, whole = (
        own.select(["key", "n", "value"]).sort_by("key").to_pylist() for own in (found, expected)
    )
    assert mine == whole


def test_persons_in_groups_that_row_groups_cut_are_counted_once(tmp_path):
    """In the same two groups, each of several row groups."""
    data = pa.table(
        {
            "key": np.repeat([0, 1], 40),
            "direction": list(rows(80)),
            "who": np.tile(np.arange(20), 4),
        }
    )
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=7)
    how = {"by": "key", "units": "who", "chunk_rows": 5}
    cases.release(source, out=tmp_path / "out.parquet", groups_per_unit=2, **how)
    with pytest.raises(ValueError, match="2 groups, more than groups_per_unit=1"):
        cases.release(source, out=tmp_path / "two.parquet", **how)


def test_a_file_is_looked_at_once_and_opened_only_where_it_is_read(tmp_path, monkeypatch):
    folder = tmp_path / "records"
    folder.mkdir()
    data = cases.table(100)
    for number in range(20):
        part = data.slice(number * len(data) // 20, len(data) // 20 + 1)
        cases.write(folder / f"{number:02d}.parquet", part)
    pieces, opened = [], collections.Counter()
    digest, real = File.pieces, File.open

    def looked(file, count):
        pieces.append(file.path)
        return digest(file, count)

    def open_counted(file):
        opened[file.path] += 1
        return real(file)

    monkeypatch.setattr(File, "pieces", looked)
    monkeypatch.setattr(File, "open", open_counted)
    cases.run(tmp_path, folder, chunk_rows=60)
    assert len(pieces) == 20
    assert len(set(pieces)) == 20
    # the footer, the pieces, keys, points; the first file for its shape and its order, too
    assert sorted(opened.values())[:-1] == [4] * 19
    source = Source(str(folder), ["direction"])
    opened.clear()
    again = Source.from_table(source.to_table())
    start = int(again.ranges(1)[5])
    assert len(again.read(start, start + 1)) == 1
    assert len(opened) == 1


@pytest.mark.parametrize("kind", ["folders", "one file"])
def test_a_worker_reads_what_the_caller_found(tmp_path, kind):
    data = pa.table({"x": np.arange(30.0), "own": np.arange(30)})
    if kind == "folders":
        for number, site in enumerate(("a b", "é", "__HIVE_DEFAULT_PARTITION__")):
            folder = tmp_path / "in" / f"site={site}" / f"day={number}"
            folder.mkdir(parents=True)
            pq.write_table(data.slice(10 * number, 10), folder / "x.parquet", row_group_size=4)
        columns = ["day", "x", "site"]
    else:
        (tmp_path / "in").mkdir()
        pq.write_table(data, tmp_path / "in" / "x.parquet", row_group_size=4)
        columns = ["own", "x"]
    source = Source(str(tmp_path / "in"), columns)
    for other in (Source.from_table(source.to_table()), pickle.loads(pickle.dumps(source))):
        assert other.read(0, 30).equals(source.read(0, 30))
        assert other.fingerprint() == source.fingerprint()
        assert other.ranges(5) == source.ranges(5)
        other.check_unchanged()
    assert source.ranges(5)[1] >= 5


def test_hashes_of_integers_are_a_permutation_whatever_their_type():
    """Of 64 bits: none is lost in any step, and they do not depend on what stands beside."""
    word = (1 << 64) - 1

    def mixed(state):  # SplitMix64, and backwards
        state = (state + 0x9E3779B97F4A7C15) & word
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & word
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & word
        return state ^ (state >> 31)

    def unshifted(state, shift):
        found = state
        for _ in range(64 // shift + 1):
            found = state ^ (found >> shift)
        return found

    def unmixed(state):
        state = unshifted(state, 31) * pow(0x94D049BB133111EB, -1, 1 << 64) & word
        state = unshifted(state, 27) * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & word
        return (unshifted(state, 30) - 0x9E3779B97F4A7C15) & word

    for kind, values in (
        (pa.int64(), [-(1 << 63), -1, 0, 1, 5, (1 << 63) - 1]),
        (pa.uint64(), [0, 1, 1 << 63, (1 << 64) - 1]),
        (pa.int8(), [-128, -1, 0, 127]),
    ):
        table = pa.table({"k": pa.array(values, kind)})
        found = key_hashes(key_columns(table, ["k"])).tolist()
        assert found == [mixed(value & word) for value in values]
        assert [unmixed(own) for own in found] == [value & word for value in values]
        with_null = pa.table({"k": pa.array([*values, None], kind)})
        *same, missing = key_hashes(key_columns(with_null, ["k"])).tolist()
        assert same == found
        assert missing not in found
    pairs = list(itertools.product([None, -1, 0, 1], repeat=2))
    table = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    assert len(set(key_hashes(key_columns(table, ["a", "b"])).tolist())) == len(pairs)


@pytest.mark.parametrize("units", [None, "who"])
def test_a_dry_run_looks_at_each_record_a_few_times_however_many_there_are(
    tmp_path, monkeypatch, units
):
    added_up, looked = sizes._added_up, []

    def counted(parts):
        looked.append(sum(len(keys) for keys, _, _ in parts))
        return added_up(parts)

    monkeypatch.setattr(sizes, "_added_up", counted)
    monkeypatch.setattr(sizes, "_SCAN_ROWS", 64)
    generator = np.random.default_rng(0)
    for count in (4000, 16_000):
        data = pa.table(
            {"key": generator.permutation(count) // 3, "who": generator.permutation(count)}
        )
        pq.write_table(data, tmp_path / "in.parquet")
        source = Source(str(tmp_path / "in.parquet"), ["key", "who"])
        looked.clear()
        found = sizes.group_sizes(source, ["key"], units)
        assert found == collections.Counter(np.bincount(data["key"].to_numpy()).tolist())
        assert sum(looked) < 5 * count  # with all that is held at each step: 30 and 120 times


@pytest.mark.parametrize("at_once", [3, 1 << 23])
def test_units_are_counted_across_files_and_once_if_work_is_done_twice(
    tmp_path, monkeypatch, at_once
):
    monkeypatch.setattr("curvedp.batch.units._AT_ONCE", at_once)
    names = np.random.default_rng(0).integers(0, 1 << 64, size=9, dtype=np.uint64)
    for groups_per_unit in (2, 1):
        found = Memberships(tmp_path / "units")
        found.begin()
        for name, own in (("a", names[:6]), ("b", names[5:]), ("a", names[:6])):
            found.add(name, own)
        (tmp_path / "units" / ".a.left").write_bytes(names.tobytes())  # of a killed worker
        assert os.stat(tmp_path / "units").st_mode & 0o077 == 0
        if groups_per_unit == 1:
            with pytest.raises(ValueError, match="2 groups, more than groups_per_unit=1"):
                found.check(1)
        else:
            found.check(2)
        assert not (tmp_path / "units").exists()


def test_a_range_is_whole_row_groups_and_a_chunk_about_what_is_asked_for(tmp_path, monkeypatch):
    data = pa.table({"key": np.arange(1000), "x": np.arange(1000.0)})
    cut = []
    real = layout.cut

    def counted(groups, chunk_rows):
        for part in real(groups, chunk_rows):
            cut.append(int(part[1].sum()))
            yield part

    monkeypatch.setattr(layout, "cut", counted)
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=170)
    how = {"points": "x", "by": "key", "ball": cdp.Ball(cdp.Euclidean(1), [0.0], 1.0)}
    cases.run(tmp_path, source, chunk_rows=100, skip_small=True, **how)
    assert sum(cut) == 1000
    assert max(cut) < 150


@pytest.mark.parametrize("in_order", [True, False])
def test_an_input_may_end_with_row_groups_without_rows(tmp_path, in_order):
    key = np.repeat([1, 2], 20) if in_order else np.tile([1, 2], 20)
    data = pa.table({"key": key, "direction": list(rows(40))})
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(data, folder / "a.parquet")
    pq.write_table(data.slice(0, 0), folder / "b.parquet")  # one row group, of none
    whole = cases.write(tmp_path / "in.parquet", data)
    for source, how in ((whole, {}), (folder, {"chunk_rows": 20})):
        found = cases.release(source, by="key", out=tmp_path / f"{source.name}.out", **how)
        assert found.table.column("n").to_pylist() == [20, 20]


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize("in_order", [True, False])
def test_persons_of_many_ranges_need_few_open_files(tmp_path, in_order):
    """There is a file of their names for each range or partition."""
    import resource

    n = 1600
    key = np.random.default_rng(0).integers(0, 160, n)
    key = np.sort(key) if in_order else key
    data = pa.table({"key": key, "direction": list(rows(n)), "who": np.arange(n)})
    file = cases.write(tmp_path / "in.parquet", data, row_group_size=16)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 60, hard))
    try:
        found = cases.release(
            file,
            by="key",
            units="who",
            chunk_rows=16,
            skip_small=True,
            out=tmp_path / "out.parquet",
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sum(found.table["n"].to_pylist()) == found.manifest["units"] > 0


def test_files_of_stores_whose_times_can_be_set_are_read_in_pieces(tmp_path):
    """As over SFTP: a time to the second, which the owner sets, and no version."""
    local = pytest.importorskip("fsspec.implementations.local")
    arrow = pytest.importorskip("pyarrow.fs")
    path = tmp_path / "in.parquet"

    def written(step):
        plain = {"compression": None, "use_dictionary": False, "write_statistics": False}
        pq.write_table(pa.table({"key": np.arange(5000) * step}), path, **plain)
        os.utime(path, ns=(10**18, 10**18))
        store = arrow.PyFileSystem(arrow.FSSpecHandler(local.LocalFileSystem()))
        file = File(store, str(path))
        stamp = file.stamp()
        return stamp, file.pieces(1) if file.may_keep(stamp) else None

    (one, pieces), (two, others) = written(1.0), written(2.0)
    assert one == two
    assert pieces != others


def test_runs_of_keys_are_found_however_columns_are_cut():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(0, 10))
        columns = {}
        for name in "abc"[: rng.integers(1, 4)]:
            values = rng.integers(0, 2, n).tolist()
            if rng.random() < 0.5:
                values = [None if one else "x" for one in values]
            kind = pa.string() if None in values or "x" in values else pa.int64()
            cuts = [0, *np.sort(rng.integers(0, n + 1, rng.integers(0, 4))).tolist(), n]
            parts = [pa.array(values[a:b], kind) for a, b in itertools.pairwise(cuts)]
            columns[name] = pa.chunked_array(parts)
        rows = list(zip(*(own.to_pylist() for own in columns.values()), strict=True))
        starts = [i for i in range(n) if not i or rows[i] != rows[i - 1]]
        keys, sizes = runs(pa.table(columns))
        assert sizes.tolist() == np.diff([*starts, n]).tolist()
        assert keys.num_rows == len(starts)
        assert [tuple(row.values()) for row in keys.to_pylist()] == [rows[i] for i in starts]
