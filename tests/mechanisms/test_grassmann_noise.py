"""The law of noise on Grassmannians against uniform subspaces with weights.

A uniform subspace has the angles of a normal matrix's columns; weighted by the density psi(rho) it
has the law of the noise. Nothing of the sampler enters that: no roots, no envelope.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import curvedp as cdp
from chance import DEVIATIONS, FAILURE
from mechanism_cases import draw

N = 4000
HAAR = 400_000
SCALES = [(4, 2, 0.6), (5, 2, 0.6), (5, 3, 0.6), (7, 3, 0.6), (4, 2, 3.0), (5, 1, 0.5), (2, 1, 0.5)]


def haar_distances(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Distances of uniform subspaces from one of them."""
    rng = np.random.default_rng(seed)
    rank, rest = min(k, n - k), max(k, n - k)
    if rank == 1:
        # the angle of a normal vector to an axis
        z = rng.standard_normal((HAAR, n))
        return np.arctan2(np.linalg.norm(z[:, 1:], axis=1), np.abs(z[:, 0]))
    a, b = rng.standard_normal((HAAR, rank, rank)), rng.standard_normal((HAAR, rest, rank))
    gram_a, gram_b = np.swapaxes(a, 1, 2) @ a, np.swapaxes(b, 1, 2) @ b
    cosines = np.linalg.eigvals(np.linalg.solve(gram_a + gram_b, gram_a)).real.clip(0, 1)
    return np.sqrt(np.sum(np.arccos(np.sqrt(cosines)) ** 2, axis=1))


def log_profile(t: np.ndarray, kind: str, scale: float) -> np.ndarray:
    return -t / scale if kind == "RiemannianLaplace" else -0.5 * (t / scale) ** 2


def mechanism(n: int, k: int, kind: str, scale: float) -> cdp.mechanisms.Mechanism:
    space = cdp.Grassmann(n, k)
    ball = cdp.Ball(space, space.random_point(2, rng=3)[0], 0.6)
    guarantee = cdp.PureDP(1.0) if kind == "RiemannianLaplace" else cdp.GDP(1.0)
    return getattr(cdp, kind)(ball, scale, guarantee)


def off_centre(ball: cdp.Ball) -> np.ndarray:
    coords = np.random.default_rng(1).standard_normal(ball.manifold.dim)
    coords *= 0.4 / np.linalg.norm(coords)
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


def apart(sample: np.ndarray, dists: np.ndarray, weights: np.ndarray) -> float:
    """Largest gap of two distribution functions, in standard errors of either."""
    order = np.argsort(dists)
    ranks = np.cumsum(weights[order])
    expected = np.interp(np.sort(sample), dists[order], ranks)
    gap = np.abs(expected - (np.arange(len(sample)) + 0.5) / len(sample)).max()
    effective = 1 / np.sum(weights**2)
    return float(gap / np.sqrt(1 / len(sample) + 1 / effective))


@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
@pytest.mark.parametrize(("n", "k", "scale"), SCALES)
def test_releases_have_the_law_of_weighted_uniform_subspaces(
    n: int, k: int, scale: float, kind: str
) -> None:
    own = mechanism(n, k, kind, scale)
    true_value = off_centre(own.ball)
    released = draw(own, true_value, N)
    found = own.ball.manifold.dist(released, true_value)
    dists = haar_distances(n, k)
    logs = log_profile(dists, kind, scale)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 2000, "the control needs as many"
    assert apart(found, dists, weights) < 3.5
    error = DEVIATIONS * found.std() / np.sqrt(N) + 0.02 * found.mean()
    assert abs(found.mean() - weights @ dists) < error
    assert own.expected_error == pytest.approx(weights @ dists, rel=0.02)
    wrong = weights * dists**3  # the control: noise in more dimensions
    assert apart(found, dists, wrong / wrong.sum()) > 3.5


@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
def test_moments_are_those_of_rejection_from_flat_space(kind: str) -> None:
    """Figures by another sampler: flat proposals, accepted by the product over roots."""
    rng = np.random.default_rng(0)
    for n, k in [(5, 2), (7, 3)]:
        scale = 0.1 if kind == "RiemannianLaplace" else 0.6
        rows = n - k
        x = rng.standard_normal((200_000, rows, k))
        if kind == "RiemannianLaplace":
            x /= np.linalg.norm(x, axis=(1, 2), keepdims=True)
            x *= rng.gamma(rows * k, size=(len(x), 1, 1))
        angles = scale * np.linalg.svd(x, compute_uv=False)
        inside = angles[:, 0] < np.pi / 2
        product = np.prod(np.sinc(angles / np.pi), axis=1) ** abs(n - 2 * k)
        for i in range(k):
            for j in range(i):
                both = angles[:, i] + angles[:, j], angles[:, i] - angles[:, j]
                product *= np.prod([np.sinc(x / np.pi) for x in both], axis=0)
        weights = np.where(inside, product, 0.0)
        mean = np.average(np.linalg.norm(angles, axis=1), weights=weights)
        assert mechanism(n, k, kind, scale).expected_error == pytest.approx(mean, rel=0.01)


def test_densities_of_lines_are_those_of_axes() -> None:
    """Of axes the noise of the sphere is folded; on lines it is that of the space itself."""
    lines = mechanism(3, 1, "RiemannianLaplace", 0.4)
    released = draw(lines, lines.ball.center, N)
    found = lines.ball.manifold.dist(released, lines.ball.center)
    nodes = np.linspace(0, np.pi / 2, 2001)
    density = np.sin(nodes) * np.exp(-nodes / 0.4)
    below = scipy.integrate.cumulative_trapezoid(density, nodes, initial=0)
    result = scipy.stats.kstest(found, lambda t: np.interp(t, nodes, below / below[-1]))
    assert result.pvalue > FAILURE


def test_what_no_sampler_serves_is_refused_by_public_numbers() -> None:
    space = cdp.Grassmann(40, 18)
    ball = cdp.Ball(space, space.origin, 0.5)
    with pytest.raises(ValueError, match="exact"):
        cdp.frechet_mean(np.repeat(space.origin[None], 50, axis=0), ball, cdp.PureDP(1.0))
    release = cdp.frechet_mean(
        np.repeat(space.origin[None], 50, axis=0),
        ball,
        cdp.GDP(1.0),
        mechanism="tangent-gaussian",
        seed=1,
    )
    assert space.belongs(release.value)


def test_the_law_does_not_depend_on_where_the_true_value_lies() -> None:
    """Distances of releases from two true values."""
    own = mechanism(4, 2, "RiemannianGaussian", 0.3)
    far = off_centre(own.ball)
    one, other = (own.ball.manifold.dist(draw(own, x, N), x) for x in (own.ball.center, far))
    assert scipy.stats.ks_2samp(one, other).pvalue > FAILURE


# ------------------------------------------------------------------ angles, by quadrature


def angle_cells(n: int, rank: int, kind: str, scale: float, *, repel: bool) -> tuple:
    """Larger and smaller angle on a grid, and the density of both there: an integral, no sample.

    Of planes the density of both angles is psi Π sin^(q - p)(θ_i) sin(θ_1 + θ_2) sin(θ_1 - θ_2);
    without `repel` that of angles that do not see each other.
    """
    nodes = (np.arange(500) + 0.5) / 500 * np.pi / 2
    both = np.meshgrid(nodes, nodes, indexing="ij")
    larger, smaller = (angle[both[0] > both[1]] for angle in both)
    density = np.exp(log_profile(np.hypot(larger, smaller), kind, scale))
    density *= (np.sin(larger) * np.sin(smaller)) ** (n - 2 * rank)
    if repel:
        density *= np.sin(larger + smaller) * np.sin(larger - smaller)
    return larger, smaller, density


def p_value(sample: np.ndarray, values: np.ndarray, density: np.ndarray) -> float:
    places, cells = np.unique(values.round(9), return_inverse=True)
    mass = np.bincount(cells, density)
    below = (np.cumsum(mass) - mass / 2) / mass.sum()
    return float(scipy.stats.kstest(sample, lambda t: np.interp(t, places, below)).pvalue)


@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
@pytest.mark.parametrize(("n", "scale"), [(4, 0.6), (4, 3.0), (5, 0.4)])
def test_planes_have_angles_and_directions_of_the_density(n: int, scale: float, kind: str) -> None:
    own = mechanism(n, 2, kind, scale)
    true_value = off_centre(own.ball)
    released = draw(own, true_value, 20_000)
    across = np.linalg.svd(true_value)[0][:, 2:]
    inside, outside = true_value.T @ released, across.T @ released
    left, sines, right = np.linalg.svd(outside @ np.linalg.inv(inside), full_matrices=False)
    angles = np.arctan(sines)
    larger, smaller, density = angle_cells(n, 2, kind, scale, repel=True)
    assert p_value(angles[:, 0], larger, density) > FAILURE
    assert p_value(angles[:, 1], smaller, density) > FAILURE
    assert p_value(angles[:, 0] - angles[:, 1], larger - smaller, density) > FAILURE
    # directions are uniform, whatever the angles are
    squares = scipy.stats.beta(0.5, (n - 3) / 2).cdf
    assert scipy.stats.kstest(left[:, 0, 0] ** 2, squares).pvalue > FAILURE
    assert scipy.stats.kstest(right[:, 0, 0] ** 2, scipy.stats.beta(0.5, 0.5).cdf).pvalue > FAILURE
    # the control: angles that do not see each other, and noise a tenth wider
    *_, free = angle_cells(n, 2, kind, scale, repel=False)
    assert p_value(angles[:, 0] - angles[:, 1], larger - smaller, free) < 1e-20
    if scale < 1:
        *_, wide = angle_cells(n, 2, kind, 1.1 * scale, repel=True)
        assert p_value(np.hypot(*angles.T), np.hypot(larger, smaller), wide) < FAILURE


# ------------------------------------------------------------------ the Gaussian's promise


def plane_distances(planes: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distances of planes in R^4 from one of them."""
    cosines = np.linalg.svd(other.T @ planes, compute_uv=False).clip(0, 1)
    return np.linalg.norm(np.arccos(cosines), axis=1)


@pytest.mark.parametrize("tilt", [(1.0, 0.0), (0.5**0.5, 0.5**0.5)], ids=["one angle", "both"])
@pytest.mark.parametrize(("apart_by", "scale"), [(0.3, 0.3), (0.9, 0.45), (1.5, 1.5)])
def test_the_gaussian_on_planes_keeps_to_the_gaussian_profile(
    tilt: tuple[float, float], apart_by: float, scale: float
) -> None:
    """Weighted uniform planes; noise 20 % too small must be seen to exceed the profile."""
    rng = np.random.default_rng(0)
    planes = np.linalg.qr(rng.standard_normal((150_000, 4, 2)))[0]
    angles = apart_by * np.asarray(tilt)
    moved = np.vstack([np.diag(np.cos(angles)), np.diag(np.sin(angles))])
    near, far = (plane_distances(planes, point) for point in (np.eye(4)[:, :2], moved))
    mu = apart_by / scale

    def excess(own: float) -> float:
        """Largest gap of the profile at scale `own` over that of mu, in standard errors."""
        logs = -0.5 * (near / own) ** 2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        loss = 0.5 * (far**2 - near**2) / own**2
        gaps = []
        for epsilon in np.linspace(0.0, 2.0 * mu, 9):
            parts = np.maximum(1.0 - np.exp(epsilon - loss), 0.0)
            found = weights @ parts
            error = np.sqrt(weights**2 @ (parts - found) ** 2)
            ends = scipy.stats.norm.cdf(np.array([mu, -mu]) / 2 - epsilon / mu)
            gaps.append((found - ends[0] + np.exp(epsilon) * ends[1]) / max(error, 1e-9))
        return max(gaps)

    assert excess(scale) < 4.0
    if scale < 1:  # wide noise on a compact space promises less than it keeps
        assert excess(0.8 * scale) > 8.0
