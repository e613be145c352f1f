"""The contract of every statistic: one data set or many groups, paid for once."""

from __future__ import annotations

import datetime
import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import curvedp as cdp
from curvedp.errors import BudgetError, ConversionError, ExistenceError
from statistic_list import STATISTICS, Entry

LABELS = ("north", "south", "west")
SIZES = (40, 25, 35)
SECRET = bytes(range(7, 39))


@pytest.fixture(params=STATISTICS, ids=repr)
def own(request) -> Entry:
    return request.param


BALLS = {
    "sphere": cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5),
    "wide": cdp.Ball(cdp.Hyperboloid(2), center=[1.25, 0.75, 0.0], radius=4.0),
}


@pytest.fixture(scope="module", params=["sphere", pytest.param("wide", marks=pytest.mark.thorough)])
def data(request):
    """A ball, records in and about it, some of them no points, and their sites."""
    ball = BALLS[request.param]
    generator = np.random.default_rng(0)
    spread = 0.4 * ball.radius * generator.standard_normal((sum(SIZES), 2))
    coords = 0.2 * ball.radius + spread
    records = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    records[4::31] = np.nan
    order = generator.permutation(len(records))
    return ball, records[order], np.repeat(LABELS, SIZES)[order]


def secret():
    return cdp.NoiseSecret(SECRET)


def same(a, b):
    """True if two results are the same to the last bit, in every number and part."""
    return json.loads(a.to_json()) == json.loads(b.to_json())


def run(own, ball, records, **how):
    return own.call(records, ball, how.pop("guarantee", own.guarantee), **how)


def test_one_data_set_is_a_group_of_one(own, data):
    ball, records, _ = data
    alone = run(own, ball, records, secret=secret(), coverage=False)
    grouped = run(own, ball, records, groups=[0, len(records)], secret=secret(), coverage=False)
    assert len(grouped) == 1
    found = grouped[0].to_json()
    assert json.loads(found) == json.loads(without_groups(alone.to_json()))
    seeded = run(own, ball, records, seed=3, coverage=False)
    assert isinstance(seeded.guarantee, cdp.Unproved)
    again = run(own, ball, records, groups=[0, len(records)], seed=3, coverage=False)[0]
    assert json.loads(again.to_json()) == json.loads(without_groups(seeded.to_json()))


def without_groups(text):
    """The assumption that a release of groups has beside those of one data set, added."""
    assert '"public-groups"' not in text
    described = json.loads(text)
    pending = [described]
    while pending:
        own = pending.pop()
        if isinstance(own, dict):
            if "assumptions" in own:
                own["assumptions"] = sorted({*own["assumptions"], "public-groups"})
            pending.extend(own.values())
        elif isinstance(own, list):
            pending.extend(own)
    return json.dumps(described)


def test_a_group_is_released_as_it_would_be_in_other_company(own, data):
    ball, records, site = data
    whole = run(own, ball, records, groups=site, secret=secret(), coverage=False)
    assert sorted(whole.labels) == sorted(LABELS)
    for label in LABELS:
        rows = records[site == label]
        few = run(own, ball, rows, groups=[label] * len(rows), secret=secret(), coverage=False)
        assert same(few[label], whole[label])
        assert whole[label].n == len(rows)


def test_threads_change_nothing(own, data):
    ball, records, site = data
    found = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        found.append(run(own, ball, records, groups=site, seed=1))
    cdp.set_num_threads(0)
    for other in found[1:]:
        assert all(same(found[0][label], other[label]) for label in LABELS)


def test_a_secret_gives_the_same_noise_again_and_new_noise_to_what_changed(own, data):
    ball, records, site = data
    first = run(own, ball, records, groups=site, secret=secret())
    again = run(own, ball, records, groups=site, secret=secret())
    assert all(same(first[label], again[label]) for label in LABELS)
    changed, at = records.copy(), int(np.flatnonzero(site == "south")[0])
    changed[at] = records[np.flatnonzero(site == "north")[0]]
    other = run(own, ball, changed, groups=site, secret=secret())
    moved = [label for label in LABELS if not same(first[label], other[label])]
    assert moved == ["south"]
    fresh = [run(own, ball, records, groups=site) for _ in range(2)]
    assert not any(same(fresh[0][label], fresh[1][label]) for label in LABELS)
    renamed = run(own, ball, records, groups=np.char.add(site, "ern"), secret=secret())
    assert not any(same(first[label], renamed[f"{label}ern"]) for label in LABELS)


def test_all_is_paid_for_once_before_noise_is_drawn(own, data):
    ball, records, site = data
    whole = cdp.compose(*[own.guarantee] * 4)
    ledger = cdp.Ledger(whole)
    releases = run(own, ball, records, groups=site, groups_per_unit=4, ledger=ledger)
    assert ledger.spent == releases.total == whole
    assert [entry.label for entry in ledger.entries] == [f"{releases.statistic} of 3 groups"]
    assert releases.guarantee == releases["west"].guarantee == own.guarantee
    for part in releases.parts:
        assert part.total == cdp.compose(*[part.guarantee] * 4)
    for groups in (site, None):
        with pytest.raises(BudgetError):
            run(own, ball, records, groups=groups, ledger=ledger)
    single = cdp.Ledger(own.guarantee)
    assert run(own, ball, records, ledger=single).guarantee == own.guarantee
    assert single.spent == own.guarantee


def test_a_seed_voids_the_guarantee_and_no_ledger_pays_for_it(own, data):
    ball, records, site = data
    releases = run(own, ball, records, groups=site, seed=0)
    for release in (releases, releases["north"], run(own, ball, records, seed=0)):
        assert isinstance(release.guarantee, cdp.Unproved)
    assert isinstance(releases.total, cdp.Unproved)
    for groups in (site, None):
        with pytest.raises(ConversionError):
            run(own, ball, records, groups=groups, seed=0, ledger=cdp.Ledger(own.guarantee))


def test_wrong_calls_are_refused_before_anything_is_spent(own, data):
    ball, records, site = data
    ledger = cdp.Ledger(own.guarantee)
    wrong = [
        ({"groups": site[:-1]}, "labels, one for each of 100 records, or offsets"),
        ({"groups": [0, 50, 50, 100]}, "group 1 is empty"),
        ({"groups": [0, 60, 20, 100]}, "must not decrease"),
        ({"groups": [1, 100]}, "begin at 0"),
        ({"groups": [0, 101]}, "end at 100"),
        ({"groups": np.linspace(0.0, 1.0, 100)}, "exact equality"),
        ({"groups": [[]] * 100}, "hashable"),
        ({"groups": np.zeros((100, 2))}, "one dimension"),
        ({"groups": "north"}, "one label for each record"),
        ({"groups_per_unit": 0}, "at least 1"),
        ({"records_per_unit": 0}, "at least 1"),
        ({"seed": -1}, "at least 0"),
        ({"seed": 1, "secret": secret()}, "not both"),
        ({"secret": "text"}, "NoiseSecret"),
        ({"guarantee": "epsilon"}, "guarantee must be"),
        *(own.refused if ball is BALLS["sphere"] else ()),
    ]
    for changes, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            run(own, ball, records, ledger=ledger, **changes)
    assert ledger.spent is None
    with pytest.raises(TypeError, match="keyword"):
        run(own, ball, records, wieghts=(1, 1))


def test_groups_that_are_too_small_are_refused_or_skipped(own, data):
    ball, records, _ = data
    if own.least == 1:
        pytest.skip("exists for one record")
    ledger = cdp.Ledger(own.guarantee)
    offsets = [0, own.least - 1, 60]
    for groups in (offsets, None):
        rows = records[: 60 if groups else own.least - 1]
        with pytest.raises(ExistenceError, match=f"at least {own.least} records") as caught:
            run(own, ball, rows, groups=groups, ledger=ledger)
        assert caught.value.smallest_n == own.least
    assert ledger.spent is None
    releases = run(own, ball, records[:60], groups=offsets, skip_small=True, ledger=ledger)
    assert releases.released.tolist() == [False, True]
    assert np.isnan(releases.value[0]).all()
    assert len(list(releases)) == 1
    with pytest.raises(ValueError, match="group 0 was skipped"):
        releases[0]
    assert releases.to_arrow()["value"].null_count == 1


def test_results_survive_json_and_statistics_do(own, data):
    ball, records, site = data
    releases = run(own, ball, records, groups=site)
    for result in (*releases, run(own, ball, records)):
        assert type(result).from_json(result.to_json()).to_json() == result.to_json()
        assert own.guarantee == result.guarantee
    options = json.loads(json.dumps(own.statistic.options()))
    assert type(own.statistic).from_options(options) == own.statistic
    assert hash(type(own.statistic).from_options(options)) == hash(own.statistic)


def test_progress_counts_groups_and_its_error_ends_the_call(own, data):
    ball, records, site = data
    for groups, count in ((site, 3), (None, 1)):
        seen: list[tuple[int, int]] = []
        run(own, ball, records, groups=groups, progress=lambda *at, seen=seen: seen.append(at))
        assert seen[-1] == (count, count)
        assert sorted(seen) == seen

    def stop(done, count):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(own, ball, records, groups=site, progress=stop)


def test_progress_on_standard_error_names_no_record(own, data, capsys):
    ball, records, site = data
    run(own, ball, records, groups=site, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "curvedp: 3 of 3 groups"


def test_labels_may_be_of_any_kind(own, data):
    ball, records, site = data
    number = np.array([LABELS.index(label) for label in site])
    expected = run(own, ball, records, groups=site, seed=2)
    day = {label: datetime.date(2026, 1, 1 + at) for at, label in enumerate(LABELS)}
    kinds = {
        "list": list(site),
        "arrow": pa.array(site),
        "dictionary": pa.array(site).dictionary_encode(),
        "pandas": pa.array(site).to_pandas().astype("category"),
        "integers": number,
        "dates": [day[label] for label in site],
        "pairs": [(label, 1) for label in site],
        "missing": [None if label == "west" else label for label in site],
    }
    for kind, labels in kinds.items():
        releases = run(own, ball, records, groups=labels, seed=2)
        assert len(releases) == 3, kind
        for found, other in zip(releases, expected, strict=True):
            assert same(found, other), kind
        assert set(releases.keys()) == set(releases.labels)
    assert same(expected[0], expected[expected.labels[0]])
    with pytest.raises(KeyError):
        expected["east"]
    offsets = run(own, ball, records, groups=[0, 30, 100], seed=2)
    assert [release.n for release in offsets] == [30, 70]
    assert same(offsets[-1], offsets[1])
    with pytest.raises(IndexError):
        offsets[2]


def test_one_ball_per_group_gives_what_each_ball_would(own, data):
    ball, records, _ = data
    if isinstance(own.statistic, cdp.Quantile):
        pytest.skip("its interval is its ball")
    balls = [cdp.Ball(ball.manifold, ball.center, radius) for radius in (0.3, 0.5)]
    how = {"seed": 4, "coverage": False}
    both = run(own, balls, records, groups=[0, 40, 100], **how)
    alone = run(own, balls[0], records[:40], groups=[0, 40], **how)
    assert both[0].to_json() == alone[0].to_json()
    with pytest.raises(ValueError, match="3 balls do not fit 2 groups"):
        run(own, [ball] * 3, records, groups=[0, 40, 100])
    with pytest.raises(ValueError, match="ball is empty"):
        run(own, [], records)
    plane = cdp.Ball("euclidean:3", [0.0, 0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="one manifold"):
        run(own, [ball, plane], records, groups=[0, 40, 100])


def test_releases_are_a_table(own, data):
    ball, records, site = data
    releases = run(own, ball, records, groups=site)
    table = releases.to_arrow()
    assert table["group"].to_pylist() == list(releases.labels)
    assert table["n"].to_pylist() == releases.n.tolist()
    value = np.array(table["value"].to_pylist()).reshape(releases.value.shape)
    assert np.array_equal(value, releases.value)
    assert set(table["guarantee"].to_pylist()) == {str(own.guarantee)}
    frame = releases.to_pandas()
    assert frame.loc["south", "n"] == 25
    assert repr(releases).startswith(f"<Releases: {releases.statistic} of 3 groups")


@pytest.mark.parametrize("fill", [np.nan, np.inf, 0.0, 1e308, 5e-324, -1.0])
def test_no_record_raises_or_warns(own, data, fill):
    ball, records, site = data
    spoilt = records.copy()
    spoilt[::2] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for groups in (site, None):
            result = run(own, ball, spoilt, groups=groups)
            values = list(result) if groups is not None else [result]
            assert len(values) == (3 if groups is not None else 1)
