"""Private geodesic regression: what is promised, what it costs, what it returns."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mechanisms.grid import round_to_grid
from curvedp.privacy import GDP, PureDP
from curvedp.regression.covariate import clipped_times
from curvedp.regression.private import rounded
from curvedp.regression.steps import carry, shorten
from regression_problems import SPACES, problem

SPHERE = SPACES[1]
ONE = GDP(1.0)
GUARANTEES = [PureDP(1.0), GDP(0.7), cdp.ZCDP(0.5), cdp.ApproxDP(1.0, 1e-6)]


def call(space, x, y, guarantee=ONE, **changes):
    arguments = {"x_range": (-0.5, 0.5), "tau": 0.2, "v_max": space.v_max, **changes}
    return cdp.geodesic_regression(x, y, space.ball, guarantee, **arguments)


@pytest.fixture(scope="module")
def data():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(1), 300, 0.1)
    return times, points


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_release_promises_what_was_asked(data, guarantee):
    release = call(SPHERE, *data, guarantee)
    assert release.guarantee == guarantee
    assert release.assumptions == frozenset()
    assert release.n == 300
    assert SPHERE.manifold.belongs(release.value[0])
    assert release.predict([[-0.5, 0.0], [0.5, 2.0]]).shape == (2, 2, 3)
    assert "clipped to [-0.5, 0.5]" in release.report()


def test_seeded_release_promises_nothing_and_repeats(data):
    one, two = (call(SPHERE, *data, seed=3) for _ in range(2))
    assert isinstance(one.guarantee, cdp.Unproved)
    assert one == two
    assert call(SPHERE, *data, seed=4) != one
    assert call(SPHERE, *data) != call(SPHERE, *data)


def test_release_survives_json_and_pickle(data):
    release = call(SPHERE, *data)
    assert cdp.GeodesicRelease.from_json(release.to_json()) == release
    assert pickle.loads(pickle.dumps(release)) == release
    with pytest.raises(ValueError, match="tau"):
        cdp.GeodesicRelease.from_json(release.to_json().replace('"tau": 0.2', '"tau": -1.0'))


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_released_geodesic_lies_in_the_support(space):
    times, points, _, _ = problem(space, np.random.default_rng(2), 60, 0.1)
    for guarantee in (PureDP(0.05), GDP(0.05), GDP(20.0)):
        release = call(space, times, points, guarantee)
        assert np.isfinite(release.value).all()
        assert space.manifold.dist(release.value[0], space.center) <= space.radius * (1 + 1e-4)
        length = space.manifold.norm(release.value[1], release.value[0])
        assert length <= space.v_max * (1 + 1e-4)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_large_budget_gives_the_fit(space):
    times, points, _, _ = problem(space, np.random.default_rng(3), 400, 0.02)
    release = call(space, times, space.ball.project(points), GDP(1e5), tau=1.0)
    fit = cdp.nonprivate.geodesic_regression(times, space.ball.project(points), space.manifold)
    gap = np.mean(space.manifold.dist(release.predict(times), fit.predict(times)))
    assert gap < 0.004


def test_ledger_is_charged_before_noise_is_drawn(data):
    with cdp.Ledger(GDP(1.0)) as ledger:
        call(SPHERE, *data, GDP(0.9), ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            call(SPHERE, *data, GDP(0.9), ledger=ledger)
    with cdp.Ledger(GDP(1.0)) as ledger:
        with pytest.raises(ValueError, match="injectivity"):
            call(SPHERE, *data, GDP(0.9), ledger=ledger, v_max=4.0, sampler="exact")
        with pytest.raises(ValueError, match="scale"):
            call(SPHERE, *data, GDP(1e-120), ledger=ledger)
        assert ledger.spent is None


BAD_RECORDS = [np.nan, np.inf, -np.inf, 1e308, 0.0]


@pytest.mark.parametrize("bad", BAD_RECORDS)
def test_no_record_or_covariate_raises_or_warns(data, bad):
    x, y = data[0].copy(), data[1].copy()
    x[0] = bad
    y[1] = bad
    assert np.isfinite(call(SPHERE, x, y).value).all()


def test_a_bad_record_counts_as_the_centre_and_a_bad_covariate_as_the_middle(data):
    x, y = data[0].copy(), data[1].copy()
    x[0], y[1] = np.nan, np.nan
    spoilt = call(SPHERE, x, y, seed=5)
    x[0], y[1] = 0.0, SPHERE.center
    assert spoilt.value.tobytes() == call(SPHERE, x, y, seed=5).value.tobytes()
    assert clipped_times(np.array([-9.0, 9.0, np.inf, -np.inf]), (0.0, 1.0)).tolist() == [
        -0.5,
        0.5,
        0.5,
        -0.5,
    ]


def test_wrong_parameters_are_refused(data):
    with pytest.raises(ValueError, match="for each of 300 records"):
        call(SPHERE, data[0][:-1], data[1])
    with pytest.raises(ValueError, match="x_lo < x_hi"):
        call(SPHERE, *data, x_range=(1.0, 0.0))
    with pytest.raises(ValueError, match="tau"):
        call(SPHERE, *data, tau=-1.0)
    with pytest.raises(TypeError, match="guarantee"):
        call(SPHERE, *data, cdp.Unproved(claimed=GDP(1.0), why="test"))


@pytest.mark.parametrize("budget", [PureDP(4.0), GDP(2.0)], ids=str)
def test_error_falls_with_the_number_of_records(budget):
    errors = []
    for n in (100, 3000):
        gaps = []
        for seed in range(8):
            times, points, _, _ = problem(SPHERE, np.random.default_rng(seed), n, 0.05)
            points = SPHERE.ball.project(points)
            fit = cdp.nonprivate.geodesic_regression(times, points, SPHERE.manifold)
            release = call(SPHERE, times, points, budget)
            grid = np.linspace(-0.5, 0.5, 9)
            gaps.append(np.mean(SPHERE.manifold.dist(release.predict(grid), fit.predict(grid))))
        errors.append(np.mean(gaps))
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("sampler", ["auto", "exact", "metropolis"])
def test_hyperbolic_balls_beyond_double_precision_are_refused(sampler):
    ball = cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 160.0)
    times, points = np.linspace(-0.5, 0.5, 20), np.tile(ball.center, (20, 1))
    settings = {"x_range": (-0.5, 0.5), "tau": 20.0, "v_max": 0.5, "sampler": sampler}
    with pytest.raises(ValueError, match="too large for double precision"):
        cdp.geodesic_regression(times, points, ball, PureDP(1.0), **settings)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_no_records_of_the_ball_exceed_the_loss_bound(space):
    rng = np.random.default_rng(9)
    times, points, _, _ = problem(space, rng, 50, space.radius)
    inside = space.ball.project(points)
    release = call(space, times, inside, PureDP(0.05))
    loss = 0.5 * np.mean(space.manifold.dist(release.predict(times), inside) ** 2)
    assert 0 < loss <= release.loss_bound


def test_estimator_wraps_a_release(data):
    model = cdp.GeodesicRegression(
        SPHERE.ball, GDP(20.0), x_range=(-0.5, 0.5), tau=0.2, v_max=SPHERE.v_max
    )
    with pytest.raises(ValueError, match="not fitted"):
        model.predict([0.0])
    x, y = data
    assert model.fit(x[:, None], y) is model
    assert model.release_.guarantee == GDP(20.0)
    np.testing.assert_array_equal(model.predict(x[:, None]), model.release_.predict(x))
    np.testing.assert_array_equal(model.intercept_, model.predict([-0.5])[0])
    fit = cdp.nonprivate.geodesic_regression(x, y, SPHERE.manifold)
    assert model.score(x, y) == pytest.approx(fit.r_squared, abs=0.02)
    assert model.coef_ @ model.intercept_ == pytest.approx(0.0, abs=1e-9)


def test_estimator_may_be_robust(data):
    x, y = data
    public = {"x_range": (-0.5, 0.5), "seed": 3}
    model = cdp.GeodesicRegression(SPHERE.ball, GDP(20.0), robust=True, **public).fit(x, y)
    alone = cdp.geodesic_regression(x, y, SPHERE.ball, GDP(20.0), robust=True, **public)
    assert model.release_ == alone
    assert model.release_ != cdp.geodesic_regression(x, y, SPHERE.ball, GDP(20.0), **public)


def test_a_velocity_that_lost_all_digits_is_no_longer_than_promised():
    """Parallel transport between matrices of condition e^20 returns vectors of other lengths."""
    ball = cdp.Ball("spd:3", "identity", 14.0)
    manifold, origin = ball.frame.manifold, ball.frame.origin[None]
    rng = np.random.default_rng(0)
    for _ in range(50):
        footpoint, velocity = rng.standard_normal((2, 6))
        point = np.empty((1, manifold.point_size))
        manifold.exp_coords(13.9 * footpoint[None] / np.linalg.norm(footpoint), origin, point)
        end = round_to_grid(ball, point, 1e6)
        velocity *= 28.0 / np.linalg.norm(velocity)
        footpoint, slope = rounded(ball, point[0], velocity[None], 1e6, 28.0)
        assert np.all(np.isfinite(footpoint))
        assert np.all(np.isfinite(slope))
        carried = shorten(carry(manifold, velocity[None], point, end)[0], 28.0)
        assert np.linalg.norm(carried) <= 28.0 * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["text", "array", "list", "category"])
@pytest.mark.parametrize("call", [cdp.geodesic_regression, cdp.trend_test])
def test_texts_as_covariates_are_refused_before_payment(kind, call):
    """The type of a column is public; a column of objects has none, its texts count as missing."""
    import pandas as pd

    sex = np.where(np.arange(40) % 2, "F", "M")
    one = {
        "text": lambda: pd.Series(sex, name="sex", dtype="string"),
        "array": lambda: sex,
        "list": sex.tolist,
        "category": lambda: pd.Series(sex, name="sex", dtype="category"),
    }[kind]()
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    records, ledger = np.tile(ball.center, (40, 1)), cdp.Ledger(cdp.GDP(1.0))
    with pytest.raises(TypeError, match="code two categories as 0 and 1") as refused:
        call(one, records, ball, cdp.GDP(1.0), x_range=(0.0, 1.0), ledger=ledger)
    assert ("'sex'" in str(refused.value)) == (kind not in ("array", "list"))
    assert ledger.spent is None


@pytest.mark.parametrize("wrong", [(0.0, 1.0), {"age": (0.0, 1.0), "sex": (0.0, 1.0)}])
def test_the_form_of_several_ranges_is_said(wrong):
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    records = np.tile(ball.center, (40, 1))
    with pytest.raises((TypeError, ValueError), match=r"\[\(x_lo, x_hi\), \(x_lo, x_hi\)\]"):
        cdp.geodesic_regression(np.ones((40, 2)), records, ball, cdp.GDP(1.0), x_range=wrong)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_coefficients_have_the_names_of_the_covariates_columns(frame):
    """Names of columns are public."""
    import pandas as pd
    import polars

    rng = np.random.default_rng(0)
    given = {
        "age": rng.uniform(20.0, 60.0, 400),
        "is_female": rng.integers(0, 2, 400).astype(float),
    }
    table = {"pandas": pd.DataFrame, "polars": polars.DataFrame}[frame](given)
    ball = cdp.Ball("euclidean:2", [0.0, 0.0], 1.0)
    records = 0.1 * rng.standard_normal((400, 2))
    both = {"x_range": [(20.0, 60.0), (0.0, 1.0)]}
    named = cdp.geodesic_regression(table, records, ball, cdp.GDP(2.0), **both)
    firsts = [line.split()[0] for line in named.summary().splitlines()[1:3]]
    assert firsts == ["age", "is_female"]
    assert cdp.Release.from_json(named.to_json()) == named
    bare = cdp.geodesic_regression(table.to_numpy(), records, ball, cdp.GDP(2.0), **both)
    assert bare.summary().splitlines()[1].split()[0] == "x1"
    age = cdp.geodesic_regression(table["age"], records, ball, cdp.GDP(2.0), x_range=(20.0, 60.0))
    assert age.covariates == ("age",)
    coded = table["age"].rename("\x1b[2J") if frame == "pandas" else table["age"].alias("\x1b[2J")
    own = cdp.geodesic_regression(coded, records, ball, cdp.GDP(2.0), x_range=(20.0, 60.0))
    assert own.covariates == (), "what drives a terminal is no name"
    with pytest.raises(TypeError, match="plain text"):
        replace(age, covariates=("\x1b[2J",))
