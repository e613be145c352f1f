"""The law of noise on U(n) against Weyl's integration formula.

Angles of a uniform unitary matrix have the density prod |e^(i t_j) - e^(i t_k)|^2; weighted by psi
of their length, it is the law of the noise. Nothing of the sampler enters that: no roots, no
envelope.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.stats

import curvedp as cdp
from chance import DEVIATIONS, FAILURE
from exact_laws import LogFunction, detectable_gap, gaussian, laplace
from mechanism_cases import draw

N = 4000
#: Releases by order: one of order 3 takes milliseconds where noise fills the space.
DRAWS = {1: N, 2: N, 3: 1600}
#: Nodes of an angle, by order.
NODES = {1: 40_000, 2: 2_000, 3: 160}
KINDS = {"RiemannianLaplace": laplace, "RiemannianGaussian": gaussian}
SCALES = [(1, 0.7), (1, 5.0), (2, 0.5), (2, 4.0), (3, 0.2), (3, 0.7)]


@functools.cache
def uniform_distances(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances from a point, rising, and their weights among uniform unitary matrices."""
    nodes = np.pi * (2 * (np.arange(NODES[n]) + 0.5) / NODES[n] - 1)
    angles = [nodes[own] for own in rising(NODES[n], n)]
    square, weight = np.zeros(len(angles[0])), np.ones(len(angles[0]))
    for j, t in enumerate(angles):
        square += t**2
        for other in angles[:j]:
            weight *= np.sin((t - other) / 2) ** 2
    order = np.argsort(square)
    return np.sqrt(square[order]), weight[order]


def rising(n_nodes: int, n: int) -> list[np.ndarray]:
    """Indices of n angles in rising order: all others give the same, or angles that are equal."""
    columns = [np.arange(n_nodes)]
    for _ in range(n - 1):
        further = n_nodes - 1 - columns[-1]
        own = np.repeat(np.arange(len(further)), further)
        starts = np.repeat(np.cumsum(further) - further, further)
        last = columns[-1][own] + 1 + np.arange(len(own)) - starts
        columns = [*(column[own] for column in columns), last]
    return columns


class Law:
    """The law of the distance with density psi."""

    def __init__(self, n: int, log_profile: LogFunction) -> None:
        self.dists, weights = uniform_distances(n)
        logs = log_profile(self.dists)
        mass = weights * np.exp(logs - logs.max())
        self.mean = float(mass @ self.dists / mass.sum())
        self.below = np.cumsum(mass) / mass.sum()

    def cdf(self, t: np.ndarray) -> np.ndarray:
        return np.interp(t, self.dists, self.below)


def mechanism(n: int, kind: str, scale: float) -> cdp.mechanisms.Mechanism:
    space = cdp.Unitary(n)
    ball = cdp.Ball(space, space.random_point(2, rng=3)[0], 1.2)
    guarantee = cdp.PureDP(1.0) if kind == "RiemannianLaplace" else cdp.GDP(1.0)
    return getattr(cdp, kind)(ball, scale, guarantee)


def off_centre(ball: cdp.Ball) -> np.ndarray:
    coords = np.random.default_rng(1).standard_normal(ball.manifold.dim)
    coords *= 0.9 / np.linalg.norm(coords)
    return ball.manifold.exp(ball.manifold.coords_to_tangent(coords, ball.center), ball.center)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "scale"), SCALES)
def test_distances_have_the_law_of_weyl(n: int, scale: float, kind: str) -> None:
    own, law = mechanism(n, kind, scale), Law(n, KINDS[kind](scale))
    true_value = off_centre(own.ball)
    n_draws = DRAWS[n]
    found = own.ball.manifold.dist(draw(own, true_value, n_draws), true_value)
    assert own.expected_error == pytest.approx(law.mean, rel=0.01)
    sampling = DEVIATIONS * found.std() / np.sqrt(n_draws)
    assert abs(found.mean() - law.mean) < sampling + 1e-3 * law.mean
    assert scipy.stats.kstest(found, law.cdf).pvalue > FAILURE
    # the controls: without what angles repel each other by, or another scale
    if n > 1:
        flat = scipy.stats.gamma(n, scale=scale) if kind == "RiemannianLaplace" else None
        wrong = flat.cdf if flat else scipy.stats.chi(n, scale=scale).cdf
    else:
        wrong = Law(n, KINDS[kind](1.6 * scale)).cdf if scale < 1 else scipy.stats.norm.cdf
    assert np.abs(law.cdf(law.dists) - wrong(law.dists)).max() >= detectable_gap(n_draws)
    assert scipy.stats.kstest(found, wrong).pvalue < FAILURE


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_weighted_flat_proposals(kind: str) -> None:
    """Figures by another sampler, up to order 8: flat proposals, with the product over roots for
    weights."""
    rng = np.random.default_rng(0)
    for n, scale in ((4, 0.4), (8, 0.25)):
        scale = scale / n if kind == "RiemannianLaplace" else scale
        dim, count = n * n, 40_000
        lengths = scale * (
            rng.gamma(dim, size=count)
            if kind == "RiemannianLaplace"
            else np.sqrt(rng.chisquare(dim, count))
        )
        a = rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n))
        a = a + np.swapaxes(a, -1, -2).conj()
        values = np.linalg.eigvalsh(a)
        values *= (lengths / np.linalg.norm(values, axis=1))[:, None]
        weights = np.where(np.abs(values).max(axis=1) < np.pi, 1.0, 0.0)
        for i in range(n):
            for j in range(i):
                weights *= np.sinc((values[:, i] - values[:, j]) / (2 * np.pi)) ** 2
        mean = np.average(lengths, weights=weights)
        error = np.sqrt(np.average((lengths - mean) ** 2, weights=weights))
        error *= np.sqrt(np.sum(weights**2)) / np.sum(weights)
        assert error < 2e-3 * mean
        assert mechanism(n, kind, scale).expected_error == pytest.approx(mean, rel=0.01)
        assert lengths.mean() > 1.02 * mean


def test_the_direction_of_noise_is_uniform() -> None:
    """Each coordinate of logarithms seen from the true value has the law of an axis in four
    dimensions; so has the phase, along which nothing is curved, at a small scale."""
    own = mechanism(2, "RiemannianGaussian", 0.05)
    space, true_value = own.ball.manifold, off_centre(own.ball)
    logs = space.tangent_to_coords(space.log(draw(own, true_value, N), true_value), true_value)
    units = logs / np.linalg.norm(logs, axis=1, keepdims=True)
    cosine = scipy.stats.beta(1.5, 1.5, loc=-1, scale=2)
    phase = (units[:, 0] + units[:, 3]) / np.sqrt(2)
    for column in (*units.T, phase):
        assert scipy.stats.kstest(column, cosine.cdf).pvalue > FAILURE
    control = units[:, 0] * np.abs(units[:, 0]) ** 0.6
    assert scipy.stats.kstest(control, cosine.cdf).pvalue < FAILURE


def test_noise_that_fills_the_space_prefers_the_phase() -> None:
    """Volumes shrink across multiples of the identity and not along them."""
    own = mechanism(2, "RiemannianGaussian", 1.5)
    space, true_value = own.ball.manifold, off_centre(own.ball)
    logs = space.tangent_to_coords(space.log(draw(own, true_value, N), true_value), true_value)
    phase, across = (logs[:, 0] + logs[:, 3]) / np.sqrt(2), (logs[:, 0] - logs[:, 3]) / np.sqrt(2)
    ratio = np.var(phase) / np.var(across)
    nodes = np.pi * (2 * (np.arange(1000) + 0.5) / 1000 - 1)
    a, b = np.meshgrid(nodes, nodes)
    weights = np.sin((a - b) / 2) ** 2 * np.exp(-(a**2 + b**2) / (2 * 1.5**2))
    # the difference of angles is a vector of length sqrt 2 |across| in three dimensions
    expected = np.average((a + b) ** 2, weights=weights)
    expected /= np.average((a - b) ** 2, weights=weights) / 3
    assert ratio == pytest.approx(expected, rel=6 * np.sqrt(2 * 2 / N))
    assert expected > 1.45  # 1 without curvature, which is far outside


def test_what_no_sampler_serves_is_refused_by_public_numbers() -> None:
    space = cdp.Unitary(8)
    ball = cdp.Ball(space, "identity", 1.0)
    x = np.repeat(space.origin[None], 50, axis=0)
    with pytest.raises(ValueError, match=r"scale|accept"):
        cdp.frechet_mean(x, ball, cdp.PureDP(1e-3))
    assert space.belongs(cdp.frechet_mean(x, ball, cdp.GDP(1.0), seed=1).value)
    with pytest.raises(ValueError, match="n must"):
        cdp.Unitary(17)
