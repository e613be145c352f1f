"""Private means of many groups: each is, bit for bit, the release of that group alone."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.errors import BudgetError, ConversionError, ExistenceError
from curvedp.statistics.frechet_mean import design_mean
from curvedp.statistics.frechet_means import MeanPlan
from group_cases import SIZES, groups, hmac_key, same_bits


def alone(ball, records, guarantee, stream):
    """The release of one group by the code that releases one data set."""
    design = design_mean(ball, len(records), guarantee, 1, calibration="proved", mechanism=None)
    mean = ball._frame.mean(ball._enter(records), design.plan)
    return design.mechanism._release(mean, stream, 1)[0], design


@pytest.mark.parametrize("guarantee", [cdp.PureDP(2000.0), cdp.GDP(1.0), cdp.GDP(0.01)], ids=repr)
def test_a_group_is_released_as_it_would_be_alone(small_case, guarantee):
    ball, records, offsets = groups(small_case)
    releases = cdp.frechet_means(records, offsets, ball, guarantee, seed=5)
    for g, (start, end) in enumerate(itertools.pairwise(offsets)):
        stream = _core.Stream.of_groups((5).to_bytes(32, "little"), g)
        value, design = alone(ball, records[start:end], guarantee, stream)
        assert same_bits(releases.value[g], value), g
        assert releases.scale[g] == design.mechanism.scale
        assert releases.sensitivity[g] == design.sensitivity
        assert releases.solver_tolerance[g] == design.plan.tolerance
        assert releases.n[g] == end - start


def test_one_ball_per_group_gives_what_each_ball_would(small_case):
    ball, records, offsets = groups(small_case)
    radii = ball.radius * np.linspace(0.3, 1.0, len(SIZES)).round(1)
    balls = [cdp.Ball(ball.manifold, ball.center, radius) for radius in radii]
    releases = cdp.frechet_means(records, offsets, balls, cdp.GDP(1.0), seed=5)
    for g, own in enumerate(balls):
        stream = _core.Stream.of_groups((5).to_bytes(32, "little"), g)
        value, design = alone(own, records[offsets[g] : offsets[g + 1]], cdp.GDP(1.0), stream)
        assert same_bits(releases.value[g], value), g
        assert releases.scale[g] == design.mechanism.scale
        assert releases[g].ball_radius == own.radius


@pytest.fixture
def sphere_groups():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5)
    generator = np.random.default_rng(3)
    records = ball.project(cdp.Sphere(2).random_point(4000, rng=generator))
    return ball, records, np.arange(0, 4001, 20)


@pytest.fixture
def secret(tmp_path):
    return cdp.NoiseSecret.create(tmp_path / "secret")


def test_results_do_not_depend_on_the_number_of_threads(sphere_groups):
    ball, records, _ = sphere_groups
    many = np.tile(records, (40, 1))
    offsets = np.concatenate(([0], np.arange(9, 130_000, 7), [130_000, 160_000]))
    values = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        values.append(cdp.frechet_means(many, offsets, ball, cdp.GDP(1.0), seed=1).value)
    cdp.set_num_threads(2)
    assert same_bits(values[0], values[1])
    assert same_bits(values[0], values[2])


def test_fresh_noise_differs_between_groups_and_calls(sphere_groups):
    ball, records, offsets = sphere_groups
    same = np.tile(records[:20], (200, 1))
    first = cdp.frechet_means(same, offsets, ball, cdp.PureDP(1.0))
    second = cdp.frechet_means(same, offsets, ball, cdp.PureDP(1.0))
    rows = {row.tobytes() for row in np.concatenate((first.value, second.value))}
    assert len(rows) == 400
    assert first.assumptions == {"idealized-sampling", "public-groups"}


def test_the_secret_yields_the_documented_keys(sphere_groups, secret):
    ball, records, offsets = sphere_groups
    names = [f"site {g}" for g in range(200)]
    releases = cdp.frechet_means(
        records, offsets, ball, cdp.PureDP(1.0), secret=secret, names=names
    )
    unnamed = cdp.frechet_means(records, offsets, ball, cdp.PureDP(1.0), secret=secret)
    plan = MeanPlan(balls=(ball,), guarantee=cdp.PureDP(1.0))
    for g in (0, 7, 199):
        own = records[20 * g : 20 * g + 20]
        for name, result in ((names[g].encode(), releases), (struct.pack("<Q", g), unnamed)):
            key = hmac_key(secret, plan, name, ball, result.scale[g], own)
            value, _ = alone(ball, own, cdp.PureDP(1.0), _core.Stream.from_key(key, 0))
            assert same_bits(result.value[g], value)
    assert releases.guarantee == cdp.PureDP(1.0)


def test_with_a_secret_the_same_call_gives_the_same_bits_and_a_changed_record_new_noise(
    sphere_groups, secret
):
    ball, records, offsets = sphere_groups
    first = cdp.frechet_means(records, offsets, ball, cdp.PureDP(1.0), secret=secret)
    again = cdp.frechet_means(records, offsets, ball, cdp.PureDP(1.0), secret=secret)
    assert same_bits(first.value, again.value)
    changed = records.copy()
    changed[41] = records[42]
    other = cdp.frechet_means(changed, offsets, ball, cdp.PureDP(1.0), secret=secret)
    differs = (first.value != other.value).any(axis=1)
    assert np.flatnonzero(differs).tolist() == [2]
    step = np.linalg.norm(first.value[2] - other.value[2])
    assert step > 0.1 * first.scale[2]  # new noise: the mean itself moves by far less
    budget = cdp.frechet_means(records, offsets, ball, cdp.PureDP(0.5), secret=secret)
    assert (first.value != budget.value).any(axis=1).all()
    swapped = np.concatenate((records[20:40], records[:20], records[40:]))
    moved = cdp.frechet_means(swapped, offsets, ball, cdp.PureDP(1.0), secret=secret)
    assert (moved.value[:2] != first.value[1::-1]).any(axis=1).all()
    assert same_bits(moved.value[2:], first.value[2:])


def test_groups_compose_in_parallel_once_for_each_group_of_a_unit(sphere_groups):
    ball, records, offsets = sphere_groups
    once = cdp.Ledger(cdp.PureDP(3.0))
    releases = cdp.frechet_means(records, offsets, ball, cdp.PureDP(1.0), ledger=once)
    assert once.spent == releases.total == cdp.PureDP(1.0)
    several = cdp.Ledger(cdp.PureDP(3.0))
    releases = cdp.frechet_means(
        records, offsets, ball, cdp.PureDP(1.0), groups_per_unit=3, ledger=several
    )
    assert several.spent == releases.total == cdp.PureDP(3.0)
    assert releases.guarantee == cdp.PureDP(1.0)
    with pytest.raises(BudgetError):
        cdp.frechet_means(records, offsets, ball, cdp.PureDP(0.1), ledger=several)
    gaussian = cdp.frechet_means(records, offsets, ball, cdp.GDP(1.0), groups_per_unit=4)
    assert gaussian.total == cdp.GDP(2.0)


def test_seeded_groups_are_unproved_and_no_ledger_pays_for_them(sphere_groups):
    ball, records, offsets = sphere_groups
    releases = cdp.frechet_means(records, offsets, ball, cdp.PureDP(1.0), seed=0)
    assert isinstance(releases.guarantee, cdp.Unproved)
    assert isinstance(releases.total, cdp.Unproved)
    assert isinstance(releases[3].guarantee, cdp.Unproved)
    with pytest.raises(ConversionError):
        cdp.frechet_means(
            records, offsets, ball, cdp.PureDP(1.0), seed=0, ledger=cdp.Ledger(cdp.PureDP(9.0))
        )


def test_rows_of_the_result_are_releases(sphere_groups):
    ball, records, offsets = sphere_groups
    releases = cdp.frechet_means(records, offsets, ball, cdp.ZCDP(0.5), records_per_unit=2)
    assert len(releases) == 200
    last = releases[-1]
    assert last.n == 20
    assert last.records_per_unit == 2
    assert last.guarantee == cdp.ZCDP(0.5)
    assert same_bits(last.value, releases.value[199])
    assert "public-groups" in last.report()
    assert last == cdp.Release.from_json(last.to_json())
    assert [release.n for release in releases] == [20] * 200
    with pytest.raises(IndexError):
        releases[200]


def test_as_many_groups_as_records(sphere_groups):
    ball, records, _ = sphere_groups
    many = np.tile(records, (50, 1))
    releases = cdp.frechet_means(many, np.arange(200_001), ball, cdp.GDP(1.0))
    assert releases.value.shape == (200_000, 3)
    assert ball.manifold.belongs(releases.value).all()


def test_small_groups_are_refused_or_passed_over():
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    records = np.tile(1.2 * np.eye(3), (1003, 1, 1))
    offsets = [0, 2, 1002, 1003]
    with pytest.raises(ExistenceError, match="up to 2 records") as caught:
        cdp.frechet_means(records, offsets, ball, cdp.PureDP(0.5))
    assert caught.value.smallest_n is not None
    ledger = cdp.Ledger(cdp.PureDP(0.5))
    releases = cdp.frechet_means(
        records, offsets, ball, cdp.PureDP(0.5), pass_over=True, ledger=ledger
    )
    assert releases.released.tolist() == [False, True, False]
    assert np.isnan(releases.value[[0, 2]]).all()
    assert np.isnan(releases.scale[[0, 2]]).all()
    assert ball.manifold.belongs(releases.value[1])
    with pytest.raises(ValueError, match="passed over"):
        releases[0]


def test_a_refusal_spends_nothing():
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    with pytest.raises(ExistenceError):
        cdp.frechet_means(np.eye(3)[None], [0, 1], ball, cdp.PureDP(0.1), ledger=ledger)
    assert ledger.spent is None


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 20, 20, 4000], "group 1 is empty"),
        ([0, 3000, 20, 4000], "must not decrease"),
        ([1, 4000], "begin at 0"),
        ([0, 3999], "end at 4000"),
        ([0, 4001], "end at 4000"),
        ([0], "integers"),
        ([], "integers"),
        ([[0, 4000]], "integers"),
        ([0.0, 4000.0], "integers"),
        ([-(2**62), 4000], "begin at 0"),
    ],
)
def test_impossible_offsets_are_refused(sphere_groups, offsets, message):
    ball, records, _ = sphere_groups
    with pytest.raises(ValueError, match=message):
        cdp.frechet_means(records, offsets, ball, cdp.GDP(1.0))


def test_impossible_parameters_are_refused(sphere_groups, secret):
    ball, records, offsets = sphere_groups

    def call(**changes):
        arguments = {"points": records, "offsets": offsets, "balls": ball} | changes
        cdp.frechet_means(guarantee=cdp.GDP(1.0), **arguments)

    plane = cdp.Ball("euclidean:3", [0.0, 0.0, 0.0], 1.0)
    for changes, kind, message in (
        ({"points": records[:, :2]}, ValueError, "points must have shape"),
        ({"points": records[0]}, ValueError, "one record per row"),
        ({"balls": []}, ValueError, "balls is empty"),
        ({"balls": [ball, ball]}, ValueError, "2 balls do not fit"),
        ({"balls": [ball, plane]}, ValueError, "one manifold"),
        ({"balls": "ball"}, TypeError, "must be a Ball"),
        ({"names": ["a"]}, ValueError, "one name for each"),
        ({"names": ["a"] * 200}, ValueError, "must differ"),
        ({"names": list(range(200))}, TypeError, "must be strings"),
        ({"secret": "s"}, TypeError, "NoiseSecret"),
        ({"secret": secret, "seed": 1}, ValueError, "not both"),
        ({"groups_per_unit": 0}, ValueError, "at least 1"),
        ({"seed": -1}, ValueError, "at least 0"),
    ):
        with pytest.raises(kind, match=message):
            call(**changes)


def test_progress_is_reported_and_its_error_stops_the_work(sphere_groups):
    ball, records, offsets = sphere_groups
    seen = []
    cdp.frechet_means(records, offsets, ball, cdp.GDP(1.0), progress=lambda *s: seen.append(s))
    assert seen[-1] == (200, 200)
    assert sorted(seen) == seen

    def stop(done, count):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cdp.frechet_means(records, offsets, ball, cdp.GDP(1.0), progress=stop)


def test_the_noise_of_the_groups_has_its_scale():
    """Distances to the group's mean, known here, average to the expected error."""
    ball = cdp.Ball(cdp.SPD(2), center="identity", radius=1.0)
    records = np.tile(np.eye(2), (200_000, 1, 1))
    releases = cdp.frechet_means(records, np.arange(0, 200_001, 10), ball, cdp.PureDP(2.0))
    dist = ball.manifold.dist(releases.value, np.eye(2))
    spread = dist.std() / math.sqrt(len(dist))
    assert abs(dist.mean() - releases.expected_error[0]) < 5 * spread
