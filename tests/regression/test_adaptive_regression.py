"""Regression without a public clipping length: sensitivities, privacy, accuracy, units."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import curvedp as cdp
from chance import CONFIDENCE
from curvedp import _core
from curvedp.audit import audit_samples
from curvedp.errors import NoiseWarning
from curvedp.mechanisms import vector_noise
from curvedp.regression import adaptive
from curvedp.regression.adaptive import (
    AdaptiveDesign,
    AdaptiveFit,
    moment_noise,
    second_weight,
)
from regression_problems import SPACES, problem

SPHERE, MATRICES = SPACES[1], SPACES[5]
ONE = cdp.GDP(1.0)


def release(space, x, y, guarantee=ONE, **changes):
    return cdp.geodesic_regression(
        x, y, space.ball, guarantee, **{"x_range": (-0.5, 0.5), **changes}
    )


@pytest.fixture(scope="module")
def data():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(1), 300, 0.1)
    return times, points


# Sensitivities


def moments_of(t: np.ndarray, a: float) -> np.ndarray:
    """(t, a t t^T), shape (..., q + q^2)."""
    square = a * t[..., :, None] * t[..., None, :]
    return np.concatenate([t, square.reshape(*t.shape[:-1], -1)], axis=-1)


def widest(q: int, a: float) -> float:
    """Largest distance of moments found, of corners, their mixtures and random covariates."""
    rng = np.random.default_rng(q)
    one, two = rng.uniform(-0.5, 0.5, (2, 200_000, q))
    corner = rng.random((2, 200_000, q))
    one = np.where(corner[0] < 0.5, np.sign(one) / 2, one)
    two = np.where(corner[1] < 0.3, -one, np.where(corner[1] < 0.6, one, two))
    golden = (math.sqrt(5) - 1) / 2  # the difference at which one covariate attains the bound
    one[0], two[0] = 0.5, 0.5 - golden
    one[1], two[1] = 0.5, -0.5
    one[2], two[2] = 0.5, 0.5
    two[2, 1:] = -0.5
    two[2, 0] = 0.5 if q > 1 else -0.5
    gaps = np.linalg.norm(moments_of(one, a) - moments_of(two, a), axis=1)
    return float(gaps.max())


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_one_unit_moves_the_moments_by_at_most_their_sensitivity(q):
    a, limit = second_weight(q), math.sqrt(q)
    assert limit * (1 - 1e-9) < widest(q, a) <= limit * (1 + 1e-12)
    too_much = a * (1.01 if q == 1 else 1.5)
    assert widest(q, too_much) > limit * (1 + 1e-3)
    noise = moment_noise(50, q, 1, ONE)
    assert noise.sensitivity >= limit / 50
    assert noise.scale >= noise.sensitivity


def contributions(space, points, times, ends, at, whitening):
    manifold = space.ball.frame.manifold
    return manifold.regression_contributions(points, times, ends, *at, whitening)


def geodesic(space, rng, q, length, reach=0.9):
    """A footpoint in the frame of the ball, to `reach` radii, and velocities there."""
    frame, dim = space.ball.frame, space.manifold.dim
    start = rng.standard_normal((1, dim))
    start *= reach * space.radius * rng.random() / np.linalg.norm(start)
    footpoint = np.empty((1, len(frame.origin)))
    frame.manifold.exp_coords(start, frame.origin[None], footpoint)
    velocities = rng.standard_normal((q, dim))
    return footpoint[0], velocities * length / np.linalg.norm(velocities, axis=1).sum()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_one_unit_moves_the_mean_by_at_most_its_sensitivity(space):
    rng, n, q = np.random.default_rng(0), 6, 2
    whitening = np.tril(rng.standard_normal((q + 1, q + 1))) + 3 * np.eye(q + 1)
    largest, unclipped = 0.0, 0.0
    for trial in range(60):
        length = 10.0 ** rng.uniform(-3, 1)
        at = geodesic(space, rng, q, rng.choice([0.1, 1.0, 30.0]))
        means, raw = [], []
        counts = [1, 1, 1, 1, 1, 1]
        shared = np.random.default_rng(trial).integers(1 << 30)
        for side in (1, 3):  # the last unit is another one, of another size
            counts[-1] = side
            own = np.random.default_rng(shared)
            total = sum(counts)
            times = np.vstack(
                [own.uniform(-0.5, 0.5, (n - 1, q)), rng.choice([-0.5, 0.5], (side, q))]
            )
            _, rows, _, _ = problem(space, own, n - 1, 1.0)
            _, last, _, _ = problem(space, rng, side, 1.0)
            points = space.ball.enter(np.concatenate([rows, last]))
            ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
            assert ends[-1] == total
            found = contributions(space, points, times, ends, at, whitening)
            means.append(_core.clipped_mean(found, length))
            raw.append(found.mean(axis=0))
        bound = 2 * length / n
        largest = max(largest, float(np.linalg.norm(means[0] - means[1])) / bound)
        unclipped = max(unclipped, float(np.linalg.norm(raw[0] - raw[1])) / bound)
    assert 0.5 < largest <= 1 + 1e-12
    assert unclipped > 10.0


def test_opposite_units_attain_the_sensitivity():
    rows = np.zeros((7, 4))
    rows[0] = [3.0, 0.0, 0.0, 4.0]
    moved = rows.copy()
    moved[0] *= -1e6
    gap = _core.clipped_mean(rows, 0.1) - _core.clipped_mean(moved, 0.1)
    assert np.linalg.norm(gap) == pytest.approx(2 * 0.1 / 7, rel=1e-12)


STRANGE = [0.0, 1e308, -1e308, 1e-308, 5e-324, 1.0, -1 / 3, 1e16, math.nan, math.inf, -math.inf]


def test_sums_of_clipped_rows_are_right_to_their_bound_in_exact_arithmetic():
    """Replacing a row by whatever moves the computed mean by 2 C/N and twice the rounding."""
    rng, width, length, n = np.random.default_rng(0), 5, 0.3, 2500
    limit = Fraction(2 * length) / n + 2 * Fraction(length * _core.summation_error(n))
    base = rng.standard_normal((n, width)) * 10.0 ** rng.integers(-12, 12, (n, 1))
    base[:100] = rng.choice(STRANGE, (100, width))
    for _ in range(200):
        one, two = base.copy(), base.copy()
        one[11], two[11] = rng.choice(STRANGE, (2, width))
        gap = [
            Fraction(x) - Fraction(y)
            for x, y in zip(
                _core.clipped_mean(one, length), _core.clipped_mean(two, length), strict=True
            )
        ]
        assert sum(x * x for x in gap) <= limit**2


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("q", [1, 2])
def test_contributions_are_gradients_of_single_records(space, q):
    """Against the kernel of the energy, whose gradients are tested by finite differences."""
    rng, n = np.random.default_rng(5), 5
    _, rows, _, _ = problem(space, rng, n, 0.2)
    points = space.ball.enter(rows)
    times = rng.uniform(-0.5, 0.5, (n, q))
    footpoint, velocities = geodesic(space, rng, q, 0.5 * space.v_max)
    whitening = np.tril(rng.standard_normal((q + 1, q + 1))) + 2 * np.eye(q + 1)
    manifold, expected = space.ball.frame.manifold, []
    for point, t in zip(points, times, strict=True):
        # exp_p(w) is exp_p(v/2) for v = 2 w
        _, start, slope = manifold.regression_energy(
            point[None], np.array([0.5]), footpoint, 2 * (t @ velocities), 1e3
        )
        own = np.vstack([-start, *(-2 * x * slope for x in t)])
        expected.append((whitening @ own).ravel())
    single = contributions(
        space, points, times, np.arange(n + 1), (footpoint, velocities), whitening
    )
    np.testing.assert_allclose(single, expected, rtol=1e-9, atol=1e-11)
    ends = np.array([0, 2, n])
    pairs = contributions(space, points, times, ends, (footpoint, velocities), whitening)
    means = [single[:2].mean(axis=0), single[2:].mean(axis=0)]
    np.testing.assert_allclose(pairs, means, rtol=1e-9, atol=1e-11)


# The schedule


@pytest.mark.parametrize(
    "way", [cdp.GDP(0.05), ONE, cdp.GDP(30.0), cdp.PureDP(0.1), cdp.PureDP(20.0)], ids=str
)
@pytest.mark.parametrize("n", [1, 30, 1000])
def test_stages_compose_to_the_budget(way, n):
    design = AdaptiveDesign.of(SPHERE.ball, n, way, covariates=1, v_max=2.0, records_per_unit=3)
    assert cdp.compose(*design.shares).additive() <= way.additive()
    total = adaptive._MOMENTS + sum(
        cycle.quantile + sum(share for share, _ in cycle.steps) for cycle in design.cycles
    )
    assert 0.99 <= total + 1e-9 <= 1.0 + 1e-8
    for (quantile, steps), cycle in zip(design.cycle_shares, design.cycles, strict=True):
        assert (quantile is not None) == (cycle.quantile > 0)
        for share in steps:
            budget = share.mu if isinstance(share, cdp.GDP) else share.epsilon
            assert design.noise(0.1, share).scale >= 2 * 0.1 * min(3, n) / n / budget


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
    """Mean distance of predictions from the truth, over the range of the data.

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
    return float(np.mean(found))


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


@pytest.mark.parametrize("guarantee", [cdp.GDP(0.5), cdp.PureDP(4.0)], ids=str)
def test_the_printed_error_is_that_of_the_noise(guarantee):
    """Against the same clipped fit without noise, on skewed residuals that nobody tuned on."""
    rng, n = np.random.default_rng(8), 500
    for space in (SPHERE, MATRICES):
        start, velocity = geodesic(space, rng, 1, 0.8, reach=0.2)
        times, manifold = rng.uniform(-0.5, 0.5, n), space.ball.frame.manifold
        means = np.empty((n, len(start)))
        manifold.exp_coords(times[:, None] * velocity, start[None], means)
        residuals = 0.05 * (rng.exponential(size=(n, space.manifold.dim)) - 1)
        points = np.empty_like(means)
        manifold.exp_coords(residuals, means, points)
        printed, measured = [], []
        design = AdaptiveDesign.of(
            space.ball, n, guarantee, covariates=1, v_max=2.0, records_per_unit=1
        )
        for _ in range(120):  # of one draw the ratio varies by .4
            stream = _core.Stream.from_os()
            fit = AdaptiveFit.run(design, points, times[:, None], np.arange(n + 1), stream)
            printed.append(design.noise_after(fit.length) * math.sqrt(design.size))
            noisy = np.empty_like(means)
            manifold.exp_coords(fit.times * fit.velocities, fit.footpoint[None], noisy)
            whitening = np.linalg.inv(np.linalg.cholesky(fit.moments))
            for _ in range(40):
                mean = _core.clipped_mean(fit._contributions(whitening), fit.length)
                fit._step(whitening.T @ mean.reshape(2, -1))
            without = np.empty_like(means)
            manifold.exp_coords(fit.times * fit.velocities, fit.footpoint[None], without)
            gaps = np.empty(n)
            manifold.dist(noisy, without, gaps)
            measured.append(math.sqrt(np.mean(gaps**2)))
        assert 1 / 1.7 < np.mean(measured) / np.mean(printed) < 1.7


def test_bands_cover_where_residuals_spread_alike():
    """Residuals along one direction alone, the hardest case; see the proof page for more."""
    space, n, rng = SPHERE, 400, np.random.default_rng(11)
    covered, x = [], np.linspace(-0.5, 0.5, 5)
    for trend in (0.7, 0.0):
        velocity = np.array([[0.0, trend]])
        origin, manifold = space.ball.frame.origin[None], space.ball.frame.manifold
        for _ in range(40):
            times = rng.uniform(-0.5, 0.5, n)
            means = np.empty((n, 3))
            manifold.exp_coords(times[:, None] * velocity, origin, means)
            residuals = np.column_stack([0.06 * rng.standard_normal(n), np.zeros(n)])
            points = np.empty_like(means)
            manifold.exp_coords(residuals, means, points)
            made = release(space, times, space.ball.leave(points))
            truth = np.empty((5, 3))
            manifold.exp_coords(x[:, None] * velocity, origin, truth)
            gaps = space.manifold.dist(made.predict(x), space.ball.leave(truth))
            covered.append(np.mean(gaps <= made.band(x)))
    assert np.mean(covered) > 0.9
    given = release(space, times, space.ball.leave(points), tau=0.1, sampler="whitened")
    assert np.isnan(given.band(x)).all()  # tau may be far too small, which nothing released tells


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
    assert "x_center" not in given.to_arrow().column_names


def test_a_spread_below_its_noise_is_said():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.49, 0.51, 40)
    y = np.column_stack([0.1 * rng.standard_normal((40, 2))])
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    lost = [
        cdp.geodesic_regression(x, y, ball, cdp.GDP(0.5), x_range=(0.0, 100.0)) for _ in range(20)
    ]
    unknown = [made for made in lost if made.expected_error is None]
    assert len(unknown) >= 10  # each with a chance of 0.97, so fewer with one below 1e-11
    assert all("narrower range" in " ".join(made.report().split()) for made in unknown)
    assert all(np.isnan(made.band(0.5)) for made in unknown)
    short = cdp.geodesic_regression(x, y, ball, cdp.PureDP(1.0), x_range=(0.49, 0.51))
    assert short.expected_error is None
    known = cdp.geodesic_regression(x, y, ball, cdp.GDP(50.0), x_range=(0.49, 0.51))
    assert known.expected_error is not None
    assert "narrower" not in known.report()


def test_two_covariates_are_served():
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=2.0)
    rng = np.random.default_rng(4)
    x = rng.uniform([0.0, -1.0], [10.0, 1.0], (2000, 2))
    y = x @ np.array([[0.05, 0.0], [0.1, -0.5]]) + 0.05 * rng.standard_normal((2000, 2))
    made = cdp.geodesic_regression(x, y, ball, ONE, x_range=[(0.0, 10.0), (-1.0, 1.0)])
    assert made.value.shape == (3, 2)
    np.testing.assert_allclose(made.value[1:], [[0.5, 0.0], [0.2, -1.0]], atol=0.05)
    np.testing.assert_allclose(made.predict([[0.0, 1.0]]), [[0.1, -0.5]], atol=0.05)
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


# Units


def test_units_of_one_record_change_nothing(data):
    one = release(SPHERE, *data, seed=3)
    named = release(SPHERE, *data, seed=3, units=[f"person {i}" for i in range(300)])
    assert one.value.tobytes() == named.value.tobytes()
    assert named.n == 300
    assert "units-by-name" in named.assumptions
    assert "one person, however many" in named.statement.protected


def test_units_may_have_any_number_of_records(data):
    x, y = data
    few = release(SPHERE, x[:200], y[:200], units=np.repeat(np.arange(50), 4))
    grown = np.concatenate([np.repeat(np.arange(50), 4), np.full(100, 49)])
    many = release(SPHERE, x, y, units=grown)
    assert few.n == many.n == 50
    assert few.sensitivity * few.n > 0
    keep = ("guarantee", "n", "ball_radius", "records_per_unit", "assumptions", "mechanism")
    assert all(getattr(few, name) == getattr(many, name) for name in keep)


def test_rows_of_a_unit_may_stand_anywhere(data):
    x, y = data
    units = np.repeat(np.arange(60), 5)
    order = np.random.default_rng(0).permutation(300)
    apart = release(SPHERE, x[order], y[order], cdp.GDP(1e3), units=units[order])
    together = release(SPHERE, x, y, cdp.GDP(1e3), units=units)
    assert SPHERE.manifold.dist(apart.value[0], together.value[0]) < 1e-3


def test_units_weigh_alike_and_pay_once(data):
    """One unit with most records moves the result no more than another."""
    ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    x = np.tile(np.linspace(0.0, 1.0, 10), 100)
    y = np.zeros((1000, 1))
    y[500:] = 0.5  # all of one unit, half of all records
    units = np.concatenate([np.repeat(np.arange(50), 10), np.full(500, 50)])
    with cdp.Ledger(cdp.GDP(60.0)) as ledger:
        made = cdp.geodesic_regression(
            x, y, ball, cdp.GDP(50.0), x_range=(0.0, 1.0), units=units, ledger=ledger
        )
        assert ledger.spent == cdp.GDP(50.0)
    assert abs(made.value[0, 0]) < 0.05


def test_units_stay_within_their_groups(data):
    x, y = data
    groups = np.repeat(["a", "b"], 150)
    units = np.arange(300) % 75
    with pytest.raises(ValueError, match="2 groups, more than groups_per_unit=1"):
        release(SPHERE, x, y, groups=groups, units=units)
    both = release(SPHERE, x, y, groups=groups, units=units, groups_per_unit=2)
    assert both.n.tolist() == [75, 75]
    how = {"groups": groups, "groups_per_unit": 2}
    again = how | {"units": units, "secret": cdp.NoiseSecret(bytes(range(32)))}
    same = [release(SPHERE, x, y, **again).value for _ in range(2)]
    assert same[0].tobytes() == same[1].tobytes()
    how["secret"] = cdp.NoiseSecret(bytes(range(32)))
    others = release(SPHERE, x, y, units=np.arange(300) // 2, **how)
    assert (others.value != same[0]).all()


def test_wrong_units_are_refused_before_a_budget_is_spent(data):
    with cdp.Ledger(ONE) as ledger:
        for changes, words in [
            ({"units": np.arange(299)}, "one label for each of 300"),
            ({"units": np.arange(300), "tau": 0.1, "sampler": "exact"}, "knows no units"),
            ({"units": np.arange(300), "records_per_unit": 2}, "not both"),
            ({"sampler": "gradient"}, "needs tau"),
            ({"v_max": math.inf}, "v_max"),
            ({"x_range": [(0.0, 1.0), (1.0, 1.0)]}, "x_lo < x_hi"),
        ]:
            with pytest.raises(ValueError, match=words):
                release(SPHERE, *data, ledger=ledger, **changes)
        assert ledger.spent is None


@pytest.mark.parametrize(
    "label",
    [
        lambda person, record: (math.nan, person),  # a site that is missing
        lambda person, record: (float(np.float64(math.nan)), person),
        lambda person, record: frozenset([math.nan, person]),
    ],
)
def test_labels_of_persons_of_which_a_part_is_missing_are_refused(data, label):
    """Records of one person would count as those of two."""
    units = [label(record % 60, record) for record in range(300)]
    with pytest.raises(ValueError, match="some labels are missing"):
        release(SPHERE, *data, units=units)


@pytest.mark.parametrize(
    "label", [(0.1 + 0.2,), (1.5, "a"), Decimal("nan"), object(), [1], frozenset([0.5])]
)
def test_labels_without_equality_are_refused(data, label):
    units = [label] + ["a"] * 299
    with pytest.raises(TypeError, match="labels of units"):
        release(SPHERE, *data, units=units)


@pytest.mark.parametrize("label", [None, math.nan])
def test_records_without_a_person_are_refused(data, label):
    """Else all of them would be one person, and a partly named person two."""
    with pytest.raises(ValueError, match="some labels are missing"):
        release(SPHERE, *data, units=[label, *["a", "b", "c"] * 99, "a", "b"])


def test_persons_with_a_known_length_of_residuals_need_no_quantile():
    """Few persons with many records; without tau the scale costs too much of the budget."""
    space, rng = SPHERE, np.random.default_rng(3)
    errors = {}
    for name, how in (("given", {"tau": 0.03}), ("record by record", {"tau": 0.1})):
        found = []
        for _ in range(16):
            start, velocity = geodesic(space, rng, 1, 0.2, reach=0.05)
            times = rng.uniform(-0.5, 0.5, 240)
            manifold = space.ball.frame.manifold
            means = np.empty((240, 3))
            manifold.exp_coords(times[:, None] * velocity, start[None], means)
            points = np.empty_like(means)
            manifold.exp_coords(0.04 * rng.standard_normal((240, 2)), means, points)
            who = {"units": np.arange(240) // 8} if name == "given" else {"records_per_unit": 8}
            made = release(space, times, space.ball.leave(points), **how, **who)
            gaps = space.manifold.dist(made.predict(times), space.ball.leave(means))
            found.append(np.mean(gaps))
        errors[name] = np.mean(found)
    assert errors["given"] < 0.5 * errors["record by record"]


# The whole release


class Transcript:
    """Records what every mechanism is applied to and releases; replays what was released."""

    def __init__(self, monkeypatch):
        self.centers, self.outputs, self.replayed = [], [], None
        add, sample = adaptive.VectorNoise.add, adaptive.RankExponential.sample

        def noisy(noise, vector, stream):
            return self._next((noise, vector.copy()), lambda: add(noise, vector, stream))

        def drawn(mechanism, values, stream):
            return self._next((mechanism, values.copy()), lambda: sample(mechanism, values, stream))

        monkeypatch.setattr(adaptive.VectorNoise, "add", noisy)
        monkeypatch.setattr(adaptive.RankExponential, "sample", drawn)

    def _next(self, center, draw):
        self.centers.append(center)
        if self.replayed is not None:
            return self.replayed[len(self.centers) - 1]
        self.outputs.append(draw())
        return self.outputs[-1]

    def losses(self, run, data_a, data_b):
        """Of each stage the share of its budget that the outputs of `data_a` could spend."""
        self.centers, self.outputs, self.replayed = [], [], None
        first = run(data_a)
        centers, self.replayed, self.centers = self.centers, self.outputs, []
        second = run(data_b)
        shares = []
        for (mechanism, a), (_, b), output in zip(centers, self.centers, self.outputs, strict=True):
            if isinstance(mechanism, adaptive.VectorNoise):
                reach = mechanism.sensitivity + 2 * mechanism.rounding
                shares.append(float(np.linalg.norm(a - b)) / reach)
            else:
                loss = mechanism.log_density(output, a) - mechanism.log_density(output, b)
                shares.append(abs(float(loss[0])) * mechanism.scale / 2)
        return shares, first, second


def transcripts(space, monkeypatch, trials=25):
    """The largest share over random data sets that differ in all records of one unit."""
    audit, rng, largest = Transcript(monkeypatch), np.random.default_rng(0), 0.0
    for trial in range(trials):
        n = int(rng.choice([2, 5, 30]))
        guarantee = [cdp.GDP(1.0), cdp.GDP(30.0), cdp.PureDP(1.0)][trial % 3]
        x, y, _, _ = problem(space, rng, n, 0.3)
        sides = []
        for count in (1, int(rng.integers(1, 6))):
            last_x = rng.choice([0.5, -0.5, 0.0, np.nan], count)
            _, last_y, _, _ = problem(space, rng, count, 2.0)
            last_y[: count // 2] = np.nan
            units = np.concatenate([np.arange(n), np.full(count, n)])
            sides.append((np.append(x, last_x), np.concatenate([y, last_y]), units))

        def run(side, guarantee=guarantee):
            own_x, own_y, units = side
            return release(space, own_x, own_y, guarantee, units=units)

        shares, first, second = audit.losses(run, *sides)
        assert first == second  # all else is a function of what was released
        largest = max(largest, *shares)
    return largest


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_no_stage_spends_more_than_its_share(space, monkeypatch):
    assert 0.5 < transcripts(space, monkeypatch) <= 1 + 1e-9


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_longer_contributions_and_sharper_quantiles_are_found(monkeypatch):
    honest = _core.clipped_mean
    with monkeypatch.context() as broken:
        broken.setattr(_core, "clipped_mean", lambda rows, length: honest(rows, 1.5 * length))
        assert transcripts(SPHERE, broken) > 1.2
    with monkeypatch.context() as broken:
        utility = adaptive.RankExponential._utility
        broken.setattr(
            adaptive.RankExponential, "_utility", lambda own, *ranks: 4 * utility(own, *ranks)
        )
        assert transcripts(SPHERE, broken, trials=150) > 1.05


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("q", [1, 2])
def test_a_contribution_depends_on_its_own_unit_bit_by_bit(space, q):
    """Wherever it stands in a block, and whatever stands beside it."""
    rng, n = np.random.default_rng(2), 300
    _, rows, _, _ = problem(space, rng, n, 0.5)
    points = space.ball.enter(rows)
    times = rng.uniform(-0.5, 0.5, (n, q))
    at, whitening = geodesic(space, rng, q, space.v_max), np.eye(q + 1)
    whole = contributions(space, points, times, np.arange(n + 1), at, whitening)
    for shift in (1, 3, 7, 129):
        beside = points.copy()
        beside[:shift] = np.nan
        ends = np.arange(n - shift + 1)
        part = contributions(space, points[shift:], times[shift:], ends, at, whitening)
        assert part.tobytes() == whole[shift:].tobytes()
        other = contributions(space, beside, times, np.arange(n + 1), at, whitening)
        assert other[shift:].tobytes() == whole[shift:].tobytes()
    entered = np.concatenate([space.ball.enter(row[None]) for row in rows])
    assert entered.tobytes() == points.tobytes()
    moved = (np.nextafter(at[0], np.inf), at[1])
    nudged = contributions(space, points, times, np.arange(n + 1), moved, whitening)
    assert nudged.tobytes() != whole.tobytes()


def test_clipping_at_the_smallest_numbers_leaves_no_vector_too_long():
    """Factors that are not normal numbers have lost digits."""
    for length in (1e-300, 2.0**-574, 1e-155, 1e-100, 1.0):
        for entry in (1.9 * 2.0**500, 1e150, 1e-3):
            mean = _core.clipped_mean(np.array([[entry]]), length)
            assert abs(mean[0]) <= length


def test_a_length_found_privately_refuses_nothing_after_the_budget_is_spent():
    """Small residuals on a large ball: the grid does not depend on the length found."""
    ball = cdp.Ball("spd:2", "identity", 8.0)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 10_000)
    coords = 0.3 * rng.standard_normal((10_000, 3))
    y = ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)
    for budget in (1.0, 1e3, 1e6):
        with cdp.Ledger(cdp.GDP(budget)) as ledger:
            how = {"x_range": (0.0, 1.0), "ledger": ledger}
            try:
                cdp.geodesic_regression(x, y, ball, cdp.GDP(budget), **how)
            except cdp.errors.ExistenceError:
                assert ledger.spent is None
            else:
                assert ledger.spent is not None


def test_half_the_noise_is_found_by_an_audit(monkeypatch):
    """One unit of several records turns over; the others agree, so that little noise is left."""
    ball = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
    units = np.concatenate([np.arange(12), np.full(3, 12)])
    x = np.linspace(0.0, 1.0, 15)
    x[12:] = 0.5

    def scores(last):
        y = np.zeros((15, 1))
        y[12:] = last
        found = []
        for _ in range(400):
            made = cdp.geodesic_regression(
                x, y, ball, cdp.GDP(2.0), x_range=(0.0, 1.0), units=units
            )
            found.append(made.value[0, 0] / made.scale)
        return found

    kept = audit_samples(
        scores(1.0), scores(-1.0), cdp.GDP(2.0), n_thresholds=5, confidence=CONFIDENCE
    )
    assert kept.passed, kept.report()
    honest = vector_noise.calibrated_scale
    monkeypatch.setattr(vector_noise, "calibrated_scale", lambda *of: honest(*of) / 4)
    broken = audit_samples(
        scores(1.0), scores(-1.0), cdp.GDP(2.0), n_thresholds=5, confidence=CONFIDENCE
    )
    assert not broken.passed, broken.report()
