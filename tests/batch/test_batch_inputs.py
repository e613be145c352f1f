"""What an input says is honoured or refused before the ledger is asked, never silently dropped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import curvedp as cdp
import curvedp.batch
from batch_cases import ball
from curvedp.batch.files import is_files
from curvedp.errors import BatchError
from input_cases import (
    COLUMNS,
    CONTAINERS,
    COUNTED,
    HIDDEN,
    KEY,
    LEFT_OUT,
    NAMES,
    READ,
    SAME,
    SELECTIONS,
    TWICE,
    UNREAD,
    WHOLE,
    chosen,
    records,
)

REFUSED = "refused"
MEAN = cdp.Mean()


def released(source, tmp_path, ledger, *, by="k", statistic=MEAN, **changes):
    """Numbers of records and values by key; or, with nothing spent, why the input was refused."""
    asked = {"by": by, "points": "p", "ball": ball(), "guarantee": cdp.GDP(1.0)} | changes
    out = tmp_path / "result.parquet"
    secret = tmp_path / f"secret{len(list(tmp_path.glob('secret*')))}"  # the same, but not yet used
    secret.write_bytes(b"curvedp noise secret, never publish: " + b"5a" * 32)
    secret.chmod(0o600)
    place = {"out": out} if is_files(source) else {}
    try:
        found = cdp.batch.release(
            statistic, source, public_keys=True, ledger=ledger, secret=secret, **asked, **place
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


CASES = [(name, selection) for name in CONTAINERS for selection in SELECTIONS]
CASES += [(name, "all") for name in WHOLE]


@pytest.mark.parametrize(("container", "selection"), CASES)
def test_a_selection_is_honoured_or_refused(container, selection, tmp_path, ledger):
    table, keep = records(), SELECTIONS[selection]
    path = tmp_path / "in" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(table, path, row_group_size=20)
    own = chosen(table, keep)
    if container in WHOLE:
        source = WHOLE[container](path)
    else:
        source = CONTAINERS[container](table, path, keep)
    found = released(source, tmp_path, ledger)
    must_be_read = container in READ or (container, selection) == ("data set", "all")
    assert isinstance(found, dict) == (must_be_read and selection != "nobody"), found
    if isinstance(found, tuple):
        words = ("must be an Arrow table", "would not be honoured")
        assert selection == "nobody" or any(word in found[1] for word in words)
        return
    assert found == released(own, tmp_path, cdp.Ledger(cdp.GDP(1.0)))
    keys = own["k"].to_pylist()
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


@pytest.mark.parametrize("build", SAME.values(), ids=SAME)
def test_a_data_set_that_equals_its_files_is_read(build, sites, tmp_path, ledger):
    found = released(build(sites), tmp_path, ledger)
    (tmp_path / "result.parquet").unlink()
    (tmp_path / "result.parquet.manifest.json").unlink()
    assert found == released(sites, tmp_path, cdp.Ledger(cdp.GDP(1.0)))


# ------------------------------------------------------------------ columns


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("place", ["table", "file"])
def test_a_column_of_another_kind_is_read_or_refused(kind, place, tmp_path, ledger):
    name, build, word = COLUMNS[kind]
    table = records()
    source = table.set_column(table.column_names.index(name), name, build(table))
    if place == "file":
        pq.write_table(source, tmp_path / "in.parquet")
        source = tmp_path / "in.parquet"
    how = {}
    if name == "age":
        how = {"statistic": cdp.GeodesicLine((0.0, 200.0)), "covariate": "age"}
    found = released(source, tmp_path, ledger, **how)
    if word is None:
        assert sorted(n for n, _ in found.values()) == [17, 25, 29, 31, 40, 50]
        return
    assert found[0] == REFUSED
    assert repr(name) in found[1]
    assert word in found[1]


@pytest.mark.parametrize("place", ["table", "file"])
def test_a_type_that_is_not_known_here_is_refused(place, tmp_path, ledger):
    table = records()
    for name in ("k", "p"):
        told = {"ARROW:extension:name": "elsewhere.unit"}
        at = table.column_names.index(name)
        source = table.cast(table.schema.set(at, table.schema.field(at).with_metadata(told)))
        if place == "file":
            pq.write_table(source, tmp_path / f"{name}.parquet")
            source = tmp_path / f"{name}.parquet"
        found = released(source, tmp_path, ledger)
        assert found[0] == REFUSED
        assert "'elsewhere.unit', which is not known here" in found[1]


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_columns_are_as_they_are_written(kind, tmp_path, ledger):
    names, word = NAMES[kind]
    table = records()
    columns = [table["k"], table["p"], table["age"], table["age"]]
    source = pa.Table.from_arrays(columns[: len(names)], names)
    pq.write_table(source, tmp_path / "in.parquet")
    for place in (source, tmp_path / "in.parquet"):
        found = released(place, tmp_path, cdp.Ledger(cdp.GDP(1.0)))
        assert isinstance(found, dict) == (word is None)
        assert word is None or word in found[1]


# ------------------------------------------------------------------ folders


@pytest.fixture
def folder(tmp_path):
    """A folder with one file."""
    found = tmp_path / "records"
    found.mkdir()
    pq.write_table(records(), found / "a.parquet")
    return found


@pytest.mark.parametrize("name", COUNTED)
def test_files_of_a_folder_count_whatever_the_case_of_their_ending(name, folder, tmp_path, ledger):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(records(1), folder / name)
    found = released(folder, tmp_path, ledger)
    assert sum(n for n, _ in found.values()) == 2 * len(records())


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
    for name in HIDDEN:
        (folder / name).parent.mkdir(exist_ok=True)
        pq.write_table(records(1), folder / name)
    found = released(folder, tmp_path, ledger)
    assert sum(n for n, _ in found.values()) == len(records())


@pytest.mark.parametrize("case", TWICE)
def test_a_file_that_comes_twice_is_refused(case, folder, tmp_path, ledger):
    for source in TWICE[case](folder):
        found = released(source, tmp_path, ledger)
        assert found[0] == REFUSED
        assert "comes twice" in found[1]
    (folder / "b.parquet").unlink(missing_ok=True)
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
