"""Every private statistic under audit as a whole: released again and again at two neighbours, as
groups of one call, each of which is a data set.

The mechanisms alone are audited in test_mechanism_audit.py; here nothing is left out: projection,
solver, sensitivities, shares of the budget, post-processing. The score is the log density ratio
that Gaussian noise of the printed scales on each part of a release would have.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import curvedp as cdp
import drawn_keys
from chance import CONFIDENCE
from curvedp.audit import AuditResult, audit_samples
from curvedp.conformal import ball_mesh, knn_graph, laplacian

N = 8
BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.6)
LINE = cdp.Ball("euclidean:1", center=[0.0], radius=1.0)
#: Nearly no noise: what the parts are without it.
EXACT = cdp.GDP(1e4)

#: Of records under a guarantee, with the option ``groups``: a release for each group.
Release = Callable[..., Any]


def edge(angle: float) -> np.ndarray:
    """The point at the ball's edge in a direction."""
    tangent = 0.6 * np.array([np.cos(angle), np.sin(angle), 0.0])
    return BALL.manifold.exp(tangent, BALL.center)


def crowd(*moved: np.ndarray) -> tuple[np.ndarray, ...]:
    """N records at the centre, with the first replaced by each of the points in turn."""
    sets = []
    for point in moved:
        records = np.tile(BALL.center, (N, 1))
        records[0] = point
        sets.append(records)
    return tuple(sets)


OUT_OR_IN = crowd(edge(0.0), BALL.center)
OPPOSITE = crowd(edge(0.0), edge(np.pi))


@dataclass(frozen=True)
class Kind:
    """A release function and two neighbouring data sets that it should not tell apart."""

    release: Release
    neighbours: tuple[np.ndarray, ...]
    #: Released under this mu, of which the short audit must see a twelfth at least.
    mu: float = 6.0
    #: Released under this guarantee, the parts are as if without noise.
    exact: Any = EXACT
    #: Releases of the long audit.
    n_releases: int = 3_000
    #: Records of further groups, after those of the group that is audited.
    others: int = 0

    def releases(self, data: np.ndarray, guarantee: Any, count: int) -> list[Any]:
        """Of so many copies of the records."""
        ends = [len(data) - self.others, len(data)] if self.others else [len(data)]
        offsets = np.concatenate([[0], np.ravel(len(data) * np.arange(count)[:, None] + ends)])
        found = self.release(np.tile(data, (count, 1)), guarantee, groups=offsets)
        return list(found)[:: len(ends)]

    def audit(self, guarantee: Any, n_releases: int) -> AuditResult:
        """Of releases under a guarantee."""
        exact = [_numbers(*self.releases(data, self.exact, 1)) for data in self.neighbours]
        [printed] = self.releases(self.neighbours[0], guarantee, 1)
        scales = [part.scale for part in _parts(printed)]
        scores = [
            [
                _ratio(_numbers(output), exact, scales)
                for output in self.releases(data, guarantee, n_releases)
            ]
            for data in self.neighbours
        ]
        return audit_samples(*scores, guarantee, n_thresholds=5, confidence=CONFIDENCE)


def _parts(output: Any) -> tuple[Any, ...]:
    return getattr(output, "parts", ()) or (output,)


def _numbers(output: Any) -> list[np.ndarray]:
    return [np.asarray(part.value) for part in _parts(output)]


def _ratio(values: list[np.ndarray], exact: list[list[np.ndarray]], scales: list[float]) -> float:
    """Sum over parts of <value, a - b> / scale^2: the log density ratio but for a constant."""
    total = 0.0
    for value, a, b, scale in zip(values, *exact, scales, strict=True):
        total += float(np.sum(value * (a - b))) / scale**2
    return total


def at_center(statistic: Any) -> Release:
    """A statistic at a public base point, so that the whole guarantee is spent on it."""
    return on_ball(statistic, mean=BALL.center)


def on_ball(statistic: Any, **public: Any) -> Release:
    return lambda data, guarantee, **groups: statistic(data, BALL, guarantee, **public, **groups)


@drawn_keys.cache
def others() -> cdp.ConfidenceRegion:
    """The region of another group."""
    return cdp.confidence_region(crowd(edge(1.0))[0], BALL, cdp.GDP(1.0))


@functools.cache
def public_nodes() -> Any:
    """A small mesh with its Laplacian."""
    return laplacian(knn_graph(ball_mesh(BALL, 100), 8))


def moved_by_density(data: np.ndarray, guarantee: Any, **groups: Any) -> Any:
    """The conformal mean alone: the nodes of its density depend on the budget."""
    releases = cdp.conformal_mean(data, BALL, guarantee, mesh=public_nodes(), **groups)
    return [dataclasses.replace(release, parts=()) for release in releases]


def against(data: np.ndarray, guarantee: Any, **groups: Any) -> Any:
    """A comparison with a group of others; what it holds of this one is the region's parts."""
    regions = cdp.confidence_region(data, BALL, guarantee, **groups)
    for region in regions:
        assert 0 <= cdp.compare_means(region, others()).p_value <= 1
    return regions


def slope(**public: Any) -> Release:
    return lambda data, guarantee, **groups: cdp.geodesic_regression(
        data[:, 0], data[:, 1:], LINE, guarantee, x_range=(0.0, 1.0), **public, **groups
    )


def slope_by(sampler: str) -> Release:
    return slope(tau=0.5, v_max=2.0, sampler=sampler)


def pairs(last: float) -> np.ndarray:
    """Covariates and records on a line but for the last record."""
    y = np.zeros(40)
    y[-1] = last
    return np.column_stack([np.linspace(0.0, 1.0, 40), y])


KINDS = {
    "frechet_mean": Kind(on_ball(cdp.frechet_mean), OPPOSITE),
    "frechet_variance": Kind(on_ball(cdp.frechet_variance, within=0.0), OUT_OR_IN),
    "fourth_moment": Kind(at_center(cdp.fourth_moment), OUT_OR_IN),
    "log_covariance": Kind(at_center(cdp.log_covariance), OUT_OR_IN),
    "mean_hessian": Kind(at_center(cdp.mean_hessian), OUT_OR_IN),
    "confidence_region": Kind(on_ball(cdp.confidence_region), OPPOSITE),
    "variance_interval": Kind(on_ball(cdp.variance_interval), OUT_OR_IN),
    "compare_means": Kind(against, OPPOSITE),
    "frechet_mean of groups": Kind(on_ball(cdp.frechet_mean), OPPOSITE, others=2),
    "frechet_variance of groups": Kind(
        on_ball(cdp.frechet_variance, within=0.0), OUT_OR_IN, n_releases=6_000, others=2
    ),
    "adaptive_mean of groups": Kind(
        on_ball(cdp.adaptive_mean, schedule=(0.3, 0.2, 0.5)), OPPOSITE, others=2
    ),
    "geometric_median": Kind(on_ball(cdp.geometric_median), OPPOSITE, mu=12.0),
    "kng_mean": Kind(on_ball(cdp.kng_mean), OPPOSITE, exact=cdp.GDP(1e3)),
    "conformal_mean": Kind(moved_by_density, OPPOSITE, mu=20.0, n_releases=12_000),
    "geodesic_regression": Kind(slope(), (pairs(1.0), pairs(-1.0))),
    "geodesic_regression with tau": Kind(slope_by("whitened"), (pairs(1.0), pairs(-1.0))),
    "geodesic_regression drawn exactly": Kind(
        slope_by("exact"), (pairs(1.0), pairs(-1.0)), exact=cdp.GDP(1e3)
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_statistic_keeps_its_guarantee_and_a_twelfth_of_its_noise_would_be_flagged(name):
    """Releases of 6-GDP pass as such, and what the audit sees of them refutes a claim of 1/2.

    Of 20-GDP for the conformal mean, half of whose budget goes to a density; of 12-GDP for the
    geometric median, of whose steps the last alone is seen whole.
    """
    heavy = name in ("confidence_region", "compare_means")
    result = KINDS[name].audit(cdp.GDP(KINDS[name].mu), 200 if heavy else 400)
    assert result.passed, result.report()
    assert result.lower_bound > KINDS[name].mu / 12, result.report()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_statistic_keeps_its_guarantee_in_many_releases(name):
    kind = KINDS[name]
    result = kind.audit(cdp.GDP(2.0), kind.n_releases)
    assert result.passed, result.report()
    assert result.lower_bound > 0.1, result.report()


@pytest.mark.parametrize(
    ("name", "power"),
    [
        ("frechet_variance", 0.2),
        ("fourth_moment", 0.2),
        ("geodesic_regression with tau", 0.0),
        ("geodesic_regression drawn exactly", 0.0),
    ],
)
def test_pure_guarantees_are_kept(name, power):
    result = KINDS[name].audit(cdp.PureDP(4.0), 400)
    assert result.passed, result.report()
    assert result.lower_bound >= power, result.report()
