"""The K-norm gradient of geodesic regression: exact draws, chains, and which sampler is taken."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from curvedp import _core
from curvedp.privacy import GDP, PureDP
from curvedp.regression.choice import expected_choice
from curvedp.regression.k_norm import KNormGradient
from regression_problems import SPACES, Space, problem

SPHERE = Space(cdp.Sphere(2), np.array([0.0, 0.0, 1.0]), 0.6, 1.0)
SPD2 = Space(cdp.SPD(2), np.eye(2), 0.8, 1.0)
SMALL = [space for space in SPACES if space.manifold.dim <= 2]
THREE = [space for space in SPACES if space.manifold.dim == 3]
LARGE = [space for space in SPACES if space.manifold.dim > 3]
KEY = bytes(range(32))


def call(space, x, y, guarantee, **changes):
    arguments = {"x_range": (-0.5, 0.5), "tau": 0.2, "v_max": space.v_max, "sampler": "exact"}
    return cdp.geodesic_regression(x, y, space.ball, guarantee, **(arguments | changes))


class Twin:
    """The density in normal coordinates (a, w), from one gradient at a time."""

    def __init__(self, space, times, points, scale, tau):
        self.space, self.times, self.scale, self.tau = space, times, scale, tau
        self.rows = space.ball.enter(points)
        self.frame = space.ball.frame

    def log_density(self, z):
        dim = self.space.manifold.dim
        a, w = z[:dim], z[dim:]
        if np.linalg.norm(a) > self.space.radius or np.linalg.norm(w) > self.space.v_max:
            return -np.inf
        core, origin = self.frame.manifold, self.frame.origin[None]
        p = np.empty_like(origin)
        core.exp_coords(a[None], origin, p)
        tangent, carried, v = np.empty_like(p), np.empty_like(p), np.empty((1, dim))
        core.from_coords(w[None], origin, tangent)
        core.parallel_transport(tangent, origin, p, carried)
        core.coords(carried, p, v)
        _, g_p, g_v = core.regression_energy(self.rows, self.times, p[0], v[0], self.tau)
        norm = np.linalg.norm(g_p / 2 + g_v) + np.linalg.norm(g_p / 2 - g_v)
        return -norm / self.scale + np.log(self.jacobian(a))

    def jacobian(self, a):
        """Volume element of exp: sin s/s on the sphere, sinh s/s, s = |l1 - l2|/2, on SPD(2)."""
        if self.space.manifold.dim == 2:
            return np.sinc(np.linalg.norm(a) / np.pi)
        gap = np.hypot(a[0] - a[2], np.sqrt(2) * a[1]) / 2
        return np.sinh(gap) / gap if gap > 0 else 1.0

    def coords(self, footpoint, velocity):
        """Normal coordinates of a drawn geodesic."""
        dim = self.space.manifold.dim
        core, origin = self.frame.manifold, self.frame.origin[None]
        a, w, p = np.empty((1, dim)), np.empty((1, dim)), footpoint[None]
        core.log_coords(p, origin, a)
        tangent, carried = np.empty_like(p), np.empty_like(p)
        core.from_coords(velocity[None], p, tangent)
        core.parallel_transport(tangent, p, origin, carried)
        core.coords(carried, origin, w)
        return np.concatenate([a[0], w[0]])

    def draws(self, count, scale=None):
        law = _core.KNormRegression(
            self.frame, self.tau, scale or self.scale, self.space.v_max, None
        )
        stream = _core.Stream.from_key(KEY, 0)
        drawn, _ = law.sample_exact(self.rows, self.times, count, stream, 2.0**-30)
        size = self.rows.shape[1]
        rows = drawn.reshape(count, -1)
        return np.array([self.coords(row[:size], row[size:]) for row in rows])


def twin(space, scale, n=12, seed=1):
    times, points, _, _ = problem(space, np.random.default_rng(seed), n, 0.1)
    return Twin(space, times, points, scale, 0.3)


def grid_law(law, cells):
    """Probabilities of the cells of a grid over the box of the support, and the cells' centres."""
    dim, space = law.space.manifold.dim, law.space
    axes = [
        limit * (2 * (np.arange(cells) + 0.5) / cells - 1)
        for limit in [space.radius] * dim + [space.v_max] * dim
    ]
    logs = [law.log_density(np.array(z)) for z in itertools.product(*axes)]
    weights = np.exp(np.array(logs).reshape([cells] * (2 * dim)))
    return weights / weights.sum(), axes


def marginal_p_values(law, draws, probabilities, axes):
    """Chi-square of every pair of coordinates over blocks of the grid's cells."""
    found, cells = [], len(axes[0])
    for i, j in itertools.combinations(range(len(axes)), 2):
        others = tuple(k for k in range(len(axes)) if k not in (i, j))
        expected = probabilities.sum(axis=others)
        edges = [
            np.linspace(-1.0, 1.0, cells + 1) * abs(axes[k][0]) * cells / (cells - 1)
            for k in (i, j)
        ]
        counts, _, _ = np.histogram2d(draws[:, i], draws[:, j], bins=edges)
        block = cells // 4
        counts, expected = (
            x.reshape(4, block, 4, block).sum(axis=(1, 3)).ravel() for x in (counts, expected)
        )
        keep = expected * len(draws) > 5
        square = np.sum((counts - len(draws) * expected)[keep] ** 2 / (len(draws) * expected[keep]))
        found.append(stats.chi2(keep.sum() - 1).sf(square))
    return np.array(found)


@pytest.mark.slow
def test_exact_draws_on_the_sphere_follow_the_density():
    """Against midpoint quadrature on a grid of 20^4 cells, at three scales."""
    for scale in (0.5, 0.08, 0.04):
        law = twin(SPHERE, scale)
        probabilities, axes = grid_law(law, 20)
        p_values = marginal_p_values(law, law.draws(4000), probabilities, axes)
        print(f"scale {scale}: p-values {np.round(np.sort(p_values), 3)}")
        assert p_values.min() > 1e-5
    # the negative control: a scale that is wrong by a half
    wrong = marginal_p_values(law, law.draws(4000, 1.5 * law.scale), probabilities, axes)
    assert wrong.min() < 1e-5


def importance_moments(law, count, rng):
    """Means of `features` under the density by importance sampling, with their errors."""
    dim, space = law.space.manifold.dim, law.space
    z = rng.uniform(-1.0, 1.0, (count, 2 * dim))
    z *= np.array([space.radius] * dim + [space.v_max] * dim)
    logs = np.array([law.log_density(row) for row in z])
    inside = np.isfinite(logs)
    weights = np.exp(logs[inside] - logs[inside].max())
    weights /= weights.sum()
    values = features(z[inside])
    mean = weights @ values
    return mean, np.sqrt((weights**2) @ (values - mean) ** 2)


def features(z):
    return np.hstack([z, z**2, np.abs(z), z[:, :1] * z])


@pytest.mark.slow
def test_exact_draws_on_spd_matrices_have_the_moments_of_the_density():
    for scale in (0.3, 0.05):
        law = twin(SPD2, scale)
        mean, error = importance_moments(law, 60_000, np.random.default_rng(2))
        drawn = features(law.draws(2000))
        total = np.hypot(error, drawn.std(axis=0) / np.sqrt(len(drawn)))
        scores = (drawn.mean(axis=0) - mean) / total
        print(f"scale {scale}: largest score {np.abs(scores).max():.2f}")
        assert np.abs(scores).max() < 4.5
    wrong = features(law.draws(2000, 1.5 * law.scale))
    total = np.hypot(error, wrong.std(axis=0) / np.sqrt(len(wrong)))
    assert np.abs((wrong.mean(axis=0) - mean) / total).max() > 4.5


@pytest.mark.parametrize("space", SMALL, ids=repr)
def test_exact_release_promises_what_was_asked(space):
    times, points, _, _ = problem(space, np.random.default_rng(3), 40, 0.05)
    for guarantee in (PureDP(1.0), GDP(1.0), cdp.ZCDP(0.3), cdp.ApproxDP(1.0, 1e-6)):
        release = call(space, times, points, guarantee)
        assert release.guarantee == guarantee
        assert release.mechanism == "K-norm gradient"
        assert space.manifold.dist(release.value[0], space.center) <= space.radius * (1 + 1e-4)
        assert space.manifold.norm(release.value[1], release.value[0]) <= space.v_max * (1 + 1e-4)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("tau", [0.1, 1e6])
def test_extremes_are_drawn(n, epsilon, tau):
    times, points, _, _ = problem(SPHERE, np.random.default_rng(4), n, 0.1)
    release = call(SPHERE, times, points, PureDP(epsilon), tau=tau)
    assert np.isfinite(release.value).all()


def test_a_tau_too_small_for_boxes_is_refused_before_anything_is_spent():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(4), 20, 0.1)
    with cdp.Ledger(PureDP(1.0)) as ledger:
        with pytest.raises(ValueError, match="larger tau"):
            call(SPHERE, times, points, PureDP(1.0), tau=1e-3, ledger=ledger)
        assert ledger.spent is None
    assert call(SPHERE, times, points, PureDP(1.0), tau=1e-3, sampler="auto").n == 20


@pytest.mark.parametrize(("radius", "fits"), [(4.0, True), (8.0, True), (30.0, False)])
def test_hyperbolic_balls_whose_logarithms_lose_digits_are_refused(radius, fits):
    """Steps between doubles are too wide in narrow boxes, which have room for 1e-9 tau."""
    ball = cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], radius)
    settings = {"x_range": (-0.5, 0.5), "tau": radius / 20, "v_max": 0.5}
    times, points = np.linspace(-0.5, 0.5, 20), np.tile(ball.center, (20, 1))
    with cdp.Ledger(PureDP(2.0)) as ledger:
        settings["ledger"] = ledger
        if not fits:
            with pytest.raises(ValueError, match="smaller ball"):
                cdp.geodesic_regression(
                    times, points, ball, PureDP(1.0), sampler="exact", **settings
                )
            assert ledger.spent is None
        chosen = "exact" if fits else "auto"
        release = cdp.geodesic_regression(
            times, points, ball, PureDP(1.0), sampler=chosen, **settings
        )
        assert np.isfinite(release.value).all()


def test_velocities_are_numbers_where_coordinates_keep_no_digit_of_them():
    """At radius 140, which no grid serves, 7 of 100 seeds gave NaN."""
    ball = cdp.Ball(cdp.Hyperboloid(2), [1.0, 0.0, 0.0], 30.0)
    settings = {"x_range": (-0.5, 0.5), "tau": 1.5, "v_max": 0.5}
    times, points = np.linspace(-0.5, 0.5, 20), np.tile(ball.center, (20, 1))
    for seed in range(100):
        release = cdp.geodesic_regression(times, points, ball, PureDP(1.0), seed=seed, **settings)
        assert np.isfinite(release.value).all()


@pytest.mark.parametrize("size", [1e-6, 1.0, 6.4e6])
def test_the_size_of_a_sphere_does_not_matter(size):
    """Large ones are not taken for flat: the error grows in proportion to the radius."""
    ball = cdp.Ball(cdp.Sphere(2, radius=size), [0.0, 0.0, size], 0.75 * size)
    times = np.linspace(-0.5, 0.5, 200)
    points = ball.manifold.exp(np.stack([times, 0 * times, 0 * times], axis=1) * size, ball.center)
    release = cdp.geodesic_regression(
        times,
        points,
        ball,
        PureDP(100.0),
        x_range=(-0.5, 0.5),
        tau=0.1 * size,
        v_max=size,
        sampler="exact",
    )
    assert ball.manifold.dist(release.predict(times), points).max() < 2e-3 * size


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 0.0])
def test_no_record_or_covariate_raises_or_warns(bad):
    times, points, _, _ = problem(SPHERE, np.random.default_rng(5), 20, 0.1)
    times[0], points[1] = bad, bad
    for sampler in ("exact", "metropolis"):
        release = call(SPHERE, times, points, PureDP(1.0), sampler=sampler, chain_length=50)
        assert np.isfinite(release.value).all()


@pytest.mark.parametrize("space", THREE, ids=repr)
def test_three_dimensions_are_drawn(space):
    times, points, _, _ = problem(space, np.random.default_rng(3), 10, 0.05)
    release = call(space, times, points, PureDP(1.0), tau=0.3)
    assert release.guarantee == PureDP(1.0)
    assert np.isfinite(release.value).all()


def test_scale_is_twice_the_sensitivity_over_epsilon():
    for k in (1, 3):
        law = KNormGradient.calibrate(
            SPHERE.ball, 100, PureDP(0.5), tau=0.1, v_max=1.0, records_per_unit=k
        )
        delta = cdp.sensitivity.regression_sum_of_norms(
            SPHERE.ball, 100, tau=0.1, v_max=1.0, records_per_unit=k
        )
        assert law.scale >= 2 * delta / 0.5
        assert law.scale == pytest.approx(2 * delta / 0.5, rel=1e-9)


def test_log_densities_of_neighbours_differ_by_the_budget():
    """Normalised on a grid, on worst-case neighbours; with the published scale by more."""
    worst = {}
    for factor in (1.0, 0.5):
        found = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            line = Space(cdp.Euclidean(1), np.zeros(1), 1.0, 1.0)
            times = rng.uniform(-0.5, 0.5, 3)
            points = rng.uniform(-1.0, 1.0, (3, 1))
            law = KNormGradient.calibrate(line.ball, 3, PureDP(1.0), tau=0.05, v_max=1.0)
            logs = []
            for moved in ((-0.5, -1.0), (0.5, 1.0)):
                times[0], points[0, 0] = moved
                twin = Twin(line, times.copy(), points.copy(), law.scale * factor, 0.05)
                twin.jacobian = lambda a: 1.0
                axis = np.linspace(-0.999, 0.999, 60)
                grid = np.array([[twin.log_density(np.array([a, w])) for w in axis] for a in axis])
                logs.append(grid - np.log(np.exp(grid).sum()))
            found.append(np.abs(logs[0] - logs[1]).max())
        worst[factor] = max(found)
    print(f"largest log-ratio at epsilon = 1, by share of sigma: {worst}")
    assert worst[1.0] <= 1.0 < worst[0.5]


def test_metropolis_is_unproved_and_reaches_the_exact_law():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(6), 30, 0.05)
    release = call(SPHERE, times, points, PureDP(1.0), sampler="metropolis", chain_length=100)
    assert isinstance(release.guarantee, cdp.Unproved)
    law = twin(SPHERE, 0.04)
    core = KNormGradient(SPHERE.ball, law.tau, SPHERE.v_max, 0.0, 0.0, law.scale)
    chains = core.chains(
        law.rows, law.times, _core.Stream.from_key(KEY, 1), count=8, burn_in=1500, draws=1500
    )
    assert max(r_hat for _, r_hat in chains.diagnose()) < 1.1
    drawn = chains.draws().reshape(-1, chains.width)[::20]
    chain = np.array([law.coords(row[:3], row[3:]) for row in drawn])
    exact = law.draws(600)
    size = min(ess for ess, _ in chains.diagnose())
    error = np.hypot(chain.std(axis=0) / np.sqrt(size), exact.std(axis=0) / np.sqrt(len(exact)))
    assert (np.abs(chain.mean(axis=0) - exact.mean(axis=0)) < 5 * error).all()
    assert (np.abs(np.log(chain.std(axis=0) / exact.std(axis=0))) < 0.25).all()


@pytest.mark.parametrize("space", LARGE, ids=repr)
def test_high_dimensions_have_a_chain_but_no_exact_draw(space):
    times, points, _, _ = problem(space, np.random.default_rng(7), 20, 0.05)
    with pytest.raises(ValueError, match="sampler='whitened'"):
        call(space, times, points, PureDP(1.0))
    release = call(space, times, points, PureDP(1.0), sampler="metropolis", chain_length=50)
    assert np.isfinite(release.value).all()
    assert call(space, times, points, PureDP(9.0), sampler="auto").mechanism.startswith(
        "adaptive noisy"
    )


def test_ledger_refuses_a_chain_and_takes_an_exact_draw():
    times, points, _, _ = problem(SPHERE, np.random.default_rng(8), 20, 0.05)
    with cdp.Ledger(PureDP(1.0)) as ledger:
        with pytest.raises(Exception, match="npro"):
            call(SPHERE, times, points, PureDP(1.0), sampler="metropolis", ledger=ledger)
        call(SPHERE, times, points, PureDP(1.0), ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            call(SPHERE, times, points, PureDP(0.1), ledger=ledger)


@pytest.mark.parametrize(("epsilon", "is_doubted"), [(0.5, True), (4.0, False)])
def test_draws_far_from_the_records_are_said(epsilon, is_doubted):
    """At n = 100, tau = .1, epsilon = 1 half of the draws were .3 to .7 from the fit."""
    x, y, _, _ = problem(SPHERE, np.random.default_rng(0), 100, 0.04)
    made = call(SPHERE, x, y, PureDP(epsilon), tau=0.1, coverage=False)
    assert bool(made.doubts) == is_doubted
    assert repr(made).endswith("may not have converged>") == is_doubted
    assert ("as the result may not have converged" in " ".join(made.report().split())) == is_doubted
    groups, twice = np.arange(100) % 2, PureDP(2 * epsilon)
    table = call(SPHERE, x, y, twice, tau=0.1, coverage=False, groups=groups)
    assert table.columns()["arrived"].tolist() == [0.0 if is_doubted else 1.0] * 2


def test_the_choice_depends_on_the_budget_and_the_number_of_records():
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], np.pi / 4)

    def choice(n, guarantee):
        return expected_choice(ball, n, guarantee, tau=0.1, v_max=1.5, records_per_unit=1)[0]

    assert choice(100, PureDP(0.5)) == choice(100, PureDP(1.0)) == "whitened"
    assert choice(100, PureDP(4.0)) == choice(1000, PureDP(1.0)) == "exact"
    assert choice(100, GDP(0.3)) == "whitened"


def test_in_three_dimensions_exact_draws_are_chosen_where_they_take_seconds():
    def choice(ball, n, epsilon):
        return expected_choice(ball, n, PureDP(epsilon), tau=0.1, v_max=1.5, records_per_unit=1)[0]

    tensors = cdp.Ball("spd:2", np.eye(2), 1.0)
    assert [choice(tensors, 100, e) for e in (0.5, 1.0, 2.0, 4.0)] == ["whitened"] * 3 + ["exact"]
    assert choice(tensors, 1000, 4.0) == "whitened"
    # curved as strongly as to need many more boxes
    assert choice(cdp.Ball("sphere:3", [1.0, 0, 0, 0], np.pi / 4), 100, 4.0) == "whitened"
    assert choice(cdp.Ball("spd:2", np.eye(2), 3.0), 100, 4.0) == "whitened"
