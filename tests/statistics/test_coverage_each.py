"""A count of the records of each group: its law, its price, its keys, what it tells."""

from __future__ import annotations

import itertools
import json
import math
import warnings

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE, DEVIATIONS
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.errors import CoverageWarning, ExistenceError
from curvedp.privacy import ZCDP, ApproxDP, GroupCoverage
from curvedp.privacy.coverage import _margin, coverage_from_dict
from curvedp.statistics.coverage import Counting
from curvedp.statistics.tallies import UNIT, Tally, categories, weights_of, weights_of_groups
from statistic_list import STATISTICS

LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
SPHERE = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
GDP = cdp.GDP(1.0)
OFFSETS = [0, 300, 700, 730]


def mixed():
    """Groups of 300, 400 and 30 records; a third of the first is no point, the second outside."""
    records = np.zeros((730, 1))
    records[:300:3] = np.nan
    records[300:700] = 5.0
    return records


def mean(records, guarantee=GDP, groups=OFFSETS, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        return cdp.frechet_mean(records, LINE, guarantee, groups=groups, coverage="each", **how)


@pytest.mark.parametrize("units", [None, [0, 2, 3, 6, 7, 7 + 2**20]], ids=["records", "units"])
def test_weights_of_groups_are_those_of_each_alone(units):
    rng = np.random.default_rng(0)
    ends = None if units is None else np.array(units)
    found = rng.integers(0, 3, 7 + 2**20).astype(float)
    offsets = np.array([0, 3, 3, 7, len(found)])
    alone = []
    for start, stop in itertools.pairwise(offsets):
        own = None if ends is None else ends[(ends >= start) & (ends <= stop)] - start
        alone.append(weights_of(found[start:stop], own) if stop > start else (0, 0))
    assert (np.array(alone, dtype=object) / UNIT == weights_of_groups(found, offsets, ends).T).all()


@pytest.mark.parametrize("several", [False, True], ids=["one ball", "a ball of each"])
def test_counts_of_the_pass_that_reads_the_records_are_those_of_their_categories(
    several, monkeypatch
):
    """Small groups, one that is spread over threads, and one that is too small for a count."""
    sizes = [60, 3, 300_000, *[40] * 300]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    rng = np.random.default_rng(5)
    records = rng.choice([0.0, 0.5, 5.0, np.nan], (ends[-1], 1))
    ball = [cdp.Ball("euclidean:1", [0.0], 0.3 + 0.01 * g) for g in range(len(sizes))]
    how = {"groups": ends, "coverage": "each", "skip_small": True}

    def counts():
        secret = cdp.NoiseSecret(bytes(32))  # the same noise, if all else is the same
        balls = ball if several else LINE
        found = cdp.frechet_mean(records, balls, cdp.PureDP(6.0), secret=secret, **how)
        return found.more["outside"], found.more["no_point"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        own = counts()
        asked = []
        monkeypatch.setattr(Tally, "of_each", lambda self, *given: asked.append(given))
        of_categories = counts()
    assert asked
    assert np.isnan(own[0][1])
    assert np.isfinite(own[0]).sum() == len(sizes) - 1
    np.testing.assert_array_equal(own, of_categories)


@pytest.mark.parametrize("guarantee", [GDP, cdp.PureDP(3.0)], ids=str)
@pytest.mark.parametrize("by_secret", [False, True], ids=["numbered", "derived"])
def test_numbers_of_groups_in_one_call_are_those_of_each_alone(guarantee, by_secret):
    rng = np.random.default_rng(0)
    n = np.concatenate((rng.integers(1, 400, 700), [2**20]))  # more than a task of groups
    ends = np.concatenate(([0], np.cumsum(n)))
    records = rng.random((ends[-1], 1))
    weights = rng.integers(0, n + 1, (2, len(n))).astype(float)
    keys = _core.GroupKeys.numbered(bytes(32))
    if by_secret:
        keys = _core.GroupKeys.derived(bytes(32), b"context")
    frame = _core.Frame(cdp.Euclidean(1).kernels, np.zeros(1), 1.0)
    design = _core.GroupDesign(1.0, None)

    def made(designs, choice):
        return _core.Groups([frame], ends, [design] * designs, choice, None)

    counting = Counting.of_each(guarantee, guarantee, n.tolist(), 1)
    asked = np.where(np.arange(len(n)) % 7, n, -1)
    found = counting.draw_each(asked, weights, made, records, keys)
    all_groups = made(1, np.zeros(len(n), dtype=np.int32))
    for group in [*range(0, 700, 9), 255, 256, 699, 700]:
        own = counting.of_group(int(n[group])) if asked[group] >= 0 else None
        if own is None:
            assert np.isnan(found[:, group]).all()
            continue
        stream = all_groups.stream(records, keys, group, 1, 0)
        pair = tuple(int(x) * UNIT for x in weights[:, group])
        alone = own.draw(pair, counting.total, stream)
        assert found[:, group].tolist() == [*alone.noisy, alone.standard_error]
    assert 20 < np.isfinite(found[0]).sum() < 650  # both kinds are among them


def test_each_group_has_its_own_numbers():
    found = mean(mixed())
    first, second, third = found
    for own, true in ((first, (200, 0, 100)), (second, (0, 400, 0))):
        off = np.abs(np.array(own.coverage.noisy) - true).max()
        assert off < DEVIATIONS * own.coverage.standard_error
        assert own.coverage.guarantee == found.coverage.guarantee
    assert "WARNING" in first.report()
    assert third.coverage is None
    assert "n = 39, or mu" in third.statement.accuracy
    assert (found.coverage.groups, found.coverage.counted, found.coverage.n) == (3, 2, 700)
    sums = np.add(first.coverage.noisy, second.coverage.noisy)
    np.testing.assert_allclose(found.coverage.noisy, sums)
    table = found.to_arrow()
    for name in ("inside", "outside", "no_point", "count_error"):
        column = table.column(name).to_pylist()
        assert column[2] is None
        np.testing.assert_array_equal(column[:2], found.more[name][:2])
    assert type(first).from_json(first.to_json()).coverage == first.coverage


@pytest.mark.parametrize("amount", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("kind", [cdp.GDP, cdp.PureDP])
def test_one_share_for_all_counts_every_group_that_the_rule_counts(kind, amount, records):
    way = kind(amount)
    sizes = [10, 60, 300, 2000, 10**6]
    own = Counting.of_each(way, way, sizes, records)
    for n in sizes:
        one = own.of_group(n)
        try:
            alone = Counting.of(way, way, n, records, 1)
        except ExistenceError:
            assert one is None
            continue
        assert one.noise.scale <= alone.noise.scale * (1 + 1e-9)
        assert one.noise.scale / records >= 1.0 / (
            own.own.mu if kind is cdp.GDP else own.own.epsilon
        )
    power = 2 if kind is cdp.GDP else 1
    spent = sum(
        getattr(p, "mu" if kind is cdp.GDP else "epsilon") ** power for p in (own.rest, own.own)
    )
    assert (1 - 1e-9) * amount**power < spent <= amount**power * (1 + 1e-12)


def test_a_groups_mean_and_count_keep_the_guarantee_and_a_quarter_of_its_noise_does_not():
    """The first group's record moves out of its ball; the second is only there."""
    here, there = np.zeros((120, 1)), np.zeros((120, 1))
    here[0], there[0] = -1.0, 9.0
    drawn = {}
    for name, records in (("a", there), ("b", here)):
        ends = 60 * np.arange(2 * 4000 + 1)
        found = list(mean(np.tile(records, (4000, 1)), groups=ends))[::2]
        means = np.array([one.unprojected[0] / one.scale for one in found])
        z = np.array([one.coverage.noisy for one in found]) @ [0.0, 1.0, 0.5]
        drawn[name] = means, z, found[0].coverage.standard_error * 0.5 * math.sqrt(3.0)

    def scores(name, noise):
        means, z, scale = drawn[name]
        true = 1.0 if name == "a" else 0.0
        z = true + noise * (z - true)
        return 2.0 / 60.0 / found[0].scale * means + z / (noise * scale) ** 2

    assert audit_samples(
        *(scores(name, 1.0) for name in "ab"), cdp.GDP(1.0), confidence=CONFIDENCE
    ).passed
    assert not audit_samples(
        *(scores(name, 0.25) for name in "ab"), cdp.GDP(1.0), confidence=CONFIDENCE
    ).passed


@pytest.mark.parametrize(
    "guarantee", [ApproxDP(1.0, 1e-6), ZCDP(0.5), cdp.GDP(1.0), cdp.PureDP(1.0)], ids=repr
)
def test_groups_cost_what_one_costs(guarantee):
    ledger = cdp.Ledger(guarantee)
    found = mean(mixed(), guarantee, ledger=ledger)
    assert len(ledger.entries) == 1
    assert found.guarantee == found.total == found[0].guarantee == guarantee
    several = cdp.compose(guarantee, guarantee)
    ledger = cdp.Ledger(several)
    twice = mean(mixed(), guarantee, groups_per_unit=2, ledger=ledger)
    assert twice.total == several
    assert twice[0].coverage.standard_error == found[0].coverage.standard_error


def test_noise_is_drawn_anew_for_whatever_differs_under_a_secret():
    records, names = np.zeros((600, 1)), np.repeat(["a", "b"], 300)

    def kept(records=records, groups=names, **how):
        secret = cdp.NoiseSecret(bytes(range(32)))
        return mean(records, groups=groups, secret=secret, **how)

    def noise(found):
        return [one.coverage.noisy for one in found]

    first = noise(kept())
    assert noise(kept()) == first
    moved = records.copy()
    moved[7] = 0.25
    others = [
        *first,
        noise(kept(moved))[0],
        *noise(kept(groups=[0, 300, 600])),
        *noise(kept(units=np.arange(600) // 2)),
        *noise(kept(guarantee=cdp.GDP(2.0))),
        *noise(kept(records_per_unit=2)),
    ]
    assert len(set(others)) == len(others)
    assert noise(kept(moved))[1] == first[1]  # nothing of the other group changed


def test_one_noise_at_two_scales_would_tell_the_numbers():
    """Another group of 40 gives this one another share, and so another key as well."""
    counts = []
    for further in (600, 640):
        records = np.zeros((further, 1))
        records[:600:4] = 5.0
        groups = np.repeat(["a", "b", "c"], [300, 300, 40])[:further]
        secret = cdp.NoiseSecret(bytes(range(32)))
        counts.append(mean(records, groups=groups, secret=secret)["a"].coverage)
    one, other = counts
    assert one.standard_error != other.standard_error
    told = np.subtract(
        np.multiply(one.noisy, other.standard_error), np.multiply(other.noisy, one.standard_error)
    ) / (other.standard_error - one.standard_error)
    assert np.abs(told - [225, 75, 0]).max() > 1e-3


@pytest.mark.parametrize("entry", STATISTICS, ids=repr)
def test_every_statistic_counts_each_group_or_says_that_it_does_not(entry):
    records = SPHERE.project(cdp.Sphere(2).random_point(900, rng=0))
    records[:300:3] = np.nan
    how = {"groups": [0, 300, 900], "coverage": "each"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not entry.statistic.counted:
            with pytest.raises(ValueError, match=r"does not count|leave coverage out"):
                entry.call(records, SPHERE, entry.guarantee, **how)
            return
        found = entry.call(records, SPHERE, entry.guarantee, **how)
        with pytest.raises(ValueError, match="each group"):
            entry.call(records, SPHERE, entry.guarantee, coverage="each")
    assert isinstance(found.coverage, GroupCoverage)
    for one, n, missing in zip(found, (300, 600), (100, 0), strict=True):
        error = one.coverage.standard_error
        assert one.coverage.n == n
        assert abs(one.coverage.noisy[2] - missing) < DEVIATIONS * error
        guarantee = getattr(one.guarantee, "claimed", one.guarantee)
        assert guarantee == entry.guarantee


def test_units_and_balls_of_groups():
    records = np.repeat([[0.0], [5.0]], 300, axis=0).reshape(2, 300).T.reshape(600, 1)
    wide = cdp.Ball("euclidean:1", center=[0.0], radius=6.0)
    how = {"groups": [0, 200, 600], "units": np.repeat(np.arange(300), 2), "coverage": "each"}
    with pytest.warns(CoverageWarning, match="in 1 of 2 groups few"):
        found = cdp.frechet_mean(records, [LINE, wide], cdp.GDP(1e4), **how)
    assert [own.coverage.n for own in found] == [100, 200]
    assert found[0].coverage.outside == pytest.approx(50, abs=0.1)
    assert found[1].coverage.outside == pytest.approx(0, abs=0.1)


def test_groups_that_are_skipped_are_not_counted():
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=5.0)
    records = np.tile([1.0, 0.0, 0.0], (4010, 1))
    how = {"groups": [0, 2000, 2010, 4010], "skip_small": True, "coverage": "each"}
    found = cdp.frechet_mean(records, ball, cdp.PureDP(1.0), **how)
    assert found.released.tolist() == [True, False, True]
    assert np.isnan(found.more["inside"]).tolist() == [False, True, False]


def test_seeds_and_steady_times():
    records, how = mixed(), {"seed": 3}
    found = mean(records, **how)
    assert isinstance(found.coverage.guarantee, cdp.Unproved)
    steady = mean(records, timing="steady", **how)
    for name in ("inside", "outside", "no_point"):
        np.testing.assert_array_equal(found.more[name], steady.more[name])
    assert found.coverage == steady.coverage


def test_a_classifier_counts_each_class():
    records = SPHERE.project(cdp.Sphere(2).random_point(600, rng=0))
    records[::2][:100] = np.nan
    model = cdp.learning.PrivateMDM(ball=SPHERE, guarantee=cdp.GDP(30.0), coverage="each")
    with pytest.warns(CoverageWarning, match="1 of 2 groups"):
        model.fit(records, np.where(np.arange(600) % 2, "odd", "even"))
    assert model.coverage_.unreadable == 1
    assert "WARNING" in model.releases_["even"].report()
    assert "WARNING" not in model.releases_["odd"].report()


@pytest.mark.parametrize("noise", ["Gaussian", "Laplace"])
@pytest.mark.parametrize("groups", [1, 30, 1000])
def test_many_right_groups_alarm_as_seldom_as_one(noise, groups):
    """Limits at which one group in a hundred alarms would do so in two of three hundred sets."""
    rng, n, error = np.random.default_rng(1), 1000.0, 40.0
    way = {"Gaussian": cdp.GDP(1.0), "Laplace": cdp.PureDP(1.0)}[noise]
    size = (4000 if groups < 1000 else 400, groups)
    z = rng.standard_normal((*size, 2))
    if noise == "Laplace":  # a length of density r exp(-r), and deviation sqrt(3) of a coordinate
        z /= np.linalg.norm(z, axis=-1, keepdims=True)
        z *= rng.gamma(2.0, size=size)[..., None] / math.sqrt(3.0)
    z *= error * math.sqrt(3.0) / 2.0
    no_point = 2.0 / math.sqrt(3.0) * z[..., 1]
    outside = z[..., 0] - 0.5 * no_point
    alarms = [
        bool(
            GroupCoverage.of(
                np.full(groups, n),
                own,
                none,
                np.full(groups, error),
                groups=groups,
                noise=noise,
                guarantee=way,
            ).warnings
        )
        for own, none in zip(outside, no_point, strict=True)
    ]
    assert np.mean(alarms) < 0.03
    assert _margin(noise, 1) == pytest.approx({"Gaussian": 2.0, "Laplace": 2.5}[noise])


def test_sums_of_parts_are_those_of_the_whole_and_survive_json():
    rng = np.random.default_rng(2)
    n = np.full(40, 100.0)
    outside, none, error = rng.random((3, 40)) * 30
    error[7] = np.nan
    how = {"groups": 40, "noise": "Laplace", "guarantee": cdp.PureDP(0.1)}
    whole = GroupCoverage.of(n, outside, none, error, **how)
    parts = [
        GroupCoverage.of(*(own[s] for own in (n, outside, none, error)), **how)
        for s in (slice(0, 11), slice(11, 40))
    ]
    both = parts[0] + parts[1]
    assert (both.groups, both.counted, both.n) == (40, 39, 3900)
    assert (both.unreadable, both.elsewhere) == (whole.unreadable, whole.elsewhere)
    np.testing.assert_allclose(both.noisy, whole.noisy)
    assert both.standard_error == pytest.approx(whole.standard_error)
    assert coverage_from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


def test_what_each_cannot_be_is_refused():
    with pytest.raises(ExistenceError, match="every group has too few") as refused:
        mean(np.zeros((40, 1)), groups=[0, 20, 40])
    assert refused.value.smallest_n == 39
    found = categories([LINE], np.zeros((4, 1)), np.array([0, 4]))
    assert weights_of_groups(found + 2.0, np.array([0, 4]), None).tolist() == [[0.0], [4.0]]
