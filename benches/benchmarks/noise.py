"""Exact noise of every mechanism."""

from __future__ import annotations

import curvedp as cdp

from . import workloads

_N = 20_000


class Draws:
    """Independent draws about one true value, noise scale 0.1."""

    params = (
        "RiemannianLaplace sphere:2",
        "RiemannianLaplace sphere:9",
        "RiemannianLaplace sphere:99",
        "RiemannianLaplace hyperboloid:2",
        "RiemannianLaplace kendall:10",
        "RiemannianLaplace spd:2",
        "RiemannianLaplace spd:3",
        "RiemannianGaussian sphere:2",
        "RiemannianGaussian sphere:9",
        "RiemannianGaussian kendall:10",
        "ExponentialWrappedGaussian spd:3",
        "TangentGaussian spd:3:log-euclidean",
    )
    param_names = ("mechanism on manifold",)

    def setup(self, case: str) -> None:
        """Calibrate outside the timing."""
        name, spec = case.split()
        self.draw = workloads.noise(getattr(cdp, name), spec, scale=0.1)

    def time_draws(self, case: str) -> None:
        """Seconds for 20,000 draws."""
        self.draw(_N)
