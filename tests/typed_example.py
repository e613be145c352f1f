"""A small program as a user with strict types would write it; .ci/run checks it with mypy.

Every public kind of result is used with the type that it is documented to have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import curvedp as cdp
from curvedp.audit import AuditResult, likelihood_ratio_audit

FloatArray = NDArray[np.float64]


def released_mean(records: FloatArray, ball: cdp.Ball, ledger: cdp.Ledger) -> cdp.Release:
    guarantee: cdp.PureDP = cdp.PureDP(epsilon=0.5)
    release = cdp.frechet_mean(records, ball, guarantee, ledger=ledger)
    value: FloatArray = release.value
    scale: float = release.scale
    assert value.shape == ball.manifold.point_shape
    assert scale > 0
    return release


def mean_of_each(
    records: FloatArray, ball: cdp.Ball, site: NDArray[np.str_]
) -> cdp.Releases[cdp.MeanRelease]:
    releases = cdp.frechet_mean(records, ball, cdp.GDP(mu=1.0), groups=site)
    south: cdp.Release = releases["south"]
    assert south.n == releases.n[1]
    return releases


def total(first: cdp.GDP, second: cdp.GDP) -> float:
    composed: cdp.GDP = cdp.compose(first, second)
    return composed.mu


def spread(region: cdp.ConfidenceRegion, interval: cdp.VarianceInterval) -> tuple[float, float]:
    return region.volume(), interval.upper - interval.lower


def audited(ball: cdp.Ball) -> AuditResult:
    noise = cdp.RiemannianLaplace(ball, 0.1, cdp.PureDP(epsilon=1.0))
    return likelihood_ratio_audit(noise, ball.center, ball.center, n_samples=100)


def main() -> dict[str, object]:
    """Runs it all; the test looks at what comes out."""
    sphere: cdp.Manifold = cdp.Sphere(2)
    ball = cdp.Ball(sphere, center=[0.0, 0.0, 1.0], radius=0.5)
    rng = np.random.default_rng(0)
    records: FloatArray = sphere.project(ball.center + 0.1 * rng.standard_normal((200, 3)))
    budget: cdp.Ledger
    with cdp.Ledger(cdp.PureDP(epsilon=1.0)) as budget:
        release = released_mean(records, ball, budget)
        rest = budget.remaining
    estimators: list[Callable[[FloatArray], object]] = [
        cdp.FrechetMean(ball, cdp.GDP(mu=1.0)).fit,
        cdp.FrechetMean(ball, cdp.GDP(mu=1.0), adaptive=True).fit_transform,
    ]
    fitted = [fit(records) for fit in estimators]
    site = np.repeat(["north", "south"], 100)
    regions: cdp.Releases[cdp.ConfidenceRegion] = cdp.confidence_region(
        records, ball, cdp.GDP(mu=1.0), groups=site
    )
    volumes: dict[str, float] = {str(name): own.volume() for name, own in regions.items()}
    region = cdp.confidence_region(records, ball, cdp.GDP(mu=1.0))
    interval = cdp.variance_interval(records, ball, cdp.GDP(mu=1.0))
    comparison: cdp.MeanComparison = cdp.compare_means(region, region)
    x = np.linspace(0.0, 1.0, 200)
    line = cdp.geodesic_regression(
        x, records, ball, cdp.GDP(mu=1.0), x_range=(0.0, 1.0), tau=0.2, v_max=0.5
    )
    predicted: FloatArray = line.predict(x)
    middle: cdp.Release = cdp.quantile(
        x, 0.5, low=0.0, high=1.0, guarantee=cdp.ApproxDP(epsilon=1.0, delta=1e-6)
    )
    exact = cdp.nonprivate.frechet_mean(records, sphere)
    return {
        "release": release,
        "values": mean_of_each(records, ball, site).value,
        "volumes": volumes,
        "rest": rest,
        "fitted": fitted,
        "spread": spread(region, interval),
        "p": comparison.p_value,
        "predicted": predicted,
        "middle": float(middle.value),
        "exact": exact.value,
        "mu": total(cdp.GDP(mu=0.6), cdp.GDP(mu=0.8)),
        "audit": audited(ball).passed,
        "expected": cdp.expected_error(ball, n=200, guarantee=cdp.ZCDP(rho=0.5)),
    }
