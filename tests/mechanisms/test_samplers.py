"""Samplers against exact distribution functions, with negative controls.

Each comparison fails on right code with probability FAILURE at most. Each wrong law must lie far
enough from the right one to be told from it as surely; that is checked before it is to be rejected.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import drawn_keys
from chance import FAILURE
from exact_laws import (
    RadialLaw,
    detectable_gap,
    flat_volume,
    gaussian,
    hpd2_half_gap_cdf,
    hpd2_volume,
    hyperbolic_volume,
    ks_critical,
    ks_statistic,
    laplace,
    projective_volume,
    spd2_half_gap_cdf,
    spd2_volume,
    spd3_volume,
    sphere_volume,
    uniform_direction_cdf,
)
from manifold_list import COMPACT
from mechanism_cases import GAUSSIAN, LAPLACE, TANGENT, WRAPPED, Case, draw

N = 100_000
OFF_CENTER = 0.3
CURVED_SPD = ("spd:2", "spd:3")
MATRICES = (*CURVED_SPD, "hpd:2")
# the noise of covered spaces is that of the space that covers them, folded
FOLDED = ("rotations:3", "projective:2", "torus:2")
# a file for each
APART = tuple(case.name for case in COMPACT)
ISOTROPIC = [case for case in LAPLACE + GAUSSIAN if case.spec not in FOLDED + APART]
DIRECTED = [case for case in ISOTROPIC if case.spec not in MATRICES]


def volume_of(spec: str) -> tuple[Callable, Callable, float, int]:
    """Area of geodesic spheres, the same in one dimension more, largest radius, grid nodes."""
    kind, size, *metric = spec.split(":")
    d = int(size)
    if metric or kind == "euclidean":
        dim = d if kind == "euclidean" else d * (d + 1) // 2
        return flat_volume(dim), flat_volume(dim + 1), 12.0, 40_001
    match kind:
        case "sphere":
            return sphere_volume(d), sphere_volume(d + 1), np.pi, 40_001
        case "hyperboloid":
            return hyperbolic_volume(d), hyperbolic_volume(d + 1), 20.0, 40_001
        case "kendall":
            volume = projective_volume(d - 2)

            def wider(t):
                return volume(t) + np.log(np.sin(t))

            return volume, wider, np.pi / 2, 40_001
        case "spd" | "hpd":
            volume = {"spd:2": spd2_volume, "spd:3": spd3_volume, "hpd:2": hpd2_volume}[spec]()

            def one_more(t):
                return volume(t) + np.log(t)

            return volume, one_more, 25.0, 4_001
    raise ValueError(spec)


def assert_accepts(sample, cdf):
    assert ks_statistic(sample, cdf) <= ks_critical(len(sample))


def assert_rejects(sample, right: RadialLaw, wrong: RadialLaw):
    """The wrong law is far enough away to be told apart, and is."""
    gap = np.abs(right.cdf(right.grid) - wrong.cdf(right.grid)).max()
    assert gap >= detectable_gap(len(sample))
    assert ks_statistic(sample, wrong.cdf) > ks_critical(len(sample))


@drawn_keys.cache
def drawn(case: Case):
    """An off-centre true value and draws about it."""
    ball = case.ball()
    true_value = case.point_at(ball, OFF_CENTER)
    return true_value, draw(case.build(ball=ball), true_value, N)


@pytest.mark.parametrize("case", ISOTROPIC, ids=str, scope="module")
def test_every_draw_lies_on_the_manifold(case):
    _, sample = drawn(case)
    assert np.all(np.isfinite(sample))
    assert np.all(case.manifold.belongs(sample))


@pytest.mark.parametrize("case", ISOTROPIC, ids=str, scope="module")
def test_radius_follows_its_exact_law_and_no_other(case):
    true_value, sample = drawn(case)
    profile = laplace if case.mechanism == "RiemannianLaplace" else gaussian
    volume, wider, upper, nodes = volume_of(case.spec)

    def law(profile, volume):
        return RadialLaw(lambda t: profile(t) + volume(t), upper, nodes)

    radius = case.manifold.dist(sample, true_value)
    scale = case.sensitivity
    exact = law(profile(scale), volume)
    assert_accepts(radius, exact.cdf)
    assert_rejects(radius, exact, law(profile(1.1 * scale), volume))
    assert_rejects(radius, exact, law(profile(0.9 * scale), volume))
    assert_rejects(radius, exact, law(profile(scale), wider))
    if not case.manifold.is_flat:
        assert_rejects(radius, exact, law(profile(scale), flat_volume(case.manifold.dim)))


def unit_directions(case, base_point, sample):
    manifold = case.manifold
    coords = manifold.tangent_to_coords(manifold.log(sample, base_point), base_point)
    return coords / np.linalg.norm(coords, axis=1, keepdims=True)


def fixed_axes(dim):
    """The first coordinate axis and two unrelated directions."""
    others = np.random.default_rng(3).standard_normal((2, dim))
    return [np.eye(dim)[0], *(others / np.linalg.norm(others, axis=1, keepdims=True))]


@pytest.mark.parametrize("case", DIRECTED, ids=str, scope="module")
def test_direction_is_uniform_and_independent_of_radius(case):
    """Rank-one and flat spaces: the direction is uniform. (On SPD only the eigenvectors are.)"""
    true_value, sample = drawn(case)
    directions = unit_directions(case, true_value, sample)
    cdf = uniform_direction_cdf(case.manifold.dim)
    radius = case.manifold.dist(sample, true_value)
    far = radius > np.median(radius)
    for axis in fixed_axes(case.manifold.dim):
        along = directions @ axis
        assert_accepts(along, cdf)
        assert_accepts(along[far], cdf)


@pytest.mark.parametrize("case", DIRECTED, ids=str, scope="module")
def test_direction_test_sees_one_coordinate_fifteen_per_cent_too_long(case):
    """The same draws with one tangent coordinate stretched must fail the test of direction."""
    true_value, sample = drawn(case)
    dim = case.manifold.dim
    cdf = uniform_direction_cdf(dim)
    directions = unit_directions(case, true_value, sample)
    directions[:, 0] *= 1.15
    along = directions[:, 0] / np.linalg.norm(directions, axis=1)
    x = np.linspace(-1, 1, 2_001)
    unstretched = x / np.sqrt(1.3225 - 0.3225 * x**2)
    assert np.abs(cdf(unstretched) - cdf(x)).max() >= detectable_gap(N)
    assert ks_statistic(along, cdf) > ks_critical(N)


def whitened(true_value, sample):
    """Log eigenvalues and eigenvectors of the noise in an orthonormal frame at the true value."""
    inverse = np.linalg.inv(np.linalg.cholesky(true_value))
    white = inverse @ sample @ inverse.T
    values, vectors = np.linalg.eigh((white + np.swapaxes(white, 1, 2)) / 2)
    return np.log(values), vectors


def spd_eigen(spec):
    """The case of Laplace noise on ``spec``, its log eigenvalues and eigenvectors."""
    case = next(case for case in LAPLACE if case.spec == spec)
    return case, *whitened(*drawn(case))


@pytest.mark.parametrize("spec", CURVED_SPD)
def test_spd_eigenvectors_are_haar(spec):
    """Any entry of an eigenvector has the law of a uniform direction's; v and -v are the same
    eigenvector, so its sign is drawn here."""
    _, _, vectors = spd_eigen(spec)
    m = vectors.shape[1]
    sign = np.where(np.random.default_rng(9).random(N) < 0.5, -1.0, 1.0)
    cdf = uniform_direction_cdf(m)
    for column in (0, m - 1):
        for axis in fixed_axes(m):
            assert_accepts(sign * (vectors[:, :, column] @ axis), cdf)


@pytest.mark.parametrize("spec", CURVED_SPD)
def test_spd_trace_is_symmetric_about_the_true_value(spec):
    _, logs, _ = spd_eigen(spec)
    positive = int((logs.sum(axis=1) > 0).sum())
    assert stats.binomtest(positive, N).pvalue > FAILURE


def test_spd2_eigenvalue_gap_follows_its_exact_law_and_no_other():
    case, logs, _ = spd_eigen("spd:2")
    gap = (logs[:, 1] - logs[:, 0]) / np.sqrt(2)
    scale = case.sensitivity
    exact = spd2_half_gap_cdf(laplace(scale), 25.0)
    assert_accepts(gap, exact.cdf)
    assert_rejects(gap, exact, spd2_half_gap_cdf(laplace(1.1 * scale), 25.0))


def test_hermitian_eigenvalue_gap_follows_its_exact_law_and_no_other():
    """Of released matrices, by NumPy's complex eigenvalues; real matrices have another law."""
    case = next(case for case in LAPLACE if case.spec == "hpd:2")
    space = case.manifold
    true_value, outputs = drawn(case)
    lower = np.linalg.inv(np.linalg.cholesky(space.to_complex(true_value)))
    logs = np.log(np.linalg.eigvalsh(lower @ space.to_complex(outputs) @ lower.conj().T))
    gap, scale = (logs[:, 1] - logs[:, 0]) / np.sqrt(2), case.sensitivity
    exact = hpd2_half_gap_cdf(laplace(scale), 25.0)
    assert_accepts(gap, exact.cdf)
    assert_rejects(gap, exact, hpd2_half_gap_cdf(laplace(1.1 * scale), 25.0))
    assert_rejects(gap, exact, spd2_half_gap_cdf(laplace(scale), 25.0))
    trace = logs.sum(axis=1)
    assert stats.binomtest(int((trace > 0).sum()), N).pvalue > FAILURE


def test_hermitian_eigenvectors_are_haar():
    """Squared entries of a uniform unit vector of C^2 are uniform; so are their phases."""
    case = next(case for case in LAPLACE if case.spec == "hpd:2")
    space = case.manifold
    true_value, outputs = drawn(case)
    lower = np.linalg.inv(np.linalg.cholesky(space.to_complex(true_value)))
    vectors = np.linalg.eigh(lower @ space.to_complex(outputs) @ lower.conj().T)[1][:, :, 1]
    assert_accepts(np.abs(vectors[:, 0]) ** 2, lambda x: np.clip(x, 0, 1))
    phase = np.angle(vectors[:, 1] * vectors[:, 0].conj()) / (2 * np.pi) + 0.5
    assert_accepts(phase, lambda x: np.clip(x, 0, 1))


@pytest.fixture(scope="module", params=WRAPPED + TANGENT, ids=str)
def charted(request):
    """A case, its noise scale, and the noise in the chart at the ball's centre, in units of it."""
    case = request.param
    ball = case.ball()
    true_value = case.point_at(ball, OFF_CENTER)
    mechanism = case.build(ball=ball)
    sample = draw(mechanism, true_value, N)
    assert np.all(case.manifold.belongs(sample))

    def chart(points):
        tangent = case.manifold.log(points, ball.center)
        return case.manifold.tangent_to_coords(tangent, ball.center)

    return case, mechanism.scale, chart(sample) - chart(true_value)


def test_chart_noise_is_isotropic_gaussian(charted):
    case, scale, noise = charted
    dim = case.manifold.dim
    assert_accepts(np.linalg.norm(noise, axis=1) / scale, lambda t: stats.chi.cdf(t, dim))
    for axis in fixed_axes(dim):
        assert_accepts(noise @ axis / scale, stats.norm.cdf)


def test_chart_noise_ten_per_cent_off_is_rejected(charted):
    case, scale, noise = charted
    dim = case.manifold.dim
    upper = 12.0
    exact = RadialLaw(lambda t: gaussian(1.0)(t) + flat_volume(dim)(t), upper)
    wrong = RadialLaw(lambda t: gaussian(1.1)(t) + flat_volume(dim)(t), upper)
    assert_rejects(np.linalg.norm(noise, axis=1) / scale, exact, wrong)


def test_wrapped_noise_has_the_stated_scale():
    """σ = Δ/μ on Hadamard spaces and in flat charts, whatever the ball."""
    for case in WRAPPED:
        assert case.build().scale == pytest.approx(case.sensitivity, rel=1e-12)


def test_tangent_noise_pays_for_the_chart_on_positive_curvature():
    """r√κ / sin(r√κ) with κ = 1 on the sphere and κ = 4 on planar shapes."""
    for spec, curvature in (("sphere:2", 1.0), ("kendall:5", 4.0)):
        case = next(case for case in TANGENT if case.spec == spec)
        angle = 0.5 * np.sqrt(curvature)
        factor = angle / np.sin(angle)
        share = case.build().scale / (factor * case.sensitivity)
        assert 1 <= share <= 1 + 2e-9  # the slack of the ball's radius
