"""Private confidence regions of many groups: each is, bit for bit, that of the group alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.curvature import has_curved_hessian
from curvedp.errors import BudgetError, ExistenceError
from curvedp.statistics.confidence_regions import RegionPlan
from curvedp.statistics.entry import Entry
from group_cases import groups, hmac_key, same_bits

SIZES = [60, 300, 33, 1500]
KEY = (5).to_bytes(32, "little")


@pytest.fixture
def alone(monkeypatch):
    """The region of one group by the code that releases one data set, from given streams."""

    def release(records, ball, guarantee, key, first=None, **options):
        def stream(entry, stage):
            if first is None:  # a key of the group alone
                return _core.Stream.from_key(key, stage)
            return _core.Stream.of_groups(key, first + stage)

        monkeypatch.setattr(Entry, "stream", stream)
        return cdp.confidence_region(records, ball, guarantee, **options)

    return release


def assert_same(found, expected):
    """Two regions agree to the last bit, but for what differs between seeds and fresh keys."""
    for name in ("estimate", "chart_point", "covariance", "quantile", "dof", "level", "n"):
        assert same_bits(getattr(found, name), getattr(expected, name)), name
    for own, other in zip(found.parts, expected.parts, strict=True):
        for name in ("value", "sensitivity", "solver_tolerance", "scale"):
            assert same_bits(getattr(own, name), getattr(other, name)), (own.statistic, name)
        if other.base_point is not None:
            assert same_bits(own.base_point, other.base_point)
        assert own.expected_error == pytest.approx(other.expected_error, rel=1e-9)
        for name in ("n", "mechanism", "statistic", "manifold", "records_per_unit"):
            assert getattr(own, name) == getattr(other, name), name
        assert own.guarantee.claimed == other.guarantee


@pytest.mark.parametrize(
    ("guarantee", "options"),
    [
        (cdp.GDP(20.0), {}),
        (cdp.ZCDP(0.02), {"level": 0.8, "max_dist": 0.4, "records_per_unit": 3}),
    ],
    ids=["large budget", "options"],
)
def test_a_group_is_released_as_it_would_be_alone(small_case, guarantee, options, alone):
    ball, records, offsets = groups(small_case, SIZES)
    regions = cdp.confidence_regions(records, offsets, ball, guarantee, seed=5, **options)
    assert len(regions.parts) == 2 + has_curved_hessian(ball.manifold)
    for g, (start, end) in enumerate(itertools.pairwise(offsets)):
        expected = alone(records[start:end], ball, guarantee, KEY, 3 * g, **options)
        assert_same(regions[g], expected)


@pytest.fixture
def clumps():
    """Groups of 150 and of 40 records on the sphere."""
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.7)
    coords = 0.1 + 0.15 * np.random.default_rng(3).standard_normal((3800, 2))
    sphere = ball.manifold
    records = sphere.exp(sphere.coords_to_tangent(coords, ball.center), ball.center)
    return ball, records, np.concatenate(([0], np.cumsum(np.tile([150, 40], 20))))


def test_one_ball_per_group_gives_what_each_ball_would(clumps, alone):
    ball, records, offsets = clumps
    radii = np.linspace(0.3, 0.7, 40).round(2)
    balls = [cdp.Ball(ball.manifold, ball.center, radius) for radius in radii]
    regions = cdp.confidence_regions(records, offsets, balls, cdp.GDP(4.0), seed=5)
    for g in (0, 1, 39):
        rows = records[offsets[g] : offsets[g + 1]]
        assert_same(regions[g], alone(rows, balls[g], cdp.GDP(4.0), KEY, 3 * g))


def test_results_do_not_depend_on_the_number_of_threads(clumps):
    ball, records, offsets = clumps
    found = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        found.append(cdp.confidence_regions(records, offsets, ball, cdp.GDP(4.0), seed=1))
    cdp.set_num_threads(2)
    for other in found[1:]:
        assert same_bits(found[0].covariance, other.covariance)
        assert same_bits(found[0].parts[2].value, other.parts[2].value)


def test_the_secret_yields_the_documented_keys(clumps, tmp_path, alone):
    ball, records, offsets = clumps
    secret = cdp.NoiseSecret.create(tmp_path / "secret")
    names = [f"site {g}" for g in range(40)]
    claim = cdp.GDP(4.0)
    regions = cdp.confidence_regions(records, offsets, ball, claim, secret=secret, names=names)
    plan = RegionPlan(balls=(ball,), guarantee=claim)
    for g in (0, 39):
        rows = records[offsets[g] : offsets[g + 1]]
        scale = regions.parts[0].scale[g]
        key = hmac_key(secret, plan, names[g].encode(), ball, scale, rows)
        expected = alone(rows, ball, claim, key)
        assert same_bits(regions[g].covariance, expected.covariance)
        assert regions[g].guarantee == claim


def test_regions_cover_the_mean_of_the_population():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    sphere, generator = ball.manifold, np.random.default_rng(0)
    coords = 0.2 * generator.standard_normal((400 * 300, 2))
    records = sphere.exp(sphere.coords_to_tangent(coords, ball.center), ball.center)
    offsets = np.arange(0, 400 * 300 + 1, 300)
    regions = cdp.confidence_regions(records, offsets, ball, cdp.GDP(2.0), level=0.8)
    covered = np.mean([bool(region.contains(ball.center)) for region in regions])
    assert abs(covered - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 400)


def test_a_row_is_a_region_that_survives_json(clumps):
    ball, records, offsets = clumps
    regions = cdp.confidence_regions(records, offsets, ball, cdp.GDP(4.0))
    again = cdp.ConfidenceRegion.from_json(regions[3].to_json())
    assert same_bits(again.covariance, regions.covariance[3])
    assert again.guarantee == cdp.GDP(4.0)
    assert len(list(regions)) == 40


def test_small_groups_are_refused_or_passed_over(clumps):
    ball, records, _ = clumps
    offsets, ledger = [0, 3, 203, 205], cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(ExistenceError, match="at least 4 records") as caught:
        cdp.confidence_regions(records[:205], offsets, ball, cdp.GDP(1.0), ledger=ledger)
    assert caught.value.smallest_n == 4
    assert ledger.spent is None
    regions = cdp.confidence_regions(
        records[:205], offsets, ball, cdp.GDP(1.0), pass_over=True, ledger=ledger
    )
    assert regions.released.tolist() == [False, True, False]
    assert np.isnan(regions.quantile).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="group 0 was passed over"):
        regions[0]
    with pytest.raises(BudgetError):
        cdp.confidence_regions(
            records[:205], offsets, ball, cdp.GDP(1.0), pass_over=True, ledger=ledger
        )


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"guarantee": cdp.PureDP(1.0)}, TypeError, "Gaussian noise"),
        ({"level": 1.5}, ValueError, "level"),
        ({"weights": (1.0, 2.0)}, ValueError, "3 positive numbers"),
        ({"max_dist": -1.0}, ValueError, "max_dist"),
        ({"mechanism": "laplace"}, ValueError, "mechanism must be"),
    ],
)
def test_impossible_calls_are_refused_before_anything_is_spent(clumps, changes, kind, message):
    ball, records, offsets = clumps
    ledger = cdp.Ledger(cdp.GDP(1.0))
    arguments = {"guarantee": cdp.GDP(1.0)} | changes
    with pytest.raises(kind, match=message):
        cdp.confidence_regions(records, offsets, ball, ledger=ledger, **arguments)
    assert ledger.spent is None


def test_no_record_raises(small_case):
    center = small_case.manifold.random_point(rng=1)
    radius = min(1.0, 0.6 * small_case.manifold.max_ball_radius)
    ball = cdp.Ball(small_case.manifold, center, radius)
    for fill in (np.nan, np.inf, 0.0, 1e308, 5e-324):
        records = np.tile(ball.center, (300, *[1] * ball.center.ndim))
        records[::2] = fill
        regions = cdp.confidence_regions(records, [0, 90, 300], ball, cdp.GDP(20.0))
        assert np.isfinite(regions.covariance).all()


def test_parameters_without_a_release_are_refused_before_anything_is_spent():
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    records = np.zeros((30, 2))
    ledger = cdp.Ledger(cdp.GDP(mu=1.0))
    for call in (
        lambda: cdp.confidence_regions(
            records, [0, 30], ball, cdp.GDP(mu=1.0), max_dist=1e-200, ledger=ledger
        ),
        lambda: cdp.confidence_region(
            records, ball, cdp.GDP(mu=1.0), max_dist=1e-200, ledger=ledger
        ),
        lambda: cdp.frechet_variances(
            records, [0, 30], ball, cdp.GDP(mu=1.0), max_dist=1e-200, ledger=ledger
        ),
    ):
        with pytest.raises(ValueError, match="max_dist must be at least 1e-150"):
            call()
    assert ledger.spent is None
