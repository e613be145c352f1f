"""Private variances of many groups: each is, bit for bit, the release of that group alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.errors import BudgetError, ExistenceError
from curvedp.statistics.entry import Entry
from curvedp.statistics.frechet_variances import VariancePlan
from group_cases import SIZES, groups, hmac_key, same_bits

OPTIONS = [
    (cdp.PureDP(2000.0), {}),
    (cdp.GDP(1.0), {}),
    (cdp.ZCDP(1e-4), {"weights": (0.5, 0.5), "max_dist": 0.4, "records_per_unit": 3}),
]


@pytest.fixture
def alone(monkeypatch):
    """The release of one group by the code that releases one data set, from given streams."""

    def release(records, ball, guarantee, key, first=None, **options):
        def stream(entry, stage):
            if first is None:  # a key of the group alone
                return _core.Stream.from_key(key, stage)
            return _core.Stream.of_groups(key, first + stage)

        monkeypatch.setattr(Entry, "stream", stream)
        return cdp.frechet_variance(records, ball, guarantee, **options)

    return release


def assert_same(found, expected):
    """Two releases agree to the last bit, but for what differs between seeds and fresh keys."""
    for name in ("value", "base_point", "sensitivity", "solver_tolerance", "scale"):
        assert same_bits(getattr(found, name), getattr(expected, name)), name
    assert found.expected_error == pytest.approx(expected.expected_error, rel=1e-9)
    for name in ("n", "mechanism", "statistic", "manifold", "ball_radius", "records_per_unit"):
        assert getattr(found, name) == getattr(expected, name), name
    [mean], [other] = found.parts, expected.parts
    for name in ("value", "sensitivity", "solver_tolerance", "scale", "expected_error"):
        assert same_bits(getattr(mean, name), getattr(other, name)), name
    assert (mean.mechanism, mean.statistic) == (other.mechanism, other.statistic)


@pytest.mark.parametrize(("guarantee", "options"), OPTIONS, ids=["pure", "gaussian", "options"])
def test_a_group_is_released_as_it_would_be_alone(small_case, guarantee, options, alone):
    ball, records, offsets = groups(small_case)
    releases = cdp.frechet_variances(records, offsets, ball, guarantee, seed=5, **options)
    key = (5).to_bytes(32, "little")
    for g, (start, end) in enumerate(itertools.pairwise(offsets)):
        expected = alone(records[start:end], ball, guarantee, key, 2 * g, **options)
        assert_same(releases[g], expected)


def test_one_ball_per_group_gives_what_each_ball_would(small_case, alone):
    ball, records, offsets = groups(small_case)
    radii = ball.radius * np.linspace(0.3, 1.0, len(SIZES)).round(1)
    balls = [cdp.Ball(ball.manifold, ball.center, radius) for radius in radii]
    releases = cdp.frechet_variances(records, offsets, balls, cdp.GDP(1.0), seed=5)
    key = (5).to_bytes(32, "little")
    for g, own in enumerate(balls):
        rows = records[offsets[g] : offsets[g + 1]]
        assert_same(releases[g], alone(rows, own, cdp.GDP(1.0), key, 2 * g))


@pytest.fixture
def sphere_groups():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5)
    records = ball.project(cdp.Sphere(2).random_point(4000, rng=3))
    return ball, records, np.arange(0, 4001, 20)


def test_results_do_not_depend_on_the_number_of_threads(sphere_groups):
    ball, records, _ = sphere_groups
    many = np.tile(records, (40, 1))
    offsets = np.concatenate(([0], np.arange(9, 30_000, 7), [50_000, 160_000]))
    found = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        found.append(cdp.frechet_variances(many, offsets, ball, cdp.GDP(1.0), seed=1))
    cdp.set_num_threads(2)
    for other in found[1:]:
        assert same_bits(found[0].value, other.value)
        assert same_bits(found[0].parts[0].value, other.parts[0].value)


def test_the_secret_yields_the_documented_keys(sphere_groups, tmp_path, alone):
    ball, records, offsets = sphere_groups
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    names = [f"site {g}" for g in range(200)]
    claim = cdp.PureDP(1.0)
    releases = cdp.frechet_variances(records, offsets, ball, claim, secret=secret, names=names)
    means = cdp.frechet_means(records, offsets, ball, claim, secret=secret, names=names)
    plan = VariancePlan(balls=(ball,), guarantee=claim)
    for g in (0, 7, 199):
        own = records[20 * g : 20 * g + 20]
        scale = releases.parts[0].scale[g]
        key = hmac_key(secret, plan, names[g].encode(), ball, scale, own)
        assert_same(releases[g], alone(own, ball, claim, key))
    assert releases.guarantee == claim
    # a batch of means with the same secret has noise of its own
    assert (means.value != releases.parts[0].value).any(axis=1).all()
    clipped = cdp.frechet_variances(
        records, offsets, ball, claim, secret=secret, names=names, max_dist=0.9
    )
    assert (clipped.parts[0].value != releases.parts[0].value).any(axis=1).all()


def test_variances_are_about_the_groups_own_records(sphere_groups):
    ball, records, offsets = sphere_groups
    releases = cdp.frechet_variances(records, offsets, ball, cdp.GDP(1e6))
    for g in (0, 50, 199):
        own = records[20 * g : 20 * g + 20]
        mean = cdp.nonprivate.frechet_mean(own, ball.manifold).value
        exact = np.mean(ball.manifold.dist(mean, own) ** 2)
        assert abs(releases.value[g] - exact) < 1e-5


def test_all_groups_are_paid_for_once_and_refused_before(sphere_groups):
    ball, records, offsets = sphere_groups
    ledger = cdp.Ledger(cdp.GDP(2.0))
    releases = cdp.frechet_variances(
        records, offsets, ball, cdp.GDP(1.0), groups_per_unit=4, ledger=ledger
    )
    assert ledger.spent == releases.total == cdp.GDP(2.0)
    assert releases.parts[0].guarantee == cdp.GDP(0.5)
    with pytest.raises(BudgetError):
        cdp.frechet_variances(records, offsets, ball, cdp.GDP(0.1), ledger=ledger)
    for changes, kind, message in (
        ({"weights": (1.0,)}, ValueError, "two positive numbers"),
        ({"weights": (1.0, -1.0)}, ValueError, "greater than 0"),
        ({"max_dist": 0.0}, ValueError, "max_dist"),
        ({"balls": []}, ValueError, "balls is empty"),
        ({"offsets": [0, 20, 20, 4000]}, ValueError, "group 1 is empty"),
    ):
        arguments = {"offsets": offsets, "balls": ball} | changes
        with pytest.raises(kind, match=message):
            cdp.frechet_variances(records, guarantee=cdp.GDP(1.0), **arguments)


def test_a_row_of_the_result_is_a_release_with_its_mean(sphere_groups):
    ball, records, offsets = sphere_groups
    releases = cdp.frechet_variances(records, offsets, ball, cdp.PureDP(1.0))
    last = releases[-1]
    assert last.value.shape == ()
    assert last.parts[0].value.tolist() == releases.parts[0].value[199].tolist()
    assert "Fréchet mean" in last.report()
    assert last == cdp.Release.from_json(last.to_json())
    assert ball.contains(releases.base_point).all()


def test_small_groups_are_refused_or_passed_over():
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    records = np.tile(1.2 * np.eye(3), (1003, 1, 1))
    offsets = [0, 2, 1002, 1003]
    with pytest.raises(ExistenceError, match="up to 2 records"):
        cdp.frechet_variances(records, offsets, ball, cdp.PureDP(1.0))
    releases = cdp.frechet_variances(records, offsets, ball, cdp.PureDP(1.0), pass_over=True)
    assert releases.released.tolist() == [False, True, False]
    assert np.isnan(releases.value).tolist() == [True, False, True]
    assert np.isnan(releases.scale).tolist() == [True, False, True]
    assert np.isnan(releases.parts[0].value[0]).all()


def test_the_noise_of_the_groups_has_its_scale():
    """Constant records: what is left above 0 is half of the noise."""
    ball = cdp.Ball(cdp.Euclidean(2), center=[0.0, 0.0], radius=1.0)
    records = np.tile([0.5, 0.0], (400_000, 1))
    releases = cdp.frechet_variances(
        records, np.arange(0, 400_001, 20), ball, cdp.PureDP(50.0), weights=(0.9, 0.1), max_dist=9.0
    )
    positive = releases.value[releases.value > 0]
    assert 0.3 < len(positive) / 20_000 < 0.7
    # what is above 0 is nearly the positive half of Laplace noise
    assert np.mean(positive) == pytest.approx(np.mean(releases.scale), rel=0.1)
