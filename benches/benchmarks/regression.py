"""Geodesic regression: the fit, private releases by each sampler, and Markov chains."""

from __future__ import annotations

import curvedp as cdp
from curvedp import _core
from curvedp.regression.k_norm import KNormGradient

from . import workloads

_RADIUS = {"sphere:2": 0.7, "spd:2": 1.0, "kendall:10": 0.3, "spd:3": 1.0}
_X_RANGE = (-0.5, 0.5)
_TAU, _V_MAX = 0.2, 1.5


class Fit:
    """Least squares without privacy, to gradient norm 1e-9."""

    params = (list(_RADIUS), [100, 10_000])
    param_names = ("manifold", "n")

    def setup(self, spec: str, n: int) -> None:
        """Records about a geodesic."""
        self.ball = workloads.ball(spec, _RADIUS[spec])
        self.x, self.y = workloads.along_geodesic(self.ball, workloads.size(n))

    def _fit(self) -> cdp.GeodesicFit:
        return cdp.nonprivate.geodesic_regression(
            self.x, self.y, self.ball.manifold, x_range=_X_RANGE
        )

    def time_fit(self, spec: str, n: int) -> None:
        """Seconds for one fit."""
        self._fit()

    def track_evaluations(self, spec: str, n: int) -> int:
        """Gradients until the fit."""
        return int(self._fit().n_iter)

    def track_gradient_norm(self, spec: str, n: int) -> float:
        """Length of the gradient at the result."""
        return float(self._fit().gradient_norm)


class Releases:
    """One private geodesic."""

    params = (
        [
            ("whitened", "sphere:2"),
            ("whitened", "spd:3"),
            ("whitened", "kendall:10"),
            ("exact", "sphere:2"),
            ("exact", "spd:2"),
            ("metropolis", "sphere:2"),
        ],
        [100, 1000],
    )
    param_names = ("sampler on manifold", "n")

    def setup(self, case: tuple[str, str], n: int) -> None:
        """Records about a geodesic."""
        self.ball = workloads.ball(case[1], _RADIUS[case[1]])
        count = workloads.size(n)
        self.x, self.y = workloads.along_geodesic(self.ball, count)
        # exact draws cost the more the sharper the law is, whatever n
        self.guarantee = cdp.PureDP(20 / count if case[0] == "exact" else 1.0)

    def time_release(self, case: tuple[str, str], n: int) -> None:
        """Seconds for one release."""
        cdp.geodesic_regression(
            self.x,
            self.y,
            self.ball,
            self.guarantee,
            x_range=_X_RANGE,
            tau=None if case[0] == "whitened" else _TAU,
            v_max=_V_MAX,
            sampler=case[0],
            chain_length=workloads.size(10_000),
        )


class KNormChain:
    """Chains of the K-norm gradient of footpoint and velocity, 10,000 steps."""

    params = (["sphere:2", "kendall:10"], [20, 100, 1000])
    param_names = ("manifold", "n")

    def setup(self, spec: str, n: int) -> None:
        """The law at epsilon = 1."""
        ball = workloads.ball(spec, _RADIUS[spec])
        count = workloads.size(n)
        times, y = workloads.along_geodesic(ball, count)
        law = KNormGradient.calibrate(ball, count, cdp.PureDP(1.0), tau=_TAU, v_max=_V_MAX)
        rows, steps = ball.enter(y), workloads.size(10_000)

        def run() -> _core.Chains:
            stream = _core.Stream.from_os()
            return law.chains(rows, times, stream, count=1, burn_in=steps // 2, draws=steps // 2)

        self.run = run

    def time_chain(self, spec: str, n: int) -> None:
        """Seconds for one chain."""
        self.run()

    def track_acceptance(self, spec: str, n: int) -> float:
        """Share of the proposals accepted after burning in."""
        return self.run().acceptance[0]
