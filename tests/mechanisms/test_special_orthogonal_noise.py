"""The law of noise on SO(n) against uniform rotations with weights.

A uniform rotation is the orthogonal factor of a normal matrix; weighted by the density psi(rho) its
distance has the law of the noise. Nothing of the sampler enters that: no roots, no envelope.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import curvedp as cdp
from chance import DEVIATIONS, FAILURE
from exact_laws import detectable_gap
from mechanism_cases import draw

N = 4000
#: Releases of higher orders, which take a millisecond each.
FEWER = 2500
HAAR = 150_000
SCALES = [(2, 0.7), (3, 0.8), (4, 0.9), (5, 1.2), (6, 1.6), (4, 5.0), (7, 2.5)]


@functools.cache
def haar_distances(n: int) -> np.ndarray:
    """Distances of uniform rotations from one of them: R + R^T has the eigenvalues 2 cos t."""
    rng = np.random.default_rng(0)
    q, r = np.linalg.qr(rng.standard_normal((HAAR, n, n)))
    q = q * np.sign(np.einsum("...ii->...i", r))[..., None, :]
    q[..., 0] *= np.sign(np.linalg.det(q))[..., None]
    cosines = 0.5 * np.linalg.eigvalsh(q + np.swapaxes(q, -1, -2))
    return np.sqrt(0.5 * np.sum(np.arccos(cosines.clip(-1, 1)) ** 2, axis=-1))


def log_profile(t: np.ndarray, kind: str, scale: float) -> np.ndarray:
    return -t / scale if kind == "RiemannianLaplace" else -0.5 * (t / scale) ** 2


def mechanism(
    n: int, kind: str, scale: float, space: cdp.Manifold | None = None
) -> cdp.mechanisms.Mechanism:
    space = cdp.SpecialOrthogonal(n) if space is None else space
    ball = cdp.Ball(space, cdp.SpecialOrthogonal(n).random_point(2, rng=3)[0], 1.2)
    guarantee = cdp.PureDP(1.0) if kind == "RiemannianLaplace" else cdp.GDP(1.0)
    return getattr(cdp, kind)(ball, scale, guarantee)


def off_centre(ball: cdp.Ball) -> np.ndarray:
    coords = np.random.default_rng(1).standard_normal(ball.manifold.dim)
    coords *= 0.9 / np.linalg.norm(coords)
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
@pytest.mark.parametrize(("n", "scale"), SCALES)
def test_releases_have_the_law_of_weighted_uniform_rotations(
    n: int, scale: float, kind: str
) -> None:
    own = mechanism(n, kind, scale)
    true_value = off_centre(own.ball)
    count = N if n < 6 else FEWER
    found = own.ball.manifold.dist(draw(own, true_value, count), true_value)
    dists = haar_distances(n)
    logs = log_profile(dists, kind, scale)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 2000, "the control needs as many"
    assert apart(found, dists, weights) < 3.5
    error = DEVIATIONS * found.std() / np.sqrt(count) + 0.02 * found.mean()
    assert abs(found.mean() - weights @ dists) < error
    assert own.expected_error == pytest.approx(weights @ dists, rel=0.02)
    # the control: noise 1.6 times as wide or, where space is filled, in more dimensions
    uneven = np.exp(log_profile(dists, kind, scale) - log_profile(dists, kind, 1.6 * scale))
    narrow = scale < 1 and kind == "RiemannianGaussian"
    wrong = weights / uneven if narrow else weights * dists**4
    assert apart(found, dists, wrong / wrong.sum()) > 3.5


def test_the_direction_of_noise_is_uniform() -> None:
    """The angles of a plane of axes seen from the true value, against those of uniform directions:
    released rotations commute with nothing, and each coordinate of their logarithm has the same
    law."""
    own = mechanism(4, "RiemannianGaussian", 0.2)
    space, true_value = own.ball.manifold, off_centre(own.ball)
    logs = space.tangent_to_coords(space.log(draw(own, true_value, N), true_value), true_value)
    units = logs / np.linalg.norm(logs, axis=1, keepdims=True)
    cosine = scipy.stats.beta(2.5, 2.5, loc=-1, scale=2)  # of an axis in six dimensions
    for column in units.T:
        assert scipy.stats.kstest(column, cosine.cdf).pvalue > FAILURE
    control, x = units[:, 0] * np.abs(units[:, 0]) ** 0.6, np.linspace(0, 1, 1001)
    assert np.abs(cosine.cdf(x ** (1 / 1.6)) - cosine.cdf(x)).max() >= detectable_gap(N)
    assert scipy.stats.kstest(control, cosine.cdf).pvalue < FAILURE


@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
def test_moments_are_those_of_rejection_from_flat_space(kind: str) -> None:
    """Figures by another sampler: flat proposals, accepted by the product over roots."""
    rng = np.random.default_rng(0)
    for n in (4, 5, 7):
        dim = n * (n - 1) // 2
        scale = 0.1 if kind == "RiemannianLaplace" else 0.4
        coords = rng.standard_normal((100_000, dim))
        if kind == "RiemannianLaplace":
            coords /= np.linalg.norm(coords, axis=1, keepdims=True)
            coords *= rng.gamma(dim, size=(len(coords), 1))
        coords *= scale
        matrices = np.zeros((len(coords), n, n))
        rows, columns = np.tril_indices(n, -1)
        matrices[:, rows, columns], matrices[:, columns, rows] = coords, -coords
        values = np.linalg.eigvalsh(1j * matrices)
        product = np.ones(len(values))
        for i in range(n):
            for j in range(i):
                product *= np.sinc((values[:, i] - values[:, j]) / (2 * np.pi))
        # each root is the difference of two pairs of eigenvalues; that of i t and -i t is none
        half = np.sort(np.abs(values), axis=1)[:, n % 2 :: 2]
        product /= np.prod(np.sinc(half / np.pi), axis=1)
        weights = np.where(half.max(axis=1) < np.pi, product, 0.0)
        mean = np.average(np.linalg.norm(coords, axis=1), weights=weights)
        assert mechanism(n, kind, scale).expected_error == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize("kind", ["RiemannianLaplace", "RiemannianGaussian"])
def test_the_law_in_three_dimensions_is_that_of_the_angle(kind: str) -> None:
    """The area of spheres in SO(3) is sin^2(t/2); Rotations folds noise of its double cover, which
    is the same as long as it hardly reaches half a turn."""
    own = mechanism(3, kind, 0.3)
    nodes = np.linspace(0, np.pi, 4001)
    density = np.sin(nodes / 2) ** 2 * np.exp(log_profile(nodes, kind, 0.3))
    below = scipy.integrate.cumulative_trapezoid(density, nodes, initial=0)
    mean = scipy.integrate.trapezoid(nodes * density, nodes) / below[-1]
    assert own.expected_error == pytest.approx(mean, rel=1e-4)
    found = own.ball.manifold.dist(draw(own, own.ball.center, N), own.ball.center)
    result = scipy.stats.kstest(found, lambda t: np.interp(t, nodes, below / below[-1]))
    assert result.pvalue > FAILURE
    folded = mechanism(3, kind, 0.3, cdp.Rotations())
    assert folded.expected_error == pytest.approx(own.expected_error, rel=2e-3)
    other = folded.ball.manifold.dist(draw(folded, own.ball.center, N), own.ball.center)
    assert scipy.stats.ks_2samp(found, other).pvalue > FAILURE
    wider = mechanism(3, kind, 0.42, cdp.Rotations())
    wrong = wider.ball.manifold.dist(draw(wider, own.ball.center, N), own.ball.center)
    assert scipy.stats.ks_2samp(found, wrong).pvalue < FAILURE


def test_what_no_sampler_serves_is_refused_by_public_numbers() -> None:
    space = cdp.SpecialOrthogonal(16)
    ball = cdp.Ball(space, "identity", 1.0)
    x = np.repeat(space.origin[None], 50, axis=0)
    with pytest.raises(ValueError, match=r"scale|accept"):
        cdp.frechet_mean(x, ball, cdp.PureDP(1e-3))
    assert space.belongs(cdp.frechet_mean(x, ball, cdp.GDP(50.0), seed=1).value)
    with pytest.raises(ValueError, match="n must"):
        cdp.SpecialOrthogonal(34)


def test_the_law_does_not_depend_on_where_the_true_value_lies() -> None:
    """Distances of releases from two true values."""
    own = mechanism(4, "RiemannianGaussian", 0.3)
    far = off_centre(own.ball)
    one, other = (own.ball.manifold.dist(draw(own, x, N), x) for x in (own.ball.center, far))
    assert scipy.stats.ks_2samp(one, other).pvalue > FAILURE
