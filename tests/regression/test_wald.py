"""Wald tests of slopes given other covariates: level, power, agreement with the classical test."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

import curvedp as cdp
from curvedp.regression.adaptive import AdaptiveFit
from curvedp.regression.schedules import schedule_for
from curvedp.regression.wald import shrunk_meat, wald

LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
SPHERE = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.8)
UNIT = [(0.0, 1.0)] * 2


def correlated(rng, n, dummy=False):
    """Two covariates with correlation .9; or the second is 1 for the tenth with the highest."""
    z = rng.standard_normal((n, 2))
    z[:, 1] = 0.9 * z[:, 0] + np.sqrt(1 - 0.81) * z[:, 1]
    u = scipy.stats.norm.cdf(z)
    return np.column_stack([u[:, 0], 1.0 * (u[:, 1] > 0.9)]) if dummy else u


def records(rng, ball, x, slopes, spread=False):
    """About a trend along the axes, with residuals that may grow with the second covariate."""
    dim = ball.manifold.dim
    move = np.zeros((x.shape[1], dim))
    move[0, 0] = slopes[0]
    move[1:, -1] = slopes[1:]
    space, center = ball.manifold, ball.center
    means = space.exp(space.coords_to_tangent((x - 0.5) @ move, center), center)
    steps = 0.06 * rng.standard_normal((len(x), dim))
    if spread:
        steps *= 0.3 + 2 * x[:, [1]]
    return ball.project(space.exp(space.coords_to_tangent(steps, means), means))


def sandwich(x, y, chosen):
    """Wald's statistic of slopes on the line, without privacy, by White's covariance (HC0)."""
    z = np.column_stack([np.ones(len(x)), x])
    inverse = np.linalg.inv(z.T @ z)
    slopes = inverse @ z.T @ y
    own = (z * (y - z @ slopes)[:, None]) @ inverse
    rows = 1 + np.array(chosen)
    covariance = (own.T @ own)[np.ix_(rows, rows)]
    return float(slopes[rows] @ np.linalg.solve(covariance, slopes[rows]))


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("chosen", [[0], [1], [0, 1], [2], [1, 2]], ids=str)
def test_without_noise_it_is_the_classical_test(chosen, spread):
    rng = np.random.default_rng(3)
    x = np.column_stack([correlated(rng, 20_000), rng.uniform(0.0, 1.0, 20_000)])
    y = records(rng, LINE, x, [0.004, 0.006, 0.0], spread)
    how = {"x_range": [(0.0, 1.0)] * 3}
    several = (cdp.geodesic_regression(x, y, LINE, cdp.GDP(1000.0), **how) for _ in range(8))
    # one in a hundred knows no errors
    made = next(own for own in several if not math.isnan(own.coefficients[0].p_value))
    test, expected = made.wald_test(chosen), sandwich(x, y[:, 0], chosen)
    assert test.dof == pytest.approx(len(chosen))
    assert test.statistic == pytest.approx(expected, rel=0.1, abs=0.2)
    assert test.spread_dof > 1000
    expected = scipy.stats.f.sf(test.statistic / test.dof, test.dof, test.spread_dof)
    assert test.p_value == pytest.approx(expected)
    assert made.coefficients[chosen[0]].p_value == made.wald_test(chosen[:1]).p_value


@pytest.mark.parametrize(
    ("ball", "spread", "dummy"),
    [(LINE, True, False), (SPHERE, False, True)],
    ids=["line-even", "sphere-rare"],
)
def test_the_level_holds_for_correlated_covariates(ball, spread, dummy):
    """One slope is long, the other 0. Of 80, more than 20 at .07 have a chance of 1e-8.

    The median length of a vector of one or two entries is .67 or .83 of its root mean square.
    """
    p_values, ratios = [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        x = correlated(rng, 4000, dummy)
        y = records(rng, ball, x, [0.8, 0.0], spread)
        made = cdp.geodesic_regression(x, y, ball, cdp.GDP(3.0), x_range=UNIT, coverage=False)
        own = made.coefficients[1]
        p_values.append(own.p_value)
        ratios.append(own.speed / own.standard_error)
    assert np.isnan(p_values).sum() < 10
    assert np.sum(np.array(p_values) < 0.05) <= 20
    assert 0.3 < np.median(ratios) < 1.1


@pytest.mark.parametrize("true", [4.0, 5.0, 8.0, 20.0])
def test_the_level_holds_where_the_variance_of_a_covariate_is_mostly_noise(true):
    """The true variance in deviations of its noise; those released below 3 give no p-value.

    A slope is off by 1/true, and told to be by `growth` over the variance that steps take.
    """
    told = np.linspace(3.0, true + 7.0, 2001)
    weights = scipy.stats.norm.pdf(told - true)
    weights /= weights.sum()
    design = SimpleNamespace(way=cdp.GDP(1.0), schedule=schedule_for(0.002, False, False))
    raised = told + 1.0
    _, growth = AdaptiveFit._of_wrong_steps(SimpleNamespace(design=design), told, 1.0, raised)

    def level(growth):
        tails = scipy.stats.norm.sf(scipy.stats.norm.isf(0.025) * true * growth / raised)
        return 2.0 * float(weights @ tails)

    assert level(growth) < 0.0505
    assert level(growth) > 0.035  # and not for nothing
    assert level(np.ones_like(told)) > 0.06  # what steps take for the variance


def test_a_covariate_whose_variance_may_be_less_makes_all_errors_of_its_slope_larger():
    """Those from noise and from sampling: four times so in square, were growth twice as large."""
    rng = np.random.default_rng(2)
    x = np.clip(0.8 + 0.075 * rng.standard_normal(2000), 0.0, 1.0)
    y = 0.1 * rng.standard_normal((2000, 1))
    made = (cdp.geodesic_regression(x, y, LINE, cdp.GDP(1.0), x_range=(0, 1)) for _ in range(99))
    own = next(one for one in made if one.arrived and one.growth[0, 0] > 1.1)  # nearly each
    bare = replace(own, growth=np.eye(1), remains=np.zeros((1, 1)))
    larger = replace(bare, growth=own.growth)
    ratio = own.growth[0, 0] ** 2
    assert larger.wald_test().statistic == pytest.approx(bare.wald_test().statistic / ratio)
    assert larger.wald_test().dof == pytest.approx(bare.wald_test().dof)
    assert own.wald_test().p_value >= larger.wald_test().p_value > bare.wald_test().p_value


def test_bands_are_wider_by_what_steps_took_the_variance_of_a_covariate_for_too_large():
    """Of 1 + e/lambda on both axes: a band at t is one at so many times t without it."""
    rng, told = np.random.default_rng(4), np.array([3.0, 4.0, 8.0, 40.0])
    design = SimpleNamespace(way=cdp.GDP(1.0), schedule=schedule_for(0.02, False, False))
    fit = SimpleNamespace(design=design)
    _, growth = AdaptiveFit._of_wrong_steps(fit, told, 1.0, told + 1.0)
    x = rng.uniform(0.0, 1.0, (4000, 2))
    y = 0.1 * rng.standard_normal((4000, 1))
    made = cdp.geodesic_regression(x, y, LINE, cdp.GDP(9.0), x_range=UNIT, seed=1)
    assert made.arrived
    t = np.array([[0.1, 0.3], [-0.2, 0.1]])
    axes = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    for one, other in ((0, 1), (2, 3), (1, 1)):
        own = replace(made, growth=(axes * growth[[one, other]]) @ axes.T)
        bare = replace(made, growth=np.eye(2))
        larger = (axes * (1.0 + 1.0 / told[[one, other]])) @ axes.T
        for found, expected in zip(own._variances(t), bare._variances(t @ larger), strict=True):
            assert found == pytest.approx(expected, rel=1e-6)
        assert np.all(own.band(t + own.x_center) > bare.band(t + own.x_center))
    assert np.all(bare._variances(t)[1] < 0.9 * own._variances(t)[1])  # not for nothing


def test_levels_of_a_factor_are_tested_together():
    """Three dummies, of which one has an effect; each by itself and all.

    One release in a hundred knows no errors. Of eleven the median is taken of those that do: six on
    the wrong side of a limit that one in a hundred misses have a probability below 1e-9.
    """
    rng = np.random.default_rng(5)
    level = rng.integers(0, 4, 4000)
    x = np.column_stack([rng.uniform(0.0, 1.0, 4000), *(1.0 * (level == k) for k in (1, 2, 3))])
    none, some = (
        [
            cdp.geodesic_regression(x, y, SPHERE, cdp.GDP(1.0), x_range=[(0.0, 1.0)] * 4)
            for _ in range(11)
        ]
        for y in (records(rng, SPHERE, x, [0.5, 0.0, 0.0, effect]) for effect in (0.0, 0.1))
    )

    def median(made, p_value):
        return np.nanmedian([p_value(release) for release in made])

    assert median(none, lambda release: release.wald_test([1, 2, 3]).p_value) > 0.001
    assert median(some, lambda release: release.wald_test([1, 2, 3]).p_value) < 1e-6
    assert median(some, lambda release: release.wald_test().p_value) < 1e-6
    assert median(some, lambda release: release.coefficients[0].p_value) < 1e-6
    assert median(some, lambda release: release.coefficients[3].p_value) < 1e-6
    assert median(some, lambda release: release.coefficients[1].p_value) > 0.001
    known = next(one for one in some if np.isfinite(one.wald_test([1, 2, 3]).p_value))
    again = cdp.Release.from_json(known.to_json())
    assert again.wald_test([1, 2, 3]) == known.wald_test([1, 2, 3])


def test_errors_in_one_direction_have_one_degree_of_freedom():
    square = np.eye(2)
    none = 0.0 * square
    assert wald(square, none, square, 1.0, 6, 20).dof == pytest.approx(2.0)
    assert wald(square, none, square, 1 / 6, 6, 20).dof == pytest.approx(12.0)
    assert wald(square, square, none, 1.0, 6, 20).dof == pytest.approx(12.0)
    # 3.84 of chi^2_1, whatever part of it is noise
    half = np.full((2, 1, 1), 0.5)
    of_many = wald(np.array([[3.841459]]), *half, 1.0, 1, 1e8)
    assert of_many.p_value == pytest.approx(0.05, rel=1e-6)


def test_a_spread_of_few_units_has_heavier_tails():
    """Student's t where all errors are from sampling, and the normal law where all are noise."""
    long, none, one = np.array([[3.0**2]]), np.zeros((1, 1)), np.eye(1)
    sampled, noisy = wald(long, none, one, 1.0, 1, 11), wald(long, one, none, 1.0, 1, 11)
    assert sampled.spread_dof == pytest.approx(10.0)
    assert sampled.p_value == pytest.approx(2 * scipy.stats.t.sf(3.0, 10))
    assert noisy.p_value == pytest.approx(2 * scipy.stats.norm.sf(3.0))
    assert wald(long, none, one, 1.0, 1, 0.5).p_value == pytest.approx(2 * scipy.stats.t.sf(3.0, 1))


def test_moments_that_are_noise_become_those_of_even_spread():
    even = np.array([[1.0, 0.2], [0.2, 0.1]])
    own = np.array([[2.0, 0.9], [0.9, 0.6]])
    np.testing.assert_allclose(shrunk_meat(own, 1e-9, even), own, rtol=1e-6)
    values, axes = np.linalg.eigh(even)
    # in the direction that varies least 300 with a noise of 500, where 100 are usual; then without
    larger = 100 * even + 200 * values[0] * np.outer(axes[:, 0], axes[:, 0])
    shrunk = [
        axes[:, 0] @ shrunk_meat(larger, deviation, even) @ axes[:, 0] / values[0]
        for deviation in (500 * values[0], 1e-9)
    ]
    assert 95 < shrunk[0] < 130
    assert shrunk[1] == pytest.approx(300)


def test_other_columns_are_refused():
    rng = np.random.default_rng(6)
    x = rng.uniform(0.0, 1.0, (500, 2))
    made = cdp.geodesic_regression(x, x[:, :1], LINE, cdp.GDP(1.0), x_range=UNIT)
    for wrong in ([2], [-1], [0, 0], []):
        with pytest.raises(ValueError, match="columns from 0 to 1"):
            made.wald_test(wrong)
    drawn = cdp.geodesic_regression(
        x[:, 0], x[:, :1], LINE, cdp.PureDP(4.0), x_range=(0.0, 1.0), tau=0.2, sampler="exact"
    )
    with pytest.raises(ValueError, match="no moments"):
        drawn.wald_test()


def test_the_noise_of_moments_hides_no_spread_of_a_rare_group():
    """Records of 1 % that spread 25 times as far: p-values without slopes were below 1e-15."""
    rng, n, count = np.random.default_rng(4), 2000, 100
    x = np.tile(np.where(np.arange(n) < 20, 0.5, -0.5), count)
    y = rng.standard_normal((n * count, 2)) * np.where(x > 0, 0.25, 0.01)[:, None]
    found = cdp.geodesic_regression(
        x,
        np.clip(y, -0.65, 0.65),
        cdp.Ball("euclidean:2", np.zeros(2), 1.0),
        cdp.GDP(10.0),
        groups=np.repeat(np.arange(count), n),
        x_range=(-0.5, 0.5),
        v_max=1.0,
    )
    p_values = np.array([release.coefficients[0].p_value for release in found])
    assert np.isfinite(p_values).mean() > 0.8
    assert np.nanmin(p_values) > 1e-12
