"""Noise scales are no less than exact arithmetic demands; docs/proofs/conversions.md, section 8."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import curvedp as cdp
from curvedp import sensitivity
from curvedp.conformal import ConformalLaplace, fibonacci_mesh
from curvedp.domain import BOUNDARY_SLACK
from curvedp.mail.noise import EmbeddingNoise
from curvedp.mechanisms import RankExponential, bounded_range_epsilon, outward_scale
from curvedp.privacy import Release
from curvedp.regression.adaptive_design import AdaptiveDesign
from curvedp.regression.k_norm import KNormGradient
from curvedp.sensitivity import laplacian_bounds

PAIRS = 2000
SPHERE = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.5)
LINE = cdp.Ball("euclidean:1", [0.0], 1.0)


def covers(scale: float, budget: float, needed: float | Fraction) -> bool:
    return Fraction(scale) * Fraction(budget) >= Fraction(needed)


def pairs(seed: int, largest: float = 1e3, decades: float = 9) -> Iterator[tuple[float, float]]:
    """Sensitivities and budgets of all sizes."""
    draw = random.Random(seed)
    for _ in range(PAIRS):
        yield largest * 10 ** draw.uniform(-decades, 0), 10 ** draw.uniform(-3, 1)


# ------------------------------------------------------------------ the rule


def test_scales_are_no_less_than_exact_quotients() -> None:
    for delta, budget in pairs(1):
        scale = outward_scale(delta, budget)
        assert covers(scale, budget, Fraction(delta) * (1 + Fraction(1, 2**42)))
        assert scale <= delta / budget * (1 + 2.0**-39)


def test_quotients_rounded_to_nearest_fall_short_about_half_the_time() -> None:
    """The control: what scales were before."""
    short = sum(not covers(delta / budget, budget, delta) for delta, budget in pairs(1))
    assert 0.4 * PAIRS < short < 0.6 * PAIRS


@pytest.mark.parametrize("delta", [5e-324, 1e-320, 3e-310, 2.3e-308])
def test_the_rule_holds_below_the_normal_range(delta: float) -> None:
    for _, budget in pairs(2):
        assert covers(outward_scale(delta, budget), budget, delta)


# ------------------------------------------------------------- all mechanisms


@pytest.mark.parametrize(
    ("kind", "ball", "guarantee"),
    [
        (cdp.RiemannianLaplace, SPHERE, cdp.PureDP),
        (cdp.RiemannianLaplace, LINE, cdp.PureDP),
        (cdp.RiemannianGaussian, SPHERE, cdp.GDP),
        (cdp.TangentGaussian, LINE, cdp.GDP),
        (cdp.ExponentialWrappedGaussian, cdp.Ball("spd:2", "identity", 1.0), cdp.GDP),
    ],
)
def test_mechanisms_cover_their_sensitivity(kind: Any, ball: cdp.Ball, guarantee: Any) -> None:
    for delta, budget in pairs(3, largest=0.1, decades=5):
        assert covers(kind(ball, delta, guarantee(budget)).scale, budget, delta)


def test_the_tangent_gaussian_covers_the_stretched_sensitivity() -> None:
    s = Fraction(SPHERE.radius) * (1 + Fraction(BOUNDARY_SLACK))
    with mp.workdps(40):
        x = mp.mpf(s.numerator) / s.denominator
        stretch = Fraction(str(x / mp.sin(x)))
    for delta, mu in pairs(4, largest=0.1, decades=5):
        scale = cdp.TangentGaussian(SPHERE, delta, cdp.GDP(mu)).scale
        assert covers(scale, mu, Fraction(delta) * stretch)


@pytest.mark.parametrize("guarantee", [cdp.PureDP, cdp.ZCDP, cdp.GDP])
def test_ranks_cover_what_one_unit_moves(guarantee: Any) -> None:
    draw = random.Random(5)
    for _ in range(PAIRS // 10):
        asked, k = guarantee(10 ** draw.uniform(-3, 1)), draw.randint(1, 9)
        law = RankExponential(0.5, low=0.0, high=1.0, guarantee=asked, records_per_unit=k)
        assert covers(law.scale, bounded_range_epsilon(asked), 2 * k)


def test_conformal_noise_covers_its_sensitivity() -> None:
    mesh = fibonacci_mesh(60)
    wide = [pair for pair in pairs(6, largest=0.1) if pair[0] > 1e-8 * pair[1]]
    for delta, epsilon in wide[:100]:
        for sigma, times in ((np.zeros(60), 1), (mesh.points[:, 2], 1), (mesh.points[:, 2], 2)):
            claim = cdp.PureDP(epsilon) if times == 1 else cdp.GDP(epsilon)
            law = ConformalLaplace(mesh, sigma, ball=SPHERE, sensitivity=delta, guarantee=claim)
            budget = bounded_range_epsilon(claim)
            assert covers(law.scale, budget, times * Fraction(delta))


@pytest.mark.parametrize("guarantee", [cdp.PureDP, cdp.GDP])
def test_regressions_cover_sensitivity_and_rounding(guarantee: Any) -> None:
    draw = random.Random(7)
    for _ in range(PAIRS):
        n, tau, v_max = draw.randint(10, 10**6), draw.uniform(0.01, 0.5), draw.uniform(0.1, 1.0)
        budget = 10 ** draw.uniform(-3, 1)
        design = AdaptiveDesign.of(
            LINE, n, guarantee(budget), covariates=1, v_max=v_max, records_per_unit=1, tau=tau
        )
        stages = [
            (design.last_noise(tau), design.step_shares[-1]),
            (design.meat_noise(tau), design.shares[-1]),
        ]
        if design.schedule.measures:
            stages.append((design.leverage_noise(3), design.shares[1]))
        for own, share in stages:
            spent = share.epsilon if isinstance(share, cdp.PureDP) else share.mu
            needed = Fraction(own.sensitivity) + 2 * Fraction(own.rounding)
            assert covers(own.scale, spent, needed)
        if guarantee is cdp.PureDP:
            law = KNormGradient.calibrate(LINE, n, guarantee(budget), tau=tau, v_max=v_max)
            needed = 2 * (Fraction(law.sensitivity) + 2 * Fraction(law.rounding))
            assert covers(law.scale, budget, needed)


@pytest.mark.parametrize("guarantee", [cdp.PureDP, cdp.GDP])
def test_embeddings_cover_sensitivity_and_rounding(guarantee: Any) -> None:
    for delta, budget in pairs(8):
        rounding = 1e-3 * delta
        found = EmbeddingNoise.calibrate(
            guarantee(budget), (2, 1), sensitivity=delta, rounding=rounding
        )
        assert covers(found.scale, budget, Fraction(delta) + 2 * Fraction(rounding))


# -------------------------------------------------------------- whole releases


def _points(n: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return SPHERE.manifold.project(SPHERE.center + 0.1 * rng.standard_normal((n, 3)))


def _each(release: Any) -> Iterator[Release]:
    for part in release.parts:
        yield from _each(part)
    if isinstance(release, Release) and not release.statistic.startswith("adaptive"):
        yield release


STATISTICS: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda x, g: cdp.frechet_mean(x, SPHERE, g),
    "variance": lambda x, g: cdp.frechet_variance(x, SPHERE, g),
    "fourth moment": lambda x, g: cdp.fourth_moment(x, SPHERE, g),
    "covariance": lambda x, g: cdp.log_covariance(x, SPHERE, g),
    "Hessian": lambda x, g: cdp.mean_hessian(x, SPHERE, g),
    "K-norm": lambda x, g: cdp.kng_mean(x, SPHERE, g, sampler="metropolis"),
    "region": lambda x, g: cdp.confidence_region(x, SPHERE, g),
    "interval": lambda x, g: cdp.variance_interval(x, SPHERE, g),
    "adaptive mean": lambda x, g: cdp.adaptive_mean(x, SPHERE, g, schedule=[1, 1, 1]),
}


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("kind", [cdp.PureDP, cdp.GDP])
def test_released_scales_cover_sensitivity_and_tolerance(name: str, kind: Any) -> None:
    """Of every release and every part."""
    if kind is cdp.PureDP and name in ("region", "interval"):
        pytest.skip("needs Gaussian noise")
    draw, points = random.Random(9), _points(40)
    for _ in range(40):
        for part in _each(STATISTICS[name](points, kind(10 ** draw.uniform(-1, 1)))):
            share = getattr(part.guarantee, "claimed", part.guarantee)
            if part.parts:  # a moment promises for its mean too
                weights = [0.1, 0.9] if isinstance(part, cdp.VarianceRelease) else [0.25, 0.75]
                share = share.split(weights)[1]
            needed = Fraction(part.sensitivity) + 2 * Fraction(part.solver_tolerance)
            if part.mechanism in (RankExponential.name, "K-norm gradient"):
                budget, needed = bounded_range_epsilon(share), 2 * needed
            else:
                budget = getattr(share, "epsilon", None) or share.mu
            assert covers(part.scale, budget, needed), (part.statistic, share)


# --------------------------------------------------- sensitivities in 60 digits

#: Least part of the exact sensitivity: docs/proofs/conversions.md, section 8.
LEAST = 1 - mp.mpf(2) ** -42


def _balls(seed: int, count: int) -> Iterator[cdp.Ball]:
    """Balls of all sizes, many close to the limit."""
    draw = random.Random(seed)
    while count:
        spec = draw.choice(["sphere:2", "round", "kendall:4", "hyperboloid:3", "spd:3"])
        space = cdp.Sphere(2, radius=3.7) if spec == "round" else cdp.as_manifold(spec)
        limit = min(space.max_ball_radius, 10.0) * (1 - 1.01e-9)
        radius = limit * draw.choice([10 ** draw.uniform(-6, 0), 1 - 10 ** draw.uniform(-9, -1)])
        point = "identity" if spec == "spd:3" else space.random_point(rng=np.random.default_rng(1))
        count -= 1
        yield cdp.Ball(space, point, radius)


def _curvatures(space: Any) -> tuple[Any, Any]:
    """Bounds on the curvature, exact."""
    if isinstance(space, cdp.Sphere):
        return (1 / mp.mpf(space.radius) ** 2,) * 2
    lower, upper = space.curvature_bounds
    return mp.mpf(lower), mp.mpf(upper)


def _widened(length: float) -> Any:
    """A length with the slack that is sure to be counted."""
    return mp.mpf(length) * (1 + mp.mpf(BOUNDARY_SLACK) - mp.mpf(2) ** -50)


def _excess(kappa: Any, dist: Any) -> Any:
    x = mp.sqrt(abs(kappa)) * dist
    return abs(x * (mp.cot(x) if kappa > 0 else mp.coth(x)) - 1)


def _hessian(space: Any, dist: Any) -> Any:
    lower, upper = _curvatures(space)
    if space.spec.startswith("kendall"):
        along = _excess(4.0, dist)
        return mp.hypot(along, max(along, mp.sqrt(space.dim - 2) * _excess(1.0, dist)))
    if space.spec.startswith("spd"):
        return 2 * _excess(-0.375, dist)  # sqrt(2 (m - 1)), curvature -m/(4 (m - 1)) at m = 3
    return mp.sqrt(max(space.dim - 1, 2)) * _excess(lower if lower < 0 else upper, dist)


def test_sensitivities_are_right_to_2_to_the_minus_42() -> None:
    draw = random.Random(10)
    with mp.workdps(60):
        for ball in _balls(11, 1500):
            n, k = draw.choice([1, 7, 1000, 10**9]), draw.choice([1, 3, 50])
            lower, upper = _curvatures(ball.manifold)
            r, root = _widened(ball.radius), mp.sqrt(max(upper, 0))
            share = min(mp.mpf(1), mp.mpf(k) / n)
            widest = 2 * mp.tan(r * root) / root if upper > 0 else 2 * r
            tau, v_max = ball.radius * draw.uniform(0.01, 2), 10 ** draw.uniform(-3, 2.3)
            x = mp.sqrt(max(-lower, 0)) * _widened(v_max) / 2
            cosh = mp.cosh(x)
            t = _widened(tau)
            computed = {
                "mean": (
                    sensitivity.frechet_mean(ball, n, records_per_unit=k),
                    min(k * widest / n, 2 * r),
                ),
                "K-norm": (
                    sensitivity.kng_mean(ball, n, tau=tau, records_per_unit=k),
                    share * min(widest, 2 * t),
                ),
                "variance": (
                    sensitivity.frechet_variance(ball, n, records_per_unit=k),
                    share * (r + mp.mpf(ball.radius)) ** 2,
                ),
                "fourth": (
                    sensitivity.fourth_moment(ball, n, records_per_unit=k),
                    share * (2 * r) ** 4,
                ),
                "covariance": (
                    sensitivity.log_covariance(ball, n, records_per_unit=k),
                    share * mp.sqrt(2) * (2 * r) ** 2,
                ),
                "Hessian": (
                    sensitivity.mean_hessian(ball, n, records_per_unit=k),
                    share * 2 * _hessian(ball.manifold, 2 * r),
                ),
                "footpoint": (
                    sensitivity.regression_footpoint(
                        ball, n, tau=tau, v_max=v_max, records_per_unit=k
                    ),
                    2 * share * t * cosh,
                ),
            }
            for name, (found, exact) in computed.items():
                assert found >= exact * LEAST, (name, ball, n, k, tau, v_max)


def _replaced_row(w: Any, v: Any, alpha: Any, form: str) -> Any:
    row = (1 - w) / (1 + w)
    if form == "normalised":
        return row + alpha * (1 - v) / (1 + v)
    if alpha >= w:
        return alpha * (1 / w - v)
    root = mp.sqrt(w * (1 - alpha * v) / (w - alpha))
    pi = min(mp.mpf(1), (root - w) / ((1 - w) * (1 + root)))
    return pi * (1 - alpha * v) / (w + pi * (1 - w)) - pi * (w - alpha) / (1 - pi * (1 - w))


@pytest.mark.parametrize("form", laplacian_bounds.FORMS)
def test_bounds_of_a_replaced_row_do_not_cancel_where_weights_are_near_1(form: str) -> None:
    """With wide kernels 1/w - v is a small difference of numbers near 1."""
    draw = random.Random(12)
    with mp.workdps(60):
        for _ in range(PAIRS):
            sigma, label = 10 ** draw.uniform(-0.8, 8), 10 ** draw.uniform(-0.8, 8)
            w = laplacian_bounds.weight_floor(4.0, sigma)
            v = laplacian_bounds.weight_floor(2.0, label)
            alpha = draw.choice([0.0, 0.5, 1.0, w * draw.random(), w * (1 - 1e-12)])
            exact = _replaced_row(*map(mp.mpf, (w, v, alpha)), form)
            found = laplacian_bounds.replaced_row(w, v, alpha, form)
            assert exact * LEAST <= found <= exact * (2 - LEAST), (w, v, alpha)


def test_rates_of_counts_are_rounded_down() -> None:
    mesh = fibonacci_mesh(30)
    draw = random.Random(13)
    for _ in range(100):
        epsilon, k = 10 ** draw.uniform(-2, 1), draw.randint(1, 9)
        found = cdp.conformal.density(
            *(_points(40), SPHERE, cdp.PureDP(epsilon)),
            mesh=mesh,
            heat_time=0.0,
            records_per_unit=k,
            coverage=False,
        )
        assert covers(found.scale, epsilon, 2 * k)
        assert found.scale <= math.nextafter(2 * k / epsilon, math.inf) * (1 + 1e-15)
