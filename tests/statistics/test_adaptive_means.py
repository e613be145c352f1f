"""Private adaptive means of many groups: each is, bit for bit, the release of that group alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.errors import BudgetError, ExistenceError
from curvedp.statistics.adaptive_means import AdaptivePlan
from curvedp.statistics.entry import Entry
from group_cases import groups, hmac_key, same_bits

SIZES = [1, 20, 7, 300, 2000, 33]
OPTIONS = [
    (cdp.PureDP(300.0), {"schedule": (0.3, 0.2, 0.5)}),
    (cdp.GDP(1.0), {}),
    (cdp.GDP(1.0), {"schedule": (1, 1, 1, 1, 2), "mechanism": "tangent-gaussian"}),
    (cdp.ApproxDP(1.0, 1e-6), {"quantile": 0.7, "records_per_unit": 3}),
]
NAMES = ["pure", "gaussian", "tangent", "options"]


@pytest.fixture
def alone(monkeypatch):
    """The release of one group by the code that releases one data set, from given streams."""

    def release(records, ball, guarantee, key, first=None, **options):
        def stream(entry, stage):
            if first is None:  # a key of the group alone
                return _core.Stream.from_key(key, stage)
            return _core.Stream.of_groups(key, first + stage)

        monkeypatch.setattr(Entry, "stream", stream)
        return cdp.adaptive_mean(records, ball, guarantee, **options)

    return release


NUMBERS = ("value", "base_point", "sensitivity", "solver_tolerance", "scale", "expected_error")
WORDS = ("n", "mechanism", "statistic", "manifold", "records_per_unit")


def assert_same(found, expected):
    """Two releases agree to the last bit, but for what differs between seeds and fresh keys."""
    pairs = [(found, expected), *zip(found.parts, expected.parts, strict=True)]
    for own, other in pairs:
        for name in (*NUMBERS, "ball_center", "ball_radius"):
            assert same_bits(getattr(own, name), getattr(other, name)), (own.statistic, name)
        for name in WORDS:
            assert getattr(own, name) == getattr(other, name), name
        assert own.guarantee.claimed == other.guarantee


@pytest.mark.parametrize(("guarantee", "options"), OPTIONS, ids=NAMES)
def test_a_group_is_released_as_it_would_be_alone(small_case, guarantee, options, alone):
    ball, records, offsets = groups(small_case, SIZES)
    releases = cdp.adaptive_means(records, offsets, ball, guarantee, seed=5, **options)
    key = (5).to_bytes(32, "little")
    blocks = releases.stages.shape[1]
    assert {1, 3, 5} >= {len(release.parts) for release in releases} >= {blocks}
    for g, (start, end) in enumerate(itertools.pairwise(offsets)):
        expected = alone(records[start:end], ball, guarantee, key, blocks * g, **options)
        assert_same(releases[g], expected)
        assert releases.radius[g] == expected.parts[-1].ball_radius


def test_one_ball_per_group_gives_what_each_ball_would(small_case, alone):
    ball, records, offsets = groups(small_case, SIZES)
    radii = ball.radius * np.linspace(0.3, 1.0, len(SIZES)).round(1)
    balls = [cdp.Ball(ball.manifold, ball.center, radius) for radius in radii]
    releases = cdp.adaptive_means(records, offsets, balls, cdp.GDP(1.0), seed=5)
    key, blocks = (5).to_bytes(32, "little"), releases.stages.shape[1]
    for g, own in enumerate(balls):
        rows = records[offsets[g] : offsets[g + 1]]
        assert_same(releases[g], alone(rows, own, cdp.GDP(1.0), key, blocks * g))


@pytest.fixture
def clumps():
    """Groups of 70 and of 7 records that lie close together, off the centre of a wide ball."""
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    coords = 0.2 + 0.05 * np.random.default_rng(3).standard_normal((7700, 2))
    sphere = ball.manifold
    records = sphere.exp(sphere.coords_to_tangent(coords, ball.center), ball.center)
    sizes = np.tile([70, 7], 100)
    return ball, records, np.concatenate(([0], np.cumsum(sizes)))


def test_results_do_not_depend_on_the_number_of_threads_or_on_other_groups(clumps, tmp_path):
    ball, records, offsets = clumps
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    names = [str(g) for g in range(200)]
    found = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        found.append(
            cdp.adaptive_means(records, offsets, ball, cdp.GDP(1.0), secret=secret, names=names)
        )
    cdp.set_num_threads(2)
    for other in found[1:]:
        assert same_bits(found[0].stages, other.stages)
    # 7 records have one stage; in the company of larger groups too
    few = cdp.adaptive_means(
        records[70:77], [0, 7], ball, cdp.GDP(1.0), secret=secret, names=names[1:2]
    )
    assert few.stages.shape[1] == 1
    assert same_bits(few.value[0], found[0].value[1])


def test_a_large_group_among_small_ones(alone):
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    records = ball.project(cdp.Sphere(2).random_point(100_020, rng=1))
    releases = cdp.adaptive_means(records, [0, 10, 100_010, 100_020], ball, cdp.GDP(1.0), seed=5)
    blocks = releases.stages.shape[1]
    key = (5).to_bytes(32, "little")
    assert_same(releases[1], alone(records[10:100_010], ball, cdp.GDP(1.0), key, blocks))


def test_balls_shrink_and_errors_with_them(clumps):
    ball, records, offsets = clumps
    adaptive = cdp.adaptive_means(records, offsets, ball, cdp.GDP(4.0))
    plain = cdp.frechet_means(records, offsets, ball, cdp.GDP(4.0))
    large = adaptive.n == 70
    assert (adaptive.radius[large] < 0.5 * ball.radius).all()
    centers = np.repeat(ball.center[None], 200, axis=0)
    sphere = ball.manifold
    true = sphere.exp(sphere.coords_to_tangent(np.full((200, 2), 0.2), centers), centers)
    error = np.mean(sphere.dist(adaptive.value, true)[large])
    assert error < 0.7 * np.mean(sphere.dist(plain.value, true)[large])


def test_the_secret_yields_the_documented_keys(clumps, tmp_path, alone):
    ball, records, offsets = clumps
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    names = [f"site {g}" for g in range(200)]
    claim = cdp.GDP(1.0)
    releases = cdp.adaptive_means(records, offsets, ball, claim, secret=secret, names=names)
    plan = AdaptivePlan(balls=(ball,), guarantee=claim)
    for g in (0, 1, 199):
        rows = records[offsets[g] : offsets[g + 1]]
        first = releases[g].parts[0].scale
        key = hmac_key(secret, plan, names[g].encode(), ball, first, rows)
        expected = alone(rows, ball, claim, key)
        for own, other in zip(releases[g].parts, expected.parts, strict=True):
            assert same_bits(own.value, other.value)
        assert releases[g].guarantee == claim


def test_a_row_of_the_result_is_a_release_with_its_stages(clumps):
    ball, records, offsets = clumps
    release = cdp.adaptive_means(records, offsets, ball, cdp.ZCDP(0.5))[0]
    assert [part.statistic for part in release.parts[:2]] == [
        "Fréchet mean",
        "quantile of distances",
    ]
    assert cdp.compose(*[part.guarantee for part in release.parts]).mu == pytest.approx(1.0)
    assert release == cdp.Release.from_json(release.to_json())
    assert "quantile of distances" in release.report()


def test_a_ledger_pays_once_for_all_stages_of_all_groups(clumps):
    ball, records, offsets = clumps
    ledger = cdp.Ledger(cdp.GDP(2.0))
    cdp.adaptive_means(records, offsets, ball, cdp.GDP(1.0), groups_per_unit=4, ledger=ledger)
    assert [entry.guarantee for entry in ledger.entries] == [cdp.GDP(2.0)]
    with pytest.raises(BudgetError):
        cdp.adaptive_means(records, offsets, ball, cdp.GDP(1.0), ledger=ledger)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": "often"}, "schedule must be"),
        ({"schedule": (1.0, 2.0)}, "odd number"),
        ({"quantile": 1.5}, "quantile"),
        ({"mechanism": "laplace"}, "mechanism must be"),
        ({"offsets": [0, 5, 5, 7700]}, "group 1 is empty"),
    ],
)
def test_impossible_calls_are_refused_before_anything_is_spent(clumps, changes, message):
    ball, records, offsets = clumps
    ledger = cdp.Ledger(cdp.GDP(1.0))
    arguments = {"offsets": offsets} | changes
    with pytest.raises(ValueError, match=message):
        cdp.adaptive_means(records, balls=ball, guarantee=cdp.GDP(1.0), ledger=ledger, **arguments)
    assert ledger.spent is None


def test_small_groups_are_refused_or_passed_over():
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    records = np.tile(1.2 * np.eye(3), (1003, 1, 1))
    offsets = [0, 2, 1002, 1003]
    with pytest.raises(ExistenceError, match="up to 2 records"):
        cdp.adaptive_means(records, offsets, ball, cdp.PureDP(1.0))
    releases = cdp.adaptive_means(records, offsets, ball, cdp.PureDP(1.0), pass_over=True)
    assert releases.released.tolist() == [False, True, False]
    assert np.isnan(releases.value[:, 0, 0]).tolist() == [True, False, True]
    assert np.isnan(releases.radius).tolist() == [True, False, True]


def test_no_record_raises_or_leaves_the_manifold(small_case):
    center = small_case.manifold.random_point(rng=1)
    radius = min(1.0, 0.6 * small_case.manifold.max_ball_radius)
    ball = cdp.Ball(small_case.manifold, center, radius)
    for fill in (np.nan, np.inf, 0.0, 1e308, 5e-324):
        records = np.tile(ball.center, (300, *[1] * ball.center.ndim))
        records[::2] = fill
        value = cdp.adaptive_means(records, [0, 30, 300], ball, cdp.GDP(20.0)).value
        assert np.isfinite(value).all()
        assert ball.manifold.belongs(value).all()
