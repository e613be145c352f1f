"""Statistics that are released where the number of records is protected: cases of several tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
from curvedp import conformal
from curvedp.statistics.count_plan import CountPlan

ADD = "add-remove"
BALL = cdp.Ball("sphere:2", [0.0, 0.0, 1.0], 0.7)
MESH = conformal.ball_mesh(BALL, 40)
GDP = cdp.GDP(3.0, neighbours=ADD)
BUDGETS = [
    GDP,
    cdp.PureDP(6.0, neighbours=ADD),
    cdp.ZCDP(4.0, neighbours=ADD),
    cdp.ApproxDP(6.0, 1e-6, neighbours=ADD),
]
SERVED: dict[str, Callable[..., Any]] = {
    "mean": cdp.frechet_mean,
    "tangent Gaussian": lambda *given, **how: cdp.frechet_mean(
        *given, mechanism="tangent-gaussian", **how
    ),
    "adaptive": cdp.adaptive_mean,
    "median": cdp.geometric_median,
    "kng": lambda *given, **how: cdp.kng_mean(*given, tau=0.3, **how),
    "variance": cdp.frechet_variance,
    "fourth moment": cdp.fourth_moment,
    "covariance": cdp.log_covariance,
    "hessian": cdp.mean_hessian,
    "k-means": lambda x, ball, own, **how: cdp.k_means(
        x, n_clusters=3, ball=ball, guarantee=own, **how
    ),
    "components": lambda x, ball, own, **how: cdp.principal_components(
        x, n_components=1, ball=ball, guarantee=own, **how
    ),
    "conformal": cdp.conformal_mean,
    "density": lambda *given, **how: conformal.density(*given, mesh=MESH, **how),
}


def _beside(call: Callable[..., Any], of_place: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """A call with what follows from the places of records: the same for the first ones of more."""

    def called(records: np.ndarray, ball: cdp.Ball, own: Any, **how: Any) -> Any:
        return call(records, of_place(np.arange(len(records))), ball, own, **how)

    return called


def _ages(place: np.ndarray) -> np.ndarray:
    return (place % 40) / 40.0


def _arms(place: np.ndarray) -> list[str]:
    return ["drug" if k % 2 else "placebo" for k in place.tolist()]


ARMS = ("drug", "placebo")
#: Those that take something beside the points, or say something of the population.
SERVED_BESIDE: dict[str, Callable[..., Any]] = {
    "region": cdp.confidence_region,
    "interval": cdp.variance_interval,
    "quantile": lambda x, ball, own, **how: cdp.quantile(
        x[:, 0], 0.5, low=-1.0, high=1.0, guarantee=own, **how
    ),
    "two samples": lambda x, ball, own, **how: cdp.release(
        cdp.TwoSampleTest(samples=ARMS), x, ball, own, labels=_arms(np.arange(len(x))), **how
    ),
    "k samples": _beside(
        lambda x, arms, ball, own, **how: cdp.k_sample_test(
            x, arms, ball, own, samples=ARMS, **how
        ),
        _arms,
    ),
    "regression": _beside(
        lambda x, t, ball, own, **how: cdp.geodesic_regression(
            t, x, ball, own, x_range=(0.0, 1.0), **how
        ),
        _ages,
    ),
    "clipped regression": _beside(
        lambda x, t, ball, own, **how: cdp.geodesic_regression(
            t, x, ball, own, x_range=(0.0, 1.0), tau=0.3, v_max=0.5, sampler="whitened", **how
        ),
        _ages,
    ),
    "trend": _beside(
        lambda x, t, ball, own, **how: cdp.trend_test(t, x, ball, own, x_range=(0.0, 1.0), **how),
        _ages,
    ),
    "logistic": _beside(
        lambda x, arms, ball, own, **how: cdp.tangent_logistic(
            x, arms, ball, own, classes=ARMS, n_steps=8, **how
        ),
        _arms,
    ),
}
SERVED |= SERVED_BESIDE
#: Those whose report has whole sentences that follow from noisy numbers.
DOUBTING = ("interval", "regression", "clipped regression", "logistic")
#: Words that follow from noisy numbers.
FROM_NOISE = (
    r"noisy sizes: [-\d, ]+|<p>CUT: .*?</p>|CUT: .*?(?=(?:further )?assumptions)"
    r"|assumed within.*?of"
)
served = pytest.mark.parametrize("name", SERVED)


def rows(n: int, ball: cdp.Ball = BALL) -> np.ndarray:
    space, rng = ball.manifold, np.random.default_rng(3)
    coords = 0.2 * ball.radius * rng.standard_normal((400, space.dim))[:n]
    return np.asarray(space.exp(space.coords_to_tangent(coords, ball.center), ball.center))


#: Those that say something of the population, and their numbers of samples.
INFERS = {
    **dict.fromkeys(("region", "interval", "regression", "clipped regression", "trend"), 1),
    **dict.fromkeys(("two samples", "k samples"), 2),
}


def plan_for(name: str, guarantee: cdp.privacy.Guarantee, guess: int) -> CountPlan:
    """The plan of the count of a served statistic."""
    parts = INFERS.get(name, 1)
    padding = 1e-3 / parts if name in INFERS else None
    dim = 1 if name == "quantile" else 2
    return CountPlan.of(guarantee, guess // parts, 1, dim, padding=padding)


def counts_of(found: Any) -> list[int]:
    """Released numbers of records: of all, or of each sample."""
    value = found.count.value
    return list(value) if isinstance(value, tuple) else [value]


def serves(name: str, guarantee: cdp.privacy.Guarantee) -> bool:
    """Those with Gaussian noise alone do not serve pure privacy."""
    gaussian = ("tangent Gaussian", "region", "interval", "k samples")
    return name not in gaussian or not isinstance(guarantee, cdp.PureDP)
