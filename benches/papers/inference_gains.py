"""Gain of each correction of the inference framework: errors measured with and without it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from inference_simulation import N, population
from scipy import stats

import curvedp as cdp

Line = tuple[str, str, str, str]


def rms(errors: list[float]) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def mean_noise(replications: int) -> Line:
    """Distance of the private mean from the exact one at mu = 0.1: S^2, r = pi/8, n = 600."""
    target = population("sphere")
    ball, records = target.ball, target.sample(N, np.random.default_rng(1))
    exact = cdp.nonprivate.frechet_mean(records, ball.manifold).value

    def error(mean: Callable[..., cdp.Release]) -> float:
        values = [mean(records, ball, cdp.GDP(0.1), seed=i).value for i in range(replications)]
        return rms([float(ball.manifold.dist(value, exact)) for value in values])

    proved, published = error(cdp.frechet_mean), error(cdp.published.frechet_mean)
    theory = np.sqrt(2) * cdp.sensitivity.frechet_mean(ball, N) / 0.1
    return (
        f"sharp sensitivity of the mean: RMS error at mu = 0.1 (theory {theory:.3g})",
        f"{proved:.3g}",
        f"{published:.3g}",
        f"{published / proved:.2f}",
    )


def _error(call: Callable[..., cdp.Release], exact: np.ndarray, count: int) -> float:
    """RMS distance of a moment on SPD(2) from the exact one, mu = 0.5."""
    target = population("spd")
    records = target.sample(N, np.random.default_rng(1))
    values = [call(records, target.ball, cdp.GDP(0.5), seed=i).value for i in range(count)]
    return rms([float(np.linalg.norm(value - exact)) for value in values])


def moments(replications: int) -> list[Line]:
    """Covariance, Hessian and variance: SPD(2), r = 1.5, mu = 0.5, the first two at the centre."""
    target = population("spd")
    records = target.sample(N, np.random.default_rng(1))
    space, at_center = target.ball.manifold, {"mean": target.ball.center}
    exact = {
        name: np.array(getattr(cdp.nonprivate, name)(records, space, **at_center))
        for name in ("log_covariance", "mean_hessian")
    }
    names = {
        "log_covariance": "second moment (√2 r²/n) against centred covariance (6 R²/n)",
        "mean_hessian": "deviation of the Hessian from 2 I against the full Hessian",
    }
    lines = []

    def compare(name: str, proved: float, published: float) -> None:
        lines.append((name, f"{proved:.3g}", f"{published:.3g}", f"{published / proved:.2f}"))

    for statistic, name in names.items():
        ours, theirs = (
            functools.partial(getattr(module, statistic), **at_center)
            for module in (cdp, cdp.published)
        )
        proved = _error(ours, exact[statistic], replications)
        for reach, max_dist in (("2r", None), ("r", target.ball.radius)):
            other = functools.partial(theirs, max_dist=max_dist)
            published = _error(other, exact[statistic], replications)
            compare(f"{name}, R = {reach}: error", proved, published)
    variance = np.array(cdp.nonprivate.frechet_variance(records, space))
    at_mean = functools.partial(cdp.published.frechet_variance, **at_center)
    compare(
        "least variance over the ball against that about a given mean (4 r²/n): error",
        _error(cdp.frechet_variance, variance, replications),
        _error(at_mean, variance, replications),
    )
    return lines


def joint_moments(replications: int) -> list[Line]:
    """Both moments of the distance in one release against two of half of mu^2 each."""
    target = population("sphere")
    ball, records = target.ball, target.sample(N, np.random.default_rng(1))
    space, total = ball.manifold, cdp.GDP(1.0)
    errors: dict[str, list[list[float]]] = {"joint": [], "separate": []}
    for i in range(replications):
        interval = cdp.variance_interval(records, ball, total, seed=2 * i)
        joint = interval.parts[1]
        p = joint.base_point
        exact = (
            cdp.nonprivate.frechet_variance(records, space, mean=p),
            cdp.nonprivate.fourth_moment(records, space, mean=p),
        )
        half = cdp.GDP(joint.guarantee.claimed.mu / np.sqrt(2))
        reach = ball.radius + float(space.dist(p, ball.center))
        alone = functools.partial(cdp.published.frechet_variance, max_dist=reach)
        separate = [
            statistic(records, ball, half, mean=p, seed=2 * i + k).value
            for k, statistic in enumerate((alone, cdp.fourth_moment))
        ]
        for name, (v, m) in (("joint", joint.value), ("separate", separate)):
            squares = (m - v**2) - (exact[1] - exact[0] ** 2)
            errors[name].append([float(v - exact[0]), float(squares)])
    joint, separate = (np.sqrt(np.mean(np.square(errors[k]), axis=0)) for k in errors)
    return [
        (
            f"both moments of the distance in one release against two: RMS error of {what}",
            f"{joint[k]:.3g}",
            f"{separate[k]:.3g}",
            f"{separate[k] / joint[k]:.2f}",
        )
        for k, what in enumerate(("V", "sigma_F²"))
    ]


def corrections(replications: int) -> list[Line]:
    """Bias of V from the mean's noise, and coverage without Hotelling's quantile."""
    sphere, spd = population("sphere"), population("spd")
    shifts, hits = [], []
    for i in range(replications):
        records = sphere.sample(N, np.random.default_rng([3, i]))
        interval = cdp.variance_interval(records, sphere.ball, cdp.GDP(0.05), seed=i)
        plain = float(interval.parts[1].value[0])
        shifts.append([interval.estimate - sphere.variance, plain - sphere.variance])
        records = spd.sample(60, np.random.default_rng([4, i]))
        region = cdp.confidence_region(records, spd.ball, cdp.GDP(1.0), seed=i)
        chi2 = replace(region, quantile=float(stats.chi2.ppf(0.95, 3)))
        center = spd.ball.center
        hits.append([bool(region.contains(center)), bool(chi2.contains(center))])
    bias, error = np.mean(shifts, axis=0), np.std(shifts, axis=0)[0] / np.sqrt(replications)
    cover = np.mean(hits, axis=0)
    return [
        (
            f"V less what the mean's noise adds: bias at mu = 0.05 (standard error {error:.1g})",
            f"{bias[0]:.2g}",
            f"{bias[1]:.2g}",
            "",
        ),
        (
            "Hotelling's quantile against chi²: coverage on SPD(2), n = 60, mu = 1",
            f"{cover[0]:.3f}",
            f"{cover[1]:.3f}",
            "",
        ),
    ]


def all_lines(quick: bool) -> list[Line]:
    """Every comparison: what, with it, without it, ratio."""
    share = 10 if quick else 1
    return [
        mean_noise(10_000 // share),
        *moments(1000 // share),
        *joint_moments(1000 // share),
        *corrections(4000 // share),
    ]
