"""Sensitivities of means, of variances and of moments of logarithms."""

from __future__ import annotations

import math

from curvedp import _core
from curvedp._validation import as_count, as_finite, as_positive
from curvedp.curvature import excess_diameter
from curvedp.domain import BOUNDARY_SLACK, Ball

_GOLDEN = (math.sqrt(5) - 1) / 2
#: Weight c of the second coordinate of (a, c (a^2 - a)), a in [0, 1], at which two such points are
#: still at most 1 apart: c^2 = (1 + w)/(w^2 (1 - w)) at w = (sqrt(5) - 1)/2, the smallest value.
FOURTH_MOMENT_WEIGHT = math.sqrt((1 + _GOLDEN) / (_GOLDEN**2 * (1 - _GOLDEN))) * (1 - 1e-15)


def frechet_mean(ball: Ball, n: int, *, records_per_unit: int = 1) -> float:
    """Sensitivity of the Fréchet mean of n records in a ball, in the units of the metric.

    With the upper curvature bound kappa and k = `records_per_unit` replaced records,
    2 k tan(r sqrt(kappa)) / (n sqrt(kappa)) for kappa > 0, 2 k r / n for kappa <= 0, and never more
    than the diameter 2 r, with r larger by 1e-9 relative than the ball's radius, because rounding
    may leave records that far outside. Proof: docs/proofs/frechet-mean-sensitivity.md.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    records_per_unit : int
        Number of records that one person contributes at most.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> round(frechet_mean(ball, 500), 5)
    0.00337
    """
    count = as_count(n, "n")
    changed = as_count(records_per_unit, "records_per_unit")
    return ball.frame.sensitivity(count, changed)


def frechet_variance(
    ball: Ball,
    n: int,
    *,
    within: float | None = None,
    records_per_unit: int = 1,
) -> float:
    """Sensitivity of the least mean squared distance from a point within s of the centre.

    With k = `records_per_unit`: k (r + s)^2/n, never more than (r + s)^2.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    within : float, optional
        s, at most r; r if not given.
    records_per_unit : int

    Returns
    -------
    float
        In squared units of the metric.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(frechet_variance(ball, 100, within=0.1), 6)
    0.0036
    """
    count, changed = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    s = ball.radius if within is None else min(as_finite(within, "within"), ball.radius)
    if s < 0:
        raise ValueError(f"within must be 0 or more, got {s:g}")
    reach = ball.radius * (1 + BOUNDARY_SLACK) + s
    return reach * reach * min(1.0, changed / count)


def fourth_moment(
    ball: Ball,
    n: int,
    *,
    max_dist: float | None = None,
    records_per_unit: int = 1,
) -> float:
    """Sensitivity of the mean fourth power of the distance from a released point.

    k R^4/n, never more than R^4.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    max_dist : float, optional
        Length R at which distances are clipped; 2 r if not given.
    records_per_unit : int

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(fourth_moment(ball, 100, max_dist=0.6), 6)
    0.001296
    """
    return _of_moment(_core.LogMoment.fourth(), ball, n, max_dist, records_per_unit)


def distance_moments(
    ball: Ball, n: int, *, max_dist: float | None = None, records_per_unit: int = 1
) -> float:
    """Sensitivity of the mean of (a_i, c (a_i^2 - a_i)), a_i = (rho(p, x_i)/R)^2.

    k/n, never more than 1, with c = `FOURTH_MOMENT_WEIGHT`: both moments of the distance for the
    budget of one. Parameters as in `fourth_moment`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> distance_moments(ball, 100)
    0.01
    """
    moment = _core.LogMoment.distances(FOURTH_MOMENT_WEIGHT)
    return _of_moment(moment, ball, n, max_dist, records_per_unit)


def log_covariance(
    ball: Ball,
    n: int,
    *,
    max_dist: float | None = None,
    records_per_unit: int = 1,
) -> float:
    """Sensitivity of the second moment S of the logarithms at a point.

    sqrt(2) k R^2/n in the norm sqrt(|S|_F^2 + (tr S)^2), never more than sqrt(2) R^2: in this norm
    the trace, which is the variance, is released more exactly than in the Frobenius norm, whose
    sensitivity is the same. Parameters as in `fourth_moment`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(log_covariance(ball, 100, max_dist=0.6), 6)
    0.005091
    """
    return _of_moment(_core.LogMoment.covariance(), ball, n, max_dist, records_per_unit)


def mean_hessian(
    ball: Ball,
    n: int,
    *,
    max_dist: float | None = None,
    records_per_unit: int = 1,
) -> float:
    """Sensitivity, in the Frobenius norm, of the mean Hessian of the squared distance at a point.

    Hess rho^2 = 2 (I + G), and G is 0 on flat manifolds, whose sensitivity is 0. Parameters as in
    `fourth_moment`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the Hessian is unbounded within R: from R = pi/sqrt(kappa) on.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
    >>> round(mean_hessian(ball, 100, max_dist=0.6), 6)
    0.003478
    """
    excess_diameter(ball.manifold, _reach(ball, max_dist))  # raises where it is unbounded
    return _of_moment(_core.LogMoment.hessian(), ball, n, max_dist, records_per_unit)


def kng_mean(ball: Ball, n: int, *, tau: float | None = None, records_per_unit: int = 1) -> float:
    """Sensitivity of the gradient -(1/n) sum_i log_p x_i of the Fréchet mean, at any p in the ball.

    min(2 k tan(r sqrt(kappa)) / (n sqrt(kappa)), 2 k tau/n) with the upper curvature bound kappa
    > 0 and k = `records_per_unit`, 2 k r/n in place of the first for kappa <= 0; k at most n.
    Proof: docs/proofs/kng-mean.md.

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    tau : float, optional
        Public length at which logarithms are clipped.
    records_per_unit : int
        Number of records that one person contributes at most.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> ball = Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.7)
    >>> round(kng_mean(ball, 500), 5)
    0.00337
    >>> round(kng_mean(ball, 500, tau=0.1), 6)
    0.0004
    """
    share = min(1.0, as_count(records_per_unit, "records_per_unit") / as_count(n, "n"))
    widest = ball.frame.log_diameter
    if tau is not None:
        widest = min(widest, 2 * slack(tau, "tau"))
    return share * widest


def slack(value: float, name: str) -> float:
    """A length with room for the rounding of what is clipped to it."""
    return as_positive(value, name) * (1 + BOUNDARY_SLACK)


def _of_moment(
    moment: _core.LogMoment, ball: Ball, n: int, max_dist: float | None, records_per_unit: int
) -> float:
    """Sensitivity of a moment of logarithms that are clipped at R."""
    count = as_count(n, "n")
    replaced = min(1.0, as_count(records_per_unit, "records_per_unit") / count)
    return moment.bounds(ball.frame.manifold, count, replaced, _reach(ball, max_dist))[0]


def _reach(ball: Ball, max_dist: float | None) -> float:
    """The length R."""
    reach = 2 * ball.radius * (1 + BOUNDARY_SLACK)
    return reach if max_dist is None else min(reach, as_positive(max_dist, "max_dist"))
