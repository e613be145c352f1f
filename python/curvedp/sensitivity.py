"""Sensitivities: bounds on the change of a statistic when one record is replaced.

Statistics of the logarithms log_p x_i at a base point p are those of logarithms clipped to the
length R = `max_dist`; between points of the ball no distance exceeds 2 r, and from p none exceeds
r + rho(c, p).

Proofs: docs/proofs/frechet-mean-sensitivity.md, docs/proofs/frechet-variance.md,
docs/proofs/log-moments.md, docs/proofs/geodesic-regression.md, docs/proofs/kng-mean.md,
docs/proofs/privatemail.md.
"""

from __future__ import annotations

import math

from curvedp import _core, laplacian_bounds
from curvedp._validation import as_choice, as_count, as_finite, as_positive
from curvedp.curvature import excess_diameter
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.jacobi import jacobi_bounds, sum_of_norms_bound

__all__ = [
    "distance_moments",
    "fourth_moment",
    "frechet_mean",
    "frechet_variance",
    "kng_mean",
    "log_covariance",
    "mail_iteration",
    "mail_query",
    "mean_hessian",
    "regression_footpoint",
    "regression_shooting",
    "regression_sum_of_norms",
]


def __dir__() -> list[str]:
    return sorted(__all__)


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
    moved = as_count(records_per_unit, "records_per_unit")
    return ball.frame.sensitivity(count, moved)


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
    count, moved = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    s = ball.radius if within is None else min(as_finite(within, "within"), ball.radius)
    if s < 0:
        raise ValueError(f"within must be 0 or more, got {s:g}")
    reach = ball.radius * (1 + BOUNDARY_SLACK) + s
    return reach * reach * min(1.0, moved / count)


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
        widest = min(widest, 2 * _slack(tau, "tau"))
    return share * widest


def regression_footpoint(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of the gradient of geodesic regression in the footpoint, at any geodesic.

    2 k tau C/n, never more than 2 tau C, with k = `records_per_unit` and C = cosh(sqrt(-kappa) V/2)
    for the lower curvature bound kappa < 0, 1 otherwise (after Kulkarni and Soto, Theorem 3.3).

    Parameters
    ----------
    ball : Ball
    n : int
        Number of records (public).
    tau : float
        Public length at which residuals are clipped.
    v_max : float
        Public bound V on the length of the velocity over the whole range of the covariate.
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
    >>> round(regression_footpoint(ball, 100, tau=0.1, v_max=1.0), 6)
    0.002
    """
    count, moved = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    start, _ = jacobi_bounds(ball.manifold, _slack(v_max, "v_max") / 2)
    return 2 * min(1.0, moved / count) * _slack(tau, "tau") * start


def regression_shooting(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of the gradient of geodesic regression in the velocity, at any geodesic.

    k tau G/n, never more than tau G, with G = sinh(x)/x, x = sqrt(-kappa) V/2, for kappa < 0 and 1
    otherwise: covariates are measured from the middle of their range, |t| <= 1/2, which halves the
    published 2 tau/n. Parameters as in `regression_footpoint`.

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
    >>> round(regression_shooting(ball, 100, tau=0.1, v_max=1.0), 6)
    0.001
    """
    count, moved = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    _, field = jacobi_bounds(ball.manifold, _slack(v_max, "v_max") / 2)
    return 2 * min(1.0, moved / count) * _slack(tau, "tau") * field / 2


def regression_sum_of_norms(
    ball: Ball, n: int, *, tau: float, v_max: float, records_per_unit: int = 1
) -> float:
    """Sensitivity of both gradients in the norm |g_p/2 + g_v| + |g_p/2 - g_v|, at any geodesic.

    2 k tau c/n, with c = 1 on flat space: a record at time t moves the two terms by 1/2 + t and
    1/2 - t times its residual. On curved space c is `jacobi.sum_of_norms_bound`. Parameters as in
    `regression_footpoint`.

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
    >>> round(regression_sum_of_norms(ball, 100, tau=0.1, v_max=1.0), 5)
    0.00201
    """
    count, moved = as_count(n, "n"), as_count(records_per_unit, "records_per_unit")
    factor = sum_of_norms_bound(ball.manifold, _slack(v_max, "v_max") / 2)
    return 2 * min(1.0, moved / count) * _slack(tau, "tau") * factor


def _slack(value: float, name: str) -> float:
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


def mail_iteration(
    n: int,
    *,
    bandwidth: float,
    alpha: float,
    diameter: float = 1.0,
    label_bandwidth: float | None = None,
    radius: float = 1.0,
    form: str = "normalised",
    records_per_unit: int = 1,
    weight_error: float = 0.0,
) -> float:
    """Sensitivity of one iteration of PrivateMail, given the released embedding it starts from.

    In the Frobenius norm of the n x k embedding. With D = `diameter`, sigma = `bandwidth`,
    sigma_Y = `label_bandwidth` and r = `radius`, the replaced record's own row moves at most

    - normalised: (D/2) (tanh(r^2/sigma^2) + |alpha| tanh(1/2 sigma_Y^2)), attained;
    - published (equation 7): (D/2) alpha (exp(2 r^2/sigma^2) - exp(-1/sigma_Y^2)) for alpha from
      exp(-2 r^2/sigma^2) on, attained,

    and the other rows add in squares (docs/proofs/privatemail.md). It does not fall with n: every
    row is private, as under local differential privacy.

    Parameters
    ----------
    n : int
        Number of records, at least 2 (public).
    bandwidth, label_bandwidth : float
        Bandwidths of the kernels exp(-d^2/2 sigma^2) of records and of one-hot labels; the second
        is the first if not given.
    alpha : float
        Weight of the label term.
    diameter : float
        Largest distance between two rows of the released embedding.
    radius : float
        Radius of the ball on which records are projected.
    form : {"normalised", "published"}
        "normalised" divides the label Laplacian by its own degrees, "published" by the records'.
    records_per_unit : int
        Number of records that one person contributes at most.
    weight_error : float
        Relative error of the computed kernel weights, which lie in their exact range all the same.

    Returns
    -------
    float
        In the units of the embedding.

    Raises
    ------
    ValueError
        If the published form has no usable bound: exp(2 r^2/sigma^2) overflows.

    Examples
    --------
    >>> round(mail_iteration(1000, bandwidth=1.0, alpha=0.5), 3)
    0.499
    >>> round(mail_iteration(1000, bandwidth=1.0, alpha=0.5, form="published"), 3)
    1.76
    """
    count = as_count(n, "n", least=2)
    moved = as_count(records_per_unit, "records_per_unit")
    as_choice(form, laplacian_bounds.FORMS, "form")
    sigma = as_positive(bandwidth, "bandwidth")
    sigma_y = sigma if label_bandwidth is None else as_positive(label_bandwidth, "label_bandwidth")
    reach = as_positive(radius, "radius") * (1 + BOUNDARY_SLACK)
    w = laplacian_bounds.weight_floor(4 * reach**2, sigma)
    v = laplacian_bounds.weight_floor(2.0, sigma_y)
    if form == "published" and w <= laplacian_bounds.LEAST_WEIGHT:
        raise ValueError(
            "the published form divides by degrees that are 0 in double precision: use a larger "
            "bandwidth or form='normalised'"
        )
    own = laplacian_bounds.replaced_row(w, v, alpha, form)
    exponent = 2 * reach**2 / sigma**2
    rest = laplacian_bounds.other_rows(count, w, v, alpha, form, exponent, weight_error)
    return moved * 0.5 * as_positive(diameter, "diameter") * math.hypot(own, rest)


def mail_query(*, bandwidth: float, diameter: float = 1.0, radius: float = 1.0) -> float:
    """Sensitivity of a query's place among public anchors: D tanh(r^2/sigma^2), attained.

    The place is the mean of the embedded anchors weighted by the Gaussian kernel of the query.
    Parameters as in `mail_iteration`, D the largest distance between two embedded anchors.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Examples
    --------
    >>> round(mail_query(bandwidth=1.0), 4)
    0.7616
    """
    sigma = as_positive(bandwidth, "bandwidth")
    reach = as_positive(radius, "radius") * (1 + BOUNDARY_SLACK)
    w = laplacian_bounds.weight_floor(4 * reach**2, sigma)
    return as_positive(diameter, "diameter") * (1 - w) / (1 + w)
