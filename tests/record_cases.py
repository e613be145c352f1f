"""Every released statistic as a function of records, and balls in frames of every kind.

For tests of what holds for each of them: a statistic of the table of guarantees without a case here
fails `statistics/test_every_record_counts.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.conformal import ball_mesh, density, knn_graph, laplacian
from curvedp.learning import PrivateMDM, TangentPCA
from manifold_list import SMALL

Array = np.ndarray
#: Times of regressions and trends.
TIMES = (0.0, 1.0)
#: Records of a sample.
COUNT = 36


@dataclass(frozen=True)
class Sample:
    """Records with the time and the class of each.

    Attributes
    ----------
    records : ndarray, shape (n, *point_shape)
    times : ndarray, shape (n,)
    classes : ndarray of int, shape (n,)
    """

    records: Array
    times: Array
    classes: Array

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Any) -> Sample:
        """The sample with these rows."""
        return Sample(self.records[rows], self.times[rows], self.classes[rows])

    def with_record(self, at: int, record: Array) -> Sample:
        """Another record in place of one."""
        records = self.records.copy()
        records[at] = record
        return replace(self, records=records)


def places(n: int) -> tuple[int, ...]:
    """Positions of records, in all parts of a sample."""
    return 0, n // 2, 2 * n // 3 + 1, n - 1


def first_part(sample: Sample) -> Sample:
    """What a fault would see that reads the first two thirds of the records alone."""
    kept = 2 * len(sample) // 3
    return sample.take(np.concatenate((np.arange(kept), np.arange(len(sample) - kept))))


def sample_on(ball: cdp.Ball, n: int = COUNT, seed: int = 0) -> tuple[Sample, Array]:
    """A sample near the centre that is the same at all `places`, and a record far from it."""
    generator, space = np.random.default_rng(seed), ball.manifold
    spread = min(0.3, 0.25 * ball.radius) / np.sqrt(space.dim)
    coords = spread * generator.standard_normal((n + 1, space.dim)) + 0.4 * spread
    coords[n] = generator.standard_normal(space.dim)
    coords[n] *= 0.8 * ball.radius / np.linalg.norm(coords[n])
    points = space.exp(space.coords_to_tangent(coords, ball.center), ball.center)
    rows = np.arange(n)
    rows[list(places(n))] = 0
    times = generator.uniform(*TIMES, n)
    found = Sample(ball.project(points[:n]), times, np.arange(n) % 2).take(rows)
    return found, ball.project(points[n:])[0]


@dataclass(frozen=True)
class Place:
    """A ball: narrow or wide, in the manifold's own numbers or in more precise ones.

    Attributes
    ----------
    name : str
    ball : Ball
    kind : str
        "narrow", "wide" or "precise".
    """

    name: str
    ball: cdp.Ball
    kind: str

    def __repr__(self) -> str:
        return f"{self.name}-{self.kind}"


def _places_of(name: str, space: cdp.Manifold) -> Iterator[Place]:
    center = space.random_point(rng=2)
    longest = space.max_ball_radius
    hadamard = not np.isfinite(longest)
    radii = {"narrow": 0.8, "wide": 3.0} if hadamard else {"narrow": 0.25 * longest}
    if not hadamard:
        radii["wide"] = 0.95 * longest
    for kind, radius in radii.items():
        yield Place(name, cdp.Ball(space, center, radius), kind)
    precise = cdp.Ball(space, center, 6.0) if hadamard else None
    if precise is not None and precise.frame.is_precise:
        yield Place(name, precise, "precise")


@functools.cache
def places_of_all() -> tuple[Place, ...]:
    """Balls of every kind on one manifold of each kind."""
    return tuple(place for case in SMALL for place in _places_of(case.name, case.manifold))


#: Manifolds for statistics that take long.
FEW = ("sphere:2", "hyperboloid:2", "spd:2")
#: Kinds of balls for those that take longest.
ENDS = ("narrow", "precise")


@dataclass(frozen=True)
class Case:
    """A statistic with all that is public about its call.

    Attributes
    ----------
    name : str
    calls : tuple of str
        Its functions, as the table of guarantees names them.
    numbers : callable
        What is released of a sample on a ball, under a guarantee and with a seed.
    guarantee : Guarantee
        One with little noise.
    spaces : tuple of str
        Manifolds on which it is run; all if empty.
    kinds : tuple of str
        Balls on which it is run.
    count : int
        Records of a sample.
    tolerance : float
        How much it may move with the order of the records, over what one record moves it.
    """

    name: str
    calls: tuple[str, ...]
    numbers: Callable[..., Array]
    guarantee: Any = field(default_factory=lambda: cdp.GDP(1e4))
    spaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("narrow", "wide", "precise")
    count: int = COUNT
    tolerance: float = 1e-3

    def __repr__(self) -> str:
        return self.name

    def serves(self, place: Place) -> bool:
        """True if it is run there."""
        curved = "hessian" not in self.name or place.ball.manifold.curvature_bounds != (0.0, 0.0)
        return place.kind in self.kinds and place.name in (self.spaces or place.name) and curved

    def on(self, sample: Sample, ball: cdp.Ball, seed: int = 3) -> Array:
        """What is released, as numbers."""
        return self.numbers(sample, ball, self.guarantee, seed)


def released(result: Any) -> Array:
    """The numbers of a release."""
    if isinstance(result, cdp.VarianceInterval):
        return np.array([result.lower, result.upper])
    if isinstance(result, cdp.ConfidenceRegion):
        parts = (result.estimate, result.covariance, result.quantile)
        return np.concatenate([np.ravel(part) for part in parts])
    return np.ravel(np.asarray(result.value, dtype=np.float64))


def _plain(statistic: Callable[..., Any], **how: Any) -> Callable[..., Array]:
    def numbers(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
        return released(statistic(sample.records, ball, claim, seed=seed, **how))

    return numbers


def _regression(**how: Any) -> Callable[..., Array]:
    def numbers(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
        public = {"x_range": TIMES, "seed": seed} | how
        if public.get("tau") is not None:
            public |= {"tau": 0.5 * ball.radius, "v_max": 0.1 * ball.radius}
        return released(
            cdp.geodesic_regression(sample.times, sample.records, ball, claim, **public)
        )

    return numbers


@functools.cache
def _fit_on(spec: str, center: bytes, radius: float) -> Any:
    """A regression of other records, made once for each ball."""
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, np.frombuffer(center).reshape(space.point_shape), radius)
    other, _ = sample_on(ball, seed=9)
    return cdp.geodesic_regression(
        other.times, other.records, ball, cdp.GDP(1e3), x_range=TIMES, seed=1
    )


def _explained(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    fit = _fit_on(ball.manifold.spec, ball.center.tobytes(), ball.radius)
    found = cdp.r_squared(sample.times, sample.records, fit, claim, seed=seed)
    return np.array([found.r_squared])


def _two_samples(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    other, _ = sample_on(ball, seed=9)
    how = {"relabellings": 19_999, "seed": seed}
    return released(cdp.two_sample_test(sample.records, other.records, ball, claim, **how))


def _k_samples(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    return released(cdp.k_sample_test(sample.records, sample.classes, ball, claim, seed=seed))


def _trend(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    # the linear kernel cuts records, so that one far away moves less than another order of all: see
    # tests/regression/test_trend.py
    how = {"x_range": TIMES, "relabellings": 19_999, "seed": seed, "kernel": "gaussian"}
    return released(cdp.trend_test(sample.times, sample.records, ball, claim, **how))


@functools.cache
def _nodes(spec: str, center: bytes, radius: float) -> Any:
    space = cdp.as_manifold(spec)
    ball = cdp.Ball(space, np.frombuffer(center).reshape(space.point_shape), radius)
    return laplacian(knn_graph(ball_mesh(ball, 300), 8))


def _density(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    nodes = _nodes(ball.manifold.spec, ball.center.tobytes(), ball.radius)
    return released(density(sample.records, ball, claim, mesh=nodes, seed=seed))


def _conformal(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    nodes = _nodes(ball.manifold.spec, ball.center.tobytes(), ball.radius)
    return released(cdp.conformal_mean(sample.records, ball, claim, mesh=nodes, seed=seed))


def _quantile(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    """Of the distances from the centre, at a level that a single record moves."""
    dist = ball.manifold.dist(sample.records, ball.center)
    level = 1 - 1 / len(sample)
    return released(cdp.quantile(dist, level, low=0.0, high=20.0, guarantee=claim, seed=seed))


def _compared(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    other, _ = sample_on(ball, seed=9)
    parts = [cdp.confidence_region(x.records, ball, claim, seed=seed) for x in (sample, other)]
    found = cdp.compare_means(*parts)
    return np.array([found.statistic])


def _mdm(adaptive: bool) -> Callable[..., Array]:
    def numbers(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
        model = PrivateMDM(ball, claim, adaptive=adaptive, seed=seed)
        return np.ravel(model.fit(sample.records, sample.classes).means_)

    return numbers


def _clusters(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    return released(cdp.k_means(sample.records, 2, ball, claim, n_rounds=2, seed=seed))


def _components(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    return np.ravel(TangentPCA(ball, claim, seed=seed).fit(sample.records).explained_variance_)


def _directions(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    """The variances along them: a direction hardly tells of one record."""
    return released(cdp.principal_components(sample.records, 1, ball, claim, seed=seed).parts[1])


def _logistic(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    public = {"classes": [0, 1], "n_steps": 5}
    found = cdp.tangent_logistic(sample.records, sample.classes, ball, claim, seed=seed, **public)
    return np.ravel(found.coef)


def _product(sample: Sample, ball: cdp.Ball, claim: Any, seed: int) -> Array:
    """The adaptive mean of pairs of a record and its time."""
    whole = cdp.ProductBall(ball, cdp.Ball("euclidean:1", [0.5], 0.5))
    pairs = (sample.records, sample.times[:, None])
    return released(cdp.adaptive_mean(whole.manifold.join(pairs), whole, claim, seed=seed))


CASES = (
    Case("mean", ("frechet_mean",), _plain(cdp.frechet_mean)),
    Case(
        "mean, tangent Gaussian",
        ("frechet_mean",),
        _plain(cdp.frechet_mean, mechanism="tangent-gaussian"),
        spaces=FEW,
    ),
    Case(
        "mean, Laplace",
        ("frechet_mean",),
        _plain(cdp.frechet_mean),
        cdp.PureDP(1e4),
        spaces=FEW,
    ),
    Case(
        "adaptive mean",
        ("adaptive_mean",),
        _plain(cdp.adaptive_mean, schedule=(0.3, 0.2, 0.5), quantile=0.8),
    ),
    Case("median", ("geometric_median",), _plain(cdp.geometric_median)),
    Case("variance", ("frechet_variance",), _plain(cdp.frechet_variance)),
    Case("fourth moment", ("fourth_moment",), _plain(cdp.fourth_moment)),
    Case("covariance", ("log_covariance",), _plain(cdp.log_covariance)),
    Case("hessian", ("mean_hessian",), _plain(cdp.mean_hessian)),
    Case("region", ("confidence_region",), _plain(cdp.confidence_region)),
    Case("interval", ("variance_interval",), _plain(cdp.variance_interval)),
    Case("regression", ("geodesic_regression",), _regression(), spaces=FEW),
    Case(
        "regression, whitened",
        ("geodesic_regression",),
        _regression(tau=True, sampler="whitened"),
        spaces=FEW,
    ),
    Case("share explained", ("r_squared",), _explained, cdp.GDP(1e3), FEW),
    # relabellings are drawn by the positions of records, as many as these leave a part of that
    Case(
        "two samples", ("two_sample_test",), _two_samples, spaces=FEW[1:], kinds=ENDS, tolerance=0.5
    ),
    Case("k samples", ("k_sample_test",), _k_samples, spaces=FEW),
    Case("trend", ("trend_test",), _trend, spaces=FEW[1:], kinds=ENDS, tolerance=0.5),
    Case("two regions", ("compare_means",), _compared, spaces=FEW),
    Case(
        "mean by its gradient",
        ("kng_mean",),
        _plain(cdp.kng_mean),
        cdp.PureDP(100.0),
        ("sphere:2", "hyperboloid:2"),
        ("narrow",),
    ),
    Case("density", ("conformal.density",), _density, cdp.GDP(1e3), FEW),
    Case("conformal mean", ("conformal_mean",), _conformal, cdp.PureDP(1e3), FEW[:2], count=5),
    Case("quantile", ("quantile",), _quantile, cdp.PureDP(1e3), FEW),
    Case("classes", ("learning.PrivateMDM",), _mdm(adaptive=True), spaces=FEW),
    Case("classes by plain means", ("learning.PrivateMDM",), _mdm(adaptive=False), spaces=FEW),
    Case("clusters", ("k_means",), _clusters, spaces=FEW[1:2], kinds=ENDS),
    Case("components", ("learning.TangentPCA",), _components, spaces=FEW),
    Case("directions", ("principal_components",), _directions, cdp.PureDP(1e3), spaces=FEW),
    Case("logistic", ("tangent_logistic",), _logistic, spaces=FEW),
    Case("product", ("adaptive_mean",), _product, spaces=FEW),
)
