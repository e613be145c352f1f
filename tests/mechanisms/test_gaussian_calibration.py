"""The Riemannian Gaussian with σ = Δ/μ is μ-GDP: its privacy profile by quadrature.

The law depends on two coordinates of S^d and on three of CP^m when two means are compared, so the
hockey-stick divergence of the two densities is a deterministic integral. It must stay below the
Gaussian mechanism's δ_μ(ε) for every ε; noise 10 % too small must be seen to exceed it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr

Grid = tuple[np.ndarray, ...]
LogDensities = Callable[[Grid, float], tuple[np.ndarray, np.ndarray, np.ndarray]]


def sphere(d: int) -> tuple[LogDensities, list[tuple[float, float]], tuple[int, ...]]:
    """Latitude β from the bisector of the two means, angle α on it from their midpoint."""

    def squared_distances(grid, gap):
        beta, alpha = grid
        along = np.cos(beta) * np.cos(alpha) * np.cos(gap / 2)
        across = np.sin(beta) * np.sin(gap / 2)
        volume = (d - 1) * np.log(np.cos(beta)) + (d - 2) * np.log(np.sin(alpha))
        near, far = (np.arccos(np.clip(along + sign * across, -1, 1)) for sign in (1, -1))
        return volume, near**2, far**2

    return squared_distances, [(-np.pi / 2, np.pi / 2), (0.0, np.pi)], (800, 48)


def complex_projective(m: int) -> tuple[LogDensities, list[tuple[float, float]], tuple[int, ...]]:
    """Latitude β and angle α on the means' complex line, distance η from that line."""

    def squared_distances(grid, gap):
        beta, alpha, eta = grid
        along = np.cos(beta) * np.cos(alpha) * np.cos(gap)
        across = np.sin(beta) * np.sin(gap)
        volume = np.log(np.cos(beta)) + 3 * np.log(np.cos(eta)) + (2 * m - 3) * np.log(np.sin(eta))
        near, far = (
            np.arccos(np.cos(eta) * np.sqrt(np.clip((1 + along + sign * across) / 2, 0, 1)))
            for sign in (1, -1)
        )
        return volume, near**2, far**2

    return (
        squared_distances,
        [(-np.pi / 2, np.pi / 2), (0.0, np.pi), (0.0, np.pi / 2)],
        (640, 24, 20),
    )


def nodes(box: list[tuple[float, float]], counts: tuple[int, ...]) -> tuple[Grid, np.ndarray]:
    """Midpoint rule on the first axis, Gauss-Legendre on the others: open grids and weights.

    The first axis crosses the bisector of the means, where the hockey stick has its kink; after
    integration over it the integrand is smooth in the other coordinates.
    """
    axes, weights = [], np.ones([1] * len(counts))
    for axis, ((low, high), count) in enumerate(zip(box, counts, strict=True)):
        node, weight = np.polynomial.legendre.leggauss(count)
        if axis == 0:
            node, weight = (2 * np.arange(count) + 1) / count - 1, np.full(count, 2 / count)
        shape = [-1 if index == axis else 1 for index in range(len(counts))]
        axes.append((low + (high - low) * (node + 1) / 2).reshape(shape))
        weights = weights * (weight * (high - low) / 2).reshape(shape)
    return tuple(axes), weights


def positive_part(values: np.ndarray) -> np.ndarray:
    """Cell averages of max(g, 0) along the first axis.

    In the cell where g changes sign it is taken as linear, in the others as quadratic.
    """
    half = np.abs(np.gradient(values, axis=0)) / 2
    crossing = np.abs(values) < half
    crossing[1:-1] &= values[2:] * values[:-2] < 0
    crossing[[0, -1]] = False
    inside = (values + half) ** 2 / (4 * np.where(crossing, half, 1.0))
    averages = values.copy()
    averages[1:-1] += (values[2:] - 2 * values[1:-1] + values[:-2]) / 24
    return np.where(crossing, inside, np.where(values > 0, averages, 0.0))


def profile(space, sigma, gap, epsilons, refinement):
    """δ(ε) between the Gaussians of scale sigma at two means at distance gap."""
    squared_distances, box, counts = space
    for _ in range(6):
        grid, _ = nodes(box, tuple(40 for _ in counts))
        volume, near, far = squared_distances(grid, gap)
        log_density = volume - np.minimum(near, far) / (2 * sigma**2)
        kept = log_density > log_density.max() - 42
        edges = []
        for axis, (low, high) in enumerate(box):
            others = tuple(index for index in range(len(box)) if index != axis)
            used = np.flatnonzero(kept.any(axis=others))
            node = np.concatenate([[low], np.ravel(grid[axis]), [high]])
            edges.append((node[used[0]], node[used[-1] + 2]))
        box = edges
    grid, weights = nodes(box, tuple(int(count * refinement) for count in counts))
    volume, near, far = squared_distances(grid, gap)
    shift = log_density.max()
    here = weights * np.exp(volume - near / (2 * sigma**2) - shift)
    there = weights * np.exp(volume - far / (2 * sigma**2) - shift)
    here, there = here / here.sum(), there / there.sum()
    return np.array([positive_part(here - np.exp(eps) * there).sum() for eps in epsilons])


def excess(space, sigma, gap, mu, refinement=1.0):
    """Worst δ(ε) - δ_μ(ε), and an error estimate from a rule with 3/4 of the nodes an axis."""
    epsilons = np.linspace(0.0, mu**2 / 2 + 3 * mu, 13)
    allowed = ndtr(-epsilons / mu + mu / 2) - np.exp(epsilons) * ndtr(-epsilons / mu - mu / 2)
    coarse, fine = (profile(space, sigma, gap, epsilons, part * refinement) for part in (0.75, 1.0))
    return float((fine - allowed).max()), float(np.abs(fine - coarse).max())


def cases(dimensions, sigmas, mus, diameter):
    return [
        (dim, sigma, mu)
        for dim in dimensions
        for sigma in sigmas
        for mu in mus
        if sigma * mu < diameter
    ]


def check(make, dimension, sigma, mu):
    worst, error = excess(make(dimension), sigma, sigma * mu, mu)
    print(f"excess {worst:.2e}, quadrature error {error:.1e}")
    assert worst <= -error or worst <= error < 2e-5


QUICK = {
    sphere: cases([2, 10, 100], [0.02, 0.3, 1.0, 5.0], [0.3, 2.0], np.pi),
    complex_projective: cases([2, 10], [0.02, 0.3, 1.0], [0.3, 1.5], np.pi / 2),
}
SIGMAS = [0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 5.0]
FULL = {
    sphere: cases([2, 4, 16, 100], SIGMAS, [0.1, 2.0, 4.0], np.pi),
    complex_projective: cases([2, 4, 10], SIGMAS, [0.1, 2.0, 4.0], np.pi / 2),
}


@pytest.mark.parametrize(
    ("make", "dimension", "sigma", "mu"),
    [(make, *case) for make, listed in QUICK.items() for case in listed],
)
def test_the_riemannian_gaussian_keeps_to_the_gaussian_profile(make, dimension, sigma, mu):
    check(make, dimension, sigma, mu)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "dimension", "sigma", "mu"),
    [(make, *case) for make, listed in FULL.items() for case in listed],
)
def test_the_riemannian_gaussian_keeps_to_the_gaussian_profile_everywhere(
    make, dimension, sigma, mu
):
    check(make, dimension, sigma, mu)


@pytest.mark.parametrize(
    ("make", "dimension", "sigma"),
    [
        (sphere, 2, 0.02),
        (sphere, 2, 0.2),
        (sphere, 10, 0.05),
        (sphere, 100, 0.02),
        (complex_projective, 2, 0.05),
        (complex_projective, 10, 0.02),
    ],
)
def test_noise_ten_per_cent_too_small_is_flagged(make, dimension, sigma):
    worst, error = excess(make(dimension), 0.9 * sigma, sigma, 1.0)
    print(f"excess {worst:.2e}, quadrature error {error:.1e}")
    assert worst > 0.01
    assert worst > 10 * error


def test_the_quadrature_reproduces_the_flat_profile():
    """At σ = 0.005 the sphere is flat: the excess vanishes up to curvature and error."""
    worst, error = excess(sphere(3), 0.005, 0.005, 1.0)
    assert abs(worst) <= 1e-3
    assert error < 2e-5
