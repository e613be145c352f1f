"""The certificate, the safe step and the step counts of docs/proofs/frechet-mean-solver.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adversarial_search as search

POSITIVE = [
    (search.Sphere(1), 1.5),
    (search.Sphere(2), 0.6),
    (search.Sphere(2), 1.4),
    (search.Sphere(5), 1.0),
    (search.ComplexProjective(1), 0.7),
    (search.ComplexProjective(2), 0.5),
    (search.ComplexProjective(2), 0.7),
    (search.ComplexProjective(5), 0.6),
]
NEGATIVE = [
    (search.Hyperbolic(2), 1.0),
    (search.Hyperbolic(3), 3.0),
    (search.SPD(2), 2.0),
    (search.SPD(3), 2.0),
]


def name(value):
    return f"{type(value).__name__}({value.dim})" if isinstance(value, search.Space) else None


def attack(space, radius, objective, n=4, rounds=80):
    """Largest objective over a start point (row 0) and n records (the other rows) in the ball."""
    rng = np.random.default_rng(7 + space.dim)
    restarts = 16 if isinstance(space, search.SPD) else 64
    spread = rng.choice([0.03, 0.3, 1.0, 3.0], (restarts, 1, 1))
    start = radius * spread * rng.standard_normal((restarts, n + 1, space.dim))

    def score(coords):
        points = space.from_center(coords)
        p, x = points[..., 0, :], points[..., 1:, :]
        logs = space.log(p[..., None, :], x)
        v = logs.mean(axis=-2)
        g = np.sqrt(np.maximum(space.inner(p, v, v), 0.0))
        return objective(p, x, v, g)

    return search.climb(score, start, radius, rng, rounds)[0]


def energy(space, p, x):
    return 0.5 * np.mean(space.dist(p[..., None, :], x) ** 2, axis=-1)


def scale_and_cosine(space, radius):
    root = math.sqrt(max(space.upper, 0.0))
    return root, math.cos(root * radius)


@pytest.mark.parametrize(("space", "radius"), POSITIVE + NEGATIVE, ids=name)
def test_the_certificate_bounds_the_distance_to_the_mean_and_the_energy_gap(space, radius):
    root, k = scale_and_cosine(space, radius)

    def ratios(p, x, v, g):
        mean, norm = space.mean(x, np.full(x.shape[:-1], 1 / x.shape[-2]), iterations=120)
        gap = energy(space, p, x) - energy(space, mean, x)
        if root > 0:
            inside = root * g < k
            sine = np.where(inside, root * g / k, 1.0)
            distance = np.arcsin(sine) / root
            allowed = k * (1 - np.sqrt(1 - sine**2)) / root**2
        else:
            inside = np.ones(g.shape, bool)
            distance, allowed = g, 0.5 * g**2
        counted = inside & (norm < 1e-10) & (g > 1e-3)
        ratio = np.maximum(
            space.dist(p, mean) / np.maximum(distance, 1e-300), gap / np.maximum(allowed, 1e-300)
        )
        return np.where(counted, ratio, 0.0)

    best = attack(space, radius, ratios)
    print(f"certificate tightness {best:.6f}")
    assert best <= 1 + 1e-8
    assert best > 0.05, "the search never met the certificate's condition"


def test_half_the_certificate_is_refuted():
    """Negative control: on the hyperbolic plane the certificate is attained."""
    space = search.Hyperbolic(2)

    def ratio(p, x, v, g):
        mean, _ = space.mean(x, np.full(x.shape[:-1], 1 / x.shape[-2]))
        return np.where(g > 1e-3, space.dist(p, mean) / np.maximum(g, 1e-300), 0.0)

    assert attack(space, 1.0, ratio) > 0.9


@pytest.mark.parametrize(("space", "radius"), POSITIVE, ids=name)
def test_the_safe_step_stays_in_the_ball_and_lowers_the_energy(space, radius):
    t = space.safe_step(radius)
    center = space.center

    def leaves(p, x, v, g):
        return np.maximum.reduce(
            [
                space.dist(np.broadcast_to(center, p.shape), space.exp(p, a * v)) / radius
                for a in (0.5 * t, t)
            ]
        )

    def climbs(p, x, v, g):
        return energy(space, space.exp(p, t * v), x) - energy(space, p, x) + t * (1 - t / 2) * g**2

    farthest, highest = attack(space, radius, leaves), attack(space, radius, climbs)
    print(f"farthest {farthest:.6f} of the radius, energy excess {highest:.1e}")
    assert farthest <= 1 + 1e-9
    assert highest <= 1e-12


def test_longer_steps_leave_the_ball():
    """Negative control: a step of 1.1 on the sphere and of 1.2 on CP^2 is not safe."""
    for space, radius, t in ((search.Sphere(2), 1.0, 1.1), (search.ComplexProjective(2), 0.7, 1.2)):

        def leaves(p, x, v, g, space=space, radius=radius, t=t):
            center = np.broadcast_to(space.center, p.shape)
            return space.dist(center, space.exp(p, t * v)) / radius

        assert attack(space, radius, leaves, n=2) > 1 + 1e-3


@pytest.mark.parametrize(("space", "radius"), NEGATIVE, ids=name)
def test_the_step_by_zeta_lowers_the_energy_on_hadamard_spaces(space, radius):
    length = 1 / space.safe_step(radius)

    def climbs(scale):
        def objective(p, x, v, g):
            moved = space.exp(p, scale * v / length)
            decrease = (scale - scale**2 / 2) * g**2 / length
            return energy(space, moved, x) - energy(space, p, x) + decrease

        return objective

    assert attack(space, radius, climbs(1.0)) <= 1e-9


def test_unit_steps_climb_on_the_hyperbolic_space():
    """Negative control: without ζ the energy rises."""
    space, radius = search.Hyperbolic(3), 3.0

    def climbs(p, x, v, g):
        return energy(space, space.exp(p, v), x) - energy(space, p, x)

    assert attack(space, radius, climbs) > 0.1


def safe_steps_per_halving(space, radius):
    """The cap J* on safe steps until the gradient norm has halved (exact arithmetic)."""
    root, k = scale_and_cosine(space, radius)
    t = space.safe_step(radius)
    rate = t * (1 - t / 2) * k if root > 0 else t
    front = 4 / rate
    if space.lower == space.upper == 0:
        return 1
    return min(math.ceil(math.log(front) / -math.log1p(-rate)), 1 + math.ceil(4 * (1 / rate - 1)))


def projected(space, radius, p):
    """Metric projection onto the ball; the identity (checked) where the safe step cannot leave."""
    center = np.broadcast_to(space.center, p.shape)
    far = space.dist(center, p)[:, None]
    if space.upper > 0:
        assert far.max() <= radius * (1 + 1e-9)
        return p
    shrink = np.minimum(1.0, radius / np.maximum(far, 1e-300))
    return np.where(shrink < 1, space.exp(center, shrink * space.log(center, p)), p)


@pytest.mark.parametrize(("space", "radius"), POSITIVE + NEGATIVE, ids=name)
def test_every_halving_of_the_gradient_needs_at_most_the_proved_number_of_steps(space, radius):
    rng = np.random.default_rng(5)
    root, k = scale_and_cosine(space, radius)
    cap, worst, halvings = safe_steps_per_halving(space, radius), 0, 0
    for spread in (0.3, 3.0):
        coords = search.clip(radius * spread * rng.standard_normal((64, 5, space.dim)), radius)
        points = space.from_center(coords)
        p, x = points[:, 0], points[:, 1:]
        reference, count = np.full(64, np.inf), np.zeros(64, int)
        for _ in range(40 + 4 * cap):
            v = space.log(p[:, None], x).mean(axis=1)
            g = np.sqrt(np.maximum(space.inner(p, v, v), 0.0))
            started = np.isfinite(reference) & (reference > 1e-7)
            ended = started & (g <= 0.5 * reference)
            halvings += int(ended.sum())
            worst = max(worst, int(count[started].max(initial=0)))
            renew = ended | (np.isinf(reference) & (root * g < k))
            reference = np.where(renew, g, reference)
            count = np.where(renew, 0, count) + 1
            p = projected(space, radius, space.exp(p, space.safe_step(radius) * v))
    print(f"{worst} of {cap} steps")
    assert halvings > 64
    assert worst <= cap


def test_the_hyperbolic_distance_inequality_holds_and_is_sharp():
    """a^2 <= c^2 + c coth(c) b^2 - 2 b c cos A in every hyperbolic triangle."""
    b, c, angle = np.meshgrid(
        np.geomspace(1e-2, 12, 60), np.geomspace(1e-2, 12, 60), np.linspace(0, np.pi, 181)
    )
    cosh_difference = np.cosh(b - c) + np.sinh(b) * np.sinh(c) * (1 - np.cos(angle))
    a = np.arccosh(np.maximum(cosh_difference, 1.0))
    excess = a**2 - (c**2 + search.x_coth(c) * b**2 - 2 * b * c * np.cos(angle))
    assert np.max(excess / (1 + a**2)) <= 1e-10
    assert np.max(excess + 0.01 * search.x_coth(c) * b**2) > 0.0


@pytest.mark.parametrize("m", [2, 3, 5])
def test_affine_invariant_curvature_lies_between_minus_one_half_and_zero(m):
    rng = np.random.default_rng(m)
    draws = rng.standard_normal((2, 4000, m, m))
    draws[:, :2000, :, 2:] *= 0.02
    draws = draws + np.swapaxes(draws, -1, -2)
    draws[:, :2000, 2:, :] *= 0.02
    draws = 0.5 * (draws + np.swapaxes(draws, -1, -2))
    first, second = draws
    bracket = first @ second - second @ first
    square = [np.einsum("nij,nij->n", u, w) for u, w in ((first, first), (second, second))]
    area = square[0] * square[1] - np.einsum("nij,nij->n", first, second) ** 2
    curvature = -0.25 * np.einsum("nij,nij->n", bracket, bracket) / area
    assert curvature.min() >= -0.5 - 1e-12
    assert curvature.min() < -0.45
    assert curvature.max() <= 0.0
