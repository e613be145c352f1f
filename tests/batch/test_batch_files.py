"""Batches from Parquet to Parquet: chunks, order of keys, bad files."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import left_over, release, run
from curvedp.batch import layout, output, partitions
from curvedp.batch import ordered as ordered_groups
from curvedp.batch.parquet import Source
from curvedp.batch.run import _InTurn
from curvedp.errors import BatchError, ExistenceError


def test_keys_with_one_hash_are_kept_apart(tmp_path, secret, monkeypatch):
    data = cases.table(60, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = cases.by_key(release(data, secret=secret).table)
    hashes = partitions.key_hashes
    few = np.uint64(3 << 62)
    monkeypatch.setattr(partitions, "key_hashes", lambda keys: hashes(keys) & few)
    run(tmp_path, source, secret=secret, chunk_rows=300)
    assert cases.by_key(pq.read_table(tmp_path / "out.parquet")) == expected


@pytest.mark.parametrize(("deal", "most", "n_groups"), [(1, 16, 20), (101, 16, 100), (37, 2, 100)])
def test_records_are_dealt_out_in_any_pieces(tmp_path, secret, monkeypatch, deal, most, n_groups):
    """With the same result, and no partition larger than it would be otherwise."""
    data = cases.table(n_groups, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    run(tmp_path, source, "once.parquet", secret=secret, chunk_rows=50)
    rows, groups = [], []
    read = partitions.Dealt.read

    def counted(dealt, number):
        firsts, n, points = read(dealt, number)
        rows.append(len(points))
        groups.append(len(n))
        return firsts, n, points

    monkeypatch.setattr(partitions.Dealt, "read", counted)
    monkeypatch.setattr(partitions, "_MOST_BITS", most)
    monkeypatch.setattr(layout, "rows_of_chunk", lambda *_: deal)
    run(tmp_path, source, secret=secret, chunk_rows=50)
    once, again = (pq.read_table(tmp_path / name) for name in ("once.parquet", "out.parquet"))
    assert again.equals(once)
    assert len(rows) == min(1 << (-(-len(data) // 50) - 1).bit_length(), 1 << most)
    assert (sum(rows), sum(groups)) == (len(data), n_groups)
    assert max(rows) < 6 * len(data) / len(rows)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize(
    "keys",
    [
        pa.array(np.arange(60) // 7 % 2 == 0),
        pa.array(np.arange(60) // 7, pa.uint8()),
        pa.array([None if i < 7 else -i for i in range(60)], pa.int64()),
        pa.array([f"ü,1:{i // 7}" for i in range(60)]).dictionary_encode(),
        pa.array(np.arange(60) // 7 * 10**6, pa.timestamp("us", tz="UTC")),
        pa.array(np.arange(60, dtype=np.int32) // 7, pa.date32()),
        pa.array([bytes([i // 7, 0]) for i in range(60)], pa.binary(2)),
        # an hour that comes twice in autumn, nanoseconds, and years that Python does not know
        pa.array(
            1000 * (1792886400 + np.arange(60) // 7 * 1800), pa.timestamp("ms", tz="Europe/Berlin")
        ),
        pa.array(np.arange(60) // 7, pa.timestamp("ns")),
        pa.array(10**15 + np.arange(60) // 7, pa.timestamp("ms")),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_of_every_type_make_the_same_groups_as_in_memory(
    tmp_path, secret, keys, shuffled, monkeypatch
):
    monkeypatch.setattr(ordered_groups, "_SCAN_ROWS", 7)  # a group ends where each table does
    rows = cdp.Sphere(2).random_point(60, rng=0)
    data = pa.table({"site": keys, "direction": list(rows)})
    if shuffled:
        data = data.take(pa.array(np.random.default_rng(0).permutation(60)))
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=11)
    run(tmp_path, source, by="site", secret=secret, chunk_rows=13)
    expected = release(data, by="site", secret=secret).table

    def values(table):
        site = table["site"]
        if pa.types.is_timestamp(site.type):
            site = site.cast(pa.int64())
        return dict(zip(site.to_pylist(), table["value"].to_pylist(), strict=True))

    result = pq.read_table(tmp_path / "out.parquet")
    assert values(result) == values(expected)
    assert len(values(expected)) == result.num_rows == len(data["site"].unique())


@pytest.mark.parametrize("scan_rows", [1, 3, 8])
@pytest.mark.parametrize("seed", range(6))
def test_groups_do_not_depend_on_which_keys_are_looked_at_together(
    tmp_path, secret, monkeypatch, scan_rows, seed
):
    """Nor is it overlooked where keys decrease, be it from one table to the next."""
    monkeypatch.setattr(ordered_groups, "_SCAN_ROWS", scan_rows)
    generator = np.random.default_rng(seed)
    site = np.sort(generator.integers(0, 9, 64))
    if seed % 2:
        at = 8 * int(generator.integers(3, 7))
        site[at:] -= site[at:].min()  # in order before and after
        assert site[at] < site[at - 1]
    rows = cdp.Sphere(2).random_point(64, rng=seed)
    data = pa.table({"site": site, "direction": list(rows)})
    source = cases.write(tmp_path / "in.parquet", data)
    told = run(tmp_path, source, by="site", secret=secret, chunk_rows=10)
    expected = release(data, by="site", secret=secret)
    result = pq.read_table(tmp_path / "out.parquet").sort_by("site")
    assert result["site"].to_pylist() == sorted(set(site.tolist()))
    assert result["value"].to_pylist() == expected.table["value"].to_pylist()
    assert told["groups"] == len(result)


def test_threads_take_turns_in_the_order_of_their_places():
    turns, order = _InTurn(), []

    def act(place):
        time.sleep(0.05 * (place == 0))
        with turns.turn(place):
            order.append(place)
            if place == 1:
                raise RuntimeError

    with ThreadPoolExecutor(4) as workers:
        started = [workers.submit(act, place) for place in range(4)]
    assert order == [0, 1, 2, 3]
    assert [isinstance(one.exception(), RuntimeError) for one in started] == [0, 1, 0, 0]


def test_tensors_in_any_order_are_released_as_in_memory(tmp_path, secret):
    generator = np.random.default_rng(0)
    noise = generator.normal(scale=0.1, size=(300, 3, 3))
    tensors = np.eye(3) + noise + noise.swapaxes(1, 2)
    data = pa.table(
        {
            "site": generator.integers(0, 9, 300),
            "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(tensors),
        }
    )
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=70)
    asked = {"by": "site", "points": "tensor", "ball": cdp.Ball(cdp.SPD(3), "identity", 1.0)}
    run(tmp_path, source, secret=secret, chunk_rows=50, **asked)
    expected = release(data, **asked, secret=secret)
    result = pq.read_table(tmp_path / "out.parquet").sort_by("site")
    assert result["value"].to_pylist() == expected.table["value"].to_pylist()


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_read_once_and_as_they_were_written(tmp_path, seed, monkeypatch):
    """For any row groups, and for readings that begin and end anywhere."""
    generator = np.random.default_rng(seed)
    count, size = generator.integers(1, 80), generator.integers(1, 30)
    data = pa.table({"key": np.arange(count), "x": np.arange(count) * 0.5})
    pq.write_table(data, tmp_path / "in.parquet", row_group_size=size)
    source = Source(str(tmp_path / "in.parquet"), ["key", "x"])
    decoded = []
    batches = pq.ParquetFile.iter_batches

    def counted(file, *given, **options):
        for batch in batches(file, *given, **options):
            decoded.extend(batch["key"].to_pylist())
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    source._batch = int(generator.integers(1, 40))
    for _ in range(10):
        decoded.clear()
        cuts = np.unique(np.concatenate(([0, count], generator.integers(0, count, 4))))
        parts = [source.read(start, stop) for start, stop in itertools.pairwise(cuts.tolist())]
        assert pa.concat_tables(parts).equals(data)
        assert decoded == list(range(count))
        start = int(generator.integers(0, count))
        assert source.read(start, count).equals(data.slice(start))


@pytest.mark.parametrize("threads", [1, 2, 4, 6])
def test_every_number_of_threads_gives_the_same_file_and_decodes_each_record_once(
    tmp_path, secret, monkeypatch, threads
):
    data = cases.table(150)
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=400)
    decoded = []
    batches = pq.ParquetFile.iter_batches

    def counted(file, *given, **options):
        for batch in batches(file, *given, **options):
            if "direction" in batch.schema.names and "site" not in batch.schema.names:
                decoded.append(len(batch))
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    before = cdp.num_threads()
    cdp.set_num_threads(threads)
    try:
        run(tmp_path, source, secret=secret, chunk_rows=130)
    finally:
        cdp.set_num_threads(before)
    assert sum(decoded) == len(data)
    expected = release(data, secret=secret).table.drop_columns("guarantee")
    assert pq.read_table(tmp_path / "out.parquet").drop_columns("guarantee").equals(expected)


def test_one_large_group_is_not_cut(tmp_path, secret):
    rows = np.tile(cases.ball().center, (5000, 1))
    group = np.repeat([0, 1, 2], [10, 4000, 990])
    data = pa.table({"site": group, "scanner": group, "direction": list(rows)})
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=100)
    run(tmp_path, source, secret=secret, chunk_rows=64)
    result = pq.read_table(tmp_path / "out.parquet")
    assert result["n"].to_pylist() == [10, 4000, 990]
    assert cases.by_key(result) == cases.by_key(release(data, secret=secret).table)


@pytest.mark.parametrize(
    "count", [100_000, pytest.param(10_000_000, marks=pytest.mark.slow)], ids=str
)
def test_as_many_groups_as_records(tmp_path, count):
    rows = np.tile(cases.ball().center, (count, 1))
    data = pa.table(
        {
            "g": np.arange(count),
            "p": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3),
        }
    )
    source = cases.write(tmp_path / "in.parquet", data, row_group_size=30_000)
    told = run(tmp_path, source, by="g", points="p", guarantee=cdp.GDP(1.0), chunk_rows=1 << 19)
    assert told["groups"] == count
    result = pq.read_table(tmp_path / "out.parquet")
    assert np.array_equal(result["g"].to_numpy(), np.arange(count))
    values = result["value"].combine_chunks().values.to_numpy().reshape(-1, 3)
    assert len(np.unique(values, axis=0)) > 0.999 * count


# ------------------------------------------------------------------------------- bad files


def test_unreadable_files_are_refused_with_nothing_left_behind(tmp_path):
    good = cases.write(tmp_path / "in.parquet", cases.table(20)).read_bytes()
    bad = {
        "missing": None,
        "empty": b"",
        "text": b"site,scanner\n" * 100,
        "cut": good[: len(good) // 2],
        "footer": good[:-200] + b"\x00" * 192 + good[-8:],
    }
    for name, content in bad.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(BatchError, match=r"no such file|not a readable Parquet"):
            run(tmp_path, tmp_path / name)
        assert left_over(tmp_path) == []


def test_a_damaged_page_is_an_error_that_quotes_nothing(tmp_path):
    path = cases.write(tmp_path / "in.parquet", cases.table(200))
    content = bytearray(path.read_bytes())
    for at in range(300, len(content) // 2, 97):
        content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BatchError) as caught:
        run(tmp_path, path)
    assert "damaged" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "place"}, "no column 'place'"),
        ({"points": "x"}, "no column 'x'"),
        ({"points": "age"}, "1 numbers for each record"),
        ({"by": "weight"}, "keys are integers"),
        ({"public_keys": False}, "compose in parallel only if"),
    ],
)
def test_wrong_columns_are_refused_before_anything_is_spent(tmp_path, changes, message):
    data = cases.table(20)
    data = data.append_column("weight", pa.array(np.ones(len(data))))
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(BatchError, match=message):
        run(tmp_path, source, ledger=ledger, **changes)
    assert ledger.spent is None
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_without_records_is_refused(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20).slice(0, 0))
    with pytest.raises(BatchError, match="no record"):
        run(tmp_path, source)


def test_small_groups_are_refused_before_anything_is_spent(tmp_path):
    for ordered in (True, False):
        ledger = cdp.Ledger(cdp.PureDP(1.0))
        rows = np.tile(np.eye(3).ravel(), (401, 1))
        group = np.repeat([0, 1], [1, 400])
        data = pa.table({"g": group, "p": list(rows)})
        if not ordered:
            data = data.take(pa.array(np.arange(401)[::-1]))
        source = cases.write(tmp_path / "in.parquet", data)
        ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
        with pytest.raises(ExistenceError):
            run(tmp_path, source, by="g", points="p", ball=ball, ledger=ledger)
        assert ledger.spent is None
        out = f"out{ordered}.parquet"
        assert left_over(tmp_path) == []
        told = run(tmp_path, source, out, by="g", points="p", ball=ball, skip_small=True)
        assert told["groups_skipped"] == 1
        value = pq.read_table(tmp_path / out)["value"]
        assert value.null_count == 1
        assert pa.types.is_list(value.type)  # Arrow before 26 has no missing lists of fixed size
        assert {len(point) for point in value.to_pylist() if point is not None} == {9}


def test_existing_results_are_not_overwritten(tmp_path):
    source = cases.write(tmp_path / "in.parquet", cases.table(20))
    (tmp_path / "out.parquet").write_text("precious")
    with pytest.raises(BatchError, match="not overwritten"):
        run(tmp_path, source)
    with pytest.raises(BatchError, match="not overwritten"):
        run(tmp_path, source, resume=True)
    assert (tmp_path / "out.parquet").read_text() == "precious"
    (tmp_path / "b.parquet.manifest.json").write_text("precious")
    with pytest.raises(BatchError, match=r"manifest\.json exists"):
        run(tmp_path, source, "b.parquet")
    assert left_over(tmp_path) == []


# ---------------------------------------------------------------------------------- memory


def in_a_process_of_its_own(program, *arguments):
    """Output of a program run in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=500
    ).stdout


LAST_ROWS = """
import sys
import pyarrow as pa
from curvedp.batch.parquet import Source
source = Source(sys.argv[1], ["key", "x"])
source.read(source.rows - 1000, source.rows)
print(pa.default_memory_pool().max_memory())
"""


def test_no_more_of_a_row_group_is_in_memory_than_is_asked_for(tmp_path):
    """For values that repeat so often that they are short in the file, and any start of reading."""
    count = 2_000_000
    points = pa.FixedSizeListArray.from_arrays(pa.array(np.tile([0.0, 0.0, 1.0], count)), 3)
    data = pa.table({"key": np.arange(count) // 1000, "x": points, "other": np.arange(count)})
    path = tmp_path / "in.parquet"
    pq.write_table(data, path, row_group_size=count)
    found = Source(str(path), ["key", "x"]).read(count - 1000, count)
    assert found.equals(data.select(["key", "x"]).slice(count - 1000))
    assert int(in_a_process_of_its_own(LAST_ROWS, path)) < 10e6  # all of it: 64 MB


MEMORY = """
import resource, sys
import numpy as np
import curvedp as cdp
import curvedp.batch
cdp.batch.release(
    cdp.Mean(), sys.argv[1], out=sys.argv[1] + ".out", by="g", points="p",
    ball=cdp.Ball(cdp.SPD(3), center="identity", radius=1.5),
    guarantee=cdp.GDP(1.0), public_keys=True, chunk_rows=50_000,
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts kilobytes of memory")
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_memory_does_not_grow_with_the_file(tmp_path, ordered):
    """Four times the records, 170 MB more of them, in at most 60 MB more memory."""
    peaks = []
    for parts in (16, 64):
        points = np.tile(np.eye(3).ravel(), (50_000, 1))
        points += 1e-3 * np.random.default_rng(0).random(50_000)[:, None] * np.eye(3).ravel()
        column = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 9)
        path = tmp_path / f"in{parts}.parquet"
        schema = pa.schema({"g": pa.int64(), "p": column.type})
        with pq.ParquetWriter(path, schema) as writer:
            for part in range(parts):
                group = np.arange(50_000) // 100 + 500 * (part if ordered else parts - part)
                writer.write_table(pa.table({"g": group, "p": column}, schema))
        peaks.append(int(in_a_process_of_its_own(MEMORY, path)) / 1e3)
    assert peaks[1] - peaks[0] < 60, peaks


def test_a_folder_holds_a_file_for_each_block_of_groups_and_the_manifest(
    tmp_path, secret, monkeypatch
):
    monkeypatch.setattr(output, "_GROUPS", 30)
    data = cases.table(200, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    one = release(source, out=tmp_path / "one.parquet", secret=secret)
    many = release(source, out=tmp_path / "many", secret=secret, chunk_rows=400)
    assert many.path == tmp_path / "many"
    names = sorted(path.name for path in many.path.iterdir())
    assert names == ["_manifest.json", *(f"part-{k:06d}.parquet" for k in range(len(names) - 1))]
    assert len(names) == 1 + 7
    assert many.table.equals(one.table)
    own = {name: many.manifest[name] for name in ("job", "result_sha256", "provenance")}
    assert many.manifest == one.manifest | own
    assert json.loads((many.path / "_manifest.json").read_text()) == many.manifest
    again = release(source, out=tmp_path / "many", secret=secret, resume=True)
    assert again.manifest == many.manifest
    for taken in ("many", "taken"):
        (tmp_path / "taken").mkdir(exist_ok=True)
        with pytest.raises(BatchError, match="exists"):
            release(source, out=tmp_path / taken)


@pytest.mark.parametrize("name", ["out.parquet", "out"])
@pytest.mark.parametrize("ordered", [True, False])
def test_results_are_the_same_bytes_for_all_chunks(tmp_path, secret, monkeypatch, name, ordered):
    """How records are divided must not show, since persons may have any number of them."""
    monkeypatch.setattr(output, "_GROUPS", 64)
    source = cases.write(tmp_path / "in.parquet", cases.table(150, ordered=ordered))
    digests = set()
    for chunk_rows in (100, 1000, 10**6):
        folder = tmp_path / str(chunk_rows)
        folder.mkdir()
        found = release(source, out=folder / name, secret=secret, chunk_rows=chunk_rows)
        digests.add(found.manifest["result_sha256"])
    assert len(digests) == 1


def test_a_result_may_be_the_records_of_the_next_batch(tmp_path, secret):
    source = cases.write(tmp_path / "in.parquet", cases.table(60))
    means = release(source, out=tmp_path / "means", secret=secret, chunk_rows=300)
    by_site = release(
        means.path, points="value", by="site", out=tmp_path / "by_site.parquet", skip_small=True
    )
    sites = set(cases.table(60)["site"].to_pylist())
    assert by_site.manifest["groups"] == len(sites)
