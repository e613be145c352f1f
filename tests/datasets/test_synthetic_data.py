"""Made-up records against their exact laws, with negative controls, and seeded as NumPy does it.

Each comparison fails on right code with probability FAILURE at most; a wrong law must lie far
enough away to be told from the right one as surely, and is.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import curvedp as cdp
from chance import FAILURE
from curvedp.datasets import riemannian_normal, uniform_ball, von_mises_fisher, wrapped_normal
from exact_laws import (
    LogFunction,
    RadialLaw,
    detectable_gap,
    flat_volume,
    gaussian,
    hpd2_volume,
    hyperbolic_volume,
    ks_critical,
    ks_statistic,
    projective_volume,
    spd2_volume,
    spd3_volume,
    sphere_volume,
    uniform_direction_cdf,
)

N = 50_000


def assert_follows(sample: np.ndarray, right: RadialLaw, *wrong: RadialLaw) -> None:
    assert ks_statistic(sample, right.cdf) <= ks_critical(len(sample))
    for law in wrong:
        assert np.abs(law.cdf(right.grid) - right.cdf(right.grid)).max() >= detectable_gap(N)
        assert ks_statistic(sample, law.cdf) > ks_critical(len(sample))


def directions(manifold: cdp.Manifold, center: np.ndarray, records: np.ndarray) -> np.ndarray:
    coords = manifold.tangent_to_coords(manifold.log(records, center), center)
    return coords / np.linalg.norm(coords, axis=1, keepdims=True)


# ------------------------------------------------------------------ uniform on a ball

BALLS: dict[str, tuple[float, LogFunction]] = {
    "euclidean:3": (2.0, flat_volume(3)),
    "sphere:1": (1.5, flat_volume(1)),
    "sphere:2": (1.5, sphere_volume(2)),
    "sphere:9": (1.4, sphere_volume(9)),
    "sphere:60": (1.55, sphere_volume(60)),
    "hyperboloid:2": (3.0, hyperbolic_volume(2)),
    "hyperboloid:10": (2.0, hyperbolic_volume(10)),
    "kendall:3": (0.78, projective_volume(1)),
    "kendall:8": (0.78, projective_volume(6)),
    "spd:2": (3.0, spd2_volume()),
    "spd:3": (3.0, spd3_volume()),
    "hpd:2": (3.0, hpd2_volume()),
    "spd:3:log-euclidean": (2.0, flat_volume(6)),
    "spd:2:log-cholesky": (2.0, flat_volume(3)),
}


@pytest.mark.parametrize("spec", BALLS)
def test_uniform_records_fill_the_ball_by_its_volume(spec: str) -> None:
    manifold = cdp.as_manifold(spec)
    radius, volume = BALLS[spec]
    ball = cdp.Ball(manifold, manifold.random_point(rng=1), radius)
    records = uniform_ball(N, ball, rng=2)
    assert ball.contains(records).all()
    dim = manifold.dim
    nodes = 2_001 if "pd:" in spec else 20_001
    dist = manifold.dist(records, ball.center)
    wrong = [RadialLaw(lambda t: special.xlogy(1.1 * dim, t) - special.xlogy(1, t), radius)]
    if not (manifold.is_flat or dim == 1):
        wrong = [RadialLaw(flat_volume(dim), radius)]
    assert_follows(dist, RadialLaw(volume, radius, nodes), *wrong)
    if dim > 1 and (manifold.is_flat or not spec.startswith(("spd:", "hpd:"))):
        along = directions(manifold, ball.center, records)[:, 0]
        assert ks_statistic(along, uniform_direction_cdf(dim)) <= ks_critical(N)


@pytest.mark.parametrize("spec", ["sphere:2:3.0", "hyperboloid:3:-0.25"])
def test_uniform_records_scale_with_the_manifold(spec: str) -> None:
    manifold = cdp.as_manifold(spec)
    unit = cdp.as_manifold(":".join(spec.split(":")[:2]))
    length = 3.0 if spec.startswith("sphere") else 2.0
    center = unit.random_point(rng=1)
    large = uniform_ball(50, cdp.Ball(manifold, length * center, length), rng=2)
    small = uniform_ball(50, cdp.Ball(unit, center, 1.0), rng=2)
    np.testing.assert_allclose(
        manifold.dist(large, length * center), length * unit.dist(small, center), rtol=1e-9
    )


def test_uniform_records_on_spd_follow_isometries() -> None:
    """A P A^T carries the uniform law of one ball to that of another; so does its determinant."""
    spd = cdp.SPD(2)
    center = np.array([[3.0, 1.0], [1.0, 0.5]])
    records = uniform_ball(N, cdp.Ball(spd, center, 2.0), rng=3)
    root = np.linalg.cholesky(np.linalg.inv(center))
    centred = root.T @ records @ root
    trace = np.sort(np.log(np.linalg.det(centred)) / np.sqrt(2))
    at_identity = uniform_ball(N, cdp.Ball(spd, np.eye(2), 2.0), rng=4)
    other = np.sort(np.log(np.linalg.det(at_identity)) / np.sqrt(2))
    grid = np.linspace(-2, 2, 400)
    gap = np.abs(np.searchsorted(trace, grid) - np.searchsorted(other, grid)).max() / N
    assert gap <= np.sqrt(2) * ks_critical(N)
    angle = np.arctan2(2 * centred[:, 0, 1], centred[:, 0, 0] - centred[:, 1, 1])
    assert ks_statistic(angle, lambda a: (a + np.pi) / (2 * np.pi)) <= ks_critical(N)


def test_a_hopeless_rejection_is_refused() -> None:
    with pytest.raises(ValueError, match="smaller ball"):
        uniform_ball(1, cdp.Ball("spd:8", "identity", 40.0), rng=0)


# ------------------------------------------------------------------ von Mises-Fisher


@pytest.mark.parametrize("dim", [1, 2, 9, 60])
@pytest.mark.parametrize("kappa", [0.0, 0.7, 10.0, 1000.0])
def test_directions_follow_von_mises_and_fisher(dim: int, kappa: float) -> None:
    mean = np.random.default_rng(1).standard_normal(dim + 1)
    records = von_mises_fisher(N, mean, kappa, rng=5)
    sphere = cdp.Sphere(dim)
    center = sphere.project(mean)
    angle = sphere.dist(records, center)
    upper = np.pi if kappa < 100 else min(np.pi, 10 * np.sqrt((dim + 1) / kappa))

    def law(kappa: float, dim: int = dim) -> RadialLaw:
        log_density = lambda t: kappa * np.cos(t) + special.xlogy(dim - 1, np.sin(t))  # noqa: E731
        return RadialLaw(log_density, upper, 20_001)

    wrong = [law(kappa, dim + 1)] if dim <= 2 else []
    wrong += [law(1.3 * kappa)] if kappa >= dim else []
    assert_follows(angle, law(kappa), *wrong)
    along = sphere.tangent_to_coords(sphere.log(records, center), center)[:, 0] / angle
    if dim > 1:
        assert ks_statistic(along, uniform_direction_cdf(dim)) <= ks_critical(N)
    else:
        assert stats.binomtest(int((along > 0).sum()), N).pvalue > FAILURE


def test_extreme_concentrations_give_points() -> None:
    for kappa in (1e-300, 1e-8, 1e8, 1e15):
        for dim in (1, 2, 500):
            records = von_mises_fisher(100, np.ones(dim + 1), kappa, rng=6)
            assert cdp.Sphere(dim).belongs(records).all()


# ------------------------------------------------------------------ normal laws

NORMAL = {
    "euclidean:3": (flat_volume(3), 12.0),
    "sphere:2": (sphere_volume(2), np.pi),
    "hyperboloid:3": (hyperbolic_volume(3), 12.0),
    "kendall:4": (projective_volume(2), np.pi / 2),
    "spd:2": (spd2_volume(), 8.0),
    "hpd:2": (hpd2_volume(), 8.0),
}


@pytest.mark.parametrize("spec", NORMAL)
def test_riemannian_normal_records_follow_their_law(spec: str) -> None:
    manifold = cdp.as_manifold(spec)
    volume, upper = NORMAL[spec]
    center, scale = manifold.random_point(rng=7), 0.8 if spec in ("spd:2", "hpd:2") else 0.5
    dist = manifold.dist(riemannian_normal(N, spec, center, scale, rng=8), center)

    def law(scale: float, volume: LogFunction = volume) -> RadialLaw:
        profile = gaussian(scale)
        return RadialLaw(lambda t: profile(t) + volume(t), upper, 4_001)

    wrong = [law(1.1 * scale), law(0.9 * scale)]
    if not manifold.is_flat:
        wrong.append(law(scale, flat_volume(manifold.dim)))
    assert_follows(dist, law(scale), *wrong)


@pytest.mark.parametrize("spec", [*NORMAL, "spd:3:log-euclidean"])
def test_wrapped_normal_records_have_a_normal_logarithm(spec: str) -> None:
    manifold = cdp.as_manifold(spec)
    center = manifold.random_point(rng=9)
    records = wrapped_normal(N, manifold, center, 0.2, rng=10)
    coords = manifold.tangent_to_coords(manifold.log(records, center), center)
    for column in coords.T:
        assert ks_statistic(column, lambda x: special.ndtr(x / 0.2)) <= ks_critical(N)
        assert ks_statistic(column, lambda x: special.ndtr(x / 0.22)) > ks_critical(N)


# ------------------------------------------------------------------ seeds and bad input

CALLS = {
    "von_mises_fisher": lambda n, rng: von_mises_fisher(n, [0.0, 1.0, 0.0], 3.0, rng=rng),
    "wrapped_normal": lambda n, rng: wrapped_normal(n, "spd:2", np.eye(2), 0.3, rng=rng),
    "riemannian_normal": lambda n, rng: riemannian_normal(n, "spd:2", np.eye(2), 0.3, rng=rng),
    "uniform_ball": lambda n, rng: uniform_ball(n, cdp.Ball("spd:2", "identity", 1.0), rng=rng),
}


@pytest.mark.parametrize("name", CALLS)
def test_seeds_reproduce_and_generators_move_on(name: str) -> None:
    call = CALLS[name]
    assert np.array_equal(call(20, 4), call(20, 4))
    assert not np.array_equal(call(20, 4), call(20, 5))
    generator = np.random.default_rng(4)
    assert not np.array_equal(call(20, generator), call(20, generator))
    assert np.array_equal(call(20, np.random.default_rng(4)), call(20, 4))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n", [0, -1, 1.5, None, "3", True])
def test_the_number_of_records_is_a_count(name: str, n: object) -> None:
    with pytest.raises((ValueError, TypeError), match="n must"):
        CALLS[name](n, 0)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None])
def test_scales_are_positive(value: object) -> None:
    for sampler in (wrapped_normal, riemannian_normal):
        with pytest.raises((ValueError, TypeError), match="scale"):
            sampler(3, "spd:2", np.eye(2), value, rng=0)


@pytest.mark.parametrize("kappa", [-1.0, np.nan, np.inf, "1", None])
def test_concentrations_are_not_negative(kappa: object) -> None:
    with pytest.raises((ValueError, TypeError), match="kappa"):
        von_mises_fisher(3, [0.0, 0.0, 1.0], kappa, rng=0)


@pytest.mark.parametrize("mean", [[0.0, 0.0], [np.nan, 1.0], np.eye(2), 1.0, [[1.0, 0.0, 0.0]]])
def test_means_are_directions_or_points(mean: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        von_mises_fisher(3, mean, 1.0, rng=0)
    with pytest.raises((ValueError, TypeError)):
        wrapped_normal(3, "sphere:2", mean, 1.0, rng=0)


def test_a_ball_is_asked_for() -> None:
    with pytest.raises(TypeError, match="Ball"):
        uniform_ball(3, "sphere:2", rng=0)
