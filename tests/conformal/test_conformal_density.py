"""The private density: exact sensitivity of what is counted, exact noise, smoothing after it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import SphericalVoronoi

import curvedp as cdp
from curvedp import _core
from curvedp.conformal import (
    Density,
    DensityRelease,
    Mesh,
    ball_mesh,
    density,
    fibonacci_mesh,
    knn_graph,
    laplacian,
)
from curvedp.datasets import von_mises_fisher
from manifold_list import SMALL, Case
from reference import conformal as twin

UNITS = 2**20


def domain(case: Case):
    center = case.twin.random_point(np.random.default_rng(0), 0.5)
    return cdp.Ball(case.manifold, center, min(0.6 * case.manifold.max_ball_radius, 1.0))


def some_ball(mesh):
    """A ball about the first node, which few meshes fit into."""
    space = mesh.manifold
    return cdp.Ball(space, mesh.points[0], min(1.0, 0.5 * space.max_ball_radius))


def counted(release, mesh, n, units=1):
    """The counts with their noise, in units: integers."""
    counts = release.value * mesh.volumes * n * units
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-5 * units)
    return np.round(counts)


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_counts_are_those_of_the_nearest_nodes(case):
    """At a huge epsilon the noise is 0."""
    ball = domain(case)
    mesh = ball_mesh(ball, 40)
    records = case.manifold.random_point(200, rng=1)
    release = density(records, ball, cdp.PureDP(1e3), mesh=mesh, heat_time=0)
    points = ball.project(records)
    dist = np.array([case.manifold.dist(x, mesh.points) for x in points])
    expected = np.bincount(dist.argmin(1), minlength=40)
    np.testing.assert_array_equal(counted(release, mesh, 200), expected)


@pytest.mark.parametrize("case", SMALL, ids=repr)
@pytest.mark.parametrize("reach", [0.02, 0.3, 2.0])
def test_kernel_shares_are_those_of_the_dense_twin(case, reach):
    ball = domain(case)
    mesh = ball_mesh(ball, 60)
    records = ball.project(case.manifold.random_point(20, rng=1))
    release = density(
        records, ball, cdp.PureDP(1e9), mesh=mesh, method="kde", bandwidth=reach, heat_time=0
    )
    dist = np.array([case.manifold.dist(x, mesh.points) for x in records])
    expected = twin.bump_shares(dist, mesh.volumes, reach).sum(axis=0)
    found = release.value * mesh.volumes * 20
    np.testing.assert_allclose(found, expected, atol=20 * 60 / UNITS)
    assert found.sum() == pytest.approx(20.0, rel=1e-12)


@pytest.mark.parametrize("spec", ["sphere:2", "sphere:12", "spd:2", "kendall:8", "hyperboloid:3"])
@pytest.mark.parametrize("reach", [1e-3, 0.4, 5.0])
def test_every_record_spreads_the_same_units_whatever_it_is(spec, reach):
    """The sensitivity of the functional mechanism: two vectors of 2^20 units each, exactly."""
    manifold = cdp.as_manifold(spec)
    generator = np.random.default_rng(2)
    nodes = manifold.random_point(150, rng=generator)
    shape = manifold.point_shape
    odd = [np.full(shape, x) for x in (np.nan, np.inf, -np.inf, 0.0, 1e308, 5e-324)]
    records = np.concatenate([manifold.random_point(10, rng=generator), nodes[:2], odd])
    for record in records:
        units = _core.bump_counts(
            manifold.kernels,
            nodes.reshape(150, -1),
            generator.uniform(1e-3, 2, 150),
            np.ascontiguousarray(record.reshape(1, -1)),
            reach,
            UNITS,
        )
        assert units.sum() == UNITS
        assert units.min() >= 0


@pytest.mark.parametrize("spec", ["sphere:2", "sphere:11", "kendall:4", "spd:2"])
@pytest.mark.parametrize("method", ["histogram", "kde"])
def test_what_a_record_adds_does_not_depend_on_the_others(spec, method):
    """Records on the edge between cells, where the last bit decides: their part in the counts is
    the same whatever the others are and wherever they stand."""
    manifold = cdp.as_manifold(spec)
    rng = np.random.default_rng(6)
    nodes = manifold.random_point(30, rng=rng)
    mesh = Mesh(manifold, nodes)
    index, _ = mesh.neighbours(1)
    towards = manifold.log(nodes[index[:, 0]], nodes)
    edges = manifold.exp(0.5 * towards, nodes)

    def counts(records):
        settings = {"heat_time": 0, "method": method, "mesh": mesh}
        release = density(records, some_ball(mesh), cdp.PureDP(1e9), **settings)
        return np.round(release.value * mesh.volumes * len(records) * UNITS)

    alone = np.array([counts(edge[None]) for edge in edges])
    others = manifold.random_point(30, rng=rng)
    for size in (2, 7, 30):
        for shift in (0, 1, 5):
            chosen = np.roll(np.arange(30), shift)[:size]
            together = counts(np.concatenate([others[:shift], edges[chosen]]))
            apart = counts(others[:shift]) if shift else 0
            np.testing.assert_allclose(together - apart, alone[chosen].sum(0), atol=1)


def test_noise_has_the_law_that_is_claimed_on_every_node():
    """One record far from all but one node: the other nodes hold noise alone."""
    mesh = fibonacci_mesh(20_000)
    epsilon = 0.7
    release = density(
        mesh.points[:1], some_ball(mesh), cdp.PureDP(epsilon), mesh=mesh, heat_time=0, seed=3
    )
    counts = counted(release, mesh, 1)[1:]
    falling = math.exp(-epsilon / 2)

    def p_value(ratio):
        edges = np.arange(-12, 13)
        inside = (1 - ratio) / (1 + ratio) * ratio ** np.abs(edges)
        expected = np.append(inside, 1 - inside.sum())
        found = [np.sum(counts == x) for x in edges]
        return stats.chisquare(
            np.append(found, len(counts) - sum(found)), expected * len(counts)
        ).pvalue

    assert p_value(falling) > 1e-6
    assert p_value(math.exp(-epsilon)) < 1e-6  # a sensitivity of 1: half the noise
    assert release.scale == pytest.approx(2 / epsilon)


def test_the_joint_loss_of_a_replaced_record_is_epsilon_exactly():
    """Two cells change by one: the log ratio of P(X = x) over P(X = x + 1) twice."""
    rate = 0.35
    draws = np.empty(400_000)
    nothing = np.zeros(len(draws), dtype=np.int64)
    _core.Stream.from_key(bytes(32), 0).add_discrete_laplace(rate, nothing, draws)
    ratios = [np.log(np.sum(draws == x) / np.sum(draws == x + 1)) for x in (0, 1, 2)]
    np.testing.assert_allclose(2 * np.array(ratios), 2 * rate, atol=0.05)


@pytest.mark.parametrize(
    "guarantee", [cdp.GDP(0.5), cdp.ZCDP(0.1), cdp.ApproxDP(0.3, 1e-6)], ids=str
)
def test_other_guarantees_follow_from_pure_dp(guarantee):
    mesh = fibonacci_mesh(30)
    release = density(mesh.points, some_ball(mesh), guarantee, mesh=mesh)
    pure = cdp.PureDP(2 / release.scale)
    assert release.guarantee == guarantee
    if isinstance(guarantee, cdp.GDP):
        assert pure.to_gdp().mu <= guarantee.mu * (1 + 1e-9)
        assert pure.to_gdp().mu > 0.999 * guarantee.mu
    if isinstance(guarantee, cdp.ZCDP):
        assert pure.to_zcdp().rho == pytest.approx(guarantee.rho, rel=1e-6)
    if isinstance(guarantee, cdp.ApproxDP):
        assert pure.to_delta(0.3) <= 1e-6


@pytest.mark.parametrize("method", ["histogram", "kde"])
def test_records_per_unit_scale_the_noise(method):
    mesh = fibonacci_mesh(30)
    one = density(mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, method=method)
    three = density(
        mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, method=method, records_per_unit=3
    )
    assert three.scale == pytest.approx(3 * one.scale)
    assert three.sensitivity == 6.0


@pytest.mark.parametrize("method", ["histogram", "kde"])
def test_many_records_give_their_density(method):
    records = von_mises_fisher(1_000_000, [0, 0, 1], 6.0, rng=1)
    mesh = fibonacci_mesh(800)
    release = density(records, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, method=method)
    exact = 6 / (4 * math.pi * math.sinh(6)) * np.exp(6 * mesh.points[:, 2])
    if method == "histogram":  # cells next to the poles are up to 6 % smaller than their weights
        exact *= SphericalVoronoi(mesh.points).calculate_areas() / mesh.volumes
    assert np.abs(release.value - exact).max() < 0.06 * exact.max()
    assert (release.value * mesh.volumes).sum() == pytest.approx(1.0, abs=0.01)


def test_smoothing_keeps_the_mass_and_lowers_the_noise():
    mesh = fibonacci_mesh(2000)
    records = mesh.points[:5]
    rough = density(records, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, heat_time=0, seed=1)
    smooth = density(records, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, heat_time=0.02, seed=1)
    assert (smooth.value @ mesh.volumes) == pytest.approx(rough.value @ mesh.volumes, rel=1e-6)
    # flat space: variance falls by the factor N w (8 pi t)^-1 / N
    expected = math.sqrt(mesh.volumes[0] / (8 * math.pi * 0.02))
    assert smooth.value.std() / rough.value.std() == pytest.approx(expected, rel=0.2)


def test_the_default_time_makes_noise_as_large_as_the_mean_density():
    mesh = fibonacci_mesh(4000)
    n = 3000
    noise_only = density(
        mesh.points[:1].repeat(n, 0), some_ball(mesh), cdp.PureDP(0.5), mesh=mesh, seed=2
    )
    far = noise_only.value[2000:]
    mean = 1 / (4 * math.pi)
    assert 0.5 * mean < far.std() < 2 * mean
    assert 0.005 < noise_only.heat_time < 2


def test_bad_records_count_at_the_centre(capfd):
    mesh = fibonacci_mesh(50)
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    good = np.tile(mesh.points[30], (6, 1))
    for bad in (np.nan, np.inf, 0.0, 1e308, 5e-324):
        records = good.copy()
        records[2] = bad
        release = density(records, some_ball(mesh), cdp.PureDP(1e3), mesh=mesh, heat_time=0)
        counts = counted(release, mesh, 6)
        # a direction may have any length
        place = 0 if bad in (np.inf, 0.0) or np.isnan(bad) else mesh.nearest(np.ones((1, 3)))[0][0]
        assert counts[place] == 1
        assert counts[30] == 5
        release = density(records, ball, cdp.PureDP(1e3), mesh=mesh, heat_time=0)
        assert counted(release, mesh, 6).sum() == 6
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("method", ["histogram", "kde"])
def test_meshes_of_few_nodes(n, method):
    mesh = Mesh("sphere:2", fibonacci_mesh(5).points[:n])
    release = density(np.eye(3), some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, method=method)
    assert np.isfinite(release.value).all()
    assert release.report()


def test_a_release_survives_json_and_keeps_its_mesh():
    mesh = fibonacci_mesh(20)
    operator = laplacian(knn_graph(mesh, 5))
    release = density(mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=operator)
    again = DensityRelease.from_json(release.to_json())
    assert again == release
    assert hash(again) == hash(release)
    assert json.loads(release.to_json())["method"] == "histogram"
    np.testing.assert_allclose(again.mesh.points, mesh.points, atol=1e-15)
    assert again.laplacian.graph.k == 19
    assert release.laplacian.graph.k == 5
    assert "20 public nodes" in release.report()
    assert release.assumptions == frozenset()


def test_seeded_releases_are_unproved_and_a_ledger_is_charged_once():
    mesh = fibonacci_mesh(20)
    assert isinstance(
        density(mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, seed=1).guarantee,
        cdp.Unproved,
    )
    with cdp.Ledger(cdp.PureDP(1.5)) as ledger:
        density(mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, ledger=ledger)
        with pytest.raises(cdp.BudgetError):
            density(mesh.points, some_ball(mesh), cdp.PureDP(1.0), mesh=mesh, ledger=ledger)


def test_parameters_are_checked():
    mesh = fibonacci_mesh(20)
    pure = cdp.PureDP(1.0)
    with pytest.raises(ValueError, match="method"):
        density(mesh.points, some_ball(mesh), pure, mesh=mesh, method="spline")
    with pytest.raises(ValueError, match="bandwidth"):
        density(mesh.points, some_ball(mesh), pure, mesh=mesh, method="kde", bandwidth=0.0)
    with pytest.raises(ValueError, match="heat_time"):
        density(mesh.points, some_ball(mesh), pure, mesh=mesh, heat_time=-1.0)
    with pytest.raises(TypeError, match="mesh"):
        density(mesh.points, some_ball(mesh), pure, mesh=mesh.points)
    with pytest.raises(ValueError, match="the ball on"):
        density(np.eye(2)[None], cdp.Ball("spd:2", np.eye(2), 1.0), pure, mesh=mesh)
    for method in ("histogram", "kde"):
        with (
            cdp.Ledger(pure) as ledger,
            pytest.raises(ValueError, match="no counts can be drawn"),
        ):
            density(
                mesh.points,
                some_ball(mesh),
                cdp.PureDP(1e-12),
                mesh=mesh,
                method=method,
                ledger=ledger,
            )
        density(mesh.points, some_ball(mesh), cdp.PureDP(1e-10), mesh=mesh, method=method)


# ------------------------------------------------------------------ as every release


def test_records_beyond_the_ball_count_at_the_rim_only_if_all_nodes_lie_within():
    """On a whole sphere, which no ball holds, half of the records would count at the equator."""
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 1.5)
    far = np.tile([0.0, 0.0, -1.0], (50, 1))
    whole = fibonacci_mesh(60)
    release = density(far, ball, cdp.PureDP(1e3), mesh=whole, heat_time=0)
    assert counted(release, whole, 50)[-1] == 50
    assert not release.projected
    assert "reaches out of the ball" in release.report()
    part = ball_mesh(cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7), 60)
    near = np.tile([1.0, 0.0, 0.0], (50, 1))
    release = density(near, ball, cdp.PureDP(1e3), mesh=part, heat_time=0)
    assert release.projected
    assert "projected on it" in release.report()
    assert DensityRelease.from_json(release.to_json()).projected


def sites(n=240):
    rng = np.random.default_rng(4)
    records = von_mises_fisher(n, [0.0, 0.0, 1.0], 20.0, rng=rng)
    return records, np.repeat(["a", "b"], [n // 3, n - n // 3])


def test_a_groups_density_is_that_of_the_group_alone():
    records, site = sites()
    ball, mesh = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7), fibonacci_mesh(80)

    def released(records, site):
        secret = cdp.NoiseSecret(bytes(range(32)))
        how = {"mesh": mesh, "groups": site, "secret": secret, "coverage": False}
        return density(records, ball, cdp.PureDP(1.0), **how)

    found = released(records, site)
    for name in ("a", "b"):
        own = records[site == name]
        alone = released(own, [name] * len(own))
        assert alone[name].to_json() == found[name].to_json()
    assert found.value.shape == (2, 80)
    # groups of other centres have their own default nodes
    balls = [ball, cdp.Ball("sphere:2", [1.0, 0.0, 0.0], 0.7)]
    found = density(records, balls, cdp.PureDP(1.0), groups=site)
    for own, release in zip(balls, found, strict=True):
        np.testing.assert_allclose(release.nodes, ball_mesh(own, 5000).points, atol=1e-15)


def noise_of(release):
    """The counts of a release without smoothing: with a huge epsilon they are those of records."""
    return np.round(release.value * release.volumes * release.n)


def test_a_secret_draws_again_the_same_and_anew_for_whatever_changes():
    records, _ = sites()
    ball, mesh = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7), fibonacci_mesh(80)

    def drawn(**changed):
        """Noise on the nodes: counts less those of the records."""
        own = {"records": records, "ball": ball, "mesh": mesh, "guarantee": cdp.PureDP(0.2)}
        own |= {"heat_time": 0.0, "secret": cdp.NoiseSecret(bytes(range(32)))} | changed
        found = density(**own)
        exact = density(**own | {"guarantee": cdp.PureDP(1e4), "secret": None})
        return noise_of(found) - noise_of(exact)

    noise = drawn()
    np.testing.assert_array_equal(drawn(), noise)
    moved = records.copy()
    moved[0] = -moved[0]  # beyond the ball, where the mesh reaches
    half = Mesh("sphere:2", mesh.points, 0.5 * mesh.volumes)
    turned = Mesh("sphere:2", mesh.points[:, [1, 0, 2]], mesh.volumes)
    for changed in (
        {"records": moved},
        {"mesh": half},
        {"mesh": turned},
        {"mesh": knn_graph(mesh, 5)},
        {"mesh": laplacian(knn_graph(mesh, 5))},
        {"ball": cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.6)},
        {"records_per_unit": 2},
    ):
        # noise of deviation 14: two independent draws differ on nearly all of the 80 nodes
        assert np.sum(drawn(**changed) != noise) > 40, changed


def test_options_hold_all_that_the_nodes_are():
    mesh = fibonacci_mesh(20)
    graph = knn_graph(mesh, 5)
    every = [
        *(None, mesh, fibonacci_mesh(21), graph, knn_graph(mesh, 6), laplacian(graph)),
        *(laplacian(graph, bandwidth=0.1), laplacian(graph, scaled=False)),
        *(laplacian(graph, normalization="random-walk"), Mesh("sphere:2", mesh.points)),
    ]
    texts = {json.dumps(Density(mesh=own).options()) for own in every}
    assert len(texts) == len(every)
    plain = Density(method="kde", bandwidth=0.2)
    assert Density.from_options(json.loads(json.dumps(plain.options()))) == plain
    with pytest.raises(ValueError, match="20 public nodes, which stored parameters do not hold"):
        Density.from_options(Density(mesh=mesh).options())


def test_units_count_once_and_no_group_is_too_small():
    records, site = sites()
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
    mesh = ball_mesh(ball, 40)
    persons = np.arange(len(records)) // 4
    release = density(records, ball, cdp.PureDP(1e4), mesh=mesh, heat_time=0, units=persons)
    assert release.n == 60
    assert counted(release, mesh, 60).sum() == 60
    assert "units-by-name" in release.assumptions
    how = {"groups": site, "skip_small": True, "coverage": False}
    found = density(records, ball, cdp.PureDP(1.0), mesh=mesh, **how)
    assert found.released.all()
    assert found.columns()["scale"].tolist() == pytest.approx([2.0, 2.0])


# ------------------------------------------------------------------ noise far beyond the counts


def spread_records(residue):
    """Records that each give the same count to one node, of that remainder by 32: (nodes, records,
    numbers of those nodes). All distances are exact in double precision.
    """
    line = cdp.as_manifold("euclidean:1")
    nodes = np.arange(4096.0)[:, None]
    for step in range(80, 2000):
        record = np.array([[2.0 + step / 4096]])
        units = _core.bump_counts(line.kernels, nodes[:5], np.ones(5), record, 1.5, UNITS)
        if units[2] % 32 == residue:
            firsts = np.arange(2, 4096, 4)
            return nodes, record + (firsts[:, None] - 2), firsts
    raise AssertionError("no record has such a count")


def odd_multiples(y):
    """How many of the numbers with |y| in [2^56, 2^57) are odd multiples of 16, and of how many."""
    y = np.abs(y)
    wide = y[(y >= 2.0**56) & (y < 2.0**57)]
    return int(np.sum(wide / 16 % 2)), len(wide)


@pytest.mark.parametrize("residue", [16, 24])
def test_noise_wider_than_53_bits_tells_nothing_of_a_count(residue):
    """Doubles near 2^56 are multiples of 16: the sum of count and noise is rounded to one, odd as
    often as even. If the noise is rounded first, a count of 24 more is rounded to an even one.
    """
    nodes, records, firsts = spread_records(residue)
    mesh = Mesh("euclidean:1", nodes, np.ones(len(nodes)))
    odd = total = 0
    for seed in range(4):
        release = density(
            *(records, some_ball(mesh), cdp.PureDP(3e-11)),
            mesh=mesh,
            method="kde",
            bandwidth=1.5,
            heat_time=0.0,
            seed=seed,
        )
        found = odd_multiples(release.value[firsts] * (len(records) * UNITS))
        odd, total = odd + found[0], total + found[1]
    assert total > 800
    assert abs(odd - total / 2) < 3 * math.sqrt(total)


def test_noise_that_is_rounded_before_it_is_added_tells_of_a_count():
    """Control: never odd for a count of 24 more than a multiple of 32, half the time for 16."""
    shares = {}
    for residue in (16, 24):
        noise = np.empty(4000)
        nothing = np.zeros(4000, dtype=np.int64)
        stream = _core.Stream.from_key(bytes(32), 0)
        stream.add_discrete_laplace(3e-11 / 2 / UNITS, nothing, noise)
        odd, total = odd_multiples(noise + residue)
        shares[residue] = odd / total
    assert shares[24] == 0
    assert 0.4 < shares[16] < 0.6


def test_counts_are_added_as_integers():
    """Counts beyond 53 bits keep their last bit until the sum is rounded."""
    counts = np.array([2**60, 2**60 + 1, 2**60 + 127, 2**60 + 129, -(2**60) - 129])
    found = np.empty(5)
    _core.Stream.from_key(bytes(32), 0).add_discrete_laplace(64.0, counts, found)
    assert found.tolist() == [float(count) for count in counts.tolist()]
    with pytest.raises(ValueError, match="match"):
        _core.Stream.from_os().add_discrete_laplace(1.0, counts, np.empty(4))


def test_cells_too_small_for_doubles_are_refused_with_radii_that_are_not() -> None:
    flat = [cdp.Ball("euclidean:384", np.zeros(384), radius) for radius in (0.5, 1.0)]
    with pytest.raises(cdp.errors.ExistenceError, match=r"the radius is 0\.\d+ or more"):
        cdp.plan("conformal_mean", flat[0], cdp.PureDP(1.0), n=7000)
    assert cdp.plan("conformal_mean", flat[1], cdp.PureDP(1.0), n=7000).low > 0.0
