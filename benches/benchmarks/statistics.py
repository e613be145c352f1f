"""Private statistics, from records to release: project, solve, draw, round."""

from __future__ import annotations

import numpy as np

import curvedp as cdp
from curvedp import _core

from . import workloads

_RADIUS = {"sphere:2": 0.7, "spd:3": 1.5}


class Releases:
    """One release of each statistic."""

    params = (
        [
            "frechet_mean",
            "adaptive_mean",
            "frechet_variance",
            "fourth_moment",
            "log_covariance",
            "mean_hessian",
            "confidence_region",
            "variance_interval",
        ],
        list(_RADIUS),
        [100, 10_000],
    )
    param_names = ("statistic", "manifold", "n")

    def setup(self, statistic: str, spec: str, n: int) -> None:
        """Records in a public ball."""
        self.ball = workloads.ball(spec, _RADIUS[spec])
        self.records = workloads.in_ball(self.ball, workloads.size(n))
        self.statistic = getattr(cdp, statistic)

    def time_release(self, statistic: str, spec: str, n: int) -> None:
        """Seconds for one release."""
        self.statistic(self.records, self.ball, cdp.GDP(1.0))

    def peakmem_release(self, statistic: str, spec: str, n: int) -> None:
        """Resident memory, records and interpreter included."""
        self.statistic(self.records, self.ball, cdp.GDP(1.0))


class WithoutBall:
    """Means that find their ball, beside which `Releases` has those on a public one."""

    params = (list(_RADIUS), [1_000, 100_000, 1_000_000])
    param_names = ("manifold", "n")

    def setup(self, spec: str, n: int) -> None:
        """The records of `Releases`."""
        ball = workloads.ball(spec, _RADIUS[spec])
        self.space = ball.manifold
        self.records = workloads.in_ball(ball, workloads.size(n))

    def time_release(self, spec: str, n: int) -> None:
        """Seconds for one release."""
        cdp.frechet_mean(self.records, self.space, cdp.GDP(20.0, neighbours="add-remove"))

    def peakmem_release(self, spec: str, n: int) -> None:
        """Resident memory, records and interpreter included."""
        cdp.frechet_mean(self.records, self.space, cdp.GDP(20.0, neighbours="add-remove"))


class WideBalls:
    """Private means in balls whose logarithms are certified one by one."""

    params = ([("spd:3", 6.0), ("spd:8", 9.0), ("spd:28", 12.0), ("hyperboloid:5", 12.0)],)
    param_names = ("ball",)

    def setup(self, ball: tuple[str, float]) -> None:
        """100 records in the ball."""
        self.ball = workloads.ball(*ball)
        self.records = workloads.in_ball(self.ball, 100)

    def time_release(self, ball: tuple[str, float]) -> None:
        """Seconds for one release."""
        cdp.frechet_mean(self.records, self.ball, cdp.GDP(1.0))

    def track_tolerance(self, ball: tuple[str, float]) -> float:
        """Smallest tolerance of the solver over the sensitivity of 1000 records."""
        tolerance = self.ball.frame.plan(1000, 0.0).tolerance
        return tolerance / cdp.sensitivity.frechet_mean(self.ball, 1000)


class ExpectedError:
    """Expected distance of the private mean from the exact one, in radii of the ball."""

    params = (["laplace", "gaussian"], ["sphere:2", "sphere:9", "hyperboloid:3", "kendall:10"])
    param_names = ("noise", "manifold")
    unit = "radii"

    def track_expected_error(self, noise: str, spec: str) -> float:
        """At n = 1000, with epsilon = 1 or mu = 1 and r = 0.5."""
        guarantee = cdp.PureDP(1.0) if noise == "laplace" else cdp.GDP(1.0)
        return cdp.expected_error(workloads.ball(spec, 0.5), 1000, guarantee) / 0.5


class PrincipalComponents:
    """Directions by the exponential mechanism."""

    params = ([3, 36, 100], [1, 3])
    param_names = ("dim", "components")

    def setup(self, dim: int, components: int) -> None:
        """Records in the unit ball."""
        self.ball = workloads.ball(f"euclidean:{dim}", 1.0)
        self.records = workloads.in_ball(self.ball, workloads.size(3000))

    def time_release(self, dim: int, components: int) -> None:
        """Seconds for one release."""
        cdp.principal_components(self.records, components, self.ball, cdp.PureDP(1.0))


class KNormGradient:
    """The mean by its K-norm gradient: exact draws, and chains of 10,000 steps."""

    params = (["exact", "metropolis"], ["sphere:2", "spd:2"], [100, 1000])
    param_names = ("sampler", "manifold", "n")

    def setup(self, sampler: str, spec: str, n: int) -> None:
        """Records in a public ball."""
        self.ball = workloads.ball(spec, 0.7)
        self.records = workloads.in_ball(self.ball, workloads.size(n))

    def time_draw(self, sampler: str, spec: str, n: int) -> None:
        """Seconds for one release."""
        cdp.kng_mean(
            self.records,
            self.ball,
            cdp.PureDP(1.0),
            sampler=sampler,
            chain_length=workloads.size(10_000),
        )


class RiemannianLaplaceChains:
    """Metropolis steps for the Riemannian Laplace, shared by sixteen chains."""

    params = ("sphere:2", "spd:2", "spd:11")
    param_names = ("manifold",)

    def setup(self, spec: str) -> None:
        """The law about the centre of a ball."""
        scale, step = {"sphere:2": (0.1, 0.15), "spd:2": (0.3, 0.36), "spd:11": (0.02, 0.024)}[spec]
        self.chains = workloads.laplace_chains(spec, scale, step, 16)
        self.steps = workloads.size(10_000)

    def time_steps(self, spec: str) -> None:
        """Seconds for 10,000 steps."""
        self.chains(self.steps)

    def track_acceptance(self, spec: str) -> float:
        """Share of the proposals accepted."""
        return float(self.chains(self.steps).acceptance.mean())

    def track_effective_sample_size(self, spec: str) -> float:
        """Effective sample size of 10,000 steps for the distance."""
        return float(self.chains(self.steps).effective_sample_size[-1])


class Quantile:
    """Private median of numbers."""

    params = (1000, 100_000)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        """Uniform numbers."""
        self.values = np.random.default_rng(7).random(workloads.size(n))

    def time_quantile(self, n: int) -> None:
        """Seconds for one release."""
        cdp.quantile(self.values, 0.5, low=0.0, high=1.0, guarantee=cdp.PureDP(1.0))

    def time_nine_quantiles(self, n: int) -> None:
        """Seconds for one release of nine levels, by recursion."""
        levels = np.linspace(0.1, 0.9, 9)
        cdp.quantile(self.values, levels, low=0.0, high=1.0, guarantee=cdp.PureDP(1.0))


class Streams:
    """The source of all randomness."""

    def time_uniform(self) -> None:
        """Seconds for a million uniform numbers."""
        _core.Stream.from_os().uniform(np.empty(workloads.size(1_000_000)))


class Tests:
    """Private tests of two samples of 1000 records each: of one mean, and of one law."""

    params = ("spd:3", "spd:28")
    param_names = ("manifold",)

    def setup(self, spec: str) -> None:
        """Two samples of one law."""
        self.ball = workloads.ball(spec, 2.0)
        self.records = workloads.in_ball(self.ball, workloads.size(2000))
        self.half = len(self.records) // 2

    def time_means(self, spec: str) -> None:
        """Seconds for one test of means and its p-value."""
        labels = np.arange(len(self.records)) // self.half
        _ = cdp.k_sample_test(self.records, labels, self.ball, cdp.GDP(10.0)).p_value

    def time_laws(self, spec: str) -> None:
        """Seconds for one test of laws with 199 relabellings."""
        samples = self.records[: self.half], self.records[self.half :]
        cdp.two_sample_test(*samples, self.ball, cdp.GDP(10.0))

    def peakmem_laws(self, spec: str) -> None:
        """Resident memory, records and interpreter included."""
        self.time_laws(spec)
