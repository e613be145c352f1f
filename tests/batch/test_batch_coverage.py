"""Batches that count records inside the ball: the same at every cut, exact nowhere, drawn once."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pyarrow as pa
import pytest

import curvedp as cdp
import curvedp.batch
from batch_cases import Stop, interrupted, run, table, write
from chance import DEVIATIONS
from curvedp.batch import counts
from curvedp.batch import job as jobs
from curvedp.errors import CoverageWarning, ExistenceError
from curvedp.statistics.tallies import UNIT

BALL = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
GROUPS, EACH = 40, 500
#: Exact numbers that no file of a job holds by chance.
OUTSIDE, NO_POINT = 7919, 3371


def records():
    """20000 records by site, of which so many lie outside the ball and are no points."""
    rows = np.zeros((GROUPS * EACH, 2))
    order = np.random.default_rng(0).permutation(len(rows))
    rows[order[:OUTSIDE]] = [5.0, 0.0]
    rows[order[OUTSIDE : OUTSIDE + NO_POINT]] = np.nan
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 2)
    return pa.table({"site": np.repeat(np.arange(GROUPS), EACH), "point": points})


def count(source, **changes):
    """A batch by site."""
    given = {
        "by": "site",
        "points": "point",
        "ball": BALL,
        "guarantee": cdp.GDP(1.0),
        "public_keys": True,
    }
    return cdp.batch.release(cdp.Mean(), source, **(given | changes))


@pytest.fixture
def secret(tmp_path):
    cdp.NoiseSecret.create(tmp_path / "secret")
    return tmp_path / "secret"


def true_counts(found, outside=OUTSIDE, no_point=NO_POINT, n=GROUPS * EACH):
    """Whether the numbers are the true ones, but for their noise."""
    true = np.array([n - outside - no_point, outside, no_point])
    off = np.abs(np.array(found.noisy) - true).max()
    return found.n == n and off < DEVIATIONS * found.standard_error


def test_tables_and_files_count_as_frechet_mean_does(tmp_path):
    data = records()
    points = np.array(data["point"].combine_chunks().flatten()).reshape(-1, 2)
    offsets = np.arange(0, GROUPS * EACH + 1, EACH)
    with pytest.warns(CoverageWarning, match="points inside"):
        alone = cdp.frechet_mean(points, BALL, cdp.GDP(1.0), groups=offsets)
    with pytest.warns(CoverageWarning, match="points inside"):
        of_table = count(data)
    with pytest.warns(CoverageWarning, match="points inside"):
        of_file = count(write(tmp_path / "in.parquet", data), out=tmp_path / "out.parquet")
    for found in (alone, of_table, of_file):
        assert true_counts(found.coverage)
        assert found.coverage.standard_error == alone.coverage.standard_error
    for found in (of_table, of_file):
        assert found.coverage.guarantee == alone.coverage.guarantee
        np.testing.assert_array_equal(found.table["scale"].to_numpy(), alone.scale)
        assert found.manifest["guarantee_of_each_group"] == cdp.GDP(1.0).to_dict()


def test_what_is_not_counted_is_said(tmp_path):
    data = records()
    never = count(data, coverage=False)
    assert (never.coverage, never.manifest["uncounted"]) == (None, "coverage=False")
    few = count(data.slice(0, 30), by="site", coverage=None)
    assert few.coverage is None
    assert "n = 39" in few.manifest["uncounted"]
    path = write(tmp_path / "few.parquet", data.slice(0, 30))
    with pytest.raises(ExistenceError, match="too few records"):
        count(path, out=tmp_path / "out.parquet", coverage=True)
    assert sorted(own.name for own in tmp_path.iterdir()) == ["few.parquet"]
    with pytest.raises(TypeError, match="coverage"):
        count(data, coverage="all")


@pytest.mark.parametrize("units", [False, True], ids=["records", "units"])
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "in no order"])
def test_a_count_has_the_same_bits_however_a_job_runs(
    tmp_path, secret, monkeypatch, ordered, units
):
    data = records()
    if units:
        who = np.random.default_rng(1).integers(0, 100, len(data)) + 1000 * np.arange(
            len(data)
        ) // (1000 * EACH)
        data = data.append_column("who", pa.array(who))
    if not ordered:
        data = data.take(pa.array(np.random.default_rng(2).permutation(len(data))))
    source = write(tmp_path / "in.parquet", data)
    how = {"units": "who", "groups_per_unit": GROUPS} if units else {}
    whole = count(source, out=tmp_path / "a.parquet", secret=secret, **how)
    small = count(source, out=tmp_path / "b.parquet", secret=secret, chunk_rows=700, **how)
    assert small.coverage == whole.coverage
    for after in (0, 1, 5):
        out, done, store = tmp_path / f"cut{after}.parquet", [], jobs.Job.store

        def few(job, number, *released, done=done, store=store, after=after):
            if len(done) == after:
                raise Stop
            done.append(number)
            return store(job, number, *released)

        with monkeypatch.context() as patch:
            patch.setattr(jobs.Job, "store", few)
            with pytest.raises(Stop):
                count(source, out=out, secret=secret, chunk_rows=700, **how)
        again = count(source, out=out, secret=secret, chunk_rows=700, resume=True, **how)
        assert again.coverage == whole.coverage
        assert out.read_bytes() == (tmp_path / "b.parquet").read_bytes()
    # another secret draws other noise
    cdp.NoiseSecret.create(tmp_path / "other")
    other = count(source, out=tmp_path / "c.parquet", secret=tmp_path / "other", **how)
    assert other.coverage.noisy != whole.coverage.noisy


def spellings(number):
    """What would tell a number: in a text, and in the formats of numbers."""
    texts, formats = [], []
    for own in (number, number * UNIT):
        texts += [f"{own}(\\.0)?", f"0*{own:x}"]
        formats += [np.array(own, dtype=kind).tobytes() for kind in ("<f8", ">f8")]
        if own < 2**62:
            formats += [np.array(own, dtype=kind).tobytes() for kind in ("<i8", ">i8")]
    alone = rf"(?<![0-9a-fA-F.])({'|'.join(texts)})(?![0-9a-fA-F.])"
    return re.compile(alone), re.compile(b"|".join(map(re.escape, formats)), re.DOTALL)


def tells(folder, numbers):
    """Files below a folder, but for the input, that hold one of the numbers."""
    wanted, found = [spellings(number) for number in numbers], []
    for path in folder.rglob("*"):
        if not path.is_file() or path.name == "in.parquet":
            continue
        held = path.read_bytes()
        text = held.decode("ascii", "replace") if b"\0" not in held else ""
        found += [path.name for t, b in wanted if t.search(text) or b.search(held)]
    return found


@pytest.mark.parametrize("masked", [True, False], ids=["under a pad", "the control"])
def test_no_file_of_a_job_ever_holds_an_exact_count(tmp_path, monkeypatch, masked):
    """All bytes of the job's folder, after every write: of each chunk, and of those before it."""
    source = write(tmp_path / "in.parquet", records())
    per_chunk, told, write_json = [], [], jobs.write_json
    release = jobs.Job.release

    def released(job, chunk, *rest):
        found = release(job, chunk, *rest)
        per_chunk.append(tuple(own // UNIT for own in found[1]))
        return found

    def exact():
        sums = list(itertools.accumulate(map(np.array, per_chunk), np.add))
        numbers = {int(x) for own in [*per_chunk, *sums] for x in own}
        return {number for number in numbers if number > 1000}

    def written(path, *rest):
        write_json(path, *rest)
        told.extend(tells(tmp_path, exact()))

    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "release", released)
        patch.setattr(jobs, "write_json", written)
        if not masked:
            patch.setattr(counts, "_pads", lambda secret, owner: (0, 0))
        found = count(source, out=tmp_path / "out.parquet", chunk_rows=5000)
        told.extend(tells(tmp_path, exact()))
    assert true_counts(found.coverage)
    assert np.sum(per_chunk, axis=0).tolist() == [OUTSIDE, NO_POINT]
    assert bool(told) != masked
    assert not tells(tmp_path, exact())  # what is left when the job is done
    assert sorted(own.name for own in tmp_path.iterdir()) == [
        ".out.parquet.receipt",
        "in.parquet",
        "out.parquet",
        "out.parquet.manifest.json",
    ]


def test_pads_hide_sums_and_belong_to_one_chunk_of_one_job(tmp_path):
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    weights, owners = (OUTSIDE * UNIT, NO_POINT * UNIT), ["chunk 1 of a", "chunk 2 of a", "b"]
    texts = [counts.hidden(weights, secret, owner) for owner in owners]
    assert len({tuple(own) for own in texts}) == len({x for own in texts for x in own}) // 2 == 3
    for text, owner in zip(texts, owners, strict=True):
        assert counts.shown(text, secret, owner) == weights
        assert counts.shown(text, secret, owner + " ") != weights
    other = cdp.NoiseSecret.create(tmp_path / "other")
    assert counts.hidden(weights, other, owners[0]) != texts[0]


def test_a_lost_count_is_made_again(tmp_path, secret, monkeypatch):
    source = write(tmp_path / "in.parquet", table(60, ordered=True))
    interrupted(tmp_path, source, monkeypatch, secret=secret, chunk_rows=200)
    (folder,) = tmp_path.glob("out.parquet.job/parts-*")
    lost = sorted(folder.glob("*.count"))[0]
    lost.unlink()
    found = run(tmp_path, source, secret=secret, chunk_rows=200, resume=True)
    whole = run(tmp_path, source, out="whole.parquet", secret=secret)
    assert found["coverage"] == whole["coverage"] is not None


def test_skipped_groups_are_counted_too(tmp_path):
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=5.0)
    rows = np.tile([1.0, 0.0, 0.0], (2010, 1))
    rows[2000:] = np.nan
    points = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)
    data = pa.table({"site": np.repeat([0, 1], [2000, 10]), "point": points})
    how = {"ball": ball, "guarantee": cdp.PureDP(200.0), "skip_small": True}
    found = count(data, **how)
    of_file = count(write(tmp_path / "in.parquet", data), out=tmp_path / "out.parquet", **how)
    for own in (found, of_file):
        assert true_counts(own.coverage, 0, 10, 2010)


@pytest.mark.parametrize("coverage", [None, True, False])
def test_the_mean_of_a_file_counts_its_records_once(tmp_path, coverage):
    source = write(tmp_path / "in.parquet", records())
    found = cdp.batch.release(
        cdp.Mean(),
        source,
        points="point",
        ball=BALL,
        guarantee=cdp.GDP(1.0),
        chunk_rows=3000,
        coverage=coverage,
    )
    if coverage is False:
        assert found.coverage is None
        assert found.uncounted == "coverage=False"
    else:
        assert true_counts(found.coverage)


def test_a_finished_job_tells_its_count_again(tmp_path):
    source, out = write(tmp_path / "in.parquet", records()), tmp_path / "out.parquet"
    first = count(source, out=out)
    assert count(source, out=out, resume=True).coverage == first.coverage
    with pytest.raises(cdp.errors.BatchError, match="other parameters"):
        count(source, out=out, resume=True, coverage=False)


COUNTS = ("inside", "outside", "no_point", "count_error")


@pytest.mark.parametrize("units", [False, True], ids=["records", "units"])
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "in no order"])
def test_counts_of_each_group_are_the_same_however_a_job_runs(
    tmp_path, secret, monkeypatch, ordered, units
):
    data = records()
    if units:
        data = data.append_column("who", pa.array(np.arange(len(data)) // 4))
    if not ordered:
        data = data.take(pa.array(np.random.default_rng(2).permutation(len(data))))
    source = write(tmp_path / "in.parquet", data)
    how = {"coverage": "each", "secret": secret} | ({"units": "who"} if units else {})
    with pytest.warns(CoverageWarning, match="groups"):
        whole = count(source, out=tmp_path / "a.parquet", **how)
    with pytest.warns(CoverageWarning):
        of_table = count(data, **how | {"secret": None})
    assert of_table.table["count_error"].to_pylist() == whole.table["count_error"].to_pylist()
    assert of_table.table["inside"].to_pylist() != whole.table["inside"].to_pylist()
    store, done = jobs.Job.store, []

    def few(job, number, *released):
        if len(done) == 3:
            raise Stop
        done.append(number)
        return store(job, number, *released)

    out = tmp_path / "cut.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(jobs.Job, "store", few)
        with pytest.raises(Stop):
            count(source, out=out, chunk_rows=700, **how)
    with pytest.warns(CoverageWarning):
        again = count(source, out=out, chunk_rows=700, resume=True, **how)
    for name in COUNTS:
        assert again.table[name].to_pylist() == whole.table[name].to_pylist()
    for other in (again, of_table):
        assert (other.coverage.groups, other.coverage.n) == (GROUPS, whole.coverage.n)
    np.testing.assert_allclose(again.coverage.noisy, whole.coverage.noisy)
    assert "one count for each of 40 groups" in " ".join(again.report().split())
    assert "WARNING" in again.report()
    if not units:
        true = np.array([GROUPS * EACH - OUTSIDE - NO_POINT, OUTSIDE, NO_POINT])
        off = np.abs(np.array(whole.coverage.noisy) - true).max()
        assert off < DEVIATIONS * whole.coverage.standard_error
        rows = np.array(data["point"].combine_chunks().flatten()).reshape(-1, 2)
        site = data["site"].to_numpy()
        for group in range(GROUPS):
            missing = np.isnan(rows[site == group, 0]).sum()
            noisy, error = (whole.table[name][group].as_py() for name in COUNTS[2:])
            assert abs(noisy - missing) < DEVIATIONS * error


def test_groups_too_small_for_a_count_have_none_in_a_file(tmp_path):
    data = records().slice(0, 520)  # a group of 500 and one of 20
    source = write(tmp_path / "in.parquet", data)
    found = count(source, out=tmp_path / "out.parquet", coverage="each")
    assert found.coverage.counted == 1
    assert found.table["inside"].to_pylist()[1] is None
    assert found.coverage == cdp.batch.BatchReleases.open(found.path).coverage
    with pytest.raises(ValueError, match="each group"):
        cdp.batch.release(
            cdp.Mean(),
            source,
            points="point",
            ball=BALL,
            guarantee=cdp.GDP(1.0),
            coverage="each",
        )
    with pytest.raises(cdp.errors.BatchError, match="columns"):
        count(data.rename_columns(["inside", "point"]), by="inside", coverage="each")
