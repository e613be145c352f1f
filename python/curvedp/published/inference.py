"""Confidence regions and intervals as in Jiang, Chang and Hu (Corollaries 1 and 2).

The noise in the covariance, the Hessian and the fourth moment is not in the quantile. With
`max_dist=ball.radius`, one of the paper's two choices of R, regions cover about at their level;
with the other, R = 2 r, too rarely at moderate budgets (docs/papers.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np
import scipy
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_positive, as_probability
from curvedp.curvature import has_curved_hessian
from curvedp.domain import Ball
from curvedp.mechanisms import ChartGaussian, Mechanism
from curvedp.privacy import GDP, Guarantee, PureDP
from curvedp.published import moments
from curvedp.published.base_point import BasePoint
from curvedp.published.call import Call, Options
from curvedp.published.frechet_mean import MeanDesign
from curvedp.statistics.interval import VarianceInterval
from curvedp.statistics.quantiles import hotelling_quantile
from curvedp.statistics.region import ConfidenceRegion
from curvedp.statistics.symmetric import clip_eigenvalues

#: Eigenvalues of the noisy Hessian are brought up to this, so that it has an inverse.
_LEAST_HESSIAN = 1e-3


@quiet
def confidence_region(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    mechanism: str | type[Mechanism] | None = None,
    **options: Unpack[Options],
) -> ConfidenceRegion:
    """Draw a confidence region for the Fréchet mean of the population: `Unproved`.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        n must exceed the dimension by 2 at least.
    ball : Ball
    guarantee : GDP, ZCDP or ApproxDP
        The guarantee that the paper claims for all parts together.
    level : float
        Probability of covering the mean, without the noise.
    weights : sequence of float, optional
        Shares of mu^2 of the mean, the covariance of the logarithms and (on curved manifolds) the
        mean Hessian; equal if not given.
    max_dist : float, optional
        R of assumption 3: logarithms are shortened to it. R = 2 r without shortening, if it is not
        given; the paper's other choice is `ball.radius`.
    mechanism : str or Mechanism class, optional
        Of the mean; see `curvedp.mechanisms.choose_mechanism`.
    **options
        As in `frechet_mean`.

    Returns
    -------
    ConfidenceRegion

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> region = cdp.published.confidence_region(records, ball, cdp.GDP(1.0))
    >>> region.dof, len(region.parts)
    (inf, 3)
    """
    call = Call.check(records, ball, guarantee, **options)
    _refuse_pure(guarantee, "a region")
    confidence = as_probability(level, "level")
    limit = None if max_dist is None else as_positive(max_dist, "max_dist")
    dim, curved = ball.manifold.dim, has_curved_hessian(ball.manifold)
    names = ("the mean", "the covariance", "the Hessian")[: 3 if curved else 2]
    shares = _shares(call, weights, names)
    if call.n < dim + 2:
        raise ValueError(
            f"a region on {ball.manifold.spec} needs at least {dim + 2} records, got {call.n}"
        )
    design = MeanDesign.of(call, shares[0], mechanism)
    call.pay("published confidence region")
    rows = call.enter()
    mean = design.release(rows)
    base = BasePoint(ball, mean.value, mean, limit)
    tell_stage("moments")
    builds = (moments.covariance, moments.hessian)[: len(shares) - 1]
    parts = [
        moments.release_moment(call, base, build(call, rows, base), share, stage=stage)
        for stage, (build, share) in enumerate(zip(builds, shares[1:], strict=True), start=1)
    ]
    hessian = clip_eigenvalues(
        parts[1].value / 2 if curved else np.eye(dim), _LEAST_HESSIAN, math.inf
    )
    inverse = np.linalg.inv(hessian)
    sampling = inverse @ clip_eigenvalues(parts[0].value, 0.0, math.inf) @ inverse / call.n
    chart_point, to_chart, noise = _mean_noise(ball, design.noise, mean.value)
    gamma = to_chart @ (sampling + noise) @ to_chart.T
    return ConfidenceRegion(
        manifold=ball.manifold.spec,
        estimate=mean.value,
        chart_point=chart_point,
        covariance=np.asarray((gamma + gamma.T) / 2),
        quantile=hotelling_quantile(confidence, dim, math.inf),
        dof=math.inf,
        level=confidence,
        n=call.n,
        guarantee=call.unproved(guarantee),
        parts=(mean, *parts),
    )


@quiet
def variance_interval(
    records: ArrayLike,
    ball: Ball,
    guarantee: Guarantee,
    *,
    level: float = 0.95,
    weights: Sequence[float] | None = None,
    max_dist: float | None = None,
    **options: Unpack[Options],
) -> VarianceInterval:
    """Draw a confidence interval for the Fréchet variance of the population: `Unproved`.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        Two records at least.
    ball : Ball
    guarantee : GDP, ZCDP or ApproxDP
        The guarantee that the paper claims for all parts together.
    level : float
        Probability of covering the variance, without the noise in the fourth moment.
    weights : sequence of float, optional
        Shares of mu^2 of the mean, the variance and the fourth moment; equal if not given.
    max_dist : float, optional
        Length R to which distances are cut. R = 2 r without cutting, if it is not given, which is
        the paper's choice for intervals.
    **options
        As in `frechet_mean`.

    Returns
    -------
    VarianceInterval

    Raises
    ------
    ValueError, TypeError
        As in `frechet_mean`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> ball = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> rng = np.random.default_rng(0)
    >>> records = ball.manifold.project(ball.center + 0.1 * rng.standard_normal((500, 3)))
    >>> interval = cdp.published.variance_interval(records, ball, cdp.GDP(1.0))
    >>> interval.lower <= interval.estimate <= interval.upper
    True
    """
    call = Call.check(records, ball, guarantee, **options)
    _refuse_pure(guarantee, "an interval")
    confidence = as_probability(level, "level")
    limit = None if max_dist is None else as_positive(max_dist, "max_dist")
    shares = _shares(call, weights, ("the mean", "the variance", "the fourth moment"))
    if call.n < 2:
        raise ValueError("an interval needs at least 2 records, got 1")
    design = MeanDesign.of(call, shares[0])
    call.pay("published variance interval")
    rows = call.enter()
    mean = design.release(rows)
    base = BasePoint(ball, mean.value, mean, limit)
    tell_stage("moments")
    square, fourth = (
        moments.release_moment(call, base, build(call, rows, base), share, stage=stage)
        for stage, (build, share) in enumerate(
            zip((moments.variance, moments.fourth_power), shares[1:], strict=True), start=1
        )
    )
    estimate = float(square.value)
    sigma_f2 = max(float(fourth.value) - estimate**2, 0.0)
    half = float(scipy.stats.norm.ppf(0.5 + confidence / 2))
    half *= math.sqrt(sigma_f2 / call.n + square.scale**2)
    most = base.reach**2
    return VarianceInterval(
        lower=float(min(max(estimate - half, 0.0), most)),
        upper=float(max(min(estimate + half, most), 0.0)),
        estimate=float(min(max(estimate, 0.0), most)),
        level=confidence,
        n=call.n,
        guarantee=call.unproved(guarantee),
        parts=(mean, square, fourth),
    )


def _mean_noise(
    ball: Ball, mechanism: Mechanism, point: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The chart's base point, the way there from coordinates at p, and the noise of p at p."""
    space, center = ball.manifold, ball.center
    if not isinstance(mechanism, ChartGaussian):
        length = mechanism._noise.root_mean_square_dist
        identity = np.eye(space.dim)
        return point, identity, length * length / space.dim * identity
    coords = space.tangent_to_coords(space.log(point, center), center)
    # D exp_c at log_c p, from coordinates at the centre c to coordinates at p
    differential = space.kernels.exp_differential(coords, center.reshape(-1))
    spread = mechanism.scale * differential
    return center, np.asarray(np.linalg.inv(differential)), spread @ spread.T


def _shares(
    call: Call, weights: Sequence[float] | None, names: tuple[str, ...]
) -> tuple[PureDP | GDP, ...]:
    """Guarantees of the parts, equal if no weights are given."""
    if weights is None:
        weights = (1.0,) * len(names)
    if len(weights) != len(names):
        raise ValueError(
            f"weights must be {len(names)} positive numbers, the shares of {', '.join(names)}"
        )
    return call.shares(weights)


def _refuse_pure(guarantee: Guarantee, words: str) -> None:
    if isinstance(guarantee, PureDP):
        raise TypeError(f"{words} needs Gaussian noise: ask for GDP, ZCDP or ApproxDP")
