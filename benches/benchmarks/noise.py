"""Exact noise of every mechanism."""

from __future__ import annotations

import curvedp as cdp
from curvedp import _core

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
        self.draw(workloads.size(_N))


_SPACES = {
    "flat": ("flat", 10, 0.0),
    "sphere": ("sphere", 9, 1.0),
    "hyperbolic": ("hyperbolic", 10, -1.0),
    "spd": ("spd", 3, 0.0),
}


class Acceptance:
    """Share of the proposals that the exact samplers accept."""

    params = (list(_SPACES), ["laplace", "gaussian"], [0.01, 0.1])
    param_names = ("space", "profile", "scale")
    unit = "share"

    def track_acceptance(self, space: str, profile: str, scale: float) -> float:
        """1 where a law is drawn without rejection."""
        return float(_core.Noise(*_SPACES[space], profile, scale).acceptance)
