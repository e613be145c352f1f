"""The published conformal mean, and the flaw that the proved one does not have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

import curvedp as cdp
from curvedp import _core
from curvedp.conformal import (
    Mesh,
    ball_mesh,
    fibonacci_mesh,
    knn_graph,
    laplacian,
    shortest_paths,
)
from curvedp.datasets import von_mises_fisher
from curvedp.published import conformal_mean, metropolis
from curvedp.published.call import Call
from curvedp.published.conformal import WHY, ConformalPlan, RecordsGraph
from curvedp.published.density import (
    DensityNoise,
    ball_volume,
    default_bandwidth,
    greatest_deviation,
    kernel_mass,
    volume_growth,
)
from manifold_list import SMALL
from reference import conformal as twin

POLE = np.array([0.0, 0.0, 1.0])


def ball(radius=0.7):
    return cdp.Ball("sphere:2", POLE, radius)


def test_the_published_release_is_unproved_and_near_the_mean():
    records = von_mises_fisher(500, POLE, 100.0, rng=1)
    release = conformal_mean(records, ball(), cdp.PureDP(50.0), upsilon=5.0, chain_length=3000)
    assert isinstance(release.guarantee, cdp.Unproved)
    assert isinstance(release.parts[0].guarantee, cdp.Unproved)
    assert release.calibration == "published"
    assert release.parts[0].value.shape == (500,)
    assert ball().manifold.dist(release.value, POLE) < 0.2
    assert cdp.Release.from_json(release.to_json()) == release


def test_it_needs_pure_dp_and_a_small_ball_and_no_ledger_takes_it():
    records = von_mises_fisher(20, POLE, 100.0, rng=1)
    settings = {"chain_length": 10}
    with pytest.raises(TypeError, match="pure DP"):
        conformal_mean(records, ball(), cdp.GDP(1.0), **settings)
    with pytest.raises(ValueError, match="finite for radii"):
        conformal_mean(records, ball(0.8), cdp.PureDP(1.0), **settings)
    far = cdp.Ball("sphere:400", np.eye(401)[0], 0.7)
    with pytest.raises(ValueError, match="double precision"):
        conformal_mean(np.eye(401)[:3], far, cdp.PureDP(1.0), **settings)
    with cdp.Ledger(cdp.PureDP(9.0)) as ledger, pytest.raises(Exception, match="npro"):
        conformal_mean(records, ball(), cdp.PureDP(1.0), ledger=ledger, **settings)


def plan(domain, n, epsilon, **settings):
    """The plan of a call on n records, none of which it reads."""
    points = np.broadcast_to(domain.center, (n, *domain.center.shape))
    return ConformalPlan.make(Call.check(points, domain, cdp.PureDP(epsilon), why=WHY), **settings)


@pytest.mark.parametrize("spec", ["sphere:2", "hyperboloid:3", "euclidean:4"])
def test_volumes_and_kernels_are_those_of_quadrature(spec):
    """Balls of radius 0.7 and the kernel of bandwidth 0.6, in spherical coordinates."""
    space = cdp.as_manifold(spec)
    stretch = {"s": math.sin, "h": math.sinh, "e": lambda t: t}[spec[0]]
    area = 2 * math.pi ** (space.dim / 2) / math.gamma(space.dim / 2)

    def total(profile, reach):
        found = integrate.quad(lambda t: profile(t) * stretch(t) ** (space.dim - 1), 0, reach)
        return area * found[0]

    domain = cdp.Ball(space, space.origin, 0.7)
    assert ball_volume(domain) == pytest.approx(total(lambda t: 1.0, 0.7), rel=1e-5)
    expected = total(lambda t: math.exp(-1 / max(1 - (t / 0.6) ** 2, 1e-9)), 0.6) / 0.6**space.dim
    assert kernel_mass(space, 0.6) == pytest.approx(expected, rel=1e-5)


def test_volume_where_it_depends_on_the_direction():
    """SPD(2) is a line times a plane of curvature -1/2, by quadrature."""
    root = math.sqrt(0.5)
    expected = integrate.quad(
        lambda t: 2 * math.pi / 0.5 * (math.cosh(root * math.sqrt(max(4 - t * t, 0))) - 1), -2, 2
    )[0]
    domain = cdp.Ball("spd:2", np.eye(2), 2.0)
    assert ball_volume(domain) == pytest.approx(expected, rel=0.02)


def test_the_growth_of_volumes_is_the_length_of_the_sum_of_roots():
    for m in (2, 3, 9):
        assert volume_growth(cdp.SPD(m)) == pytest.approx(math.sqrt(m * (m * m - 1) / 12), rel=0.01)
        assert volume_growth(cdp.SPD(m, metric="log-euclidean")) == 0.0
    assert volume_growth(cdp.Hyperboloid(5)) == pytest.approx(4, rel=0.01)
    assert volume_growth(cdp.Sphere(3)) == 0.0


def test_the_noise_of_the_density_has_both_scales():
    domain, n, epsilon = ball(), 500, 0.4
    mass = kernel_mass(domain.manifold, default_bandwidth(domain))
    expected = {
        "measure": 2 * mass / (epsilon * ball_volume(domain)),
        "pointwise": 2 * mass / (epsilon * n),
    }
    records = von_mises_fisher(n, POLE, 100.0, rng=1)
    for noise, scale in expected.items():
        settings = {"noise": noise, "seed": 3, "chain_length": 10}
        release = conformal_mean(records, domain, cdp.PureDP(2 * epsilon), **settings)
        part = release.parts[0]
        assert part.scale == pytest.approx(scale)
        assert part.sensitivity == pytest.approx(2 * mass / n)
        exact = _core.bump_density(
            domain.manifold.kernels, domain.project(records), default_bandwidth(domain)
        )
        # seeded: the mean absolute deviation of 500 Laplace variables
        assert np.abs(part.value - exact).mean() == pytest.approx(scale, rel=0.15)


def test_a_bandwidth_follows_the_ball_and_the_dimension():
    assert default_bandwidth(ball()) == pytest.approx(math.exp(-0.5))
    assert default_bandwidth(cdp.Ball(cdp.SPD(9), np.eye(9), 4.0)) == 2.0
    assert default_bandwidth(cdp.Ball("projective:2", [0, 0, 1.0], 0.3)) == math.exp(-0.5)
    with pytest.raises(ValueError, match="half the injectivity radius"):
        plan(ball(), 20, 1.0, bandwidth=1.6)


@pytest.mark.parametrize(
    ("settings", "epsilon"),
    [({"bandwidth": 0.02}, 5.0), ({}, 0.05), ({"noise": "pointwise", "bandwidth": 0.02}, 1.0)],
    ids=["narrow", "noisy", "narrow, pointwise"],
)
def test_a_factor_that_may_be_cut_is_refused_with_an_upsilon_that_works(settings, epsilon):
    with pytest.raises(ValueError, match="would be cut at 300") as refused:
        plan(ball(), 500, epsilon, **settings)
    needed = float(str(refused.value).partition("upsilon of at least ")[2].split(",")[0])
    assert (
        plan(ball(), 500, epsilon, upsilon=needed, **settings).noise.greatest_sigma(needed) <= 300
    )
    with pytest.raises(ValueError, match="would be cut"):
        plan(ball(), 500, epsilon, upsilon=0.95 * needed, **settings)


def test_no_data_set_reaches_the_bound_and_the_worst_comes_near():
    """All records at one point have the kernel's peak; noise keeps to its bound, a tenth of it
    does not."""
    domain, n = ball(), 40
    noise = DensityNoise.make(domain, n, 0.5, noise="measure", bandwidth=0.3)
    graph = RecordsGraph.of(np.tile(POLE, (n, 1)), domain, 0.3)
    assert graph.density.max() == pytest.approx(math.exp(-1) / 0.09)
    drawn = [noise.add(graph.density, _core.Stream.from_key(bytes(32), i)) for i in range(2000)]
    largest = max(float(np.abs(one - one.mean()).max()) for one in drawn)
    bound = noise.greatest_sigma(1.0)
    assert 0.1 * bound < largest < bound
    assert greatest_deviation(1) < greatest_deviation(2) < greatest_deviation(1000)


def test_a_law_without_a_normaliser_is_refused():
    domain = cdp.Ball(cdp.SPD(3), np.eye(3), 2.0)
    with pytest.raises(cdp.ExistenceError, match="normalising") as refused:
        plan(domain, 50, 0.2, noise="pointwise")
    enough = refused.value.smallest_epsilon
    assert plan(domain, 50, enough, noise="pointwise").shares[1].epsilon == pytest.approx(
        enough / 2, rel=1e-3
    )
    assert plan(domain, refused.value.smallest_n, 0.2, noise="pointwise").call.n > 50
    flat = cdp.Ball(cdp.SPD(3, metric="log-euclidean"), np.eye(3), 2.0)
    assert plan(flat, 50, 0.2, noise="pointwise").sensitivity == pytest.approx(4 / 50)


def test_along_the_graph_the_error_ends_at_the_nearest_record_and_along_lines_it_does_not():
    """Records on a circle about their mean, 0.3 away, and a budget that leaves little noise."""
    angle = np.linspace(0, 2 * math.pi, 41)[:-1]
    ring = np.sin(0.3) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    records = np.concatenate([ring, np.full((40, 1), math.cos(0.3))], axis=1)
    found = {}
    for way in ("graph", "line"):
        settings = {"distance": way, "noise": "pointwise", "upsilon": 100.0, "chain_length": 4000}
        releases = [
            conformal_mean(records, ball(), cdp.PureDP(500.0), seed=i, **settings) for i in range(8)
        ]
        found[way] = [np.arccos(release.value @ POLE) for release in releases]
    assert np.mean(found["line"]) < 0.02
    assert np.mean(found["graph"]) > 0.1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_records_and_bad_ones(n):
    for records in (np.tile(POLE, (n, 1)), np.full((n, 3), np.nan)):
        release = conformal_mean(records, ball(), cdp.PureDP(1.0), chain_length=50)
        assert ball().manifold.belongs(release.value, atol=1e-9)


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.parametrize("reach", [0.02, 0.5, 5.0])
def test_the_density_at_the_records_is_that_of_the_dense_twin(case, reach):
    space = case.manifold
    points = space.random_point(150, rng=1)
    found = _core.bump_density(space.kernels, points.reshape(150, -1), reach)
    expected = twin.bump_density(space.pairwise_dist(points), reach, space.dim)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def log_density_of_sigma(points, sigma, epsilon, bandwidth, upsilon):
    """Log density of the published factor at `sigma`, exactly: f~ = s - (L + upsilon) sigma for
    the s that the release does not show, integrated piece by piece between the kinks; and the
    determinant of the map."""
    n = len(points)
    domain = ball()
    operator = laplacian(
        knn_graph(Mesh(domain.manifold, points, np.ones(n)), min(10, n - 1)),
        bandwidth=bandwidth**2,
        scaled=False,
    )
    matrix = operator.stiffness.toarray() + upsilon * np.eye(n)
    scale = DensityNoise.make(domain, n, epsilon, noise="measure", bandwidth=bandwidth).scale
    dist = domain.manifold.pairwise_dist(points)
    kinks = np.sort(matrix @ sigma + twin.bump_density(dist, bandwidth, 2))
    top = np.abs(np.median(kinks) - kinks).sum() / scale

    def integrand(s):
        return math.exp(top - np.abs(s - kinks).sum() / scale)

    reach = 60 * scale / n
    edges = np.unique(np.concatenate([kinks, [kinks[0] - reach, kinks[-1] + reach]]))
    total = sum(integrate.quad(integrand, low, high)[0] for low, high in itertools.pairwise(edges))
    return math.log(total) - top + np.linalg.slogdet(matrix)[1]


def test_no_epsilon_covers_the_published_factor():
    """The audit of the published variant by exact densities: neighbouring data sets and a released
    factor found by search, at which the log ratio exceeds the claim; and it grows without bound
    along a ray."""
    rng = np.random.default_rng(3)
    epsilon, settings = 1.0, {"bandwidth": 0.5, "upsilon": 1.0}
    space = ball().manifold
    best = (0.0, None)
    for _ in range(40):
        points = ball().project(
            space.exp(
                space.coords_to_tangent(0.3 * rng.standard_normal((7, 2)), np.tile(POLE, (7, 1))),
                np.tile(POLE, (7, 1)),
            )
        )
        first, second = points[:6], points[[0, 1, 2, 3, 4, 6]]
        ray = rng.standard_normal(6)
        loss = log_density_of_sigma(first, 5 * ray, epsilon, **settings)
        loss -= log_density_of_sigma(second, 5 * ray, epsilon, **settings)
        if abs(loss) > abs(best[0]):
            best = (loss, (first, second, ray))
    loss, (first, second, ray) = best
    assert abs(loss) > 5 * epsilon
    farther = log_density_of_sigma(first, 50 * ray, epsilon, **settings)
    farther -= log_density_of_sigma(second, 50 * ray, epsilon, **settings)
    assert abs(farther) > 5 * abs(loss)


def test_the_exact_density_of_the_factor_is_a_density():
    """Its own control: two records, one free number, the integral over it is 1 up to the factor
    that every data set shares."""
    settings = {"epsilon": 1.0, "bandwidth": 0.5, "upsilon": 1.0}
    grid = np.linspace(-40, 40, 801)
    totals = []
    for angle in (0.05, 0.3):
        points = np.array([POLE, [math.sin(angle), 0.0, math.cos(angle)]])
        values = [
            math.exp(log_density_of_sigma(points, np.array([x, -x]), **settings)) for x in grid
        ]
        totals.append(integrate.trapezoid(values, grid))
    # |det| counts the direction that is integrated out too: its eigenvalue is upsilon for both
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)


# ------------------------------------------------------------------ the sampler


def test_chains_reach_the_law_of_laplace_noise():
    graph = knn_graph(fibonacci_mesh(200), 8)
    chains = metropolis(graph, np.zeros(200), POLE, 6.0, draws=4000, thinning=4, distance="line")
    assert chains.r_hat.max() < 1.05
    assert chains.effective_sample_size.min() > 1000
    dist = np.arccos(np.clip(chains.points @ POLE, -1, 1))
    t = np.linspace(0, math.pi, 20_001)
    density = np.exp(-6 * t) * np.sin(t)
    # with a deviation of .009
    assert dist.mean() == pytest.approx((t * density).sum() / density.sum(), rel=0.07)


@pytest.mark.parametrize("volume_factor", [True, False])
def test_chains_agree_with_the_law_on_a_fine_mesh(volume_factor):
    """Same target up to the mesh: mean distances agree, and those without the volume factor do not
    agree with those that have it."""
    domain = ball()
    mesh = ball_mesh(domain, 3000)
    graph = knn_graph(mesh, 16)
    dist = domain.manifold.dist(POLE, mesh.points)
    sigma = 2.0 * dist  # dense at the pole: phi grows away from it
    rate = math.exp(-float(sigma.max())) / 0.15
    lengths = shortest_paths(
        graph, dist * math.exp(float(sigma.max())), conformal_factor=np.exp(2 * sigma)
    )
    weights = mesh.volumes * np.exp(2 * sigma - rate * lengths)
    exact = float(weights @ dist / weights.sum())
    chains = metropolis(
        graph, sigma, POLE, rate, draws=4000, thinning=4, volume_factor=volume_factor
    )
    # the chain has the whole sphere: compare within the ball
    found = np.arccos(np.clip(chains.points @ POLE, -1, 1))
    found = found[found < 0.7].mean()
    assert (abs(found / exact - 1) < 0.06) == volume_factor


def test_a_chain_started_at_the_mean_hides_that_it_has_not_moved():
    graph = knn_graph(fibonacci_mesh(200), 8)
    settings = {"draws": 200, "burn_in": 0, "acceptance": None, "step": 1e-3}
    together = metropolis(graph, np.zeros(200), POLE, 3.0, starts=np.tile(POLE, (4, 1)), **settings)
    apart = metropolis(graph, np.zeros(200), POLE, 3.0, **settings)
    assert apart.r_hat.max() > 10
    assert together.r_hat.max() < 0.2 * apart.r_hat.max()


def test_parameters_of_chains_are_checked():
    graph = knn_graph(fibonacci_mesh(20), 4)
    for bad, word in (
        ({"rate": 0.0}, "rate"),
        ({"center": [0, 0, 3.0]}, "center"),
        ({"sigma": np.full(20, 400.0)}, "sigma"),
        ({"starts": [[0, 0, 9.0]]}, "starts"),
        ({"distance": "air"}, "distance"),
        ({"step": -1.0}, "step"),
        ({"acceptance": 1.5}, "acceptance"),
        ({"draws": 0}, "draws"),
    ):
        arguments = {"sigma": np.zeros(20), "center": POLE, "rate": 1.0, **bad}
        with pytest.raises(ValueError, match=word):
            metropolis(graph, **arguments)
