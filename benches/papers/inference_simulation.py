"""The simulations of Jiang et al., section 5: populations, printed tables, one replication."""

from __future__ import annotations

import functools
import multiprocessing
from dataclasses import dataclass

import numpy as np
from scipy import integrate

import curvedp as cdp

N = 600
BUDGETS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5)
CAP_RADIUS, TANGENT_RADIUS = np.pi / 8, 1.5

#: As printed, the last column without privacy: mean error in 10^-unit, then coverage.
PRINTED = {
    1: (4, (183, 126, 116, 106, 106, 107, 105, 105, 103, 103),
        (0.941, 0.953, 0.945, 0.96, 0.954, 0.939, 0.941, 0.954, 0.96, 0.954)),
    2: (5, (137, 73.9, 51.1, 31.8, 25.6, 21.5, 17.6, 16.2, 16.4, 14.6),
        (0.957, 0.944, 0.928, 0.941, 0.931, 0.924, 0.938, 0.942, 0.931, 0.947)),
    3: (3, (144, 78.1, 59.9, 46.6, 42.1, 40.1, 39.4, 38.2, 38, 37.7),
        (0.945, 0.943, 0.942, 0.95, 0.96, 0.966, 0.966, 0.962, 0.964, 0.971)),
    4: (4, (207, 105, 71.6, 46.4, 34.9, 29.2, 22.9, 21.4, 20.8, 19.7),
        (0.95, 0.964, 0.939, 0.948, 0.937, 0.937, 0.946, 0.947, 0.95, 0.954)),
}  # fmt: skip

#: mu* of Table 1, as printed.
PRINTED_MU = (0.099, 0.199, 0.300, 0.500, 0.700, 0.999, 1.500, 2.000, 2.500)

#: Results of one replication at one budget; per calibration a mean released alone, as part of a
#: region, and an interval.
METRICS = (
    *("mean error", "region error", "region covers", "region volume"),
    *("variance error", "interval covers", "interval width"),
)


@dataclass(frozen=True)
class Population:
    """Records around the centre of a ball, which is their mean by symmetry; E rho^2 = variance."""

    name: str
    ball: cdp.Ball
    variance: float

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n records, uniform on the cap or in the tangent ball."""
        r = self.ball.radius
        if self.name == "sphere":
            z = 1 - (1 - np.cos(r)) * rng.random(n)
            angle = 2 * np.pi * rng.random(n)
            ring = np.sqrt(1 - z**2)
            return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
        coords = rng.standard_normal((n, 3))
        coords *= r * rng.random((n, 1)) ** (1 / 3) / np.linalg.norm(coords, axis=1, keepdims=True)
        space = self.ball.manifold
        return space.exp(space.coords_to_tangent(coords, self.ball.center), self.ball.center)


@functools.cache
def population(name: str) -> Population:
    """Uniform on B(c, pi/8) in S^2, or exp_I of uniform on the tangent ball of radius 1.5."""
    if name == "sphere":
        r = CAP_RADIUS
        variance = integrate.quad(lambda t: t**2 * np.sin(t), 0, r)[0] / (1 - np.cos(r))
        return Population(name, cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], r), variance)
    ball = cdp.Ball(cdp.SPD(2), "identity", TANGENT_RADIUS)
    return Population(name, ball, 0.6 * TANGENT_RADIUS**2)


def exact_mus() -> list[float]:
    """mu* of the noise that equation 1 gives the mean on the sphere at each budget."""
    ball = population("sphere").ball
    delta = cdp.published.sensitivity.frechet_mean(ball, N)
    return [cdp.published.exact_mu(ball.manifold, delta / mu, delta) for mu in BUDGETS]


def replication(name: str, index: int) -> np.ndarray:
    """Metrics of one data set, shape (3 calibrations, budgets + 1, metrics).

    Calibrations: proved, and published with R = 2 r and R = r. The last budget is none: there all
    hold the figures without privacy.
    """
    target = population(name)
    ball, eta = target.ball, target.ball.center
    rng = np.random.default_rng([5, index])
    records = target.sample(N, rng)
    shortened = {"max_dist": ball.radius}
    calibrations = ((cdp, {}), (cdp.published, {}), (cdp.published, shortened))
    result = np.empty((len(calibrations), len(BUDGETS) + 1, len(METRICS)))

    def figures(mean, region, interval) -> list[float]:
        return [
            float(ball.manifold.dist(mean, eta)),
            float(ball.manifold.dist(region.estimate, eta)),
            bool(region.contains(eta)),
            region.volume(),
            abs(interval.estimate - target.variance),
            interval.lower <= target.variance <= interval.upper,
            interval.upper - interval.lower,
        ]

    for c, (module, options) in enumerate(calibrations):
        for k, mu in enumerate(BUDGETS):
            mean, region, interval = (
                statistic(records, ball, cdp.GDP(mu), seed=int(rng.integers(2**62)))
                for statistic in (
                    module.frechet_mean,
                    functools.partial(module.confidence_region, **options),
                    functools.partial(module.variance_interval, **options),
                )
            )
            result[c, k] = figures(mean.value, region, interval)
    region = cdp.nonprivate.confidence_region(records, ball.manifold)
    interval = cdp.nonprivate.variance_interval(records, ball.manifold)
    result[:, -1] = figures(region.estimate, region, interval)
    return result


def _start() -> None:
    cdp.set_num_threads(1)


def simulate(name: str, replications: int, processes: int) -> np.ndarray:
    """Mean metrics over replications, shape (3, budgets + 1, metrics)."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_start) as pool:
        rows = pool.map(functools.partial(replication, name), range(replications), chunksize=10)
    return np.mean(rows, axis=0)
