"""Conformal Laplace noise: draws against quadrature, the bound on its constant, the coin.

The density of z is proportional to c(z)^d exp(-c(z) rho(eta, z)/scale), c that of the nearest node
inside the ball and the least c outside of it, from where draws are moved to the rim.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import curvedp as cdp
from chance import DEVIATIONS, FAILURE
from curvedp import _core
from curvedp.conformal import ConformalLaplace, Mesh, ball_mesh
from curvedp.conformal.mechanism import accepted, conformal_scale, default_contrast, log_lengths
from curvedp.conformal.normaliser import normaliser_bound

DRAWS = 6_000


def line():
    """Points of the line and their volumes, the ball and the true value."""
    x = (np.arange(20_000) + 0.5) / 500 - 20
    return cdp.Ball("euclidean:1", [0.0], 1.0), x[:, None], np.full(len(x), 2e-3), [0.3]


def plane():
    x = (np.arange(500) + 0.5) / 25 - 10
    points = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    return (
        cdp.Ball("euclidean:2", [0.0, 0.0], 1.0),
        points,
        np.full(len(points), 1.6e-3),
        [0.3, 0.1],
    )


def sphere():
    height = (np.arange(500) + 0.5) / 250 - 1
    turn = (np.arange(400) + 0.5) * math.pi / 200
    z, phi = (x.ravel() for x in np.meshgrid(height, turn))
    flat = np.sqrt(1 - z**2)
    points = np.stack([flat * np.cos(phi), flat * np.sin(phi), z], axis=-1)
    ball = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.9)
    return ball, points, np.full(len(z), 4 * math.pi / len(z)), [math.sin(0.3), 0.0, math.cos(0.3)]


def noise_on(ball):
    mesh = ball_mesh(ball, 9)
    sigma = np.random.default_rng(1).normal(size=9)
    return ConformalLaplace(
        mesh, sigma, ball=ball, sensitivity=0.2, guarantee=cdp.PureDP(1.0), contrast=1.8
    )


def chances(noise, points, volumes, eta, *, volume=True, distance=True):
    """Of the nine cells inside the ball, and of the rim."""
    space, cell = noise.ball.manifold, noise.mesh.nearest(points)[0]
    inside = noise.ball.contains(points)
    c = np.where(inside, np.exp(noise._logs[cell]), noise.least)
    rho = space.dist(np.array(eta), points)
    weight = volumes * np.exp(-(c if distance else 1.0) * rho / noise.scale)
    if volume:
        weight *= c**space.dim
    found = np.bincount(np.where(inside, cell, 9), weights=weight, minlength=10)
    return found / found.sum()


@pytest.mark.parametrize("setting", [line, plane, sphere])
def test_draws_have_the_law(setting):
    ball, points, volumes, eta = setting()
    noise = noise_on(ball)
    drawn = noise.sample(eta, n_samples=DRAWS)
    rim = ball.manifold.dist(ball.center, drawn) > ball.radius * (1 - 1e-7)
    assert ball.contains(drawn).all()
    counts = np.bincount(np.where(rim, 9, noise.mesh.nearest(drawn)[0]), minlength=10)
    right = chances(noise, points, volumes, eta)
    assert stats.chisquare(counts, DRAWS * right).pvalue > FAILURE
    for wrong in ("volume", "distance"):
        other = chances(noise, points, volumes, eta, **{wrong: False})
        assert stats.chisquare(counts, DRAWS * other).pvalue < FAILURE


def worst_change(dim, least, bend, curvature, half_width=9.0):
    """The largest derivative of log Z that an attack finds, in units of the rate.

    On spaces of constant curvature, by the choice of c at every distance t and angle: that which
    maximises the derivative of Z less a multiple of Z (Dinkelbach).
    """
    end = (dim + half_width * math.sqrt(dim) + 30) / least
    end = min(end, math.pi / bend) if curvature > 0 else end
    t = (np.arange(1_000) + 0.5) * end / 1_000
    angle = (np.arange(40) + 0.5) * math.pi / 40
    cosine = np.cos(angle) if dim > 1 else np.array([-1.0, 1.0])
    around = np.sin(angle) ** (dim - 2) if dim > 1 else np.ones(2)
    size = {0: t, 1: np.sin(bend * t) / bend, -1: np.sinh(bend * t) / bend}[curvature]
    weight = np.exp((dim - 1) * np.log(size) - math.lgamma(dim))
    c = np.linspace(least, 1.0, 21)[:, None]
    h = np.exp(dim * np.log(c) - c * t)  # (c, t)
    rate, best = 0.0, -1.0
    while rate > best + 1e-9:
        best, moved, whole = rate, 0.0, 0.0
        for own, share in zip(cosine, around, strict=True):
            chosen = np.argmax((c * own - best) * h, axis=0)
            value = h[chosen, np.arange(len(t))] * weight * share
            moved += float((c[chosen, 0] * own * value).sum())
            whole += float(value.sum())
        rate = moved / whole
    return rate


@pytest.mark.parametrize("least", [0.5, 0.75, 0.95])
@pytest.mark.parametrize(
    ("spec", "curvature"),
    [(f"euclidean:{d}", 0) for d in (1, 2, 3, 10)]
    + [("sphere:2", 1), ("sphere:5", 1), ("hyperboloid:3", -1)],
)
def test_no_factor_moves_the_constant_by_more_than_the_bound_and_some_by_over_half_of_it(
    spec, curvature, least
):
    space = cdp.as_manifold(spec)
    for scale in (1e-3, 0.1):
        bound = normaliser_bound(space, least, scale)
        found = worst_change(space.dim, least, scale, curvature)
        assert found <= bound * (1 + 1e-3)
        if scale < 0.01 and least**space.dim > 0.1:
            assert found > 0.5 * bound, "half the bound would not hold"


def largest_rate(z, moved, measure):
    """The largest quotient of the sums of `moved` and `z` over choices of a row for each column."""
    rate, best, columns = 0.0, -1.0, np.arange(z.shape[1])
    while rate > best + 1e-12:
        best, chosen = rate, np.argmax(moved - rate * z, axis=0)
        rate = float(moved[chosen, columns] @ measure / (z[chosen, columns] @ measure))
    return rate


def worst_on_a_circle(rate, c):
    """Noise is drawn on the line, kept by the distance on the circle: every turn counts."""
    at = ((np.arange(4000) + 0.5) / 2000 - 1) * math.pi
    turns = at + 2 * math.pi * np.arange(-40, 41)[:, None]
    far = np.exp(-rate * c[0] * np.abs(turns))
    kept = c * np.exp(-rate * (c - c[0]) * np.abs(at))
    moved = (c - c[0]) * np.sign(at) * far.sum(0) + c[0] * (np.sign(turns) * far).sum(0)
    return largest_rate(kept * far.sum(0), kept * moved, np.ones(len(at)))


def worst_on_axes(rate, c, dim):
    """Noise is drawn on the sphere, where each axis has two points."""
    rho, angle = np.meshgrid(
        (np.arange(600) + 0.5) * math.pi / 1200, (np.arange(40) + 0.5) * math.pi / 40
    )
    rho, cosine, sine = rho.ravel(), np.cos(angle).ravel(), np.sin(angle).ravel()
    near, far = np.exp(-rate * c[0] * rho), np.exp(-rate * c[0] * (math.pi - rho))
    kept = c**dim * np.exp(-rate * (c - c[0]) * rho)
    moved = cosine * ((c - c[0]) * (near + far) + c[0] * (near - far))
    measure = np.sin(rho) ** (dim - 1) * sine ** (dim - 2)
    return largest_rate(kept * (near + far), kept * moved, measure)


def worst_on_spd_2(rate, c):
    """A hyperbolic plane of curvature -1/2 times a line: volumes grow in some directions alone."""
    axes = [(np.arange(n) + 0.5) / n for n in (300, 30, 24)]
    axes[0] *= 40 / (rate * c[0, 0])
    axes[1], axes[2] = axes[1] * math.pi, axes[2] * 2 * math.pi
    rho, tilt, turn = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
    measure = rho * np.sinh(rho * np.sin(tilt) / math.sqrt(2))
    z = c**3 * np.exp(-rate * c * rho)
    along = (np.cos(tilt), np.sin(tilt) * np.cos(turn))
    return max(largest_rate(z, c * z * own, measure) for own in along)


@pytest.mark.parametrize("least", [0.5, 0.75, 0.95])
@pytest.mark.parametrize(
    ("spec", "worst"),
    [
        ("torus:1", worst_on_a_circle),
        ("projective:2", lambda rate, c: worst_on_axes(rate, c, 2)),
        ("projective:5", lambda rate, c: worst_on_axes(rate, c, 5)),
        ("spd:2", worst_on_spd_2),
    ],
    ids=["circle", "axes of 3", "axes of 6", "spd:2"],
)
def test_neither_covers_nor_curved_directions_move_the_constant_by_more(spec, worst, least):
    space, c = cdp.as_manifold(spec), np.linspace(least, 1.0, 21)[:, None]
    for scale in (0.02, 0.1, 0.5):
        bound = normaliser_bound(space, least, scale)
        found = worst(1 / scale, c)
        assert found <= bound * (1 + 1e-3)
        if scale < 0.1 and least**space.dim > 0.1:
            assert found > 0.5 * bound, "half the bound would not hold"


def test_the_bound_holds_for_finer_noise_and_vanishes_with_the_contrast():
    for spec in ("sphere:3", "spd:3", "rotations:3", "torus:2", "kendall:5", "so:4"):
        space = cdp.as_manifold(spec)
        bounds = [normaliser_bound(space, 0.8, scale) for scale in (1e-6, 1e-3, 0.1, 0.5, 5.0)]
        assert bounds == sorted(bounds)
        assert bounds[-1] <= 1.0
        falling = [normaliser_bound(space, least, 1e-3) for least in (0.6, 0.9, 0.99, 1.0)]
        assert falling == sorted(falling, reverse=True)
        assert falling[-1] == 0.0


class Words:
    """A stream of uniform numbers that are given."""

    def __init__(self, *digits):
        self.left = list(digits)

    def uniform(self, out):
        out[0] = word_of(self.left.pop(0))


def word_of(digits):
    """52 binary digits as streams give them: the odd multiple of 2^-53 above."""
    return (2 * digits + 1) / 2**53


@pytest.mark.parametrize("rate", [0.0, 5e-324, 1e-17, 0.05, math.log(2), 3.0, 33.0, 745.0, 1e5])
def test_the_coin_compares_every_digit_of_its_probability(rate):
    """The first digits of exp(-rate) do not decide; one more or less does."""
    with mpmath.workprec(2_000):
        scaled = mpmath.exp(-mpmath.mpf(rate)) * 2**156
        whole = min(int(mpmath.floor(scaled)), 2**156 - 1)
    for moved, kept in ((-1, True), (1, False)):
        number = whole + moved
        if not 0 <= number < 2**156:
            continue
        first, second, third = ((number >> place) % 2**52 for place in (104, 52, 0))
        assert accepted(rate, word_of(first), Words(second, third)) is kept
    # digits that are those of the probability ask for more
    if 0.05 <= rate < 100:
        stream = Words((whole >> 52) % 2**52, whole % 2**52, 0)
        assert accepted(rate, word_of(whole >> 104), stream)
        assert not stream.left


@pytest.mark.parametrize("rate", [0.05, 0.7, 3.0])
def test_the_coin_has_its_probability(rate):
    key, words = _core.Stream.from_os(), np.empty(40_000)
    key.uniform(words)
    kept = sum(accepted(rate, word, key) for word in words.tolist())
    p = math.exp(-rate)
    assert abs(kept - 40_000 * p) <= DEVIATIONS * math.sqrt(40_000 * p * (1 - p))


def test_scales_count_the_constant_and_never_more_than_twice_the_plain_noise():
    pure = cdp.PureDP(0.7)
    for spec, radius in (("sphere:2", 0.5), ("spd:3", 1.0), ("torus:2", 0.5)):
        space = cdp.as_manifold(spec)
        ball = cdp.Ball(space, space.origin, radius)
        for delta in (1e-6, 1e-3, 0.1):
            plain = delta / 0.7
            scales = [conformal_scale(ball, delta, pure, c) for c in (1.0, 0.99, 0.9, 0.7, 0.3)]
            assert scales == sorted(scales)
            assert plain <= scales[0] <= plain * (1 + 1e-4)
            assert scales[-1] <= 2 * plain * (1 + 1e-4)
            gaussian = conformal_scale(ball, delta, cdp.GDP(1.0), 0.9)
            assert gaussian == pytest.approx(2 * delta / 1.61387, rel=1e-4)


def test_the_largest_power_within_the_contrast_is_taken():
    sigma = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(log_lengths(sigma, 1e9), sigma - 3)
    np.testing.assert_allclose(log_lengths(sigma, math.e), (sigma - 3) / 3)
    np.testing.assert_array_equal(log_lengths(np.full(4, 7.0), 2.0), np.zeros(4))
    assert default_contrast(1) == default_contrast(4) == math.sqrt(2)
    assert default_contrast(45) == pytest.approx(4 ** (1 / 45))


@pytest.mark.parametrize("spec", ["sphere:2", "rotations:3", "spd:3", "hyperboloid:2", "kendall:4"])
def test_errors_are_those_of_the_place(spec):
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, space.origin, min(0.5, 0.6 * space.max_ball_radius))
    mesh = ball_mesh(ball, 200)
    sigma = 3 * space.dist(space.origin, mesh.points)
    noise = ConformalLaplace(mesh, sigma, ball=ball, sensitivity=1e-3, guarantee=cdp.PureDP(1.0))
    for eta in (space.origin, mesh.points[-1]):
        eta = ball.project(eta)
        drawn = noise.sample(eta, n_samples=300)
        errors = space.dist(eta, drawn)
        assert errors.mean() == pytest.approx(noise.error_at(eta), rel=0.4)
    assert noise.error_at(space.origin) > 1.1 * noise.error_at(mesh.points[-1])


@pytest.mark.parametrize("size", [1e-9, 1e6])
def test_extreme_budgets_give_points_of_the_ball(size):
    ball, _, _, eta = sphere()
    noise = ConformalLaplace(
        ball_mesh(ball, 9), np.arange(9.0), ball=ball, sensitivity=1e-2, guarantee=cdp.PureDP(size)
    )
    drawn = noise.sample(eta, n_samples=20)
    assert ball.contains(drawn).all()
    assert (ball.manifold.dist(eta, drawn) < 1e-6).all() == (size > 1)


def test_parameters_are_checked():
    ball, _, _, _ = sphere()
    good = {"ball": ball, "sensitivity": 0.1, "guarantee": cdp.PureDP(1.0)}
    mesh = ball_mesh(ball, 9)
    for bad, word in (
        ({"sigma": np.zeros(8)}, "sigma"),
        ({"sigma": np.full(9, np.nan)}, "finite"),
        ({"sensitivity": -1.0}, "sensitivity"),
        ({"contrast": 1.0}, "contrast"),
        ({"mesh": Mesh("euclidean:1", [[0.0]])}, "the mesh is on"),
    ):
        arguments = {"mesh": mesh, "sigma": np.zeros(9), **good, **bad}
        with pytest.raises(ValueError, match=word):
            ConformalLaplace(arguments.pop("mesh"), arguments.pop("sigma"), **arguments)
    with pytest.raises(ValueError, match="one point"):
        ConformalLaplace(mesh, np.zeros(9), **good).sample(np.eye(3))


@pytest.mark.parametrize("way", [cdp.PureDP(1e-16), cdp.GDP(1e-16)], ids=str)
def test_a_budget_as_small_as_rounding_is_refused(way):
    ball = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
    with pytest.raises(cdp.ExistenceError, match="rounding"):
        conformal_scale(ball, 1e-18, way, 0.7)
    fine = cdp.PureDP(1e-9) if isinstance(way, cdp.PureDP) else cdp.GDP(1e-9)
    assert conformal_scale(ball, 1e-12, fine, 0.7) > 1e-12 / 1e-9
