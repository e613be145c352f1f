"""Regression without a public clipping length: schedule, accuracy, and what a release says."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import chance
import curvedp as cdp
from curvedp.errors import NoiseWarning
from curvedp.regression.adaptive_design import AdaptiveDesign
from regression_problems import MATRICES, ONE, SPACES, SPHERE, Space, geodesic, problem, release


@pytest.fixture(scope="module")
def data():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(1), 300, 0.1)
    return times, points


@pytest.mark.parametrize(
    "way", [cdp.GDP(0.05), ONE, cdp.GDP(30.0), cdp.PureDP(0.1), cdp.PureDP(20.0)], ids=str
)
@pytest.mark.parametrize("n", [1, 30, 1000])
def test_stages_compose_to_the_budget(way, n):
    design = AdaptiveDesign.of(SPHERE.ball, n, way, covariates=1, v_max=2.0, records_per_unit=3)
    assert cdp.compose(*design.shares).additive() <= way.additive()
    assert len(design.shares) == len(design.schedule.weights())
    for (quantile, steps), cycle in zip(design.cycle_shares, design.schedule.cycles, strict=True):
        assert (quantile is not None) == (cycle.quantile > 0)
        for share in steps:
            budget = share.mu if isinstance(share, cdp.GDP) else share.epsilon
            assert design.noise(0.1, share).scale >= 2 * 0.1 * min(3, n) / n / budget
    meat = design.meat_noise(0.1)
    assert meat.sensitivity >= math.sqrt(2.5) * (2 * 0.1) ** 2 * min(3, n) / n
    last = design.shares[-1]
    assert meat.scale >= meat.sensitivity / (last.mu if isinstance(last, cdp.GDP) else last.epsilon)


# Releases


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("guarantee", [ONE, cdp.PureDP(2.0), cdp.ApproxDP(1.0, 1e-6)], ids=str)
def test_a_release_needs_the_ball_and_the_range_alone(space, guarantee):
    times, points, _, _ = problem(space, np.random.default_rng(2), 60, 0.1)
    found = release(space, times, points, guarantee)
    assert found.guarantee == guarantee
    assert found.calibration == "proved"
    assert found.assumptions == frozenset()
    assert found.tau is None
    assert np.isfinite(found.value).all()
    assert space.manifold.dist(found.value[0], space.center) <= space.radius * (1 + 1e-4)
    again = cdp.Release.from_json(found.to_json())
    assert again == found
    np.testing.assert_array_equal(again.band([0.0, 0.2]), found.band([0.0, 0.2]))


def test_the_pure_way_serves_approximate_budgets_where_it_errs_less(data):
    design = cdp.GeodesicLine((-0.5, 0.5))
    near = release(SPHERE, *data, cdp.ApproxDP(1.0, 1e-12)).calibrated_to
    far = release(SPHERE, *data, cdp.ApproxDP(1.0, 1e-3)).calibrated_to
    assert design.beside_width == 1
    assert isinstance(near, cdp.PureDP)
    assert isinstance(far, cdp.GDP)


def error(space, wide, n, guarantee, repetitions=6, off=0.0, **changes):
    """Mean distance of predictions from the truth over the range of the data, median of releases.

    The range is `wide` times that of the data, and their middle lies at `off` of it.
    """
    found = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([repetition, n])
        start, velocity = geodesic(space, rng, 1, 1.0, reach=0.2)
        times = rng.uniform(-0.5, 0.5, n)
        manifold = space.ball.frame.manifold
        means = np.empty((n, len(start)))
        manifold.exp_coords(times[:, None] * velocity, start[None], means)
        points = np.empty_like(means)
        manifold.exp_coords(0.04 * rng.standard_normal((n, space.manifold.dim)), means, points)
        made = release(
            space,
            times,
            space.ball.leave(points),
            guarantee,
            x_range=((-0.5 - off) * wide, (0.5 - off) * wide),
            **changes,
        )
        predicted = made.predict(times)
        found.append(np.mean(space.manifold.dist(predicted, space.ball.leave(means))))
    return float(np.median(found))


@pytest.mark.parametrize("space", [SPHERE, MATRICES], ids=repr)
def test_a_range_four_times_too_wide_costs_nothing(space):
    """Design: 0.0027, 0.0024, 0.0026 on the sphere and 0.0032, 0.0030, 0.0031 on matrices."""
    wide = error(space, 4.0, 1000, ONE, 24)
    assert wide < 1.5 * 0.0031
    assert wide < 1.5 * error(space, 1.0, 1000, ONE, 24)
    assert error(space, 4.0, 1000, ONE, 24, off=0.3) < 1.5 * 0.0038
    if space is SPHERE:
        guessed = error(space, 4.0, 1000, ONE, tau=0.1, v_max=3.0)
        assert guessed > 10 * wide


#: Share of records at x = 1, the others at 0; None for covariates spread evenly.
COVARIATES = {"even": None, "one in ten": 0.1, "one in twenty": 0.05}
RESIDUALS = ("normal", "skewed", "spread")


def drawn(space, covariate, residual, n, seed):
    """Records about a trend of length 0.8, with residuals that nobody tuned on."""
    rng, manifold = np.random.default_rng([seed, n]), space.ball.manifold
    share = COVARIATES[covariate]
    x = rng.uniform(0.0, 1.0, n) if share is None else (rng.random(n) < share).astype(float)
    velocity = np.zeros(manifold.dim)
    velocity[0] = 0.8
    velocity = manifold.coords_to_tangent(velocity, space.ball.center)
    along = (x - 0.5).reshape(-1, *[1] * velocity.ndim) * velocity
    means = manifold.exp(along, space.ball.center)
    steps = 0.06 * rng.standard_normal((n, manifold.dim))
    if residual == "skewed":
        steps[:, 0] = 0.12 * (rng.exponential(size=n) - 1)
    if residual == "spread":
        steps *= 1 + 2 * x[:, None]
    return x, space.ball.project(manifold.exp(manifold.coords_to_tangent(steps, means), means))


#: Every pair of a covariate, a law of residuals and a guarantee.
PAIRS = [
    pytest.param(covariate, residual, guarantee, id=f"{guarantee}-{residual}-{covariate}")
    for i, covariate in enumerate(COVARIATES)
    for j, residual in enumerate(RESIDUALS)
    for guarantee in [(cdp.PureDP(4.0), ONE)[(i + j) % 2]]
]


@pytest.mark.parametrize(("covariate", "residual", "guarantee"), PAIRS)
def test_a_release_is_as_far_from_the_fit_as_it_says(covariate, residual, guarantee):
    """Geodesics of least squares; with the old level of the quantile up to 80 times as far.

    Under pure epsilon a ratio's logarithm has a deviation of .65 about -.33, and so the mean of 20
    one of .145: the limits are 7 deviations away.
    """
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.8)
    space = Space(ball.manifold, ball.center, ball.radius, 8 * ball.radius)
    ratios = []
    for seed in range(20):
        x, y = drawn(space, covariate, residual, 10_000, seed)
        fit = cdp.nonprivate.geodesic_regression(x, y, ball.manifold, x_range=(0.0, 1.0))
        made = release(space, x, y, guarantee, x_range=(0.0, 1.0))
        gaps = ball.manifold.dist(made.predict(x), fit.predict(x))
        ratios.append(math.sqrt(np.mean(gaps**2)) / (made.expected_error or np.nan))
    assert np.isnan(ratios).sum() <= 8  # a false alarm in 200
    assert 0.25 < np.exp(np.nanmean(np.log(ratios))) < 2.0


@pytest.mark.parametrize("covariate", COVARIATES)
@pytest.mark.parametrize("residual", RESIDUALS)
def test_bands_cover_the_geodesic_of_least_squares(covariate, residual):
    """The worst cell of the old bands covered in none of twelve."""
    ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.8)
    space = Space(ball.manifold, ball.center, ball.radius, 8 * ball.radius)
    at = np.array([0.0, 1.0])
    x, y = drawn(space, covariate, residual, 200_000, 99)
    whole = cdp.nonprivate.geodesic_regression(x, y, ball.manifold, x_range=(0.0, 1.0)).predict(at)
    covered = []
    for seed in range(60):
        x, y = drawn(space, covariate, residual, 2000, seed)
        made = release(space, x, y, x_range=(0.0, 1.0))
        band = made.band(at)
        inside = ball.manifold.dist(made.predict(at), whole) <= band
        covered += inside[~np.isnan(band)].tolist()
    assert len(covered) > 60
    assert np.mean(covered) >= stats.binom.ppf(chance.FAILURE, 60, 0.95) / 60  # by one x alone


def test_steps_that_have_not_arrived_are_said():
    """Long geodesics in negative curvature, rare values of x far from the others."""
    ball = cdp.Ball("hyperboloid:3", center=[1.0, 0.0, 0.0, 0.0], radius=3.4)
    manifold, rng = ball.manifold, np.random.default_rng(0)
    x = (rng.random(1000) < 0.1).astype(float)
    velocity = manifold.coords_to_tangent([6.0, 0.0, 0.0], ball.center)
    means = manifold.exp((x - 0.5)[:, None] * velocity, ball.center)
    coords = 0.06 * rng.standard_normal((1000, 3))
    y = manifold.exp(manifold.coords_to_tangent(coords, means), means)
    several = (cdp.geodesic_regression(x, y, ball, ONE, x_range=(0.0, 1.0)) for _ in range(10))
    made = next(own for own in several if not own.arrived)  # 8 of 300 arrive: all in 1e-13 or so
    assert made.expected_error is None
    assert np.isnan(made.band([0.0, 1.0])).all()
    assert math.isnan(made.coefficients[0].p_value)
    text = " ".join(made.report().split())
    assert all(doubt in text for doubt in made.doubts)
    assert all(doubt in made.summary() for doubt in made.doubts)
    assert "may not have converged to the least-squares geodesic" in made.summary()
    assert "expected error not given, as the result may not have converged" in text
    assert repr(made).endswith(", may not have converged>")
    assert cdp.Release.from_json(made.to_json()).doubts == made.doubts


def far(rng, n):
    """All in a twentieth of the range, but for one at its other end."""
    return np.append(0.05 * rng.uniform(0.0, 1.0, n - 1), 1.0)


def rare(rng, n):
    """A hundredth at 1."""
    return (rng.random(n) < 0.01).astype(float)


@pytest.mark.parametrize("covariate", [far, rare])
def test_covariates_too_rare_for_the_budget_are_doubted(covariate):
    """Of 1,500 releases of each none arrived; if one in 300 did, 6 of 20 would in 6e-11."""
    arrived = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = covariate(rng, 400)
        angle = 0.8 * (x - 0.5)
        y = np.column_stack([np.sin(angle), 0.06 * rng.standard_normal(400), np.cos(angle)])
        made = cdp.geodesic_regression(
            x, SPHERE.ball.project(y), SPHERE.ball, ONE, x_range=(0.0, 1.0), coverage=False
        )
        arrived += made.arrived
    assert arrived <= 5


@pytest.mark.parametrize(
    ("x", "range_of_x"),
    [
        (lambda rng, n: rng.uniform(80.0, 82.0, n), (0.0, 100.0)),
        (lambda rng, n: (rng.random(n) < 0.02) * 1.0, (0.0, 1.0)),
    ],
    ids=["a fiftieth of the range", "one in fifty"],
)
def test_narrow_and_rare_covariates_arrive(x, range_of_x):
    """The law of nodes of the covariates was not finite, or had another variance."""
    rng, n = np.random.default_rng(2), 200_000
    covariate = x(rng, n)
    low, high = covariate.min(), covariate.max()
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    y = np.outer((covariate - low) / (high - low) - 0.5, [0.6, 0.0])
    y += 0.05 * rng.standard_normal((n, 2))
    how = {"x_range": range_of_x, "v_max": 40.0}
    made = cdp.geodesic_regression(covariate, y, ball, cdp.GDP(8.0), **how)
    np.testing.assert_allclose(made.predict([low, high])[:, 0], [-0.3, 0.3], atol=0.05)
    assert made.prediction_error < 0.05 or not made.arrived
    if range_of_x[1] == 100.0:  # 30 over the range, more than the default bound of 8 radii
        short = cdp.geodesic_regression(covariate, y, ball, cdp.GDP(8.0), x_range=range_of_x)
        assert any("v_max" in doubt for doubt in short.doubts)


def test_a_single_x_has_a_band(data):
    x, y = data
    several = [release(SPHERE, x, y, cdp.GDP(20.0)) for _ in range(6)]
    made = next(own for own in several if own.arrived)  # a false alarm in 200 each
    assert made.band(0.1).shape == ()
    assert float(made.band(0.1)) == made.band([0.1])[0]
    assert made.band([[0.1, 0.2]]).shape == (1, 2)
    with pytest.raises(ValueError, match="go together"):
        cdp.GeodesicRelease.from_dict(made.to_dict() | {"meat": None})
    with pytest.raises(ValueError, match="do not fit"):
        cdp.GeodesicRelease.from_dict(made.to_dict() | {"leverage": -1.0})


def test_a_robust_fit_is_moved_less_by_wild_records(data):
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 4000)
    y = 0.05 * rng.standard_normal((4000, 2))
    y[:400, 0] += 0.6  # a tenth
    errors = []
    for robust in (True, False):
        several = [
            cdp.geodesic_regression(x, y, ball, ONE, x_range=(0.0, 1.0), robust=robust)
            for _ in range(15)
        ]
        far = [np.linalg.norm(made.predict([0.0, 1.0]), axis=1).max() for made in several]
        errors.append(np.median(far))
    assert errors[0] < 0.4 * errors[1]
    assert errors[1] == pytest.approx(0.07, abs=0.03)  # as least squares
    with pytest.raises(ValueError, match="leave tau out"):
        release(SPHERE, *data, tau=0.1, robust=True)


def test_slopes_have_errors_and_p_values():
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    rng = np.random.default_rng(1)
    several, steep, flat, variances = [], [], [], []
    for _ in range(60):
        x = rng.uniform([20.0, 0.0], [60.0, 1.0], (1000, 2))
        y = np.outer(x[:, 0] - 40.0, [0.005, 0.0]) + 0.1 * rng.standard_normal((1000, 2))
        made = cdp.geodesic_regression(x, y, ball, ONE, x_range=[(20.0, 60.0), (0.0, 1.0)])
        several.append(made)
        steep.append(made.coefficients[0])
        flat.append(made.coefficients[1].p_value)
        variances.append(made.residual_variance)
    speeds = np.array([own.speed for own in steep])
    assert np.mean(speeds) == pytest.approx(0.005, rel=0.1)
    errors = np.array([own.standard_error for own in steep])
    # of one of two directions: 0.56, drawn with a deviation of 0.03
    assert 0.3 < np.std(speeds) / np.nanmean(errors) < 0.9
    assert np.nanmedian([own.p_value for own in steep]) < 1e-3
    assert sum(p < 0.05 for p in flat) <= stats.binom.isf(chance.FAILURE, 60, 0.05)
    assert made.summary().splitlines()[1].split()[0] == "x1"
    # the squared length of residuals of two directions
    assert np.median(variances) == pytest.approx(2 * 0.1**2, rel=0.5)
    made = next(own for own in several if own.arrived)  # a false alarm in 200 each
    wider = made.band(x[:5], interval="prediction") / made.band(x[:5])
    assert (wider > 2).all()
    assert made.prediction_error > made.expected_error


def test_tables_of_groups_say_where_footpoints_stand():
    ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    x = np.tile(np.linspace(0.0, 0.3, 300), 2)
    groups = np.repeat(["a", "b"], 300)
    made = cdp.geodesic_regression(
        x, (2 * x - 0.5)[:, None], ball, cdp.GDP(20.0), x_range=(0.0, 1.0), groups=groups
    )
    table = made.to_arrow().to_pandas()
    for row, own in zip(table.itertuples(), made, strict=True):
        assert row.x_center == own.x_center
        assert row.deviation == own.deviation
        np.testing.assert_array_equal(row.moments, own.moments.ravel())
        assert 2 * row.x_center - 0.5 == pytest.approx(row.value[0], abs=0.02)
        assert row.x_center == pytest.approx(0.15, abs=0.05)
    given = cdp.geodesic_regression(
        x, x[:, None], ball, cdp.GDP(1.0), x_range=(0.0, 1.0), groups=groups, tau=0.2
    )
    assert "meat" in given.to_arrow().column_names
    drawn = cdp.geodesic_regression(
        x,
        x[:, None],
        ball,
        cdp.PureDP(4.0),
        x_range=(0.0, 1.0),
        groups=groups,
        tau=0.2,
        sampler="exact",
    )
    assert "x_center" not in drawn.to_arrow().column_names


def test_a_spread_below_its_noise_is_said():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.49, 0.51, 400)
    y = 0.1 * rng.standard_normal((400, 2))
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    lost = [
        cdp.geodesic_regression(x, y, ball, cdp.GDP(0.5), x_range=(0.0, 100.0)) for _ in range(20)
    ]
    unknown = [made for made in lost if made.expected_error is None]
    said = [made for made in unknown if "narrower range" in " ".join(made.doubts)]
    assert len(said) >= 10  # each with a chance of 0.97, so fewer with one below 1e-11
    assert all(np.isnan(made.band(0.5)) for made in unknown)
    short = cdp.geodesic_regression(x, y, ball, cdp.PureDP(1.0), x_range=(0.49, 0.51))
    assert short.expected_error is None
    several = (
        cdp.geodesic_regression(x, y, ball, cdp.GDP(50.0), x_range=(0.49, 0.51)) for _ in range(6)
    )
    known = next(made for made in several if made.arrived)  # a false alarm in 200 each
    assert known.expected_error is not None
    assert "narrower" not in known.report()


def test_two_covariates_are_served():
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=2.0)
    rng = np.random.default_rng(4)
    x = rng.uniform([0.0, -1.0], [10.0, 1.0], (2000, 2))
    y = x @ np.array([[0.05, 0.0], [0.1, -0.5]]) + 0.05 * rng.standard_normal((2000, 2))
    several = [
        cdp.geodesic_regression(x, y, ball, ONE, x_range=[(0.0, 10.0), (-1.0, 1.0)])
        for _ in range(15)
    ]
    made = several[0]
    assert made.value.shape == (3, 2)
    # a release in fifty has the noise of too high a level, and says so in its error
    values = np.median([own.value for own in several], axis=0)
    predicted = np.median([own.predict([[0.0, 1.0]]) for own in several], axis=0)
    np.testing.assert_allclose(values[1:], [[0.5, 0.0], [0.2, -1.0]], atol=0.05)
    np.testing.assert_allclose(predicted, [[0.1, -0.5]], atol=0.05)
    assert made.band([[0.0, 1.0], [5.0, 0.0]]).shape == (2,)
    assert cdp.Release.from_json(made.to_json()) == made
    model = cdp.GeodesicRegression(ball, ONE, x_range=[(0.0, 10.0), (-1.0, 1.0)]).fit(x, y)
    assert model.predict(x).shape == y.shape
    assert model.coef_.shape == (2, 2)
    np.testing.assert_array_equal(model.intercept_, model.predict([[5.0, 0.0]])[0])
    with pytest.raises(ValueError, match=r"x must have shape \(n, 2\)"):
        cdp.geodesic_regression(x[:, 0], y, ball, ONE, x_range=[(0.0, 1.0), (0.0, 1.0)])
    with pytest.raises(ValueError, match="several covariates"):
        _ = made.slope


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308, 0.0])
@pytest.mark.parametrize("space", [SPACES[0], SPHERE, SPACES[4], MATRICES], ids=repr)
def test_no_record_or_covariate_raises_or_warns(space, bad):
    times, points, _, _ = problem(space, np.random.default_rng(1), 20, 0.1)
    times[0], points[1], points[2] = bad, bad, -points[2]
    times[3:] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoiseWarning)  # depends on public numbers alone
        for guarantee in (cdp.GDP(0.01), cdp.PureDP(1e4)):
            assert np.isfinite(release(space, times, points, guarantee).value).all()


def test_predictions_far_out_on_hyperbolic_space_are_points():
    """Velocities of 64 at points 8 from the centre were read off points whose digits were lost."""
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=8.0)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 200)
    tangent = ball.manifold.coords_to_tangent(np.outer(x - 0.5, [3.0, 0.0]), ball.center)
    y = ball.manifold.exp(tangent, ball.center)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        for _ in range(60):
            made = cdp.geodesic_regression(x, y, ball, cdp.GDP(0.01), x_range=(0.0, 1.0))
            assert ball.manifold.norm(made.value[1], made.value[0]) <= 64.0 * (1 + 1e-6)
            assert ball.manifold.belongs(made.predict(np.linspace(0.0, 1.0, 11))).all()


@pytest.mark.parametrize(("sampler", "coverage"), [("auto", None), ("auto", True), ("exact", True)])
def test_budgets_that_no_number_of_records_meets_are_refused_before_payment(sampler, coverage):
    """They raised OverflowError where the least number of records was to be named."""
    ball = cdp.Ball("hyperboloid:2", center=[1.0, 0.0, 0.0], radius=1.0)
    x, y = np.linspace(0.0, 1.0, 50), np.tile(ball.center, (50, 1))
    how = {"x_range": (0.0, 1.0), "sampler": sampler, "tau": 0.1, "v_max": 0.5}
    how |= {"records_per_unit": 10**9, "coverage": coverage}
    with cdp.Ledger(cdp.PureDP(1.0)) as ledger:
        with pytest.raises(ValueError, match=r"too few records|scale must be"):
            cdp.geodesic_regression(x, y, ball, cdp.PureDP(1e-300), ledger=ledger, **how)
        assert ledger.spent is None
