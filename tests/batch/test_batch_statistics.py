"""Batches of every statistic: in memory, from file to file, interrupted, of all records."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import left_over, run
from curvedp.batch import parameters
from curvedp.errors import BatchError, BudgetError
from curvedp.statistics.release import release as release_records
from stored_texts import but_for_provenance

#: The same statistic with another keyword.
OTHER = {
    "variance": {"within": 0.1},
    "mean": {"mechanism": None},
    "adaptive": {"quantile": 0.6},
    "region": {"level": 0.8},
    "interval": {"level": 0.8},
    "kng": {"tau": 0.3},
    "regression": {"tau": 0.2},
    "trend": {"relabellings": 39},
    "k-means": {"n_rounds": 1},
    "logistic": {"n_steps": 4},
}


@pytest.fixture(params=cases.STATISTICS)
def word(request):
    """The word that selects the statistic."""
    return request.param


@pytest.fixture
def asked(word, secret):
    """Statistic, guarantee and noise."""
    return cases.asked(word) | {"secret": secret}


def test_every_word_has_its_statistic(word):
    kind = type(cases.STATISTICS[word][0])
    assert kind.name() == word
    assert parameters.statistic_named(word) is kind


def test_every_group_gets_the_release_of_its_records(asked, secret):
    data = cases.table(30)
    found = cases.release(data, coverage=False, **asked).table
    keys = list(zip(found["site"].to_pylist(), found["scanner"].to_pylist(), strict=True))
    names = [f"{'-' if site is None else f'{len(site)}:{site}'},1:{at}" for site, at in keys]
    rows, ages = np.array(data["direction"].to_pylist()), np.array(data["age"], dtype=float)
    labels, arms = np.repeat(names, cases.sizes(30)), np.array(data["arm"].to_pylist())

    def of(chosen):
        return release_records(
            asked["statistic"],
            rows[chosen],
            cases.ball(),
            asked["guarantee"],
            groups=labels[chosen],
            skip_small=True,
            secret=cdp.NoiseSecret.load(cases.unused(secret)),
            coverage=False,
            covariate=ages[chosen] if "covariate" in asked else None,
            labels=arms[chosen] if "labels" in asked else None,
        )

    expected = of(slice(None))
    place = [expected.labels.index(name) for name in names]
    assert found["n"].to_pylist() == expected.n[place].tolist() == cases.sizes(30).tolist()
    assert sum(expected.released) > 20
    for name, own in expected.columns().items():
        column = found[name].to_pylist()
        for g, at in enumerate(place):
            numbers = np.reshape(own[at], -1 if own.ndim > 1 else ())
            known = expected.released[at] and not np.isnan(numbers).any()
            assert column[g] == (numbers.tolist() if known else None), name
    largest = int(np.argmax(cases.sizes(30)))
    alone = of(labels == names[largest])
    assert np.array_equal(np.ravel(alone.value), np.ravel(found["value"][largest].as_py()))


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
def test_the_result_is_that_in_memory_for_every_chunk_size(tmp_path, word, asked, ordered):
    data = cases.table(60, ordered=ordered)
    source = cases.write(tmp_path / "in.parquet", data)
    expected = cases.release(data, **asked)
    results = []
    small = 1 if ordered else 8  # of records out of order each chunk is a file
    for chunk_rows in (small, 50, 1024, 10**6) if word == "mean" else (50, 10**6):
        out = tmp_path / f"out{chunk_rows}.parquet"
        found = cases.release(source, **asked, out=out, chunk_rows=chunk_rows)
        assert found.path == out
        results.append(found.table)
        assert cases.by_key(results[-1]) == cases.by_key(expected.table)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        own = {k: found.manifest[k] for k in ("job", "provenance")}
        own |= {"result_sha256": digest}
        assert found.manifest == expected.manifest | own
        told = out.with_name(out.name + ".manifest.json").read_text()
        assert told.strip() == found.manifest_json().strip()
    assert all(result.equals(results[0]) for result in results)
    if ordered:
        for name in set(results[0].column_names) - {"guarantee"}:
            assert results[0][name].to_pylist() == expected.table[name].to_pylist()
    own = asked["statistic"]
    assert found.manifest["statistic"] == own.title
    assert found.manifest["options"] == own.options()
    if own.options():
        other = dataclasses.replace(own, **OTHER.get(word, {"max_dist": 0.5}))
        assert other.options() != own.options()
    assert found.manifest["records"] == len(data)
    assert found.manifest["guarantee_of_all"] == asked["guarantee"].to_dict()
    assert left_over(tmp_path) == []


def test_an_interrupted_batch_goes_on_and_pays_once(tmp_path, word, asked, monkeypatch):
    data = cases.table(60)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(asked["guarantee"], path=tmp_path / "ledger")
    common = asked | {"ledger": ledger, "chunk_rows": 300}
    cases.interrupted(tmp_path, source, monkeypatch, **common)
    own = asked["statistic"]
    changed: cdp.Statistic = cdp.Variance()
    if own.options():
        changed = dataclasses.replace(own, **OTHER.get(word, {"max_dist": 0.5}))
    for other in (
        {"statistic": changed},
        {"statistic": cdp.LogCovariance(), "covariate": None, "labels": None},
    ):
        with pytest.raises(BatchError, match="another parameters"):
            run(tmp_path, source, **(common | other), resume=True)
    run(tmp_path, source, **common, resume=True)
    assert [entry.guarantee for entry in ledger.entries] == [asked["guarantee"]]
    assert f"{own.title} of 60 groups" in ledger.entries[0].label
    result = pq.read_table(tmp_path / "out.parquet")
    assert cases.by_key(result) == cases.by_key(cases.release(data, **asked).table)


def test_a_changed_covariate_gets_new_noise_and_a_missing_one_the_middle(secret):
    asked, data = cases.asked("regression") | {"secret": secret}, cases.table(20)
    first = cases.by_key(cases.release(data, **asked).table)
    ages = data["age"].to_pylist()
    at = next(i for i, n in enumerate(np.cumsum(cases.sizes(20))) if n > 40)
    row = int(np.cumsum(cases.sizes(20))[at]) - 1
    for value in (ages[row] + 1, None):
        changed = ages.copy()
        changed[row] = value
        other = data.set_column(3, "age", pa.array(changed, pa.float64()))
        second = cases.by_key(cases.release(other, **asked).table)
        assert sum(first[key] != second[key] for key in first) == 1


def test_a_refused_batch_releases_nothing(tmp_path, asked):
    data = cases.table(20)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.GDP(0.05))
    for changes, error in (
        ({}, BudgetError),
        ({"public_keys": False}, BatchError),
        ({"by": "place"}, BatchError),
        ({"guarantee": 1.0}, TypeError),
    ):
        with pytest.raises(error):
            run(tmp_path, source, **(asked | changes), ledger=ledger)
        with pytest.raises(error):
            cases.release(data, **(asked | changes), ledger=ledger)
    assert ledger.spent is None
    assert left_over(tmp_path) == []
    assert not (tmp_path / "out.parquet").exists()


def test_columns_of_every_statistic_are_reserved(asked):
    table = cases.release(cases.table(10), **asked).table
    assert set(table.column_names) - {"site", "scanner"} <= parameters._RESERVED
    for name in table.column_names[2:]:
        with pytest.raises(BatchError, match="rename the key"):
            cases.release(cases.table(10), **asked, by=name)


def test_a_table_in_pieces_is_released_as_a_whole_one(asked, in_pieces):
    data, seen = cases.table(60), []
    whole = cases.release(data, **asked)
    found = cases.release(
        in_pieces(data), **asked, progress=lambda done, count: seen.append((done, count))
    )
    assert found.table.column("value").num_chunks > 10
    assert found.table.combine_chunks().equals(whole.table)
    assert found.manifest == whole.manifest
    assert seen == sorted(seen)
    assert seen[-1] == (60, 60)


@dataclasses.dataclass(frozen=True)
class OwnMean(cdp.Mean):
    """A user's own statistic: the mean, by another name."""

    title = "mean of a user"


def test_a_statistic_of_ones_own_is_released_from_tables_and_files(tmp_path, secret):
    data, own = cases.table(20), OwnMean("tangent-gaussian")
    source = cases.write(tmp_path / "in.parquet", data)
    asked = {"statistic": own, "guarantee": cdp.GDP(1.0), "secret": secret}
    found = cases.release(source, **asked, out=tmp_path / "out.parquet", chunk_rows=50)
    assert found.manifest["statistic"] == "mean of a user"
    asked_for = cases.check_parameters(own, guarantee=cdp.GDP(1.0))
    told = parameters.BatchParameters.from_dict(asked_for.to_dict())
    assert told.call.statistic == own
    assert told.to_dict() == asked_for.to_dict()
    assert cases.by_key(found.table) == cases.by_key(cases.release(data, **asked).table)
    with pytest.raises(LookupError, match="import the module"):
        parameters.statistic_named("batch_cases:Nothing")


@dataclasses.dataclass(frozen=True)
class Disguised(cdp.Mean):
    """A statistic of a user under the title and the keywords of another."""


def test_a_secret_gives_a_statistic_of_ones_own_noise_of_its_own(secret):
    """Otherwise the difference of the two releases would be that of their exact values."""
    data = cases.table(20)
    asked = {"guarantee": cdp.GDP(1.0), "secret": secret}
    mean, own = (
        cases.by_key(cases.release(data, statistic=kind("tangent-gaussian"), **asked).table)
        for kind in (cdp.Mean, Disguised)
    )
    assert mean.keys() == own.keys()
    assert all(mean[key] != own[key] for key in mean)


def test_a_quantile_of_each_group(secret):
    data = cases.table(20)
    asked = {"guarantee": cdp.PureDP(4.0), "secret": secret, "points": "age"}
    quantile = cdp.Quantile(0.5, low=0.0, high=float(len(data)))
    found = cases.release(data, statistic=quantile, ball=quantile.ball(), **asked).table
    assert found["value"].null_count == 0


def test_two_samples_of_each_group(tmp_path, secret):
    data = cases.table(20)
    test = cdp.TwoSampleTest(samples=("drug", "placebo"), relabellings=19)
    asked = {"statistic": test, "guarantee": cases.LARGE, "skip_small": True, "labels": "arm"}
    found = cases.release(data, **asked, secret=secret).table
    keys = list(zip(found["site"].to_pylist(), found["scanner"].to_pylist(), strict=True))
    names = [f"{'-' if site is None else f'{len(site)}:{site}'},1:{at}" for site, at in keys]
    expected = cdp.release(
        test,
        np.array(data["direction"].to_pylist()),
        cases.ball(),
        cases.LARGE,
        labels=data["arm"].to_pylist(),
        groups=np.repeat(names, cases.sizes(20)),
        skip_small=True,
        secret=cdp.NoiseSecret.load(cases.unused(secret)),
    )
    for at, name in enumerate(names):
        index = expected.labels.index(name)
        own = expected.value[index] if expected.released[index] else None
        assert found["value"][at].as_py() == own
    with pytest.raises(TypeError, match="a table in memory"):
        cases.release(
            cases.write(tmp_path / "in.parquet", data), **asked, out=tmp_path / "out.parquet"
        )
    with pytest.raises(ValueError, match="those of 2 samples"):
        cases.release(data, **asked | {"statistic": cdp.TwoSampleTest(samples=("drug", "none"))})


def test_k_samples_of_each_group(secret):
    data = cases.table(20)
    test = cdp.KSampleTest(samples=("drug", "placebo"))
    asked = {"statistic": test, "guarantee": cases.LARGE, "skip_small": True, "labels": "arm"}
    found = cases.release(data, **asked, secret=secret).table
    values = [value for value in found["value"].to_pylist() if value is not None]
    assert {len(value) for value in values} == {3}
    again = cases.release(data, **asked, secret=cases.unused(secret)).table
    assert again["value"].to_pylist() == found["value"].to_pylist()


# ------------------------------------------------------------------------------------ all records


def test_without_a_key_all_records_are_one_data_set(tmp_path, word, asked, secret):
    data = cases.table(20, ordered=False)
    source = cases.write(tmp_path / "in.parquet", data)
    own = {name: value for name, value in asked.items() if name not in ("skip_small", "secret")}
    ledger = cdp.Ledger(asked["guarantee"])
    found = cases.release(data, **own, by=None, secret=secret, ledger=ledger)
    expected = release_records(
        asked["statistic"],
        np.array(data["direction"].to_pylist()),
        cases.ball(),
        asked["guarantee"],
        secret=cdp.NoiseSecret.load(cases.unused(secret)),
        covariate=np.array(data["age"], dtype=float) if "covariate" in asked else None,
        labels=data["arm"].to_pylist() if "labels" in asked else None,
    )
    assert but_for_provenance(found) == but_for_provenance(expected)
    assert ledger.spent == asked["guarantee"]
    if word != "mean":
        of_file = cases.release(source, **own, by=None, secret=secret)
        assert but_for_provenance(of_file) == but_for_provenance(found)


# ----------------------------------------------------------------------------- what is no batch


class Own(cdp.TangentGaussian):
    """A mechanism that a job on disk cannot name."""


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"statistic": cdp.Mean}, TypeError, "such as Mean"),
        ({"statistic": "mean"}, TypeError, "got str"),
        ({"statistic": cdp.Mean(Own), "guarantee": cdp.GDP(1.0)}, ValueError, "one of"),
        ({"statistic": cdp.FourthMoment(mean=[0.0, 0.0, 1.0])}, ValueError, "leave mean out"),
        ({"statistic": cdp.KNGMean(sampler="metropolis")}, ValueError, "what is proved"),
        ({"statistic": cdp.Region()}, TypeError, "Gaussian noise"),
        ({"statistic": cdp.Region(weights=(0.5, 0.5)), "guarantee": cdp.GDP(1.0)}, ValueError, "3"),
        ({"ball": [cases.ball()]}, TypeError, "ball must be"),
        ({"covariate": "age"}, TypeError, "takes no covariate"),
        ({"statistic": cdp.GeodesicLine((0.0, 1.0), 0.3, 0.5)}, TypeError, "needs covariate"),
        (
            {"statistic": cdp.GeodesicLine((0.0, 1.0), 0.3, 0.5), "covariate": "site"},
            BatchError,
            "column of its own",
        ),
        (
            {"statistic": cdp.GeodesicLine((0.0, 1.0), 0.3, 0.5), "covariate": "height"},
            BatchError,
            "no column 'height'",
        ),
    ],
)
def test_what_a_batch_cannot_release_is_refused_before_anything_is_spent(
    tmp_path, changes, error, message
):
    data = cases.table(5)
    source = cases.write(tmp_path / "in.parquet", data)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    for given, where in ((data, {}), (source, {"out": tmp_path / "out.parquet"})):
        with pytest.raises(error, match=message):
            cases.release(given, **where, **changes, ledger=ledger)
    assert ledger.spent is None
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    ("is_file", "changes", "message"),
    [
        (False, {"out": "out.parquet"}, "are for files"),
        (False, {"on": object()}, "are for files"),
        (False, {"resume": True}, "are for files"),
        (True, {}, "a file needs out"),
        (True, {"out": "out.parquet", "secret": "loaded"}, "given by its path"),
        (True, {"by": None, "out": "out.parquet"}, "give by"),
        (False, {"by": None, "groups_per_unit": 2}, "give by"),
        (False, {"by": None, "skip_small": True}, "give by"),
        (True, {"by": None, "secret": "loaded"}, "fresh noise"),
        (False, {"by": None, "statistic": cdp.Mean}, "such as Mean"),
        (True, {"by": None, "ball": [cases.ball()]}, "ball must be"),
    ],
)
def test_what_does_not_fit_the_source_is_refused(tmp_path, secret, is_file, changes, message):
    given = cases.table(5)
    if is_file:
        given = cases.write(tmp_path / "in.parquet", given)
    if "secret" in changes:
        changes = changes | {"secret": cdp.NoiseSecret.load(secret)}
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(TypeError, match=message):
        cases.release(given, **changes, ledger=ledger)
    assert ledger.spent is None
