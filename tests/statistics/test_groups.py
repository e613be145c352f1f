"""Many groups at once: fresh noise for each, of the right size, about its own records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import chance
import curvedp as cdp
from curvedp.errors import ExistenceError
from group_cases import same_bits


@pytest.fixture
def sphere_groups():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.5)
    records = ball.project(cdp.Sphere(2).random_point(4000, rng=3))
    return ball, records, np.arange(0, 4001, 20)


@pytest.fixture
def clumps():
    """Groups of 70 and of 7 records that lie close together, off the centre of a wide ball."""
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    coords = 0.2 + 0.05 * np.random.default_rng(3).standard_normal((7700, 2))
    sphere = ball.manifold
    records = sphere.exp(sphere.coords_to_tangent(coords, ball.center), ball.center)
    sizes = np.tile([70, 7], 100)
    return ball, records, np.concatenate(([0], np.cumsum(sizes)))


@pytest.mark.parametrize("statistic", [cdp.frechet_mean, cdp.frechet_variance, cdp.adaptive_mean])
def test_results_do_not_depend_on_the_number_of_threads(sphere_groups, statistic):
    ball, records, _ = sphere_groups
    many = np.tile(records, (40, 1))
    offsets = np.concatenate(([0], np.arange(9, 30_000, 7), [50_000, 160_000]))
    values = []
    for threads in (1, 2, 3):
        cdp.set_num_threads(threads)
        values.append(statistic(many, ball, cdp.GDP(1.0), groups=offsets, seed=1).value)
    cdp.set_num_threads(0)
    assert same_bits(values[0], values[1])
    assert same_bits(values[0], values[2])


def test_fresh_noise_differs_between_groups_and_calls(sphere_groups):
    ball, records, offsets = sphere_groups
    same = np.tile(records[:20], (200, 1))
    first = cdp.frechet_mean(same, ball, cdp.PureDP(1.0), groups=offsets)
    second = cdp.frechet_mean(same, ball, cdp.PureDP(1.0), groups=offsets)
    everything = np.concatenate((first.value, second.value))
    assert len(np.unique(everything, axis=0)) == 400


def test_a_secret_serves_each_statistic_and_option_with_noise_of_its_own(sphere_groups):
    ball, records, offsets = sphere_groups
    how = {"groups": offsets, "secret": cdp.NoiseSecret(bytes(range(32)))}
    claim = cdp.PureDP(1.0)
    mean = cdp.frechet_mean(records, ball, claim, **how).value
    half = cdp.frechet_mean(records, ball, cdp.PureDP(0.5), **how).value
    variance = cdp.frechet_variance(records, ball, claim, **how).parts[0].value
    moment = cdp.fourth_moment(records, ball, claim, **how).parts[0].value
    clipped = cdp.fourth_moment(records, ball, claim, max_dist=0.9, **how).parts[0].value
    all_of_them = np.stack((mean, half, moment, clipped))
    for one in range(4):
        for other in range(one):
            assert (all_of_them[one] != all_of_them[other]).any(axis=1).all()
    uneven = cdp.frechet_variance(records, ball, claim, weights=(0.3, 0.7), **how).parts[0].value
    scales = uneven.std() / variance.std()
    assert (np.abs(uneven * scales - variance) > 0).all()


def test_a_given_base_point_and_covariates_reach_the_noise_of_a_secret(sphere_groups):
    """Old noise must not meet a statistic that was computed from something else."""
    ball, records, offsets = sphere_groups
    how = {"groups": offsets, "secret": cdp.NoiseSecret(bytes(range(32)))}
    near = ball.manifold.project(ball.center + np.array([0.0, 0.0, 1e-9]))
    at = [
        cdp.fourth_moment(records, ball, cdp.GDP(1.0), mean=point, **how)
        for point in (ball.center, near)
    ]
    noise = np.abs(at[0].value - at[1].value)
    assert np.median(noise) > 0.1 * at[0].scale[0]  # the exact values differ by about 1e-9
    x = np.linspace(0.0, 1.0, 4000)
    public = {"x_range": (0.0, 1.0), "tau": 0.2, "v_max": 0.5, "sampler": "whitened"}
    few = {"groups": [0, 2000, 4000], **public}
    moved = x.copy()
    moved[5] += 1e-12
    first, second = (
        cdp.geodesic_regression(
            own, records, ball, cdp.GDP(1.0), secret=cdp.NoiseSecret(bytes(range(32))), **few
        )
        for own in (x, moved)
    )
    assert not same_bits(first.value[0], second.value[0])
    assert same_bits(first.value[1], second.value[1])


def test_means_of_groups_are_base_points_of_their_moments(sphere_groups):
    ball, records, offsets = sphere_groups
    means = cdp.frechet_mean(records, ball, cdp.GDP(50.0), groups=offsets)
    found = cdp.fourth_moment(records, ball, cdp.GDP(1e4), groups=offsets, mean=means)
    assert found.parts == ()
    for g in (0, 50, 199):
        own = records[20 * g : 20 * g + 20]
        alone = cdp.fourth_moment(own, ball, cdp.GDP(1e4), mean=means[g])
        # two draws of Laplace noise: (1 + t/2) exp(-t), 7e-11 at t = 26; others are 1e6 scales off
        assert abs(alone.value - found.value[g]) < 26 * found.scale[g]
        assert same_bits(found[g].base_point, alone.base_point)
    named = cdp.frechet_mean(records, ball, cdp.GDP(1.0), groups=np.repeat([1, 0], 2000))
    wrong = [(["a"] * 4000, means), ([0, 2000, 4000], means), (None, means), ([0, 4000], named)]
    for groups, given in wrong:
        with pytest.raises(ValueError, match="released of other groups"):
            cdp.fourth_moment(records, ball, cdp.GDP(1.0), groups=groups, mean=given)
    with pytest.raises(KeyError):
        cdp.fourth_moment(records, ball, cdp.GDP(1.0), groups=["a"] * 4000, mean=named)


def test_variances_are_about_the_groups_own_records(sphere_groups):
    ball, records, offsets = sphere_groups
    releases = cdp.frechet_variance(records, ball, cdp.GDP(1e6), groups=offsets)
    for g in (0, 50, 199):
        own = records[20 * g : 20 * g + 20]
        mean = cdp.nonprivate.frechet_mean(own, ball.manifold).value
        exact = np.mean(ball.manifold.dist(mean, own) ** 2)
        assert abs(releases.value[g] - exact) < 1e-5


def test_as_many_groups_as_records(sphere_groups):
    ball, records, _ = sphere_groups
    many = np.tile(records, (50, 1))
    releases = cdp.frechet_mean(many, ball, cdp.GDP(1.0), groups=np.arange(200_001))
    assert releases.value.shape == (200_000, 3)
    assert ball.manifold.belongs(releases.value).all()


@pytest.mark.parametrize("statistic", [cdp.frechet_mean, cdp.log_covariance, cdp.adaptive_mean])
def test_groups_without_laplace_noise_are_refused_or_skipped(statistic):
    ball = cdp.Ball(cdp.SPD(3), center="identity", radius=1.5)
    records = np.tile(1.2 * np.eye(3), (1003, 1, 1))
    groups, ledger = [0, 2, 1002, 1003], cdp.Ledger(cdp.PureDP(1.0))
    how = {"groups": groups, "ledger": ledger}
    with pytest.raises(ExistenceError, match="up to 2 records") as caught:
        statistic(records, ball, cdp.PureDP(1.0), **how)
    assert caught.value.smallest_n is not None
    assert ledger.spent is None
    releases = statistic(records, ball, cdp.PureDP(1.0), skip_small=True, **how)
    assert releases.released.tolist() == [False, True, False]
    for column in (releases.value, releases.scale, *releases.more.values()):
        assert np.isnan(column[[0, 2]]).all()
        assert np.isfinite(column[1]).all()
    with pytest.raises(ExistenceError) as alone:
        statistic(records[:2], ball, cdp.PureDP(1.0))
    assert "groups" not in str(alone.value)


def test_stages_of_a_group_do_not_depend_on_larger_ones(clumps):
    ball, records, _ = clumps
    labels = np.repeat(["large", "small"], [70, 7])
    both, few = (
        cdp.adaptive_mean(
            rows,
            ball,
            cdp.GDP(4.0),
            groups=own,
            secret=cdp.NoiseSecret(bytes(range(32))),
            coverage=False,
        )
        for rows, own in ((records[:77], labels), (records[70:77], labels[70:]))
    )
    assert len(both["large"].parts) > len(few["small"].parts) == 1
    assert same_bits(few["small"].value, both["small"].value)


def test_balls_shrink_and_errors_with_them(clumps):
    ball, records, offsets = clumps
    adaptive = cdp.adaptive_mean(records, ball, cdp.GDP(4.0), groups=offsets)
    plain = cdp.frechet_mean(records, ball, cdp.GDP(4.0), groups=offsets)
    large = adaptive.n == 70
    # a private quantile misses by chance: in 7 of 100 groups the ball stays wide, in 31 with
    # probability 6e-13
    assert np.mean(adaptive.more["radius"][large] < 0.5 * ball.radius) >= 0.7
    centers = np.repeat(ball.center[None], 200, axis=0)
    sphere = ball.manifold
    true = sphere.exp(sphere.coords_to_tangent(np.full((200, 2), 0.2), centers), centers)
    error = np.mean(sphere.dist(adaptive.value, true)[large])
    # .58 as a rule; groups whose ball stays wide err much, in all beyond the limit with
    # probability below 1e-11
    assert error < 0.95 * np.mean(sphere.dist(plain.value, true)[large])


def test_the_stages_of_a_group_compose_to_its_guarantee(clumps):
    ball, records, offsets = clumps
    release = cdp.adaptive_mean(records, ball, cdp.ZCDP(2.0), groups=offsets, coverage=False)[0]
    assert [part.statistic for part in release.parts[:2]] == [
        "Fréchet mean",
        "quantile of distances",
    ]
    assert cdp.compose(*[part.guarantee for part in release.parts]).mu == pytest.approx(2.0)
    assert "quantile of distances" in release.report()


def test_regions_cover_the_mean_of_the_population():
    ball = cdp.Ball(cdp.Sphere(2), center=[0.0, 0.6, 0.8], radius=0.9)
    sphere, generator = ball.manifold, np.random.default_rng(0)
    coords = 0.2 * generator.standard_normal((400 * 300, 2))
    records = sphere.exp(sphere.coords_to_tangent(coords, ball.center), ball.center)
    offsets = np.arange(0, 400 * 300 + 1, 300)
    regions = cdp.confidence_region(records, ball, cdp.GDP(2.0), level=0.8, groups=offsets)
    covered = sum(bool(region.contains(ball.center)) for region in regions)
    least, most = stats.binom.ppf([chance.FAILURE, 1 - chance.FAILURE], 400, 0.8)
    assert least <= covered <= most


def test_groups_are_compared_label_by_label():
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    generator = np.random.default_rng(0)
    site = np.repeat(["a", "b", "c"], 2000)
    first = 0.2 * generator.standard_normal((6000, 2))
    second = 0.2 * generator.standard_normal((6000, 2))
    second[site == "b"] += [0.3, 0.0]
    regions = [cdp.confidence_region(x, ball, cdp.GDP(1.0), groups=site) for x in (first, second)]
    found = cdp.compare_means(*regions, level=chance.FAILURE)
    assert {label: own.rejects for label, own in found.items()} == {
        "a": False,
        "b": True,
        "c": False,
    }
    with pytest.raises(TypeError, match="two regions"):
        cdp.compare_means(regions[0], regions[1]["a"])
    by_number = cdp.confidence_region(second, ball, cdp.GDP(1.0), groups=[0, 2000, 6000])
    with pytest.raises(ValueError, match="labels twice"):
        cdp.compare_means(regions[0], by_number)


def test_the_noise_of_means_has_its_scale():
    """Distances to the group's mean, known here, average to the expected error."""
    ball = cdp.Ball(cdp.SPD(2), center="identity", radius=1.0)
    records = np.tile(np.eye(2), (200_000, 1, 1))
    offsets = np.arange(0, 200_001, 10)
    releases = cdp.frechet_mean(records, ball, cdp.PureDP(2.0), groups=offsets)
    dist = ball.manifold.dist(releases.value, np.eye(2))
    spread = dist.std() / math.sqrt(len(dist))
    assert abs(dist.mean() - releases.expected_error[0]) < chance.DEVIATIONS * spread


def test_the_noise_of_variances_has_its_scale():
    """Constant records: what is left above 0 is half of the noise."""
    ball = cdp.Ball(cdp.Euclidean(2), center=[0.0, 0.0], radius=1.0)
    records = np.tile([0.5, 0.0], (400_000, 1))
    releases = cdp.frechet_variance(
        records,
        ball,
        cdp.PureDP(50.0),
        groups=np.arange(0, 400_001, 20),
        within=0.6,
    )
    positive = releases.value[releases.value > 0]
    assert 0.45 < len(positive) / 20_000 < 0.55
    assert np.mean(positive) == pytest.approx(np.mean(releases.scale), rel=0.07)
    assert np.std(releases.more["unclipped"]) == pytest.approx(2**0.5 * releases.scale[0], rel=0.05)


@pytest.mark.parametrize("statistic", [cdp.adaptive_mean, cdp.confidence_region])
def test_no_record_raises_or_leaves_the_manifold(small_case, statistic):
    center = small_case.manifold.random_point(rng=1)
    radius = min(1.0, 0.6 * small_case.manifold.max_ball_radius)
    ball = cdp.Ball(small_case.manifold, center, radius)
    for fill in (np.nan, np.inf, 0.0, 1e308, 5e-324):
        records = np.tile(ball.center, (300, *[1] * ball.center.ndim))
        records[::2] = fill
        value = statistic(records, ball, cdp.GDP(20.0), groups=[0, 90, 300]).value
        assert np.isfinite(value).all()
        assert ball.manifold.belongs(value).all()


@pytest.mark.parametrize("statistic", [cdp.frechet_variance, cdp.confidence_region])
def test_parts_of_groups_that_share_units_promise_no_more_than_they_keep(sphere_groups, statistic):
    ball, records, offsets = sphere_groups
    releases = statistic(records, ball, cdp.GDP(1.0), groups=offsets, groups_per_unit=4)
    for part in releases.parts:
        assert part.groups_per_unit == 4
        assert part.total == cdp.compose(*[part.guarantee] * 4)
    shares = [part.total for part in releases.parts]
    if len(shares) > 1:
        shares.append(releases.coverage.guarantee)
        assert cdp.compose(*shares).mu == pytest.approx(releases.total.mu)


def test_moments_whose_noise_cannot_be_drawn_are_refused_before_anything_is_spent(sphere_groups):
    """Lengths whose powers leave double precision, and budgets without noise in it."""
    ball, records, offsets = sphere_groups
    ledger, public = cdp.Ledger(cdp.PureDP(1.0)), {"groups": offsets, "mean": ball.center}
    for statistic in (cdp.log_covariance, cdp.fourth_moment, cdp.mean_hessian):
        for claim, max_dist in ((1.0, 1e-60), (1.0, 1e-140), (1e-110, None)):
            how = {"max_dist": max_dist, "ledger": ledger, **public}
            with pytest.raises(ValueError, match=r"max_dist|scale"):
                statistic(records, ball, cdp.PureDP(claim), **how)
    for statistic in (cdp.variance_interval, cdp.confidence_region):
        with pytest.raises(ValueError, match="max_dist"):
            statistic(records, ball, cdp.GDP(1.0), groups=offsets, max_dist=1e-100)
    plane = cdp.Ball("euclidean:3", [0.0, 0.0, 0.0], 1e100)
    with pytest.raises(ValueError, match="radius"):
        cdp.frechet_variance(records, plane, cdp.GDP(1.0))
    assert ledger.spent is None


def test_noise_that_compiled_code_cannot_draw_ends_the_call(sphere_groups, monkeypatch):
    """Nothing is released without its noise, whoever should have refused the call."""
    ball, records, offsets = sphere_groups
    monkeypatch.setattr("curvedp.statistics.moments.refuse_fine_noise", lambda *public: None)
    for groups in (offsets, None):
        with pytest.raises(ValueError, match="scale must be between"):
            cdp.log_covariance(
                records, ball, cdp.PureDP(1.0), mean=ball.center, max_dist=1e-60, groups=groups
            )


def test_the_refusal_of_too_fine_noise_does_not_speak_of_small_groups(sphere_groups):
    ball, records, _ = sphere_groups
    with pytest.raises(
        ExistenceError, match=r"groups of 3000 records cannot be rel.*too fine"
    ) as e:
        cdp.frechet_mean(records, ball, cdp.PureDP(1e12), groups=[0, 1000, 4000])
    assert "small" not in str(e.value)
