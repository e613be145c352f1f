"""Batches whose persons are known by name."""

import numpy as np
import pyarrow as pa
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import release
from curvedp.batch import keys as group_keys
from curvedp.batch import ordered, sizes, units
from curvedp.batch.columns import RecordColumns
from curvedp.batch.keys import key_columns, key_hashes, runs, unit_hashes
from curvedp.batch.parquet import Source
from curvedp.batch.sizes import group_sizes
from curvedp.errors import BatchError
from curvedp.statistics.grouping import side_by_side
from curvedp.statistics.units import one_record_each


def named(groups=60, persons=4):
    """Records of persons, each of whom is in one group, one to a few records each."""
    table = cases.table(groups)
    keys = np.array([table["site"].to_pylist(), table["scanner"].to_pylist()]).T
    own = np.random.default_rng(5).integers(persons, size=len(table))
    names = [
        f"{site}/{scanner}/{number}" for (site, scanner), number in zip(keys, own, strict=True)
    ]
    return table.append_column("person", pa.array(names))


def by_hand(table):
    """The same table with one record for each person, as `one_record_each` finds it, at the mean
    of the person's ages."""
    offsets = np.append(0, np.cumsum(runs(key_columns(table, ["site", "scanner"]))[1]))
    _, codes = np.unique(table["person"].to_pylist(), return_inverse=True)
    order, ends = side_by_side(codes, offsets)
    rows = np.array(table["direction"].to_pylist())[order]
    group_of_unit = np.searchsorted(offsets, ends[:-1], side="right") - 1
    starts = np.searchsorted(group_of_unit, np.arange(len(offsets)))
    found = one_record_each((cases.ball(),), rows, ends, starts)
    one = table.take(pa.array(order[ends[:-1]])).drop_columns(["direction", "age"])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(found.ravel()), 3)
    ages = np.array(table["age"], dtype=float)[order]
    own = cases.STATISTICS["trend"][0].beside_of_units(ages, ends)
    return one.append_column("direction", lists).append_column("age", pa.array(own))


#: Those that average over the records of persons themselves.
BY_THEMSELVES = {"regression", "k-means", "logistic"}


@pytest.mark.parametrize("word", [word for word in cases.STATISTICS if word not in BY_THEMSELVES])
def test_a_person_counts_as_one_record(word, secret):
    table, asked = named(), cases.asked(word)
    found = release(table, secret=secret, units="person", **asked)
    expected = release(by_hand(table), secret=secret, **asked)
    assert found.table.equals(expected.table)
    assert sum(found.table["n"].to_pylist()) < len(table)


def shuffled(table):
    """The groups in another order, the records of each in the same one."""
    order = np.argsort(np.array(table["scanner"]) * 7 % 10, kind="stable")
    return table.take(pa.array(order))


@pytest.mark.parametrize("word", ["mean", *sorted(BY_THEMSELVES)])
@pytest.mark.parametrize("arrange", [lambda table: table, shuffled])
def test_tables_files_and_chunks_agree(word, arrange, tmp_path, secret, monkeypatch):
    asked = cases.asked(word) | {"units": "person"}
    expected = cases.by_key(release(arrange(named()), secret=secret, **asked).table)
    monkeypatch.setattr(ordered, "_SCAN_ROWS", 37)
    monkeypatch.setattr(units, "_AT_ONCE", 11)
    file = cases.write(tmp_path / "in.parquet", arrange(named()))
    small = 8 if arrange is shuffled else 1  # of records out of order each chunk is a file
    for chunk_rows in (small, 100, None):
        found = release(
            file,
            out=tmp_path / f"{chunk_rows}.parquet",
            secret=secret,
            chunk_rows=chunk_rows,
            **asked,
        )
        assert cases.by_key(found.table) == expected
        assert found.manifest["units_by"] == "person"
        assert found.manifest["units"] == sum(found.table["n"].to_pylist())
        assert "records" not in found.manifest
        assert "units-by-name" in found.manifest["assumptions"]
        assert "any number of records" in found.manifest["composition"]
    assert not cases.left_over(tmp_path)


@pytest.mark.parametrize("arrange", [lambda table: table, shuffled])
def test_the_number_of_persons_is_known_before(arrange, tmp_path, monkeypatch):
    for own in (ordered, sizes):
        monkeypatch.setattr(own, "_SCAN_ROWS", 37)
    file = cases.write(tmp_path / "in.parquet", arrange(named()))
    source = Source(str(file), ["site", "scanner", "person"])
    found = group_sizes(source, ["site", "scanner"], "person")
    table = release(arrange(named()), units="person", skip_small=True).table
    numbers, counts = np.unique(table["n"].to_pylist(), return_counts=True)
    assert found == dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def test_a_person_in_two_groups_whose_keys_have_one_hash_is_in_two(tmp_path):
    """Keys of several integers can be found that have one hash; the guarantee counts groups."""
    # the second integer makes up for what the first changes, modulo 2^64
    mixed = group_keys._mixed(np.array([1, 2], dtype=np.uint64))
    other = (mixed[:1] - mixed[1:] + np.uint64(5)).view(np.int64)
    keys = np.array([[1, 5], [2, other[0]], [3, 0]])
    both = pa.table({"a": keys[:, 0], "b": keys[:, 1]})
    assert len(set(key_hashes(both).tolist())) == 2
    group = np.tile([0, 2, 1], 20)  # not in order
    person = np.array([f"{own}/{number}" for number, own in enumerate(group)], dtype=object)
    person[[3, 5]] = "who"
    table = cases.table(60).slice(0, 60).select(["direction"])
    for place, name in enumerate(["a", "b"]):
        table = table.append_column(name, pa.array(keys[group, place]))
    table = table.append_column("person", pa.array(person))
    ledger = cdp.Ledger(cdp.GDP(5.0))
    asked = {"by": ["a", "b"], "units": "person", "ledger": ledger, "out": tmp_path / "out.parquet"}
    with pytest.raises(ValueError, match="groups_per_unit"):
        release(cases.write(tmp_path / "in.parquet", table), **asked)
    assert ledger.spent is None


@pytest.mark.parametrize("kind", ["table", "sorted file", "other file"])
@pytest.mark.parametrize("at_once", [5, 1 << 20])
def test_persons_in_too_many_groups_are_refused_before_the_ledger(
    kind, at_once, tmp_path, monkeypatch
):
    monkeypatch.setattr(units, "_AT_ONCE", at_once)
    monkeypatch.setattr(ordered, "_SCAN_ROWS", 37)
    table = named()
    person = np.arange(len(table)).astype(str).astype(object)
    firsts = np.cumsum(runs(key_columns(table, ["site", "scanner"]))[1])
    person[firsts[[3, 20, 40]]] = "who"
    table = table.set_column(table.num_columns - 1, "person", pa.array(person))
    source, how = table, {}
    if kind != "table":
        given = shuffled(table) if kind == "other file" else table
        source = cases.write(tmp_path / "in.parquet", given)
        how = {"out": tmp_path / "out.parquet"}
    ledger = cdp.Ledger(cdp.GDP(5.0))
    with pytest.raises(ValueError, match="3 groups, more than groups_per_unit=2"):
        release(source, units="person", groups_per_unit=2, ledger=ledger, **how)
    assert ledger.spent is None
    assert not cases.left_over(tmp_path)
    release(source, units="person", groups_per_unit=3, ledger=ledger, **how)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("file", [False, True])
def test_what_names_nobody_is_refused_before_the_ledger(file, tmp_path):
    def ask(table, **changes):
        how = {"units": "person"} | changes
        if file:
            how["out"] = tmp_path / "out.parquet"
            table = cases.write(tmp_path / "in.parquet", table)
        return release(table, ledger=ledger, **how)

    ledger, table = cdp.Ledger(cdp.GDP(5.0)), named(20)
    names = table["person"].to_pylist()
    missing = table.set_column(table.num_columns - 1, "person", pa.array([*names[:-1], None]))
    with pytest.raises(BatchError, match="must name each record's person"):
        ask(missing)
    numbers = table.set_column(table.num_columns - 1, "person", pa.array(np.arange(len(table)) / 2))
    with pytest.raises(BatchError, match="person"):
        ask(numbers)
    with pytest.raises(BatchError, match="no column 'nobody'"):
        ask(table, units="nobody")
    with pytest.raises(BatchError, match="column of their own"):
        ask(table, units="site")
    with pytest.raises(ValueError, match="not both"):
        ask(table, records_per_unit=2)
    with pytest.raises(TypeError, match="name of a column"):
        ask(table, units=3)
    assert ledger.spent is None


def signalling() -> np.ndarray:
    """Persons whose hashes are the bits of a signalling NaN, which arithmetic would change."""
    numbers = np.arange(200_000)
    hashes = unit_hashes(pa.table({"person": numbers}), "person")
    exponent = np.uint64(0x7FF) << np.uint64(52)
    quiet, rest = np.uint64(1) << np.uint64(51), (np.uint64(1) << np.uint64(51)) - np.uint64(1)
    chosen = ((hashes & exponent) == exponent) & ((hashes & quiet) == 0) & ((hashes & rest) != 0)
    return numbers[chosen]


@pytest.mark.parametrize("arrange", [lambda table: table, shuffled])
def test_hashes_keep_their_bits_beside_the_points(arrange, tmp_path, secret):
    """They are stored where doubles stand: the worst of them are no numbers, and signalling."""
    persons, table = signalling(), cases.table(40)
    assert len(persons) > 40
    who = persons[np.arange(len(table)) // 2 % len(persons)]
    columns = RecordColumns(("direction",), cdp.Sphere(2), units="person")
    named_table = table.append_column("person", pa.array(who))
    hashes = unit_hashes(named_table, "person")
    rows = columns.read(named_table)
    np.testing.assert_array_equal(columns.units_of(rows), hashes)
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(columns.units_of(rows[order]), hashes[order])
    with np.errstate(invalid="ignore"):
        assert not np.array_equal(columns.units_of(rows * 1.0), hashes), "the control: arithmetic"
    how = {"secret": secret, "units": "person", "groups_per_unit": 40}
    # the same persons under other names, whose hashes are ordinary
    other = table.append_column("person", pa.array([f"p{number}" for number in who]))
    expected = cases.by_key(release(other, **how).table)
    file = cases.write(tmp_path / "in.parquet", arrange(named_table))
    found = release(file, out=tmp_path / "out.parquet", chunk_rows=200, **how)
    assert cases.by_key(found.table) == expected


def test_all_records_of_a_file_by_person(tmp_path, secret):
    table = named()
    file = cases.write(tmp_path / "in.parquet", table)
    how = {"points": "direction", "ball": cases.ball(), "guarantee": cdp.GDP(2.0)}
    for source in (table, file):
        found = cdp.batch.release(cdp.Mean(), source, units="person", secret=secret, **how)
        rows = np.array(table["direction"].to_pylist())
        expected = cdp.frechet_mean(
            rows,
            cases.ball(),
            cdp.GDP(2.0),
            units=table["person"].to_pylist(),
            secret=cdp.NoiseSecret.load(secret),
        )
        assert found.to_json() == expected.to_json()
        assert "units-by-name" in found.assumptions


@pytest.mark.parametrize("by", [None, "site"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_column_has_one_use(by, neighbours):
    table = cases.table(20)
    guarantee = cdp.GDP(1.0, neighbours=neighbours)
    asked = {"points": "direction", "ball": cases.ball(), "guarantee": guarantee, "by": by}
    asked["public_keys"] = by is not None and neighbours == "replace"
    if by is not None and neighbours == "add-remove":
        asked["keys"] = ["site0000"]
    for changes in ({"units": "direction"}, {"units": "age", "labels": "age"}):
        statistic = cdp.TwoSampleTest() if "labels" in changes else cdp.Mean()
        with pytest.raises(BatchError, match="column of their own"):
            cdp.batch.release(statistic, table, **asked, **changes)
